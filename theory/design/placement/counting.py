"""How many placements there are, and how many classes of equivalent ones."""

from __future__ import annotations

from collections.abc import Sequence
from math import comb, factorial, prod

# Steps of the count of classes, for a fraction of a second.
_MOST_STEPS = 100_000


def arrangements(counts: Sequence[int]) -> int:
    """In how many orders so many things of each sort can be laid out: a multinomial coefficient."""
    return factorial(sum(counts)) // prod(factorial(n) for n in counts)


def count_classes(sizes: Sequence[int], stock: Sequence[int]) -> int | None:
    """How many tables of counts have these sums by row and by column; None if it takes long.

    Rows are groups of equal agents, columns sorts of equal data sets.
    """
    present = tuple(n for n in stock if n)
    if all(n == 1 for n in present):
        return arrangements(sizes)
    if all(n == 1 for n in sizes):
        return arrangements(present)
    ways, steps = {present: 1}, 0
    for size in sizes:
        following: dict[tuple[int, ...], int] = {}
        for left, count in ways.items():
            # A bound on how many ways there are to take so many, before they are listed.
            steps += comb(size + len(left) - 1, len(left) - 1)
            if steps > _MOST_STEPS:
                return None
            for share in shares(left, size):
                rest = tuple(a - b for a, b in zip(left, share, strict=True))
                following[rest] = following.get(rest, 0) + count
        ways = following
    return sum(ways.values())


def shares(left: Sequence[int], size: int) -> list[tuple[int, ...]]:
    """The ways to take `size` data sets from a stock, how many of each sort."""
    if not left:
        return [()] if size == 0 else []
    later = sum(left[1:])
    return [
        (take, *rest)
        for take in range(max(0, size - later), min(left[0], size) + 1)
        for rest in shares(left[1:], size - take)
    ]
