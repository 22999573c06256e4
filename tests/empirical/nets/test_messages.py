"""What is sent: natural parameters, and what is refused."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from empirical.nets.messages import Natural

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


@pytest.mark.parametrize("by_torch", [False, True])
@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("precision", 0.0, "got 0 at parameter 1"),
        ("precision", -1.0, "got -1 at parameter 1"),
        ("precision", math.inf, "got inf at parameter 1"),
        ("precision", math.nan, "got nan at parameter 1"),
        ("shift", math.inf, "got inf at parameter 1"),
        ("shift", -math.inf, "got -inf at parameter 1"),
        ("shift", math.nan, "got nan at parameter 1"),
    ],
)
def test_what_is_no_gaussian_is_refused(
    name: str, value: float, said: str, by_torch: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if by_torch:  # what other devices than the CPU do
        from empirical.nets import messages

        monkeypatch.setattr(messages, "HAS_KERNEL", ())
    natural = Natural(torch.ones(2, 3), torch.zeros(2, 3))
    natural.check(agents=[4, 7], round=5)
    getattr(natural, name)[1, 1] = value
    with pytest.raises(ValueError, match=rf"^{name} of agent 7 in round 5: expected.*{said};"):
        natural.check(agents=[4, 7], round=5)
