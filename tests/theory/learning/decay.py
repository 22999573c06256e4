"""The largest decay of one pair of hypotheses, by bisection in extended precision.

Agent by agent and atom by atom, without the package's table of tilted laws.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from theory import LogRatioLaw

STEPS = 140


def largest_decay(
    laws: Sequence[LogRatioLaw], assignment: NDArray[np.int64], v: NDArray[np.float64]
) -> float:
    """max_{t ≥ 0} −Σ_j κ_j(−t v_j)."""
    agents = [(laws[k], float(w)) for k, w in zip(assignment, v, strict=True)]
    least = sum(w * law.minimum for law, w in agents)
    size = sum(w * abs(law.minimum) for law, w in agents)
    if np.isfinite(least) and least >= -1e-14 * size:
        if least > 1e-14 * size:
            return np.inf
        return -sum(float(np.log(law.probability_of_minimum)) for law, _ in agents)
    table = np.concatenate([w * law.means for law, w in agents]).astype(np.longdouble)
    spreads = np.concatenate([w * w * law.variances for law, w in agents]).astype(np.longdouble)
    chances = np.concatenate([law.probabilities for law, _ in agents]).astype(np.longdouble)
    starts = np.cumsum([0, *(law.means.size for law, _ in agents)])[:-1]

    def sums(t: np.longdouble) -> tuple[np.longdouble, np.longdouble]:
        exponents = t * t * spreads / 2 - t * table
        top = np.maximum.reduceat(exponents, starts)
        terms = chances * np.exp(exponents - np.repeat(top, np.diff([*starts, table.size])))
        total = np.add.reduceat(terms, starts)
        slopes = np.add.reduceat(terms * (table - t * spreads), starts) / total
        return -(top + np.log(total)).sum(), slopes.sum()

    zero, one = np.longdouble(0), np.longdouble(1)
    if sums(zero)[1] <= 0:
        return 0.0
    high = one / np.abs(table).max()
    while sums(high)[1] > 0:
        high *= 2
    low = zero
    for _ in range(STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if sums(middle)[1] > 0 else (low, middle)
    return float(sums(high)[0])
