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
from theory.learning.spread import LogRatioSpread, log_ratio_spread

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
    "LogRatioSpread",
    "error_exponent",
    "expected_log_ratio",
    "learning_rate",
    "log_ratio_spread",
]
