"""Messages of made-up nets, and a codec of one's own, for tests of what is said about them."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from empirical.messages.codec import Block, Heard, Layout, Memory, Said

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


class Own:
    """A codec that is of none of ours: it counts its messages in place, and has to read its bodies.

    What is heard is what was said times `factor`; `seeds` are those that it was given.
    """

    name = "own"

    def __init__(self, factor: float = 1.0) -> None:
        self.factor, self.seeds = factor, set[int]()

    def words(self) -> dict[str, Any]:
        return {"codec": self.name}

    def coder(self, layout: Layout) -> Own:
        self._names = layout.names
        return self

    def memory(self) -> Memory:
        return {"count": torch.zeros(1, dtype=torch.int64)}

    def encode(self, said: Said, memory: Memory, *, seed: int) -> bytes:
        self.seeds.add(seed)
        memory["count"].add_(1)
        values = torch.cat([said[name] for name in self._names])
        return bytes([int(memory["count"])]) + values.numpy().tobytes()

    def decode(self, body: bytes, memory: Memory, *, seed: int) -> Heard:
        self.seeds.add(seed)
        memory["count"].add_(1)
        if int(memory["count"]) != body[0]:
            raise ValueError(f"body: expected message {int(memory['count'])}, got {body[0]}")
        values = self.factor * torch.frombuffer(bytearray(body[1:]), dtype=torch.float32)
        return Heard(dict(zip(self._names, values.chunk(len(self._names)), strict=True)))
