"""What agents know in and out of their domains: their predictions of classes, judged.

A label is *in an agent's domain* if its own data have it, *out of its domain* if only others' have
(P2 section 4.2); an agent's *confidence* is the probability that its prediction, averaged over
posterior samples, gives to the true label. Labels that no agent has ever seen are kept apart:
whether the entropy of the predictions gives such images away is measured, and nothing else is
averaged over them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import reduce
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from empirical.likelihoods.laws import Classes
from empirical.train.averaging import Belief
from empirical.train.mixture import drawn_weights
from empirical.train.net import Net
from empirical.train.scores import MEASURES, Classified, Scores, detection_auroc
from theory.validation import FloatArray, IntArray, as_integer, fail

# Averages over posterior samples in float32 sum to one within this.
SUM_TOLERANCE = 1e-3


def judged(
    predictions: Iterable[Tensor | ArrayLike],
    labels: Tensor | ArrayLike,
    *,
    own_labels: Sequence[Sequence[int]] | None = None,
    never_seen: Sequence[int] = (),
    others: Iterable[Tensor | ArrayLike] | None = None,
) -> Scores:
    """Scores of given probabilities of K classes, with the same examples for all agents.

    Parameters
    ----------
    predictions
        Of each of N agents the probabilities, shape (n, K), in single or double precision; taken
        one by one.
    labels
        Shape (n,): true classes.
    own_labels
        For each agent, the labels in its own data (:func:`~empirical.dealing.held_labels`).
    never_seen
        Labels that no agent's data have.
    others
        Of each agent probabilities for examples of another data set.

    Returns
    -------
    Scores
        ``accuracy``, ``nll``, ``calibration_error`` and, with `others`, ``other_data_auroc``; with
        `own_labels` also ``entropy`` (mean, nats), all three of ``accuracy``, ``confidence`` and
        ``entropy`` ``in_domain_…`` and ``out_of_domain_…``, and how well entropy tells examples
        out of the domain from those within (``out_of_domain_auroc``), of labels never seen
        (``never_seen_auroc``) and of other data (``other_data_auroc``) from all others
        (:func:`detection_auroc`). NaN where an agent has no such examples.

    Raises
    ------
    ValueError
        If shapes do not fit, a label is no class, an agent's probabilities are not finite, negative
        or do not sum to one, own labels are not given for every agent, or all labels are never
        seen.

    Examples
    --------
    >>> found = judged([[[0.75, 0.25], [0.5, 0.5]]], [0, 1], own_labels=[[0]])
    >>> found["accuracy"].tolist(), found["out_of_domain_confidence"].tolist()
    ([0.5], [0.5])
    """
    truth = _array(labels).astype(np.int64)
    strange = np.isin(truth, list(never_seen))
    if truth.size and strange.all():
        raise fail(
            "never_seen", "images of other labels too", "none", "leave out labels that were seen"
        )
    rows, bins, confusion, confidence = [], [], [], []
    strangers = iter(() if others is None else others)
    for agent, given in enumerate(predictions):
        seen = _classified(given, truth, agent)
        known = seen
        if strange.any():
            known = Classified(seen.probabilities[~strange], truth[~strange])
        row = {name: measure(known) for name, measure in MEASURES["classes"].items()}
        if own_labels is not None:
            own = [y for labels in own_labels[agent : agent + 1] for y in labels]
            row |= {
                "entropy": known.entropy.mean(),
                **_by_domain(known, np.isin(known.labels, own)),
            }
            row["never_seen_auroc"] = detection_auroc(seen.entropy[strange], known.entropy)
            row["other_data_auroc"] = np.nan
        if others is not None:
            other = _array(next(strangers))
            blank = np.zeros(len(other), np.int64)  # their labels say nothing of entropy
            entropy = _classified(other, blank, agent).entropy
            row["other_data_auroc"] = detection_auroc(entropy, known.entropy)
        rows.append(row)
        bins.append(known.bins)
        K = known.probabilities.shape[1]
        table = np.bincount(known.labels * K + known.predicted, minlength=K * K).reshape(K, K)
        counts, sums = table.sum(axis=1), np.bincount(known.labels, known.true, minlength=K)
        confusion.append(table)
        confidence.append(np.where(counts > 0, sums / np.maximum(counts, 1), np.nan))
    if own_labels is not None and len(own_labels) != len(rows):
        raise fail(
            "own_labels",
            f"the labels of each of {len(rows)} agents",
            f"those of {len(own_labels)}",
            "give one set of labels per agent",
        )
    return Scores(
        tuple(rows[0]),
        np.array([list(row.values()) for row in rows]),
        np.array(bins),
        np.full(len(rows), float((~strange).sum())),
        draws=0,
        by_class={"confusion": np.array(confusion), "confidence": np.array(confidence)},
    )


def _by_domain(seen: Classified, inside: NDArray[np.bool_]) -> dict[str, float]:
    each = {"accuracy": seen.right, "confidence": seen.true, "entropy": seen.entropy}
    found = {
        f"{side}_{name}": values[where].mean() if where.any() else np.nan
        for side, where in (("in_domain", inside), ("out_of_domain", ~inside))
        for name, values in each.items()
    }
    auroc = detection_auroc(seen.entropy[~inside], seen.entropy[inside])
    return {**found, "out_of_domain_auroc": auroc}


def evaluate(
    net: Net,
    belief: Belief,
    inputs: Tensor,
    labels: Tensor | ArrayLike,
    *,
    draws: int,
    seed: int,
    own_labels: Sequence[Sequence[int]],
    never_seen: Sequence[int] = (),
    other_inputs: Tensor | None = None,
) -> Scores:
    r"""Scores of agents' predictions by samples of their beliefs or by the mean, as :func:`judged`.

    Parameters
    ----------
    net, belief
        What the weights belong to, and what N agents believe of them.
    inputs, labels
        Shapes (n, \*input_shape) and (n,).
    draws
        Posterior samples to average; 0 to predict by the mean weights.
    seed
        Of the samples; each agent's depend on this and its number alone.
    own_labels, never_seen
        As :func:`judged`, of all N agents.
    other_inputs
        Shape (m, \*input_shape): images of another data set.

    Raises
    ------
    ValueError
        If something does not fit, or a belief or a prediction is not finite.
    """
    draws, seed = as_integer("draws", draws, minimum=0), as_integer("seed", seed, minimum=0)
    _check(belief)
    found = judged(
        _probabilities(net, belief, inputs, draws, seed),
        labels,
        own_labels=own_labels,
        never_seen=never_seen,
        others=None
        if other_inputs is None
        else _probabilities(net, belief, other_inputs, draws, seed),
    )
    return replace(found, draws=draws)


def mean_probabilities(net: Net, belief: Belief, inputs: Tensor) -> FloatArray:
    """Probabilities of the classes by the mean weights, shape (N, n, K), float32.

    `inputs` have shape (n, ...), the same for all agents.
    """
    return np.stack(list(_probabilities(net, belief, inputs, draws=0, seed=0)))


def _probabilities(
    net: Net, belief: Belief, inputs: Tensor, draws: int, seed: int
) -> Iterator[FloatArray]:
    """Yield each agent's averages over posterior samples, shape (n, K), in float32."""
    likelihood = Classes(net.outputs)
    for agent, mean in enumerate(belief.mean):
        variance = None if belief.variance is None else belief.variance[agent]
        weights = drawn_weights(mean, variance, draws=draws, seed=seed, agent=agent, in_turn=True)
        each = (likelihood.mean(net.outputs_of(w, inputs[None]))[0] for w in weights)
        yield (reduce(torch.add, each) / max(draws, 1)).cpu().numpy()


def _check(belief: Belief) -> None:
    """Refuse numbers that are not finite, and variances not above 0; the first agent is named."""
    for agent, mean in enumerate(belief.mean):
        # A sum is NaN or infinite if an entry is, at a fraction of the cost of isfinite.
        good = torch.isfinite(mean.abs().sum(dtype=torch.float64))
        if belief.variance is not None:
            low, high = torch.aminmax(belief.variance[agent])
            good = good & (low > 0) & torch.isfinite(high)
        if not good:
            wanted = "finite means, and finite variances above 0"
            remedy = "measure the last good round"
            raise fail("belief", wanted, f"others at agent {agent}", remedy)


def _classified(probabilities: Tensor | ArrayLike, labels: IntArray, agent: int) -> Classified:
    """What is given of an agent, checked."""
    given = _array(probabilities)
    if given.dtype != np.float64:
        given = given.astype(np.float32)
    if given.ndim != 2 or 0 in given.shape:
        raise fail(
            "probabilities",
            "shape (agents, images, classes)",
            f"shape {given.shape} of agent {agent}",
            "stack the agents along the first axis",
        )
    images, classes = given.shape
    if labels.shape != (images,):
        raise fail(
            "labels", f"shape ({images},)", f"shape {labels.shape}", "give one label per image"
        )
    if labels.min() < 0 or labels.max() >= classes:
        raise fail(
            "labels",
            f"classes from 0 to {classes - 1}",
            f"{labels.min()} to {labels.max()}",
            "use the indices of classes",
        )
    # NaN fails every comparison, so that the sums find it too.
    if not (np.abs(given.sum(axis=1) - 1.0) <= SUM_TOLERANCE).all() or (given < 0).any():
        raise fail(
            "probabilities",
            "at least 0, with a sum of 1 for every image",
            f"others for agent {agent}",
            "give each image's probabilities of all classes",
        )
    return Classified(given, labels)


def _array(values: Tensor | ArrayLike) -> NDArray[Any]:
    return values.cpu().numpy() if isinstance(values, Tensor) else np.asarray(values)
