"""The compiled coder, against `constriction`, whose bodies are the same to the last bit."""

from __future__ import annotations

from typing import Any

import constriction
import numpy as np
import pytest

from empirical.messages.entropy import Tape, adaptive, integers
from empirical.messages.range_coder import BORROWED, FIRST, TOTAL, UNIT
from theory.validation import IntArray


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


def body_of(encoder: Any) -> bytes:
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
    assert body == body_of(encoder)
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
        assert body == body_of(encoder), tail
        reader = Tape(body)
        for _ in range(3):
            assert np.array_equal(reader.plain(None, 12, bits=16), plain)
            heard = adaptive(reader, None, count=len(last), prior=prior)
            assert np.array_equal(heard, last)
        reader.end()
    assert carried


def test_what_was_written_can_be_looked_at_and_gone_on_with() -> None:
    writer, again = Tape(), Tape()
    values = np.random.default_rng(1).integers(-40, 40, 500)
    integers(writer, values, count=500)
    first = writer.done()
    assert first == writer.done()
    integers(writer, values, count=500)
    for _ in range(2):
        integers(again, values, count=500)
    assert writer.done() == again.done() != first


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
    writer = Tape()
    integers(writer, values, count=len(values))
    assert writer.done() == body_of(encoder)
