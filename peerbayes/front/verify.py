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
from peerbayes.front.problems import as_problem
from peerbayes.kinds.registry import KINDS, kind_of
from peerbayes.kinds.shared.kind import Sweep, Verification
from peerbayes.kinds.shared.verification_tables import sweep_parts, verification_parts
from peerbayes.kinds.shared.verified import verdict_facts
from peerbayes.kinds.verify_record import Verified, VerifyRecord
from peerbayes.problem.builtins.families import BUILTINS
from peerbayes.problem.builtins.loading import load_variants
from peerbayes.problem.problems import AnyProblem
from peerbayes.records import RecordPlace, check_folder, set_aside
from peerbayes.settings.declared import question
from peerbayes.settings.questions import Verify
from theory.progress import Progress
from theory.showing import Value
from theory.validation import fail

if TYPE_CHECKING:
    from matplotlib.axes import Axes


_USUAL = Verify()


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


@question(Verify)
def verify(
    problems: AnyProblem | str | Path | Sequence[AnyProblem | str | Path] = (),
    how: Verify = _USUAL,
) -> VerifyOutcome:
    """Verify problems (or files, or built-ins by name), or all built-ins if none is given.

    With a folder, a record and the report made of it are written. An earlier record of the same
    problems, seed and delta is written over, any earlier one with `force`; another gets another
    name.

    Parameters
    ----------
    problems
        One or several.

    Raises
    ------
    ValueError
        If a problem cannot be read, `seed` or `delta` is out of range, or nothing can be written
        to `out`, which is tried first.
    """
    if how.folder is not None:
        check_folder(how.folder)
    bar = how.progress or (lambda _: lambda done, total: None)
    found, skipped = _loaded(problems, how.images, bar)
    if how.batch is not None:
        found = [as_problem(problem, how) for problem in found]
    verifications = tuple(
        kind_of(problem).verify(problem, seed=how.seed, delta=how.delta, progress=bar(problem.name))
        for problem in found
    )
    sweeps = tuple(
        sweep
        for kind in KINDS
        for sweep in kind.sweeps([v for v in verifications if kind_of(v.problem) is kind])
    )
    outcome = VerifyOutcome(verifications, sweeps, tuple(skipped), how.seed, how.delta)
    return outcome if how.folder is None else _written(outcome, how.folder, how)


def _loaded(
    problems: AnyProblem | str | Path | Sequence[AnyProblem | str | Path],
    folder: Path | None,
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
    for one in given or list(BUILTINS):
        if not isinstance(one, str | Path):
            found.append(as_problem(one))
            continue
        try:
            found += load_variants(one, data=folder, progress=bar(f"{one}: prepare"))
        except DataNotFound as absent:
            # Asked for by name, or pointed to a folder: then missing data are an error.
            if given or folder is not None:
                raise
            skipped.append(f"skipped {absent}")
    return found, skipped


def _written(outcome: VerifyOutcome, out: Path, how: Verify) -> VerifyOutcome:
    """The same outcome with its record and its report on disk."""
    from peerbayes.report import write_report

    problems = [verification.problem for verification in outcome.verifications]
    own = {problem.name: problem.sha256 for problem in problems}
    of = {"problems": own, "seed": outcome.seed, "delta": outcome.delta}
    place = RecordPlace(out / "verify.json", "verify", of, how.force)
    taken = place.taken()
    aside = set_aside(place.path) if taken else None
    if aside is not None and how.notice is not None:
        numbers = any(f" {name} " in taken for name in ("seed", "delta"))
        what = "another seed or delta" if numbers else "other problems"
        how.notice(
            f"{place.path}: was of {what}, and is {aside} now "
            f"('peerbayes report {aside}' makes its page)"
        )
    record_path = place.write(outcome.as_record())
    report_path = write_report([record_path], out / "report.html")
    return replace(outcome, record_path=record_path, report_path=report_path)
