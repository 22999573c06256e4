"""How much every agent's past pairs weigh in every belief, summed over rounds.

After n rounds the pair agent j drew k rounds before the last has weight [W^(k+1)]_ij in agent i's
belief. Precisions add up these weights, covariances their squares, and the correction of second
order their cubes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from theory.network import Network
from theory.regression.model import RegressionModel
from theory.validation import FloatArray, IntArray, as_integer, fail

# Powers of W are products of non-negative numbers, accurate entry by entry; once the entries of
# each column agree to this, relatively, further rounds change nothing but rounding.
MIXED = 1e-13


def as_rounds(rounds: Sequence[int] | IntArray) -> list[int]:
    """Increasing round numbers of at least 1.

    Raises
    ------
    ValueError
        If they are none, or do not increase from 1 or more.
    """
    wanted = [as_integer("rounds", n, minimum=1) for n in rounds]
    if not wanted or any(b <= a for a, b in pairwise(wanted)):
        raise fail("rounds", "increasing round numbers", wanted, "sort them, without repeats")
    return wanted


@dataclass(frozen=True, eq=False)
class InfluenceSums:
    """Sums over k = 1..n of the powers of [W^k]_ij, by kind of agent j, at rounds n.

    Attributes
    ----------
    rounds
        Shape (T,).
    first, second, third
        Shape (T, L, K): Σ_k Σ_{j of the kind} [W^k]_ij to the power 1, 2 and 3, for L listeners.
    prior
        Shape (T, L, d, d), or (d, d) if all agents share it: Σ_j [W^n]_ij Ω_j^0.
    prior_error
        Shape (T, L, d): Σ_j [W^n]_ij Ω_j^0 (m_j − θ*).
    """

    rounds: IntArray
    first: FloatArray
    second: FloatArray
    third: FloatArray
    prior: FloatArray
    prior_error: FloatArray


def influence_sums(
    network: Network, model: RegressionModel, rounds: Sequence[int] | IntArray
) -> InfluenceSums:
    """The sums for every agent of a network: N³ operations a round until W^k is mixed."""
    wanted = as_rounds(rounds)
    N, K = model.agents, len(model.kinds)
    sums = np.zeros((3, N, K))
    result = np.empty((3, len(wanted), N, K))
    shared = model.prior_precision.ndim == 2
    d = model.dimension
    prior = np.empty((0 if shared else len(wanted), N, d, d))
    errors = np.empty((len(wanted), N, d))
    powers = network.powers()
    power = np.eye(N)
    added = np.zeros_like(sums)
    done, mixed = 0, False
    for index, n in enumerate(wanted):
        while done < n and not mixed:
            power = next(powers)
            square = power * power
            added = np.array([model.kind_weights(q) for q in (power, square, square * power)])
            sums = sums + added
            done += 1
            mixed = is_mixed(power)
        if done < n:
            sums = sums + (n - done) * added
            done = n
        result[:, index] = sums
        errors[index] = power @ model.prior_errors
        if not shared:
            prior[index] = np.tensordot(power, model.prior_precision, axes=1)
    return InfluenceSums(
        np.array(wanted, dtype=np.int64),
        result[0],
        result[1],
        result[2],
        model.prior_precision if shared else prior,
        errors,
    )


def lone_sums(
    model: RegressionModel, rounds: Sequence[int] | IntArray, *, pooled: bool
) -> InfluenceSums:
    """The sums for one learner that gets all agents' pairs (`pooled`), or for each agent alone.

    The pooled learner's prior is the agents' average, in precision and information.
    """
    wanted = np.array(as_rounds(rounds), dtype=np.int64)
    if pooled:
        counts = np.bincount(model.assignment, minlength=len(model.kinds))[None].astype(np.float64)
        errors = model.prior_errors.mean(axis=0, keepdims=True)
        prior = model.prior_precision
        if prior.ndim == 3:
            prior = np.broadcast_to(prior.mean(axis=0), (wanted.size, 1, *prior.shape[1:]))
    else:
        counts = np.eye(len(model.kinds))[model.assignment]
        errors = np.asarray(model.prior_errors)
        prior = model.prior_precision
        if prior.ndim == 3:
            prior = np.broadcast_to(prior, (wanted.size, *prior.shape))
    sums = wanted[:, None, None] * counts
    return InfluenceSums(
        wanted, sums, sums, sums, prior, np.broadcast_to(errors, (wanted.size, *errors.shape))
    )


def is_mixed(power: FloatArray) -> bool:
    """Whether the rows of a power of W agree, entry by entry."""
    high = power.max(axis=0)
    return bool((high - power.min(axis=0) <= MIXED * high).all())
