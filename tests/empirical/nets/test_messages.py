"""What is sent: natural parameters, and what is refused."""

import math

import torch
from hypothesis import given
from hypothesis import strategies as st

from empirical.nets.pooling import Natural

U = 2.0**-24  # half a unit of float32's last place, relatively


@given(
    mean=st.floats(-1e6, 1e6, width=32).filter(lambda m: m == 0 or abs(m) > 1e-6),
    variance=st.floats(2.0**-40, 2.0**40, width=32),
)
def test_natural_parameters_keep_mean_and_variance(mean: float, variance: float) -> None:
    natural = Natural.from_moments(torch.tensor([mean]), torch.tensor([variance]))
    precision, shift = natural.precision.item(), natural.shift.item()
    # One rounding in the precision, one in the product; in float64 the quotients are as good as
    # exact.
    assert math.isclose(precision * variance, 1.0, rel_tol=U * 1.01)
    assert math.isclose(shift / precision, mean, rel_tol=U * 1.01)
