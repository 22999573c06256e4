"""Numbers as they are: all of them, a share, signs, or every matrix by a few directions.

Bodies of these codecs have no models, and one length.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from math import prod
from typing import ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from empirical.messages.codec import (
    SHARE,
    Codec,
    Heard,
    Layout,
    Memory,
    Said,
    TwoWay,
    count_of,
    one_of,
)
from empirical.messages.selected import (
    KINDS,
    PRECISION,
    bound,
    free,
    free_layout,
    from_bytes,
    to_bytes,
)
from theory.validation import as_integer, fail

KIND = one_of(KINDS, " or ".join(KINDS))

# Numbers one after the other, as they are --------------------------------------------------------


class PackedTape:
    """Numbers in C order, each in little-endian order.

    Parameters
    ----------
    body
        To read, of the length that bodies have; left out: a tape to write.
    """

    def __init__(self, body: bytes = b"") -> None:
        self._body, self._place = memoryview(body), 0
        self._parts: list[bytes | memoryview] = []

    def raw(self, values: bytes | memoryview | None, count: int) -> bytes | memoryview:
        """So many bytes: those given, or those read."""
        if values is not None:
            self._parts.append(values)
            return values
        start, self._place = self._place, self._place + count
        return self._body[start : self._place]

    def numbers(self, values: Tensor | None, count: int, kind: torch.dtype) -> Tensor:
        """So many numbers of one format: those given, or shape (count,) where they are read."""
        own = None if values is None else to_bytes(values)
        raw = self.raw(own, count * kind.itemsize)
        return from_bytes(raw, kind) if values is None else values

    def done(self) -> bytes:
        """All that was written."""
        return b"".join(self._parts)

    def end(self) -> None:
        """Of a body of the right length everything was read."""


class Packed(TwoWay):
    """The coder of a codec whose bodies have one length, and hold numbers as they are."""

    body_bytes: int  # the length of every body

    def tape(self, body: bytes | None = None) -> PackedTape:
        """See :class:`TwoWay`."""
        if body is None:
            return PackedTape()
        if len(body) != self.body_bytes:
            raise self.bad_body(f"{self.body_bytes} bytes", len(body))
        return PackedTape(body)

    def check(self, read: Tensor, what: str = "finite numbers") -> None:
        """Refuse numbers of a body that are not finite."""
        if not torch.isfinite(read).all():
            raise self.bad_body(what, "others")

    def bad_body(self, expected: str, got: object) -> ValueError:
        """The refusal of a body that no encoder wrote."""
        called = f"body of codec {self.codec.name!r}"
        return fail(called, expected, got, "ask for the message again")


# Random numbers that both ends draw from a message's seed, the same on every machine -------------


def whole_numbers(seed: int, count: int) -> NDArray[np.uint64]:
    """So many independent uniform numbers of 64 bits, shape (count,).

    By Philox4x64-10 (Salmon et al. 2011), which is fixed for good; how a library makes floats,
    choices and permutations of them is not.
    """
    raw: NDArray[np.uint64] = np.random.Philox(key=seed).random_raw(count)
    return raw


def chosen(seed: int, k: int, size: int) -> Tensor:
    """Which k of so many coordinates are drawn, every set as likely, shape (size,), bool.

    Examples
    --------
    >>> int(chosen(3, 2, 9).sum())
    2
    """
    if k >= size:
        return torch.ones(size, dtype=torch.bool)
    numbers = whole_numbers(seed, size)
    last = np.partition(numbers, k - 1)[k - 1]
    taken = numbers < last
    ties = np.flatnonzero(numbers == last)[: k - int(taken.sum())]
    taken[ties] = True
    return torch.from_numpy(taken)


def signed(seed: int, *shape: int) -> Tensor:
    """Uniform numbers in [−1, 1) on a grid of 2⁻²³, float32."""
    numbers = whole_numbers(seed, int(np.prod(shape))) >> np.uint64(40)
    return torch.from_numpy((numbers.astype(np.float32) / 2**23 - 1).reshape(shape))


# All numbers, or a share of them, as they are or rounded to half the bytes -----------------------


class PlainCoder(Packed):
    """The codec for messages of one layout; it remembers nothing."""

    codec: Plain | Seeds

    def __init__(self, codec: Plain | Seeds, layout: Layout) -> None:
        super().__init__(codec, layout)
        self._count = count_of(layout, getattr(codec, "share", 1.0))
        self._kind = KINDS[codec.kind]
        self.body_bytes = self._count * self._kind.itemsize * len(layout.names)

    def told(
        self, tape: PackedTape, memory: Memory, said: Said | None, *, seed: int, pace: float
    ) -> tuple[Tensor | None, dict[str, Tensor]]:
        """Which coordinates, None for all, and their values."""
        is_share, values = isinstance(self.codec, Seeds), {}
        some = chosen(seed, self._count, self.layout.size) if is_share else None
        for name in self.layout.names:
            own = None
            if said is not None:
                own = self._rounded(name, said[name] if some is None else said[name][some])
            values[name] = tape.numbers(own, self._count, self._kind)
            if said is None:
                self.check(values[name], f"finite numbers of {name}")
        return some, values

    def heard(self, memory: Memory, parts: tuple[Tensor | None, Mapping[str, Tensor]]) -> Heard:
        some, values = parts
        if some is None:
            return Heard({name: vector.float() for name, vector in values.items()})
        whole = {name: torch.zeros(self.layout.size) for name in values}
        for name, vector in values.items():
            whole[name][some] = vector.float()
        return Heard(whole, some)

    def _rounded(self, name: str, values: Tensor) -> Tensor:
        """Numbers of its own in the format that is sent, if they stay finite, and precisions."""
        rounded = values.to(self._kind, copy=True)
        lost = name == PRECISION and bool(((rounded <= 0) & (values > 0)).any())
        if lost or not torch.isfinite(rounded).all():
            wanted, remedy = f"numbers that {self.codec.kind} holds", "choose bfloat16 or float32"
            raise fail(name, wanted, "some out of its range", remedy)
        return rounded


@dataclass(frozen=True)
class Plain(Codec):
    """Every number in one of three formats, in little-endian order.

    Parameters
    ----------
    kind
        ``"float32"``, without loss; ``"float16"``, 11 bits of precision, no number beyond 65 504;
        ``"bfloat16"``, 8 bits and the range of float32.
    """

    kind: str = "float32"

    name = "plain"
    domains: ClassVar = {"kind": KIND}
    writes = PlainCoder


@dataclass(frozen=True)
class Seeds(Codec):
    """A share of the coordinates, new ones in every message: dropout of coordinates.

    Both ends draw the same set from the message's seed, so that no index is sent. All vectors of a
    message say something of the same coordinates: a belief that is heard has a precision and a
    shift, or neither.

    Parameters
    ----------
    share
        Of the coordinates, in (0, 1]; ⌈share · d⌉ of them are sent.
    kind
        Format of the values, as of :class:`Plain`.
    """

    share: float = 0.1
    kind: str = "float32"

    name = "seeds"
    domains: ClassVar = {"share": SHARE, "kind": KIND}
    writes = PlainCoder


# Every matrix by a few of its directions ---------------------------------------------------------


@dataclass(frozen=True)
class _Matrix:
    """Where a block is, and shapes of what is sent: P and Q, or all of it if that is less."""

    slice: slice
    shapes: tuple[tuple[int, ...], ...]


class LowRankCoder(Packed):
    """The codec for messages of one layout; its memory is the columns Q of each matrix."""

    codec: LowRank

    def __init__(self, codec: LowRank, layout: Layout) -> None:
        super().__init__(codec, layout)
        self._names, self._kind = free_layout(layout).names, KINDS[codec.kind]
        self._matrices, rank = list[_Matrix](), codec.rank
        for block in layout.blocks:
            rows, size = (block.shape or (1,))[0], prod(block.shape)
            columns = size // rows
            is_small = rank * (rows + columns) < size
            shapes = ((rows, rank), (columns, rank)) if is_small else ((size,),)
            self._matrices.append(_Matrix(slice(block.start, block.start + size), shapes))
        each = sum(prod(shape) for own in self._matrices for shape in own.shapes)
        self.body_bytes = each * len(self._names) * self._kind.itemsize

    def memory(self) -> Memory:
        """Random columns to begin with, the same for all vectors."""
        return {
            f"{name}.{k}": signed(k, *own.shapes[1])
            for name in self._names
            for k, own in enumerate(self._matrices)
            if own.shapes[1:]
        }

    def told(
        self, tape: PackedTape, memory: Memory, said: Said | None, *, seed: int, pace: float
    ) -> dict[str, list[list[Tensor]]]:
        """Of each vector and block: P and Q, or the numbers."""
        given, parts = None if said is None else free(said), {}
        for name in self._names:
            parts[name] = list[list[Tensor]]()
            for k, own in enumerate(self._matrices):
                columns = memory.get(f"{name}.{k}")
                sent: list[Tensor | None] = [None] * len(own.shapes)
                if given is not None:
                    sent = [*self._pieces(name, given[name][own.slice], columns, own)]
                pieces = []
                for piece, shape in zip(sent, own.shapes, strict=True):
                    pieces.append(tape.numbers(piece, prod(shape), self._kind).float())
                    if said is None:
                        self.check(pieces[-1])
                        pieces[-1] = pieces[-1].reshape(shape)
                if columns is not None:
                    # For the next step those sent, but for zeros, from which no step leads away.
                    right = pieces[1]
                    columns.copy_(torch.where((right != 0).any(dim=0), right, columns))
                parts[name].append(pieces)
        return parts

    def heard(self, memory: Memory, parts: Mapping[str, list[list[Tensor]]]) -> Heard:
        vectors = {name: torch.empty(self.layout.size) for name in parts}
        for name, vector in vectors.items():
            for own, pieces in zip(self._matrices, parts[name], strict=True):
                vector[own.slice] = _product(*pieces).reshape(-1) if pieces[1:] else pieces[0]
        return Heard(bound(vectors, self.layout.names))

    def _pieces(
        self, name: str, values: Tensor, columns: Tensor | None, own: _Matrix
    ) -> list[Tensor]:
        """P and Q of a matrix, or its numbers if there are no columns, as they are sent."""
        pieces = [values]
        if columns is not None:
            matrix = values.reshape(own.shapes[0][0], -1).double()
            left = torch.linalg.qr(matrix @ columns.double()).Q
            pieces = [left, matrix.T @ left]
        sent = [piece.to(self._kind) for piece in pieces]
        if not all(torch.isfinite(piece).all() for piece in sent):
            wanted = f"numbers that {self.codec.kind} holds"
            raise fail(name, wanted, "some out of its range", "choose kind = 'float32'")
        return sent


def _product(left: Tensor, right: Tensor) -> Tensor:
    """P Qᵀ by products and sums of single numbers: the same bits on every machine."""
    total = left[:, :1] * right[:, 0]
    for k in range(1, left.shape[1]):
        total += left[:, k : k + 1] * right[:, k]
    return total


@dataclass(frozen=True)
class LowRank(Codec):
    """Each block's matrix M as P Qᵀ of rank r, by one step of power iteration a message.

    P is M Q made orthonormal, with the Q of the message before, and the new Q is Mᵀ P: over
    messages of one matrix they turn to its leading singular vectors. A block of shape (a, b, …) is
    the matrix (a, b·…); vectors, and matrices that r columns would not make smaller, are sent as
    they are. Of beliefs, mean and log precision are written.

    PowerGossip (Vogels et al. 2020) takes the same step, on the difference of two neighbours'
    weights, which both ends of a link compute together: half as many numbers a message, a memory
    for every link, and two messages that must both arrive. Here a message has one sender, all who
    listen hear the same, and the difference is that to a replica
    (:class:`~empirical.messages.codecs.Difference`).

    Parameters
    ----------
    rank
        r, at least 1.
    kind
        Format of the numbers, as of :class:`Plain`.
    """

    rank: int = 1
    kind: str = "float32"

    name = "low-rank"
    domains: ClassVar = {"rank": partial(as_integer, minimum=1), "kind": KIND}
    writes = LowRankCoder


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
    replica (:class:`~empirical.messages.codecs.Difference`) what it leaves out is sent later, which
    is their error feedback.
    """

    name = "sign"
    writes = SignCoder
