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
from typing import Any, Literal, TypeAlias, get_args

from pydantic import Field

from peerbayes._version import __version__
from peerbayes.documents import Document
from peerbayes.experiments.campaign_plan import Task
from peerbayes.experiments.experiment import Experiment
from peerbayes.experiments.setting import (
    Setting,
    all_marks,
    is_held,
    lock_of,
    parts_folder,
    share_done,
)
from peerbayes.experiments.short_records import read_row
from peerbayes.experiments.tuned import TunedExperiment
from peerbayes.records import file_name, read_record, write_record
from theory.validation import fail

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
