"""What agents pool of messages that a codec wrote.

What an agent hears may say nothing of some coordinates: its own values stand in for them, or zeros.
Where all who listen to an agent share a replica of what it has, agents pool

    x_i = y_i + γ Σ_j W_ij (ŷ_j − ŷ_i),

each its own replica among them (:class:`empirical.messages.codec.Replicating`), so that what codecs
leave out stays with its owner. Sums are in float64, speakers in ascending order, on the CPU. An
agent's word to itself needs no message, and is taken as it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from empirical.messages.codec import Codec, Heard, Layout, Replicating, Said
from empirical.messages.selected import PRECISION, is_belief
from empirical.nets.exchange import Exchange, OneProcess, block_of
from empirical.train.averaging import one_of
from empirical.train.pooling import SUMMED_AT_ONCE, NetworkRounds, Round, Sums, pool_rows
from empirical.train.streams import StreamKey, Streams
from theory.validation import fail

# What agents pool of messages that a codec wrote -------------------------------------------------


MISSING = ("own", "zero")
# Where a belief's pooled precision would be below this share of that without replicas, coordinates
# are pooled without them: replicas that are far off would leave no belief.
LEAST_SHARE = 0.5

Key = tuple[int, int, int]  # a stream, and the round


@dataclass(frozen=True, eq=False)
class _Word:
    """What an agent pools of one speaker; its own replica is what that speaker has of it."""

    weight: float
    vectors: Said
    sent: Tensor | None
    replica: Said


class CodedPooling:
    """The consensus of a run whose messages a codec writes, round by round.

    Parameters
    ----------
    rounds
        What the network does.
    exchange
        Which agents this process holds, and how it reaches the others.
    codec, layout
        How messages are written, and what they look like.
    missing
        What stands in for coordinates that a message says nothing of: ``"own"``, what the listener
        has; ``"zero"``.
    seed
        Of the run.

    Raises
    ------
    ValueError
        If the codec does not fit the messages, or zeros would take the place of precisions.
    """

    def __init__(
        self,
        rounds: NetworkRounds,
        *,
        exchange: Exchange | None,
        codec: Codec,
        layout: Layout,
        missing: str,
        seed: int,
    ) -> None:
        one_of("missing", missing, MISSING)
        if missing == "zero" and is_belief(layout.names):
            wanted = "'own' for learners that keep beliefs: a precision of 0 is none"
            raise fail("missing", wanted, "'zero'", "leave it out, or average weights")
        self.rounds, self._layout, self._missing = rounds, layout, missing
        self.exchange: Exchange = OneProcess() if exchange is None else exchange
        self.own = block_of(
            rounds.network.agents, processes=self.exchange.processes, rank=self.exchange.rank
        )
        self.streams = Streams(
            codec, layout, rounds.network, own=self.own, exchange=self.exchange, seed=seed
        )
        coder = self.streams.coder
        self._mixing = coder.mixing if isinstance(coder, Replicating) else None
        self._history: dict[Key, Heard] = {}

    def pool(self, messages: Mapping[str, Tensor], *, number: int, pace: float = 1.0) -> int:
        """Send, receive and replace each own agent's message by what it pools, in place.

        Parameters and result as of :meth:`empirical.train.pooling.Pooling.pool`; bytes are those of
        the frames.

        Raises
        ------
        ValueError
            If the codec cannot write a message; or as of :meth:`Streams.exchange`.
        """
        round = self.rounds.at(number)
        said: dict[int, Said] = {
            j: {name: values[k].detach().cpu().float() for name, values in messages.items()}
            for k, j in enumerate(self.own)
        }
        heard, sent = self.streams.exchange(said, round, number=number, pace=pace)
        table = {(*key, number): word for key, word in heard.items()}
        table.update({(j, j, number): Heard(dict(said[j])) for j in said})
        kept = self._kept(round, number, table)
        table.update(self._history)
        for k, agent in enumerate(self.own):
            if round.pools[agent]:
                words = self._words(round, number, agent, said[agent], table)
                self._sum(said[agent], words, {n: values[k] for n, values in messages.items()})
        self._history = kept
        return sent

    @property
    def footprint(self) -> int:
        """Bytes of memory of streams and of what is heard in a round, at most."""
        size = len(self.own) * self._layout.size
        return self.streams.bytes_of_memory + 8 * min(SUMMED_AT_ONCE, size)

    # What is heard ----------------------------------------------------------------------------

    def _key(self, speaker: int, listener: int, number: int) -> Key:
        stream = (speaker, listener) if speaker == listener else self._stream(speaker, listener)
        return (*stream, number)

    def _stream(self, speaker: int, listener: int) -> StreamKey:
        return self.streams.key(speaker, listener)

    def _words(
        self, round: Round, number: int, agent: int, own: Said, table: Mapping[Key, Heard]
    ) -> list[_Word]:
        """What an agent pools, speakers ascending; what was lost is left to its own values."""
        some, words = round.of(agent), []
        replicas: dict[StreamKey, Said] = {}
        for j, weight, age in zip(
            round.speakers[some].tolist(),
            round.weights[some].tolist(),
            round.ages[some].tolist(),
            strict=True,
        ):
            if self._mixing is not None and j == agent and age == 0:
                continue  # what it says to itself it has
            said = number - age
            heard = table.get(self._key(j, agent, said)) if said > 0 else Heard(self._begin)
            replica = own
            if self._mixing is not None and j != agent:
                stream = self._stream(agent, j)
                if stream not in replicas:
                    replicas[stream] = self.streams.replica(agent, j) or own
                replica = replicas[stream]
            if heard is None:
                heard = Heard(dict(own if self._mixing is None else replica))
            words.append(_Word(weight, heard.vectors, heard.sent, replica))
        return words

    @property
    def _begin(self) -> dict[str, Tensor]:
        return dict(self._layout.begin)

    def _kept(self, round: Round, number: int, table: Mapping[Key, Heard]) -> dict[Key, Heard]:
        """What may still be pooled later; copies, for the originals are about to be overwritten."""
        kept = {}
        for agent in self.own:
            for j, t in round.held(range(agent, agent + 1), number=number):
                key = self._key(j, agent, t)
                if key in self._history:
                    kept[key] = self._history[key]
                elif key in table:
                    word = table[key]
                    own = {name: values.clone() for name, values in word.vectors.items()}
                    kept[key] = Heard(own, word.sent)
        return kept

    # Sums -------------------------------------------------------------------------------------

    def _sum(self, own: Said, words: list[_Word], into: Mapping[str, Tensor]) -> None:
        """Some columns at a time, all vectors of them together."""
        for first in range(0, self._layout.size, SUMMED_AT_ONCE):
            some = slice(first, first + SUMMED_AT_ONCE)
            if self._mixing is None:
                parts = {name: self._plain(own[name], words, name, some) for name in own}
            else:
                parts = self._replicas(own, words, some, self._mixing)
            for name, part in parts.items():
                into[name][some] = part

    def _plain(self, own: Tensor, words: list[_Word], name: str, some: slice) -> Tensor:
        """Σ_j W_ij (what is heard of j)."""
        mine = own[some]
        fill = mine if self._missing == "own" else torch.zeros_like(mine)
        table = torch.stack(
            [
                word.vectors[name][some]
                if word.sent is None
                else torch.where(word.sent[some], word.vectors[name][some], fill)
                for word in words
            ]
        )
        part, count = torch.empty_like(mine)[None], len(words)
        weights = np.array([word.weight for word in words])
        pool_rows(part, table, Sums(np.array([0]), np.array([0, count]), np.arange(count), weights))
        return part[0]

    def _replicas(
        self, own: Said, words: list[_Word], some: slice, mixing: float
    ) -> dict[str, Tensor]:
        """y_i + γ Σ_j W_ij (ŷ_j − ŷ_i); beliefs without replicas where those leave none."""
        parts = {name: _moved(own[name], words, name, some, mixing, replica=True) for name in own}
        if not is_belief(tuple(own)):
            return parts
        safe = _moved(own[PRECISION], words, PRECISION, some, mixing, replica=False)
        bad = parts[PRECISION] < LEAST_SHARE * safe
        if bad.any():
            for name, part in parts.items():
                other = _moved(own[name], words, name, some, mixing, replica=False)
                parts[name] = torch.where(bad, other, part)
        return parts

    # State ------------------------------------------------------------------------------------

    @property
    def bytes_kept(self) -> int:
        """What messages that may still be pooled take in memory now."""
        return sum(v.nbytes for word in self._history.values() for v in word.vectors.values())

    def state(self) -> dict[str, Tensor]:
        """Streams, and what was heard and may still be pooled, as named tensors."""
        found = {f"streams.{name}": values for name, values in self.streams.state().items()}
        for (speaker, listener, number), word in sorted(self._history.items()):
            place = f"heard.{speaker}.{listener}.{number}"
            found.update({f"{place}.{name}": values for name, values in word.vectors.items()})
            if word.sent is not None:
                found[f"{place}:sent"] = word.sent
        return found

    def restore(self, state: Mapping[str, Tensor]) -> None:
        """Go on from a :meth:`state`.

        Raises
        ------
        ValueError
            If it is missing, or was kept of other nets or another codec.
        """
        self.streams.restore(_under("streams.", state))
        heard: dict[Key, dict[str, Tensor]] = {}
        sent: dict[Key, Tensor] = {}
        for place, values in _under("heard.", state).items():
            if place.endswith(":sent"):
                sent[_numbers(place.removesuffix(":sent"))] = values.clone()
            else:
                speaker, listener, number, name = place.split(".", 3)
                key = int(speaker), int(listener), int(number)
                heard.setdefault(key, {})[name] = values.clone()
        names = self._layout.names
        self._history = {
            key: Heard({name: vectors[name] for name in names}, sent.get(key))
            for key, vectors in heard.items()
        }


def _moved(
    own: Tensor, words: list[_Word], name: str, some: slice, mixing: float, *, replica: bool
) -> Tensor:
    """Y + γ Σ_j W_ij (ŷ_j − ŷ_i), or with y in place of ŷ_i."""
    mine = own[some]
    part = mine.double()
    for word in words:
        back = word.replica[name][some] if replica else mine
        part.add_(word.vectors[name][some], alpha=mixing * word.weight)
        part.add_(back, alpha=-mixing * word.weight)
    return part


def _under(prefix: str, state: Mapping[str, Tensor]) -> dict[str, Tensor]:
    return {
        name.removeprefix(prefix): values
        for name, values in state.items()
        if name.startswith(prefix)
    }


def _numbers(text: str) -> Key:
    speaker, listener, number = map(int, text.split("."))
    return speaker, listener, number
