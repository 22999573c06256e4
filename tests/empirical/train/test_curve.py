"""Runs followed: curves on record, killed runs taken up again, hypotheses, what is overheard."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from empirical import Images, classifier_model
from empirical.data import load_digits
from empirical.dealing import ByLabels, held_labels
from empirical.forecast import LabelHypothesis, Site, label_hypotheses, rate_forecast
from empirical.keeping import Generations
from empirical.likelihoods.laws import Classes
from empirical.nets.architecture import first_weights, perceptron
from empirical.nets.shares import Shares, as_inputs
from empirical.train.averaging import Averaging, Belief
from empirical.train.curve import Followed, Schedule, Test, curve_of, loss_curve
from empirical.train.evaluation import mean_probabilities
from empirical.train.follow import Apart
from empirical.train.kernel_net import KernelNet
from empirical.train.learners import Learner, learner_of
from empirical.train.overhearing import overheard
from empirical.train.prediction import train_snapshots
from empirical.train.recipe import FedAvgRecipe, Recipe
from empirical.train.run import TrainingRun
from empirical.train.steps import TrainingFailed
from tests.empirical.support import refused
from tests.empirical.train.linear import classified
from theory.changing import MarkovNetwork
from theory.network import Network

# A run followed ----------------------------------------------------------------------------------


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


# Curves of a network's loss on new images --------------------------------------------------------


LOSS_NET = perceptron(64, 24, outputs=10)
LEARNERS = (
    learner_of("backprop", initial_std=0.03, mean_rate=2e-2, scale_rate=1e-3),
    learner_of("natural-gradient", rate=0.1, weighting="agents", clip=None),
)


@pytest.mark.parametrize("learner", LEARNERS, ids=lambda learner: learner.name)
def test_a_curve_is_that_of_the_engine(dealt: Shares, site: Site, learner: Learner) -> None:
    inputs, labels = dealt.inputs[::7], dealt.labels[::7]
    curve = loss_curve(
        dealt, site, learner, architecture=LOSS_NET, local_steps=5, batch=50, test_inputs=inputs,
        test_labels=labels, record=(0, 2, 3), seed=9,
    )  # fmt: skip
    assert curve.rounds == [0, 2, 3]
    run = TrainingRun(
        KernelNet(LOSS_NET), Classes(10), dealt, site.network, learner,
        rounds=3, local_steps=5, batch=50, seed=9, schedule="geometric",
    )  # fmt: skip
    for _ in range(3):
        run.run_round()
    # The nets by torch's own layers, one agent at a time.
    for agent, mean in enumerate(run.belief().mean):
        first, second = LOSS_NET.blocks
        hidden = torch.relu(inputs @ mean[first.weight].reshape(first.shape) + mean[first.bias])
        out = hidden @ mean[second.weight].reshape(second.shape) + mean[second.bias]
        loss = torch.nn.functional.cross_entropy(out, labels)
        assert curve.losses[-1, agent] == pytest.approx(float(loss), rel=1e-4)
        hits = (out.argmax(dim=1) == labels).double().mean()
        assert curve.accuracies[-1, agent] == pytest.approx(float(hits), abs=1e-12)
        sure = torch.softmax(out, dim=1)[labels == 4, 4].double().mean()
        assert curve.label_confidences[agent, 4] == pytest.approx(float(sure), rel=1e-4)
    # Before the consensus an edge, which has labels 0 and 1 alone, is less sure of the others.
    before, after = curve.local_label_confidences, curve.label_confidences
    assert before[1:, 2:].mean() < after[1:, 2:].mean()


def test_networks_that_change_have_curves_too(dealt: Shares, site: Site) -> None:
    grid = Network.from_topology("grid", shape=[3, 3])
    gossip = MarkovNetwork.gossip_pairs(grid, everyone_observes=True)
    curve = loss_curve(
        dealt, Site(gossip, site.partition), LEARNERS[1], architecture=LOSS_NET, local_steps=2,
        batch=20, test_inputs=dealt.inputs[::7], test_labels=dealt.labels[::7], record=(0, 4),
        seed=1,
    )  # fmt: skip
    assert np.ptp(curve.losses[0]) < 1e-6  # one initialisation, to the rounding of its products
    assert np.ptp(curve.losses[1]) > 1e-3


def test_rounds_of_looks_increase(dealt: Shares, site: Site) -> None:
    with pytest.raises(ValueError, match="record"):
        loss_curve(
            dealt, site, LEARNERS[0], architecture=LOSS_NET, local_steps=5, batch=50,
            test_inputs=dealt.inputs, test_labels=dealt.labels, record=(3, 3), seed=0,
        )  # fmt: skip


def test_agents_may_count_by_influence(dealt: Shares, site: Site) -> None:
    """The first steps are in the proportion a_i: 1, or n_i/(v_i n)."""
    moved = {}
    for weighting in ("agents", "data"):
        learner = learner_of(
            "natural-gradient", rate=1e-3, weighting=weighting, clip=None, momentum=0.0
        )
        run = TrainingRun(
            KernelNet(LOSS_NET), Classes(10), dealt, site.network, learner,
            rounds=1, local_steps=1, batch=50, seed=3, schedule="geometric",
        )  # fmt: skip
        start = run.belief().mean[0].clone()
        locally: list[torch.Tensor] = []
        run.run_round(before=lambda belief, kept=locally: kept.append(belief.mean.clone()))
        moved[weighting] = locally[0] - start
    v = torch.tensor(site.network.stationary_distribution)
    held = torch.tensor(dealt.sizes, dtype=torch.float64)
    weight = (held / held.sum() / v)[:, None]
    # Nearly in the proportion a_i: precisions move by little in one step.
    torch.testing.assert_close(
        moved["data"].double(), weight * moved["agents"].double(), rtol=0.02, atol=2e-5
    )


# Nets trained as hypotheses ----------------------------------------------------------------------


SNAPSHOT_NET = perceptron(64, 24, outputs=10)
SNAPSHOT_RECIPE = Recipe(
    rounds=20, local_steps=5, batch=50, mean_rate=2e-2, mean_epsilon=1e-2, schedule="geometric"
)


def test_nets_know_the_labels_that_they_were_trained_on(
    digits: Images, site: Site, dealt: Shares
) -> None:
    hypotheses = label_hypotheses([range(2, 10), [0, 1]])
    nets = train_snapshots(
        dealt, hypotheses, SNAPSHOT_RECIPE, architecture=SNAPSHOT_NET, seed=1, stages=(0, 3)
    )
    table = nets.table(dealt.inputs, dealt.labels)
    known = np.array([np.isin(digits.labels, h.labels).mean() for h in hypotheses])
    # A net never names a label it has not seen, and names most of the others.
    assert (table.accuracies[: len(known)] <= known + 1e-12).all()
    assert (table.accuracies[: len(known)] > 0.8 * known).all()
    assert table.hypotheses[-2:] == ("all labels, after 0 rounds", "all labels, after 3 rounds")
    start = first_weights(SNAPSHOT_NET, seed=1)
    torch.testing.assert_close(nets.means[-2], start, rtol=0, atol=0)

    found = rate_forecast(table.only(range(len(hypotheses))), site)
    assert found.reference == "all labels"
    # c_y is v_1/8 = .045 for the centre's labels and .32 for the edges'.
    assert found.binding in {f"without {y}" for y in range(2, 10)}
    # The rate against the untrained net knows nothing of who holds what; K does.
    stages = table.only([0, len(hypotheses)])
    trusted = replace(site, network=Network.from_topology("star", agents=9, edge_confidence=0.1))
    assert rate_forecast(stages, trusted).rate > 0.8 * rate_forecast(stages, site).rate
    labels = table.only(range(len(hypotheses)))
    assert rate_forecast(labels, trusted).rate < 0.5 * found.rate
    assert classifier_model(table, site.partition).agents == 9


def test_nets_do_not_hear_of_each_other(dealt: Shares) -> None:
    few = replace(SNAPSHOT_RECIPE, rounds=2)
    one, two, three = (LabelHypothesis(str(y), (y, y + 1)) for y in (0, 3, 6))
    first = train_snapshots(dealt, [one, two], few, architecture=SNAPSHOT_NET, seed=4)
    second = train_snapshots(dealt, [one, three], few, architecture=SNAPSHOT_NET, seed=4)
    # Batched products of other neighbours may round otherwise.
    torch.testing.assert_close(first.means[0], second.means[0])
    assert (first.means[1] - second.means[1]).abs().max() > 1e-3


def test_bad_input_is_refused(dealt: Shares) -> None:
    nobody = [LabelHypothesis("all", tuple(range(10))), LabelHypothesis("none", (11,))]
    refused(
        "hypothesis 'none'",
        train_snapshots,
        dealt,
        nobody,
        SNAPSHOT_RECIPE,
        architecture=SNAPSHOT_NET,
        seed=0,
    )
    with pytest.raises(ValueError, match="stages"):
        train_snapshots(
            dealt, nobody[:1] * 2, SNAPSHOT_RECIPE, architecture=SNAPSHOT_NET, seed=0, stages=(21,)
        )


# What agents say in training is what they believe before they pool -------------------------------


HOW: dict[str, Any] = {"local_steps": 3, "batch": 5, "seed": 4}


@pytest.mark.parametrize("name", ["natural-gradient", "averaging"])
def test_who_is_alone_says_what_it_ends_the_round_with(name: str) -> None:
    net, alone = KernelNet(perceptron(6, 4, outputs=3)), Network([[1.0]])
    shares = classified(1, 40, 6)
    heard, run = (
        TrainingRun(net, Classes(3), shares, alone, learner_of(name), rounds=1000, **HOW)
        for _ in range(2)
    )
    found = overheard(heard, shares, rounds=4)
    assert len(found.said) == 4
    assert found.layout.size == net.parameters
    for said in found.said:
        run.run_round()
        belief = run.belief()
        if name == "averaging":
            assert torch.equal(said["mean"], belief.mean[0])
            continue
        # A precision for one datum, of forty; two roundings of float32 each.
        assert found.layout.examples == pytest.approx(40, rel=1e-5)
        assert belief.variance is not None
        assert torch.allclose(said["precision"] * 40 * belief.variance[0], torch.ones(()), 4e-7)
        assert torch.allclose(said["shift"] / said["precision"], belief.mean[0], 4e-7)
    assert not torch.equal(*(found.said[k][next(iter(found.said[k]))] for k in (0, 1)))
