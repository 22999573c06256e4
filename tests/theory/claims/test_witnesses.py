"""The trial's instruments against independent ones: floats, scipy, enumeration by hand."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import flint
import numpy as np
import pytest
from scipy.stats import binom

from theory import FiniteAgent, FiniteModel
from theory.changing import PeriodicNetwork, Phase, influence, rotating_star
from theory.claims import CLAIMS, Effort, chains, inferences, try_claim
from theory.claims.chance import (
    Evidence,
    TwoPoint,
    binomial_at_most,
    binomial_ball,
    integer_weights,
    sum_at_most,
)
from theory.claims.claim import Attempt, at_most, hunt, inspect
from theory.claims.compressed_gossip import list_bits, set_bits
from theory.claims.consensus import error_constants
from theory.claims.examples import grid, paper_networks, round_of_stars
from theory.claims.lemma_one import is_covered, is_covered_with_sign, within
from theory.claims.repaired import Lazy, under_condition
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
    two_agents,
)
from theory.claims.tables import binding_rate, digit_readers
from theory.claims.theorem_one import both_toss, ceiling, largest_below, nearly_swapped, one_toss
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
    with flint.ctx.workprec(128):
        ball = binomial_ball(count, trials, Fraction(3, 10))
        assert (ball - flint.fmpq(exact.numerator, exact.denominator)).contains(0)
        assert float(ball.rad()) < 1e-35


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


def test_coins_with_a_small_rate() -> None:
    with flint.ctx.workprec(256):
        found = both_toss(Effort())
    # 2n tosses, ties no errors; n as P1 eq. 4 has it, with C = 100 and K = .8.
    rounds = int(np.ceil(16 * 100 * np.log(400) / 0.8**2))
    assert rounds == 14979
    assert f"after {rounds} rounds" in found.text
    assert found.measured == pytest.approx(binom.cdf(rounds - 1, 2 * rounds, 0.504), rel=1e-6)
    assert not found.holds


def test_who_nearly_swaps_sees_every_other_toss() -> None:
    wobble = Fraction(1, 10**15)
    weights = two_agents(1 - wobble, 1 - wobble)
    power = weights
    for k in range(1, 60):
        near = flint.fmpq_mat(2, 2, [1, 0, 0, 1] if k % 2 == 0 else [0, 1, 1, 0])
        gaps = [abs(x) for x in (power - near).entries()]
        assert max(gaps) <= k * chains.rational(wobble)
        power = power * weights
    with flint.ctx.workprec(256):
        found = nearly_swapped(Effort())
    z = np.log(1000)
    rounds = int(np.ceil(16 * z * np.log(4e6) / ((z / 10) ** 2 * 2)))
    assert f"after {rounds} rounds" in found.text
    alone = binom.cdf((rounds - 1) // 2, rounds, 0.55)
    # Two agents, two separate sets of tosses.
    assert found.measured == pytest.approx(1 - (1 - alone) ** 2, rel=1e-9)
    assert not found.holds
    assert not is_covered_with_sign(weights)


def test_one_toss_is_about_a_wrong_hypothesis() -> None:
    found = one_toss(Effort())
    epsilon = 2.2 * np.log(2)
    assert 0.55 * np.log(2) - 0.45 * np.log(2) - epsilon / 2 == pytest.approx(-np.log(2))
    assert found.predicted == pytest.approx(np.exp(-(epsilon**2) / (2 * np.log(3))))
    assert found.measured == 0.45
    assert not found.holds


def test_the_signed_form_where_it_is_said_to_hold() -> None:
    networks = paper_networks()
    second = {
        name
        for name, W in networks.items()
        if float(chains.signed(W)) < float(chains.modulus(W)) - 1e-12
    }
    assert second == {
        "P1 Fashion-MNIST, balanced", "P1 Fashion-MNIST, unbalanced", "P2 star, a = 7/10",
    }  # fmt: skip
    for W in networks.values():
        assert is_covered(W)
        assert is_covered_with_sign(W)
        # D by the floating-point bracket, λmax by numpy.
        network = Network(as_floats(W))
        printed = 4 * np.log(network.agents) / (1 - network.second_eigenvalue)
        assert network.deviation.upper.max() < printed
        assert within(W, chains.signed(W)).ratio >= network.deviation.lower.max() / printed
    for a, b in ((Fraction(1), Fraction(2, 3)), (Fraction(5, 6), Fraction(5, 6))):
        assert is_covered(two_agents(a, b))
        assert not is_covered_with_sign(two_agents(a, b))
    # Reversible is needed: the circulant is not, although its v is even.
    assert not is_covered_with_sign(chains.network([[1, 1, 0], [0, 1, 1], [1, 0, 1]], 2))


@pytest.mark.parametrize(("shared", "expected"), [(False, 209 / 245), (True, 836 / 833)])
def test_error_constants_against_floats(shared: bool, expected: float) -> None:
    weights = paper_networks()["P2 regression"]
    moments = np.array([1, 1.5, 1.25, 0.75]) ** 2 / 3
    v = Network(as_floats(weights)).stationary_distribution
    own = [np.diag([1.0, *np.where(np.arange(4) == j, moments, 0)]) for j in range(4)]
    test = np.diag([1.0, *moments])
    inverse = np.linalg.inv(sum(x * s for x, s in zip(v, own, strict=True)))
    spread = sum(x * x * s for x, s in zip(v, own, strict=True))
    central = sum(own) if shared else test
    quotient = np.trace(test @ inverse @ spread @ inverse)
    quotient /= np.trace(test @ np.linalg.inv(central))
    exact = [Fraction(b) ** 2 / 3 for b in (Fraction(1), Fraction(3, 2), Fraction(5, 4))]
    network, centre = error_constants(weights, [*exact, Fraction(3, 16)], shared=shared)
    assert float(flint.arb(network / centre)) == pytest.approx(quotient, rel=1e-12)
    assert quotient == pytest.approx(expected, rel=1e-12)


def test_digit_readers() -> None:
    """By hand: KL of a true row from a confused one, times the share of labels that show it."""

    def size(share: float) -> float:
        return float(0.82 * np.log(0.82 / (0.84 - share)) + 0.02 * np.log(0.02 / share))

    expected = {
        "4 and 9": (size(0.32) * 2 / 8, 0),
        "3 and 8": (size(0.42) * 2 / 8, 0),
        "0 and 1": (0, size(0.42)),
        "1 and 7": (size(0.32) / 8, size(0.32) / 2),
    }
    found = {name: tuple(map(float, pair)) for name, pair in digit_readers().items()}
    assert found.keys() == expected.keys()
    for name, pair in expected.items():
        assert found[name] == pytest.approx(pair, rel=1e-12)
    rate, leads = binding_rate(Fraction(9, 25))
    assert leads
    assert float(rate) == pytest.approx(size(0.32) / 4 * 0.36, rel=1e-12)
    # Nearly all weight at the centre: 0 and 1 bind, which the others tell apart.
    assert not binding_rate(Fraction(99, 100))[1]


@pytest.mark.parametrize(("agents", "group"), [(4, 2), (25, 5)])
def test_rates_with_and_without_synchronisation(agents: int, group: int) -> None:
    """Against the influence of the same networks in floats; K counts rounds with data alone."""
    star = rotating_star(groups=agents // group, group_size=group, edge_confidence=0.5)
    alone = inferences._rate(agents, group, synchronised=False)
    assert float(alone) == pytest.approx(influence(star).total, rel=1e-12)
    size = agents + 1
    average = Phase(np.full((size, size), 1 / size), np.zeros(size, dtype=bool))
    whole = influence(PeriodicNetwork([*star.phases, average])).total
    together = inferences._rate(agents, group, synchronised=True)
    rounds = len(star.phases)
    assert float(together) == pytest.approx(whole * (rounds + 1) / rounds, rel=1e-12)


def test_labels_held_apart_are_learnt() -> None:
    """The witness of two labels as a model of the library's own."""
    right, wrong = [0.75, 0.25], [0.25, 0.75]
    tables = [[right, wrong], [right, right], [wrong, wrong], [wrong, right]]
    agents = [
        FiniteAgent.from_tables(inputs=held, truth=tables[0], likelihood=tables)
        for held in ([1.0, 0.0], [0.0, 1.0])
    ]
    model = FiniteModel.from_agents(["right", "all 0", "all 1", "swapped"], agents)
    assert model.optimal_hypotheses == (0,)
    rate = (model.information(0).mean(axis=0)[1:]).min()
    found = try_claim(CLAIMS["ood-pairs"]).findings[0]
    assert found.measured == pytest.approx(rate, rel=1e-12)
    assert rate == pytest.approx(np.log(3) / 4, rel=1e-12)


def test_components_by_hand() -> None:
    one_way = chains.network([[1, 1, 0], [0, 2, 0], [0, 0, 2]], 2)
    assert inferences._components(one_way) == [[0, 1], [2]]
    assert not inferences._is_mutual(one_way)
    assert not inferences._all_meet_assumption_1(one_way)
    apart = chains.network([[1, 0, 1], [0, 2, 0], [1, 0, 1]], 2)
    assert inferences._components(apart) == [[0, 2], [1]]
    assert inferences._all_meet_assumption_1(apart)
    # Mutual, but nobody listens to itself: periodic.
    assert not inferences._all_meet_assumption_1(chains.network([[0, 1], [1, 0]]))


@pytest.mark.parametrize("eigenvalue", [-0.3, 0.0, 0.7])
def test_restless_and_lazy_networks(eigenvalue: float) -> None:
    case = Lazy(4, eigenvalue, TwoPoint(1.0, -1.0, 0.6), True, 2, 0.1)
    W = (1 - eigenvalue) / 4 * np.ones((4, 4)) + eigenvalue * np.eye(4)
    network = Network(W)
    assert case.gap == pytest.approx(1 - network.slem)
    assert case.printed_gap == pytest.approx(1 - network.second_eigenvalue)
    own, other = case._powers(5, 1)
    for k in range(1, 6):
        power = np.linalg.matrix_power(W, k)
        assert own[k - 1] == pytest.approx(power[0, 0])
        assert other[k - 1] == pytest.approx(power[0, 1])


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


def test_bits_of_an_index_list_are_those_of_log_gamma() -> None:
    """Of a list in order, and of a set: Stirling's series against whole numbers."""
    ordered = (math.lgamma(613_515) - math.lgamma(563_515)) / math.log(2)
    assert list_bits() == math.ceil(ordered)
    assert set_bits() == math.ceil(ordered - math.lgamma(50_001) / math.log(2))
    assert math.ceil(list_bits() / 50_000) == 20
