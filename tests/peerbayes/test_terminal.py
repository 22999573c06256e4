"""Nothing that a name holds acts on the terminal; streams that are closed are said so in a line."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.text import Text

from peerbayes import cli
from peerbayes.tables import figures_table, render
from peerbayes.terminal import Stages, visible
from tests.peerbayes.commands import Capture, Terminal, text_of
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
