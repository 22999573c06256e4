"""Simulations of every kind go through one door, by one `Run`; what does not fit is refused."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import FrozenInstanceError, fields, replace
from typing import Any

import numpy as np
import pytest

from exact import Run, Simulation, prepare, simulate, simulate_regression
from exact.changing import process_for, run_process
from exact.faults.process import FaultyProcess
from exact.learning import Chunk, FixedNetwork
from exact.propagation import plan_for
from exact.regression import prepare_regression
from tests.exact.test_learning import mixed_model
from tests.models import coins
from theory import Network
from theory.changing import PeriodicNetwork, RandomLinks
from theory.regression import RegressionAgent, RegressionModel
from theory.robustness import Faults, Median, Push, honest_agents

RING = Network.from_topology("ring", agents=5)
LOSSY = RandomLinks(RING, 0.6)
LIAR = {3: Push("b", 0.7)}
RUN = Run(rounds=12, replicates=6, seed=3, record=[1, 5, 12], paths=6)
LINE = RegressionModel.from_agents(
    [-0.3, 0.5],
    [RegressionAgent(ranges=[[1, 1], [-1, 1]], noise_std=0.8)],
    counts=[5],
    prior_covariance=np.eye(2),
    test_second_moment=np.eye(2),
)


def assert_same(one: Simulation, other: Simulation) -> None:
    for entry in fields(Simulation):
        np.testing.assert_array_equal(getattr(one, entry.name), getattr(other, entry.name))


def test_a_network_that_stays_runs_on_the_fixed_engine() -> None:
    """Six replicates are one chunk, whose stream is the seed's first child."""
    model = mixed_model(5)
    found = simulate(RING, model, run=RUN)
    # Too few replicates to share symbols: one a symbol.
    engine = FixedNetwork(
        RING,
        model,
        best=found.best,
        recorded=np.array([1, 5, 12]),
        plan=plan_for(RING, columns=2),
        group=1,
    )
    chunk = Chunk(0, 6, np.random.SeedSequence(3, spawn_key=(0,)))
    states = [state.copy() for state in engine.states(chunk, lambda done: None)]
    np.testing.assert_array_equal(found.paths, np.array(states).transpose(2, 0, 1, 3))
    assert found.watched.tolist() == list(range(5))
    assert found.discarded.tolist() == [0] * 5


def test_a_network_that_changes_runs_its_process() -> None:
    model = mixed_model(5)
    found = simulate(LOSSY, model, run=RUN)
    process = process_for(LOSSY)
    assert_same(found, run_process(process, model, run=RUN, reference=found.reference, linear=True))
    assert found.watched.tolist() == list(range(5))
    assert found.discarded.tolist() == [0] * 5


def test_faults_run_the_faulty_process_and_watch_the_honest() -> None:
    model, faults = mixed_model(5), Faults(LIAR, Median(), pool_every=2)
    found = simulate(RING, model, faults=faults, run=RUN)
    best = found.best
    process = FaultyProcess(RING, model, LIAR, Median(), best=best, pool_every=2)
    honest = honest_agents(RING, LIAR).tolist()
    alone = run_process(process, model, run=RUN, reference=found.reference, agents=honest)
    assert_same(found, replace(alone, discarded=found.discarded))
    assert found.watched.tolist() == [0, 1, 2, 4]


def test_a_prepared_task_says_what_it_costs_and_runs() -> None:
    model = mixed_model(5)
    for network, faults in ((RING, None), (LOSSY, None), (RING, Faults(LIAR))):
        task = prepare(network, model, faults=faults, run=RUN)
        assert task.cost().bytes > 0
        assert_same(task.simulate(), simulate(network, model, faults=faults, run=RUN))
    kept = replace(RUN, paths=0)
    regression = prepare_regression(RING, LINE, run=kept)
    assert regression.cost().bytes > 0
    again = simulate_regression(RING, LINE, run=kept)
    np.testing.assert_array_equal(regression.simulate().excess_error, again.excess_error)
    assert again.rounds.tolist() == [1, 5, 12]
    assert (again.replicates, again.seed) == (6, 3)


BAD: dict[str, tuple[Callable[[], Any], str]] = {
    "faults where the network changes": (
        lambda: simulate(LOSSY, coins(5), faults=Faults({}), run=RUN),
        "faults: expected a network that stays the same, got one that changes; leave",
    ),
    "a network that changes by one phase": (
        lambda: simulate(
            PeriodicNetwork([RING.weights]), coins(5), faults=Faults(LIAR, Median()), run=RUN
        ),
        "faults: expected a network that stays the same, got one that changes",
    ),
    "bare behaviours": (
        lambda: simulate(RING, coins(5), faults=LIAR, run=RUN),  # type: ignore[arg-type]
        "faults: expected a Faults, got a dict; write Faults({agent: behaviour, ...}, rule)",
    ),
    "swapped": (
        lambda: simulate(coins(5), RING, run=RUN),  # type: ignore[arg-type]
        "network: expected a network, or one of the kinds in theory.changing, got a FiniteModel",
    ),
    "weights": (
        lambda: simulate(RING.weights, coins(5), run=RUN),  # type: ignore[arg-type]
        "network: expected a network, or one of the kinds in theory.changing, got ",
    ),
    "a regression": (
        lambda: simulate(RING, LINE, run=RUN),  # type: ignore[arg-type]
        "model: expected a FiniteModel, got a RegressionModel; regressions have functions",
    ),
    "options": (
        lambda: simulate(RING, coins(5), run={"rounds": 3}),  # type: ignore[arg-type]
        "run: expected a Run, got a dict; write Run(rounds=..., replicates=..., seed=...)",
    ),
    "paths of a regression": (
        lambda: simulate_regression(RING, LINE, run=RUN),
        "paths: expected 0 in a regression, which keeps none, got 6; leave it out",
    ),
    "options of a regression": (
        lambda: simulate_regression(RING, LINE, run=None),  # type: ignore[arg-type]
        "run: expected a Run, got None",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_what_does_not_fit_the_kind_is_refused(name: str) -> None:
    call, message = BAD[name]
    with pytest.raises(ValueError, match=": expected ") as refused:
        call()
    assert str(refused.value).startswith(message)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rounds": 0}, "rounds: expected a whole number of at least 1, got 0"),
        ({"replicates": 1.5}, "replicates: expected a whole number of at least 1, got 1.5"),
        ({"seed": -1}, "seed: expected a whole number of at least 0, got -1"),
        ({"paths": 5}, "paths: expected at most 4 replicates, got 5; keep fewer paths"),
        ({"record": [11]}, "record: expected rounds up to 10, got 11; simulate more rounds"),
        ({"record": []}, "record: expected at least one round"),
        ({"workers": 0}, "workers: expected a whole number of at least 1, got 0"),
        ({"backend": "slurm"}, "backend: expected one of "),
        ({"memory": "much"}, "memory: expected a size such as 500M or 2GiB, got 'much'"),
        ({"resume": True}, "resume: expected a checkpoint to go on from, got none; name the file"),
    ],
)
def test_a_run_is_checked_when_it_is_made(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=": expected ") as refused:
        Run(**({"rounds": 10, "replicates": 4, "seed": 0} | options))
    assert str(refused.value).startswith(message)


def test_a_run_is_a_value() -> None:
    run = Run(rounds=10, replicates=4, seed=0, record=np.array([7, 2, 7]), memory="1K")
    assert run == Run(rounds=10, replicates=4, seed=0, record=[7, 2, 7], memory=1000)
    assert hash(run) == hash(replace(run))
    assert run != replace(run, seed=1)
    assert run.record == (7, 2, 7)
    assert run.recorded.tolist() == [2, 7]
    assert run.last == 7
    with pytest.raises(FrozenInstanceError):
        run.rounds = 11  # type: ignore[misc]


def test_faults_are_a_value() -> None:
    mine = {4: Push(0, 1.0), 2: Push(1, 1.0)}
    faults = Faults(mine)
    del mine[4]
    assert list(faults.behaviours) == [2, 4]
    assert faults == Faults({2: Push(1, 1.0), 4: Push(0, 1.0)})
    assert faults != replace(faults, pool_every=2)
