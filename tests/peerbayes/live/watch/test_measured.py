"""Numbers from reports against an event-by-event network that knows nothing of them."""

from __future__ import annotations

import numpy as np
import pytest

from peerbayes.live.watch.measured import measure
from peerbayes.live.watch.reports import MOST_BELIEFS, Course, Stretch, read_report
from tests.peerbayes.live.watch.network import (
    MODEL,
    NETWORK,
    ROWS,
    LiveNetwork,
    drawn,
    lockstep,
    own_paces,
    steady,
)


def stretch_of(network: LiveNetwork, seconds: float) -> Stretch:
    found = Stretch(0.0, frozenset())
    for at, kind, what in network.run(seconds):
        if kind == "report":
            found.add(read_report(what[1], network=NETWORK, agent=what[0]), at)
    return found


@pytest.mark.parametrize("network", [own_paces(steady), lockstep(steady)], ids=["own", "lockstep"])
def test_without_chance_beliefs_grow_as_predicted(network: LiveNetwork) -> None:
    stretch = stretch_of(network, 60)
    found = measure(network.names, stretch.courses, MODEL)
    # Evidence of messages under way at either end: a few rounds of about .1 s, of 58 s; and the
    # belief of a report is up to a round old.
    for rate in found.rates:
        assert rate.predicted is not None
        assert rate.measured == pytest.approx(rate.predicted, rel=5e-3)


def test_in_lockstep_a_round_of_the_network_is_a_round_of_each_agent() -> None:
    network = lockstep(steady)
    stretch = stretch_of(network, 30)
    found = measure(network.names, stretch.courses, MODEL)
    # The last report comes up to a round after the last pooling: of 1700 rounds.
    assert found.round_seconds == pytest.approx(found.rhythm.mean(), rel=2e-3)
    np.testing.assert_allclose(found.weights, ROWS, atol=1e-12)  # sums of some thousand weights
    v = found.influence
    np.testing.assert_allclose(v @ ROWS, v, atol=1e-12)
    assert found.rates[0].predicted == pytest.approx(
        v @ MODEL.information(0)[:, 1] / found.round_seconds
    )


@pytest.mark.parametrize("make", [own_paces, lockstep], ids=["own", "lockstep"])
def test_clocks_that_are_off_change_nothing(make) -> None:
    network, other = make(steady), make(steady)
    other.clocks = ((1.0, 0.0), (1.0, -3600.0), (1.0, 5.0))
    right, off = (
        measure(one.names, stretch_of(one, 20).courses, MODEL) for one in (network, other)
    )
    # Times of 1.7e9 seconds have steps of 2.4e-7 seconds, rounds are .01 seconds long at least.
    assert off.round_seconds == pytest.approx(right.round_seconds, rel=1e-4)
    np.testing.assert_allclose(off.slowness, right.slowness, atol=1e-4)
    np.testing.assert_allclose(off.waits, right.waits, atol=1e-6)
    assert [r.measured for r in off.rates] == [r.measured for r in right.rates]


@pytest.mark.parametrize("make", [own_paces, lockstep], ids=["own", "lockstep"])
def test_draws_move_the_rate_within_the_standard_error_and_not_less(make) -> None:
    scores, shares = [], []
    for seed in range(6):
        network = make(drawn(seed))
        found = measure(network.names, stretch_of(network, 25).courses, MODEL)
        for rate in found.rates:
            scores.append((rate.measured - rate.predicted) / rate.standard_error)
            shares.append(rate.blocks_error / rate.standard_error)
    # 12 scores, in pairs correlated: a mean square beyond 3.5 or below .2 has a chance below 1e-3.
    assert 0.2 < np.mean(np.square(scores)) < 3.5
    # The square of each ratio is about chi-squared over its 19 degrees of freedom.
    assert 0.8 < np.mean(shares) < 1.2


def test_an_agent_that_begins_anew_or_another_list_ends_a_stretch() -> None:
    network = own_paces(steady)
    reports = [
        read_report(what[1], network=NETWORK, agent="a0")
        for _, kind, what in network.run(5)
        if kind == "report" and what[0] == "a0"
    ]
    stretch = Stretch(0.0, frozenset({"a0"}))
    stretch.add(reports[1], 2.0)
    assert stretch.follows(reports[2])
    assert not stretch.follows(reports[0])  # its sums are smaller
    assert not stretch.follows(reports[2].model_copy(update={"epoch": 1}))
    other = reports[2].model_copy(update={"agent": "a1", "epoch": 1})
    assert not stretch.follows(other)


def test_beliefs_are_thinned_and_both_ends_kept() -> None:
    network = LiveNetwork(
        ROWS, steady, interval=lambda i: 0.05, delay=lambda i, j: 0.01, every=0.05
    )
    stretch = stretch_of(network, 60)
    course = stretch.courses["a1"]
    times, beliefs = course.beliefs
    assert len(times) == len(beliefs) <= MOST_BELIEFS + 1
    assert course.reports > 4 * MOST_BELIEFS
    assert (times[0], times[-1]) == (course.began, course.ended)
    assert np.diff(times).min() > 0
    assert np.diff(times)[:-1].max() < 2.01 * np.diff(times)[:-1].min()
    np.testing.assert_array_equal(beliefs[-1], course.last.belief.log_belief)


def test_without_a_model_slopes_alone_are_known() -> None:
    network = own_paces(drawn(3))
    stretch = stretch_of(network, 30)
    bare, known = (measure(network.names, stretch.courses, model) for model in (None, MODEL))
    assert bare.reference == known.reference == 0
    assert [rate.predicted for rate in bare.rates] == [None, None]
    for one, other in zip(bare.rates, known.rates, strict=True):
        assert one.measured == other.measured
        assert one.standard_error == one.blocks_error == other.blocks_error


def test_groups_that_do_not_hear_each_other_have_no_rate() -> None:
    apart = np.array([[1.0, 0, 0], [0, 0.5, 0.5], [0, 0.5, 0.5]])
    network = LiveNetwork(apart, steady, interval=lambda i: 0.02, delay=lambda i, j: 0.01)
    found = measure(network.names, stretch_of(network, 5).courses, MODEL)
    assert found.influence is None
    assert all(rate.predicted is None for rate in found.rates)
    assert "groups" in found.notes[0]


def test_with_one_report_each_nothing_is_measured() -> None:
    network = own_paces(steady)
    stretch = stretch_of(network, 1.9)
    found = measure(network.names, stretch.courses, MODEL)
    assert found.agents.size == 0
    assert found.rates == ()
    assert "no poolings" in found.notes[0]


def test_a_course_begins_with_its_first_report() -> None:
    network = own_paces(steady)
    what = next(what for _, kind, what in network.run(2) if kind == "report")
    course = Course(read_report(what[1], network=NETWORK, agent="a0"), 1.0)
    assert (course.poolings, course.began, course.ended) == (0, 1.0, 1.0)
