"""Predictions: symbolic, exact and certified numbers about learning over graphs.

This floor imports none of the others.
"""

from theory.bounds import (
    ErrorBound,
    SampleSize,
    SampleSizes,
    printed_rounds,
    sample_sizes,
)
from theory.learning import (
    Agent,
    ErrorExponent,
    ExpectedLogRatio,
    FiniteAgent,
    FiniteModel,
    GaussianAgent,
    LearningRate,
    LikelihoodBounds,
    LogRatioLaw,
    LogRatioSpread,
    error_exponent,
    expected_log_ratio,
    learning_rate,
    log_ratio_spread,
)
from theory.network import Network

__all__ = [
    "Agent",
    "ErrorBound",
    "ErrorExponent",
    "ExpectedLogRatio",
    "FiniteAgent",
    "FiniteModel",
    "GaussianAgent",
    "LearningRate",
    "LikelihoodBounds",
    "LogRatioLaw",
    "LogRatioSpread",
    "Network",
    "SampleSize",
    "SampleSizes",
    "error_exponent",
    "expected_log_ratio",
    "learning_rate",
    "log_ratio_spread",
    "printed_rounds",
    "sample_sizes",
]
