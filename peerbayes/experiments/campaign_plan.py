"""Which parts a campaign runs, what each is expected to take, and which of them are done.

First the papers' own settings (`paper`): every row's main network with the first seed; two more
seeds of the two-node rows and of `star-mnist-1`; three rows without a shared initialisation, three
with a consensus after every batch, or every ten, and what is printed of nodes alone, of all data in
one place and of federated averaging; then every other network of a row. After
them the methods of `tuned`; and this program's own recipes, one seed, with what they are compared
with. The runs of `gae`, which are others' nets, come last.

Two folders hold a campaign, and what is done, runs, failed or is missing is read from them alone.
`records` has the short record of every part that is done; it is what is kept for good. `out` has
full records, unfinished states and notes of failures, all of one version with the same behaviour
marks; a file says of which.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from itertools import pairwise
from pathlib import Path
from shutil import disk_usage
from typing import Any, Literal, TypeAlias, get_args

from pydantic import Field

from peerbayes._version import __version__
from peerbayes.documents import Document
from peerbayes.experiments.experiment import Experiment
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
from peerbayes.experiments.net_run import server_recipe
from peerbayes.experiments.registry import NetExperiment
from peerbayes.experiments.setting import (
    Named,
    Setting,
    all_marks,
    is_held,
    lock_of,
    parts_folder,
    share_done,
)
from peerbayes.experiments.short_records import read_row
from peerbayes.experiments.tuned import TunedExperiment, tuned_name
from peerbayes.experiments.tuned_search import COURSES, METHODS, SEARCH, TunedPart, tuned_parts
from peerbayes.messages import guessed
from peerbayes.records import file_name, read_record, write_record
from theory.validation import fail


@dataclass(frozen=True, eq=False)
class Task:
    """One part of a campaign.

    Attributes
    ----------
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

    part: Named
    experiment: Experiment[Any]
    kind: str
    seconds: float
    steps: int
    weights: int
    agents: int
    needs: str | None = None

    @property
    def row(self) -> str:
        """The row of the papers, or the experiment."""
        return self.experiment.subject

    @property
    def record(self) -> str:
        """The experiment whose records it goes to."""
        return self.experiment.name

    @property
    def name(self) -> str:
        """Such as ``star-mnist-1: paper a=0.5 seed 0``."""
        return f"{self.record}: {self.part.name}"


# What parts cost: seconds a step and weight, measured on one core of 2025 -------------------------

# Rows in the order of what they tell for the time they take.
_ORDER = (
    "fmnist-2-balanced-a", "fmnist-2-balanced-b", "fmnist-2-unbalanced", "fmnist-2-iid",
    "fmnist-central", "fedavg-iid", "fedavg-shards", "star-mnist-1", "star-fmnist-2",
    "timevarying-25", "star-fmnist-1", "star-mnist-2", "timevarying-100", "grid-mnist",
    "star-mnist-3",
)  # fmt: skip
_THREE_SEEDS = (*_ORDER[:4], "star-mnist-1")
_SEEDS = 3
_SECONDS_A_WEIGHT = {"beliefs": 1.2e-8, "nets": 1e-9}
# Test images and draws of all looks together take about as long as this many steps.
_LOOKING = 20_000
# Seconds of judging, an agent, of `tuned`.
_JUDGING = 1.0


def _weights_of(row: Row) -> int:
    return sum((a + 1) * b for a, b in pairwise((784, *row.hidden, 10)))


def net_task(row: Row, part: Part) -> Task:
    """One part of a row: federated averaging is of plain nets, all else of beliefs."""
    values = part_values(row, part, is_quick=False)
    served, agents = is_served(row, part), 1
    if served:
        plan, clients = server_recipe(values), 9 if part.role == "fedavg" else 100
        local = plan.local_steps or plan.epochs * 60_000 // clients // plan.batch
        steps = int(plan.rounds * plan.server(clients).clients * local) + _LOOKING
    else:
        is_one = part.role == "central"
        training = 1 if is_one else active(row, part)
        steps = int(values["rounds"] * values["local_steps"] * training) + _LOOKING
        agents = 1 if is_one else active(row, replace(part, role="alone"))
    kind, weights = "nets" if served else "beliefs", _weights_of(row)
    seconds = steps * weights * _SECONDS_A_WEIGHT[kind]
    experiment = NetExperiment(row, seeds=part.seed + 1)
    return Task(part, experiment, kind, seconds, steps, weights, agents)


def tuned_task(row: Row, part: TunedPart) -> Task:
    """One part of a row's comparison; before it comes the last trial that it builds upon."""
    training, agents = (
        active(row, Part("best", role, row.main, 0)) for role in ("cooperating", "alone")
    )
    last = SEARCH.trials if part.purpose == "seed" else part.number - 1
    before = TunedPart(part.course, part.method, "search", last)
    steps, weights = part.rounds * part.course.local_steps * training, _weights_of(row)
    seconds = steps * weights * METHODS[part.method].seconds + _JUDGING * agents
    return Task(
        part, TunedExperiment(row, seeds=part.seed + 1), f"tuned {part.method}", seconds, steps,
        weights, agents, f"{tuned_name(row.name)}: {before.name}" if last else None,
    )  # fmt: skip


def _tuned_tasks() -> Iterator[Task]:
    """The first course of every row, row by row; then the second course of those that have one."""
    for place in range(max(map(len, COURSES.values()))):
        for name, courses in COURSES.items():
            parts = tuned_parts(ROWS[name], seeds=_SEEDS, is_quick=False)
            some = courses[place : place + 1]
            yield from (tuned_task(ROWS[name], part) for part in parts if part.course in some)


_IMAGES, _UNBALANCED, _TESTED = 60_000, 43_360, 10_000
# Seconds of an image that is learnt from and of one that is tested; of a node's message; and of the
# autoencoder, a curve it learns from.
_LEARNT, _SEEN, _SENT, _CURVE = 2.6e-4, 1.2e-4, 0.05, 6e-3
_FITS = 2
# Snapshots of an autoencoder, and epochs of its training.
_TRAINED = {"": (5500, 25), FEW: (550, 250)}
_AUTOENCODER_WEIGHTS, _NET_WEIGHTS = 12_744_718, 613_514


def gae_task(part: GaePart) -> Task:
    """One part of `gae`; before it comes the training of the autoencoder, where it is used."""
    experiment, run = GaeExperiment(seeds=max(GAE.seeds, part.seed + 1)), part.run
    if run is None:
        curves, epochs = _TRAINED[part.snapshots]
        seconds = curves * (_IMAGES * _LEARNT + _FITS * epochs * _CURVE)
        return Task(part, experiment, "gae", seconds, curves * 10, _AUTOENCODER_WEIGHTS, 1)
    recipe = run.recipe
    learnt, tested = (_UNBALANCED if recipe.split == "unbalanced" else _IMAGES), _TESTED
    if run.is_trial:
        learnt, tested = learnt * TRIAL_IMAGES // _IMAGES, TRIAL_TEST
    messages = 0 if recipe.exchange == "none" else recipe.nodes * recipe.exchanges
    seen = len(looks(recipe.rounds)) * recipe.nodes * tested
    seconds = recipe.rounds * learnt * _LEARNT + messages * _SENT + seen * _SEEN
    steps = recipe.rounds * recipe.nodes * recipe.steps(learnt // recipe.nodes)
    needs = f"gae: {part.autoencoder.name}" if run.needs_autoencoder else None
    return Task(part, experiment, "gae", seconds, steps, _NET_WEIGHTS, recipe.nodes, needs)


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


# What of a campaign is done, runs, failed or is missing ------------------------------------------


# Done: its short record is there; running: another process trains it; failed: the last try ended
# with an error.
State: TypeAlias = Literal["done", "running", "failed", "missing"]
STATES: tuple[State, ...] = get_args(State)


class TaskDocument(Document):
    """Where one part stands."""

    row: str
    part: str
    state: State
    share: float = Field(ge=0, le=1, description="of the part's rounds that are done")
    seconds: float = Field(ge=0, description="training time if done; else an estimate of the rest")
    behaviour: str = Field(
        description="mark of the code that made it, or build of an earlier version; empty if it is"
        " not done"
    )
    remark: str = Field(description="why it failed, or what else there is to say")


class CampaignDocument(Document):
    """Where every part of a campaign stands."""

    version: str = Field(description="of this program")
    behaviour: str = Field(
        pattern="^[0-9a-f]{12}$", description="digest of the behaviour marks of all recipes"
    )
    out: str = Field(description="folder of full records and unfinished work")
    records: str = Field(description="folder of short records")
    hours_left: float = Field(ge=0, description="of one core; an estimate")
    finished: list[str] = Field(description="names of the parts that this call ran to their end")
    damage: list[str] = Field(description="a sentence about every short record that is unreadable")
    parts: list[TaskDocument]


FAILED_KIND, FOLDER_KIND = "failed-part", "campaign-folder"
_FOLDER_FILE = "campaign.json"
# Kept of one agent, in float32: two states of six tensors, and the beliefs at the end.
_TENSORS = 14
_SPARE_BYTES = 64 << 20


def usual_records(out: Path) -> Path:
    """Where short records go if not said otherwise: a checkout's documentation, else into `out`."""
    shown = Path(__file__).parents[2] / "docs" / "experiments"
    return shown if shown.is_dir() else out / "short"


@dataclass(frozen=True)
class Campaign:
    """Where a campaign lives, and what its parts are run with.

    Attributes
    ----------
    out, records
        The two folders.
    device, data
        As for `peerbayes run`.
    again
        Whether parts of another mark than today's are run again.
    """

    out: Path
    records: Path
    device: str = "cpu"
    data: Path | None = None
    again: bool = False

    def experiment(self, task: Task) -> Experiment[Any]:
        """The experiment of a part, ready to run; earlier trials are looked for in both folders."""
        setting = Setting(self.device, self.data, self.folder(task), resume=True)
        found = task.experiment.with_setting(setting)
        return replace(found, records=self.records) if isinstance(found, TunedExperiment) else found

    def folder(self, task: Task) -> Path:
        """Where full records and unfinished states of a task's experiment are."""
        return parts_folder(self.out, task.record)

    def states(self, tasks: Sequence[Task]) -> tuple[TaskDocument, ...]:
        """Where the parts stand; what is expected of the rest follows what was measured here.

        Raises
        ------
        ValueError
            If short records cannot be opened; in one line. Of damaged ones, see `damage`.
        """
        found = [self.state(task) for task in tasks]
        ratios: dict[str, list[float]] = {}
        for task, one in zip(tasks, found, strict=True):
            if one.state == "done":
                ratios.setdefault(task.kind, []).append(one.seconds / task.seconds)
        scale = {kind: sorted(values)[len(values) // 2] for kind, values in ratios.items()}
        return tuple(
            one
            if one.state == "done"
            else one.model_copy(update={"seconds": one.seconds * scale.get(task.kind, 1.0)})
            for task, one in zip(tasks, found, strict=True)
        )

    def state(self, task: Task, *, is_claimed: bool = False) -> TaskDocument:
        """Where one part stands; whoever has claimed it does not run it by that."""
        part, remark = task.part.name, ""

        def stands(state: State, share: float, seconds: float, code: str = "") -> TaskDocument:
            return TaskDocument(
                row=task.record, part=part, state=state, share=share, seconds=seconds,
                behaviour=code, remark=remark,
            )  # fmt: skip

        short = read_row(self.records, task.record).parts.get(part)
        if short is not None:
            if short.settings != self.experiment(task).settings_mark(part):
                remark = "the record is of other settings"
            elif self.again and short.made_by != f"mark {task.experiment.mark(part)}":
                remark = f"the record is of {short.made_by}"
            else:
                code = short.made_by.rpartition(" ")[2]
                return stands("done", 1.0, short.seconds, code)
        share = share_done(task.part, self.folder(task))
        left = (1.0 - share) * task.seconds
        claimed = not is_claimed and is_held(self.claim_path(task))
        if claimed or is_held(lock_of(task.part, self.folder(task))):
            return stands("running", share, left)
        note = self.failure_path(task)
        if note.exists():
            remark = str(read_record(note).body["reason"])
            return stands("failed", share, left)
        return stands("missing", share, left)

    def damage(self, tasks: Sequence[Task]) -> tuple[str, ...]:
        """A sentence about every line of the short records of these parts that cannot be read."""
        rows = dict.fromkeys(task.record for task in tasks)
        return tuple(words for row in rows for words in read_row(self.records, row).damage)

    def claim_path(self, task: Task) -> Path:
        """The file that a campaign holds while it looks after a part."""
        return lock_of(task.part, self.folder(task)).with_suffix(".claimed")

    def failure_path(self, task: Task) -> Path:
        """The file that says why the last try failed."""
        name = file_name(task.part.name).removesuffix(".json")
        return self.folder(task) / f"{name}.failed.json"

    def note_failure(self, task: Task, reason: str) -> None:
        """Keep why a part failed; nothing more can be done if the disk is full."""
        body = {
            "part": task.name,
            "reason": reason,
            "behaviour": task.experiment.mark(task.part.name),
        }
        try:
            write_record(self.failure_path(task), kind=FAILED_KIND, body=body)
        except ValueError:
            return

    def open(self) -> None:
        """See that the folders are of this version and its marks, and can be written to.

        Raises
        ------
        ValueError
            If unfinished work of another version is there, or of code that computes something
            else; in one line.
        """
        path = self.out / _FOLDER_FILE
        body = {"version": __version__, "behaviour": all_marks(), "device": self.device}
        if path.exists():
            found: Any = read_record(path).body
            for key, value in body.items():
                if found.get(key) != value:
                    raise fail(
                        str(self.out), f"a folder of {key} {value}",
                        f"one of {found.get(key, 'an earlier program')}",
                        "choose another folder with --out; finished parts stay where they are",
                    )  # fmt: skip
        else:
            write_record(path, kind=FOLDER_KIND, body=body)

    def check_space(self, task: Task) -> None:
        """See that the disk takes what the part keeps.

        Raises
        ------
        ValueError
            If it does not; in one line.
        """
        needed = _TENSORS * 4 * task.agents * task.weights + _SPARE_BYTES
        free = disk_usage(self.out).free
        if free < needed:
            raise fail(
                str(self.out), f"{needed / 1e6:.0f} MB of free disk for {task.name}",
                f"{free / 1e6:.0f} MB", "free some and start again; what is done stays done",
            )  # fmt: skip
