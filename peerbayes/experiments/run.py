"""`peerbayes run`: run an experiment part by part, keep every part, compare the lines.

A part is kept under its fingerprint, the checksum of everything that its numbers depend on:
the part and its settings, the seed, the replicates, and this program's version. With `resume`, a
part on record is read back instead of run, if its checksum is right and its fingerprint the same;
both runs then end in the same record, bit by bit. If only some parts are asked for, the others are
read back if they are on record, and left out if not.

Processes that torchrun started share the parts of an experiment. Parts do not depend on each other,
so each process runs every n-th of them, from the first start on to the last, and the first process
writes the record when all are done. A part's numbers do not depend on who ran it. All processes see
one folder of records, which is all that they share but the word that they are done.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from peerbayes._version import __version__
from peerbayes.experiments.experiment import Experiment, PartRecord, RunPrinted, RunRecord
from peerbayes.experiments.setting import parts_folder
from peerbayes.records import RecordPlace, check_folder, checksum, file_name, plain, read_record
from theory.lazy import later
from theory.progress import Progress
from theory.validation import as_integer

if TYPE_CHECKING:
    import numpy as np
    from rich.console import RenderableType
else:
    np = later("numpy")

KIND, PART_KIND = "run", "run-part"
_OTHERS = "for it is of other settings, or of code that computes something else"


@dataclass(frozen=True, eq=False)
class ExperimentRun:
    """What an experiment found, and where it is on disk."""

    experiment: Experiment[Any]
    record: RunRecord
    reused: tuple[str, ...]
    discarded: tuple[str, ...]  # a sentence on each part on record that was not taken
    record_path: Path

    @property
    def parts(self) -> Mapping[str, Any]:
        """What each part found, in plain values."""
        return self.record.content

    @property
    def failed(self) -> bool:
        """Whether a measurement contradicts its prediction beyond sampling error."""
        return any(line.holds is False for line in self.record.lines)


def run_experiment(
    experiment: Experiment[Any],
    *,
    seed: int = 0,
    replicates: int | None = None,
    only: Collection[str] | None = None,
    resume: bool = False,
    out: Path,
    force: bool = True,
    progress: Callable[[str], Progress] | None = None,
    team: Team | None = None,
) -> ExperimentRun:
    """Run an experiment and leave its record and its parts.

    Parameters
    ----------
    replicates
        Independent runs of each part; left out: what the experiment says.
    only
        The parts to run; left out: all of them.
    resume
        Take parts that are on record, whole and of these very settings, instead of running them.
    out
        Folder of the records.
    force
        Whether whole records of another seed or of other settings may be replaced.
    progress
        Maps the name of a part to a callable of (done, total).
    team
        The processes that share the parts; left out: this one runs them all.

    Raises
    ------
    ValueError
        If a number is out of range, or records cannot be written to `out` or would replace others,
        which is seen first; or a part of another process of the team is not there.
    """
    team = team or Team()
    seed = as_integer("seed", seed, minimum=0)
    # One replicate has no standard error, without which nothing can be compared.
    fewest = 1 if experiment.replicates_are_parts else 2
    given = experiment.replicates if replicates is None else replicates
    replicates = as_integer("replicates", given, minimum=fewest)
    check_folder(out)
    store = Parts(experiment, out, seed, 1 if experiment.replicates_are_parts else replicates)
    asked = [part for part in experiment.parts if only is None or part in only]
    others = set(asked).difference(team.own(asked))
    place = store.place_of_all(asked, force=force)
    parts: dict[str, Any] = {}
    reused, discarded = list[str](), list[str]()
    for part in experiment.parts:
        if part in others:
            continue
        wanted = part in asked
        found = store.kept(part) if resume or not wanted else KeptPart()
        if found.refusal:
            again = f"not read back, {found.refusal}; {part!r} was run again"
            left_out = f"left out of the record, {found.refusal}"
            discarded.append(f"{store.path(part)}: {again if wanted else left_out}")
        content = found.content
        if content is None and not wanted:
            continue
        if content is None:
            report = None if progress is None else progress(f"{experiment.name}: {part}")
            with team.speaking():
                content = store.keep(part, report)
        elif wanted:
            reused.append(part)
        parts[part] = content
    team.wait("parts")
    for part in others:
        found = store.kept(part)
        if found.content is None:
            got = found.refusal.removeprefix("for ") or "nothing of it"
            raise PartFailed(
                f"{out}: expected {part!r} as another process ran it, got {got}; give all processes"
                " one folder that each of them can write to"
            )
        parts[part] = found.content
    parts = {part: parts[part] for part in experiment.parts if part in parts}
    if experiment.replicates_are_parts:
        replicates = len({experiment.stream(part) for part in parts})
    record = RunRecord(
        experiment=experiment.name,
        title=experiment.title,
        source=experiment.source,
        seed=seed,
        replicates=replicates,
        parts=list(parts),
        lines=list(experiment.conclude(parts)),
        settings=experiment.settings(),
        version=__version__,
        content=parts,
    )
    path = place.path
    if team.is_first:
        of = {**place.of, "parts": list(parts)}
        path = replace(place, of=of, force=not place.taken()).write(record.as_json())
    return ExperimentRun(experiment, record, tuple(reused), tuple(discarded), path)


def run_parts(result: RunPrinted) -> list[RenderableType]:
    """The table of `run` for people: printed, measured, predicted."""
    from rich.text import Text

    from peerbayes.tables import figures_table, number

    title = f"{result.experiment}: {result.title} ({result.source})"
    columns = "what, and what is printed", "measured", "± s.e.", "predicted", ""
    table = figures_table(title, *columns)
    table.columns[-1].justify = "left"
    for line in result.lines:
        words = line.what
        if line.printed:
            words += f"\n  printed: {line.printed}"
        if line.remark:
            words += f"\n  {line.remark}"
        holds = {True: "holds", False: "BROKEN", None: ""}[line.holds]
        table.add_row(
            Text(words),
            number(line.measured),
            number(line.standard_error),
            number(line.predicted),
            Text(holds, style="bold red" if line.holds is False else ""),
        )
    plural = "s" * (result.replicates != 1)
    again = f"; read back: {', '.join(result.reused)}" if result.reused else ""
    return [table, Text(f"{result.replicates} replicate{plural}, seed {result.seed}{again}")]


# Parts on disk ------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class KeptPart:
    """What a part left on disk, or why it is of no use; neither if there is nothing."""

    content: Any = None
    refusal: str = ""


@dataclass(frozen=True, eq=False)
class Parts:
    """The parts of an experiment in a folder of records, with one seed and number of replicates."""

    experiment: Experiment[Any]
    out: Path
    seed: int = 0
    replicates: int = 1

    def path(self, part: str) -> Path:
        """The file of a part."""
        return parts_folder(self.out, self.experiment.name) / file_name(part)

    def fingerprint(self, part: str) -> str:
        """The SHA-256 of everything that a part's numbers depend on."""
        content = {
            "experiment": self.experiment.name,
            "settings": plain(self.experiment.part_settings(part)),
            "part": part,
            "seed": self.seed,
            "replicates": self.replicates,
            "version": __version__,
        }
        return checksum(content)

    def keep(self, part: str, progress: Progress | None) -> Any:
        """Run one part and keep it on disk; returns what it found, in plain values.

        Raises
        ------
        ValueError
            If it fails, or cannot be written; in one line.
        """
        seed = part_seed(self.seed, self.experiment.stream(part))
        found = self.experiment.run_part(
            part, seed=seed, replicates=self.replicates, progress=progress
        )
        kept = PartRecord(fingerprint=self.fingerprint(part), content=plain(found.as_json()))
        self.place(part).write(kept.as_json())
        self.experiment.settled(part)
        return kept.content

    def kept(self, part: str) -> KeptPart:
        """What a part left on disk, if it is whole, and of these settings."""
        path = self.path(part)
        if not path.exists():
            return KeptPart()
        try:
            record = read_record(path)
        except ValueError:
            return KeptPart(refusal="for it is damaged")
        body = record.body
        if record.kind != PART_KIND or not isinstance(body, dict) or body.get("content") is None:
            return KeptPart(refusal="for it is no part of an experiment")
        if body.get("fingerprint") != self.fingerprint(part):
            return KeptPart(refusal=_OTHERS)
        reason = self.experiment.damage(part, body["content"], path.parent)
        if reason is not None:
            return KeptPart(refusal=f"for what it kept beside is damaged ({reason})")
        return KeptPart(body["content"])

    def place(self, part: str, *, force: bool = True) -> RecordPlace:
        """Where the record of a part goes."""
        of = {"part": part, **self._of(self.experiment.part_settings(part))}
        return RecordPlace(self.path(part), PART_KIND, of, force)

    def place_of_all(self, asked: Sequence[str], *, force: bool) -> RecordPlace:
        """Where the record of all goes, after a look at what it and parts asked for would replace.

        Raises
        ------
        ValueError
            If that are whole records of others, and they may not be replaced.
        """
        own = self.experiment
        # What of a part is left out of the record, for it is damaged or of other code, is said.
        there = [part for part in own.parts if part in asked or self.path(part).exists()]
        of = {"experiment": own.name, **self._of(own.settings()), "parts": there}
        place = RecordPlace(self.out / file_name("run", own.name), KIND, of, force)
        place.check()
        for part in asked:
            if self.kept(part).refusal == _OTHERS:
                self.place(part, force=force).check()
        return place

    def _of(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        """By what a record is known again: settings whatever the code computes, and numbers."""
        mark = checksum(plain({k: value for k, value in settings.items() if k != "behaviour"}))
        return {"settings": mark, "seed": self.seed, "replicates": self.replicates}


def part_seed(seed: int, index: int) -> int:
    """The seed of one stream: streams do not overlap, whatever the seeds of two runs."""
    state = np.random.SeedSequence(seed, spawn_key=(index,)).generate_state(1, np.uint64)
    return int(state[0] >> np.uint64(2))


# Processes that share the parts -------------------------------------------------------------------

# Parts take hours; who waits is ended by torchrun when another process fails.
PATIENCE = timedelta(days=365)


class PartFailed(ValueError):  # noqa: N818 - as TrainingFailed
    """A part failed in a process that says nothing else; the message is the part's."""


@dataclass(frozen=True, eq=False)
class Team:
    """The processes of a run.

    Attributes
    ----------
    processes, rank
        How many there are, and the number of this one, from 0.
    restarted
        Whether torchrun has started them again: what is on record is then their own.
    store
        By which they tell each other that they are done; None for one process.
    """

    processes: int = 1
    rank: int = 0
    restarted: bool = False
    store: Any = None

    @property
    def is_first(self) -> bool:
        """Whether this is the process that writes and speaks."""
        return self.rank == 0

    def own(self, parts: Sequence[str]) -> tuple[str, ...]:
        """Those that this process runs.

        Examples
        --------
        >>> Team(processes=2, rank=1).own(["a", "b", "c", "d"])
        ('b', 'd')
        """
        return tuple(parts[self.rank :: self.processes])

    @contextmanager
    def speaking(self) -> Iterator[None]:
        """Whatever fails in here is said by this process, though it be not the first."""
        try:
            yield
        except ValueError as error:
            if self.is_first:
                raise
            raise PartFailed(str(error)) from error

    def wait(self, what: str) -> None:
        """Until all processes have come to the same point, which `what` names."""
        if self.store is not None:
            self.store.set(f"{what} {self.rank}", "done")
            self.store.wait([f"{what} {k}" for k in range(self.processes)], PATIENCE)


@contextmanager
def team_of_torchrun() -> Iterator[Team]:
    """The processes that torchrun started, if it started this one."""
    if not is_of_torchrun() or os.environ.get("WORLD_SIZE", "1") == "1":
        yield Team()
        return
    from empirical.nets.exchange import meeting_point

    store, rank, processes = meeting_point("parts")
    again = os.environ.get("TORCHELASTIC_RESTART_COUNT", "0") != "0"
    team = Team(processes, rank, again, store)
    yield team
    team.wait("end")  # the store may live in one of them


def is_of_torchrun() -> bool:
    """Whether torchrun started this process."""
    return "TORCHELASTIC_RUN_ID" in os.environ


def is_first_process() -> bool:
    """Whether this process is the only one, or the first of those that torchrun started."""
    return os.environ.get("RANK", "0") == "0" or not is_of_torchrun()


# What is on record of an experiment ---------------------------------------------------------------


def what_is_done(name: str, out: Path) -> str:
    """In words: parts in the record of `run`, or kept by a run that has not ended; or nothing."""
    record = out / file_name(KIND, name)
    folder = parts_folder(out, name)
    kept = len(list(folder.glob("*.json"))) if folder.is_dir() else 0
    unfinished = folder.is_dir() and any(folder.glob("*.unfinished.*"))
    ending = ", one unfinished" if unfinished else ""
    if not record.exists():
        return f"{_parts(kept)} kept{ending}" if kept or unfinished else ""
    try:
        body = read_record(record).body
        parts, seed = len(body["parts"]), int(body["seed"])
    except (ValueError, LookupError, TypeError):
        return "damaged record"
    return f"{_parts(parts)}, seed {seed}{ending}"


def _parts(number: int) -> str:
    return "1 part" if number == 1 else f"{number} parts"
