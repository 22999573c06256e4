"""A step of the nets of `gae`, all nodes: rows of one tensor, against modules one by one.

Convolutions of 32 and 64 channels, max-pool, dropout and three dense layers, 613 514 weights each;
gradient and Adam, random images, float32 unless said otherwise.

CPU seconds on one thread. And, by the clock, how many times quicker `stacked` is by two threads
that share the nodes.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from benchmarks.limits import SinglePrecisionProduct, spread, turns
from benchmarks.tables import Options, Row
from empirical.data import Images
from empirical.gae.net import Passes, begin, initial, side_by_side, step
from empirical.gae.recipe import Recipe
from empirical.nets.threads import one_thread

# Multiplications of an image: forward, by the weights, and by the inputs of all but the first.
_FIRST, _REST = 26 * 26 * 9 * 32, 24 * 24 * 288 * 64 + 9216 * 64 + 64 * 64 + 640
_DROPOUT = 0.25


@dataclass(frozen=True)
class Size:
    """One line of the table."""

    nodes: int
    batch: int

    @property
    def name(self) -> str:
        return f"{self.nodes} nodes, batch {self.batch}"


SIZES = (Size(16, 64), Size(16, 256), Size(2, 2048))
TOY_SIZES = (Size(2, 4),)


def module() -> nn.Sequential:
    return nn.Sequential(
        nn.Conv2d(1, 32, 3), nn.ReLU(), nn.Conv2d(32, 64, 3), nn.ReLU(), nn.MaxPool2d(2),
        nn.Dropout(_DROPOUT), nn.Flatten(), nn.Linear(9216, 64), nn.ReLU(), nn.Linear(64, 64),
        nn.ReLU(), nn.Linear(64, 10),
    )  # fmt: skip


class Stacked:
    """All nodes as `gae` trains them."""

    def __init__(self, size: Size, images: Images) -> None:
        self.passes, self.size = Passes(images), size
        self.state = begin(initial(np.random.default_rng(0)).repeat(size.nodes, 1))
        self.random = [np.random.Generator(np.random.SFC64(node)) for node in range(size.nodes)]
        self.rows = np.arange(size.nodes * size.batch).reshape(size.nodes, size.batch)

    def __call__(self, workers: int = 1) -> None:
        side_by_side(self.one, range(self.size.nodes), workers=workers)

    def one(self, node: int) -> None:
        rows, random = self.rows[node], self.random[node]
        _, found = self.passes.gradient(
            self.state["weights"][node], torch.from_numpy(rows), _DROPOUT, random
        )
        step(self.state, node, found, Recipe())

    def gain(self, repeats: int) -> float:
        """How many times quicker two threads are than one, by the clock."""
        taken: dict[int, list[float]] = {1: [], 2: []}
        for _ in range(repeats):
            for workers, seconds in taken.items():
                start = time.perf_counter()
                self(workers)
                seconds.append(time.perf_counter() - start)
        return statistics.median(taken[1]) / statistics.median(taken[2])


class Loop:
    """Module after module."""

    def __init__(
        self, size: Size, inputs: Tensor, labels: Tensor, *, last: bool, bf16: bool
    ) -> None:
        memory = torch.channels_last if last else torch.contiguous_format
        self.nets = [module().to(memory_format=memory) for _ in range(size.nodes)]
        self.optimisers = [torch.optim.Adam(net.parameters()) for net in self.nets]
        shaped = inputs.view(size.nodes, size.batch, 1, 28, 28)
        self.data = list(zip(shaped, labels.view(size.nodes, -1), strict=True))
        self.bf16 = bf16

    def __call__(self) -> None:
        for net, optimiser, (inputs, labels) in zip(
            self.nets, self.optimisers, self.data, strict=True
        ):
            optimiser.zero_grad()
            with torch.autocast("cpu", dtype=torch.bfloat16, enabled=self.bf16):
                loss = nn.functional.cross_entropy(net(inputs), labels)
            loss.backward()
            optimiser.step()


def measure(size: Size, *, repeats: int) -> dict[str, Any]:
    random, count = np.random.default_rng(0), size.nodes * size.batch
    pixels = random.integers(0, 256, (count, 28, 28)) * (random.random((count, 28, 28)) < 0.2)
    images = Images(pixels, random.integers(0, 10, count), "random", tuple("0123456789"))
    inputs = torch.from_numpy(images.pixels.astype(np.float32) / 255)
    labels = torch.tensor(images.labels)
    limit, stacked = SinglePrecisionProduct(), Stacked(size, images)
    tasks: dict[str, Callable[[], object]] = {
        "limit": limit,
        "stacked": stacked,
        "loop": Loop(size, inputs, labels, last=False, bf16=False),
        "channels last": Loop(size, inputs, labels, last=True, bf16=False),
        "channels last, bf16": Loop(size, inputs, labels, last=True, bf16=True),
    }
    found = turns(tasks, repeats=repeats)
    seconds = {name: statistics.median(values) for name, values in found.items()}
    rate = limit.flops / seconds["limit"]
    needed = 2.0 * count * (2 * _FIRST + 3 * _REST) / rate
    others = ("loop", "channels last", "channels last, bf16")
    return {
        "size": size.name,
        "limit rate": rate / 1e9,
        "milliseconds": {
            "limit": 1e3 * needed,
            "stacked": 1e3 * seconds["stacked"],
            **{name: 1e3 * seconds[name] for name in others},
        },
        "times stacked": {name: seconds[name] / seconds["stacked"] for name in others},
        "two threads": stacked.gain(repeats),
        "spread_share": spread(found),
    }


def rows(how: Options) -> Sequence[Row]:
    """The tables."""
    with one_thread():
        return [measure(s, repeats=how.repeats) for s in (TOY_SIZES if how.quick else SIZES)]
