"""Progress goes to standard error: bars on a terminal, a line a stage elsewhere, or nothing."""

from __future__ import annotations

import io

import pytest

from peerbayes.terminal import Stages
from tests.peerbayes.commands import Capture, Terminal


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
