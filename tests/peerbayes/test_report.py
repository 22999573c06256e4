"""The page: valid, self-contained, complete, reproducible, harmless to its reader."""

from __future__ import annotations

import json
import re
from collections import Counter
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

import peerbayes as pb
from peerbayes.cli import main
from peerbayes.comparison import Comparison
from peerbayes.figures.views import NOT_RUN, NOTHING, verdict, worst
from peerbayes.figures.wording import clean
from peerbayes.kinds.finite.view import problem_view
from peerbayes.quantities.sizes import SAMPLES, rounds_that_suffice
from peerbayes.records import write_record
from peerbayes.report import write_report
from peerbayes.settings import Files
from tests.peerbayes import reports
from tests.peerbayes.commands import Capture, Patch

VOID = {"meta", "link", "br", "img", "input", "hr"}
HOSTILE = (
    "best</script><script>alert(1)</script>",
    "<img src=x onerror=alert(2)>",
    "quote \" and ' and & and &amp;",
    "TeX $x_1$ \\frac{1}{0} $",
    "]]> --> <!-- </svg></style>",
    "null \x00 escape \x1b turned \u202e",
    "許 многоязычный 名前",
)


class Page(HTMLParser):
    """What a page holds; raises at a tag that closes another one than the last opened."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.tags: Counter[str] = Counter()
        self.attributes: list[tuple[str, str, str]] = []
        self.texts: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags[tag] += 1
        self.attributes += [(tag, name, value or "") for name, value in attrs]
        names = [name for name, _ in attrs]
        assert len(names) == len(set(names)), f"{tag} has an attribute twice"
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self.open[-1:] == [tag], f"</{tag}> closes {self.open[-1:]}"
        self.open.pop()

    def handle_data(self, data: str) -> None:
        self.texts.append(data)

    @property
    def text(self) -> str:
        """All text, spaces made single."""
        return " ".join(" ".join(self.texts).split())

    def values(self, name: str) -> list[str]:
        """Every value of one attribute."""
        return [value for _, attribute, value in self.attributes if attribute == name]


def page_of(folder: Path, *bodies: Any, kind: str = "verify") -> tuple[Page, str]:
    paths = [
        write_record(folder / f"{index}.json", kind=kind, body=body)
        for index, body in enumerate(bodies)
    ]
    path = write_report(paths, folder / "report.html")
    text = path.read_text(encoding="utf-8")
    return Page(text), text


def full_body() -> dict[str, Any]:
    names = ("best", "a", "b", "c", "d", "e")
    return reports.verify_body(
        reports.problem("two-coins", names=("fair", "loaded"), family="two-coins"),
        reports.problem("p2-star a=0.1"),
        reports.problem("p2-star a=0.3", compromise=True),
        sweeps=(reports.sweep(names=names), reports.sweep("other over a", names=names)),
    )


@cache
def full_page() -> tuple[Page, str]:
    """The page of `full_body`, made once."""
    with TemporaryDirectory() as folder:
        return page_of(Path(folder), full_body())


def test_page_is_whole_and_self_contained(tmp_path: Path) -> None:
    page, text = page_of(tmp_path, full_body(), reports.verify_body(reports.problem()))
    assert text.startswith("<!DOCTYPE html>")
    assert page.tags["html"] == page.tags["main"] == page.tags["title"] == 1
    assert page.tags["script"] == page.tags["link"] == page.tags["img"] == page.tags["iframe"] == 0
    assert not re.search(r"(https?:)?//\w|@import|url\((?!#)", text)
    ids = page.values("id")
    assert len(ids) == len(set(ids))
    targets = [value for value in page.values("href") if value]
    assert targets
    assert all(value[0] == "#" and value[1:] in ids for value in targets)
    assert set(re.findall(r"url\(#([^)]+)\)", text)) <= set(ids)
    # Five figures a problem and one a sweep, all with a description in words.
    figures = [v for tag, name, v in page.attributes if (tag, name) == ("svg", "class")]
    assert figures == ["plot"] * (3 * 5 + 2 + 5)
    assert all(len(label) > 1 for label in page.values("aria-label"))
    # Light and dark: all colours are the style sheet's.
    assert "prefers-color-scheme: dark" in text
    body = text.partition("</style>")[2]
    assert not re.search(r"(fill|stroke|color): ?#", body)
    used = set(re.findall(r"var\(--([\w-]+)\)", text))
    light, dark = re.findall(r":root \{(.*?)\}", text, flags=re.DOTALL)
    for scheme in (light, dark):
        assert used <= set(re.findall(r"--([\w-]+):", scheme))


BODIES: dict[str, tuple[str, Any]] = {
    "verify": (
        "p2-star a=0.3: prediction beside measurement",
        reports.verify_body(reports.problem()),
    ),
    "simulate": ("two-coins, simulated", reports.simulate_body()),
    "another": ("A record of “another”", {"weights": [[1.0]]}),
}


@pytest.mark.parametrize("kind", BODIES)
def test_a_page_of_one_record_has_a_title_of_its_own(kind: str, tmp_path: Path) -> None:
    title, body = BODIES[kind]
    _, text = page_of(tmp_path, body, kind=kind)
    assert re.findall(r"<(title|h1)>(.*?)</", text) == [("title", title), ("h1", title)]


@pytest.mark.parametrize(
    ("kind", "answer"), [("verify", "statements hold"), ("simulate", "some agent is wrong in")]
)
def test_the_answer_is_first_then_a_figure_then_the_table(
    kind: str, answer: str, tmp_path: Path
) -> None:
    _, text = page_of(tmp_path, BODIES[kind][1], kind=kind)
    parts = [text.index("</h1>"), text.index(answer), text.index("<figure>"), text.index("<table")]
    assert parts == sorted(parts)
    assert text.index('class="facts"') < parts[-1]
    if kind == "verify":
        assert text.index("</table>") < text.rindex("<figure>")


def test_every_figure_is_described_in_words() -> None:
    page, text = full_page()
    described = re.findall(r'<svg class="plot" role="img" aria-label="([^"]*)"', text)
    assert len(described) == text.count("<svg class") == page.tags["figure"]
    captions = re.findall(r"<figcaption><h\d>(.*?)</h\d><p>(.*?)</p>", text)
    assert described == [f"{title}. {finding}" for title, finding in captions]
    assert min(map(len, described)) > 40


def test_the_checker_sees_what_it_should() -> None:
    for broken in ("<p><b></p></b>", "<div>", "</p>"):
        with pytest.raises(AssertionError):
            Page(broken)


def test_every_statement_appears_with_its_verdict(tmp_path: Path) -> None:
    body = full_body()
    comparisons = body["problems"][2]["comparisons"]
    comparisons[0] |= {"holds": False}
    comparisons[1] |= {"holds": False, "is_theorem": False}
    comparisons[2] |= {"is_theorem": False}
    page, text = page_of(tmp_path, body)
    groups = [*body["problems"], *body["sweeps"]]
    expected = Counter(c["statement"] for group in groups for c in group["comparisons"])
    below = text.partition("Families of problems")[2].partition("</table>")[2]
    rows = re.findall(r"<tr><td class=\"verdict[^>]*>(.*?)</td><th[^>]*>(.*?)</th>", below)
    assert Counter(statement.replace("&#39;", "'") for _, statement in rows) == expected
    words = Counter(word.strip() for word, _ in rows)
    assert words["✗ BROKEN"] == words["△ fails (not a theorem)"] == 1
    assert words["✓ holds"] == sum(expected.values()) - 2
    assert f"1 of {len(rows)} statements is BROKEN" in page.text
    assert f"p2-star a=0.3 : {comparisons[1]['statement']}" in page.text
    assert "Seed 7, δ = 0.05" in page.text
    assert "fashion-mnist skipped: no files found" in page.text
    # The first of a family is in sight, and whatever is broken.
    opened = list(re.findall(r"<details open>\s*<summary>.*?<strong>(.*?)<", text))
    assert opened == ["p2-star a=0.1", "p2-star a=0.3"]


def test_summary_when_all_holds() -> None:
    body, (page, _) = full_body(), full_page()
    total = sum(len(group["comparisons"]) for group in [*body["problems"], *body["sweeps"]])
    assert f"✓ {total} of {total} statements hold" in page.text
    assert "Published, not a theorem, and seen to fail" not in page.text


def make(problem: str, statement: str, **changes: Any) -> Comparison:
    return Comparison.model_validate(reports.comparison(problem, statement, **changes))


def test_verdicts() -> None:
    holds, broken = verdict(make("p", "s")), verdict(make("p", "s", holds=False))
    refuted = verdict(make("p", "s", holds=False, is_theorem=False))
    assert [v.words for v in (holds, broken, refuted)] == [
        "holds", "BROKEN", "fails (not a theorem)",
    ]  # fmt: skip
    assert worst([holds, refuted, broken]) == broken
    assert worst([]) == NOTHING
    assert worst([holds, refuted]) == refuted


def test_what_was_not_run_is_no_success(tmp_path: Path) -> None:
    assert verdict(make("p", "s", holds=None)).words == "not run"
    not_run = verdict(make("p", "s", holds=None, is_theorem=False))
    holds = verdict(make("p", "s"))
    assert not_run == NOT_RUN
    assert worst([not_run, holds]) == holds
    assert worst([not_run]) == not_run
    body = reports.verify_body(reports.problem("p2-star a=0.1"), reports.problem())
    total = sum(len(group["comparisons"]) for group in body["problems"])
    body["problems"][1]["comparisons"][0]["holds"] = None
    page, _ = page_of(tmp_path, body)
    assert f"✓ {total - 1} of {total} statements hold" in page.text
    assert "; 1 was not run." in page.text


def test_the_best_proved_number_of_rounds() -> None:
    samples = {"delta": 0.05, "printed": 5, "repaired": 72, "chernoff": 41, "certified": [14, 22]}
    for changes, words in (
        ({}, ("22", "certified, δ = 0.05")),
        ({"certified": None}, ("41", "Chernoff, δ = 0.05")),
        ({"certified": None, "chernoff": 80}, ("72", "Hoeffding, δ = 0.05")),
        ({"certified": None, "chernoff": None, "repaired": None}, ("–", "Chernoff, δ = 0.05")),
    ):
        fact = rounds_that_suffice(SAMPLES.read({**samples, **changes}))
        assert (fact.value, fact.remark) == words


def test_agents_that_tie_are_all_named(tmp_path: Path) -> None:
    problem = reports.problem("two-coins", names=("fair", "loaded"))
    size = len(problem["graph"]["stationary_distribution"])
    # Three agents tie, up to rounding, and all the others do.
    v = [0.2, 0.2 * (1 + 1e-15), 0.2] + [0.4 / (size - 3)] * (size - 3)
    problem["graph"]["stationary_distribution"] = v
    page, _ = page_of(tmp_path, reports.verify_body({**problem, "parameters": {}}))
    assert "the most is 0.2 (agents 0, 1 and 2)" in page.text
    assert f"({size - 3} agents: 3, 4, 5, …)" in page.text


def test_hostile_names_are_harmless(tmp_path: Path) -> None:
    problem = reports.problem(HOSTILE[0], names=HOSTILE, family=HOSTILE[1], title=HOSTILE[4])
    problem["comparisons"][0]["note"] = HOSTILE[1]
    body = reports.verify_body(
        problem, problem, sweeps=(reports.sweep(HOSTILE[1] + " over a", names=HOSTILE),)
    )
    body["skipped"] = list(HOSTILE)
    page, text = page_of(tmp_path, body)
    assert page.tags["script"] == page.tags["img"] == 0
    assert not [name for _, name, _ in page.attributes if name.startswith("on")]
    assert "\x00" not in text
    assert "\x1b" not in text
    assert "\u202e" not in text
    for name in HOSTILE[1:4]:
        assert " ".join(name.split()) in page.text
    simulated, _ = page_of(tmp_path, reports.simulate_body(HOSTILE), kind="simulate")
    other, _ = page_of(tmp_path, {"names": list(HOSTILE)}, kind="<script>")
    assert simulated.tags["script"] == other.tags["script"] == other.tags["img"] == 0


def test_characters_that_no_page_may_hold() -> None:
    assert clean({"a\x00": ["\ud800 half", "two\nlines", 1, None]}) == {
        "a\ufffd": ["\ufffd half", "two\nlines", 1, None]
    }


def test_same_records_same_page(tmp_path: Path) -> None:
    body = reports.verify_body(reports.problem(), sweeps=(reports.sweep(),))
    text, again = (page_of(tmp_path / name, body)[1] for name in ("a", "b"))
    assert text == again
    assert str(tmp_path) not in text


def test_what_is_missing_is_a_dash(tmp_path: Path) -> None:
    problem = reports.problem(graph=dict(reports.star_graph(), positions=None))
    nothing = {"predicted": None, "measured": float("nan"), "standard_error": None}
    problem["comparisons"] = [reports.comparison("p", "unmeasured", **nothing)]
    network, learning = problem["analysis"]["network"], problem["analysis"]["learning"]
    network |= {"slem": None, "deviation": [None] * 9}
    learning |= {"error_exponent": None, "binding_for_exponent": None}
    problem["analysis"]["samples"] |= {"printed": None, "repaired": None, "chernoff": None}
    problem["failures"]["measured_rounds"] = None
    page, text = page_of(tmp_path, reports.verify_body(problem))
    row = re.search(r"unmeasured</th>(.*?)</tr>", text)
    assert row
    assert re.findall(r'class="n">(.*?)<', row[1]) == ["–"] * 3
    assert "nan" not in page.text.lower().split()
    assert "None" not in page.text
    assert "as printed, not a theorem: none" in page.text


def test_nothing_to_reject_and_nothing_verified(tmp_path: Path) -> None:
    alone = reports.problem("alone", names=("only",), family="alone", comparisons=[])
    page, text = page_of(tmp_path, reports.verify_body(alone))
    assert "there is nothing to reject" in page.text
    assert text.count('class="plot"') == 1
    empty, text = page_of(tmp_path, reports.verify_body())
    assert "No problem was verified." in empty.text
    assert 'class="plot"' not in text


def test_compromise_is_called_one() -> None:
    view = problem_view(reports.problem(compromise=True), key="k")
    assert "Θ* is empty" in view.finding
    assert "compromise “best”" in view.finding
    assert "99.8" in view.finding
    assert "Θ*" not in problem_view(reports.problem(), key="k").finding


def test_large_networks_say_that_they_are_not_drawn(tmp_path: Path) -> None:
    page, text = page_of(
        tmp_path, reports.verify_body(reports.problem(graph=reports.star_graph(200)))
    )
    assert "too many to draw" in page.text
    assert text.count('class="plot"') == 4


@pytest.mark.parametrize("replicates", [1, 50])
def test_simulations_are_shown(tmp_path: Path, replicates: int) -> None:
    body = reports.simulate_body(replicates=replicates)
    page, text = page_of(tmp_path, body, kind="simulate")
    assert "two-coins, simulated" in page.text
    assert "a note" in page.text
    # The rate of the hypothesis "b": mean 20 nats after 1000 rounds.
    assert re.search(r'>b</th><td data-label="rate \[nats/round\]" class="n">0.02</td>', text)


def test_several_records_one_after_the_other(tmp_path: Path) -> None:
    paths = [
        write_record(
            tmp_path / "a.json", kind="verify", body=reports.verify_body(reports.problem())
        ),
        write_record(tmp_path / "b.json", kind="simulate", body=reports.simulate_body()),
        write_record(tmp_path / "c.json", kind="another", body={"weights": [[1.0]]}),
    ]
    page = Page(write_report(paths, tmp_path / "report.html").read_text(encoding="utf-8"))
    places = [
        page.text.index(f"Record {i}: {words}")
        for i, words in (
            (1, "p2-star a=0.3: prediction beside measurement"),
            (2, "two-coins, simulated"),
            (3, "A record of “another”"),
        )
    ]
    assert places == sorted(places)
    assert '"weights": [ [ 1.0 ] ]' in page.text


def test_bad_records_are_refused_in_one_line(tmp_path: Path) -> None:
    target = tmp_path / "report.html"
    target.write_text("before", encoding="utf-8")
    with pytest.raises(ValueError, match="at least one"):
        write_report([], target)
    path = write_record(tmp_path / "bad.json", kind="verify", body={"seed": 1, "delta": 0.1})
    with pytest.raises(ValueError, match=r"bad\.json.*KeyError: 'problems'.*repeating") as caught:
        write_report([path], target)
    assert "\n" not in str(caught.value)
    content = json.loads(path.read_text(encoding="utf-8"))
    content["body"]["seed"] = 2
    path.write_text(json.dumps(content), encoding="utf-8")
    with pytest.raises(ValueError, match="checksum"):
        write_report([path], target)
    assert target.read_text(encoding="utf-8") == "before"
    good = write_record(tmp_path / "good.json", kind="verify", body=reports.verify_body())
    with pytest.raises(ValueError, match="can be written"):
        write_report([good], good / "report.html")


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("verify", None),
        ("verify", []),
        ("verify", {**reports.verify_body(), "delta": "x"}),
        ("verify", {**reports.verify_body(), "seed": "x"}),
        ("verify", {**reports.verify_body(), "seed": True}),
        ("verify", {**reports.verify_body(), "skipped": 5}),
        ("verify", {**reports.verify_body(), "skipped": "abc"}),
        ("verify", {**reports.verify_body(), "problems": {}}),
        ("verify", {**reports.verify_body(), "problems": [{}]}),
        ("verify", {**reports.verify_body(), "sweeps": [{}]}),
        ("verify", {**reports.verify_body(), "problems": [reports.problem(graph={})]}),
        ("simulate", {}),
        ("simulate", {**reports.simulate_body(), "trajectory": {}}),
    ],
)
def test_bodies_of_another_shape_are_refused_in_one_line(
    kind: str, body: Any, tmp_path: Path, capsys: Capture
) -> None:
    path = write_record(tmp_path / "odd.json", kind=kind, body=body)
    assert main(["report", str(path), "--out", str(tmp_path / "out")]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith(f"peerbayes: {path}: expected ")
    assert captured.err.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_tiny_probabilities_of_error_are_drawn(tmp_path: Path) -> None:
    # The smallest double above zero: its decade lies below every axis.
    body = reports.verify_body(reports.problem())
    body["delta"] = body["problems"][0]["analysis"]["samples"]["delta"] = 5e-324
    page, _ = page_of(tmp_path, body)
    assert "δ = 4.941 × 10⁻³²⁴" in page.text


def test_a_page_is_written_whole_or_not_at_all(tmp_path: Path, monkeypatch: Patch) -> None:
    def fail(*arguments: object) -> None:
        raise OSError("disk full")

    record = write_record(tmp_path / "record.json", kind="verify", body=reports.verify_body())
    target = tmp_path / "report.html"
    target.write_text("before", encoding="utf-8")
    monkeypatch.setattr("os.replace", fail)
    with pytest.raises(ValueError, match="disk full"):
        write_report([record], target)
    assert target.read_text(encoding="utf-8") == "before"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["record.json", "report.html"]


def test_a_variant_named_as_its_family_heads_once(tmp_path: Path) -> None:
    first = reports.problem("p2-star", title="as printed in P2")
    page, text = page_of(tmp_path, reports.verify_body(first, reports.problem()))
    assert page.tags["h2"] >= 1
    assert "<strong>p2-star</strong>" not in text
    assert "<strong>as printed in P2</strong>" in text
    assert "<strong>p2-star a=0.3</strong>" in text


def test_rows_of_weights_leave_room_for_their_columns(tmp_path: Path) -> None:
    record = pb.design("two-coins", replicates=0, files=Files(out=tmp_path)).record_path
    assert record is not None
    text = write_report([record], tmp_path / "report.html").read_text(encoding="utf-8")
    # Statements are given 15 rem at the least; nine columns beside that do not fit a page.
    rows = re.findall(r'<th scope="row" class="(\w+)">(\d)</th>', text)
    assert rows == [("agent", "0"), ("agent", "1")]
    assert "min-width" not in re.findall(r"\.agent \{(.*?)\}", text)[0]
