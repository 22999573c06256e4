"""Sets of coordinates come back, at fewer bits than enumeration where something is known."""

from __future__ import annotations

from itertools import combinations
from math import comb, log2

import numpy as np
import pytest
import torch

from empirical.messages.codec import Block, Layout
from empirical.messages.entropy import Tape
from empirical.messages.selected import (
    FORMER,
    MEMBER,
    Flags,
    Kinds,
    enumeration_bits,
    ranks,
    subset,
)
from tests.empirical.support import refused
from theory.validation import IntArray


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
