"""The published statements on trial: what is printed and kept of each, and the table of all."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias

from pydantic import Field
from rich.console import RenderableType
from rich.text import Text

from peerbayes.documents import Document, Natural, Number
from peerbayes.tables import names_table, rounds
from theory.claims import ClaimTrial
from theory.claims.claim import Role, Verdict


class WitnessDocument(Document):
    """What one witness found."""

    role: Role
    text: str
    holds: bool
    predicted: Number
    measured: Number
    cases: Natural
    closest: Number = Field(
        description="largest quotient of measured and bound: 1 means that the bound is attained"
    )


class ClaimDocument(Document):
    """One statement, published or repaired: the keys of `verify`, and the trial's own."""

    key: str = Field(pattern="^[a-z0-9-]+$")
    statement: str = Field(min_length=1)
    words: str
    latex: str
    source: str = Field(min_length=1)
    published: bool = Field(
        description="whether the statement is the papers' and not a repair of theirs"
    )
    verdict: Verdict
    condition: str = Field(
        description="where, or in which reading, the printed form is right although it is not in"
        " general"
    )
    repaired: str = Field(description="what is true instead")
    predicted: Number
    measured: Number
    standard_error: None = Field(
        default=None, description="witnesses are exact or bounds: nothing is sampled"
    )
    kind: Literal["exact", "bound", "asymptotic"]
    holds: bool | None = Field(
        description="whether the statement holds as it is printed; null where the text does not"
        " decide it"
    )
    confirmed: bool = Field(description="whether the witnesses confirm the verdict")
    witness: str = Field(min_length=1)
    cases: Natural
    witnesses: list[WitnessDocument] = Field(min_length=1)


Claims: TypeAlias = list[ClaimDocument]


class ClaimsRecord(Document):
    """A record of ``verify --claims``."""

    seed: Natural
    effort: float = Field(description="multiplies the number of cases of each search")
    claims: Claims


def claim_document(trial: ClaimTrial) -> ClaimDocument:
    """What is printed and kept of one claim."""
    claim, headline = trial.claim, trial.headline
    same = ("key", "words", "source", "verdict", "condition", "repaired", "kind")
    return ClaimDocument(
        **{key: getattr(claim, key) for key in same},
        statement=claim.title,
        latex=claim.statement,
        published=claim.is_published,
        predicted=headline.predicted,
        measured=headline.measured,
        holds=None if trial.verdict == "undecided from the text" else trial.verdict == "holds",
        confirmed=trial.is_confirmed,
        witness=headline.text,
        cases=trial.cases,
        witnesses=[
            WitnessDocument(role=witness.role, **vars(finding))
            for witness, finding in zip(claim.witnesses, trial.findings, strict=True)
        ],
    )


def claims_parts(claims: Sequence[ClaimDocument]) -> list[RenderableType]:
    """The table of `verify --claims`: verdict, statement and source, one witness in a line."""
    table = names_table("Published statements on trial", "verdict", "statement, source and witness")
    short = {"holds under an added condition": "holds if …", "undecided from the text": "undecided"}
    for claim in claims:
        words = short.get(claim.verdict, claim.verdict) if claim.confirmed else "NOT CONFIRMED"
        lines = [f"{claim.statement} ({claim.source})", f"  {claim.witness}"]
        if claim.condition:
            lines.append(f"  right if {claim.condition}")
        style = "" if claim.confirmed else "bold red"
        table.add_row(Text(words, style=style), Text("\n".join(lines)))
    return [table, Text(_summary(claims))]


def _summary(claims: Sequence[ClaimDocument]) -> str:
    published = [claim for claim in claims if claim.published]
    counts = ", ".join(
        f"{sum(c.verdict == verdict for c in published)} {words}"
        for verdict, words in (
            ("holds", "hold"),
            ("holds under an added condition", "hold under an added condition"),
            ("fails", "fail as printed"),
            ("undecided from the text", "undecided from the text"),
        )
    )
    cases = rounds(sum(claim.cases for claim in claims))
    unconfirmed = sum(not claim.confirmed for claim in claims)
    state = f"{unconfirmed} verdicts NOT CONFIRMED" if unconfirmed else "every verdict confirmed"
    return f"of {len(published)} published statements {counts}; {cases} cases tried, {state}"
