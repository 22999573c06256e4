import numpy as np
import pytest
from hypothesis import given, settings
from scipy.optimize import minimize_scalar

from tests.models import BLIND, COIN, FAIR, PAIR, coin, coins
from tests.strategies import finite_agents, finite_models, networks
from theory import FiniteAgent, FiniteModel, Network, error_exponent, learning_rate


@given(finite_models(2))
@settings(max_examples=30)
def test_against_a_general_minimiser(model: FiniteModel) -> None:
    result, reference = error_exponent(PAIR, model), learning_rate(PAIR, model).reference
    if len(reference) > 1:
        return
    v = PAIR.stationary_distribution
    for theta in range(len(model.hypotheses)):
        if theta in reference or not np.isfinite(result.tilts[theta]):
            continue
        laws = [model.kinds[k].log_ratio_law(reference[0], theta) for k in model.assignment]

        def objective(t: float, laws: list = laws) -> float:  # type: ignore[type-arg]
            return sum(float(law.cumulant(-t * w)) for law, w in zip(laws, v, strict=True))

        upper = 4 * float(result.tilts[theta]) + 1
        found = minimize_scalar(objective, bounds=(0, upper), options={"xatol": 1e-10 * upper})
        # Both stop where the objective is flat to rounding.
        assert result.exponents[theta] == pytest.approx(-found.fun, rel=1e-7, abs=1e-12)


def test_identical_agents_rate_is_blind_to_the_network_and_the_exponent_is_not() -> None:
    uniform = Network.from_topology("complete", agents=4)
    skewed = Network([[0.97, 0.01, 0.01, 0.01]] * 4)
    for network in (uniform, skewed):
        assert learning_rate(network, coins(4)).rate == pytest.approx(
            COIN.divergences[1], rel=1e-12
        )
    alone = error_exponent(Network([[1.0]]), coins(1)).exponent
    assert error_exponent(uniform, coins(4)).exponent == pytest.approx(4 * alone, rel=1e-12)
    assert alone < error_exponent(skewed, coins(4)).exponent < 1.1 * alone


def sure(minimum: float) -> FiniteModel:
    """Two outcomes with z = minimum (probability 1/4) or 1."""
    logs = np.log([[0.5, 0.5], [0.5, 0.5]])
    logs[1] -= [minimum, 1.0]
    agent = FiniteAgent.from_log_likelihoods(logs, probabilities=[0.25, 0.75])
    return FiniteModel.from_agents(["a", "b"], [agent], counts=[2])


def test_evidence_that_is_void_at_worst_gives_the_probability_of_silence() -> None:
    """And where it is never void or worse, no error is possible."""
    assert error_exponent(PAIR, sure(0.2)).exponent == np.inf
    result = error_exponent(PAIR, sure(0.0))
    assert result.exponent == pytest.approx(2 * np.log(4), rel=1e-14)
    assert result.tilts[1] == np.inf


def test_nothing_to_reject() -> None:
    same = coin([0.4, 0.6], [0.4, 0.6])
    result = error_exponent(PAIR, FiniteModel.from_agents(["a", "b"], [same, same]))
    assert result.exponent == np.inf
    assert result.binding is None


@given(networks(max_agents=6))
@settings(max_examples=60)
def test_identical_agents_lie_between_the_point_mass_and_the_democracy(network: Network) -> None:
    """E_1/max v ≤ E(v) ≤ N E_1 (docs: mathematics/exponent)."""
    alone = error_exponent(Network([[1.0]]), coins(1)).exponent
    exponent = error_exponent(network, coins(network.agents)).exponent
    largest = float(network.stationary_distribution.max())
    assert alone / largest * (1 - 1e-12) <= exponent <= network.agents * alone * (1 + 1e-12)


def test_merging_hypotheses_make_the_exponent_a_function_of_the_norm_of_v() -> None:
    """E ‖v‖² · 2 Var z / I² → 1 and E ‖v‖² · 4/K → 1, at every v alike, as coins become fair."""
    nets = [PAIR, Network([[0.5, 0.5], [0.5, 0.5]]), Network([[0.99, 0.01], [0.98, 0.02]])]
    for network in nets:
        gaps = []
        for bias in (0.1, 0.01, 0.001):
            one = coin(FAIR, [0.5 + bias, 0.5 - bias])
            model = FiniteModel.from_agents(["fair", "loaded"], [one], counts=[2])
            z, v = one.log_ratio_law(0, 1), network.stationary_distribution
            scaled = error_exponent(network, model).exponent * (v @ v)
            gaps.append(abs(scaled * 2 * z.variance / z.mean**2 - 1))
            # Var z = 2I (1 + O(bias)) here, the truth being one of the two.
            assert scaled * 4 / learning_rate(network, model).rate == pytest.approx(1, abs=bias)
        # z = O(bias), and the quadratic expansion of κ has errors of its square (z is almost
        # symmetric, so that the cubic term vanishes): measured below 2 bias² at the last two.
        assert gaps[1] < 2 * 0.01**2
        assert gaps[2] < 2 * 0.001**2
        assert gaps[0] > gaps[1] > gaps[2]


@given(finite_agents(2), finite_agents(2))
@settings(max_examples=40)
def test_the_best_weights_for_one_pair_reach_the_sum_of_the_single_exponents(
    first: FiniteAgent, second: FiniteAgent
) -> None:
    """max_v E(v) = Σ_j E_j, at v_j proportional to the agents' own tilts."""
    kinds = [first, second]
    model = FiniteModel.from_agents(["a", "b"], kinds)
    if model.optimal_hypotheses != (0,):
        return
    single = [
        error_exponent(Network([[1.0]]), FiniteModel.from_agents(["a", "b"], [kind]))
        for kind in kinds
    ]
    tilts = np.array([result.tilts[1] for result in single])
    if not (np.isfinite(tilts) & (tilts > 0)).all():
        return
    total = sum(result.exponent for result in single)
    best = Network(np.outer(np.ones(2), tilts / tilts.sum()))
    assert error_exponent(best, model).exponent == pytest.approx(total, rel=1e-9)
    assert error_exponent(PAIR, model).exponent <= total * (1 + 1e-9)


def test_many_kinds_are_summed_as_few_are() -> None:
    """Side by side in memory or one by one: against a minimiser that knows neither."""
    draw = np.random.default_rng(5)
    kinds = 9
    tables = draw.dirichlet(np.full(3, 2.0), size=(kinds, 2))
    agents = [coin(one, other, truth=one) for one, other in tables]
    # An agent with another number of outcomes, and one whose observations say nothing.
    agents[3] = coin([0.5, 0.5], [0.7, 0.3])
    agents[4] = BLIND
    model = FiniteModel.from_agents(["zero", "one"], agents, counts=[1, 2, 1, 1, 1, 3, 1, 1, 1])
    weights = draw.dirichlet(np.ones(model.agents), size=model.agents)
    network = Network(weights)
    v = network.stationary_distribution
    laws = model.log_ratio_laws(0, 1)

    def total(tilt: float) -> float:
        terms = [
            np.log(laws[k].probabilities @ np.exp(-tilt * share * laws[k].means))
            for k, share in zip(model.assignment, v, strict=True)
        ]
        return float(sum(terms))

    least = minimize_scalar(total, bracket=(0.0, 10.0), options={"xtol": 1e-12})
    found = error_exponent(network, model)
    assert found.exponent == pytest.approx(-least.fun, rel=1e-12)
    # The minimum is flat: a value right to 1e-16 leaves the tilt half as many digits.
    assert found.tilts[1] == pytest.approx(least.x, rel=1e-6)
