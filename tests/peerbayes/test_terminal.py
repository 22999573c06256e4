"""What is shown on a terminal: names in which nothing acts, streams, progress, tables of any width.

Nothing that a name holds acts on the terminal. Streams that are closed are said so in a line.
Progress goes to standard error: bars on a terminal, a line a stage elsewhere, or nothing. On a
narrow terminal every number and every short word of a wide one is there, whole.
"""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import sys
import unicodedata
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from peerbayes import cli
from peerbayes.experiments.campaign import campaign_parts
from peerbayes.experiments.campaign_plan import CampaignDocument
from peerbayes.experiments.experiment import RunPrinted
from peerbayes.experiments.run import run_parts
from peerbayes.front.verify import verification_parts
from peerbayes.tables import facts_table, figures_table, interval, render
from peerbayes.terminal import Stages, visible
from tests.peerbayes.commands import Capture, Patch, Terminal, text_of
from tests.peerbayes.documents import TWO_COINS
from tests.peerbayes.test_cli import COMPARISONS
from tests.peerbayes.test_record_names import COINS

ROOT = Path(__file__).parents[2]
# Red; a link; the title of the window; upwards; clear, by one character; backwards; a mark.
NASTY = "\x1b[31mred\x1b]8;;http://e.vil\x1b\\x\x1b]0;t\x07\x1b[1A\x9b2J\u202egnp\u2066\u200e\x7f"


def acting(text: str) -> set[str]:
    """The characters of a text that act."""
    return {
        c
        for c in text
        if unicodedata.category(c) in ("Cc", "Cf", "Cs", "Zl", "Zp") and c not in "\n\t"
    }


@given(st.text())
def test_what_is_visible_does_not_act(text: str) -> None:
    shown = visible(text)
    assert not acting(shown)
    assert visible(shown) == shown
    if not acting(text):
        assert shown == text


def test_escapes_say_what_they_stand_for() -> None:
    assert visible("a\x1b[0m\x9b\u202e\u2066\ud800\r\u2028") == (
        r"a\x1b[0m\x9b\u202e\u2066\ud800\r\u2028"
    )
    assert visible("硬币\tü\n") == "硬币\tü\n"


def test_tables_keep_their_own_styles_alone() -> None:
    table = figures_table(NASTY, NASTY, "b")
    table.add_row(Text(NASTY, style="bold red"), "1")
    plain = render([table, Text(NASTY)], stream=io.StringIO())
    assert not acting(plain)
    # The first column is folded, so that the escape may be cut in two.
    assert "\\x1b[31mred" in plain.replace("\n", "")
    coloured = render([Text("x", style="bold red"), Text(NASTY)], stream=Terminal())
    assert "\x1b[1;31mx\x1b[0m" in coloured
    assert not acting(coloured.replace("\x1b[1;31mx\x1b[0m", ""))


def test_progress_shows_no_name_raw() -> None:
    for stream in (io.StringIO(), Terminal()):
        with Stages(stream=stream) as stages:
            report = stages(f"{NASTY}: simulate")
            report(1, 2)
            getattr(report, "say")(NASTY)  # noqa: B009
            report(2, 2)
        text = stream.getvalue()
        assert "\u202e" not in text
        assert "\x1b[31mred" not in text
        assert "\x1b]" not in text


@pytest.fixture
def nasty(tmp_path: Path) -> Path:
    """A problem whose name and hypotheses are nasty, in a file with such a name."""
    text = COINS.format(name=json.dumps(NASTY)).replace('"fair"', json.dumps(NASTY + "fair"))
    path = tmp_path / "na\x1b[31m\u202ety.toml"
    path.write_text(text.replace("\\u007f", "").replace("\x7f", "\\u007f"), encoding="utf-8")
    return path


COMMANDS = [
    ("analyse",),
    ("analyse", "--certify"),
    ("simulate", "--rounds", "5", "--replicates", "5"),
    ("verify",),
    ("design", "--replicates", "0"),
    ("place", "--replicates", "0"),
]


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_no_command_shows_a_name_raw(
    command: tuple[str, ...], nasty: Path, tmp_path: Path, capsys: Capture
) -> None:
    out = tmp_path / "out\x1b[2J"
    assert cli.main([command[0], str(nasty), *command[1:], "--out", str(out)]) == 0
    said = capsys.readouterr()
    assert not acting(said.out + said.err)
    assert "\\x1b[31m" in (said.out + said.err).replace("\n", "")
    for page in out.glob("*.html"):
        assert not acting(page.read_text(encoding="utf-8"))
    # JSON holds the name itself, in escapes.
    text = text_of(capsys, [command[0], str(nasty), *command[1:], "--out", str(out), "--json"])
    assert not acting(text) - {"\x7f"}
    assert "\\u202e" in text


@pytest.mark.parametrize(
    "arguments",
    [
        ("analyse", f"no{NASTY}.toml"),
        ("analyse", f"no{NASTY}"),
        ("run", f"no{NASTY}"),
        ("report", f"no{NASTY}.json"),
        ("simulate", "two-coins", "--rounds", NASTY),
        ("simulate", "two-coins", f"--{NASTY}"),
        (NASTY,),
    ],
    ids=range(7),
)
def test_no_message_shows_a_name_raw(arguments: tuple[str, ...], capsys: Capture) -> None:
    assert cli.main(list(arguments)) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert not acting(said.err)
    assert len(said.err.splitlines()) == 1


# Streams ------------------------------------------------------------------------------------------


def shell(line: str) -> subprocess.CompletedProcess[str]:
    """Run a line in a shell, `peerbayes` standing for this program."""
    program = f"'{sys.executable}' -m peerbayes"
    return subprocess.run(
        ["sh", "-c", line.replace("peerbayes", program, 1)],
        cwd=ROOT, capture_output=True, text=True, check=False, env={**os.environ},
    )  # fmt: skip


@pytest.mark.parametrize(
    "command", ["list", "--help", "list --json", "analyse two-coins", "nonsense"]
)
def test_a_closed_output_is_one_line(command: str) -> None:
    ended = shell(f"peerbayes {command} >&-")
    assert ended.returncode == 2
    assert ended.stderr == (
        "peerbayes: standard output: expected an open stream, got a closed one; leave it open, "
        "or send it to a file or to the null device\n"
    )


def check_closed(closed: str, out: Path) -> None:
    """That a simulation ends well with these streams closed."""
    run = f"simulate two-coins --rounds 5 --replicates 5 --out '{out}'"
    ended = shell(f"peerbayes {run} {closed}")
    assert ended.returncode == 0
    assert "two-coins" in ended.stdout
    # Nothing that was meant for the closed stream has gone into the record.
    (record,) = out.iterdir()
    assert json.loads(record.read_text())["format"] == "peerbayes-record"


def test_closed_errors_and_input_are_no_obstacle(tmp_path: Path) -> None:
    check_closed("<&- 2>&-", tmp_path)
    assert shell("peerbayes list >&- 2>&-").returncode == 2


def check_full(command: str) -> None:
    """That a full disk behind the output of this command is said in one line."""
    ended = shell(f"peerbayes {command} >/dev/full")
    assert ended.returncode == 2
    (line,) = ended.stderr.splitlines()
    assert "standard output: expected a stream that can be written, got no space" in line


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
def test_a_full_disk_behind_the_output_is_one_line() -> None:
    check_full("list --json")


def test_a_reader_that_goes_away_is_no_error() -> None:
    ended = shell("peerbayes list --json | head -c 10")
    assert ended.stderr == ""


# Progress ----------------------------------------------------------------------------------------


def run(stream: io.StringIO, *, quiet: bool = False) -> str:
    with Stages(quiet=quiet, stream=stream) as stages:
        first, second, never = stages("first [x]"), stages("second"), stages("never")
        for done in range(1, 11):
            first(done, 10)
        second(1, 2)
        second(2, 2)
        second(2, 2)
    del never
    return stream.getvalue()


def test_elsewhere_one_line_a_finished_stage() -> None:
    lines = run(io.StringIO()).splitlines()
    assert len(lines) == 2
    assert lines[0].startswith("first [x]: done (")
    assert lines[1].startswith("second: done (")


def test_an_unfinished_stage_says_nothing() -> None:
    stream = io.StringIO()
    with Stages(stream=stream) as stages:
        stages("half")(1, 2)
    assert stream.getvalue() == ""


def test_quiet_says_nothing() -> None:
    assert run(io.StringIO(), quiet=True) == ""
    assert run(Terminal(), quiet=True) == ""


def test_bars_on_a_terminal() -> None:
    text = run(Terminal())
    assert "first [x]" in text
    assert "100 %" in text
    assert "never" not in text


def test_standard_error_is_the_default(capsys: Capture) -> None:
    with Stages() as stages:
        stages("stage")(1, 1)
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("stage: done (")


def test_an_error_takes_the_bars_down() -> None:
    stream = Terminal()

    def fail() -> None:
        with Stages(stream=stream) as stages:
            stages("stage")(1, 2)
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    # Rich hides the cursor while bars are shown, and brings it back.
    assert stream.getvalue().rstrip("\n").endswith("\x1b[?25h")


# Narrow terminals --------------------------------------------------------------------------------

WIDTHS = (40, 60, 80)
WIDE = 4000


def shown(parts: list[RenderableType], width: int, monkeypatch: Patch) -> str:
    """What a terminal of this width shows."""
    monkeypatch.setenv("COLUMNS", str(width))
    return re.sub(r"\x1b\[[0-9;]*m", "", render(parts, stream=Terminal()))


def numbers(text: str) -> Counter[str]:
    """Every laid of digits with its sign, point, exponent, and the blanks between thousands."""
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


LAID_OUT = (
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


@pytest.mark.parametrize("command", LAID_OUT)
def test_no_command_cuts_a_number(command: str, tmp_path: Path, monkeypatch: Patch) -> None:
    check_command(command, tmp_path, monkeypatch)


def check_command(command: str, tmp_path: Path, monkeypatch: Patch) -> None:
    """That narrow terminals show all that a wide one does."""
    monkeypatch.chdir(tmp_path)
    Path("coins.toml").write_text(TWO_COINS)
    printed: list[RenderableType] = []
    monkeypatch.setattr("peerbayes.tables.render", lambda parts: printed.extend(parts) or "")
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
    laid = {
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
    printed = run_parts(RunPrinted.model_validate(laid))
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
