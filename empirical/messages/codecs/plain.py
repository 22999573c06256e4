"""All numbers as they are, or rounded to half the bytes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor

from empirical.messages.checks import bad_body, check_said, words_of
from empirical.messages.codec import Heard, Layout, Memory, Said, Written
from empirical.messages.coordinates import PRECISION
from empirical.messages.numbers import KINDS, from_bytes, to_bytes
from theory.validation import fail


@dataclass(frozen=True)
class Plain:
    """Every number in one of three formats, in little-endian order.

    Parameters
    ----------
    kind
        ``"float32"``, without loss; ``"float16"``, 11 bits of precision, no number beyond 65 504;
        ``"bfloat16"``, 8 bits and the range of float32.

    Raises
    ------
    ValueError
        If `kind` is none of them.
    """

    kind: str = "float32"
    name: ClassVar[str] = "plain"

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise fail("kind", " or ".join(KINDS), repr(self.kind), "choose one of them")

    def words(self) -> dict[str, Any]:
        """Name and settings."""
        return words_of(self)

    def coder(self, layout: Layout) -> _PlainCoder:
        """Fits every layout."""
        return _PlainCoder(self, layout)


@dataclass(frozen=True, eq=False)
class _PlainCoder:
    codec: Plain
    layout: Layout

    def memory(self) -> Memory:
        return {}

    def encode(self, said: Said, memory: Memory, *, seed: int) -> bytes:
        return self.encode_heard(said, memory, seed=seed).body

    def encode_heard(self, said: Said, memory: Memory, *, seed: int) -> Written:
        check_said(said, self.layout)
        kind, parts = KINDS[self.codec.kind], []
        heard: dict[str, Tensor] = {}
        for name, values in said.items():
            rounded = values.to(kind)
            if not torch.isfinite(rounded).all() or _loses_sign(name, values, rounded):
                raise fail(
                    name, f"numbers that {self.codec.kind} holds", "some out of its range",
                    "choose bfloat16 or float32",
                )  # fmt: skip
            parts.append(to_bytes(rounded))
            heard[name] = rounded.float() if rounded.dtype != values.dtype else values.clone()
        return Written(b"".join(parts), Heard(heard))

    def decode(self, body: bytes, memory: Memory, *, seed: int) -> Heard:
        kind, size = KINDS[self.codec.kind], self.layout.size
        width = size * kind.itemsize
        if len(body) != width * len(self.layout.names):
            wanted = f"{width * len(self.layout.names)} bytes"
            raise bad_body(self.codec.name, wanted, len(body))
        vectors: dict[str, Tensor] = {}
        for k, name in enumerate(self.layout.names):
            vectors[name] = from_bytes(body[k * width : (k + 1) * width], kind).float()
            if not torch.isfinite(vectors[name]).all():
                raise bad_body(self.codec.name, f"finite numbers of {name}", "others")
        return Heard(vectors)


def _loses_sign(name: str, values: Tensor, rounded: Tensor) -> bool:
    """Whether a precision became 0."""
    return name == PRECISION and bool(((rounded <= 0) & (values > 0)).any())
