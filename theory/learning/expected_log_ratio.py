"""The mean of every agent's log-odds at given rounds, before the limit.

E Λ_i^(n) is linear in what agents hold and observe, so that it obeys a recursion with the mean
weights; see :mod:`theory.changing.mean_states` for networks that change.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from theory.changing.kinds import AnyNetwork
from theory.changing.mean_states import mean_log_ratios
from theory.learning.model import FiniteModel
from theory.learning.rate import check_same_agents
from theory.network import Network
from theory.showing import Shown
from theory.typed import typed
from theory.validation import FloatArray, IntArray, as_integer, as_position, fail, read_only


@dataclass(frozen=True, eq=False)
class ExpectedLogRatio(Shown):
    """E Λ_i^(n)(best, θ) in nats: `values` has shape (T, N, M), one entry per round asked for."""

    rounds: IntArray
    values: FloatArray
    best: int


@typed
def expected_log_ratio(
    network: AnyNetwork,
    model: FiniteModel,
    rounds: Sequence[int] | IntArray,
    *,
    best: int | str,
) -> ExpectedLogRatio:
    """The exact mean of every agent's log-odds log ρ_i^(n)(best)/ρ_i^(n)(θ) at given rounds.

    The mean is over the observations and, where the network is random, over the network too. Priors
    are included. Exact up to rounding.

    Parameters
    ----------
    rounds
        Increasing whole numbers of at least 1.
    best
        Index or name of the hypothesis in the numerator, usually that of
        ``learning_rate(...).reference[0]``.

    Raises
    ------
    ValueError
        If rounds do not increase from 1 or more, `best` is no hypothesis, network and model do not
        fit, more than ten agents come and go with given mean absences, or a network that changes
        has not settled in a million rounds.

    Examples
    --------
    >>> from theory import FiniteAgent
    >>> from theory.changing import rotating_star
    >>> coin = FiniteAgent.from_tables(
    ...     inputs=[1.0], truth=[[0.5, 0.5]], likelihood=[[[0.5, 0.5]], [[0.75, 0.25]]]
    ... )
    >>> model = FiniteModel.from_agents(["fair", "loaded"], [coin], counts=[3])
    >>> star = rotating_star(groups=2, group_size=1, edge_confidence=0.5)
    >>> values = expected_log_ratio(star, model, [1, 2], best=0).values[:, :, 1]
    >>> (values / model.information(0)[0, 1]).round(12).tolist()
    [[1.0, 1.0, 0.0], [1.5, 1.0, 1.5]]
    """
    check_same_agents(network, model)
    best = as_position("best", best, model.hypotheses)
    wanted = [as_integer("rounds", n, minimum=1) for n in rounds]
    if not wanted or any(b <= a for a, b in pairwise(wanted)):
        raise fail("rounds", "increasing round numbers", wanted, "sort them, without repeats")
    information = model.information(best)
    prior = (model.log_priors[:, [best]] - model.log_priors)[model.assignment]
    if isinstance(network, Network):
        values = _in_fixed(network, information, prior, wanted)
    else:
        values = mean_log_ratios(network, information, prior, wanted)
    return ExpectedLogRatio(np.array(wanted, dtype=np.int64), read_only(values), best)


def _in_fixed(
    network: Network, increment: FloatArray, carried: FloatArray, rounds: Sequence[int]
) -> FloatArray:
    """Σ_{k=1..n} W^k I + W^n Λ^(0), shape (T, N, M).

    W averages, so that later increments stay between the smallest and the largest of the present
    ones, and the recursion stops once these agree to rounding.
    """
    total = np.zeros_like(increment)
    values = np.empty((len(rounds), *increment.shape))
    sizes = np.maximum(np.abs(increment).max(axis=0), np.abs(carried).max(axis=0))
    # Increments that agree to this are equal to rounding: summing k of them loses as much. Each
    # hypothesis has its own, or one that is far off would hide what the others still do.
    settled = 16 * np.finfo(float).eps * sizes
    done = 0
    for index, n in enumerate(rounds):
        while done < n:
            spread = np.maximum(np.ptp(increment, axis=0), np.ptp(carried, axis=0))
            if (spread <= settled).all():
                total = total + (n - done) * increment
                done = n
                break
            increment = np.asarray(network.weights @ increment)
            carried = np.asarray(network.weights @ carried)
            total = total + increment
            done += 1
        values[index] = total + carried
    return values
