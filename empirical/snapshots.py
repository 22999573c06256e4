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
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from empirical.classifiers import UNIFORM_SHARE, LikelihoodTable
from theory.showing import Shown
from theory.validation import (
    FloatArray,
    IntArray,
    as_probability,
    fail,
    read_only,
)


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
