"""What texts in a table are: numbers in some notation, words for missing ones, or names.

One function, :func:`text_column`, judges a column by all of its entries. A column most of whose
entries are numbers in some notation is never one of names, though not one of them can be read.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from theory.validation import FloatArray

# In small letters. Blanks stand for no value among numbers alone; else they may be names.
_MISSING = frozenset(("", "na", "n/a", "n.a.", "nan", "null", "?", "#n/a", "<na>"))
_BLANK = frozenset(("none", "-", "--", "."))
_TRUTH = {"true": 1.0, "false": 0.0}

_GROUPED = r"[1-9]\d{0,2}(?:[ ,.'’_\u00a0\u2009\u202f]\d{3})+(?:[.,]\d*)?"
_PLAIN = rf"(?:{_GROUPED}|\d+[.,]?\d*|[.,]\d+)(?:[eE][-+]?\d+)?"
_NUMBER = rf"[-+]?{_PLAIN}"
_BEFORE = r"(?:[^\w\s.,+-]{1,2}|[A-Z]{3}) ?"
_UNIT = r"(?:[^\W\d_]|[%‰°$€£¥])(?:[^\W\d_]|[%‰°$€£¥/·²³^*]){0,11}\d?"
_ALONE = "write the number alone"
# In this order; each with what to do about it.
_NOTATIONS = tuple(
    (name, re.compile(pattern), remedy)
    for name, pattern, remedy in (
        (
            "thousands",
            rf"[-+]?{_GROUPED}",
            'write it without separators (with decimal commas: decimal = ",")',
        ),
        ("mark", _NUMBER, 'write decimal = "," (without it the mark is a point)'),
        ("sign", rf"\u2212 ?{_PLAIN}|\({_PLAIN}\)|{_PLAIN}-", "write it as -1"),
        ("fraction", r"[-+]?(?:\d+ )?\d+ ?/ ?\d+", "write it as a decimal number"),
        ("affix", rf"{_BEFORE}{_NUMBER}(?: ?{_UNIT})?|{_NUMBER} ?{_UNIT}", _ALONE),
        (
            "date",
            r"\d{1,4}([-./])\d{1,2}\1\d{1,4}(?:[ T].*)?|\d{1,2}:\d\d.*",
            "turn it into a number",
        ),
    )
)
_REMEDIES = {name: remedy for name, _, remedy in _NOTATIONS}
UNREAD = frozenset(("thousands", "mark", "sign", "missing"))
"""Notations in which a text is a number, or stands for one, and nothing else."""
# Numbers with more units than these are names, such as 1a, 7b, 12c.
_UNITS = 4


@dataclass(frozen=True)
class TextColumn:
    """What a column of texts is.

    Attributes
    ----------
    kind
        ``"numbers"`` if most of the entries that are there are numbers in some notation, or none
        is there; ``"dates"`` likewise; else ``"names"``.
    has_numbers
        Whether an entry is a number that can be read as it is.
    has_words
        Whether a word such as ``NA``, no empty cell, stands for a missing value.
    row
        Of the first entry that cannot be read, counted from 0; None if all can.
    written
        What that entry is: ``"thousands"``, ``"mark"``, …, ``"missing"`` or ``"name"``.
    remedy
        What to do about it, or nothing.
    """

    kind: Literal["numbers", "dates", "names"]
    has_numbers: bool
    has_words: bool
    row: int | None
    written: str
    remedy: str


def text_column(
    values: Iterable[object], *, decimal: str = ".", missing: bool = False
) -> TextColumn:
    """What texts are, by all of them; None stands for a missing one.

    Parameters
    ----------
    decimal
        The decimal mark of numbers, ``"."`` or ``","``.
    missing
        Whether missing values may be there; then `row` is that of another entry.

    Examples
    --------
    >>> text_column(["60,50", "7"]).remedy
    'write decimal = "," (without it the mark is a point)'
    >>> text_column(["12 kg", "9 kg"]).kind, text_column(["7a", "b"]).kind
    ('numbers', 'names')
    """
    texts = ["" if value is None else str(value) for value in values]
    notation = {text: _notation(text, decimal) for text in set(texts)}
    affixes = {
        re.sub(_NUMBER, "", text, count=1).strip()
        for text, name in notation.items()
        if name == "affix"
    }
    if len(affixes) > _UNITS:
        notation = {t: "name" if name == "affix" else name for t, name in notation.items()}
    counts = Counter(notation[text] for text in texts)
    present = len(texts) - counts["missing"] - counts["blank"]
    numbers = present - counts["name"] - counts["date"]
    kind: Literal["numbers", "dates", "names"] = "names"
    if 2 * numbers > present or not (present or counts["blank"]):
        kind = "numbers"
    elif 2 * counts["date"] > present:
        kind = "dates"
    readable = {"number", "missing", "blank"} if missing else {"number"}
    row = next((k for k, text in enumerate(texts) if notation[text] not in readable), None)
    found = "" if row is None else notation[texts[row]].replace("blank", "missing")
    remedy = _REMEDIES.get(found, "")
    if found == "missing":
        remedy = "leave the row out"
    if found in ("mark", "thousands") and decimal == ",":
        remedy = "write it with a comma as its only mark"
    words = any(name in ("missing", "blank") and text for text, name in notation.items())
    return TextColumn(kind, counts["number"] > 0, words, row, found, remedy)


def is_missing(text: object) -> bool:
    """Whether a text among names stands for a missing value."""
    return text is None or str(text).strip().lower() in _MISSING


def names_alike(what: str, names: Iterable[str]) -> list[str]:
    """Notes on names that differ in capitals or spaces alone.

    >>> names_alike("classes", ["yes", "no", "Yes "])
    ["classes 'yes' and 'Yes ' differ in capitals or spaces alone"]
    """
    seen: dict[str, str] = {}
    notes = []
    for name in names:
        other = seen.setdefault(" ".join(name.split()).casefold(), name)
        if other != name:
            notes.append(f"{what} {other!r} and {name!r} differ in capitals or spaces alone")
    return notes[:4]


def number_in(text: object, *, decimal: str = ".") -> float | None:
    """The number that a text is, in the plainest notation; NaN for a missing one, None for none.

    >>> number_in("1e3"), number_in("2,5", decimal=","), number_in("2,5"), number_in("NA")
    (1000.0, 2.5, None, nan)
    """
    written = "" if text is None else str(text).strip().lower()
    if written in _MISSING | _BLANK:
        return float("nan")
    if written in _TRUTH:
        return _TRUTH[written]
    if "_" in written or (decimal == "," and "." in written):
        return None
    try:
        return float(written.replace(decimal, "."))
    except ValueError:
        return None


def numbers_in(values: Iterable[object], *, decimal: str = ".") -> FloatArray:
    """Texts as numbers, NaN where they are missing or, unless :func:`text_column` said so, none."""
    known: dict[object, float | None] = {}
    for value in values:
        if value not in known:
            known[value] = number_in(value, decimal=decimal)
    return np.array([known[value] for value in values], dtype=np.float64)


def _notation(text: str, decimal: str) -> str:
    """The notation of one text: ``"number"`` where it can be read, ``"missing"``, … or a name."""
    number = number_in(text, decimal=decimal)
    written = text.strip()
    if number is not None and number == number:
        return "number"
    if number is not None:
        return "blank" if written.lower() in _BLANK else "missing"
    return next((name for name, pattern, _ in _NOTATIONS if pattern.fullmatch(written)), "name")
