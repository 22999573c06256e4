"""Adam on the rows of one tensor, as the library of the paper's authors has it.

    m ← β₁ m + (1 − β₁) g,   v ← β₂ v + (1 − β₂) g²,
    θ ← θ − η √(1 − β₂ᵗ) / (1 − β₁ᵗ) · m / (√v + ε),

with ε added to the root as it is; other libraries correct the root's bias first. The moments are
of a row and not of a step: a merge of weights leaves them alone.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from empirical.gae.recipe import Recipe


@dataclass(frozen=True, eq=False)
class Moments:
    """What Adam remembers of M rows.

    Attributes
    ----------
    first, second
        Means of gradients and of their squares, shape (M, d).
    steps
        Steps so far, shape (M,), int64.
    """

    first: Tensor
    second: Tensor
    steps: Tensor

    @classmethod
    def none(cls, weights: Tensor) -> Moments:
        """Those before the first step."""
        steps = torch.zeros(len(weights), dtype=torch.int64)
        return cls(torch.zeros_like(weights), torch.zeros_like(weights), steps)


def step(
    weights: Tensor, moments: Moments, row: int, gradient: Tensor, recipe: Recipe | None = None
) -> None:
    """One step of one row, in place; without a recipe, by the library's defaults."""
    own = recipe or _DEFAULTS
    moments.steps[row] += 1
    count = int(moments.steps[row])
    first, second = moments.first[row], moments.second[row]
    first.lerp_(gradient, 1 - own.first_decay)
    second.mul_(own.second_decay).addcmul_(gradient, gradient, value=1 - own.second_decay)
    scale = own.rate * math.sqrt(1 - own.second_decay**count) / (1 - own.first_decay**count)
    weights[row].addcdiv_(first, second.sqrt().add_(own.epsilon), value=-scale)


_DEFAULTS = Recipe()
