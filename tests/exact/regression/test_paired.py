"""Sums of batches, merged one after another, against the same sums of all replicates at once."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from exact.checkpoint import Arrays
from exact.regression.results import NAMES, merge_pairs, no_pairs, pairs_of, ratio_standard_error
from theory.validation import FloatArray


def merged(x: FloatArray, s: FloatArray, cuts: list[int]) -> Arrays:
    """The sums of one place after every batch."""
    total: Arrays = no_pairs((1,)) | {name: np.zeros(1) for name in ("x_mean", "s_mean", "squares")}
    before = 0
    for begin, end in zip([0, *cuts], [*cuts, len(x)], strict=True):
        if begin == end:
            continue
        batch = pairs_of(x[begin:end, None], s[begin:end, None], axis=0)
        merge_pairs(total, batch, before=before, new=end - begin)
        before = end
        total["x_mean"][:] = x[:end].mean()
        total["s_mean"][:] = s[:end].mean()
        total["squares"][:] = ((x[:end] - x[:end].mean()) ** 2).sum()
    return total


@given(st.data())
def test_batches_add_up_to_the_whole(data: st.DataObject) -> None:
    count = data.draw(st.integers(1, 12))
    whole = st.lists(st.integers(-9, 9), min_size=count, max_size=count)
    x, s = data.draw(whole), data.draw(whole)
    cuts = sorted(data.draw(st.lists(st.integers(0, count), max_size=4)))
    found = merged(np.array(x, dtype=np.float64), np.array(s, dtype=np.float64), cuts)
    a, b = (
        [Fraction(n) - Fraction(sum(x), count) for n in x],
        [Fraction(n) - Fraction(sum(s), count) for n in s],
    )
    pairs = list(zip(a, b, strict=True))
    exact = {
        "cubes": sum(p**3 for p, _ in pairs),
        "fourths": sum(p**4 for p, _ in pairs),
        "products": sum(p * q for p, q in pairs),
        "joint": sum(p**2 * q for p, q in pairs),
    }
    for name in NAMES:
        # Terms of up to 20⁴ a replicate, each right to rounding.
        assert found[name][0] == pytest.approx(float(exact[name]), rel=1e-11, abs=1e-9)


def test_nothing_is_lost_far_from_zero() -> None:
    """A deviation of 1 about a mean of 10⁶: raw fourth powers would keep no digit."""
    rng = np.random.default_rng(1)
    x, s = rng.normal(size=300), rng.exponential(size=300)
    near, far = (merged(x + shift, s, [100, 101, 250]) for shift in (0.0, 1e6))
    for name in NAMES:
        # Rounding of a number near 10⁶ is 10⁻¹⁰, times some hundred cubes of size ten.
        np.testing.assert_allclose(far[name], near[name], rtol=1e-6, atol=1e-6)


def test_normal_pairs_have_the_known_error() -> None:
    """Var x / mean s of normal x and a constant s: relative variance 2/R, to its own error."""
    x = np.random.default_rng(2).normal(size=(100_000, 1))
    sums = pairs_of(x, np.full_like(x, 0.5), axis=0)
    ratio = sums["squares"] / (len(x) - 1) / 0.5
    zero = np.zeros(1)
    found = ratio_standard_error(sums, ratio, sums["s_mean"], zero, replicates=len(x))
    # The fourth moment of a hundred thousand scatters by 1.5 %, its root by less.
    np.testing.assert_allclose(found, ratio * (2 / len(x)) ** 0.5, rtol=0.02)
    assert np.isnan(ratio_standard_error(sums, ratio, zero, zero, replicates=2)).all()
