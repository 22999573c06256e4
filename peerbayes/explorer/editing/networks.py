"""The table [network] of a problem file as edits see it: rows of weights, or edges with a rule.

Weights that follow from a graph by a rule stay so while an edit is one of the graph. An edit of
single weights writes the weights out: row by row, or link by link where agents are many.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from peerbayes.explorer.editing.rows import Row, Table, as_number, written
from peerbayes.problem.network_section import FORMS, EdgesNetwork, TopologyNetwork
from peerbayes.problem.specification import section_of
from peerbayes.problem.writing import MOST_ROWS
from theory.network.graphs import links_of_edges, weight_denominators
from theory.network.topologies import build_topology
from theory.validation import fail

# Networks of more agents are written link by link if so small a share of the pairs is linked.
_SHORT, _SPARSE = 20, 4
# What of a table [network] is not a form of its weights.
_KEPT = ("changes", "names", "positions")


def form_of(network: Table) -> str:
    """Which of the forms of a network a table has."""
    return next((form for form in FORMS if form in network), "weights")


def agents_of(network: Table) -> int:
    """The number of agents."""
    form = form_of(network)
    if form == "weights":
        return len(network["weights"])
    if form == "sequence":
        return len(network["sequence"][0]["weights"])
    if isinstance(network.get("agents"), int):
        return int(network["agents"])
    return int(section_of(network).build("network").agents)


def kept(network: Table) -> Table:
    """Names, positions and changes: what every form of the table may have besides."""
    return {key: network[key] for key in _KEPT if key in network}


class Weights:
    """The rows of a table of weights, to be read and written one by one.

    Parameters
    ----------
    table
        With the key ``weights`` or ``links``: a network, or a phase of a sequence. It is written
        to: give a copy.
    """

    def __init__(self, table: Table) -> None:
        self.table = table
        self._dense = "weights" in table

    @property
    def agents(self) -> int:
        """The number of agents."""
        return len(self.table["weights"]) if self._dense else int(self.table["agents"])

    def row(self, agent: int) -> Row:
        """Whom the agent hears, and with which weight; positive entries alone."""
        if self._dense:
            entries = enumerate(self.table["weights"][agent])
        else:
            entries = ((j, w) for i, j, w in self.table["links"] if i == agent)  # type: ignore[assignment]
        found = {j: as_number("weight", weight) for j, weight in entries}
        return {j: weight for j, weight in found.items() if weight > 0}

    def put(self, agent: int, row: Row) -> None:
        """Write the row of an agent in place of the one it has."""
        if self._dense:
            exact = not any(isinstance(weight, float) for weight in row.values())
            zero: str | float = "0" if exact else 0.0
            entries = [zero] * self.agents
            for j, weight in row.items():
                entries[j] = written(weight)
            self.table["weights"][agent] = entries
            return
        links = self.table["links"]
        place = next((k for k, link in enumerate(links) if link[0] == agent), len(links))
        rest = [link for link in links if link[0] != agent]
        own = [[agent, j, written(weight)] for j, weight in row.items()]
        self.table["links"] = [*rest[:place], *own, *rest[place:]]

    def add_agent(self) -> int:
        """One more agent, whom nobody hears and whose row is to be put next; its number."""
        number = self.agents
        if self._dense:
            for row in self.table["weights"]:
                row.append("0" if all(isinstance(weight, str) for weight in row) else 0.0)
            self.table["weights"].append(["0"] * (number + 1))
        else:
            self.table["agents"] = number + 1
        return number

    def remove_agent(self, agent: int) -> None:
        """Strike out a row, and a column in which nothing is left."""
        if self._dense:
            table = self.table["weights"]
            self.table["weights"] = [
                [*row[:agent], *row[agent + 1 :]] for i, row in enumerate(table) if i != agent
            ]
            return
        self.table["agents"] -= 1
        self.table["links"] = [
            [i - (i > agent), j - (j > agent), weight]
            for i, j, weight in self.table["links"]
            if agent not in (i, j)
        ]


def freed(network: Table) -> Table:
    """The table with its weights written out: they no longer follow from a rule.

    Weights of a rule are fractions. Few weights of many agents are written link by link.

    Raises
    ------
    ValueError
        If the network is none, in the words of the problem file.
    """
    if form_of(network) not in ("topology", "edges"):
        return network
    section = section_of({key: value for key, value in network.items() if key != "changes"})
    rows = _rows_of(section)
    agents, links = len(rows), sum(map(len, rows))
    if agents > MOST_ROWS or (agents > _SHORT and _SPARSE * links < agents**2):
        listed = [[i, j, written(w)] for i, row in enumerate(rows) for j, w in row.items()]
        return {"links": listed, "agents": agents, **kept(network)}
    table: Table = {"weights": [["0"] * agents for _ in rows]}
    weights = Weights(table)
    for agent, row in enumerate(rows):
        weights.put(agent, row)
    return {**table, **kept(network)}


def _rows_of(section: EdgesNetwork | TopologyNetwork) -> list[Row]:
    """The weights of a graph by its rule, as fractions; those on a star's centre as given."""
    if isinstance(section, EdgesNetwork):
        agents, rule = section.agents, section.rule
        links = links_of_edges(section.edges, agents=agents, directed=section.directed)
    else:
        options = dict(section._options)
        rule = options.pop("rule", None) or "uniform"
        options.pop("edge_confidence", None)
        confidence = section.edge_confidence
        graph = build_topology(section.topology, **options)
        agents, links = graph.agents, graph.links
        if confidence is not None:
            centre: Row = {agent: Fraction(1, agents) for agent in range(agents)}
            own = {0: confidence, 1: 1 - confidence}
            others = [{0: own[0], agent: own[1]} for agent in range(1, agents)]
            return [centre, *({a: w for a, w in row.items() if w} for row in others)]
    parts = weight_denominators(links, agents=agents, rule=rule)
    rows: list[Row] = [{} for _ in range(agents)]
    triples = (parts.listener.tolist(), parts.speaker.tolist(), parts.denominator.tolist())
    for listener, speaker, denominator in zip(*triples, strict=True):
        rows[listener][speaker] = Fraction(1, denominator)
    for agent, row in enumerate(rows):
        row[agent] = 1 - sum(row.values(), Fraction(0))
    return [dict(sorted((a, w) for a, w in row.items() if w)) for row in rows]


def as_edges(network: Table) -> Table | None:
    """The table as edges with a rule; None where the weights do not follow from one."""
    if form_of(network) == "edges":
        return network
    if form_of(network) != "topology" or "edge_confidence" in network:
        return None
    section = section_of({key: value for key, value in network.items() if key != "changes"})
    assert isinstance(section, TopologyNetwork)
    options = dict(section._options)
    rule = options.pop("rule", None)
    graph = build_topology(section.topology, **options)
    edges = sorted({(min(a, b), max(a, b)) for a, b in graph.links.tolist()})
    table: Table = {"edges": [list(edge) for edge in edges], "agents": graph.agents}
    if rule not in (None, "uniform"):
        table["rule"] = rule
    return {**table, **kept(network)}


def one_way(edges: Table) -> Table | None:
    """Edges with a rule as directed ones; None where the rule needs both ways."""
    if edges.get("directed"):
        return edges
    if edges.get("rule", "uniform") != "uniform":
        return None
    both = [pair for a, b in edges["edges"] for pair in ([a, b], [b, a])]
    return {**edges, "edges": both, "directed": True}


def support(network: Table) -> list[tuple[int, int]]:
    """All (listener, speaker) of different agents with a positive weight."""
    weights = Weights(network)
    return [(i, j) for i in range(weights.agents) for j in weights.row(i) if j != i]


def edges_of_support(network: Table, rule: str) -> Table:
    """The graph of given weights, with a rule in their place."""
    links = support(network)
    known = set(links)
    table: Table = {"agents": agents_of(network)}
    if all((j, i) in known for i, j in links):
        table = {"edges": [[i, j] for i, j in links if i < j], **table}
    else:
        table = {"edges": [[j, i] for i, j in links], **table, "directed": True}
    if rule != "uniform":
        table["rule"] = rule
    return {**table, **kept(network)}


def as_agent(argument: str, value: int, agents: int) -> int:
    """An agent's number.

    Raises
    ------
    ValueError
        If there is no such agent.
    """
    if not 0 <= value < agents:
        raise fail(argument, f"an agent from 0 to {agents - 1}", value, "correct it")
    return value


def edge_known(edges: Sequence[Sequence[int]], a: int, b: int, *, directed: bool) -> bool:
    """Whether an edge leads from speaker `a` to listener `b`."""
    return any((x, y) == (a, b) or (not directed and (x, y) == (b, a)) for x, y in edges)
