"""What behaviours and rules refuse, and what they say."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from tests.models import coins
from theory import FiniteModel, GaussianAgent, Network
from theory.robustness import (
    Average,
    Clip,
    Colluding,
    ConstantBelief,
    Median,
    Push,
    RandomLies,
    Silent,
    Split,
    StuckData,
    TrimmedMean,
    check_tolerance,
    honest_agents,
    honest_reference,
)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ConstantBelief(np.zeros((2, 2))), "log_belief: expected one number per"),
        (lambda: ConstantBelief(np.zeros(1)), "log_belief: expected one number per"),
        (lambda: Push(0, float("inf")), "strength: expected a number of size at most 1e"),
        (lambda: Push(0, "much"), "strength: expected a number, got 'much'"),  # type: ignore[arg-type]
        (lambda: RandomLies(0.0), "scale: expected a positive number, got 0.0"),
        (lambda: Split(1, 1, 2.0), "second: expected another hypothesis than first, got 1"),
        (lambda: Colluding(0, -1.0), "margin: expected a number of at least 0, got -1.0"),
        (lambda: StuckData(), "outcome: expected an outcome or log_likelihoods, got neither"),
        (lambda: StuckData(0, np.zeros(2)), "outcome: .* got both; give one of the two"),
        (lambda: StuckData(-1), "outcome: expected a whole number of at least 0, got -1"),
        (lambda: StuckData(None, np.array([0, np.nan])), "log_likelihoods: expected finite"),
        (lambda: TrimmedMean(-1), "tolerate: expected a whole number of at least 0, got -1"),
        (lambda: TrimmedMean(1, lost="found"), "lost: expected one of .*, got 'found'"),
        (lambda: Clip(0.0), "radius: expected a finite number above 0, got 0"),
    ],
)
def test_what_cannot_be_is_refused(make: Callable[[], object], message: str) -> None:
    with pytest.raises(ValueError, match=f"^{message}"):
        make()


def test_what_speakers_say() -> None:
    model = coins(3)
    push = Push("loaded", 2.0).speech(model, 2)
    assert push.slope.tolist() == [[0, 2], [0, 2]]
    assert not push.offset.any()
    assert Push(0, 2.0, growing=False).speech(model, 1).offset.tolist() == [[2, 0]]
    split = Split("fair", 1, 3.0).speech(model, 3)
    assert split.slope.tolist() == [[3, 0], [0, 3], [3, 0]]
    assert RandomLies(4.0).speech(model, 1).deviation == 4.0
    assert np.isnan(Silent().speech(model, 1).offset).all()
    assert StuckData(1).datum(model, 0).tolist() == np.log([0.5, 0.25]).tolist()


def test_stuck_data_of_an_agent_without_outcomes() -> None:
    gauge = GaussianAgent([1.0], [0.0], 1.0, [[0.0], [1.0]], 1.0)
    model = FiniteModel.from_agents(["a", "b"], [gauge])
    with pytest.raises(ValueError, match=r"faults\[0\].outcome: expected an agent with finitely"):
        StuckData(0).datum(model, 0)
    assert StuckData(log_likelihoods=np.array([0.0, 1.0])).datum(model, 0).tolist() == [0, 1]


def test_who_is_honest_and_what_they_ought_to_find() -> None:
    """A faulty agent's own truth is none of the others' business."""
    left, right = (GaussianAgent([1.0], [truth], 1.0, [[0.0], [1.0]], 1.0) for truth in (0.0, 1.0))
    model = FiniteModel.from_agents(["zero", "one"], [left, right], counts=[1, 2])
    network = Network.from_topology("complete", agents=3)
    assert honest_agents(network, {1: Silent()}).tolist() == [0, 2]
    assert honest_reference(network, model, np.array([1, 2])) == (1,)
    assert honest_reference(network, model, np.array([0])) == (0,)


def test_tolerance_is_counted_where_liars_are_heard() -> None:
    ring = Network.from_topology("ring", agents=6)
    spread, together = {0: Silent(), 3: Silent()}, {0: Silent(), 2: Silent()}
    for rule in (TrimmedMean(1), Median()):
        check_tolerance(ring, spread, rule)
        with pytest.raises(ValueError, match=r"2 agents that agent 1 hears.*got 2 \(agents 0, 2\)"):
            check_tolerance(ring, together, rule)
    for free in (Average(), Clip(1.0), TrimmedMean(2)):
        check_tolerance(ring, together, free)
    # Two liars next to each other: what they hear of each other is nobody's harm.
    check_tolerance(ring, {0: Silent(), 1: Silent()}, TrimmedMean(1))
