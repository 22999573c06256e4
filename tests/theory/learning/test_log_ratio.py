import mpmath
import numpy as np
import pytest

from theory import LogRatioLaw

POINTS = LogRatioLaw(np.array([0.2, 0.3, 0.5]), np.array([-2.0, 0.5, 1.0]), np.zeros(3))
MIXTURE = LogRatioLaw(np.array([0.4, 0.6]), np.array([1.0, -0.5]), np.array([0.25, 4.0]))


def exact_cumulant(law: LogRatioLaw, u: float) -> float:
    terms = zip(law.probabilities, law.means, law.variances, strict=True)
    total = sum(
        mpmath.mpf(p) * mpmath.e ** (u * m + mpmath.mpf(u) ** 2 * s / 2) for p, m, s in terms
    )
    return float(mpmath.log(total))


@pytest.mark.parametrize("law", [POINTS, MIXTURE])
@pytest.mark.parametrize("u", [-30.0, -1.0, -1e-3, 0.0, 0.7, 25.0])
def test_cumulant_against_multiprecision(law: LogRatioLaw, u: float) -> None:
    # A log-sum-exp of three terms: a few units in the last place of the largest exponent.
    scale = max(1.0, abs(exact_cumulant(law, u)))
    assert abs(float(law.cumulant(u)) - exact_cumulant(law, u)) <= 1e-14 * scale


def test_moments() -> None:
    assert POINTS.mean == pytest.approx(0.25, abs=1e-15)
    assert POINTS.variance == pytest.approx(0.2 * 4 + 0.3 * 0.25 + 0.5 - 0.0625, abs=1e-15)
    assert MIXTURE.variance == pytest.approx(0.4 * 0.25 + 0.6 * 4 + 0.24 * 2.25, abs=1e-15)
    assert (POINTS.minimum, POINTS.maximum, POINTS.range) == (-2.0, 1.0, 3.0)
    assert POINTS.probability_of_minimum == 0.2
    assert MIXTURE.range == np.inf
    assert not MIXTURE.is_bounded


def test_atoms_of_probability_zero_do_not_count() -> None:
    law = LogRatioLaw(np.array([0.0, 1.0]), np.array([-9.0, 1.0]), np.array([3.0, 0.0]))
    assert law.is_bounded
    assert law.minimum == 1.0


def test_blocks_do_not_change_the_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    points = np.linspace(-3, 3, 50).reshape(5, 10)
    whole = MIXTURE.cumulant(points)
    monkeypatch.setattr("theory.learning.log_ratio._CACHED", 4)
    # The library multiplies short blocks by other code than long ones, and may round the sum of the
    # two atoms otherwise: a unit in its last place, and one more of the logarithm.
    unit = 2 * np.finfo(np.float64).eps
    np.testing.assert_allclose(MIXTURE.cumulant(points), whole, rtol=unit, atol=unit)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([0.5, 0.6], [0.0, 0.0], [0.0, 0.0]), "probabilities"),
        (([0.5, 0.5], [0.0], [0.0, 0.0]), "as many means and variances"),
        (([0.5, 0.5], [0.0, 1.0], [0.0, -1.0]), "variances: expected at least 0"),
        (([0.5, 0.5], [0.0, np.inf], [0.0, 1.0]), "means: expected finite numbers"),
    ],
)
def test_bad_input(arguments: tuple[list[float], ...], message: str) -> None:
    with pytest.raises(ValueError, match=message) as caught:
        LogRatioLaw(*(np.array(a) for a in arguments))
    assert "\n" not in str(caught.value)
