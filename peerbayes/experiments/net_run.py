"""One part of an experiment with neural nets: data dealt, network, net, learner; what it leaves.

Everything here decides numbers, which behaviour marks watch
(:mod:`peerbayes.experiments.behaviour`).

Everything that needs torch is imported when a part is run.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from peerbayes.experiments.experiment import Experiment, Job, PartT
from peerbayes.experiments.net_rows import (
    QUICK_IMAGES,
    ROWS,
    Curve,
    Facts,
    NetPart,
    Part,
    Row,
    Table,
    is_served,
    part_values,
    schedule_values,
)
from peerbayes.experiments.setting import KeptFile, Setting, _file, unfinished
from peerbayes.terminal import sayer
from theory.lazy import later
from theory.validation import fail

if TYPE_CHECKING:
    import numpy as np

    from empirical.data import Images
    from empirical.messages.codec import Codec
    from empirical.nets.architecture import Architecture
    from empirical.nets.shares import Shares
    from empirical.train.averaging import Belief
    from empirical.train.curve import Followed, Test
    from theory.changing.mixing import PeriodicNetwork
    from theory.network import Network
else:
    np = later("numpy")


@dataclass(frozen=True)
class RowExperiment(Experiment[PartT]):
    """An experiment on a row of neural nets, which is what refusals are about."""

    row: Row

    @property
    def subject(self) -> str:
        """What a refusal is about: the row, by its name."""
        return self.row.name

    @property
    def source(self) -> str:
        """Paper and section that the row is from."""
        return self.row.source

    @property
    def dataset(self) -> str:
        """Whose images it learns from."""
        return self.row.dataset


# Codecs in rows: which parts one can write, and with which settings -------------------------------

# Weights of an image, and classes, of both data sets.
_PIXELS, _CLASSES = 784, 10


@cache
def codec_settings(name: str) -> dict[str, Any]:
    """Name and settings of a codec, in plain values.

    Raises
    ------
    ValueError
        If there is no such codec.
    """
    from empirical.messages.codecs import codec_named

    return codec_named(name).words()


def written(row: Row, part: Part, codec: str) -> bool:
    """Whether agents of a part send messages, and the codec can write them."""
    sends = part.role in ("cooperating", "averaging") and not is_served(row, part)
    return sends and not _misfit(codec, row.hidden, averaged=part.role == "averaging")


def check_codec(row: Row, codec: str) -> None:
    """Refuse a codec for a row in which it writes nothing.

    Raises
    ------
    ValueError
        If no agent of the row sends anything to another, there is no such codec, or it can write
        neither the beliefs nor the means of the row's nets, or a library that it needs is not
        there; in one line.
    """
    weights = row.variants[0].network.get("weights", ())
    if row.is_federated or len(weights) == 1:
        wanted = "a row whose agents send each other messages"
        raise fail("--codec", wanted, row.name, "leave it out")
    try:
        reason = _misfit(codec, row.hidden, averaged=False)
    except ImportError as error:
        raise ValueError(str(error)) from None
    if reason and (not row.averaging or _misfit(codec, row.hidden, averaged=True)):
        raise ValueError(reason)


@cache
def _misfit(name: str, hidden: tuple[int, ...], *, averaged: bool) -> str:
    """Why a codec cannot write messages of nets of these widths; empty if it can."""
    from empirical.messages.codecs import codec_named
    from empirical.messages.streams import prepared
    from empirical.nets.architecture import perceptron
    from empirical.train.kernel_net import KernelNet
    from empirical.train.parts import layout_of_net
    from empirical.train.recipe import Recipe

    learner = Recipe(1, 1, 1, estimator="point" if averaged else "local").learner
    net = KernelNet(perceptron(_PIXELS, *hidden, outputs=_CLASSES))
    try:
        prepared(codec_named(name), layout_of_net(net, learner))
    except ValueError as error:
        return str(error)
    return ""


def net_recipe(row: Row, part: Part) -> str:
    """The recipe of a part of a row: its name, who learns with whom, on which kind of network.

    Examples
    --------
    >>> net_recipe(ROWS["star-mnist-1"], Part("best", "averaging", "a=0.5", 0))
    'best: averaging, star or grid'
    """
    network = row.variant(part.variant).network
    if "server" in network:
        kind = f"server {network['server']}"
    elif "weights" in network:
        nodes = len(network["weights"])
        kind = f"{nodes} node{'s' * (nodes != 1)}"
    else:
        kind = "rotating star" if "rotating_star" in network else "star or grid"
    return f"{part.recipe}: {part.role}, {kind}"


# P2's Remark 7 put to work: every agent begins from an initialisation of its own ------------------

# In the settings of every such part: a hash of this file's code when the first of them were run.
# It stays, so that their records are still of these settings; a change of what is drawn changes the
# behaviour marks of "own initialisation".
OWN_START = "1539f07f243e"


# What a part is about -----------------------------------------------------------------------------

# Of another data set, to see whether entropy tells them from the row's own.
OTHER_IMAGES = 2000


@dataclass(frozen=True, eq=False)
class NetProblem:
    """Data, network and net of one part."""

    shares: Shares
    network: Network | PeriodicNetwork | None
    architecture: Architecture
    test: Test
    facts: Mapping[str, Any]
    classes: tuple[str, ...]


def net_problem(
    row: Row, part: Part, *, is_quick: bool, device: str, data: Path | None, seed: int
) -> NetProblem:
    """Data dealt, network and net of a part.

    Raises
    ------
    ValueError
        If images are missing, or the row's network has not as many agents as hold data.
    """
    train, test = images_of(row.dataset, data, is_quick)
    others = others_of(row.dataset, data)
    return problem_of_images(row, part, train, test, others=others, device=device, seed=seed)


def problem_of_images(
    row: Row,
    part: Part,
    train: Images,
    test: Images,
    *,
    others: Images | None,
    device: str,
    seed: int,
) -> NetProblem:
    """The same of these images; `others` are of another kind, None if there are none.

    Raises
    ------
    ValueError
        If the row's network has not as many agents as hold data.
    """
    from empirical.dealing import DEALINGS, held_labels
    from empirical.nets.architecture import perceptron
    from empirical.nets.shares import Shares, as_inputs
    from empirical.train.curve import Test

    variant = row.variant(part.variant)
    partition = DEALINGS[variant.dealing].deal(train.labels, seed=seed)
    network = None if "server" in variant.network else network_of(variant.network)
    if network is not None and network.agents != partition.agents:
        raise fail(
            f"{row.name}: network", f"{partition.agents} agents, as many as hold data",
            network.agents, "change the row",
        )  # fmt: skip
    own = held_labels(partition, train.labels)
    facts: dict[str, Any] = {
        "agents": partition.agents,
        "sizes": list(partition.sizes),
        "labels": [list(labels) for labels in own],
        "informative": partition.informative,
        "influence": None if network is None else influence_of(network),
    }
    shape = (train.pixels.shape[1] * train.pixels.shape[2],)
    shares = Shares.from_images(train, partition, input_shape=shape, device=device)
    if part.role == "central":
        shares = shares.together()
    everything = tuple(sorted(set().union(*own)))
    if part.role in ("central", "fedavg") or network is None:
        own = (everything,)
    unseen = tuple(label for label in range(len(train.classes)) if label not in everything)
    strange = None
    if others is not None:
        strange = as_inputs(others, input_shape=shape, device=device)
    inputs = as_inputs(test, input_shape=shape, device=device)
    seen = Test(inputs, test.labels, own, unseen, strange)
    net = perceptron(*shape, *row.hidden, outputs=len(train.classes))
    return NetProblem(shares, network, net, seen, facts, train.classes)


def network_of(table: Table) -> Network | PeriodicNetwork:
    """The network of a row's table.

    Examples
    --------
    >>> network_of({"topology": "star", "agents": 9, "edge_confidence": 0.5}).agents
    9
    """
    from theory.changing.mixing import rotating_star
    from theory.network import Network

    if "rotating_star" in table:
        return rotating_star(**table["rotating_star"])
    if "weights" in table:
        return Network(np.array(table["weights"], dtype=float))
    return Network.from_topology(**table)


@cache
def weights_mark(row: str, variant: str) -> str | None:
    """The SHA-256 of a row's weights, phase by phase, and of who takes part; None for a server."""
    from theory.changing.mixing import PeriodicNetwork
    from theory.changing.phase import Phase

    table = ROWS[row].variant(variant).network
    if "server" in table:
        return None
    network = network_of(table)
    digest = hashlib.sha256()
    phases = network.phases if isinstance(network, PeriodicNetwork) else (network,)
    for phase in phases:
        weights = phase.weights
        dense = weights if isinstance(weights, np.ndarray) else weights.toarray()
        digest.update(np.ascontiguousarray(dense, dtype="<f8").tobytes())
        if isinstance(phase, Phase):
            digest.update(np.asarray(phase.active, dtype="<i8").tobytes())
    return digest.hexdigest()


def influence_of(network: Network | PeriodicNetwork) -> list[float]:
    """Each agent's share v of what the network learns."""
    from theory.changing import influence
    from theory.network import Network

    if isinstance(network, Network):
        return [float(share) for share in network.stationary_distribution]
    return [float(share) for share in influence(network).values]


def part_run(
    problem: NetProblem,
    part: Part,
    values: Mapping[str, Any],
    *,
    seed: int,
    device: str,
    codec: Codec | None = None,
) -> tuple[Followed, int, dict[str, Any]]:
    """Who learns, for how many rounds, and by which numbers in full.

    `codec` writes what agents of a network send each other; None: beliefs are sent as they are.
    """
    from empirical.nets.architecture import initialisations_apart
    from empirical.train.follow import Apart
    from empirical.train.recipe import Recipe
    from theory.network import Network

    how: dict[str, Any] = {"architecture": problem.architecture, "seed": seed, "device": device}
    if "server" in values:
        plan = server_recipe(values)
        return plan.training(problem.shares, **how), plan.rounds, plan.as_json()
    recipe = Recipe(**{name: value for name, value in values.items() if name != "rounds_run"})
    rounds = int(values["rounds_run"])
    if part.role in ("alone", "central"):
        # Alone, each has the batches that it has in the network.
        batches = enumerate(recipe.batch_sizes(problem.shares.sizes))
        plans = ((k, replace(recipe, batch=batch, batches="equal")) for k, batch in batches)
        one = Network(np.ones((1, 1)))
        runs = [plan.training(problem.shares.of([k]), one, **how) for k, plan in plans]
        return Apart(runs), rounds, recipe.as_json()
    network = problem.network
    assert network is not None
    if part.role == "own initialisation":
        how["start"] = initialisations_apart(problem.architecture, network.agents, seed=seed)
    run = recipe.training(problem.shares, network, codec=codec, **how)
    return run, rounds, recipe.as_json()


def server_recipe(values: Mapping[str, Any]) -> Any:
    """The recipe of federated averaging of this name, with what is said otherwise.

    Raises
    ------
    ValueError
        If there is no recipe of that name.
    """
    from empirical.papers import built, tables
    from empirical.train.recipe import FedAvgRecipe

    name, recipes = values["server"], tables("rows")["federated"]
    if name not in recipes:
        known = ", ".join(recipes)
        raise fail("recipe of federated averaging", known, repr(name), "choose one of them")
    changed = {k: v for k, v in values.items() if k not in ("server", "rounds_run")}
    return built(FedAvgRecipe, {**recipes[name], **changed})


def others_of(dataset: str, data: Path | None) -> Images | None:
    """Some of the test images of the other data set, if they are there."""
    from empirical.data import CHECKSUMS, DataNotFound

    other = next(name for name in CHECKSUMS if name != dataset)
    try:
        _, test = images_of(other, data, False)
    except (DataNotFound, ValueError):  # an explicit folder may hold one data set only
        return None
    return test.at(np.arange(min(OTHER_IMAGES, len(test))))


@cache
def images_of(dataset: str, data: Path | None, is_quick: bool) -> tuple[Images, Images]:
    """Training and test images; a sample to learn from for a quick run."""
    from empirical.data import load_images
    from empirical.dealing import stratified_subset

    train, test = (load_images(dataset, split=split, directory=data) for split in ("train", "test"))
    if is_quick:
        train = train.at(stratified_subset(train.labels, QUICK_IMAGES, seed=0))
    return train, test


# One part, run ------------------------------------------------------------------------------------


# σ of a net that is a point, in the file of beliefs.
POINT_STD = 1e-12


def run_net_part(
    row: Row, part: Part, job: Job, *, is_quick: bool, codec: str = "", setting: Setting
) -> NetPart:
    """Train and measure; `codec` names what writes the messages, if anything does.

    Raises
    ------
    ValueError
        If something is missing, or training fails; the message names agent and round.
    """
    from empirical.data import CHECKSUMS
    from empirical.messages.codecs import codec_named
    from empirical.train.curve import Schedule, curve_of

    problem = net_problem(
        row, part, is_quick=is_quick, device=setting.device, data=setting.data, seed=job.seed
    )
    run, rounds, recipe = part_run(
        problem, part, part_values(row, part, is_quick=is_quick),
        seed=job.seed, device=setting.device, codec=codec_named(codec) if codec else None,
    )  # fmt: skip
    curve = curve_of(
        run, problem.test, rounds=rounds,
        schedule=Schedule(**schedule_values(row, is_quick=is_quick)), seed=job.seed,
        generations=unfinished(part, setting, job.fingerprint), resume=setting.resume,
        progress=job.progress, say=sayer(job.progress),
    )  # fmt: skip
    measured = range(len(problem.test.own_labels))
    words = {"experiment": row.name, "part": part.name, "fingerprint": job.fingerprint}
    return NetPart(
        recipe=part.recipe,
        role=part.role,
        variant=part.variant,
        seed=part.seed,
        settings={**recipe, "rounds_run": rounds},
        network=Facts.model_validate(problem.facts),
        classes=list(problem.classes),
        data=dict(CHECKSUMS[row.dataset]),
        curve=Curve.model_validate(curve),
        posterior=_kept_beliefs(run.belief().of(measured), part, setting.folder, words),
        codec=codec_settings(codec) if codec else None,
    )


def _kept_beliefs(
    belief: Belief, part: Part, folder: Path | None, words: dict[str, str]
) -> KeptFile | None:
    """The file that the beliefs are kept in; None where there is no folder for them."""
    if folder is None:
        return None
    from empirical.keeping import save_tensors

    path = folder / f"{_file(part)}.safetensors"
    variance = belief.variance
    if variance is None:
        variance = belief.mean.new_full(belief.mean.shape, POINT_STD**2)
    kept = {"mean": belief.mean, "variance": variance}
    return KeptFile(file=path.name, sha256=save_tensors(path, kept, words))
