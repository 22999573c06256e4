"""A run followed: what is on record, and a killed run that is taken up again."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from empirical.data import load_digits
from empirical.dealing import ByLabels, held_labels
from empirical.keeping import Generations
from empirical.nets.architecture import perceptron
from empirical.nets.shares import Shares, as_inputs
from empirical.train.curve import Curve, Schedule, Test, follow
from empirical.train.evaluation import mean_probabilities
from empirical.train.fedavg import FedAvg
from empirical.train.followed import Alone, Followed, Server, Together
from empirical.train.recipe import FedAvgRecipe, Recipe
from empirical.train.steps import TrainingFailed
from tests.empirical.support import refused
from theory.network import Network

ROOT = Path(__file__).parents[3]
NET = perceptron(64, 8, outputs=10)
SCHEDULE = Schedule(records=6, images=60, draws=2, last_images=200, last_draws=2, agents=2)
RECIPE = Recipe(rounds=12, local_steps=2, batch=20, mean_rate=0.02, mean_epsilon=1e-2)
WEIGHTS = np.array([[0.25, 0.75], [0.75, 0.25]])
RULE = ByLabels(((0, 1, 2, 3, 4), (5, 6, 7, 8, 9)))


def shares() -> Shares:
    images = load_digits()
    return Shares.from_images(images, RULE.deal(images.labels, seed=0), input_shape=(64,))


def network(recipe: Recipe = RECIPE) -> Together:
    return Together(recipe.training(shares(), Network(WEIGHTS), architecture=NET, seed=5), NET)


def alone(recipe: Recipe = RECIPE) -> Alone:
    return Alone([one_alone(k, recipe) for k in (0, 1)])


def one_alone(agent: int, recipe: Recipe = RECIPE) -> Together:
    one = Network(np.ones((1, 1)))
    return Together(recipe.training(shares().of([agent]), one, architecture=NET, seed=5), NET)


def server() -> Server:
    recipe = FedAvgRecipe(
        rounds=12, fraction=1.0, local_steps=2, batch=20, momentum=0.5, averaging=2.0
    )
    return Server(FedAvg(shares(), recipe, architecture=NET, seed=5))


def test_set(learners: int) -> Test:
    images = load_digits()
    own: Sequence[tuple[int, ...]] = held_labels(RULE.deal(images.labels, seed=0), images.labels)
    own = own if learners == 2 else (tuple(range(10)),)
    return Test(as_inputs(images, input_shape=(64,)), images.labels, tuple(own))


test_set.__test__ = False  # type: ignore[attr-defined]


def followed(learner: Followed, **options: Any) -> Curve:
    options = {"rounds": 12, "schedule": SCHEDULE, "seed": 1} | options
    return follow(learner, test_set(learner.posterior.agents), **options)


def timeless(curve: Curve) -> str:
    """Everything but how long it took."""
    content = curve.as_json()
    del content["seconds"]
    for point in content["points"]:
        del point["seconds"]
    return json.dumps(content, allow_nan=False)


@pytest.mark.parametrize("records", [2, 3, 8, 21])
@pytest.mark.parametrize("rounds", [1, 2, 7, 1000])
def test_recorded_rounds(records: int, rounds: int) -> None:
    found = Schedule(records=records).rounds(rounds)
    assert found[0] == 1
    assert found[-1] == rounds
    assert list(found) == sorted(set(found))
    assert len(found) <= records


def test_what_is_on_record() -> None:
    learner = network()
    said: list[str] = []
    ticks: list[tuple[int, int]] = []
    curve = followed(learner, say=said.append, progress=lambda *tick: ticks.append(tick))
    assert ticks == [(k, 12) for k in range(1, 13)]
    assert [point["round"] for point in curve.points] == list(SCHEDULE.rounds(12))
    for point in curve.points:
        assert point["local_steps"] == 2 * 2 * point["round"]
        # Two links, precision and shift of d float32 numbers each.
        assert point["bytes"] == 2 * 8 * NET.parameters * point["round"]
        assert np.shape(point["sigma"]) == (2, 5)
        assert all(row == sorted(row) for row in point["sigma"])
        assert all(value > 0 for value in point["divergence"])
    # What is measured, done once more by hand.
    images = load_digits()
    inputs = as_inputs(images, input_shape=(64,))
    places = test_set(2).sample(200)
    predicted = mean_probabilities(learner.posterior, inputs).argmax(axis=2)
    share = (predicted == images.labels)[:, places].mean(axis=1)
    assert curve.last["mean"]["accuracy"] == pytest.approx(share, abs=1e-6)
    assert np.sum(curve.last["mean"]["confusion"]) == 2 * 200
    last = curve.points[-1]["after"]["sampled"]
    assert (
        said[-1] == f"{100 * float(np.mean(curve.points[-1]['after']['mean']['accuracy'])):.1f} %"
    )
    # Agents that differ before a consensus are nearer to each other after it.
    before = curve.points[0]["before"]["mean"]["in_domain_confidence"]
    assert before != curve.points[0]["after"]["mean"]["in_domain_confidence"]
    assert set(last) >= {"nll", "calibration_error", "entropy", "out_of_domain_confidence"}


@pytest.mark.parametrize("prior", ["consensus", "fixed"])
def test_divergences_are_from_the_prior_of_the_round(prior: Any) -> None:
    """Written out, of Gaussians with independent coordinates."""
    learner = network(replace(RECIPE, prior=prior, prior_std=0.4))
    learner.advance()
    mean, variance = (
        part.double().clone() for part in (learner.posterior.mean, learner.posterior.variance)
    )
    if prior == "fixed":
        mean, variance = torch.zeros_like(mean), torch.full_like(variance, 0.4**2)
    step = learner.advance(before=(0, 1))
    assert step.before is not None
    assert step.divergence is not None
    there, wide = step.before.mean.double(), step.before.variance.double()
    terms = (wide + (there - mean) ** 2) / variance - 1 - (wide / variance).log()
    np.testing.assert_allclose(step.divergence, 0.5 * terms.sum(dim=1), rtol=1e-4)


def test_learners_alone_are_trainings_of_their_own() -> None:
    both = alone()
    for _ in range(3):
        step = both.advance(before=(0, 1))
        assert (step.local_steps, step.bytes_sent, step.before) == (4, 0, None)
    one = one_alone(1)
    for _ in range(3):
        one.advance()
    assert torch.equal(both.posterior.mean[1], one.posterior.mean[0])
    assert torch.equal(both.posterior.variance[1], one.posterior.variance[0])
    refused("trainings of one agent each", Alone, [network()])


def test_a_server_is_judged_by_what_it_serves() -> None:
    learner = server()
    curve = followed(learner)
    assert "sampled" not in curve.last
    assert curve.points[0]["before"] is None
    assert curve.points[0]["sigma"] is None
    assert torch.equal(learner.posterior.mean[0], learner._run.served)


@pytest.mark.parametrize(("make", "stop"), [(network, 1), (alone, 5), (server, 11), (server, 1)])
def test_a_run_that_was_stopped_ends_with_the_same_bits(
    make: Any, stop: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.fsync", lambda file: None)  # slow, and no power is lost here
    whole = make()
    expected = timeless(followed(whole))

    def tick(done: int, total: int) -> None:
        if done == stop:
            raise KeyboardInterrupt

    kept = Generations(tmp_path / "run", "f")
    kept.due = lambda: True  # type: ignore[method-assign]  # after every round
    with pytest.raises(KeyboardInterrupt):
        followed(make(), generations=kept, progress=tick)
    again = make()
    seen: list[int] = []
    curve = followed(
        again,
        generations=Generations(tmp_path / "run", "f"),
        resume=True,
        progress=lambda done, total: seen.append(done),
    )
    # The round in which it was stopped had not been kept yet.
    assert seen[0] == max(stop, 1)
    assert timeless(curve) == expected
    assert torch.equal(again.posterior.mean, whole.posterior.mean)
    assert torch.equal(again.posterior.variance, whole.posterior.variance)


def test_a_failure_names_the_last_good_state(tmp_path: Path) -> None:
    wild = Recipe(rounds=12, local_steps=2, batch=20, mean_rate=1e30, mean_epsilon=1e-2)
    learner = network(wild)
    with pytest.raises(TrainingFailed, match=r"agent \d in round \d"):
        followed(learner)
    # Of a failure in a later round there is a state before it.
    start = network()
    kept = Generations(tmp_path / "run", "f")

    def tick(done: int, total: int) -> None:
        if done == 3:
            start.posterior.mean[1, 0] = float("nan")

    with pytest.raises(
        TrainingFailed, match=r"agent 1 in round 4.*of round 1, is kept in"
    ) as error:
        followed(start, generations=kept, progress=tick)
    assert str(kept.newest) in str(error.value)
    found = Generations(tmp_path / "run", "f").load()
    assert found is not None
    assert len(found.words["points"]) == 1
    assert torch.isfinite(found.tensors["learner.mean"]).all()


def test_bad_input() -> None:
    learner = network()
    learner.advance()
    refused("before its first round", followed, learner)
    refused("rounds", followed, network(), rounds=0)
    refused("records", Schedule, records=1)
