"""Exact probabilities of error of small or special problems, for the accountant's tests."""

from __future__ import annotations

from itertools import product

import numpy as np
from scipy.special import gammaln, logsumexp

from theory import FiniteAgent, FiniteModel, Network


def coin_log_probability(tosses: int, *, threshold: float = 0.0) -> float:
    """log P(Λ ≤ threshold) after so many tosses of tests.models.COIN, all of weight one."""
    # Λ = h log 2 + (tosses − h) log(2/3), h binomial.
    most = int(np.floor((threshold + tosses * np.log(1.5)) / np.log(3) + 1e-9))
    heads = np.arange(most + 1)
    logs = gammaln(tosses + 1) - gammaln(heads + 1) - gammaln(tosses - heads + 1)
    return float(logsumexp(logs)) - tosses * float(np.log(2))


def of_two(model: FiniteModel, best: int, other: int) -> FiniteModel:
    """The model of finite agents with two of its hypotheses alone."""
    kinds = [FiniteAgent(k.probabilities, k.log_likelihoods[[best, other]]) for k in model.kinds]
    priors = model.log_priors[:, [best, other]]
    return FiniteModel(("best", "other"), tuple(kinds), model.assignment, priors)


def enumerated(network: Network, model: FiniteModel, rounds: int) -> float:
    """P(some agent prefers hypothesis 1 to 0, or ties), over every history at once.

    For models of two hypotheses, the first of which is best.
    """
    weights = np.asarray(network.weights)
    tables = [model.kinds[k] for k in model.assignment]
    logs = model.log_priors[model.assignment]
    outcomes = list(product(*(range(t.probabilities.size) for t in tables)))
    chance = np.array(
        [np.prod([t.probabilities[o] for t, o in zip(tables, x, strict=True)]) for x in outcomes]
    )
    seen = np.array(
        [
            [
                t.log_likelihoods[0, o] - t.log_likelihoods[1, o]
                for t, o in zip(tables, x, strict=True)
            ]
            for x in outcomes
        ]
    )
    state, mass = (logs[:, 0] - logs[:, 1])[None, :], np.ones(1)
    for _ in range(rounds):
        state = ((state[:, None, :] + seen) @ weights.T).reshape(-1, len(tables))
        mass = np.multiply.outer(mass, chance).ravel()
    # A few roundings of numbers near ten: closer to zero is a tie.
    return float(mass[(state <= 1e-12).any(axis=1)].sum())
