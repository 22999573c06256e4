"""Messages of made-up nets, for tests of what is said about them."""

from __future__ import annotations

import torch
from torch import Tensor

from empirical.messages.codec import Block, Layout

# Of a point net; of a belief; of a belief with a pooled gradient.
NAMES = {
    "mean": ("mean",),
    "belief": ("precision", "shift"),
    "sites": ("precision", "shift", "gradient"),
}


def layout_of(size: int, names: tuple[str, ...] = ("mean",)) -> Layout:
    """One matrix as square as it can be, and the rest as a bias."""
    begin = {name: 0.1 * values for name, values in message(size, names, seed=5).items()}
    if "precision" in names:
        begin["precision"] = torch.full((size,), 100.0)
    side = int(size**0.5)
    blocks = (Block("0.weight", 0, (side, side)), Block("0.bias", side * side, (size - side**2,)))
    return Layout(begin, tuple(block for block in blocks if 0 not in block.shape))


def message(size: int, names: tuple[str, ...], *, seed: int) -> dict[str, Tensor]:
    """Random weights, of beliefs with random precisions around a hundred."""
    generator = torch.Generator().manual_seed(seed)
    said = {name: torch.randn(size, generator=generator) for name in names}
    if "precision" in names:
        said["precision"] = 100.0 * torch.exp(0.5 * said["precision"])
        said["shift"] = said["precision"] * said["shift"]
    return said
