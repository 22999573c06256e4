"""What all codecs share: settings with a domain each, and bodies that are told once for both ends.

A codec is a frozen dataclass of :class:`Settings`. It names what each setting may be, and the
:class:`TwoWay` that writes its messages. Of that one a subclass tells what both ends remember, what
a body holds, number by number, and what a listener makes of it. A body is told to a *tape*: one to
write takes the values that it is given, one to read gives them back. There are tapes with models
(:mod:`empirical.messages.entropy`), and one of numbers as they are (:class:`PackedTape`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, fields
from functools import partial
from math import ceil
from typing import Any, ClassVar

import torch
from torch import Tensor

from empirical.messages.codec import Coder, Heard, Layout, Memory, Said
from empirical.messages.entropy import Reader, Writer
from empirical.messages.selected import from_bytes, to_bytes
from theory.validation import fail

# Settings, and what each may be ------------------------------------------------------------------


class Settings:
    """A codec's settings: the base of frozen dataclasses whose fields they are.

    Attributes
    ----------
    name
        By which files and commands call the codec.
    domains
        What refuses a setting that is out of range, by the setting's name: a function of name and
        value.
    writes
        The coder of its messages.

    Raises
    ------
    ValueError
        If a setting is out of range.
    """

    name: ClassVar[str]
    domains: ClassVar[Mapping[str, Callable[[str, Any], object]]] = {}
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
        return Writer() if body is None else Reader(body)

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


# Numbers one after the other, as they are --------------------------------------------------------


class PackedTape:
    """Numbers in C order, each in little-endian order.

    Parameters
    ----------
    body
        To read, of the length that bodies have; left out: a tape to write.
    """

    def __init__(self, body: bytes = b"") -> None:
        self._body, self._place = body, 0
        self._parts: list[bytes] = []

    def raw(self, values: bytes | None, count: int) -> bytes:
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

    @property
    @abstractmethod
    def body_bytes(self) -> int:
        """Length of every body."""

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
