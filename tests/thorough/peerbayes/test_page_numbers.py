"""Numbers in the words of pages that draw on most of the records."""

# ruff: noqa: F811 - the fixture `scripts` is a parameter too

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import pytest

pytest.importorskip("torch")
pytest.importorskip("IPython")
from tests.peerbayes.test_page_numbers import (
    DOCS,
    scripts,  # noqa: F401
)


@pytest.mark.parametrize("page", ["figures", "rates", "methods"])
def test_words_of_a_page(scripts: Callable[[str], Any], page: str) -> None:
    getattr(scripts("words"), page)()


def test_every_row_of_methods_on_record_is_spoken_of_once(scripts: Callable[[str], Any]) -> None:
    page = (DOCS / "reference/tuned-alike.md").read_text(encoding="utf-8")
    spoken = re.findall(r"^\| `([a-z]+-[\w-]+)` \|", page, re.MULTILINE)
    assert sorted(spoken) == sorted({row for row, _ in scripts("tuned")._results()})


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
