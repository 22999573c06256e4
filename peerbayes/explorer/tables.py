"""Tables of a problem file as edits see them: rows of weights, graphs with a rule, agents' entries.

A row is a mapping from the agents that are heard to positive weights, which sum to one. Rows whose
numbers are all fractions stay so, unless their denominators grow beyond use; a decimal of few
digits that joins them is a fraction too. All other rows are doubles, their sum one to the last bit
but rounding. Weights that follow from a graph by a rule stay so while an edit is one of the graph;
an edit of single weights writes them out (`freed`): row by row, or link by link where agents are
many.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from itertools import groupby
from typing import Any

from pydantic_core import PydanticCustomError

from peerbayes.problem.entries import Rational, parse_number
from peerbayes.problem.network_section import FORMS, EdgesNetwork, TopologyNetwork
from peerbayes.problem.specification import section_of
from peerbayes.problem.writing import MOST_ROWS
from theory.network.graphs import links_of_edges, weight_denominators
from theory.network.topologies import Topology, build_topology
from theory.validation import fail

Row = dict[int, Rational]
Table = dict[str, Any]

# A decimal of so many digits is meant exactly: a slider's step, not a rounded result.
_TYPED = 10**6
# Fractions of larger denominators are of no use to anybody: the row goes on in doubles.
_LARGEST = 10**9
# Networks of more agents are written link by link if so small a share of the pairs is linked.
_SHORT, _SPARSE = 20, 4
# What of a table [network] is not a form of its weights.
_KEPT = ("changes", "names", "positions")
OWN_KEYS = (
    *("count", "batch", "prior", "log_prior", "prior_mean", "prior_std", "prior_variance"),
    *("prior_covariance", "tempering"),
)
"""What of an entry belongs to the agent that learns, and not to the data that it sees."""


def left_out(table: Table, *keys: str) -> Table:
    """The table without some keys."""
    return {key: value for key, value in table.items() if key not in keys}


# Numbers and rows -------------------------------------------------------------------------------


def written(number: Rational) -> str | float:
    """A number as a problem file has it: fractions as text.

    >>> written(Fraction(9, 10)), written(0.9)
    ('9/10', 0.9)
    """
    return str(number) if isinstance(number, Fraction) else number


def as_number(argument: str, value: object) -> Rational:
    """A file's number: a fraction if written as text.

    Raises
    ------
    ValueError
        If it is none.
    """
    try:
        return parse_number(value)
    except PydanticCustomError as error:
        context = error.context or {}
        raise fail(argument, context["expected"], context["got"], context["remedy"]) from None


def as_share(argument: str, value: object) -> Rational:
    """A number in [0, 1].

    Raises
    ------
    ValueError
        If it is none.
    """
    number = as_number(argument, value)
    if not 0 <= number <= 1:
        raise fail(argument, "a number in [0, 1]", written(number), "choose one between")
    return number


def is_exact(numbers: Iterable[Rational]) -> bool:
    """Whether all of the numbers are fractions."""
    return all(isinstance(number, Fraction) for number in numbers)


def with_weight(row: Mapping[int, Rational], on: int, value: Rational, *, own: int) -> Row:
    """The row with `value` on one agent, the others scaled to what is left.

    Where nobody else is heard, the agent `own` whose row it is takes what is left.

    Raises
    ------
    ValueError
        If nobody is there to take it.

    Examples
    --------
    >>> row = {0: Fraction(1, 2), 1: Fraction(1, 4), 2: Fraction(1, 4)}
    >>> {agent: str(weight) for agent, weight in with_weight(row, 0, 0.2, own=0).items()}
    {0: '1/5', 1: '2/5', 2: '2/5'}
    """
    others = {agent: weight for agent, weight in row.items() if agent != on}
    if not others and value == 1:
        return {on: Fraction(1)}
    if not others:
        if own == on:
            wanted = "1, as the agent hears nobody else"
            raise fail("value", wanted, written(value), "add a link first")
        others = {own: Fraction(1)}
    if isinstance(value, float) and is_exact(row.values()):
        decimal = Fraction(repr(value))
        value = decimal if decimal.denominator <= _TYPED else value
    return _in_order(row, _scaled(others, value, on))


def handed_over(row: Mapping[int, Rational], agent: int, *, own: int) -> Row:
    """The row with the weight on `agent` given to the agent `own` whose row it is."""
    rest = {other: weight for other, weight in row.items() if other != agent}
    rest[own] = rest.get(own, Fraction(0)) + row[agent]
    return _in_order(row, rest)


def _scaled(others: Mapping[int, Rational], value: Rational, on: int) -> Row:
    if is_exact([*others.values(), value]):
        total = sum((Fraction(weight) for weight in others.values()), Fraction(0))
        factor = (1 - Fraction(value)) / total
        exact = {agent: Fraction(weight) * factor for agent, weight in others.items()}
        exact[on] = Fraction(value)
        if max(weight.denominator for weight in exact.values()) <= _LARGEST:
            return {agent: weight for agent, weight in exact.items() if weight}
    share = float(value)
    size = math.fsum(float(weight) for weight in others.values())
    scaled = {agent: float(weight) / size * (1 - share) for agent, weight in others.items()}
    scaled = {agent: weight for agent, weight in scaled.items() if weight > 0}
    if scaled:
        # What rounding took from the sum, the largest of the others gets back.
        largest = max(scaled, key=lambda agent: scaled[agent])
        scaled[largest] += 1 - math.fsum([share, *scaled.values()])
    if share > 0:
        scaled[on] = share if scaled else 1.0
    return dict(scaled)


def _in_order(before: Mapping[int, Rational], row: Row) -> Row:
    """The row, its agents in the order that they had, new ones last."""
    known = [agent for agent in before if agent in row]
    return {agent: row[agent] for agent in [*known, *(a for a in row if a not in before)]}


# Tables of rows ---------------------------------------------------------------------------------


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


def entries_of_rows(table: Table) -> list[dict[int, Any]]:
    """What each agent puts on whom, as written: rows of a table ``weights`` or ``links``."""
    if "weights" in table:
        return [dict(enumerate(row)) for row in table["weights"]]
    rows: list[dict[int, Any]] = [{} for _ in range(table["agents"])]
    for listener, speaker, weight in table["links"]:
        rows[listener][speaker] = weight
    return rows


def parsed(row: Mapping[int, Any]) -> Row:
    """Positive weights of a row as numbers."""
    numbers = {agent: as_number("weight", weight) for agent, weight in row.items()}
    return {agent: weight for agent, weight in numbers.items() if weight > 0}


def with_rows(table: Table, rows: Sequence[Mapping[int, Any]]) -> Table:
    """The table with other rows, in the form that it has."""
    rows = [{agent: written(weight) for agent, weight in row.items()} for row in rows]
    if "links" in table:
        links = [[i, j, weight] for i, row in enumerate(rows) for j, weight in row.items()]
        return {**table, "links": links, "agents": len(rows)}
    exact = [all(isinstance(weight, str) for weight in row.values()) for row in rows]
    zeros = ["0" if row else 0.0 for row in exact]
    columns = range(len(rows))
    weights = [[row.get(j, zero) for j in columns] for row, zero in zip(rows, zeros, strict=True)]
    return {**table, "weights": weights}


def without_agent(table: Table, gone: int) -> Table:
    """The rows without an agent, whose weight its listeners put on themselves."""
    rows = []
    for agent, entries in enumerate(entries_of_rows(table)):
        row: Mapping[int, Any] = entries
        if gone in (heard := parsed(entries)):
            row = handed_over(heard, gone, own=agent)
        if agent != gone:
            rows.append({j - (j > gone): weight for j, weight in row.items() if j != gone})
    return with_rows(table, rows)


# Graphs with a rule -----------------------------------------------------------------------------


def _kept(network: Table) -> Table:
    """Names, positions and changes: what every form of the table may have besides."""
    return {key: network[key] for key in _KEPT if key in network}


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
    rows = _rows_of(section_of(left_out(network, "changes")))
    agents, links = len(rows), sum(map(len, rows))
    long = agents > MOST_ROWS or (agents > _SHORT and _SPARSE * links < agents**2)
    return with_rows({"links" if long else "weights": [], **_kept(network)}, rows)


def _rows_of(section: EdgesNetwork | TopologyNetwork) -> list[Row]:
    """The weights of a graph by its rule, as fractions; those on a star's centre as given."""
    if isinstance(section, EdgesNetwork):
        agents, rule = section.agents, section.rule
        links = links_of_edges(section.edges, agents=agents, directed=section.directed)
    else:
        graph, rule = _graph_of(section)
        agents, links = graph.agents, graph.links
        if section.edge_confidence is not None:
            on_centre = section.edge_confidence
            rows: list[Row] = [{agent: Fraction(1, agents) for agent in range(agents)}]
            rows += [{0: on_centre, agent: 1 - on_centre} for agent in range(1, agents)]
            return [{agent: weight for agent, weight in row.items() if weight} for row in rows]
    parts = weight_denominators(links, agents=agents, rule=rule)
    rows = [{} for _ in range(agents)]
    triples = (parts.listener.tolist(), parts.speaker.tolist(), parts.denominator.tolist())
    for listener, speaker, denominator in zip(*triples, strict=True):
        rows[listener][speaker] = Fraction(1, denominator)
    for agent, row in enumerate(rows):
        row[agent] = 1 - sum(row.values(), Fraction(0))
    return [dict(sorted((a, w) for a, w in row.items() if w)) for row in rows]


def _graph_of(section: TopologyNetwork) -> tuple[Topology, Any]:
    """The graph of a topology, and the rule of its weights."""
    options = section._options
    options.pop("edge_confidence", None)
    rule = options.pop("rule", None) or "uniform"
    return build_topology(section.topology, **options), rule


def as_edges(network: Table, *, one_way: bool = False) -> Table | None:
    """The table as edges with a rule; None where the weights do not follow from one.

    Parameters
    ----------
    one_way
        Whether edges are to lead one way: only those of uniform weights can.
    """
    if form_of(network) == "edges":
        table = network
    elif form_of(network) == "topology" and "edge_confidence" not in network:
        section = section_of(left_out(network, "changes"))
        assert isinstance(section, TopologyNetwork)
        graph, rule = _graph_of(section)
        pairs = sorted({(min(a, b), max(a, b)) for a, b in graph.links.tolist()})
        table = {"edges": [list(pair) for pair in pairs], "agents": graph.agents}
        table |= ({} if rule == "uniform" else {"rule": rule}) | _kept(network)
    else:
        return None
    if not one_way or table.get("directed"):
        return table
    if table.get("rule", "uniform") != "uniform":
        return None
    both = [pair for a, b in table["edges"] for pair in ([a, b], [b, a])]
    return {**table, "edges": both, "directed": True}


def edges_of_support(network: Table, rule: str) -> Table:
    """The graph of given weights, with a rule in their place."""
    rows = map(parsed, entries_of_rows(network))
    links = [(i, j) for i, row in enumerate(rows) for j in row if j != i]
    known, table = set(links), Table(agents=agents_of(network))
    if all((j, i) in known for i, j in links):
        table = {"edges": [[i, j] for i, j in links if i < j], **table}
    else:
        table = {"edges": [[j, i] for i, j in links], **table, "directed": True}
    return {**table, **({} if rule == "uniform" else {"rule": rule}), **_kept(network)}


# Agents of a problem file: entries of a table, each for one agent or for some in a row -----------


def table_of(document: Table) -> str:
    """Which table describes the agents: ``model`` or ``regression``."""
    return "regression" if "regression" in document else "model"


def entries_of(document: Table) -> list[Table]:
    """One entry an agent, without its count; agents of one entry share the very same table."""
    listed: list[Table] = []
    for entry in document[table_of(document)]["agents"]:
        listed += [left_out(entry, "count")] * int(entry.get("count", 1))
    return listed


def with_entries(document: Table, listed: Sequence[Table]) -> Table:
    """The document with these entries, one an agent; equal ones in a row share one."""
    agents: list[Table] = []
    for entry, members in groupby(listed):
        count = len(list(members))
        agents.append(({"count": count} if count > 1 else {}) | entry)
    key = table_of(document)
    return {**document, key: {**document[key], "agents": agents}}


def evidence(entry: Table) -> Table:
    """What an agent sees, of its entry."""
    return left_out(entry, *OWN_KEYS)


def with_names(network: Table, names: list[str]) -> Table:
    """The table [network] with these names; those that are numbers in order are left out."""
    table = left_out(network, "names")
    return table if names == list(map(str, range(len(names)))) else {**table, "names": names}


def _fresh_name(names: Sequence[str]) -> str:
    """A name that none of the others is."""
    number = len(names)
    while str(number) in names:
        number += 1
    return str(number)


def renumbered(
    document: Table,
    sources: Sequence[int | None],
    *,
    new: Table | None = None,
    like: int | None = None,
    name: str | None = None,
) -> Table:
    """The document with all that it says of agents said of other ones, the weights apart.

    Parameters
    ----------
    sources
        The old number of each agent; None for those that are new, who come last.
    new, like, name
        Of new agents: their entry, the agent whose batch they draw, and their name.
    """
    place = {old: k for k, old in enumerate(sources) if old is not None}
    known, grown = [*place], range(len(place), len(sources))

    def moved(agents: Sequence[int]) -> list[int]:
        return [place[agent] for agent in agents if agent in place]

    def each(values: Sequence[Any], fresh: Any) -> list[Any]:
        return [*(values[old] for old in known), *(fresh for _ in grown)]

    network = dict(document["network"])
    names = network.get("names") or (name and list(map(str, known)))
    if names:
        names = [names[old] for old in known]
        for _ in grown:
            names.append(name or _fresh_name(names))
        network = with_names(network, names)
    if "positions" in network:
        places = each(network.pop("positions"), None)
        network |= {} if grown else {"positions": places}
    changes = dict(network.get("changes") or {})
    if "delays" in changes:
        changes["delays"] = each([each(row, 0) for row in changes["delays"]], [0] * len(sources))
    if "rates" in changes:
        changes["rates"] = each(changes["rates"], changes["rates"][-1])
    if changes:
        network["changes"] = changes
    if "sequence" in network:
        network["sequence"] = [
            {**phase, "active": [*moved(phase["active"]), *grown]} if "active" in phase else phase
            for phase in network["sequence"]
        ]
    result = with_entries({**document, "network": network}, each(entries_of(document), new))
    batch = document.get("learning", {}).get("batch")
    if isinstance(batch, list):
        drawn = each(batch, 1 if like is None else batch[like])
        result["learning"] = {**document["learning"], "batch": drawn}
    if "agents" in document.get("faults", {}):
        told = [{**one, "agents": moved(one["agents"])} for one in document["faults"]["agents"]]
        rest, told = left_out(document["faults"], "agents"), [one for one in told if one["agents"]]
        result["faults"] = {**rest, "agents": told} if told else rest
    if "design" in document:
        result["design"] = _renumbered_design(document["design"], moved)
    return result


def _renumbered_design(design: Table, moved: Callable[[Sequence[int]], list[int]]) -> Table:
    """The table [design] of other agents: what is said of those that are gone is left out."""
    design = dict(design)
    if "edges" in design:
        design["edges"] = [new for link in design["edges"] if len(new := moved(link)) == 2]
    if "fixed_agents" in design:
        design["fixed_agents"] = moved(design["fixed_agents"])
    for key in ("link_costs", "link_availability"):
        if key in design:
            entries = [{**entry, "link": moved(entry["link"])} for entry in design[key]]
            design[key] = [entry for entry in entries if len(entry["link"]) == 2]
    return {key: value for key, value in design.items() if value not in ([], ())}
