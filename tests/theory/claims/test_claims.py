"""The trial: every verdict is confirmed, and the check can fail."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from theory.claims import CLAIMS, Claim, Effort, Finding, Witness, try_claim, try_claims, verdict_of
from theory.claims.claim import VERDICTS, Role, Verdict

PAGE = Path(__file__).parents[3] / "docs/mathematics/claims.md"
LIGHT = Effort(scale=0.1)


@pytest.mark.parametrize("key", CLAIMS)
def test_every_witness_confirms_its_verdict(key: str) -> None:
    trial = try_claim(CLAIMS[key], LIGHT)
    assert trial.is_confirmed, [finding.text for finding in trial.findings]
    assert trial.cases >= len(trial.findings)
    assert all("\n" not in finding.text for finding in trial.findings)


def finding(holds: bool) -> Finding:
    return Finding(holds, "as said")


def witness(role: Role, holds: bool) -> Witness:
    return Witness(role, role, lambda effort: finding(holds))


@pytest.mark.parametrize(
    ("parts", "verdict"),
    [
        ([("support", True)], "holds"),
        ([("support", False)], None),
        ([("repaired", True)], None),
        ([("counterexample", False)], "fails"),
        ([("counterexample", True)], None),
        ([("counterexample", False), ("repaired", False)], None),
        ([("counterexample", False), ("conditional", True)], "fails"),
        ([("counterexample", False), ("conditional", True), ("reach", False)], "fails"),
        ([("counterexample", False), ("conditional", False), ("reach", True)], None),
        ([("reading", True), ("reading", False)], "undecided from the text"),
        ([("reading", True), ("reading", False), ("repaired", True)], "undecided from the text"),
        ([("reading", True), ("reading", False), ("repaired", False)], None),
        ([("reading", True), ("reading", True)], "holds"),
        ([("reading", False), ("reading", False)], "fails"),
        ([("reading", True), ("reading", False), ("support", True)], None),
        ([("open", True)], "undecided from the text"),
        ([("open", True), ("repaired", True)], "undecided from the text"),
        ([("open", False)], None),
        (
            [("counterexample", False), ("conditional", True), ("reach", True)],
            "holds under an added condition",
        ),
    ],
)
def test_the_verdict_follows_from_the_findings(
    parts: list[tuple[Role, bool]], verdict: Verdict | None
) -> None:
    witnesses = [witness(role, holds) for role, holds in parts]
    assert verdict_of(witnesses, [w.run(LIGHT) for w in witnesses]) == verdict


@pytest.mark.parametrize(
    "key", ["self-weight", "lemma-1-signed", "star-centralities", "p2-centre-weights"]
)
def test_another_verdict_is_not_confirmed(key: str) -> None:
    claim = CLAIMS[key]
    findings = try_claim(claim, LIGHT).findings
    for verdict in VERDICTS:
        other = replace(claim, verdict=verdict, condition="c", repaired="r")
        assert (verdict_of(other.witnesses, findings) == other.verdict) == (
            verdict == claim.verdict
        )


# Bounds that are nearly attained: one that is a little tighter is false, and the search sees it.
@pytest.mark.parametrize(
    ("key", "tighten"),
    [
        ("mixing-bracket", 0.99),
        ("mixing-reversible", 0.99),
        ("rate-limit", 0.99),
        ("corollary-1-repaired", 0.99),
        ("hoeffding", 0.8),
        ("chernoff", 0.8),
        ("single-event", 0.6),
        ("mcdiarmid-step", 0.6),
    ],
)
def test_a_statement_a_little_stronger_is_broken(key: str, tighten: float) -> None:
    trial = try_claim(CLAIMS[key], Effort(scale=0.5, tighten=tighten))
    assert not trial.is_confirmed
    assert "broken by case" in trial.headline.text


def test_the_same_seed_finds_the_same_and_another_does_not() -> None:
    claim = CLAIMS["single-event"]
    first, again, other = (
        try_claim(claim, Effort(scale=0.1, seed=seed)).findings for seed in (3, 3, 4)
    )
    assert first == again
    assert first != other


def test_progress_counts_claims() -> None:
    seen: list[tuple[int, int]] = []
    claims = [CLAIMS["self-weight"], CLAIMS["p2-accuracy"]]
    trials = try_claims(claims, LIGHT, progress=lambda done, total: seen.append((done, total)))
    assert seen == [(1, 2), (2, 2)]
    assert [trial.claim for trial in trials] == claims


def test_more_effort_tries_more_cases() -> None:
    claim = CLAIMS["unnormalised-consensus"]
    assert try_claim(claim, Effort(2.0)).cases == 2 * try_claim(claim, Effort(1.0)).cases


def test_registry() -> None:
    assert all(re.fullmatch("[a-z0-9-]+", key) for key in CLAIMS)
    assert len({claim.title for claim in CLAIMS.values()}) == len(CLAIMS)
    for key, claim in CLAIMS.items():
        assert claim.key == key
        if claim.is_published:
            assert re.match("P[12] |slides |GAE ", claim.source)
        else:
            page = claim.source.partition(": mathematics/")[2]
            assert (PAGE.parent / f"{page}.md").is_file()
            assert claim.verdict == "holds"
    verdicts = [claim.verdict for claim in CLAIMS.values() if claim.is_published]
    assert set(verdicts) == set(VERDICTS)


def test_the_page_says_what_the_registry_says() -> None:
    assert "```{claims}\n```\n" in PAGE.read_text("utf-8")  # the table is made from it


def test_the_page_counts_what_the_registry_holds() -> None:
    published = [claim.verdict for claim in CLAIMS.values() if claim.is_published]
    hold, fail, under, undecided = (published.count(verdict) for verdict in VERDICTS)
    line = (
        f"Of {len(published)} published statements {hold} hold, {under} hold under an added "
        f"condition, {fail} fail and {undecided} cannot be decided from the text; "
        f"{len(CLAIMS) - len(published)} more are repairs, and hold."
    )
    assert line in " ".join(PAGE.read_text("utf-8").split())


def test_repaired_theorems_state_their_hypotheses() -> None:
    """A prior can outlast any number of rounds: without "uniform" they are false."""
    for key in ("theorem-1-p1-repaired", "theorem-1-p2-repaired"):
        claim = CLAIMS[key]
        assert all(word in claim.statement for word in ("uniform", r"D_i\le\frac{4\log N}"))
        assert all(word in claim.words for word in ("uniform", "independent", "lemma-1-modulus"))


def claim(**changes: object) -> Claim:
    parts: dict[str, object] = {
        "key": "k", "title": "t", "statement": "s", "words": "w", "source": "P1 1",
        "kind": "exact", "verdict": "holds", "witnesses": (witness("support", True),),
    }  # fmt: skip
    return Claim(**{**parts, **changes})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"verdict": "true"}, "expected one of holds, fails"),
        ({"witnesses": ()}, "at least one witness, got none"),
        ({"verdict": "holds under an added condition"}, "expected a condition, got none"),
        ({"verdict": "fails"}, "what is true instead, got neither"),
        ({"verdict": "undecided from the text"}, "what is true instead, got neither"),
    ],
)
def test_incomplete_claims_are_refused(changes: dict[str, object], words: str) -> None:
    with pytest.raises(ValueError, match=words) as caught:
        claim(**changes)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("arguments", [{"scale": 0}, {"scale": float("inf")}, {"seed": -1}])
def test_bad_effort_is_refused(arguments: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="expected"):
        Effort(**arguments)  # type: ignore[arg-type]


def test_the_contradicting_finding_is_the_headline() -> None:
    broken = claim(witnesses=(witness("support", True), Witness("support", "x", _broken)))
    trial = try_claim(broken, LIGHT)
    assert not trial.is_confirmed
    assert trial.headline.text == "it broke"


def _broken(effort: Effort) -> Finding:
    return Finding(False, "it broke")
