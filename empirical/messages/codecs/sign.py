"""The sign of every number, and one scale for each block."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor

from empirical.messages.checks import bad_body, check_said, words_of
from empirical.messages.codec import Block, Heard, Layout, Memory, Said
from empirical.messages.coordinates import bound, free, free_layout
from empirical.messages.numbers import from_bytes, to_bytes


@dataclass(frozen=True)
class Sign:
    """One bit a number: sign(x) times the mean of |x| over its block (Karimireddy et al. 2019).

    Of beliefs, mean and log precision are written. Alone it says little of weights; around a
    replica (:class:`~empirical.messages.codecs.difference.Difference`) what it leaves out is sent
    later, which is their error feedback.
    """

    name: ClassVar[str] = "sign"

    def words(self) -> dict[str, Any]:
        """Name and settings."""
        return words_of(self)

    def coder(self, layout: Layout) -> _SignCoder:
        """Fits every layout."""
        return _SignCoder(self, layout, free_layout(layout))


@dataclass(frozen=True, eq=False)
class _SignCoder:
    codec: Sign
    layout: Layout
    free: Layout

    def memory(self) -> Memory:
        return {}

    def encode(self, said: Said, memory: Memory, *, seed: int) -> bytes:
        check_said(said, self.layout)
        parts = []
        for values in free(said).values():
            means = [values[own].double().abs().mean() for own in map(_slice, self.layout.blocks)]
            parts.append(to_bytes(torch.stack(means).float()))
            parts.append(np.packbits((values < 0).numpy()).tobytes())
        return b"".join(parts)

    def decode(self, body: bytes, memory: Memory, *, seed: int) -> Heard:
        size, blocks = self.layout.size, self.layout.blocks
        scales, bits = 4 * len(blocks), -(-size // 8)
        if len(body) != (scales + bits) * len(self.layout.names):
            wanted = f"{(scales + bits) * len(self.layout.names)} bytes"
            raise bad_body(self.codec.name, wanted, len(body))
        vectors = {}
        for k, name in enumerate(self.free.names):
            part = body[k * (scales + bits) : (k + 1) * (scales + bits)]
            vectors[name] = self._read(part[:scales], part[scales:])
        return Heard(bound(vectors, self.layout.names))

    def _read(self, scales: bytes, bits: bytes) -> Tensor:
        """One vector."""
        each = from_bytes(scales, torch.float32)
        if not (torch.isfinite(each).all() and (each >= 0).all()):
            raise bad_body(self.codec.name, "scales of at least 0", "others")
        flags = np.unpackbits(np.frombuffer(bits, dtype=np.uint8))
        if flags[self.layout.size :].any():
            raise bad_body(self.codec.name, "zeros after the last sign", "ones")
        values = torch.from_numpy(1.0 - 2.0 * flags[: self.layout.size].astype(np.float32))
        for scale, block in zip(each, self.layout.blocks, strict=True):
            values[_slice(block)] *= scale
        return values


def _slice(block: Block) -> slice:
    return slice(block.start, block.start + int(np.prod(block.shape)))
