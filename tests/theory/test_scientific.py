"""What stands in for functions of scipy gives their digits."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import optimize, special

from theory.scientific import brentq, logsumexp, xlogy


def test_logsumexp_has_the_digits_of_scipy() -> None:
    rng = np.random.default_rng(1)
    for _ in range(200):
        shape = rng.integers(1, 5), rng.integers(1, 40)
        table = (rng.normal(size=shape) * 10.0 ** rng.uniform(-2, 3)).round(rng.integers(0, 9))
        table[rng.random(shape) < 0.1] = -np.inf
        for axis in (None, 0, -1):
            found, wanted = logsumexp(table, axis=axis), special.logsumexp(table, axis=axis)
            np.testing.assert_array_equal(found, wanted)
    assert logsumexp([-np.inf, -np.inf]) == -np.inf
    assert logsumexp([np.inf, 1.0]) == np.inf


def test_xlogy_has_the_digits_of_scipy() -> None:
    few = np.append(np.random.default_rng(2).random((10, 9)), np.zeros((10, 1)), axis=1)
    for table in (few, np.tile(few, (1, 50))):
        np.testing.assert_array_equal(xlogy(table), special.xlogy(table, table))


def test_brentq_has_the_digits_of_scipy() -> None:
    rng, roots = np.random.default_rng(3), 0
    for _ in range(400):
        a, b, c, d = rng.normal(size=4).tolist()

        def curve(x: float, a: float = a, b: float = b, c: float = c, d: float = d) -> float:
            return a * math.exp(b * x) + c * x * x + d

        if curve(0.0) * curve(3.0) > 0:
            with pytest.raises(ValueError, match="different signs"):
                brentq(curve, 0.0, 3.0, xtol=1e-300, rtol=1e-9)
            continue
        roots += 1
        wanted = optimize.brentq(curve, 0.0, 3.0, xtol=1e-300, rtol=1e-9)
        assert brentq(curve, 0.0, 3.0, xtol=1e-300, rtol=1e-9) == wanted
    assert roots > 50
