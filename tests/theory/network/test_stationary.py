"""The stationary distribution against exact rationals and closed forms."""

from __future__ import annotations

import os
import signal
import sys
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from math import prod
from threading import Event
from types import ModuleType

import numpy as np
import pytest
from hypothesis import example, given, settings
from scipy import sparse

from tests.oracles import exact_stationary, relative_error
from tests.strategies import networks
from theory.network import Network, elimination_kernel
from theory.network import stationary as stationary_module
from theory.network.stationary import (
    detailed_balance,
    eliminate,
    elimination_work,
    residual,
    solve_sparse,
    stationary,
)
from theory.network.structure import EPS, iterate
from theory.rational import RationalNetwork
from theory.validation import FloatArray

# Elimination makes about N rounding errors of 1.1e-16 in each component, none of which cancels.
ACCURACY = 1e-14


def _coupled_blocks(blocks: int, size: int, coupling: float, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    agents = blocks * size
    weights = rng.uniform(0.1, 1.0, (agents, agents))
    same = np.arange(agents) // size
    weights *= np.where(same[:, None] == same, 1.0, coupling)
    weights /= weights.sum(axis=1, keepdims=True)
    return weights


def _drifting_path(agents: int, towards_end: np.ndarray) -> np.ndarray:
    """A path whose agent i leans to i + 1 with weight towards_end[i], to i − 1 with the rest."""
    here = np.arange(agents)
    weights = np.zeros((agents, agents))
    np.add.at(weights, (here, np.minimum(here + 1, agents - 1)), towards_end)
    np.add.at(weights, (here, np.maximum(here - 1, 0)), 1 - towards_end)
    return weights


@given(networks())
@example(Network.from_topology("star", agents=2, edge_confidence=1 - 1e-9))
@settings(max_examples=60)
def test_every_component_is_accurate(network: Network) -> None:
    error = relative_error(network.stationary_distribution, exact_stationary(network.weights))
    assert error < ACCURACY
    # N inflows of one rounding each, and v itself within N roundings.
    assert network.stationary.residual < 4 * network.agents * EPS


@pytest.mark.parametrize(("blocks", "size"), [(2, 5), (5, 2), (3, 10), (10, 4)])
@pytest.mark.parametrize("coupling", [1e-12, 1e-6])
def test_weak_coupling_costs_no_digit(blocks: int, size: int, coupling: float) -> None:
    weights = _coupled_blocks(blocks, size, coupling, seed=1)
    network = Network(weights)
    assert network.stationary.method == "gth"
    exact = exact_stationary(weights)
    assert relative_error(network.stationary_distribution, exact) < ACCURACY


@pytest.fixture(autouse=True, scope="module")
def compiled() -> Iterator[None]:
    """Elimination is compiled from the first agent on."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stationary_module, "_MOST_AGENTS", 0)
        yield


def by_numpy(weights: FloatArray) -> FloatArray:
    """What elimination gives where numba is not loaded."""
    loaded = sys.modules.pop("numba")
    try:
        return eliminate(weights)
    finally:
        sys.modules["numba"] = loaded


@given(networks())
@settings(max_examples=40)
def test_both_forms_of_elimination_are_accurate_and_equal(network: Network) -> None:
    """To the last bit: what is loaded must not change a number."""
    weights = network.weights
    dense = weights if isinstance(weights, np.ndarray) else weights.toarray()
    plain = by_numpy(dense)
    assert relative_error(plain, exact_stationary(dense)) < ACCURACY
    np.testing.assert_array_equal(eliminate(dense), plain)


@pytest.mark.parametrize("agents", [1, 2, 8, 32, 33, 34, 65, 66, 150, 300])
@pytest.mark.parametrize("coupling", [1.0, 1e-12])
def test_both_forms_are_equal_on_both_sides_of_a_panel(agents: int, coupling: float) -> None:
    halves = _coupled_blocks(2, agents // 2, coupling, seed=agents) if agents > 1 else np.eye(1)
    for weights in (halves, np.asfortranarray(halves)):
        values = eliminate(weights)
        np.testing.assert_array_equal(values, by_numpy(weights))
        np.testing.assert_allclose(values @ weights, values, rtol=1e-13)


@pytest.mark.parametrize("agents", [30, 400, 800])
def test_both_forms_are_equal_where_v_leaves_the_range_of_floats(agents: int) -> None:
    weights = _drifting_path(agents, np.where(np.arange(agents) < agents // 2, 1e-20, 1 - 1e-16))
    values = eliminate(weights)
    np.testing.assert_array_equal(values, by_numpy(weights))
    assert values.min() < 2.0**-900


def test_few_agents_wait_for_no_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    """Numbers are the same, so that only where they come from can tell."""
    monkeypatch.setattr(stationary_module, "_MOST_AGENTS", 100)
    monkeypatch.setattr(stationary_module, "_done", Counter())
    asked: list[int] = []

    def compiled() -> ModuleType:
        asked.append(stationary_module._done["agents"])
        return elimination_kernel

    monkeypatch.setattr(stationary_module, "_compiled", compiled)
    for _ in range(30):
        eliminate(np.full((4, 4), 0.25))
    assert asked == [104, 108, 112, 116, 120]


@pytest.mark.parametrize("size", [0, 1, 7, 8, 9, 64, 127, 128, 129, 136, 255, 1000, 4099])
def test_the_compiled_sum_is_numpys(size: int) -> None:
    rng = np.random.default_rng(size)
    values = rng.random(size) * 10.0 ** rng.integers(-9, 9, size)
    assert elimination_kernel.pairwise_sum(values, 0, size) == values.sum()


@pytest.mark.parametrize("stored", [np.asarray, sparse.csr_array])
def test_components_may_span_more_than_a_float(stored: type) -> None:
    """v falls by 4 a step to 4^-400 below agent 0, then rises again: both ends are equal."""
    agents = 1600
    towards_end = np.where(np.arange(agents) < agents // 2, 0.2, 0.8)
    network = Network(stored(_drifting_path(agents, towards_end)))
    values = network.stationary_distribution
    # 1 + 1/4 + 1/16 + … = 4/3 on each side; sixteen hundred steps of two roundings each.
    np.testing.assert_allclose(values[[0, 1, -2, -1]], [3 / 8, 3 / 32, 3 / 32, 3 / 8], rtol=1e-12)
    assert values.min() == 0.0
    assert network.is_reversible


@pytest.mark.parametrize("start", [0.2, 0.8])
def test_drift_without_end(start: float) -> None:
    agents = 5000
    near = np.arange(agents)
    weights = sparse.csr_array(
        sparse.diags_array([1 - start, start], offsets=[-1, 1], shape=(agents, agents))
    )
    ends = sparse.csr_array(([1 - start, start], ([0, agents - 1], [0, agents - 1])), weights.shape)
    network = Network(weights + ends)
    assert network.stationary.method == "detailed-balance"
    heavy = near if start < 0.5 else near[::-1]
    np.testing.assert_allclose(
        network.stationary_distribution[heavy[:300]], 0.75 * 0.25 ** near[:300], rtol=1e-12
    )


@given(networks(kinds=("reversible", "symmetric", "star", "sparse", "tiny-stationary")))
@settings(max_examples=50)
def test_detailed_balance_is_recognised(network: Network) -> None:
    assert network.is_reversible
    balanced = detailed_balance(network.weights)
    assert relative_error(balanced, exact_stationary(network.weights)) < ACCURACY


def _nearly_balanced_cycle(agents: int, units: int) -> np.ndarray:
    """Each agent hears both neighbours at 1/4, but agent N/2 the next at (1 + units ε)/4.

    All are doubles, and so are the quotients of the other weights: that link alone is out of
    balance, by `units` ε in rationals and in floating point.
    """
    here = np.arange(agents)
    weights = 0.5 * np.eye(agents)
    weights[here, (here + 1) % agents] = weights[here, here - 1] = 0.25
    excess, middle = units * EPS / 4, agents // 2
    weights[middle, middle + 1] += excess
    weights[middle, middle] -= excess
    return weights


@pytest.mark.parametrize("agents", [3, 5, 9, 33])
@pytest.mark.parametrize("stored", [np.asarray, sparse.csr_array])
def test_balance_is_asked_for_up_to_the_rounding_of_weights(agents: int, stored: type) -> None:
    """Agents (N − 1)/2 links from agent 0 on both sides: N + 1 quotients of weights right to 4ε."""
    allowed = 4 * (agents + 1)
    for units in (allowed, allowed + 1):
        weights = _nearly_balanced_cycle(agents, units)
        exact = RationalNetwork.from_rows([[Fraction(w) for w in row] for row in weights.tolist()])
        around = [(i, (i + 1) % agents) for i in range(agents)]
        quotients = [exact.rows[i][j] / exact.rows[j][i] for i, j in around]
        assert prod(quotients) == 1 + Fraction(units * EPS)
        assert not exact.is_reversible
        assert Network(stored(weights)).is_reversible == (units == allowed)
    # Both weights of every link off by a last place, all in one direction: still rounding.
    weights = _nearly_balanced_cycle(agents, 0)
    here = np.arange(agents)
    weights[here, (here + 1) % agents] = np.nextafter(0.25, 1)
    weights[here, here - 1] = np.nextafter(0.25, 0)
    assert Network(stored(weights)).is_reversible


def test_one_way_links_are_out_of_balance_and_eliminated() -> None:
    network = Network(sparse.csr_array([[0.5, 0.5, 0], [0, 0.5, 0.5], [0.5, 0, 0.5]]))
    assert network.is_sparse
    assert not network.is_reversible
    assert network.stationary.method == "gth"
    assert np.isnan(network.spectrum.slem_error)  # no error is promised of its eigenvalues


@settings(max_examples=50)
@given(networks(kinds=("positive", "directed", "nearly-periodic", "non-normal")))
def test_sparse_factorisation(network: Network) -> None:
    """Well-conditioned kinds: some digits of reserve for the subtractions in the factors."""
    values, _ = solve_sparse(sparse.csr_array(network.weights))
    assert relative_error(values, exact_stationary(network.weights)) < 1e-11


@pytest.mark.parametrize(("coupling", "lost"), [(1e-3, 1e-12), (1e-9, 1e-6)])
def test_sparse_factorisation_loses_digits_to_weak_coupling(coupling: float, lost: float) -> None:
    """A documented limit: about 1e-16 over the coupling, and the residual does not show it."""
    weights = _coupled_blocks(2, 10, coupling, seed=1)
    values, _ = solve_sparse(sparse.csr_array(weights))
    error = relative_error(values, exact_stationary(weights))
    assert error < lost
    assert residual(weights, values) < 1e-14
    if coupling < 1e-6:
        assert error > 1e-12


@given(networks())
@settings(max_examples=40)
def test_iteration_holds_its_bound_or_gives_up(network: Network) -> None:
    found = iterate(sparse.csr_array(network.weights), steps=250)
    if found is not None:
        values, bound, products = found
        assert products > 0
        assert relative_error(values, exact_stationary(network.weights)) <= bound < 1e-6


def _hears_the_next_and(others: np.ndarray, own: float, next_: float) -> sparse.csr_array:
    """Agent i gives `own` to itself, `next_` to i + 1, and the rest evenly to others[:, i]."""
    count, agents = others.shape
    rest = (1 - own - next_) / count
    here = np.arange(agents)
    values = np.repeat([own, next_, *[rest] * count], agents)
    columns = np.concatenate([here, (here + 1) % agents, *others])
    weights = (values, (np.tile(here, 2 + count), columns))
    return sparse.csr_array(weights, shape=(agents, agents))


def _random_directed(agents: int, kind: str) -> sparse.csr_array:
    rng = np.random.default_rng(agents)
    if kind == "two halves":  # that hear each other at 1e-9
        half = agents // 2
        parts = [_hears_the_next_and(rng.integers(0, half, (2, half)), 0.25, 0.25) for _ in "ab"]
        weights = sparse.lil_array(sparse.block_diag(parts))
        for i, j in ((0, half), (half, 0)):
            weights[i, j], weights[i, i] = 1e-9, weights[i, i] - 1e-9
        return sparse.csr_array(weights)
    if kind == "crowd":  # all hear agents 0 to 9 often, and others hardly ever
        others = np.vstack([rng.integers(0, 10, (3, agents)), rng.integers(0, agents, agents)])
        weights = _hears_the_next_and(others, 1e-3, 1e-6)
        return sparse.csr_array(weights.multiply(1 / weights.sum(axis=1)[:, None]))
    if kind == "nearly periodic":  # two sides, each of which hears the other
        others = 2 * rng.integers(0, agents // 2, (3, agents)) + 1 - np.arange(agents) % 2
        return _hears_the_next_and(others, 1e-6, 0.25)
    return _hears_the_next_and(rng.integers(0, agents, (2, agents)), 0.25, 0.25)


@pytest.mark.parametrize(
    ("kind", "method", "accuracy"),
    [
        ("mixing", "iteration", 1e-13),
        ("crowd", "iteration", 1e-13),
        ("nearly periodic", "iteration", 1e-13),
        ("two halves", "gth", 1e-13),  # factors, which are dense here, are right to 2e-5
    ],
)
def test_large_sparse_without_balance_agrees_with_elimination(
    kind: str, method: str, accuracy: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stationary_module, "DENSE_AGENTS", 500)
    network = Network(_random_directed(800, kind))
    found = network.stationary
    assert found.method == method
    exact = eliminate(network.weights.toarray())  # type: ignore[union-attr]
    error = float(np.abs(found.values / exact - 1).max())
    assert error < accuracy
    # The bound holds, and is of the size of the roundings of all rounds.
    assert method == "gth" or error <= found.error < 1e-10


def test_a_large_directed_network_takes_some_hundred_products(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Factors of it would fill memory."""
    monkeypatch.setattr(stationary_module, "factorise", None)
    weights = _random_directed(100_000, "mixing")
    assert elimination_work(weights) > 1e14
    told: list[tuple[int, int]] = []
    found = stationary(weights, None, lambda done, total: told.append((done, total)))
    assert found.method == "iteration"
    assert found.error < 1e-11
    # Looked at every eighth step, each of two products with one vector or with four.
    assert len(told) < 20
    assert residual(weights, found.values) < 1e-14


def test_signals_are_heard_while_factors_are_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The factorisation itself is one call, which may take minutes."""
    done = Event()

    def endless(*_: object, **__: object) -> None:
        os.kill(os.getpid(), signal.SIGINT)
        done.wait()

    monkeypatch.setattr("scipy.sparse.linalg.splu", endless)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            solve_sparse(sparse.csr_array([[0.5, 0.5], [0.5, 0.5]]))
    finally:
        done.set()
        signal.signal(signal.SIGINT, before)


def test_what_can_neither_be_iterated_nor_factorised_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(stationary_module, "_MOST_STEPS", 300)
    monkeypatch.setattr(stationary_module, "QUICK_WORK", 0.0)
    monkeypatch.setattr(stationary_module, "MOST_WORK", 0.0)
    monkeypatch.setattr(stationary_module, "_FILLED_AGENTS", 2000)
    with pytest.raises(ValueError, match=r"mixes in some .* 2100 agents, no bound .* 600 rounds"):
        stationary(_random_directed(2100, "two halves"), None)


@pytest.mark.parametrize(
    ("options", "most"),
    [
        ({"topology": "ring", "agents": 100_000}, 1e7),
        ({"topology": "grid", "shape": [100, 100]}, 1e9),
        ({"topology": "tree", "agents": 4095, "branching": 2}, 1e11),
    ],
)
def test_work_of_factors_is_small_where_few_are_far_out(
    options: dict[str, object], most: float
) -> None:
    network = Network.from_topology(**options, sparse=True)  # type: ignore[arg-type]
    assert elimination_work(network.weights) < most  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "options",
    [{"topology": "ring", "agents": 100_000}, {"topology": "grid", "shape": [300, 300]}],
    ids=["ring", "grid"],
)
def test_a_hundred_thousand_agents(options: dict[str, object]) -> None:
    """Under the uniform rule v_i is proportional to the number of neighbours, itself included."""
    network = Network.from_topology(**options)  # type: ignore[arg-type]
    neighbourhood = np.diff(network.weights.indptr)  # type: ignore[union-attr]
    expected = neighbourhood / neighbourhood.sum()
    assert network.is_sparse
    assert network.stationary.method == "detailed-balance"
    # Six hundred quotients of weights like 1/3 and 1/4 lead across the grid.
    np.testing.assert_allclose(network.stationary_distribution, expected, rtol=1e-12)


def test_underflow_is_refused() -> None:
    weights = np.eye(3) - np.diag([2e-300, 2e-300, 2e-300])
    weights += 1e-300 * (np.ones((3, 3)) - np.eye(3))
    np.testing.assert_allclose(Network(weights).stationary_distribution, 1 / 3, rtol=1e-15)
    chain = np.array([[1, 1e-100, 0], [0, 1, 1e-200], [1e-200, 1, 0]])
    for form in (eliminate, by_numpy):
        with pytest.raises(ValueError, match="underflow at agent 1; replace the smallest weights"):
            form(Network(chain).weights)
