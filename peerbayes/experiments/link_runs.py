"""What `rate-link` computes: networks by name, hypotheses and their rates, curves of training.

All this is apart from the rows, which `peerbayes list` reads: networks take longer to load.

Everything that needs torch is imported when a part is run.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

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
from peerbayes.experiments.experiment import Job
from peerbayes.experiments.link_rows import (
    AGENTS,
    AMBIGUOUS,
    WIDE,
    ExactRun,
    Forecast,
    LinkSetting,
    SnapshotsPart,
    TrainedPart,
)
from peerbayes.experiments.setting import Setting
from peerbayes.experiments.tuned_search import recorded_learner
from theory import Network
from theory.changing import (
    MarkovNetwork,
    PeriodicNetwork,
    Phase,
    RandomLinks,
    mean_slem,
)
from theory.changing.mean_states import expected_weights
from theory.network.structure import as_dense
from theory.progress import part_of
from theory.validation import FloatArray

if TYPE_CHECKING:
    from empirical.nets.architecture import Architecture
    from empirical.nets.shares import Shares
    from empirical.train.averaging import Learner

# Of the deal of images and of the test images: the same for all seeds, as the prediction is.
_DEAL = 0
# P2's star in its runs with the ambiguous pair.
_AMBIGUOUS_STAR = "star a=0.5"
# σ of every weight before round 1, and the rate of its logarithm.
_STD, _SCALE_RATE = 0.03, 1e-3
_DEALT = {"mnist": "star-mnist-1", "fashion-mnist": "star-fmnist-1"}


# Networks by name: weights, how slowly they mix, where the informative agent sits -----------------

_PLACES = {"corner": 0, "side": 1, "centre": 4}
_GRID: dict[str, Any] = {"topology": "grid", "shape": [3, 3]}


def _table(name: str) -> dict[str, Any]:
    """How the network of this name is made, and where the informative agent sits."""
    if name in WIDE:
        return dict(WIDE[name])
    kind, _, rest = name.partition(" ")
    if kind == "grid":
        return {**_GRID, "informative": _PLACES[rest.partition(",")[0]]}
    return {"topology": "star", "agents": AGENTS, "edge_confidence": float(rest.removeprefix("a="))}


LinkNetwork: TypeAlias = Network | PeriodicNetwork | MarkovNetwork | RandomLinks


def network_of(name: str) -> LinkNetwork:
    """The network of this name."""
    table = _table(name)
    own = {key: table.pop(key, None) for key in ("informative", "poolings", "links", "gossip")}
    if phases := table.pop("in_turn", ()):
        each = (Network.from_topology(**table, **phase) for phase in phases)
        return PeriodicNetwork(tuple(Phase(one.weights) for one in each))
    network = Network.from_topology(**table)
    if own["poolings"]:
        return Network(np.linalg.matrix_power(np.asarray(network.weights), own["poolings"]))
    if own["links"]:
        return RandomLinks(network, own["links"])
    if own["gossip"]:
        return MarkovNetwork.gossip_pairs(network, everyone_observes=True)
    return network


def site_of(name: str, dealt: Partition) -> Site:
    """The network of this name, and images dealt for a star with the informative agent first."""
    return Site(network_of(name), dealt.placed_at(informative_place(name)))


def informative_place(name: str) -> int:
    """The agent that has the centre's labels in the network of this name."""
    return int(_table(name).get("informative", 0))


def mixing_time(name: str) -> float:
    """−1/log of the subdominant modulus, in rounds; an estimate in doubles.

    Examples
    --------
    >>> round(mixing_time("grid corner") / mixing_time("grid corner, 4 poolings"), 9)
    4.0
    """
    network = network_of(name)
    slem = network.slem if isinstance(network, Network) else mean_slem(network)
    return -1 / math.log(slem) if slem > 1e-12 else 0.0


def heard_again(name: str) -> float:
    """Z_cc = Σ_{k≥1} ([W^k]_cc − v_c) of the informative agent c, in rounds, in doubles.

    How much more than others c hears of its own steps (docs: mathematics/nets-as-hypotheses). W is
    the mean of the weights where they change.

    Examples
    --------
    >>> round(heard_again("complete"), 12) + 0.0
    0.0
    >>> heard_again("path end") > heard_again("path middle")
    True
    """
    place = informative_place(name)
    weights = mean_weights(network_of(name))
    v = np.linalg.matrix_power(weights, 2**20)[0]
    size = len(weights)
    return float(np.linalg.inv(np.eye(size) - weights + v)[place, place] - 1)


def mean_weights(network: LinkNetwork) -> FloatArray:
    """The mean weights of a round, shape (N, N)."""
    match network:
        case Network():
            return as_dense(network.weights)
        case PeriodicNetwork():
            each = [as_dense(phase.weights) for phase in network.phases]
            return np.asarray(np.mean(each, axis=0))
        case _:
            return as_dense(expected_weights(network).weights)


# Runs ---------------------------------------------------------------------------------------------


def run_forecasts(link: LinkSetting, job: Job, where: Setting) -> SnapshotsPart:
    """Train the hypotheses, and compare the exact run over them with the rates of each network."""
    from empirical.train.prediction import train_snapshots
    from empirical.train.recipe import Recipe

    images = load_images(link.data_set, directory=where.data)
    sites = link_sites(link, images)
    partition = next(iter(sites.values())).partition
    shares = _shares(where, images, partition)
    hypotheses = label_hypotheses(held_labels(partition, images.labels))
    recipe = Recipe(
        link.snapshot_rounds, link.local_steps, link.batch,
        mean_rate=link.snapshot_rate, mean_epsilon=link.snapshot_epsilon,
    )  # fmt: skip
    snapshots = train_snapshots(
        shares, hypotheses, recipe, architecture=_architecture(link, shares), seed=job.seed,
        stages=link.stages, device=where.device, progress=job.progress,
    )  # fmt: skip
    table = snapshots.table(shares.inputs, shares.labels)
    return SnapshotsPart(
        hypotheses=list(table.hypotheses),
        accuracies=table.accuracies.tolist(),
        label_losses=label_losses(table, images.labels, classes=10).tolist(),
        forecasts={
            name: _forecast(link, table, len(hypotheses), site, seed=job.seed)
            for name, site in sites.items()
        },
    )


def run_training(link: LinkSetting, part: str, job: Job, where: Setting) -> TrainedPart:
    """Train one network with each seed, and look at test images."""
    from empirical.nets.shares import as_inputs, as_labels
    from empirical.train.curve import loss_curve

    images = load_images(link.data_set, directory=where.data)
    site = _ambiguous_site(images) if part == AMBIGUOUS else link_sites(link, images)[part]
    shares = _shares(where, images, site.partition)
    test = load_images(link.data_set, split="test", directory=where.data)
    few = test.at(stratified_subset(test.labels, link.test_images, seed=_DEAL))
    architecture = _architecture(link, shares)
    inputs = as_inputs(few, input_shape=architecture.input_shape, device=where.device)
    labels = as_labels(few, device=where.device)
    curves = [
        loss_curve(
            shares, site, _learner(link), architecture=architecture,
            local_steps=link.local_steps, batch=link.batch, test_inputs=inputs, test_labels=labels,
            record=link.looks, seed=own_seed, device=where.device,
            progress=part_of(job.progress, index, job.replicates),
        )
        for index, own_seed in enumerate(_seeds(job.seed, job.replicates))
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


def _shares(where: Setting, images: Images, partition: Partition) -> Shares:
    from empirical.nets.shares import Shares

    pixels = images.pixels.shape[1] * images.pixels.shape[2]
    return Shares.from_images(images, partition, input_shape=(pixels,), device=where.device)


def _seeds(seed: int, replicates: int) -> Iterator[int]:
    for state in np.random.SeedSequence(seed).spawn(replicates):
        yield int(state.generate_state(1)[0])
