"""`peerbayes verify`: every built-in problem (or the ones named), prediction beside measurement.

Leaves a record, and the report made of it, in the output folder. Built-in problems whose data are
not on this machine are skipped with a notice, unless they were asked for by name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from rich.console import RenderableType

from peerbayes.comparison import Comparison
from peerbayes.front.problems import Batch, as_problem
from peerbayes.kinds.registry import KINDS, kind_of
from peerbayes.kinds.shared.kind import Sweep, Verification
from peerbayes.kinds.shared.verification_tables import sweep_parts, verification_parts
from peerbayes.kinds.shared.verified import verdict_facts
from peerbayes.kinds.verify_record import Verified, VerifyRecord
from peerbayes.problem.builtins.loading import BUILTINS, load_variants
from peerbayes.problem.problems import AnyProblem
from peerbayes.records import RecordPlace, check_folder, set_aside
from theory.progress import Progress
from theory.validation import as_integer, as_probability, fail
from theory.values import Value

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True, eq=False)
class VerifyOutcome(Value):
    """What `verify` found, and where it is on disk; None if nothing was written."""

    verifications: tuple[Verification, ...]
    sweeps: tuple[Sweep, ...]
    skipped: tuple[str, ...]
    seed: int
    delta: float
    record_path: Path | None = None
    report_path: Path | None = None

    def _facts(self) -> Iterator[tuple[str, object]]:
        yield "problems", tuple(v.problem.name for v in self.verifications)
        yield from verdict_facts(self.statements)
        if self.skipped:
            yield "skipped", self.skipped
        if self.record_path is not None:
            yield "record", str(self.record_path)
            yield "report", str(self.report_path)

    @property
    def statements(self) -> tuple[Comparison, ...]:
        """Every verdict, problem by problem, then the sweeps."""
        single = [c for verification in self.verifications for c in verification.comparisons]
        return (*single, *(c for sweep in self.sweeps for c in sweep.comparisons()))

    @property
    def unjudged(self) -> tuple[str, ...]:
        """Problems of which nothing is claimed: they were measured only."""
        return tuple(v.problem.name for v in self.verifications if not v.comparisons)

    @property
    def failed(self) -> bool:
        """Whether a proved statement was contradicted beyond sampling error."""
        return any(statement.is_broken for statement in self.statements)

    def plot(self, ax: Axes | None = None) -> Axes:
        """The verification of a problem; of several problems, each has its own `plot`.

        Drawn on `ax`, or on new axes, which are returned.
        """
        if len(self.verifications) != 1:
            got, remedy = len(self.verifications), "plot one of `verifications`"
            raise fail("plot", "one problem", got, remedy)
        return self.verifications[0].plot(ax)

    def as_json(self) -> list[dict[str, Any]]:
        """The JSON list of statements."""
        return [statement.as_json() for statement in self.statements]

    def as_record(self) -> VerifyRecord:
        """What is left on disk."""
        return VerifyRecord(
            seed=self.seed,
            delta=self.delta,
            problems=[cast("Verified", one.as_record()) for one in self.verifications],
            sweeps=[sweep.as_record() for sweep in self.sweeps],
            skipped=list(self.skipped),
        )

    def tables(self, *, every: bool = True) -> list[RenderableType]:
        """The same for people: `every` statement, or a line a problem and what does not hold."""
        sweeps = sweep_parts([sweep.as_record() for sweep in self.sweeps])
        return [*verification_parts(self.statements, every=every), *sweeps]


def verify(
    problems: AnyProblem | str | Path | Sequence[AnyProblem | str | Path] = (),
    *,
    data: str | Path | None = None,
    batch: Batch | None = None,
    seed: int = 0,
    delta: float = 0.05,
    out: str | Path | None = None,
    force: bool = False,
    progress: Callable[[str], Progress] | None = None,
    notice: Callable[[str], None] | None = None,
) -> VerifyOutcome:
    """Verify problems (or files, or built-ins by name), or all built-ins if none is given.

    Parameters
    ----------
    data
        Where the images are, if not in one of the usual places.
    batch
        Observations a round, in place of the problem's: a number, or one for each agent. The name
        of the problem then says so.
    out
        Folder for the record and the report made of it; left out: none are written. An earlier
        record of the same problems, seed and delta is written over; another gets another name.
    force
        Whether any earlier record is written over.
    progress
        Maps the name of a stage to a callable of (done, total).
    notice
        Told, in one sentence, of an earlier record that got another name.

    Raises
    ------
    ValueError
        If a problem cannot be read, `seed` or `delta` is out of range, or nothing can be written
        to `out`, which is tried first.
    """
    seed = as_integer("seed", seed, minimum=0)
    delta = as_probability("delta", delta)
    if out is not None:
        check_folder(Path(out))
    bar = progress or (lambda _: lambda done, total: None)
    found, skipped = _loaded(problems, data, bar)
    if batch is not None:
        found = [as_problem(problem, batch=batch) for problem in found]
    verifications = tuple(
        kind_of(problem).verify(problem, seed=seed, delta=delta, progress=bar(problem.name))
        for problem in found
    )
    sweeps = tuple(
        sweep
        for kind in KINDS
        for sweep in kind.sweeps([v for v in verifications if kind_of(v.problem) is kind])
    )
    outcome = VerifyOutcome(verifications, sweeps, tuple(skipped), seed, delta)
    return outcome if out is None else _written(outcome, Path(out), notice, force=force)


def _loaded(
    problems: AnyProblem | str | Path | Sequence[AnyProblem | str | Path],
    data: str | Path | None,
    bar: Callable[[str], Progress],
) -> tuple[list[AnyProblem], list[str]]:
    """All problems, read before the first is run, and notices of those that lack their data."""
    from empirical.data import DataNotFound

    given: list[AnyProblem | str | Path] = []
    if isinstance(problems, Sequence) and not isinstance(problems, str):
        given += problems
    else:
        given.append(problems)
    found: list[AnyProblem] = []
    skipped: list[str] = []
    folder = None if data is None else Path(data)
    for one in given or list(BUILTINS):
        if not isinstance(one, str | Path):
            found.append(as_problem(one))
            continue
        try:
            found += load_variants(one, data=folder, progress=bar(f"{one}: prepare"))
        except DataNotFound as absent:
            # Asked for by name, or pointed to a folder: then missing data are an error.
            if given or data is not None:
                raise
            skipped.append(f"skipped {absent}")
    return found, skipped


def _written(
    outcome: VerifyOutcome, out: Path, notice: Callable[[str], None] | None, *, force: bool
) -> VerifyOutcome:
    """The same outcome with its record and its report on disk."""
    from peerbayes.report import write_report

    problems = [verification.problem for verification in outcome.verifications]
    own = {problem.name: problem.sha256 for problem in problems}
    of = {"problems": own, "seed": outcome.seed, "delta": outcome.delta}
    place = RecordPlace(out / "verify.json", "verify", of, force)
    taken = place.taken()
    aside = set_aside(place.path) if taken else None
    if aside is not None and notice is not None:
        numbers = any(f" {name} " in taken for name in ("seed", "delta"))
        what = "another seed or delta" if numbers else "other problems"
        notice(
            f"{place.path}: was of {what}, and is {aside} now "
            f"('peerbayes report {aside}' makes its page)"
        )
    record_path = place.write(outcome.as_record())
    report_path = write_report([record_path], out / "report.html")
    return replace(outcome, record_path=record_path, report_path=report_path)
