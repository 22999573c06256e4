"""Codecs in rows of neural nets: which of a row's parts one can write, and with which settings.

Everything that needs torch is imported when a codec is named.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from peerbayes.experiments.net_rows import Part, Row, is_served
from theory.validation import fail

if TYPE_CHECKING:
    from empirical.messages.codec import Codec

# Weights of an image, and classes, of both data sets.
_PIXELS, _CLASSES = 784, 10


def codec_of_row(name: str) -> Codec:
    """A codec by the name that the command line has.

    Raises
    ------
    ValueError
        If there is no such codec.
    """
    from empirical.messages.codecs import codec_named

    return codec_named(name)


@cache
def codec_settings(name: str) -> dict[str, Any]:
    """Name and settings of a codec, in plain values."""
    return codec_of_row(name).words()


def written(row: Row, part: Part, codec: str) -> bool:
    """Whether agents of a part send messages, and the codec can write them."""
    sends = part.role in ("cooperating", "averaging") and not is_served(row, part)
    return sends and not _misfit(codec, row.hidden, averaged=part.role == "averaging")


def check_codec(row: Row, codec: str) -> None:
    """Refuse a codec for a row in which it writes nothing.

    Raises
    ------
    ValueError
        If no agent of the row sends anything to another, there is no such codec, or it can write
        neither the beliefs nor the means of the row's nets, or a library that it needs is not
        there; in one line.
    """
    weights = row.variants[0].network.get("weights", ())
    if row.is_federated or len(weights) == 1:
        wanted = "a row whose agents send each other messages"
        raise fail("--codec", wanted, row.name, "leave it out")
    try:
        reason = _misfit(codec, row.hidden, averaged=False)
    except ImportError as error:
        raise ValueError(str(error)) from None
    if reason and (not row.averaging or _misfit(codec, row.hidden, averaged=True)):
        raise ValueError(reason)


@cache
def _misfit(name: str, hidden: tuple[int, ...], *, averaged: bool) -> str:
    """Why a codec cannot write messages of nets of these widths; empty if it can."""
    from empirical.messages.streams import prepared
    from empirical.nets.architecture import perceptron
    from empirical.nets.recipe import Recipe
    from empirical.train.coded_pooling import layout_of_beliefs

    codec = codec_of_row(name)
    recipe = Recipe(1, 1, 1, estimator="point" if averaged else "local")
    architecture = perceptron(_PIXELS, *hidden, outputs=_CLASSES)
    try:
        prepared(codec, layout_of_beliefs(architecture, recipe, seed=0))
    except ValueError as error:
        return str(error)
    return ""
