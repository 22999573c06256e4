"""What a codec has to say: how an agent's message becomes bytes, and bytes a message again.

A message is what a learner pools: named vectors of d numbers, in coordinates in which pooling is
linear (:mod:`empirical.train.learners.averaging`). A codec writes it as bytes, with loss or
without. What it costs is the length of what travels, header and all, never an estimate.

Sender and receiver of a stream share a memory: named tensors that both begin with and that every
message changes alike at both ends, such as a replica of what was said so far. A codec keeps
nothing elsewhere, so that the memory is all that a checkpoint must hold.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from typing import Any, Protocol, runtime_checkable

from torch import Tensor

from theory.validation import as_positive, fail

# What a codec has to say -------------------------------------------------------------------------


# Vectors by name, each of shape (d,), float32.
Said = Mapping[str, Tensor]
# What both ends of a stream remember, by name.
Memory = dict[str, Tensor]


@dataclass(frozen=True)
class Block:
    """Neighbouring weights that belong together, such as a layer's matrix.

    Attributes
    ----------
    name
        Such as ``"1.weight"``.
    start
        Its first coordinate.
    shape
        Of the tensor that the coordinates are, in C order.
    """

    name: str
    start: int
    shape: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Layout:
    """What the vectors of every message of a run look like; known to all agents.

    Attributes
    ----------
    begin
        The message of an agent that has learnt nothing yet, the same for all: vectors of shape
        (d,). Its names are those of every message.
    blocks
        The blocks in the order of their coordinates, which they cover without a gap.
    examples
        How often a precision that is said has to be taken for the belief's own: 1, or for learners
        whose messages are for one datum, how many data they speak for.

    Raises
    ------
    ValueError
        If vectors are of several lengths, blocks leave a gap, or `examples` is not positive.
    """

    begin: Said
    blocks: tuple[Block, ...]
    examples: float = 1.0

    def __post_init__(self) -> None:
        lengths = {tuple(values.shape) for values in self.begin.values()}
        if len(lengths) != 1 or len(next(iter(lengths))) != 1:
            got = ", ".join(map(str, sorted(lengths))) or "none"
            raise fail("begin", "vectors of one length", got, "give such vectors by name")
        end = 0
        for block in self.blocks:
            if block.start != end:
                wanted = f"a block that begins at coordinate {end}"
                raise fail("blocks", wanted, f"{block.name!r} at {block.start}", "leave no gap")
            end += prod(block.shape)
        if end != self.size:
            raise fail("blocks", f"{self.size} coordinates in all", end, "cover all of them")
        as_positive("examples", self.examples)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the vectors, in order."""
        return tuple(self.begin)

    @property
    def size(self) -> int:
        """The length d of each vector."""
        return next(iter(self.begin.values())).numel()


@dataclass(frozen=True, eq=False)
class Heard:
    """What a receiver takes a message to say.

    Attributes
    ----------
    vectors
        All names of the layout, shape (d,), float32.
    sent
        Which coordinates the message says anything of, shape (d,), bool; None: all. What stands at
        the others is of no meaning.
    """

    vectors: dict[str, Tensor]
    sent: Tensor | None = None


class Coder(Protocol):
    """A codec fitted to the messages of one run."""

    def memory(self) -> Memory:
        """What both ends of a stream begin with, in tensors of their own."""
        ...

    def encode(self, said: Said, memory: Memory, *, seed: int) -> bytes:
        """The body of one message.

        `memory` becomes what the next message starts from, and is what :meth:`decode` makes of it
        at the other end, bit for bit. `seed` is of this message, and known at both ends.

        Raises
        ------
        ValueError
            If a number is not finite, or is none that the codec can write.
        """
        ...

    def decode(self, body: bytes, memory: Memory, *, seed: int) -> Heard:
        """What a body says; `memory` becomes what the next one starts from.

        Raises
        ------
        ValueError
            If the body is none that :meth:`encode` can have written; `memory` is then of no use.
        """
        ...


@runtime_checkable
class Remembering(Coder, Protocol):
    """A coder whose memory is a replica of what the sender has."""

    def replica(self, memory: Memory) -> dict[str, Tensor]:
        """ŷ, as :meth:`decode` gave it last: names of the layout, shape (d,), float32."""
        ...


@runtime_checkable
class Replicating(Remembering, Protocol):
    """A coder whose replicas are pooled as such.

    An agent then takes y_i + γ Σ_j W_ij (ŷ_j − ŷ_i), its own replica among them, in place of
    Σ_j W_ij ŷ_j: what the codec left out stays with its owner (CHOCO-Gossip, Koloskova et al.
    2019).
    """

    @property
    def mixing(self) -> float:
        """γ, in (0, 1]."""
        ...


class Codec(Protocol):
    """How messages are written: settings alone, no state.

    Those of ``CODECS`` are :class:`~empirical.messages.skeleton.Settings`.
    """

    @property
    def name(self) -> str:
        """One of ``CODECS``."""
        ...

    def words(self) -> dict[str, Any]:
        """All settings in plain values, and the name: JSON, kept in records."""
        ...

    def coder(self, layout: Layout) -> Coder:
        """The codec for the messages of one run.

        Raises
        ------
        ValueError
            If it does not fit them.
        """
        ...
