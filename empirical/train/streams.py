"""All streams that end at the agents of this process: what they say in a round, and what they hear.

An agent whose listeners hear all that it says, round after round, speaks in one stream; an agent
that is heard by others in other rounds has one for each listener, since they remember different
messages. A link that is down carries nothing, and both ends know it, as they do of a connection
that is gone. What is lost or damaged on the way is noticed by the listener, who asks for a key
frame and hears nothing of that agent meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from empirical.messages.codec import Codec, Coder, Heard, Layout, Replicating, Said
from empirical.messages.selected import from_bytes, to_bytes
from empirical.messages.streams import (
    ALL,
    Address,
    FrameError,
    Receiver,
    Sender,
    fingerprint,
    prepared,
)
from empirical.nets.exchange import Exchange, Message
from empirical.train.pooling import Round
from theory.changing import AnyNetwork, DelayedNetwork, MarkovNetwork, PeriodicNetwork
from theory.network import Network
from theory.network.structure import as_weights
from theory.scientific import sparse
from theory.validation import fail

# Over which links messages may travel, and whether all who listen to an agent hear the same ------


@dataclass(frozen=True)
class Links:
    """The links of a network, over all of its rounds.

    Attributes
    ----------
    pairs
        (speaker, listener) of every link that any round may have, in order.
    steady
        Speakers whose every listener hears all that they say: one stream of messages, and one
        memory, then does for all of them.

    Examples
    --------
    >>> links = Links.of(Network.from_topology("path", agents=3))
    >>> links.pairs, sorted(links.steady)
    (((0, 1), (1, 0), (1, 2), (2, 1)), [0, 1, 2])
    """

    pairs: tuple[tuple[int, int], ...]
    steady: frozenset[int]

    @classmethod
    def of(cls, network: AnyNetwork) -> Links:
        """Those of a network, fixed or changing."""
        if isinstance(network, PeriodicNetwork | MarkovNetwork):
            phases = [phase.weights for phase in network.phases]
        else:
            phases = [(network if isinstance(network, Network) else network.network).weights]
        tables = [_pairs(weights) for weights in phases]
        pairs = sorted(set().union(*tables))
        everyone = _listeners(pairs)
        steady = set(everyone)
        for heard in map(_listeners, tables):
            steady -= {j for j, listeners in heard.items() if listeners != everyone[j]}
        sure = isinstance(network, Network | PeriodicNetwork | MarkovNetwork | DelayedNetwork)
        return cls(tuple(pairs), frozenset(steady if sure else ()))


def _listeners(pairs: Iterable[tuple[int, int]]) -> dict[int, set[int]]:
    found: dict[int, set[int]] = {}
    for speaker, listener in pairs:
        found.setdefault(speaker, set()).add(listener)
    return found


def _pairs(weights: Any) -> set[tuple[int, int]]:
    """(speaker, listener) of every entry off the diagonal."""
    entries = sparse.coo_array(as_weights(weights))
    listeners, speakers = entries.coords
    some = (entries.data != 0) & (listeners != speakers)
    return set(zip(np.array(speakers[some]).tolist(), listeners[some].tolist(), strict=True))


# All streams that end at the agents of this process ----------------------------------------------


# The speaker, and the listener or ALL.
StreamKey = tuple[int, int]
_ENDS = ("sender", "receiver")


class Streams:
    """The streams of a run, as far as they begin or end in this process.

    Parameters
    ----------
    codec, layout
        How messages are written, and what they look like.
    network
        Who may hear whom.
    own
        The agents of this process.
    exchange
        How it reaches the others.
    seed
        Of the run.

    Attributes
    ----------
    carry
        What the wire makes of a frame: the frame; None: it is lost. For trials of what is lost.
    refusals
        Of this process, over the whole run: what was wrong with frames, in one line each.

    Raises
    ------
    ValueError
        If the codec does not fit the messages.
    """

    def __init__(
        self,
        codec: Codec,
        layout: Layout,
        network: AnyNetwork,
        *,
        own: range,
        exchange: Exchange,
        seed: int,
    ) -> None:
        self.codec, self.layout = codec, layout
        made = prepared(codec, layout)
        self.coder: Coder = made.coder
        self._frame_bytes = made.frame_bytes
        self._agents = network.agents
        self._links, self._own, self._exchange, self._seed = Links.of(network), own, exchange, seed
        self._fingerprint = fingerprint(codec, layout)
        memory = self.coder.memory()
        self._bytes = sum(values.numel() * values.itemsize for values in memory.values())
        # Without memory nobody can be out of step, and one stream does for all.
        self._shared = None if not memory else self._links.steady
        self._ends: dict[str, dict[StreamKey, Any]] = {end: {} for end in _ENDS}
        self.carry: Callable[[bytes], bytes | None] = bytes
        self.refusals: list[str] = []

    def key(self, speaker: int, listener: int) -> StreamKey:
        """Whose stream a message travels in."""
        shared = self._shared is None or speaker in self._shared
        return speaker, ALL if shared else listener

    @property
    def bytes_of_memory(self) -> int:
        """What both ends of all streams in this process take, and what travels in a round.

        An upper bound but for frames, whose length is estimated: links that are never used are
        counted.
        """
        outgoing = {self.key(j, i) for j, i in self._links.pairs if j in self._own}
        incoming = {self.key(j, i) for j, i in self._links.pairs if i in self._own}
        vectors = len(self.layout.names)
        heard = self.layout.size * (4 * vectors + 1)
        working = self.layout.size * 4 * vectors * 4
        frames = len(outgoing | incoming) * self._frame_bytes
        ends = (len(outgoing) + len(incoming)) * self._bytes
        return ends + frames + len(incoming) * heard + working

    # A round ----------------------------------------------------------------------------------

    def exchange(
        self, said: Mapping[int, Said], round: Round, *, number: int, pace: float = 1.0
    ) -> tuple[dict[StreamKey, Heard], int]:
        """Say what own agents say, and hear what they hear.

        Parameters
        ----------
        said
            Of each own agent, vectors of shape (d,), float32, on the CPU.
        number
            The round's, for what goes wrong in it.
        pace
            As of :meth:`~empirical.messages.codec.TwoWay.write`.

        Returns
        -------
        What was heard, by stream, and the bytes that own agents sent, over all links. What was lost
        or damaged is not among what was heard.

        Raises
        ------
        ValueError
            If a message cannot be written, or what was heard is no belief.
        """
        frames: dict[StreamKey, bytes] = {}
        sent = 0
        listeners: dict[int, list[int]] = {}
        for i, speakers in enumerate(round.heard):
            for j in speakers:
                listeners.setdefault(j, []).append(i)
                # What stays is made before what passes, or the heap has holes.
                for end, agent in (("sender", j), ("receiver", i)):
                    if agent in self._own:
                        self._end(end, self.key(j, i))
        for j in self._own:
            for i in listeners.get(j, ()):
                key = self.key(j, i)
                if key not in frames:
                    frames[key] = self._said(key, said[j], number, pace)
                sent += len(frames[key])
        frames.update(self._others(frames, round))
        heard: dict[StreamKey, Heard] = {}
        asked = torch.zeros(len(self._own), self._agents, dtype=torch.uint8)
        for row, i in enumerate(self._own):
            for j in round.heard[i]:
                key = self.key(j, i)
                if key not in heard and key in frames:
                    got = self._hear(key, frames.pop(key))
                    if got is not None:
                        heard[key] = got
                receiver: Receiver = self._end("receiver", key)
                if not receiver.is_in_step:
                    asked[row, j] = 1
                    sent += len(receiver.request())
        self._answer(asked)
        return heard, sent

    def replica(self, speaker: int, listener: int) -> dict[str, Tensor] | None:
        """What a listener takes an own agent to have; None if it was never told."""
        assert isinstance(self.coder, Replicating)
        sender = self._ends["sender"].get(self.key(speaker, listener))
        return None if sender is None else self.coder.replica(sender.memory)

    def _said(self, key: StreamKey, said: Said, number: int, pace: float) -> bytes:
        try:
            frame: bytes = self._end("sender", key).send(said, pace=pace)
        except ValueError as error:
            raise ValueError(f"message of agent {key[0]} in round {number}: {error}") from None
        return frame

    def _others(self, frames: Mapping[StreamKey, bytes], round: Round) -> dict[StreamKey, bytes]:
        """Frames of other processes' agents."""
        letters: dict[int, Message] = {}
        for j in sorted({speaker for speaker, _ in frames}):
            mine = {str(i): frame for (k, i), frame in frames.items() if k == j}
            payload = {i: from_bytes(frame, torch.uint8) for i, frame in mine.items()}
            letters[j] = Message(payload, sum(map(len, mine.values())))
        got = self._exchange.gather(letters, round.heard)
        return {
            (j, int(i)): to_bytes(frame)
            for j, letter in got.items()
            for i, frame in letter.payload.items()
        }

    def _hear(self, key: StreamKey, frame: bytes) -> Heard | None:
        """What is heard; None if it was lost, or could not be used."""
        receiver: Receiver = self._end("receiver", key)
        carried = self.carry(frame)
        try:
            if carried is not None:
                return receiver.receive(carried)
            self.refusals.append(f"frame of agent {key[0]}: expected one, got none")
        except FrameError as error:
            self.refusals.append(str(error))
        receiver.nothing_came()
        return None

    def _answer(self, asked: Tensor) -> None:
        """Own agents take in who asks them for a key frame: rows of own listeners, by speaker."""
        if self._bytes:  # else nobody is ever out of step
            for listener, speaker in self._exchange.collect(asked, self._agents).nonzero().tolist():
                if speaker in self._own:
                    self._end("sender", self.key(speaker, listener)).resynchronise()

    def _end(self, end: str, key: StreamKey) -> Any:
        """One end of a stream, which begins when it is first wanted."""
        if key not in self._ends[end]:
            kind = Sender if end == "sender" else Receiver
            self._ends[end][key] = kind(
                self.coder, Address(self._fingerprint, *key), seed=self._seed
            )
        return self._ends[end][key]

    # State ------------------------------------------------------------------------------------

    def state(self) -> dict[str, Tensor]:
        """All that the rest of the streams depends on, as named tensors; views, not copies."""
        found = {"codec": from_bytes(self._fingerprint, torch.uint8)}
        for end, streams in self._ends.items():
            for (speaker, listener), stream in sorted(streams.items()):
                for name, values in stream.state_dict().items():
                    found[f"{end}.{speaker}.{listener}.{name}"] = values
        return found

    def restore(self, state: Mapping[str, Tensor]) -> None:
        """Go on from a :meth:`state`, bit for bit.

        Raises
        ------
        ValueError
            If it is of another codec, other settings, or other nets.
        """
        mine = self.state()["codec"]
        if "codec" not in state or not torch.equal(state["codec"], mine):
            raise fail(
                "state", f"replicas of codec {self.codec.name!r} with the same settings and nets",
                "others" if "codec" in state else "none", "use the codec that the run began with",
            )  # fmt: skip
        self._ends = {end: {} for end in _ENDS}
        parts: dict[tuple[str, StreamKey], dict[str, Tensor]] = {}
        for name, values in state.items():
            if name != "codec":
                end, speaker, listener, inner = name.split(".", 3)
                parts.setdefault((end, (int(speaker), int(listener))), {})[inner] = values
        for (end, key), part in parts.items():
            self._end(end, key).load_state_dict(part)
