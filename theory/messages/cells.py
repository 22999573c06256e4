"""Cells of equal width, which all quantisers of numbers share, and how messages are framed."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, TypeAlias

import numpy as np

from theory.showing import Shown
from theory.validation import FloatArray, as_integer, as_positive, fail

HEADER = 4
"""Bytes before the numbers of a message: the round, as 32 bits."""

Real: TypeAlias = "float | Fraction"


@dataclass(frozen=True, kw_only=True)
class Cells(Shown):
    """Cells of equal width, and how a message of their numbers is framed.

    Parameters
    ----------
    step
        Δ, the width of a cell in nats, positive. Fractions stay exact.
    mixing
        γ, in (0, 1]: the share of the way that agents go towards what they hear.
    levels
        L ≥ 2, the number of cells; None for as many as are needed, without a bound.
    header
        Bytes of a message besides its numbers, at least 0.

    Raises
    ------
    ValueError
        If a parameter is out of range.
    """

    step: Real
    mixing: Real = Fraction(1)
    levels: int | None = None
    header: int = HEADER

    has_replica: ClassVar[bool] = True
    """Whether anything is promised of beliefs."""

    @property
    def answer(self) -> int:
        """Bytes that a listener sends back for each message."""
        return 0

    def waits(self, numbers: int) -> float:
        """Rounds that one of so many log-ratios waits at most between two that bring it."""
        return 0.0

    def mean_waits(self, numbers: int) -> float:
        """What takes the place of `waits` in bounds on means over runs."""
        return self.waits(numbers)

    def __post_init__(self) -> None:
        as_positive("step", self.step)
        mixing = as_positive("mixing", self.mixing)
        if mixing > 1:
            raise fail("mixing", "a number in (0, 1]", f"{mixing:g}", "use 1 or less")
        if self.levels is not None:
            object.__setattr__(self, "levels", as_integer("levels", self.levels, minimum=2))
        object.__setattr__(self, "header", as_integer("header", self.header, minimum=0))

    def cells(self, values: FloatArray) -> FloatArray:
        """The middles of the cells that values lie in; the shape of `values`, in nats.

        Middles are multiples of `step` if L is odd or None, and halfway between them if L is even.
        """
        step = float(self.step)
        if self.levels is None:
            return np.asarray(np.rint(values / step) * step)
        half = self.levels // 2
        if self.levels % 2:
            return np.asarray(np.clip(np.rint(values / step), -half, half) * step)
        return np.asarray((np.clip(np.floor(values / step), -half, half - 1) + 0.5) * step)

    def frame(self, numbers: int) -> int | None:
        """Bytes of one message of so many log-ratios; None if L is None: a code needs levels."""
        return None if self.levels is None else self._bytes(self.levels**numbers)

    def _bytes(self, messages: int) -> int:
        """Bytes that tell so many messages apart, and the header's."""
        payload = int(messages - 1).bit_length()
        return self.header + -(-payload // 8)
