"""`peerbayes run`: run an experiment part by part, keep every part, compare the lines.

A part is kept under its fingerprint, the checksum of everything that its numbers depend on:
the part and its settings, the seed, the replicates, and this program's version. With `resume`, a
part on record is read back instead of run, if its checksum is right and its fingerprint the same;
both runs then end in the same record, bit by bit. If only some parts are asked for, the others are
read back if they are on record, and left out if not.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from peerbayes._version import __version__
from peerbayes.experiments.documents import PartRecord, RunRecord
from peerbayes.experiments.experiment import Experiment
from peerbayes.experiments.team import PartFailed, Team
from peerbayes.records import RecordPlace, check_folder, checksum, file_name, plain, read_record
from theory.progress import Progress
from theory.validation import as_integer

KIND, PART_KIND = "run", "run-part"
_OTHERS = "for it is of other settings, or of code that computes something else"


@dataclass(frozen=True, eq=False)
class ExperimentRun:
    """What an experiment found, and where it is on disk."""

    experiment: Experiment
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
    experiment: Experiment,
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
    replicates = _replicates(experiment, replicates)
    in_part = 1 if experiment.replicates_are_parts else replicates
    check_folder(out)
    asked = [part for part in experiment.parts if only is None or part in only]
    others = set(asked).difference(team.own(asked))
    place = _place(experiment, asked, seed=seed, replicates=in_part, out=out, force=force)
    parts: dict[str, Any] = {}
    reused, discarded = list[str](), list[str]()
    for part in experiment.parts:
        if part in others:
            continue
        wanted = part in asked
        found = KeptPart()
        if resume or not wanted:
            found = kept_part(experiment, part, seed=seed, replicates=in_part, out=out)
        if found.refusal:
            at = part_path(out, experiment, part)
            discarded.append(_thrown_away(at, part, found.refusal, wanted=wanted))
        content = found.content
        if content is None and not wanted:
            continue
        if content is None:
            report = None if progress is None else progress(f"{experiment.name}: {part}")
            with team.speaking():
                content = keep_part(
                    experiment, part, seed=seed, replicates=in_part, out=out, progress=report
                )
        elif wanted:
            reused.append(part)
        parts[part] = content
    team.wait("parts")
    for part in others:
        found = kept_part(experiment, part, seed=seed, replicates=in_part, out=out)
        parts[part] = _there(found, part, out)
    parts = {part: parts[part] for part in experiment.parts if part in parts}
    if experiment.replicates_are_parts:
        replicates = len({experiment.stream(part) for part in parts})
    record = _record(experiment, parts, seed=seed, replicates=replicates)
    path = place.path
    if team.is_first:
        of = {**place.of, "parts": list(parts)}
        path = replace(place, of=of, force=not place.taken()).write(record.as_json())
    return ExperimentRun(experiment, record, tuple(reused), tuple(discarded), path)


def _place(
    experiment: Experiment, asked: list[str], *, seed: int, replicates: int, out: Path, force: bool
) -> RecordPlace:
    """Where the record goes, after a look at what it and the parts asked for would replace."""
    numbers = {"seed": seed, "replicates": replicates}
    # What of a part is left out of the record, for it is damaged or of other code, is said.
    there = [p for p in experiment.parts if p in asked or part_path(out, experiment, p).exists()]
    of = {"experiment": experiment.name, "settings": _mark(experiment.settings()), **numbers}
    path = out / file_name("run", experiment.name)
    place = RecordPlace(path, KIND, {**of, "parts": there}, force)
    place.check()
    for part in asked:
        if kept_part(experiment, part, out=out, **numbers).refusal == _OTHERS:
            _part_place(experiment, part, out=out, force=force, **numbers).check()
    return place


def _part_place(
    experiment: Experiment, part: str, *, seed: int, replicates: int, out: Path, force: bool = True
) -> RecordPlace:
    settings = _mark(experiment.part_settings(part))
    of = {"part": part, "settings": settings, "seed": seed, "replicates": replicates}
    return RecordPlace(part_path(out, experiment, part), PART_KIND, of, force)


def _mark(settings: Mapping[str, Any]) -> str:
    """The checksum of settings, whatever the code computes."""
    return checksum(plain({key: value for key, value in settings.items() if key != "behaviour"}))


def _there(found: KeptPart, part: str, out: Path) -> Any:
    """What a part of another process found."""
    if found.content is None:
        got = found.refusal.removeprefix("for ") or "nothing of it"
        raise PartFailed(
            f"{out}: expected {part!r} as another process ran it, got {got}; give all processes"
            " one folder that each of them can write to"
        )
    return found.content


def _thrown_away(path: Path, part: str, why: str, *, wanted: bool) -> str:
    """What became of a part on record that was not taken."""
    if wanted:
        return f"{path}: not read back, {why}; {part!r} was run again"
    return f"{path}: left out of the record, {why}"


def _replicates(experiment: Experiment, given: int | None) -> int:
    # One replicate has no standard error, without which nothing can be compared.
    fewest = 1 if experiment.replicates_are_parts else 2
    number = experiment.replicates if given is None else given
    return as_integer("replicates", number, minimum=fewest)


def _record(
    experiment: Experiment, parts: dict[str, Any], *, seed: int, replicates: int
) -> RunRecord:
    return RunRecord(
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


def keep_part(
    experiment: Experiment,
    part: str,
    *,
    seed: int,
    replicates: int,
    out: Path,
    progress: Progress | None,
) -> Any:
    """Run one part and keep it on disk; returns what it found, in plain values.

    Raises
    ------
    ValueError
        If it fails, or cannot be written; in one line.
    """
    found = experiment.run_part(
        part,
        seed=part_seed(seed, experiment.stream(part)),
        replicates=replicates,
        progress=progress,
    )
    mark = fingerprint(experiment, part, seed=seed, replicates=replicates)
    kept = PartRecord(fingerprint=mark, content=plain(found.as_json()))
    place = _part_place(experiment, part, seed=seed, replicates=replicates, out=out)
    place.write(kept.as_json())
    settled = getattr(experiment, "settled", None)
    if settled is not None:
        settled(part)
    return kept.content


def part_path(out: Path, experiment: Experiment, part: str) -> Path:
    """The file of a part on disk."""
    return parts_folder(out, experiment.name) / file_name(part)


def parts_folder(out: Path, name: str) -> Path:
    """Where the parts of an experiment are kept."""
    return out / f"{file_name(name).removesuffix('.json')}.parts"


def part_seed(seed: int, index: int) -> int:
    """The seed of one stream: streams do not overlap, whatever the seeds of two runs."""
    import numpy as np

    state = np.random.SeedSequence(seed, spawn_key=(index,)).generate_state(1, np.uint64)
    return int(state[0] >> np.uint64(2))


def fingerprint(experiment: Experiment, part: str, *, seed: int, replicates: int) -> str:
    """The SHA-256 of everything that a part's numbers depend on."""
    content = {
        "experiment": experiment.name,
        "settings": plain(experiment.part_settings(part)),
        "part": part,
        "seed": seed,
        "replicates": replicates,
        "version": __version__,
    }
    return checksum(content)


@dataclass(frozen=True, eq=False)
class KeptPart:
    """What a part left on disk, or why it is of no use; neither if there is nothing."""

    content: Any = None
    refusal: str = ""


def kept_part(
    experiment: Experiment, part: str, *, seed: int, replicates: int, out: Path
) -> KeptPart:
    """What a part left on disk, if it is whole, and of these settings."""
    path = part_path(out, experiment, part)
    if not path.exists():
        return KeptPart()
    try:
        record = read_record(path)
    except ValueError:
        return KeptPart(refusal="for it is damaged")
    body = record.body
    if record.kind != PART_KIND or not isinstance(body, dict) or body.get("content") is None:
        return KeptPart(refusal="for it is no part of an experiment")
    if body.get("fingerprint") != fingerprint(experiment, part, seed=seed, replicates=replicates):
        return KeptPart(refusal=_OTHERS)
    damage = getattr(experiment, "damage", None)
    reason = None if damage is None else damage(part, body["content"], path.parent)
    if reason is not None:
        return KeptPart(refusal=f"for what it kept beside is damaged ({reason})")
    return KeptPart(body["content"])
