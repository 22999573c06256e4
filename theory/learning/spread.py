"""How far the log-odds scatter about their mean, at every round.

Observations are independent across agents and rounds, so that the variance of
Λ_i^(n) = Σ_k Σ_j [W^k]_ij z_j is Σ_k Σ_j [W^k]_ij² Var z_j, known exactly before any run. A
simulation may be judged by it, and not by the scatter it happens to show: where an outcome is so
rare that no replicate has seen it, the measured standard error is far too small.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from theory.learning.model import FiniteModel
from theory.learning.rate import check_same_agents
from theory.network import Network
from theory.network.network import require_fixed
from theory.showing import Shown
from theory.typed import typed
from theory.validation import FloatArray, IntArray, as_position, read_only

# Up to this many agents every agent's variance is computed; beyond it, bounded.
_MOST_AGENTS = 300
# Rows of W^k that agree to this leave the variance unchanged to rounding.
_SETTLED = 1e-13


@dataclass(frozen=True, eq=False)
class LogRatioSpread(Shown):
    """Variances of Λ(best, θ), in nats², and the reach of a single observation.

    Attributes
    ----------
    rounds
        Shape (T,).
    average
        Shape (T, M): of the average over agents; exact up to rounding.
    agents
        Shape (T, N, M): of each agent; exact up to rounding up to 300 agents, above that the
        upper bound n·max_j Var z_j.
    reach
        Shape (M,): the most that one observation can differ from its mean: the range of z for
        bounded laws, six standard deviations more for normal ones.
    """

    rounds: IntArray
    average: FloatArray
    agents: FloatArray
    reach: FloatArray


@typed
def observation_reach(model: FiniteModel, *, best: int | str) -> FloatArray:
    """The most that one observation of z(best, θ) can differ from its mean, shape (M,), in nats.

    The range of z for bounded laws; six standard deviations more for normal ones, which have none.

    Examples
    --------
    >>> from theory import FiniteAgent, FiniteModel
    >>> coin = FiniteAgent.from_tables(
    ...     inputs=[1.0], truth=[[0.5, 0.5]], likelihood=[[[0.5, 0.5]], [[0.75, 0.25]]]
    ... )
    >>> model = FiniteModel.from_agents(["fair", "loaded"], [coin])
    >>> observation_reach(model, best=0).round(4).tolist()  # log 2 − log (2/3)
    [0.0, 1.0986]
    """
    best = as_position("best", best, model.hypotheses)
    return np.array(
        [
            max(
                float(np.ptp(z.means)) + 6 * float(np.sqrt(z.variances.max()))
                for z in model.log_ratio_laws(best, theta)
            )
            for theta in range(len(model.hypotheses))
        ]
    )


@typed
def log_ratio_spread(
    network: Network, model: FiniteModel, rounds: Sequence[int] | IntArray, *, best: int | str
) -> LogRatioSpread:
    """The variance of every agent's log-odds, and of their average, at given rounds.

    Parameters
    ----------
    rounds
        Increasing whole numbers of at least 1.
    best
        Index or name of the hypothesis in the numerator.

    Raises
    ------
    ValueError
        If network and model have different numbers of agents.
    """
    check_same_agents(require_fixed(network), model)
    best = as_position("best", best, model.hypotheses)
    wanted = np.asarray(rounds, dtype=np.int64)
    laws = [model.log_ratio_laws(best, theta) for theta in range(len(model.hypotheses))]
    variances = np.array([[law.variance for law in row] for row in laws]).T[model.assignment]
    reach = observation_reach(model, best=best)
    average = _accumulate(
        network, variances, wanted, np.full((1, network.agents), 1 / network.agents)
    )
    if network.agents <= _MOST_AGENTS:
        agents = _accumulate(network, variances, wanted, np.eye(network.agents))
    else:
        most = np.multiply.outer(wanted.astype(np.float64), variances.max(axis=0))
        agents = np.broadcast_to(most[:, None], (wanted.size, *variances.shape))
    return LogRatioSpread(wanted, read_only(average[:, 0]), read_only(agents), read_only(reach))


def _accumulate(
    network: Network, variances: FloatArray, wanted: IntArray, rows: FloatArray
) -> FloatArray:
    """Σ_{k ≤ n} (rows W^k)² · variances at each wanted n, shape (T, rows, M)."""
    v = network.stationary_distribution
    total = np.zeros((len(rows), variances.shape[1]))
    values = np.empty((wanted.size, *total.shape))
    done = 0
    for index, n in enumerate(wanted):
        while done < n:
            if float(np.abs(rows - v).max()) <= _SETTLED:
                total = total + (n - done) * (rows * rows @ variances)
                done = int(n)
                break
            rows = np.asarray(rows @ network.weights)
            total = total + rows * rows @ variances
            done += 1
        values[index] = total
    return values
