"""What a node does alone: once over its images, in a new order; and several of them at once."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import numpy as np
import torch
from torch import Tensor

from empirical.gae.adam import Moments, step
from empirical.gae.passes import Passes
from empirical.gae.recipe import Recipe
from theory.validation import IntArray, fail

Result = TypeVar("Result")


def stream(seed: int, *place: int) -> np.random.Generator:
    """Random numbers of one purpose, by seed and place alone: nothing is to be remembered."""
    state = np.random.SeedSequence(seed, spawn_key=place)
    return np.random.Generator(np.random.SFC64(state))


def epoch(
    passes: Passes,
    weights: Tensor,
    moments: Moments,
    row: int,
    images: IntArray,
    recipe: Recipe,
    random: np.random.Generator,
) -> float:
    """Trains one row of weights, shape (M, d), in place; returns its mean loss on the way, in nats.

    Raises
    ------
    ValueError
        If the loss is not finite.
    """
    order, total = random.permutation(images), 0.0
    for start in range(0, len(order), recipe.batch):
        chosen = order[start : start + recipe.batch]
        loss, gradient = passes.gradient(weights[row], chosen, recipe.dropout, random)
        total += loss
        step(weights, moments, row, gradient, recipe)
    if not np.isfinite(total):
        raise fail(f"loss of node {row}", "a finite number", total, "lower the learning rate")
    return total / len(order)


def side_by_side(work: Callable[[int], Result], rows: int, *, workers: int) -> list[Result]:
    """What `work` gives for each row, in their order, by so many threads of one core each.

    Rows are trained from streams of their own, so that who shares the work changes no bit. After an
    error no other row is begun.
    """
    if workers == 1:
        return [work(row) for row in range(rows)]
    with ThreadPoolExecutor(workers, initializer=torch.set_num_threads, initargs=(1,)) as pool:
        return list(pool.map(work, range(rows)))
