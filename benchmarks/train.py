"""A local step of each learner against a plain loop of torch, and what it is made of.

784-200-200-10, batch 50, one thread. Three tables:

``steps``     per agent and step: the papers' engine and the training package's learners; the step's
              matrix products at the rate of the fastest accurate float32 product (``limit``); and a
              plain loop, agent after agent, with torch's own products and with the fastest of equal
              accuracy. The plain loop of a Bayesian learner is a module a layer with torch's
              distributions, autograd and Adam; that of the others, and of natural gradient, is
              ``torch.nn.Sequential`` with a fused optimiser, deterministic
``products``  GFLOP/s by shape: torch's three, and the compiled one
``noise``     200 000 normals, drawn by torch and by counter
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from benchmarks.limits import SinglePrecisionProduct, interleaved, spread, turns
from benchmarks.nets import BATCH, RATE, STD, Batches, Loop, Size, data, operations
from benchmarks.tables import Options, Row
from empirical.kernels.noise import Noise, keys
from empirical.kernels.product import product
from empirical.kernels.products import chosen, products
from empirical.likelihoods.laws import Classes
from empirical.nets.shares import Shares
from empirical.train.kernel_net import KernelNet
from empirical.train.learners import learner_of
from empirical.train.recipe import Recipe
from empirical.train.run import TrainingRun
from theory import Network

LOCAL_STEPS = 20
SIZES = (Size(1), Size(9), Size(100))
TOY_SIZES = (Size(3, inputs=12, hidden=6),)
LEARNERS = ("natural-gradient", "sites", "averaging", "averaging-adam")
# Agents of a plain loop at most: each takes as long as the others.
LOOPED = 9
NORMALS = 200_000
# Rows, columns and inner index of the step's products.
SHAPES = ((50, 200, 784), (784, 200, 50), (50, 200, 200), (200, 200, 50), (50, 10, 200))


# Contenders -----------------------------------------------------------------------------------


class PlainNets:
    """Agent after agent: a module, autograd, and a fused optimiser."""

    def __init__(self, size: Size, shares: Shares, *, adam: bool) -> None:
        self.batches = Batches(shares)
        inputs, hidden = size.inputs, size.hidden
        self.nets = [
            torch.nn.Sequential(
                torch.nn.Linear(inputs, hidden),
                torch.nn.ReLU(),
                torch.nn.Linear(hidden, hidden),
                torch.nn.ReLU(),
                torch.nn.Linear(hidden, 10),
            )
            for _ in range(shares.agents)
        ]
        kind: Any = torch.optim.Adam if adam else torch.optim.SGD
        settings = {} if adam else {"momentum": 0.9}
        self.optimisers = [
            kind(net.parameters(), lr=RATE, fused=True, **settings) for net in self.nets
        ]

    def __call__(self) -> None:
        rows, shares = self.batches.rows(), self.batches.shares
        for net, optimiser, own in zip(self.nets, self.optimisers, rows, strict=True):
            optimiser.zero_grad()
            outputs = net(shares.inputs[own])
            torch.nn.functional.cross_entropy(outputs, shares.labels[own]).backward()
            optimiser.step()


def papers(size: Size, shares: Shares) -> Callable[[], object]:
    """All local steps of a round, as the papers' experiments take them."""
    recipe = Recipe(
        rounds=10**6,
        local_steps=LOCAL_STEPS,
        batch=BATCH,
        initial_std=STD,
        mean_rate=RATE,
        scale_rate=RATE,
    )
    net = size.architecture
    return recipe.training(shares, network(size), architecture=net, seed=0).local_phase


def learner(name: str, size: Size, shares: Shares) -> Callable[[], object]:
    """A round of the training package, its consensus included."""
    run = TrainingRun(
        KernelNet(size.architecture),
        Classes(10),
        shares,
        network(size),
        learner_of(name, rate=RATE),
        rounds=10**6,
        local_steps=LOCAL_STEPS,
        batch=BATCH,
        seed=0,
    )
    return run.run_round


def network(size: Size) -> Network:
    """A ring, or one agent alone."""
    if size.agents == 1:
        return Network([[1.0]])
    return Network.from_topology("ring", agents=size.agents)


def by(choice: str, task: Callable[[], object]) -> Callable[[], object]:
    """The same task with torch's products chosen."""

    def run() -> None:
        with products(choice):
            task()

    return run


# Tables ---------------------------------------------------------------------------------------


def steps(size: Size, rate: float, *, repeats: int) -> list[Row]:
    """The table of steps for one number of agents; `rate` in operations a second."""
    torch.manual_seed(0)
    shares = data(size)
    few = Size(min(size.agents, LOOPED), size.inputs, size.hidden)
    some = shares.of(range(few.agents))
    fast = chosen("auto")
    loops: dict[str, Callable[[], object]] = {
        "bayes": Loop(few, some),
        "adam": PlainNets(few, some, adam=True),
        "sgd": PlainNets(few, some, adam=False),
    }
    tasks = {f"{name} plain": by("highest", task) for name, task in loops.items()}
    tasks |= {f"{name} fast": by(fast, task) for name, task in loops.items()}
    tasks["papers"] = papers(size, shares)
    tasks |= {name: learner(name, size, shares) for name in LEARNERS}
    found = turns(tasks, repeats=repeats)
    seconds = {name: statistics.median(values) for name, values in found.items()}
    rows: list[Row] = []
    for name in ("papers", *LEARNERS):
        plain = {"papers": "bayes", "averaging": "sgd"}.get(name, "adam")
        engine = seconds[name] / LOCAL_STEPS / size.agents
        work = operations(size) if name == "papers" else operations(size) / 2
        plains = {
            "plain": seconds[f"{plain} plain"] / few.agents,
            "fast plain": seconds[f"{plain} fast"] / few.agents,
        }
        rows.append(
            {
                "part": "steps",
                "agents": size.agents,
                "learner": name,
                "engine_share": work / rate / engine,
                "milliseconds": {
                    "limit": 1e3 * work / rate,
                    "engine": 1e3 * engine,
                    **{key: 1e3 * value for key, value in plains.items()},
                },
                "times engine": {key: value / engine for key, value in plains.items()},
                "spread_share": spread({name: found[name]}),
            }
        )
    return rows


def rates(*, repeats: int) -> tuple[list[Row], float]:
    """The table of products, and the rate of the fastest accurate one in operations a second."""
    peak = SinglePrecisionProduct()
    half = [values.bfloat16() for values in (peak.left, peak.right)]
    tasks: dict[str, Callable[[], object]] = {
        "highest": by("highest", peak),
        "medium": by("medium", peak),
        "bfloat16": lambda: torch.mm(half[0], half[1]),
        "compiled": Compiled(1200, 1200, 1200),
    }
    seconds = interleaved(tasks, repeats=repeats)
    rows: list[Row] = [rate_row("1200 x 1200 x 1200", peak.flops, seconds)]
    exact = ["highest", "compiled", *(["medium"] if chosen("auto") == "medium" else [])]
    fastest = max(peak.flops / seconds[name] for name in exact)
    for m, n, k in SHAPES:
        left, right = torch.randn(m, k), torch.randn(k, n)
        out, low = torch.empty(m, n), (left.bfloat16(), right.bfloat16())
        tasks = {
            "highest": by("highest", repeated(left, right, out)),
            "medium": by("medium", repeated(left, right, out)),
            "bfloat16": repeated(*low, out.bfloat16()),
            "compiled": Compiled(m, n, k),
        }
        seconds = interleaved(tasks, repeats=repeats)
        for name in ("highest", "medium", "bfloat16"):
            seconds[name] /= CALLS
        flops = 2 * m * n * k
        rows.append(rate_row(f"{m} x {n} x {k}", flops, seconds))
    return rows, fastest


CALLS = 20


def repeated(left: Tensor, right: Tensor, out: Tensor) -> Callable[[], object]:
    """Several products in one call, so that setting torch's choice does not count."""

    def run() -> None:
        for _ in range(CALLS):
            torch.mm(left, right, out=out)

    return run


class Compiled:
    """The compiled product of random matrices."""

    def __init__(self, rows: int, columns: int, inner: int) -> None:
        rng = np.random.default_rng(0)
        self.left = rng.random((rows, inner), dtype=np.float32)
        self.right = rng.random((inner, columns), dtype=np.float32)
        self.out = np.empty((rows, columns), dtype=np.float32)
        self.arguments = (
            *(self.left.ctypes.data, inner, 1, self.right.ctypes.data, columns),
            *(self.out.ctypes.data, columns, rows, columns, inner, 1),
        )

    def __call__(self) -> None:
        product.ctypes(*self.arguments)


def rate_row(shape: str, flops: float, seconds: dict[str, float]) -> Row:
    return {
        "part": "products",
        "shape": shape,
        "GFLOP/s": {name: flops / value / 1e9 for name, value in seconds.items()},
    }


def noise(*, repeats: int) -> list[Row]:
    """The table of noise."""
    out, source, own = torch.empty(1, NORMALS), torch.randn(1, NORMALS), Noise(keys(0, [0]), [0])
    tasks: dict[str, Callable[[], object]] = {
        "torch": lambda: out.normal_(),
        "counter": lambda: own.normals(out),
        "copy": lambda: out.copy_(source),
    }
    seconds = interleaved(tasks, repeats=repeats)
    return [
        {
            "part": "noise",
            "normals": NORMALS,
            "milliseconds": {name: 1e3 * value for name, value in seconds.items()},
            "times counter": {"torch": seconds["torch"] / seconds["counter"]},
        }
    ]


def rows(how: Options) -> Sequence[Row]:
    """The tables."""
    found, fastest = rates(repeats=how.repeats)
    stepped = [
        row
        for size in (TOY_SIZES if how.quick else SIZES)
        for row in steps(size, fastest, repeats=how.repeats)
    ]
    return [*stepped, *found, *noise(repeats=how.repeats)]


def conditions() -> list[str]:
    """Which product is taken where nothing is said."""
    return [f"products by {chosen('auto')!r} where chosen"]
