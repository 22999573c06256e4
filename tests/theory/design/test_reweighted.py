"""Weights for influences that are wanted, against laws of the very doubles and closed forms."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.theory.design.targets import directed_graphs, undirected_graphs
from theory.design import DesignFailed, DesignGraph, realise, reweighted
from theory.design.mixing import fastest
from theory.network import Network
from theory.network.structure import as_dense


@st.composite
def wanted(draw: st.DrawFn) -> tuple[Network, list[int]]:
    """A network on any graph, and how many examples each agent holds."""
    graph = draw(st.one_of(undirected_graphs(), directed_graphs()))
    held = draw(st.lists(st.integers(1, 60_000), min_size=graph.agents, max_size=graph.agents))
    return realise(graph, np.full(graph.agents, 1 / graph.agents)), held


@settings(max_examples=25)
@given(wanted=wanted())
def test_influence_is_as_wanted_on_the_links_there_are(wanted: tuple[Network, list[int]]) -> None:
    network, held = wanted
    found = reweighted(network, held)
    shares = np.array(held) / sum(held)
    assert np.abs(found.stationary_distribution / shares - 1).max() < 1e-9
    new, old = as_dense(found.weights), as_dense(network.weights)
    assert not new[(old == 0) & ~np.eye(network.agents, dtype=bool)].any()
    graph = DesignGraph.from_network(network)
    if graph.is_undirected:
        assert found.is_reversible
        # Rounding of eigenvalues, and the tolerance of the optimum.
        assert found.slem <= realise(graph, shares).slem + 1e-5


@pytest.mark.parametrize("centre", [0.1, 0.5, 0.9])
def test_stars_have_the_least_modulus_that_there_is(centre: float) -> None:
    """An edge puts x on the centre, which can give all edges together 1: x(1 − c)/c ≤ 1.

    The eigenvalues are then 1 − x and 1 − x/c, and x = 2c/(1 + c) makes them opposite.
    """
    star = Network.from_topology("star", agents=9)
    found = reweighted(star, [centre] + 8 * [(1 - centre) / 8])
    x = min(2 * centre / (1 + centre), centre / (1 - centre))
    assert found.slem == pytest.approx(max(1 - x, abs(1 - x / centre)), abs=1e-5)


def test_the_unit_of_influence_is_of_no_matter_and_names_stay() -> None:
    ring = Network.from_topology("ring", agents=4)
    named = Network(ring.weights, "ring", names=["a", "b", "c", "d"])
    small, large = (reweighted(named, scale * np.array([1.0, 2, 3, 4])) for scale in (1e-3, 1e6))
    assert np.allclose(as_dense(small.weights), as_dense(large.weights), atol=1e-9)
    assert small.names == named.names


def test_where_the_search_fails_other_weights_are_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> None:
        raise DesignFailed("stalled", tried=("barrier",), best=None, remedy="")

    monkeypatch.setattr(fastest, "fastest_mixing", fails)
    found = reweighted(Network.from_topology("star", agents=3), [2, 1, 1])
    assert found.stationary_distribution.tolist() == [0.5, 0.25, 0.25]
