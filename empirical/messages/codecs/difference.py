"""What changed since the last message: a replica that all who listen share, around any codec."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import torch
from torch import Tensor

from empirical.messages.checks import check_fraction, check_said, words_of
from empirical.messages.codec import Codec, Coder, Heard, Hearing, Layout, Memory, Replicating, Said
from empirical.messages.codecs.sign import Sign
from empirical.messages.coordinates import bound, free, free_layout
from theory.validation import fail

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

    inner: Codec = Sign()  # noqa: RUF009 - frozen
    mixing: float = 0.5
    name: ClassVar[str] = "difference"

    def __post_init__(self) -> None:
        check_fraction("mixing", self.mixing, "give such a number")
        if isinstance(self.inner, Difference):
            raise _two_replicas(self.inner)

    def words(self) -> dict[str, Any]:
        """Name and settings, those of the inner codec among them."""
        return words_of(self)

    def coder(self, layout: Layout) -> _DifferenceCoder:
        """Fits what the inner codec fits: vectors of the same length that begin at 0."""
        begin = free_layout(layout)
        zeros = {name: torch.zeros_like(values) for name, values in begin.begin.items()}
        try:
            inner = self.inner.coder(replace(layout, begin=zeros))
        except ValueError as error:
            raise ValueError(f"inner: {error}") from None
        if isinstance(inner, Replicating):
            raise _two_replicas(self.inner)
        return _DifferenceCoder(self, layout, begin, inner)


def _two_replicas(inner: Codec) -> ValueError:
    wanted = "a codec without a replica of its own"
    return fail("inner", wanted, repr(inner.name), "use that codec by itself")


@dataclass(frozen=True, eq=False)
class _DifferenceCoder:
    codec: Difference
    layout: Layout
    begin: Layout
    inner: Coder

    @property
    def mixing(self) -> float:
        return self.codec.mixing

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


def _inner(memory: Memory, *, clone: bool = False) -> Memory:
    """The inner codec's part of the memory."""
    return {
        name.removeprefix(_INNER): values.clone() if clone else values
        for name, values in memory.items()
        if name.startswith(_INNER)
    }


def _named(inside: Memory) -> Memory:
    return {_INNER + name: values for name, values in inside.items()}
