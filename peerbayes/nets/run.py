"""A training with its record: where it is kept, what it prints, and what it may use."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from exact.whole_files import remove_leftovers
from peerbayes.documents import Documented
from peerbayes.experiments.record_lines import Held, held
from peerbayes.nets.documents import KeptBeliefs, TestLook, TrainPrinted, TrainRecord
from peerbayes.nets.looks import note_look
from peerbayes.nets.recording import record_of
from peerbayes.progress import sayer
from peerbayes.record_names import file_name
from peerbayes.records import RecordPlace, check_folder, checksum, plain
from theory.progress import Progress
from theory.validation import fail

if TYPE_CHECKING:
    from rich.console import RenderableType

    from empirical.nets.consensus import Exchange
    from empirical.train.plan import TrainingPlan
    from empirical.train.trained import TrainedNetwork

KIND = "train"


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
        """The same for people."""
        from peerbayes.nets.tables import train_parts

        return train_parts(self.document())

    def record(self) -> TrainRecord:
        """What `train` leaves on disk."""
        return record_of(self.trained, self.plan, looks=self.looks, kept=self.kept)


def run_plan(
    plan: TrainingPlan,
    *,
    out: Path | None = None,
    force: bool = False,
    resume: bool = False,
    device: str = "cpu",
    memory: int | None = None,
    exchange: Exchange | None = None,
    progress: Progress | None = None,
    notice: Callable[[str], None] | None = None,
) -> TrainOutcome:
    """Train, and leave a record and the beliefs.

    Parameters
    ----------
    plan
        What, on which data, how.
    out
        Folder of the record; None: nothing is written.
    force
        Whether the record and the beliefs of another training of this name may be replaced.
    resume
        Go on from what a killed run has left there.
    memory
        Bytes that the run may take; left out: what is free.
    exchange
        The processes that share the agents; the first one alone writes records.
    notice
        Told, in one sentence each, of what is worth knowing.

    Raises
    ------
    ValueError
        If more memory would be needed, something cannot be written or would replace the record of
        another training, or training fails.
    """
    from empirical.nets.consensus import OneProcess
    from empirical.train.follow import checkpoints_at, follow, remove_unfinished

    exchange = OneProcess() if exchange is None else exchange
    first = exchange.rank == 0
    looks: list[TestLook] = []
    path = None if out is None else out / file_name("train", plan.name, f"s{plan.seed}")
    place = None
    if path is not None and first:
        of = {"training": plan.content_sha256, "test": plan.test_sha256, "device": device}
        code = [source for source in plan.data.sources if source[0].endswith(".py")]
        own = {"code": checksum(plain(code))} if code else {}
        place = RecordPlace(path, KIND, {**of, **own, **plan.settings}, force)
        check_folder(path.parent)
    with _alone(path, plan.name) if first and path is not None else nullcontext():
        if place is not None:
            place.check()
        checkpoints = None
        if path is not None:
            checkpoints = checkpoints_at(
                path.with_suffix(""),
                f"{plan.fingerprint} {device}",
                exchange=exchange,
                agents=plan.data.agents,
                sources=plan.data.sources,
                notice=notice,
            )
            _say_of_left(checkpoints.generations.slots, resume=resume, notice=notice)

        def looking(round: int) -> None:
            look = TestLook(run=plan.fingerprint, round=round)
            if out is not None and first:
                assert plan.test_sha256 is not None
                looks.extend(note_look(out, plan.test_sha256, look))
            else:
                looks.append(look)

        trained = follow(
            plan,
            checkpoints=checkpoints,
            resume=resume,
            exchange=exchange,
            device=device,
            memory=memory,
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


def _say_of_left(
    slots: Sequence[Path], *, resume: bool, notice: Callable[[str], None] | None
) -> None:
    left = [slot for slot in slots if slot.exists()]
    if notice is None:
        return
    if left and not resume:
        notice(f"{left[0]}: left by a killed run; starting afresh (--resume goes on)")
    if resume and not left:
        notice("nothing to resume: starting from the beginning")


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
