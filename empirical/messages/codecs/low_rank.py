"""Every matrix by a few of its directions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod
from typing import Any, ClassVar

import torch
from torch import Tensor

from empirical.messages.codec import (
    Block,
    Coder,
    Heard,
    Layout,
    Memory,
    Said,
    Written,
    bad_body,
    check_said,
    share_of,
    words_of,
)
from empirical.messages.draws import chosen, signed
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

# All numbers as they are, or rounded to half the bytes -------------------------------------------


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


# Every matrix by a few of its directions ---------------------------------------------------------


@dataclass(frozen=True)
class LowRank:
    """Each block's matrix M as P Qᵀ of rank r, by one step of power iteration a message.

    P is M Q made orthonormal, with the Q of the message before, and the new Q is Mᵀ P: over
    messages of one matrix they turn to its leading singular vectors. A block of shape (a, b, …) is
    the matrix (a, b·…); vectors, and matrices that r columns would not make smaller, are sent as
    they are. Of beliefs, mean and log precision are written.

    PowerGossip (Vogels et al. 2020) takes the same step, on the difference of two neighbours'
    weights, which both ends of a link compute together: half as many numbers a message, a memory
    for every link, and two messages that must both arrive. Here a message has one sender, all who
    listen hear the same, and the difference is that to a replica
    (:class:`~empirical.messages.codecs.difference.Difference`).

    Parameters
    ----------
    rank
        r, at least 1.
    kind
        Format of the numbers, as of :class:`~empirical.messages.codecs.low_rank.Plain`.

    Raises
    ------
    ValueError
        If a setting is out of range.
    """

    rank: int = 1
    kind: str = "float32"
    name: ClassVar[str] = "low-rank"

    def __post_init__(self) -> None:
        as_integer("rank", self.rank, minimum=1)
        Plain(self.kind)

    def words(self) -> dict[str, Any]:
        """Name and settings."""
        return words_of(self)

    def coder(self, layout: Layout) -> _LowRankCoder:
        """Fits every layout."""
        return _LowRankCoder(self, layout, free_layout(layout))


@dataclass(frozen=True, eq=False)
class _LowRankCoder:
    codec: LowRank
    layout: Layout
    free: Layout

    def memory(self) -> Memory:
        return {
            f"{name}.{k}": signed(k, columns, self.codec.rank)
            for name in self.free.names
            for k, (_, _, columns, small) in enumerate(self._matrices())
            if small
        }

    def encode(self, said: Said, memory: Memory, *, seed: int) -> bytes:
        check_said(said, self.layout)
        kind, parts = KINDS[self.codec.kind], []
        for name, values in free(said).items():
            for k, (own, rows, columns, small) in enumerate(self._matrices()):
                pieces = [values[own]]
                if small:
                    matrix = values[own].reshape(rows, columns).double()
                    left = torch.linalg.qr(matrix @ memory[f"{name}.{k}"].double()).Q
                    pieces = [left, matrix.T @ left]
                sent = [piece.to(kind) for piece in pieces]
                if not all(torch.isfinite(piece).all() for piece in sent):
                    wanted = f"numbers that {self.codec.kind} holds"
                    raise fail(name, wanted, "some out of its range", "choose kind = 'float32'")
                parts += [to_bytes(piece) for piece in sent]
                if small:
                    _turn(memory[f"{name}.{k}"], sent[1].float())
        return b"".join(parts)

    def decode(self, body: bytes, memory: Memory, *, seed: int) -> Heard:
        kind, rank = KINDS[self.codec.kind], self.codec.rank
        each = sum(
            rank * (rows + columns) if small else rows * columns
            for _, rows, columns, small in self._matrices()
        )
        if len(body) != each * len(self.free.names) * kind.itemsize:
            wanted = f"{each * len(self.free.names) * kind.itemsize} bytes"
            raise bad_body(self.codec.name, wanted, len(body))
        numbers = from_bytes(body, kind).float()
        if not torch.isfinite(numbers).all():
            raise bad_body(self.codec.name, "finite numbers", "others")
        vectors, start = {}, 0
        for name in self.free.names:
            vector = torch.empty(self.layout.size)
            for k, (own, rows, columns, small) in enumerate(self._matrices()):
                if not small:
                    vector[own] = numbers[start : start + rows * columns]
                    start += rows * columns
                    continue
                middle, end = start + rows * rank, start + (rows + columns) * rank
                left = numbers[start:middle].reshape(rows, rank)
                right = numbers[middle:end].reshape(columns, rank)
                vector[own] = _product(left, right).reshape(-1)
                _turn(memory[f"{name}.{k}"], right)
                start = end
            vectors[name] = vector
        return Heard(bound(vectors, self.layout.names))

    def _matrices(self) -> Iterator[tuple[slice, int, int, bool]]:
        """Of each block: where it is, rows, columns, and whether r columns make it smaller."""
        for block in self.layout.blocks:
            rows, columns = _sides(block)
            small = self.codec.rank * (rows + columns) < rows * columns
            yield slice(block.start, block.start + rows * columns), rows, columns, small


def _sides(block: Block) -> tuple[int, int]:
    rows = block.shape[0] if block.shape else 1
    return rows, prod(block.shape[1:])


def _product(left: Tensor, right: Tensor) -> Tensor:
    """P Qᵀ by products and sums of single numbers: the same bits on every machine."""
    total = left[:, :1] * right[:, 0]
    for k in range(1, left.shape[1]):
        total += left[:, k : k + 1] * right[:, k]
    return total


def _turn(memory: Tensor, right: Tensor) -> None:
    """Columns for the next step: those sent, but for zeros, from which no step leads away."""
    memory.copy_(torch.where((right != 0).any(dim=0), right, memory))


# Coordinates drawn at random from the message's seed ---------------------------------------------


@dataclass(frozen=True)
class Seeds:
    """A share of the coordinates, new ones in every message: dropout of coordinates.

    Both ends draw the same set, so that no index is sent. All vectors of a message say something of
    the same coordinates: a belief that is heard has a precision and a shift, or neither.

    Parameters
    ----------
    share
        Of the coordinates, in (0, 1]; ⌈share · d⌉ of them are sent.
    kind
        Format of the values, as of :class:`~empirical.messages.codecs.low_rank.Plain`.

    Raises
    ------
    ValueError
        If a setting is out of range.
    """

    share: float = 0.1
    kind: str = "float32"
    name: ClassVar[str] = "seeds"

    def __post_init__(self) -> None:
        if not 0.0 < self.share <= 1.0:
            raise fail("share", "a number above 0 and at most 1", self.share, "give such a share")
        Plain(self.kind)

    def words(self) -> dict[str, Any]:
        """Name and settings."""
        return words_of(self)

    def coder(self, layout: Layout) -> _SeedsCoder:
        """Fits every layout."""
        return _SeedsCoder(self, layout)


@dataclass(frozen=True, eq=False)
class _SeedsCoder:
    codec: Seeds
    layout: Layout

    def memory(self) -> Memory:
        return {}

    def encode(self, said: Said, memory: Memory, *, seed: int) -> bytes:
        check_said(said, self.layout)
        some = self._chosen(seed)
        values = {name: vector[some] for name, vector in said.items()}
        return self._plain().encode(values, {}, seed=seed)

    def decode(self, body: bytes, memory: Memory, *, seed: int) -> Heard:
        some = self._chosen(seed)
        values = self._plain().decode(body, {}, seed=seed).vectors
        whole = {name: torch.zeros(self.layout.size) for name in values}
        for name, vector in values.items():
            whole[name][some] = vector
        return Heard(whole, some)

    def _chosen(self, seed: int) -> torch.Tensor:
        return chosen(seed, share_of(self.layout, self.codec.share), self.layout.size)

    def _plain(self) -> Coder:
        """The codec of the values alone."""
        k = share_of(self.layout, self.codec.share)
        begin = {name: values[:k] for name, values in self.layout.begin.items()}
        return Plain(self.codec.kind).coder(Layout(begin, (Block("values", 0, (k,)),)))
