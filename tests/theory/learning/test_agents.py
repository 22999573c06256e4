import re
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from scipy import integrate, stats

from tests.strategies import finite_agents
from theory import FiniteAgent, GaussianAgent
from theory.rational import RationalFiniteAgent


def test_divergences_against_sums_of_logarithms() -> None:
    truth = [["1/2", "1/2"], ["9/10", "1/10"]]
    other = [["1/4", "3/4"], ["1/2", "1/2"]]
    exact = RationalFiniteAgent.from_tables(
        inputs=["1/3", "2/3"], truth=truth, likelihood=[truth, other]
    )
    inputs = np.array([1 / 3, 2 / 3])
    tables = [np.array([[float(Fraction(p)) for p in row] for row in t]) for t in (truth, other)]
    agent = FiniteAgent.from_tables(inputs=inputs, truth=tables[0], likelihood=np.array(tables))
    expected = [d.enclosure().midpoint for d in exact.divergences]
    # Sums of four terms of order one.
    np.testing.assert_allclose(agent.divergences, expected, atol=1e-15)


@given(finite_agents(3))
def test_divergence_is_non_negative_and_its_difference_is_the_mean_ratio(
    agent: FiniteAgent,
) -> None:
    # Entropy and cross-entropy are of order one: their difference rounds to about 1e-15.
    assert (agent.divergences >= -1e-14).all()
    law = agent.log_ratio_law(0, 2)
    assert law.mean == pytest.approx(agent.divergences[2] - agent.divergences[0], abs=1e-14)


def test_impossible_outcomes_are_dropped_and_may_have_likelihood_zero() -> None:
    agent = FiniteAgent.from_tables(
        inputs=[1.0], truth=[[1.0, 0.0]], likelihood=[[[1.0, 0.0]], [[0.5, 0.5]]]
    )
    assert agent.probabilities.tolist() == [1.0]
    assert agent.divergences == pytest.approx([0.0, np.log(2)])
    assert agent.likelihood_bounds.lower == pytest.approx(0.5)


def test_data_set_is_an_empirical_law() -> None:
    rng = np.random.default_rng(3)
    table = np.log(rng.uniform(0.1, 0.9, size=(3, 7)))
    agent = FiniteAgent.from_log_likelihoods(table)
    np.testing.assert_allclose(agent.divergences, -table.mean(axis=1), rtol=1e-14)


GAUSSIAN = GaussianAgent([0.3, 0.7], [0.2, -1.0], 1.3, [[0.0, -1.0], [1.0, 0.5]], 0.8)


def gaussian_expectation(function: Callable[[int, float], float]) -> float:
    """E over x and y by quadrature: the oracle."""

    def at(x: int) -> float:
        law = stats.norm(GAUSSIAN.truth_means[x], GAUSSIAN.truth_std)
        value, _ = integrate.quad(lambda y: law.pdf(y) * function(x, y), -14, 14, limit=200)
        return float(value)

    return sum(float(p) * at(x) for x, p in enumerate(GAUSSIAN.inputs))


def gaussian_log(theta: int, x: int, y: float) -> float:
    return float(stats.norm.logpdf(y, GAUSSIAN.means[theta, x], GAUSSIAN.std))


@pytest.mark.parametrize("theta", [0, 1])
def test_gaussian_divergences_against_quadrature(theta: int) -> None:
    def truth_log(x: int, y: float) -> float:
        return float(stats.norm.logpdf(y, GAUSSIAN.truth_means[x], GAUSSIAN.truth_std))

    expected = gaussian_expectation(lambda x, y: truth_log(x, y) - gaussian_log(theta, x, y))
    assert GAUSSIAN.divergences[theta] == pytest.approx(expected, abs=1e-7)  # quad's accuracy


@pytest.mark.parametrize("u", [-0.7, -0.2, 0.3])
def test_gaussian_cumulant_against_quadrature(u: float) -> None:
    law = GAUSSIAN.log_ratio_law(0, 1)
    expected = gaussian_expectation(
        lambda x, y: np.exp(u * (gaussian_log(0, x, y) - gaussian_log(1, x, y)))
    )
    assert float(law.cumulant(u)) == pytest.approx(np.log(expected), abs=1e-7)  # quad's accuracy


@pytest.mark.parametrize(
    ("tables", "message"),
    [
        ({"inputs": [0.5, 0.6]}, r"inputs: expected probabilities that sum to 1, got a sum of 1.1"),
        ({"truth": [[0.5, 0.4]]}, r"truth: .* sum of 0.9 at \[0\]"),
        ({"truth": [[1.5, -0.5]]}, r"truth: expected probabilities of at least 0, got -0.5"),
        ({"likelihood": [[[1.0, 0.0]]]}, r"likelihood\[0\]\[0\]\[1\]: expected a positive"),
        ({"likelihood": [[[0.2, 0.3, 0.5]]]}, "make inputs and labels agree"),
        ({"likelihood": [[[0.5], [0.5, 0.5]]]}, "ragged"),
        ({"truth": [["a", "b"]]}, "non-numeric"),
    ],
)
def test_bad_tables(tables: dict[str, list[object]], message: str) -> None:
    good = {"inputs": [1.0], "truth": [[0.5, 0.5]], "likelihood": [[[0.5, 0.5]]]}
    with pytest.raises(ValueError, match=message) as caught:
        FiniteAgent.from_tables(**{**good, **tables})  # type: ignore[arg-type]
    assert "\n" not in str(caught.value)


def test_one_input_needs_no_law_as_in_files() -> None:
    tables: dict[str, Any] = {
        "truth": [[0.5, 0.5]],
        "likelihood": [[[0.5, 0.5]], [[0.75, 0.25]]],
    }
    explicit = FiniteAgent.from_tables(inputs=[1.0], **tables)
    plain = FiniteAgent.from_tables(**tables)
    assert plain.probabilities.tolist() == explicit.probabilities.tolist()
    assert plain.log_likelihoods.tolist() == explicit.log_likelihoods.tolist()
    exact = RationalFiniteAgent.from_tables(**tables)
    assert repr(exact) == repr(RationalFiniteAgent.from_tables(inputs=[1], **tables))
    with pytest.raises(ValueError, match="make inputs and labels agree"):
        FiniteAgent.from_tables(truth=[[0.5, 0.5]] * 2, likelihood=[[[0.5, 0.5]] * 2])


def test_bad_gaussians() -> None:
    with pytest.raises(ValueError, match="one mean per input"):
        GaussianAgent([0.5, 0.5], [0.0], 1.0, [[0.0]], 1.0)
    with pytest.raises(ValueError, match="std: expected a finite number above 0"):
        GaussianAgent([1.0], [0.0], 1.0, [[0.0]], 0.0)


def test_zero_likelihood_in_a_data_set_is_refused() -> None:
    with pytest.raises(ValueError, match="positive likelihood wherever the truth is positive"):
        FiniteAgent.from_log_likelihoods([[0.0, -np.inf]])


@pytest.mark.parametrize(
    ("truth", "truth_std", "means", "std", "words"),
    [
        (0.0, 1.0, [0.0, 1.0], 1e-300, "std: expected a size of 1e-100 to 1e100, got 1e-300"),
        (0.0, 1.0, [0.0, 1.0], 1e300, "std: expected a size of 1e-100 to 1e100, got 1e"),
        (0.0, 1e300, [0.0, 1.0], 1.0, "truth_std: expected a size of 1e-100 to 1e100, got 1e"),
        (0.0, 1.0, [0.0, 1e300], 1.0, "means: expected log-likelihood ratios below 1e100 nats"),
        (0.0, 1.0, [-1e308, 1e308], 1.0, "means: expected log-likelihood ratios below 1e100"),
        (1e308, 1.0, [1e308, 1e308], 1.0, "means: expected log-likelihood ratios below 1e100"),
        (1e200, 1.0, [0.0, 1.0], 1.0, "means: expected log-likelihood ratios below 1e100 nats"),
        (0.0, 1e100, [0.0, 1.0], 1e-100, "means: expected log-likelihood ratios below 1e100"),
    ],
)
def test_gaussians_beyond_floating_point_are_refused(
    truth: float, truth_std: float, means: list[float], std: float, words: str
) -> None:
    with pytest.raises(ValueError, match=re.escape(words)) as caught:
        GaussianAgent([1.0], [truth], truth_std, [[mean] for mean in means], std)
    assert "\n" not in str(caught.value)
    assert ";" in str(caught.value)


@pytest.mark.parametrize("size", [1e-90, 1e-3, 1e90])
def test_gaussians_do_not_depend_on_the_unit(size: float) -> None:
    agent = GaussianAgent([1.0], [0.0], 2 * size, [[0.0], [3 * size]], size)
    law = agent.log_ratio_law(0, 1)
    # Some ten roundings: 1e-14.
    assert law.mean == pytest.approx(4.5, rel=1e-14)
    assert law.variance == pytest.approx(36, rel=1e-14)
    np.testing.assert_allclose(np.diff(agent.divergences), 4.5, rtol=1e-14)


def test_log_likelihoods_beyond_floating_point_are_refused() -> None:
    with pytest.raises(ValueError, match="log_likelihoods: expected sizes below 1e100"):
        FiniteAgent.from_log_likelihoods([[1e308], [-1e308]])


def test_the_smallest_probabilities_are_harmless() -> None:
    tiny = 5e-324
    agent = FiniteAgent.from_tables(
        inputs=[tiny, 1.0],
        truth=[[tiny, 1.0], [1.0, tiny]],
        likelihood=[[[tiny, 1.0], [1.0, tiny]], [[1.0, tiny], [tiny, 1.0]]],
    )
    assert np.isfinite(agent.divergences).all()
    # All mass is on the outcome that the second hypothesis gives the smallest double.
    assert agent.divergences[1] == pytest.approx(-np.log(tiny), rel=1e-14)
