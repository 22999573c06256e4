"""The learning rate of an influence, and a bound on all of them by weak duality; certified."""

from __future__ import annotations

import math

from theory.design.influences.influence_set import InfluenceSet
from theory.design.influences.outward_bounds import UNIT, outward_product
from theory.numbers import Enclosure
from theory.validation import FloatArray, IntArray


def achieved(payoffs: FloatArray, shares: FloatArray) -> Enclosure:
    """min_θ Σ_g u_g I_gθ / Σ_g u_g, enclosed; payoffs of shape (G, M'), shares of shape (G,)."""
    used = shares != 0  # the fewer terms, the less rounding
    rates = outward_product(shares[used], payoffs[used])
    total = math.fsum(shares.tolist())
    lower, upper = float(rates.lower.min()), float(rates.upper.min())
    return Enclosure(_quotient(lower, total, up=False), _quotient(upper, total, up=True))


def proved_bound(
    influences: InfluenceSet,
    payoffs: FloatArray,
    multipliers: FloatArray,
    *,
    membership: IntArray | None = None,
) -> float:
    """An upper bound on max_v min_θ Σ_j v_j I_jθ, from any multipliers λ ≥ 0 that are not all 0.

    min_θ Σ_j v_j I_jθ ≤ Σ_θ λ_θ Σ_j v_j I_jθ / Σ_θ λ_θ, whose maximum over v is a support function.

    Parameters
    ----------
    payoffs
        I_jθ against every wrong hypothesis, shape (N, M'); of groups of agents, shape (G, M'),
        where `membership`, of shape (N,), says to which group each agent belongs.
    multipliers
        λ, shape (M',).
    """
    used = multipliers != 0
    worth = outward_product(payoffs[:, used], multipliers[used]).upper
    each = worth if membership is None else worth[membership]
    return _quotient(influences.maximise(each).bound, math.fsum(multipliers.tolist()), up=True)


def _quotient(value: float, total: float, *, up: bool) -> float:
    """Value / total, rounded outward, where `total` is right to a unit in its last place."""
    found = value / total
    slack = 4 * UNIT * abs(found)
    return (
        math.nextafter(found + slack, math.inf) if up else math.nextafter(found - slack, -math.inf)
    )
