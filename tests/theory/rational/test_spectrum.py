"""Exact eigenvalues against sympy, closed forms, and floats where these can be trusted."""

from __future__ import annotations

import math
from fractions import Fraction

import flint
import numpy as np
import pytest
import sympy
from hypothesis import given, settings

from tests.strategies import rational_networks
from tests.theory.rational.networks import as_sympy, directed_ring, reset_chain
from theory.network import Network
from theory.rational import AlgebraicNumber, RationalNetwork, RationalSpectrum
from theory.rational.spectrum import MOST_SECONDS, expected_seconds, spectrum


@settings(deadline=None, max_examples=30)
@given(rational_networks(max_agents=4))
def test_eigenvalues_by_brute_force(network: RationalNetwork) -> None:
    """Every root sympy finds lies in an enclosure, with its multiplicity, and none is left over."""
    x = sympy.Symbol("x")
    polynomial = as_sympy(network).charpoly(x)
    left = list(network.spectrum.eigenvalues)
    for factor, times in sympy.factor_list(polynomial.as_expr())[1]:
        for root in sympy.Poly(factor, x).nroots(n=40, maxsteps=500):
            real, imaginary = (Fraction(str(part)) for part in root.as_real_imag())
            # nroots is right to 40 digits, an enclosure to 16.
            tiny = Fraction(1, 10**35)
            (found,) = [
                e
                for e in left
                if Fraction(e.real.lower) - tiny <= real <= Fraction(e.real.upper) + tiny
                and Fraction(e.imaginary.lower) - tiny <= imaginary
                and imaginary <= Fraction(e.imaginary.upper) + tiny
            ]
            assert found.multiplicity == times
            assert found.is_real == (abs(imaginary) < tiny)
            left.remove(found)
    assert left == []


@settings(deadline=None, max_examples=30)
@given(rational_networks(max_agents=4))
def test_what_is_decided_by_brute_force(network: RationalNetwork) -> None:
    found, W = network.spectrum, as_sympy(network)
    assert found.is_one_simple
    assert sum(e.multiplicity for e in found.eigenvalues) == network.agents
    assert found.zeros == network.agents - (W**network.agents).rank()
    squarefree = sympy.eye(network.agents)
    for factor in found.factors:
        p = [sympy.Integer(int(c)) for c in reversed(factor.polynomial.coeffs())]
        value = sympy.zeros(network.agents)
        for c in p:
            value = value * W + c * sympy.eye(network.agents)
        squarefree = squarefree * value
    assert found.is_diagonalisable == squarefree.is_zero_matrix


@settings(deadline=None, max_examples=30)
@given(rational_networks())
def test_slem_and_second_eigenvalue_are_the_largest(network: RationalNetwork) -> None:
    found = network.spectrum
    others = [e for e in found.eigenvalues if e.rational != 1]
    slem, second = found.slem.enclosure(), found.second_eigenvalue
    if not others:
        assert (found.slem.rational, second) == (0, None)
        return
    assert slem.lower == max(e.modulus.lower for e in others)
    assert slem.upper == max(e.modulus.upper for e in others)
    assert second.enclosure().lower == max(e.real.lower for e in others)
    assert second.enclosure().upper == max(e.real.upper for e in others)
    assert slem.is_tight
    assert second.enclosure().is_tight
    # Expressions are the same numbers.
    for number in (found.slem, second):
        if max(f.degree for f in found.factors) <= 2:
            value = float(sympy.N(number.expression(), 30))
            assert value == pytest.approx(number.enclosure().midpoint, rel=1e-13, abs=1e-13)
    if network.is_reversible:
        floats = Network(network.as_network().weights)
        assert floats.slem == pytest.approx(slem.midpoint, abs=1e-13)


@pytest.mark.parametrize("agents", [2, 20, 100])
def test_the_reset_chain_has_no_other_eigenvalue_than_zero(agents: int) -> None:
    """Floats read .1 at 20 agents and .68 at 100."""
    found = reset_chain(agents).spectrum
    assert [(e.rational, e.multiplicity) for e in found.eigenvalues] == [(1, 1), (0, agents - 1)]
    assert found.slem.rational == 0
    assert str(found.slem) == "0"
    assert found.slem.enclosure().width == 0
    assert found.largest_blocks[[f.roots[0].rational for f in found.factors].index(0)] == agents - 1
    assert found.is_diagonalisable == (agents == 2)


def test_closed_forms_of_modulus_and_real_part() -> None:
    ring = directed_ring(4, Fraction(1, 2)).spectrum  # (1 ± i)/2 and 0
    assert str(ring.slem) == "sqrt(2)/2"
    assert ring.slem.rational is None
    assert ring.second_eigenvalue.rational == Fraction(1, 2)
    triangle = directed_ring(3, Fraction(1, 3)).spectrum  # ±i/√3
    assert str(triangle.slem) == "sqrt(3)/3"
    assert triangle.second_eigenvalue.rational == 0
    assert triangle.second_eigenvalue.enclosure().width == 0


def _companion(coefficients: list[Fraction]) -> RationalSpectrum:
    """The spectrum of any matrix with characteristic polynomial xⁿ − c_{n−1}xⁿ⁻¹ − …, and 1."""
    size = len(coefficients)
    rows = [[flint.fmpq(int(j == i + 1)) for j in range(size + 1)] for i in range(size + 1)]
    rows[size] = [flint.fmpq(0)] * size + [flint.fmpq(1)]
    for j, c in enumerate(coefficients):
        rows[size - 1][j] = flint.fmpq(c.numerator, c.denominator)
    return spectrum(flint.fmpq_mat(rows))


def test_a_pair_of_real_roots_shares_no_modulus() -> None:
    """8x² − 8x + 1 turns into itself under x → 1/(8x), which swaps its roots (2 ± √2)/4."""
    found = _companion([Fraction(-1, 8), Fraction(1)])
    assert found.slem.rational is None
    assert len(found.slem_eigenvalues) == 1
    assert found.slem.expression() == (2 + sympy.sqrt(2)) / 4


def test_ties_of_modulus_are_decided() -> None:
    half = Fraction(1, 2)
    # x³ = 1/2: three roots on one circle, whose radius is no square root.
    cube = _companion([half, Fraction(0), Fraction(0)])
    assert len(cube.slem_eigenvalues) == 3
    assert cube.slem.rivals == ()
    assert cube.slem.expression() == sympy.Rational(1, 2) ** sympy.Rational(1, 3)
    # 16x⁴ + 8x³ + 4x² + 2x + 1: fifth roots of unity, halved.
    fifth = _companion([-(half**4), -(half**3), -(half**2), -half])
    assert fifth.slem.rational == half
    assert len(fifth.slem_eigenvalues) == 4
    # (2x − 1)(4x² + 1): a real and an imaginary pair; the rational one speaks for all.
    mixed = _companion([half**3, -(half**2), half])
    assert mixed.slem.root.rational == half
    assert len(mixed.slem_eigenvalues) == 3


def _spectrum_of_product(*factors: sympy.Expr) -> RationalSpectrum:
    """The spectrum of a matrix with this characteristic polynomial in x, and 1."""
    product = sympy.Poly(sympy.prod(factors), sympy.Symbol("x")).monic()
    lower = reversed(product.all_coeffs()[1:])
    return _companion([-Fraction(int(c.p), int(c.q)) for c in lower])


def test_ties_between_different_polynomials_are_decided() -> None:
    x, r = sympy.symbols("x r")
    cubic = 63 * x**3 - 9 * x - 7
    mirrored = _spectrum_of_product(cubic, cubic.subs(x, -x))
    assert mirrored.slem.rivals == ()
    assert len(mirrored.slem_eigenvalues) == 2
    # All roots r of the cubic, turned by the angle of (3 ± 4i)/5: only the moduli are the same.
    turned = sympy.resultant(5 * x**2 - 6 * r * x + 5 * r**2, cubic.subs(x, r), r)
    rotated = _spectrum_of_product(cubic, turned)
    assert sorted(f.degree for f in rotated.factors) == [1, 3, 6]
    assert rotated.slem.rivals == ()
    assert len(rotated.slem_eigenvalues) == 3
    # r ± i: only the real parts are the same.
    moved = sympy.resultant((x - r) ** 2 + 1, cubic.subs(x, r), r)
    beside = _spectrum_of_product(cubic, moved)
    assert beside.second_eigenvalue.rivals == ()
    assert beside.second_eigenvalue.root.is_real


def test_ties_too_costly_to_decide_are_reported() -> None:
    """Degrees 9 and 18: the largest of a real root and a turned one, which no ball separates."""
    x, r = sympy.symbols("x r")
    ninth = 2 * x**9 - x - 2
    turned = sympy.resultant(5 * x**2 - 6 * r * x + 5 * r**2, ninth.subs(x, r), r)
    found = _spectrum_of_product(ninth, turned)
    assert len(found.slem.rivals) == 1
    assert found.slem.rational is None
    assert found.slem.enclosure().is_tight
    (largest,) = [z for z in np.roots([2, *[0] * 7, -1, -2]) if z.imag == 0]
    assert found.slem.enclosure().midpoint >= abs(largest) * (1 - 1e-14)
    assert "Max" in str(found.slem)


def test_sympy_numbers_the_same_roots() -> None:
    """Each root's expression, evaluated by sympy, lies in its enclosures."""
    x = sympy.Symbol("x")
    found = _spectrum_of_product(7 * x**3 - 5 * x**2 - x + 2)
    for eigenvalue in found.eigenvalues[1:]:
        for part, enclosure in (("modulus", eigenvalue.modulus), ("real part", eigenvalue.real)):
            number = AlgebraicNumber(eigenvalue.root, part)  # type: ignore[arg-type]
            value = float(number.expression().evalf(20))
            assert value == pytest.approx(enclosure.midpoint, rel=1e-14)


def test_near_ties_are_told_apart() -> None:
    """1/2 and the root of x² = 1/4 + 1e-60: different numbers beyond any double."""
    near = Fraction(1, 4) + Fraction(1, 10**60)
    found = _companion([-near / 2, near, Fraction(1, 2)])
    assert found.slem.rational is None
    assert len(found.slem_eigenvalues) == 2  # ±√
    assert found.slem.rivals == ()


def test_a_hundred_agents_with_irrational_eigenvalues() -> None:
    network = RationalNetwork.from_topology("path", agents=100, rule="max-degree")
    expected = 1 - 2 / 3 * (1 - math.cos(math.pi / 100))
    found = network.spectrum
    assert found.slem.enclosure().contains(expected) or found.slem.enclosure().midpoint == (
        pytest.approx(expected, rel=1e-15)
    )
    assert found.slem.enclosure().is_tight


def test_the_two_ways_to_isolate_roots_agree() -> None:
    network = RationalNetwork.from_topology("geometric", agents=25, radius=0.5, seed=2)
    by_signs, by_flint = network.spectrum, spectrum(network.matrix)
    for one, two in zip(by_signs.eigenvalues, by_flint.eigenvalues, strict=True):
        assert one.real == two.real
        assert one.imaginary == two.imaginary
    # Estimates that miss fall back.
    poor = spectrum(network.matrix, estimates=[0.0] * 25)
    assert poor.slem.enclosure() == by_flint.slem.enclosure()


def test_too_much_work_is_refused_with_an_estimate() -> None:
    fine = flint.fmpq(1, 2**62 + 1)
    matrix = flint.fmpq_mat(500, 500, [fine] * 500**2)
    assert expected_seconds(matrix) > MOST_SECONDS
    with pytest.raises(ValueError, match=r"500 agents .* about \d+ s; use --certify"):
        spectrum(matrix)


def test_a_single_agent() -> None:
    found = RationalNetwork([[1]]).spectrum
    assert found.slem.rational == 0
    assert found.second_eigenvalue is None
    assert found.is_diagonalisable
    assert found.is_one_simple


def test_reducible_matrices_have_one_more_than_once() -> None:
    found = spectrum(flint.fmpq_mat([[1, 0], [0, 1]]))
    assert not found.is_one_simple
    assert found.slem.rational == 1
