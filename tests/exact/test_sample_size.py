"""The measured number of rounds against exact laws, and against its own definition."""

from __future__ import annotations

import re

import numpy as np
import pytest
from scipy.stats import binom

from exact import Run, error_law, exact_sample_size, simulate, simulated_sample_size
from tests.models import coins
from theory import FiniteAgent, FiniteModel, Network, account

ALONE = Network([[1.0]])
PAIR = Network([[0.9, 0.1], [0.6, 0.4]])
FAIR, LEFT, RIGHT = [0.5, 0.5], [0.75, 0.25], [0.25, 0.75]


def blind_pair() -> FiniteModel:
    """Two agents, each of which tells one of two wrong hypotheses from the truth."""
    first = FiniteAgent.from_tables(inputs=[1.0], truth=[FAIR], likelihood=[[FAIR], [LEFT], [FAIR]])
    second = FiniteAgent.from_tables(
        inputs=[1.0], truth=[FAIR], likelihood=[[FAIR], [FAIR], [RIGHT]]
    )
    return FiniteModel.from_agents(["fair", "left", "right"], [first, second])


@pytest.mark.parametrize(
    ("network", "model"), [(ALONE, coins(1)), (PAIR, coins(2)), (PAIR, blind_pair())]
)
def test_errors_are_those_of_the_simulation(network: Network, model: FiniteModel) -> None:
    found = simulated_sample_size(network, model, delta=0.2, replicates=300, seed=4)
    rounds = range(1, found.horizon + 1)
    run = simulate(
        network, model, run=Run(rounds=found.horizon, replicates=300, seed=4, record=list(rounds))
    )
    assert np.array_equal(found.errors, run.errors)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_frequencies_follow_the_exact_law(seed: int) -> None:
    found = simulated_sample_size(
        PAIR, coins(2), delta=0.3, replicates=4000, seed=seed, most_rounds=8
    )
    exact = error_law(PAIR, coins(2), 8).some_agent
    spread = np.sqrt(exact * (1 - exact) / 4000)
    # 24 numbers in all: beyond 5 standard errors once in 70 000 runs of these tests.
    assert (np.abs(found.frequencies - exact) < 5 * spread).all()


@pytest.mark.parametrize("delta", [0.2])
def test_the_interval_covers_the_exact_number(delta: float) -> None:
    truth = exact_sample_size(ALONE, coins(1), delta).exact_rounds
    assert truth is not None
    runs = [
        simulated_sample_size(ALONE, coins(1), delta=delta, replicates=1500, seed=seed)
        for seed in range(40)
    ]
    covered = [run.upper is not None and run.lower <= truth <= run.upper for run in runs]
    # At least 95 % each: 8 misses or more in 40 happen once in 1600 times at worst.
    assert sum(covered) >= 33
    # Coins go up and down, so that ends are some rounds apart, and not many.
    assert np.median([run.upper - run.lower for run in runs]) <= 0.7 * truth + 6
    assert abs(np.median([run.rounds for run in runs]) - truth) <= 0.1 * truth + 4


def test_the_interval_shrinks_with_replicates() -> None:
    widths = []
    for replicates in (500, 50_000):
        run = simulated_sample_size(PAIR, coins(2), delta=0.1, replicates=replicates, seed=1)
        assert run.lower is not None
        assert run.upper is not None
        assert run.rounds is not None
        assert run.lower <= run.rounds <= run.upper
        widths.append(run.upper - run.lower)
    assert widths[1] < widths[0] / 2


def test_the_certified_interval_agrees() -> None:
    certified = account(PAIR, coins(2)).sample_size(0.05)
    run = simulated_sample_size(PAIR, coins(2), delta=0.05, replicates=20_000, seed=7)
    assert certified.lower <= run.upper
    assert run.lower <= certified.upper


def test_the_ends_by_their_definition() -> None:
    """Tests of single rounds, by sums of the binomial law instead of quantiles of the beta law."""
    delta, replicates, side = 0.2, 400, 0.025
    run = simulated_sample_size(ALONE, coins(1), delta=delta, replicates=replicates, seed=12)
    count = run.errors
    few = binom.cdf(count, replicates, delta) <= side
    many = binom.sf(count - 1, replicates, delta)
    upper = next(n for n in range(1, count.size + 2) if few[n - 1 :].all())
    first = next(n for n in range(1, count.size + 1) if many[n - 1] >= side / 2)
    clear = [n for n in range(1, count.size + 1) if many[n - 1] < side / 2 / count.size]
    assert run.upper == upper
    assert run.lower == max(first, clear[-1] + 1)
    assert clear
    assert first > 1
    after = [n for n in range(1, count.size + 1) if count[n - 1] > delta * replicates]
    assert run.rounds == after[-1] + 1


def test_the_same_seed_the_same_result() -> None:
    runs = [
        simulated_sample_size(PAIR, coins(2), delta=0.2, replicates=500, seed=3, workers=workers)
        for workers in (1, 2)
    ]
    other = simulated_sample_size(PAIR, coins(2), delta=0.2, replicates=500, seed=4)
    assert np.array_equal(runs[0].errors, runs[1].errors)
    assert (runs[0].lower, runs[0].upper) == (runs[1].lower, runs[1].upper)
    assert not np.array_equal(runs[0].errors, other.errors)


def test_too_few_rounds_leave_the_upper_end_to_chernoff() -> None:
    whole = simulated_sample_size(ALONE, coins(1), delta=0.05, replicates=500, seed=0)
    short = simulated_sample_size(
        ALONE, coins(1), delta=0.05, replicates=500, seed=0, most_rounds=5
    )
    assert short.horizon == 5
    assert short.rounds is None
    assert short.upper == short.proved_from == whole.horizon + 1
    assert short.lower is not None
    assert short.lower <= 6
    assert "beyond round 5" in short.note
    assert whole.note == ""


def test_nothing_to_reject() -> None:
    agent = FiniteAgent.from_tables(inputs=[1.0], truth=[FAIR], likelihood=[[FAIR], [FAIR]])
    model = FiniteModel.from_agents(["one", "other"], [agent])
    run = simulated_sample_size(ALONE, model, delta=0.05, seed=0)
    assert run.rounds is None
    assert run.horizon == 0
    assert "nothing to reject" in run.note


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"delta": 1.5}, "delta: expected a number in (0, 1), got 1.5; choose one in (0, 1)"),
        (
            {"replicates": 50},
            "replicates: expected at least 72, so that no error is significantly fewer than "
            "δ = 0.05, got 50; run more of them",
        ),
        (
            {"most_rounds": 0},
            "most_rounds: expected a whole number of at least 1, got 0; use 1 or more",
        ),
    ],
)
def test_bad_arguments(options: dict[str, float], message: str) -> None:
    arguments = {"delta": 0.05, "seed": 0, "replicates": 100} | options
    with pytest.raises(ValueError, match=re.escape(message)):
        simulated_sample_size(ALONE, coins(1), **arguments)
