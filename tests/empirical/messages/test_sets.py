"""Sets of coordinates, layouts of messages, and scales of matrices: as written, as read."""

from __future__ import annotations

from decimal import Decimal, localcontext
from itertools import combinations
from math import comb, erfc, log2, sqrt

import numpy as np
import pytest
import torch
from torch import nn

from empirical.messages.beliefs import Scales, worth_sending
from empirical.messages.codec import Block, Layout
from empirical.messages.entropy import LARGEST, Tape, integers
from empirical.messages.selected import (
    FORMER,
    MEMBER,
    Flags,
    Kinds,
    enumeration_bits,
    nearest,
    powers,
    ranks,
    subset,
)
from empirical.train.making import net_of
from empirical.train.module_net import with_constants
from tests.empirical.support import refused
from theory.validation import FloatArray, IntArray

# Sets of coordinates come back, at fewer bits than enumeration where something is known ----------


def layout(*sizes: int) -> Layout:
    starts = np.cumsum([0, *sizes]).tolist()
    blocks = tuple(
        Block(str(place), start, (size,))
        for place, (start, size) in enumerate(zip(starts, sizes, strict=False))
    )
    return Layout({"mean": torch.zeros(starts[-1])}, blocks)


def round_trip(chosen: Flags, kinds: IntArray) -> int:
    """Bits of the set, which comes back."""
    writer = Tape()
    subset(writer, chosen, kinds)
    body = writer.done()
    reader = Tape(body)
    assert np.array_equal(subset(reader, None, kinds), chosen)
    reader.end()
    return 8 * len(body)


def test_every_small_set_comes_back() -> None:
    kinds = np.array([0, 3, 3, 1, 0, 2, 3])
    for size in range(8):
        for members in combinations(range(7), size):
            chosen = np.isin(np.arange(7), members)
            assert round_trip(chosen, kinds) <= 32


def test_enumeration_counts_the_sets() -> None:
    for d in range(12):
        for k in range(d + 1):
            count = len(list(combinations(range(d), k)))
            assert enumeration_bits(d, k) == pytest.approx(log2(count), abs=1e-9)
    assert enumeration_bits(613_514, 50_000) == pytest.approx(log2(comb(613_514, 50_000)), rel=1e-9)
    refused("at most d = 3, got 4", enumeration_bits, 3, 4)


def test_a_random_set_costs_what_enumeration_does() -> None:
    d, k = 200_000, 16_000
    chosen = np.zeros(d, dtype=bool)
    chosen[np.random.default_rng(0).permutation(d)[:k]] = True
    # One frequency learnt: about ½ log₂ d bits; and 32 for whole words.
    bits = round_trip(chosen, np.zeros(d, dtype=np.int64))
    assert enumeration_bits(d, k) - 32 < bits < enumeration_bits(d, k) + 64


def test_what_both_ends_know_makes_sets_cheap() -> None:
    """Weights that began large are large, and those that were large stay."""
    rng = np.random.default_rng(1)
    d, k = 100_000, 8000
    first = rng.normal(size=d).astype(np.float32)
    now = (first + 0.5 * rng.normal(size=d)).astype(np.float32)
    later = (now + 0.1 * rng.normal(size=d)).astype(np.float32)
    kinds = Kinds(layout(60_000, 40_000), first)
    state, bits = np.zeros(d, dtype=np.uint8), []
    for values, known in ((now, first), (later, now)):
        chosen = np.zeros(d, dtype=bool)
        chosen[np.argsort(np.abs(values))[d - k :]] = True
        bits.append(round_trip(chosen, kinds.of(known, state)))
        state[chosen] = MEMBER
    assert bits[1] < 0.7 * bits[0] < 0.7 * 0.8 * enumeration_bits(d, k)


def test_ranks_are_classes_of_equal_size() -> None:
    values = np.random.default_rng(2).normal(size=256 * 8 + 5).astype(np.float32)
    found = ranks(values, 32)
    assert np.ptp(np.bincount(found)) <= 1
    assert len(np.bincount(found)) == 8  # classes have at least 256 members
    for low, high in zip(range(7), range(1, 8), strict=True):
        assert values[found == low].max() <= values[found == high].min()
    assert ranks(np.zeros(0, dtype=np.float32), 32).shape == (0,)


def test_kinds_tell_blocks_members_and_former_members_apart() -> None:
    size = 64 * 256
    first = np.arange(2 * size, dtype=np.float32)
    state = np.zeros(2 * size, dtype=np.uint8)
    state[:10], state[10:20] = MEMBER, FORMER
    found = Kinds(layout(size, size), first).of(first, state)
    groups = [set(found[part].tolist()) for part in (slice(10), slice(10, 20), slice(20, size))]
    groups.append(set(found[size:].tolist()))
    for one, other in combinations(groups, 2):
        assert not one & other
    assert len(groups[3]) == 32
    assert found.max() < 2**16


# What all messages of a run look like ------------------------------------------------------------


@pytest.mark.parametrize("activation", [nn.ReLU, nn.GELU])
def test_blocks_are_where_the_tensors_stand(activation: type[nn.Module]) -> None:
    """Against `tensors`, which loads them: a weight of each block at a time."""
    module = nn.Sequential(nn.Conv2d(1, 2, 3), activation(), nn.Flatten(), nn.Linear(32, 3))
    net = with_constants(net_of(module, torch.zeros(2, 1, 6, 6), outputs=3), 2)
    assert [block.name for block in net.blocks] == [
        "0.weight", "0.bias", "3.weight", "3.bias", "constants",
    ]  # fmt: skip
    zeros = torch.zeros(net.parameters)
    Layout({"mean": zeros}, net.blocks)
    for block in net.blocks[:-1]:
        weights = zeros.clone()
        weights[block.start : block.start + torch.Size(block.shape).numel()] = torch.arange(
            1.0, torch.Size(block.shape).numel() + 1
        )
        tensors = net.tensors(weights)
        assert [name for name, values in tensors.items() if values.any()] == [block.name]
        found, own = tensors[block.name], torch.Size(block.shape).numel()
        flat = torch.arange(1.0, own + 1).reshape(block.shape)
        same = found.shape == flat.shape and torch.equal(found, flat)
        assert same or torch.equal(found, flat.T)


@pytest.mark.parametrize(
    ("begin", "blocks", "examples", "said"),
    [
        ({}, (), 1.0, "begin: expected vectors of one length, got none"),
        ({"a": torch.zeros(2), "b": torch.zeros(3)}, (), 1.0, r"begin: .*got \(2,\), \(3,\)"),
        ({"a": torch.zeros(2, 2)}, (), 1.0, r"begin: .*got \(2, 2\)"),
        (
            {"a": torch.zeros(4)},
            (Block("w", 1, (3,)),),
            1.0,
            "at coordinate 0, got 'w' at 1",
        ),
        ({"a": torch.zeros(4)}, (Block("w", 0, (3,)),), 1.0, "blocks: expected 4 coordinates in a"),
        ({"a": torch.zeros(4)}, (Block("w", 0, (2, 2)),), 0.0, "examples: expected"),
    ],
)
def test_what_is_no_layout(begin: dict, blocks: tuple, examples: float, said: str) -> None:
    refused(said, Layout, begin, blocks, examples)


# Integers of matrices, powers of two, and what is worth its bits; sweeps are numpy's formulas ----


SHAPES = ((30, 25), (12,), (1,), (8, 3, 5), (4, 5), (100, 1))
SIZES = [int(np.prod(shape)) for shape in SHAPES]
STARTS = np.cumsum([0, *SIZES])[:-1].tolist()
BLOCKS = tuple(
    Block(str(n), s, shape) for n, (s, shape) in enumerate(zip(STARTS, SHAPES, strict=True))
)
ALL = Scales(BLOCKS)
MATRIX = Scales([Block("a", 0, (200, 100))])
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
    # Rows of unlike sizes, some of them silent; and numbers that are ties.
    steps = (
        rng.laplace(size=sum(SIZES))
        * size
        * np.repeat(rng.random(sum(SIZES) // 4 + 1), 4)[: sum(SIZES)]
    )
    steps[::7] = np.rint(2 * steps[::7]) / 2
    steps[:50] = 0.0
    values = np.rint(steps).astype(np.int64)
    assert np.array_equal(ALL.of(values), classes(values))
    assert np.array_equal(ALL.contexts(classes(values)), contexts(classes(values)))
    assert np.array_equal(worth_sending(steps, ALL), taken(steps))


def body_of(values: IntArray, scales: Scales, before: IntArray | None = None) -> bytes:
    writer = Tape()
    scales.integers(
        writer, values, np.zeros(scales.count, dtype=np.int64) if before is None else before
    )
    return writer.done()


def test_powers_are_rounded_once() -> None:
    indices = np.arange(-110, 111)
    for divisions in (1, 2, 4, 16, 64):
        with localcontext() as context:
            context.prec = 60
            exact = [Decimal(2) ** (Decimal(int(k)) / divisions) for k in indices]
        # Exact to 60 digits; float64 to 1 in 2^53, then float32: half a unit of its own.
        wanted = np.array([np.float32(float(value)) for value in exact])
        assert np.array_equal(powers(indices, divisions), wanted)
    refused(r"scales from 2\^-120 to 2\^120", powers, np.array([130]), 1)


def test_logarithms_and_powers_are_inverse() -> None:
    indices = np.arange(-300, 300)
    found = nearest(powers(indices, 8).astype(np.float64), 8)
    assert np.abs(found - indices).max() < 1e-6  # float32 has 6e-8 of relative error, times 8/ln 2
    for wrong in (0.0, -1.0, np.nan, 1e300):
        refused("scales", nearest, np.array([wrong]), 1)


def test_integers_of_blocks_come_back() -> None:
    rng = np.random.default_rng(0)
    assert ALL.count == 1 + 30 + 25 + 1 + 1 + 1 + 8 + 15 + 1 + 1 + 100 + 1
    before = np.zeros(ALL.count, dtype=np.int64)
    for size in (0.0, 0.1, 3.0, 1e6):
        values = np.rint(rng.normal(size=sum(SIZES)) * size).astype(np.int64)
        reader = Tape(body_of(values, ALL, before))
        found, before = ALL.integers(reader, None, before)
        reader.end()
        assert np.array_equal(found, values)
        assert np.array_equal(before, ALL.of(values))


def test_rows_and_columns_of_unlike_sizes_pay_what_their_law_costs() -> None:
    """A matrix whose entries' scale is a product, against a coder that knows the scales."""
    rng = np.random.default_rng(1)
    rows, columns = 2.0 ** rng.uniform(-3, 3, 300), 2.0 ** rng.uniform(-1, 1, 200)
    spread = np.outer(rows, columns).reshape(-1)
    values = np.rint(rng.normal(size=60_000) * spread).astype(np.int64)
    scales = Scales([Block("a", 0, (300, 200))])
    ours = 8 * len(body_of(values, scales))
    chance = [
        erfc((v - 0.5) / (s * sqrt(2))) / 2 - erfc((v + 0.5) / (s * sqrt(2))) / 2
        for v, s in zip(np.abs(values).tolist(), spread.tolist(), strict=True)
    ]
    ideal = -np.log2(np.maximum(chance, 1e-12)).sum()
    writer = Tape()
    integers(writer, values, count=len(values))
    # Scales known to a quarter octave cost .02 bits an entry, 501 classes about 4 bits each, and
    # the tables of 40 contexts about 60 each.
    extra = 0.02 * len(values) + 4 * 501 + 40 * 60
    assert ideal < ours < ideal + extra < 8 * len(writer.done())


def test_silent_rows_and_columns_cost_nothing() -> None:
    values = np.zeros((200, 100), dtype=np.int64)
    values[::2, 20:] = np.random.default_rng(2).integers(1, 4, (100, 80))
    flat = values.reshape(-1)
    assert np.array_equal(MATRIX.contexts(MATRIX.of(flat)) > 0, flat != 0)
    assert 8 * len(body_of(flat, MATRIX)) < 8000 * np.log2(3) * 1.01 + 4 * 301


def test_classes_that_nobody_wrote_are_refused() -> None:
    writer, none = Tape(), np.zeros(ALL.count, dtype=np.int64)
    integers(writer, np.full(ALL.count, 99), count=ALL.count)
    refused("classes from 0 to 40", ALL.integers, Tape(writer.done()), None, none)


def test_what_is_worth_its_bits_saves_more_than_it_costs() -> None:
    """At equal squared error, fewer bits than plain rounding: both curves at one slope."""
    rng = np.random.default_rng(3)
    moves = rng.laplace(size=20_000)

    def cost(step: float, rounded: bool) -> float:
        steps = moves / step
        taken = np.rint(steps).astype(np.int64) if rounded else worth_sending(steps, MATRIX)
        assert np.abs(taken - steps).max() < 1
        error = ((taken - steps) ** 2).sum() * step**2
        # Bits and error in one sum, at the slope that belongs to a step of 1.5.
        return 8 * len(body_of(taken, MATRIX)) + error * 6 / (np.log(2) * 1.5**2)

    plain = min(cost(step, True) for step in (1.2, 1.5, 1.8))
    assert min(cost(step, False) for step in (1.2, 1.5, 1.8)) < 0.98 * plain


def test_small_moves_are_silence_and_large_ones_are_refused() -> None:
    assert not worth_sending(np.full(sum(SIZES), 0.49), ALL).any()
    assert (worth_sending(np.full(sum(SIZES), -3.0), ALL) == -3).all()
    for wrong in (LARGEST + 1.0, -1e30, np.inf, np.nan):
        steps = np.ones(sum(SIZES))
        steps[5] = wrong
        refused("values: expected at most 2147483647 in size", worth_sending, steps, ALL)
