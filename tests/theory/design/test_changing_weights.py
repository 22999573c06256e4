"""Weights for networks that change: the bound against every design we can think of, the search."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import numpy as np
import pytest
from scipy.optimize import linprog

from tests.theory.design.oracles import model_of
from theory import FiniteModel, Network, learning_rate
from theory.changing import (
    ChangingNetwork,
    DelayedNetwork,
    MarkovNetwork,
    PeriodicNetwork,
    Phase,
    RandomLinks,
    RandomPresence,
    influence,
    rotating_star,
)
from theory.design import changing_weights
from theory.design.rate.changing_weights import observing_rounds, rate_bound
from theory.design.search import time_budget

Build = Callable[[np.random.Generator], ChangingNetwork]
PRESENT = np.array([0.9, 0.2, 0.6])


def weights(rng: np.random.Generator) -> np.ndarray:
    """Any weights, some of them tiny, on a ring with self-loops and a chord."""
    table = rng.dirichlet(np.full(3, 10 ** rng.uniform(-2, 1)), 3) + 1e-4
    table[2, 1] = 0
    return np.asarray(table / table.sum(axis=1, keepdims=True))


def phases(rng: np.random.Generator) -> list[Phase]:
    asleep = np.eye(3)
    asleep[0] = weights(rng)[0]
    return [
        Phase(weights(rng), active=[True, False, False]),
        Phase(asleep, active=[False, True, True]),
    ]


KINDS: dict[str, Build] = {
    "periodic": lambda rng: PeriodicNetwork(phases(rng)),
    "Markov": lambda rng: MarkovNetwork(phases(rng), [[0.1, 0.9], [0.4, 0.6]]),
    "clocks": lambda rng: MarkovNetwork.clocks(Network(weights(rng)), [1.0, 2.0, 0.3]),
    "own": lambda rng: RandomLinks(Network(weights(rng)), 0.3),
    "renormalise": lambda rng: RandomLinks(Network(weights(rng)), 0.3, "renormalise"),
    "last": lambda rng: RandomLinks(Network(weights(rng)), 0.3, "last"),
    "presence": lambda rng: RandomPresence(Network(weights(rng)), PRESENT),
    "absences": lambda rng: RandomPresence(Network(weights(rng)), PRESENT, 4 / PRESENT),
    "delays": lambda rng: DelayedNetwork(Network(weights(rng)), 2),
}


@pytest.mark.parametrize("kind", KINDS)
def test_no_weights_beat_the_bound(kind: str) -> None:
    rng = np.random.default_rng(1)
    largest = np.zeros(3)
    for _ in range(15):
        network = KINDS[kind](rng)
        u = np.asarray(influence(network).values)
        largest = np.maximum(largest, u)
        # Where all evidence is for the rival, whoever is heard less loses less: that is 0 at most.
        against = -np.ones((3, 1))
        some = rng.random((3, 2)), rng.uniform(-0.2, 1, (3, 3))
        for information in (against, *some, np.eye(3)):
            K = float((u @ information).min())
            bound = rate_bound(network, information)
            assert bound >= K - 1e-14
        # Any unit will do.
        assert np.isclose(rate_bound(network, 1e-12 * information), 1e-12 * bound, rtol=1e-9)
    # What an agent can have at most is nearly had, by one that others listen to.
    rounds = observing_rounds(KINDS[kind](rng))
    for j in range(3):
        alone = np.zeros((3, 1))
        alone[j] = 1
        most = rate_bound(KINDS[kind](rng), alone)
        assert np.isclose(most, rounds.frequencies @ rounds.shares[:, j], rtol=1e-12)
        assert largest[j] <= most + 1e-14
    most_of_first = rounds.frequencies @ rounds.shares[:, 0]
    assert kind in ("clocks", "last", "delays") or largest[0] > 0.8 * most_of_first


def test_the_bound_is_the_value_of_the_program() -> None:
    """Against the linear program written out, every sort of round and every agent a variable."""
    rng = np.random.default_rng(2)
    for _ in range(30):
        agents, sorts, rivals = rng.integers(1, 5, 3)
        active = rng.random((sorts, agents)) < 0.5
        active[0] |= ~active.any(axis=0)  # everybody observes now and then
        complete = np.full((agents, agents), 1 / agents)
        network = PeriodicNetwork([Phase(complete, active=row) for row in active])
        information = rng.random((agents, rivals)) * (rng.random((agents, rivals)) < 0.7)
        columns = [(s, j) for s, j in product(range(sorts), range(agents)) if active[s, j]]
        gains = np.array([information[j] / sorts for _, j in columns]).T
        each = np.array([[float(s == t) for s, _ in columns] for t in range(sorts)])
        found = linprog(
            [*np.zeros(len(columns)), -1],
            A_ub=np.block([[-gains, np.ones((rivals, 1))], [each, np.zeros((sorts, 1))]]),
            b_ub=[0] * rivals + [1] * sorts,
            bounds=(0, None),
        )
        assert np.isclose(rate_bound(network, information), -found.fun, atol=1e-9)


def test_agents_that_come_and_go_share_one() -> None:
    """u_j = q_j times a distribution, also where absences last: so the bound is attained."""
    rng = np.random.default_rng(3)
    for kind in ("presence", "absences"):
        for _ in range(20):
            u = influence(KINDS[kind](rng)).values
            assert np.isclose((u / PRESENT).sum(), 1, rtol=1e-10)


def told_apart() -> FiniteModel:
    return model_of([[0, 0.5, 0], [0, 0, 0.2], [0, 0.1, 0.1]])


@pytest.mark.parametrize("kind", KINDS)
def test_the_search_keeps_its_promises(kind: str) -> None:
    network, model = KINDS[kind](np.random.default_rng(4)), told_apart()
    calls: list[tuple[int, int]] = []
    found = changing_weights(
        network, model, target=0, effort=60, progress=lambda *at: calls.append(at)
    )
    assert found.given_rate < found.rate <= found.certificate.bound
    assert found.certificate.value == found.rate
    assert found.certificate.kind == "local"
    assert np.isclose(found.given_rate, learning_rate(network, model).rate, rtol=1e-12)
    assert np.isclose(found.rate, learning_rate(found.network, model).rate, rtol=1e-12)
    assert (found.influence == influence(found.network).values).all()
    assert calls[-1] == (60, 60)
    assert type(found.network) is type(network)
    for before, after in zip(matrices(network), matrices(found.network), strict=True):
        assert ((before > 0) == (after > 0)).all()
        assert np.abs(after.sum(axis=1) - 1).max() < 1e-15
        assert after.min() >= 0


def matrices(network: ChangingNetwork) -> list[np.ndarray]:
    if isinstance(network, PeriodicNetwork | MarkovNetwork):
        return [np.asarray(phase.weights) for phase in network.phases]
    return [np.asarray(network.network.weights)]


def test_the_bound_is_nearly_reached() -> None:
    """Where all shares can be had, the search finds the best of them."""
    network = KINDS["presence"](np.random.default_rng(5))
    found = changing_weights(network, told_apart(), target=0, effort=2000)
    assert found.certificate.gap < 0.02 * found.certificate.bound


def test_a_rotating_star_cannot_hear_all_at_once() -> None:
    """One sort of round for each group: what a group observes is shared by its members."""
    star = rotating_star(groups=3, group_size=2, edge_confidence=0.5)
    model = model_of([[0, 0]] + [[0, 0.6]] * 6)
    found = changing_weights(star, model, target=0, effort=200)
    assert np.isclose(found.certificate.bound, 0.6, rtol=1e-12)
    # Two members of a group, each the only one to tell something: half of a third of the rounds.
    halves = np.zeros((7, 2))
    halves[1, 0] = halves[2, 1] = 1
    assert np.isclose(rate_bound(star, halves), 1 / 6, rtol=1e-9)


def test_without_time_the_weights_are_those_given() -> None:
    network = KINDS["delays"](np.random.default_rng(4))
    with time_budget(1e-6) as budget:
        found = changing_weights(network, told_apart(), target=0)
    assert budget.stopped
    assert found.rate == found.given_rate <= found.certificate.bound
