"""`peerbayes verify`: every built-in problem (or the ones named), prediction beside measurement.

Leaves a record, and the report made of it, in the output folder. Built-in problems whose data are
not on this machine are skipped with a notice, unless they were asked for by name.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from peerbayes.comparison import Comparison
from peerbayes.kinds.changing.verify import verify_changing
from peerbayes.kinds.faulty.verify import verify_faulty
from peerbayes.kinds.finite.sweeps import Sweep, find_sweeps
from peerbayes.kinds.finite.verify import ProblemVerification, verify_problem
from peerbayes.kinds.regression.verify import verify_regression
from peerbayes.problem.loading import BUILTINS, load_variants
from peerbayes.problem.problems import (
    AnyProblem,
    ChangingProblem,
    FaultyProblem,
    Problem,
    RegressionProblem,
)
from peerbayes.records import Record, check_folder, set_aside, write_record
from theory.validation import as_integer, as_probability

Progress = Callable[[int, int], None]


class Verification(Protocol):
    """What every kind of problem gives: verdicts, and what the report needs of it."""

    @property
    def problem(self) -> AnyProblem:
        """What was verified."""
        ...

    @property
    def comparisons(self) -> tuple[Comparison, ...]:
        """Every verdict."""
        ...

    def as_record(self) -> dict[str, Any]:
        """Plain numbers; ``"form"`` names the kind of problem where it is not the usual one."""
        ...


@dataclass(frozen=True, eq=False)
class VerifyOutcome:
    """What `verify` found, and where it is on disk."""

    verifications: tuple[Verification, ...]
    sweeps: tuple[Sweep, ...]
    skipped: tuple[str, ...]
    record_path: Path
    report_path: Path

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

    def as_json(self) -> list[dict[str, Any]]:
        """The JSON list of statements."""
        return [statement.as_json() for statement in self.statements]


def verify(
    names: Sequence[str],
    *,
    data: Path | None = None,
    seed: int = 0,
    delta: float = 0.05,
    out: Path,
    progress: Callable[[str], Progress] | None = None,
    notice: Callable[[str], None] | None = None,
) -> VerifyOutcome:
    """Verify the problems named (files or built-ins), or all built-ins if none is.

    An earlier record of the same problems is written over; one of others gets another name.

    Parameters
    ----------
    data
        Where the images are, if not in one of the usual places.
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
    from empirical.data import DataNotFound
    from peerbayes.report import write_report

    seed = as_integer("seed", seed, minimum=0)
    delta = as_probability("delta", delta)
    check_folder(out)
    bar = progress or (lambda _: lambda done, total: None)
    problems: list[AnyProblem] = []
    skipped: list[str] = []
    # All are read before the first is run: bad input is found at once.
    for name in names or list(BUILTINS):
        try:
            problems += load_variants(name, data=data, progress=bar(f"{name}: prepare"))
        except DataNotFound as absent:
            # Asked for by name, or pointed to a folder: then missing data are an error.
            if names or data is not None:
                raise
            skipped.append(f"skipped {absent}")
    verifications = [
        _verification(problem, seed=seed, delta=delta, progress=bar(problem.name))
        for problem in problems
    ]
    sweeps = find_sweeps([v for v in verifications if isinstance(v, ProblemVerification)])
    body = {
        "seed": seed,
        "delta": delta,
        "problems": [verification.as_record() for verification in verifications],
        "sweeps": [sweep.as_record() for sweep in sweeps],
        "skipped": skipped,
    }
    record_path = out / "verify.json"
    own = [problem.name for problem in problems]
    aside = set_aside(record_path, is_same=lambda old: _problems_of(old) == own)
    if aside is not None and notice is not None:
        notice(
            f"{record_path}: was of other problems, and is {aside} now "
            f"('peerbayes report {aside}' makes its page)"
        )
    write_record(record_path, kind="verify", body=body)
    report_path = write_report([record_path], out / "report.html")
    return VerifyOutcome(
        tuple(verifications), tuple(sweeps), tuple(skipped), record_path, report_path
    )


def _problems_of(record: Record) -> list[str] | None:
    """The names of the problems that a record of `verify` is of; None if it is of another kind."""
    if record.kind != "verify":
        return None
    return [problem["name"] for problem in record.body["problems"]]


def _verification(
    problem: AnyProblem, *, seed: int, delta: float, progress: Progress | None
) -> Verification:
    """The verification of one problem, by the rules of its kind."""
    match problem:
        case ChangingProblem():
            return verify_changing(problem, seed=seed, delta=delta, progress=progress)
        case RegressionProblem():
            return verify_regression(problem, seed=seed, progress=progress)
        case FaultyProblem():
            return verify_faulty(problem, seed=seed, progress=progress)
        case Problem():
            return verify_problem(problem, seed=seed, delta=delta, progress=progress)
