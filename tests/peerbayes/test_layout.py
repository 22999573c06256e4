"""Narrow terminals: every number and every short word of a wide one is there, whole."""

from __future__ import annotations

import io
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from peerbayes import cli
from peerbayes.experiments.campaign_state import CampaignDocument, campaign_parts
from peerbayes.experiments.experiment import RunPrinted
from peerbayes.experiments.run import run_parts
from peerbayes.front.verify import verification_parts
from peerbayes.layout import render
from peerbayes.tables import facts_table, figures_table, interval
from tests.peerbayes.commands import Patch
from tests.peerbayes.documents import TWO_COINS
from tests.peerbayes.test_cli import COMPARISONS

WIDTHS = (40, 60, 80)
WIDE = 4000


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def shown(parts: list[RenderableType], width: int, monkeypatch: Patch) -> str:
    """What a terminal of this width shows."""
    monkeypatch.setenv("COLUMNS", str(width))
    return re.sub(r"\x1b\[[0-9;]*m", "", render(parts, stream=Terminal()))


def numbers(text: str) -> Counter[str]:
    """Every run of digits with its sign, point, exponent, and the blanks between thousands."""
    whole = re.sub(r"(?<=\b\d) (?=\d{3}\b)", "_", text)
    return Counter(re.findall(r"\d[\d_]*(?:\.\d+)?(?:e[+-]?\d+)?", whole))


def words(text: str) -> Counter[str]:
    return Counter(word for word in re.findall(r"[A-Za-z]+", text) if len(word) < 16)


def contents(parts: list[RenderableType]) -> str:
    """All that stands in cells: not the headers, of which blocks leave out the first."""
    tables = [part for part in parts if isinstance(part, Table)]
    return "\n".join(str(cell) for t in tables for column in t.columns for cell in column.cells)


def check(parts: list[RenderableType], monkeypatch: Patch) -> None:
    """Nothing that a very wide terminal shows is lost or broken at any width."""
    wide = shown(parts, WIDE, monkeypatch)
    assert "…" not in wide.replace(", …", "").replace("… (a fraction", "").replace("holds if …", "")
    for width in WIDTHS:
        narrow = shown(parts, width, monkeypatch)
        assert not numbers(wide) - numbers(narrow), (width, narrow)
        assert not words(contents(parts)) - words(narrow), (width, narrow)


COMMANDS = (
    "analyse coins.toml",
    "analyse coins.toml --exact --rounds 5",
    "analyse coins.toml --certify",
    "analyse p1-regression --exact",
    "analyse p2-regression",
    "analyse liars-torus",
    "simulate coins.toml --rounds 100 --replicates 50",
    "simulate p1-regression --rounds 20 --replicates 5",
    "verify coins.toml",
    "design coins.toml",
    "place coins.toml --replicates 0",
    "formula star --agents 9",
    "formula list",
    "list",
)


@pytest.mark.parametrize("command", COMMANDS)
def test_no_command_cuts_a_number(command: str, tmp_path: Path, monkeypatch: Patch) -> None:
    check_command(command, tmp_path, monkeypatch)


def check_command(command: str, tmp_path: Path, monkeypatch: Patch) -> None:
    """That narrow terminals show all that a wide one does."""
    monkeypatch.chdir(tmp_path)
    Path("coins.toml").write_text(TWO_COINS)
    printed: list[RenderableType] = []
    monkeypatch.setattr("peerbayes.layout.render", lambda parts: printed.extend(parts) or "")
    assert cli.main([*command.split(), "--quiet"]) == 0
    assert printed
    check(printed, monkeypatch)


def line(**changes: Any) -> dict[str, Any]:
    return {
        "what": "all agents, the excess error after 1000 rounds", "printed": "0.0123",
        "measured": 0.012345, "standard_error": 0.0001234, "predicted": 0.01239,
        "remark": "", "holds": True, **changes,
    }  # fmt: skip


def test_tables_of_runs_that_take_long(monkeypatch: Patch) -> None:
    run = {
        "experiment": "regression-2", "title": "two nodes", "source": "P1 5.1", "replicates": 2000,
        "seed": 0, "reused": [], "lines": [line(), line(holds=None, measured=-1.234e-05)],
        "parts": [], "record": "", "report": "",
    }  # fmt: skip
    part = {
        "row": "star-mnist-1", "part": "paper a=0.5 seed 0", "state": "running", "share": 0.25,
        "seconds": 12345.0, "behaviour": "", "remark": "by process 12345",
    }  # fmt: skip
    campaign = {
        "parts": [part, {**part, "state": "done", "behaviour": "0123456789ab"}],
        "hours_left": 123.4, "version": "0.1.0", "behaviour": "0123456789ab",
        "records": "docs/experiments", "damage": [],
        "out": "peerbayes-out", "finished": [],
    }  # fmt: skip
    printed = run_parts(RunPrinted.model_validate(run))
    for parts in (printed, campaign_parts(CampaignDocument.model_validate(campaign))):
        check(parts, monkeypatch)
    for every in (False, True):
        check(verification_parts(COMPARISONS, every=every), monkeypatch)


def test_the_interval_that_was_cut(monkeypatch: Patch) -> None:
    """Where columns do not fit, rows are blocks; `14 to 23` was printed as `14 to 2`."""
    columns = ("weights", "K", "E", "modulus", "certified", "simulated")
    table = figures_table("Networks", *columns)
    table.add_row("as given", "0.1438", "0.04608", "0.3", interval([14, 23]), "34")
    assert shown([table], 40, monkeypatch) == (
        "Networks\nas given\n  K: 0.1438\n  E: 0.04608\n  modulus: 0.3\n"
        "  certified: 14 to 23\n  simulated: 34\n"
    )
    assert " 14 to 23 " in shown([table], 80, monkeypatch)


def test_thousands_stay_together(monkeypatch: Patch) -> None:
    facts = facts_table("", {"a name of some length here": "1 234 567 to 2 345 678 rounds"})
    for width in range(24, 60):
        text = shown([facts, Text("note: 9 346 713 rounds, 12 000 runs")], width, monkeypatch)
        for number in ("1 234 567", "2 345 678", "9 346 713", "12 000"):
            assert number in text, width


def test_what_is_longer_than_a_line_runs_over_its_end(monkeypatch: Patch) -> None:
    digits = "1" * 90
    for part in (Text(f"v is {digits} here"), facts_table("t", {"v": digits})):
        assert digits in shown([part], 40, monkeypatch)


def test_verdicts_keep_their_colour(monkeypatch: Patch) -> None:
    monkeypatch.setenv("COLUMNS", "30")
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    text = render(verification_parts(COMPARISONS, every=True), stream=Terminal())
    assert re.search(r"\x1b\[1;31mBROKEN", text)
