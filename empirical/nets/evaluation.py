"""What the agents of a network know, measured on labelled images.

An agent's labels are *in its domain* if its own data have them, *out of its domain* if only
others' have (P2 section 4.2); its *confidence* is the probability that its prediction, averaged
over posterior samples, gives to the true label. Labels that no agent has ever seen are kept apart:
whether the entropy of the predictions gives such images away is measured, and nothing else is
averaged over them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from empirical.nets.metrics import (
    ImageScores,
    accuracy,
    as_tensor,
    calibration_error,
    chosen_agents,
    class_means,
    confusion_matrix,
    detection_auroc,
    image_scores,
    masked_means,
    negative_log_likelihood,
    score,
)
from empirical.nets.posterior import Posterior
from theory.validation import FloatArray, IntArray, as_integer, fail, read_only


@dataclass(frozen=True, eq=False)
class Evaluation:
    """How well each of N agents predicts the classes of n images; arrays are read-only.

    Attributes
    ----------
    agents
        Which agents, in the order of the arrays.
    images
        The number n of images of classes that some agent has seen: all averages are over these.
    draws
        How many posterior samples a prediction averages; 0: it is that of the mean weights.
    accuracy
        Shape (N,): share of images whose likeliest class is the true one.
    nll
        Shape (N,): mean −log p(true class), nats.
    calibration_error
        Shape (N,): expected calibration error over 15 bins.
    entropy
        Shape (N,): mean entropy of the predictions, nats.
    confusion
        Shape (N, K, K), whole numbers: images by true class (rows) and predicted class (columns).
    confidence
        Shape (N, K): mean probability of the true class, by true class. NaN: no image of it.
    in_domain_accuracy, out_of_domain_accuracy
        Shape (N,): the accuracy over images of the agent's own labels, and of all others. This
        and what follows is NaN for an agent with no such images.
    in_domain_confidence, out_of_domain_confidence
        Shape (N,): mean probability of the true class.
    in_domain_entropy, out_of_domain_entropy
        Shape (N,): mean entropy, nats.
    out_of_domain_auroc
        Shape (N,): how well entropy tells images out of the agent's domain from those within: the
        chance that it is higher (:func:`~empirical.nets.metrics.detection_auroc`).
    never_seen_auroc
        Shape (N,): the same for images of labels that no agent has seen, against all others.
    other_data_auroc
        Shape (N,): the same for images of another data set, against those of seen labels.
    """

    agents: tuple[int, ...]
    images: int
    draws: int
    accuracy: FloatArray
    nll: FloatArray
    calibration_error: FloatArray
    entropy: FloatArray
    confusion: IntArray
    confidence: FloatArray
    in_domain_accuracy: FloatArray
    out_of_domain_accuracy: FloatArray
    in_domain_confidence: FloatArray
    out_of_domain_confidence: FloatArray
    in_domain_entropy: FloatArray
    out_of_domain_entropy: FloatArray
    out_of_domain_auroc: FloatArray
    never_seen_auroc: FloatArray
    other_data_auroc: FloatArray

    def __post_init__(self) -> None:
        for value in vars(self).values():
            if isinstance(value, np.ndarray):
                read_only(value)

    def as_json(self) -> dict[str, Any]:
        """All fields as JSON takes them: arrays as lists, NaN as None."""
        return {
            name: _plain(value) if isinstance(value, np.ndarray) else value
            for name, value in {**vars(self), "agents": list(self.agents)}.items()
        }


def evaluate(
    posterior: Posterior,
    inputs: Tensor,
    labels: Tensor | ArrayLike,
    *,
    draws: int,
    seed: int,
    own_labels: Sequence[Sequence[int]],
    never_seen: Sequence[int] = (),
    other_inputs: Tensor | None = None,
    agents: Sequence[int] | None = None,
    images: ArrayLike | None = None,
) -> Evaluation:
    r"""Measure agents' predictions by the posterior's samples or its mean.

    Parameters
    ----------
    posterior, inputs, labels, draws, seed, agents, images
        As :func:`~empirical.nets.metrics.score`; a good sample of images is
        :func:`~empirical.dealing.stratified_subset`.
    own_labels
        For each of the N agents, the labels in its own data
        (:func:`~empirical.dealing.held_labels`).
    never_seen
        Labels that no agent's data have.
    other_inputs
        Shape (m, \*input_shape): images of another data set.

    Raises
    ------
    ValueError
        If something does not fit, or predictions are not finite.
    """
    _check_own_labels(own_labels, posterior.agents)
    chosen = chosen_agents(agents, posterior.agents)
    known = score(posterior, inputs, labels, draws=draws, seed=seed, agents=chosen, images=images)
    others = None
    if other_inputs is not None:  # their labels mean nothing here: only the entropy is used
        blank = torch.zeros(other_inputs.shape[0], dtype=torch.int64)
        others = score(posterior, other_inputs, blank, draws=draws, seed=seed, agents=chosen)
    return _evaluation(
        known,
        agents=chosen,
        draws=draws,
        own_labels=[own_labels[agent] for agent in chosen],
        never_seen=never_seen,
        others=None if others is None else others.entropy,
    )


def evaluate_probabilities(
    probabilities: Tensor | ArrayLike,
    labels: Tensor | ArrayLike,
    *,
    own_labels: Sequence[Sequence[int]],
    never_seen: Sequence[int] = (),
    other_probabilities: Tensor | ArrayLike | None = None,
    draws: int = 0,
) -> Evaluation:
    """The same of given predictions, shape (N, n, K), for images with `labels`, shape (n,).

    Raises
    ------
    ValueError
        As :func:`~empirical.nets.metrics.image_scores`, or if own labels are not given for every
        agent, or all images are of never-seen labels.

    Examples
    --------
    >>> found = evaluate_probabilities(
    ...     [[[0.75, 0.25], [0.5, 0.5]]], labels=[0, 1], own_labels=[[0]]
    ... )
    >>> found.accuracy.tolist(), found.out_of_domain_confidence.tolist()
    ([0.5], [0.5])
    """
    scores = image_scores(probabilities, labels)
    _check_own_labels(own_labels, scores.agents)
    others = None
    if other_probabilities is not None:
        given = as_tensor(other_probabilities)
        others = image_scores(given, torch.zeros(given.shape[1], dtype=torch.int64)).entropy
    return _evaluation(
        scores,
        agents=tuple(range(scores.agents)),
        draws=as_integer("draws", draws, minimum=0),
        own_labels=own_labels,
        never_seen=never_seen,
        others=others,
    )


def _evaluation(
    scores: ImageScores,
    *,
    agents: tuple[int, ...],
    draws: int,
    own_labels: Sequence[Sequence[int]],
    never_seen: Sequence[int],
    others: FloatArray | None,
) -> Evaluation:
    strange = np.isin(scores.labels, np.array(list(never_seen), dtype=np.int64))
    if strange.all():
        raise fail(
            "never_seen", "images of other labels too", "none", "leave out labels that were seen"
        )
    known = scores.of_images(~strange)
    inside = np.array([np.isin(known.labels, np.array(list(own), np.int64)) for own in own_labels])
    right = (known.predicted == known.labels).astype(np.float64)
    return Evaluation(
        agents=agents,
        images=int(known.labels.size),
        draws=draws,
        accuracy=accuracy(known),
        nll=negative_log_likelihood(known),
        calibration_error=calibration_error(known),
        entropy=known.entropy.mean(axis=1),
        confusion=confusion_matrix(known),
        confidence=class_means(known.true, known),
        in_domain_accuracy=masked_means(right, inside),
        out_of_domain_accuracy=masked_means(right, ~inside),
        in_domain_confidence=masked_means(known.true, inside),
        out_of_domain_confidence=masked_means(known.true, ~inside),
        in_domain_entropy=masked_means(known.entropy, inside),
        out_of_domain_entropy=masked_means(known.entropy, ~inside),
        out_of_domain_auroc=_aurocs(
            [row[~own] for row, own in zip(known.entropy, inside, strict=True)],
            [row[own] for row, own in zip(known.entropy, inside, strict=True)],
        ),
        never_seen_auroc=_aurocs(scores.entropy[:, strange], known.entropy),
        other_data_auroc=_aurocs(known.entropy[:, :0] if others is None else others, known.entropy),
    )


def _aurocs(positive: Iterable[ArrayLike], negative: Iterable[ArrayLike]) -> FloatArray:
    """One for each agent, from rows of scores."""
    return np.array([detection_auroc(*rows) for rows in zip(positive, negative, strict=True)])


def _check_own_labels(own_labels: Sequence[Sequence[int]], agents: int) -> None:
    if len(own_labels) != agents:
        raise fail(
            "own_labels",
            f"the labels of each of {agents} agents",
            f"those of {len(own_labels)}",
            "give one set of labels per agent",
        )


def _plain(values: NDArray[Any]) -> Any:
    """Lists in place of an array, None in place of NaN."""
    if values.ndim > 1:
        return [_plain(row) for row in values]
    return [None if value != value else value for value in values.tolist()]
