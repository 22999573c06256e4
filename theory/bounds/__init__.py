"""Bounds on the probability of error, and the sample sizes that follow."""

from theory.bounds.accounting import (
    CertifiedMargin,
    CertifiedSampleSize,
    ErrorAccount,
    ErrorProbability,
    account,
)
from theory.bounds.corollary import (
    EMPTY_INTERSECTION,
    HALVED_PINSKER,
    REVERSED_COVERING,
    CoinTrial,
)
from theory.bounds.covering import (
    Covering,
    cover,
    covering_lower_bound,
    interval_covering_number,
)
from theory.bounds.domains import Box, Ellipsoid
from theory.bounds.error_bound import ErrorBound
from theory.bounds.quantised import QuantisedRegression, two_node_regression
from theory.bounds.risk import RiskBound, reversal_factor, risk_bound
from theory.bounds.risk_curve import RiskCurve, RiskPoint, risk_curve, transfer_factor
from theory.bounds.samples import (
    SampleSize,
    SampleSizes,
    printed_rounds,
    sample_sizes,
)
from theory.bounds.total_variation import LargestTotalVariation, largest_total_variation

__all__ = [
    "EMPTY_INTERSECTION",
    "HALVED_PINSKER",
    "REVERSED_COVERING",
    "Box",
    "CertifiedMargin",
    "CertifiedSampleSize",
    "CoinTrial",
    "Covering",
    "Ellipsoid",
    "ErrorAccount",
    "ErrorBound",
    "ErrorProbability",
    "LargestTotalVariation",
    "QuantisedRegression",
    "RiskBound",
    "RiskCurve",
    "RiskPoint",
    "SampleSize",
    "SampleSizes",
    "account",
    "cover",
    "covering_lower_bound",
    "interval_covering_number",
    "largest_total_variation",
    "printed_rounds",
    "reversal_factor",
    "risk_bound",
    "risk_curve",
    "sample_sizes",
    "transfer_factor",
    "two_node_regression",
]
