"""What of a campaign is done, runs, failed or is missing: read from the disk alone.

Two folders hold a campaign. `records` has the short record of every part that is done; it is what
is kept for good. `out` has full records, unfinished states and notes of failures, all of one
version with the same behaviour marks; a file says of which.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from shutil import disk_usage
from typing import Any

from peerbayes._version import __version__
from peerbayes.experiments.behaviour_marks import (
    all_marks,
    behaviour_mark,
    gae_recipe,
    net_recipe,
    tuned_recipe,
)
from peerbayes.experiments.campaign_documents import State
from peerbayes.experiments.campaign_plan import Task
from peerbayes.experiments.gae_plan import GaeTask
from peerbayes.experiments.holding import is_held
from peerbayes.experiments.net_rows import ROWS
from peerbayes.experiments.net_run import Setting, lock_of, share_done
from peerbayes.experiments.run import parts_folder
from peerbayes.experiments.short_parts import (
    CampaignExperiment,
    settings_mark,
)
from peerbayes.experiments.short_rows import read_row
from peerbayes.experiments.tuned import TunedExperiment
from peerbayes.experiments.tuned_tasks import TunedTask
from peerbayes.records import file_name, read_record, write_record
from theory.validation import fail

FAILED_KIND, FOLDER_KIND = "failed-part", "campaign-folder"
_FOLDER_FILE = "campaign.json"
# Kept of one agent, in float32: two states of six tensors, and the beliefs at the end.
_TENSORS = 14
_SPARE_BYTES = 64 << 20


def usual_records(out: Path) -> Path:
    """Where short records go if not said otherwise: a checkout's documentation, else into `out`."""
    shown = Path(__file__).parents[2] / "docs" / "experiments"
    return shown if shown.is_dir() else out / "short"


def mark_of(task: Task) -> str:
    """The behaviour mark that a part has if it is run now."""
    if isinstance(task, TunedTask):
        return behaviour_mark(tuned_recipe(task.part.method))
    if isinstance(task, GaeTask):
        return behaviour_mark(gae_recipe(task.part))
    return behaviour_mark(net_recipe(ROWS[task.row], task.part))


@dataclass(frozen=True)
class TaskState:
    """Where one part stands.

    Attributes
    ----------
    task
        The part.
    state
        ``done``: its short record is there; ``running``: another process trains it; ``failed``:
        the last try ended with an error; ``missing``: none of these.
    share
        Of its rounds that are done, by the newest unfinished state; 1 if it is done.
    seconds
        What it took, training alone, if done; else what is expected of the rest.
    behaviour
        The mark of the code that made it, if it is done; the build of an earlier version.
    remark
        Why it failed, or what else there is to say.
    """

    task: Task
    state: State
    share: float
    seconds: float
    behaviour: str = ""
    remark: str = ""


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

    def experiment(self, task: Task) -> CampaignExperiment:
        """The experiment of a part, ready to run; earlier trials are looked for in both folders."""
        folder = parts_folder(self.out, task.record)
        found = task.experiment(Setting(self.device, self.data, folder, resume=True))
        return replace(found, records=self.records) if isinstance(found, TunedExperiment) else found

    def states(self, tasks: Sequence[Task]) -> tuple[TaskState, ...]:
        """Where the parts stand; what is expected of the rest follows what was measured here.

        Raises
        ------
        ValueError
            If short records cannot be opened; in one line. Of damaged ones, see `damage`.
        """
        found = [self.state(task) for task in tasks]
        ratios: dict[str, list[float]] = {}
        for one in found:
            if one.state == "done":
                ratios.setdefault(one.task.kind, []).append(one.seconds / one.task.seconds)
        scale = {kind: sorted(values)[len(values) // 2] for kind, values in ratios.items()}
        return tuple(
            one
            if one.state == "done"
            else replace(one, seconds=one.seconds * scale.get(one.task.kind, 1.0))
            for one in found
        )

    def state(self, task: Task, *, is_claimed: bool = False) -> TaskState:
        """Where one part stands; whoever has claimed it does not run it by that."""
        short = read_row(self.records, task.record).parts.get(task.part.name)
        remark = ""
        if short is not None:
            if short.settings != settings_mark(self.experiment(task), task.part.name):
                remark = "the record is of other settings"
            elif self.again and short.made_by != f"mark {mark_of(task)}":
                remark = f"the record is of {short.made_by}"
            else:
                code = short.made_by.rpartition(" ")[2]
                return TaskState(task, "done", 1.0, short.seconds, code)
        folder = parts_folder(self.out, task.record)
        share = share_done(task.part, folder)
        left = (1.0 - share) * task.seconds
        claimed = not is_claimed and is_held(self.claim_path(task))
        if claimed or is_held(lock_of(task.part, folder)):
            return TaskState(task, "running", share, left, remark=remark)
        note = self.failure_path(task)
        if note.exists():
            reason = str(read_record(note).body["reason"])
            return TaskState(task, "failed", share, left, remark=reason)
        return TaskState(task, "missing", share, left, remark=remark)

    def damage(self, tasks: Sequence[Task]) -> tuple[str, ...]:
        """A sentence about every line of the short records of these parts that cannot be read."""
        rows = dict.fromkeys(task.record for task in tasks)
        return tuple(words for row in rows for words in read_row(self.records, row).damage)

    def claim_path(self, task: Task) -> Path:
        """The file that a campaign holds while it looks after a part."""
        lock = lock_of(task.part, parts_folder(self.out, task.record))
        return lock.with_suffix(".claimed")

    def failure_path(self, task: Task) -> Path:
        """The file that says why the last try failed."""
        name = file_name(task.part.name).removesuffix(".json")
        return parts_folder(self.out, task.record) / f"{name}.failed.json"

    def note_failure(self, task: Task, reason: str) -> None:
        """Keep why a part failed; nothing more can be done if the disk is full."""
        body = {"part": task.name, "reason": reason, "behaviour": mark_of(task)}
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
