"""What a node does alone: once over its images, in a new order."""

from __future__ import annotations

import numpy as np
from torch import Tensor

from empirical.gae.adam import Moments, step
from empirical.gae.passes import Passes
from empirical.gae.recipe import Recipe
from theory.validation import IntArray, fail


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
