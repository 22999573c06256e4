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
from peerbayes.experiments.tuned import MEASURES, Estimate, MethodResult, difference
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
    text = words_of("reference/source-figures.md", "## What could not", "In the figures, lines")
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
    # Another page's courses, of ten rounds (learners.json), and weights of the rows' own W.
    others = {"fmnist-2-balanced-b": ["85.8", "87.2"], "fmnist-2-unbalanced": [".45", ".30"]}
    spoken = set[str]()
    for paragraph in text.split("\n\n"):
        about = set(re.findall(r"`([a-z]+-[\w-]+)` says", paragraph))
        spoken |= about
        rows = about or {row for row, _ in results}
        found = list(comparisons(one for row, one in results if row in rows))
        found += at_equal_bytes(results) if "equal bytes" in paragraph else []
        own = [number for row in rows for number in others.get(row, [])]
        assert without_source(paragraph, found, own) == [], paragraph[:60]
    # Whoever is compared is spoken of.
    assert spoken == {row for row, _ in results}


def at_equal_bytes(results: Iterable[tuple[str, MethodResult]]) -> Iterator[Found]:
    """Averaging over thrice as many rounds, and what sites have less, seed by seed."""
    kept = json.loads((DOCS / "benchmarks/equal_bytes.json").read_text(encoding="utf-8"))
    (sites,) = (
        one
        for row, one in results
        if (row, one.course, one.method.name)
        == ("fmnist-2-balanced-a", "50 steps a round (build 8d46799b1af8)", "sites")
    )
    assert kept["runs"][0]["bytes_sent"] == sites.tests[0].bytes_sent
    for measure in MEASURES:
        scale = 100 if measure == "accuracy" else 1
        values = {run["seed"]: scale * run[measure] for run in kept["runs"]}
        gaps = [value - values[seed] for seed, value in sites.by_seed(measure).items()]
        yield from ((e.mean, e.error) for e in map(Estimate.of, (list(values.values()), gaps)))


def comparisons(results: Iterable[MethodResult]) -> Iterator[Found]:
    """Each method's measures, and the gaps between any two of one course."""
    own = list(results)
    for one in own:
        yield from ((e.mean, e.error) for m in MEASURES if (e := one.estimate(m)) is not None)
    for one, other in combinations(own, 2):
        if one.course == other.course:
            gaps = (difference(one, other, measure) for measure in MEASURES)
            yield from ((gap.mean, gap.error) for gap in gaps if gap is not None)
