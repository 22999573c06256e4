"""Codecs: how an agent's message is written, by the names that files and commands use.

Around any of them there may be a replica that all who listen share: what changed since the last
message is sent. Two codecs write the same messages then, and differ by what agents pool of their
replicas.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar

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
from empirical.messages.codecs.plain import LowRank, Plain, Seeds, Sign
from empirical.messages.codecs.pruned import Autoencoded, Pruned, Spline
from empirical.messages.codecs.quantised import Quantised, TopK, Wavelet
from empirical.messages.codecs.samples import Posterior, Samples
from empirical.messages.selected import bound, free, free_layout
from theory.validation import fail, meant

# What changed since the last message -------------------------------------------------------------


_REPLICA, _INNER = "replica.", "inner."
_SIGN = Sign()


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

    inner: Codec = _SIGN
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

    inner: Codec = _SIGN

    name = "replica"
    domains: ClassVar = {"inner": _one_replica}
    writes = ReplicaCoder


# Codecs by the names that files and commands use -------------------------------------------------


_KINDS: tuple[Any, ...] = (
    Plain,
    TopK,
    Quantised,
    Difference,
    Replica,
    Posterior,
    Samples,
    Wavelet,
    Pruned,
    Spline,
    Autoencoded,
    Seeds,
    Sign,
    LowRank,
)

CODECS: dict[str, type[Codec]] = {kind.name: kind for kind in _KINDS}


def codec_of(name: str, **settings: Any) -> Codec:
    """A codec with settings of its own; the others have their defaults.

    A setting that is a codec itself may be a codec, its name, or a table of its words.

    Raises
    ------
    ValueError
        If there is no such codec, it has no such setting, or a setting is out of range.

    Examples
    --------
    >>> codec_of("plain", kind="float16")
    Plain(kind='float16')
    """
    if name not in CODECS:
        remedy = meant(str(name), CODECS, otherwise="choose one of them")
        raise fail("codec", f"one of {', '.join(CODECS)}", repr(name), remedy)
    kind: Any = CODECS[name]
    known = {field.name: field.default for field in fields(kind)}
    for setting, value in settings.items():
        if setting not in known:
            remedy = meant(setting, known, otherwise="leave it out")
            wanted = f"any of {', '.join(known)}" if known else "none"
            raise fail(f"settings of {name}", wanted, repr(setting), remedy)
        settings[setting] = _taken(setting, value, known[setting])
    codec: Codec = kind(**settings)
    return codec


def codec_named(text: str) -> Codec:
    """A codec as it is named on a command line: its name, settings, and a codec within it.

    ``NAME:SETTING=VALUE,...`` has settings of its own, the others their defaults; ``NAME+NAME`` is
    one around another, each perhaps with settings.

    Examples
    --------
    >>> codec_named("difference+seeds")
    Difference(inner=Seeds(share=0.1, kind='float32'), mixing=0.5)
    >>> codec_named("difference:mixing=0.4+seeds:share=0.02")
    Difference(inner=Seeds(share=0.02, kind='float32'), mixing=0.4)

    Raises
    ------
    ValueError
        If there is no such codec, the first has none within it, or as :func:`codec_of`.
    """
    # A plus within a number, as in 1e+2, has no letter after it.
    outer, *inner = re.split(r"\+(?=[^0-9])", text, maxsplit=1)
    name, _, given = outer.partition(":")
    settings = dict[str, Any]()
    for part in given.split(",") if given else ():
        setting, equals, value = part.partition("=")
        if not equals or not value or setting in settings:
            wanted = "settings such as share=0.05 between commas, each once"
            raise fail(f"settings of {name}", wanted, repr(part), "see the codec's settings")
        settings[setting] = _plain_value(value)
    if inner:
        settings["inner"] = codec_named(inner[0])
    return codec_of(name, **settings)


def _plain_value(text: str) -> bool | int | float | str:
    """A number or a truth value where the text is one; else the text."""
    if text in ("true", "false"):
        return text == "true"
    for kind in (int, float):
        with suppress(ValueError):
            return kind(text)
    return text


def codec_from_words(words: Mapping[str, Any]) -> Codec:
    """The codec that :meth:`Codec.words` named, or a net file's table.

    Raises
    ------
    ValueError
        As :func:`codec_of`.
    """
    settings = {key: value for key, value in words.items() if key != "codec"}
    return codec_of(words.get("codec", ""), **settings)


def _taken(setting: str, value: Any, default: Any) -> Any:
    """A setting's value, if it is of its default's kind."""
    if hasattr(default, "coder"):
        if isinstance(value, str):
            return codec_of(value)
        if isinstance(value, Mapping):
            return codec_from_words(value)
        if hasattr(value, "coder"):
            return value
    else:
        wanted = (str,) if isinstance(default, str) else (int, float, type(default))
        if isinstance(value, wanted) and isinstance(value, bool) == isinstance(default, bool):
            return value
    raise fail(setting, f"such as {default!r}", repr(value), "give a value")
