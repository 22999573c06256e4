"""Numbers in the words of pages that draw on most of the records."""

# ruff: noqa: F811 - the fixture `scripts` is a parameter too

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from itertools import combinations
from typing import Any

import pytest

pytest.importorskip("torch")
pytest.importorskip("IPython")
from peerbayes.experiments.net_rows import ROWS
from peerbayes.experiments.tuned import MEASURES, MethodResult, difference
from tests.peerbayes.test_page_numbers import (
    DOCS,
    Found,
    of_lines,
    scripts,  # noqa: F401
    sections,
    without_source,
    words_of,
)


def test_words_on_what_could_not_be_reproduced(scripts: Callable[[str], Any]) -> None:
    pictures, show = scripts("source_figures"), scripts("show")
    text = words_of("reference/source-figures.md", "## What could not", "## P1\n")
    checks = [one for name in pictures.FIGURES for one in pictures.redrawn(name).checks]
    rows = of_lines(line for row in ROWS for line, _ in show.lines_of(row))
    printed = ["69.7"]
    assert without_source(text, [*((c.measured, None) for c in checks), *rows], printed) == []


def test_words_on_rates_and_speeds(scripts: Callable[[str], Any]) -> None:
    link = scripts("link")
    fashion, mnist = sections("reference/rate-link.md", "## Fashion-MNIST")
    for section, is_fashion in ((fashion, True), (mnist, False)):
        rows = [row for row in link.ROWS if ("fashion" in row) == is_fashion]
        found = list(of_lines(line for row in rows for line in link.lines_of(row)))
        table = link.orders(*(row for row in rows if is_fashion))
        found += [(float(one), None) for one in re.findall(r"\d\.\d+", table)]
        assert without_source(section, found) == []


def test_words_on_methods_tuned_alike(scripts: Callable[[str], Any]) -> None:
    tuned = scripts("tuned")
    text = words_of("reference/tuned-alike.md", "## Where Bayes wins")
    results = list(tuned._results())
    found = list(comparisons(one for _, one in results))
    assert without_source(text, found, [".01"]) == []  # Adam's ε
    # Every row on record is spoken of, once.
    page = (DOCS / "reference/tuned-alike.md").read_text(encoding="utf-8")
    spoken = re.findall(r"^\| `([a-z]+-[\w-]+)` \|", page, re.MULTILINE)
    assert sorted(spoken) == sorted({row for row, _ in results})


def test_averaging_with_the_bytes_of_sites(scripts: Callable[[str], Any]) -> None:
    """Bytes are equal, and the table's numbers those of three seeds."""
    tuned = scripts("tuned")
    kept = json.loads((DOCS / "benchmarks/equal_bytes.json").read_text(encoding="utf-8"))["rows"]
    table = tuned.equal_bytes()
    for row in {run["row"] for run in kept}:
        (sites,) = (
            one
            for name, one in tuned._results()
            if (name, one.method.name, one.course[:2]) == (row, "sites", "50")
        )
        sent = sites.tests[0].bytes_sent / 1e6
        own = [run for run in kept if run["row"] == row]
        assert [run["megabytes"] for run in own] == pytest.approx([sent] * 3)
        mean = sum(100 * run["accuracy"] for run in own) / 3
        gap = mean - sites.estimate("accuracy").mean
        assert f"| `{row}` | averaging | {mean:.2f} ± " in table
        assert re.search(rf"`{row}` \| − sites \| \**\{gap:+.2f} ± ", table)


def comparisons(results: Iterable[MethodResult]) -> Iterator[Found]:
    """Each method's measures, and the gaps between any two of one course."""
    own = list(results)
    for one in own:
        yield from ((e.mean, e.error) for m in MEASURES if (e := one.estimate(m)) is not None)
    for one, other in combinations(own, 2):
        if one.course == other.course:
            gaps = (difference(one, other, measure) for measure in MEASURES)
            yield from ((gap.mean, gap.error) for gap in gaps if gap is not None)
