"""What a network does round by round: who trains, who hears whom, and how old what is heard is.

Any network of `theory`. What is random about it is drawn with a seed, exactly as
:func:`exact.changing.beliefs.draw_rounds` draws it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from exact.changing.beliefs import DrawnRound, walk
from exact.changing.simulation import process_for
from theory.changing import AnyNetwork, DelayedNetwork, PeriodicNetwork
from theory.network import Network
from theory.network.structure import Weights, as_weights
from theory.scientific import sparse
from theory.validation import FloatArray, IntArray, as_integer


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
