"""Baselines, and the best star, against a fine grid of networks and a search along the rate."""

from __future__ import annotations

import numpy as np
import pytest

from tests import models
from tests.oracles import exact_stationary
from tests.theory.design.oracles import LINE, PAIR, ROUND, TRIANGLE, best_along, rate
from theory import FiniteAgent, FiniteModel, GaussianAgent, error_exponent, learning_rate
from theory.design import DesignGraph, baselines, best_edge_confidence, star_network
from theory.design.graph import EDGE_CONFIDENCES, star_centre
from theory.network import Network
from theory.network.structure import as_dense


def coin(*biases: float, truth: float = 0.5) -> FiniteAgent:
    """An agent that tosses a coin, with one hypothesis a bias."""
    return models.coin(*([bias, 1 - bias] for bias in biases), truth=[truth, 1 - truth])


def star(agents: int, centre: int = 0) -> DesignGraph:
    """The star with its centre anywhere."""
    edges = [[centre, k] for k in range(agents) if k != centre]
    return DesignGraph.from_edges(edges, agents=agents)


def star_model(centre: FiniteAgent, others: FiniteAgent, agents: int, at: int = 0) -> FiniteModel:
    """The centre's agent at its place, all others alike."""
    kinds = [centre if k == at else others for k in range(agents)]
    return FiniteModel.from_agents([f"theta{m}" for m in range(centre.hypotheses)], kinds)


def test_undirected_graphs_have_the_four_rules() -> None:
    grid = Network.from_topology("grid", shape=(3, 3))
    found = {b.name: b for b in baselines(DesignGraph.from_network(grid))}
    assert list(found) == ["uniform", "metropolis", "lazy-metropolis", "max-degree"]
    for rule, baseline in found.items():
        same = Network.from_topology("grid", shape=(3, 3), rule=rule).weights
        assert np.array_equal(as_dense(baseline.network.weights), as_dense(same))
        assert baseline.network.name == rule
        assert baseline.network.layout is not None
        assert baseline.edge_confidence is None


def test_directed_graphs_have_one() -> None:
    assert [b.name for b in baselines(ROUND)] == ["uniform"]


@pytest.mark.parametrize("centre", [0, 3, 8])
def test_stars_have_those_of_the_paper(centre: int) -> None:
    printed = {0.1: 0.10, 0.2: 0.18, 0.3: 0.25, 0.5: 0.36, 0.7: 0.44}
    found = [b for b in baselines(star(9, centre)) if b.edge_confidence is not None]
    assert tuple(b.edge_confidence for b in found) == EDGE_CONFIDENCES == tuple(printed)
    for baseline in found:
        a = baseline.edge_confidence
        assert baseline.name == f"star a={a}"
        v = baseline.network.stationary_distribution
        assert round(float(v[centre]), 2) == printed[a]
        assert np.isclose(v[centre], 9 * a / (9 * a + 8), rtol=1e-14)
        if centre == 0:
            same = Network.from_topology("star", agents=9, edge_confidence=a).weights
            assert np.array_equal(as_dense(baseline.network.weights), as_dense(same))


def test_edges_may_keep_nothing() -> None:
    network = star_network(star(5, 2), edge_confidence=1.0)
    W = as_dense(network.weights)
    assert W.diagonal().tolist() == [0, 0, pytest.approx(0.2, abs=1e-15), 0, 0]
    assert float(exact_stationary(W)[2]) == pytest.approx(5 / 9, rel=1e-14)
    assert network.period == 1


def test_what_is_a_star() -> None:
    assert star_centre(star(3, 1)) == 1
    assert star_centre(PAIR) is None
    assert star_centre(LINE) is None
    assert star_centre(TRIANGLE) is None
    assert star_centre(ROUND) is None
    assert star_centre(DesignGraph(1, np.zeros((0, 2), dtype=np.int64))) is None


def random_model(agents: int, rng: np.random.Generator) -> FiniteModel:
    """Coins, and normal agents, that know the truth: hypothesis 0. Some cannot tell some."""
    hypotheses = int(rng.integers(2, 6))
    kinds: list[FiniteAgent | GaussianAgent] = []
    for _ in range(agents):
        blind = rng.random(hypotheses) < 0.5
        if rng.random() < 0.7:
            biases = np.where(blind, 0.4, rng.uniform(0.1, 0.9, hypotheses))
            kinds.append(coin(0.4, *biases[1:], truth=0.4))
        else:
            means = np.where(blind, 0.0, rng.normal(size=hypotheses))[:, None]
            means[0] = 0.0
            kinds.append(GaussianAgent([1.0], [0.0], 1.0, means, 1.0))
    names = [f"theta{m}" for m in range(hypotheses)]
    return FiniteModel.from_agents(names, kinds)


def test_no_star_has_a_larger_rate() -> None:
    """K is concave in the one influence that there is: a search along it finds no more."""
    rng = np.random.default_rng(1)
    kinks = 0
    for _ in range(50):
        agents = int(rng.integers(3, 8))
        centre, model = int(rng.integers(agents)), random_model(agents, rng)
        if len(model.optimal_hypotheses) == len(model.hypotheses):
            with pytest.raises(ValueError, match="hypotheses: expected one that fits worse"):
                best_edge_confidence(star(agents, centre), model)
            continue
        best = best_edge_confidence(star(agents, centre), model)
        ends = np.arange(agents) != centre
        expected = best_along(
            lambda x, m=model, ends=ends: rate(m, np.where(ends, (1 - x) / ends.sum(), x)),
            1 / (10 * agents),
            agents / (2 * agents - 1),
        )
        assert best.value == pytest.approx(expected, rel=1e-8)
        measured = learning_rate(best.network, model)
        assert best.value == pytest.approx(measured.rate, rel=1e-9)
        assert measured.binding in best.binding
        kinks += best.limit is None
    assert kinks > 5


def test_no_star_of_a_grid_has_a_larger_exponent() -> None:
    """Valid: no a of a grid does better. Tight: the network has the exponent that is said."""
    rng = np.random.default_rng(2)
    inside = 0
    for _ in range(8):
        agents = int(rng.integers(3, 6))
        model = random_model(agents, rng)
        graph = star(agents)
        least = 1 / (10 * agents)
        if len(model.optimal_hypotheses) == len(model.hypotheses):
            continue
        best = best_edge_confidence(graph, model, objective="exponent")
        achieved = error_exponent(best.network, model)
        assert best.value == pytest.approx(achieved.exponent, rel=1e-8)
        assert achieved.binding in best.binding
        assert best.lowest <= best.edge_confidence <= best.highest
        inside += best.limit is None
        for x in np.linspace(least, agents / (2 * agents - 1), 15):
            a = min(x * (agents - 1) / (agents * (1 - x)), 1.0)
            other = error_exponent(star_network(graph, edge_confidence=a), model).exponent
            assert other <= best.value * (1 + 1e-8)
    assert inside > 1


def test_normal_evidence_is_best_at_uniform_influence() -> None:
    """E(a) = (N a I_1 + S)² / 4 (N² a² I_1 + S) is largest at a = 1/N (docs: mathematics/star)."""

    def agent(mean: float) -> GaussianAgent:
        return GaussianAgent([1.0], [0.0], 1.0, [[0.0], [mean]], 1.0)

    model = FiniteModel.from_agents(["zero", "other"], [agent(1.0), agent(0.3)], counts=[1, 5])
    best = best_edge_confidence(star(6), model, objective="exponent")
    assert best.edge_confidence == pytest.approx(1 / 6, rel=1e-6)
    assert best.lowest <= 1 / 6 * (1 + 1e-6)
    assert best.highest >= 1 / 6 * (1 - 1e-6)
    assert best.value == pytest.approx((0.5 + 5 * 0.045) / 4, rel=1e-12)


def test_if_only_the_centre_can_tell_every_star_is_as_good() -> None:
    model = star_model(coin(0.5, 0.75), coin(0.5, 0.5), 9)
    by_exponent = best_edge_confidence(star(9), model, objective="exponent")
    assert by_exponent.edge_confidence == pytest.approx(1 / 9)
    by_rate = best_edge_confidence(star(9), model)
    assert by_rate.edge_confidence == 1.0
    assert by_rate.limit == "upper"
    same = error_exponent(by_rate.network, model).exponent
    assert same == pytest.approx(by_exponent.value, rel=1e-9)


def test_if_all_are_alike_the_rate_does_not_care() -> None:
    best = best_edge_confidence(star(4), star_model(coin(0.5, 0.6), coin(0.5, 0.6), 4))
    assert best.centre_influence == pytest.approx(1 / 4)
    assert best.limit is None
    assert best.lowest == pytest.approx((1 / 40) * 3 / (4 * (39 / 40)))
    assert best.highest == 1.0


def test_if_the_centre_sees_nothing_it_is_to_say_as_little_as_allowed() -> None:
    model = star_model(coin(0.5, 0.5), coin(0.5, 0.75), 5, at=4)
    best = best_edge_confidence(star(5, 4), model)
    assert best.limit == "lower"
    assert best.centre_influence == pytest.approx(1 / 50)
    less = best_edge_confidence(star(5, 4), model, minimum_influence=1e-6)
    assert less.centre_influence == pytest.approx(1e-6)
    assert less.value > best.value


def test_hypotheses_that_are_alike_are_both_right() -> None:
    alike = star_model(coin(0.5, 0.5, 0.75), coin(0.5, 0.5, 0.55), 4)
    assert best_edge_confidence(star(4), alike, target=0).binding == (2,)
