"""Contenders that take turns on one thread, what this machine does at best, and whole processes.

A limit is measured in the run that uses it, between the contenders, since the speed of a shared or
frequency-scaled machine drifts by tens of percent.
"""

from __future__ import annotations

import json
import math
import os
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from benchmarks.tables import Options

Task = Callable[[], object]
Clock = Callable[[], float]
# Below so many seconds a task is called several times in a row: reading the clock takes 1e-6.
# Beyond so many its first call counts: what it compiles and allocates is little beside it.
SHORT, LONG = 2e-3, 5.0
MIB = 1 << 20
# Units of time, by the columns of tables.
SCALES = {"ms": ("milliseconds", 1e3), "s": ("s", 1.0)}
_EMPTY: Mapping[str, Any] = MappingProxyType({})
_HOME = Path(__file__).parents[1]


def timed(task: Task, *, calls: int = 1, clock: Clock = time.process_time) -> float:
    """Seconds that a call takes; of the CPU, waiting for a core on a shared machine left out."""
    start = clock()
    for _ in range(calls):
        task()
    return (clock() - start) / calls


def children() -> float:
    """CPU seconds, user and system, of the processes that this one has waited for."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


# Turns ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Contest:
    """What contenders took in each of their turns, seconds, and what their last calls returned.

    Attributes
    ----------
    turns, answers
        By contender.
    work
        Operations or bytes of what was compared; of interest where a limit was measured too.
    columns
        Of the table that is to be filled.
    """

    turns: dict[str, list[float]]
    answers: dict[str, Any]
    work: float
    columns: Collection[str]

    @property
    def seconds(self) -> dict[str, float]:
        """Medians."""
        return {name: statistics.median(values) for name, values in self.turns.items()}

    def row(self, **more: Any) -> dict[str, Any]:
        """The table's columns about these times, and other numbers (:func:`row_of`)."""
        if "limit rate" in self.columns:  # 10⁹ operations or bytes a second
            more = {"limit_rate": self.work / self.seconds["limit"] / 1e9, **more}
        return row_of(self.columns, self.seconds, **more)

    def spread(self, *names: str) -> float:
        """The largest of the relative ranges, (slowest − quickest) / median; of all or some."""
        turns = [self.turns[name] for name in names or self.turns]
        return max((max(v) - min(v)) / statistics.median(v) for v in turns)


def row_of(columns: Collection[str], seconds: Mapping[str, float], **more: Any) -> dict[str, Any]:
    """What the columns of a table ask for, of seconds by contender and of more numbers.

    A column ``name (unit)`` is the contender's time in ``ms`` or ``s``; ``times`` another's; a
    ``share``, the time of ``limit`` over its own; or what `more` has for that unit, by name. None
    stands for those that did not take part. What is no dictionary in `more` is taken over.
    """
    row = {key: value for key, value in more.items() if not isinstance(value, Mapping)}
    for column in columns:
        name, _, unit = column.removesuffix(")").rpartition(" (")
        key, own, base = unit.replace(" ", "_"), seconds.get(name), unit.removeprefix("times ")
        if key in more and name:
            row.setdefault(key, {})[name] = more[key].get(name)
        elif unit in SCALES:
            key, scale = SCALES[unit]
            row.setdefault(key, {})[name] = None if own is None else scale * own
        elif base != unit and base in seconds:
            row.setdefault(unit, {})[name] = None if own is None else own / seconds[base]
        elif unit == "share" and own is not None:
            row[f"{name}_share"] = seconds["limit"] / own
    return row


def contest(
    how: Options, tasks: Mapping[str, Task], *, per: Mapping[str, float] = _EMPTY,
    limit: Limit | None = None, work: float = math.nan, clock: Clock = time.process_time,
) -> Contest:  # fmt: skip
    """Let contenders take turns, so that all see the same weather.

    Each is called once beforehand: that compiles, allocates and warms the caches. Where it takes
    long, that was its first turn.

    Parameters
    ----------
    per
        By how much what a call takes is divided, such as the rounds it goes through; 1 if not said.
    limit, work
        Takes part as ``limit``; its time is what `work` operations or bytes take at its rate.
    clock
        In seconds.
    """
    if limit is not None:
        tasks, per = {"limit": limit.task, **tasks}, {"limit": limit.work / work, **per}
    answers: dict[str, Any] = {}

    def call(name: str) -> None:
        answers[name] = tasks[name]()

    calls = {name: partial(call, name) for name in tasks}
    first = {name: timed(task, clock=clock) for name, task in calls.items()}
    times = {
        name: math.ceil(SHORT / max(timed(task, clock=clock), 1e-6))
        if first[name] < 10 * SHORT else 1
        for name, task in calls.items()
    }  # fmt: skip
    turns = {name: [one / per.get(name, 1.0)] * (one > LONG) for name, one in first.items()}
    for turn in range(1, how.repeats + 1):
        for name, task in calls.items():
            if len(turns[name]) < turn:
                taken = timed(task, calls=times[name], clock=clock)
                turns[name].append(taken / per.get(name, 1.0))
    return Contest(turns, answers, work, how.columns)


# Limits ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Limit:
    """Something that a machine does as quickly as it can: a call, and its operations or bytes."""

    task: Task
    work: float


def matrix_product() -> Limit:
    """The peak of a product: two matrices large enough to hide reading them."""
    left, right = np.random.default_rng(0).random((2, 1200, 1200))
    out = np.empty_like(left)
    return Limit(lambda: np.matmul(left, right, out=out), 2.0 * 1200**3)


def single_product() -> Limit:
    """The same peak in float32, by torch, which is what nets are trained with."""
    import torch

    left, right = torch.rand(2, 1200, 1200)
    out = torch.empty_like(left)
    return Limit(lambda: torch.mm(left, right, out=out), 2.0 * 1200**3)


def copy(numbers: int) -> Limit:
    """Copy bandwidth: an array like the one at hand, read once and written once."""
    source = np.random.default_rng(0).random(numbers)
    target = np.empty_like(source)
    return Limit(lambda: np.copyto(target, source), 16.0 * numbers)


# Processes ------------------------------------------------------------------------------------


def in_a_process(
    function: str, *given: object, seconds: float | None = None,
    settings: Mapping[str, str] = _EMPTY,
) -> Any:  # fmt: skip
    """What a benchmark's function returns in a fresh process with one thread, by way of JSON.

    Parameters
    ----------
    function
        Its module among the benchmarks and its name, such as ``"scale:alone"``.
    given
        What it takes.
    seconds
        After which it is given up; None: never.
    settings
        Variables of its environment.

    Raises
    ------
    subprocess.SubprocessError
        If it is given up, or fails.
    """
    module, _, name = function.partition(":")
    code = (
        "import json, sys; from threadpoolctl import threadpool_limits\n"
        f"from benchmarks.{module} import {name} as function\n"
        "with threadpool_limits(1): found = function(*json.loads(sys.argv[1]))\n"
        "print(json.dumps(found))"
    )
    one_thread = {f"{library}_NUM_THREADS": "1" for library in ("OMP", "MKL", "OPENBLAS")}
    done = subprocess.run(
        [sys.executable, "-c", code, json.dumps(given)],
        capture_output=True, encoding="utf-8", cwd=_HOME, timeout=seconds, check=True,
        env={**os.environ, **one_thread, "PYTHONPATH": str(_HOME), **settings},
    )  # fmt: skip
    return json.loads(done.stdout.splitlines()[-1])


def grown(task: Task) -> tuple[float, int]:
    """CPU seconds of a call, and by how many bytes this process has grown at its peak."""

    def resident(what: str) -> int:
        (line,) = (s for s in Path("/proc/self/status").read_text().splitlines() if what in s)
        return 1024 * int(line.split()[1])

    with suppress(OSError):  # else the peak is that of all before
        Path("/proc/self/clear_refs").write_text("5")
    before = resident("VmRSS")
    seconds = timed(task)
    return seconds, max(0, resident("VmHWM") - before)


def family_seconds(root: int) -> float:
    """CPU seconds of a process and of all below it, those that live and those waited for."""
    stats = {}
    for file in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):  # it has ended
            # After the name, which may hold anything: state, parent, ..., ticks of its own and of
            # those that it waited for.
            fields = file.read_text().rpartition(")")[2].split()
            stats[int(file.parent.name)] = (int(fields[1]), sum(map(int, fields[11:15])))
    family, before = {root}, 0
    while len(family) > before:
        before = len(family)
        family |= {pid for pid, (parent, _) in stats.items() if parent in family}
    return sum(stats[pid][1] for pid in family if pid in stats) / os.sysconf("SC_CLK_TCK")
