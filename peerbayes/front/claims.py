"""`peerbayes verify --claims`: the published statements on trial.

Runs every witness of the registry (`theory.claims`), leaves a record of kind ``claims`` and the
page made of it. A published statement that fails is news about it; what counts as a failure of the
check is a witness that no longer confirms its recorded verdict.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich import box
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from peerbayes.records import check_folder, write_record
from peerbayes.tables import rounds
from theory.claims import CLAIMS, Claim, ClaimTrial, Effort, try_claims
from theory.progress import Progress


@dataclass(frozen=True, eq=False)
class ClaimsOutcome:
    """What the trial found, and where it is on disk."""

    trials: tuple[ClaimTrial, ...]
    record_path: Path
    report_path: Path

    @property
    def failed(self) -> bool:
        """Whether some recorded verdict is not what its witnesses say."""
        return not all(trial.is_confirmed for trial in self.trials)

    def as_json(self) -> list[dict[str, Any]]:
        """The JSON list of claims."""
        return [claim_json(trial) for trial in self.trials]


def claim_json(trial: ClaimTrial) -> dict[str, Any]:
    """The JSON object of one claim: the keys of `verify`, and the trial's own.

    ``holds`` says whether the statement holds as it is printed (None where the text does not
    decide it); ``confirmed`` whether the recorded verdict stands.
    """
    claim, headline = trial.claim, trial.headline
    return {
        "key": claim.key,
        "statement": claim.title,
        "words": claim.words,
        "latex": claim.statement,
        "source": claim.source,
        "published": claim.is_published,
        "verdict": claim.verdict,
        "condition": claim.condition,
        "repaired": claim.repaired,
        "predicted": headline.predicted,
        "measured": headline.measured,
        "standard_error": None,
        "kind": claim.kind,
        "holds": None if trial.verdict == "undecided from the text" else trial.verdict == "holds",
        "confirmed": trial.is_confirmed,
        "witness": headline.text,
        "cases": trial.cases,
        "witnesses": [
            {
                "role": witness.role,
                "text": finding.text,
                "holds": finding.holds,
                "predicted": finding.predicted,
                "measured": finding.measured,
                "cases": finding.cases,
                "closest": finding.closest,
            }
            for witness, finding in zip(claim.witnesses, trial.findings, strict=True)
        ],
    }


def verify_claims(
    *,
    seed: int = 0,
    effort: float = 1.0,
    out: Path,
    claims: Sequence[Claim] | None = None,
    progress: Callable[[str], Progress] | None = None,
) -> ClaimsOutcome:
    """Put the published statements, or the `claims` given, on trial.

    Parameters
    ----------
    seed
        Seed of the random searches; the same seed finds the same.
    effort
        Multiplies the number of cases of each search; 1 takes less than a minute.
    progress
        Maps the name of a stage to a callable of (done, total).

    Raises
    ------
    ValueError
        If `seed` or `effort` is out of range, or nothing can be written to `out`, which is tried
        first.
    """
    from peerbayes.report import write_report

    work = Effort(scale=effort, seed=seed)
    check_folder(out)
    bar = progress("claims") if progress is not None else None
    trials = try_claims(list(CLAIMS.values()) if claims is None else claims, work, progress=bar)
    body = {
        "seed": work.seed,
        "effort": work.scale,
        "claims": [claim_json(trial) for trial in trials],
    }
    record_path = write_record(out / "claims.json", kind="claims", body=body)
    report_path = write_report([record_path], out / "report.html")
    return ClaimsOutcome(trials, record_path, report_path)


def claims_parts(claims: Sequence[Mapping[str, Any]]) -> list[RenderableType]:
    """The table of `verify --claims`: verdict, statement and source, one witness in a line."""
    table = Table(
        title="Published statements on trial",
        title_justify="left",
        box=box.SIMPLE_HEAD,
        pad_edge=False,
    )
    table.add_column("verdict", no_wrap=True)
    table.add_column("statement, source and witness", overflow="fold")
    short = {"holds under an added condition": "holds if …", "undecided from the text": "undecided"}
    for claim in claims:
        words = short.get(claim["verdict"], claim["verdict"])
        if not claim["confirmed"]:
            words = "NOT CONFIRMED"
        lines = [f"{claim['statement']} ({claim['source']})", f"  {claim['witness']}"]
        if claim["condition"]:
            lines.append(f"  right if {claim['condition']}")
        style = "" if claim["confirmed"] else "bold red"
        table.add_row(Text(words, style=style), Text("\n".join(lines)))
    published = [claim for claim in claims if claim["published"]]
    counts = ", ".join(
        f"{sum(c['verdict'] == verdict for c in published)} {words}"
        for verdict, words in (
            ("holds", "hold"),
            ("holds under an added condition", "hold under an added condition"),
            ("fails", "fail as printed"),
            ("undecided from the text", "undecided from the text"),
        )
    )
    cases = rounds(sum(claim["cases"] for claim in claims))
    unconfirmed = sum(not claim["confirmed"] for claim in claims)
    state = f"{unconfirmed} verdicts NOT CONFIRMED" if unconfirmed else "every verdict confirmed"
    summary = f"of {len(published)} published statements {counts}; {cases} cases tried, {state}"
    return [table, Text(summary)]
