"""How soon networks of nets do well on new images: looks at them while they train."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import torch
from torch import Tensor

from empirical.forecast import Site
from empirical.likelihoods.laws import Classes
from empirical.nets.architecture import Architecture
from empirical.nets.shares import Shares
from empirical.train.evaluation import judged
from empirical.train.kernel_net import KernelNet
from empirical.train.learners.averaging import Belief, Learner
from empirical.train.run import TrainingRun
from empirical.train.scores import Scores
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
    run = TrainingRun(
        KernelNet(architecture),
        Classes(architecture.outputs),
        Shares(shares.inputs, shares.labels, dealt),
        site.network,
        learner,
        rounds=looks[-1],
        local_steps=local_steps,
        batch=batch,
        seed=seed,
        schedule="geometric",
        device=device,
    )

    def look(belief: Belief) -> Scores:
        outputs = run.net.outputs_of(belief.mean, test_inputs[None])
        return judged(torch.softmax(outputs, dim=2), test_labels)

    before: list[Scores] = []
    scores = [look(run.belief())] if looks[0] == 0 else []
    for done in range(1, looks[-1] + 1):
        last = done == looks[-1]
        run.run_round(before=(lambda belief: before.append(look(belief))) if last else None)
        if done in looks:
            scores.append(look(run.belief()))
        if progress is not None:
            progress(done, looks[-1])
    return LossCurve(
        read_only(np.array(looks, dtype=np.int64)),
        *(read_only(np.array([one[m] for one in scores])) for m in ("nll", "accuracy")),
        *(one.by_class["confidence"] for one in (scores[-1], before[0])),
    )
