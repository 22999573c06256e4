"""`verify --claims`: JSON, record, page and exit codes."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

import theory.claims.registry
from peerbayes import cli
from peerbayes.front import claims as claims_module
from peerbayes.front.claims import ClaimsOutcome, verify_claims
from peerbayes.records import read_record, write_record
from peerbayes.report import write_report
from peerbayes.schemas import read_schema
from peerbayes.settings.questions import VerifyClaims
from peerbayes.tables import render
from tests.peerbayes import reports
from tests.peerbayes.commands import Capture, Patch, json_of
from tests.peerbayes.test_report import Page
from theory.claims import CLAIMS, Claim, Effort, Finding, Witness

FEW = (
    "lemma-1-signed", "lemma-1-modulus", "star-centralities", "self-weight", "mixing-reversible",
    "p2-centre-weights",
)  # fmt: skip
SOME = [CLAIMS[key] for key in FEW]
SCHEMA = Draft202012Validator(read_schema("claims"))


def _breaks(effort: Effort) -> Finding:
    return Finding(False, "broken <b>here</b>", 1.0, 2.0)


BROKEN = replace(
    CLAIMS["mixing-reversible"], key="broken", witnesses=(Witness("support", "x", _breaks),)
)
# A verdict that its witnesses contradict.
MISJUDGED = replace(CLAIMS["lemma-1-signed"], key="misjudged", verdict="holds")


@pytest.fixture
def few(monkeypatch: Patch) -> None:
    only(monkeypatch, SOME)


def as_set(text: str) -> str:
    """The symbols of these few claims as the page sets them."""
    below = {"v_1": "v₁", "N_0": "N₀", "W_11": "W₁₁", "W_12": "W₁₂", "W_21": "W₂₁"}
    for plain, symbol in below.items():
        text = text.replace(plain, symbol)
    return text


def only(monkeypatch: Patch, claims: list[Claim]) -> None:
    """Make these the whole registry."""
    monkeypatch.setattr(claims_module, "CLAIMS", {claim.key: claim for claim in claims})


def outcome(folder: Path, *claims: Claim) -> ClaimsOutcome:
    return verify_claims(VerifyClaims(effort=0.02, out=folder), claims or SOME)


def test_json_record_and_page(few: None, tmp_path: Path, capsys: Capture) -> None:
    out = str(tmp_path / "out")
    assert cli.main(["verify", "--claims", "--effort", "0.02", "--out", out, "--json"]) == 0
    captured = capsys.readouterr()
    found: list[dict[str, Any]] = json.loads(captured.out)
    SCHEMA.validate(found)
    assert [entry["key"] for entry in found] == list(FEW)
    assert [entry["holds"] for entry in found] == [False, False, True, False, True, None]
    assert [entry["published"] for entry in found] == [True, True, True, True, False, True]
    assert all(entry["confirmed"] for entry in found)
    record = read_record(tmp_path / "out/claims.json")
    assert record.kind == "claims"
    assert record.body == {"seed": 0, "effort": 0.02, "claims": found}
    page = Page((tmp_path / "out/report.html").read_text(encoding="utf-8")).text
    for entry in found:
        assert entry["statement"] in page
        assert entry["source"] in page
        assert all(as_set(" ".join(w["text"].split())) in page for w in entry["witnesses"])
    # The same again.
    assert cli.main(["verify", "--claims", "--effort", "0.02", "--out", out, "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == found


def test_what_the_text_leaves_open_is_no_failure(tmp_path: Path) -> None:
    (found,) = outcome(tmp_path, CLAIMS["p2-centre-weights"]).as_json()
    SCHEMA.validate([found])
    assert found["holds"] is None
    assert found["confirmed"]
    assert found["verdict"] == "undecided from the text"
    assert {w["role"]: w["holds"] for w in found["witnesses"]} == {"reading": True}
    assert [w["holds"] for w in found["witnesses"]] == [False, True]
    page = Page((tmp_path / "report.html").read_text(encoding="utf-8")).text
    assert "0 fail as printed, 1 cannot be decided from the text." in page
    assert "? undecided from the text" in page
    assert page.count("in one reading") == 2


def test_words(few: None, tmp_path: Path, capsys: Capture) -> None:
    arguments = ["verify", "--claims", "--effort", "0.02", "--out", str(tmp_path), "--quiet"]
    assert cli.main(arguments) == 0
    text = " ".join(capsys.readouterr().out.split())
    counts = "1 hold, 2 hold under an added condition, 1 fail as printed, 1 undecided from the text"
    assert f"of 5 published statements {counts}" in text
    assert "every verdict confirmed" in text
    assert "two agents, (0, 1; 2/3, 1/3)" in text
    assert "report.html" in text


@pytest.mark.parametrize("claim", [BROKEN, MISJUDGED])
def test_a_verdict_that_no_longer_stands_is_exit_code_1(
    claim: Claim,
    tmp_path: Path,
    monkeypatch: Patch,
    capsys: Capture,
) -> None:
    only(monkeypatch, [SOME[2], claim])
    arguments = ["verify", "--claims", "--effort", "0.02", "--out", str(tmp_path), "--quiet"]
    assert cli.main(arguments) == 1
    text = " ".join(capsys.readouterr().out.split())
    assert "NOT CONFIRMED" in text
    assert "1 verdicts NOT CONFIRMED" in text
    assert cli.main([*arguments, "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    SCHEMA.validate(found)
    assert [entry["confirmed"] for entry in found] == [True, False]
    assert not found[1]["holds"]
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "1 of 2 recorded verdicts NOT CONFIRMED" in page


def test_the_page_is_whole_and_harmless(tmp_path: Path) -> None:
    hostile = replace(
        BROKEN, title="<script>alert(1)</script>", condition="a < b & c", repaired='"quoted"'
    )
    path = outcome(tmp_path, *SOME, hostile).report_path
    text = path.read_text(encoding="utf-8")
    page = Page(text)
    assert page.tags["script"] == 0
    assert "<script>alert(1)</script>" in page.text
    assert "broken <b>here</b>" in page.text
    ids = page.values("id")
    assert len(ids) == len(set(ids))
    assert page.text.count("✗ NOT CONFIRMED") == 1
    body = text.partition("</style>")[2]
    assert "style=" not in body
    used = {part.split(")")[0] for part in text.split("var(--")[1:]}
    assert all(f"--{name}:" in text for name in used)


def test_verify_and_claims_share_a_page(tmp_path: Path, capsys: Capture) -> None:
    outcome(tmp_path)
    write_record(tmp_path / "verify.json", kind="verify", body=reports.verify_body())
    found = json_of(capsys, ["report", "--out", str(tmp_path), "--json"])
    assert [Path(path).name for path in found["records"]] == ["claims.json", "verify.json"]
    page = Path(found["report"]).read_text(encoding="utf-8")
    assert "Published statements on trial" in page
    assert "Record 2: Nothing verified" in page


def test_a_record_of_claims_alone_makes_a_report(tmp_path: Path) -> None:
    first = outcome(tmp_path)
    page = first.report_path.read_bytes()
    assert cli.main(["report", "--out", str(tmp_path), "--quiet"]) == 0
    assert first.report_path.read_bytes() == page


@pytest.mark.parametrize("key", ["claims", "seed", "effort"])
def test_a_record_that_lacks_something_is_refused(tmp_path: Path, key: str) -> None:
    body = dict(read_record(outcome(tmp_path).record_path).body)
    del body[key]
    path = write_record(tmp_path / "bad.json", kind="claims", body=body)
    with pytest.raises(ValueError, match="with the keys that this version writes"):
        write_report([path], tmp_path / "page.html")


def test_tables_are_plain_and_narrow(tmp_path: Path) -> None:
    text = render(outcome(tmp_path, *SOME, BROKEN).tables())
    assert max(map(len, text.splitlines())) <= 80
    assert "\x1b" not in text
    assert "NOT CONFIRMED" in text


@pytest.mark.parametrize("bad", [{}, [{}], [{"statement": "s", "verdict": "true"}]])
def test_the_schema_refuses(bad: object) -> None:
    assert not SCHEMA.is_valid(bad)


def test_the_default_is_the_whole_registry() -> None:
    assert claims_module.CLAIMS is theory.claims.registry.CLAIMS
