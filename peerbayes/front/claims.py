"""`peerbayes verify --claims`: the published statements on trial.

Runs every witness of the registry (`theory.claims`), leaves a record of kind ``claims`` and the
page made of it. A published statement that fails is news about it; what counts as a failure of the
check is a witness that no longer confirms its recorded verdict.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from peerbayes.claims import ClaimsRecord, claim_document
from peerbayes.records import RecordPlace
from peerbayes.settings.questions import DEFAULT_OUT, VerifyClaims
from theory.claims import CLAIMS, Claim, ClaimTrial, Effort, try_claims
from theory.showing import Value

if TYPE_CHECKING:
    from rich.console import RenderableType


@dataclass(frozen=True, eq=False)
class ClaimsOutcome(Value):
    """What the trial found, and where it is on disk."""

    trials: tuple[ClaimTrial, ...]
    record: ClaimsRecord
    record_path: Path
    report_path: Path

    @property
    def failed(self) -> bool:
        """Whether some recorded verdict is not what its witnesses say."""
        return not all(trial.is_confirmed for trial in self.trials)

    def as_json(self) -> list[dict[str, Any]]:
        """The JSON list of claims."""
        return [claim.as_json() for claim in self.record.claims]

    def tables(self) -> Sequence[RenderableType]:
        """The same for people."""
        from peerbayes.claims import claims_parts

        return claims_parts(self.record.claims)


def verify_claims(how: VerifyClaims, claims: Sequence[Claim] | None = None) -> ClaimsOutcome:
    """Put the published statements, or the `claims` given, on trial.

    The same seed finds the same; an effort of 1 takes less than a minute.

    Raises
    ------
    ValueError
        If `seed` or `effort` is out of range, or the record cannot be written to `out` or would
        replace another one, which is seen first.
    """
    from peerbayes.report import write_report

    work = Effort(scale=how.effort, seed=how.seed)
    out = DEFAULT_OUT if how.folder is None else how.folder
    chosen = list(CLAIMS.values()) if claims is None else list(claims)
    of = {"seed": how.seed, "effort": work.scale, "parts": [claim.key for claim in chosen]}
    place = RecordPlace(out / "claims.json", "claims", of, how.force)
    place.check()
    bar = how.progress("claims") if how.progress is not None else None
    trials = try_claims(chosen, work, progress=bar)
    record = ClaimsRecord(
        seed=work.seed, effort=work.scale, claims=[claim_document(trial) for trial in trials]
    )
    record_path = place.write(record.as_json())
    report_path = write_report([record_path], out / "report.html")
    return ClaimsOutcome(trials, record, record_path, report_path)
