"""Hypotheses, and how fast a network tells them apart."""

from theory.learning.agents import Agent, FiniteAgent, GaussianAgent, LikelihoodBounds
from theory.learning.exponent import ErrorExponent, error_exponent
from theory.learning.log_ratio import LogRatioLaw
from theory.learning.model import FiniteModel
from theory.learning.rate import (
    ExpectedLogRatio,
    LearningRate,
    expected_log_ratio,
    learning_rate,
)

__all__ = [
    "Agent",
    "ErrorExponent",
    "ExpectedLogRatio",
    "FiniteAgent",
    "FiniteModel",
    "GaussianAgent",
    "LearningRate",
    "LikelihoodBounds",
    "LogRatioLaw",
    "error_exponent",
    "expected_log_ratio",
    "learning_rate",
]
