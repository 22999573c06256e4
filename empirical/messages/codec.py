"""What a codec has to say: how an agent's message becomes bytes, and bytes a message again.

A message is what a learner pools: named vectors of d numbers, in coordinates in which pooling is
linear (:mod:`empirical.train.averaging`). A codec writes it as bytes, with loss or
without. What it costs is the length of what travels, header and all, never an estimate.

Sender and receiver of a stream share a memory: named tensors that both begin with and that every
message changes alike at both ends, such as a replica of what was said so far. A codec keeps
nothing elsewhere, so that the memory is all that a checkpoint must hold.

A codec names what each of its settings may be, and the coder that writes its messages. Bodies are
told once for both ends (:class:`TwoWay`), to a *tape*: one to write takes the values that it is
given, one to read gives them back.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, fields
from functools import partial
from math import ceil, prod
from typing import Any, ClassVar, Protocol, runtime_checkable

import torch
from torch import Tensor

from empirical.messages.entropy import Tape
from theory.validation import as_positive, fail

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


# Settings, and what each may be ------------------------------------------------------------------


# By a setting's name, a function of name and value that refuses what is out of range.
Domains = Mapping[str, Callable[[str, Any], object]]


class Codec:
    """How messages are written: settings alone, no state. Codecs are frozen dataclasses of it.

    Attributes
    ----------
    name
        One of ``CODECS``.
    domains
        What each setting may be.
    writes
        The coder of its messages: a class, or a function of codec and layout.

    Raises
    ------
    ValueError
        If a setting is out of range.
    """

    name: ClassVar[str]
    domains: ClassVar[Domains] = {}
    writes: ClassVar[type[Any]]

    def __post_init__(self) -> None:
        for setting, check in self.domains.items():
            check(setting, getattr(self, setting))

    def words(self) -> dict[str, Any]:
        """All settings as JSON takes them, after the name; of a codec within it likewise."""
        settings = {one.name: getattr(self, one.name) for one in fields(self)}  # type: ignore[arg-type]
        plain = {k: v.words() if hasattr(v, "words") else v for k, v in settings.items()}
        return {"codec": self.name, **plain}

    def coder(self, layout: Layout) -> Coder:
        """The codec for the messages of one run.

        Raises
        ------
        ValueError
            If it does not fit them.
        """
        coder: Coder = self.writes(self, layout)
        return coder


def fraction(remedy: str) -> Callable[[str, float], None]:
    """The domain (0, 1]; `remedy` is what a refusal advises."""

    def check(name: str, value: float) -> None:
        if not 0.0 < value <= 1.0:
            raise fail(name, "a number above 0 and at most 1", value, remedy)

    return check


SHARE = fraction("give such a share")


def one_of(choices: Collection[str], wanted: str = "") -> Callable[[str, str], None]:
    """The domain of some words; `wanted` is how a refusal lists them."""

    def check(name: str, value: str) -> None:
        if value not in choices:
            expected = wanted or f"one of {', '.join(choices)}"
            raise fail(name, expected, repr(value), "choose one of them")

    return check


def count_of(layout: Layout, share: float) -> int:
    """How many of the d coordinates a share of them is: ⌈share · d⌉."""
    return min(layout.size, max(1, ceil(share * layout.size)))


# Bodies that are told once, for both ends --------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Written:
    """A body, and what its listeners will hear.

    Attributes
    ----------
    body
        As of :meth:`Coder.encode`.
    heard
        Gives what :meth:`Coder.decode` will, bit for bit, until the memory has moved on.
    """

    body: bytes
    heard: Callable[[], Heard]


class TwoWay(ABC):
    """A codec for messages of one layout: see :class:`~empirical.messages.codec.Coder`.

    It knows, as it writes, what will be heard, so that it need not read its own bodies.
    """

    def __init__(self, codec: Any, layout: Layout) -> None:
        self.codec, self.layout = codec, layout

    def memory(self) -> Memory:
        """What both ends of a stream begin with: nothing, if a codec does not say more."""
        return {}

    @abstractmethod
    def told(self, tape: Any, memory: Memory, said: Said | None, *, seed: int, pace: float) -> Any:
        """Write a body, or read one where `said` is None; the memory moves on. Returns its parts.

        Raises
        ------
        ValueError
            If a number cannot be written, or what was read is none that was.
        """

    @abstractmethod
    def heard(self, memory: Memory, parts: Any) -> Heard:
        """What a listener takes a body to say; `parts` are from :meth:`told`.

        Raises
        ------
        ValueError
            If they are none that were written.
        """

    def tape(self, body: bytes | None = None) -> Any:
        """A tape to write, or one to read a body from.

        Raises
        ------
        ValueError
            If the body is of another length than bodies have.
        """
        return Tape(body)

    def write(self, said: Said, memory: Memory, *, seed: int, pace: float = 1.0) -> Written:
        """As :meth:`encode`, and what will be heard.

        `pace`: what the sender's learning rate is multiplied by now, in [0, 1]. A codec may write
        more finely as it falls; bodies say what a reader needs to know of it.
        """
        check_said(said, self.layout)
        tape = self.tape()
        parts = self.told(tape, memory, said, seed=seed, pace=pace)
        return Written(tape.done(), partial(self.heard, memory, parts))

    def encode(self, said: Said, memory: Memory, *, seed: int) -> bytes:
        """See :class:`~empirical.messages.codec.Coder`."""
        return self.write(said, memory, seed=seed).body

    def decode(self, body: bytes, memory: Memory, *, seed: int) -> Heard:
        """See :class:`~empirical.messages.codec.Coder`."""
        tape = self.tape(body)
        parts = self.told(tape, memory, None, seed=seed, pace=1.0)
        tape.end()
        return self.heard(memory, parts)


def check_said(said: Said, layout: Layout) -> None:
    """Refuse a message that has other names or lengths than the layout, or is not finite.

    Raises
    ------
    ValueError
        In one line, with the vector's name.
    """
    if tuple(said) != layout.names:
        remedy = "encode what the layout was made for"
        raise fail("message", f"vectors {', '.join(layout.names)}", ", ".join(said), remedy)
    for name, values in said.items():
        if values.shape != (layout.size,):
            raise fail(name, f"shape ({layout.size},)", tuple(values.shape), "give such a vector")
        low, high = torch.aminmax(values)
        if not (torch.isfinite(low) and torch.isfinite(high)):
            remedy = "lower the learning rate"
            raise fail(name, "finite numbers", "NaN or infinity", remedy)
