"""What a changing network does, written out case by case, for the smallest networks."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise, product

import numpy as np

from theory.changing import MarkovNetwork, PeriodicNetwork, RandomLinks, RandomPresence
from theory.network.structure import as_dense
from theory.validation import FloatArray

Round = tuple[float, FloatArray, FloatArray]


def possible_rounds(network: RandomLinks | RandomPresence) -> list[Round]:
    """(probability, W, diagonal of A) for every case of one round; not for ``last``."""
    table = as_dense(network.network.weights)
    size = network.agents
    cases: list[Round] = []
    if isinstance(network, RandomPresence):
        for here in product([0.0, 1.0], repeat=size):
            present = np.array(here)
            chance = np.prod(np.where(present > 0, network.present, 1 - network.present))
            weights = table * np.outer(present, present)
            np.fill_diagonal(weights, 0.0)
            np.fill_diagonal(weights, 1 - weights.sum(axis=1))
            cases.append((float(chance), weights, present))
        return cases
    edges = network.network.edges
    for up in product([0.0, 1.0], repeat=len(edges)):
        arrived = np.array(up)
        if network.symmetric:
            matrix = np.zeros((size, size))
            matrix[tuple(edges.T)] = arrived
            if (matrix != matrix.T).any():
                continue
            chance = 1.0
            for a, b in edges:
                if a < b:
                    p = network.link_up[[np.array_equal(e, [a, b]) for e in edges]][0]
                    chance *= p if matrix[a, b] else 1 - p
        else:
            chance = float(np.prod(np.where(arrived > 0, network.link_up, 1 - network.link_up)))
        weights = np.diag(np.diag(table))
        weights[tuple(edges.T)] = table[tuple(edges.T)] * arrived
        if network.on_loss == "own":
            weights += np.diag(1 - weights.sum(axis=1))
        else:
            for row, line in enumerate(weights):
                total = line.sum()
                weights[row] = line / total if total > 0 else np.eye(size)[row]
        cases.append((chance, weights, np.ones(size)))
    return cases


def phase_rounds(network: PeriodicNetwork | MarkovNetwork) -> list[tuple[FloatArray, FloatArray]]:
    """(W, diagonal of A) of every phase, dense."""
    return [(as_dense(p.weights), p.observes.astype(np.float64)) for p in network.phases]


def phase_sequences(network: MarkovNetwork, rounds: int) -> Iterator[tuple[float, tuple[int, ...]]]:
    """Every sequence of phases and its probability."""
    for sequence in product(range(len(network.phases)), repeat=rounds):
        chance = network.first_phases[sequence[0]]
        for before, after in pairwise(sequence):
            chance *= network.transition[before, after]
        if chance > 0:
            yield float(chance), sequence


def run(
    course: list[tuple[FloatArray, FloatArray]], added: FloatArray, start: FloatArray
) -> FloatArray:
    """The log-ratios after the rounds of `course`, each adding `added` where agents observe."""
    state = start
    for weights, observes in course:
        state = weights @ (state + observes[:, None] * added)
    return state
