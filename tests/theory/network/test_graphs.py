"""Networks from networkx graphs and back; networkx's own matrices are the oracle."""

from __future__ import annotations

import pickle
from dataclasses import replace
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from theory import FiniteModel, Network
from theory.changing import (
    DelayedNetwork,
    MarkovNetwork,
    PeriodicNetwork,
    RandomLinks,
    RandomPresence,
)
from theory.design import (
    DesignGraph,
    baselines,
    fastest_mixing,
    fewest_samples,
    realise,
    realise_exactly,
)
from theory.learnability import network_without
from theory.rational import RationalNetwork

from ...models import COIN, coins
from ..design.oracles import undirected_graphs

NAMES = ("hill", "valley", "coast", "island")


def named_path() -> Network:
    return Network.from_graph(nx.path_graph(["hill", "valley", "coast", "island"]))


def trust() -> nx.DiGraph:
    graph = nx.DiGraph(name="trust")
    graph.add_weighted_edges_from(
        [
            ("b", "a", 0.25),
            ("a", "a", 0.75),
            ("a", "b", 0.5),
            ("b", "b", 0.125),
            ("c", "b", 0.375),
            ("b", "c", 1.0),
        ]
    )
    return graph


def test_whole_numbers_are_the_agents_in_whatever_order() -> None:
    graph = nx.Graph()
    graph.add_nodes_from([2, 0, 1])
    graph.add_edge(0, 1)
    graph.add_edge(1, 2)
    shuffled = Network.from_graph(graph)
    assert shuffled == Network.from_graph(nx.path_graph(3))
    assert shuffled.names is None
    assert shuffled.weights[0, 2] == 0 < shuffled.weights[0, 1]
    numpy = nx.relabel_nodes(graph, {n: np.int64(n) for n in range(3)})
    assert Network.from_graph(numpy).names is None


@pytest.mark.parametrize("nodes", [[3, 1, 2], ["0", "2", "1"], [(0, 1), (0, 0), (1, 1)]])
def test_other_nodes_keep_their_order_and_become_names(nodes: list[object]) -> None:
    network = Network.from_graph(nx.path_graph(nodes))
    assert network.names == tuple(str(node) for node in nodes)
    np.testing.assert_array_equal(network.weights, Network.from_graph(nx.path_graph(3)).weights)


def test_edge_weights_are_networkx_own_matrix_turned_to_listeners() -> None:
    network = Network.from_graph(trust(), weight="weight")
    expected = nx.to_numpy_array(trust(), weight="weight", nodelist=list(trust())).T
    np.testing.assert_array_equal(network.weights, expected)
    assert (network.names, network.name) == (("b", "a", "c"), "trust")
    scaled = nx.DiGraph()
    scaled.add_weighted_edges_from((a, b, 12 * w) for a, b, w in trust().edges(data="weight"))
    normal = Network.from_graph(scaled, weight="weight", rule="normalise")
    np.testing.assert_allclose(normal.weights, expected, rtol=1e-15)  # one division each
    large = Network.from_graph(scaled, weight="weight", rule="normalise", sparse=True)
    np.testing.assert_array_equal(large.weights.toarray(), normal.weights)


def test_undirected_weights_count_both_ways_and_loops_once() -> None:
    graph = nx.MultiGraph([(0, 1, {"w": 0.125}), (0, 1, {"w": 0.125})])
    graph.add_edges_from([(0, 0, {"w": 0.75}), (1, 1, {"w": 0.75})])
    network = Network.from_graph(graph, weight="w")
    assert network.weights.tolist() == [[0.75, 0.25], [0.25, 0.75]]


@pytest.mark.parametrize("sparse", [False, True])
def test_round_trips_are_equal(sparse: bool) -> None:
    grid = nx.grid_2d_graph(3, 2)
    nx.set_node_attributes(grid, {node: (float(node[0]), float(node[1])) for node in grid}, "pos")
    for network in (
        Network.from_graph(trust(), weight="weight", sparse=sparse),
        Network.from_graph(grid, rule="metropolis", sparse=sparse),
        Network.from_topology("star", agents=5, edge_confidence=0.3, sparse=sparse),
    ):
        graph = network.to_networkx()
        back = Network.from_graph(graph, weight="weight", sparse=sparse)
        assert back == network
        assert hash(back) == hash(network)
    assert list(graph) == [0, 1, 2, 3, 4]
    assert Network.from_graph(grid).layout.tolist()[3] == [1.0, 1.0]


@pytest.mark.parametrize(
    ("change", "options", "said"),
    [
        ({("a", "b"): 0.4}, {"weight": "weight"}, "got a sum of 0.9 for 'b'"),
        ({("a", "b"): "much"}, {"weight": "weight"}, "'much' on the edge from 'a' to 'b'"),
        ({}, {"weight": "trust"}, "got None on the edge from"),
        ({}, {"weight": "weight", "rule": "metropolis"}, "leave out weight or rule"),
        ({}, {"rule": "normalise"}, "one of uniform, metropolis, lazy-metropolis, max-degree"),
        ({("a", "b"): -0.5}, {"weight": "weight", "rule": "normalise"}, "weights of at least 0"),
    ],
)
def test_refusals(change: dict, options: dict, said: str) -> None:
    graph = trust()
    for edge, value in change.items():
        graph.edges[edge]["weight"] = value
    with pytest.raises(ValueError, match="expected") as caught:
        Network.from_graph(graph, **options)
    assert said in str(caught.value)


class Converted:
    def to_networkx(self) -> None: ...


@pytest.mark.parametrize(
    ("graph", "said"),
    [
        ({0: [1], 1: [0]}, "dict; give networkx.Graph(graph), or networkx.DiGraph(graph) where"),
        ([(0, 1)], "list; give networkx.Graph(graph)"),
        (np.eye(2), "numpy ndarray; make weights of it by Network(weights), or give networkx.from"),
        (Converted(), "Converted; give graph.to_networkx()"),
    ],
)
def test_other_graphs_are_converted_by_their_owners(graph: Any, said: str) -> None:
    with pytest.raises(ValueError, match="graph: expected a networkx graph, got") as caught:
        Network.from_graph(graph)
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("names", "said"),
    [
        (["a"], "expected one for each of 2 agents, got 1"),
        (["a", "a"], "'a' twice"),
        (["a", ""], "an empty one"),
        ("ab", "put it in a list"),
    ],
)
def test_names_are_checked(names: object, said: str) -> None:
    with pytest.raises(ValueError, match="names: ") as caught:
        Network([[0.5, 0.5], [0.5, 0.5]], names=names)  # type: ignore[arg-type]
    assert said in str(caught.value)


def test_messages_name_the_agents() -> None:
    with pytest.raises(ValueError, match="names: expected distinct names, got '1' twice"):
        Network.from_graph(nx.path_graph([1, "1", 2]))
    with pytest.raises(ValueError, match="radio"):
        Network([[1, 0], [0, 1]], names=("radio", "home"))


def test_names_go_with_what_a_network_becomes() -> None:
    network = named_path()
    graph = DesignGraph.from_network(network)
    v = network.stationary_distribution
    model = FiniteModel.from_agents(["fair", "loaded"], [COIN], counts=[4])
    made = [
        *(baseline.network for baseline in baselines(graph)),
        realise(graph, v),
        realise_exactly(graph, v.tolist()),
        fastest_mixing(graph, v).network,
        fewest_samples(network, model, delta=0.3, effort=0.02).network,
        RationalNetwork.from_network(network),
        RationalNetwork.from_network(network).as_network(),
        RandomLinks(network, 0.9),
        RandomPresence(network, 0.8),
        DelayedNetwork(network, 2),
        MarkovNetwork.gossip_pairs(network),
        MarkovNetwork.clocks(network, 1.0),
        MarkovNetwork.walk(network),
        PeriodicNetwork([network.weights], names=NAMES),
        graph.with_edge(0, 3),
        graph.with_edge(0, 3).restricted_to([0, 1, 2]),
    ]
    assert [one.names for one in made] == [NAMES] * len(made)
    assert network_without(network, 0).names == NAMES[1:]
    assert network_without(network, 0).name == "network without hill"


def test_names_change_no_number() -> None:
    from exact.checkpoint import fingerprint
    from theory import learning_rate

    named, plain = named_path(), Network.from_graph(nx.path_graph(4))
    assert named != plain
    assert fingerprint(named) == fingerprint(plain)
    assert learning_rate(named, coins(4)).rate == learning_rate(plain, coins(4)).rate


@given(graph=undirected_graphs(), data=st.data())
def test_a_tree_of_shortest_paths_has_the_graph_s_distances(
    graph: DesignGraph, data: st.DataObject
) -> None:
    root = data.draw(st.integers(0, graph.agents - 1))
    tree = graph.tree_from(root)
    assert len(tree.edges) == graph.agents - 1
    assert {tuple(edge) for edge in tree.edges} <= {tuple(edge) for edge in graph.edges}
    whole, part = nx.empty_graph(graph.agents), nx.empty_graph(graph.agents)
    whole.add_edges_from(graph.edges)
    part.add_edges_from(tree.edges)
    assert nx.single_source_shortest_path_length(
        part, root
    ) == nx.single_source_shortest_path_length(whole, root)
    # Agents are reached in the order of their numbers.
    expected = nx.bfs_edges(whole, root, sort_neighbors=sorted)
    assert {frozenset(edge) for edge in tree.edges.tolist()} == {frozenset(e) for e in expected}


def test_trees_are_of_graphs_that_listen_both_ways_and_of_their_agents() -> None:
    ring = DesignGraph.from_edges([[0, 1], [1, 2], [2, 0]], agents=3, directed=True)
    with pytest.raises(ValueError, match="graph: expected listening both ways"):
        ring.tree_from(0)
    path = DesignGraph.from_edges([[0, 1], [1, 2]], agents=3, names=["hill", "coast", "island"])
    assert path.tree_from(2) == path
    with pytest.raises(ValueError, match="root: expected"):
        path.tree_from(3)


class Frame:
    """A table that behaves like a pandas DataFrame, as far as a network looks at it."""

    def __init__(self, values: Any, index: list[Any], columns: list[Any] | None = None) -> None:
        self.values = np.array(values)
        self.index, self.columns = index, index if columns is None else columns

    def to_numpy(self) -> np.ndarray:
        return self.values


def test_a_table_keeps_its_index() -> None:
    rows = [[0.5, 0.5], [0.25, 0.75]]
    frame: Any = Frame(rows, ["mast", "roof"])
    assert Network(frame) == Network(rows, names=["mast", "roof"])
    assert Network(frame, names=("a", "b")).names == ("a", "b")
    counted: Any = Frame(rows, [0, 1])
    assert Network(counted) == Network(rows)
    from_one: Any = Frame(rows, [1, 2])
    assert Network(from_one).names == ("1", "2")
    exact: Any = Frame(np.array([["1/2", "1/2"], ["1/4", "3/4"]], dtype=object), ["mast", "roof"])
    assert Network(exact) == Network(frame)


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        (["roof", "mast"], "the row 'mast' beside the column 'roof'; give frame[frame.index]"),
        (["mast", "well"], "the row 'roof' beside the column 'well'; give every agent"),
        (["mast"], "2 rows and 1 columns"),
    ],
)
def test_a_table_whose_columns_are_others_is_refused(columns: list[str], said: str) -> None:
    frame: Any = Frame([[0.5, 0.5], [0.25, 0.75]], ["mast", "roof"], columns)
    with pytest.raises(ValueError, match="weights: expected a table whose columns") as caught:
        Network(frame)
    assert said in str(caught.value)


def test_a_graph_is_a_network() -> None:
    graph: Any = trust()
    assert Network(graph) == Network.from_graph(trust(), weight="weight")
    assert Network(graph).name == "trust"
    plain: Any = nx.path_graph(list(NAMES))
    nx.set_node_attributes(plain, {name: float(k) for k, name in enumerate(NAMES)}, "x")
    nx.set_node_attributes(plain, 1.0, "y")
    network = Network(plain)
    assert network == Network.from_graph(plain)
    assert network.layout is not None
    assert network.layout.tolist() == [[float(k), 1.0] for k in range(4)]
    graph.edges["a", "b"]["weight"] = 5
    with pytest.raises(ValueError, match=r"a sum of 5\.5 for 'b'; rescale them, or ask to norm"):
        Network(graph)
    assert Network(graph, normalise=True) == Network.from_graph(
        graph, weight="weight", rule="normalise"
    )


@pytest.mark.parametrize("stored", [np.array, sparse.csr_array], ids=["dense", "sparse"])
def test_rows_are_divided_by_their_sums(stored: Any) -> None:
    rows = np.array([[2.0, 1, 1], [1, 0, 3], [1e308, 1e308, 0]])
    network = Network(stored(rows), normalise=True)
    found = sparse.csr_array(network.weights).toarray()
    np.testing.assert_array_equal(found, [[0.5, 0.25, 0.25], [0.25, 0, 0.75], [0.5, 0.5, 0]])
    assert pickle.loads(pickle.dumps(network)) == network == replace(network)
    for bad, said in (([[1, -1], [1, 1]], "at least 0"), ([[0, 0], [1, 1]], "none in row mast")):
        with pytest.raises(ValueError, match=said):
            Network(stored(np.array(bad, dtype=float)), names=("mast", "roof"), normalise=True)


@pytest.mark.parametrize("stored", [np.array, sparse.csr_array], ids=["dense", "sparse"])
def test_who_gives_columns_is_told_to_transpose(stored: Any) -> None:
    columns = np.array([[0.5, 0.1], [0.5, 0.9]])
    with pytest.raises(ValueError, match=r"a sum of 0\.6 in row mast; .* the transpose, W\.T"):
        Network(stored(columns), names=("mast", "roof"))
    assert Network(stored(columns).T).agents == 2
    with pytest.raises(ValueError, match=r"in row 0; rescale the row"):
        Network(stored(np.array([[0.5, 0.1], [0.4, 0.6]])))


def test_edges_by_name() -> None:
    edges = [["hill", "valley"], ["valley", "coast"], ["coast", "island"]]
    assert Network.from_edges(edges) == named_path()
    assert Network.from_edges(edges, names=NAMES) == named_path()
    assert Network.from_edges(np.array(edges)) == named_path()
    assert Network.from_edges(tuple(map(tuple, edges)), agents=4) == named_path()
    assert Network.from_edges([[0, "valley"], ["valley", 2], [2, 3]], names=NAMES) == named_path()
    for bad, said in (
        ([["hill", "vallley"]], "edges.0..1.: .* did you mean 'valley'"),
        ([["hill", 1.5]], "edges.0..1.: expected a whole number"),
        ([["hill", 9]], "edges.0..1.: expected agents from 0 to 3"),
        ([["hill", "valley", "coast"]], "edges: expected pairs"),
        ([["hill", "valley"]], "{hill, valley}, {coast}, {island}"),
    ):
        with pytest.raises(ValueError, match=said):
            Network.from_edges(bad, names=NAMES)
    with pytest.raises(ValueError, match="agents: expected a whole number"):
        Network.from_edges([[0, 1]])
