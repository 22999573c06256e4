"""Networks and models of rationals: everything about them is exact, and decided."""

from theory.rational.agents import RationalAgent, RationalFiniteAgent, RationalGaussianAgent
from theory.rational.log_ratio import RationalLogRatio
from theory.rational.model import RationalModel
from theory.rational.network import RationalNetwork

__all__ = [
    "RationalAgent",
    "RationalFiniteAgent",
    "RationalGaussianAgent",
    "RationalLogRatio",
    "RationalModel",
    "RationalNetwork",
]
