"""From tables to inputs: which columns, in which order, and what texts become.

All agents must make the same inputs of their tables. Of text columns they tell each other which
categories occur, and no more: each category becomes a column of zeros and ones, named
``column=category``, in the order of the categories' names. A category that occurs in test data
alone has no column, and is refused. Where values may be missing, a missing name is a category too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from empirical.train.data.labelled_rows import LabelledRows
from empirical.train.data.notation import UNREAD, names_alike
from empirical.train.data.tables import Table
from theory.validation import FloatArray, fail


@dataclass(frozen=True)
class Layout:
    """What stands in the inputs made of tables.

    Attributes
    ----------
    columns
        The tables' columns, in the order of the inputs.
    categories
        For each text column its categories, sorted.
    targets
        The columns of the labels; none where there are no labels.
    left_out
        Text columns, and columns of other types, that were not asked for by name.
    missing
        Whether values may be missing in the inputs.
    notes
        What a reader of the results should know of the columns: one sentence each.
    """

    columns: tuple[str, ...]
    categories: Mapping[str, tuple[str, ...]]
    targets: tuple[str, ...]
    left_out: tuple[str, ...] = ()
    missing: bool = False
    notes: tuple[str, ...] = ()

    @property
    def features(self) -> tuple[str, ...]:
        """The names of the inputs' columns."""
        return tuple(
            name
            for column in self.columns
            for name in (
                [f"{column}={category}" for category in self.categories[column]]
                if column in self.categories
                else [column]
            )
        )


def layout_of(
    tables: Sequence[Table],
    *,
    targets: Sequence[str],
    features: Sequence[str] | None = None,
    categories: Sequence[str] = (),
    besides: Sequence[str] = (),
    missing: bool = False,
) -> Layout:
    """What inputs are made of, from all agents' training tables.

    Parameters
    ----------
    targets
        Columns of the labels.
    features
        Columns of the inputs; left out: all columns of numbers but the targets, `besides` and
        pandas' index, and those of `categories`. Then all tables must have the same columns.
    categories
        Columns whose entries are names of categories, though they may look like numbers. A column
        among `features` is one too, if no entry in any table could be a number: numbers with a text
        among them are a mistake.
    besides
        Columns that are no features, such as the agent's name.
    missing
        Whether values may be missing in the inputs.

    Raises
    ------
    ValueError
        If a column is missing in a table, has a missing entry, or holds text in one table and
        numbers in another; if tables differ in their columns; if nothing is left.
    """
    how: Any = {"missing": missing, "otherwise": "" if missing else 'write missing = "mean"'}
    for table in tables:
        if not table.rows:
            remedy = "add rows, or leave the file out"
            raise fail(table.where, "at least one row", "none", remedy)
        table.require(targets)
        for name in targets:
            _check_names(table, name)
        table.require(list(dict.fromkeys([*(features or ()), *categories])), **how)
    both = [name for name in (*(features or ()), *categories) if name in targets]
    if both:
        wanted = "inputs other than the target"
        raise fail("features", wanted, repr(both[0]), "leave it out of features and categories")
    index = {name for table in tables for name in table.index}
    chosen, left_out = _chosen(tables, features, categories, {*targets, *besides}, index)
    named: dict[str, tuple[str, ...]] = {}
    for name in chosen:
        if name in categories or (features is not None and _is_of_names(tables, name)):
            named[name] = tuple(sorted({entry for t in tables for entry in _names(t, name)}))
        else:
            for table in tables:
                table.require([name], **how)
                otherwise = f"list {name!r} under categories"
                if table.is_text(name) and table.texts(name).written == "missing":
                    otherwise = how["otherwise"] or otherwise
                table.require_numbers([name], otherwise=otherwise, missing=missing)
    notes = _notes(tables, chosen, named, index if features is None else set())
    return Layout(tuple(chosen), named, tuple(targets), left_out, missing, notes)


def _check_names(table: Table, name: str) -> None:
    """See that texts to be predicted are no numbers that nobody could read, such as 60,50."""
    if table.is_text(name):
        found = table.texts(name)
        if found.kind == "numbers" and found.written in UNREAD:
            table.require_numbers([name])


def _is_of_names(tables: Sequence[Table], name: str) -> bool:
    """Whether a column holds texts in all tables, none of which could be a number."""
    texts = [table.texts(name) for table in tables if table.is_text(name)]
    return len(texts) == len(tables) and all(
        text.kind == "names" and not text.has_numbers for text in texts
    )


def _names(table: Table, name: str) -> list[str]:
    """A column's entries as names of categories; those that are missing are one too."""
    absent = set(table.missing[name].tolist())
    return [
        "missing" if row in absent else str(entry)
        for row, entry in enumerate(table.columns[name].tolist())
    ]


def _notes(
    tables: Sequence[Table],
    chosen: Sequence[str],
    named: Mapping[str, Sequence[str]],
    index: set[str],
) -> tuple[str, ...]:
    """What should be known of the columns; `index`: those left out as pandas' index."""
    notes = []
    if out := sorted(index - set(chosen)):
        notes.append(f"columns left out, as they are pandas' index: {', '.join(out)}")
    rows = sum(table.rows for table in tables)
    for name in chosen:
        notes += names_alike(f"names in column {name!r},", named.get(name, ()))
        if 20 <= len(named.get(name, ())) >= rows / 2:
            notes.append(f"column {name!r} of names has {len(named[name])} of them in {rows} rows")
        if name not in named and all(_counts_rows(table, name) for table in tables):
            text = "is an input that counts the rows; leave it out of features if it says no more"
            notes.append(f"column {name!r} {text}")
    return tuple(notes)


def _counts_rows(table: Table, name: str) -> bool:
    values = table.numbers(name)
    return len(values) > 2 and values[0] in (0, 1) and bool((np.diff(values) == 1).all())


def _chosen(
    tables: Sequence[Table],
    features: Sequence[str] | None,
    categories: Sequence[str],
    others: set[str],
    index: set[str],
) -> tuple[list[str], tuple[str, ...]]:
    """The columns of the inputs, and those that are left out for their type."""
    first = tables[0]
    if features is not None:
        return list(dict.fromkeys([*features, *categories])), ()
    others = others | (index - set(categories))
    for table in tables[1:]:
        here, there = set(table.names) - index, set(first.names) - index
        extra, absent = here - there, there - here
        if extra or absent:
            got = f"{sorted(extra)[0]!r} besides" if extra else f"no {sorted(absent)[0]!r}"
            remedy = "give all files the same columns, or name those to use under features"
            raise fail(table.where, f"the columns of {first.where}", got, remedy)
    if "" in first.names:
        remedy = "name it, take it out, or name those to use under features"
        raise fail(first.where, "a name for every column", "one without", remedy)
    # A column of text in every table is of names; of text in some, or of numbers that are written
    # in another notation or miss some, a mistake.
    free = [n for n in first.columns if n not in others and n not in categories]
    words = {n for n in free if all(t.is_text(n) and t.texts(n).kind != "numbers" for t in tables)}
    left_out = tuple(n for n in first.names if n in (words | set(first.other)) - others)
    chosen = [n for n in first.columns if n not in others | words]
    if not chosen:
        wanted = "a column of numbers besides the target"
        raise fail(first.where, wanted, "none", "name columns under features")
    return chosen, left_out


def labelled_rows(table: Table, layout: Layout) -> LabelledRows:
    """The inputs and labels of a table.

    Raises
    ------
    ValueError
        If a column is missing or holds something else than the layout's tables, or has a category
        that they do not have.
    """
    table.require(layout.targets)
    if not table.rows:
        raise fail(table.where, "at least one row", "none", "add rows, or leave the file out")
    parts = [_column(table, name, layout) for name in layout.columns]
    return LabelledRows(
        table.where,
        np.concatenate(parts, axis=1),
        tuple(table.columns[name] for name in layout.targets),
        table.sources,
        features=layout.features,
        missing=layout.missing,
    )


def _column(table: Table, name: str, layout: Layout) -> FloatArray:
    """One column of a table as columns of the inputs, shape (n, m)."""
    known = layout.categories.get(name)
    if known is None:
        table.require_numbers([name], missing=layout.missing)
        return table.numbers(name)[:, None]
    table.require([name], missing=layout.missing)
    number = {category: k for k, category in enumerate(known)}
    entries = _names(table, name)
    found = [number.get(entry, -1) for entry in entries]
    if -1 in found:
        row = found.index(-1)
        shown = ", ".join(known[:12]) + (", …" if len(known) > 12 else "")
        raise fail(
            f"{table.where}, column {name!r}",
            f"a category of the training data ({shown})",
            f"{entries[row]!r} in row {row + 1}",
            "correct it, or leave the row out",
        )
    return np.eye(len(known))[found]
