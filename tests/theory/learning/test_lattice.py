from fractions import Fraction
from math import gcd, lcm

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from theory import LogRatioLaw
from theory.learning.lattice import lattice_span


def law(*values: float) -> LogRatioLaw:
    return LogRatioLaw(
        np.full(len(values), 1 / len(values)), np.array(values), np.zeros(len(values))
    )


weights = st.fractions(min_value=Fraction(1, 30), max_value=1, max_denominator=30)


@given(st.lists(weights, min_size=1, max_size=5), st.floats(1e-6, 1e6), st.floats(-5, 5))
@settings(max_examples=50)
def test_identical_coins_with_rational_weights(
    fractions: list[Fraction], step: float, lowest: float
) -> None:
    """The span of Σ w_j z_j is the step times the greatest common divisor of the weights."""
    bottom = lcm(*(w.denominator for w in fractions))
    top = gcd(*(w.numerator * (bottom // w.denominator) for w in fractions))
    coin = law(lowest * step, lowest * step + step)
    found = lattice_span([(coin, float(w)) for w in fractions])
    # Below 1e-4 of the largest step nothing is found; none is that fine with five denominators
    # of at most 30, or it is and None is right.
    divisor = top / bottom
    if divisor < 1e-3 * float(max(fractions)):
        assert found is None or found == pytest.approx(step * divisor, rel=1e-8)
    else:
        assert found == pytest.approx(step * divisor, rel=1e-8)


def test_no_lattice_where_steps_have_no_common_measure() -> None:
    assert lattice_span([(law(0.0, 1.0), 1.0), (law(0.0, 1.0), np.sqrt(0.5))]) is None
    assert lattice_span([(law(0.0, 1.0, np.pi), 0.3)]) is None


def test_no_lattice_where_z_has_a_density_or_does_not_vary() -> None:
    normal = LogRatioLaw(np.array([1.0]), np.array([1.0]), np.array([1.0]))
    assert lattice_span([(law(0.0, 1.0), 0.5), (normal, 0.5)]) is None
    assert lattice_span([(law(2.0), 1.0)]) is None
    assert lattice_span([(law(2.0), 0.5), (law(0.0, 3.0), 0.5)]) == 1.5
