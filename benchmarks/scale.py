"""What large runs take, predicted and measured; what a second worker brings; how time grows."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from statistics import median
from typing import Any

import numpy as np

from benchmarks.contest import MIB, contest, family_seconds, grown, in_a_process, timed
from benchmarks.rounds import observing, random_model
from benchmarks.tables import Options, Row
from exact import Run, prepare, prepare_regression, simulate
from exact.cost import START
from exact.regression import simulate_regression
from theory import Network, SampleSizes, error_exponent, sample_sizes


def ring(agents: int) -> Network:
    return Network.from_topology("ring", agents=agents)


def alone(agents: int, rounds: int, replicates: int, hypotheses: int, dimension: int) -> Row:
    """Predicted and measured bytes and seconds, in the process that calls it."""
    law: Callable[[int], Any] = partial(observing, dimension)
    how: tuple[Callable[..., Any], Callable[..., Any]] = prepare_regression, simulate_regression
    if hypotheses:
        law, how = lambda agents: random_model(agents, hypotheses, 4), (prepare, simulate)
    ready, go = how
    # Loads what is compiled.
    few = min(agents, 3000 if hypotheses else 5)
    go(ring(few), law(few), run=Run(rounds=2, replicates=2, seed=0))
    network, model = ring(agents), law(agents)
    run = Run(rounds=rounds, replicates=replicates, seed=0)
    cost = ready(network, model, run=run).cost()
    seconds, growth = grown(lambda: go(network, model, run=run))
    return {
        "MiB": {"predicted": cost.bytes / MIB, "measured": growth / MIB},
        "s": {"predicted": cost.seconds - (START if hypotheses else 0.0), "measured": seconds},
    }


def cost(
    how: Options, *, agents: int, rounds: int, replicates: int, hypotheses: int = 0,
    dimension: int = 0,
) -> Row:  # fmt: skip
    """A run on a ring; a regression has a dimension in place of hypotheses."""
    found: Row = in_a_process("scale:alone", agents, rounds, replicates, hypotheses, dimension)
    return found


def workers(how: Options, *, agents: int, replicates: int, rounds: int) -> Row:
    """Seconds with one worker and with two; the first runs start the processes."""
    network, law = ring(agents), random_model(agents, 10, 4)
    busy: dict[str, list[float]] = {"one worker": [], "two workers": []}

    def task(name: str, workers: int) -> bytes:
        run = Run(rounds=rounds, replicates=replicates, seed=0, workers=workers)
        before = family_seconds(os.getpid())
        means = simulate(network, law, run=run).mean.tobytes()
        busy[name].append(family_seconds(os.getpid()) - before)
        return means

    tasks = {name: partial(task, name, workers) for workers, name in enumerate(busy, start=1)}
    found = contest(how, tasks, clock=time.perf_counter)
    one, two = found.seconds.values()
    cpu = {name: median(seconds[1:]) for name, seconds in busy.items()}
    same = "yes" if len(set(found.answers.values())) == 1 else "no"
    return found.row(CPU_s=cpu, **{"speed-up": one / two, "same bits": same})


def expander(agents: int) -> Network:
    """Each agent hears the next and nine of all, by chance: directed."""
    rng, here = np.random.default_rng(0), np.arange(agents)
    heard = [(here + 1) % agents, *rng.integers(agents, size=(9, agents))]
    edges = np.vstack([np.column_stack([speaker, here]) for speaker in heard])
    return Network.from_edges(edges, agents=agents, directed=True)


def predicted(hypotheses: int) -> SampleSizes:
    """All that is predicted of ten agents on a ring, each of a kind of its own."""
    return sample_sizes(ring(10), random_model(10, hypotheses, 4, kinds=10), delta=0.05)


WORK: Mapping[str, Callable[[int], object]] = {
    "ring of N agents: v, eigenvalues": lambda n: ring(n).prepare(),
    "ring of N agents: v, K, E": lambda n: error_exponent(ring(n), random_model(n, 10, 4)),
    "directed expander of N agents: v": lambda n: expander(n).stationary,
    "ring of 10 agents, M hypotheses: K, E, sample sizes": predicted,
}


def growth(how: Options, *, work: str, three: Sequence[int]) -> Row:
    """CPU seconds of three sizes, and the exponent of the line through their logarithms."""
    compute = WORK[work]
    compute(max(10, three[0] // 10))  # loads what is compiled
    seconds = [timed(partial(compute, size)) for size in three]
    return {
        "work": work,
        "sizes": ", ".join(f"{size:,}".replace(",", " ") for size in three),
        "s": dict(zip(("least", "middle", "largest"), seconds, strict=True)),
        "exponent": float(np.polyfit(np.log(three), np.log(seconds), 1)[0]),
    }
