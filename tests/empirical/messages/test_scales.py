"""Integers of matrices, powers of two, and what is worth its bits."""

from __future__ import annotations

from decimal import Decimal, localcontext
from math import erfc, sqrt

import numpy as np
import pytest

from empirical.messages.beliefs import Scales, worth_sending
from empirical.messages.codec import Block
from empirical.messages.entropy import Tape, integers
from empirical.messages.selected import nearest, powers
from tests.empirical.support import refused
from theory.validation import IntArray

BLOCKS = (Block("a", 0, (50, 40)), Block("b", 2000, (40,)), Block("c", 2040, (8, 3, 5, 5)))
SIZE = 2640


def body_of(values: IntArray, scales: Scales, before: IntArray) -> bytes:
    writer = Tape()
    scales.integers(writer, values, before)
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
    scales = Scales(BLOCKS)
    assert scales.count == 1 + 50 + 40 + 1 + 1 + 8 + 75
    before = np.zeros(scales.count, dtype=np.int64)
    for size in (0.0, 0.1, 3.0, 1e6):
        values = np.rint(rng.normal(size=SIZE) * size).astype(np.int64)
        reader = Tape(body_of(values, scales, before))
        found, classes = scales.integers(reader, None, before)
        reader.end()
        assert np.array_equal(found, values)
        assert np.array_equal(classes, scales.of(values))
        before = classes


def test_rows_and_columns_of_unlike_sizes_pay_what_their_law_costs() -> None:
    """A matrix whose entries' scale is a product, against a coder that knows the scales."""
    rng = np.random.default_rng(1)
    rows, columns = 2.0 ** rng.uniform(-3, 3, 300), 2.0 ** rng.uniform(-1, 1, 200)
    spread = np.outer(rows, columns).reshape(-1)
    values = np.rint(rng.normal(size=60_000) * spread).astype(np.int64)
    scales = Scales([Block("a", 0, (300, 200))])
    ours = 8 * len(body_of(values, scales, np.zeros(scales.count, dtype=np.int64)))
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


def test_silent_rows_cost_nothing() -> None:
    values = np.zeros((200, 100), dtype=np.int64)
    values[::2] = np.random.default_rng(2).integers(-3, 4, (100, 100))
    scales = Scales([Block("a", 0, (200, 100))])
    contexts = scales.contexts(scales.of(values.reshape(-1))).reshape(200, 100)
    assert not contexts[1::2].any()
    assert contexts[::2].all()
    bits = 8 * len(body_of(values.reshape(-1), scales, np.zeros(scales.count, dtype=np.int64)))
    assert bits < 10_000 * np.log2(7) * 1.01 + 4 * 301


def test_classes_that_nobody_wrote_are_refused() -> None:
    scales = Scales(BLOCKS)
    writer = Tape()
    integers(writer, np.full(scales.count, 99), count=scales.count)
    with pytest.raises(ValueError, match="classes from 0 to 40"):
        scales.integers(Tape(writer.done()), None, np.zeros(scales.count, dtype=np.int64))


def test_what_is_worth_its_bits_saves_more_than_it_costs() -> None:
    """At equal squared error, fewer bits than plain rounding: both curves at one slope."""
    rng = np.random.default_rng(3)
    scales = Scales([Block("a", 0, (200, 100))])
    before = np.zeros(scales.count, dtype=np.int64)
    moves = rng.laplace(size=20_000)

    def cost(step: float, rounded: bool) -> float:
        steps = moves / step
        taken = np.rint(steps).astype(np.int64) if rounded else worth_sending(steps, scales)
        assert np.abs(taken - steps).max() < 1
        error = ((taken - steps) ** 2).sum() * step**2
        # Bits and error in one sum, at the slope that belongs to a step of 1.5.
        return 8 * len(body_of(taken, scales, before)) + error * 6 / (np.log(2) * 1.5**2)

    plain = min(cost(step, True) for step in (1.2, 1.5, 1.8))
    assert min(cost(step, False) for step in (1.2, 1.5, 1.8)) < 0.98 * plain


def test_small_moves_are_silence() -> None:
    scales = Scales(BLOCKS)
    assert not worth_sending(np.full(SIZE, 0.49), scales).any()
    assert (worth_sending(np.full(SIZE, -3.0), scales) == -3).all()
