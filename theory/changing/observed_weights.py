"""What each observation weighs in what all agents hold in the end, for any network.

The influence is the mean of these weights over rounds; the error exponent needs the weights
themselves. A fixed network has one and the same vector v in every round.
"""

from __future__ import annotations

import numpy as np

from theory.changing.delays import DelayedNetwork
from theory.changing.influence import influence
from theory.changing.kinds import AnyNetwork
from theory.changing.periodic import PeriodicNetwork
from theory.changing.stationary import ObservedWeights, observed_by_phase
from theory.changing.trajectories import influence_samples
from theory.network.network import Network
from theory.validation import as_integer

# Entries of the course of a random network, rounds times agents, by default.
_ENTRIES = 1_000_000
_MOST_ROUNDS = 20_000
_LEAST_ROUNDS = 40


def observed_weights(
    network: AnyNetwork, *, seed: int = 0, samples: int | None = None
) -> ObservedWeights:
    """The weights of the observations of rounds that stand for all.

    Those of one round for a fixed network and for delays, of one period for periodic phases: exact,
    up to rounding. Those of one long course for random networks: an estimate.

    Parameters
    ----------
    seed, samples
        Of the course: its seed, and its number of rounds, at least 40; by default up to 20 000,
        fewer with more than 50 agents.

    Raises
    ------
    ValueError
        If `seed` or `samples` is too small, or a random network does not mix in 100 000 rounds.

    Examples
    --------
    >>> found = observed_weights(Network([[0.9, 0.1], [0.6, 0.4]]))
    >>> found.rounds, found.weights.round(6).tolist()
    (1, [0.857143, 0.142857])
    """
    agents = np.arange(network.agents)
    if isinstance(network, Network | DelayedNetwork):
        return ObservedWeights(agents, influence(network).values)
    if isinstance(network, PeriodicNetwork):
        return _without_zeros(observed_by_phase(network))
    default = max(200, min(_MOST_ROUNDS, _ENTRIES // network.agents))
    rounds = default if samples is None else as_integer("samples", samples, minimum=_LEAST_ROUNDS)
    seed = as_integer("seed", seed, minimum=0)
    course = influence_samples(network, samples=rounds, seed=seed)
    every = np.broadcast_to(agents, course.shape).ravel()
    return _without_zeros(ObservedWeights(every, course.ravel(), rounds, course))


def _without_zeros(found: ObservedWeights) -> ObservedWeights:
    counted = found.weights > 0
    return ObservedWeights(
        found.agents[counted], found.weights[counted], found.rounds, found.course
    )
