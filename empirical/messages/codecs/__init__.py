"""Codecs: how an agent's message is written, by the names that files and commands use."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from empirical.messages.codec import Codec
from empirical.messages.codecs.autoencoder import Autoencoded
from empirical.messages.codecs.difference import Difference
from empirical.messages.codecs.low_rank import LowRank
from empirical.messages.codecs.plain import Plain
from empirical.messages.codecs.posterior import Posterior
from empirical.messages.codecs.pruned import Pruned
from empirical.messages.codecs.quantised import Quantised
from empirical.messages.codecs.samples import Samples
from empirical.messages.codecs.seeds import Seeds
from empirical.messages.codecs.sign import Sign
from empirical.messages.codecs.spline import Spline
from empirical.messages.codecs.topk import TopK
from empirical.messages.codecs.wavelet import Wavelet
from theory.validation import fail, meant

_KINDS: tuple[Any, ...] = (
    Plain,
    TopK,
    Quantised,
    Difference,
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

# By the names that files and commands use.
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
    """A codec by its name, or one around another, with default settings.

    Examples
    --------
    >>> codec_named("difference+seeds")
    Difference(inner=Seeds(share=0.1, kind='float32'), mixing=0.5)

    Raises
    ------
    ValueError
        If there is no such codec, or the first has none within it.
    """
    outer, plus, inner = text.partition("+")
    return codec_of(outer, inner=codec_named(inner)) if plus else codec_of(outer)


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
