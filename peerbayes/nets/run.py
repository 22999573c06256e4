"""A training with its record: where it is kept, what it prints, and what it may use.

Beside the record lie the beliefs (`damaged_beliefs` says whether they are still those on record),
and the list of looks at the test data: a score on test data is an honest estimate the first time.
That list is kept by the test examples' own checksum, not by the training's name, so that it grows
too where somebody tries other settings until the test score is good, and where a killed run looks
again after it is resumed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from exact.cost import as_memory
from exact.whole_files import remove_leftovers
from peerbayes.documents import Documented
from peerbayes.experiments.setting import Held, held
from peerbayes.nets.documents import (
    KeptBeliefs,
    TestLook,
    TrainPrinted,
    TrainRecord,
    record_of,
    train_parts,
)
from peerbayes.records import (
    Record,
    RecordPlace,
    check_folder,
    checksum,
    file_name,
    plain,
    read_record,
    resumable,
    unwritable,
    write_record,
)
from peerbayes.settings.nets import Job, TrainFile
from peerbayes.terminal import sayer
from theory.progress import Progress
from theory.validation import fail

if TYPE_CHECKING:
    from rich.console import RenderableType

    from empirical.nets.exchange import Exchange
    from empirical.train.plan import TrainingPlan
    from empirical.train.trained import TrainedNetwork

KIND = "train"
LOOKS = "test-looks"
# Seconds to wait for others who write to a list of looks, which takes each a few milliseconds.
_PATIENCE = 60.0


@dataclass(frozen=True, eq=False)
class TrainOutcome(Documented):
    """A trained network, and where its record is.

    Attributes
    ----------
    trained
        The nets.
    plan
        What was trained, on which data.
    looks
        Every look at the test data in this folder; empty without test data.
    kept
        The file of the beliefs; None where none was written.
    record_path, report_path
        The record's file, and the page's; None where none was written.
    """

    trained: TrainedNetwork
    plan: TrainingPlan
    looks: tuple[TestLook, ...] = ()
    kept: KeptBeliefs | None = None
    record_path: Path | None = None
    report_path: Path | None = None

    def _title(self) -> str:
        return f"{type(self).__name__} of {self.plan.name!r}"

    def _facts(self) -> Iterator[tuple[str, object]]:
        yield from self.trained._facts()
        yield "looks at test data", len(self.looks)
        yield "record", None if self.record_path is None else str(self.record_path)

    def document(self) -> TrainPrinted:
        """What `train` prints."""
        shown = {k: v for k, v in self.record() if k != "graph"}
        path = self.record_path
        return TrainPrinted(**shown, record=None if path is None else str(path))

    def tables(self) -> Sequence[RenderableType]:
        """Terminal tables: what was trained, and how well each agent predicts."""
        return train_parts(self.document())

    def record(self) -> TrainRecord:
        """What `train` leaves on disk."""
        return record_of(self.trained, self.plan, looks=self.looks, kept=self.kept)


def run_plan(
    plan: TrainingPlan,
    how: Job | TrainFile,
    *,
    exchange: Exchange | None = None,
    progress: Progress | None = None,
) -> TrainOutcome:
    """Train, and leave a record and the beliefs.

    Parameters
    ----------
    plan
        What, on which data, how.
    how
        Where and within which memory it runs, where the record goes, and who is told what.
    exchange
        The processes that share the agents; the first one alone writes records.

    Raises
    ------
    ValueError
        If more memory would be needed, something cannot be written or would replace the record of
        another training, or training fails.
    """
    from empirical.nets.exchange import OneProcess
    from empirical.train.course import train_as_planned
    from empirical.train.follow import checkpoints_at, remove_unfinished

    out, exchange = how.folder, OneProcess() if exchange is None else exchange
    first = exchange.rank == 0
    looks: list[TestLook] = []
    path = None if out is None else out / file_name(KIND, plan.name, f"s{plan.seed}")
    place = None
    if path is not None and first:
        of = {"training": plan.content_sha256, "test": plan.test_sha256, "device": how.device}
        code = [source for source in plan.data.sources if source[0].endswith(".py")]
        own = {"code": checksum(plain(code))} if code else {}
        place = RecordPlace(path, KIND, {**of, **own, **plan.settings}, how.force)
        check_folder(path.parent)
    with _alone(path, plan.name) if first and path is not None else nullcontext():
        if place is not None:
            place.check()
        checkpoints = None
        if path is not None:
            checkpoints = checkpoints_at(
                path.with_suffix(""),
                f"{plan.fingerprint} {how.device}",
                exchange=exchange,
                agents=plan.data.agents,
                sources=plan.data.sources,
                notice=how.notice,
            )

        def looking(round: int) -> None:
            look = TestLook(run=plan.fingerprint, round=round)
            if out is not None and first:
                assert plan.test_sha256 is not None
                looks.extend(note_look(out, plan.test_sha256, look))
            else:
                looks.append(look)

        left = () if checkpoints is None else checkpoints.generations.slots
        with resumable(left, resume=how.resume and checkpoints is not None, say=how.notice):
            trained = train_as_planned(
                plan,
                checkpoints=checkpoints,
                resume=how.resume,
                exchange=exchange,
                device=how.device,
                memory=None if how.memory is None else as_memory("memory", how.memory),
                progress=progress,
                say=sayer(progress),
                before_test=looking,
            )
        kept = None
        if path is not None and first:
            folder = path.with_suffix(".trained")
            sha256 = trained.save(folder)
            kept = KeptBeliefs(file=f"{folder.name}/trained.safetensors", sha256=sha256)
        outcome = TrainOutcome(trained, plan, tuple(looks), kept, path)
        if place is not None:
            place.write(outcome.record().as_json())
            remove_unfinished(place.path.with_suffix(""))
        return outcome


@contextmanager
def _alone(path: Path, name: str) -> Iterator[None]:
    """Nobody else trains this in this folder."""
    try:
        with held(path.with_name(f".{path.stem}.held")):
            remove_leftovers(path)
            yield
    except Held:
        raise fail(
            str(path.parent), "a folder in which nobody else runs this training",
            f"another run of {name!r}", "wait for it, or choose another folder with --out",
        ) from None  # fmt: skip


# What lies beside the record ----------------------------------------------------------------------


def looks_path(folder: Path, test_sha256: str) -> Path:
    """The file of the list."""
    return folder / f"test-looks-{test_sha256[:12]}.json"


def note_look(folder: Path, test_sha256: str, look: TestLook) -> tuple[TestLook, ...]:
    """Add a look to the list, on disk, and return all of it; one process at a time.

    Raises
    ------
    ValueError
        If the list is damaged, or cannot be written.
    """
    path = looks_path(folder, test_sha256)
    before: list[TestLook] = []
    try:
        with held(path.with_name(f".{path.stem}.held"), patience=_PATIENCE):
            if path.exists():
                found = read_record(path).body
                before = [TestLook.model_validate(entry) for entry in found["looks"]]
            looks = (*before, look)
            body = {"test_sha256": test_sha256, "looks": [entry.as_json() for entry in looks]}
            write_record(path, kind=LOOKS, body=body)
    except Held:
        wanted, got = "a list that others write to for a moment", f"one held for {_PATIENCE:g} s"
        raise fail(str(path), wanted, got, "end the process that holds it") from None
    except OSError as error:
        raise unwritable(path, "a file", error) from None
    return looks


def damaged_beliefs(record: Record) -> Iterator[str]:
    """Yield what is wrong with the beliefs that a record of `train` speaks of.

    A record without the folder of its beliefs has been taken elsewhere, and is of use by itself.
    """
    if record.kind != "train" or record.body.get("kept") is None:
        return
    kept = KeptBeliefs.model_validate(record.body["kept"])
    folder = (record.path.parent / kept.file).parent
    damage = kept.damage(folder) if folder.is_dir() else None
    if damage is not None:
        yield damage
