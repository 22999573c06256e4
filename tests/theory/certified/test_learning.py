"""Enclosures of K and E: valid, tight, and decided where they claim to be."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.strategies import finite_models, networks
from tests.theory.certified.cases import (
    DIGITS,
    atoms,
    coins,
    cumulants,
    minimise,
    mpf,
    random_model,
    random_network,
    rate,
)
from theory import error_exponent, learning_rate
from theory.certified.learning import CertifiedLearning, certify_learning
from theory.numbers import Enclosure, precision
from theory.rational import RationalFiniteAgent, RationalGaussianAgent
from theory.rational.model import RationalModel
from theory.rational.network import RationalNetwork

HALVES = RationalNetwork([["1/2", "1/2"], ["1/2", "1/2"]])
# Intervals whose ends are doubles rounded outward: within these few units of asked or less.
WIDTH = 1e-12


def contains(enclosure: Enclosure, value: mpmath.mpf) -> bool:
    """Containment, the value being right to 50 digits."""
    slack = abs(value) * mpmath.mpf(10) ** -50
    return bool(enclosure.lower <= value + slack and value - slack <= enclosure.upper)


def check_rates(network: RationalNetwork, model: RationalModel, found: CertifiedLearning) -> None:
    v = network.stationary_distribution
    best = found.reference[0]
    with mpmath.workdps(DIGITS):
        for theta in range(len(model.hypotheses)):
            if theta in found.reference:
                assert found.rates[theta] == Enclosure(0.0, 0.0)
                continue
            truth = rate(v, atoms(model, best, theta))
            assert truth > 0
            assert contains(found.rates[theta], truth)
            assert found.rates[theta].relative_width < WIDTH
            with precision(2000):
                for k, value in enumerate(model.information(best, theta)):
                    assert found.information[theta][k].contains(value.ball())


def test_rates_contain_the_truth_and_references_are_decided() -> None:
    check_random_problems(100)


def check_random_problems(count: int) -> None:
    """Rates, optimal hypotheses and compromises, of which there are enough."""
    rng = np.random.default_rng(1)
    compromises = several = 0
    for _ in range(count):
        agents = int(rng.integers(1, 4))
        network, model = random_network(rng, agents), random_model(rng, agents)
        found = certify_learning(network, model)
        check_rates(network, model, found)
        exact = model.optimal_hypotheses
        assert found.optimal_hypotheses == exact
        assert found.reference == model.compromise(network.stationary_distribution)
        compromises += not exact
        several += len(found.reference) > 1
    assert compromises > count / 10
    assert several > count / 20


def test_exponents_contain_the_maximum_found_in_sixty_digits() -> None:
    rng = np.random.default_rng(2)
    finite = 0
    for _ in range(12):
        agents = int(rng.integers(1, 4))
        network, model = random_network(rng, agents), random_model(rng, agents)
        found = certify_learning(network, model)
        v = network.stationary_distribution
        with mpmath.workdps(DIGITS):
            for theta, enclosure in enumerate(found.exponents):
                if math.isinf(enclosure.lower) or math.isinf(found.tilts[theta].lower):
                    continue
                laws = atoms(model, found.against[theta], theta)
                weights = [(mpf(w), law) for w, law in zip(v, laws, strict=True)]
                t = minimise(lambda t, weights=weights: cumulants(weights, t)[1])
                assert contains(found.tilts[theta], t)
                assert contains(enclosure, -cumulants(weights, t)[0])
                assert enclosure.relative_width < WIDTH
                finite += 1
    assert finite > 8


@given(st.data())
@settings(max_examples=20)
def test_floating_point_agrees_on_nasty_networks(data: st.DataObject) -> None:
    network = data.draw(networks(max_agents=4))
    model = data.draw(finite_models(network.agents))
    exact = RationalNetwork.from_network(network), RationalModel.from_model(model)
    found = certify_learning(*exact)
    rates, exponents = learning_rate(network, model), error_exponent(network, model)
    assert found.rate.relative_width < WIDTH
    assert found.exponent.relative_width < WIDTH
    if found.reference != rates.reference:
        pytest.skip("a tie within rounding, which floating point does not decide")
    # Doubles: v to 1e-12 on the worst of these networks, divergences cancel to 1e-14 absolute.
    assert rates.rate == pytest.approx(found.rate.midpoint, rel=1e-9, abs=1e-13)
    assert exponents.exponent == pytest.approx(found.exponent.midpoint, rel=1e-7, abs=1e-13)
    if len(found.binding) == 1 and rates.rate > 1e-9:
        assert rates.binding in {
            m for m, e in enumerate(found.rates) if e.lower <= found.rate.upper * (1 + 1e-9)
        }


def test_nearly_tied_hypotheses_are_told_apart() -> None:
    tiny = Fraction(1, 2**60)
    model = coins(["1/2"] * 2, [["1/2"] * 2, [Fraction(1, 2) + tiny] * 2])
    found = certify_learning(HALVES, model)
    assert found.reference == (0,)
    assert found.rate.relative_width < WIDTH
    # KL of a fair coin from 1/2 + ε is −log(1 − 4ε²)/2 = 2ε² to relative ε², ε = 2^-60.
    assert found.rate.midpoint == pytest.approx(2 * 2.0**-120, rel=1e-12)
    # Two such agents at equal weight: twice the exponent of one, which is K/4 to relative ε.
    assert found.exponent.midpoint == pytest.approx(2.0**-120, rel=1e-12)


def test_a_tiny_weight_keeps_its_relative_width() -> None:
    a = Fraction(1, 10**12)
    network = RationalNetwork([[1 - a * a, a * a], [Fraction(1, 2), Fraction(1, 2)]])
    model = coins(["1/2", "1/2"], [["1/2", "1/2"], ["1/2", "1/4"]])
    found = certify_learning(network, model)
    v = network.stationary_distribution[1]
    assert v < 3e-24
    assert found.rate.relative_width < WIDTH
    assert found.rate.midpoint == pytest.approx(float(v) * math.log(4 / 3) / 2, rel=1e-12)
    # E is blind to the weight of the only agent that sees anything.
    alone = certify_learning(RationalNetwork([[1]]), coins(["1/2"], [["1/2"], ["1/4"]]))
    assert found.exponent.overlaps(alone.exponent)
    assert found.exponent.relative_width < WIDTH


def test_hypotheses_that_are_the_same_are_never_wrong() -> None:
    found = certify_learning(HALVES, coins(["1/3", "1/2"], [["1/4", "1/2"]] * 2))
    assert found.reference == found.optimal_hypotheses == (0, 1)
    assert found.rate == found.exponent == Enclosure(math.inf, math.inf)
    assert found.binding == found.binding_for_exponent == ()


def three_labels(truth: list[str], *claims: list[str]) -> RationalFiniteAgent:
    return RationalFiniteAgent.from_tables(
        inputs=[1], truth=[truth], likelihood=[[claim] for claim in claims]
    )


def test_exponents_at_the_edge_of_what_can_happen() -> None:
    good = ["1/2", "1/4", "1/4"]
    # z is log 2 or more: never an error in the long run.
    never = three_labels(["1/2", "1/2", "0"], good, ["1/4", "1/8", "5/8"])
    found = certify_learning(RationalNetwork([[1]]), RationalModel.from_agents("ab", [never]))
    assert found.exponent == Enclosure(math.inf, math.inf)
    assert found.rate.upper < 1
    # z is 0 or log 2, equally likely: both agents must see zeros, E = 2 log 2.
    seldom = three_labels(["1/2", "1/2", "0"], good, ["1/2", "1/8", "3/8"])
    model = RationalModel.from_agents("ab", [seldom], counts=[2])
    found = certify_learning(HALVES, model)
    assert contains(found.exponent, 2 * mpmath.log(2))
    assert found.exponent.relative_width < WIDTH
    assert found.tilts[1] == Enclosure(math.inf, math.inf)
    # min z is log 2 for one agent and −log 2 for the other: Σ v_j min z_j is exactly zero.
    first = three_labels(["1/2", "1/2", "0"], ["1/2", "3/8", "1/8"], ["1/4", "1/8", "5/8"])
    second = three_labels(["1/2", "1/2", "0"], ["1/8", "3/4", "1/8"], ["1/4", "1/8", "5/8"])
    model = RationalModel.from_agents("ab", [first, second])
    found = certify_learning(HALVES, model)
    with mpmath.workdps(DIGITS):
        assert contains(found.exponent, mpmath.log(4))
    # With a little more weight for the second agent errors can happen, if hardly ever.
    a = Fraction(1, 2**70)
    network = RationalNetwork([[Fraction(1, 2) - a, Fraction(1, 2) + a], ["1/2", "1/2"]])
    found = certify_learning(network, model)
    assert math.isfinite(found.tilts[1].upper)
    assert found.tilts[1].lower > 10
    with mpmath.workdps(DIGITS):
        v = network.stationary_distribution
        weights = [(mpf(w), law) for w, law in zip(v, atoms(model, 0, 1), strict=True)]
        t = minimise(lambda t: cumulants(weights, t)[1])
        assert contains(found.exponent, -cumulants(weights, t)[0])


def test_gaussian_agents_have_their_closed_form() -> None:
    agents = [
        RationalGaussianAgent.from_tables(
            inputs=[1], truth_means=[0], truth_std=s, means=[[0], [m]], std=s
        )
        for s, m in ((1, "1/3"), (2, 5))
    ]
    network = RationalNetwork([["9/10", "1/10"], ["3/5", "2/5"]])
    found = certify_learning(network, RationalModel.from_agents("ab", agents))
    v = network.stationary_distribution
    information = Fraction(1, 18), Fraction(25, 8)
    K = sum(w * i for w, i in zip(v, information, strict=True))
    spread = sum(w * w * i for w, i in zip(v, information, strict=True))
    assert found.rate.contains(K)
    assert found.exponent.contains(K * K / (4 * spread))
    assert found.tilts[1].contains(K / (2 * spread))
    assert found.exponent.relative_width < WIDTH
    assert found.log_ratio_bound is None


def test_ties_are_decided_not_guessed() -> None:
    mirrored = [["1/2", "1/2"], ["1/4", "1/2"], ["1/2", "1/4"], ["3/4", "1/2"]]
    found = certify_learning(HALVES, coins(["1/2", "1/2"], mirrored))
    assert found.binding == (1, 2, 3)
    assert any("equal: decided exactly" in note for note in found.notes)
    # One part in 2^200 more makes the third the slowest.
    mirrored[2] = ["1/2", Fraction(1, 4) + Fraction(1, 2**200)]
    found = certify_learning(HALVES, coins(["1/2", "1/2"], mirrored))
    assert found.binding == (2,)


def test_a_compromise_that_ties_is_a_compromise_of_two() -> None:
    # Each agent is sure of another hypothesis, and both weigh the same.
    model = coins(["1/4", "3/4"], [["1/4", "1/4"], ["3/4", "3/4"], ["1/8", "1/8"]])
    found = certify_learning(HALVES, model)
    assert found.is_compromise
    assert found.optimal_hypotheses == ()
    assert found.reference == (0, 1)
    assert any("lower bounds" in note for note in found.notes)
    a = Fraction(1, 2**300)
    tilted = RationalNetwork([[Fraction(1, 2) + a, Fraction(1, 2) - a], ["1/2", "1/2"]])
    found = certify_learning(tilted, model)
    assert found.reference == (0,)
    assert 0 < found.rates[1].lower < 1e-85
    assert found.rates[1].relative_width < WIDTH


def test_wrong_sizes_are_refused() -> None:
    with pytest.raises(ValueError, match="model: expected as many agents as the network, 2"):
        certify_learning(HALVES, coins(["1/2"], [["1/2"], ["1/4"]]))
    with pytest.raises(ValueError, match="relative_width"):
        certify_learning(HALVES, coins(["1/2"] * 2, [["1/2"] * 2] * 2), relative_width=0.0)
