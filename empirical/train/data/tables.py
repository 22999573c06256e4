"""Tables in CSV and Parquet files: columns of numbers, and columns of text.

A column is numeric if every entry is a number, or true or false; else it is text. Nothing is
guessed about single entries: one text among numbers makes a column of text, and whoever wanted
numbers there is told the row. Empty cells are missing values; ``NA`` is a text like any other, and
``NaN`` a number that is refused.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from empirical.train.data.examples import is_number
from empirical.train.data.source_files import SourceFile, Sources, read_source
from theory.validation import fail, install_extra, meant, read_only

SUFFIXES = (".csv", ".tsv", ".parquet", ".pq")


@dataclass(frozen=True, eq=False)
class Table:
    """Columns of one length.

    Attributes
    ----------
    where
        The file, for messages.
    columns
        For each name an array of shape (n,): float64 or int64, in which NaN may stand for a
        missing number of a whole-number column, or texts (type object) with None for a missing
        one.
    missing
        For each name the positions of missing entries.
    other
        Columns of other types, such as dates: their names, and the types' names.
    sources
        The file and its checksum.
    """

    where: str
    rows: int
    columns: Mapping[str, NDArray[Any]]
    missing: Mapping[str, NDArray[np.int64]]
    other: Mapping[str, str]
    sources: Sources

    @property
    def names(self) -> tuple[str, ...]:
        """All columns, in the order of the file; those of other types last."""
        return (*self.columns, *self.other)

    def is_text(self, name: str) -> bool:
        """Whether a column holds texts."""
        return self.columns[name].dtype == object

    def has_numbers(self, name: str) -> bool:
        """Whether an entry of a column is a number, or a text that could be one."""
        return not self.is_text(name) or any(map(is_number, self.columns[name]))

    def require(self, names: Sequence[str]) -> None:
        """See that columns exist, with numbers or texts that are all there.

        Raises
        ------
        ValueError
            If one is missing, has a missing or no finite entry, or is of another type.
        """
        for name in names:
            if name in self.other:
                raise fail(
                    f"{self.where}, column {name!r}",
                    "numbers or text",
                    self.other[name],
                    "turn it into a number, or leave the column out",
                )
            if name not in self.columns:
                remedy = meant(name, self.names, otherwise="add it, or name another")
                if len(self.names) == 1:
                    remedy = 'say what separates cells, such as separator = ";"'
                shown = ", ".join(self.names[:12]) + (", …" if len(self.names) > 12 else "")
                raise fail(self.where, f"a column {name!r}", f"columns {shown}", remedy)
            self._check_entries(name)

    def _check_entries(self, name: str) -> None:
        place = f"{self.where}, column {name!r}"
        if self.missing[name].size:
            row = int(self.missing[name][0]) + 1
            more = self.missing[name].size - 1
            got = f"none in row {row}" + (f" and {more} more" if more else "")
            remedy = "fill it in, or leave the row or the column out"
            raise fail(place, "a value in every row", got, remedy)
        values = self.columns[name]
        if values.dtype.kind == "f" and not np.isfinite(values).all():
            row = int(np.flatnonzero(~np.isfinite(values))[0])
            remedy = "replace it, or leave the row out"
            raise fail(place, "finite numbers", f"{values[row]} in row {row + 1}", remedy)

    def require_numbers(self, names: Sequence[str], *, remedy: str = "correct it") -> None:
        """See that columns are of finite numbers; the line names the first text and its row.

        Raises
        ------
        ValueError
            If one is missing, has a missing or no finite entry, or a text.
        """
        for name in names:
            if name in self.columns and self.is_text(name):
                row, text = _first_text(self.columns[name])
                place = f"{self.where}, column {name!r}"
                raise fail(place, "numbers", f"the text {text!r} in row {row + 1}", remedy)
            self.require([name])


def read_table(
    path: str | Path, *, separator: str | None = None, text: Sequence[str] = ()
) -> Table:
    """The columns of a CSV file (comma; ``.tsv``: tab) or a Parquet file, by its ending.

    Parameters
    ----------
    separator
        Between the cells of a CSV file; left out: by the ending.
    text
        Columns to read as text, though they look like numbers (post codes).

    Raises
    ------
    ValueError
        If the file is empty, damaged or of another kind, a row has too many or too few cells, or
        two columns have one name; in one line.
    """
    suffix = Path(path).suffix.lower()
    if suffix not in SUFFIXES:
        wanted = f"a table whose name ends in {', '.join(SUFFIXES)}"
        raise fail(str(path), wanted, repr(Path(path).name), "save it as one of them")
    source = read_source(path)
    if suffix in (".parquet", ".pq"):
        table = _parquet(source)
    else:
        table = _csv(source, separator or ("\t" if suffix == ".tsv" else ","), text)
    try:
        return _table(source, table, text)
    except (_arrow(source.path).ArrowException, UnicodeDecodeError) as error:
        raise _unreadable(source.path, "texts in UTF-8, and numbers", error) from None


def _csv(source: SourceFile, separator: str, text: Sequence[str]) -> Any:
    pa = _arrow(source.path)
    from pyarrow import csv

    # One block, so that a column's type is judged by all of its entries; one thread, so that
    # messages can name the line.
    block = min(max(len(source.content) + 1, 1 << 16), 2**31 - 1)
    try:
        return csv.read_csv(
            pa.BufferReader(source.content),
            read_options=csv.ReadOptions(block_size=block, use_threads=False),
            parse_options=csv.ParseOptions(delimiter=separator, newlines_in_values=True),
            convert_options=csv.ConvertOptions(
                null_values=[""],
                strings_can_be_null=True,
                column_types={name: pa.string() for name in text},
            ),
        )
    except (pa.ArrowException, ValueError, TypeError) as error:
        raise _unreadable(source.path, "a table in CSV", error) from None


def _parquet(source: SourceFile) -> Any:
    pa = _arrow(source.path)
    from pyarrow import parquet

    try:
        return parquet.read_table(pa.BufferReader(source.content))
    except (pa.ArrowException, OSError, ValueError) as error:
        raise _unreadable(source.path, "a Parquet file", error) from None


def _arrow(path: str) -> Any:
    try:
        import pyarrow
        import pyarrow.csv  # named where it is used
    except ModuleNotFoundError:
        raise fail(path, "pyarrow, to read tables", "none", install_extra("train")) from None
    return pyarrow


def _unreadable(path: str, wanted: str, error: Exception) -> ValueError:
    reason = " ".join(str(error).split())
    reason = reason if len(reason) <= 160 else f"{reason[:159]}…"
    return fail(
        path, wanted, f"one that cannot be read ({reason})", "correct the file, or save it again"
    )


def _table(source: SourceFile, table: Any, text: Sequence[str]) -> Table:
    names = list(table.column_names)
    twice = next((name for k, name in enumerate(names) if name in names[:k]), None)
    if twice is not None:
        raise fail(source.path, "columns of distinct names", f"{twice!r} twice", "rename one")
    columns, missing, other = {}, {}, {}
    for name, column in zip(names, table.columns, strict=True):
        values = _values(column, as_text=name in text)
        if isinstance(values, str):
            other[name] = values
            continue
        columns[name] = read_only(values)
        missing[name] = read_only(np.flatnonzero(column.is_null().to_numpy()))
    return Table(
        source.path,
        table.num_rows,
        MappingProxyType(columns),
        MappingProxyType(missing),
        MappingProxyType(other),
        source.sources,
    )


def _values(column: Any, *, as_text: bool) -> NDArray[Any] | str:
    """A column's entries, or the name of its type where that is neither number nor text."""
    import pyarrow as pa
    from pyarrow import types

    kind = column.type
    if types.is_dictionary(kind):
        kind = kind.value_type
        column = column.cast(kind)
    if types.is_null(kind):
        return np.full(len(column), None, dtype=object) if as_text else np.full(len(column), np.nan)
    if types.is_string(kind) or types.is_large_string(kind):
        return _objects(column)
    if types.is_boolean(kind):
        column, kind = column.cast(pa.int8()), pa.int8()
    if types.is_decimal(kind):
        column, kind = column.cast(pa.float64()), pa.float64()
    if not (types.is_integer(kind) or types.is_floating(kind)):
        return str(kind)
    if as_text:
        return _objects(column.cast(pa.string()))
    whole = types.is_integer(kind) and not column.null_count
    array: ArrayLike = column.to_numpy()
    return np.array(array, dtype=np.int64 if whole else np.float64)


def _objects(column: Any) -> NDArray[Any]:
    values = np.empty(len(column), dtype=object)
    values[:] = column.to_pylist()
    return values


def _first_text(values: NDArray[Any]) -> tuple[int, str]:
    """The first entry of a column of texts that is no number; else the first."""
    row = next((k for k, text in enumerate(values) if text is not None and not is_number(text)), 0)
    return row, str(values[row])
