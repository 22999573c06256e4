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

ROOT = Path(__file__).parents[2]
LONG = ("simulate", "p2-star", "--rounds", "2000", "--replicates", "200000", "--workers", "2")
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


def children(pid: int) -> list[int]:
    """The processes that a process has started."""
    listing = subprocess.run(["ps", "-A", "-o", "pid=,ppid="], capture_output=True, text=True)
    pairs = [line.split() for line in listing.stdout.splitlines()]
    return [int(one) for one, parent in pairs if int(parent) == pid]


def at_work(process: subprocess.Popen[str], *, workers: int = 2) -> None:
    """Wait until the process has started its workers."""
    deadline = time.monotonic() + 120
    # Besides them there are joblib's and Python's trackers of resources.
    while len(children(process.pid)) < workers + 2:
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.05)
    time.sleep(1.0)


@pytest.mark.parametrize(
    ("number", "code", "words"),
    [
        (signal.SIGTERM, 143, "terminated"),
        (signal.SIGHUP, 129, "terminated"),
        (signal.SIGINT, 130, "interrupted"),
        (signal.SIGKILL, -9, None),
    ],
    ids=["SIGTERM", "SIGHUP", "SIGINT", "SIGKILL"],
)
def test_nobody_is_left_at_work(
    number: int, code: int, words: str | None, start: Start, tmp_path: Path
) -> None:
    process = start(*LONG, "--out", str(tmp_path))
    at_work(process)
    process.send_signal(number)
    # Whoever is left at work would hold the output open.
    out, error = process.communicate(timeout=60)
    assert process.returncode == code
    assert out == ""
    if words is not None:
        assert error.splitlines()[-1] == f"peerbayes: {words}"
        assert "Traceback" not in error
    assert not list(tmp_path.glob(".*"))


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
        "from peerbayes.signals import Terminated, ending_in_order\n"
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
        "from peerbayes.signals import ending_in_order\n"
        "signal.signal(signal.SIGHUP, signal.SIG_IGN)\n"
        "with ending_in_order():\n"
        "    os.kill(os.getpid(), signal.SIGHUP)\n"
        "assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL\n"
    )
    process = start(program=("-c", program))
    assert (process.communicate(timeout=30), process.returncode) == (("", ""), 0)


def test_a_checkpoint_with_a_deep_header_is_one_line(start: Start, tmp_path: Path) -> None:
    from exact.checkpoint import MAGIC

    name = "simulate-two-coins-n300-r2000-s0"
    for depth in (10_000, 500_000):
        header = b"[" * depth + b"]" * depth + b"\n"
        (tmp_path / f"{name}.checkpoint").write_bytes(MAGIC + b"0" * 64 + b"\n" + header)
        process = start(
            "simulate", "two-coins", "--rounds", "300", "--replicates", "2000", "--resume",
            "--quiet", "--out", str(tmp_path),
        )  # fmt: skip
        out, error = process.communicate(timeout=60)
        assert (process.returncode, out) == (2, "")
        (line,) = error.splitlines()
        assert "expected a whole checkpoint" in line
