"""Which of several designs comes first, and how far a search has got."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from theory.design.samples.bent_laws import Evidence
from theory.design.samples.converse import perfect_mixing
from theory.design.samples.sample_designs import Judged
from theory.design.samples.sample_starts import Influence, Start
from theory.learning.exponent import error_exponent
from theory.learning.model import FiniteModel
from theory.network.structure import as_dense
from theory.validation import FloatArray

Progress = Callable[[int, int], None]

# Weights that agree to this are one start.
SAME = 1e-6
# A horizon for descents where no design has a bound yet.
_UNKNOWN = 1000


def strongest(model: FiniteModel, tried: tuple[Influence, ...]) -> FloatArray:
    """The influence with the largest error exponent."""
    exponents = [error_exponent(perfect_mixing(one.v), model).exponent for one in tried]
    return tried[int(np.argmax(exponents))].v


def strongest_of(evidence: tuple[Evidence, ...], influences: list[FloatArray]) -> FloatArray:
    """The influence with the largest exponent against all evidence."""
    values = [min(e.exponent(v) for e in evidence) for v in influences]
    return influences[int(np.argmax(values))]


def different(starts: list[Start]) -> list[Start]:
    """The first of those with the same weights."""
    kept: list[Start] = []
    for start in starts:
        weights = as_dense(start.network.weights)
        if all(np.abs(weights - as_dense(one.network.weights)).max() > SAME for one in kept):
            kept.append(start)
    return kept


def fewest_rounds(found: list[Judged]) -> int:
    """The fewest rounds that are known to be enough."""
    known = [one.row.rounds for one in found if one.row.rounds is not None]
    return min(known, default=_UNKNOWN)


def by_rounds(one: Judged) -> tuple[float, float]:
    """Fewest rounds first; among equals the smaller lower end."""
    rounds, lower = one.row.rounds, one.row.samples.lower
    return (
        np.inf if rounds is None else float(rounds),
        np.inf if lower is None else float(lower),
    )


class Steps:
    """Progress, in networks looked at."""

    def __init__(self, progress: Progress | None, total: int) -> None:
        self._progress, self._total, self._done = progress, total, 0

    def done(self) -> None:
        """One more."""
        self._reach(min(self._done + 1, self._total))

    def finish(self) -> None:
        """All of them, where there were fewer than foreseen."""
        if self._done < self._total:
            self._reach(self._total)

    def _reach(self, done: int) -> None:
        self._done = done
        if self._progress is not None:
            self._progress(self._done, self._total)
