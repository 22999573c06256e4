"""What agents say and hear in a round: any tensors, any network, in any number of processes.

An agent's message is what its learner pools, in coordinates in which pooling is linear: named
vectors of d numbers. Sums are in float64, speakers in ascending order, so that on the CPU they are
the same bits however agents are spread over processes; on a GPU they are one product, right to
the last digit of float32. Where messages are late, what was said is kept as long as somebody may
still pool it.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor

from empirical.nets.consensus import Exchange, OneProcess, block_of
from empirical.nets.messages import Message
from empirical.train.rounds import NetworkRounds, Round
from theory.validation import fail

# Numbers in float64 that are summed at once.
SUMMED_AT_ONCE = 1 << 21

Said = dict[str, Tensor]  # one message: vectors by name
Key = tuple[int, int]  # who said it, and in which round


class Pooling:
    """The consensus of a run, round by round.

    Parameters
    ----------
    rounds
        What the network does.
    exchange
        Which agents this process holds, and how it reaches the others.
    begin
        What every agent would have said before round 1, vectors of shape (d,).

    Attributes
    ----------
    own
        The agents of this process.
    """

    def __init__(self, rounds: NetworkRounds, *, exchange: Exchange | None, begin: Said) -> None:
        self.rounds = rounds
        self.exchange: Exchange = OneProcess() if exchange is None else exchange
        self.own = block_of(
            rounds.network.agents, processes=self.exchange.processes, rank=self.exchange.rank
        )
        self._begin = {} if rounds.longest == 0 else begin
        self._names = tuple(begin)
        self._history: dict[Key, Said] = {}

    def pool(self, messages: Mapping[str, Tensor], *, number: int, pace: float = 1.0) -> int:
        """Send, receive and replace each own agent's message by what it pools, in place.

        Parameters
        ----------
        messages
            Of own agents, shape (n, d).
        number
            The round's, from 1.
        pace
            What learning rates are multiplied by in it; some codecs write by it.

        Returns
        -------
        int
            Bytes that own agents sent, over all links.
        """
        round = self.rounds.at(number)
        sent = round.traffic(self.own, messages)
        on_cpu = all(values.device.type == "cpu" for values in messages.values())
        if self.rounds.longest == 0 and self.exchange.processes == 1 and not on_cpu:
            for values in messages.values():
                _product(values, round)
            return sent
        said = {(j, number): _row(messages, k) for k, j in enumerate(self.own)}
        size = sum(values[0].nbytes for values in messages.values())
        letters = {j: Message(said[j, number], size) for j in self.own if round.links[j]}
        for j, letter in self.exchange.gather(letters, round.heard).items():
            said[j, number] = {name: letter.payload[name] for name in self._names}
        held = round.held(self.own, number=number)
        kept = {key: self._kept(key, said) for key in held if key[1] > 0}
        said.update(self._history)
        for name, values in messages.items():
            whole = {key: message[name] for key, message in said.items()}
            self._sum(round, number, values, whole, name)
        self._history = kept
        return sent

    def _kept(self, key: Key, said: Mapping[Key, Said]) -> Said:
        """A message for later: those of this round are about to be overwritten."""
        if key in self._history:
            return self._history[key]
        return {name: values.clone() for name, values in said[key].items()}

    def _sum(
        self, round: Round, number: int, values: Tensor, said: Mapping[Key, Tensor], name: str
    ) -> None:
        entries: list[tuple[int, Tensor, float]] = []
        for row, agent in enumerate(self.own):
            if round.pools[agent]:
                some = round.of(agent)
                for j, weight, age in zip(
                    round.speakers[some], round.weights[some], round.ages[some], strict=True
                ):
                    key = (int(j), number - int(age))
                    vector = said[key] if key[1] > 0 else self._begin[name]
                    entries.append((row, vector, float(weight)))
        if not entries:
            return
        sum_in_turn(values, entries, sorted({row for row, _, _ in entries}))

    # State ------------------------------------------------------------------------------------

    @property
    def footprint(self) -> int:
        """Bytes of memory beyond what the engine counts itself."""
        return 0

    @property
    def bytes_kept(self) -> int:
        """What messages that may still be pooled take in memory now."""
        return sum(v.nbytes for message in self._history.values() for v in message.values())

    def state(self) -> dict[str, Tensor]:
        """What was said and may still be pooled, as named tensors; nothing where all is fresh."""
        if self.rounds.longest == 0:
            return {}
        keys = sorted(self._history)
        table = torch.tensor(keys, dtype=torch.int64).reshape(-1, 2)
        return {
            "history.keys": table,
            **{
                f"history.{name}": torch.stack([self._history[key][name] for key in keys])
                if keys
                else values.new_empty(0, *values.shape)
                for name, values in self._begin.items()
            },
        }

    def restore(self, state: Mapping[str, Tensor]) -> None:
        """Go on from a :meth:`state`.

        Raises
        ------
        ValueError
            If it is missing, or was kept of other nets.
        """
        if self.rounds.longest == 0:
            return
        for name, values in self._begin.items():
            got = state.get(f"history.{name}")
            keys = state.get("history.keys")
            if got is None or keys is None or got.shape != (len(keys), *values.shape):
                raise fail(
                    "state",
                    f"what was said of {name!r} and may still be pooled",
                    "none" if got is None else f"shape {tuple(got.shape)}",
                    "give the state of a run with the same agents, nets and network",
                )
        place = next(iter(self._begin.values())).device
        self._history = {
            (int(j), int(t)): {
                name: state[f"history.{name}"][k].clone().to(place) for name in self._begin
            }
            for k, (j, t) in enumerate(state["history.keys"].tolist())
        }


def _row(messages: Mapping[str, Tensor], k: int) -> Said:
    return {name: values[k] for name, values in messages.items()}


def sum_in_turn(values: Tensor, entries: list[tuple[int, Tensor, float]], rows: list[int]) -> None:
    """Overwrite some rows by weighted sums of vectors, in float64 and in the order of the entries.

    Some columns at a time: all sums of them before any of them is overwritten, so that the vectors
    may be views of the rows.

    Parameters
    ----------
    values
        Shape (n, d).
    entries
        (row, vector of shape (d,), weight), in the order in which they are added.
    rows
        Those that have entries, ascending.
    """
    place = {row: k for k, row in enumerate(rows)}
    width = max(SUMMED_AT_ONCE // len(rows), 1024)
    shape = len(rows), min(width, values.shape[1])
    sums = torch.empty(shape, dtype=torch.float64, device=values.device)
    for first in range(0, values.shape[1], width):
        some = slice(first, first + width)
        part = sums[:, : min(width, values.shape[1] - first)].zero_()
        for row, vector, weight in entries:
            part[place[row]].add_(vector[some], alpha=weight)
        for row in rows:
            values[row, some] = part[place[row]]


def _product(values: Tensor, round: Round) -> None:
    """All sums by one product, where nobody is elsewhere and nothing is late."""
    table = np.zeros((len(values), len(values)))
    table[round.listeners, round.speakers] = round.weights
    weights = torch.from_numpy(table).to(values.device)
    keep = torch.from_numpy(~round.pools).to(values.device)[:, None]
    width = max(8 * SUMMED_AT_ONCE // len(values), 1024)
    for first in range(0, values.shape[1], width):
        part = values[:, first : first + width]
        part.copy_(torch.where(keep, part, (weights @ part.double()).to(values.dtype)))
