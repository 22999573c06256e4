"""What this machine can do on one thread: the yardsticks of every benchmark.

What its core could do, whatever library is asked, is measured in :mod:`benchmarks.core`.

Each is measured in the run that uses it, between the contenders, since the speed of a shared or
frequency-scaled machine drifts by tens of percent.
"""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Mapping, Sequence

import numpy as np

# Below so many seconds a task is called several times in a row: reading the clock takes 1e-6.
SHORT = 2e-3


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
