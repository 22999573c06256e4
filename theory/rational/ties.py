"""How near to a tie log-ratios can come without being one: decided, where they lie on a lattice.

If all rows of W are equal, so that W^k = 1vᵀ for every k ≥ 1, then at every agent

    Λ_i^(n) = Σ_j v_j π_j + Σ_t Σ_j v_j z_j^(t).

If the prior's share and every value of every v_j z_j are whole multiples of one number u, then so
is Λ, and none of its values lies strictly between 0 and |u|. Coins against coins with inverse odds
are like that. Floating point cannot tell Λ = 0 from Λ near 0; with this gap the question does not
arise, since P(Λ ≤ 0) = P(Λ ≤ |u|/2) (docs: mathematics/certified-samples).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from math import gcd, lcm

from theory.numbers import LogSum
from theory.rational.model import RationalModel
from theory.rational.network import RationalNetwork
from theory.typed import typed

# In nats. A smaller gap says nothing that rounding in doubles would not blur.
_SMALLEST = 1e-6


@typed
def tie_gap(network: RationalNetwork, model: RationalModel, *, reference: Sequence[int]) -> float:
    """A number with no Λ_i^(n)(θ*, θ) strictly between 0 and it; 0.0 where none was found.

    A lower bound on the largest such number, in nats, for θ* the first of `reference`, every θ
    outside `reference`, every agent and every round from 1 on.

    Examples
    --------
    >>> from theory.rational import RationalFiniteAgent
    >>> coin = RationalFiniteAgent.from_tables(
    ...     inputs=[1], truth=[["2/3", "1/3"]], likelihood=[[["2/3", "1/3"]], [["1/3", "2/3"]]]
    ... )
    >>> model = RationalModel.from_agents(["heads", "tails"], [coin])
    >>> round(tie_gap(RationalNetwork.from_rows([["1"]]), model, reference=[0]), 12)
    0.69314718056
    """
    first, *others = network.rows
    if any(row != first for row in others):
        return 0.0
    v = network.stationary_distribution
    gaps = []
    for theta in range(len(model.hypotheses)):
        if theta in reference:
            continue
        laws = model.log_ratios(reference[0], theta)
        if not all(laws[kind].is_bounded for kind in set(model.assignment)):
            return 0.0
        pairs = set(zip(model.assignment, v, strict=True))
        # What a batch adds is a sum of what single observations add.
        ones = [law.single or law for law in laws]
        values = [weight * value for kind, weight in pairs for value in ones[kind].values]
        odds = model.prior_log_odds(reference[0], theta)
        shares = zip(model.kind_weights(v), odds, strict=True)
        values.append(LogSum.total(weight * log for weight, log in shares))
        unit = common_unit(values)
        if unit is None:
            return 0.0
        gaps.append(unit.enclosure().lower)
    gap = min(gaps, default=0.0)
    return gap if gap >= _SMALLEST else 0.0


def common_unit(values: Iterable[LogSum]) -> LogSum | None:
    """The largest positive number of which all `values` are whole multiples: decided.

    None where there is none, where all values are zero, or where it was not found because the
    values are written over different integers.
    """
    present = [value for value in values if not value.is_zero]
    if not present:
        return None
    first = present[0]
    ratios = []
    for value in present:
        ratio = _ratio(value, first)
        if ratio is None:
            return None
        ratios.append(ratio)
    denominator = lcm(*(ratio.denominator for ratio in ratios))
    numerator = gcd(*(int(ratio * denominator) for ratio in ratios))
    unit = first * Fraction(numerator, denominator)
    return unit if unit.sign() > 0 else -unit


def _ratio(value: LogSum, unit: LogSum) -> Fraction | None:
    """The rational q with value = q unit, if there is one and it is found."""
    if unit.logs:
        base, coefficient = unit.logs[0]
        ratio = dict(value.logs).get(base, Fraction(0)) / coefficient
    else:
        ratio = value.rational / unit.rational
    return ratio if ratio and (value - unit * ratio).is_zero else None
