"""What texts in a table are: numbers in some notation, words for missing ones, or names.

One function, :func:`text_column`, judges a column by all of its entries. A column most of whose
entries are numbers in some notation is never one of names, though not one of them can be read.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from empirical.train.data.examples import Target, listed
from empirical.train.data.source_files import LabelledRows
from theory.validation import FloatArray, fail, read_only

# What texts in a table are -----------------------------------------------------------------------


# In small letters. Blanks stand for no value among numbers alone; else they may be names.
_MISSING = frozenset(("", "na", "n/a", "n.a.", "nan", "null", "?", "#n/a", "<na>"))
_BLANK = frozenset(("none", "-", "--", "."))
_TRUTH = {"true": 1.0, "false": 0.0}

_GROUPED = r"[1-9]\d{0,2}(?:[ ,.'’_\u00a0\u2009\u202f]\d{3})+(?:[.,]\d*)?"
_PLAIN = rf"(?:{_GROUPED}|\d+[.,]?\d*|[.,]\d+)(?:[eE][-+]?\d+)?"
_NUMBER = rf"[-+]?{_PLAIN}"
_BEFORE = r"(?:[^\w\s.,+-]{1,2}|[A-Z]{3}) ?"
_UNIT = r"(?:[^\W\d_]|[%‰°$€£¥])(?:[^\W\d_]|[%‰°$€£¥/·²³^*]){0,11}\d?"
# In this order; each with what to do about it.
_DATE = r"\d{1,4}([-./])\d{1,2}\1\d{1,4}(?:[ T].*)?|\d{1,2}:\d\d.*"
_APART = 'write it without separators (with decimal commas: decimal = ",")'
_NOTATIONS = {
    "thousands": (rf"[-+]?{_GROUPED}", _APART),
    "mark": (_NUMBER, 'write decimal = "," (without it the mark is a point)'),
    "sign": (rf"\u2212 ?{_PLAIN}|\({_PLAIN}\)|{_PLAIN}-", "write it as -1"),
    "fraction": (r"[-+]?(?:\d+ )?\d+ ?/ ?\d+", "write it as a decimal number"),
    "affix": (rf"{_BEFORE}{_NUMBER}(?: ?{_UNIT})?|{_NUMBER} ?{_UNIT}", "write the number alone"),
    "date": (_DATE, "turn it into a number"),
}
_PATTERNS = {name: re.compile(pattern) for name, (pattern, _) in _NOTATIONS.items()}
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
    remedy = "leave the row out" if found == "missing" else _NOTATIONS.get(found, ("", ""))[1]
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
    return next((name for name, form in _PATTERNS.items() if form.fullmatch(written)), "name")


# From the labels that files have to numbers ------------------------------------------------------


# Above this, doubles do not tell whole numbers apart.
_EXACT = 2.0**53


def class_names(
    parts: Sequence[LabelledRows], column: int, *, count: int | None = None
) -> tuple[str, ...]:
    """The classes that occur in any of the parts: numbers in their order, else names in theirs.

    Parameters
    ----------
    column
        Which target.
    count
        How many classes there are; then whole numbers below it are classes as they are, also those
        that do not occur.

    Raises
    ------
    ValueError
        If a label is neither a text nor a whole number, or there are not `count` classes.
    """
    given = parts[0].class_names
    if given is not None:
        return given
    found = sorted({name for part in parts for name in _names(part, column)[0]})
    whole = all(_is_whole(name) for name in found)
    if whole:
        found.sort(key=int)
    if count is None:
        return tuple(found)
    if whole and int(found[0]) >= 0 and int(found[-1]) < count:
        return tuple(str(k) for k in range(count))
    if len(found) != count:
        where = ", ".join(dict.fromkeys(part.where for part in parts[:2]))
        wanted = f"{count} classes"
        raise fail(where, wanted, f"{len(found)}: {listed(found)}", "change the count of classes")
    return tuple(found)


def label_numbers(part: LabelledRows, targets: Sequence[Target]) -> NDArray[Any]:
    """Labels as examples have them: (n,) int64 for one class, else float64, (n,) or (n, k).

    Raises
    ------
    ValueError
        If there is another number of targets, a class is none of the target's, a number is missing,
        or a count is negative or no whole number; the line names the row.
    """
    if len(part.labels) != len(targets):
        wanted = f"labels of {len(targets)} target{'s' if len(targets) > 1 else ''}"
        raise fail(part.where, wanted, len(part.labels), "give one column for each target")
    columns = [
        _class_numbers(part, column, target)
        if target.kind == "classes"
        else _real_numbers(part, column, target)
        for column, target in enumerate(targets)
    ]
    if len(columns) == 1:
        return read_only(columns[0])
    return read_only(np.stack([column.astype(np.float64) for column in columns], axis=1))


def missing_classes(names: Sequence[str], labels: Sequence[NDArray[Any]], target: Target) -> str:
    """A note on agents that do not have every class of a target; nothing if all have."""
    classes = target.classes or ()
    held = [set(np.unique(own).astype(int).tolist()) for own in labels]
    everybody = set().union(*held)
    if classes and len(everybody) == 1:
        only = classes[min(everybody)]
        return f"all training labels are one class, {only!r}: there is nothing to tell apart"
    lacking = [
        f"{name} (no {listed([classes[k] for k in range(len(classes)) if k not in own])})"
        for name, own in zip(names, held, strict=True)
        if len(own) < len(classes)
    ]
    return f"agents that do not hold every class: {listed(lacking)}" if lacking else ""


def _class_numbers(part: LabelledRows, column: int, target: Target) -> NDArray[np.int64]:
    assert target.classes is not None
    number = {name: k for k, name in enumerate(target.classes)}
    names, positions = _names(part, column)
    unknown = [k for k, name in enumerate(names) if name not in number]
    if unknown:
        row = int(np.flatnonzero(positions == unknown[0])[0])
        wanted = f"a class of the training data ({listed(target.classes)})"
        got = f"{names[unknown[0]]!r} in {part.place(row)}"
        remedy = "correct it, leave the example out, or give training examples of that class"
        raise fail(f"{part.where}, {target.name}", wanted, got, remedy)
    table = np.array([number[name] for name in names], dtype=np.int64)
    return np.asarray(table[positions])


def _names(part: LabelledRows, column: int) -> tuple[list[str], NDArray[np.int64]]:
    """The classes in a column by name, and for each row the position of its own among them."""
    try:
        values, positions = np.unique(part.labels[column], return_inverse=True)
    except TypeError:  # texts beside None or numbers
        given = part.labels[column].tolist()
        row = next((k for k, one in enumerate(given) if one is None or one != one), None)
        if row is not None:
            got, remedy = f"{given[row]} in {part.place(row)}", "name it, or leave the example out"
            raise fail(part.where, "a class in every row", got, remedy) from None
        values, positions = np.unique([str(one) for one in given], return_inverse=True)
    names = []
    for k, value in enumerate(values.tolist()):
        if isinstance(value, float) and value.is_integer() and abs(value) < _EXACT:
            value = int(value)
        if not isinstance(value, str | int):
            place = part.place(int(np.flatnonzero(positions == k)[0]))
            remedy = "name the class, or let the target be a number"
            raise fail(part.where, "classes, texts or whole numbers", f"{value} in {place}", remedy)
        known = part.class_names or ()
        inside = isinstance(value, int) and 0 <= value < len(known)
        names.append(known[int(value)] if inside else str(value))
    return names, positions


def _real_numbers(part: LabelledRows, column: int, target: Target) -> FloatArray:
    where = f"{part.where}, {target.name}"
    values = part.labels[column]
    if values.dtype.kind not in "fiub":
        found = text_column(values)
        row = found.row or 0
        got = f"the text {str(values[row])!r} in {part.place(row)}"
        ways = ["correct it", *([found.remedy] if found.remedy else [])]
        remedy = f"{', '.join(ways)}, or let the target be a class"
        raise fail(where, "numbers", got, remedy)
    numbers = values.astype(np.float64)
    wrong = ~np.isfinite(numbers)
    wanted = "finite numbers"
    if target.kind == "counts" and not wrong.any():
        wrong = (numbers < 0) | (numbers != np.floor(numbers))
        wanted = "whole numbers of at least 0"
    if wrong.any():
        row = int(np.flatnonzero(wrong)[0])
        remedy = "correct it, or leave the example out"
        raise fail(where, wanted, f"{numbers[row]:g} in {part.place(row)}", remedy)
    return np.asarray(numbers)


def _is_whole(name: str) -> bool:
    return name.removeprefix("-").isdecimal() and name.isascii()
