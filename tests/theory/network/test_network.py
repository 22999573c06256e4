"""What a network accepts, how it complains, and what it says of itself."""

from __future__ import annotations

import subprocess
import sys
from itertools import islice
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from scipy import sparse

from tests.strategies import networks
from theory.network import Network
from theory.network.structure import cyclic_classes

HALF = [[0.5, 0.5], [0.5, 0.5]]


def message(call: Any, *args: Any, **options: Any) -> str:
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - the whole text is compared
        call(*args, **options)
    text = str(caught.value)
    assert "\n" not in text
    assert text.split("; ")[-1]  # a remedy
    return text


ARRAY = "weights: expected a rectangular array of numbers with 2 axes, got ragged or non-numeric"
REFUSED: list[tuple[Any, str]] = [
    ([[0.5, 0.5], [1.0]], ARRAY),
    ([["a", "b"], ["c", "d"]], ARRAY),
    ([["1/0", "1"], ["0", "1"]], ARRAY),
    ([0.5, 0.5], "weights: expected an array with 2 axes, got shape (2,); add or remove a level"),
    ([[0.5, 0.5]], "weights: expected a square matrix, one row and one column an agent, got shape"),
    (np.zeros((0, 0)), "weights: expected a square matrix, one row and one column an agent, got"),
    ([[0.5, np.nan], [0.5, 0.5]], "weights: expected finite numbers, got nan at [0, 1]; replace"),
    ([[0.5, 0.5], [-0.25, 1.25]], "weights: expected weights of at least 0, got -0.25 at [1, 0]"),
    ([[1.0, 1e-310], [0.5, 0.5]], "weights: expected 0 or weights of at least 1e-307, got 1e-310"),
    (
        [[0.5, 0.5], [0.3, 0.3]],
        "weights: expected rows that sum to 1, got a sum of 0.6 in row 1; rescale the row, "
        'or write exact fractions such as "1/3"',
    ),
    ([[1 - 2e-12, 0], [0.5, 0.5]], "weights: expected rows that sum to 1, got a sum of 0.9999999"),
    (
        [[1.0, 0.0], [0.5, 0.5]],
        "weights: expected an irreducible network, in which every agent reaches every other, "
        "got 2 classes that do not all reach each other: {0}, {1}; add positive weights that "
        "lead from each class to the others",
    ),
    ([[0, 1, 0], [0, 0, 1], [1, 0, 0]], "got period 3 with the cyclic classes {0}, {1}, {2}; give"),
    (
        [[0, 0.5, 0, 0.5], [0.5, 0, 0.5, 0], [0, 0.5, 0, 0.5], [0.5, 0, 0.5, 0]],
        "weights: expected an aperiodic network, got period 2 with the cyclic classes "
        "{0, 2}, {1, 3}; give at least one agent a positive weight on itself",
    ),
    (sparse.csr_array([[0.5, np.inf], [0.5, 0.5]]), "got inf at [0, 1]"),
    (sparse.csr_array([[0.5, 0.5], [-0.25, 1.25]]), "got -0.25 at [1, 0]"),
    (sparse.csr_array([[0.5, 0.5], [0.3, 0.3]]), "got a sum of 0.6 in row 1"),
    (sparse.csr_array([[0.5, 0.5]]), "got shape (1, 2)"),
    (sparse.csr_array([[1.0, 0.0], [0.5, 0.5]]), "{0}, {1}"),
    (sparse.csr_array([[0.0, 1.0], [1.0, 0.0]]), "got period 2"),
    (sparse.csr_array([[0.5 + 1j, 0.5], [0.5, 0.5]]), "got dtype complex128"),
]


@pytest.mark.parametrize(("weights", "expected"), REFUSED)
def test_bad_weights(weights: Any, expected: str) -> None:
    assert expected in message(Network, weights)


def test_long_lists_of_classes_are_cut_short() -> None:
    text = message(Network, np.eye(100))
    assert "got 100 classes that do not all reach each other: {0}, {1}, {2}, {3}, …;" in text
    two = np.kron(np.eye(2), np.full((10, 10), 0.1))
    assert "{0, 1, 2, 3, 4, 5, …}, {10, 11, 12, 13, 14, 15, …};" in message(Network, two)


def test_period_without_self_weight_may_be_one() -> None:
    """Cycles of two and three agents: no common divisor."""
    network = Network([[0, 1, 0], [0.5, 0, 0.5], [1, 0, 0]])
    assert network.period == 1


@pytest.mark.parametrize("period", [2, 3, 5])
def test_cyclic_classes(period: int) -> None:
    """Blocks in a ring; every step leads to the next block."""
    size = 3
    blocks = np.repeat(np.arange(period), size)
    weights = np.where((blocks[:, None] + 1) % period == blocks, 1 / size, 0.0)
    order = np.random.default_rng(0).permutation(period * size)
    labels = cyclic_classes(weights[order][:, order])
    np.testing.assert_array_equal(labels, (blocks[order] - blocks[order[0]]) % period)


def test_fractions_in_strings() -> None:
    third = Network([["1/3", "1/3", "1/3"]] * 3)
    np.testing.assert_array_equal(third.weights, np.full((3, 3), 1 / 3))
    mixed = Network([["1/4", 0.75], [0.5, "0.5"]])
    np.testing.assert_array_equal(mixed.weights, [[0.25, 0.75], [0.5, 0.5]])


def test_weights_are_a_read_only_copy() -> None:
    given_weights = np.array(HALF)
    network = Network(given_weights)
    given_weights[0, 0] = 7.0
    assert network.weights[0, 0] == 0.5
    with pytest.raises(ValueError, match="read-only"):
        network.weights[0, 0] = 1.0
    with pytest.raises(ValueError, match="read-only"):
        network.stationary_distribution[0] = 1.0
    with pytest.raises(ValueError, match="read-only"):
        network.edges[0, 0] = 1
    sparse_network = Network(sparse.coo_array(np.array(HALF)))
    with pytest.raises(ValueError, match="read-only"):
        sparse_network.weights.data[0] = 1.0  # type: ignore[union-attr]


def test_layout() -> None:
    assert Network(HALF, layout=np.eye(2)).layout is not None
    assert "layout: expected two coordinates for each of 2 agents, got shape (3, 2)" in message(
        Network, HALF, layout=np.zeros((3, 2))
    )


def test_explicit_zeros_of_a_sparse_matrix_are_no_edges() -> None:
    padded = sparse.csr_array(([0.5, 0.5, 1.0, 0.0], ([0, 0, 1, 1], [0, 1, 0, 1])), shape=(2, 2))
    assert Network(padded).weights.nnz == 3  # type: ignore[union-attr]
    weights = sparse.csr_array(([1.0, 0.0, 1.0], ([0, 0, 1], [0, 1, 1])), shape=(2, 2))
    assert "2 classes" in message(Network, weights)


@given(networks())
@settings(max_examples=40)
def test_edges_are_the_positive_weights(network: Network) -> None:
    dense = network.weights.toarray() if network.is_sparse else network.weights  # type: ignore[union-attr]
    expected = [[i, j] for i, j in np.argwhere(dense > 0).tolist() if i != j]
    assert network.edges.tolist() == expected


@given(networks())
@settings(max_examples=40)
def test_powers_converge_to_v(network: Network) -> None:
    first, second = islice(network.powers(), 2)
    np.testing.assert_allclose(second, first @ first, rtol=1e-12)
    # v is a left fixed point of each power; a handful of roundings a product.
    v = network.stationary_distribution
    np.testing.assert_allclose(v @ second, v, rtol=1e-13)


@settings(max_examples=15)
@given(networks(kinds=("reversible", "symmetric", "star", "positive")))
def test_relabelling_agents_changes_nothing_else(network: Network) -> None:
    order = np.random.default_rng(0).permutation(network.agents)
    shuffled = Network(network.weights[order][:, order])
    if network.is_reversible:
        # A symmetric eigensolver in another order: a few roundings of a norm of one. Defective
        # W have no such accuracy (test_spectrum).
        assert shuffled.slem == pytest.approx(network.slem, abs=1e-14)
    assert (shuffled.deviation.lower <= network.deviation.upper[order]).all()
    assert (shuffled.deviation.upper >= network.deviation.lower[order]).all()


def test_directed_edges_lead_from_speaker_to_listener() -> None:
    network = Network.from_edges([[0, 1], [1, 2], [2, 0], [0, 2]], agents=3, directed=True)
    np.testing.assert_allclose(
        network.weights, [[1 / 2, 0, 1 / 2], [1 / 2, 1 / 2, 0], [1 / 3, 1 / 3, 1 / 3]]
    )


def test_self_loops_and_repeated_edges_change_nothing() -> None:
    plain = Network.from_edges([[0, 1], [1, 2]], agents=3)
    noisy = Network.from_edges([[0, 1], [1, 0], [1, 2], [1, 2], [2, 2]], agents=3)
    np.testing.assert_array_equal(plain.weights, noisy.weights)


@pytest.mark.parametrize(
    ("edges", "expected"),
    [
        ([[0, 1], [1, 3]], "expected agents numbered 0 to 2, got edge [1, 3] at 1"),
        ([[0, -1]], "expected agents numbered 0 to 2, got edge [0, -1] at 0"),
        ([[0, 1, 2]], "expected pairs of whole numbers, such as [[0, 1], [1, 2]]"),
        ([[0.5, 1]], "expected pairs of whole numbers, such as [[0, 1], [1, 2]]"),
        ([[0, 1], [1]], "expected pairs of whole numbers, such as [[0, 1], [1, 2]]"),
        ([[0, 1]], "2 classes that do not all reach each other: {0, 1}, {2}"),
        ([], "3 classes that do not all reach each other"),
    ],
)
def test_bad_edges(edges: Any, expected: str) -> None:
    assert expected in message(Network.from_edges, edges, agents=3)


def test_one_agent_without_edges() -> None:
    alone = Network.from_edges([], agents=1)
    assert alone.stationary_distribution.tolist() == [1.0]
    assert "agents: expected a whole number of at least 1" in message(
        Network.from_edges, [], agents=0
    )


def test_heavy_libraries_stay_out() -> None:
    """Of the import and of small networks; numba, once loaded, takes part in elimination."""
    code = (
        "import sys, theory.network.network as module;"
        "module.Network([[.5, .5], [.25, .75]]).stationary_distribution;"
        "print(sorted({'networkx', 'numba', 'matplotlib', 'sympy'} & set(sys.modules)))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"
