"""All that a peer is, as numbers that can be written down."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from enum import Enum

import numpy as np
from numpy.typing import NDArray

from theory.robustness.behaviours import LARGEST_MESSAGE
from theory.robustness.faults import RULES, Rule
from theory.showing import Shown
from theory.validation import FloatArray, IntArray, as_float_array, as_integer, fail

# What one agent says to the others in one round, what becomes of it, and what is made of it ------


@dataclass(frozen=True, eq=False)
class Message(Shown):
    """What one agent says in one round.

    Parameters
    ----------
    sender, round
        The agent's number, and the round t ≥ 0 it speaks of; round 0 is its prior.
    log_belief
        Shape (M,): log b, in nats; none beyond ±1e100, where sums of differences might overflow and
        no honest agent gets near. A constant common to all hypotheses has no meaning.
    digest
        SHA-256 of the three in hexadecimal; worked out if left out. One that came with the
        message is compared, so that damage on the way is found.

    Raises
    ------
    ValueError
        If a number is negative, a belief not finite or too large, or the digest another content's.

    Examples
    --------
    >>> import numpy as np
    >>> message = Message(2, 7, np.log([0.25, 0.75]))
    >>> Message(2, 7, np.log([0.75, 0.25]), message.digest)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    ValueError: message: expected content of digest ..., got ...; ask for it to be sent again
    """

    sender: int
    round: int
    log_belief: FloatArray
    digest: str = ""

    def __post_init__(self) -> None:
        """Check the content and seal it, or compare it with its seal."""
        sender = as_integer("message.sender", self.sender, minimum=0)
        when = as_integer("message.round", self.round, minimum=0)
        belief = as_float_array("message.log_belief", self.log_belief, ndim=1)
        if belief.size == 0:
            raise fail("message.log_belief", "at least one hypothesis", "none", "state a belief")
        if np.abs(belief).max() > LARGEST_MESSAGE:
            raise fail(
                "message.log_belief",
                f"logarithms within {LARGEST_MESSAGE:g} nats",
                f"{belief[np.abs(belief).argmax()]:g}",
                "say what is believed",
            )
        content = hashlib.sha256(f"{sender} {when} ".encode() + belief.astype("<f8").tobytes())
        if self.digest and self.digest != content.hexdigest():
            raise fail(
                "message",
                f"content of digest {self.digest[:12]}…",
                f"{content.hexdigest()[:12]}…",
                "ask for it to be sent again",
            )
        object.__setattr__(self, "sender", sender)
        object.__setattr__(self, "round", when)
        object.__setattr__(self, "log_belief", belief)
        object.__setattr__(self, "digest", content.hexdigest())


class Receipt(Enum):
    """What became of a message.

    Only a ``NEW`` one changes what is held.
    """

    NEW = "new"
    DUPLICATE = "duplicate"  # the message that is held, again
    LATE = "late"  # of an earlier round than the one that is held
    CONFLICT = "conflict"  # of the same round, with other content: the first one stays
    EARLY = "early"  # of a round that has not begun: nobody can know that yet
    STRANGER = "stranger"  # from an agent this one gives no weight to, or from itself


@dataclass(frozen=True, eq=False)
class Pooled(Shown):
    """An agent's private belief, and what it was made of.

    Attributes
    ----------
    log_belief
        Shape (M,): normalised, floating point.
    weights
        Shape (N,): what each agent's message counted, non-negative; they sum to one.
    ages
        Shape (N,): how many rounds old the message used was, by a shared clock; by clocks of their
        own, how many of the agent's poolings had used it before. −1 where none was used.
    rounds
        Shape (N,): the round of which the message used speaks; −1 where none was used. For the
        agent itself its own round.
    """

    log_belief: FloatArray
    weights: FloatArray
    ages: IntArray
    rounds: IntArray


# All that a peer is, as numbers that can be written down -----------------------------------------


Meta = Mapping[str, object]
"""What fits into JSON."""


@dataclass(frozen=True, eq=False)
class PeerState(Shown):
    """A :class:`exact.Peer` at rest: its number, its round, and what follows.

    Attributes
    ----------
    is_open, on_loss, clocks, rule, against
        As of the peer.
    weights
        Shape (N,).
    log_belief
        Shape (M,).
    held, used
        The message held of each neighbour, and how many poolings have had it.
    lost
        Neighbours known to be gone.
    ahead
        Messages of rounds that have not begun.
    counts
        How many messages met each fate, in the order of :class:`exact.Receipt`.
    """

    owner: int
    round: int
    is_open: bool
    on_loss: str
    clocks: str
    rule: Rule | None
    against: int
    weights: FloatArray
    log_belief: FloatArray
    held: tuple[Message, ...]
    used: tuple[int, ...]
    lost: tuple[int, ...]
    ahead: tuple[Message, ...]
    counts: tuple[int, ...]

    @property
    def meta(self) -> dict[str, object]:
        """The part that is no array: plain values, for JSON."""
        rule = self.rule
        names = {kind: name for name, kind in RULES.items()}
        return {
            "owner": self.owner,
            "round": self.round,
            "is_open": self.is_open,
            "on_loss": self.on_loss,
            "clocks": self.clocks,
            "rule": None if rule is None else {"name": names[type(rule)], **asdict(rule)},
            "against": self.against,
            "lost": list(self.lost),
            "counts": {r.value: n for r, n in zip(Receipt, self.counts, strict=True)},
        }

    @property
    def tensors(self) -> dict[str, NDArray[np.float64] | NDArray[np.int64]]:
        """The arrays, by name: of K messages held and A ahead, and the peer's own."""
        size = self.log_belief.size
        return {
            "weights": self.weights,
            "log_belief": self.log_belief,
            "held": _numbers(self.held),
            "held_beliefs": _beliefs(self.held, size),
            "used": np.array(self.used, dtype=np.int64),
            "ahead": _numbers(self.ahead),
            "ahead_beliefs": _beliefs(self.ahead, size),
        }

    @classmethod
    def from_parts(cls, meta: Meta, tensors: Mapping[str, NDArray[np.generic]]) -> PeerState:
        """The state of which :attr:`meta` and :attr:`tensors` were written down.

        Raises
        ------
        ValueError
            If something is missing or of another kind.
        """
        try:
            values = dict(meta)
            rule = values.pop("rule")
            counts = values.pop("counts")
            lost = values.pop("lost")
            assert isinstance(counts, Mapping)
            assert isinstance(lost, Sequence)
            return cls(
                **values,  # type: ignore[arg-type]
                rule=None if rule is None else _rule(dict(rule)),  # type: ignore[call-overload]
                lost=tuple(map(int, lost)),
                counts=tuple(int(counts.get(receipt.value, 0)) for receipt in Receipt),
                weights=np.array(tensors["weights"], dtype=np.float64),
                log_belief=np.array(tensors["log_belief"], dtype=np.float64),
                held=_messages(tensors["held"], tensors["held_beliefs"]),
                used=tuple(int(n) for n in tensors["used"]),
                ahead=_messages(tensors["ahead"], tensors["ahead_beliefs"]),
            )
        except (AssertionError, KeyError, TypeError, IndexError) as error:
            raise fail("state", "what a peer wrote down", repr(error), "begin without it") from None


def _rule(spec: dict[str, object]) -> Rule:
    kind = RULES[str(spec.pop("name"))]
    return kind(**spec)  # type: ignore[arg-type, return-value, unused-ignore]


def _numbers(messages: Sequence[Message]) -> NDArray[np.int64]:
    """Senders and rounds, shape (K, 2)."""
    rows = [[m.sender, m.round] for m in messages]
    return np.array(rows, dtype=np.int64).reshape(len(rows), 2)


def _beliefs(messages: Sequence[Message], size: int) -> FloatArray:
    """Shape (K, M)."""
    return np.array([m.log_belief for m in messages]).reshape(len(messages), size)


def _messages(numbers: NDArray[np.generic], beliefs: NDArray[np.generic]) -> tuple[Message, ...]:
    pairs = zip(numbers, beliefs, strict=True)
    return tuple(Message(int(n[0]), int(n[1]), row) for n, row in pairs)
