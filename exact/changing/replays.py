"""What a peer did, again: the same events give the same beliefs, to the last bit.

A journal of everything that went into a :class:`exact.Peer`, in order, is all that is needed to
have its beliefs once more, on another day and another machine of the same arithmetic.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import ArrayLike

from exact.changing.peer import Peer
from exact.changing.peer_state import Message, PeerState, Pooled
from theory.showing import Shown
from theory.validation import FloatArray, IntArray, as_float_array, as_integer, fail, read_only

KINDS: dict[str, tuple[str, ...]] = {
    "start": ("state",),
    "observe": ("log_likelihood",),
    "deliver": ("message",),
    "pool": (),
    "skip": ("round",),
    "lose": ("sender",),
    "reweigh": ("weights", "log_priors"),
}
"""What may happen to a peer, and what is known of it."""


@dataclass(frozen=True, eq=False)
class Event(Shown):
    """One thing that happened to a peer: a method of :class:`exact.Peer` and its arguments.

    Parameters
    ----------
    kind
        "observe", "deliver", "pool", "skip", "lose" or "reweigh"; or "start", from a state, which
        is how a life begins, and how it goes on after a crash.
    state, log_likelihood, message, round, sender, weights, log_priors
        What that kind needs, and nothing else.

    Raises
    ------
    ValueError
        If the kind is unknown, something is missing, or something else is given.

    Examples
    --------
    >>> Event("skip", round=7).round
    7
    """

    kind: str
    state: PeerState | None = None
    log_likelihood: ArrayLike | None = None
    message: Message | None = None
    round: int | None = None
    sender: int | None = None
    weights: ArrayLike | None = None
    log_priors: ArrayLike | None = None

    def __post_init__(self) -> None:
        """Check that what is given is what the kind needs, and keep copies of arrays."""
        if self.kind not in KINDS:
            raise fail("kind", f"one of {', '.join(KINDS)}", repr(self.kind), "choose one of them")
        given = {f.name for f in fields(self)[1:] if getattr(self, f.name) is not None}
        needed = set(KINDS[self.kind])
        if given != needed:
            raise fail(
                self.kind,
                " and ".join(sorted(needed)) or "nothing else",
                " and ".join(sorted(given)) or "nothing",
                "give what happened, no more and no less",
            )
        for name in ("round", "sender"):
            if name in given:
                object.__setattr__(self, name, as_integer(name, getattr(self, name), minimum=0))
        for name in {"log_likelihood", "weights", "log_priors"} & given:
            values = np.asarray(getattr(self, name), dtype=np.float64)
            object.__setattr__(self, name, as_float_array(name, values, ndim=values.ndim))


@dataclass(frozen=True, eq=False)
class Replay(Shown):
    """What a peer came to believe, round by round, of the R rounds in which it observed.

    Attributes
    ----------
    rounds
        Shape (R,): their numbers, which increase.
    log_beliefs
        Shape (R, M): the private beliefs after them; of a round that ended without pooling the
        public one. Bit for bit what the peer had.
    pooled
        R of them: what each was made of. A round that ended without pooling is made of itself.
    bases
        Shape (R,): the place, in these lists, of the round from whose private belief each went on:
        the one before, or an earlier one if the peer lost what it had not written down; −1 for the
        prior.
    state
        The peer at the end.
    """

    rounds: IntArray
    log_beliefs: FloatArray
    pooled: tuple[Pooled, ...]
    bases: IntArray
    state: PeerState


def replay(events: Iterable[Event]) -> Replay:
    """Do to a peer what happened to it.

    A crash and a return is another "start", from the state that the peer went on from. What it had
    observed after that state is lost to itself, and not to those who heard of it.

    Parameters
    ----------
    events
        In order, the first of them a "start".

    Raises
    ------
    ValueError
        If there is no start, or an event is none that can happen then.

    Examples
    --------
    >>> peer = Peer(0, [0.5, 0.5], log_priors=np.log([0.5, 0.5]))
    >>> head = np.log([0.8, 0.4])
    >>> journal = [Event("start", state=peer.state())]
    >>> for _ in range(2):
    ...     said, pooled = peer.observe(head), peer.pool()
    ...     journal += [Event("observe", log_likelihood=head), Event("pool")]
    >>> again = replay(journal)
    >>> again.rounds.tolist(), bool((again.log_beliefs[-1] == peer.log_belief).all())
    ([1, 2], True)
    """
    life: _Life | None = None
    for event in events:
        if event.kind == "start":
            assert event.state is not None
            life = _Life(event.state) if life is None else life.again(event.state)
        elif life is None:
            raise fail("events", "a start", event.kind, "begin with the state a peer began with")
        else:
            life.go_on(event)
    if life is None:
        raise fail("events", "at least one", "none", "begin with the state a peer began with")
    return life.told()


class _Life:
    """A peer, and what it came to believe."""

    def __init__(self, state: PeerState) -> None:
        if state.is_open:
            _refuse_open(state)
        self.peer = Peer.from_state(state)
        self.rounds: list[int] = []
        self.bases: list[int] = []
        self.pooled: list[Pooled] = []
        self.base = -1

    def again(self, state: PeerState) -> _Life:
        """Go on from what was written down."""
        self._end_round()
        if state.is_open:
            _refuse_open(state)
        self.peer = Peer.from_state(state)
        self.base = int(np.searchsorted(self.rounds, state.round, side="right")) - 1
        return self

    def go_on(self, event: Event) -> None:
        """One event that is no start."""
        peer = self.peer
        if event.kind == "skip":
            self._end_round()
        if event.kind == "pool":
            self._note(peer.pool())
        else:
            getattr(peer, event.kind)(*(getattr(event, name) for name in KINDS[event.kind]))
        if event.kind == "observe":
            if self.rounds and peer.round <= self.rounds[-1]:
                raise fail(
                    "events",
                    f"a round after {self.rounds[-1]}",
                    peer.round,
                    "skip, after a return, the rounds that may have been spoken of",
                )
            self.rounds.append(peer.round)
            self.bases.append(self.base)

    def told(self) -> Replay:
        """What is known at the end."""
        state = self.peer.state()
        self._end_round()
        beliefs = [pooled.log_belief for pooled in self.pooled]
        shape = (len(beliefs), state.log_belief.size)
        return Replay(
            read_only(np.array(self.rounds, dtype=np.int64)),
            read_only(np.array(beliefs).reshape(shape)),
            tuple(self.pooled),
            read_only(np.array(self.bases, dtype=np.int64)),
            state,
        )

    def _note(self, pooled: Pooled) -> None:
        self.pooled.append(pooled)
        self.base = len(self.pooled) - 1

    def _end_round(self) -> None:
        """A round that was open is over: it is made of itself."""
        peer = self.peer
        if not peer.is_open:
            return
        agents = peer.mailbox.weights.size
        own = np.arange(agents) == peer.owner
        none = np.full(agents, -1, dtype=np.int64)
        self._note(
            Pooled(
                peer.log_belief,
                read_only(own.astype(np.float64)),
                read_only(np.where(own, 0, none)),
                read_only(np.where(own, peer.round, none)),
            )
        )


def _refuse_open(state: PeerState) -> None:
    raise fail(
        "start",
        "a state between two rounds",
        f"one within round {state.round}",
        "write states down after pooling",
    )
