"""The page's part on published statements: verdict, statement, source, witnesses."""

from __future__ import annotations

from dataclasses import dataclass

from peerbayes.claims import ClaimDocument, ClaimsRecord
from peerbayes.figures.views import BROKEN, Verdict
from peerbayes.figures.wording import count, subscripts

_VERDICTS = {
    "holds": Verdict("good", "✓", "holds"),
    "fails": Verdict("news", "△", "fails as printed"),
    "holds under an added condition": Verdict("news", "◇", "holds under an added condition"),
    "undecided from the text": Verdict("news", "?", "undecided from the text"),
}
_UNCONFIRMED = Verdict(BROKEN.style, BROKEN.mark, "NOT CONFIRMED")
_ROLES = {
    "counterexample": "counterexample",
    "support": "tried as it stands",
    "conditional": "tried under the condition",
    "reach": "the papers’ examples",
    "repaired": "tried as repaired",
    "reading": "in one reading",
    "open": "left open",
}


@dataclass(frozen=True)
class ClaimRow:
    """One claim as text; `details` are (name, text) pairs."""

    key: str
    title: str
    words: str
    source: str
    verdict: Verdict
    details: tuple[tuple[str, str], ...]
    cases: str


@dataclass(frozen=True)
class ClaimsView:
    """A record of ``verify --claims``: the papers' statements, then the project's own."""

    summary: str
    verdict: Verdict
    groups: tuple[tuple[str, tuple[ClaimRow, ...]], ...]


def claims_view(record: ClaimsRecord, *, key: str) -> ClaimsView:
    """Everything the page says of a trial."""
    claims = record.claims
    rows = [(c.published, _row(c, f"{key}-{c.key}")) for c in claims]
    groups = (
        ("Published", tuple(row for published, row in rows if published)),
        ("Repaired, by this project", tuple(row for published, row in rows if not published)),
    )
    published = [c for c in claims if c.published]
    wrong = sum(not c.confirmed for c in claims)
    by_verdict = {verdict: sum(c.verdict == verdict for c in published) for verdict in _VERDICTS}
    cases = count(sum(c.cases for c in claims))
    if wrong:
        return ClaimsView(
            f"{wrong} of {len(claims)} recorded verdicts NOT CONFIRMED by their witnesses",
            _UNCONFIRMED,
            groups,
        )
    summary = (
        f"{len(claims)} recorded verdicts confirmed, {cases} cases tried. Of "
        f"{len(published)} published "
        f"statements {by_verdict['holds']} hold, "
        f"{by_verdict['holds under an added condition']} hold "
        f"under an added condition, {by_verdict['fails']} fail as printed, "
        f"{by_verdict['undecided from the text']} cannot be decided from the text."
    )
    return ClaimsView(summary, _VERDICTS["holds"], groups)


def _row(claim: ClaimDocument, key: str) -> ClaimRow:
    details = [(_ROLES[witness.role], witness.text) for witness in claim.witnesses]
    if claim.condition:
        details.append(("right if", claim.condition))
    if claim.repaired:
        details.append(("repaired", claim.repaired))
    verdict = _VERDICTS[claim.verdict] if claim.confirmed else _UNCONFIRMED
    return ClaimRow(
        key,
        subscripts(claim.statement),
        subscripts(claim.words),
        claim.source,
        verdict,
        tuple((term, subscripts(text)) for term, text in details),
        count(claim.cases),
    )
