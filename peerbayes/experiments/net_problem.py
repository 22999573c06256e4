"""What one part of an experiment with neural nets is about: data dealt, network, net, learner.

Everything here decides numbers, which behaviour marks watch
(:mod:`peerbayes.experiments.behaviour`). What needs torch is imported when a part is run.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from peerbayes.experiments.net_rows import QUICK_IMAGES, Part, Row, Table
from peerbayes.experiments.own_start import begin_apart
from theory.changing.mixing import PeriodicNetwork
from theory.changing.phase import Phase
from theory.network import Network
from theory.validation import fail

if TYPE_CHECKING:
    from empirical.data import Images
    from empirical.messages.codec import Codec
    from empirical.nets.architecture import Architecture
    from empirical.nets.consensus import RoundPooling
    from empirical.nets.curve import Test
    from empirical.nets.descent import Shares
    from empirical.nets.learners import Learner

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
    train, test = _images(row.dataset, data, is_quick)
    others = _others(row.dataset, data)
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
    from empirical.nets.curve import Test
    from empirical.nets.descent import Shares, as_inputs

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
    strange = None
    if others is not None:
        strange = as_inputs(others, input_shape=shape, device=device)[:OTHER_IMAGES]
    everything = tuple(sorted(set().union(*own)))
    if part.role in ("central", "fedavg") or network is None:
        own = (everything,)
    unseen = tuple(label for label in range(len(train.classes)) if label not in everything)
    return NetProblem(
        shares,
        network,
        perceptron(*shape, *row.hidden, outputs=len(train.classes)),
        Test(
            as_inputs(test, input_shape=shape, device=device),
            test.labels,
            own,
            unseen,
            strange,
        ),
        facts,
        train.classes,
    )


def network_of(table: Table) -> Network | PeriodicNetwork:
    """The network of a row's table.

    Examples
    --------
    >>> network_of({"topology": "star", "agents": 9, "edge_confidence": 0.5}).agents
    9
    """
    from theory.changing.mixing import rotating_star

    if "rotating_star" in table:
        return rotating_star(**table["rotating_star"])
    if "weights" in table:
        return Network(np.array(table["weights"], dtype=float))
    return Network.from_topology(**table)


def weights_mark(table: Table) -> str | None:
    """The SHA-256 of a row's weights, phase by phase, and of who takes part; None for a server."""
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

    if isinstance(network, Network):
        return [float(share) for share in network.stationary_distribution]
    return [float(share) for share in influence(network).values]


def part_learner(
    problem: NetProblem,
    part: Part,
    values: Mapping[str, Any],
    *,
    seed: int,
    device: str,
    codec: Codec | None = None,
) -> tuple[Learner, int, dict[str, Any]]:
    """Who learns, for how many rounds, and by which numbers in full.

    `codec` writes what agents of a network send each other; None: beliefs are sent as they are.
    """
    from empirical.nets.learners import Alone, Server, Together
    from empirical.nets.recipe import Recipe
    from empirical.nets.training import Training
    from empirical.train.coded_pooling import CodedConsensus, layout_of_beliefs

    if "server" in values:
        from empirical.nets.fedavg import FedAvg

        plan = server_recipe(values)
        run = FedAvg(problem.shares, plan, architecture=problem.architecture, seed=seed)
        return Server(run), plan.rounds, plan.as_json()
    recipe = Recipe(**{name: value for name, value in values.items() if name != "rounds_run"})
    alone = Network(np.ones((1, 1)))

    def training(
        shares: Shares,
        network: Network | PeriodicNetwork,
        plan: Recipe = recipe,
        consensus: RoundPooling | None = None,
    ) -> Training:
        return Training(
            shares,
            network,
            plan,
            architecture=problem.architecture,
            seed=seed,
            consensus=consensus,
            device=device,
        )

    learner: Learner
    if part.role in ("alone", "central"):
        agents = range(problem.shares.agents)
        # Alone, each has the batches that it has in the network.
        batches = recipe.batch_sizes(problem.shares.sizes)
        plans = [replace(recipe, batch=batch, batches="equal") for batch in batches]
        learner = Alone([training(problem.shares.of([k]), alone, plans[k]) for k in agents])
    else:
        assert problem.network is not None
        coded = None
        if codec is not None:
            layout = layout_of_beliefs(problem.architecture, recipe, seed=seed)
            coded = CodedConsensus(problem.network, codec, layout, seed=seed, pace=recipe.rate)
        learner = Together(training(problem.shares, problem.network, consensus=coded))
    if part.role == "own initialisation":
        begin_apart(learner.posterior, seed=seed)
    return learner, int(values["rounds_run"]), recipe.as_json()


def server_recipe(values: Mapping[str, Any]) -> Any:
    """The recipe of federated averaging of this name, with what is said otherwise.

    Raises
    ------
    ValueError
        If there is no recipe of that name.
    """
    from empirical.nets.recipe import FEDAVG_RECIPES

    name = values["server"]
    if name not in FEDAVG_RECIPES:
        known = ", ".join(FEDAVG_RECIPES) or "none"
        raise fail("recipe of federated averaging", known, repr(name), "choose one of them")
    changed = {k: v for k, v in values.items() if k not in ("server", "rounds_run")}
    return replace(FEDAVG_RECIPES[name], **changed)


def _others(dataset: str, data: Path | None) -> Images | None:
    """The test images of the other data set, if they are there."""
    from empirical.data import CHECKSUMS, DataNotFound

    other = next(name for name in CHECKSUMS if name != dataset)
    try:
        return _images(other, data, False)[1]
    except (DataNotFound, ValueError):  # an explicit folder may hold one data set only
        return None


@cache
def _images(dataset: str, data: Path | None, is_quick: bool) -> tuple[Images, Images]:
    """Training and test images; a sample of them for a quick run."""
    from empirical.data import Images, load_images
    from empirical.dealing import stratified_subset

    train = load_images(dataset, split="train", directory=data)
    test = load_images(dataset, split="test", directory=data)
    if is_quick:
        few = stratified_subset(train.labels, QUICK_IMAGES, seed=0)
        train = Images(train.pixels[few], train.labels[few], train.name, train.classes)
    return train, test
