"""Tables in CSV and Parquet files: columns of numbers, and columns of text.

A column is numeric if every entry is a number, or true or false; else it is text. Nothing is
guessed about single entries: one text among numbers makes a column of text, and whoever wanted
numbers there is told the row. Empty cells, words such as ``NA`` and ``NaN`` are missing values
(:mod:`empirical.train.data.notation`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from empirical.train.data.examples import listed
from empirical.train.data.notation import TextColumn, is_missing, numbers_in, text_column
from empirical.train.data.source_files import PARQUET, SourceFile, Sources, check_kind, read_source
from theory.validation import FloatArray, fail, install_extra, meant, read_only

SUFFIXES = (".csv", ".tsv", ".parquet", ".pq")
# What pandas calls a frame's row numbers that it wrote beside the columns.
_ROW_NUMBERS = re.compile(r"Unnamed: 0(\.\d+)*|__index_level_\d+__")
# Above this, doubles do not tell whole numbers apart.
_EXACT = 2.0**53


@dataclass(frozen=True, eq=False)
class Table:
    """Columns of one length.

    Attributes
    ----------
    where
        The file, for messages.
    columns
        For each name an array of shape (n,): float64, int64 or uint64, with NaN for a missing
        number, or texts (type object) with None for an empty cell.
    missing
        For each name the positions of missing entries; of texts, those missing among names.
    other
        Columns of other types, such as dates: their names, and the types' names.
    sources
        The file and its checksum.
    index
        Columns that are pandas' index: numbers or names of rows, which nobody asked for.
    decimal
        The decimal mark of texts.
    """

    where: str
    rows: int
    columns: Mapping[str, NDArray[Any]]
    missing: Mapping[str, NDArray[np.int64]]
    other: Mapping[str, str]
    sources: Sources
    index: tuple[str, ...] = ()
    decimal: str = "."

    @property
    def names(self) -> tuple[str, ...]:
        """All columns, in the order of the file; those of other types last."""
        return (*self.columns, *self.other)

    def is_text(self, name: str) -> bool:
        """Whether a column holds texts."""
        return self.columns[name].dtype == object

    def texts(self, name: str, *, missing: bool = False) -> TextColumn:
        """What a column of texts is."""
        return text_column(self.columns[name], decimal=self.decimal, missing=missing)

    def numbers(self, name: str) -> FloatArray:
        """A column that :meth:`require_numbers` let pass, NaN where a value is missing."""
        if self.is_text(name):
            return numbers_in(self.columns[name], decimal=self.decimal)
        return np.asarray(self.columns[name], dtype=np.float64)

    def require(self, names: Sequence[str], *, missing: bool = False, otherwise: str = "") -> None:
        """See that columns exist, with numbers or texts that are all there.

        Parameters
        ----------
        missing
            Whether values may be missing.
        otherwise
            What else may be done about a missing one.

        Raises
        ------
        ValueError
            If one is missing, has a missing or no finite entry, or is of another type.
        """
        for name in names:
            if name in self.other:
                place = f"{self.where}, column {name!r}"
                remedy = "turn it into a number, or leave the column out"
                raise fail(place, "numbers or text", self.other[name], remedy)
            if name not in self.columns:
                remedy = meant(name, self.names, otherwise="add it, or name another")
                if len(self.names) == 1:
                    remedy = 'say what separates cells, such as separator = ";"'
                shown = f"columns {listed(self.names, 12)}"
                raise fail(self.where, f"a column {name!r}", shown, remedy)
            self._check_entries(name, missing, otherwise)

    def _check_entries(self, name: str, missing: bool, otherwise: str) -> None:
        place, values = f"{self.where}, column {name!r}", self.columns[name]
        if self.missing[name].size and not missing:
            row, more = int(self.missing[name][0]), self.missing[name].size - 1
            word = repr(values[row]) if self.is_text(name) and values[row] else "none"
            if word != "none" and (found := self.texts(name)).kind == "numbers":
                self._refuse_text(name, found, otherwise)
            got = f"{word} in row {row + 1}" + (f" and {more} more" if more else "")
            remedy = "fill it in, or leave the row or the column out"
            remedy += f", or {otherwise}" if otherwise else ""
            raise fail(place, "a value in every row", got, remedy)
        if values.dtype.kind == "f":
            wrong = np.isinf(values) if missing else ~np.isfinite(values)
            if wrong.any():
                row = int(np.flatnonzero(wrong)[0])
                remedy = "replace it, or leave the row out"
                remedy += f", or {otherwise}" if otherwise and np.isnan(values[row]) else ""
                raise fail(place, "finite numbers", f"{values[row]} in row {row + 1}", remedy)

    def require_numbers(
        self, names: Sequence[str], *, otherwise: str = "", missing: bool = False
    ) -> None:
        """See that columns are of finite numbers; the line names the first text and its row.

        Raises
        ------
        ValueError
            If one is missing, has a missing or no finite entry, or a text.
        """
        for name in names:
            if name in self.columns and self.is_text(name):
                found = self.texts(name, missing=missing)
                if not missing or found.row is not None or not found.has_words:
                    self._refuse_text(name, found, otherwise)
            self.require([name], missing=missing)

    def _refuse_text(self, name: str, found: TextColumn, otherwise: str) -> NoReturn:
        row = found.row or 0
        text = self.columns[name][row]
        got = f"{'no value' if text is None else f'the text {text!r}'} in row {row + 1}"
        *first, last = [way for way in ("correct it", found.remedy, otherwise) if way]
        remedy = f"{', '.join(first)}, or {last}" if first else last
        raise fail(f"{self.where}, column {name!r}", "numbers", got, remedy)


def read_table(
    path: str | Path,
    *,
    separator: str | None = None,
    text: Sequence[str] = (),
    decimal: str = ".",
    marks: Sequence[str] = (),
) -> Table:
    """The columns of a CSV file (comma; ``.tsv``: tab) or a Parquet file, by its ending.

    Parameters
    ----------
    separator
        Between the cells of a CSV file; left out: by the ending, or a semicolon where the decimal
        mark is a comma.
    text
        Columns to read as text, though they look like numbers (post codes).
    decimal
        The decimal mark, ``"."`` or ``","``.
    marks
        Of a CSV file: cells that have no value, beside empty ones and words such as ``NA``.

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
    usual = "\t" if suffix == ".tsv" else ";" if decimal == "," else ","
    try:
        if suffix in (".parquet", ".pq"):
            table = _parquet(source)
        else:
            table = _csv(source, separator or usual, text, decimal, marks)
        return _table(source, table, text, decimal)
    except (_arrow(source.path).ArrowException, UnicodeDecodeError) as error:
        raise _unreadable(source.path, "texts in UTF-8, and numbers", error) from None


def _csv(
    source: SourceFile, separator: str, text: Sequence[str], decimal: str, marks: Sequence[str]
) -> Any:
    pa = _arrow(source.path)
    from pyarrow import csv

    _check_csv(source, separator, decimal)

    # One block, so that a column's type is judged by all of its entries; one thread, so that
    # messages can name the line.
    block = min(max(len(source.content) + 1, 1 << 16), 2**31 - 1)

    def read(text: Sequence[str]) -> Any:
        return csv.read_csv(
            pa.BufferReader(source.content),
            read_options=csv.ReadOptions(block_size=block, use_threads=False),
            parse_options=csv.ParseOptions(delimiter=separator, newlines_in_values=True),
            convert_options=csv.ConvertOptions(
                null_values=["", *marks],
                strings_can_be_null=True,
                decimal_point=decimal,
                column_types={name: pa.string() for name in text},
            ),
        )

    try:
        table = read(text)
        for name, column in _long_integers(table, read).items():
            table = table.set_column(table.column_names.index(name), name, column)
        return table
    except UnicodeDecodeError:
        raise
    except (pa.ArrowException, ValueError, TypeError) as error:
        raise _unreadable(source.path, "a table in CSV", error) from None


def _check_csv(source: SourceFile, separator: str, decimal: str) -> None:
    check_kind(source, "a table in CSV")
    if separator == decimal:
        wanted = f"another mark between cells than the decimal mark {decimal!r}"
        raise fail(source.path, wanted, "the same", "change separator or decimal")
    first = source.content[:512].removeprefix(b"\xef\xbb\xbf").split(b"\n")[0].strip()
    if first.lower().startswith(b"sep="):
        got = f"Excel's line {first.decode(errors='replace')!r}"
        remedy = f'take the line out, and write separator = "{first[4:5].decode()}"'
        raise fail(source.path, "names of columns in the first line", got, remedy)
    other = next((mark for mark in ";\t" if mark.encode() in first), "")
    if other and separator.encode() not in first:
        wanted = f"names of columns with {separator!r} between them in the first line"
        remedy = f"write separator = {json.dumps(other)}"
        raise fail(source.path, wanted, f"{other!r} between them", remedy)
    if b"\0" in source.content:
        remedy = "save it as text in UTF-8"
        raise fail(source.path, "a table in CSV", "zero bytes, as in UTF-16", remedy)


def _long_integers(table: Any, read: Callable[[Sequence[str]], Any]) -> dict[str, Any]:
    """Columns of whole numbers of so many digits that they were read as doubles, exactly.

    They are texts where they do not fit 64 bits.
    """
    import pyarrow as pa
    from pyarrow import types

    names = [
        name
        for name, column in zip(table.column_names, table.columns, strict=True)
        if types.is_floating(column.type) and (np.abs(column.to_numpy()) >= _EXACT).any()
    ]
    if not names or len(set(table.column_names)) < len(table.column_names):
        return {}
    texts, found = read(names), {}
    for name in names:
        entries = texts[name].to_pylist()
        if all(re.fullmatch(r"\s*[-+]?\d+\s*", text) for text in entries if text):
            try:
                found[name] = texts[name].cast(pa.uint64())
            except pa.ArrowInvalid:
                found[name] = texts[name]
    return found


def _parquet(source: SourceFile) -> Any:
    pa = _arrow(source.path)
    from pyarrow import parquet

    check_kind(source, "a Parquet file", PARQUET)
    try:
        # No threads, not even those that scan data sets: at exit pyarrow's pool may abort.
        file = parquet.ParquetFile(pa.BufferReader(source.content), pre_buffer=False)
        return file.read(use_threads=False)
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
    got = f"one that cannot be read ({reason})"
    return fail(path, wanted, got, "correct the file, or save it again")


def _table(source: SourceFile, table: Any, text: Sequence[str], decimal: str) -> Table:
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
        if values.dtype == object:
            absent = np.array([is_missing(text) for text in values], dtype=bool)
        else:
            absent = column.is_null().to_numpy()
        missing[name] = read_only(np.flatnonzero(absent))
    return Table(
        source.path,
        table.num_rows,
        MappingProxyType(columns),
        MappingProxyType(missing),
        MappingProxyType(other),
        source.sources,
        _index(table),
        decimal,
    )


def _index(table: Any) -> tuple[str, ...]:
    """Columns that pandas' own words in the file, or their names, say are its index."""
    try:
        words = json.loads((table.schema.metadata or {}).get(b"pandas", b"{}"))
        said = {name for name in words.get("index_columns", ()) if isinstance(name, str)}
    except (ValueError, AttributeError, TypeError):  # damaged words are none
        said = set()
    return tuple(n for n in table.column_names if n in said or _ROW_NUMBERS.fullmatch(n))


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
        return np.array(column.to_pylist(), dtype=object)
    if types.is_binary(kind):
        return "bytes, such as texts that are not in UTF-8"
    if types.is_boolean(kind):
        column, kind = column.cast(pa.int8()), pa.int8()
    if types.is_decimal(kind):
        column, kind = column.cast(pa.float64()), pa.float64()
    if not (types.is_integer(kind) or types.is_floating(kind)):
        return str(kind)
    if as_text:
        return np.array(column.cast(pa.string()).to_pylist(), dtype=object)
    array: NDArray[Any] = column.to_numpy()
    if not types.is_integer(kind) or column.null_count:
        return np.array(array, dtype=np.float64)
    fits = array.dtype != np.uint64 or not array.size or array.max() <= np.iinfo(np.int64).max
    return np.array(array, dtype=np.int64 if fits else np.uint64)
