"""What theory says of networks whose hypotheses are trained nets, and what is measured of it.

A :class:`Site` is a network and who holds which images in it. Over a table of snapshots
(:mod:`empirical.snapshots`) its agents' divergences are averages over their own images, so that the
rates are exact (:func:`rate_forecast`), and social learning over the same snapshots has to agree
with them within sampling error (:func:`run_beside_forecast`). The speed of training, which theory
does not know, is read off a loss curve (:func:`rounds_to_loss`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from empirical.classifiers import LikelihoodTable, classifier_model
from empirical.partition import Partition
from exact import Run, simulate
from theory import (
    FiniteModel,
    Network,
    expected_log_ratio,
    learning_rate,
    log_ratio_spread,
)
from theory.changing import AnyNetwork, influence
from theory.showing import Shown
from theory.validation import FloatArray, fail

# Sums of thousands of rounds lose about 1e-13, relative to the largest log-odds.
_ROUNDING = 1e-11


@dataclass(frozen=True, eq=False)
class Site(Shown):
    """A network, fixed or changing, and who holds which images in it."""

    network: AnyNetwork
    partition: Partition


@dataclass(frozen=True, eq=False)
class RateForecast(Shown):
    """What theory says of one network whose hypotheses are snapshots; exact, to rounding.

    Attributes
    ----------
    rate
        K in nats per observation and agent; the network's rejection of `binding`.
    binding, reference
        Names: the wrong hypothesis rejected last; Θ*'s first, or the compromise.
    is_compromise
        Whether no hypothesis is best for every agent.
    influence
        v of the informative agent; where the network changes, its share of all influence.
    rates
        Each hypothesis' rate of rejection, zero for the reference.
    """

    rate: float
    binding: str
    reference: str
    is_compromise: bool
    influence: float
    rates: Mapping[str, float]


def rate_forecast(table: LikelihoodTable, site: Site) -> RateForecast:
    """K over the snapshots, on one network.

    Raises
    ------
    ValueError
        If network and partition differ in their agents, the table lacks an image, or all
        hypotheses are equally good.
    """
    model = classifier_model(table, site.partition)
    found = learning_rate(site.network, model)
    if found.binding is None:
        raise fail("table", "a hypothesis that is worse than another", "all equally good",
                   "take snapshots that differ")  # fmt: skip
    names = table.hypotheses
    heard = influence(site.network)
    return RateForecast(
        rate=found.rate,
        binding=names[found.binding],
        reference=names[found.reference[0]],
        is_compromise=found.is_compromise,
        influence=float(heard.values[site.partition.informative] / heard.total),
        rates=dict(zip(names, map(float, found.rates), strict=True)),
    )


@dataclass(frozen=True, eq=False)
class RunBesideForecast(Shown):
    """Log-odds of social learning over a finite Θ after n rounds, measured and predicted, in nats.

    Attributes
    ----------
    rounds, replicates
        n and R.
    best
        The hypothesis in the numerator.
    measured, standard_error, expected, variance
        Shape (N, M): the mean of Λ_i^(n)(best, θ) over replicates, its standard error (an
        estimate), its exact expectation, and the exact variance of one replicate.
    reach
        Shape (M,): the most that one observation can differ from its mean.
    """

    rounds: int
    replicates: int
    best: int
    measured: FloatArray
    standard_error: FloatArray
    expected: FloatArray
    variance: FloatArray
    reach: FloatArray

    @property
    def largest_score(self) -> float:
        """The largest |measured − expected| in standard errors of the exact variance.

        Where nothing is random, sums of rounds differ by rounding, which is no score.
        """
        apart = np.abs(self.measured - self.expected)
        apart -= _ROUNDING * np.maximum(1.0, np.abs(self.expected))
        error = np.sqrt(self.variance / self.replicates)
        return float((np.maximum(apart, 0.0) / np.maximum(error, np.finfo(float).tiny)).max())


def run_beside_forecast(
    network: Network, model: FiniteModel, *, rounds: int, replicates: int, seed: int
) -> RunBesideForecast:
    """Run social learning over the snapshots and compare it with the exact means of all log-odds.

    Agents draw one of their images a round, with replacement, independently of each other.

    Raises
    ------
    ValueError
        As for :func:`exact.simulate`.
    """
    run = simulate(
        network, model, run=Run(rounds=rounds, replicates=replicates, seed=seed, record=[rounds])
    )
    expected = expected_log_ratio(network, model, [rounds], best=run.best)
    spread = log_ratio_spread(network, model, [rounds], best=run.best)
    return RunBesideForecast(
        rounds,
        replicates,
        run.best,
        run.mean[-1],
        run.standard_error[-1],
        expected.values[-1],
        spread.agents[-1],
        spread.reach,
    )


def rounds_to_loss(rounds: ArrayLike, losses: ArrayLike, target: float) -> float:
    """When a loss curve first comes down to `target`, in rounds; infinite if it never does.

    Between two records the curve is taken to be straight, so that the answer does not jump with
    the spacing of records.

    Parameters
    ----------
    rounds
        Shape (T,), increasing.
    losses
        Shape (T,), in nats.

    Raises
    ------
    ValueError
        If there are no records, shapes differ, or a loss is NaN.

    Examples
    --------
    >>> rounds_to_loss([0, 10, 20], [2.3, 1.3, 0.3], 0.8), rounds_to_loss([0, 10], [2.3, 1.3], 1)
    (15.0, inf)
    """
    at = np.asarray(rounds, dtype=np.float64)
    curve = np.asarray(losses, dtype=np.float64)
    if at.ndim != 1 or at.size == 0 or curve.shape != at.shape or (np.diff(at) <= 0).any():
        raise fail("rounds", "increasing rounds, one a loss", f"shapes {at.shape}, {curve.shape}",
                   "record rounds and losses together")  # fmt: skip
    if np.isnan(curve).any():
        raise fail("losses", "numbers", "NaN", "a run that broke down has no speed")
    below = np.flatnonzero(curve <= target)
    if below.size == 0:
        return math.inf
    k = int(below[0])
    if k == 0:
        return float(at[0])
    share = (curve[k - 1] - target) / (curve[k - 1] - curve[k])
    return float(at[k - 1] + share * (at[k] - at[k - 1]))
