"""Checks that codecs share, and how their settings are written down."""

from __future__ import annotations

from dataclasses import fields
from math import ceil
from typing import Any

import torch

from empirical.messages.codec import Layout, Said
from theory.validation import fail


def words_of(codec: Any) -> dict[str, Any]:
    """All settings of a codec as JSON takes them, after its name; of a codec within it likewise."""
    settings = {field.name: getattr(codec, field.name) for field in fields(codec)}
    plain = {k: v.words() if hasattr(v, "words") else v for k, v in settings.items()}
    return {"codec": codec.name, **plain}


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


def check_fraction(name: str, value: float, remedy: str) -> None:
    """Refuse a number that is not in (0, 1].

    Raises
    ------
    ValueError
        In one line, with the remedy given.
    """
    if not 0.0 < value <= 1.0:
        raise fail(name, "a number above 0 and at most 1", value, remedy)


def share_of(layout: Layout, share: float, name: str = "share") -> int:
    """How many of the d coordinates a share of them is: ⌈share · d⌉.

    Raises
    ------
    ValueError
        If the share is not in (0, 1].
    """
    check_fraction(name, share, "give such a share")
    return min(layout.size, max(1, ceil(share * layout.size)))


def bad_body(codec: str, expected: str, got: object) -> ValueError:
    """What :meth:`Coder.decode` raises of a body that no encoder wrote."""
    return fail(f"body of codec {codec!r}", expected, got, "ask for the message again")
