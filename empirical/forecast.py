"""Trained nets as a finite set of hypotheses: what theory then says of a network that trains.

A net, as it stands after some training, is a hypothesis like any other: it claims probabilities
ℓ(y | θ, x). M such *snapshots* are a finite Θ, and with agents that draw from their own images
every divergence is an average over images, D_j(θ) = mean over j's images of −log ℓ(y | θ, x): no
expectation is estimated, and the rates Σ_j v_j [D_j(θ) − D_j(θ*)] follow for every network.

**Which snapshots.** A rate is about one wrong hypothesis, and the choice of Θ decides what K can
say (docs: mathematics/nets-as-hypotheses):

===================  =========================================================================
snapshots            what their rejection says
===================  =========================================================================
stages of one        Every agent's data speak against an early stage, at about the same rate:
training             Σ_j v_j I_j hardly depends on v. No network is told from another.
one label left out   The nets that a network still has to tell from the whole one: *without y* is
                     rejected by those who hold y, at rate Σ_j v_j P_j(y) I(y), and favoured a
                     little by all others. K is set by the label heard least.
one kind of agent    What each agent would come to alone. The others have to outvote it.
alone
===================  =========================================================================

:func:`label_hypotheses` names the last two and the net trained on everything, which is θ* where
theory has its way; whether it is the compromise is computed, never assumed. The stages are a
control.

**What K predicts of training.** K is in nats per observation of a *fixed* Θ; a net in training
moves, on many observations a round, by an optimiser that rescales gradients. So K predicts no
number of rounds. It predicts an order and a proportion: loss falls along Σ_j v_j ∇L_j in both, so
that a label's loss falls at a speed in proportion to how much of it the network hears, and the
label heard least decides when a low test loss is reached: rounds · K ≈ constant over networks that
differ in nothing but W. Whether this is so is measured (:mod:`empirical.rank_correlation`).

**What is compared with it.** A :class:`Site` is a network and who holds which images in it; over a
table of snapshots its rates are exact (:func:`rate_forecast`), and social learning over the same
snapshots has to agree with them within sampling error (:func:`run_beside_forecast`). The speed of
training, which theory does not know, is read off a loss curve (:func:`rounds_to_loss`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from empirical.classifiers import UNIFORM_SHARE, LikelihoodTable, classifier_model
from empirical.partition import Partition
from exact import Run, simulate
from theory import FiniteModel, Network, expected_log_ratio, learning_rate, log_ratio_spread
from theory.changing import AnyNetwork, influence
from theory.showing import Shown
from theory.validation import FloatArray, IntArray, as_probability, fail, read_only

# Which snapshots, and what they say of images -----------------------------------------------------


@dataclass(frozen=True)
class LabelHypothesis(Shown):
    """A net to train on the images of these labels, in one place."""

    name: str
    labels: tuple[int, ...]


def label_hypotheses(
    held: Sequence[Sequence[int]], *, names: Sequence[str] | None = None
) -> tuple[LabelHypothesis, ...]:
    """The whole net, each label left out, and each kind of agent alone; no net twice.

    Parameters
    ----------
    held
        The labels of each kind of agent, at least two labels in all.
    names
        The labels' names, by number; the numbers themselves if left out.

    Raises
    ------
    ValueError
        If a kind holds no label, or all kinds together fewer than two.

    Examples
    --------
    >>> [h.name for h in label_hypotheses([[1, 2], [0, 3]])]
    ['all labels', 'without 0', 'without 1', 'without 2', 'without 3', 'only 1, 2', 'only 0, 3']
    """
    if not held or not all(len(kind) for kind in held):
        raise fail("held", "one label at least of each kind of agent", list(held), "name them")
    everything = tuple(sorted({int(y) for kind in held for y in kind}))
    if len(everything) < 2:
        raise fail("held", "at least two labels", everything, "a single label leaves no question")
    words = [str(y) for y in range(everything[-1] + 1)] if names is None else list(names)
    whole = LabelHypothesis("all labels", everything)
    without = [
        LabelHypothesis(f"without {words[y]}", tuple(z for z in everything if z != y))
        for y in everything
    ]
    alone = [
        LabelHypothesis(f"only {', '.join(words[y] for y in kind)}", kind)
        for kind in dict.fromkeys(tuple(sorted({int(y) for y in kind})) for kind in held)
    ]
    known = {whole.labels} | {one.labels for one in without}
    return (whole, *without, *(one for one in alone if one.labels not in known))


def snapshot_table(
    hypotheses: Sequence[str],
    probabilities: ArrayLike,
    labels: ArrayLike,
    *,
    uniform_share: float = UNIFORM_SHARE,
) -> LikelihoodTable:
    """The log-likelihoods of snapshots, from the probabilities that they predict.

    Probabilities are mixed with the uniform law, ℓ = (1 − ε) p + ε / classes, so that
    log(ε / classes) ≤ log ℓ ≤ 0: a net that never saw a label gives it next to nothing, and the
    rate of its rejection would be set by how sure of itself it had become.

    Parameters
    ----------
    hypotheses
        M distinct names, at least two.
    probabilities
        Shape (M, n, classes): entries in [0, 1], rows that sum to one within 1e-4 (float32).
    labels
        Shape (n,): each image's class.
    uniform_share
        ε in (0, 1).

    Raises
    ------
    ValueError
        If shapes do not fit, a row is no distribution, or a label is no class.

    Examples
    --------
    >>> table = snapshot_table(["knows", "does not"], [[[1, 0]], [[0.5, 0.5]]], [0])
    >>> table.log_likelihoods.round(4).tolist(), table.accuracies.tolist()
    ([[-0.0101], [-0.6931]], [1.0, 1.0])
    """
    names = tuple(str(name) for name in hypotheses)
    values = np.asarray(probabilities)
    own = np.asarray(labels, dtype=np.int64)
    if len(names) < 2 or len(set(names)) != len(names):
        raise fail("hypotheses", "at least two distinct names", list(names), "name each once")
    if values.ndim != 3 or values.shape[0] != len(names) or own.shape != values.shape[1:2]:
        shape = f"shape ({len(names)}, {own.size}, classes)"
        wanted = f"{shape}, for {len(names)} hypotheses and {own.size} labels"
        remedy = "predict every image with every snapshot"
        raise fail("probabilities", wanted, f"shape {values.shape}", remedy)
    if own.size == 0 or own.min() < 0 or own.max() >= values.shape[2]:
        wanted = f"classes from 0 to {values.shape[2] - 1}, of one image at least"
        got = "none" if own.size == 0 else f"{own.min()} to {own.max()}"
        raise fail("labels", wanted, got, "use the labels of the images that were predicted")
    # float32 softmax sums to one within a few 1e-7 a class; anything beyond is no distribution.
    off = ~(np.abs(values.sum(axis=2, dtype=np.float64) - 1) <= 1e-4) | (values < 0).any(axis=2)
    if off.any():
        which, image = np.argwhere(off)[0]
        wanted, remedy = "rows of probabilities that sum to one", "give probabilities, not scores"
        got = f"{values[which, image].tolist()} of {names[which]!r} for image {image}"
        raise fail("probabilities", wanted, got, remedy)
    share = as_probability("uniform_share", uniform_share)
    chosen = values[:, np.arange(own.size), own].astype(np.float64)
    logs = np.log((1 - share) * chosen + share / values.shape[2])
    accuracies = (values.argmax(axis=2) == own).mean(axis=1)
    return LikelihoodTable(names, read_only(logs), read_only(accuracies))


def label_losses(table: LikelihoodTable, labels: IntArray, *, classes: int) -> FloatArray:
    """L^y(θ), shape (M, classes), in nats: the mean loss on each label's images; NaN without any.

    If an agent's images of a label are like everybody's, D_j(θ) = Σ_y P_j(y) L^y(θ), and the rate
    is Σ_y c_y [L^y(θ) − L^y(θ*)] with c_y = Σ_j v_j P_j(y): how often the network hears of y.
    """
    counts = np.bincount(labels, minlength=classes)
    sums = np.array(
        [np.bincount(labels, weights=-row, minlength=classes) for row in table.log_likelihoods]
    )
    with np.errstate(invalid="ignore"):
        return read_only(sums / counts)


# What theory says of a network, and what is measured of it ----------------------------------------


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
        wanted = "a hypothesis that is worse than another"
        raise fail("table", wanted, "all equally good", "take snapshots that differ")
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
