"""What agents send over links that lose messages, with and without acknowledgements."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from theory.messages.cells import Cells, Real
from theory.validation import as_integer, fail


@dataclass(frozen=True, kw_only=True)
class _Lost(Cells):
    """Links lose messages.

    Parameters
    ----------
    loss
        p in [0, 1): how likely a link loses a message, whatever it lost before.

    Raises
    ------
    ValueError
        As for all quantisers; if `loss` is not in [0, 1).
    """

    loss: Real

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.loss, bool) or not isinstance(self.loss, float | int | Fraction):
            raise fail("loss", "a number in [0, 1)", repr(self.loss), "use a number")
        if not 0 <= self.loss < 1:
            raise fail("loss", "a number in [0, 1)", f"{self.loss:g}", "use less than 1")

    @property
    def error_bound(self) -> float:
        """The most that a replica is off after a message that arrived, if nothing overloads."""
        return float(self.step) / 2


@dataclass(frozen=True, kw_only=True)
class Acknowledged(_Lost):
    """Sends every listener the difference to what that listener is known to have, rounded.

    Listeners answer each message with a header. What a listener adds with weight W_ij, the speaker
    takes off with v_i W_ij/v_j, by the listener's own replica: nothing is gained or lost.

    Parameters
    ----------
    burst
        At most so many messages in a row are lost on a link: the next one arrives. None for no
        such bound.

    Examples
    --------
    >>> Acknowledged(step=0.5, loss=0.25).mean_waits(1)  # p/(1 − p)
    0.3333333333333333
    >>> Acknowledged(step=0.5, loss=0.25, burst=3).waits(1)
    3.0
    """

    burst: int | None = None

    name: ClassVar[str] = "acknowledged"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.burst is not None:
            object.__setattr__(self, "burst", as_integer("burst", self.burst, minimum=0))

    @property
    def answer(self) -> int:
        """A header, that a message arrived."""
        return self.header

    def waits(self, numbers: int) -> float:
        """Those that are lost in a row."""
        if self.loss == 0:
            return 0.0
        return math.inf if self.burst is None else float(self.burst)

    def mean_waits(self, numbers: int) -> float:
        """p/(1 − p), the mean number of losses in a row."""
        return min(self.waits(numbers), float(self.loss / (1 - self.loss)))


@dataclass(frozen=True, kw_only=True)
class Unacknowledged(_Lost):
    """Sends all listeners the same difference; who misses it has another replica from then on.

    On trial beside the others: learning stops.
    """

    name: ClassVar[str] = "unacknowledged"
    has_replica: ClassVar[bool] = False
