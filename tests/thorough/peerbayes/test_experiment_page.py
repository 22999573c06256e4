"""What the page of the tuned comparisons and of every row shows, made anew from all records."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

import sys

import pytest

from peerbayes.experiments.net_rows import ROWS
from peerbayes.experiments.short_records import read_row
from peerbayes.experiments.tuned_search import COURSES
from tests.peerbayes import test_experiment_page as quick
from tests.peerbayes.commands import Patch
from tests.peerbayes.test_experiment_page import FOLDER, PARTS, TUNED


def test_the_page_shows_every_row_and_which_code_made_it(monkeypatch: Patch) -> None:
    monkeypatch.syspath_prepend(str(FOLDER))
    monkeypatch.delitem(sys.modules, "show", raising=False)
    import show

    table = show.table(*ROWS)
    for row in ROWS.values():
        assert f"`{row.name}`" in table
    for short in PARTS:
        assert short.made_by in table
    # A recipe that was run anew is not shown twice.
    for row in ROWS:
        shown = [line["what"] for line, _ in show.lines_of(row)]
        assert len(shown) == len(set(shown))
    assert show.glance().count("\n") >= len(ROWS)
    assert "parts of `paper`" in show.progress()


def test_the_page_says_of_every_comparison_whether_it_was_run(
    monkeypatch: Patch,
) -> None:
    monkeypatch.syspath_prepend(str(FOLDER))
    monkeypatch.delitem(sys.modules, "tuned", raising=False)
    import tuned

    said = tuned.progress()
    assert all(f"`{row}`" in said for row in COURSES)
    missing = said.partition("Not yet run at all")[2]
    every = [(row, one.local_steps) for row, courses in COURSES.items() for one in courses]
    assert [one for one in every if f"`{one[0]}`, {one[1]} steps a round" in missing] == [
        (row, steps)
        for row, steps in every
        if not any(
            name.startswith(f"{steps}-steps-") for name in read_row(FOLDER, f"{row}-tuned").parts
        )
    ]
    for row in TUNED:
        tests = [one for one in tuned.contents(row).values() if one["purpose"] == "seed"]
        methods = {(one["course"]["local_steps"], one["method"]) for one in tests}
        shown = tuned.table()
        assert shown.count(f"| `{row}`, ") == len(methods)
        for steps, method in methods:
            assert f"| `{row}`, {steps} | `{method}` |" in shown


@pytest.mark.parametrize("row", [row for row in TUNED if row not in TUNED[::5]])
def test_comparisons_on_record_follow_from_their_trials(row: str) -> None:
    quick.test_comparisons_on_record_follow_from_their_trials(row)
