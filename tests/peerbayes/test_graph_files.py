"""Graph files: the network of a file is the one that is built directly from the same graph."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest
from rich.console import Console

import peerbayes as pb
from peerbayes.problem.graph_files import network_table
from theory import Network
from theory.rational import RationalNetwork

PLACES = {"Hafen": (0.0, 0.0), "Mole": (1.0, 0.5), "Kai süd": (2.0, 0.0), "Pier 7": (1.0, 2.0)}
PAIRS = [("Hafen", "Mole"), ("Mole", "Kai süd"), ("Kai süd", "Hafen"), ("Kai süd", "Pier 7")]
COIN = {"truth": "fair", "likelihood": [[["1/2", "1/2"]], [["3/4", "1/4"]]]}
MODEL = {"hypotheses": ["fair", "loaded"], "agents": [{**COIN, "count": 4}]}
WRITERS: dict[str, Callable[[Any, Any], None]] = {
    "graphml": nx.write_graphml,
    "gml": nx.write_gml,
    "net": nx.write_pajek,
    "edges": lambda graph, path: path.write_text(
        "".join(
            f"{a}\t{b}\t{data.get('weight', '')}".rstrip("\t") + "  # heard\n"
            for a, b, data in graph.edges(data=True)
        )
    ),
}


def coast(*, directed: bool = False, weighted: bool = False) -> Any:
    graph = nx.DiGraph() if directed else nx.Graph()
    for name, (x, y) in PLACES.items():
        graph.add_node(name, x=x, y=y)
    graph.add_edges_from([*PAIRS, ("Pier 7", "Mole")])
    if weighted:
        rng = np.random.default_rng(3)
        graph.add_edges_from((name, name) for name in PLACES)
        for a, b in graph.edges:
            graph.edges[a, b]["weight"] = float(rng.uniform(0.1, 2))
    return graph


def same(one: Any, other: Network) -> bool:
    return one.names == other.names and np.array_equal(one.weights, other.weights)


def written(folder: Path, network: dict[str, Any], **more: Any) -> Path:
    path = folder / "p.json"
    path.write_text(json.dumps({"network": network, "model": MODEL, **more}), encoding="utf-8")
    return path


@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
@pytest.mark.parametrize("directed", [False, True], ids=["both ways", "one way"])
@pytest.mark.parametrize("ending", WRITERS)
def test_a_file_is_the_graph_that_was_written(
    ending: str, directed: bool, weighted: bool, tmp_path: Path
) -> None:
    graph = coast(directed=directed, weighted=weighted)
    WRITERS[ending](graph, tmp_path / f"coast.{ending}")
    table: dict[str, Any] = {"file": f"coast.{ending}", "normalise": weighted}
    if ending == "edges":
        table["directed"] = directed
    network = pb.load(written(tmp_path, table)).network
    direct = Network(graph, normalise=weighted)
    assert network.names == direct.names == tuple(PLACES)
    assert np.abs(network.weights - direct.weights).max() < 1e-15
    if ending != "edges":
        assert network.layout.tolist() == [list(place) for place in PLACES.values()]
    for rule in ("uniform",) if directed else ("metropolis", "max-degree"):
        by_rule = pb.load(written(tmp_path, {**table, "normalise": False, "rule": rule}))
        np.testing.assert_array_equal(
            by_rule.network.weights, Network.from_graph(graph, rule=rule).weights
        )


def test_the_file_is_read_once(tmp_path: Path) -> None:
    nx.write_graphml(coast(), tmp_path / "coast.graphml")
    changes = {"kind": "links", "up": "1/2"}
    source = written(tmp_path, {"file": "coast.graphml", "rule": "metropolis", "changes": changes})
    problem = pb.load(source)
    (tmp_path / "coast.graphml").unlink()
    again = pb.load(pb.save(problem, tmp_path / "again.toml"))
    assert again == problem
    assert again.network.network.layout.tolist()[3] == [1.0, 2.0]
    with pytest.raises(ValueError, match=r"network\.file: .*graphml: .*no such file"):
        pb.load(source)


def test_weights_of_a_file_are_used_as_they_are(tmp_path: Path) -> None:
    network = Network([[0.5, 0.5, 0], [0.25, 0.5, 0.25], [0, 0.125, 0.875]], names=["a", "b", "c"])
    graph = network.to_networkx()
    for _, data in graph.nodes(data=True):
        data.clear()
    nx.write_gml(graph, tmp_path / "w.gml")
    model = {**MODEL, "agents": [{**COIN, "count": 3}]}
    path = written(tmp_path, {"file": "w.gml"}, model=model)
    assert same(pb.load(path).network, network)
    (tmp_path / "w.edges").write_text("a a 1/2\nb a 1/2\na b 1/3\nb b 2/3\n")
    model = {**MODEL, "agents": [{**COIN, "count": 2}]}
    problem = pb.load(written(tmp_path, {"file": "w.edges", "directed": True}, model=model))
    assert problem.is_exact
    rows = [["1/2", "1/2"], ["1/3", "2/3"]]
    assert problem.rational_network.rows == RationalNetwork.from_rows(rows).rows


CSV = {
    "names in both places": ",a,b,c\na,1/2,1/2,\nb,1/4,1/2,1/4\nc,0,1/2,1/2\n",
    "names above": "a;b;c\n1/2;1/2;0\n1/4;1/2;1/4\n0;1/2;1/2\n",
}


@pytest.mark.parametrize("how", CSV)
def test_a_table_of_weights_is_w(how: str, tmp_path: Path) -> None:
    (tmp_path / "w.csv").write_text(CSV[how])
    model = {**MODEL, "agents": [{**COIN, "count": 3}]}
    problem = pb.load(written(tmp_path, {"file": "w.csv"}, model=model))
    rows = [["1/2", "1/2", "0"], ["1/4", "1/2", "1/4"], ["0", "1/2", "1/2"]]
    assert same(problem.network, Network(rows, names=["a", "b", "c"]))
    assert problem.is_exact


def test_a_table_of_marks_is_a_graph(tmp_path: Path) -> None:
    both, one_way = "0,1,0\n1,0,1\n0,1,0\n", "0,1,0\n0,0,1\n1,0,0\n"
    for text, said in (
        (both, [(0, 1), (1, 0), (1, 2), (2, 1)]),
        (one_way, [(0, 1), (1, 2), (2, 0)]),
    ):
        (tmp_path / "m.csv").write_text(text)
        analysis = pb.analyse(tmp_path / "m.csv").problem  # type: ignore[attr-defined]
        assert analysis.network.names is None
        assert list(map(tuple, analysis.network.edges.tolist())) == said


def test_nodes_of_a_file_that_are_numbers_are_agents_by_number(tmp_path: Path) -> None:
    (tmp_path / "n.edges").write_text("2 0\n0 1\n")
    assert network_table(tmp_path / "n.edges")["edges"] == [[2, 0], [0, 1]]
    (tmp_path / "n.edges").write_text("2 1\n1 3\n")
    table = network_table(tmp_path / "n.edges")
    assert (table["names"], table["edges"]) == (["2", "1", "3"], [[0, 1], [1, 2]])


def test_labels_are_names(tmp_path: Path) -> None:
    graph = nx.path_graph(3)
    nx.set_node_attributes(graph, {0: "west", 1: "mid", 2: "east"}, "name")
    nx.write_graphml(graph, tmp_path / "g.graphml")
    assert network_table(tmp_path / "g.graphml")["names"] == ["west", "mid", "east"]
    nx.set_node_attributes(graph, "same", "name")  # no names of their own
    nx.write_graphml(graph, tmp_path / "g.graphml")
    assert "names" not in network_table(tmp_path / "g.graphml")


BOMB = '<!DOCTYPE x [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;">]>'
HEAD = '<graphml xmlns="http://graphml.graphdrawing.org/xmlns"><graph edgedefault="undirected">'
BAD: dict[str, tuple[str, str | bytes, str]] = {
    "empty": ("g.gml", "  \n", "expected a graph, got an empty file"),
    "no nodes": ("g.gml", "graph [ ]", "expected at least one node"),
    "no edges": ("g.gml", 'graph [ node [ id 0 label "a" ] node [ id 1 label "b" ] ]', "add edges"),
    "no UTF-8": ("g.gml", b'graph [ node [ id 0 label "\xe9" ] ]', "expected UTF-8 text"),
    "malformed": ("g.graphml", HEAD + "<node id='a'>", "expected valid GraphML, got"),
    "entities": ("g.graphml", BOMB + HEAD, "GraphML without entities"),
    "twice": (
        "g.graphml",
        HEAD + "<node id='a'/><node id='a'/></graph></graphml>",
        "every node once",
    ),
    "unlisted": (
        "g.graphml",
        HEAD + "<node id='a'/><edge source='a' target='b'/></graph></graphml>",
        "edges between nodes that are listed",
    ),
    "a label twice": (
        "g.gml",
        'graph [ node [ id 0 label "a" ] node [ id 1 label "a" ] ]',
        "'a' is duplicated",
    ),
    "deep": ("g.gml", "graph [ x " + "[ x " * 5000, "expected valid GML"),
    "nobody": ("g.net", '*Vertices 3\n1 "a"\n', "expected valid Pajek"),
    "a vertex twice": ("g.net", "*Vertices 2\n1 a\n2 a\n*Edges\n1 2\n", "every node once"),
    "negative": ("g.edges", "a b 1\nb c -1\n", "line 2: expected a number of at least 0"),
    "not a number": ("g.edges", "a b nan\n", "line 1: expected a number"),
    "too large": ("g.edges", "a b 1e308\n", "a weight of at least 0 on every edge"),
    "one node": ("g.edges", "# edges\na\n", "line 2: expected two nodes"),
    "code": ("g.edges", "a b {'weight': open('x')}\n", "line 1: expected attributes in braces"),
    "some weights": ("g.edges", "a b 0.5\nb a\n", "none on the edge from 'b' to 'a'"),
    "no sums": ("g.edges", "a b 0.5\nb c 0.5\n", "a sum of 0.5 for 'a'; normalise them"),
    "ragged": ("g.csv", "1,0\n1\n", "row 2: expected 2 numbers"),
    "other names": ("g.csv", ",a,b\nb,1,0\na,0,1\n", "'b' in row 1 and 'a' in column 1"),
    "not square": ("g.csv", "a,b\n1,0\n", "square table"),
    "empty name": ("g.csv", ",a,\na,1,0\n,0,1\n", "a name of its own"),
    "a word": ("g.csv", "a,b\n1,x\n0,1\n", "row 'a', column 'b': expected a number"),
    "columns": ("g.csv", "a,b\n.5,.1\n.5,.9\n", "the other direction does sum to 1"),
    "split": (
        "g.edges",
        "a b\nc d\n",
        "2 classes that do not all reach each other: {a, b}, {c, d}",
    ),
    "period": ("g.csv", "a,b\n0,2\n2,0\n", "sum to 1"),
}


@pytest.mark.parametrize("what", BAD)
def test_bad_files_end_in_one_line(what: str, tmp_path: Path) -> None:
    name, content, said = BAD[what]
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    for given in (path, written(tmp_path, {"file": name})):
        with pytest.raises(ValueError, match="expected") as caught:
            pb.load(given)
        assert said in str(caught.value)
        assert str(given) in str(caught.value)
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ({"file": "g.txt"}, "g.txt: expected a graph file (.graphml, "),
        ({"file": ""}, "network.file: expected a name"),
        ({"file": "g.gml", "names": ["a"]}, "network.names: expected one of the keys file, rule"),
        ({"file": "g.gml", "rule": "metropole"}, "network.rule: expected one of uniform"),
        ({"file": "g.gml", "rule": "uniform", "normalise": True}, "at most one of rule, normalise"),
        ({"file": "g.gml", "directed": True}, "an edge list (.edges, .edgelist) beside directed"),
        (
            {"file": "g.gml", "edges": [[0, 1]]},
            "exactly one of weights, links, topology, edges, file",
        ),
        ({"file": "."}, "expected a graph file"),
    ],
)
def test_bad_tables_end_in_one_line(table: dict[str, Any], said: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="expected") as caught:
        pb.load(written(tmp_path, table))
    assert said in str(caught.value)


def test_a_large_file_is_refused(tmp_path: Path) -> None:
    with (tmp_path / "g.edges").open("wb") as file:
        file.truncate((1 << 28) + 1)
    with pytest.raises(ValueError, match="got more than 256 MiB"):
        pb.load(tmp_path / "g.edges")


def test_a_network_alone_has_its_own_numbers_and_no_others(tmp_path: Path) -> None:
    path = tmp_path / "coast.gml"
    nx.write_gml(coast(), path)
    analysis = pb.analyse(path)
    printed = analysis.as_json()
    direct = Network.from_graph(coast())
    network = printed["network"]
    assert network["names"] == list(PLACES)
    assert network["stationary_distribution"] == direct.stationary_distribution.tolist()
    assert network["slem"] == direct.slem
    assert printed["learning"] is printed["samples"] is None
    assert "nothing to learn" in printed["notes"][0]
    console = Console(file=io.StringIO(), width=100)
    for part in analysis.tables():
        console.print(part)
    assert "subdominant modulus" in console.file.getvalue()  # type: ignore[attr-defined]
    for refused in (
        lambda: pb.analyse(path, exact=True),
        lambda: pb.simulate(path, rounds=2, replicates=2),
        lambda: pb.verify(path),
        lambda: pb.design(path),
        lambda: pb.place(path),
        lambda: pb.save(pb.load(path), tmp_path / "x.toml"),
        lambda: pb.analyse(path, batch=2),
    ):
        with pytest.raises(ValueError, match="coast: expected a problem with a model, got a netw"):
            refused()
