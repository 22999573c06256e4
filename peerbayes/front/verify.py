"""`peerbayes verify`: every built-in problem (or the ones named), prediction beside measurement.

Leaves a record, and the report made of it, in the output folder. Built-in problems whose data are
not on this machine are skipped with a notice, unless they were asked for by name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field
from rich.console import RenderableType
from rich.text import Text

from peerbayes.comparison import Comparison
from peerbayes.front.problems import as_problem
from peerbayes.kinds.registry import KINDS, kind_of
from peerbayes.kinds.shared.verify import Verified, verdict_facts
from peerbayes.measured import SlowestDocument, SweepDocument
from peerbayes.problem.builtins.families import BUILTINS
from peerbayes.problem.builtins.loading import load_variants
from peerbayes.problem.problems import AnyProblem
from peerbayes.quantities.quantity import Table, entries, entry
from peerbayes.records import RecordPlace, check_folder, set_aside
from peerbayes.settings.declared import question
from peerbayes.settings.questions import Verify
from peerbayes.tables import figures_table, number
from theory.progress import Progress
from theory.showing import Value
from theory.validation import fail

if TYPE_CHECKING:
    from matplotlib.axes import Axes


_USUAL = Verify()


VERIFY_RECORD = Table(
    "VerifyRecord",
    "What `verify` leaves on disk.",
    entries(
        seed=entry(Annotated[int, Field(ge=0)]),
        delta=entry(Annotated[float, Field(gt=0, lt=1)]),
        problems=entry(list[dict[str, Any]], get=lambda found: _records(found.verifications)),
        sweeps=entry(
            list[SweepDocument],
            "problems that differ in one parameter",
            get=lambda found: _records(found.sweeps),
        ),
        skipped=entry(list[str], "problems whose data were not there, a notice each"),
    ),
)


def _records(parts: Sequence[Any]) -> list[Any]:
    return [part.as_record() for part in parts]


@dataclass(frozen=True, eq=False)
class VerifyOutcome(Value):
    """What `verify` found, and where it is on disk; None if nothing was written."""

    verifications: tuple[Verified, ...]
    sweeps: tuple[Any, ...]
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

    def as_record(self) -> Any:
        """What is left on disk."""
        return VERIFY_RECORD.document(self)

    def tables(self, *, every: bool = True) -> list[RenderableType]:
        """Terminal tables: `every` statement, or a line a problem and what does not hold."""
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


# Terminal tables --------------------------------------------------------------------------------


def verdict(statement: Comparison) -> str:
    """The verdict on one statement, in a word."""
    if statement.holds is None:
        return "not run"
    if statement.holds:
        return "holds"
    return "BROKEN" if statement.is_theorem else "fails*"


def verification_parts(statements: Sequence[Comparison], *, every: bool) -> list[RenderableType]:
    """The tables of `verify`: `every` statement, or a line a problem and what does not hold."""
    parts: list[RenderableType] = []
    groups = [(name, list(group)) for name, group in groupby(statements, lambda s: s.problem)]
    if every:
        parts += [_statement_table(name, group) for name, group in groups]
    else:
        table = figures_table(
            "Theory beside simulation", "problem", "statements", "hold", "broken", "not run"
        )
        for name, group in groups:
            table.add_row(
                Text(name),
                str(len(group)),
                *(
                    str(sum(verdict(statement) == word for statement in group))
                    for word in ("holds", "BROKEN", "not run")
                ),
            )
        parts.append(table)
        failing = [statement for statement in statements if statement.holds is False]
        if failing:
            parts.append(_statement_table("What does not hold", failing, with_problem=True))
    if any(verdict(statement) == "fails*" for statement in statements):
        parts.append(Text("* not a theorem: published as one, or an allowance in place of a bound"))
    return parts


def sweep_parts(sweeps: Sequence[SweepDocument]) -> list[RenderableType]:
    """For each sweep: what it settles on, the slowest rejection, and E, as a moves."""
    parts: list[RenderableType] = []
    for sweep in sweeps:
        table = figures_table(
            sweep.name, "a", "v₁", "settles on", "K pred.", "measured", "st. error", "E"
        )
        for a, weight, settled, slowest, exponent in zip(
            sweep.edge_confidence,
            sweep.centre_weight,
            sweep.settled,
            sweep.slowest,
            sweep.exponent,
            strict=True,
        ):
            table.add_row(
                f"{a:g}",
                f"{weight:.4f}",
                Text(" or ".join(settled)),
                *(["-"] * 3 if slowest is None else _measured(slowest)),
                number(exponent),
            )
        parts.append(table)
    return parts


def _measured(rate: SlowestDocument) -> list[str]:
    """Prediction, measurement and standard error."""
    return [number(rate.predicted), number(rate.measured), number(rate.standard_error)]


def _statement_table(
    title: str, statements: Sequence[Comparison], *, with_problem: bool = False
) -> RenderableType:
    table = figures_table(title, "statement", "predicted", "measured", "st. error", "verdict")
    for statement in statements:
        words = statement.statement
        if with_problem:
            words = f"{statement.problem}: {words}"
        table.add_row(
            Text(words),
            statement.sign + number(statement.predicted),
            number(statement.measured),
            number(statement.standard_error),
            Text(verdict(statement), style="bold red" if statement.holds is False else ""),
        )
    return table
