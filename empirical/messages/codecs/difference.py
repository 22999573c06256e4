"""What changed since the last message: a replica that all who listen share, around any codec.

Two codecs write the same messages, and differ by what agents pool of their replicas.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import prod
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor

from empirical.messages.codec import (
    Codec,
    Coder,
    Heard,
    Layout,
    Memory,
    Remembering,
    Said,
    TwoWay,
    check_said,
    fraction,
)
from empirical.messages.codecs.plain import Packed, PackedTape
from empirical.messages.selected import bound, free, free_layout
from theory.validation import fail

# The sign of every number, and one scale for each block ------------------------------------------


class SignCoder(Packed):
    """The codec for messages of one layout; it remembers nothing."""

    def __init__(self, codec: Sign, layout: Layout) -> None:
        super().__init__(codec, layout)
        self._names = free_layout(layout).names
        self._sizes = [prod(block.shape) for block in layout.blocks]
        self.body_bytes = (4 * len(self._sizes) + -(-layout.size // 8)) * len(layout.names)

    def told(
        self, tape: PackedTape, memory: Memory, said: Said | None, *, seed: int, pace: float
    ) -> dict[str, tuple[Tensor, Tensor]]:
        """Of each vector: the scales of blocks, and bits that are 1 for negative numbers."""
        size, parts = self.layout.size, {}
        given = dict.fromkeys(self._names) if said is None else free(said)
        for name, values in given.items():
            scales = bits = None
            if values is not None:
                blocks = torch.split_with_sizes(values.double().abs(), self._sizes)
                scales = torch.stack([block.mean() for block in blocks]).float()
                bits = torch.from_numpy(np.packbits((values < 0).numpy()))
            scales = tape.numbers(scales, len(self._sizes), torch.float32)
            bits = tape.numbers(bits, -(-size // 8), torch.uint8)
            if values is None and not (torch.isfinite(scales).all() and (scales >= 0).all()):
                raise self.bad_body("scales of at least 0", "others")
            if size % 8 and int(bits[-1]) & (0xFF >> size % 8):
                raise self.bad_body("zeros after the last sign", "ones")
            parts[name] = scales, bits
        return parts

    def heard(self, memory: Memory, parts: Mapping[str, tuple[Tensor, Tensor]]) -> Heard:
        vectors = {}
        for name, (scales, bits) in parts.items():
            flags = np.unpackbits(bits.numpy(), count=self.layout.size)
            vectors[name] = torch.from_numpy(1.0 - 2.0 * flags.astype(np.float32))
            blocks = torch.split_with_sizes(vectors[name], self._sizes)
            for block, scale in zip(blocks, scales, strict=True):
                block.mul_(scale)
        return Heard(bound(vectors, self.layout.names))


@dataclass(frozen=True)
class Sign(Codec):
    """One bit a number: sign(x) times the mean of |x| over its block (Karimireddy et al. 2019).

    Of beliefs, mean and log precision are written. Alone it says little of weights; around a
    replica (:class:`Difference`) what it leaves out is sent later, which is their error feedback.
    """

    name = "sign"
    writes = SignCoder


# What changed since the last message -------------------------------------------------------------


_REPLICA, _INNER = "replica.", "inner."


class ReplicaCoder:
    """A codec around another one: see :class:`~empirical.messages.codec.Remembering`.

    Its memory is the replica, and what the inner codec remembers.

    Raises
    ------
    ValueError
        If the inner codec does not fit vectors that begin at 0, or has a replica.
    """

    def __init__(self, codec: Difference | Replica, layout: Layout) -> None:
        self.layout, self._begin = layout, free_layout(layout)
        zeros = {name: torch.zeros_like(values) for name, values in self._begin.begin.items()}
        try:
            self._inner: Coder = codec.inner.coder(replace(layout, begin=zeros))
        except ValueError as error:
            raise ValueError(f"inner: {error}") from None
        if isinstance(self._inner, Remembering):
            raise _two_replicas("inner", codec.inner)

    def memory(self) -> Memory:
        """What all begin with."""
        replicas = {_REPLICA + name: values.clone() for name, values in self._begin.begin.items()}
        return {**replicas, **_named(self._inner.memory())}

    def replica(self, memory: Memory) -> dict[str, Tensor]:
        """See :class:`~empirical.messages.codec.Remembering`."""
        whole = {name: memory[_REPLICA + name].clone() for name in self._begin.names}
        return bound(whole, self.layout.names)

    def encode(self, said: Said, memory: Memory, *, seed: int) -> bytes:
        """See :class:`~empirical.messages.codec.Coder`."""
        check_said(said, self.layout)
        change = {name: y - memory[_REPLICA + name] for name, y in free(said).items()}
        inside = _inside(memory)
        if isinstance(self._inner, TwoWay):
            written = self._inner.write(change, inside, seed=seed)
            self._take(written.heard(), inside, memory)
            return written.body
        copy = {name: values.clone() for name, values in inside.items()}
        body = self._inner.encode(change, copy, seed=seed)
        self._take(self._inner.decode(body, inside, seed=seed), inside, memory)
        return body

    def decode(self, body: bytes, memory: Memory, *, seed: int) -> Heard:
        """See :class:`~empirical.messages.codec.Coder`; the replica after the message."""
        inside = _inside(memory)
        self._take(self._inner.decode(body, inside, seed=seed), inside, memory)
        return Heard(self.replica(memory))

    def _take(self, heard: Heard, inside: Memory, memory: Memory) -> None:
        """Into the replica goes what was heard of the change, into the memory the inner codec's."""
        for name, change in heard.vectors.items():
            sent = change if heard.sent is None else torch.where(heard.sent, change, 0.0)
            memory[_REPLICA + name].add_(sent)
        memory.update(_named(inside))


class DifferenceCoder(ReplicaCoder):
    """The same, with replicas that are pooled as such."""

    def __init__(self, codec: Difference, layout: Layout) -> None:
        super().__init__(codec, layout)
        self.mixing = codec.mixing


def _inside(memory: Memory) -> Memory:
    """The inner codec's part of the memory."""
    inner = (name for name in memory if name.startswith(_INNER))
    return {name.removeprefix(_INNER): memory[name] for name in inner}


def _named(inside: Memory) -> Memory:
    return {_INNER + name: values for name, values in inside.items()}


def _two_replicas(setting: str, inner: Codec) -> ValueError:
    wanted = "a codec without a replica of its own"
    return fail(setting, wanted, repr(inner.name), "use that codec by itself")


def _one_replica(setting: str, inner: Codec) -> None:
    """The domain of a codec within another."""
    if isinstance(inner, Difference | Replica):
        raise _two_replicas(setting, inner)


@dataclass(frozen=True)
class Difference(Codec):
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
    """

    inner: Codec = Sign()
    mixing: float = 0.5

    name = "difference"
    domains: ClassVar = {"mixing": fraction("give such a number"), "inner": _one_replica}
    writes = DifferenceCoder


@dataclass(frozen=True)
class Replica(Codec):
    """q = Q(y − ŷ) is sent, all add it to the replica ŷ, and agents pool ŷ in place of y.

    An agent pools W_ii y_i + Σ_j W_ij ŷ_j. Where Q sends some coordinates, and those exactly, that
    is pooling of messages that come late: no choice of coordinates is unstable, and no γ is needed
    (docs: mathematics/compressed-messages). The network's mean is not kept.

    Parameters
    ----------
    inner
        Q: any codec without a replica of its own.
    """

    inner: Codec = Sign()

    name = "replica"
    domains: ClassVar = {"inner": _one_replica}
    writes = ReplicaCoder
