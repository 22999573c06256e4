"""Nets as hypotheses: train them side by side.

The snapshots of :mod:`empirical.forecast` are nets trained in one place on the images of some
labels (:func:`train_snapshots`), all at once as the rows of one tensor and without a word between
them. They are Bayesian nets like those of the networks they speak about, and predict with their
mean weights. What is laid beside the rates they predict is how soon a network's loss on new images
comes down to given values (:func:`empirical.train.curve.loss_curve`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from empirical.classifiers import LikelihoodTable
from empirical.forecast import LabelHypothesis, snapshot_table
from empirical.nets.architecture import Architecture
from empirical.nets.shares import Shares
from empirical.train.averaging import Belief
from empirical.train.evaluation import mean_probabilities
from empirical.train.kernel_net import KernelNet
from empirical.train.recipe import Recipe
from theory import Network
from theory.validation import as_integer, fail


@dataclass(frozen=True, eq=False)
class Snapshots:
    """M trained nets.

    Attributes
    ----------
    names
        The hypotheses they stand for.
    net
        What their weights belong to.
    means
        Their mean weights, shape (M, d).
    """

    names: tuple[str, ...]
    net: KernelNet
    means: Tensor

    def table(self, inputs: Tensor, labels: Tensor) -> LikelihoodTable:
        r"""What each says of every image, by its mean weights.

        Parameters
        ----------
        inputs, labels
            Shapes (n, \\*input_shape) and (n,): all images, whoever holds them.
        """
        probabilities = mean_probabilities(self.net, Belief(self.means, None), inputs)
        return snapshot_table(self.names, probabilities, labels.cpu().numpy())


def train_snapshots(
    shares: Shares,
    hypotheses: Sequence[LabelHypothesis],
    recipe: Recipe,
    *,
    architecture: Architecture,
    seed: int,
    stages: Sequence[int] = (),
    device: str = "cpu",
    progress: Callable[[int, int], None] | None = None,
) -> Snapshots:
    """Train a net on the images of each hypothesis' labels, all from one initialisation.

    Every net sees equally many batches: `recipe.rounds` × `recipe.local_steps`.

    Parameters
    ----------
    shares
        All images, and who holds them; those that nobody holds are not used.
    hypotheses
        At least two; see :func:`empirical.forecast.label_hypotheses`.
    stages
        Rounds after which the first net is kept too, as it then is, under its name and the round;
        0 is the initialisation.
    progress
        Called with (rounds done, rounds in all).

    Raises
    ------
    ValueError
        If a hypothesis' labels occur in no image, or a stage is no round.
    TrainingFailed
        If a loss is not finite any more.
    """
    held = torch.unique(torch.cat([rows.cpu() for rows in shares.indices]))
    labels = shares.labels.cpu()[held]
    rows = []
    for hypothesis in hypotheses:
        own = held[torch.isin(labels, torch.tensor(hypothesis.labels))]
        if own.numel() == 0:
            raise fail(
                f"hypothesis {hypothesis.name!r}",
                "labels of images that somebody holds",
                list(hypothesis.labels),
                "name labels that occur",
            )
        rows.append(own.to(shares.labels.device))
    wanted = sorted({as_integer("stages", s, minimum=0, maximum=recipe.rounds) for s in stages})
    # Each net is its own prior's heir, and nobody pools: only the local half of a round is run.
    training = replace(recipe, prior="consensus").training(
        Shares(shares.inputs, shares.labels, tuple(rows)),
        Network.from_topology("complete", agents=len(rows)),
        architecture=architecture,
        seed=seed,
        device=device,
    )
    kept: list[Tensor] = []
    for done in range(recipe.rounds + 1):
        if done > 0:
            training.local_phase()
            if progress is not None:
                progress(done, recipe.rounds)
        if done in wanted:
            kept.append(training.belief().mean[:1].clone())
    names = [hypothesis.name for hypothesis in hypotheses]
    stage_names = [f"{names[0]}, after {stage} rounds" for stage in wanted]
    means = torch.cat([training.belief().mean, *kept])
    return Snapshots((*names, *stage_names), KernelNet(architecture), means)
