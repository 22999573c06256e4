"""How far from the best a design can be: what it achieves, and what no design exceeds."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from theory.showing import Shown
from theory.validation import fail

Sense = Literal["maximise", "minimise"]
Kind = Literal["exact", "certified", "rounded", "local"]
KINDS: tuple[Kind, ...] = ("exact", "certified", "rounded", "local")


@dataclass(frozen=True)
class Certificate(Shown):
    """The value of a design beside a bound on the value of every design.

    Attributes
    ----------
    value
        What the design achieves.
    bound
        No design does better: an upper bound if the objective is maximised, a lower bound if it
        is minimised; infinite (with the sign of no information) if there is none.
    sense
        Whether the objective is maximised or minimised.
    kind
        ``"exact"``: proved in exact arithmetic; ``"certified"``: proved by intervals, rounding
        included; ``"rounded"``: proved but for the rounding of floating-point arithmetic;
        ``"local"``: the best that a search found, with whatever bound there is.
    note
        How the bound comes about, in a sentence.

    Raises
    ------
    ValueError
        If the value is not finite, or `bound` is on the wrong side of it by more than rounding.

    Examples
    --------
    >>> Certificate(0.4, 0.5, "maximise", "rounded").gap
    0.09999999999999998
    """

    value: float
    bound: float
    sense: Sense
    kind: Kind
    note: str = ""

    # A bound and the value it bounds are computed by different sums: they may cross by rounding.
    _CROSSING = 1e-9

    def __post_init__(self) -> None:
        if self.sense not in ("maximise", "minimise"):
            raise fail("sense", "maximise or minimise", repr(self.sense), "choose one")
        if self.kind not in KINDS:
            raise fail("kind", f"one of {', '.join(KINDS)}", repr(self.kind), "choose one")
        if not math.isfinite(self.value):
            raise fail("value", "a finite number", self.value, "report the case by itself")
        if math.isnan(self.bound):
            raise fail("bound", "a number", "nan", "give an infinite bound if there is none")
        slack = self._CROSSING * max(1.0, abs(self.value))
        if self._excess < -slack:
            side = "above" if self.sense == "maximise" else "below"
            raise fail("bound", f"a number {side} {self.value!r}", self.bound, "check the proof")

    @property
    def _excess(self) -> float:
        excess = self.bound - self.value
        return excess if self.sense == "maximise" else -excess

    @property
    def gap(self) -> float:
        """How much better than `value` any design could be; at least 0, infinite if unknown."""
        return max(self._excess, 0.0) + 0.0  # -0.0 is 0.0

    @property
    def is_proved(self) -> bool:
        """Whether there is a finite bound."""
        return math.isfinite(self.bound)
