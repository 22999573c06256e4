"""Moduli and real parts of eigenvalues against exact polynomials and closed forms."""

from __future__ import annotations

from fractions import Fraction

import flint
import numpy as np
import pytest
from hypothesis import given

from tests.strategies import networks
from tests.theory.certified.adversaries import adversaries, dense, other_eigenvalues
from tests.theory.rational.networks import reset_chain
from theory.certified.spectrum import (
    CertifiedSpectrum,
    certified_spectrum,
    difference_matrix,
    disc_bounds,
    polynomial_bounds,
    refined_bases,
    trace_and_norm,
)
from theory.numbers import Enclosure, precision
from theory.rational import RationalNetwork


def _spectrum(network: RationalNetwork, relative_width: float = 1e-12) -> CertifiedSpectrum:
    return certified_spectrum(
        network, reversible=network.is_reversible, relative_width=relative_width
    )


def _holds(ball: flint.arb, truths: list[flint.arb]) -> bool:
    """Whether the largest of the truths, balls of 400 bits, lies in `ball`."""
    with precision(600):
        upper = max((truth.upper() for truth in truths), key=lambda x: x)
        lower = max((truth.lower() for truth in truths), key=lambda x: x)
        return bool(ball.upper() >= lower and ball.lower() <= upper)


def check(network: RationalNetwork) -> None:
    found = _spectrum(network)
    roots = other_eigenvalues(network)
    with precision(400):
        moduli, reals = [abs(root) for root in roots], [root.real for root in roots]
    assert _holds(found.slem, moduli)
    assert _holds(found.second_eigenvalue, reals)
    assert Enclosure.from_ball(found.slem).relative_width <= 1e-12
    second = Enclosure.from_ball(found.second_eigenvalue)
    assert second.relative_width <= 1e-12 or (second.lower <= 0 <= second.upper < 1e-12)


def test_intervals_contain_the_roots_of_adversaries() -> None:
    for network in adversaries(100, seed=2):
        check(network)


@given(networks())
def test_intervals_contain_the_roots(network) -> None:
    check(RationalNetwork.from_network(network))


@given(networks(max_agents=7))
def test_each_route_is_true_by_itself(network) -> None:
    exact = RationalNetwork.from_network(network)
    difference = difference_matrix(exact)
    roots = other_eigenvalues(exact)
    with precision(400):
        moduli, reals = [abs(root) for root in roots], [root.real for root in roots]
    routes = [trace_and_norm(difference), *polynomial_bounds(difference)]
    routes += [
        disc_bounds(basis, known_zeros=0, method="discs")
        for basis in refined_bases(exact, difference, reversible=False)
    ]
    if exact.is_reversible:
        routes += [
            disc_bounds(basis, known_zeros=1, method="symmetric-discs")
            for basis in refined_bases(exact, difference, reversible=True)
        ]
    for found in routes:
        assert _holds(found.slem, moduli), found.method
        assert _holds(found.second, reals), found.method


def test_trace_and_norm_is_narrow_where_one_eigenvalue_leads() -> None:
    network = RationalNetwork([["1/2", "1/4", "1/4"], ["1/3", "1/3", "1/3"], ["0", "1/4", "3/4"]])
    found = trace_and_norm(difference_matrix(network))
    assert _holds(found.slem, [abs(root) for root in other_eigenvalues(network)])
    assert Enclosure.from_ball(found.slem).relative_width < 1e-10


@pytest.mark.parametrize("agents", [20, 100])
def test_reset_chain_has_no_other_eigenvalue_but_zero(agents: int) -> None:
    network = reset_chain(agents)
    found = _spectrum(network)
    assert found.slem == 0
    assert found.second_eigenvalue == 0
    assert found.slem_method == "characteristic-polynomial"
    # What floating point says of it:
    assert np.sort(np.abs(np.linalg.eigvals(dense(network))))[-2] > 0.05


def test_path_with_drift() -> None:
    # Eigenvalues 2 √(pq) cos(πk/N), p = 4/5, q = 1/5.
    size = 50
    rows = [[Fraction(0)] * size for _ in range(size)]
    for i in range(size):
        rows[i][min(i + 1, size - 1)] += Fraction(4, 5)
        rows[i][max(i - 1, 0)] += Fraction(1, 5)
    network = RationalNetwork(rows)
    assert network.is_reversible
    found = _spectrum(network)
    with precision(300):
        truth = flint.arb(4) / 5 * (flint.arb.pi() / size).cos()
    assert found.slem_method == "symmetric-discs"
    assert found.slem.contains(truth)
    assert found.second_eigenvalue.contains(truth)
    assert Enclosure.from_ball(found.slem).relative_width < 1e-12
