"""What `rate-link` computes: hypotheses and their rates, and curves of training.

Everything that needs torch is imported when a part is run.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import numpy as np

from empirical import Images, Partition, classifier_model, load_images
from empirical.classifiers import LikelihoodTable
from empirical.dealing import DEALINGS, held_labels, stratified_subset
from empirical.forecast import (
    Site,
    label_hypotheses,
    label_losses,
    rate_forecast,
    rounds_to_loss,
    run_beside_forecast,
)
from peerbayes.comparison import allowed_deviation, means_agree
from peerbayes.experiments.link_networks import network_of, site_of
from peerbayes.experiments.link_rows import (
    AMBIGUOUS,
    ExactRun,
    Forecast,
    LinkSetting,
    SnapshotsPart,
    TrainedPart,
)
from peerbayes.experiments.tuned_search import recorded_learner
from theory import Network
from theory.progress import Progress

if TYPE_CHECKING:
    from empirical.nets.architecture import Architecture
    from empirical.nets.shares import Shares
    from empirical.train.learners.averaging import Learner

# Of the deal of images and of the test images: the same for all seeds, as the prediction is.
_DEAL = 0
# P2's star in its runs with the ambiguous pair.
_AMBIGUOUS_STAR = "star a=0.5"
# σ of every weight before round 1, and the rate of its logarithm.
_STD, _SCALE_RATE = 0.03, 1e-3
_DEALT = {"mnist": "star-mnist-1", "fashion-mnist": "star-fmnist-1"}


def run_forecasts(link: LinkSetting, *, seed: int, progress: Progress | None) -> SnapshotsPart:
    """Train the hypotheses, and compare the exact run over them with the rates of each network."""
    from empirical.train.prediction import train_snapshots
    from empirical.train.recipe import Recipe

    images = load_images(link.data_set, directory=link.data)
    sites = link_sites(link, images)
    partition = next(iter(sites.values())).partition
    shares = _shares(link, images, partition)
    hypotheses = label_hypotheses(held_labels(partition, images.labels))
    recipe = Recipe(
        link.snapshot_rounds, link.local_steps, link.batch,
        mean_rate=link.snapshot_rate, mean_epsilon=link.snapshot_epsilon,
    )  # fmt: skip
    snapshots = train_snapshots(
        shares, hypotheses, recipe, architecture=_architecture(link, shares), seed=seed,
        stages=link.stages, device=link.device, progress=progress,
    )  # fmt: skip
    table = snapshots.table(shares.inputs, shares.labels)
    return SnapshotsPart(
        hypotheses=list(table.hypotheses),
        accuracies=table.accuracies.tolist(),
        label_losses=label_losses(table, images.labels, classes=10).tolist(),
        forecasts={
            name: _forecast(link, table, len(hypotheses), site, seed=seed)
            for name, site in sites.items()
        },
    )


def run_training(
    link: LinkSetting, part: str, *, seed: int, replicates: int, progress: Progress | None
) -> TrainedPart:
    """Train one network with each seed, and look at test images."""
    from empirical.nets.shares import as_inputs, as_labels
    from empirical.train.curve import loss_curve

    images = load_images(link.data_set, directory=link.data)
    site = _ambiguous_site(images) if part == AMBIGUOUS else link_sites(link, images)[part]
    shares = _shares(link, images, site.partition)
    test = load_images(link.data_set, split="test", directory=link.data)
    few = test.at(stratified_subset(test.labels, link.test_images, seed=_DEAL))
    architecture = _architecture(link, shares)
    inputs = as_inputs(few, input_shape=architecture.input_shape, device=link.device)
    labels = as_labels(few, device=link.device)
    curves = [
        loss_curve(
            shares, site, _learner(link), architecture=architecture,
            local_steps=link.local_steps, batch=link.batch, test_inputs=inputs, test_labels=labels,
            record=link.looks, seed=own_seed, device=link.device,
            progress=_one_of(progress, index, replicates),
        )
        for index, own_seed in enumerate(_seeds(seed, replicates))
    ]  # fmt: skip
    losses = np.array([curve.losses.mean(axis=1) for curve in curves])
    return TrainedPart(
        rounds=list(curves[0].rounds),
        losses=losses.tolist(),
        accuracies=[curve.accuracies.mean(axis=1).tolist() for curve in curves],
        rounds_to_loss=[
            [rounds_to_loss(curves[0].rounds, loss, target) for loss in losses]
            for target in link.targets
        ],
        label_confidences=[np.asarray(curve.label_confidences).tolist() for curve in curves],
        local_label_confidences=[
            np.asarray(curve.local_label_confidences).tolist() for curve in curves
        ],
    )


def link_sites(link: LinkSetting, images: Images) -> Mapping[str, Site]:
    """The networks that are compared, and who holds what in them."""
    dealt = DEALINGS[_DEALT[link.data_set]].deal(images.labels, seed=_DEAL)
    return {name: site_of(name, dealt) for name in link.networks}


def _ambiguous_site(images: Images) -> Site:
    dealt = DEALINGS[AMBIGUOUS].deal(images.labels, seed=_DEAL)
    return Site(network_of(_AMBIGUOUS_STAR), dealt)


def _forecast(
    link: LinkSetting, table: LikelihoodTable, count: int, site: Site, *, seed: int
) -> Forecast:
    """Rates over the label hypotheses, which are the first `count`; the stages are a control."""
    labels = table.only(range(count))
    found = rate_forecast(labels, site)
    stages = rate_forecast(table.only([0, *range(count, len(table.hypotheses))]), site)
    return Forecast(
        influence=found.influence,
        rate=found.rate,
        binding=found.binding,
        reference=found.reference,
        is_compromise=found.is_compromise,
        rates=dict(found.rates),
        stage_rates=dict(stages.rates),
        exact=_exact_run(link, labels, site, seed=seed),
    )


def _exact_run(
    link: LinkSetting, labels: LikelihoodTable, site: Site, *, seed: int
) -> ExactRun | None:
    """Social learning beside its means; none where the network changes, or the law is not exact."""
    if not isinstance(site.network, Network):
        return None
    run = run_beside_forecast(
        site.network,
        classifier_model(labels, site.partition),
        rounds=link.exact_rounds,
        replicates=link.exact_replicates,
        seed=seed,
    )
    chance = allowed_deviation(run.variance, run.reach, run.replicates, scores=run.measured.size)
    verdict = means_agree("", measured=run.measured, expected=run.expected, chance=chance)
    return ExactRun(
        rounds=run.rounds,
        replicates=run.replicates,
        best=run.best,
        expected=run.expected.tolist(),
        measured=run.measured.tolist(),
        standard_error=run.standard_error.tolist(),
        share_of_allowed=verdict.measured,
        holds=verdict.holds,
    )


def _learner(link: LinkSetting) -> Learner:
    if link.learner == "natural-gradient":
        return recorded_learner(link.learner, rate=link.mean_rate, weighting="agents", clip=None)
    return recorded_learner(
        link.learner,
        initial_std=_STD,
        mean_rate=link.mean_rate,
        scale_rate=_SCALE_RATE,
        mean_epsilon=link.mean_epsilon,
    )


def _architecture(link: LinkSetting, shares: Shares) -> Architecture:
    from empirical.nets.architecture import perceptron

    return perceptron(shares.inputs.shape[1], *link.hidden, outputs=10)


def _shares(link: LinkSetting, images: Images, partition: Partition) -> Shares:
    from empirical.nets.shares import Shares

    pixels = images.pixels.shape[1] * images.pixels.shape[2]
    return Shares.from_images(images, partition, input_shape=(pixels,), device=link.device)


def _seeds(seed: int, replicates: int) -> Iterator[int]:
    for state in np.random.SeedSequence(seed).spawn(replicates):
        yield int(state.generate_state(1)[0])


def _one_of(progress: Progress | None, index: int, replicates: int) -> Progress | None:
    """Progress of one of several equal runs, as that of all."""
    if progress is None:
        return None
    return lambda done, total: progress(index * total + done, replicates * total)
