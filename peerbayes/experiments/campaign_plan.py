"""Which parts a campaign runs, most telling first, and what each is expected to take.

First the papers' own settings (`paper`): every row's main network with the first seed; two more
seeds of the two-node rows and of `star-mnist-1`; three rows without a shared initialisation, three
with a consensus after every batch, or every ten, and what is printed of nodes alone, of all data in
one place and of federated averaging; then every other network of a row. After
them the methods of `tuned`; and this program's own recipes, one seed, with what they are compared
with. The runs of `gae`, which are others' nets, come last.
"""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase
from itertools import pairwise
from typing import TypeAlias

from peerbayes.experiments.gae_plan import GaeTask, gae_tasks
from peerbayes.experiments.net_parts import (
    BATCHES,
    BESIDE,
    Part,
    active,
    is_served,
    part_values,
    parts_aside,
    parts_of,
)
from peerbayes.experiments.net_problem import network_of, server_recipe
from peerbayes.experiments.net_rows import ROWS, Row
from peerbayes.experiments.nets import NetExperiment
from peerbayes.experiments.setting import Setting
from peerbayes.experiments.tuned_tasks import TunedTask, tuned_tasks
from peerbayes.messages import guessed
from theory.validation import fail

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
_SEEDS = 3
# Seconds a step and weight, measured on one core of 2025: of beliefs, and of plain nets.
_SECONDS_A_WEIGHT = {"beliefs": 1.2e-8, "nets": 1e-9}
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
        return self.steps * self.weights * _SECONDS_A_WEIGHT[self.kind]

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
    all_parts = {row.name: parts_of(row, seeds=_SEEDS, is_quick=False) for row in rows}

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
        more = [part for part in parts_aside(row, seeds=_SEEDS) if part.seed > 0]
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
