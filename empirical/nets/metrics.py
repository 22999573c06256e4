"""How good predicted probabilities are, for the predictions of many agents at once.

Agents' predictions for n images are one array of shape (N, n, K): for each agent and image a
probability of each of K classes. :func:`image_scores` keeps four numbers of each prediction, from
which everything else follows; predictions can therefore be made and forgotten agent by agent.

All averages are exact for the images given, up to rounding; as statements about other images they
are estimates.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor

from empirical.nets.likelihood import mean_probabilities, sampled_probabilities
from empirical.nets.posterior import Posterior
from theory.validation import FloatArray, IntArray, as_integer, fail

# How good predicted probabilities are, for the predictions of many agents at once ----------------


# The smallest normal float32, 87.3 nats: a probability that has underflowed counts as this one.
LEAST_PROBABILITY = float(np.finfo(np.float32).tiny)
# Averages over posterior samples in float32 sum to one within this.
SUM_TOLERANCE = 1e-3
BINS = 15


@dataclass(frozen=True, eq=False)
class ImageScores:
    """What N agents' predictions say about n labelled images of K classes.

    Attributes
    ----------
    labels
        Shape (n,), int64: the true classes.
    predicted
        Shape (N, n), int64: the likeliest class, the first of equals.
    top
        Shape (N, n), float64: its probability.
    true
        Shape (N, n), float64: the true class's probability, P2's *confidence* (section 4.2).
    entropy
        Shape (N, n), float64: −Σ p log p, in nats.
    classes
        K.
    """

    labels: IntArray
    predicted: IntArray
    top: FloatArray
    true: FloatArray
    entropy: FloatArray
    classes: int

    @property
    def agents(self) -> int:
        """The number N of agents."""
        return int(self.predicted.shape[0])

    def of_images(self, chosen: ArrayLike) -> ImageScores:
        """The scores of some images only, by position or truth value."""
        own = np.asarray(chosen)
        # Row after row: else the last bits of an agent's mean depend on how many agents there are.
        return ImageScores(
            self.labels[own],
            np.ascontiguousarray(self.predicted[:, own]),
            np.ascontiguousarray(self.top[:, own]),
            np.ascontiguousarray(self.true[:, own]),
            np.ascontiguousarray(self.entropy[:, own]),
            self.classes,
        )


def image_scores(probabilities: Tensor | ArrayLike, labels: Tensor | ArrayLike) -> ImageScores:
    """The scores of predictions, shape (N, n, K), for images with `labels`, shape (n,).

    Raises
    ------
    ValueError
        If the shapes do not fit, a label is no class, or an agent's probabilities are not finite,
        negative, or do not sum to one.

    Examples
    --------
    >>> scores = image_scores([[[0.75, 0.25], [0.5, 0.5]]], [1, 1])
    >>> scores.predicted.tolist(), scores.true.tolist()
    ([[0, 0]], [[0.25, 0.5]])
    """
    given, truth = as_tensor(probabilities), as_tensor(labels).long()
    if given.dtype != torch.float64:
        given = given.float()
    _check_shapes(given, truth)
    # NaN fails every comparison, so that the sums find it too.
    wrong = ~((given.sum(dim=2) - 1.0).abs() <= SUM_TOLERANCE).all(dim=1) | (given < 0).any(2).any(
        1
    )
    if bool(wrong.any()):
        raise fail(
            "probabilities",
            "at least 0, with a sum of 1 for every image",
            f"others for agent {int(wrong.int().argmax())}",
            "give each image's probabilities of all classes",
        )
    top, predicted = given.max(dim=2)
    index = truth.to(given.device).expand(given.shape[0], -1).unsqueeze(2)
    true = given.gather(2, index).squeeze(2)
    entropy = torch.special.entr(given).sum(dim=2)
    return ImageScores(
        labels=truth.cpu().numpy(),
        predicted=predicted.cpu().numpy(),
        top=top.double().cpu().numpy(),
        true=true.double().cpu().numpy(),
        entropy=entropy.double().cpu().numpy(),
        classes=int(given.shape[2]),
    )


def _check_shapes(given: Tensor, truth: Tensor) -> None:
    if given.ndim != 3 or 0 in given.shape:
        raise fail(
            "probabilities",
            "shape (agents, images, classes)",
            f"shape {tuple(given.shape)}",
            "stack the agents along the first axis",
        )
    if truth.shape != given.shape[1:2]:
        raise fail(
            "labels",
            f"shape ({given.shape[1]},)",
            f"shape {tuple(truth.shape)}",
            "give one label per image",
        )
    classes = int(given.shape[2])
    if int(truth.min()) < 0 or int(truth.max()) >= classes:
        raise fail(
            "labels",
            f"classes from 0 to {classes - 1}",
            f"{int(truth.min())} to {int(truth.max())}",
            "use the indices of classes",
        )


def as_tensor(values: Tensor | ArrayLike) -> Tensor:
    """A tensor as it is, anything else as a copy."""
    return values if isinstance(values, Tensor) else torch.tensor(np.asarray(values))


def stacked(each: Sequence[ImageScores]) -> ImageScores:
    """The scores of all agents of some scores of the same images, in order."""
    return ImageScores(
        labels=each[0].labels,
        predicted=np.concatenate([one.predicted for one in each]),
        top=np.concatenate([one.top for one in each]),
        true=np.concatenate([one.true for one in each]),
        entropy=np.concatenate([one.entropy for one in each]),
        classes=each[0].classes,
    )


def accuracy(scores: ImageScores) -> FloatArray:
    """Each agent's share of images whose likeliest class is the true one, shape (N,)."""
    return np.asarray((scores.predicted == scores.labels).mean(axis=1))


def negative_log_likelihood(scores: ImageScores) -> FloatArray:
    """Each agent's mean of −log p(true class), shape (N,), in nats.

    A probability below 1.2e-38, the least that float32 tells from 0, counts as that: where one
    occurs, the mean is a lower bound.
    """
    return np.asarray(-np.log(np.maximum(scores.true, LEAST_PROBABILITY)).mean(axis=1))


def calibration_error(scores: ImageScores, *, bins: int = BINS) -> FloatArray:
    """Each agent's expected calibration error, shape (N,), in [0, 1].

    Σ_b (n_b / n) · abs(accuracy in bin b − mean top probability in bin b), over bins of equal
    width ((b − 1)/bins, b/bins] of the top probability (Guo et al. 2017, "On calibration of modern
    neural networks", equation 3). With few images it is biased upwards.
    """
    bins = as_integer("bins", bins, minimum=1)
    agents, images = scores.top.shape
    bin_of = np.clip(np.ceil(scores.top * bins).astype(np.int64) - 1, 0, bins - 1)
    flat = (bin_of + bins * np.arange(agents)[:, None]).ravel()
    gaps = (scores.predicted == scores.labels) - scores.top
    sums = np.bincount(flat, weights=gaps.ravel(), minlength=agents * bins)
    return np.asarray(np.abs(sums.reshape(agents, bins)).sum(axis=1) / images)


def confusion_matrix(scores: ImageScores) -> IntArray:
    """Numbers of images, shape (N, K, K): by true class (rows) and predicted class (columns)."""
    N, K = scores.agents, scores.classes
    flat = (np.arange(N)[:, None] * K + scores.labels) * K + scores.predicted
    return np.bincount(flat.ravel(), minlength=N * K * K).reshape(N, K, K)


def class_means(values: FloatArray, scores: ImageScores) -> FloatArray:
    """Means of `values`, shape (N, n), over each true class's images, shape (N, K).

    NaN where a class has no image.
    """
    N, K = scores.agents, scores.classes
    flat = (np.arange(N)[:, None] * K + scores.labels).ravel()
    sums = np.bincount(flat, weights=values.ravel(), minlength=N * K).reshape(N, K)
    counts = np.bincount(scores.labels, minlength=K)
    return np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)


def masked_means(values: FloatArray, mask: ArrayLike) -> FloatArray:
    """Means of `values`, shape (N, n), where `mask`, shape (N, n), holds: shape (N,).

    NaN for an agent whose mask holds nowhere.
    """
    chosen = np.asarray(mask, dtype=bool)
    counts = chosen.sum(axis=1)
    sums = np.where(chosen, values, 0.0).sum(axis=1)
    return np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)


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


# What beliefs say about labelled images ----------------------------------------------------------


def score(
    posterior: Posterior,
    inputs: Tensor,
    labels: Tensor | ArrayLike,
    *,
    draws: int,
    seed: int,
    agents: Sequence[int] | None = None,
    images: ArrayLike | None = None,
) -> ImageScores:
    r"""The scores of agents' predictions, by the posterior's samples or its mean.

    Parameters
    ----------
    posterior
        The beliefs of N agents.
    inputs, labels
        Shapes (n, \*input_shape) and (n,).
    draws
        Posterior samples to average; 0 to predict by the mean weights.
    seed
        Of the samples; each agent's depend on this and its number alone.
    agents, images
        Which agents and which of the n images to use, by number; left out: all.

    Raises
    ------
    ValueError
        If something does not fit, or a belief or a prediction is not finite.
    """
    draws, seed = as_integer("draws", draws, minimum=0), as_integer("seed", seed, minimum=0)
    _check_belief(posterior)
    truth = as_tensor(labels).long().cpu()
    if truth.shape != inputs.shape[:1]:
        raise fail(
            "labels",
            f"shape ({inputs.shape[0]},)",
            f"shape {tuple(truth.shape)}",
            "give one label per image",
        )
    if images is not None:
        places = _chosen_images(images, truth.shape[0])
        inputs, truth = inputs[places.to(inputs.device)], truth[places]
    each = []
    for agent in chosen_agents(agents, posterior.agents):
        belief = posterior.of([agent])
        if draws:
            # An agent's samples are its own, whichever others are measured.
            own = int(np.random.SeedSequence((seed, agent)).generate_state(1)[0])
            predicted = sampled_probabilities(belief, inputs, draws=draws, seed=own)
        else:
            predicted = mean_probabilities(belief, inputs)
        each.append(image_scores(predicted, truth))
    return stacked(each)


def _check_belief(posterior: Posterior) -> None:
    damaged = posterior.damaged()
    if damaged is not None:
        raise fail(
            "posterior",
            "finite means, and finite variances above 0",
            f"others at agent {damaged}",
            "measure the last good round",
        )


def chosen_agents(agents: Sequence[int] | None, known: int) -> tuple[int, ...]:
    """Those named, checked; all if none is."""
    if agents is None:
        return tuple(range(known))
    if not len(agents):
        raise fail("agents", "at least one agent", "none", "name one, or leave the argument out")
    return tuple(as_integer("agents", agent, minimum=0, maximum=known - 1) for agent in agents)


def _chosen_images(images: ArrayLike, known: int) -> Tensor:
    places = np.array(images, dtype=np.int64)
    if places.ndim != 1 or places.size == 0 or places.min() < 0 or places.max() >= known:
        raise fail(
            "images",
            f"at least one position from 0 to {known - 1}",
            f"shape {places.shape}"
            + (f" with {places.min()} to {places.max()}" if places.size else ""),
            "name test images by their positions",
        )
    return torch.from_numpy(places)
