"""What this machine can do on one thread: the yardsticks of every benchmark.

What its core could do, whatever library is asked, is measured in :mod:`benchmarks.core`.

Each is measured in the run that uses it, between the contenders, since the speed of a shared or
frequency-scaled machine drifts by tens of percent.
"""

from __future__ import annotations

import json
import math
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import astuple, is_dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

# Below so many seconds a task is called several times in a row: reading the clock takes 1e-6.
SHORT = 2e-3
EMPTY: Mapping[str, str] = MappingProxyType({})


def timed(task: Callable[[], object], *, calls: int = 1) -> float:
    """CPU seconds that a call takes; waiting for a core on a shared machine does not count."""
    start = time.process_time()
    for _ in range(calls):
        task()
    return (time.process_time() - start) / calls


def interleaved(tasks: Mapping[str, Callable[[], object]], *, repeats: int) -> dict[str, float]:
    """Median CPU seconds of each task, run in turn so that all see the same weather."""
    found = turns(tasks, repeats=repeats)
    return {name: statistics.median(values) for name, values in found.items()}


def in_a_process(
    function: str, *given: object, seconds: float | None = None, settings: Mapping[str, str] = EMPTY
) -> Any:
    """What a benchmark's function returns in a fresh process with one thread, by way of JSON.

    Parameters
    ----------
    function
        Its module among the benchmarks and its name, such as ``"scale:measure_alone"``.
    given
        What it takes; a dataclass goes as the list of its values.
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
    words = [astuple(one) if is_dataclass(one) else one for one in given]  # type: ignore[arg-type]
    root = Path(__file__).parents[1]
    one_thread = {f"{library}_NUM_THREADS": "1" for library in ("OMP", "MKL", "OPENBLAS")}
    done = subprocess.run(
        [sys.executable, "-c", code, json.dumps(words)],
        capture_output=True,
        encoding="utf-8",
        cwd=root,
        env={**os.environ, **one_thread, "PYTHONPATH": str(root), **settings},
        timeout=seconds,
        check=True,
    )
    return json.loads(done.stdout.splitlines()[-1])


def spread(seconds: Mapping[str, Sequence[float]]) -> float:
    """The largest of the tasks' relative ranges: (slowest − quickest) / median."""
    return max((max(v) - min(v)) / statistics.median(v) for v in seconds.values())


def turns(tasks: Mapping[str, Callable[[], object]], *, repeats: int) -> dict[str, list[float]]:
    """CPU seconds of each task in each of its turns.

    Each is called once beforehand: that compiles, allocates and warms the caches.
    """
    first = {name: timed(task) for name, task in tasks.items()}
    calls = {
        name: math.ceil(SHORT / max(timed(task), 1e-6)) if first[name] < 10 * SHORT else 1
        for name, task in tasks.items()
    }
    seconds: dict[str, list[float]] = {name: [] for name in tasks}
    for _ in range(repeats):
        for name, task in tasks.items():
            seconds[name].append(timed(task, calls=calls[name]))
    return seconds


class MatrixProduct:
    """The matrix-product peak: two matrices large enough to hide reading them."""

    size = 1200
    flops = 2 * size**3

    def __init__(self) -> None:
        rng = np.random.default_rng(0)
        self.left = rng.random((self.size, self.size))
        self.right = rng.random((self.size, self.size))
        self.out = np.empty_like(self.left)

    def __call__(self) -> None:
        np.matmul(self.left, self.right, out=self.out)


class SinglePrecisionProduct:
    """The same peak in float32, by torch, which is what nets are trained with."""

    size = 1200
    flops = 2 * size**3

    def __init__(self) -> None:
        import torch

        generator = torch.Generator().manual_seed(0)
        self.left = torch.rand(self.size, self.size, generator=generator)
        self.right = torch.rand(self.size, self.size, generator=generator)
        self.out = torch.empty_like(self.left)

    def __call__(self) -> None:
        import torch

        torch.mm(self.left, self.right, out=self.out)


class Copy:
    """Copy bandwidth: an array like the one at hand, read once and written once."""

    def __init__(self, numbers: int) -> None:
        self.source = np.random.default_rng(0).random(numbers)
        self.target = np.empty_like(self.source)
        self.bytes = 16 * numbers

    def __call__(self) -> None:
        np.copyto(self.target, self.source)
