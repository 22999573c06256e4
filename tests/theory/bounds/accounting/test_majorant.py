import numpy as np
import pytest
from mpmath import mp, mpc, mpf

from theory.bounds.accounting.laws import (
    majorant,
    majorant_transform,
    minorant,
    transform_error,
)

RATES = [0.01, 0.05, 0.5, 2.0]


def one_sided(x: np.ndarray, rate: float) -> np.ndarray:
    return np.where(x >= 0, np.exp(-rate * np.maximum(x, 0)), 0.0)


@pytest.mark.parametrize("rate", RATES)
def test_above_and_below(rate: float) -> None:
    x = np.linspace(-12, 12, 1201)
    g = one_sided(x, rate)
    # Series of 40/λ terms, each of size one at most: rounding.
    slack = 1e-12
    assert (majorant(x, rate) >= g - slack).all()
    assert (minorant(x, rate) <= g + slack).all()


@pytest.mark.parametrize("rate", RATES)
def test_touching_at_the_integers(rate: float) -> None:
    """Tight: they meet g at every integer but 0, where the minorant is 0."""
    x = np.arange(-5.0, 6.0)
    g = one_sided(x, rate)
    assert np.allclose(majorant(x, rate), g, rtol=0, atol=1e-12)
    assert np.allclose(minorant(x, rate), g - (x == 0), rtol=0, atol=1e-12)


@pytest.mark.parametrize("rate", RATES)
def test_transform_by_periodised_sums(rate: float) -> None:
    """Poisson's formula, the form in which the transform is used."""
    length, reach = 32, 4000
    s = np.arange(1, length) / length
    values = majorant_transform(s, rate)
    for y in (0.0, 0.3, 5.71, -2.25):
        image = majorant(y + length * np.arange(-reach // length, reach // length + 1), rate)
        zero = float(majorant_transform(np.zeros(1), rate)[0].real)
        found = (zero + 2 * (values * np.exp(2j * np.pi * s * y)).real.sum()) / length
        # M decays like 1/x²; what lies beyond the images is of order 1/(L · reach).
        assert found == pytest.approx(float(image.sum()), abs=2e-4)


@pytest.mark.parametrize("rate", [1e-4, 0.02, 0.7])
def test_rounding_of_the_transform(rate: float) -> None:
    s = np.concatenate([[0.0, 1e-9, 1e-4], np.arange(1, 64) / 64, [1 - 1e-9, 1.0]])
    found = majorant_transform(s, rate)
    with mp.workdps(50):
        for point, value in zip(s.tolist(), found.tolist(), strict=True):
            lam = mpf(rate)
            q = mp.exp(-lam - 2j * mp.pi * mpf(point))
            exact = (1 - mpf(point)) / (1 - q) + lam / (2j * mp.pi) * (
                1 / mp.expm1(lam) - q / (1 - q)
            )
            assert abs(mpc(value) - exact) <= transform_error(rate)
    # At 0 it is the integral 1/(1 − e^{−λ}), at 1 it vanishes.
    assert found[0].real == pytest.approx(1 / -np.expm1(-rate), rel=1e-12)
