"""Codecs: how an agent's message is written, by the names that files and commands use."""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import fields
from typing import Any

from empirical.messages.codec import Codec
from empirical.messages.codecs.difference import Difference, Replica, Sign
from empirical.messages.codecs.plain import LowRank, Plain, Seeds
from empirical.messages.codecs.pruned import Autoencoded, Pruned, Spline
from empirical.messages.codecs.quantised import Quantised, TopK, Wavelet
from empirical.messages.codecs.samples import Posterior, Samples
from theory.validation import fail, meant

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
