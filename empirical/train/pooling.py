"""What agents say and hear in a round: any tensors, any network, in any number of processes.

An agent's message is what its learner pools, in coordinates in which pooling is linear: named
vectors of d numbers. Sums are in float64, speakers in ascending order, so that on the CPU they are
the same bits however agents are spread over processes; on a GPU they are one product, right to
the last digit of float32. Where messages are late, what was said is kept as long as somebody may
still pool it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numba
import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from empirical.nets.exchange import Exchange, Message, OneProcess, block_of
from exact.changing.beliefs import DrawnRound, walk
from exact.changing.simulation import process_for
from theory.changing import AnyNetwork, DelayedNetwork, PeriodicNetwork
from theory.network import Network
from theory.network.structure import Weights, as_weights
from theory.scientific import sparse
from theory.validation import FloatArray, IntArray, as_integer, fail

# What a network does round by round --------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Round:
    """One round of a network of N agents; agent i's entries are start[i]:start[i + 1].

    Attributes
    ----------
    observes
        Who trains, shape (N,).
    start, speakers, weights
        Positive weights in CSR form, the agents' own among them, speakers ascending.
    ages
        How many rounds ago each entry's speaker said what is pooled; in round t, t rounds ago is
        before round 1: what the speaker began with.
    sends
        Which entries take a message that is said in this round: it travels now, and may be pooled
        later. An agent's word to itself does not travel.
    window
        What was said in so many rounds, this one included, may be pooled later even if it is not
        held by anybody now.
    """

    observes: NDArray[np.bool_]
    start: IntArray
    speakers: IntArray
    weights: FloatArray
    ages: IntArray
    sends: NDArray[np.bool_]
    window: int

    def of(self, agent: int) -> slice:
        """The entries of an agent."""
        return slice(int(self.start[agent]), int(self.start[agent + 1]))

    @cached_property
    def listeners(self) -> IntArray:
        """Who listens, for each entry."""
        return np.repeat(np.arange(self.observes.size), np.diff(self.start))

    @cached_property
    def pools(self) -> NDArray[np.bool_]:
        """Who pools anything but its own fresh word, shape (N,); the others keep what they have."""
        other = (self.speakers != self.listeners) | (self.ages > 0)
        return np.bincount(self.listeners, other, minlength=self.observes.size) > 0

    @cached_property
    def heard(self) -> tuple[tuple[int, ...], ...]:
        """Whose messages of this round travel to each agent."""
        return tuple(
            tuple(self.speakers[some][self.sends[some]].tolist())
            for some in map(self.of, range(self.observes.size))
        )

    @cached_property
    def links(self) -> IntArray:
        """Over how many links each agent's message travels, shape (N,)."""
        return np.bincount(self.speakers[self.sends], minlength=self.observes.size)

    def traffic(self, own: range, messages: Mapping[str, Tensor]) -> int:
        """Bytes that own agents' messages take as they are, over all links, vectors (n, d)."""
        size = sum(values[0].nbytes for values in messages.values())
        return int(sum(self.links[j] for j in own)) * size

    @cached_property
    def fresh(self) -> bool:
        """Whether all that is pooled was said in this round."""
        return not self.ages.any()

    def held(self, agents: range, *, number: int) -> frozenset[tuple[int, int]]:
        """What some agents may pool after this round: (speaker, round it was said in).

        `number` is this round's, from 1; round 0 is what agents began with.
        """
        some = slice(int(self.start[agents.start]), int(self.start[agents.stop]))
        if self.fresh and self.window == 0:
            return frozenset()
        speakers, said = self.speakers[some], number - self.ages[some]
        pairs = set(zip(speakers.tolist(), said.tolist(), strict=True))
        first = max(number - self.window + 1, 0)
        pairs |= {(j, t) for j in set(speakers.tolist()) for t in range(first, number + 1)}
        return frozenset(pairs)


class NetworkRounds:
    """The rounds of a network, in turn.

    Parameters
    ----------
    network
        Any of `theory`.
    seed
        Of what is random about it.

    Examples
    --------
    >>> path = Network([[0.5, 0.5, 0], [0.5, 0, 0.5], [0, 0.5, 0.5]])
    >>> rounds = NetworkRounds(path, seed=0)
    >>> rounds.at(7).heard, rounds.at(7).links.tolist()
    (((1,), (0, 2), (1,)), [1, 2, 1])
    """

    def __init__(self, network: AnyNetwork, *, seed: int) -> None:
        self.network = network
        self._seed = as_integer("seed", seed, minimum=0)
        self._phases: dict[int, Round] = {}
        self._walk: Iterator[DrawnRound] = iter(())
        self._drawn: tuple[int, Round] | None = None

    def at(self, number: int) -> Round:
        """A round, counted from 1; going back to an earlier one begins anew.

        Raises
        ------
        ValueError
            If the number is below 1.
        """
        number = as_integer("round", number, minimum=1)
        if isinstance(self.network, Network | PeriodicNetwork):
            return self._in_turn(self.network, number)
        last = 0 if self._drawn is None else self._drawn[0]
        if number < last or self._drawn is None:
            stream = np.random.SeedSequence(self._seed)
            self._walk = walk(process_for(self.network), stream, agents=self.network.agents)
            last = 0
        window = self.network.longest if isinstance(self.network, DelayedNetwork) else 0
        for here in range(last + 1, number + 1):
            drawn = next(self._walk)
            if here == number:
                round = _round(drawn.weights[0], drawn.observes[0], drawn.ages[0], window=window)
                self._drawn = number, round
        assert self._drawn is not None
        return self._drawn[1]

    @cached_property
    def longest(self) -> int | None:
        """For how many rounds a message may be wanted; 0 where all are fresh, None: no bound."""
        if isinstance(self.network, DelayedNetwork):
            return self.network.longest
        return None if getattr(self.network, "on_loss", "") == "last" else 0

    def _in_turn(self, network: Network | PeriodicNetwork, number: int) -> Round:
        if isinstance(network, Network):
            place, weights = 0, network.weights
            observes = np.ones(network.agents, dtype=np.bool_)
        else:
            place = (number - 1) % network.period
            weights, observes = network.phases[place].weights, network.phases[place].observes
        if place not in self._phases:
            self._phases[place] = _round(weights, observes)
        return self._phases[place]


def _round(
    weights: Weights | Any,
    observes: NDArray[np.bool_],
    ages: IntArray | None = None,
    *,
    window: int = 0,
) -> Round:
    matrix = sparse.csr_array(as_weights(weights), copy=True)
    matrix.eliminate_zeros()
    matrix.sort_indices()
    start, speakers = matrix.indptr.astype(np.int64), matrix.indices.astype(np.int64)
    listeners = np.repeat(np.arange(observes.size), np.diff(start))
    old = np.zeros_like(speakers) if ages is None else ages[listeners, speakers]
    # Where messages take time each is sent when it is said; where links fail, what is old is held.
    sends = (speakers != listeners) & ((old == 0) | (window > 0))
    return Round(observes, start, speakers, matrix.data, old, sends, window)


# What agents say and hear in a round -------------------------------------------------------------


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
        self._names = tuple(begin)
        self._vector = max(values.nbytes for values in begin.values())
        self._begin = {} if rounds.longest == 0 else begin
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
        if self.rounds.longest == 0 and self.exchange.processes == 1:  # all is here, and fresh
            for name, values in messages.items():
                self._sum(round, number, values, {}, name)
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
        agents = [k for k, agent in enumerate(self.own) if round.pools[agent]]
        if not agents:
            return
        some = [round.of(self.own[k]) for k in agents]
        start = np.cumsum([0, *(entries.stop - entries.start for entries in some)])
        here = np.concatenate([np.arange(entries.start, entries.stop) for entries in some])
        speakers, weights = round.speakers[here], round.weights[here]
        if round.fresh and len(values) == self.rounds.network.agents:
            pool_rows(values, values, Sums(np.array(agents), start, speakers, weights))
            return
        pairs = zip(speakers.tolist(), (number - round.ages[here]).tolist(), strict=True)
        keys = list(pairs)
        place = {key: k for k, key in enumerate(dict.fromkeys(keys))}
        table = torch.stack([said[key] if key[1] > 0 else self._begin[name] for key in place])
        places = np.array([place[key] for key in keys])
        pool_rows(values, table, Sums(np.array(agents), start, places, weights))

    # State ------------------------------------------------------------------------------------

    @property
    def footprint(self) -> int:
        """Bytes of memory beyond what the engine counts itself: the table of what is pooled."""
        late, agents = self.rounds.longest or 0, self.rounds.network.agents
        if late == 0 and len(self.own) == agents:
            return 0
        return self._vector * agents * (late + 1)

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


def restore_tensors(mine: Mapping[str, Tensor], state: Mapping[str, Tensor]) -> None:
    """Copy the tensors of `state` over those of a run, name by name, in place.

    Parameters
    ----------
    mine
        The run's own, which are overwritten.
    state
        As it was kept; what else it holds is left alone.

    Raises
    ------
    ValueError
        If a tensor is missing or of another shape; nothing is overwritten then.
    """
    for name, value in mine.items():
        if name not in state or state[name].shape != value.shape:
            got = f"shape {tuple(state[name].shape)}" if name in state else "none"
            raise fail(
                f"state[{name!r}]",
                f"shape {tuple(value.shape)}",
                got,
                "give the state of a run with the same agents and nets",
            )
    for name, value in mine.items():
        value.copy_(state[name])


@dataclass(frozen=True, eq=False)
class Sums:
    """What some agents pool: agent into[k] the entries start[k]:start[k + 1].

    Attributes
    ----------
    into, start
        Shapes (r,) and (r + 1,).
    places, weights
        Of each entry: which row of a table of vectors, and its weight.
    """

    into: IntArray
    start: IntArray
    places: IntArray
    weights: FloatArray


def pool_rows(values: Tensor, table: Tensor, pooled: Sums) -> None:
    """Overwrite some rows of `values` by weighted sums of rows of a table, in float64.

    Entries are added in their order, so that on a CPU a sum has the same bits whoever is computed
    beside it.

    Parameters
    ----------
    values, table
        Shapes (n, d) and (m, d); they may be one tensor.
    """
    if values.device.type != "cpu":
        pool_rows_by_torch(values, table, pooled)
        return
    _pool_rows(
        values.numpy(), table.numpy(), pooled.into, pooled.start, pooled.places, pooled.weights
    )


def pool_rows_by_torch(values: Tensor, table: Tensor, pooled: Sums) -> None:
    """:func:`pool_rows` by one product for any device, right to the last digit of float32."""
    matrix = np.zeros((len(pooled.into), len(table)))
    listeners = np.repeat(np.arange(len(pooled.into)), np.diff(pooled.start))
    np.add.at(matrix, (listeners, pooled.places), pooled.weights)
    rows, weights = (torch.from_numpy(part).to(values.device) for part in (pooled.into, matrix))
    width = max(8 * SUMMED_AT_ONCE // len(table), 1024)
    for first in range(0, values.shape[1], width):
        some = slice(first, first + width)
        values[rows, some] = (weights @ table[:, some].double()).to(values.dtype)


# Columns whose sums are in the cache together.
_COLUMNS = 512


@numba.njit(nogil=True, cache=True, error_model="numpy")
def _pool_rows(
    values: NDArray[Any],
    table: NDArray[Any],
    rows: IntArray,
    start: IntArray,
    places: IntArray,
    weights: FloatArray,
) -> None:
    """All sums of some columns before any of them is overwritten: `values` may be the table."""
    sums = np.empty((rows.size, _COLUMNS))
    size = values.shape[1]
    for first in range(0, size, _COLUMNS):
        width = min(_COLUMNS, size - first)
        for k in range(rows.size):
            own = sums[k]
            for c in range(width):
                own[c] = 0.0
            for entry in range(start[k], start[k + 1]):
                weight = weights[entry]
                vector = table[places[entry], first : first + width]
                for c in range(width):
                    own[c] += weight * vector[c]
        for k in range(rows.size):
            into, own = values[rows[k], first : first + width], sums[k]
            for c in range(width):
                into[c] = own[c]
