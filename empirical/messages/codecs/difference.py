"""What changed since the last message: a replica that all who listen share, around any codec.

Two codecs write the same messages, and differ by what agents pool of their replicas.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor

from empirical.messages.codec import (
    Block,
    Codec,
    Coder,
    Heard,
    Hearing,
    Layout,
    Memory,
    Remembering,
    Said,
    bad_body,
    check_fraction,
    check_said,
    words_of,
)
from empirical.messages.selected import bound, free, free_layout, from_bytes, to_bytes
from theory.validation import fail

# The sign of every number, and one scale for each block ------------------------------------------


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


# What changed since the last message -------------------------------------------------------------


_REPLICA, _INNER = "replica.", "inner."


@dataclass(frozen=True)
class Difference:
    """CHOCO-Gossip (Koloskova et al. 2019): q = Q(y − ŷ) is sent, and all add it to the replica ŷ.

    An agent pools y_i + γ Σ_j W_ij (ŷ_j − ŷ_i), its own replica among them. What Q leaves out is
    sent by later messages, and the network's weighted mean is that of uncompressed pooling whatever
    Q does (docs: mathematics/compressed-messages). With `sign` it is error feedback.

    Of beliefs, mean and log precision have replicas, so that no loss makes a precision negative.

    Parameters
    ----------
    inner
        Q: any codec without a replica of its own.
    mixing
        γ, in (0, 1]; coarse codecs need less than 1, or replicas chatter.

    Raises
    ------
    ValueError
        If `mixing` is out of range, or `inner` has a replica.
    """

    inner: Codec = Sign()
    mixing: float = 0.5
    name: ClassVar[str] = "difference"

    def __post_init__(self) -> None:
        check_fraction("mixing", self.mixing, "give such a number")
        if isinstance(self.inner, Difference | Replica):
            raise _two_replicas(self.inner)

    def words(self) -> dict[str, Any]:
        """Name and settings, those of the inner codec among them."""
        return words_of(self)

    def coder(self, layout: Layout) -> _DifferenceCoder:
        """Fits what the inner codec fits: vectors of the same length that begin at 0."""
        return _DifferenceCoder(layout, *_inside(self.inner, layout), self.mixing)


@dataclass(frozen=True)
class Replica:
    """q = Q(y − ŷ) is sent, all add it to the replica ŷ, and agents pool ŷ in place of y.

    An agent pools W_ii y_i + Σ_j W_ij ŷ_j. Where Q sends some coordinates, and those exactly, that
    is pooling of messages that come late: no choice of coordinates is unstable, and no γ is needed
    (docs: mathematics/compressed-messages). The network's mean is not kept.

    Parameters
    ----------
    inner
        Q: any codec without a replica of its own.

    Raises
    ------
    ValueError
        If `inner` has a replica.
    """

    inner: Codec = Sign()
    name: ClassVar[str] = "replica"

    def __post_init__(self) -> None:
        if isinstance(self.inner, Difference | Replica):
            raise _two_replicas(self.inner)

    def words(self) -> dict[str, Any]:
        """Name and settings, those of the inner codec among them."""
        return words_of(self)

    def coder(self, layout: Layout) -> _ReplicaCoder:
        """As of :meth:`Difference.coder`."""
        return _ReplicaCoder(layout, *_inside(self.inner, layout))


def _inside(inner: Codec, layout: Layout) -> tuple[Layout, Coder]:
    """What replicas begin with, and the coder of changes.

    Raises
    ------
    ValueError
        If the codec does not fit vectors that begin at 0, or has a replica.
    """
    begin = free_layout(layout)
    zeros = {name: torch.zeros_like(values) for name, values in begin.begin.items()}
    try:
        coder = inner.coder(replace(layout, begin=zeros))
    except ValueError as error:
        raise ValueError(f"inner: {error}") from None
    if isinstance(coder, Remembering):
        raise _two_replicas(inner)
    return begin, coder


def _two_replicas(inner: Codec) -> ValueError:
    wanted = "a codec without a replica of its own"
    return fail("inner", wanted, repr(inner.name), "use that codec by itself")


@dataclass(frozen=True, eq=False)
class _ReplicaCoder:
    layout: Layout
    begin: Layout
    inner: Coder

    def memory(self) -> Memory:
        replicas = {_REPLICA + name: values.clone() for name, values in self.begin.begin.items()}
        return {**replicas, **_named(self.inner.memory())}

    def replica(self, memory: Memory) -> dict[str, Tensor]:
        whole = {name: memory[_REPLICA + name].clone() for name in self.begin.names}
        return bound(whole, self.layout.names)

    def encode(self, said: Said, memory: Memory, *, seed: int) -> bytes:
        check_said(said, self.layout)
        change = {name: y - memory[_REPLICA + name] for name, y in free(said).items()}
        inside = _inner(memory)
        if isinstance(self.inner, Hearing):
            written = self.inner.encode_heard(change, inside, seed=seed)
            self._take(written.heard, inside, memory)
            return written.body
        body = self.inner.encode(change, _inner(memory, clone=True), seed=seed)
        self._take(self.inner.decode(body, inside, seed=seed), inside, memory)
        return body

    def decode(self, body: bytes, memory: Memory, *, seed: int) -> Heard:
        inside = _inner(memory)
        self._take(self.inner.decode(body, inside, seed=seed), inside, memory)
        return Heard(self.replica(memory))

    def _take(self, heard: Heard, inside: Memory, memory: Memory) -> None:
        """Into the replica goes what was heard of the change, into the memory the inner codec's."""
        for name, change in heard.vectors.items():
            sent = change if heard.sent is None else torch.where(heard.sent, change, 0.0)
            memory[_REPLICA + name].add_(sent)
        memory.update(_named(inside))


@dataclass(frozen=True, eq=False)
class _DifferenceCoder(_ReplicaCoder):
    """The same, with replicas that are pooled as such."""

    mixing: float


def _inner(memory: Memory, *, clone: bool = False) -> Memory:
    """The inner codec's part of the memory."""
    return {
        name.removeprefix(_INNER): values.clone() if clone else values
        for name, values in memory.items()
        if name.startswith(_INNER)
    }


def _named(inside: Memory) -> Memory:
    return {_INNER + name: values for name, values in inside.items()}
