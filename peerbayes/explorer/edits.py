"""Edits of a problem: pure functions from the content of its file to another one.

A *document* is the content of a problem file as plain tables, lists, strings and numbers, as
`peerbayes.problem.writing.document_of` gives it. An edit is a table with a ``kind`` and the keys of
that kind; agents go by number. What an edit leads to is read by the problem file's own reader,
which refuses what it would refuse in a file, in the same words. Here are the edits of the network:
who takes part, who hears whom, and how much it counts; the others are in
`peerbayes.explorer.edit_model`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from types import SimpleNamespace
from typing import Annotated, Any, Literal, cast

from pydantic import BaseModel, Field, ValidationError

from peerbayes.explorer.documents import canonical
from peerbayes.explorer.edit_model import KINDS, Edit, Text, edit, uninformative
from peerbayes.explorer.tables import (
    Row,
    Table,
    agents_of,
    as_agent,
    as_edges,
    as_number,
    as_share,
    edges_of_support,
    entries_of,
    entries_of_rows,
    evidence,
    form_of,
    freed,
    left_out,
    parsed,
    renumbered,
    with_names,
    with_rows,
    with_weight,
    without_agent,
    written,
)
from peerbayes.messages import choose, describe, translate
from peerbayes.problem.builtins.families import BUILTINS
from theory.validation import fail

Listener = Annotated[int, Field(alias="from")]
Speaker = Annotated[int, Field(alias="to")]
Phase = Annotated[int, Field(ge=0)] | None
"""Of a sequence: which phase; None: all."""


# Agents -----------------------------------------------------------------------------------------

# Topologies to which an agent is added by one more agent, and where it is joined on.
_JOINED: dict[str, Callable[[int], list[int]]] = {
    "star": lambda agents: [0],
    "path": lambda agents: [agents - 1],
    "complete": lambda agents: list(range(agents)),
}
# From which an agent may be struck, and which one.
_STRUCK: dict[str, Callable[[int], Sequence[int]]] = {
    "star": lambda agents: range(1, agents),
    "path": lambda agents: (0, agents - 1),
    "complete": lambda agents: range(agents),
}


@edit
def add_agent(
    document: Table,
    name: Text | None = None,
    evidence_of: int | None = None,
    listens_to: list[int] | None = None,
    heard_by: list[int] | None = None,
) -> Table:
    """One more agent, numbered behind the others.

    It sees what the agent `evidence_of` sees; left out: nothing that matters.
    """
    network = document["network"]
    agents = agents_of(network)
    for key, some in (("listens_to", listens_to), ("heard_by", heard_by)):
        for k, agent in enumerate(some or ()):
            as_agent(f"{key}[{k}]", agent, agents)
    topology = network.get("topology", "star")
    usual = _JOINED.get(topology, _JOINED["star"])(agents)
    hears, heard = sorted(set(listens_to or ())), sorted(set(heard_by or ()))
    if listens_to is None and heard_by is None:
        hears = heard = usual
    if network.get("topology") in _JOINED and hears == heard == usual and "agents" in network:
        network = {**network, "agents": agents + 1}
    else:
        network = _joined(network, agents, hears, heard)
    last = entries_of(document)[-1]
    if evidence_of is not None:
        new = entries_of(document)[as_agent("evidence_of", evidence_of, agents)]
    else:
        new = last if "regression" in document else uninformative(document, evidence(last))
    grown = {**document, "network": network}
    return renumbered(grown, [*range(agents), None], new=new, like=evidence_of, name=name)


def _joined(network: Table, agents: int, hears: list[int], heard: list[int]) -> Table:
    """The table [network] with a new agent that hears some and is heard by some."""
    table = as_edges(network, one_way=hears != heard)
    if table is not None:
        new = [[agent, agents] for agent in hears]
        if table.get("directed"):
            new += [[agents, agent] for agent in heard]
        return {**table, "edges": [*table["edges"], *new], "agents": agents + 1}

    def join(table: Table) -> Table:
        rows: list[Any] = [*entries_of_rows(table), {}]
        rows[agents] = {agent: Fraction(1, len(hears) + 1) for agent in [*hears, agents]}
        for agent in heard:
            row = parsed(rows[agent])
            rows[agent] = with_weight(row, agents, like_one_more(row), own=agent)
        return with_rows(table, rows)

    return _in_tables(freed(network), join)


@edit
def remove_agent(document: Table, agent: int) -> Table:
    """An agent leaves; what the others put on it they put on themselves, or their rule decides."""
    network = document["network"]
    agents = agents_of(network)
    as_agent("agent", agent, agents)
    if agents == 1:
        raise fail("agent", "more than one agent", "the last one", "add another one first")
    topology, table = network.get("topology", ""), as_edges(network)
    if topology in _STRUCK and agent in _STRUCK[topology](agents) and "agents" in network:
        network = {**network, "agents": agents - 1}
    elif table is not None:
        edges = [
            [a - (a > agent), b - (b > agent)] for a, b in table["edges"] if agent not in (a, b)
        ]
        network = {**table, "edges": edges, "agents": agents - 1}
    else:
        network = _in_tables(freed(network), lambda table: without_agent(table, agent))
    left = [other for other in range(agents) if other != agent]
    return renumbered({**document, "network": network}, left)


@edit
def rename_agent(document: Table, agent: int, name: Text) -> Table:
    """Another name of an agent."""
    network = document["network"]
    agents = agents_of(network)
    as_agent("agent", agent, agents)
    names = list(network.get("names") or map(str, range(agents)))
    names[agent] = name
    return {**document, "network": with_names(network, names)}


# Links and weights ------------------------------------------------------------------------------


@edit
def add_link(
    document: Table,
    listener: Listener,
    speaker: Speaker,
    both: bool = True,
    value: Any = None,
    phase: Phase = None,
) -> Table:
    """An agent hears another one from now on; its weight is as of one more neighbour by default."""
    pairs = _ends(document, listener, speaker, both)
    there = fail("to", f"an agent that {listener} does not hear", speaker, "it is there already")
    table = None if value is not None else as_edges(document["network"], one_way=not both)
    if table is not None:
        known = {_way(table, *edge) for edge in table["edges"]}
        new = [[b, a] for a, b in pairs if _way(table, b, a) not in known]
        if not new:
            raise there
        new = new if table.get("directed") else new[:1]
        return {**document, "network": {**table, "edges": [*table["edges"], *new]}}

    def join(row: Row, own: int, other: int) -> Row:
        if other in row:
            return row
        share = like_one_more(row) if value is None else as_share("value", value)
        return with_weight(row, other, share, own=own)

    return _on_weights(document, phase, pairs, join, unless=there)


@edit
def remove_link(
    document: Table,
    listener: Listener,
    speaker: Speaker,
    both: bool = True,
    phase: Phase = None,
) -> Table:
    """An agent no longer hears another one; what it puts on the others grows in proportion."""
    pairs = _ends(document, listener, speaker, both)
    none = fail("to", f"an agent that {listener} hears", speaker, "choose a link that is there")
    table = as_edges(document["network"], one_way=not both)
    if table is not None:
        gone = {_way(table, b, a) for a, b in pairs}
        edges = [edge for edge in table["edges"] if _way(table, *edge) not in gone]
        if len(edges) == len(table["edges"]):
            raise none
        return {**document, "network": {**table, "edges": edges}}

    def cut(row: Row, own: int, other: int) -> Row:
        return with_weight(row, other, Fraction(0), own=own) if other in row else row

    return _on_weights(document, phase, pairs, cut, unless=none)


@edit
def set_weight(
    document: Table, listener: Listener, speaker: Speaker, value: Any, phase: Phase = None
) -> Table:
    """The weight of one agent on another; the others of the row are scaled to what is left."""
    agents = agents_of(document["network"])
    as_agent("from", listener, agents)
    as_agent("to", speaker, agents)
    share = as_share("value", value)

    def weigh(row: Row, own: int, other: int) -> Row:
        return with_weight(row, other, share, own=own)

    return _on_weights(document, phase, [(listener, speaker)], weigh)


@edit
def set_self_weight(document: Table, agent: int, value: Any, phase: Phase = None) -> Table:
    """The weight of an agent on itself; the others of the row are scaled to what is left."""
    as_agent("agent", agent, agents_of(document["network"]))
    return set_weight(document, agent, agent, value, phase)


@edit
def set_rule(
    document: Table, rule: Literal["uniform", "metropolis", "lazy-metropolis", "max-degree"]
) -> Table:
    """Weights by a rule on the graph of who hears whom."""
    network = document["network"]
    form = form_of(network)
    if form == "sequence":
        wanted = "a network of one graph"
        raise fail("rule", wanted, "a sequence of phases", "set the weights of a phase")
    if form not in ("topology", "edges"):
        return {**document, "network": edges_of_support(network, rule)}
    table = left_out(network, "rule", "edge_confidence")
    if rule != "uniform" or form == "topology":
        table["rule"] = rule
    return {**document, "network": table}


@edit
def free_weights(document: Table) -> Table:
    """Weights that follow from a rule or a topology are written out."""
    return {**document, "network": freed(document["network"])}


def like_one_more(row: Row) -> Fraction:
    """The weight of one more neighbour: one part beside as many as are heard already."""
    return Fraction(1, len(row) + 1)


def _ends(document: Table, listener: int, speaker: int, both: bool) -> list[tuple[int, int]]:
    """(listener, speaker), the other way round as well if both are meant."""
    agents = agents_of(document["network"])
    as_agent("from", listener, agents)
    as_agent("to", speaker, agents)
    if listener == speaker:
        remedy = "set its self-weight instead"
        raise fail("to", "another agent", f"{speaker}, the same", remedy)
    one = (listener, speaker)
    return [one, one[::-1]] if both else [one]


def _way(table: Table, speaker: int, listener: int) -> tuple[int, int]:
    """An edge of a graph: undirected ones are the same both ways round."""
    ends = (speaker, listener)
    return ends if table.get("directed") else (min(ends), max(ends))


def _in_tables(network: Table, change: Callable[[Table], Table]) -> Table:
    """A network of weights written out, changed: one table, or one a phase."""
    if form_of(network) == "sequence":
        return {**network, "sequence": [change(phase) for phase in network["sequence"]]}
    return change(network)


def _on_weights(
    document: Table,
    phase: int | None,
    pairs: Sequence[tuple[int, int]],
    change: Callable[[Row, int, int], Row],
    *,
    unless: ValueError | None = None,
) -> Table:
    """The document with its weights written out and changed, in one phase or in all.

    Parameters
    ----------
    pairs, change
        The row of each listener becomes that of ``change(row, listener, speaker)``.
    unless
        What is raised where no row changes.
    """
    network = document["network"]
    phases = network.get("sequence")
    if phase is not None and phases is None:
        raise fail("phase", "none, as the network has one graph", phase, "leave it out")
    if phase is not None and phase >= len(phases):
        raise fail("phase", f"a phase from 0 to {len(phases) - 1}", phase, "correct it")

    def changed(table: Table) -> Table:
        if phase is not None and table is not phases[phase]:
            return table
        rows: list[Any] = entries_of_rows(table)
        before = {listener: parsed(rows[listener]) for listener, _ in pairs}
        after = {i: change(before[i], i, j) for i, j in pairs}
        if unless is not None and after == before:
            raise unless
        return with_rows(table, [after.get(i, row) for i, row in enumerate(rows)])

    return {**document, "network": _in_tables(freed(network), changed)}


# Parameters -------------------------------------------------------------------------------------

_TABLES = ("network", "changes", "faults", "messages", "learning")
_SIZES = ("agents", "shape", "dimension", "topology")


@edit
def set_parameter(document: Table, key: str, value: Any = None) -> Table:
    """A number that much follows from: edge confidence, agents, shape, share of links up."""
    *path, last = key.split(".")
    name = path[-1] if path else "network"
    choose("key", name, _TABLES)
    network = document["network"]
    if name == "changes":
        if "changes" not in network:
            raise fail("key", "a network that changes", key, "say what changes first")
        changes = _with_value(network["changes"], last, value)
        return {**document, "network": {**network, "changes": changes}}
    if name != "network":
        return {**document, name: _with_value(document.get(name, {}), last, value)}
    if form_of(network) not in ("topology", "edges"):
        wanted = "a network by topology or by edges"
        got = f"one by {form_of(network)}"
        raise fail(f"network.{last}", wanted, got, "choose a topology first")
    new = {**document, "network": _with_value(network, last, value)}
    return _resized(new, agents_of(new["network"])) if last in _SIZES else new


def _resized(document: Table, agents: int) -> Table:
    """The document for so many agents, the network apart: struck, or more of the last one."""
    listed = entries_of(document)
    kept = range(min(agents, len(listed)))
    more = [None] * (agents - len(kept))
    return renumbered(document, [*kept, *more], new=listed[-1], like=-1)


def _with_value(table: Table, key: str, value: Any) -> Table:
    """The table with another value of a key; a decimal is exact where the one before was."""
    if value is None:
        return left_out(table, key)
    before = table.get(key)
    if isinstance(before, str) and isinstance(value, int | float) and not isinstance(value, bool):
        try:
            as_number(key, before)
        except ValueError:
            return {**table, key: value}
        text = f"{value!r}"
        if len(text) <= 8:
            value = written(as_number(key, text))
    return {**table, key: value}


# All edits --------------------------------------------------------------------------------------

EDITS: Mapping[str, Edit] = KINDS
"""Every edit by its kind."""


def _applied(document: Table, table: object, place: str) -> Table:
    """The document after the edit that a table describes; `place` names it in messages."""
    if not isinstance(table, Mapping):
        raise fail(place, "a table with a kind", describe(table), "say what is to be done")
    kind = EDITS[choose(f"{place}.kind", table.get("kind"), EDITS)]
    try:
        read = kind.keys.model_validate(left_out(dict(table), "kind"))
    except ValidationError as error:
        keys = {f.alias or name: f for name, f in kind.keys.model_fields.items()}
        owner = cast("type[BaseModel]", SimpleNamespace(model_fields=keys))
        raise translate(error, source=place, sections={"": owner}) from None
    more = {key: value for key, value in (read.model_extra or {}).items() if value is not None}
    return kind.apply(
        document, **{name: getattr(read, name) for name in kind.keys.model_fields}, **more
    )


def edited(document: Table, edits: Sequence[object]) -> Table:
    """The document after some edits, one after the other, as the problem file writes it.

    The document given is left as it is.

    Raises
    ------
    ValueError
        If an edit is none or cannot be meant, or the problem file refuses what it leads to.

    Examples
    --------
    >>> from peerbayes.problem.builtins.families import BUILTINS
    >>> coins, _ = BUILTINS["two-coins"].documents["two-coins"]
    >>> half = {"kind": "set-weight", "from": 1, "to": 0, "value": "1/2"}
    >>> edited(coins, [half])["network"]
    {'weights': [['9/10', '1/10'], ['1/2', '1/2']]}
    """
    for k, table in enumerate(edits):
        document = _applied(document, table, "edit" if len(edits) == 1 else f"edits[{k}]")
    return canonical(document)


def named_anew(before: Table, after: Table) -> Table:
    """What became of a built-in problem, by a name of its own: its records are not the built-in's.

    Examples
    --------
    >>> coins, _ = BUILTINS["two-coins"].documents["two-coins"]
    >>> named_anew(coins, {**coins, "learning": {"batch": 2}})["name"]
    'two-coins-edited'
    """
    name = str(after.get("name", ""))
    is_builtin = name.partition(" ")[0] in BUILTINS and not name.endswith("-edited")
    if not is_builtin or name != before.get("name") or after == before:
        return after
    return {**after, "name": f"{name}-edited"}
