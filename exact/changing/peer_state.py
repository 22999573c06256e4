"""All that a peer is, as numbers that can be written down."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import NDArray

from exact.changing.message import Message, Receipt
from theory.robustness.rules import RULES, Rule
from theory.showing import Shown
from theory.validation import FloatArray, fail

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
