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
from typing import TypeAlias

from empirical.gae.recipe import Recipe
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
    Run,
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
from peerbayes.experiments.setting import Setting
from peerbayes.experiments.tuned import TunedExperiment, tuned_name
from peerbayes.experiments.tuned_search import COURSES, TunedPart, search_of, tuned_parts
from peerbayes.messages import guessed
from theory.changing import PeriodicNetwork
from theory.validation import fail

# Which parts a campaign runs, most telling first, and what each is expected to take --------------


# Rows in the order of what they tell for the time they take.
_ORDER = (
    "fmnist-2-balanced-a", "fmnist-2-balanced-b", "fmnist-2-unbalanced", "fmnist-2-iid",
    "fmnist-central", "fedavg-iid", "fedavg-shards", "star-mnist-1", "star-fmnist-2",
    "timevarying-25", "star-fmnist-1", "star-mnist-2", "timevarying-100", "grid-mnist",
    "star-mnist-3",
)  # fmt: skip
_THREE_SEEDS = (
    "fmnist-2-balanced-a", "fmnist-2-balanced-b", "fmnist-2-unbalanced", "fmnist-2-iid",
    "star-mnist-1",
)  # fmt: skip
_ROW_SEEDS = 3
# Seconds a step and weight, measured on one core of 2025: of beliefs, and of plain nets.
_SECONDS_A_STEP = {"beliefs": 1.2e-8, "nets": 1e-9}
# Test images and draws of all looks together take about as long as this many steps.
_LOOKING = 20_000


@dataclass(frozen=True)
class NetTask:
    """One part of one row."""

    row: str
    part: Part

    @property
    def record(self) -> str:
        """The experiment whose records it goes to."""
        return self.row

    @property
    def name(self) -> str:
        """Such as ``star-mnist-1: paper a=0.5 seed 0``."""
        return f"{self.row}: {self.part.name}"

    @property
    def kind(self) -> str:
        """``"nets"`` for federated averaging, ``"beliefs"`` for all else."""
        return "nets" if is_served(ROWS[self.row], self.part) else "beliefs"

    @property
    def seconds(self) -> float:
        """How long it is expected to take on one core; an estimate to a factor of two."""
        return self.steps * self.weights * _SECONDS_A_STEP[self.kind]

    @property
    def weights(self) -> int:
        """Weights of one net."""
        widths = (784, *ROWS[self.row].hidden, 10)
        return sum((a + 1) * b for a, b in pairwise(widths))

    @property
    def steps(self) -> int:
        """Local steps of all agents together, and what looking takes, in such steps."""
        row = ROWS[self.row]
        values = part_values(row, self.part, is_quick=False)
        if is_served(row, self.part):
            plan = server_recipe(values)
            agents = 9 if self.part.role == "fedavg" else 100
            of_epochs = plan.epochs * 60_000 // agents // plan.batch
            local = plan.local_steps or of_epochs
            return int(plan.rounds * plan.clients(agents) * local) + _LOOKING
        agents = 1 if self.part.role == "central" else active(row, self.part)
        return int(values["rounds"] * values["local_steps"] * agents) + _LOOKING

    @property
    def dataset(self) -> str:
        """Whose images it learns from."""
        return ROWS[self.row].dataset

    @property
    def needs(self) -> str | None:
        """The task that must be done before: none."""
        return None

    def experiment(self, setting: Setting) -> NetExperiment:
        """The row, ready to run this part."""
        return NetExperiment(ROWS[self.row], seeds=self.part.seed + 1, setting=setting)

    @property
    def agents(self) -> int:
        """How many beliefs are kept."""
        table = ROWS[self.row].variant(self.part.variant).network
        if is_served(ROWS[self.row], self.part) or self.part.role == "central":
            return 1
        return network_of(table).agents


Task: TypeAlias = NetTask | TunedTask | GaeTask
"""One part of a campaign."""


def planned() -> tuple[Task, ...]:
    """All parts of a campaign, in the order in which they are run.

    Examples
    --------
    >>> [task.name for task in planned()][:2]
    ['fmnist-2-balanced-a: paper seed 0', 'fmnist-2-balanced-b: paper seed 0']
    """
    rows = [ROWS[name] for name in _ORDER]
    all_parts = {row.name: parts_of(row, seeds=_ROW_SEEDS, is_quick=False) for row in rows}

    def chosen(row: Row, recipe: str, *, main: bool, seeds: tuple[int, ...]) -> list[Task]:
        return [
            NetTask(row.name, part)
            for part in all_parts[row.name]
            if part.recipe == recipe
            and part.seed in seeds
            and main == (part.role != "cooperating" or part.variant == row.main)
        ]

    tasks: list[Task] = []
    for row in rows:
        tasks += chosen(row, "paper", main=True, seeds=(0,))
    for row in rows:
        if row.name in _THREE_SEEDS:
            tasks += chosen(row, "paper", main=True, seeds=(1, 2))
    for row in rows:
        tasks += [NetTask(row.name, part) for part in parts_aside(row, seeds=1)]
    for row in rows:
        more = [part for part in parts_aside(row, seeds=_ROW_SEEDS) if part.seed > 0]
        tasks += [NetTask(row.name, part) for part in more if part.role in (*BATCHES, *BESIDE)]
    for recipe in ("paper", "best", "once"):
        if recipe != "paper":
            for row in rows:
                tasks += chosen(row, recipe, main=True, seeds=(0,))
        for row in rows:
            tasks += chosen(row, recipe, main=False, seeds=(0,))
        if recipe == "paper":
            tasks += tuned_tasks()
    return (*tasks, *gae_tasks())


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


# The parts of `tuned` in a campaign --------------------------------------------------------------


_SEEDS = 3
# Seconds a step, weight and method on one core of 2025, batches of 50; and of judging, an agent.
_SECONDS_A_WEIGHT = {
    "sites": 1.2e-8, "natural-gradient": 1.2e-8, "backprop": 1.2e-8, "averaging": 6e-9,
    "backprop-sampled": 1.2e-8, "averaging-adam": 8e-9, "ensemble": 6e-9, "central": 6e-9,
    "fedavg": 6e-9,
}  # fmt: skip
_JUDGING = 1.0


@dataclass(frozen=True)
class TunedTask:
    """One part of a row's comparison."""

    row: str
    part: TunedPart

    @property
    def record(self) -> str:
        """The experiment whose records it goes to."""
        return tuned_name(self.row)

    @property
    def name(self) -> str:
        """Such as ``star-mnist-1-tuned: 50-steps-sites-seed-0``."""
        return f"{self.record}: {self.part.name}"

    @property
    def kind(self) -> str:
        """What takes as long in proportion to its steps: the method."""
        return f"tuned {self.part.method}"

    @property
    def needs(self) -> str | None:
        """The part that must be done before: the last of the trials that it builds upon."""
        search = search_of(is_quick=False)
        last = search.trials if self.part.purpose == "seed" else self.part.number - 1
        if self.part.purpose == "search" and last < 1:
            return None
        before = TunedPart(self.part.course, self.part.method, "search", last)
        return f"{self.record}: {before.name}"

    @property
    def seconds(self) -> float:
        """How long it is expected to take on one core; an estimate to a factor of two."""
        training = self.steps * self.weights * _SECONDS_A_WEIGHT[self.part.method]
        return training + _JUDGING * self.agents

    @property
    def weights(self) -> int:
        """Weights of one net."""
        widths = (784, *ROWS[self.row].hidden, 10)
        return sum((a + 1) * b for a, b in pairwise(widths))

    @property
    def steps(self) -> int:
        """Local steps of all agents together; a central one's count as theirs."""
        _, active = _agents_of(self.row)
        return round(self.part.rounds * self.part.course.local_steps * active)

    @property
    def dataset(self) -> str:
        """Whose images it learns from."""
        return ROWS[self.row].dataset

    @property
    def agents(self) -> int:
        """How many agents learn."""
        return _agents_of(self.row)[0]

    def experiment(self, setting: Setting) -> TunedExperiment:
        """The comparison, ready to run this part."""
        return TunedExperiment(ROWS[self.row], seeds=self.part.seed + 1, setting=setting)


@cache
def _agents_of(row: str) -> tuple[int, float]:
    """How many agents a row's network has, and how many train in a round, the mean."""
    network = network_of(ROWS[row].variant(ROWS[row].main).network)
    if isinstance(network, PeriodicNetwork):
        training = [int(phase.observes.sum()) for phase in network.phases]
        return network.agents, sum(training) / len(training)
    return network.agents, float(network.agents)


def tuned_tasks() -> Iterator[TunedTask]:
    """The first course of every row, row by row; then the second course of those that have one."""
    for place in range(max(map(len, COURSES.values()))):
        for name, courses in COURSES.items():
            parts = tuned_parts(ROWS[name], seeds=_SEEDS, is_quick=False)
            some = courses[place : place + 1]
            yield from (TunedTask(name, part) for part in parts if part.course in some)


# The parts of `gae` in a campaign ----------------------------------------------------------------


_IMAGES, _UNBALANCED, _TESTED = 60_000, 43_360, 10_000
# Seconds of an image that is learnt from and of one that is tested, measured on one core of 2025;
# of a node's message; and of the autoencoder, a curve it learns from.
_LEARNT, _SEEN, _SENT, _CURVE = 2.6e-4, 1.2e-4, 0.05, 6e-3
_FITS = 2
# Snapshots of an autoencoder, and epochs of its training.
_TRAINED = {"": (5500, 25), FEW: (550, 250)}
_AUTOENCODER_WEIGHTS, _NET_WEIGHTS = 12_744_718, 613_514


@dataclass(frozen=True)
class GaeTask:
    """One part of `gae`."""

    part: GaePart
    row: str = "gae"
    kind: str = "gae"
    dataset: str = "mnist"

    @property
    def record(self) -> str:
        """The experiment whose records it goes to."""
        return self.row

    @property
    def name(self) -> str:
        """Such as ``gae: GAE balanced 4 seed 0``."""
        return f"{self.row}: {self.part.name}"

    @property
    def needs(self) -> str | None:
        """The task that must be done before: that of the autoencoder, where it is used."""
        uses = self.part.run is not None and self.part.run.needs_autoencoder
        return f"{self.row}: {self.part.autoencoder.name}" if uses else None

    @property
    def seconds(self) -> float:
        """How long it is expected to take on one core; an estimate to a factor of two."""
        if self.part.run is None:
            curves, epochs = _TRAINED[self.part.snapshots]
            return curves * (_IMAGES * _LEARNT + _FITS * epochs * _CURVE)
        recipe = self.part.run.recipe
        messages = 0 if recipe.exchange == "none" else recipe.nodes * recipe.exchanges
        images = TRIAL_TEST if self.part.run.is_trial else _TESTED
        tested = len(looks(recipe.rounds)) * recipe.nodes * images * _SEEN
        return recipe.rounds * self._images * _LEARNT + messages * _SENT + tested

    @property
    def steps(self) -> int:
        """Steps of all nodes together."""
        recipe = Recipe() if self.part.run is None else self.part.run.recipe
        if self.part.run is None:
            return _TRAINED[self.part.snapshots][0] * 10
        return recipe.rounds * recipe.nodes * recipe.steps(self._images // recipe.nodes)

    @property
    def weights(self) -> int:
        """Weights of one net."""
        return _AUTOENCODER_WEIGHTS if self.part.run is None else _NET_WEIGHTS

    @property
    def agents(self) -> int:
        """How many nets are kept."""
        return 1 if self.part.run is None else self.part.run.recipe.nodes

    def experiment(self, setting: Setting) -> GaeExperiment:
        """The experiment, ready to run this part."""
        return GaeExperiment(seeds=max(GAE.seeds, self.part.seed + 1), setting=setting)

    @property
    def _images(self) -> int:
        run = self.part.run
        if run is None or run.recipe.split != "unbalanced":
            return _IMAGES
        return _UNBALANCED * TRIAL_IMAGES // _IMAGES if run.is_trial else _UNBALANCED


def gae_tasks() -> Iterator[GaeTask]:
    """The nine runs of Table 1 with the first seed, the other seeds, then controls and trials.

    Autoencoders come before the first runs that need them, and behind all of the first seed that
    need none, the one of few snapshots first: it takes three hours, the other a day.
    """
    yield from (GaeTask(GaePart(run)) for run in TABLE_1 if not run.needs_autoencoder)
    for trained in reversed(AUTOENCODERS):
        yield GaeTask(trained)
        yield from (GaeTask(GaePart(run)) for run in RUNS if _is_plain(run, trained))
    for seed in range(1, GAE.seeds):
        yield from (GaeTask(GaePart(run, seed)) for run in TABLE_1)
    for seed in range(GAE.seeds):
        controls = [run for run in RUNS if run not in TABLE_1 and (seed or not run.snapshots)]
        yield from (GaeTask(GaePart(run, seed)) for run in (*controls, *TRIALS))


def _is_plain(run: Run, trained: GaePart) -> bool:
    """Whether it is a run of Table 1 by this autoencoder."""
    recipes = [one.recipe for one in TABLE_1]
    return run.needs_autoencoder and run.snapshots == trained.snapshots and run.recipe in recipes
