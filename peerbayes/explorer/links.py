"""Share links: a problem, and where its agents stand, in the part of an address after ``#``.

That part is a JSON text ``{"document", "positions"}``, deflated, in letters that addresses take. No
browser sends it anywhere; the page reads it, and so does the command line.
"""

from __future__ import annotations

import base64
import binascii
import json
import zlib
from typing import Any

from theory.validation import fail

MARK = "#problem="
_LARGEST_LINK, _LARGEST_TEXT = 2_000_000, 4_000_000


def is_link(text: str) -> bool:
    """Whether this is a share link, whole or damaged."""
    return text.startswith(("http://", "https://", MARK)) and MARK in text


def read_link(link: str) -> dict[str, Any]:
    """The table of a share link; its document is not checked.

    Raises
    ------
    ValueError
        If it is damaged or too long.
    """
    wanted, remedy = "a whole share link", "copy it again"
    if len(link) > _LARGEST_LINK:
        raise fail("PROBLEM", wanted, f"one of {len(link)} characters", "save a file instead")
    packed = link.partition(MARK)[2].strip()
    try:
        raw = base64.b64decode(packed + "=" * (-len(packed) % 4), altchars=b"-_", validate=True)
        inflate = zlib.decompressobj(wbits=-zlib.MAX_WBITS)
        text = inflate.decompress(raw, _LARGEST_TEXT)
        if not inflate.eof:
            raise fail("PROBLEM", wanted, "one that is cut off or too long", remedy)
        table = json.loads(text)
    except (binascii.Error, zlib.error, UnicodeDecodeError, json.JSONDecodeError, RecursionError):
        raise fail("PROBLEM", wanted, "one that is damaged", remedy) from None
    if not isinstance(table, dict) or not isinstance(table.get("document"), dict):
        raise fail("PROBLEM", wanted, "one without a problem", remedy)
    return table
