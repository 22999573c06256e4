import numpy as np
import pytest
from hypothesis import given, settings
from scipy.optimize import minimize_scalar

from tests.models import COIN, coins
from tests.strategies import changing_networks, finite_models
from tests.theory.changing.oracles import possible_rounds
from theory import FiniteModel, GaussianAgent, Network, error_exponent, learning_rate
from theory.changing import (
    ChangingNetwork,
    DelayedNetwork,
    MarkovNetwork,
    PeriodicNetwork,
    Phase,
    RandomLinks,
    RandomPresence,
    influence,
    rotating_star,
)
from theory.changing.stationary import by_phase
from theory.changing.trajectories import (
    correlation_time,
    influence_samples,
    measured_correlation_time,
)

SKEW = Network([[0.2, 0.5, 0.3], [0.4, 0.0, 0.6], [0.9, 0.1, 0.0]])


@given(changing_networks(changes=("periodic",), min_agents=3, max_agents=3), finite_models(3))
@settings(max_examples=30)
def test_periodic_against_a_general_minimiser(network: ChangingNetwork, model: FiniteModel) -> None:
    assert isinstance(network, PeriodicNetwork)
    result, reference = error_exponent(network, model), learning_rate(network, model).reference
    if len(reference) > 1:
        return
    v = by_phase(network)
    for theta in range(len(model.hypotheses)):
        if theta in reference or not np.isfinite(result.tilts[theta]):
            continue
        laws = [model.kinds[k].log_ratio_law(reference[0], theta) for k in model.assignment]

        def objective(t: float, laws: list = laws) -> float:  # type: ignore[type-arg]
            return sum(
                float(law.cumulant(-t * v[s, j])) / network.period
                for s, phase in enumerate(network.phases)
                for j, law in enumerate(laws)
                if phase.observes[j]
            )

        upper = 4 * float(result.tilts[theta]) + 1
        found = minimize_scalar(objective, bounds=(0, upper), options={"xatol": 1e-10 * upper})
        # Both stop where the objective is flat to rounding.
        assert result.exponents[theta] == pytest.approx(-found.fun, rel=1e-7, abs=1e-12)
    assert result.is_exact
    assert result.standard_error == 0


def test_the_rotating_star_errs_like_one_of_its_stars() -> None:
    """However many groups wait for their turn (docs)."""
    alone = Network.from_topology("star", agents=6, edge_confidence=0.3)
    expected = error_exponent(alone, coins(6)).exponent
    for groups in (2, 7):
        star = rotating_star(groups=groups, group_size=5, edge_confidence=0.3)
        found = error_exponent(star, coins(5 * groups + 1)).exponent
        assert found == pytest.approx(expected, rel=1e-12)


@given(finite_models(3))
@settings(max_examples=15)
def test_delays_change_the_rate_and_not_the_exponent(model: FiniteModel) -> None:
    late = DelayedNetwork(SKEW, 4)
    still, found = error_exponent(SKEW, model), error_exponent(late, model)
    np.testing.assert_allclose(found.exponents, still.exponents)
    age = influence(late).mean_age
    np.testing.assert_allclose(found.tilts, still.tilts * (1 + age))
    rates = learning_rate(SKEW, model).rates
    np.testing.assert_allclose(learning_rate(late, model).rates * (1 + age), rates, rtol=1e-12)


def test_gossip_of_two_is_known_exactly() -> None:
    """Two agents that average: v = 1/2 each in every round; one law for every course."""
    pair = MarkovNetwork.gossip_pairs([[0, 1]])
    found = error_exponent(pair, coins(2), samples=100)
    both = Network([[0.5, 0.5], [0.5, 0.5]])
    assert found.exponent == pytest.approx(error_exponent(both, coins(2)).exponent, rel=1e-12)
    assert not found.is_exact
    assert found.standard_error < 1e-15  # nothing is random


def test_a_chain_without_chance_is_periodic() -> None:
    star = rotating_star(groups=2, group_size=2, edge_confidence=0.4)
    turns = MarkovNetwork(star.phases, np.array([[0.0, 1.0], [1.0, 0.0]]))
    estimated = error_exponent(turns, coins(5), samples=400).exponent
    assert estimated == pytest.approx(error_exponent(star, coins(5)).exponent, rel=1e-8)


@pytest.mark.parametrize(
    "network",
    [
        RandomLinks(SKEW, 0.6),
        RandomLinks(SKEW, 0.6, "renormalise", symmetric=False),
        RandomLinks(SKEW, 0.6, "last"),
        RandomPresence(SKEW, np.array([0.3, 1.0, 0.8])),
        RandomPresence(SKEW, np.array([0.3, 1.0, 0.8]), np.array([5.0, 1.0, 2.0])),
        MarkovNetwork.clocks(Network.from_topology("ring", agents=3), [1.0, 2.0, 3.0]),
        MarkovNetwork.walk(SKEW),
    ],
    ids=["own", "renormalise", "last", "presence", "absences", "clocks", "walk"],
)
def test_the_course_has_the_mean_influence(network: ChangingNetwork) -> None:
    assert not isinstance(network, PeriodicNetwork | DelayedNetwork)
    course = influence_samples(network, samples=8000, seed=3)
    batches = course.reshape(40, 200, 3).mean(axis=1)
    error = batches.std(axis=0, ddof=1) / np.sqrt(40)
    # The seed is fixed; at five standard errors a wrong law fails, chance does not.
    assert (np.abs(batches.mean(axis=0) - influence(network).values) <= 5 * error + 1e-12).all()
    assert (error < 0.016).all()  # of the root of the samples
    one = error_exponent(network, coins(3), seed=1, samples=4000)
    two = error_exponent(network, coins(3), seed=2, samples=4000)
    assert abs(one.exponent - two.exponent) < 5 * (one.standard_error + two.standard_error)
    assert one.standard_error < 0.07 * one.exponent


def test_normal_evidence_has_a_closed_form() -> None:
    """κ(−u) = −(u − u²)/2 for z ~ N(1/2, 1): the exponent is (E Σv)²/(8 E Σv²), by enumeration.

    With everything lost or all heard, v is i.i.d. along the course up to one step: E Σ v² of its
    stationary law solves a linear system of second moments.
    """
    network = RandomLinks(SKEW, 0.6)
    second = np.ones((3, 3)) / 9
    cases = possible_rounds(network)
    for _ in range(400):
        second = sum(p * w.T @ second @ w for p, w, _ in cases)
    agent = GaussianAgent([1.0], [0.0], 1.0, [[0.0], [1.0]], 1.0)
    model = FiniteModel.from_agents(["zero", "one"], [agent], counts=[3])
    found = error_exponent(network, model, samples=20_000, seed=5)
    exact = 1 / (8 * np.trace(second))
    assert abs(found.exponent - exact) < 5 * found.standard_error
    assert found.standard_error < 0.02 * exact


def lasting(leave: float) -> MarkovNetwork:
    """Two phases, each left with this probability in a round."""
    phases = [
        Phase([[0.2, 0.5, 0.3], [0.4, 0.2, 0.4], [0.3, 0.1, 0.6]], [0]),
        Phase(0.9 * np.eye(3) + 0.1 / 3, [1, 2]),
    ]
    return MarkovNetwork(phases, [[1 - leave, leave], [leave, 1 - leave]])


def test_standard_errors_of_phases_that_last() -> None:
    """Estimates of 20 courses scatter as they say, or say nothing."""
    found = [error_exponent(lasting(0.02), coins(3), seed=s, samples=4000) for s in range(20)]
    values = np.array([one.exponent for one in found])
    errors = np.array([one.standard_error for one in found])
    told = np.isfinite(errors)
    assert told.mean() > 0.5
    # Twenty estimates show their spread to 16 %, and the errors of some ten batches vary as well.
    assert values.std(ddof=1) < 1.5 * np.sqrt((errors[told] ** 2).mean())
    assert values.std(ddof=1) > 0.5 * np.sqrt((errors[told] ** 2).mean())


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("leave", [1e-3, 1e-4, 1e-6])
def test_a_course_too_short_to_tell_has_no_standard_error(leave: float, seed: int) -> None:
    """Also where it never left a phase, so that nothing varied at all."""
    found = error_exponent(lasting(leave), coins(3), seed=seed, samples=2000)
    assert np.isnan(found.standard_error)
    assert not found.is_exact


def test_correlation_times() -> None:
    # λ = 1 − 2p, so (1 + λ)/(1 − λ) = (1 − p)/p.
    assert correlation_time(lasting(0.02)) == pytest.approx(49, rel=1e-9)
    assert correlation_time(RandomLinks(SKEW, 0.5)) == 1.0
    # Away for A = 10 rounds, there half the time: both phases are left with probability 1/10.
    absent = RandomPresence(SKEW, 0.5, 10.0)
    assert correlation_time(absent) == pytest.approx(9, rel=1e-12)
    rng = np.random.default_rng(4)
    noise, course = rng.normal(size=200_000), np.zeros(200_000)
    for k in range(1, len(course)):
        course[k] = 0.9 * course[k - 1] + noise[k]
    # (1 + .9)/(1 − .9); the window's 190 lags of 200 000 rounds leave an error of 4 %.
    assert measured_correlation_time(course) == pytest.approx(19, rel=0.15)
    assert measured_correlation_time(noise) == pytest.approx(1, rel=0.05)
    assert measured_correlation_time(np.full(50, 0.1)) == 1.0


def test_bad_input() -> None:
    with pytest.raises(ValueError, match="samples: expected a whole number of at least 40"):
        error_exponent(RandomLinks(SKEW, 0.5), coins(3), samples=3)
    with pytest.raises(ValueError, match="as many agents"):
        error_exponent(RandomLinks(SKEW, 0.5), FiniteModel.from_agents(["a", "b"], [COIN]))


PAIR = Network([[0.7, 0.3], [0.1, 0.9]])


@pytest.mark.parametrize(
    "network",
    [
        MarkovNetwork(
            [[[0.5, 0.5], [0.5, 0.5]], [[0.9, 0.1], [0.9, 0.1]]], [[1 - 1e-7, 1e-7], [0.5, 0.5]]
        ),
        RandomLinks(PAIR, 1 - 1e-7),
        RandomPresence(PAIR, 1 - 1e-7),
    ],
)
def test_what_a_course_never_shows_is_not_taken_for_impossible(network: ChangingNetwork) -> None:
    """All 3000 rounds are alike; a standard error of 0 would say that the estimate is exact."""
    found = error_exponent(network, coins(2), samples=3000)
    assert np.isnan(found.standard_error)
    assert not found.is_exact


def test_what_makes_no_difference_costs_no_error() -> None:
    """Links that are up every other round, both at once, leave v even in every round."""
    even = RandomLinks(Network([[0.5, 0.5], [0.5, 0.5]]), 0.5, symmetric=True)
    assert error_exponent(even, coins(2), samples=3000).standard_error < 1e-15
