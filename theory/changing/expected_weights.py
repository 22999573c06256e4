"""The mean weights of a network whose rounds are independent.

Where the weights of round t are independent of those before, E Λ_t = E[W] E Λ_{t−1} + E[W A] I, and
the mean influence is that of the one matrix E[W] (docs: mathematics/changing). Closed forms but for
``renormalise``: there

    E[W_ij B_ij / (W_ii + Σ_l W_il B_il)]
        = p_ij W_ij ∫_0^∞ e^{−s (W_ii + W_ij)} Π_{l≠i,j} E e^{−s W_il B_il} ds,

since 1/x is the integral of e^{−sx}. With s = e^y the integrand is smooth and falls off fast, so
that the trapezoidal rule is right to rounding.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse.linalg import ArpackNoConvergence, eigs

from theory.changing.delays import ChangingNetwork, DelayedNetwork, RandomLinks
from theory.changing.markov import MarkovNetwork
from theory.changing.mixing import PeriodicNetwork
from theory.changing.phase import weighted_sum
from theory.changing.presence import RandomPresence
from theory.network.structure import Weights, as_dense, off_diagonal
from theory.scientific import sparse
from theory.typed import typed
from theory.validation import FloatArray, IntArray

# The mean weights of a network whose rounds are independent --------------------------------------


# Steps in y. The integrand is analytic for |Im y| < π/2, so that the rule's error is about
# e^{−π²/step} = 7e-18.
_STEP = 0.25
# e^{-40} of the integral lies beyond the ends.
_REACH = 40.0


@dataclass(frozen=True, eq=False)
class ExpectedWeights:
    """E[W], and E[W A]: what a round does to log-beliefs and to observations, shape (N, N)."""

    weights: sparse.csr_array[np.float64]
    observed: sparse.csr_array[np.float64]


def expected_weights(
    network: MarkovNetwork | RandomLinks | RandomPresence,
) -> ExpectedWeights:
    """The means of W and W A over the network; for rounds independent of each other only.

    Floating point, accurate to rounding; not for ``on_loss="last"``, nor for dependent phases.
    """
    if isinstance(network, MarkovNetwork):
        shares = network.stationary_phases
        return ExpectedWeights(
            weighted_sum(network.phases, shares),
            weighted_sum(network.phases, shares, observed=True),
        )
    listener, speaker = network.network.edges.T
    if isinstance(network, RandomPresence):
        q = network.present
        link = off_diagonal(network.network.weights).weight
        heard = _assembled(listener, speaker, link * q[listener] * q[speaker], network.agents)
        share = np.bincount(listener, link * q[speaker], minlength=network.agents)
        # A present agent keeps what it does not get from others, and observes.
        own = q * (1.0 - share)
        off = _off(listener, speaker, link * q[listener] * q[speaker], network.agents)
        return ExpectedWeights(heard, sparse.csr_array(off + sparse.diags_array(own)))
    if network.on_loss == "renormalise":
        mean = renormalised(listener, network)
    else:
        mean = network.link_weights * network.link_up
    table = _assembled(listener, speaker, mean, network.agents)
    return ExpectedWeights(table, table)


def renormalised(listener: IntArray, network: RandomLinks) -> FloatArray:
    """E of each link's weight after the row is divided by what has arrived; shape (E,)."""
    values = np.zeros(len(listener))
    diagonal = network.network.weights.diagonal()
    order = np.argsort(listener, kind="stable")
    starts = np.searchsorted(listener[order], np.arange(network.agents + 1))
    for agent in range(network.agents):
        links = order[starts[agent] : starts[agent + 1]]
        links = links[network.link_up[links] > 0]
        if links.size:
            values[links] = mean_shares(
                float(diagonal[agent]), network.link_weights[links], network.link_up[links]
            )
    return values


def mean_shares(own: float, weights: FloatArray, up: FloatArray) -> FloatArray:
    """E[w_j B_j / (own + Σ_l w_l B_l)] for independent B_l of probability up_l > 0; shape (d,).

    Accurate to rounding (tested against all 2^d cases).

    Examples
    --------
    >>> mean_shares(0.5, np.array([0.5]), np.array([0.5])).round(12).tolist()
    [0.25]
    """
    slowest = own + float(weights.min())
    points = np.arange(-_REACH, np.log(_REACH) - np.log(slowest), _STEP)
    s = np.exp(points)
    with np.errstate(divide="ignore"):
        logs = np.logaddexp(np.log1p(-up)[:, None], np.log(up)[:, None] - np.outer(weights, s))
    # All factors but the agent's own link, whose message has arrived.
    exponents = logs.sum(axis=0) - logs - np.outer(own + weights, s)
    values: FloatArray = up * weights * (np.exp(exponents) @ (s * _STEP))
    return values


def _off(
    listener: IntArray, speaker: IntArray, weight: FloatArray, agents: int
) -> sparse.csr_array[np.float64]:
    table = sparse.csr_array((weight, (listener, speaker)), shape=(agents, agents))
    table.eliminate_zeros()
    return table


def _assembled(
    listener: IntArray, speaker: IntArray, weight: FloatArray, agents: int
) -> sparse.csr_array[np.float64]:
    """The stochastic matrix with these weights between different agents."""
    own = np.maximum(1.0 - np.bincount(listener, weight, minlength=agents), 0.0)
    return sparse.csr_array(
        _off(listener, speaker, weight, agents) + sparse.diags_array(own, format="csr")
    )


# How fast a round brings agents together on average, in a network that changes -------------------


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
