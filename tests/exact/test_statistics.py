"""Running moments, counting errors, and the Clopper–Pearson interval."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom, binomtest

from exact import Run, simulate
from exact.statistics import RunningMoments, Tally, proportion
from theory import FiniteModel, GaussianAgent, Network


@given(st.integers(0, 40), st.integers(1, 40), st.floats(0.5, 0.999))
def test_clopper_pearson_inverts_the_binomial_tails(
    successes: int, trials: int, confidence: float
) -> None:
    successes = min(successes, trials)
    interval = proportion(successes, trials, confidence=confidence)
    assert interval.estimate == successes / trials
    assert interval.lower <= interval.estimate <= interval.upper
    tail = (1 - confidence) / 2
    # The ends are where the tails weigh (1 − confidence)/2; scipy's inverse is good to 1e-10.
    if successes > 0:
        assert binom.sf(successes - 1, trials, interval.lower) == pytest.approx(tail, rel=1e-8)
    else:
        assert interval.lower == 0
    if successes < trials:
        assert binom.cdf(successes, trials, interval.upper) == pytest.approx(tail, rel=1e-8)
    else:
        assert interval.upper == 1
    known = binomtest(successes, trials).proportion_ci(confidence, method="exact")
    # binomtest finds its root with an absolute tolerance of 2e-12.
    assert (interval.lower, interval.upper) == pytest.approx((known.low, known.high), abs=1e-11)


def test_proportions_that_cannot_be() -> None:
    with pytest.raises(ValueError, match="successes: expected at most 3, got 4"):
        proportion(4, 3)
    with pytest.raises(ValueError, match="confidence"):
        proportion(1, 3, confidence=1.0)


@given(st.lists(st.integers(1, 9), min_size=1, max_size=6), st.integers(0, 2**32 - 1))
def test_moments_do_not_depend_on_the_chunks(sizes: list[int], seed: int) -> None:
    """Against numpy on everything at once, for values of 1e4 that vary by 10."""
    total = sum(sizes)
    values = np.random.default_rng(seed).normal(1e4, 10.0, size=(2, total, 3))
    moments = RunningMoments((4, 2, 3))
    for batch in np.split(values, np.cumsum(sizes)[:-1], axis=1):
        moments.add(2, batch, axis=1)
    # Sums of up to 54 numbers near 1e4, rounded at 1e4 ε each: relative 54 ε for the mean, and
    # for deviations of 10 about 1e3 times as much.
    np.testing.assert_allclose(moments.mean[2], values.mean(axis=1), rtol=54 * 2.3e-16)
    error = moments.standard_error(total)[2]
    if total == 1:
        assert np.isnan(error).all()
    else:
        expected = values.std(axis=1, ddof=1) / np.sqrt(total)
        np.testing.assert_allclose(error, expected, rtol=1e-9)
    assert (moments.mean[[0, 1, 3]] == 0).all()


def tally(reference: tuple[int, ...], hypotheses: int = 3) -> Tally:
    scale = np.append(0.0, np.ones(hypotheses - 1))
    return Tally(np.array([5]), agents=2, hypotheses=hypotheses, reference=reference, scale=scale)


def test_errors_ties_and_settled() -> None:
    """Two agents, four replicates; Λ(0, ·) is small where another hypothesis is believed."""
    counts = tally((0,))
    values = np.array(
        [
            [[0.0, 1.0, 2.0], [0.0, -1.0, 2.0], [0.0, 0.0, 3.0], [0.0, 1.0, 1.0]],
            [[0.0, 2.0, 2.0], [0.0, 1.0, -2.0], [0.0, 4.0, 3.0], [0.0, 1.0, 1.0]],
        ]
    )
    counts.add(0, values)
    assert counts.errors[0] == 2  # replicate 1 (both agents), replicate 2 (a tie of agent 0)
    np.testing.assert_array_equal(counts.agent_errors[0], [2, 1])
    np.testing.assert_array_equal(counts.settled[0], [5, 2, 1])
    counts.add(0, values[:, :1])
    np.testing.assert_array_equal(counts.settled[0], [7, 2, 1])
    np.testing.assert_allclose(counts.each.mean[0, 0, 1], (1 - 1 + 0 + 1 + 1) / 5, rtol=1e-15)
    network = values.mean(axis=0)
    np.testing.assert_allclose(
        counts.network.mean[0], (network.sum(axis=0) + network[0]) / 5, rtol=1e-15
    )


def test_a_tie_up_to_rounding_is_a_tie() -> None:
    counts = tally((0,), hypotheses=2)
    counts.add(0, np.array([[[0.0, 1e-15]], [[0.0, 1e-13]]]))  # five rounds: 25 roundings of one
    np.testing.assert_array_equal(counts.agent_errors[0], [1, 0])


def test_any_member_of_the_reference_set_will_do() -> None:
    counts = tally((0, 2))
    counts.add(0, np.array([[[0.0, -1.0, -2.0]], [[0.0, -1.0, -0.5]]]))
    np.testing.assert_array_equal(counts.agent_errors[0], [0, 1])
    np.testing.assert_array_equal(counts.settled[0], [0, 1, 1])
    everything = tally((0, 1, 2))
    everything.add(0, np.array([[[0.0, -1.0, -2.0]], [[0.0, -1.0, -0.5]]]))
    assert everything.errors[0] == 0
    np.testing.assert_array_equal(everything.settled[0], [0, 1, 1])


def test_each_hypothesis_ties_by_its_own_scale() -> None:
    """Λ of 1e9 for one makes no tie of a gap of 1e-3 between two others."""
    scale = np.array([0.0, 1.0, 1e15])
    counts = Tally(np.array([5]), agents=1, hypotheses=3, reference=(0,), scale=scale)
    counts.add(0, np.array([[[0.0, 1e-3, 1e12], [0.0, -1e-3, 1e12]]]))
    assert counts.errors.tolist() == [1]
    assert counts.settled.tolist() == [[1, 1, 0]]


@pytest.mark.parametrize("far", [5e4, 1e9])
def test_simulated_errors_do_not_see_a_far_hypothesis(far: float) -> None:
    def errors(*means: float) -> list[int]:
        agent = GaussianAgent([1.0], [0.0], 1.0, [[m] for m in means], 1.0)
        names = [f"{m:g}" for m in means]
        model = FiniteModel.from_agents(names, [agent], counts=[2])
        network = Network([[0.9, 0.1], [0.6, 0.4]])
        run = simulate(network, model, run=Run(rounds=2000, replicates=200, seed=1))
        assert run.reference == (0,)
        return [int(n) for n in run.errors]

    assert errors(0.0, 0.1, far) == errors(0.0, 0.1)
