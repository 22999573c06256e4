"""Numbers as they are, signs, directions; and what changed since the last message.

Bodies of these codecs have no models, and one length. Around any codec, :class:`Difference` and
:class:`Replica` send what changed: they write the same messages, and differ by what agents pool.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from math import prod
from typing import ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from empirical.messages.codec import Codec, Coder, Heard, Layout, Memory, Remembering, Said
from empirical.messages.selected import KINDS, PRECISION, bound, free, free_layout
from empirical.messages.skeleton import (
    SHARE,
    Packed,
    PackedTape,
    Settings,
    TwoWay,
    check_said,
    count_of,
    fraction,
    one_of,
)
from theory.validation import as_integer, fail

KIND = one_of(KINDS, " or ".join(KINDS))

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

    @property
    def body_bytes(self) -> int:
        """See :class:`~empirical.messages.skeleton.Packed`."""
        return self._count * self._kind.itemsize * len(self.layout.names)

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
        """See :class:`~empirical.messages.skeleton.TwoWay`."""
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
class Plain(Settings):
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
class Seeds(Settings):
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
    """Where a block is, its rows and columns, and whether r columns make it smaller."""

    slice: slice
    rows: int
    columns: int
    is_small: bool


class LowRankCoder(Packed):
    """The codec for messages of one layout; its memory is the columns Q of each matrix."""

    codec: LowRank

    def __init__(self, codec: LowRank, layout: Layout) -> None:
        super().__init__(codec, layout)
        self._names, self._kind = free_layout(layout).names, KINDS[codec.kind]
        self._matrices = list[_Matrix]()
        for block in layout.blocks:
            rows, columns = (block.shape or (1,))[0], prod(block.shape[1:])
            where = slice(block.start, block.start + rows * columns)
            is_small = codec.rank * (rows + columns) < rows * columns
            self._matrices.append(_Matrix(where, rows, columns, is_small))

    def memory(self) -> Memory:
        """Random columns to begin with, the same for all vectors."""
        return {
            f"{name}.{k}": signed(k, own.columns, self.codec.rank)
            for name in self._names
            for k, own in enumerate(self._matrices)
            if own.is_small
        }

    @property
    def body_bytes(self) -> int:
        """See :class:`~empirical.messages.skeleton.Packed`."""
        each = sum(prod(shape) for own in self._matrices for shape in self._shapes(own))
        return each * len(self._names) * self._kind.itemsize

    def told(
        self, tape: PackedTape, memory: Memory, said: Said | None, *, seed: int, pace: float
    ) -> dict[str, list[list[Tensor]]]:
        """Of each vector and block: P and Q, or the numbers."""
        given, parts = None if said is None else free(said), {}
        for name in self._names:
            parts[name] = list[list[Tensor]]()
            for k, own in enumerate(self._matrices):
                columns, shapes = memory.get(f"{name}.{k}"), self._shapes(own)
                sent: list[Tensor | None] = [None] * len(shapes)
                if given is not None:
                    sent = [*self._pieces(name, given[name][own.slice], own, columns)]
                pieces = []
                for piece, shape in zip(sent, shapes, strict=True):
                    found = tape.numbers(piece, prod(shape), self._kind).float().reshape(shape)
                    if said is None:
                        self.check(found)
                    pieces.append(found)
                if columns is not None:
                    # For the next step those sent, but for zeros, from which no step leads away.
                    right = pieces[1]
                    columns.copy_(torch.where((right != 0).any(dim=0), right, columns))
                parts[name].append(pieces)
        return parts

    def heard(self, memory: Memory, parts: Mapping[str, list[list[Tensor]]]) -> Heard:
        """See :class:`~empirical.messages.skeleton.TwoWay`."""
        vectors = {
            name: torch.cat([_product(*own).reshape(-1) if own[1:] else own[0] for own in pieces])
            for name, pieces in parts.items()
        }
        return Heard(bound(vectors, self.layout.names))

    def _shapes(self, own: _Matrix) -> list[tuple[int, ...]]:
        """Of what is sent of a block."""
        if own.is_small:
            return [(own.rows, self.codec.rank), (own.columns, self.codec.rank)]
        return [(own.rows * own.columns,)]

    def _pieces(
        self, name: str, values: Tensor, own: _Matrix, columns: Tensor | None
    ) -> list[Tensor]:
        """P and Q of a matrix, or its numbers if there are no columns, as they are sent."""
        pieces = [values]
        if columns is not None:
            matrix = values.reshape(own.rows, own.columns).double()
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
class LowRank(Settings):
    """Each block's matrix M as P Qᵀ of rank r, by one step of power iteration a message.

    P is M Q made orthonormal, with the Q of the message before, and the new Q is Mᵀ P: over
    messages of one matrix they turn to its leading singular vectors. A block of shape (a, b, …) is
    the matrix (a, b·…); vectors, and matrices that r columns would not make smaller, are sent as
    they are. Of beliefs, mean and log precision are written.

    PowerGossip (Vogels et al. 2020) takes the same step, on the difference of two neighbours'
    weights, which both ends of a link compute together: half as many numbers a message, a memory
    for every link, and two messages that must both arrive. Here a message has one sender, all who
    listen hear the same, and the difference is that to a replica (:class:`Difference`).

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

    @property
    def body_bytes(self) -> int:
        """See :class:`~empirical.messages.skeleton.Packed`."""
        each = 4 * len(self.layout.blocks) + -(-self.layout.size // 8)
        return each * len(self.layout.names)

    def told(
        self, tape: PackedTape, memory: Memory, said: Said | None, *, seed: int, pace: float
    ) -> dict[str, tuple[Tensor, Tensor]]:
        """Of each vector: the scales of blocks, and 1 for each negative number."""
        size, parts = self.layout.size, {}
        for name in free_layout(self.layout).names:
            scales = bits = None
            if said is not None:
                values = free(said)[name]
                each = torch.split_with_sizes(values.double().abs(), self._sizes)
                scales = torch.stack([own.mean() for own in each]).float()
                bits = torch.from_numpy(np.packbits((values < 0).numpy()))
            scales = tape.numbers(scales, len(self._sizes), torch.float32)
            bits = tape.numbers(bits, -(-size // 8), torch.uint8)
            flags = torch.from_numpy(np.unpackbits(bits.numpy()))
            if said is None and not (torch.isfinite(scales).all() and (scales >= 0).all()):
                raise self.bad_body("scales of at least 0", "others")
            if flags[size:].any():
                raise self.bad_body("zeros after the last sign", "ones")
            parts[name] = scales, flags[:size]
        return parts

    def heard(self, memory: Memory, parts: Mapping[str, tuple[Tensor, Tensor]]) -> Heard:
        """See :class:`~empirical.messages.skeleton.TwoWay`."""
        sizes = torch.tensor(self._sizes)
        vectors = {
            name: (1.0 - 2.0 * flags.float()) * scales.repeat_interleave(sizes)
            for name, (scales, flags) in parts.items()
        }
        return Heard(bound(vectors, self.layout.names))

    @cached_property
    def _sizes(self) -> list[int]:
        return [prod(block.shape) for block in self.layout.blocks]


@dataclass(frozen=True)
class Sign(Settings):
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
class Difference(Settings):
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
class Replica(Settings):
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
