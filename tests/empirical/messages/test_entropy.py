"""Symbols become bytes and symbols again, at the price of their entropy."""

from __future__ import annotations

from fractions import Fraction
from math import erfc, sqrt
from typing import Any

import numpy as np
import pytest

from empirical.messages.entropy import (
    LARGEST,
    Tape,
    adaptive,
    floats,
    integers,
    naturals,
)
from empirical.messages.range_coder import TOTAL, cumulate
from tests.empirical.support import refused
from theory.validation import IntArray


def table(weights: Any) -> IntArray:
    """The probabilities of a model with these weights, in units of 2⁻²⁴."""
    edges = np.empty(len(weights) + 1, dtype=np.int64)
    cumulate(np.asarray(weights, dtype=np.int64), edges)
    assert edges[0] == 0
    return np.diff(edges)


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


def written(values: IntArray, contexts: Any = None) -> bytes:
    writer = Tape()
    integers(writer, values, count=len(values), contexts=contexts)
    return writer.done()


def test_a_table_is_integers_that_sum_to_one() -> None:
    rng = np.random.default_rng(0)
    for size in (2, 3, 17, 300):
        for weights in (rng.integers(0, 10**6, size), np.eye(size, dtype=int)[0]):
            found = table(weights)
            assert found.min() >= 1
            assert sum(map(int, found)) == TOTAL
            for place in np.argsort(weights)[:-1].tolist():
                share = Fraction(int(weights[place]), int(weights.sum()))
                assert 0 <= 1 + share * (TOTAL - size) - int(found[place]) < 1


def test_the_coder_takes_a_table_over_to_the_last_unit() -> None:
    """The first symbol that a range decoder reads is where the first 24 bits fall in the table."""
    weights = [5, 0, 1, 10**6, 77]
    edges = np.concatenate([[0], np.cumsum(table(weights))])
    step = 2**40 - 1  # of the coder's whole range, 2⁶⁴ − 1, in 2²⁴ parts
    for symbol in range(5):
        for unit in (edges[symbol], edges[symbol + 1] - 1):
            point = int(unit) * step + 5
            data = (point >> 32).to_bytes(4, "little") + (point % 2**32).to_bytes(4, "little")
            assert adaptive(Tape(data), None, count=1, prior=weights).tolist() == [symbol]


@pytest.mark.parametrize("scale", [0.3, 1.0, 5.0, 40.0, 3e3])
def test_integers_come_back_at_their_entropy(scale: float) -> None:
    values = np.rint(np.random.default_rng(1).normal(size=50_000) * scale).astype(np.int64)
    body = written(values)
    reader = Tape(body)
    assert np.array_equal(integers(reader, None, count=len(values)), values)
    reader.end()
    # Against a coder that knows the law; 1 % and 64 bits are what learning it may cost.
    ideal = code_length(values, scale)
    assert 0.99 * ideal < 8 * len(body) < 1.01 * ideal + 64


def test_contexts_pay_what_each_costs_alone() -> None:
    rng = np.random.default_rng(2)
    contexts = rng.integers(0, 40, 100_000)
    values = np.rint(rng.normal(size=100_000) * 2.0 ** (contexts / 8 - 3)).astype(np.int64)
    body = written(values, contexts)
    reader = Tape(body)
    assert np.array_equal(integers(reader, None, count=len(values), contexts=contexts), values)
    reader.end()
    apart = sum(entropy(values[contexts == context]) for context in range(40))
    assert apart < 8 * len(body) < 1.02 * apart < entropy(values)


@pytest.mark.parametrize(
    "values",
    [[], [0], [LARGEST, -LARGEST, 0, 31, 32, -32, -33, 63, 64], list(range(-600, 600, 7))],
)
def test_any_integers_come_back(values: list[int]) -> None:
    given = np.array(values, dtype=np.int64)
    reader = Tape(written(given))
    assert integers(reader, None, count=len(given)).tolist() == values
    reader.end()


def test_too_large_a_number_is_refused() -> None:
    refused("at most 2147483647 in size, got larger ones", written, np.array([LARGEST + 1]))


def test_flags_cost_their_entropy() -> None:
    values = (np.random.default_rng(3).random(100_000) < 0.02).astype(np.int64)
    writer = Tape()
    adaptive(writer, values, count=len(values), prior=(1, 1))
    body = writer.done()
    reader = Tape(body)
    assert np.array_equal(adaptive(reader, None, count=len(values), prior=(1, 1)), values)
    assert 8 * len(body) < 1.01 * entropy(values) + 64


def test_naturals_pay_for_no_sign() -> None:
    values = (2.0 ** np.random.default_rng(6).uniform(0, 20, 20_000)).astype(np.int64)
    values[:4] = [0, 1, 2, LARGEST]
    writer = Tape()
    naturals(writer, values, count=len(values))
    body = writer.done()
    reader = Tape(body)
    assert np.array_equal(naturals(reader, None, count=len(values)), values)
    # The logarithm is uniform: log₂ 20 bits for the length, and the digits, 9.5 on average.
    assert 8 * len(body) / len(values) < np.log2(20) + 9.5 + 0.2


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_floats_come_back_to_the_last_bit(dtype: Any) -> None:
    values = np.random.default_rng(4).normal(size=10_000).astype(dtype)
    values[:3] = [0.0, -0.0, np.finfo(dtype).tiny / 4]
    writer = Tape()
    floats(writer, values, count=len(values), dtype=dtype)
    body = writer.done()
    reader = Tape(body)
    assert floats(reader, None, count=len(values), dtype=dtype).tobytes() == values.tobytes()
    # Signs and exponents of normal numbers take about 3.6 bits in place of 6 or 9.
    assert len(body) < 0.93 * values.nbytes


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
    body = written(np.arange(100))
    for more in (b"\0", b"12345678"):
        reader = Tape(body + more)
        integers(reader, None, count=100)
        refused("nothing after the last symbol", reader.end)


def test_a_body_is_these_bytes_on_every_machine() -> None:
    values = np.array([0, 1, -1, 5, 0, 0, 2, -40, 1000, 0, -3, 70_000])
    assert written(values, np.arange(12) % 2).hex() == "29485101453e61a1e07f973e"


def test_a_prior_says_how_many_symbols_there_are() -> None:
    writer = Tape()
    adaptive(writer, np.array([2, 0, 2]), count=3, prior=[1, 1, 1])
    reader = Tape(writer.done())
    assert adaptive(reader, None, count=3, prior=[1, 1, 1]).tolist() == [2, 0, 2]
