"""Parts of an agent's examples: training, and what is held out of it.

What is drawn depends on a seed, on what is drawn (validation or test) and on the agent's name
alone: agents that come or go, and their order, change nothing for the others.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from theory.validation import IntArray, as_integer, as_probability


@dataclass(frozen=True, eq=False)
class Split:
    """Positions of examples that are kept and that are held out: sorted, together all of them."""

    kept: IntArray
    held: IntArray


def generator(seed: int, *words: str) -> np.random.Generator:
    """The random numbers of one purpose, such as ``"validation"`` for agent ``"mast"``.

    Raises
    ------
    ValueError
        If the seed is no whole number of at least 0.
    """
    digest = hashlib.sha256("\0".join(words).encode("utf-8", "surrogatepass")).digest()
    key = int.from_bytes(digest[:16], "little")
    return np.random.default_rng([as_integer("seed", seed, minimum=0), key])


def split_rows(size: int, share: float, rng: np.random.Generator) -> Split:
    """Hold out round(share · size) of the rows at random, one at least and not all.

    A single row is kept.

    Raises
    ------
    ValueError
        If the share is not in [0, 1).

    Examples
    --------
    >>> split = split_rows(10, 0.2, np.random.default_rng(0))
    >>> len(split.kept), len(split.held)
    (8, 2)
    """
    held = _held(size, share, size - 1)
    order = rng.permutation(size)
    return Split(np.sort(order[held:]), np.sort(order[:held]))


def split_by_class(labels: ArrayLike, share: float, rng: np.random.Generator) -> Split:
    """Hold out round(share · n) examples, of each class in proportion.

    Every class keeps one example at least. One of each class that has two is held out too, if as
    many are held out as there are such classes. The numbers held out are otherwise those nearest to
    the proportional ones; fewer than round(share · n) only where too many classes have a single
    example.

    Parameters
    ----------
    labels
        Shape (n,): the class of each example.

    Raises
    ------
    ValueError
        If the share is not in [0, 1).
    """
    values, numbers = np.unique(np.asarray(labels), return_inverse=True)
    counts = np.bincount(numbers, minlength=len(values))
    held = _held(len(numbers), share, int((counts - 1).sum()))
    each = _allotted(counts, held, share)
    chosen = [
        rng.permutation(np.flatnonzero(numbers == label))[:number]
        for label, number in enumerate(each)
    ]
    out = np.sort(np.concatenate(chosen)) if held else np.empty(0, dtype=np.int64)
    return Split(np.setdiff1d(np.arange(len(numbers)), out, assume_unique=True), out)


def _held(size: int, share: float, most: int) -> int:
    if share == 0:
        return 0
    return min(max(round(as_probability("share", share) * size), 1), most)


def _allotted(counts: IntArray, held: int, share: float) -> IntArray:
    """How many of each class are held out, in all `held` ≤ Σ (count − 1)."""
    most = counts - 1
    fair = share * counts
    least = np.minimum(most, 1) if held >= (most > 0).sum() else np.zeros_like(counts)
    each = np.clip(np.floor(fair).astype(np.int64), least, most)
    while (missing := held - int(each.sum())) != 0:
        step = 1 if missing > 0 else -1
        movable = each < most if step > 0 else each > least
        need = np.where(movable, step * (fair - each), -np.inf)
        each[np.argsort(-need, kind="stable")[: min(abs(missing), int(movable.sum()))]] += step
    return np.asarray(each)
