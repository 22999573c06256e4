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

from theory.messages.cells import HEADER, Cells, Real
from theory.messages.losing import Acknowledged, Unacknowledged
from theory.showing import Shown
from theory.validation import as_integer, as_positive, fail

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
