import numpy as np
import pytest
from hypothesis import given, settings
from scipy.integrate import quad

from tests.models import PAIR, coins
from tests.strategies import finite_models, networks
from theory import (
    FiniteAgent,
    FiniteModel,
    GaussianAgent,
    LogRatioLaw,
    Network,
    error_exponent,
    tilted_law,
)

MIXED = LogRatioLaw(np.array([0.3, 0.5, 0.2]), np.array([-1.0, 0.4, 2.0]), np.array([0.5, 0, 1.5]))


def density(z: float, law: LogRatioLaw) -> float:
    """The density of the law's proper normals."""
    proper = law.variances > 0
    mean, variance = law.means[proper], law.variances[proper]
    peaks = np.exp(-((z - mean) ** 2) / (2 * variance)) / np.sqrt(2 * np.pi * variance)
    return float(law.probabilities[proper] @ peaks)


@pytest.mark.parametrize("u", [-3.0, -0.5, 0.0, 1.2])
def test_a_tilted_law_has_the_density_it_should(u: float) -> None:
    tilted, scale = MIXED.tilted(u), float(np.exp(MIXED.cumulant(u)))
    for z in (-4.0, -1.0, 0.3, 5.0):
        expected = np.exp(u * z) / scale * density(z, MIXED)
        assert density(z, tilted) == pytest.approx(expected, rel=1e-12)
    point = np.flatnonzero(MIXED.variances == 0)
    expected = np.exp(u * MIXED.means[point]) / scale * MIXED.probabilities[point]
    assert tilted.probabilities[point] == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("u", [-3.0, -0.5, 0.0, 1.2])
def test_curvature_is_the_tilted_variance_by_quadrature(u: float) -> None:
    def moment(power: int) -> float:
        smooth = quad(
            lambda z: z**power * np.exp(u * z) * density(z, MIXED), -30, 30, epsrel=1e-12, limit=200
        )[0]
        return float(smooth + 0.5 * 0.4**power * np.exp(u * 0.4))

    mean = moment(1) / moment(0)
    variance = moment(2) / moment(0) - mean**2
    assert MIXED.cumulant_curvature(u) == pytest.approx(variance, rel=1e-10)
    assert MIXED.tilted(u).mean == pytest.approx(mean, rel=1e-10)
    assert MIXED.cumulant_slope(u) == pytest.approx(mean, rel=1e-10)


def test_an_enormous_tilt_goes_to_the_end_of_the_law() -> None:
    law = LogRatioLaw(np.array([0.25, 0.75]), np.array([-1.0, 2.0]), np.zeros(2))
    assert law.tilted(-1e5).mean == -1.0
    assert law.cumulant_curvature(-1e5) == 0.0


@given(networks(max_agents=5))
@settings(max_examples=30)
def test_the_network_is_balanced_under_the_tilted_law(network: Network) -> None:
    law = tilted_law(network, coins(network.agents))
    scale = float(law.weights.max())
    # The Newton step starts 1e-9 from the root: what is left is rounding of N terms.
    assert abs(law.mean) <= 1e-13 * scale
    means = np.array([law.laws[k].mean for k in law.assignment])
    variances = np.array([law.laws[k].variance for k in law.assignment])
    assert law.weights @ means == pytest.approx(law.mean, abs=1e-13 * scale)
    assert law.variance == pytest.approx(law.weights**2 @ variances, rel=1e-12)


@given(finite_models(2))
@settings(max_examples=40)
def test_the_relative_entropy_of_the_tilted_law_is_the_exponent(model: FiniteModel) -> None:
    """E = Σ_j KL(tilted ‖ plain), since E_tilted S = 0: the price of the bad run (Cramér)."""
    exponent = error_exponent(PAIR, model)
    theta = exponent.binding
    if theta is None or not 0 < exponent.tilts[theta] < np.inf:
        return
    law = tilted_law(PAIR, model)
    entropy = 0.0
    for agent, kind in enumerate(model.assignment):
        plain = model.kinds[kind].log_ratio_law(law.reference, theta)
        tilted = law.laws[law.assignment[agent]]
        assert np.array_equal(tilted.means, plain.means)
        p, q = tilted.probabilities, plain.probabilities
        entropy += float(p[p > 0] @ np.log(p[p > 0] / q[p > 0]))
    assert entropy == pytest.approx(law.exponent, rel=1e-9, abs=1e-13)


def test_a_gaussian_pair_is_balanced_by_moving_its_means() -> None:
    agents = [GaussianAgent([1.0], [0.0], 1.0, [[0.0], [gap]], 1.0) for gap in (1.0, 2.0)]
    law = tilted_law(PAIR, FiniteModel.from_agents(["zero", "gap"], agents))
    v, d = PAIR.stationary_distribution, np.array([1.0, 4.0])
    tilt = v @ d / (2 * v**2 @ d)
    assert law.tilt == pytest.approx(tilt, rel=1e-13)
    assert law.variance == pytest.approx(v**2 @ d, rel=1e-13)
    for agent, k in enumerate(law.assignment):
        assert law.laws[k].mean == pytest.approx(d[agent] * (0.5 - tilt * v[agent]), rel=1e-12)


def test_weights_far_below_one_neither_under_nor_overflow() -> None:
    """Only agent 1 is informed, of weight 1e-170: its square is no double."""
    network = Network([[1 - 1e-170, 1e-170], [1.0, 0.0]])
    blind = GaussianAgent([1.0], [0.0], 1.0, [[0.0], [0.0]], 1.0)
    knows = GaussianAgent([1.0], [0.0], 1.0, [[0.0], [1.0]], 1.0)
    law = tilted_law(network, FiniteModel.from_agents(["zero", "one"], [blind, knows]))
    assert law.tilt == pytest.approx(0.5e170, rel=1e-12)
    assert law.exponent == pytest.approx(1 / 8, rel=1e-12)


def test_what_has_no_tilted_law_is_refused() -> None:
    sure = FiniteAgent.from_log_likelihoods([[0.0, 0.0], [-1.0, -2.0]])
    with pytest.raises(ValueError, match=r"hypothesis: expected one whose evidence can mislead"):
        tilted_law(PAIR, FiniteModel.from_agents(["a", "b"], [sure], counts=[2]))
    with pytest.raises(ValueError, match=r"hypothesis: expected a wrong hypothesis, got 0"):
        tilted_law(PAIR, coins(2), hypothesis=0)
    with pytest.raises(ValueError, match=r"hypothesis: .* at most 1, got 2"):
        tilted_law(PAIR, coins(2), hypothesis=2)
    same = FiniteAgent.from_log_likelihoods([[-1.0, -2.0], [-1.0, -2.0]])
    with pytest.raises(ValueError, match=r"model: expected a wrong hypothesis, got none"):
        tilted_law(PAIR, FiniteModel.from_agents(["a", "b"], [same], counts=[2]))
