"""networkx graphs as networks, and back.

An edge (a, b) of a directed graph leads from speaker to listener: b hears a, and the edge carries
W_ba. Nodes that are the whole numbers 0 to N − 1 are the agents of these numbers, in whatever order
they were added; other nodes are numbered in the graph's order and give the agents their names.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np

from theory.network.stationary import DENSE_AGENTS
from theory.network.structure import EPS, Weights, divided_by_sums
from theory.network.weights import RULES, links_of_edges, weights_on_links
from theory.scientific import sparse
from theory.validation import SUM_TOLERANCE, FloatArray, as_float_array, as_integer, fail

if TYPE_CHECKING:
    import networkx as nx

# With edge weights: each row is divided by its sum.
NORMALISE = "normalise"


@dataclass(frozen=True)
class NodeOrder:
    """Which agent each node is.

    `number` maps nodes to agents; `names` is None where nodes are the agents' numbers.
    """

    number: dict[Hashable, int]
    names: tuple[str, ...] | None

    @property
    def nodes(self) -> list[Hashable]:
        """The nodes in the agents' order."""
        return sorted(self.number, key=self.number.__getitem__)

    @classmethod
    def of(cls, graph: nx.Graph[Any]) -> NodeOrder:
        """Agents of the numbers that the nodes are, or else in the graph's order, by name.

        Raises
        ------
        ValueError
            If it is no networkx graph; the line says how to make one.
        """
        if not is_graph(graph):
            kind = type(graph)
            package = kind.__module__.partition(".")[0].replace("builtins", "")
            got = f"{package} {kind.__qualname__}"
            raise fail("graph", "a networkx graph", got, _conversion(graph))
        nodes = list(graph)
        whole = all(isinstance(n, Integral) and not isinstance(n, bool) for n in nodes)
        if whole and set(nodes) == set(range(len(nodes))):
            return cls({node: int(node) for node in nodes}, None)
        number = {node: agent for agent, node in enumerate(nodes)}
        return cls(number, tuple(str(node) for node in nodes))


def is_graph(value: object) -> bool:
    """Whether it is a networkx graph, or behaves like one; networkx is not imported."""
    return all(hasattr(value, name) for name in ("is_directed", "edges", "adj", "nodes"))


def is_frame(value: object) -> bool:
    """Whether it is a pandas table, or behaves like one; pandas is not imported."""
    return all(hasattr(value, name) for name in ("index", "columns", "to_numpy"))


def frame_names(frame: Any) -> tuple[str, ...] | None:
    """The index of a square table as names; None if it counts from 0.

    Raises
    ------
    ValueError
        If the columns are not the index, in the same order.
    """
    index, columns = list(frame.index), list(frame.columns)
    if index != columns:
        wanted = "a table whose columns are its index, in the same order"
        pairs = zip(index, columns, strict=False)
        first = next(((a, b) for a, b in pairs if a != b), None)
        got = f"{len(index)} rows and {len(columns)} columns"
        got = got if first is None else f"the row {first[0]!r} beside the column {first[1]!r}"
        alike = len(index) == len(columns) and set(index) == set(columns)
        remedy = "give frame[frame.index]" if alike else "give every agent one row and one column"
        raise fail("weights", wanted, got, remedy)
    return None if index == list(range(len(index))) else tuple(map(str, index))


def graph_parts(
    graph: nx.Graph[Any], *, normalise: bool
) -> tuple[Weights, str, FloatArray | None, tuple[str, ...] | None]:
    """W, name, positions and names of a graph: its edges' "weight", or the usual rule if none."""
    weighted = any("weight" in data for _, _, data in graph.edges(data=True))
    order = NodeOrder.of(graph)
    rule = NORMALISE if weighted and normalise else None
    weights = weights_of_graph(graph, order, weight="weight" if weighted else None, rule=rule)
    return weights, str(graph.name or "network"), layout_of_graph(graph, order), order.names


def _conversion(graph: Any) -> str:
    """How to make a networkx graph of something else."""
    if hasattr(graph, "to_networkx"):  # igraph
        return "give graph.to_networkx()"
    if hasattr(graph, "weighted_edge_list"):  # rustworkx
        return "give networkx.Graph() or DiGraph() with graph.weighted_edge_list()"
    if hasattr(graph, "shape"):
        return "make weights of it by Network(weights), or give networkx.from_numpy_array(graph)"
    return "give networkx.Graph(graph), or networkx.DiGraph(graph) where links lead one way"


def weights_of_graph(
    graph: nx.Graph[Any],
    order: NodeOrder,
    *,
    weight: str | None = None,
    rule: str | None = None,
    sparse_result: bool | None = None,
) -> Weights:
    """W of a graph: by a rule, "uniform" if left out, or read from the edge attribute `weight`.

    Raises
    ------
    ValueError
        If there are no nodes, the rule does not fit, or an edge has no weight that is a number.
    """
    agents = as_integer("graph", len(order.number), minimum=1)
    pairs = [(order.number[a], order.number[b]) for a, b in graph.edges()]
    if weight is None:
        if rule == NORMALISE:
            raise fail("rule", f"one of {', '.join(RULES)} without weight", repr(rule), "name one")
        links = links_of_edges(pairs, agents=agents, directed=graph.is_directed())
        return weights_on_links(
            links, agents=agents, rule=rule or "uniform", sparse_result=sparse_result
        )
    if rule not in (None, NORMALISE):
        raise fail(
            "rule",
            f'none, or "{NORMALISE}", where edges carry weights',
            repr(rule),
            "leave out weight or rule: a rule makes weights of its own",
        )
    matrix = _read(graph, pairs, weight, agents)
    if rule != NORMALISE:
        _check_sums(matrix, order.nodes, weight)
    as_sparse = agents > DENSE_AGENTS if sparse_result is None else sparse_result
    weights = matrix if as_sparse else matrix.toarray()
    return divided_by_sums(weights, order.nodes) if rule == NORMALISE else weights


def layout_of_graph(graph: nx.Graph[Any], order: NodeOrder) -> FloatArray | None:
    """The node attribute "pos", or "x" and "y", shape (N, 2), if every node has two numbers."""
    table = [_position(graph.nodes[node]) for node in order.nodes]
    if any(np.shape(position) != (2,) for position in table):
        return None
    return as_float_array("pos", table, ndim=2)


def _position(data: Any) -> Any:
    if "pos" in data:
        return data["pos"]
    try:
        return float(data["x"]), float(data["y"])
    except (KeyError, TypeError, ValueError):
        return None


def to_graph(
    weights: Weights, *, name: str, names: tuple[str, ...] | None, layout: FloatArray | None
) -> nx.DiGraph[Any]:
    """The directed graph of W: an edge from speaker to listener with W_ij as its "weight"."""
    import networkx as nx

    graph: nx.DiGraph[Any] = nx.DiGraph(name=name)
    nodes: tuple[int | str, ...] = names or tuple(range(weights.shape[0]))
    for agent, node in enumerate(nodes):
        position = {} if layout is None else {"pos": tuple(layout[agent].tolist())}
        graph.add_node(node, **position)
    table = sparse.coo_array(sparse.csr_array(weights))
    listener, speaker = table.coords
    graph.add_weighted_edges_from(
        (nodes[j], nodes[i], w)
        for i, j, w in zip(listener.tolist(), speaker.tolist(), table.data.tolist(), strict=True)
        if w > 0
    )
    return graph


def _read(
    graph: nx.Graph[Any], pairs: list[tuple[int, int]], weight: str, agents: int
) -> sparse.csr_array[np.float64]:
    """The edges' weights, listener by speaker; parallel edges add up."""
    found = []
    value: Any
    for a, b, value in graph.edges(data=weight):
        try:
            found.append(float(value))
        except (TypeError, ValueError):
            raise fail(
                "weight",
                f"a number {weight!r} on every edge",
                f"{value!r} on the edge from {a!r} to {b!r}",
                "give every edge its weight, or leave out weight and name a rule",
            ) from None
    values = as_float_array("weight", found, ndim=1)
    speaker, listener = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    if not graph.is_directed():
        # Both ways, but an agent's edge to itself once.
        other = speaker != listener
        speaker, listener, values = (
            np.concatenate([speaker, listener[other]]),
            np.concatenate([listener, speaker[other]]),
            np.concatenate([values, values[other]]),
        )
    return sparse.csr_array((values, (listener, speaker)), shape=(agents, agents))


def _check_sums(matrix: sparse.csr_array[np.float64], nodes: list[Hashable], weight: str) -> None:
    sums: FloatArray = np.asarray(matrix.sum(axis=1)).ravel()
    wrong = np.flatnonzero(np.abs(sums - 1.0) > SUM_TOLERANCE + len(nodes) * EPS)
    if wrong.size:
        raise fail(
            "weight",
            f"{weight!r} that sum to 1 over what each agent hears, its self-loop included",
            f"a sum of {sums[wrong[0]]:.12g} for {nodes[wrong[0]]!r}",
            f'rescale them, or ask to normalise them (rule="{NORMALISE}")',
        )
