"""Memory is predicted before a run: never less than it takes, never three times as much."""

from __future__ import annotations

import os
import subprocess
import sys
import tracemalloc
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from exact import Run, prepare, simulate
from exact.cost import Cost, as_memory, check_cost
from tests.models import coins
from theory import FiniteAgent, FiniteModel, GaussianAgent, Network

ROOT = Path(__file__).parents[2]
PAIR = Network([[0.9, 0.1], [0.6, 0.4]])


def model(hypotheses: int, agents: int, *, outcomes: int = 3) -> FiniteModel:
    """One kind of agent; Gaussian with no outcomes, all different with a negative number."""
    rng, names = np.random.default_rng(0), [f"h{m}" for m in range(hypotheses)]
    kind: FiniteAgent | GaussianAgent
    if outcomes < 0:
        laws = rng.dirichlet(np.ones(-outcomes), size=(agents, hypotheses, 1))
        return FiniteModel.from_agents(
            names, [FiniteAgent.from_tables(truth=law[0], likelihood=law) for law in laws]
        )
    if outcomes:
        table = np.log(rng.dirichlet(np.ones(outcomes), size=hypotheses))
        kind = FiniteAgent(np.full(outcomes, 1 / outcomes), table)
    else:
        kind = GaussianAgent(
            inputs=np.array([0.5, 0.5]),
            truth_means=np.array([0.0, 1.0]),
            truth_std=1.0,
            means=rng.normal(size=(hypotheses, 2)),
            std=1.0,
        )
    return FiniteModel.from_agents(names, [kind], counts=[agents])


def graph(agents: int, outcomes: int, *, sparse: bool) -> Network:
    """A ring; where all agents differ, all hear all."""
    topology = "complete" if outcomes < 0 else "ring"
    return Network.from_topology(topology, agents=agents, sparse=sparse)


EVERY = range(1, 301)
CASES = {
    "sparse statistics": (20_000, 10, 3, True, {"rounds": 40, "replicates": 10}),
    "sparse, many columns": (20_000, 10, 20, True, {"rounds": 40, "replicates": 10}),
    "sparse Gaussian": (50_000, 10, 0, True, {"rounds": 20, "replicates": 10, "record": [20]}),
    "sparse draws": (80_000, 2, 2, True, {"rounds": 20, "replicates": 40, "record": [20]}),
    "dense": (1500, 150, 3, False, {"rounds": 5, "replicates": 6}),
    "chunks of Λ": (100, 400, 3, False, {"rounds": 4, "replicates": 400, "record": [1, 4]}),
    "counted": (400, 200, -2, False, {"rounds": 300, "replicates": 60, "record": [300]}),
    "paths": (10, 10, 3, False, {"rounds": 20, "replicates": 9000, "paths": 9000}),
    "recorded rounds": (30, 400, 40, False, {"rounds": 300, "replicates": 9, "record": EVERY}),
}


MEASURE = "from tests.exact.test_cost import measure; measure({})"


def measure(names: Sequence[str]) -> None:
    """Print for each case what was predicted, and by how much the process grew at most."""
    import resource

    for sparse, outcomes in ((True, 3), (True, 0), (False, 3)):
        small = Network.from_topology("ring", agents=5, sparse=sparse)
        # Loads what is compiled.
        simulate(small, model(3, 5, outcomes=outcomes), run=Run(rounds=3, replicates=2, seed=0))
    large = graph(100, 3, sparse=False)
    simulate(large, model(150, 100, outcomes=3), run=Run(rounds=3, replicates=2, seed=0))
    for name in names:
        agents, hypotheses, outcomes, sparse, options = CASES[name]
        # A fork's peak begins at what is held when it begins.
        child = os.fork()
        if child:
            _, status = os.waitpid(child, 0)
            assert status == 0
            continue
        law = model(hypotheses, agents, outcomes=outcomes)
        task = prepare(graph(agents, outcomes, sparse=sparse), law, run=Run(seed=0, **options))
        predicted = task.cost()
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        before = pages * resource.getpagesize()
        task.simulate()
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        print(predicted.bytes, peak - before, name, flush=True)
        os._exit(0)


def measured(names: Sequence[str]) -> dict[str, tuple[int, int]]:
    """Predicted and measured bytes of some cases, from a process of its own."""
    if not Path("/proc/self/statm").exists():
        pytest.skip("this system has no /proc")
    done = subprocess.run(
        [sys.executable, "-c", MEASURE.format(tuple(names))],
        capture_output=True,
        text=True,
        cwd=ROOT,
        # Large arrays go back to the system when they are freed, not to a heap that stays.
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1", "MALLOC_MMAP_THRESHOLD_": "131072"},
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    lines = [line.split(" ", 2) for line in done.stdout.splitlines()]
    return {name: (int(predicted), int(grown)) for predicted, grown, name in lines}


@pytest.mark.parametrize("name", ["paths", "sparse statistics", "counted"])
def test_predicted_bytes_hold_what_python_allocates(name: str) -> None:
    """In this process; the peaks of whole processes, for all cases, in tests/thorough."""
    agents, hypotheses, outcomes, sparse, options = CASES[name]
    network = graph(agents, outcomes, sparse=sparse)
    law = model(hypotheses, agents, outcomes=outcomes)
    # Loads what is compiled.
    simulate(network, law, run=Run(rounds=2, replicates=2, seed=0))
    task = prepare(network, law, run=Run(seed=0, **options))
    tracemalloc.start()
    task.simulate()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak > 50 << 20  # or the constant part of the prediction would decide
    assert peak <= task.cost().bytes <= 3 * peak


def test_more_of_anything_costs_more() -> None:
    ring = Network.from_topology("ring", agents=3000)
    base = Run(rounds=500, replicates=400, seed=0, paths=1)
    law = model(4, 3000)
    one = prepare(ring, law, run=base).cost()
    assert sum(one.parts.values()) == one.bytes
    for key, value in (("rounds", 1000), ("replicates", 800), ("record", range(1, 501))):
        change: dict[str, Any] = {key: value}
        more = prepare(ring, law, run=replace(base, **change)).cost()
        assert more.seconds > one.seconds
    for key, value in (("paths", 2), ("record", range(1, 26)), ("workers", 2)):
        change = {key: value}
        more = prepare(ring, law, run=replace(base, **change)).cost()
        assert more.bytes > one.bytes
    assert prepare(ring, law, run=replace(base, workers=2)).cost().seconds < one.seconds
    # More workers than units are not used.
    crowd = prepare(ring, law, run=replace(base, workers=10**6)).cost()
    assert crowd.seconds > one.seconds / one.units
    # A checkpoint holds the sums: means, squares, counts.
    assert one.checkpoint >= 8 * 2 * 20 * 3000 * 4


def test_nothing_is_taken_to_predict(monkeypatch: pytest.MonkeyPatch) -> None:
    run = Run(rounds=10**6, replicates=10**7, seed=0, record=range(1, 10**6))
    cost = prepare(PAIR, coins(2), run=run).cost()
    assert cost.bytes > 2 * 8 * 10**6
    assert cost.seconds > 1e5


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"record": range(1, 100_001)}, "the recorded rounds; record fewer rounds"),
        ({"paths": 10**6}, "the paths kept; keep fewer paths"),
        ({"workers": 60}, "the workers' libraries; use fewer workers"),
    ],
)
def test_refusals_name_what_takes_most(options: dict[str, Any], words: str) -> None:
    good: dict[str, Any] = {"rounds": 10**5, "replicates": 10**6, "record": [10**5]}
    with pytest.raises(ValueError, match=r"^memory: expected at most 0\.0093 GiB") as refused:
        simulate(PAIR, coins(2), run=Run(**(good | options), seed=0, memory="10MB"))
    message = str(refused.value)
    assert "\n" not in message
    assert words in message
    assert message.endswith(", or allow more memory")


def test_as_much_as_is_predicted_is_allowed() -> None:
    cost = prepare(PAIR, coins(2), run=Run(rounds=5, replicates=4, seed=0)).cost()
    simulate(PAIR, coins(2), run=Run(rounds=5, replicates=4, seed=0, memory=cost.bytes))
    with pytest.raises(ValueError, match="got about"):
        simulate(PAIR, coins(2), run=Run(rounds=5, replicates=4, seed=0, memory=cost.bytes - 1))


def test_a_refusal_by_the_machine_does_not_offer_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("exact.cost.memory_limit", lambda: 100)
    with pytest.raises(ValueError, match=r"take fewer agents, hypotheses or workers$"):
        check_cost(Cost(101, 1.0, {"run": 101}, 1, 0))
    check_cost(Cost(100, 1.0, {"run": 100}, 1, 0))


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("1", 1), ("1k", 1000), ("500M", 500 * 10**6), ("2GiB", 2 << 30), ("2 GB", 2 * 10**9),
        ("1.5g", 1_500_000_000), ("0.5Ti", 1 << 39), ("10b", 10), (12, 12),
    ],
)  # fmt: skip
def test_sizes_in_words(text: str | int, size: int) -> None:
    assert as_memory("memory", text) == size


@pytest.mark.parametrize(
    "text", ["", "M", "-1M", "1e9", "1 000", "5X", "0", "0.1", "iB", "1i", "١"]
)
def test_sizes_that_are_none(text: str) -> None:
    with pytest.raises(ValueError, match="--memory: expected a size such as 500M or 2GiB, got"):
        as_memory("--memory", text)
    with pytest.raises(ValueError, match="at least 1, got 0"):
        as_memory("memory", 0)


def around(agents: int, *, sparse: bool) -> Network:
    """Each agent hears the next and two of all, by chance: directed."""
    rng, here = np.random.default_rng(0), np.arange(agents)
    heard = [(here + 1) % agents, *rng.integers(agents, size=(2, agents))]
    edges = np.vstack([np.column_stack([speaker, here]) for speaker in heard])
    return Network.from_edges(edges, agents=agents, directed=True, sparse=sparse)


@pytest.mark.parametrize(
    ("network", "method"),
    [
        (lambda: around(1000, sparse=False), "gth"),
        (lambda: around(20_000, sparse=True), "iteration"),
        (lambda: Network.from_topology("ring", agents=200_000), "detailed-balance"),
    ],
    ids=["gth", "iteration", "detailed-balance"],
)
def test_seconds_count_the_stationary_distribution(
    network: Callable[[], Network], method: str
) -> None:
    """What they are within a factor of two of is measured by `python -m benchmarks scale`."""
    fresh = network()
    found = fresh.stationary
    assert found.method == method
    assert 1e-4 < found.seconds < 10
    cost = prepare(fresh, coins(fresh.agents), run=Run(rounds=1, replicates=1, seed=0)).cost()
    assert cost.seconds > found.seconds
