"""Networks and models of rationals: everything about them is exact, and decided."""

from typing import TYPE_CHECKING

from theory.lazy import show_lazily

if TYPE_CHECKING:
    from theory.rational.agents import RationalAgent, RationalFiniteAgent, RationalGaussianAgent
    from theory.rational.algebraic import AlgebraicNumber
    from theory.rational.deviation import RationalDeviation
    from theory.rational.log_ratio import RationalLogRatio
    from theory.rational.model import (
        RationalModel,
        RationalRate,
        common_unit,
        rational_rate,
        tie_gap,
    )
    from theory.rational.network import RationalNetwork
    from theory.rational.spectrum import Eigenvalue, RationalSpectrum
else:
    show_lazily(__name__)

__all__ = [
    "AlgebraicNumber",
    "Eigenvalue",
    "RationalAgent",
    "RationalDeviation",
    "RationalFiniteAgent",
    "RationalGaussianAgent",
    "RationalLogRatio",
    "RationalModel",
    "RationalNetwork",
    "RationalRate",
    "RationalSpectrum",
    "common_unit",
    "rational_rate",
    "tie_gap",
]
