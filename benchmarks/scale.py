"""What large runs take, predicted and measured; what a second worker brings; how time grows.

The second table has the seconds of a run with one worker and with two, by the clock and of the CPU
in all processes, which are started beforehand, and whether their numbers agree to the last bit.
"""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.limits import in_a_process
from benchmarks.tables import Options, Row
from exact import Run, prepare, prepare_regression, simulate
from exact.cost import START
from exact.regression import simulate_regression
from theory import FiniteAgent, FiniteModel, Network, SampleSizes, error_exponent, sample_sizes
from theory.regression import RegressionAgent, RegressionModel

MIB = 1 << 20


@dataclass(frozen=True)
class Size:
    """One line of the first table; a regression has a dimension in place of hypotheses."""

    name: str
    agents: int
    rounds: int
    replicates: int
    hypotheses: int = 0
    dimension: int = 0


SIZES = (
    Size("ring of N = 100 000, M = 10, n = 100, R = 10", 100_000, 100, 10, hypotheses=10),
    Size("ring of N = 100 000, M = 2, n = 500, R = 10", 100_000, 500, 10, hypotheses=2),
    Size("regression on a ring of N = 1 000, d = 50, n = 10, R = 4", 1000, 10, 4, dimension=50),
)
TOY_SIZES = (
    Size("ring of N = 3 000, M = 10, n = 5, R = 2", 3000, 5, 2, hypotheses=10),
    Size("regression on a ring of N = 20, d = 3, n = 5, R = 4", 20, 5, 4, dimension=3),
)
# Network, replicates and rounds of the second table: a few seconds.
WORKERS = (20, 40_000, 1000)
TOY_WORKERS = (5, 1000, 20)


def model(hypotheses: int, agents: int) -> FiniteModel:
    """One kind of agent with four outcomes, random likelihoods."""
    table = np.log(np.random.default_rng(0).dirichlet(np.ones(4), size=hypotheses))
    names = [f"h{m}" for m in range(hypotheses)]
    return FiniteModel.from_agents(names, [FiniteAgent([0.25] * 4, table)], counts=[agents])


def regression(dimension: int, agents: int) -> RegressionModel:
    """Agents that see normal inputs of every direction."""
    rng = np.random.default_rng(0)
    agent = RegressionAgent(second_moment=np.eye(dimension), noise_std=1.0)
    return RegressionModel(
        rng.normal(size=dimension),
        [agent] * agents,
        prior_mean=np.zeros(dimension),
        prior_covariance=np.eye(dimension),
        test_second_moment=np.eye(dimension),
    )


def prepared(size: Size, agents: int) -> tuple[Callable[..., Any], Any, dict[str, int]]:
    """How to run a size, what it is predicted to cost, and the options of the run."""
    network = Network.from_topology("ring", agents=agents)
    options = {"rounds": size.rounds, "replicates": size.replicates}
    if size.dimension:
        law = regression(size.dimension, agents)
        cost = prepare_regression(network, law, run=Run(seed=0, **options)).cost()
        return (
            lambda **more: simulate_regression(network, law, run=Run(seed=0, **more)),
            cost,
            options,
        )
    finite = model(size.hypotheses, agents)
    predicted = prepare(network, finite, run=Run(seed=0, **options)).cost()
    return lambda **more: simulate(network, finite, run=Run(seed=0, **more)), predicted, options


def measure_alone(words: Sequence[Any]) -> dict[str, float]:
    """Predicted and measured bytes and seconds, in the process that calls it."""
    import resource

    size = Size(*words)
    # Loads what is compiled.
    few, _, _ = prepared(size, min(size.agents, 3000 if not size.dimension else 5))
    few(rounds=2, replicates=2)
    run, cost, options = prepared(size, size.agents)
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    before = pages * resource.getpagesize()
    start = time.process_time()
    run(**options)
    seconds = time.process_time() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    fixed = 0.0 if size.dimension else START
    return {
        "predicted_bytes": cost.bytes,
        "measured_bytes": peak - before,
        "predicted_seconds": cost.seconds - fixed,
        "measured_seconds": seconds,
    }


def measure(size: Size) -> dict[str, Any]:
    """The same in a process of its own, as a row of the table."""
    found = in_a_process("scale:measure_alone", size)
    return {
        "part": "cost",
        "size": size.name,
        "MiB": {
            "predicted": found["predicted_bytes"] / MIB,
            "measured": found["measured_bytes"] / MIB,
        },
        "s": {"predicted": found["predicted_seconds"], "measured": found["measured_seconds"]},
    }


def cpu_seconds() -> float:
    """Of this process and its children that live."""
    total = time.process_time()
    for file in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            # After the name, which may hold anything: state, parent, ..., user and system ticks.
            entries = file.read_text().rpartition(")")[2].split()
            if int(entries[1]) == os.getpid():
                total += (int(entries[11]) + int(entries[12])) / os.sysconf("SC_CLK_TCK")
    return total


def workers(agents: int, replicates: int, rounds: int, *, repeats: int) -> dict[str, Any]:
    """Seconds with one worker and with two, as a row of the table."""
    network, law = Network.from_topology("ring", agents=agents), model(10, agents)
    seconds: dict[int, list[float]] = {1: [], 2: []}
    busy: dict[int, list[float]] = {1: [], 2: []}
    runs = {}
    for _ in range(repeats + 1):
        for count in seconds:
            start, before = time.perf_counter(), cpu_seconds()
            runs[count] = simulate(
                network, law, run=Run(rounds=rounds, replicates=replicates, seed=0, workers=count)
            )
            seconds[count].append(time.perf_counter() - start)
            busy[count].append(cpu_seconds() - before)
    # The first ones start the processes.
    one, two = (statistics.median(times[1:]) for times in seconds.values())
    alone, together = (statistics.median(times[1:]) for times in busy.values())
    same = runs[1].mean.tobytes() == runs[2].mean.tobytes()
    return {
        "part": "workers",
        "size": f"ring of N = {agents}, M = 10, n = {rounds}, R = {replicates}",
        "s": {"one worker": one, "two workers": two},
        "CPU s": {"one worker": alone, "two workers": together},
        "speed-up": one / two,
        "same bits": "yes" if same else "no",
    }


def expander(agents: int) -> Network:
    """Each agent hears the next and nine of all, by chance: directed."""
    rng, here = np.random.default_rng(0), np.arange(agents)
    heard = [(here + 1) % agents, *rng.integers(agents, size=(9, agents))]
    edges = np.vstack([np.column_stack([speaker, here]) for speaker in heard])
    return Network.from_edges(edges, agents=agents, directed=True)


def ring(agents: int) -> Network:
    """A ring; two million of them."""
    return Network.from_topology("ring", agents=agents)


def predicted(hypotheses: int) -> SampleSizes:
    """All that is predicted of ten agents on a ring, each of a kind of its own."""
    rng = np.random.default_rng(0)
    tables = [rng.dirichlet(np.ones(4) * 2, size=(hypotheses, 1)) for _ in range(10)]
    kinds = [FiniteAgent.from_tables(truth=table[0], likelihood=table) for table in tables]
    law = FiniteModel.from_agents([f"h{m}" for m in range(hypotheses)], kinds)
    return sample_sizes(ring(10), law, delta=0.05)


# What is computed of a size, and three sizes.
GROWTH: dict[str, tuple[Callable[[int], object], Sequence[int]]] = {
    "ring of N agents: v, eigenvalues": (
        lambda n: ring(n).prepare(),
        (200_000, 600_000, 2_000_000),
    ),
    "ring of N agents: v, K, E": (
        lambda n: error_exponent(ring(n), model(10, n)),
        (200_000, 600_000, 2_000_000),
    ),
    "directed expander of N agents: v": (
        lambda n: expander(n).stationary,
        (10_000, 100_000, 1_000_000),
    ),
    "ring of 10 agents, M hypotheses: K, E, sample sizes": (predicted, (100, 450, 2000)),
}
TOY = 100


def growth(work: str, *, quick: bool) -> dict[str, Any]:
    """Seconds of three sizes, and the exponent of the line through their logarithms."""
    compute, sizes = GROWTH[work]
    sizes = [max(10, size // TOY) for size in sizes] if quick else sizes
    compute(max(10, sizes[0] // 10))  # loads what is compiled
    seconds = []
    for size in sizes:
        start = time.process_time()
        compute(size)
        seconds.append(time.process_time() - start)
    return {
        "part": "growth",
        "work": work,
        "sizes": ", ".join(f"{size:,}".replace(",", " ") for size in sizes),
        "s": dict(zip(("least", "middle", "largest"), seconds, strict=True)),
        "exponent": float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0]),
    }


def rows(how: Options) -> Sequence[Row]:
    """The tables."""
    found = [measure(size) for size in (TOY_SIZES if how.quick else SIZES)]
    found.append(workers(*(TOY_WORKERS if how.quick else WORKERS), repeats=how.repeats))
    return [*found, *(growth(work, quick=how.quick) for work in GROWTH)]
