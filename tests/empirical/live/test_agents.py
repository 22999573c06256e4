"""Agents by themselves have, to the last bit, the beliefs of one run of all of them."""

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import torch

from empirical.likelihoods.heads import likelihood_of
from empirical.live.agent import EngineAgent, agent_of_plan, agent_of_recipe, own_share
from empirical.messages.codecs import codec_named
from empirical.nets.architecture import perceptron
from empirical.nets.shares import Shares
from empirical.train.data.agents_data import AgentsData
from empirical.train.data.arrays import data_of_arrays
from empirical.train.data.preparing import LabelColumn, Preparation
from empirical.train.learners import LEARNERS, learner_of
from empirical.train.making import net_for
from empirical.train.plan import TrainingPlan
from empirical.train.recipe import Recipe
from empirical.train.run import TrainingRun
from tests.empirical.support import refused
from theory import Network
from theory.changing.mixing import rotating_star
from theory.network.structure import as_dense

STAR = Network.from_topology("star", agents=4, edge_confidence=0.3)
SIZES = (40, 9, 25, 13)
NET = perceptron(6, 7, outputs=3)
ROUNDS = 4


def arrays(seed: int = 0) -> list[tuple[Any, Any]]:
    rng = np.random.default_rng(seed)
    return [(rng.normal(size=(n, 6)).astype(np.float32), rng.integers(3, size=n)) for n in SIZES]


def shares() -> Shares:
    data = arrays()
    ends = np.cumsum([0, *SIZES])
    return Shares(
        torch.from_numpy(np.concatenate([x for x, _ in data])),
        torch.from_numpy(np.concatenate([y for _, y in data])),
        tuple(torch.arange(int(a), int(b)) for a, b in pairwise(ends)),
    )


def recipe(**changed: Any) -> Recipe:
    return Recipe(**{"rounds": 8, "local_steps": 3, "batch": 5, "mean_rate": 1e-2, **changed})


RECIPES = {
    "paper": recipe(estimator="weights", schedule="geometric", decay=0.9),
    "best": recipe(batches="proportional", batch=10),
    "once": recipe(prior="fixed", forget=True),
    "averaging": recipe(estimator="point"),
}


def recipe_agent(agent: int, how: Recipe) -> EngineAgent:
    own = own_share(shares(), agent)
    return agent_of_recipe(agent, own, STAR, how, architecture=NET, seed=5)


def agents_data() -> AgentsData:
    how = Preparation(
        labels=(LabelColumn("label", "classes", 3, False),),
        validation=0.1, test=0.0, standardise=True, tokens=False, seed=5,
    )  # fmt: skip
    return data_of_arrays(arrays(), how, names=None, test=None, other=None)


def plan(learner: str, network: Any = STAR, **changed: Any) -> TrainingPlan:
    data, likelihood = agents_data(), likelihood_of({"kind": "classes", "count": 3})
    return TrainingPlan(
        "tiny", net_for(NET, likelihood, data.train[0].inputs[:4]), likelihood, network,
        learner_of(learner), data, rounds=8, local_steps=3, batch=5, seed=5, **changed,
    )  # fmt: skip


def whole_run(of: TrainingPlan) -> TrainingRun:
    return TrainingRun(
        of.net, of.likelihood, of.shares(), of.network, of.learner,
        rounds=of.rounds, local_steps=of.local_steps, batch=of.batch, seed=of.seed,
    )  # fmt: skip


def copied(said: Any) -> dict[str, Any]:
    return {name: values.clone() for name, values in said.items()}


def lockstep(agents: Sequence[EngineAgent], rounds: int) -> None:
    """Everybody learns, everything arrives, everybody pools."""
    weights = as_dense(STAR.weights)
    for _ in range(rounds):
        said = {one.agent: copied(one.learn()) for one in agents}
        for one in agents:
            weighed = reversed(list(enumerate(weights[one.agent])))  # in whatever order
            row = {j: float(w) for j, w in weighed if w > 0}
            one.pool({j: said[j] for j in row if j != one.agent}, row)


def beliefs(agents: Sequence[EngineAgent]) -> tuple[Any, Any]:
    parts = [one.belief() for one in agents]
    variance = None
    if parts[0].variance is not None:
        variance = torch.cat([part.variance for part in parts])
    return torch.cat([part.mean for part in parts]), variance


@pytest.mark.parametrize("name", RECIPES)
def test_agents_of_a_recipe_have_the_bits_of_the_whole_run(name: str) -> None:
    how = RECIPES[name]
    whole = how.training(shares(), STAR, architecture=NET, seed=5)
    for _ in range(ROUNDS):
        whole.run_round()
    apart = [recipe_agent(k, how) for k in range(4)]
    lockstep(apart, ROUNDS)
    mean, variance = beliefs(apart)
    assert torch.equal(mean, whole.belief().mean)
    if variance is not None:
        assert torch.equal(variance, whole.belief().variance)
    assert not torch.equal(mean[0], mean[1])  # they do differ


@pytest.mark.parametrize("learner", LEARNERS)
def test_agents_of_a_plan_have_the_bits_of_the_whole_run(learner: str) -> None:
    whole = whole_run(plan(learner))
    for _ in range(ROUNDS):
        whole.run_round()
    apart = [agent_of_plan(k, plan(learner)) for k in range(4)]
    lockstep(apart, ROUNDS)
    mean, variance = beliefs(apart)
    assert torch.equal(mean, whole.belief().mean)
    if variance is not None:
        assert torch.equal(variance, whole.belief().variance)


MAKERS: dict[str, Callable[[int], EngineAgent]] = {
    "recipe": lambda k: recipe_agent(k, RECIPES["best"]),
    "plan": lambda k: agent_of_plan(k, plan("natural-gradient")),
}


@pytest.mark.parametrize("kind", MAKERS)
def test_a_state_within_a_round_goes_on_bit_for_bit(kind: str) -> None:
    one, neighbour = MAKERS[kind](0), MAKERS[kind](1)
    heard = {1: copied(neighbour.learn())}
    row = {0: 0.6, 1: 0.4}
    one.learn()
    kept = copied(one.state())
    again = MAKERS[kind](0)
    again.learn(), again.learn()  # whatever it did before is forgotten
    again.restore(kept)
    for agent in (one, again):
        agent.pool(heard, row)
        agent.learn()
        agent.pool({}, {0: 1.0})
    assert one.round == again.round == 2
    for name, values in one.state().items():
        assert torch.equal(values, again.state()[name]), name


@pytest.mark.parametrize("kind", MAKERS)
def test_pooling_is_the_weighted_sum_of_natural_parameters(kind: str) -> None:
    """Whoever is heard, by whatever weights: against sums in numpy."""
    one = MAKERS[kind](2)
    own = {name: values.double().numpy() for name, values in copied(one.learn()).items()}
    others = {k: copied(MAKERS[kind](k).learn()) for k in (0, 3)}
    one.pool(others, {0: 0.5, 2: 0.2, 3: 0.3})
    found = one.belief()
    precision, shift = (
        0.2 * own[name] + sum(w * others[k][name].double().numpy() for k, w in ((0, 0.5), (3, 0.3)))
        for name in ("precision", "shift")
    )
    mean = found.mean[0].double().numpy()
    # Messages and results are in float32: a few roundings each.
    scale = 0.2 * abs(own["shift"]) + sum(
        w * abs(others[k]["shift"].double().numpy()) for k, w in ((0, 0.5), (3, 0.3))
    )
    assert np.all(abs(mean - shift / precision) <= 8 * 2**-24 * (scale / precision))
    assert found.variance is not None
    ratio = found.variance[0].double().numpy() * precision
    assert np.allclose(ratio, ratio[0], rtol=8 * 2**-24, atol=0)


@pytest.mark.parametrize("kind", MAKERS)
def test_who_hears_nobody_keeps_its_belief_to_the_last_bit(kind: str) -> None:
    one = MAKERS[kind](1)
    one.learn()
    before = one.belief().mean.clone()
    one.pool({}, {1: 1.0})
    assert torch.equal(one.belief().mean, before)


@pytest.mark.parametrize("kind", MAKERS)
def test_an_agent_that_was_away_goes_on_with_its_own_data_at_the_later_rate(kind: str) -> None:
    """It trains by the schedule of the round it comes back in, on the batches that are next."""
    whole, away = MAKERS[kind](0), MAKERS[kind](0)
    away.skip(5)
    assert away.round == 5
    said, later = copied(whole.learn()), copied(away.learn())
    assert (whole.round, away.round) == (1, 6)
    assert any(not torch.equal(said[name], later[name]) for name in said)  # a smaller rate
    moved, slower = (
        float((part["shift"] / part["precision"] - begin).norm())
        for part, begin in (
            (said, whole.begin["shift"] / whole.begin["precision"]),
            (later, away.begin["shift"] / away.begin["precision"]),
        )
    )
    assert slower < moved
    refused("round: expected", away.skip, 3)


def test_all_begin_by_saying_the_same() -> None:
    for kind, make in MAKERS.items():
        first, second = make(0).begin, make(3).begin
        assert all(torch.equal(first[name], second[name]) for name in first), kind


def test_an_agent_holds_no_data_of_others() -> None:
    whole = shares()
    own = own_share(whole, 2)
    assert own.sizes == SIZES
    assert torch.equal(own.inputs, whole.inputs[whole.indices[2]])
    assert torch.equal(own.labels, whole.labels[whole.indices[2]])


def test_what_is_not_for_processes_is_refused() -> None:
    refused(
        "leave \\[messages\\] out", agent_of_plan, 0, plan("averaging", codec=codec_named("sign"))
    )
    changing = rotating_star(groups=3, group_size=1, edge_confidence=0.3)
    refused(
        "network: expected a fixed network", agent_of_plan, 0, plan("averaging", network=changing)
    )
    refused("agent", recipe_agent, 4, recipe())
