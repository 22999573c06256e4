"""Commands that are told to end: exit codes, one line, nobody left at work, nothing half-written.

Processes and signals are real.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from peerbayes.cli import main
from tests.peerbayes.commands import Capture, Patch, complaint

ROOT = Path(__file__).parents[2]
LONG = ("simulate", "two-coins", "--rounds", "2000", "--replicates", "9000000", "--workers", "2")
# A state is kept as soon as the workers have done anything.
EAGER = """
import sys
from exact import checkpoint, cost, parallel
cost.UNIT_SECONDS = 0.01
parallel.EVERY_SECONDS = checkpoint.EVERY_SECONDS = checkpoint.SHARE = 0
from peerbayes.cli import main
sys.argv[0] = "peerbayes"
sys.exit(main())
"""
Start = Callable[..., subprocess.Popen[str]]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Start this program in a process of its own, which leads a group."""
    started: list[subprocess.Popen[str]] = []

    def start(*arguments: str, program: tuple[str, ...] = ("-m", "peerbayes")) -> object:
        process = subprocess.Popen(
            [sys.executable, *program, *arguments], cwd=ROOT, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
            env={**os.environ, "OMP_NUM_THREADS": "1"},
        )  # fmt: skip
        started.append(process)
        return process

    yield start  # type: ignore[misc]
    for process in started:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def at_work(process: subprocess.Popen[str], out: Path) -> None:
    """Wait until workers have done something; the limit bounds a hang alone."""
    deadline = time.monotonic() + 120
    while not list(out.glob("*.checkpoint")):
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.05)


def check_ending(start: Start, out: Path, number: int, code: int, words: str | None) -> None:
    """That a command with two workers ends by a signal, and its workers with it."""
    process = start(*LONG, "--out", str(out), program=("-c", EAGER))
    at_work(process, out)
    process.send_signal(number)
    # Whoever is left at work would hold the output open.
    said, error = process.communicate(timeout=120)
    assert process.returncode == code
    assert said == ""
    if words is not None:
        assert error.splitlines()[-1] == f"peerbayes: {words}"
        assert "Traceback" not in error
    assert not list(out.glob(".*"))


@pytest.mark.parametrize(
    ("number", "code", "words"),
    [(signal.SIGTERM, 143, "terminated"), (signal.SIGHUP, 129, "terminated"),
     (signal.SIGINT, 130, "interrupted")],
)  # fmt: skip
def test_a_signal_is_an_exit_code_and_one_line(
    number: int, code: int, words: str, monkeypatch: Patch,
    capsys: Capture,
) -> None:  # fmt: skip
    """Within this process, which takes its own handlers back."""
    before = [signal.getsignal(one) for one in (signal.SIGTERM, signal.SIGHUP)]
    monkeypatch.setattr("exact.task.Task.simulate", lambda *_, **__: os.kill(os.getpid(), number))
    assert main(["simulate", "two-coins", "--quiet"]) == code
    assert capsys.readouterr() == ("", f"peerbayes: {words}\n")
    assert [signal.getsignal(one) for one in (signal.SIGTERM, signal.SIGHUP)] == before


AT_EXIT = """
import atexit, os, signal, sys
# Registered first, so that it is called last: the command is over.
atexit.register(os.kill, os.getpid(), signal.SIGINT)
sys.argv = ["peerbayes", "list"]
from peerbayes.cli import main
sys.exit(main())
"""


def test_an_interruption_at_the_end_says_nothing(start: Start) -> None:
    process = start(program=("-c", AT_EXIT))
    out, error = process.communicate(timeout=60)
    assert "two-coins" in out
    assert error == ""
    assert process.returncode == -signal.SIGINT


LEFT_BEHIND = """
import sys
sys.argv = ["peerbayes", "list"]
from peerbayes.cli import main
code = main()
# A worker that is ended between two calls has tidied up what the tracker still believes in.
from joblib.externals.loky.backend import resource_tracker
resource_tracker.register("/gone-already", "semlock")
sys.exit(code)
"""


def test_what_workers_leave_behind_is_tidied_up_without_a_word(start: Start) -> None:
    process = start(program=("-c", LEFT_BEHIND))
    out, error = process.communicate(timeout=60)
    assert "two-coins" in out
    assert error == ""


def test_a_second_signal_ends_at_once(start: Start, tmp_path: Path) -> None:
    stubborn = (
        "import os, signal, time\n"
        "from peerbayes.start import Terminated, ending_in_order\n"
        "with ending_in_order():\n"
        "    try:\n"
        "        os.kill(os.getpid(), signal.SIGTERM)\n"
        "    except Terminated:\n"
        "        os.kill(os.getpid(), signal.SIGTERM)\n"
        "        time.sleep(60)\n"
    )
    process = start(program=("-c", stubborn))
    process.communicate(timeout=30)
    assert process.returncode == -signal.SIGTERM


def test_what_is_ignored_stays_so(start: Start) -> None:
    program = (
        "import os, signal\n"
        "from peerbayes.start import ending_in_order\n"
        "signal.signal(signal.SIGHUP, signal.SIG_IGN)\n"
        "with ending_in_order():\n"
        "    os.kill(os.getpid(), signal.SIGHUP)\n"
        "assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL\n"
    )
    process = start(program=("-c", program))
    assert (process.communicate(timeout=30), process.returncode) == (("", ""), 0)


@pytest.mark.parametrize("depth", [10_000, 500_000])
def test_a_checkpoint_with_a_deep_header_is_one_line(
    depth: int, tmp_path: Path, capsys: Capture
) -> None:
    from exact.checkpoint import MAGIC

    header = b"[" * depth + b"]" * depth + b"\n"
    path = tmp_path / "simulate-two-coins-n300-r2000-s0.checkpoint"
    path.write_bytes(MAGIC + b"0" * 64 + b"\n" + header)
    words = ("--rounds", "300", "--replicates", "2000", "--resume", "--out", str(tmp_path))
    assert "expected a whole checkpoint" in complaint(capsys, "simulate", "two-coins", *words)
