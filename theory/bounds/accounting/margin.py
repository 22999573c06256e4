"""How far below the rate K the evidence may fall: the ε that n rounds buy at confidence 1 − δ.

The papers' Theorem 1 says that with probability 1 − δ every agent's belief in every wrong θ is
below e^{−n(K−ε)}, for n large enough. Here n is given and ε enclosed: the probability of
{Λ_i^(n)(θ*, θ) ≤ n(K − ε) for some i, θ} falls as ε grows, and is bounded from both sides.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from theory.bounds.accounting.curves import ErrorCurve
from theory.bounds.accounting.events import EventSet
from theory.bounds.accounting.inversion import LogBounds
from theory.showing import Shown

_PRECISION = 2e-3
_COARSE = 0.05
_MOST_STEPS = 60


@dataclass(frozen=True)
class CertifiedMargin(Shown):
    """Certified: the smallest ε whose event has probability at most `delta` is in the interval.

    Attributes
    ----------
    delta, rounds
        δ and n.
    lower, upper
        In nats per round; None where nothing is known. Above K the statement is empty.
    note
        Why an end is missing, if one is.
    """

    delta: float
    rounds: int
    lower: float | None
    upper: float | None
    note: str


def certified_margin(events: EventSet, rounds: int, delta: float) -> CertifiedMargin:
    """By bisection on ε; each step is a proof of one side or of none."""
    target = float(np.log(delta))
    rate = events.base.rate.rate
    known: dict[float, LogBounds] = {}

    def bounds(margin: float) -> LogBounds:
        if margin not in known:
            threshold = rounds * (rate - margin)
            curve = ErrorCurve(
                events, rounds, rounds, rounds, threshold=threshold, sharpness=_COARSE
            )
            known[margin] = curve.bounds(rounds, rounds)
        return known[margin]

    def enough(margin: float) -> bool:
        return bool(bounds(margin).upper[0] <= target)

    def too_little(margin: float) -> bool:
        return bool(bounds(margin).lower[0] > target)

    scale = max(rate, 1e-6)
    upper = _edge(enough, inside=scale, outside=-scale, scale=scale)
    if not events.is_unique:
        return CertifiedMargin(delta, rounds, None, upper, "several hypotheses are best")
    lower = _edge(too_little, inside=-scale, outside=scale, scale=-scale)
    missing = [name for name, end in (("lower", lower), ("upper", upper)) if end is None]
    note = f"no {' and no '.join(missing)} end of the margin was proved" if missing else ""
    return CertifiedMargin(delta, rounds, lower, upper, note)


def _edge(
    holds: Callable[[float], bool], *, inside: float, outside: float, scale: float
) -> float | None:
    """A point where `holds`, close to where it ceases to; None if none was found.

    `inside` moves away by multiples of `scale` until it holds there, `outside` the other way.
    """
    for _ in range(_MOST_STEPS // 4):
        if holds(inside):
            break
        outside, inside = inside, inside + 2 * (inside - outside)
    else:
        return None
    step = abs(scale)
    for _ in range(_MOST_STEPS // 4):
        if not holds(outside):
            break
        inside, outside = outside, outside - np.sign(scale) * step
        step *= 2
    for _ in range(_MOST_STEPS):
        if abs(inside - outside) <= _PRECISION * max(abs(inside), abs(scale) * 1e-3):
            break
        middle = 0.5 * (inside + outside)
        if holds(middle):
            inside = middle
        else:
            outside = middle
    return float(inside)
