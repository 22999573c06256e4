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
from numpy.typing import ArrayLike

from theory.network.stationary import DENSE_AGENTS
from theory.network.structure import EPS, Weights, divided_by_sums
from theory.scientific import sparse
from theory.validation import SUM_TOLERANCE, FloatArray, IntArray, as_float_array, as_integer, fail

if TYPE_CHECKING:
    import networkx as nx


# Rules that turn a graph into a weight matrix ----------------------------------------------------


RULES = ("uniform", "metropolis", "lazy-metropolis", "max-degree")


def weights_on_links(
    links: IntArray, *, agents: int, rule: str = "uniform", sparse_result: bool | None = None
) -> Weights:
    """W by one of the rules on a graph given by its links; row-stochastic.

    Parameters
    ----------
    links
        Shape (E, 2): a row (i, j) says that agent i listens to agent j. An undirected edge
        appears in both directions. Links of an agent to itself and repeated links change nothing.
    agents
        N.
    rule
        "uniform", "metropolis", "lazy-metropolis" or "max-degree".
    sparse_result
        Whether W is a sparse array; by default if it has more than 2000 agents.

    Raises
    ------
    ValueError
        If the rule is unknown, or needs an undirected graph and this one is directed.
    """
    parts = weight_denominators(links, agents=agents, rule=rule)
    own = np.asarray(1.0 / (parts.degree + 1.0), dtype=np.float64) if rule == "uniform" else None
    weight = np.asarray(1.0 / parts.denominator, dtype=np.float64)
    listener, speaker = parts.listener, parts.speaker
    return assemble(listener, speaker, weight, own=own, agents=agents, sparse_result=sparse_result)


@dataclass(frozen=True, eq=False)
class WeightDenominators:
    """The weights of a rule, W_ij = 1 / denominator, for each link (listener i, speaker j).

    In row order, without repetitions; what is left of a row is the agent's own. `degree` has shape
    (N,), the other attributes (E,).
    """

    listener: IntArray
    speaker: IntArray
    denominator: IntArray
    degree: IntArray


def weight_denominators(links: IntArray, *, agents: int, rule: str) -> WeightDenominators:
    """The rule's weights as whole denominators, exactly; arguments as for `weights_on_links`.

    Raises
    ------
    ValueError
        If the rule is unknown, or needs an undirected graph and this one is directed.
    """
    if rule not in RULES:
        raise fail("rule", f"one of {', '.join(RULES)}", repr(rule), "choose one of these")
    links = links[links[:, 0] != links[:, 1]]
    pattern = sparse.csr_array(
        (np.ones(len(links)), (links[:, 0], links[:, 1])), shape=(agents, agents)
    )
    pattern.sum_duplicates()
    degree = np.diff(pattern.indptr).astype(np.int64)
    listener = np.repeat(np.arange(agents), degree)
    speaker = pattern.indices.astype(np.int64)
    if rule == "uniform":
        return WeightDenominators(listener, speaker, 1 + degree[listener], degree)
    if (abs(pattern.sign() - pattern.T.sign())).nnz:
        raise fail(
            "rule",
            '"uniform" for a directed graph',
            repr(rule),
            'use rule="uniform", or make every edge undirected',
        )
    larger = np.maximum(degree[listener], degree[speaker])
    if rule == "metropolis":
        denominator = 1 + larger
    elif rule == "lazy-metropolis":
        denominator = 2 * larger
    else:
        denominator = np.full(len(listener), 1 + degree.max(initial=0), dtype=np.int64)
    return WeightDenominators(listener, speaker, denominator, degree)


def star_weights(
    links: IntArray,
    *,
    agents: int,
    edge_confidence: float,
    centre: int = 0,
    sparse_result: bool | None = None,
) -> Weights:
    """P2's W on a star (sec. 1.4.1): the centre weighs all alike, the others give it a."""
    listener, speaker = links.T
    weight = np.where(listener == centre, 1.0 / agents, edge_confidence)
    return assemble(listener, speaker, weight, agents=agents, sparse_result=sparse_result)


def assemble(
    listener: IntArray,
    speaker: IntArray,
    weight: FloatArray,
    *,
    agents: int,
    own: FloatArray | None = None,
    sparse_result: bool | None = None,
) -> Weights:
    """W from its weights between different agents; each agent keeps `own`, or else the rest."""
    if own is None:
        own = np.asarray(1.0 - np.bincount(listener, weight, minlength=agents), dtype=np.float64)
    everyone = np.arange(agents)
    matrix = sparse.csr_array(
        (
            np.concatenate([weight, own]),
            (np.concatenate([listener, everyone]), np.concatenate([speaker, everyone])),
        ),
        shape=(agents, agents),
    )
    as_sparse = agents > DENSE_AGENTS if sparse_result is None else sparse_result
    return matrix if as_sparse else matrix.toarray()


def links_of_edges(edges: ArrayLike, *, agents: int, directed: bool) -> IntArray:
    """The links (listener, speaker) of an edge list, shape (E, 2).

    A directed edge [a, b] leads from a to b: b hears a. Undirected edges count both ways.

    Raises
    ------
    ValueError
        If `edges` is not a list of pairs of whole numbers from 0 to N − 1.
    """
    pairs = _pairs(edges)
    outside = (pairs < 0) | (pairs >= agents)
    if outside.any():
        where = int(np.argwhere(outside)[0][0])
        raise fail(
            "edges",
            f"agents numbered 0 to {agents - 1}",
            f"edge {pairs[where].tolist()} at {where}",
            "number the agents from 0, or give more agents",
        )
    hears = pairs[:, ::-1]
    return hears if directed else np.concatenate([hears, pairs])


def _pairs(edges: ArrayLike) -> IntArray:
    try:
        pairs = np.array(edges)
    except ValueError:
        pairs = np.array(None)
    if pairs.size == 0:
        return np.zeros((0, 2), dtype=np.int64)
    if pairs.ndim != 2 or pairs.shape[1] != 2 or pairs.dtype.kind not in "iu":
        raise fail(
            "edges",
            "pairs of whole numbers, such as [[0, 1], [1, 2]]",
            f"{str(edges)[:60]}",
            "write each edge as the two agents it joins",
        )
    return pairs.astype(np.int64)


# networkx graphs as networks, and back -----------------------------------------------------------


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
