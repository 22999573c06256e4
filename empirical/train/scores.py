"""How good predictions are: proper scores and calibration, agent by agent, for every likelihood.

=========  ==================================================================================
classes    accuracy; −log p (nats); expected calibration error over 15 bins of the top
           probability, Σ_b (n_b/n) abs(accuracy − mean top probability) (Guo et al. 2017, "On
           calibration of modern neural networks", equation 3): with few examples it is too large
numbers    root mean squared error; −log density per unit of the label (nats); calibration error
           of intervals, from the probability integral transform u = F(y): the mean over
           p = .05, .10, …, .95 of abs(share of labels with abs(2u − 1) ≤ p, minus p)
counts     mean absolute error; −log p (nats)
heads      −log ℓ of all heads together (nats), and the measures of each: ``accuracy of 0`` …
=========  ==================================================================================

All are of the mixture over posterior draws. They are exact for the examples given and the nets
drawn, up to rounding; as statements about other examples they are estimates.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from empirical.likelihoods.heads import Heads
from empirical.likelihoods.laws import Likelihood
from empirical.train.mixture import Prediction, doubt, drawn_weights, predict
from empirical.train.net import Net
from theory.showing import Shown
from theory.validation import FloatArray, IntArray, fail, read_only

# What predictions say of labelled examples -------------------------------------------------------


BINS = 15
LEVELS = np.arange(1, 20) / 20
# The smallest normal float32, 87.3 nats: a probability that has underflowed counts as this one.
LEAST_PROBABILITY = float(np.finfo(np.float32).tiny)


@dataclass(frozen=True, eq=False)
class Numbers:
    """One agent's predictions of n labels of k numbers or counts, beside the labels.

    Log densities (n,) and errors (n, k) are per unit and in units of the user's; ranks are those of
    :class:`~empirical.train.mixture.Prediction`.
    """

    log_density: FloatArray
    errors: FloatArray
    rank: FloatArray | None

    @property
    def bins(self) -> FloatArray:
        """Shape (15, 3): how many ranks lie in each fifteenth of (0, 1), and zeros."""
        found = np.zeros((BINS, 3))
        if self.rank is not None:
            found[:, 0] = np.histogram(self.rank, bins=BINS, range=(0.0, 1.0))[0]
        return found


@dataclass(frozen=True, eq=False)
class Classified:
    """One agent's predictions of n labels of K classes, beside the labels.

    Attributes
    ----------
    probabilities
        Shape (n, K), in single or double precision.
    labels
        Shape (n,): true classes.
    given_log_density
        Shape (n,): log probabilities of the true classes, in nats; None: as the probabilities say.
    """

    probabilities: FloatArray
    labels: IntArray
    given_log_density: FloatArray | None = None

    @cached_property
    def predicted(self) -> IntArray:
        """Shape (n,): the likeliest class, the first of equals."""
        return np.asarray(self.probabilities.argmax(axis=1))

    @cached_property
    def right(self) -> NDArray[np.bool_]:
        """Shape (n,): whether that is the true one."""
        return np.asarray(self.predicted == self.labels)

    @cached_property
    def top(self) -> FloatArray:
        """Shape (n,): its probability."""
        return np.asarray(self.probabilities.max(axis=1), np.float64)

    @cached_property
    def true(self) -> FloatArray:
        """Shape (n,): the true class's probability, P2's *confidence* (section 4.2)."""
        return self.probabilities[np.arange(len(self.labels)), self.labels].astype(np.float64)

    @cached_property
    def entropy(self) -> FloatArray:
        """Shape (n,): −Σ p log p, in nats."""
        each = torch.special.entr(torch.tensor(self.probabilities))
        return np.asarray(each.sum(dim=1).double().numpy())

    @cached_property
    def log_density(self) -> FloatArray:
        """Shape (n,): log probabilities of the true classes, in nats.

        From probabilities, one below 1.2e-38, the least that float32 tells from 0, counts as that.
        """
        if self.given_log_density is not None:
            return self.given_log_density
        return np.asarray(np.log(np.maximum(self.true, LEAST_PROBABILITY)))

    @cached_property
    def bins(self) -> FloatArray:
        """Shape (15, 3): examples, sum of their top probabilities, and how many are right.

        Of bins of equal width ((b − 1)/15, b/15] of the top probability.
        """
        place = np.clip(np.ceil(self.top * BINS).astype(np.int64) - 1, 0, BINS - 1)
        columns = (None, self.top, self.right)
        return np.stack([np.bincount(place, each, minlength=BINS) for each in columns], axis=1)


def interval_error(rank: FloatArray) -> float:
    """Calibration error of central intervals from u = F(y), any shape; 0 is calibrated.

    Examples
    --------
    >>> round(interval_error(np.full(10, 0.5)), 3)  # the truth always in the middle
    0.5
    """
    inside = np.abs(2.0 * np.asarray(rank).ravel() - 1.0)
    shares = (inside[:, None] <= LEVELS).mean(axis=0)
    return float(np.abs(shares - LEVELS).mean())


def detection_auroc(positive: ArrayLike, negative: ArrayLike) -> float:
    """The chance that a score of `positive` lies above one of `negative`, ties counted half.

    Both have one axis; the area under the receiver operating characteristic curve, exact. 0.5 is
    chance. NaN if either is empty.

    Examples
    --------
    >>> detection_auroc([0.9, 0.4], [0.1, 0.4, 0.2])
    0.9166666666666666
    """
    found, rest = np.asarray(positive, dtype=np.float64), np.sort(np.asarray(negative, np.float64))
    if found.size == 0 or rest.size == 0:
        return float("nan")
    below = np.searchsorted(rest, found, side="left") + np.searchsorted(rest, found, side="right")
    return float(below.sum() / (2 * found.size * rest.size))


def _nll(seen: Numbers | Classified) -> float:
    return -float(seen.log_density.mean())


def _calibration_error(seen: Classified) -> float:
    return float(np.abs(seen.bins[:, 2] - seen.bins[:, 1]).sum() / len(seen.labels))


# What is measured with each kind of likelihood, the main score first.
MEASURES: Mapping[str, Mapping[str, Callable[[Any], float]]] = {
    "classes": {
        "accuracy": lambda seen: seen.right.mean(),
        "nll": _nll,
        "calibration_error": _calibration_error,
    },
    "gaussian": {
        "rmse": lambda seen: np.sqrt((seen.errors**2).mean()),
        "nll": _nll,
        "calibration_error": lambda seen: interval_error(seen.rank),
    },
    "counts": {"mean_error": lambda seen: np.abs(seen.errors).mean(), "nll": _nll},
}


def measures_of(likelihood: Likelihood, *, others: bool = False) -> tuple[str, ...]:
    """What is measured of predictions with this likelihood; `others`: of other data too."""
    if isinstance(likelihood, Heads):
        each = [f"{m} of {k}" for k, one in enumerate(likelihood.parts) for m in measures_of(one)]
        found = ("nll", *each)
    else:
        found = tuple(MEASURES[likelihood.words["kind"]])
    return (*found, "other_data_auroc") if others else found


# Scores of all agents ----------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Scores(Shown):
    """Scores of N agents.

    Attributes
    ----------
    measures
        What was measured, in the order of the columns: the main score first (``accuracy``,
        ``rmse`` or ``mean_error``), then ``nll``, and what else there is.
    values
        Shape (N, number of measures); NaN where an agent has no example.
    bins
        Shape (N, 15, 3): for classes, of each bin of the top probability the number of examples,
        the sum of their top probabilities, and how many were right; for numbers, of each
        fifteenth of (0, 1) the number of labels whose u lies in it, and zeros.
    examples
        Shape (N,): how many examples each agent was scored on.
    draws
        How many posterior samples a prediction averages; 0: that of the mean weights.
    by_class
        Of :func:`~empirical.train.evaluation.judged` predictions: ``confusion``, shape (N, K, K),
        examples by true class (rows) and predicted class (columns); ``confidence``, shape (N, K),
        the mean probability of the true class, by true class, NaN without any.
    """

    measures: tuple[str, ...]
    values: FloatArray
    bins: FloatArray
    examples: FloatArray
    draws: int
    by_class: Mapping[str, NDArray[Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for array in (self.values, self.bins, self.examples, *self.by_class.values()):
            read_only(array)

    def _facts(self) -> Iterator[tuple[str, object]]:
        yield "agents", len(self.values)
        yield "examples", self.examples
        yield "draws", self.draws
        yield from self.by_measure().items()

    def __getitem__(self, measure: str) -> FloatArray:
        """One measure of all agents, shape (N,)."""
        if measure not in self.measures:
            raise fail("measure", f"one of {', '.join(self.measures)}", measure, "choose one")
        return np.asarray(self.values[:, self.measures.index(measure)])

    def by_measure(self) -> dict[str, FloatArray]:
        """Each measure of all agents, shape (N,)."""
        return {measure: self[measure] for measure in self.measures}

    @property
    def main(self) -> str:
        """The first measure."""
        return self.measures[0]

    def mean(self, measure: str) -> float:
        """The mean over agents, weighted by their examples; NaN without any."""
        known = self.examples > 0
        if not known.any():
            return float("nan")
        return float(np.average(self[measure][known], weights=self.examples[known]))


def score(
    net: Net,
    likelihood: Likelihood,
    beliefs: Iterable[tuple[int, Tensor, Tensor | None]],
    examples: Sequence[tuple[Tensor, Tensor]],
    *,
    draws: int,
    seed: int,
    unit: FloatArray | float = 1.0,
    others: Tensor | None = None,
) -> Scores:
    """Score agents, each on examples of its own or all on the same.

    Parameters
    ----------
    beliefs
        Of each agent its number, and mean and variance of its weights, shape (d,); no variance
        for weights without width.
    examples
        Of each agent inputs and labels, as net and likelihood take them; may be empty.
    draws, seed
        As :func:`~empirical.train.mixture.drawn_weights`.
    unit
        Of numbers: what a step of 1 of a stored label is in the user's units, one for all columns
        or shape (k,). Errors and densities are then in the user's units.
    others
        Inputs of another data set: how well uncertainty tells them from the examples' is measured
        (``other_data_auroc``, :func:`detection_auroc`).

    Raises
    ------
    ValueError
        If a prediction is not finite.
    """
    measures = measures_of(likelihood, others=others is not None)
    scale = np.broadcast_to(np.asarray(unit, np.float64), (likelihood.label_size,))
    rows, bins = [], []
    for (agent, *belief), (inputs, labels) in zip(beliefs, examples, strict=True):
        if not len(labels):
            rows.append([np.nan] * len(measures))
            bins.append(np.zeros((BINS, 3)))
            continue

        def predicted(*given: Tensor, belief: Any = belief, agent: int = agent) -> Prediction:
            weights = drawn_weights(*belief, draws=draws, seed=seed, agent=agent)
            return predict(net, likelihood, weights, *given)

        own = predicted(inputs, labels)
        assert own.log_density is not None
        if not (np.isfinite(own.mean).all() and np.isfinite(own.log_density).all()):
            raise fail(
                "predictions", "finite ones", f"others for agent {agent}", "lower the learning rate"
            )
        row, histogram = _scored(own, likelihood, labels.cpu().reshape(len(labels), -1), scale)
        if others is not None:
            row.append(detection_auroc(doubt(predicted(others)), doubt(own)))
        rows.append(row)
        bins.append(histogram)
    counts = np.array([len(labels) for _, labels in examples], np.float64)
    return Scores(measures, np.array(rows), np.array(bins), counts, draws)


def _scored(
    own: Prediction, likelihood: Likelihood, labels: Tensor, unit: FloatArray
) -> tuple[list[float], FloatArray]:
    """The measures of one agent's predictions, without other data's, and its bins."""
    density, kind = own.log_density, likelihood.words["kind"]
    assert density is not None
    if isinstance(likelihood, Heads):
        ends = np.cumsum([part.label_size for part in likelihood.parts])
        row: list[float] = []
        for part, its, end in zip(likelihood.parts, own.heads, ends, strict=True):
            some = slice(end - part.label_size, end)
            row += _scored(its, part, labels[:, some], unit[some])[0]
            if part.words["kind"] == "gaussian":
                density = density - np.log(unit[some]).sum()
        return [-float(density.mean()), *row], np.zeros((BINS, 3))
    if kind == "classes":
        seen: Numbers | Classified = Classified(own.mean, labels[:, 0].long().numpy(), density)
    else:
        errors = (labels.double().numpy() - own.mean) * unit
        seen = Numbers(density - (kind == "gaussian") * np.log(unit).sum(), errors, own.rank)
    return [float(measure(seen)) for measure in MEASURES[kind].values()], seen.bins


def columns_of(likelihood: Likelihood) -> list[Mapping[str, Any]]:
    """The words of the part of a likelihood that each column of the labels has."""
    words = likelihood.words
    return [
        part
        for part in words.get("parts", [words])
        for _ in range(1 if part["kind"] == "classes" else part.get("count", 1))
    ]


def as_rows(scores: Scores) -> Tensor:
    """The scores as a row of numbers an agent, float64: what processes exchange."""
    flat = scores.bins.reshape(len(scores.bins), -1)
    return torch.from_numpy(np.hstack([scores.values, flat, scores.examples[:, None]]))


def from_rows(rows: Tensor, measures: tuple[str, ...], draws: int) -> Scores:
    """The scores that :func:`as_rows` wrote."""
    values = np.array(rows.cpu().numpy())
    count = len(measures)
    bins = values[:, count:-1].reshape(len(values), BINS, 3)
    return Scores(measures, values[:, :count].copy(), bins.copy(), values[:, -1].copy(), draws)
