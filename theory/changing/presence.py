"""Agents that leave and return."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from theory.changing.markov import MarkovNetwork
from theory.changing.phase import Phase
from theory.network.labels import called
from theory.network.network import Network
from theory.network.structure import as_dense
from theory.showing import Value
from theory.typed import require
from theory.validation import FloatArray, as_float_array, fail

# Agents that leave and return --------------------------------------------------------------------


class OfNetwork(Value):
    """Base of laws of one network: its agents, its name and theirs, and its layout."""

    network: Network

    @property
    def agents(self) -> int:
        """N, the number of agents."""
        return self.network.agents

    @property
    def name(self) -> str:
        """The network's name."""
        return self.network.name

    @property
    def layout(self) -> FloatArray | None:
        """The network's layout."""
        return self.network.layout

    @property
    def names(self) -> tuple[str, ...] | None:
        """What the network's agents are called, if they have names."""
        return self.network.names


@dataclass(frozen=True, eq=False)
class RandomPresence(OfNetwork):
    """Agents leave and return, independently of each other and of the data.

    An absent agent neither observes nor pools: its log-belief stays as it is. To the others its
    message is lost, and they give its weight to their own log-belief.

    Parameters
    ----------
    network
        The weights when everybody is present.
    present
        The share of rounds in which an agent is present, in (0, 1]: a number, or shape (N,).
    mean_absence
        How many rounds an absence lasts on average, at least 1: a number, or shape (N,). If left
        out, presence is drawn afresh in every round (a mean of 1/present). An agent is present
        after an absent round with probability 1/L, and absent after a present one with probability
        (1 − q)/(q L); the first round is drawn with probability q.

    Raises
    ------
    ValueError
        If a share is not in (0, 1], or absences are too short for the share (L < (1 − q)/q).

    Examples
    --------
    >>> ring = Network.from_topology("ring", agents=5)
    >>> RandomPresence(ring, 0.8, mean_absence=4.0).leaving.round(6).tolist()[0]
    0.0625
    """

    network: Network
    present: FloatArray
    mean_absence: FloatArray | None = None

    if TYPE_CHECKING:

        def __init__(
            self, network: Network, present: ArrayLike, mean_absence: ArrayLike | None = None
        ) -> None: ...

    def __post_init__(self) -> None:
        require("network", self.network, Network)
        present = _one_each("present", self.present, agents=self.agents)
        if not ((present > 0) & (present <= 1)).all():
            worst = float(present[np.argmax(np.abs(present - 0.5))])
            raise fail(
                "present",
                "shares in (0, 1]",
                f"{worst:g}",
                "leave agents that never come out of the network",
            )
        object.__setattr__(self, "present", present)
        if self.mean_absence is None:
            return
        absence = _one_each("mean_absence", self.mean_absence, agents=self.agents)
        object.__setattr__(self, "mean_absence", absence)
        shortest = np.maximum(1.0, (1 - present) / present)
        if (absence < shortest).any():
            agent = int(np.flatnonzero(absence < shortest)[0])
            raise fail(
                "mean_absence",
                f"at least {shortest[agent]:g} rounds for {called(agent, self.names)}, present in "
                f"{present[agent]:g} of them",
                f"{absence[agent]:g}",
                "make absences longer, or rarer",
            )
        if ((self.leaving == 1) & (self.returning == 1)).any():
            agent = int(np.flatnonzero((self.leaving == 1) & (self.returning == 1))[0])
            raise fail(
                "mean_absence",
                "agents that come and go at random",
                f"{called(agent, self.names)}, present in every other round",
                "make absences longer, or use a PeriodicNetwork",
            )

    @property
    def returning(self) -> FloatArray:
        """P(present | absent in the round before), shape (N,)."""
        if self.mean_absence is None:
            return self.present
        return np.asarray(1.0 / self.mean_absence)

    @property
    def leaving(self) -> FloatArray:
        """P(absent | present in the round before), shape (N,)."""
        if self.mean_absence is None:
            return np.asarray(1.0 - self.present)
        return np.asarray((1.0 - self.present) / (self.present * self.mean_absence))


def _one_each(argument: str, values: ArrayLike, *, agents: int) -> FloatArray:
    if np.ndim(np.asarray(values, dtype=object)) == 0:
        values = np.full(agents, values)
    numbers = as_float_array(argument, values, ndim=1)
    if numbers.size != agents:
        raise fail(
            argument,
            f"a number, or one for each of {agents} agents",
            numbers.size,
            "give one for each agent",
        )
    return numbers


# Who is present, as one Markov chain -------------------------------------------------------------


# Two states each: 1024 phases.
MOST_COMING_AND_GOING = 10


def joint_presence(network: RandomPresence) -> MarkovNetwork:
    """The same network with one phase for each set of agents that may be absent.

    Raises
    ------
    ValueError
        If more than ten agents come and go: there would be more than 1024 phases.
    """
    moving = np.flatnonzero(network.present < 1)
    if moving.size > MOST_COMING_AND_GOING:
        raise fail(
            "mean_absence",
            f"at most {MOST_COMING_AND_GOING} agents that come and go, for exact predictions with "
            "absences of given length",
            f"{moving.size}",
            "leave out mean_absence, or measure",
        )
    if moving.size == 0:
        always = (Phase(network.network.weights),)
        return MarkovNetwork(always, np.ones((1, 1)), name=network.name, names=network.names)
    table = as_dense(network.network.weights)
    phases = []
    for states in product([True, False], repeat=moving.size):
        here = np.ones(network.agents, dtype=np.bool_)
        here[moving] = states
        off = np.where(np.outer(here, here), table, 0.0)
        np.fill_diagonal(off, 0.0)
        phases.append(Phase(off + np.diag(np.maximum(1.0 - off.sum(axis=1), 0.0)), here))
    transition, first = np.ones((1, 1)), np.ones(1)
    for agent in moving:
        leave, back = float(network.leaving[agent]), float(network.returning[agent])
        step = np.array([[1 - leave, leave], [back, 1 - back]])
        transition = np.kron(transition, step)
        first = np.kron(first, [network.present[agent], 1 - network.present[agent]])
    transition /= transition.sum(axis=1, keepdims=True)
    return MarkovNetwork(
        tuple(phases),
        transition,
        first / first.sum(),
        name=network.name,
        layout=network.layout,
        names=network.names,
    )
