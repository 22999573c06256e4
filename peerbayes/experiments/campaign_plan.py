"""Which parts a campaign runs, most telling first, and what each is expected to take.

First the papers' own settings (`paper`): every row's main network with the first seed; two more
seeds of the two-node rows and of `star-mnist-1`; three rows without a shared initialisation, three
with a consensus after every batch, or every ten, and what is printed of nodes alone, of all data in
one place and of federated averaging; then every other network of a row. After
them the methods of `tuned`; and this program's own recipes, one seed, with what they are compared
with. The runs of `gae`, which are others' nets, come last.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from itertools import pairwise
from typing import Any

from peerbayes.experiments.gae import GAE, GaeExperiment
from peerbayes.experiments.gae_rows import (
    AUTOENCODERS,
    FEW,
    RUNS,
    TABLE_1,
    TRIAL_IMAGES,
    TRIAL_TEST,
    TRIALS,
    GaePart,
    looks,
)
from peerbayes.experiments.net_rows import (
    BATCHES,
    BESIDE,
    ROWS,
    Part,
    Row,
    active,
    is_served,
    part_values,
    parts_aside,
    parts_of,
)
from peerbayes.experiments.net_run import network_of, server_recipe
from peerbayes.experiments.nets import NetExperiment
from peerbayes.experiments.setting import Named, SeededExperiment
from peerbayes.experiments.tuned import TunedExperiment, tuned_name
from peerbayes.experiments.tuned_search import COURSES, METHODS, SEARCH, TunedPart, tuned_parts
from peerbayes.messages import guessed
from theory.changing import PeriodicNetwork
from theory.validation import fail


@dataclass(frozen=True, eq=False)
class Task:
    """One part of a campaign.

    Attributes
    ----------
    row
        The row of the papers.
    part, experiment
        The part, and the experiment whose records it goes to.
    kind
        What takes as long in proportion to what is expected.
    seconds
        How long it is expected to take on one core; an estimate to a factor of two.
    steps, weights
        Local steps of all agents together; weights of one net.
    agents
        How many beliefs or nets are kept.
    needs
        The name of the task that must be done before; None if there is none.
    """

    row: str
    part: Named
    experiment: SeededExperiment[Any]
    kind: str
    seconds: float
    steps: int
    weights: int
    agents: int
    needs: str | None = None

    @property
    def record(self) -> str:
        """The experiment whose records it goes to."""
        return self.experiment.name

    @property
    def name(self) -> str:
        """Such as ``star-mnist-1: paper a=0.5 seed 0``."""
        return f"{self.record}: {self.part.name}"

    @property
    def dataset(self) -> str:
        """Whose images it learns from."""
        return self.experiment.dataset


@cache
def _agents_of(row: str, variant: str) -> tuple[int, float]:
    """How many agents a row's network has, and how many train in a round, the mean."""
    network = network_of(ROWS[row].variant(variant).network)
    if isinstance(network, PeriodicNetwork):
        training = [int(phase.observes.sum()) for phase in network.phases]
        return network.agents, sum(training) / len(training)
    return network.agents, float(network.agents)


def _weights_of(row: Row) -> int:
    return sum((a + 1) * b for a, b in pairwise((784, *row.hidden, 10)))


# Rows of nets -------------------------------------------------------------------------------------

# Rows in the order of what they tell for the time they take.
_ORDER = (
    "fmnist-2-balanced-a", "fmnist-2-balanced-b", "fmnist-2-unbalanced", "fmnist-2-iid",
    "fmnist-central", "fedavg-iid", "fedavg-shards", "star-mnist-1", "star-fmnist-2",
    "timevarying-25", "star-fmnist-1", "star-mnist-2", "timevarying-100", "grid-mnist",
    "star-mnist-3",
)  # fmt: skip
_THREE_SEEDS = (*_ORDER[:4], "star-mnist-1")
_SEEDS = 3
# Seconds a step and weight, measured on one core of 2025: of beliefs, and of plain nets.
_SECONDS_A_WEIGHT = {"beliefs": 1.2e-8, "nets": 1e-9}
# Test images and draws of all looks together take about as long as this many steps.
_LOOKING = 20_000


def net_task(row: Row, part: Part) -> Task:
    """One part of a row: federated averaging is of plain nets, all else of beliefs."""
    values = part_values(row, part, is_quick=False)
    served = is_served(row, part)
    if served:
        plan = server_recipe(values)
        agents = 9 if part.role == "fedavg" else 100
        local = plan.local_steps or plan.epochs * 60_000 // agents // plan.batch
        steps = int(plan.rounds * plan.server(agents).clients * local) + _LOOKING
    else:
        agents = 1 if part.role == "central" else active(row, part)
        steps = int(values["rounds"] * values["local_steps"] * agents) + _LOOKING
    kind, weights = "nets" if served else "beliefs", _weights_of(row)
    return Task(
        row.name,
        part,
        NetExperiment(row, seeds=part.seed + 1),
        kind,
        seconds=steps * weights * _SECONDS_A_WEIGHT[kind],
        steps=steps,
        weights=weights,
        agents=1 if served or part.role == "central" else _agents_of(row.name, part.variant)[0],
    )


# Methods tuned alike ------------------------------------------------------------------------------

# Seconds of judging, an agent.
_JUDGING = 1.0


def tuned_task(row: Row, part: TunedPart) -> Task:
    """One part of a row's comparison; before it comes the last trial that it builds upon."""
    agents, training = _agents_of(row.name, row.main)
    last = SEARCH.trials if part.purpose == "seed" else part.number - 1
    before = TunedPart(part.course, part.method, "search", last)
    steps, weights = round(part.rounds * part.course.local_steps * training), _weights_of(row)
    return Task(
        row.name,
        part,
        TunedExperiment(row, seeds=part.seed + 1),
        f"tuned {part.method}",
        seconds=steps * weights * METHODS[part.method].seconds + _JUDGING * agents,
        steps=steps,
        weights=weights,
        agents=agents,
        needs=f"{tuned_name(row.name)}: {before.name}" if last else None,
    )


def _tuned_tasks() -> Iterator[Task]:
    """The first course of every row, row by row; then the second course of those that have one."""
    for place in range(max(map(len, COURSES.values()))):
        for name, courses in COURSES.items():
            parts = tuned_parts(ROWS[name], seeds=_SEEDS, is_quick=False)
            some = courses[place : place + 1]
            yield from (tuned_task(ROWS[name], part) for part in parts if part.course in some)


# Compressed gossip --------------------------------------------------------------------------------

_IMAGES, _UNBALANCED, _TESTED = 60_000, 43_360, 10_000
# Seconds of an image that is learnt from and of one that is tested, measured on one core of 2025;
# of a node's message; and of the autoencoder, a curve it learns from.
_LEARNT, _SEEN, _SENT, _CURVE = 2.6e-4, 1.2e-4, 0.05, 6e-3
_FITS = 2
# Snapshots of an autoencoder, and epochs of its training.
_TRAINED = {"": (5500, 25), FEW: (550, 250)}
_AUTOENCODER_WEIGHTS, _NET_WEIGHTS = 12_744_718, 613_514


def gae_task(part: GaePart) -> Task:
    """One part of `gae`; before it comes the training of the autoencoder, where it is used."""
    experiment = GaeExperiment(seeds=max(GAE.seeds, part.seed + 1))
    run = part.run
    if run is None:
        curves, epochs = _TRAINED[part.snapshots]
        seconds = curves * (_IMAGES * _LEARNT + _FITS * epochs * _CURVE)
        steps, weights = curves * 10, _AUTOENCODER_WEIGHTS
        return Task("gae", part, experiment, "gae", seconds, steps, weights, agents=1)
    recipe = run.recipe
    learnt, tested = (_UNBALANCED if recipe.split == "unbalanced" else _IMAGES), _TESTED
    if run.is_trial:
        learnt, tested = learnt * TRIAL_IMAGES // _IMAGES, TRIAL_TEST
    messages = 0 if recipe.exchange == "none" else recipe.nodes * recipe.exchanges
    seen = len(looks(recipe.rounds)) * recipe.nodes * tested
    return Task(
        "gae",
        part,
        experiment,
        "gae",
        seconds=recipe.rounds * learnt * _LEARNT + messages * _SENT + seen * _SEEN,
        steps=recipe.rounds * recipe.nodes * recipe.steps(learnt // recipe.nodes),
        weights=_NET_WEIGHTS,
        agents=recipe.nodes,
        needs=f"gae: {part.autoencoder.name}" if run.needs_autoencoder else None,
    )


def _gae_tasks() -> Iterator[Task]:
    """The nine runs of Table 1 with the first seed, the other seeds, then controls and trials.

    Autoencoders come before the first runs that need them, and behind all of the first seed that
    need none, the one of few snapshots first: it takes three hours, the other a day.
    """
    table = [run.recipe for run in TABLE_1]
    parts = [GaePart(run) for run in TABLE_1 if not run.needs_autoencoder]
    for trained in reversed(AUTOENCODERS):
        plain = [run for run in RUNS if run.needs_autoencoder and run.recipe in table]
        own = [run for run in plain if run.snapshots == trained.snapshots]
        parts += [trained, *(GaePart(run) for run in own)]
    parts += [GaePart(run, seed) for seed in range(1, GAE.seeds) for run in TABLE_1]
    for seed in range(GAE.seeds):
        controls = [run for run in RUNS if run not in TABLE_1 and (seed or not run.snapshots)]
        parts += [GaePart(run, seed) for run in (*controls, *TRIALS)]
    return map(gae_task, parts)


# The plan -----------------------------------------------------------------------------------------


def planned() -> tuple[Task, ...]:
    """All parts of a campaign, in the order in which they are run.

    Examples
    --------
    >>> [task.name for task in planned()][:2]
    ['fmnist-2-balanced-a: paper seed 0', 'fmnist-2-balanced-b: paper seed 0']
    """
    rows = [ROWS[name] for name in _ORDER]
    all_parts = {row.name: parts_of(row, seeds=_SEEDS, is_quick=False) for row in rows}
    aside = {row.name: parts_aside(row, seeds=_SEEDS) for row in rows}

    def chosen(row: Row, recipe: str, *, main: bool, seeds: tuple[int, ...] = (0,)) -> list[Task]:
        return [
            net_task(row, part)
            for part in all_parts[row.name]
            if part.recipe == recipe
            and part.seed in seeds
            and main == (part.role != "cooperating" or part.variant == row.main)
        ]

    tasks: list[Task] = []
    for row in rows:
        tasks += chosen(row, "paper", main=True)
    for row in rows:
        if row.name in _THREE_SEEDS:
            tasks += chosen(row, "paper", main=True, seeds=(1, 2))
    for row in rows:
        tasks += [net_task(row, part) for part in aside[row.name] if part.seed == 0]
    for row in rows:
        more = [part for part in aside[row.name] if part.seed > 0]
        tasks += [net_task(row, part) for part in more if part.role in (*BATCHES, *BESIDE)]
    for row in rows:
        tasks += chosen(row, "paper", main=False)
    tasks += _tuned_tasks()
    for recipe in ("best", "once"):
        for main in (True, False):
            for row in rows:
                tasks += chosen(row, recipe, main=main)
    return (*tasks, *_gae_tasks())


def selected(pattern: str | None) -> tuple[Task, ...]:
    """The planned parts whose names fit a pattern, such as ``star-*: paper*``, or contain it.

    Raises
    ------
    ValueError
        If there is none; in one line.
    """
    tasks = planned()
    if pattern is None:
        return tasks
    found = tuple(t for t in tasks if pattern in t.name or fnmatchcase(t.name, pattern))
    if not found:
        names = [task.name for task in tasks]
        remedy = guessed(pattern, names, otherwise="see 'peerbayes campaign --status'")
        wanted = "words or a pattern of a part's name, such as 'star-*: paper*'"
        raise fail("--only", wanted, repr(pattern[:60]), remedy)
    return found
