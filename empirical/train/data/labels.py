"""From the labels that files have to numbers: of classes, real ones, and counts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from empirical.train.data.examples import Target
from empirical.train.data.labelled_rows import LabelledRows
from empirical.train.data.notation import text_column
from theory.validation import FloatArray, fail, read_only

# Above this, doubles do not tell whole numbers apart.
_EXACT = 2.0**53
# Classes and agents that a message or a note names.
_NAMED = 8


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
        raise fail(where, wanted, f"{len(found)}: {_listed(found)}", "change the count of classes")
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


def missing_classes(
    names: Sequence[str], labels: Sequence[NDArray[Any]], classes: Sequence[str]
) -> str:
    """A note on agents that do not have every class; nothing if all have."""
    lacking = []
    for name, own in zip(names, labels, strict=True):
        absent = sorted(set(range(len(classes))) - set(np.unique(own).astype(int).tolist()))
        if absent:
            lacking.append(f"{name} (no {_listed([classes[k] for k in absent])})")
    if not lacking:
        return ""
    return f"agents that do not hold every class: {_listed(lacking)}"


def _class_numbers(part: LabelledRows, column: int, target: Target) -> NDArray[np.int64]:
    assert target.classes is not None
    number = {name: k for k, name in enumerate(target.classes)}
    names, positions = _names(part, column)
    unknown = [k for k, name in enumerate(names) if name not in number]
    if unknown:
        row = int(np.flatnonzero(positions == unknown[0])[0])
        raise fail(
            f"{part.where}, {target.name}",
            f"a class of the training data ({_listed(target.classes)})",
            f"{names[unknown[0]]!r} in {part.place(row)}",
            "correct it, leave the example out, or give training examples of that class",
        )
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
        wrong, wanted = (
            (numbers < 0) | (numbers != np.floor(numbers)),
            "whole numbers of at least 0",
        )
    if wrong.any():
        row = int(np.flatnonzero(wrong)[0])
        remedy = "correct it, or leave the example out"
        raise fail(where, wanted, f"{numbers[row]:g} in {part.place(row)}", remedy)
    return np.asarray(numbers)


def _is_whole(name: str) -> bool:
    return name.removeprefix("-").isdecimal() and name.isascii()


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names[:_NAMED]) + (", …" if len(names) > _NAMED else "")
