"""Reversibility, flow, classes and periods against definitions."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import gcd

import flint
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.strategies import rational_networks
from theory.rational import RationalNetwork
from theory.rational.spectrum import classes, is_reversible_flow, unbalanced_products


@settings(deadline=None)
@given(rational_networks())
def test_kolmogorov_agrees_with_detailed_balance(network: RationalNetwork) -> None:
    v, W = network.stationary_distribution, network.rows
    here = range(network.agents)
    balanced = all(v[i] * W[i][j] == v[j] * W[j][i] for i, j in product(here, here))
    assert network.is_reversible == balanced == is_reversible_flow(network.flow)
    cycle = network.balance.cycle
    if cycle is not None:
        forwards, backwards = unbalanced_products(network.matrix, cycle)
        assert forwards != backwards
        assert len(set(cycle)) == len(cycle) >= 3


@settings(deadline=None)
@given(rational_networks())
def test_rows_and_columns_of_the_flow_sum_to_v(network: RationalNetwork) -> None:
    v, flow = network.stationary_distribution, network.flow.table()
    for i, mass in enumerate(v):
        wanted = flint.fmpq(mass.numerator, mass.denominator)
        assert sum(flow[i], flint.fmpq(0)) == wanted
        assert sum((row[i] for row in flow), flint.fmpq(0)) == wanted


def test_one_part_in_a_huge_number_is_out_of_balance() -> None:
    """Floats call this reversible: the products around the triangle differ by 1e-40."""
    e = Fraction(1, 10**40)
    third = Fraction(1, 3)
    rows = [[third, third + e, third - e], [third, third, third], [third, third, third]]
    network = RationalNetwork(rows)
    assert not network.is_reversible
    assert network.as_network().is_reversible
    forwards, backwards = unbalanced_products(network.matrix, network.balance.cycle or ())
    assert abs(forwards - backwards) == third**2 * 2 * e


@settings(deadline=None)
@given(
    st.integers(1, 6).flatmap(
        lambda n: st.lists(
            st.lists(st.integers(0, 1), min_size=n, max_size=n), min_size=n, max_size=n
        )
    )
)
def test_classes_and_periods_by_walking(pattern: list[list[int]]) -> None:
    size = len(pattern)
    reach: list[list[set[int]]] = [[set() for _ in range(size)] for _ in range(size)]
    # Lengths up to 2n²: enough for every reach and for the divisor of the return times.
    now = [[int(i == j) for j in range(size)] for i in range(size)]
    for length in range(1, 2 * size * size + 1):
        now = [
            [int(any(row[k] and pattern[k][j] for k in range(size))) for j in range(size)]
            for row in now
        ]
        for i, j in product(range(size), range(size)):
            if now[i][j]:
                reach[i][j].add(length)
    expected = {}
    for i in range(size):
        mates = tuple(j for j in range(size) if j == i or (reach[i][j] and reach[j][i]))
        closed = all(j in mates for j in range(size) if reach[i][j])
        expected[mates] = (closed, gcd(*reach[i][i]))
    found = classes(flint.fmpq_mat(pattern))
    assert {c.agents: (c.is_closed, c.period) for c in found} == expected


def test_a_matrix_with_two_closed_classes() -> None:
    with pytest.raises(ValueError, match="irreducible"):
        RationalNetwork([[1, 0], [0, 1]])
    found = classes(flint.fmpq_mat([[1, 0], [0, 1]]))
    assert [(c.agents, c.is_closed, c.period) for c in found] == [((0,), True, 1), ((1,), True, 1)]
