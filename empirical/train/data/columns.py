"""From tables to inputs: which columns, in which order, and what texts become.

All agents must make the same inputs of their tables. Of text columns they tell each other which
categories occur, and no more: each category becomes a column of zeros and ones, named
``column=category``, in the order of the categories' names. A category that occurs in test data
alone has no column, and is refused.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from empirical.train.data.labelled_rows import LabelledRows
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
    """

    columns: tuple[str, ...]
    categories: Mapping[str, tuple[str, ...]]
    targets: tuple[str, ...]
    left_out: tuple[str, ...] = ()

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
) -> Layout:
    """What inputs are made of, from all agents' training tables.

    Parameters
    ----------
    targets
        Columns of the labels.
    features
        Columns of the inputs; left out: all columns of numbers but the targets and `besides`, and
        those of `categories`. Then all tables must have the same columns.
    categories
        Columns whose entries are names of categories, though they may look like numbers. A column
        among `features` is one too, if no entry in any table could be a number: numbers with a text
        among them are a mistake.
    besides
        Columns that are no features, such as the agent's name.

    Raises
    ------
    ValueError
        If a column is missing in a table, has a missing entry, or holds text in one table and
        numbers in another; if tables differ in their columns; if nothing is left.
    """
    for table in tables:
        if not table.rows:
            remedy = "add rows, or leave the file out"
            raise fail(table.where, "at least one row", "none", remedy)
        table.require(list(dict.fromkeys([*targets, *(features or ()), *categories])))
    both = [name for name in (*(features or ()), *categories) if name in targets]
    if both:
        wanted = "inputs other than the target"
        raise fail("features", wanted, repr(both[0]), "leave it out of features and categories")
    chosen, left_out = _chosen(tables, features, categories, {*targets, *besides})
    named: dict[str, tuple[str, ...]] = {}
    for name in chosen:
        if name in categories or (features is not None and _is_of_names(tables, name)):
            named[name] = tuple(sorted({str(entry) for t in tables for entry in t.columns[name]}))
        else:
            remedy = f"correct it, or list {name!r} under categories"
            for table in tables:
                table.require_numbers([name], remedy=remedy)
    return Layout(tuple(chosen), named, tuple(targets), left_out)


def _is_of_names(tables: Sequence[Table], name: str) -> bool:
    """Whether a column holds texts in all tables, none of which could be a number."""
    return all(table.is_text(name) and not table.has_numbers(name) for table in tables)


def _chosen(
    tables: Sequence[Table],
    features: Sequence[str] | None,
    categories: Sequence[str],
    others: set[str],
) -> tuple[list[str], tuple[str, ...]]:
    """The columns of the inputs, and those that are left out for their type."""
    first = tables[0]
    if features is not None:
        return list(dict.fromkeys([*features, *categories])), ()
    for table in tables[1:]:
        extra, absent = set(table.names) - set(first.names), set(first.names) - set(table.names)
        if extra or absent:
            got = f"{sorted(extra)[0]!r} besides" if extra else f"no {sorted(absent)[0]!r}"
            remedy = "give all files the same columns, or name those to use under features"
            raise fail(table.where, f"the columns of {first.where}", got, remedy)
    if "" in first.names:
        remedy = "name it, take it out, or name those to use under features"
        raise fail(first.where, "a name for every column", "one without", remedy)
    # A column of text in every table is of names; of text in some, a mistake in those.
    words = {n for n in first.columns if all(t.is_text(n) for t in tables)} - set(categories)
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
    )


def _column(table: Table, name: str, layout: Layout) -> FloatArray:
    """One column of a table as columns of the inputs, shape (n, m)."""
    known = layout.categories.get(name)
    if known is None:
        table.require_numbers([name])
        return np.asarray(table.columns[name], dtype=np.float64)[:, None]
    table.require([name])
    number = {category: k for k, category in enumerate(known)}
    found = [number.get(str(entry), -1) for entry in table.columns[name]]
    if -1 in found:
        row = found.index(-1)
        shown = ", ".join(known[:12]) + (", …" if len(known) > 12 else "")
        raise fail(
            f"{table.where}, column {name!r}",
            f"a category of the training data ({shown})",
            f"{str(table.columns[name][row])!r} in row {row + 1}",
            "correct it, or leave the row out",
        )
    return np.eye(len(known))[found]
