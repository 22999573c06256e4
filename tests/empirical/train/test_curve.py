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
from empirical.train.averaging import Averaging, Belief
from empirical.train.curve import Followed, Schedule, Test, curve_of
from empirical.train.evaluation import mean_probabilities
from empirical.train.follow import Apart
from empirical.train.recipe import FedAvgRecipe, Recipe
from empirical.train.run import TrainingRun
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


def network(recipe: Recipe = RECIPE) -> TrainingRun:
    return recipe.training(shares(), Network(WEIGHTS), architecture=NET, seed=5)


def alone(recipe: Recipe = RECIPE) -> Apart:
    return Apart([one_alone(k, recipe) for k in (0, 1)])


def one_alone(agent: int, recipe: Recipe = RECIPE) -> TrainingRun:
    one = Network(np.ones((1, 1)))
    return recipe.training(shares().of([agent]), one, architecture=NET, seed=5)


def server() -> TrainingRun:
    recipe = FedAvgRecipe(
        rounds=12, fraction=1.0, local_steps=2, batch=20, momentum=0.5, averaging=2.0
    )
    return recipe.training(shares(), architecture=NET, seed=5)


def test_set(learners: int) -> Test:
    images = load_digits()
    own: Sequence[tuple[int, ...]] = held_labels(RULE.deal(images.labels, seed=0), images.labels)
    own = own if learners == 2 else (tuple(range(10)),)
    return Test(as_inputs(images, input_shape=(64,)), images.labels, tuple(own))


test_set.__test__ = False  # type: ignore[attr-defined]


def followed(run: Followed, **options: Any) -> dict[str, Any]:
    options = {"rounds": 12, "schedule": SCHEDULE, "seed": 1} | options
    served = isinstance(run.learner, Averaging)  # one net, of the server
    return curve_of(run, test_set(1 if served else 2), **options)


def timeless(curve: dict[str, Any]) -> str:
    """Everything but how long it took."""
    content = json.loads(json.dumps(curve))
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
    assert [point["round"] for point in curve["points"]] == list(SCHEDULE.rounds(12))
    for point in curve["points"]:
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
    predicted = mean_probabilities(learner.net, learner.belief(), inputs).argmax(axis=2)
    share = (predicted == images.labels)[:, places].mean(axis=1)
    assert curve["last"]["mean"]["accuracy"] == pytest.approx(share, abs=1e-6)
    assert np.sum(curve["last"]["mean"]["confusion"]) == 2 * 200
    last = curve["points"][-1]["after"]["sampled"]
    assert (
        said[-1]
        == f"{100 * float(np.mean(curve['points'][-1]['after']['mean']['accuracy'])):.1f} %"
    )
    # Agents that differ before a consensus are nearer to each other after it.
    before = curve["points"][0]["before"]["mean"]["in_domain_confidence"]
    assert before != curve["points"][0]["after"]["mean"]["in_domain_confidence"]
    assert set(last) >= {"nll", "calibration_error", "entropy", "out_of_domain_confidence"}


@pytest.mark.parametrize("prior", ["consensus", "fixed"])
def test_divergences_are_from_the_prior_of_the_round(prior: Any) -> None:
    """Written out, of Gaussians with independent coordinates."""
    run, beliefs = network(replace(RECIPE, prior=prior, prior_std=0.4)), list[Belief]()
    run.run_round()
    before = run.belief().copy()
    run.run_round(before=lambda belief: beliefs.append(belief.copy()))
    assert before.variance is not None
    assert beliefs[0].variance is not None
    mean, variance = before.mean.double(), before.variance.double()
    if prior == "fixed":
        mean, variance = torch.zeros_like(mean), torch.full_like(variance, 0.4**2)
    there, wide = beliefs[0].mean.double(), beliefs[0].variance.double()
    terms = (wide + (there - mean) ** 2) / variance - 1 - (wide / variance).log()
    curve = followed(network(replace(RECIPE, prior=prior, prior_std=0.4)), rounds=2)
    found = curve["points"][-1]["divergence"]
    np.testing.assert_allclose(found, 0.5 * terms.sum(dim=1), rtol=1e-4)


def test_agents_alone_are_trainings_of_their_own() -> None:
    both, one = alone(), one_alone(1)
    for _ in range(3):
        report = both.run_round()
        assert (report.local_steps, report.bytes_sent) == (4, 0)
        one.run_round()
    mine, theirs = both.belief(), one.belief()
    assert torch.equal(mine.mean[1], theirs.mean[0])
    assert mine.variance is not None
    assert theirs.variance is not None
    assert torch.equal(mine.variance[1], theirs.variance[0])
    refused("trainings of one agent each", Apart, [network()])
    curve = followed(alone())
    assert all(point["before"] is None for point in curve["points"])
    assert all(value > 0 for value in curve["points"][0]["divergence"])
    assert curve["last_before"] is None


def test_a_server_is_judged_by_what_it_serves() -> None:
    run = server()
    curve = followed(run)
    assert "sampled" not in curve["last"]
    assert curve["points"][0]["before"] is None
    assert curve["points"][0]["sigma"] is None
    reports = [server().run_round().loss]
    assert curve["points"][0]["loss"] == [pytest.approx(float(np.mean(reports)), rel=1e-5)]
    images = load_digits()
    right = mean_probabilities(
        run.net, run.belief().of([0]), as_inputs(images, input_shape=(64,))
    ).argmax(axis=2)
    share = (right == images.labels)[:, test_set(1).sample(200)].mean()
    assert curve["last"]["mean"]["accuracy"] == [pytest.approx(share, abs=1e-6)]


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
    assert seen == list(range(stop + 1, 13))
    assert timeless(curve) == expected
    beliefs = (vars(run.belief()).values() for run in (again, whole))
    for one, other in zip(*beliefs, strict=True):
        assert one is other or torch.equal(one, other)


def test_a_failure_names_the_last_good_state(tmp_path: Path) -> None:
    wild = Recipe(rounds=12, local_steps=2, batch=20, mean_rate=1e30, mean_epsilon=1e-2)
    learner = network(wild)
    with pytest.raises(TrainingFailed, match=r"agent \d in round \d"):
        followed(learner)
    # Of a failure in a later round there is a state before it.
    start = network()
    kept = Generations(tmp_path / "run", "f")
    due = iter((True, False, False))
    kept.due = lambda: next(due)  # type: ignore[method-assign]

    def tick(done: int, total: int) -> None:
        if done == 3:
            start.belief().mean[1, 0] = float("nan")

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
    learner.run_round()
    refused("before its first round", followed, learner)
    refused("rounds", followed, network(), rounds=0)
    refused("records", Schedule, records=1)
