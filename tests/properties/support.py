"""What the properties share: how often they are tried, and how close is close."""

from __future__ import annotations

import os

import numpy as np
from hypothesis import settings
from numpy.typing import ArrayLike

# `make properties` tries so many times as many examples.
TIMES = 40 if os.environ.get("HYPOTHESIS_PROFILE") == "full" else 1


def often(examples: int) -> settings:
    """So many examples in a daily run, and more in a full one."""
    return settings(max_examples=examples * TIMES)


def assert_close(found: ArrayLike, expected: ArrayLike, tolerance: float = 1e-12) -> None:
    """Relative to the largest number: what is added up is rounded at that size."""
    values, truth = np.asarray(found), np.asarray(expected)
    assert values.shape == truth.shape
    scale = max(1.0, float(np.abs(truth).max(initial=0.0)))
    assert float(np.abs(values - truth).max(initial=0.0)) <= tolerance * scale
