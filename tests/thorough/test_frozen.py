"""The script that freezes outputs, in processes: equal goldens however many, and an end at once."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).parents[2]


def script(*words: str) -> subprocess.Popen[str]:
    """Start the script; it is alone in its session, so that Ctrl-C is for it alone."""
    return subprocess.Popen(
        [sys.executable, "-m", "tests.frozen", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        cwd=ROOT,
        start_new_session=True,
    )


def test_one_process_and_two_make_the_same_bytes(tmp_path: Path) -> None:
    for workers in ("1", "2"):
        words = ("--only", "formula *", "--workers", workers, "--folder", str(tmp_path / workers))
        running = script("make", *words)
        said, _ = running.communicate(timeout=300)
        assert running.returncode == 0, said
    one, two = (tmp_path / workers / "commands.jsonl.gz" for workers in ("1", "2"))
    assert one.read_bytes() == two.read_bytes()


def test_control_c_ends_everything_within_a_second(tmp_path: Path) -> None:
    running = script("make", "--only", "certificates", "--folder", str(tmp_path / "outputs"))
    assert running.stdout is not None
    assert "CPU min" in running.stdout.readline()  # cases run
    began = time.monotonic()
    os.killpg(running.pid, signal.SIGINT)
    said, _ = running.communicate(timeout=60)  # it ends when no process has its output any more
    assert time.monotonic() - began < 1.0
    assert running.returncode == 130, said
    assert said.splitlines()[-1] == "interrupted"
    assert not (tmp_path / "outputs").exists()
