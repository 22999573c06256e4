"""Coins, and brute force: the law of errors, and batches as sequences."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from math import prod
from typing import Any

import numpy as np

from theory import FiniteAgent, FiniteModel, Network

# P(x), f(y|x), and ℓ(y|θ, x) for each θ: numbers of any kind.
Tables = tuple[Sequence[Any], Sequence[Sequence[Any]], Sequence[Sequence[Sequence[Any]]]]

FAIR = [0.5, 0.5]
# One agent, two, two that hardly hear each other, and nine.
ALONE = Network([[1.0]])
HALVES = Network([[0.5, 0.5], [0.5, 0.5]])
PAIR = Network([[0.9, 0.1], [0.6, 0.4]])
SLOW = Network([[0.999, 0.001], [0.002, 0.998]])
STAR = Network.from_topology("star", agents=9, edge_confidence=0.5)


def coin(*claims: Sequence[float], truth: Sequence[float] = FAIR) -> FiniteAgent:
    """An agent with one input: each hypothesis claims a law of its labels."""
    return FiniteAgent.from_tables(truth=[truth], likelihood=[[claim] for claim in claims])


COIN = coin(FAIR, [0.75, 0.25])
BLIND = coin(FAIR, FAIR)


def coins(agents: int) -> FiniteModel:
    """Identical agents that toss a fair coin and wonder whether it is loaded."""
    return FiniteModel.from_agents(["fair", "loaded"], [COIN], counts=[agents])


def error_probability(network: Network, model: FiniteModel, rounds: int) -> float:
    """P(some agent's arg max is outside the reference set), by enumerating every history.

    Exponential in rounds and agents: for the smallest problems alone.
    """
    weights = network.weights.toarray() if network.is_sparse else np.asarray(network.weights)
    reference = set(model.reference_hypotheses(network.stationary_distribution))
    tables = [model.kinds[k] for k in model.assignment]
    outcomes = list(product(*(range(t.probabilities.size) for t in tables)))
    total = 0.0
    start = model.log_priors[model.assignment]

    def descend(beliefs: np.ndarray, probability: float, left: int) -> None:
        nonlocal total
        if left == 0:
            top = beliefs.max(axis=1, keepdims=True)
            # Log-beliefs of a few rounds are right to about 1e-14: closer ones are ties.
            winners = beliefs >= top - 1e-12
            if any(winners[:, m].any() for m in range(beliefs.shape[1]) if m not in reference):
                total += probability
            return
        for outcome in outcomes:
            chance = np.prod([t.probabilities[o] for t, o in zip(tables, outcome, strict=True)])
            seen = np.array([t.log_likelihoods[:, o] for t, o in zip(tables, outcome, strict=True)])
            descend(weights @ (beliefs + seen), probability * float(chance), left - 1)

    descend(start, 1.0, rounds)
    return total


def by_sequences(tables: Tables, batch: int) -> Tables:
    """The same agent's batches as single observations, one outcome for each of its O^B sequences.

    `tables` holds P(x), f(y|x) and ℓ(y|θ, x), as `from_tables` takes them; numbers of any kind.
    """
    inputs, truth, likelihood = tables
    rows = list(product(range(len(inputs)), repeat=batch))

    def joint(table: Sequence[Sequence[Any]]) -> list[list[Any]]:
        return [[prod(many) for many in product(*(table[x] for x in xs))] for xs in rows]

    law = [prod(inputs[x] for x in xs) for xs in rows]
    return law, joint(truth), [joint(table) for table in likelihood]
