"""Coordinates drawn at random from the message's seed: only their values travel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import torch

from empirical.messages.checks import check_said, share_of, words_of
from empirical.messages.codec import Block, Coder, Heard, Layout, Memory, Said
from empirical.messages.codecs.plain import Plain
from empirical.messages.draws import chosen
from theory.validation import fail


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
        Format of the values, as of :class:`~empirical.messages.codecs.plain.Plain`.

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
