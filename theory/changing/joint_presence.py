"""Who is present, as one Markov chain: for agents that stay away for a while."""

from __future__ import annotations

from itertools import product

import numpy as np

from theory.changing.markov import MarkovNetwork
from theory.changing.phase import Phase
from theory.changing.presence import RandomPresence
from theory.network.structure import as_dense
from theory.validation import fail

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
