"""Bounds on an agent's likelihoods, and the sizes that are taken."""

from __future__ import annotations

from dataclasses import dataclass

from theory.showing import Shown

LARGEST = 1e100
"""Beyond it squares, sums over rounds and tilted laws would leave the range of doubles."""


@dataclass(frozen=True)
class LikelihoodBounds(Shown):
    """α = `lower` and L = `upper`: α ≤ ℓ(y | θ, x) ≤ L wherever the agent can observe (x, y)."""

    lower: float
    upper: float


def size_text(size: float) -> str:
    """A power of ten as it is written by hand."""
    return f"{size:g}".replace("e+", "e")
