"""What whole commands cost, as multiples of an empty Python start.

Each command runs in an interpreter of its own, in turn with ``python -c pass``. Times are CPU
seconds, start-up included. Bytecode and compiled kernels are read from their caches: the first run
of a command fills them and does not count.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from statistics import median

from benchmarks.tables import Options, Row

EMPTY = ("-c", "pass")
COMMANDS = ("list", "analyse two-coins", "design p2-star", "place p2-grid")
QUICK = ("list",)
# An empty start takes a hundredth of a second, of which the clock sees steps: many are timed.
_EMPTY_STARTS = 20
_HOME = Path(__file__).parents[1]


def spent(words: Sequence[str], *, folder: str, times: int = 1) -> float:
    """CPU seconds, user and system, of one run of the interpreter with these arguments."""
    # As installed: from bytecode.
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    environment["PYTHONPATH"] = str(_HOME)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    for _ in range(times):
        done = subprocess.run(
            [sys.executable, *words],
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise RuntimeError(f"python {' '.join(words)}: {done.stderr.strip()}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) / times


def measure(commands: Sequence[str], *, repeats: int) -> list[Row]:
    """Each command beside empty starts, in turn; the first run of a command does not count."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for command in commands:
            words = ("-m", "peerbayes", *command.split(), "--json", "--quiet")
            spent(words, folder=folder)
            pairs = [
                (
                    spent(EMPTY, folder=folder, times=_EMPTY_STARTS),
                    spent(words, folder=folder),
                )
                for _ in range(repeats)
            ]
            empty, own = (median(seconds) for seconds in zip(*pairs, strict=True))
            milliseconds = {"command": 1e3 * own, "empty start": 1e3 * empty}
            rows.append({"command": command, "milliseconds": milliseconds, "starts": own / empty})
    return rows


def rows(how: Options) -> Sequence[Row]:
    """The tables."""
    return measure(QUICK if how.quick else COMMANDS, repeats=how.repeats)
