"""Graph files: networks that another program wrote, as the table ``[network]`` that says the same.

=====================  ==============================================================
ending                 what it is
=====================  ==============================================================
``.graphml``           GraphML, of networkx, igraph, Gephi, yEd
``.gml``               GML
``.net``, ``.pajek``   Pajek
``.edges``,            a list of edges: ``a b`` or ``a b weight`` on a line, divided by spaces or
``.edgelist``          tabs; what follows a ``#`` is passed by
``.csv``               a square table of weights, or of 0 and 1; a row hears its columns, as in W
=====================  ==============================================================

In a directed graph an edge from a to b says that b hears a: it carries W_ba. An undirected edge
counts both ways. Weights stand in the edges' attribute "weight"; where none has one, or all have 1,
a rule makes them. Nodes are agents in the order of the file, by name; nodes called 0 to N − 1 are
the agents of these numbers. What is kept and recorded is the table, not the file's name.
"""

from __future__ import annotations

import ast
import csv
import math
import re
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from peerbayes.messages import describe, shorten
from peerbayes.problem import GRAPH_ENDINGS, is_graph_file
from peerbayes.problem.entries import dumped, is_one, total_of
from peerbayes.problem.files import read_text
from theory.network.graphs import NodeOrder, layout_of_graph
from theory.network.labels import numbered
from theory.numbers.rational import read_fraction
from theory.validation import fail

if TYPE_CHECKING:
    import networkx as nx


# Graphs that are written by hand -----------------------------------------------------------------


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


# Graph files -------------------------------------------------------------------------------------


_EDGE_LISTS = (".edges", ".edgelist")
_MOST_BYTES = 1 << 28
# Sums of such weights are finite.
_LARGEST = 1e290


def network_table(
    path: Path, *, rule: str | None = None, directed: bool = False, normalise: bool = False
) -> dict[str, Any]:
    """The table ``[network]`` that says what a graph file says.

    Parameters
    ----------
    rule
        Makes the weights, in place of those that edges carry; left out: "uniform" if none does.
    directed
        Whether the edges of a list lead one way; other files say so themselves.
    normalise
        Whether the weights of what an agent hears are divided by their sum.

    Raises
    ------
    ValueError
        If the file is none of these, or its graph no network; in one line that names the file.
    """
    source = str(path)
    if not is_graph_file(source):
        wanted = f"a graph file ({', '.join(GRAPH_ENDINGS)})"
        raise fail(source, wanted, repr(path.suffix), "save it as one of these")
    ending = path.suffix.lower()
    if directed and ending not in _EDGE_LISTS:
        wanted = f"an edge list ({', '.join(_EDGE_LISTS)}) beside directed = true"
        raise fail(source, wanted, repr(ending), "leave it out: the file says it itself")
    wanted, remedy = "a readable graph file", "correct the path"
    text = read_text(path, wanted=wanted, remedy=remedy, most=_MOST_BYTES)
    if not text.strip():
        raise fail(source, "a graph", "an empty file", "save the graph again")
    if ending == ".csv":
        graph = of_csv(text, source)
    elif ending in _EDGE_LISTS:
        graph = of_lines(text, source, directed=directed)
    else:
        graph = _of_networkx(_read(text, ending, source), source)
    if not graph.nodes:
        raise fail(source, "at least one node", "none", "add nodes, or name another file")
    number, names = numbered(graph.nodes)
    table: dict[str, Any] = {} if names is None else {"names": list(names)}
    if graph.positions is not None:
        order = sorted(range(len(graph.nodes)), key=lambda k: number[graph.nodes[k]])
        table["positions"] = [graph.positions[k] for k in order]
    if len(number) == 1:
        return {**table, "weights": [["1"]]}
    if not graph.edges:
        raise fail(source, "edges that connect the nodes", "none", "add edges")
    if rule is None and graph.is_weighted:
        links = _links(graph, number, source, normalise=normalise)
        return {**table, "links": links, "agents": len(number)}
    edges = [[number[a], number[b]] for a, b, _ in graph.edges]
    table |= {"edges": edges, "agents": len(number), "rule": rule or "uniform"}
    return table | {"directed": graph.directed}


def _links(
    graph: Graph, number: Mapping[str, int], source: str, *, normalise: bool
) -> list[list[Any]]:
    """The positive weights (listener, speaker, W) of a graph whose edges carry them."""
    rows: list[dict[int, Weight]] = [{} for _ in number]
    columns: list[Weight] = [Fraction(0) for _ in number]
    for a, b, given in graph.edges:
        weight = _weight(given, a, b, source)
        pairs = [(b, a)] if graph.directed or a == b else [(b, a), (a, b)]
        for listener, speaker in pairs if weight else ():
            row, j = rows[number[listener]], number[speaker]
            row[j] = row[j] + weight if j in row else weight
            columns[j] += weight
    sums = [total_of(row.values()) for row in rows]
    for node, i in sorted(number.items(), key=lambda pair: pair[1]):
        if normalise and not rows[i]:
            raise fail(source, "an edge that every node hears", f"none for {node!r}", "add one")
        if not normalise and not is_one(sums[i], len(rows[i])):
            remedy = (
                "normalise them (normalise = true beside file in [network]), or name a rule there"
            )
            if all(is_one(total, len(rows)) for total in columns):
                remedy = "the other direction does sum to 1: turn the edges round, or the table"
            wanted = "weights that sum to 1 over all that a node hears, itself included"
            raise fail(source, wanted, f"a sum of {float(sums[i]):.12g} for {node!r}", remedy)
    return [
        [i, j, dumped(weight / sums[i] if normalise else weight)]
        for i, row in enumerate(rows)
        for j, weight in row.items()
    ]


def _weight(given: Any, a: str, b: str, source: str) -> Weight:
    """An edge's weight as a number of at least 0."""
    weight: Weight | None = None
    with suppress(TypeError, ValueError, OverflowError):
        weight = given if isinstance(given, Fraction) else float(given)
    if weight is None or not 0 <= weight < _LARGEST:
        got = "none" if given is None else describe(given)
        where = f"{got} on the edge from {shorten(a)!r} to {shorten(b)!r}"
        remedy = "give every edge its weight, or name a rule"
        raise fail(source, "a weight of at least 0 on every edge", where, remedy)
    return weight


def _of_networkx(graph: nx.Graph[Any], source: str) -> Graph:
    """What a graph of networkx says; "name" or "label" is what a node is called, if all differ."""
    texts = {node: str(node) for node in graph}
    for key in ("name", "label"):
        called: Any = graph.nodes(data=key)
        given = {node: str(text) for node, text in called if text not in (None, "")}
        if len(given) == len(set(given.values())) == len(texts):
            texts = given
            break
    nodes = list(texts.values())
    if len(set(nodes)) < len(nodes):
        twice = Counter(nodes).most_common(1)[0][0]
        raise fail(source, "nodes that differ", f"{twice!r} twice", "rename one of the two")
    edges: Any = graph.edges(data="weight")
    order = NodeOrder({node: k for k, node in enumerate(graph)}, None)
    try:
        layout = layout_of_graph(graph, order)
    except ValueError:  # positions that are no finite numbers: they are for drawing alone
        layout = None
    return Graph(
        nodes,
        [(texts[a], texts[b], weight) for a, b, weight in edges],
        graph.is_directed(),
        None if layout is None else layout.tolist(),
    )


def _read(text: str, ending: str, source: str) -> nx.Graph[Any]:
    """A graph as networkx reads it."""
    name, read = {".graphml": ("GraphML", _of_graphml), ".gml": ("GML", _of_gml)}.get(
        ending, ("Pajek", _of_pajek)
    )
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return read(text)
    except _RefusedError as error:
        raise fail(source, *error.args) from None
    except Exception as error:  # networkx raises whatever its parts raise
        got = shorten(str(error) or type(error).__name__, length=120)
        raise fail(source, f"valid {name}", got, "save the graph again") from None


class _RefusedError(Exception):
    """What is wrong with a graph that its reader takes: expected, got, remedy."""


def _of_graphml(text: str) -> nx.Graph[Any]:
    import networkx as nx

    if "<!DOCTYPE" in text or "<!ENTITY" in text:
        # Entities may stand for each other, so that a few lines become gigabytes.
        got = "a document type"
        raise _RefusedError("GraphML without entities", got, "leave out <!DOCTYPE …> of the file")
    seen = re.sub(r"<!--.*?-->", "", text, flags=re.DOTALL)
    declared = re.findall(r"<node\b[^>]*?\bid\s*=\s*(\"[^\"]*\"|'[^']*')", seen)
    graph: nx.Graph[Any] = nx.parse_graphml(text)
    _check_declared(len(graph), len(declared), len(set(declared)))
    return graph


def _check_declared(nodes: int, declared: int, different: int) -> None:
    if different < declared:
        got = f"{declared - different} that are listed again"
        raise _RefusedError("every node once", got, "strike or rename them")
    if nodes != declared:
        got = f"{nodes - declared} that only edges name"
        raise _RefusedError("edges between nodes that are listed", got, "list them")


def _of_gml(text: str) -> nx.Graph[Any]:
    import networkx as nx

    labelled = re.search(r"\blabel\b", text) is not None
    graph: nx.Graph[Any] = nx.parse_gml(text, label="label" if labelled else "id")
    for _, data in graph.nodes(data=True):
        if isinstance(place := data.get("graphics"), Mapping):
            data.update({key: place[key] for key in ("x", "y") if key in place})
    return graph


def _of_pajek(text: str) -> nx.Graph[Any]:
    import networkx as nx

    graph: nx.Graph[Any] = nx.parse_pajek(text)
    count = re.search(r"^\*vertices\s+(\d+)", text, re.MULTILINE | re.IGNORECASE)
    if count is None:
        raise _RefusedError("a line *Vertices N", "none", "save the graph again")
    listed = sum("id" in data for _, data in graph.nodes(data=True))
    _check_declared(len(graph) - listed + int(count[1]), int(count[1]), listed)
    return graph
