"""Runs as a page asks for them, against `pb.simulate`, exact means and laws by hand."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import peerbayes as pb
from exact import Run, simulate
from peerbayes.explorer.documents import opened, problem_of
from peerbayes.explorer.edits import edited
from peerbayes.explorer.runs import run
from tests.peerbayes.explore.starts import BLIND, COIN, finite, starts

Table = dict[str, Any]
# Five standard errors: one chance in two million that a right measurement fails.
FAR = 5


@pytest.fixture(scope="module")
def coins() -> Table:
    return run({"document": opened(pb.load("two-coins")), "rounds": 60, "replicates": 300})


def test_beliefs_are_the_simulations_own(coins: Table) -> None:
    problem = pb.load("two-coins")
    how = Run(rounds=60, replicates=300, seed=0, record=range(1, 61), paths=300)
    found = simulate(problem.network, problem.model, run=how)
    odds = found.paths[0][..., 1]  # log of fair over loaded
    np.testing.assert_allclose(
        np.array(coins["beliefs"])[..., 0], 1 / (1 + np.exp(-odds)), rtol=0, atol=1e-5
    )
    assert coins["error_share"] == (found.errors / 300).tolist()
    worst = (1 / (1 + np.exp(-found.paths[..., 1]))).min(axis=2)
    expected = np.quantile(worst, [0.05, 0.25, 0.5, 0.75, 0.95], axis=0).T
    np.testing.assert_allclose(coins["cloud"]["values"], expected, rtol=0, atol=1e-5)


def test_what_is_measured_lies_beside_what_is_proved(coins: Table) -> None:
    assert coins["rounds"] == list(range(1, 61))
    assert (
        coins["predicted_rate"]
        == pb.learning_rate(pb.load("two-coins").network, pb.load("two-coins").model).rate
    )
    # Agents that see the same, with even priors: the mean is the limit from the first round on.
    assert coins["expected_rate"] == pytest.approx(coins["predicted_rate"], rel=1e-12)
    surprise = coins["measured_rate"] - coins["expected_rate"]
    assert abs(surprise) < FAR * coins["measured_standard_error"]
    bounds = zip(coins["error_interval"], coins["bound"], coins["error_share"], strict=True)
    for (low, high), bound, share in bounds:
        assert low <= share <= high
        assert low <= bound  # the bound is above the probability, which the interval covers
    assert coins["bound"][-1] < 1


def test_the_same_seed_gives_the_same_run_and_another_does_not() -> None:
    document = edited(starts()["ring"], [])
    asked = {"document": document, "rounds": 20, "replicates": 8, "seed": 3}
    first = run(asked)
    assert run(asked) == first
    assert run({**asked, "seed": 4})["beliefs"] != first["beliefs"]
    json.dumps(first, allow_nan=False)


@pytest.mark.parametrize("name", ["sequence", "failing", "late", "messages", "faulty", "edges"])
def test_every_kind_of_problem_runs(name: str) -> None:
    document = edited(starts()[name], [])
    found = run({"document": document, "rounds": 40, "replicates": 50, "seed": 1})
    agents = problem_of(document).network.agents
    faulty = {3} if name == "faulty" else set()
    for row in found["beliefs"]:
        assert [agent for agent, held in enumerate(row) if held is None] == sorted(faulty)
        for held in row:
            assert held is None or sum(held) == pytest.approx(1, abs=3e-5)
    assert len(found["beliefs"][0]) == agents
    for values in found["cloud"]["values"]:
        assert values == sorted(values)
    assert (found["bound"] is None) == (name in ("failing", "faulty"))
    if found["expected_rate"] is not None:
        gap = found["measured_rate"] - found["expected_rate"]
        assert abs(gap) < FAR * found["measured_standard_error"]
    json.dumps(found, allow_nan=False)


def test_a_truth_that_nobody_has_ends_at_the_nearest_hypothesis() -> None:
    """Heads with probability 5/8: half-way, but nearer to 1/2 or 3/4 by divergence?"""
    document = finite({"topology": "complete", "agents": 3}, [{"count": 3, **COIN}])
    mixture = {"fair": "1/2", "loaded": "1/2"}
    found = run(
        {"document": document, "rounds": 300, "replicates": 60, "truth": {"mixture": mixture}}
    )
    truth = np.array([5 / 8, 3 / 8])
    gaps = [float(truth @ np.log(truth / np.array(claim))) for claim in ([0.5, 0.5], [0.75, 0.25])]
    nearest = ("fair", "loaded")[int(np.argmin(gaps))]
    assert found["reference"] == [nearest]
    assert found["predicted_rate"] == pytest.approx(abs(gaps[0] - gaps[1]), rel=1e-12)
    assert abs(found["measured_rate"] - found["expected_rate"]) < (
        FAR * found["measured_standard_error"]
    )
    one = {"document": document, "truth": {"agent": 0, "of": "loaded"}, "rounds": 5}
    assert run(one)["rates"]
    own = {"document": document, "rounds": 5, "truth": {"agent": None, "mixture": None}}
    assert run(own) == run({**own, "truth": None})


def test_agents_that_disagree_settle_on_the_compromise() -> None:
    other = {**COIN, "truth": "loaded"}
    document = finite({"topology": "star", "agents": 3}, [COIN, other, BLIND])
    found = run({"document": document, "rounds": 10, "replicates": 4})
    assert any("compromise" in line for line in found["words"])


def test_long_runs_are_thinned_and_too_long_ones_refused() -> None:
    document = edited(starts()["ring"], [])
    found = run({"document": document, "rounds": 5000, "replicates": 2})
    assert len(found["rounds"]) == 400
    assert (found["rounds"][0], found["rounds"][-1]) == (1, 5000)
    with pytest.raises(ValueError, match="expected a run of at most about"):
        run({"document": document, "rounds": 10**6, "replicates": 10**5})
    for wrong in ({"rounds": 0}, {"replicates": 2.5}, {"delta": 1}, {"truth": "fair"}):
        with pytest.raises(ValueError, match="expected"):
            run({"document": document, **wrong})


def test_a_regression_shows_errors_in_place_of_beliefs() -> None:
    document = opened(pb.load("p1-regression"))
    told: list[tuple[int, int]] = []
    found = run(
        {"document": document, "rounds": 200, "replicates": 100, "seed": 2},
        lambda done, total: told.append((done, total)),
    )
    assert found["beliefs"] is None
    assert len(found["errors"]) == len(found["rounds"]) == len(found["cloud"]["values"])
    measured, spread = (np.array(found[k]) for k in ("network_error", "network_standard_error"))
    late = np.array(found["rounds"]) >= 20
    surprise = (measured - np.array(found["predicted_error"]))[late] / spread[late]
    assert np.abs(surprise).max() < FAR
    assert told[-1][0] == told[-1][1]
    json.dumps(found, allow_nan=False)
