"""How fast the network rejects wrong hypotheses.

Almost surely −(1/n) log ρ_i^(n)(θ) → Σ_j v_j I_j(θ*, θ) at every agent i, where v is the stationary
distribution of W (docs: mathematics/rate). The slowest of these is the learning rate

    K(Θ) = min_{θ* ∈ Θ*, θ ∉ Θ*} Σ_j v_j I_j(θ*, θ)            (P1 Theorem 1, P2 eq. 7)

and the hypothesis that attains it is the binding one. Where Θ* is empty, the network settles on
the compromise argmin_θ Σ_j v_j D_j(θ), and the same formula holds with it in place of θ*.

Before the limit, the mean of the log-odds is known exactly at every round: see
:func:`expected_log_ratio`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from theory.frames import frame
from theory.learning.model import FiniteModel
from theory.network import Network
from theory.showing import Shown
from theory.typed import typed
from theory.validation import FloatArray, IntArray, as_integer, as_position, fail, read_only

if TYPE_CHECKING:
    import pandas as pd


def check_same_agents(network: Network, model: FiniteModel) -> None:
    """Check that network and model have equally many agents.

    Raises
    ------
    ValueError
        If network and model have different numbers of agents.
    """
    if network.agents != model.agents:
        raise fail(
            "model",
            f"as many agents as the network, {network.agents}",
            f"{model.agents}",
            "change the agents' counts or the network's size",
        )


@dataclass(frozen=True, eq=False)
class LearningRate(Shown):
    """K(Θ) and what it is made of; all rates in nats per round, in floating point.

    Attributes
    ----------
    rate
        K(Θ): infinite if no hypothesis is wrong.
    binding
        The wrong hypothesis rejected last; None if there is none.
    rates
        Shape (M,): Σ_j v_j I_j(θ*, θ); zero for the reference hypotheses.
    reference
        Θ*, or the network compromise if Θ* is empty.
    is_compromise
        Whether Θ* is empty.
    undecided
        Hypotheses of which doubles do not say whether they are as good as the reference. They
        count as ties; no theorem may rest on that.
    """

    rate: float
    binding: int | None
    rates: FloatArray
    reference: tuple[int, ...]
    is_compromise: bool
    undecided: tuple[int, ...] = ()

    def to_frame(self) -> pd.DataFrame:
        """A table of the rates: one row for each hypothesis, by number.

        Raises
        ------
        ValueError
            If pandas is not installed.
        """
        numbers = np.arange(self.rates.size)
        return frame(
            {
                "hypothesis": numbers,
                "rate": self.rates,
                "is_reference": np.isin(numbers, self.reference),
                "is_binding": numbers == (-1 if self.binding is None else self.binding),
            }
        )


@typed
def learning_rate(network: Network, model: FiniteModel) -> LearningRate:
    """The rate of rejection of every wrong hypothesis, and the slowest, K(Θ).

    All members of the reference set have equal Σ_j v_j D_j, so the minimum over θ* is attained by
    each of them.

    Raises
    ------
    ValueError
        If network and model have different numbers of agents.

    Examples
    --------
    >>> from theory import FiniteAgent, FiniteModel, Network
    >>> coin = FiniteAgent.from_tables(
    ...     inputs=[1.0], truth=[[0.5, 0.5]], likelihood=[[[0.5, 0.5]], [[0.75, 0.25]]]
    ... )
    >>> model = FiniteModel.from_agents(["fair", "loaded"], [coin], counts=[2])
    >>> result = learning_rate(Network([[0.9, 0.1], [0.6, 0.4]]), model)
    >>> round(result.rate, 4), result.binding
    (0.1438, 1)
    """
    check_same_agents(network, model)
    return rate_of(network.stationary_distribution, model)


def rate_of(influence: FloatArray, model: FiniteModel) -> LearningRate:
    """The same for given influences, shape (N,), at least 0.

    Raises
    ------
    ValueError
        If there is not one influence per agent.
    """
    reference = model.reference_hypotheses(influence)
    comparison = model.weighted_comparison(influence, reference[0])
    rates = comparison.values.copy()
    rates[list(reference)] = 0.0
    wrong = [m for m in range(len(model.hypotheses)) if m not in reference]
    binding = min(wrong, key=lambda m: float(rates[m])) if wrong else None
    return LearningRate(
        rate=np.inf if binding is None else float(rates[binding]),
        binding=binding,
        rates=read_only(rates),
        reference=reference,
        is_compromise=not model.optimal_hypotheses,
        undecided=tuple(int(m) for m in np.flatnonzero(comparison.undecided)),
    )


@dataclass(frozen=True, eq=False)
class ExpectedLogRatio(Shown):
    """E Λ_i^(n)(best, θ) in nats: `values` has shape (T, N, M), one entry per round asked for."""

    rounds: IntArray
    values: FloatArray
    best: int


@typed
def expected_log_ratio(
    network: Network, model: FiniteModel, rounds: Sequence[int] | IntArray, *, best: int | str
) -> ExpectedLogRatio:
    """The exact mean of every agent's log-odds log ρ_i^(n)(best)/ρ_i^(n)(θ) at given rounds.

    E Λ^(n) = Σ_{k=1..n} W^k I + W^n Λ^(0), by the recursion m_n = W (I + m_{n−1}). Exact up to
    rounding; W averages, so that later increments stay between the smallest and the largest of the
    present ones, and the recursion stops once these agree to rounding.

    Parameters
    ----------
    rounds
        Increasing whole numbers of at least 1.
    best
        The hypothesis in the numerator, usually ``learning_rate(...).reference[0]``.

    Raises
    ------
    ValueError
        If rounds do not increase from 1 or more, `best` is no hypothesis, or network and model do
        not fit.
    """
    check_same_agents(network, model)
    best = as_position("best", best, model.hypotheses)
    wanted = [as_integer("rounds", n, minimum=1) for n in rounds]
    if not wanted or any(b <= a for a, b in pairwise(wanted)):
        raise fail("rounds", "increasing round numbers", wanted, "sort them, without repeats")
    weights = network.weights
    increment = model.information(best)
    prior = model.log_priors[:, [best]] - model.log_priors
    carried = prior[model.assignment]
    total = np.zeros_like(increment)
    values = np.empty((len(wanted), *increment.shape))
    sizes = np.maximum(np.abs(increment).max(axis=0), np.abs(carried).max(axis=0))
    # Increments that agree to this are equal to rounding: summing k of them loses as much. Each
    # hypothesis has its own, or one that is far off would hide what the others still do.
    settled = 16 * np.finfo(float).eps * sizes
    done = 0
    for index, n in enumerate(wanted):
        while done < n:
            spread = np.maximum(np.ptp(increment, axis=0), np.ptp(carried, axis=0))
            if (spread <= settled).all():
                total = total + (n - done) * increment
                done = n
                break
            increment = np.asarray(weights @ increment)
            carried = np.asarray(weights @ carried)
            total = total + increment
            done += 1
        values[index] = total + carried
    return ExpectedLogRatio(np.array(wanted, dtype=np.int64), read_only(values), best)
