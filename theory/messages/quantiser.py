"""What an agent sends instead of its beliefs: quantised differences to a replica.

Agent j's log-ratios against the first hypothesis are the M − 1 numbers y_j, in nats. All who hear
j keep the same replica ŷ_j of them, zero before round 1. In each round j sends q_j = Q(y_j − ŷ_j),
everybody adds it to ŷ_j, and then

    Λ_i = y_i + γ Σ_j W_ij (ŷ_j − ŷ_i).

==================  ==============================================================================
``Uniform``         Q rounds each number to the nearest of the middles of cells of width `step`
``Deadband``        the same, and nothing at all is sent while no number is off by more than
                    `threshold`: event-triggered sending
``Single``          Q rounds one number a message: each in its turn, the one that is off most, or
                    one at random; the replicas of the others wait
``Acknowledged``    Q rounds each number for each listener by itself: links lose messages, and
                    agents keep what every listener is known to have
``Unacknowledged``  links lose messages and nobody notices: replicas get out of step, nothing is
                    guaranteed
``Samples``         no replica: agents send how often each hypothesis came up in draws from their
                    belief, and logarithms of these counts are pooled; no guarantee
``Plain``           no replica: agents send Q(y_j) and pool what they hear as it is; no guarantee
==================  ==============================================================================

With L levels there are L cells, evenly about zero; numbers beyond the last cell go to its middle.
A message is one whole number below L^(M−1), in as many whole bytes as that takes, after a header.
(docs: mathematics/compressed-beliefs)
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Literal, TypeAlias, get_args

import numpy as np

from theory.showing import Shown
from theory.validation import FloatArray, as_integer, as_positive, fail

# Cells of equal width, which all quantisers of numbers share, and how messages are framed --------


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


# What agents send over links that lose messages, with and without acknowledgements ---------------


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


# What an agent sends instead of its beliefs ------------------------------------------------------


Choice: TypeAlias = Literal["rotation", "largest", "random"]
"""Which log-ratio a message carries that carries one."""


@dataclass(frozen=True, kw_only=True)
class Uniform(Cells):
    """Sends the difference to the replica, rounded, in every round.

    Examples
    --------
    >>> import numpy as np
    >>> half = Uniform(step=0.5)
    >>> half.cells(np.array([0.2, 0.3, -7.1])).tolist()
    [0.0, 0.5, -7.0]
    >>> Uniform(step=1.0, levels=2).cells(np.array([0.2, -7.1])).tolist()
    [0.5, -0.5]
    >>> half.error_bound
    0.25
    """

    name: ClassVar[str] = "uniform"

    @property
    def error_bound(self) -> float:
        """The most that a replica is off after a message, in nats, if nothing overloads."""
        return float(self.step) / 2


@dataclass(frozen=True, kw_only=True)
class Deadband(Cells):
    """Sends nothing while every log-ratio is within `threshold` of its replica.

    Parameters
    ----------
    threshold
        T > step/2, in nats.

    Raises
    ------
    ValueError
        As for all quantisers; if T is at most half a step, which no message would keep.

    Examples
    --------
    >>> Deadband(step=0.5, threshold=2.0).error_bound
    2.0
    """

    threshold: Real

    name: ClassVar[str] = "deadband"

    def __post_init__(self) -> None:
        super().__post_init__()
        threshold = as_positive("threshold", self.threshold)
        if threshold <= float(self.step) / 2:
            wanted = f"more than half a step, {float(self.step) / 2:g}"
            raise fail("threshold", wanted, f"{threshold:g}", "raise it, or take a smaller step")

    @property
    def error_bound(self) -> float:
        """The most that a replica is off after a round, in nats, if nothing overloads."""
        return float(self.threshold)


@dataclass(frozen=True, kw_only=True)
class Single(Cells):
    """Sends one of the M − 1 differences a round, rounded.

    Parameters
    ----------
    choice
        ``"rotation"``: each in its turn; ``"largest"``: the one that is off most, with its number
        in the message; ``"random"``: any of them, by draws that listeners repeat.

    Raises
    ------
    ValueError
        As for all quantisers; if `choice` is none of these.

    Examples
    --------
    >>> Single(step=0.5, levels=100, choice="rotation").frame(8)
    5
    >>> Single(step=0.5, levels=100, choice="largest").frame(8)  # 800 messages
    6
    """

    choice: Choice = "rotation"

    name: ClassVar[str] = "single"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.choice not in get_args(Choice):
            wanted = f"one of {', '.join(get_args(Choice))}"
            raise fail("choice", wanted, repr(self.choice), "choose one of them")

    @property
    def error_bound(self) -> float:
        """The most that the number that was sent is off, in nats; others wait, and are off more."""
        return float(self.step) / 2

    def frame(self, numbers: int) -> int | None:
        """Bytes of a message: of one number, and of which it is where that is chosen by size."""
        if self.levels is None:
            return None
        return self._bytes(self.levels * (numbers if self.choice == "largest" else 1))

    def waits(self, numbers: int) -> float:
        """All others come first; by chance there is no most."""
        return math.inf if self.choice == "random" and numbers > 1 else numbers - 1.0

    def mean_waits(self, numbers: int) -> float:
        """All others, however they are chosen."""
        return numbers - 1.0


@dataclass(frozen=True, kw_only=True)
class Plain(Cells):
    """Sends the rounded log-ratios themselves, which listeners take as they are.

    On trial beside the others: what rounding loses is lost for good (see
    `theory.messages.stalling_step`).
    """

    name: ClassVar[str] = "plain"
    has_replica: ClassVar[bool] = False

    @property
    def error_bound(self) -> float:
        """What a message is off, in nats, if nothing overloads; nothing follows for beliefs."""
        return float(self.step) / 2


@dataclass(frozen=True, kw_only=True)
class Samples(Shown):
    """Sends counts of m draws of a hypothesis from the public belief.

    Listeners take log((c_1 + α)/(c_θ + α)) for the speaker's log-ratio: of bounded size, so that
    learning ends (`theory.messages.sampled_ceiling`). On trial beside the others.

    Parameters
    ----------
    draws
        m ≥ 1.
    smoothing
        α > 0, which stands for draws that nobody made: without it a hypothesis that does not come
        up once would be ruled out for good.
    mixing, header
        As for all quantisers.

    Raises
    ------
    ValueError
        If a parameter is out of range.

    Examples
    --------
    >>> Samples(draws=255).frame(1)  # 0 to 255 of one of two hypotheses
    5
    """

    draws: int
    smoothing: Real = Fraction(1, 2)
    mixing: Real = Fraction(1)
    header: int = HEADER

    name: ClassVar[str] = "samples"
    has_replica: ClassVar[bool] = False
    levels: ClassVar[None] = None
    answer: ClassVar[int] = 0
    # Counts are whole numbers.
    step: ClassVar[float] = 1.0
    error_bound: ClassVar[float] = math.inf

    def __post_init__(self) -> None:
        object.__setattr__(self, "draws", as_integer("draws", self.draws, minimum=1))
        as_positive("smoothing", self.smoothing)
        if as_positive("mixing", self.mixing) > 1:
            raise fail("mixing", "a number in (0, 1]", f"{self.mixing:g}", "use 1 or less")
        object.__setattr__(self, "header", as_integer("header", self.header, minimum=0))

    def frame(self, numbers: int) -> int:
        """Bytes of one message about so many hypotheses besides the first."""
        messages = math.comb(self.draws + numbers, numbers)
        return self.header + -(-(messages - 1).bit_length() // 8)

    def waits(self, numbers: int) -> float:
        """Nothing waits."""
        return 0.0

    def mean_waits(self, numbers: int) -> float:
        """Nothing waits."""
        return 0.0


Quantiser: TypeAlias = Uniform | Deadband | Single | Acknowledged | Unacknowledged | Samples | Plain

Kind: TypeAlias = (
    type[Uniform]
    | type[Deadband]
    | type[Single]
    | type[Acknowledged]
    | type[Unacknowledged]
    | type[Samples]
    | type[Plain]
)

QUANTISERS: dict[str, Kind] = {
    kind.name: kind
    for kind in (Uniform, Deadband, Single, Acknowledged, Unacknowledged, Samples, Plain)
}
"""The quantisers by the names that problem files give them."""
