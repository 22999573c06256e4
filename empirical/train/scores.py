"""How good predictions are: proper scores and calibration, agent by agent, for every likelihood.

=========  ==================================================================================
classes    accuracy; −log p (nats); expected calibration error over 15 bins of the top
           probability (:func:`empirical.nets.metrics.calibration_error`)
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

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor

from empirical.likelihoods.heads import Heads
from empirical.likelihoods.laws import Likelihood
from empirical.nets.metrics import BINS, accuracy, calibration_error, detection_auroc, image_scores
from empirical.train.mixture import Prediction, doubt, predict
from empirical.train.net import Net
from theory.frames import frame, long_columns
from theory.showing import Shown, Value
from theory.validation import FloatArray, IntArray, fail, read_only

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


# What was seen of a training while it ran --------------------------------------------------------


# What scores are drawn against, and the label of the axis.
ALONG = {"rounds": "round", "bytes": "MB sent"}


@dataclass(frozen=True, eq=False)
class RoundReport:
    """What a round did.

    Attributes
    ----------
    round
        Its number, counted from 1.
    loss
        Mean −log ℓ over each own agent's batches, in nats, shape (n,); NaN for who rested.
    local_steps
        Steps taken by own agents together.
    bytes_sent
        By own agents, over all links.
    seconds
        Of local steps and consensus.
    bytes_uncoded
        What the same messages would have taken without a codec, in float32.
    """

    round: int
    loss: FloatArray
    local_steps: int
    bytes_sent: int
    seconds: float
    bytes_uncoded: int = 0


@dataclass(frozen=True, eq=False)
class History(Value):
    """A training at T of its rounds; histories of equal runs are equal, whatever time they took.

    Attributes
    ----------
    rounds
        Shape (T,), increasing, counted from 1.
    loss
        Shape (T, N): the mean −log ℓ of each agent's batches since the round before, nats; NaN for
        who took no step.
    measures
        What was measured on validation data, as :class:`~empirical.train.scores.Scores` has it.
    validation
        Shape (T, N, number of measures); NaN for an agent without validation data.
    bytes_sent
        Shape (T,): by all agents, since the beginning.
    seconds
        Shape (T,): since the beginning; the slowest process's.
    """

    rounds: IntArray
    loss: FloatArray
    measures: tuple[str, ...]
    validation: FloatArray
    bytes_sent: IntArray
    seconds: FloatArray

    def __post_init__(self) -> None:
        for array in (self.rounds, self.loss, self.validation, self.bytes_sent, self.seconds):
            read_only(array)

    def _parts(self) -> tuple[object, ...]:
        return (self.rounds, self.loss, self.measures, self.validation, self.bytes_sent)

    def to_frame(self) -> pd.DataFrame:
        """One row a round and agent: loss, and each measure on validation data (pandas).

        Raises
        ------
        ValueError
            If pandas is not installed.
        """
        agents = range(self.loss.shape[1])
        columns = {
            f"validation_{measure}": self.validation[:, :, k]
            for k, measure in enumerate(self.measures)
        }
        axes = {"round": self.rounds.tolist(), "agent": agents}
        return frame(long_columns(axes, loss=self.loss, **columns))

    def plot(
        self, title: str, names: Sequence[str], ax: Axes | None = None, *, along: str = "rounds"
    ) -> Axes:
        """See :meth:`empirical.train.trained.TrainedNetwork.plot`; `names` are those of agents."""
        if along not in ALONG:
            raise fail("along", " or ".join(map(repr, ALONG)), repr(along), "choose one of them")
        if ax is None:
            import matplotlib.pyplot as plt

            ax = plt.subplots(layout="constrained")[1]
        x = self.rounds if along == "rounds" else self.bytes_sent / 1e6
        scored = np.isfinite(self.validation).any()
        values = self.validation[:, :, 0] if scored else self.loss
        what = f"validation {self.measures[0]}" if scored else "training loss [nats]"
        for agent, name in enumerate(names):
            ax.plot(x, values[:, agent], label=name if agent < 10 else None)
        ax.set(title=title, xlabel=ALONG[along], ylabel=what.replace("_", " "))
        ax.legend()
        return ax


# How good predictions are ------------------------------------------------------------------------


LEVELS = np.arange(1, 20) / 20


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
    """

    measures: tuple[str, ...]
    values: FloatArray
    bins: FloatArray
    examples: FloatArray
    draws: int

    def __post_init__(self) -> None:
        for array in (self.values, self.bins, self.examples):
            read_only(array)

    def _facts(self) -> Iterator[tuple[str, object]]:
        yield "agents", len(self.values)
        yield "examples", self.examples
        yield "draws", self.draws
        for measure in self.measures:
            yield measure, self[measure]

    def __getitem__(self, measure: str) -> FloatArray:
        """One measure of all agents, shape (N,)."""
        if measure not in self.measures:
            raise fail("measure", f"one of {', '.join(self.measures)}", measure, "choose one")
        return np.asarray(self.values[:, self.measures.index(measure)])

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


@dataclass(frozen=True, eq=False)
class Metrics(Shown):
    """Scores of the agents at the end, of predictions by posterior samples.

    Attributes
    ----------
    validation
        Each agent on its own validation data; None without such data.
    test
        Every agent on the test data, which nothing was chosen by; None without such data.
    """

    validation: Scores | None
    test: Scores | None


def measures_of(likelihood: Likelihood, *, others: bool = False) -> tuple[str, ...]:
    """What is measured of predictions with this likelihood; `others`: of other data too."""
    if isinstance(likelihood, Heads):
        found: tuple[str, ...] = ("nll",)
        for head, part in enumerate(likelihood.parts):
            found += tuple(f"{measure} of {head}" for measure in measures_of(part))
    else:
        found = {
            "classes": ("accuracy", "nll", "calibration_error"),
            "gaussian": ("rmse", "nll", "calibration_error"),
            "counts": ("mean_error", "nll"),
        }[likelihood.words["kind"]]
    return (*found, "other_data_auroc") if others else found


def columns_of(likelihood: Likelihood) -> list[Mapping[str, Any]]:
    """The words of the part of a likelihood that each column of the labels has."""
    words = likelihood.words
    return [
        part
        for part in words.get("parts", [words])
        for _ in range(1 if part["kind"] == "classes" else part.get("count", 1))
    ]


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
        (``other_data_auroc``, :func:`~empirical.nets.metrics.detection_auroc`).

    Raises
    ------
    ValueError
        If a prediction is not finite.
    """
    measures = measures_of(likelihood, others=others is not None)
    scale = np.broadcast_to(np.asarray(unit, np.float64), (likelihood.label_size,))
    rows, bins, counts = [], [], []
    for (agent, mean, variance), (inputs, labels) in zip(beliefs, examples, strict=True):
        counts.append(float(len(labels)))
        if not len(labels):
            rows.append(np.full(len(measures), np.nan))
            bins.append(np.zeros((BINS, 3)))
            continue
        predicted = partial(
            predict, net, likelihood, mean, variance, draws=draws, seed=seed, agent=agent
        )
        own = predicted(inputs, labels=labels)
        assert own.log_density is not None
        if not (np.isfinite(own.mean).all() and np.isfinite(own.log_density).all()):
            raise fail(
                "predictions", "finite ones", f"others for agent {agent}", "lower the learning rate"
            )
        row, histogram = _scored(own, likelihood, labels, scale)
        if others is not None:
            row.append(detection_auroc(doubt(predicted(others)), doubt(own)))
        rows.append(np.array(row))
        bins.append(histogram)
    return Scores(measures, np.array(rows), np.array(bins), np.array(counts), draws)


def _scored(
    own: Prediction, likelihood: Likelihood, labels: Tensor, unit: FloatArray
) -> tuple[list[float], FloatArray]:
    """The measures of one agent's predictions, without other data's, and its bins."""
    assert own.log_density is not None
    kind = likelihood.words["kind"]
    nll = -float(own.log_density.mean())
    bins = np.zeros((BINS, 3))
    if isinstance(likelihood, Heads):
        labels = labels.reshape(len(labels), -1)
        row = [nll]
        start = 0
        for part, its in zip(likelihood.parts, own.heads, strict=True):
            some = slice(start, start + part.label_size)
            row += _scored(its, part, labels[:, some], unit[some])[0]
            if part.words["kind"] == "gaussian":
                row[0] += float(np.log(unit[some]).sum())
            start = some.stop
        return row, bins
    if kind == "classes":
        scores = image_scores(own.mean[None], labels.cpu().reshape(-1))
        place = np.clip(np.ceil(scores.top[0] * BINS).astype(np.int64) - 1, 0, BINS - 1)
        right = scores.predicted[0] == scores.labels
        for column, weights in enumerate((None, scores.top[0], right.astype(np.float64))):
            bins[:, column] = np.bincount(place, weights, minlength=BINS)
        return [float(accuracy(scores)[0]), nll, float(calibration_error(scores)[0])], bins
    truth = labels.cpu().double().numpy().reshape(own.mean.shape)
    errors = (truth - own.mean) * unit
    if kind == "counts":
        return [float(np.abs(errors).mean()), nll], bins
    assert own.rank is not None
    bins[:, 0] = np.histogram(own.rank, bins=BINS, range=(0.0, 1.0))[0]
    nll += float(np.log(unit).sum())
    return [float(np.sqrt((errors**2).mean())), nll, interval_error(own.rank)], bins


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


def r_squared(truth: ArrayLike, predicted: FloatArray) -> FloatArray:
    """R² = 1 − Σ(y − ŷ)²/Σ(y − ȳ)² of N agents, shape (N,), the mean of that of each column.

    Of a constant column it is 1 if all predictions are right, else 0.

    Parameters
    ----------
    truth, predicted
        Shapes (n,) or (n, k), and (N, n, k).

    Examples
    --------
    >>> r_squared([1.0, 2.0, 3.0], np.array([[[1.0], [2.0], [4.0]]])).tolist()
    [0.5]
    """
    given = np.asarray(truth, np.float64)
    given = given.reshape(len(given), -1)
    missed = ((predicted - given) ** 2).sum(axis=1)
    spread = ((given - given.mean(axis=0)) ** 2).sum(axis=0)
    ratio = missed / np.where(spread > 0, spread, 1.0)
    return np.asarray(np.where(spread > 0, 1.0 - ratio, missed == 0).mean(axis=1))


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


# Scores and histories as JSON has them -----------------------------------------------------------


def words_of(value: Scores | History | None) -> dict[str, Any] | None:
    """All fields as JSON has them, but for seconds, which no two equal runs share."""
    if value is None:
        return None
    own = {field.name: getattr(value, field.name) for field in fields(value)}
    return {name: _plain(part) for name, part in own.items() if name != "seconds"}


def _plain(part: Any) -> Any:
    """Lists in place of arrays and tuples, None in place of what is not finite."""
    if isinstance(part, np.ndarray):
        part = part.tolist()
    if isinstance(part, list | tuple):
        return [_plain(one) for one in part]
    return None if isinstance(part, float) and not np.isfinite(part) else part


def scores_from(words: Mapping[str, Any] | None) -> Scores | None:
    """The scores that :func:`words_of` wrote."""
    if words is None:
        return None
    values, bins, examples = (_floats(words[name]) for name in ("values", "bins", "examples"))
    return Scores(tuple(words["measures"]), values, bins, examples, words["draws"])


def history_from(words: Mapping[str, Any]) -> History:
    """The history that :func:`words_of` wrote; seconds are NaN."""
    rounds = len(words["rounds"])
    shape, measures = (rounds, len(words["loss"][0]) if rounds else 0), tuple(words["measures"])
    return History(
        np.array(words["rounds"], dtype=np.int64),
        _floats(words["loss"]).reshape(shape),
        measures,
        _floats(words["validation"]).reshape(*shape, len(measures)),
        np.array(words["bytes_sent"], dtype=np.int64),
        np.full(rounds, np.nan),
    )


def _floats(values: Any) -> FloatArray:
    """The array that lists were made of, NaN for None."""
    return np.array(values, dtype=np.float64)
