"""The trial's instruments against independent ones: floats, scipy, enumeration by hand."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import flint
import numpy as np
import pytest
from scipy.stats import binom

from theory.claims import Effort, chains
from theory.claims.chance import (
    Evidence,
    TwoPoint,
    binomial_at_most,
    integer_weights,
    sum_at_most,
)
from theory.claims.coins import ceiling, largest_below
from theory.claims.examples import grid, paper_networks, round_of_stars
from theory.claims.hunting import Attempt, at_most, hunt, inspect
from theory.claims.lazy import under_condition
from theory.claims.search import (
    MODULUS_COUNTEREXAMPLES,
    SIGNED_COUNTEREXAMPLES,
    birth_death,
    climb,
    lemma_score,
    restart,
    search_chains,
    search_signed,
    search_theorem_one,
    search_theorem_two,
    search_three_agents,
)
from theory.network import Network


def as_floats(weights: flint.fmpq_mat) -> np.ndarray:
    size = weights.nrows()
    return np.array(
        [[int(weights[i, j].p) / int(weights[i, j].q) for j in range(size)] for i in range(size)]
    )


@pytest.mark.parametrize("kind", chains.KINDS)
def test_random_networks_are_networks(kind: str) -> None:
    rng = np.random.default_rng(1)
    for _ in range(20):
        weights = chains.random_network(rng, kinds=(kind,))
        size = weights.nrows()
        assert all(sum(weights[i, j] for j in range(size)) == 1 for i in range(size))
        v = chains.stationary(weights)
        assert all(sum(v[i] * weights[i, j] for i in range(size)) == v[j] for j in range(size))
        if kind in {"symmetric", "star", "reversible", "drift"}:
            assert chains.is_reversible(weights, v)
        if kind == "symmetric":
            assert weights == weights.transpose()


def test_reducible_and_periodic_networks_are_seen() -> None:
    assert not chains.is_primitive(chains.network([[1, 0], [1, 1]], 2))
    assert not chains.is_primitive(chains.network([[0, 1], [1, 0]]))
    # The slowest primitive pattern: Wielandt's, a cycle with one chord.
    assert chains.is_primitive(chains.network([[0, 2, 0], [0, 0, 2], [1, 1, 0]], 2))


def test_eigenvalues_and_deviation_against_floats() -> None:
    rng = np.random.default_rng(2)
    for _ in range(30):
        weights = chains.random_network(rng, most=5, kinds=("positive", "star", "symmetric"))
        table = as_floats(weights)
        roots = np.linalg.eigvals(table)
        others = np.delete(roots, np.argmin(abs(roots - 1)))
        # Multiple eigenvalues of a float matrix move by the square root of the rounding.
        assert float(chains.modulus(weights)) == pytest.approx(abs(others).max(), abs=1e-6)
        assert float(chains.signed(weights)) == pytest.approx(others.real.max(), abs=1e-6)
        bracket = Network(table).deviation
        lower, upper = chains.deviation(weights)
        for i in range(len(table)):
            assert float(lower[i]) <= bracket.upper[i] * (1 + 1e-9)
            assert float(upper[i]) >= bracket.lower[i] * (1 - 1e-9)
            assert float(upper[i]) <= 1.05 * float(lower[i]) + 1e-12  # strides of 48: about 2 %


def test_zero_eigenvalues_are_decided() -> None:
    weights = restart(12, 9, 1, 10)
    assert chains.modulus(weights) == 0
    assert np.sort(abs(np.linalg.eigvals(as_floats(weights))))[-2] > 1e-3


def test_paper_networks() -> None:
    networks = paper_networks()
    assert chains.stationary(networks["P1 regression"]) == [flint.fmpq(6, 7), flint.fmpq(1, 7)]
    assert np.allclose(as_floats(grid()), Network.from_topology("grid", shape=[3, 3]).weights)
    # One period by hand: two groups of one.
    first = np.array([[0.5, 0.5, 0], [0.5, 0.5, 0], [0, 0, 1]])
    second = np.array([[0.5, 0, 0.5], [0, 1, 0], [0.5, 0, 0.5]])
    assert np.array_equal(as_floats(round_of_stars(2, 1)), second @ first)


@pytest.mark.parametrize(("count", "trials"), [(-1, 5), (0, 5), (3, 7), (7, 7), (20, 50)])
def test_binomial_sums(count: int, trials: int) -> None:
    exact = binomial_at_most(count, trials, Fraction(3, 10))
    assert float(exact) == pytest.approx(binom.cdf(count, trials, 0.3), rel=1e-12)


def test_sums_on_a_grid_bracket_the_truth() -> None:
    rng = np.random.default_rng(3)
    for _ in range(60):
        weights = rng.dirichlet(np.ones(8)) * 8
        if rng.random() < 0.5:
            weights[3:] = 0.25
        z = TwoPoint(float(rng.uniform(0.1, 2)), -float(rng.uniform(0, 2)), float(rng.random()))
        threshold = float(rng.uniform(-4, 4))
        truth = 0.0
        for signs in product((0, 1), repeat=8):
            b = np.array(signs)
            if (weights * np.where(b, z.high, z.low)).sum() <= threshold:
                truth += float(np.where(b, z.chance, 1 - z.chance).prod())
        for limit in (None, 0.25):
            below, above = (
                sum_at_most(weights, z, threshold, limit=limit, from_above=side)
                for side in (False, True)
            )
            assert below <= truth + 1e-12
            assert above >= truth - 1e-12
        exact = [sum_at_most(weights, z, x, limit=0.25) for x in (-100.0, 100.0)]
        assert exact == pytest.approx([0, 1], abs=1e-8)


def test_exact_errors_against_enumeration_by_hand() -> None:
    """Two agents, two rounds, everything spelt out."""
    evidence = Evidence(
        np.array([[4, 12], [16, 0]]),
        np.array([[[-2], [1]], [[0], [5]]]),
        np.array([[1], [-1]]),
    )
    weights = chains.network([[2, 1], [1, 2]], 3)
    table, denominator = integer_weights(weights)
    W = np.array([[2, 1], [1, 2]])
    total = Fraction(0)
    for first, second in product((0, 1), repeat=2):
        chance = Fraction(1)
        for outcome in (first, second):
            chance *= Fraction(4 if outcome == 0 else 12, 16)
        z = [np.array([(-2, 1)[outcome], 0]) for outcome in (first, second)]
        # Nine times Λ: W (z₂ + W (z₁ + Λ₀)), W in thirds.
        state = W @ (3 * z[1] + W @ (z[0] + np.array([1, -1])))
        if (state <= 0).any():
            total += chance
    assert evidence.error(table, denominator, 2) == total
    assert 0 < total < 1


def test_ties_are_errors() -> None:
    """One round of ±1 at agent 1 against a prior of -1: Λ is 0 or negative, never positive."""
    evidence = Evidence(
        np.array([[8, 8], [16, 0]]), np.array([[[-1], [1]], [[0], [0]]]), np.array([[-1], [0]])
    )
    assert evidence.error(np.array([[1, 1], [1, 1]]), 2, 1) == 1


@pytest.mark.parametrize("second", [False, True])
def test_the_conditions_of_theorem_1_are_not_wasteful(second: bool) -> None:
    """Three times the constant is false, and the search finds it."""
    rng = np.random.default_rng(0)
    right, wrong = (
        [under_condition(rng, second=second, constant=c) for _ in range(40)]
        for c in (None, 12.0 if second else 24.0)
    )
    assert not any(found.is_broken for found in right if found)
    assert any(found.is_broken for found in wrong if found)


def test_whole_numbers_from_balls() -> None:
    with flint.ctx.workprec(128):
        assert ceiling(flint.arb(2).log() * 10) == 7
        assert largest_below(flint.arb(2).log() * 10) == 6
        with pytest.raises(ArithmeticError):
            ceiling(flint.arb(3, 2))


def test_the_hunt_stops_at_what_it_finds() -> None:
    def attempt(rng: np.random.Generator) -> Attempt | None:
        x = float(rng.random())
        return None if x < 0.2 else at_most(flint.arb(x), flint.arb(0.9))

    found = hunt(Effort(), "test", 1000, attempt, "numbers")
    assert not found.holds
    assert found.measured is not None
    assert found.measured > 0.9
    assert found.cases < 200
    calm = hunt(Effort(scale=0.001), "test", 1000, attempt, "numbers")
    assert calm.cases == 1
    nothing = hunt(Effort(), "test", 10, lambda rng: None, "nothing")
    assert not nothing.holds
    assert nothing.cases == 0
    assert not inspect(Effort(), "test", 5, lambda rng: False, "lies").holds
    assert inspect(Effort(), "test", 5, lambda rng: True, "truths").cases == 5


def test_the_search_finds_the_smallest_again() -> None:
    signed = search_signed()
    assert signed.found is not None
    assert set(signed.found) == {1, Fraction(2, 3)}
    confident = search_signed(self_confident=True)
    assert confident.found == SIGNED_COUNTEREXAMPLES[0][:2]
    assert confident.cases > signed.cases > 2
    assert search_three_agents(3).found is None
    assert search_three_agents(3).score < 0.5
    chain = search_chains("restart", 12, denominators=tuple(range(2, 12)))
    assert chain.found == (9, 1, 10)
    chain = search_chains("birth-death", 16, denominators=tuple(range(2, 9)))
    assert chain.found == (6, 1, 7)
    assert climb(3, 4, seed=0, moves=200) == climb(3, 4, seed=0, moves=200)


@pytest.mark.parametrize("chain", MODULUS_COUNTEREXAMPLES)
def test_scores_agree_with_the_recorded_counterexamples(chain: object) -> None:
    build = {"restart": restart, "birth-death": birth_death}[chain.family]  # type: ignore[attr-defined]
    weights = build(chain.agents, chain.forward, chain.back, chain.denominator)  # type: ignore[attr-defined]
    assert lemma_score(as_floats(weights)) > 1


def test_smaller_delta_breaks_with_smaller_bounds() -> None:
    """Towards 8 and 4, the constants that the page proves."""
    first = [search_theorem_one(delta) for delta in (0.05, 1e-3)]
    second = [search_theorem_two(delta) for delta in (0.05, 1e-3)]
    for results, limit in ((first, 8), (second, 4)):
        bounds = [float(r.found[0]) for r in results if r.found]  # type: ignore[arg-type]
        assert limit < bounds[1] < bounds[0] < 30
