"""What learning is worth: losses, and the coverings of hypotheses that they ask for."""

from typing import TYPE_CHECKING

from theory.lazy import show_lazily

if TYPE_CHECKING:
    from theory.risk.covering import Covering, cover, covering_lower_bound, interval_covering_number
    from theory.risk.domains import Box, Ellipsoid
    from theory.risk.quantised import (
        EMPTY_INTERSECTION,
        HALVED_PINSKER,
        REVERSED_COVERING,
        CoinTrial,
        QuantisedRegression,
        two_node_regression,
    )
    from theory.risk.risk import (
        LargestTotalVariation,
        RiskBound,
        largest_total_variation,
        reversal_factor,
        risk_bound,
    )
    from theory.risk.risk_curve import RiskCurve, RiskPoint, risk_curve, transfer_factor
else:
    show_lazily(__name__)

__all__ = [
    "EMPTY_INTERSECTION",
    "HALVED_PINSKER",
    "REVERSED_COVERING",
    "Box",
    "CoinTrial",
    "Covering",
    "Ellipsoid",
    "LargestTotalVariation",
    "QuantisedRegression",
    "RiskBound",
    "RiskCurve",
    "RiskPoint",
    "cover",
    "covering_lower_bound",
    "interval_covering_number",
    "largest_total_variation",
    "reversal_factor",
    "risk_bound",
    "risk_curve",
    "transfer_factor",
    "two_node_regression",
]
