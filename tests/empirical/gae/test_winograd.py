"""The second convolution forward beside sums by windows, in whole numbers and in floats."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.lib.stride_tricks import sliding_window_view

from empirical.gae.winograd import largest, transformed

# Filters of such multiples have whole numbers as transforms: each way they are multiples of 1/24.
_WHOLE = 24 * 24


def by_windows(inner: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """The convolution of (26, 26, 32) by (288, 64) in the factors' own type, (24, 24, 64)."""
    windows = sliding_window_view(inner, (3, 3), axis=(0, 1)).transpose(0, 1, 3, 4, 2)
    return windows.reshape(24 * 24, 288).dot(weights).reshape(24, 24, 64)


def pool_blocks(outputs: np.ndarray) -> np.ndarray:
    """Outputs by pool block and place within it, (144, 4, 64)."""
    split = outputs.reshape(12, 2, 12, 2, 64).transpose(0, 2, 1, 3, 4)
    return split.reshape(144, 4, 64)


def found(
    inner: np.ndarray, weights: np.ndarray, biases: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    pooled, places = np.empty((144, 64), np.float32), np.empty((144, 64), np.uint8)
    filters = transformed(weights.astype(np.float32))
    flat = inner.astype(np.float32).reshape(676, 32)
    largest(flat, filters, biases.astype(np.float32), pooled, places)
    return pooled, places


def test_whole_numbers_come_out_exactly_and_ties_go_to_the_first_place() -> None:
    generator = np.random.default_rng(0)
    # Sparse, so that no sum on the way passes 2^24, up to which float32 has all whole numbers.
    inner = (generator.random((26, 26, 32)) < 0.1).astype(np.int64)
    weights = _WHOLE * generator.integers(-1, 2, (288, 64)) * (generator.random((288, 64)) < 0.2)
    biases = _WHOLE * generator.integers(-2, 3, 64)
    four = pool_blocks(by_windows(inner, weights)) + biases
    pooled, places = found(inner, weights, biases)
    assert (pooled == np.maximum(four.max(axis=1), 0)).all()
    assert (places == four.argmax(axis=1)).all()
    ordered = np.sort(four, axis=1)
    assert (ordered[:, 3] == ordered[:, 2]).any()
    assert (pooled == 0).any()


@pytest.mark.parametrize("seed", range(3))
def test_floats_are_off_by_little_more_than_sums_by_windows(seed: int) -> None:
    """Inputs as ReLU leaves them, weights as they begin; errors beside those of plain float32."""
    generator = np.random.default_rng(seed)
    inner = np.maximum(generator.normal(size=(26, 26, 32)), 0).astype(np.float32)
    weights = generator.uniform(-0.08, 0.08, (288, 64)).astype(np.float32)
    biases = generator.normal(0, 0.1, 64).astype(np.float32)
    exact = by_windows(inner.astype(np.float64), weights.astype(np.float64))
    four = pool_blocks(exact) + biases.astype(np.float64)
    pooled, places = found(inner, weights, biases)
    error = np.abs(pooled - np.maximum(four.max(axis=1), 0)).max()
    plain = np.abs(by_windows(inner, weights) - exact).max()
    # Transforms weigh entries by up to 10 each way, and 19, and take most of it off again: some
    # seven times the largest error of plain sums, measured.
    assert error < 15 * plain
    chosen = np.take_along_axis(four, places[:, None].astype(np.int64), axis=1)[:, 0]
    # Another place than the largest's is taken only where the two tie but for rounding.
    assert (four.max(axis=1) - chosen).max() <= 2 * error + 2 * plain
    assert (places == four.argmax(axis=1)).mean() > 0.999


def test_where_nothing_comes_in_nothing_but_the_bias_goes_out() -> None:
    generator = np.random.default_rng(1)
    weights, biases = generator.normal(size=(288, 64)), generator.normal(size=64)
    pooled, places = found(np.zeros((26, 26, 32)), weights, biases)
    assert (pooled == np.maximum(biases.astype(np.float32), 0)).all()
    assert (places == 0).all()
