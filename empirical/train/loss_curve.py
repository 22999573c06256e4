"""How soon networks of nets do well on new images: looks at them while they train."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import torch
from torch import Tensor

from empirical.forecast import Site
from empirical.nets.architecture import Architecture
from empirical.nets.likelihood import PREDICTED_AT_ONCE, logits
from empirical.nets.metrics import (
    ImageScores,
    accuracy,
    class_means,
    image_scores,
    negative_log_likelihood,
)
from empirical.nets.shares import Shares
from empirical.train.follow import Before, Watch, follow
from empirical.train.learners.averaging import Belief, Learner
from empirical.train.recipe import run_of_classes
from empirical.train.run import TrainingRun
from empirical.train.scores import RoundReport
from theory.validation import FloatArray, IntArray, as_integer, fail, read_only


@dataclass(frozen=True, eq=False)
class LossCurve:
    """How a network's nets do on new images, round after round; by mean weights.

    Attributes
    ----------
    rounds
        Shape (T,).
    losses, accuracies
        Shape (T, N): mean −log ℓ in nats, and the share of images whose label is the most likely.
    label_confidences
        Shape (N, classes): after the last round, the mean probability of the true label.
    local_label_confidences
        The same before the last consensus.
    """

    rounds: IntArray
    losses: FloatArray
    accuracies: FloatArray
    label_confidences: FloatArray
    local_label_confidences: FloatArray


def loss_curve(
    shares: Shares,
    site: Site,
    learner: Learner,
    *,
    architecture: Architecture,
    local_steps: int,
    batch: int,
    test_inputs: Tensor,
    test_labels: Tensor,
    record: Sequence[int],
    seed: int,
    device: str = "cpu",
    progress: Callable[[int, int], None] | None = None,
) -> LossCurve:
    r"""Train a network of nets at a constant rate, and look at new images every few rounds.

    Parameters
    ----------
    shares
        All images; who holds which is `site`'s partition.
    site
        The network, fixed or changing, and its partition.
    local_steps, batch
        Of a round; examples of a step.
    test_inputs, test_labels
        Shapes (n, \\*input_shape) and (n,).
    record
        Rounds after which to look at them, increasing, from 0 at the earliest; training ends with
        the last one.

    Raises
    ------
    ValueError
        If network and partition differ in their agents, or rounds do not increase.
    TrainingFailed
        If a loss is not finite any more.
    """
    looks = [as_integer("record", r, minimum=0) for r in record]
    if not looks or looks[-1] == 0 or any(b <= a for a, b in pairwise(looks)):
        raise fail("record", "increasing rounds, the last of at least 1", looks,
                   "sort them, without repeats")  # fmt: skip
    dealt = tuple(torch.tensor(own, device=shares.labels.device) for own in site.partition.indices)
    run = run_of_classes(
        architecture, Shares(shares.inputs, shares.labels, dealt), site.network, learner,
        rounds=looks[-1], local_steps=local_steps, batch=batch, seed=seed, schedule="geometric",
        device=device,
    )  # fmt: skip

    def look(belief: Belief) -> ImageScores:
        pieces = [
            torch.softmax(logits(architecture, belief.mean, some[None]), dim=2)
            for some in torch.split(test_inputs, PREDICTED_AT_ONCE)
        ]
        return image_scores(torch.cat(pieces, dim=1), test_labels)

    watch = _Looks(run, look, looks)
    if looks[0] == 0:
        watch.scores.append(look(run.belief()))
    scores = follow(run, looks[-1], watch, progress=progress).scores
    return LossCurve(
        read_only(np.array(looks, dtype=np.int64)),
        read_only(np.array([negative_log_likelihood(score) for score in scores])),
        read_only(np.array([accuracy(score) for score in scores])),
        *(read_only(class_means(one.true, one)) for one in (scores[-1], watch.last_before)),
    )


class _Looks(Watch):
    """Scores after some rounds of a run, and before the last consensus."""

    def __init__(
        self, run: TrainingRun, look: Callable[[Belief], ImageScores], looks: Sequence[int]
    ) -> None:
        super().__init__()
        self._run, self._look, self._looks = run, look, looks
        self.scores: list[ImageScores] = []

    def before(self, round: int) -> Before | None:
        """In the last round, what is believed before its consensus is looked at."""
        return self._look_before if round == self._looks[-1] else None

    def _look_before(self, belief: Belief) -> None:
        self.last_before = self._look(belief)

    def see(self, report: RoundReport) -> None:
        """Look at a round that is one to look at."""
        if report.round in self._looks:
            self.scores.append(self._look(self._run.belief()))
