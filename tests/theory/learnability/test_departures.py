"""K and E without one agent, against models and networks built again without it."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import sparse

from tests.models import COIN, FAIR, coin, coins
from tests.strategies import Problem, networks, problems
from tests.theory.learnability.test_separation import LEFT, RIGHT
from tests.theory.learning.decay import largest_decay
from theory import FiniteModel, Network
from theory.learnability import departures, network_without

FLAT = ("positive", "directed", "reversible", "symmetric", "star", "sparse")


def dense(network: Network) -> NDArray[np.float64]:
    weights = network.weights
    return weights.toarray() if sparse.issparse(weights) else np.array(weights)


def rates_of(model: FiniteModel, agents: list[int], v: NDArray[np.float64], target: int) -> float:
    """min over θ ≠ target of Σ v_i (D_i(θ) − D_i(target)) over some of the agents."""
    return min(
        sum(
            v[i] * (model.kinds[k].divergences[theta] - model.kinds[k].divergences[target])
            for i, k in ((i, model.assignment[i]) for i in agents)
        )
        for theta in range(len(model.hypotheses))
        if theta != target
    )


@given(problems(kinds=FLAT, max_agents=6), st.data())
@settings(max_examples=25)
def test_rates_with_an_agent_silent_or_gone(problem: Problem, data: st.DataObject) -> None:
    network, model = problem.network, problem.model
    target = data.draw(st.integers(0, len(model.hypotheses) - 1))
    found = departures(model, network, target=target, exponents=False)
    v = network.stationary_distribution
    everyone = list(range(network.agents))
    assert found.rate == pytest.approx(rates_of(model, everyone, v, target), rel=1e-10, abs=1e-12)
    weights, cut = dense(network), {c.agent for c in found.cuts}
    for j in everyone:
        rest = [i for i in everyone if i != j]
        # Sums of a handful of terms of order ten.
        assert found.silent_rates[j] == pytest.approx(
            rates_of(model, rest, v, target), rel=1e-10, abs=1e-12
        )
        if j in cut or not rest:
            assert np.isnan(found.removed_rates[j])
            assert found.removed_binding[j] == -1
            continue
        smaller = weights[np.ix_(rest, rest)].copy()
        smaller[np.arange(len(rest)), np.arange(len(rest))] += weights[rest, j]
        w = np.zeros(network.agents)
        w[rest] = Network(smaller).stationary_distribution
        assert found.removed_rates[j] == pytest.approx(
            rates_of(model, rest, w, target), rel=1e-9, abs=1e-11
        )


@given(network=networks(min_agents=2, max_agents=7))
@settings(max_examples=50)
def test_cuts_are_found_and_the_rest_is_the_network_of_the_others(network: Network) -> None:
    model = coins(network.agents)
    cuts = {c.agent: c.parts for c in departures(model, network, target=0, exponents=False).cuts}
    weights = dense(network)
    graph = nx.from_numpy_array(weights, create_using=nx.DiGraph)
    for j in range(network.agents):
        others = graph.subgraph(set(graph) - {j})
        parts = tuple(sorted(tuple(sorted(c)) for c in nx.strongly_connected_components(others)))
        if len(parts) > 1:
            assert cuts[j] == parts
            with pytest.raises(ValueError, match="irreducible"):
                network_without(network, j)
            continue
        assert j not in cuts
        rest = np.delete(np.arange(network.agents), j)
        smaller = weights[np.ix_(rest, rest)] + np.diag(weights[rest, j])
        # Own weights are what a row leaves.
        np.testing.assert_allclose(dense(network_without(network, j)), smaller, atol=1e-15)


@given(network=networks(min_agents=2, max_agents=8), seed=st.integers(0, 1000))
@settings(max_examples=25)
def test_exponents_are_those_of_the_smaller_sums(network: Network, seed: int) -> None:
    """Against the solver of the error exponent on the sum without the agent; nasty v included."""
    generator = np.random.default_rng(seed)
    kinds = [
        coin(
            *generator.dirichlet(np.ones(2), 3).tolist(), truth=generator.dirichlet([1, 1]).tolist()
        )
        for _ in range(2)
    ]
    assignment = generator.integers(0, 2, network.agents)
    model = FiniteModel(("a", "b", "c"), tuple(kinds), assignment, np.zeros((2, 3)))
    v = network.stationary_distribution
    found = departures(model, network, target=0)
    for j in range(network.agents):
        rest = np.delete(np.arange(network.agents), j)
        values = [
            largest_decay(model.log_ratio_laws(0, theta), assignment[rest], v[rest])
            for theta in (1, 2)
        ]
        # Both solvers know the tilt to 1e-9, and the sums to rounding.
        assert found.silent_exponents[j] == pytest.approx(min(values), rel=1e-9, abs=1e-14)
        binding = values[found.silent_exponent_binding[j] - 1]
        assert binding == pytest.approx(min(values), rel=1e-9, abs=1e-14)


def test_own_weights_are_added_up_not_what_is_missing_to_one() -> None:
    # 1 − (0.2 + 0.4 + 0.3 + 0.1) is −2.2e-16 in doubles: agent 4, deaf to agent 5, keeps its 0.
    row = [0.2, 0.4, 0.3, 0.1, 0.0, 0.0]
    assert 1.0 - np.bincount([0] * 4, row[:4])[0] < 0
    crowd = np.full((6, 6), 1 / 6)
    crowd[4] = row
    assert dense(network_without(Network(crowd), 5))[4].tolist() == row[:5]
    # A weight of 1e-20 on who leaves is all that keeps the others from taking turns.
    tiny = [[0.0, 1.0, 1e-20], [1.0, 0.0, 0.0], [0.5, 0.5, 0.0]]
    assert dense(network_without(Network(tiny), 2)).tolist() == [[1e-20, 1.0], [1.0, 0.0]]


def test_reversible_networks_keep_proportions() -> None:
    """v' = v/(1 − v_j): the silent K by 1 − v_j, and the same E; a tree, to have cuts."""
    network = Network.from_topology("tree", agents=7, rule="uniform")
    assert network.is_reversible
    model = FiniteModel.from_agents(
        ["fair", "left", "right"],
        [coin(FAIR, LEFT, RIGHT), coin(FAIR, LEFT, FAIR)],
        counts=[3, 4],
    )
    found = departures(model, network, target=0)
    v = network.stationary_distribution
    assert [c.agent for c in found.cuts] == [0, 1, 2]
    assert found.cuts[0].parts == ((1, 3, 4), (2, 5, 6))
    leaves = [3, 4, 5, 6]
    for j in leaves:
        smaller = network_without(network, j)
        np.testing.assert_allclose(
            smaller.stationary_distribution, np.delete(v, j) / (1 - v[j]), rtol=1e-13
        )
    np.testing.assert_allclose(
        found.removed_rates[leaves], found.silent_rates[leaves] / (1 - v[leaves]), rtol=1e-13
    )
    np.testing.assert_array_equal(found.removed_exponents[leaves], found.silent_exponents[leaves])


def test_the_only_one_who_rejects_is_critical_exactly() -> None:
    """No rounding of a difference: K is zero without it, to the last bit."""
    model = FiniteModel.from_agents(
        ["fair", "left", "right"],
        [coin(FAIR, LEFT, FAIR), coin(FAIR, FAIR, RIGHT)],
        counts=[1, 30],
    )
    network = Network.from_topology("ring", agents=31)
    found = departures(model, network, target=0)
    assert found.critical == (0,)
    assert found.silent_rates[0] == 0.0
    assert found.silent_binding[0] == 1
    assert found.silent_exponents[0] == 0.0
    assert (found.silent_rates[1:] > 0).all()
    assert found.critical_if_removed == (0,)


def test_a_network_that_changes_its_mind() -> None:
    """Two against one: without one of the two, what they wanted is outvoted."""
    north, south = coin(LEFT, RIGHT, truth=LEFT), coin(LEFT, RIGHT, truth=[0.2, 0.8])
    model = FiniteModel.from_agents(["left", "right"], [north, south], counts=[2, 1])
    found = departures(model, [1 / 3] * 3, target=0)
    assert found.rate > 0
    assert found.critical == (0, 1)
    assert found.silent_rates[0] < 0 < found.silent_rates[2]
    assert found.silent_exponents[0] == 0.0
    assert np.isnan(found.removed_rates).all()
    assert found.cuts == ()


def test_directed_networks_look_at_the_weightiest_only() -> None:
    weights = [[0.6, 0.3, 0.1], [0.1, 0.6, 0.3], [0.5, 0.1, 0.4]]
    network = Network(weights)
    assert not network.is_reversible
    few = departures(coins(3), network, target=0, most_removed=1)
    heaviest = int(network.stationary_distribution.argmax())
    assert np.flatnonzero(np.isfinite(few.removed_rates)).tolist() == [heaviest]
    assert np.isfinite(few.removed_exponents[heaviest])
    everyone = departures(coins(3), network, target=0)
    assert np.isfinite(everyone.removed_rates).all()


def test_hundreds_of_agents_of_their_own_weights() -> None:
    """All exponents at once, some of them checked one by one."""
    generator = np.random.default_rng(3)
    v = generator.dirichlet(np.full(300, 5.0))
    model = FiniteModel.from_agents(
        ["fair", "left", "right"],
        [coin(FAIR, LEFT, RIGHT), coin(FAIR, LEFT, [0.6, 0.4])],
        counts=[120, 180],
    )
    found = departures(model, v, target=0)
    assert np.isfinite(found.silent_exponents).all()
    for j in (0, 17, 299):
        rest = np.delete(np.arange(300), j)
        value = min(
            largest_decay(model.log_ratio_laws(0, m), model.assignment[rest], v[rest])
            for m in (1, 2)
        )
        assert found.silent_exponents[j] == pytest.approx(value, rel=1e-10)


def test_who_weighs_too_much_spoils_the_exponent() -> None:
    """One of three equals with nearly all the weight: E rises when it falls silent, K does not."""
    found = departures(coins(3), [0.98, 0.01, 0.01], target=0)
    alone = departures(coins(1), [1.0], target=0)
    assert found.silent_exponents[0] == pytest.approx(2 * alone.exponent, rel=1e-12)
    assert found.exponent < 1.1 * alone.exponent
    assert found.silent_rates[0] < found.rate / 40


def test_evidence_that_cancels_is_zero() -> None:
    """0.1 + 0.2 against 0.3, once the fourth is silent."""
    north, south = coin(LEFT, RIGHT, truth=LEFT), coin(LEFT, RIGHT, truth=RIGHT)
    model = FiniteModel.from_agents(["left", "right"], [north, south, north], counts=[2, 1, 1])
    found = departures(model, [0.1, 0.2, 0.3, 0.4], target=0)
    assert 0.1 + 0.2 - 0.3 != 0
    assert found.silent_rates[3] == 0.0
    assert 3 in found.critical


def test_who_is_never_misled() -> None:
    """Evidence that is never against the truth: E is infinite, or −log P(no evidence at all)."""
    sure = coin([0.9, 0.1], [0.5, 0.5], truth=[1.0, 0.0])
    often = coin([0.4, 0.4, 0.2], [0.4, 0.2, 0.4], truth=[0.5, 0.5, 0.0])
    v = [0.2, 0.3, 0.5]
    all_sure = departures(FiniteModel.from_agents(["a", "b"], [sure], counts=[3]), v, target=0)
    assert (all_sure.silent_exponents == np.inf).all()
    assert all_sure.silent_exponent_binding.tolist() == [1, 1, 1]
    model = FiniteModel.from_agents(["a", "b"], [often], counts=[3])
    found = departures(model, v, target=0)
    assert found.exponent == pytest.approx(3 * np.log(2), rel=1e-14)
    np.testing.assert_allclose(found.silent_exponents, 2 * np.log(2), rtol=1e-14)
    mixed = departures(
        FiniteModel.from_agents(["a", "b"], [often, sure], counts=[2, 1]), v, target=0
    )
    np.testing.assert_allclose(mixed.silent_exponents, [np.inf, np.inf, 2 * np.log(2)], rtol=1e-14)


def test_nothing_is_wrong() -> None:
    model = FiniteModel.from_agents(["fair", "loaded"], [COIN], counts=[2])
    found = departures(model, [0.5, 0.5], target=0, reference=(1,))
    assert found.rate == np.inf
    assert (found.silent_rates == np.inf).all()
    assert (found.silent_exponents == np.inf).all()
    assert found.silent_binding.tolist() == [-1, -1]
    assert found.critical == ()


def test_one_agent_alone() -> None:
    found = departures(
        FiniteModel.from_agents(["fair", "loaded"], [COIN]), Network([[1.0]]), target=0
    )
    assert found.critical == (0,)
    assert found.silent_exponents[0] == 0.0
    assert np.isnan(found.removed_rates[0])


def test_bad_input() -> None:
    with pytest.raises(ValueError, match="a positive number for each of 2 agents, got 2 numbers"):
        departures(coins(2), [1.0, 0.0], target=0)
    with pytest.raises(ValueError, match="a positive number for each of 2 agents, got 3 numbers"):
        departures(coins(2), [0.5, 0.25, 0.25], target=0)
    with pytest.raises(ValueError, match="as many agents as the network, 1, got 2"):
        departures(coins(2), Network([[1.0]]), target=0)
    with pytest.raises(ValueError, match="target: expected a whole number of at most 1, got 2"):
        departures(coins(2), [0.5, 0.5], target=2)
    with pytest.raises(ValueError, match="agent: expected a whole number of at most 1, got 2"):
        network_without(Network([[0.5, 0.5], [0.5, 0.5]]), 2)
