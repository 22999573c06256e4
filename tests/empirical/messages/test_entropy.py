"""Symbols become bytes and symbols again, at their entropy; bodies are those of constriction."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import partial
from math import erfc, sqrt
from typing import Any

import constriction
import numpy as np
import pytest

from empirical.messages.entropy import LARGEST, Tape, adaptive, floats, integers, naturals
from empirical.messages.range_coder import BORROWED, FIRST, TOTAL, UNIT, cumulate
from tests.empirical.support import refused
from theory.validation import IntArray

# What is written comes back, at its price -------------------------------------------------------


def entropy(values: IntArray) -> float:
    """Bits of n values by their own frequencies, computed in exact fractions as far as it goes."""
    counts = np.unique(values, return_counts=True)[1].tolist()
    total = sum(counts)
    return float(sum(-count * np.log2(float(Fraction(count, total))) for count in counts))


def code_length(values: IntArray, scale: float) -> float:
    """Bits by the law of a rounded normal number of this standard deviation."""
    found, counts = np.unique(np.abs(values), return_counts=True)
    tails = [erfc((v - 0.5) / scale / sqrt(2)) - erfc((v + 0.5) / scale / sqrt(2)) for v in found]
    return float(-(counts * np.log2(np.array(tails) / 2)).sum())


def body_of(values: Any, write: Callable[..., Any] = integers, **how: Any) -> bytes:
    writer = Tape()
    write(writer, values, count=len(values), **how)
    return writer.done()


def normals(scale: float, size: int = 50_000) -> IntArray:
    return np.rint(np.random.default_rng(1).normal(size=size) * scale).astype(np.int64)


CONTEXTS = np.random.default_rng(2).integers(0, 40, 100_000)
SPREAD = np.rint(np.random.default_rng(7).normal(size=100_000) * 2.0 ** (CONTEXTS / 8 - 3))
APART = sum(entropy(SPREAD[context == CONTEXTS]) for context in range(40))
FLAGS = (np.random.default_rng(3).random(100_000) < 0.02).astype(np.int64)
SIZES = (2.0 ** np.random.default_rng(6).uniform(0, 20, 20_000)).astype(np.int64)
SIZES[:4] = [0, 1, 2, LARGEST]


def real(dtype: Any) -> tuple[Any, Any, float, float]:
    """Signs and exponents of normal numbers take about 3.6 bits in place of 6 or 9."""
    values = np.random.default_rng(4).normal(size=10_000).astype(dtype)
    values[:3] = [0.0, -0.0, np.finfo(dtype).tiny / 4]
    return values, partial(floats, dtype=dtype), 0.0, 0.93 * 8 * values.nbytes


# Values, how they are written, and bits at least and at most.
PRICES: dict[str, tuple[Any, Any, float, float]] = {
    # Against a coder that knows the law; 1 % and 64 bits are what learning it may cost.
    **{
        f"normal {scale}": (normals(scale), integers, 0.99 * ideal, 1.01 * ideal + 64)
        for scale in (0.3, 1.0, 5.0, 40.0, 3e3)
        for ideal in (code_length(normals(scale), scale),)
    },
    # What each context costs alone, and less than all of them together do.
    "contexts": (
        SPREAD.astype(np.int64),
        partial(integers, contexts=CONTEXTS),
        APART,
        1.02 * APART,
    ),
    "flags": (FLAGS, partial(adaptive, prior=(1, 1)), 0.0, 1.01 * entropy(FLAGS) + 64),
    # The logarithm is uniform: log₂ 20 bits for the length, and the digits, 9.5 on average.
    "naturals": (SIZES, naturals, 0.0, (np.log2(20) + 9.7) * len(SIZES)),
    "float32": real(np.float32),
    "float16": real(np.float16),
    "a prior": (np.array([2, 0, 2]), partial(adaptive, prior=[1, 1, 1]), 0.0, 32.0),
    "none": (np.zeros(0, dtype=np.int64), integers, 0.0, 0.0),
    "zero": (np.zeros(1, dtype=np.int64), integers, 0.0, 32.0),
    "ends": (np.array([LARGEST, -LARGEST, 31, 32, -32, -33, 63, 64]), integers, 0.0, 8 * 40.0),
    "many": (np.arange(-600, 600, 7), integers, 0.0, 16 * 172.0),
}


@pytest.mark.parametrize("what", PRICES)
def test_what_is_written_comes_back_at_its_price(what: str) -> None:
    values, write, least, most = PRICES[what]
    body = body_of(values, write)
    reader = Tape(body)
    assert write(reader, None, count=len(values)).tobytes() == values.tobytes()
    reader.end()
    assert least <= 8 * len(body) <= most
    assert what != "contexts" or most < entropy(values)


def test_too_large_a_number_is_refused() -> None:
    refused("at most 2147483647 in size, got larger ones", body_of, np.array([LARGEST + 1]))


def test_the_coder_takes_a_table_over_to_the_last_unit() -> None:
    """The first symbol that a range decoder reads is where the first 24 bits fall in the table."""
    weights, edges = np.array([5, 0, 1, 10**6, 77]), np.empty(6, dtype=np.int64)
    cumulate(weights, edges)
    assert (edges[0], edges[-1]) == (0, TOTAL)
    assert np.diff(edges).tolist() == table(weights).tolist()
    step = 2**40 - 1  # of the coder's whole range, 2⁶⁴ − 1, in 2²⁴ parts
    for symbol in range(5):
        for unit in (edges[symbol], edges[symbol + 1] - 1):
            point = int(unit) * step + 5
            data = (point >> 32).to_bytes(4, "little") + (point % 2**32).to_bytes(4, "little")
            assert adaptive(Tape(data), None, count=1, prior=weights).tolist() == [symbol]


def test_bytes_that_nobody_wrote_end_in_numbers_or_an_error() -> None:
    rng = np.random.default_rng(5)
    errors = []
    for size in rng.integers(0, 40, 300).tolist():
        reader = Tape(rng.bytes(size))
        try:
            found = integers(reader, None, count=50, contexts=np.arange(50) % 3)
            floats(reader, None, count=5, dtype=np.float32)
            reader.end()
        except ValueError as error:
            errors.append(str(error))
        else:
            assert len(found) == 50
    assert len(errors) > 250
    assert all(error.startswith("body: expected") for error in errors)


def test_bytes_left_over_are_refused() -> None:
    for more in (b"\0", b"12345678"):
        reader = Tape(body_of(np.arange(100)) + more)
        integers(reader, None, count=100)
        refused("nothing after the last symbol", reader.end)


def test_a_body_is_these_bytes_on_every_machine() -> None:
    values = np.array([0, 1, -1, 5, 0, 0, 2, -40, 1000, 0, -3, 70_000])
    assert body_of(values, contexts=np.arange(12) % 2).hex() == "29485101453e61a1e07f973e"


# The compiled coder, against `constriction`, whose bodies are the same to the last bit -----------


def table(weights: IntArray) -> IntArray:
    found: IntArray = 1 + weights * (TOTAL - len(weights)) // weights.sum()
    found[np.argmax(weights)] += TOTAL - found.sum()
    return found


def coded(encoder: Any, values: IntArray, prior: Any, contexts: IntArray) -> None:
    """Context by context, a call of the library for every table."""
    weights = np.asarray(prior, dtype=np.int64)
    base = weights
    for context in np.unique(contexts):
        own, seen, start = values[contexts == context], base.copy(), 0
        while start < len(own):
            stop = min(len(own), max(FIRST, 2 * start))
            model = constriction.stream.model.Categorical(
                (table(seen) - 1).astype(np.float64), perfect=False
            )
            encoder.encode(own[start:stop].astype(np.int32), model)
            seen += UNIT * np.bincount(own[start:stop], minlength=len(seen))
            start = stop
        gained = seen - weights
        base = weights + gained * (BORROWED * UNIT) // max(int(gained.sum()), BORROWED * UNIT)


def librarys(encoder: Any) -> bytes:
    words: Any = encoder.get_compressed()
    found: bytes = words.astype("<u4").tobytes()
    return found.rstrip(b"\0")


@pytest.mark.parametrize("seed", range(40))
def test_bodies_are_the_librarys(seed: int) -> None:
    """Flat and steep laws, few symbols and many, contexts with none, and plain numbers between."""
    rng = np.random.default_rng(seed)
    encoder, writer = constriction.stream.queue.RangeEncoder(), Tape()
    said = []
    for _ in range(3):
        size, count = int(rng.integers(2, 600)), int(rng.integers(0, 3000))
        prior = rng.integers(1, 40, size)
        values = np.minimum(rng.exponential(10 ** rng.uniform(-2, 3), count), size - 1)
        values = values.astype(np.int64)
        contexts = 3 * rng.integers(0, rng.integers(1, 30), count)
        coded(encoder, values, prior, contexts)
        adaptive(writer, values, count=count, prior=prior, contexts=contexts)
        bits = int(rng.integers(1, 17))
        plain = rng.integers(0, 2**bits, 20)
        encoder.encode(plain.astype(np.int32), constriction.stream.model.Uniform(1 << bits))
        writer.plain(plain, 20, bits=bits)
        said.append((prior, contexts, values, bits, plain))
    body = writer.done()
    assert body == librarys(encoder)
    reader = Tape(body)
    for prior, contexts, values, bits, plain in said:
        heard = adaptive(reader, None, count=len(values), prior=prior, contexts=contexts)
        assert np.array_equal(heard, values)
        assert np.array_equal(reader.plain(None, 20, bits=bits), plain)
    reader.end()


def test_carries_reach_words_that_wait() -> None:
    """Symbols at the upper end of the interval, so that words wait for a carry; then any."""
    rng = np.random.default_rng(0)
    prior = [1, 1, 2**20]
    carried = 0
    for tail in range(200):
        last = np.concatenate([np.full(30, 2), rng.integers(0, 3, 40)])
        plain = np.full(12, 2**16 - 1)
        encoder, writer = constriction.stream.queue.RangeEncoder(), Tape()
        for _ in range(3):
            encoder.encode(plain.astype(np.int32), constriction.stream.model.Uniform(1 << 16))
            writer.plain(plain, 12, bits=16)
            coded(encoder, last, prior, np.zeros(len(last), dtype=np.int64))
            adaptive(writer, last, count=len(last), prior=prior)
            carried += int(writer._state[2] > 0)
        body = writer.done()
        assert body == librarys(encoder), tail
        reader = Tape(body)
        for _ in range(3):
            assert np.array_equal(reader.plain(None, 12, bits=16), plain)
            assert np.array_equal(adaptive(reader, None, count=len(last), prior=prior), last)
        reader.end()
    assert carried


def test_what_was_written_can_be_looked_at_and_gone_on_with() -> None:
    writer, values = Tape(), np.random.default_rng(1).integers(-40, 40, 500)
    integers(writer, values, count=500)
    first = writer.done()
    assert first == writer.done() == body_of(values)
    integers(writer, values, count=500)
    reader = Tape(writer.done())
    for _ in range(2):
        assert np.array_equal(integers(reader, None, count=500), values)


def test_numbers_are_symbols_and_what_is_left() -> None:
    """Zigzag in Python's integers: below 64 a symbol; above, the leading three bits and length."""
    values = np.array([0, -1, 1, 31, -32, 32, -33, 40, 100, -1000, 2**31 - 1, 1 - 2**31])
    encoder = constriction.stream.queue.RangeEncoder()
    symbols, rest = [], []
    for value in values.tolist():
        number = 2 * value if value >= 0 else -2 * value - 1
        if number < 64:
            symbols.append(number)
            continue
        bits = number.bit_length() - 3
        symbols.append(64 + 4 * (number.bit_length() - 7) + (number >> bits) - 4)
        rest.append((bits, number & ((1 << bits) - 1)))
    prior = [max(1, 32 // (2 + symbol)) for symbol in range(168)]
    coded(encoder, np.array(symbols), prior, np.zeros(len(values), dtype=np.int64))
    for bits in sorted({size for size, _ in rest}):
        some = [low for size, low in rest if size == bits]
        for shift in range(0, bits, 16):
            width = min(16, bits - shift)
            part = [low >> shift & ((1 << width) - 1) for low in some]
            encoder.encode(
                np.array(part, dtype=np.int32), constriction.stream.model.Uniform(1 << width)
            )
    assert body_of(values) == librarys(encoder)
