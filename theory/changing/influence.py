"""Whose observations count, and how much: the influence u of each agent.

In a changing network the observation of agent j in round k ends, in everybody's log-belief, with a
weight that depends on what the network does from round k on. Its average over the rounds is the
*influence* u_j, and almost surely

    −(1/n) log ρ_i^(n)(θ) → Σ_j u_j I_j(θ*, θ)

at every agent i (docs: mathematics/changing). For a network that does not change u = v. In general
Σ_j u_j is below one: it is the share of the rounds, or of the weight, that brings new evidence.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import numpy as np

from theory.changing.delays import DelayedNetwork
from theory.changing.expected_weights import expected_weights
from theory.changing.joint_presence import joint_presence
from theory.changing.kinds import AnyNetwork, ChangingNetwork
from theory.changing.links import RandomLinks
from theory.changing.markov import MarkovNetwork
from theory.changing.periodic import PeriodicNetwork
from theory.changing.presence import RandomPresence
from theory.changing.stationary import (
    by_markov_phase,
    by_phase,
    observed_by_phase,
    stationary_vector,
)
from theory.frames import frame
from theory.network.network import Network
from theory.showing import Shown
from theory.typed import typed
from theory.validation import FloatArray, IntArray, read_only

if TYPE_CHECKING:
    import pandas as pd

# Entries of weights by phase that are kept, 80 MB.
_MOST_BY_PHASE = 10_000_000


@dataclass(frozen=True, eq=False)
class Influence(Shown):
    """How much of one observation of each agent ends in every log-belief, on average per round.

    Floating point, accurate to rounding where no parts of the network are nearly decoupled.

    Attributes
    ----------
    values
        u, shape (N,), at least 0.
    by_phase
        Shape (S, N), for networks with phases: the weight of what agents hold at the start of a
        round of phase s in what all hold in the end, on average over the rounds that follow; rows
        sum to one. None for others, and for periodic phases where it would have more than
        10 million entries.
    event_rate
        Rounds per unit of time, where rounds are events in continuous time; else None.
    mean_age
        How many rounds old a message is when it is pooled, averaged with the weights v_i W_ij:
        0 where messages are fresh.
    """

    values: FloatArray
    by_phase: FloatArray | None = None
    event_rate: float | None = None
    mean_age: float = 0.0

    def to_frame(self) -> pd.DataFrame:
        """A table of the influence: one row for each agent.

        Raises
        ------
        ValueError
            If pandas is not installed.
        """
        return frame({"agent": np.arange(self.values.size), "influence": self.values})

    @property
    def total(self) -> float:
        """Σ_j u_j, in [0, 1]: with identical agents the rate is this times the rate of one."""
        return float(self.values.sum())

    @property
    def per_time(self) -> FloatArray | None:
        """Influence per unit of time, shape (N,), where rounds are events in continuous time."""
        if self.event_rate is None:
            return None
        return np.asarray(self.values * self.event_rate)

    @property
    def unheard(self) -> IntArray:
        """The agents whose observations end in nobody's log-belief: u_j = 0."""
        return np.flatnonzero(self.values == 0)


_FOUND: WeakKeyDictionary[ChangingNetwork, Influence] = WeakKeyDictionary()


@typed
def influence(network: AnyNetwork) -> Influence:
    """Whose observations count, and how much (docs: mathematics/changing).

    Raises
    ------
    ValueError
        If agents of given mean absence come and go and there are more than ten of them, or a
        linear system does not resolve.

    Examples
    --------
    Two agents talk in turn; only the one who listens observes.

    >>> from theory.changing import PeriodicNetwork, Phase
    >>> network = PeriodicNetwork(
    ...     [Phase([[0.5, 0.5], [0, 1]], [0]), Phase([[1, 0], [0.5, 0.5]], [1])]
    ... )
    >>> influence(network).values.round(12).tolist()
    [0.166666666667, 0.166666666667]
    """
    if isinstance(network, Network):
        return Influence(network.stationary_distribution)
    # Networks do not change once made: what was found holds as long as they live.
    known = _FOUND.get(network)
    if known is None:
        known = _FOUND[network] = _solve(network)
    return known


def _solve(network: ChangingNetwork) -> Influence:
    if isinstance(network, PeriodicNetwork):
        return _over_period(network)
    if isinstance(network, MarkovNetwork):
        return _over_phases(by_markov_phase(network), network)
    if isinstance(network, DelayedNetwork):
        return _aged(network.network, mean_delay(network))
    if isinstance(network, RandomLinks) and network.on_loss == "last":
        v = network.network.stationary_distribution
        age = (1.0 - network.link_up) / network.link_up
        listener = network.network.edges[:, 0]
        return _aged(network.network, float((v[listener] * network.link_weights) @ age))
    if isinstance(network, RandomPresence) and network.mean_absence is not None:
        found = influence(joint_presence(network))
        return Influence(found.values)
    mean = expected_weights(network)
    values = np.asarray(stationary_vector(mean.weights) @ mean.observed)
    return Influence(read_only(values))


def mean_delay(network: DelayedNetwork) -> float:
    """Σ_i v_i Σ_j W_ij τ_ij, in rounds."""
    v = network.network.stationary_distribution
    return float(sum(d * (v @ part.sum(axis=1)) for d, part in enumerate(network.weights_by_delay)))


def _over_period(network: PeriodicNetwork) -> Influence:
    seen = observed_by_phase(network)
    total = np.bincount(seen.agents, seen.weights, minlength=network.agents)
    few = network.period * network.agents <= _MOST_BY_PHASE
    table = read_only(by_phase(network)) if few else None
    return Influence(read_only(total / network.period), table)


def _over_phases(values: FloatArray, network: MarkovNetwork) -> Influence:
    observes = np.array([phase.observes for phase in network.phases])
    mean = network.stationary_phases @ np.where(observes, values, 0.0)
    return Influence(read_only(mean), read_only(values), network.event_rate)


def _aged(network: Network, age: float) -> Influence:
    values = network.stationary_distribution / (1.0 + age)
    return Influence(read_only(values), mean_age=age)
