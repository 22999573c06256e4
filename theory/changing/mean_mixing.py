"""How fast a round brings agents together on average, in a network that changes.

What the agents disagree about shrinks, in the mean and in the long run, by the subdominant modulus
of the mean weights of a round: by that of E[W] where rounds are independent; of the product over a
period, to the power of one round; of the walk of messages where they are late (docs:
mathematics/changing). Where rounds depend on each other it is that of the mean weights of one
round, which orders networks of one kind but is no rate.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse.linalg import ArpackNoConvergence, eigs

from theory.changing.delays import DelayedNetwork
from theory.changing.expected_weights import expected_weights
from theory.changing.kinds import ChangingNetwork
from theory.changing.links import RandomLinks
from theory.changing.markov import MarkovNetwork
from theory.changing.periodic import PeriodicNetwork
from theory.changing.phase import weighted_sum
from theory.network.structure import Weights, as_dense
from theory.scientific import sparse
from theory.typed import typed

# All eigenvalues of so many states take a second.
_MOST_DENSE = 600
# Of the iteration for larger ones; where that is not enough, the number is left out.
_RESTARTS = 100


@typed
def mean_slem(network: ChangingNetwork) -> float:
    """The subdominant modulus of what a round does on average, in [0, 1]; an estimate in doubles.

    nan where there are more than 600 states and the iteration does not converge.

    Examples
    --------
    >>> from theory import Network
    >>> from theory.changing import RandomLinks
    >>> half = RandomLinks(Network([[0.5, 0.5], [0.5, 0.5]]), up=0.5)
    >>> round(mean_slem(half), 12)
    0.5
    """
    match network:
        case PeriodicNetwork():
            product = as_dense(network.phases[0].weights)
            for phase in network.phases[1:]:
                product = np.asarray(phase.weights @ product)
            return float(_second_modulus(product) ** (1 / network.period))
        case DelayedNetwork():
            return _second_modulus(network.message_walk)
        case MarkovNetwork():
            return _second_modulus(weighted_sum(network.phases, network.stationary_phases))
        case RandomLinks(on_loss="last"):
            # Every message is used, though some are old.
            return _second_modulus(network.network.weights)
        case _:
            return _second_modulus(expected_weights(network).weights)


def _second_modulus(weights: Weights) -> float:
    size = int(weights.shape[0])
    if size == 1:
        return 0.0
    if size <= _MOST_DENSE:
        values = np.abs(np.linalg.eigvals(as_dense(weights)))
    else:
        start: Any = np.random.default_rng(0).random(size)
        matrix: Any = sparse.csr_array(weights)
        try:
            values = np.abs(
                eigs(matrix, k=2, return_eigenvectors=False, v0=start, ncv=60, maxiter=_RESTARTS)
            )
        except ArpackNoConvergence:
            return float("nan")
    return float(np.clip(np.sort(values)[-2], 0.0, 1.0))
