"""Rates of agents on clocks of their own, against what every observation came to count."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from exact.changing import Log, realised
from tests.exact.changing.runs import Run, logs_of, run_on_own_clocks
from theory import Network
from theory.changing import clock_waits, measured_rhythm, rhythm_rate
from theory.validation import FloatArray

SKEW = np.array([[0.2, 0.5, 0.3], [0.4, 0.0, 0.6], [0.9, 0.1, 0.0]])
STAR = np.array(Network.from_topology("star", agents=4, edge_confidence=0.5).weights)


def measured(run: Run) -> tuple[FloatArray, FloatArray]:
    """Sums of weights, and of weights times waits, as every agent would keep them."""
    times = [np.array([row.time for row in run.of(i)]) for i in range(len(run.peers))]
    weights = np.zeros((len(times), len(times)))
    waits = np.zeros_like(weights)
    for row in run.rows:
        for j in np.flatnonzero(row.pooled.weights):
            k = row.pooled.rounds[j]
            if k >= 2:
                wait = row.time - times[j][k - 2]
                weights[row.agent, j] += row.pooled.weights[j]
                waits[row.agent, j] += row.pooled.weights[j] * wait
    return weights, waits


def steps_a_second(run: Run) -> float:
    """Effective rounds per second over the second half of a run, the mean of all agents."""
    logs = logs_of(run)
    halves = [log.rounds.size // 2 for log in logs]
    gained = realised(logs, since=halves).steps
    seconds = [run.of(i)[-1].time - run.of(i)[h - 1].time for i, h in enumerate(halves)]
    return float(np.mean(gained / seconds))


def tick(
    weights: FloatArray, gaps: Callable[[int], float], *, until: float, **options: object
) -> Run:
    return run_on_own_clocks(
        weights, lambda i: np.zeros(2), gaps, priors=np.zeros(2), until=until, **options
    )


def test_effective_rounds_are_all_that_constant_weights_leave_to_the_schedule() -> None:
    """Theorem 2: means are K times the steps, up to twice the largest bias, whatever happens."""
    rng = np.random.default_rng(4)
    network = Network(SKEW)
    v, info = network.stationary_distribution, np.array([1.0, -0.4, 3.0])
    run = tick(
        SKEW, lambda i: [1.0, 0.3, 2.7][i] * rng.choice([0.2, 1.8]), until=150,
        delay=lambda: rng.exponential(2.0),
    )  # fmt: skip
    rate = v @ info
    bias = np.linalg.solve(np.eye(3) - SKEW + np.outer(np.ones(3), v), SKEW @ info - rate)
    logs = logs_of(run)
    for share in (0.3, 0.6, 1.0):
        counted = realised(logs, until=[int(share * log.rounds.size) for log in logs])
        off = np.abs(counted.totals @ info - rate * counted.steps)
        assert (off <= np.ptp(bias) + 1e-9).all()
        assert (off > 1e-3).any()  # the bound is about something


def scheduled(weights: FloatArray, times: list[FloatArray]) -> list[Log]:
    """Logs of agents that tick at given times and use the newest message, without peers."""
    logs = []
    for i, mine in enumerate(times):
        heard = np.stack([np.searchsorted(other, mine, side="right") for other in times], axis=1)
        logs.append(Log(np.arange(1, mine.size + 1), np.tile(weights[i], (mine.size, 1)), heard))
    return logs


def test_random_clocks_wait_two_periods_for_others() -> None:
    """Poisson clocks: exact, within the scatter of eight runs."""
    rng = np.random.default_rng(5)
    periods, until = np.array([1.0, 2.5, 0.7]), 4000.0
    rates = []
    for _ in range(8):
        times = [np.cumsum(rng.exponential(p, size=int(1.2 * until / p))) for p in periods]
        logs = scheduled(SKEW, [t[t < until] for t in times])
        rates.append(realised(logs).steps.mean() / until)
    exact = rhythm_rate(SKEW, clock_waits(periods, ticking="random")).rounds_per_second
    error = np.std(rates, ddof=1) / np.sqrt(len(rates))
    assert error < 0.01 * exact
    assert abs(np.mean(rates) - exact) < 4 * error
    # Half of the waits would be far off: the test can tell.
    regular = rhythm_rate(SKEW, clock_waits(periods)).rounds_per_second
    assert abs(np.mean(rates) - regular) > 10 * error


def test_equal_clocks_wait_three_halves_of_a_period() -> None:
    """Regular clocks of one period, any phases: exact on a network that is reversible."""
    network = Network.from_topology("star", agents=4, edge_confidence=0.5)
    kept = float(network.stationary_distribution @ np.diag(STAR))
    rng = np.random.default_rng(6)
    for _ in range(3):
        run = tick(STAR, lambda i: 2.0, until=400, phases=rng.uniform(0, 2, size=4))
        expected = 1 / (2.0 * (3 - kept) / 2)
        assert steps_a_second(run) == pytest.approx(expected, rel=2e-3)
        guess = measured_rhythm(*measured(run)).rounds_per_second
        assert guess == pytest.approx(expected, rel=2e-3)
        assert rhythm_rate(STAR, clock_waits([2.0] * 4)).rounds_per_second == pytest.approx(
            expected, rel=1e-12
        )


def test_how_far_off_the_mean_over_ticks_is() -> None:
    """Regular clocks of different periods: a fast one's last ticks before a slow one's matter.

    Twice as fast, that is little. Much faster, the mean over all its ticks takes a message to be
    half a period old that is a whole one old when it matters: 8/5 in place of 4/3.
    """
    half = np.full((2, 2), 0.5)
    phases = np.array([0.02, 0.5])
    twice = tick(half, lambda i: [0.5, 1.003][i], until=300, phases=phases)
    guess = measured_rhythm(*measured(twice)).rounds_per_second
    assert guess == pytest.approx(steps_a_second(twice), rel=0.04)
    often = tick(half, lambda i: [0.02, 1.003][i], until=60, phases=phases)
    assert steps_a_second(often) == pytest.approx(4 / 3, rel=0.02)
    assert measured_rhythm(*measured(often)).rounds_per_second == pytest.approx(8 / 5, rel=0.04)


@pytest.mark.parametrize("rule", ["own", "renormalise", "last"])
def test_jittered_clocks_are_measured_within_a_few_per_cent(rule: str) -> None:
    """Also where weights vary, with what was heard."""
    rng = np.random.default_rng(7)
    run = tick(
        STAR,
        lambda i: rng.uniform(0.8, 1.2),
        until=400,
        delay=lambda: rng.exponential(0.05),
        lost=lambda: rng.random() < 0.05,
        on_loss=rule,
    )
    guess = measured_rhythm(*measured(run)).rounds_per_second
    assert guess == pytest.approx(steps_a_second(run), rel=0.03)
