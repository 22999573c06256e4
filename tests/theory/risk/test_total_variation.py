import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import erf

from tests.oracles import precision
from theory import largest_total_variation
from theory.risk.risk import bretagnolle_huber, coin_divergence, pinsker

DIVERGENCES = [1e-12, 1e-6, 1e-3, 0.02, 0.3, 1.0, 2.5, 7.0, 16.0, 30.0]

laws = st.integers(2, 5).flatmap(
    lambda size: st.tuples(
        *(st.lists(st.integers(1, 500), min_size=size, max_size=size) for _ in range(2))
    )
)


def normalised(counts: list[int]) -> np.ndarray:
    return np.array(counts, dtype=float) / sum(counts)


def divergence(p: np.ndarray, q: np.ndarray) -> float:
    return float((p * np.log(p / q)).sum())


def distance(p: np.ndarray, q: np.ndarray) -> float:
    return float(np.abs(p - q).sum() / 2)


@pytest.mark.parametrize("tilt", ["1e-3", "0.1", "0.7", "2", "5", "9"])
def test_sharp_curve_against_the_published_parametrisation(tilt: str) -> None:
    """Fedotov, Harremoës and Topsøe (2003): V = ∫|p − q| and D by hyperbolic functions."""
    with mpmath.workdps(60):
        t = mpmath.mpf(tilt)
        variation = t * (1 - (mpmath.coth(t) - 1 / t) ** 2)
        r = mpmath.log(t / mpmath.sinh(t)) + t * mpmath.coth(t) - t**2 / mpmath.sinh(t) ** 2
        found = largest_total_variation(float(r))
        # r is rounded to a double: F moves by at most F'(r) r ε, far less than 1e-14 F.
        assert found.lower <= float(variation / 2) * (1 + 1e-14)
        assert found.upper >= float(variation / 2) * (1 - 1e-14)
        assert found.upper - found.lower < 2e-15


@pytest.mark.parametrize("r", DIVERGENCES)
def test_the_lower_end_is_attained_by_its_coins(r: float) -> None:
    found = largest_total_variation(r)
    p, q = found.coins
    with precision(500):
        assert coin_divergence(p, q) <= r
    assert p - q >= found.lower


@pytest.mark.parametrize("r", DIVERGENCES)
def test_order_of_the_bounds(r: float) -> None:
    found = largest_total_variation(r)
    assert found.lower <= found.upper <= min(pinsker(r), bretagnolle_huber(r), 1.0) * (1 + 1e-15)


def test_pinsker_is_tight_for_small_and_bretagnolle_huber_for_large_divergences() -> None:
    assert largest_total_variation(1e-6).lower > (1 - 1e-6) * pinsker(1e-6)
    assert largest_total_variation(20.0).lower > (1 - 1e-8) * bretagnolle_huber(20.0)
    # and neither is where the other one is
    assert pinsker(20.0) > 3
    assert bretagnolle_huber(1e-6) > 1.4 * pinsker(1e-6)


@given(laws)
@settings(max_examples=60)
def test_valid_for_any_two_laws(pair: tuple[list[int], list[int]]) -> None:
    p, q = normalised(pair[0]), normalised(pair[1])
    r = divergence(p, q)
    # r may be rounded below the true value, by a few roundings of numbers of size log 500.
    assert distance(p, q) <= largest_total_variation(max(r, 0.0) + 1e-14).upper


@given(st.lists(laws, min_size=2, max_size=4), st.integers(0, 10**6))
@settings(max_examples=40)
def test_valid_for_averages(pairs: list[tuple[list[int], list[int]]], seed: int) -> None:
    """Concavity is what makes the step from one agent to many."""
    weights = np.random.default_rng(seed).dirichlet(np.ones(len(pairs)))
    laws_ = [(normalised(a), normalised(b)) for a, b in pairs]
    r = sum(w * divergence(p, q) for w, (p, q) in zip(weights, laws_, strict=True))
    mean = sum(w * distance(p, q) for w, (p, q) in zip(weights, laws_, strict=True))
    assert mean <= largest_total_variation(max(r, 0.0) + 1e-14).upper


def test_concave_and_increasing() -> None:
    r = np.geomspace(1e-4, 40, 60)
    values = np.array([largest_total_variation(x).upper for x in r])
    assert (np.diff(values) >= 0).all()
    middles = np.array([largest_total_variation(x).upper for x in (r[1:] + r[:-1]) / 2])
    assert (middles >= (values[1:] + values[:-1]) / 2 - 1e-15).all()


@pytest.mark.parametrize("gap", [1e-3, 0.1, 1.0, 3.0, 8.0])
def test_two_gaussians(gap: float) -> None:
    exact = erf(gap / (2 * np.sqrt(2)))
    assert exact <= largest_total_variation(gap**2 / 2).upper
    # Gaussians are not coins: they stay below √(2/π) of Pinsker's bound, and approach it.
    ratio = exact / pinsker(gap**2 / 2)
    assert ratio < np.sqrt(2 / np.pi)
    if gap < 0.01:
        assert ratio > (1 - 1e-6) * np.sqrt(2 / np.pi)


@pytest.mark.parametrize(
    ("r", "lower", "upper"), [(0.0, 0.0, 0.0), (1e-300, 0.0, 1e-150), (1e4, 1 - 1e-15, 1.0)]
)
def test_extremes(r: float, lower: float, upper: float) -> None:
    found = largest_total_variation(r)
    assert lower <= found.lower <= found.upper <= upper
    assert largest_total_variation(np.inf).upper == bretagnolle_huber(np.inf) == 1.0


@pytest.mark.parametrize("wrong", [-0.1, float("nan"), "much"])
def test_bad_divergence(wrong: object) -> None:
    with pytest.raises(ValueError, match="divergence: expected a divergence of at least 0"):
        largest_total_variation(wrong)  # type: ignore[arg-type]
