"""Graphs that are written by hand: lists of edges, and square tables of weights or marks.

Both are read line by line, so that a mistake has its place. A number written as a fraction, such as
1/3, is exact; a table with a fraction in it has exact whole numbers too.
"""

from __future__ import annotations

import ast
import csv
import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from peerbayes.messages import shorten
from theory.numbers.rational import read_fraction
from theory.validation import fail

# What is no weight but marks an edge.
_MARKS = (None, 1, "1", "1.0")

Weight = float | Fraction


@dataclass(frozen=True)
class Graph:
    """What a graph file says: edges (speaker, listener, weight), by the nodes' texts."""

    nodes: list[str]
    edges: list[tuple[str, str, Any]]
    directed: bool
    positions: list[list[float]] | None = None

    @property
    def is_weighted(self) -> bool:
        """Whether edges carry weights: what is 1 throughout is a mark of the edge."""
        return any(weight not in _MARKS for _, _, weight in self.edges)


def of_lines(text: str, source: str, *, directed: bool) -> Graph:
    """A list of edges."""
    edges: list[tuple[str, str, Any]] = []
    weight: Any
    for number, line in enumerate(text.splitlines(), 1):
        line = line.partition("#")[0].strip()
        if not line:
            continue
        parts = [part.strip() for part in line.split("\t", 2)] if "\t" in line else []
        parts = parts if len(parts) > 1 else line.split(None, 2)
        if len(parts) < 2 or "" in parts[:2]:
            wanted, where = "two nodes, or two and a weight", f"{source}: line {number}"
            raise fail(where, wanted, repr(shorten(line)), "write one edge a line")
        weight = _edge_data(parts[2], f"{source}: line {number}") if len(parts) == 3 else None
        edges.append((parts[0], parts[1], weight))
    return Graph(list(dict.fromkeys(end for a, b, _ in edges for end in (a, b))), edges, directed)


def _edge_data(text: str, where: str) -> Any:
    """What follows the two nodes: a weight, or the attributes that networkx writes."""
    if text.startswith("{"):
        try:
            return ast.literal_eval(text).get("weight")
        except (ValueError, SyntaxError, AttributeError, RecursionError, MemoryError):
            raise fail(where, "attributes in braces", repr(shorten(text)), "correct them") from None
    return _number(text, where)


def _number(text: str, where: str) -> Weight:
    """A number of at least 0, exact if it is written as a fraction."""
    try:
        value = read_fraction(text) if "/" in text else float(text)
    except (ValueError, ZeroDivisionError, OverflowError):
        value = math.nan
    if not math.isfinite(value) or value < 0:
        wanted = "a number of at least 0, or a fraction such as 1/3"
        raise fail(where, wanted, repr(shorten(text)), "correct it")
    return value


def of_csv(text: str, source: str) -> Graph:
    """A square table, with names in its first row and column or without."""
    first = text.splitlines()[0]
    mark = max((",", ";", "\t"), key=first.count)
    try:
        rows = [row for row in csv.reader(text.splitlines(), delimiter=mark) if any(row)]
    except csv.Error as error:
        raise fail(source, "a table of numbers", str(error), "save it as CSV again") from None
    width = len(rows[0]) if rows else 0
    for k, row in enumerate(rows):
        if len(row) != width:
            wanted = f"{width} numbers in every row, as in the first"
            raise fail(f"{source}: row {k + 1}", wanted, len(row), "make the table square")
    headed = len(rows) == width + 1 or any(not _is_number(cell) for cell in rows[0])
    names = [cell.strip() for cell in rows[0]] if headed else []
    body, column = rows[headed:], []
    has_column = headed and not (rows[0][0].strip() and all(_is_number(row[0]) for row in body))
    if has_column:
        names, column = names[1:], [row[0].strip() for row in body]
        body = [row[1:] for row in body]
    if not body or len(body) != len(body[0]):
        size = f"{len(body)} rows of {len(body[0]) if body else 0}"
        raise fail(source, "a square table: a row and a column a node", size, "add what is missing")
    if has_column and column != names:
        k = next(k for k, name in enumerate(names) if column[k] != name)
        wanted = "the same names down as across, in the same order"
        got = f"{column[k]!r} in row {k + 1} and {names[k]!r} in column {k + 1}"
        raise fail(source, wanted, got, "sort one like the other")
    names = names or [str(k) for k in range(len(body))]
    if len(set(names)) < len(names) or "" in names:
        got = "an empty one" if "" in names else f"{Counter(names).most_common(1)[0][0]!r} twice"
        raise fail(source, "a name of its own for each node", got, "rename it")
    return _of_matrix(list(_positive(body, names, source, exact="/" in text)), names)


def _positive(
    body: list[list[str]], names: list[str], source: str, *, exact: bool
) -> Iterator[tuple[int, int, Weight]]:
    """The positive entries (row, column, number); an empty cell is 0."""
    for i, row in enumerate(body):
        for j, cell in enumerate(row):
            if cell in ("", "0", "0.0"):
                continue
            value = _number(cell.strip(), f"{source}: row {names[i]!r}, column {names[j]!r}")
            if value:
                yield i, j, Fraction(value) if exact and float(value).is_integer() else value


def _of_matrix(entries: list[tuple[int, int, Weight]], names: list[str]) -> Graph:
    """Rows hear columns; in a table of 0 and 1, which has no weights, both ways are one edge."""
    if any(value != 1 for _, _, value in entries):
        return Graph(names, [(names[j], names[i], value) for i, j, value in entries], True)
    pairs = {(i, j) for i, j, _ in entries}
    directed = any((j, i) not in pairs for i, j in pairs)
    edges = [(names[j], names[i], None) for i, j, _ in entries if directed or i <= j]
    return Graph(names, edges, directed)


def _is_number(cell: str) -> bool:
    try:
        read_fraction(cell) if "/" in cell else float(cell)
    except (ValueError, ZeroDivisionError):
        return False
    return True
