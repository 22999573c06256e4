"""Predictions beside measurements: verified problems by family, and published statements on trial.

Of one problem the page is about that problem; of several it begins with a table of families, each
with its counts of verdicts and its worst deviation.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from peerbayes.claims import ClaimDocument, ClaimsRecord
from peerbayes.figures.views import (
    BROKEN,
    HOLDS,
    NOT_RUN,
    NOTHING,
    REFUTED,
    Remarks,
    Row,
    Section,
    Table,
    Text,
    Verdict,
)
from peerbayes.figures.wording import DASH, count, number, subscripts
from peerbayes.kinds.finite.view import sweep_view
from peerbayes.kinds.registry import kind_of_record

# How many problems a title names.
_MOST_NAMED = 3
_CHANCE = (
    "A statement is broken when measurement and prediction differ by more than chance allows, "
    "about 5 standard errors. Logarithms are natural (nats)."
)


def verified_view(body: Mapping[str, Any], *, key: str) -> Section:
    """Everything the page says of a record of ``verify``.

    Raises
    ------
    LookupError, TypeError, ValueError
        If the record lacks something, or it is of another kind.
    """
    setting = f"seed {_value(body, 'seed', int)}, δ = {number(_value(body, 'delta', float))}"
    whole = Section(key, "verify", sections=tuple(_families(body, key)))
    skipped = _value(body, "skipped", list)
    problems = [s for part in whole.sections for s in (part.sections or (part,)) if s.family]
    claim = _claim(whole)
    remarks = [
        Remarks(Verdict(verdict.style, verdict.mark, words), _places(whole, verdict))
        for verdict, words in (
            (BROKEN, "Broken:"), (REFUTED, "Published, not a theorem, and seen to fail:"),
        )
    ]  # fmt: skip
    remarks.append(
        Remarks(Verdict("news", "△", "Left out:"), tuple(("", "", line) for line in skipped))
    )
    # One problem is the whole page; its own id stays, for links.
    alone = whole.sections[0] if whole.sections == tuple(problems) and len(problems) == 1 else None
    names = titled([section.name for section in (whole.sections if not alone else problems)])
    return replace(
        whole if alone is None else alone,
        heading=f"{names}: prediction beside measurement" if names else "Nothing verified",
        claim=claim,
        remarks=tuple(remark for remark in remarks if remark.lines),
        tables=(_summary(whole),) if len(whole.sections) > 1 else (),
        setting=f"{setting[0].upper()}{setting[1:]}. {_CHANCE}",
    )


def titled(names: Sequence[str]) -> str:
    """Names for a title; of many, the first few.

    >>> titled(["a", "b"]), titled(["a", "b", "c", "d", "e"])
    ('a and b', 'a, b, c and 2 more')
    """
    names = list(dict.fromkeys(names))
    if len(names) > _MOST_NAMED:
        names = [*names[:_MOST_NAMED], f"{len(names) - _MOST_NAMED} more"]
    return " and ".join(part for part in (", ".join(names[:-1]), *names[-1:]) if part)


def _claim(whole: Section) -> Verdict:
    """What comes out of all statements, in a sentence."""
    total = sum(1 for _ in whole.claims())
    broken, hold, idle = (len(whole.with_verdict(one)) for one in (BROKEN, HOLDS, NOT_RUN))
    if not whole.sections:
        return Verdict(NOTHING.style, NOTHING.mark, "No problem was verified.")
    if not total:
        words = "Nothing is claimed about what was run: it was measured only."
        return Verdict(NOTHING.style, NOTHING.mark, words)
    if broken:
        verb = "is" if broken == 1 else "are"
        words = f"{broken} of {total} statements {verb} BROKEN beyond sampling error."
        return Verdict(BROKEN.style, BROKEN.mark, words)
    left = f"; {idle} {'was' if idle == 1 else 'were'} not run" if idle else ""
    words = (
        f"{hold} of {total} statements hold, sampling error allowed for; no proved one is broken"
    )
    return Verdict(HOLDS.style, HOLDS.mark, f"{words}{left}.")


def _places(whole: Section, verdict: Verdict) -> tuple[tuple[str, str, str], ...]:
    found = whole.with_verdict(verdict)
    return tuple((section.key, section.name, str(row.name)) for section, row in found)


def _value(body: Mapping[str, Any], key: str, kind: type) -> Any:
    """The entry of a body, which must be of this kind."""
    value = body[key]
    if not isinstance(value, kind) or isinstance(value, bool):
        raise TypeError(f"{key} is {value!r}")
    return value


def _families(body: Mapping[str, Any], key: str) -> Iterable[Section]:
    """Problems and sweeps by family, in the record's order; a problem alone is its family."""
    problems: dict[str, list[Section]] = {}
    for index, entry in enumerate(_value(body, "problems", list), 1):
        problem = kind_of_record(entry.get("form")).view(entry, key=f"{key}-p{index}")
        problems.setdefault(problem.family, []).append(problem)
    sweeps: dict[str, list[Section]] = {}
    for index, entry in enumerate(_value(body, "sweeps", list), 1):
        sweep = sweep_view(entry, key=f"{key}-w{index}")
        # A sweep is named after its family (peerbayes.kinds.finite.verify).
        sweeps.setdefault(sweep.name.partition(" over ")[0], []).append(sweep)
    for index, name in enumerate(dict.fromkeys([*problems, *sweeps]), 1):
        own, moved = problems.get(name, []), sweeps.get(name, [])
        if len(own) == 1 and not moved:
            yield own[0]
        else:
            parts = own if len(own) == 1 else [_folded(one, name, one is own[0]) for one in own]
            yield Section(f"{key}-f{index}", name, sections=(*moved, *parts))


def _folded(problem: Section, family: str, is_first: bool) -> Section:
    """One problem of several: the first is in sight, and whatever is broken.

    Where its name is that of the family, which is printed above it, its title heads it.
    """
    named = problem.name if problem.name != family else problem.title or problem.name
    in_sight = is_first or problem.verdict == BROKEN
    return replace(problem, heading=named, fold="open" if in_sight else "closed")


def _summary(whole: Section) -> Table:
    """A line a family: how many of its statements hold, and how far a measurement is off."""
    rows = [
        Row(Text(part.name, link=part.key), _counts(part), part.verdict) for part in whole.sections
    ]
    return Table(
        "Families of problems",
        "family",
        ("problems", "statements", "hold", "refuted", "broken", "worst deviation", "of"),
        (*rows, Row("all", _counts(whole))),
        (*"nnnnnn", "words"),
        remark="Refuted: published, not a theorem, and seen to fail. Worst deviation: the largest "
        "distance of a measured mean from its exact prediction, or beyond its bound, in standard "
        "errors; about 5 are allowed.",
    )


def _counts(part: Section) -> tuple[str | Text, ...]:
    """Problems, statements, verdicts, and where a measurement is furthest off."""
    problems = sum(bool(one.family) for one in _all(part))
    claims = list(part.claims())
    far = [(row.deviation, one) for one, row in claims if row.deviation is not None]
    worst, where = max(far, key=lambda pair: pair[0], default=(None, None))
    verdicts = (len(part.with_verdict(one)) for one in (HOLDS, REFUTED, BROKEN))
    return (
        *map(str, (problems, len(claims), *verdicts)),
        DASH if worst is None else number(worst, 2),
        "" if where is None else Text(where.name, link=where.key),
    )


def _all(part: Section) -> Iterable[Section]:
    yield part
    for section in part.sections:
        yield from _all(section)


# Published statements ----------------------------------------------------------------------------

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


def claims_view(body: Mapping[str, Any], *, key: str) -> Section:
    """A record of ``verify --claims``: the papers' statements, then the project's own."""
    record = ClaimsRecord.model_validate(body)
    claims = record.claims
    wrong = sum(not c.confirmed for c in claims)
    words = f"{len(claims)} recorded verdicts confirmed, {count(sum(c.cases for c in claims))} "
    finding = ""
    if wrong:
        words = f"{wrong} of {len(claims)} recorded verdicts NOT CONFIRMED by their witnesses."
    else:
        words += "cases tried."
        published: list[str] = [c.verdict for c in claims if c.published]
        holds, fails, conditional, undecided = map(published.count, _VERDICTS)
        finding = (
            f"Of {len(published)} published statements {holds} hold, {conditional} hold under an "
            f"added condition, {fails} fail as printed, {undecided} cannot be decided from the "
            "text."
        )
    style = _UNCONFIRMED if wrong else HOLDS
    tables = [
        Table(
            f"Statements: {name}",
            name,
            ("source", "cases", "witnesses"),
            tuple(_row(c, f"{key}-{c.key}") for c in claims if c.published is is_published),
            ("words", "n", "witnesses"),
        )
        for name, is_published in (("published", True), ("repaired, by this project", False))
    ]
    return Section(
        key,
        "claims",
        heading="Published statements on trial",
        claim=Verdict(style.style, style.mark, words),
        finding=finding,
        tables=tuple(table for table in tables if len(table)),
        setting=f"Seed {record.seed}, effort {number(record.effort)}. Every witness recomputes "
        "from whole numbers; searches are random and repeatable.",
    )


def _row(claim: ClaimDocument, key: str) -> Row:
    details = [(_ROLES[witness.role], witness.text) for witness in claim.witnesses]
    if claim.condition:
        details.append(("right if", claim.condition))
    if claim.repaired:
        details.append(("repaired", claim.repaired))
    return Row(
        Text(subscripts(claim.statement), small=subscripts(claim.words)),
        (claim.source, count(claim.cases)),
        _VERDICTS[claim.verdict] if claim.confirmed else _UNCONFIRMED,
        details=tuple((term, subscripts(text)) for term, text in details),
        key=key,
    )
