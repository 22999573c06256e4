"""Compiled sweeps over a message's numbers, against numpy's formulas, bit for bit."""

from __future__ import annotations

import numpy as np
import pytest

from empirical.messages.beliefs import Scales, worth_sending
from empirical.messages.codec import Block
from theory.validation import FloatArray, IntArray

SHAPES = ((30, 25), (12,), (1,), (8, 3, 5), (4, 5), (100, 1))
SIZES = [int(np.prod(shape)) for shape in SHAPES]
STARTS = np.cumsum([0, *SIZES])[:-1].tolist()
BLOCKS = tuple(
    Block(str(n), s, shape) for n, (s, shape) in enumerate(zip(STARTS, SHAPES, strict=True))
)
BIT = np.log(2.0) / 12


def classes(values: IntArray) -> IntArray:
    """Half octaves of mean sizes in units of 1/256: whole blocks, rows, columns."""
    means: list[FloatArray] = []
    for start, size, shape in zip(STARTS, SIZES, SHAPES, strict=True):
        sizes = np.minimum(np.abs(values[start : start + size]), 4095)
        means.append(np.array([sizes.mean()]))
        if len(shape) > 1 and size >= 64:
            table = sizes.reshape(shape[0], -1)
            means += [table.mean(axis=1), table.mean(axis=0)]
    return np.ceil(2 * np.log2(256 * np.concatenate(means) + 1)).astype(np.int64)


def contexts(found: IntArray) -> IntArray:
    parts, start = [], 0
    for size, shape in zip(SIZES, SHAPES, strict=True):
        whole = found[start]
        start += 1
        if len(shape) == 1 or size < 64:
            parts.append(np.full(size, whole + 12 if whole else 0))
            continue
        rows, columns = shape[0], size // shape[0]
        across = found[start : start + rows][:, None]
        down = found[start + rows : start + rows + columns]
        start += rows + columns
        sums = np.clip(across + down - whole + 12, 1, 80)
        parts.append(np.where((across == 0) | (down == 0), 0, sums).reshape(-1))
    return np.concatenate(parts)


def taken(steps: FloatArray) -> IntArray:
    """Rate–distortion rounding, in whole arrays."""
    sizes = np.abs(steps)
    first = np.rint(sizes).astype(np.int64)
    kinds = contexts(classes(first))
    counts = np.bincount(4 * kinds + np.minimum(first, 3), minlength=4 * (kinds.max() + 1))
    zeros, ones, twos = (counts.reshape(-1, 4).T[:3] + 1.0) / np.array([[1], [2], [2]])
    dear = np.clip(BIT * np.log2(np.stack([zeros / ones, ones / twos])), 0.0, 0.49)
    low = np.floor(sizes)
    edge = 0.5 + dear[np.minimum(low, 1).astype(np.int64), kinds]
    found = (low + (sizes - low > edge)).astype(np.int64)
    return np.where(steps < 0, -found, found)


@pytest.mark.parametrize("size", [0.0, 0.1, 0.5, 2.0, 30.0, 1e5])
def test_classes_contexts_and_roundings_are_numpys(size: float) -> None:
    rng = np.random.default_rng(0)
    scales = Scales(BLOCKS)
    # Rows of unlike sizes, some of them silent; and numbers that are ties.
    steps = (
        rng.laplace(size=sum(SIZES))
        * size
        * np.repeat(rng.random(sum(SIZES) // 4 + 1), 4)[: sum(SIZES)]
    )
    steps[::7] = np.rint(2 * steps[::7]) / 2
    steps[:50] = 0.0
    values = np.rint(steps).astype(np.int64)
    assert np.array_equal(scales.of(values), classes(values))
    assert np.array_equal(scales.contexts(classes(values)), contexts(classes(values)))
    assert np.array_equal(worth_sending(steps, scales), taken(steps))


def test_rows_and_columns_that_are_silent_have_no_context() -> None:
    values = np.zeros(sum(SIZES), dtype=np.int64)
    values[: SIZES[0]].reshape(SHAPES[0])[3:, :20] = 5
    found = Scales(BLOCKS).contexts(classes(values))
    assert np.array_equal(found > 0, values != 0)


def test_a_choice_is_that_of_all_candidates_one_by_one() -> None:
    """Every candidate as the receiver would draw it; arrival times by torch's Threefry."""
    import torch

    from empirical.kernels.noise import words_by_torch
    from empirical.messages.codecs.samples import UNIT, chosen, drawn, key_of

    rng = np.random.default_rng(0)
    lengths = np.array([1, 3, 4, 5, 9, 2, 16])
    starts, limits = np.cumsum(lengths) - lengths, np.array([1, 7, 40, 64, 500, 33, 900])
    narrow = rng.uniform(0.3, 0.9, lengths.sum()).astype(np.float32)
    centre = rng.normal(size=lengths.sum()).astype(np.float32)
    found = chosen(starts, limits, centre, narrow, 7)
    key = [torch.tensor(int(word)) for word in key_of(7)]
    later = 0
    for block, (start, length, limit) in enumerate(zip(starts, lengths, limits, strict=True)):
        own = slice(start, start + length)
        ratios = []
        for j in range(limit):
            indices = np.zeros(len(starts), dtype=np.int64)
            indices[block] = j
            z = drawn(starts, indices, int(lengths.sum()), 7)[own] / UNIT
            v, y = narrow[own].astype(np.float64), centre[own].astype(np.float64)
            ratios.append(float((z**2 / 2 - (z - y) ** 2 / (2 * v)).sum()))
        # Four times are drawn at once, 32 candidates together.
        turns = torch.arange(0, 32 * -(-limit // 32), 32)[:, None] + torch.arange(8)
        zeros = torch.zeros_like(turns)
        four = words_by_torch((turns, zeros, zeros + block, zeros + 1), tuple(key))
        uniform = (torch.stack(four, dim=-1).reshape(-1).double() + 0.5) * 2.0**-32
        times = torch.cumsum(-uniform.log(), 0)[:limit].numpy()
        best = int(np.argmax(np.array(ratios) - np.log(times)))
        assert found[block] == best
        later += best > 0
    assert later >= 4
