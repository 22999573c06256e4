"""`pb.learn` on observations of one's own, against the papers' form of the algorithm."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import peerbayes as pb
from exact import draw_rounds, learn, learn_changing
from tests.models import COIN, PAIR, coins

RNG = np.random.default_rng(5)
SEEN = RNG.integers(0, 2, size=(40, 3))
RING = pb.Network.from_topology("path", agents=3)
MODEL = coins(3)
ROWS = COIN.log_likelihoods.T[SEEN]  # (T, N, M)


def problem(network: Any = RING, model: Any = MODEL, **more: Any) -> Any:
    return pb.problem_of(network, model, **more)


def test_beliefs_are_those_of_the_algorithm_as_published() -> None:
    learned = pb.learn(problem(), SEEN)
    by_the_book = learn(RING, ROWS)
    np.testing.assert_allclose(learned.log_beliefs, by_the_book.private, rtol=0, atol=1e-12)
    assert (learned.estimates == by_the_book.estimates).all()
    last = by_the_book.estimates[-1]
    assert learned.settles_on == tuple(MODEL.hypotheses[m] for m in last)


@pytest.mark.parametrize(
    "network",
    [
        pb.RandomLinks(RING, 0.6),
        pb.RandomPresence(RING, 0.5),
        pb.DelayedNetwork(RING, 2),
        pb.PeriodicNetwork([RING.weights, np.eye(3)]),
    ],
    ids=["links", "presence", "delays", "phases"],
)
def test_a_network_that_changes_is_drawn_by_the_seed(network: Any) -> None:
    learned = pb.learn(problem(network), SEEN, seed=7)
    drawn = draw_rounds(network, rounds=len(SEEN), seed=7)
    by_the_book = learn_changing(drawn.phases, ROWS, ages=drawn.ages)
    np.testing.assert_allclose(learned.log_beliefs, by_the_book.private, rtol=0, atol=1e-11)


def test_liars_are_heard_and_stuck_data_seen() -> None:
    stuck = pb.Faults({1: pb.faults.StuckData(outcome=1)})
    rows = ROWS.copy()
    rows[:, 1] = COIN.log_likelihoods[:, 1]
    learned = pb.learn(problem(faults=stuck), SEEN)
    np.testing.assert_allclose(learned.log_beliefs, learn(RING, rows).private, rtol=0, atol=1e-12)

    lying = pb.learn(problem(faults=pb.Faults({1: pb.faults.Push("loaded", 2.0)})), SEEN)
    ratios = np.zeros(3)  # log fair/loaded of each agent
    for t, row in enumerate(ROWS):
        public = ratios + row[:, 0] - row[:, 1]
        public[1] = -2.0 * (t + 1)
        pooled = np.asarray(RING.weights) @ public
        ratios = np.where(np.arange(3) == 1, 0.0, pooled)
        np.testing.assert_allclose(lying.log_ratios[t, :, 1], ratios, rtol=0, atol=1e-11)


def test_fine_messages_change_nothing_that_counts() -> None:
    learned = pb.learn(problem(messages=pb.quantisers.Uniform(step=1e-6)), SEEN)
    np.testing.assert_allclose(learned.log_beliefs, learn(RING, ROWS).private, rtol=0, atol=1e-4)


def test_several_observations_a_round_and_none() -> None:
    batches = [[[0, 1], None, 1], [[], [1, 1, 1], [0]]]
    learned = pb.learn(problem(), batches, missing="skip")
    logs = COIN.log_likelihoods.T
    rows = np.zeros((2, 3, 2))
    rows[0, 0], rows[0, 2] = logs[0] + logs[1], logs[1]
    rows[1, 1], rows[1, 2] = 3 * logs[1], logs[0]
    np.testing.assert_allclose(learned.log_beliefs, learn(RING, rows).private, rtol=0, atol=1e-12)
    cube = np.array([[[0, 1]] * 3, [[1, 1]] * 3])
    expected = learn(RING, logs[cube].sum(axis=2)).private
    np.testing.assert_allclose(pb.learn(problem(), cube).log_beliefs, expected, rtol=0, atol=1e-12)


def test_inputs_labels_and_log_likelihoods() -> None:
    seer = pb.FiniteAgent.from_tables(
        inputs=[0.5, 0.5],
        truth=[[1.0, 0.0], [0.5, 0.5]],
        likelihood=[[[0.9, 0.1], [0.5, 0.5]], [[0.2, 0.8], [0.5, 0.5]]],
    )
    gauge = pb.GaussianAgent([1.0], [0.0], 1.0, [[0.0], [2.0]], 1.0)
    model = pb.FiniteModel.from_agents(["a", "b"], [seer, gauge])
    entries = [[[0, 1], 1.5], [(1, 0), {"log_likelihood": [-3.0, -1.0]}]]  # (0, 1): never in truth
    learned = pb.learn(pb.problem_of(PAIR, model), entries)
    logs = [[-(1.5**2) / 2, -(0.5**2) / 2], [-3.0, -1.0]]
    rows = np.array([[np.log([0.1, 0.8]), logs[0]], [np.log([0.5, 0.5]), logs[1]]])
    np.testing.assert_allclose(learned.log_beliefs, learn(PAIR, rows).private, rtol=0, atol=1e-12)


def test_outcomes_by_the_names_of_a_problem_file(tmp_path: Path) -> None:
    path = tmp_path / "gauges.toml"
    path.write_text(
        """
        [network]
        names = ["mill", "bridge"]
        weights = [["9/10", "1/10"], ["3/5", "2/5"]]
        [model]
        hypotheses = ["fair", "loaded"]
        [[model.agents]]
        count = 2
        outcomes = ["heads", "tails"]
        truth = "fair"
        likelihood = [[["1/2", "1/2"]], [["3/4", "1/4"]]]
        """,
        encoding="utf-8",
    )
    named = pb.learn(path, [["heads", "tails"], ["tails", "tails"]])
    assert named == pb.learn(path, [[0, 1], [1, 1]])
    expected = learn(PAIR, COIN.log_likelihoods.T[[[0, 1], [1, 1]]]).private
    np.testing.assert_allclose(named.log_beliefs, expected, rtol=0, atol=1e-12)
    with pytest.raises(ValueError, match="bridge in round 2, got 'edge', which is none of he"):
        pb.learn(path, [["heads", "tails"], ["tails", "edge"]])


def test_what_is_learned_shows_draws_and_writes_itself() -> None:
    pair = pb.Network(PAIR.weights, names=("mill", "bridge"))
    learned = pb.learn(pb.problem_of(pair, coins(2), name="coins"), [[0, 0], [0, 1], [0, 0]])
    assert "mill: 'loaded'" in repr(learned)
    assert len(repr(learned).splitlines()) < 6
    written = learned.as_json()
    assert written["settles_on"] == ["loaded", "loaded"]
    assert written["agents"] == ["mill", "bridge"]
    assert np.allclose(np.sum(written["beliefs"], axis=1), 1)
    axes = learned.plot()
    assert axes.get_legend().get_texts()[0].get_text() == "loaded"  # type: ignore[union-attr]
    assert pb.plot(learned).get_xlabel() == "round"
    assert not learned.beliefs.flags.writeable


@pytest.mark.parametrize(
    ("observations", "said"),
    [
        ([[0, 1, 2]], "agent 2 in round 1, got the observation 2.0, which should be 0 to 1"),
        ([[0, 1, 0.5]], "got the observation 0.5, which should be a whole number"),
        ([[0, 1, "tails"]], "got 'tails', which is a text; outcomes count from 0"),
        ([[0, 1, True]], "'true' is no observation"),
        (
            [[0, 1, None]],
            'got none in round 1 of agent 2; leave missing ones out, or say missing="skip"',
        ),
        ([[0, 1, float("nan")]], "got none in round 1 of agent 2"),
        ([[0, 1]], "one entry for each of 3 agents, got 2 of them in round 1"),
        ([], "one entry for each of 3 agents, got"),
        ([0, 1, 0], "got 0 in round 1"),
        ("010", "got str"),
        ([[0, 1, {"log_likelihood": [0.0]}]], "there should be 2 log-likelihoods"),
    ],
)
def test_what_is_no_observation_is_refused(observations: Any, said: str) -> None:
    with pytest.raises(ValueError, match=r"^observations: expected") as caught:
        pb.learn(problem(), observations)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_other_arguments_are_refused() -> None:
    gauge = pb.GaussianAgent([1.0], [0.0], 1.0, [[0.0], [2.0]], 1.0)
    model = pb.FiniteModel.from_agents(["low", "high"], [gauge], counts=[2])
    pair = pb.problem_of(pb.Network([[0.5, 0.5], [0.5, 0.5]]), model)
    with pytest.raises(ValueError, match=r"'1.5', which is a text; .* such as float\(cell\)"):
        pb.learn(pair, [[0.5, "1.5"]])
    with pytest.raises(ValueError, match="problem: expected a problem with finitely many hyp"):
        pb.learn("p1-regression", [[0]])
    with pytest.raises(ValueError, match="missing: expected refuse or skip"):
        pb.learn(problem(), SEEN, missing="drop")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="seed"):
        pb.learn(problem(), SEEN, seed=-1)
