"""Batches: what an agent sees in a round in which it draws several independent observations.

Its update multiplies their likelihoods, so that a batch counts by how often each outcome is in it
and not by their order (docs: mathematics/rate). A batch of B observations of O outcomes is one of
(B + O − 1 choose O − 1) *types*, the vectors of counts c, and not one of O^B sequences:

    P(c) = B! / (c_1! ⋯ c_O!) · p_1^c_1 ⋯ p_O^c_O,        log ℓ(c | θ) = Σ_o c_o log ℓ(o | θ).

The number of sequences of a type is common to all hypotheses and left out of the likelihood, so
that the bounds α ≤ ℓ ≤ L of the papers become α^B and L^B.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import combinations
from math import comb, factorial, prod
from typing import TYPE_CHECKING

import numpy as np

from theory.showing import Shown
from theory.validation import FloatArray, IntArray, as_integer, fail, read_only

if TYPE_CHECKING:
    import flint

# Types of a batch that are listed, and numbers in the table of their likelihoods (64 MiB).
_MOST_TYPES = 1 << 16
_MOST_ENTRIES = 1 << 23
# A rarer type would fall out of the range of doubles, and with it out of what is certified.
_RAREST = 1e-290
# Bits at which probabilities of types are computed, many more than a double has.
_BITS = 256


def as_batch(batch: object) -> int:
    """A number of observations a round.

    Raises
    ------
    ValueError
        If it is not a whole number of at least 1.
    """
    return as_integer("batch", batch, minimum=1)


def as_batches(batch: object, agents: int) -> list[int]:
    """One number of observations a round for each agent.

    Raises
    ------
    ValueError
        If a number is not whole and at least 1, or there is not one for each agent.
    """
    if isinstance(batch, int | np.integer) and not isinstance(batch, bool):
        return [as_batch(batch)] * agents
    if isinstance(batch, str) or not isinstance(batch, Sequence | np.ndarray):
        wanted = "a whole number of at least 1, or a list of them, one an agent"
        raise fail("batch", wanted, repr(batch), "such as batch=4")
    if len(batch) != agents:
        wanted = f"one number for all, or one for each of {agents} agents"
        raise fail("batch", wanted, f"{len(batch)}", "match them")
    return [as_integer(f"batch[{i}]", size, minimum=1) for i, size in enumerate(list(batch))]


@dataclass(frozen=True)
class BatchedKinds(Shown):
    """The kinds of agents of a model once batches tell agents of one kind apart.

    `pairs` holds the old kind and the batch of each new kind, `assignment` the new kind of each
    agent. A kind whose agents all draw alike keeps its place.
    """

    pairs: tuple[tuple[int, int], ...]
    assignment: tuple[int, ...]

    @classmethod
    def of(cls, assignment: Iterable[int], batches: Iterable[int], kinds: int) -> BatchedKinds:
        """From the kind and the batch of each agent."""
        agents = list(zip(assignment, batches, strict=True))
        drawn: list[set[int]] = [set() for _ in range(kinds)]
        for kind, batch in agents:
            drawn[kind].add(batch)
        pairs = [(kind, batch) for kind in range(kinds) for batch in sorted(drawn[kind] or {1})]
        place = {pair: index for index, pair in enumerate(pairs)}
        return cls(tuple(pairs), tuple(place[agent] for agent in agents))


@lru_cache(maxsize=64)
def type_counts(outcomes: int, batch: int, *, rows: int = 1) -> IntArray:
    """All types of batches: counts of the outcomes, shape (T, O); each row sums to `batch`.

    `rows` is the number of numbers that will be stored for each of them.

    Raises
    ------
    ValueError
        If there are more than 65 536 types, or eight million numbers to store.

    Examples
    --------
    >>> type_counts(2, 3).tolist()
    [[0, 3], [1, 2], [2, 1], [3, 0]]
    """
    types = comb(batch + outcomes - 1, outcomes - 1)
    most = min(_MOST_TYPES, _MOST_ENTRIES // rows)
    if types > most:
        raise fail(
            "batch",
            f"batches of at most {most} types (how often each outcome is in a batch)",
            f"{types if types < 10**15 else 'more than 10^15'}, of {batch} observations with "
            f"{outcomes} outcomes that hypotheses explain differently",
            "lower the batch, or group outcomes",
        )
    bars = np.array(list(combinations(range(batch + outcomes - 1), outcomes - 1)), dtype=np.int64)
    ends = np.full((types, 1), batch + outcomes - 1)
    edges = np.hstack([np.full((types, 1), -1), bars.reshape(types, outcomes - 1), ends])
    return read_only(np.diff(edges, axis=1) - 1)


def type_sizes(counts: IntArray) -> list[int]:
    """How many sequences of observations each type has: the multinomial coefficients."""
    factorials = [factorial(c) for c in range(int(counts.sum(axis=1).max()) + 1)]
    return [factorials[sum(row)] // prod(factorials[c] for c in row) for row in counts.tolist()]


def type_law(probabilities: FloatArray, counts: IntArray) -> FloatArray:
    """The probability of each type, shape (T,), each correct to a rounding.

    What `probabilities` lack to one, by rounding, is shared out among them in proportion.

    Raises
    ------
    ValueError
        If a type that may occur is rarer than 1e-290.

    Examples
    --------
    >>> type_law(np.array([0.5, 0.5]), type_counts(2, 3)).tolist()
    [0.125, 0.375, 0.375, 0.125]
    """
    return _weights(probabilities, counts, normalised=True)


def type_weights(weights: FloatArray, counts: IntArray) -> FloatArray:
    """(B; c) w_1^c_1 ⋯ w_O^c_O of each type c, shape (T,), each correct to a rounding.

    Raises
    ------
    ValueError
        If one of them is above 0 and below 1e-290.
    """
    return _weights(weights, counts, normalised=False)


def _weights(weights: FloatArray, counts: IntArray, *, normalised: bool) -> FloatArray:
    import flint

    from theory.numbers.enclosure import precision

    batch = int(counts[0].sum())
    with precision(_BITS):
        balls = [flint.arb(weight) for weight in weights.tolist()]
        total = sum(balls, flint.arb(0)) if normalised else flint.arb(1)
        # Moving counts from one outcome to another is log-concave: one outcome alone is rarest.
        if float((flint.arb(float(weights[weights > 0].min())) / total) ** batch) < _RAREST:
            raise fail(
                "batch",
                f"batches none of whose types is rarer than {_RAREST:g}",
                f"batches of {batch} of outcomes as rare as {weights[weights > 0].min():.3g}",
                "lower the batch",
            )
        powers = [[(ball / total) ** c for c in range(batch + 1)] for ball in balls]
        found = [
            float(_product(flint.arb(size), (powers[o][c] for o, c in enumerate(row))))
            for size, row in zip(type_sizes(counts), counts.tolist(), strict=True)
        ]
    return np.array(found)


def exact_type_weights(weights: Sequence[Fraction], counts: IntArray) -> tuple[Fraction, ...]:
    """(B; c) w_1^c_1 ⋯ w_O^c_O of each type c, exactly."""
    products = exact_products(weights, counts)
    return tuple(size * x for size, x in zip(type_sizes(counts), products, strict=True))


def exact_products(values: Sequence[Fraction], counts: IntArray) -> tuple[Fraction, ...]:
    """x_1^c_1 ⋯ x_O^c_O of each type c, exactly."""
    most = int(counts.max())
    powers = [[value**c for c in range(most + 1)] for value in values]
    one = Fraction(1)
    return tuple(
        prod((powers[o][c] for o, c in enumerate(row)), start=one) for row in counts.tolist()
    )


def exact_sums(values: Sequence[Fraction], counts: IntArray) -> tuple[Fraction, ...]:
    """c_1 x_1 + ⋯ + c_O x_O of each type c, exactly."""
    return tuple(
        sum((c * x for c, x in zip(row, values, strict=True) if c), Fraction(0))
        for row in counts.tolist()
    )


def alike(columns: FloatArray) -> tuple[FloatArray, IntArray]:
    """The distinct columns of a table, and which of them each column is."""
    distinct, which = np.unique(columns, axis=1, return_inverse=True)
    return distinct, which.ravel().astype(np.int64)


def totals(which: IntArray, weights: FloatArray) -> FloatArray:
    """The weights of each group of columns together."""
    return np.bincount(which, weights=weights).astype(np.float64)


def _product(start: flint.arb, factors: Iterable[flint.arb]) -> flint.arb:
    for factor in factors:
        start *= factor
    return start
