"""Eigenvalues against closed forms and exact characteristic polynomials."""

from __future__ import annotations

import math

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from scipy import sparse

import peerbayes as pb
from tests.models import coins
from tests.oracles import exact_eigenvalues
from tests.strategies import networks
from theory import sample_sizes
from theory.network import Network
from theory.network import spectrum as spectrum_module

# A symmetric eigensolver's error is a few rounding errors of the norm, which is one.
ROUNDING = 1e-14


@settings(max_examples=50)
@given(
    networks(kinds=("reversible", "symmetric", "star", "sparse", "tiny-stationary"), max_agents=7)
)
def test_reversible_networks(network: Network) -> None:
    exact = exact_eigenvalues(network.weights)
    assert abs(network.slem - np.abs(exact).max()) <= network.spectrum.slem_error < 2 * ROUNDING
    assert network.second_eigenvalue == pytest.approx(exact.real.max(), abs=ROUNDING)


def _far_from_normal(agents: int, decades: int) -> np.ndarray:
    """A reversible W whose v falls by so many decades: similar to a symmetric matrix, just so."""
    v = 10.0 ** np.linspace(0, -decades, agents)
    flow = np.random.default_rng(1).uniform(0.1, 1, (agents, agents)) * np.minimum.outer(v, v)
    flow = flow + flow.T
    np.fill_diagonal(flow, 0)
    weights = flow / v[:, None]
    weights /= 2 * weights.sum(axis=1).max()
    return np.asarray(weights + np.diag(1 - weights.sum(axis=1)))


def _three_arms(exit_: float, apart: float) -> np.ndarray:
    """A hub and three paths of four whose exits differ by a part `apart`: a cluster of slow modes.

    Lanczos iteration stops at a mixture of the modes, and between their eigenvalues.
    """
    weights = np.zeros((13, 13))
    for arm in range(3):
        near = 1 + 4 * arm
        for i in range(near, near + 3):
            weights[i, i + 1] = weights[i + 1, i] = 0.3
        weights[0, near] = weights[near, 0] = exit_ * (1 + apart * arm)
    return weights + np.diag(1 - weights.sum(axis=1))


@pytest.mark.parametrize("dense", [True, False], ids=["dense", "iterated"])
@pytest.mark.parametrize(
    "weights",
    [
        *(_far_from_normal(agents, decades) for agents, decades in ((8, 6), (20, 12), (30, 3))),
        *(_three_arms(exit_, apart) for exit_ in (1e-3, 0.3) for apart in (0.0, 1e-7, 1e-5)),
    ],
)
def test_the_error_of_the_modulus_holds_and_is_small(
    weights: np.ndarray, dense: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spectrum_module, "DENSE_AGENTS", 2000 if dense else 5)
    network = Network(weights)
    assert network.is_reversible
    found, exact = network.spectrum, np.abs(exact_eigenvalues(weights)).max()
    assert abs(found.slem - exact) <= found.slem_error <= (2 * ROUNDING if dense else 2.1e-9)


@pytest.mark.parametrize("agents", [100, 400])
@pytest.mark.parametrize("dense", [True, False], ids=["dense", "by factors"])
def test_the_error_of_the_modulus_where_the_gap_is_small(
    agents: int, dense: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A path by Metropolis' rule: λ_k = 1 − 4/3 sin²(πk/2N). Factors know the gap relatively."""
    monkeypatch.setattr(spectrum_module, "DENSE_AGENTS", 2000 if dense else 5)
    network = Network.from_topology("path", agents=agents, rule="metropolis")
    gap = 4 / 3 * math.sin(math.pi / 2 / agents) ** 2
    found = network.spectrum
    # 1 − slem is exact, and the gap itself is right to its last place or two.
    assert abs(gap - (1 - found.slem)) <= found.slem_error
    assert found.slem_error < 2 * ROUNDING + (0 if dense else 3e-9 * gap)


@given(networks(kinds=("nearly-periodic", "nearly-decomposable"), max_agents=7))
def test_other_networks(network: Network) -> None:
    """Normal, or with well separated eigenvalues next to 1: six digits of reserve."""
    exact = exact_eigenvalues(network.weights)
    assert network.slem == pytest.approx(np.abs(exact).max(), abs=1e-9)
    assert network.second_eigenvalue == pytest.approx(exact.real.max(), abs=1e-9)


@pytest.mark.parametrize("agents", [3, 8, 50, 2501, 30_000])
def test_ring(agents: int) -> None:
    """λ_k = 1/3 + 2/3 cos(2πk/N)."""
    ring = Network.from_topology("ring", agents=agents)
    values = 1 / 3 + 2 / 3 * np.cos(2 * math.pi * np.arange(1, agents) / agents)
    assert ring.slem == pytest.approx(np.abs(values).max(), abs=ROUNDING)
    assert ring.second_eigenvalue == pytest.approx(values.max(), abs=ROUNDING)


@pytest.mark.parametrize("dimension", [1, 3, 6, 12])
def test_hypercube(dimension: int) -> None:
    """λ = (1 + d − 2k) / (1 + d) for k = 0 … d."""
    cube = Network.from_topology("hypercube", dimension=dimension)
    others = (1 + dimension - 2 * np.arange(1, dimension + 1)) / (1 + dimension)
    assert cube.slem == pytest.approx(np.abs(others).max(), abs=1e-9)
    assert cube.second_eigenvalue == pytest.approx(others.max(), abs=1e-9)


def test_modulus_at_the_negative_end() -> None:
    """A hypercube of dimension 12 whose agents keep 1 %: λ = .01 + .99 (1 − 2k/12)."""
    cube = Network.from_topology("hypercube", dimension=12)
    weights = cube.weights.copy()  # type: ignore[union-attr]
    weights.data = np.where(weights.data > 0, 0.99 / 12, 0.0)
    weights = weights - sparse.diags_array(weights.diagonal()) + 0.01 * sparse.eye_array(4096)
    network = Network(weights)
    assert network.slem == pytest.approx(0.98, abs=1e-9)
    assert network.second_eigenvalue == pytest.approx(0.01 + 0.99 * 10 / 12, abs=1e-9)


@pytest.mark.parametrize("gap", [1e-6, 1e-12])
def test_a_tiny_gap_is_a_gap(gap: float) -> None:
    """Only one eigenvalue 1 is taken away; [[1 − g, g], [g, 1 − g]] has the other 1 − 2g."""
    assert 1 - Network([[1 - gap, gap], [gap, 1 - gap]]).slem == pytest.approx(2 * gap, abs=1e-15)
    directed = np.array([[1 - gap, gap, 0], [0, 0, 1], [gap, 1 - gap, 0]])
    network = Network(directed)
    assert not network.is_reversible
    exact = exact_eigenvalues(directed)
    assert 1 - network.second_eigenvalue == pytest.approx(1 - exact.real.max(), abs=1e-14)
    assert network.second_eigenvalue < 1


def test_single_agent() -> None:
    alone = Network([[1.0]])
    assert alone.slem == 0.0
    assert math.isnan(alone.second_eigenvalue)


def test_a_defective_eigenvalue_has_half_the_digits() -> None:
    """A documented limit: −2/7 twice in one Jordan block, found by hypothesis."""
    weights = np.array([[1, 13, 7], [7, 7, 7], [19, 1, 1]]) / 21
    network = Network(weights)
    # Each rounding error e of W moves a double eigenvalue by about √e = 1e-8.
    assert network.slem == pytest.approx(2 / 7, abs=1e-7)


def test_floating_eigenvalues_of_a_non_normal_chain_are_wrong() -> None:
    """A documented limit: the chain resets to 0, all its other eigenvalues are exactly 0."""
    agents = 20
    here = np.arange(agents)
    weights = np.zeros((agents, agents))
    weights[here, np.minimum(here + 1, agents - 1)] += 0.95
    weights[:, 0] += 0.05
    # In rationals: rows of 19/20 and 1/20, so that the characteristic polynomial is x^19 (x − 1).
    exact = np.where(np.isclose(weights, 0.95), 19, np.where(np.isclose(weights, 0.05), 1, 0))
    import flint

    polynomial = (flint.fmpq_mat(flint.fmpz_mat(exact.tolist())) / 20).charpoly()
    assert polynomial == flint.fmpq_poly([0] * 19 + [-1, 1])
    assert Network(weights).slem > 0.01


@pytest.mark.parametrize(
    "options",
    [
        {"topology": "geometric", "agents": 300, "radius": 0.12, "seed": 3},
        {"topology": "erdos-renyi", "agents": 300, "probability": 0.05, "seed": 3},
        {"topology": "path", "agents": 300},
        {"topology": "tree", "agents": 300, "rule": "metropolis"},
        {"topology": "star", "agents": 300, "edge_confidence": 0.999},
    ],
    ids=lambda options: str(options["topology"]),
)
def test_iteration_agrees_with_the_dense_solver(
    options: dict[str, object], monkeypatch: pytest.MonkeyPatch
) -> None:
    dense = Network.from_topology(**options)  # type: ignore[arg-type]
    expected = (dense.slem, dense.second_eigenvalue)
    monkeypatch.setattr(spectrum_module, "DENSE_AGENTS", 10)
    iterated = Network.from_topology(**options, sparse=True)  # type: ignore[arg-type]
    # The residual is at most 1e-9, the error of its square over the next gap or less than it.
    assert (iterated.slem, iterated.second_eigenvalue) == pytest.approx(expected, abs=2e-9)


def test_iteration_for_directed_networks(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(2)
    edges = [[i, (i + 1) % 200] for i in range(200)] + rng.integers(0, 200, (800, 2)).tolist()
    dense = Network.from_edges(edges, agents=200, directed=True)
    expected = (dense.slem, dense.second_eigenvalue)
    monkeypatch.setattr(spectrum_module, "DENSE_AGENTS", 10)
    iterated = Network.from_edges(edges, agents=200, directed=True, sparse=True)
    assert (iterated.slem, iterated.second_eigenvalue) == pytest.approx(expected, abs=1e-9)


def test_a_directed_network_that_hardly_mixes_is_reported() -> None:
    """Neither number can be had, all others can."""
    agents = 2100
    here = np.arange(agents)
    weights = sparse.csr_array(
        (np.full(2 * agents, 0.5), (np.tile(here, 2), np.concatenate([here, (here + 1) % agents]))),
        shape=(agents, agents),
    )
    network = Network(weights)
    assert np.isnan([network.slem, network.second_eigenvalue]).all()
    assert network.spectrum.note.startswith("the subdominant modulus and the second eigenvalue: ")
    np.testing.assert_allclose(network.stationary_distribution, 1 / agents, rtol=1e-9)
    assert np.isinf(network.deviation.upper).all()
    assert np.isinf(network.deviation.width)
    # ‖e_i W − v‖₁ = 2 (1/2 − 1/N) + (N − 2)/N.
    np.testing.assert_allclose(network.deviation.lower, 2 - 4 / agents, rtol=1e-12)
    ladder = sample_sizes(network, coins(agents), delta=0.05)
    assert ladder.printed.note == ladder.printed_p2.note == network.spectrum.note


def test_a_large_random_graph_is_iterated_long_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    """No factors, which would fill memory; λ₂ tends to (1 + 2√3)/5 (Friedman, 2008)."""
    rng = np.random.default_rng(1)
    cycles = [rng.permutation(20_000) for _ in range(2)]
    edges = np.vstack([np.column_stack([cycle, np.roll(cycle, 1)]) for cycle in cycles])
    network = Network.from_edges(edges, agents=20_000)
    monkeypatch.setattr(spectrum_module, "factorise", None)
    counted: list[int] = []
    network.prepare(lambda done, total: counted.append(done))
    assert network.slem == network.second_eigenvalue
    assert network.slem == pytest.approx((1 + 2 * math.sqrt(3)) / 5, abs=2e-3)
    mode = network.spectrum.slow_mode
    left = network.weights @ mode - network.slem * mode
    assert np.linalg.norm(left) < 2e-9 * np.linalg.norm(mode)
    assert not network.spectrum.note
    assert np.isfinite(network.deviation.upper).all()
    # Looked at every eighth step, later after an eighth more: some 500 products.
    assert len(counted) < 60


def test_what_does_not_converge_leaves_the_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spectrum_module, "_MOST_STEPS", 20)
    monkeypatch.setattr(spectrum_module, "MOST_WORK", 0.0)
    network = Network.from_graph(nx.random_regular_graph(4, 2500, seed=1))
    assert np.isnan([network.slem, network.second_eigenvalue]).all()
    assert np.isinf(network.deviation.upper).all()
    notes = pb.analyse(pb.problem_of(network, coins(2500))).as_json()["notes"]
    assert network.spectrum.note in notes
    assert f"printed: {network.spectrum.note}" in notes
