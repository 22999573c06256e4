"""Hypotheses, and how fast a network tells them apart."""

from typing import TYPE_CHECKING

from theory.lazy import show_lazily

if TYPE_CHECKING:
    from theory.learning.finite_agent import Agent, FiniteAgent
    from theory.learning.gaussian_pair import (
        ExpectedLogRatio,
        GaussianPair,
        expected_log_ratio,
        gaussian_pair,
    )
    from theory.learning.lattice import LogRatioSpread, log_ratio_spread, observation_reach
    from theory.learning.log_ratio import LogRatioLaw
    from theory.learning.model import FiniteModel
    from theory.learning.prefactor import (
        ErrorPrefactor,
        RefinedErrorProbability,
        TiltedLaw,
        error_prefactor,
        refined_error_probability,
        tilted_law,
    )
    from theory.learning.rate import ErrorExponent, LearningRate, error_exponent, learning_rate
    from theory.learning.tables import GaussianAgent, LikelihoodBounds
else:
    show_lazily(__name__)

__all__ = [
    "Agent",
    "ErrorExponent",
    "ErrorPrefactor",
    "ExpectedLogRatio",
    "FiniteAgent",
    "FiniteModel",
    "GaussianAgent",
    "GaussianPair",
    "LearningRate",
    "LikelihoodBounds",
    "LogRatioLaw",
    "LogRatioSpread",
    "RefinedErrorProbability",
    "TiltedLaw",
    "error_exponent",
    "error_prefactor",
    "expected_log_ratio",
    "gaussian_pair",
    "learning_rate",
    "log_ratio_spread",
    "observation_reach",
    "refined_error_probability",
    "tilted_law",
]
