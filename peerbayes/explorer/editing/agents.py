"""Edits of agents: who takes part, and what they are called."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, ClassVar

from pydantic import Field

from peerbayes.explorer.editing.edit import Edit, copied
from peerbayes.explorer.editing.entries import entries_of, own, uninformative, with_entries
from peerbayes.explorer.editing.graph import like_one_more
from peerbayes.explorer.editing.networks import (
    Weights,
    agents_of,
    as_agent,
    as_edges,
    form_of,
    freed,
    one_way,
)
from peerbayes.explorer.editing.rows import Table, handed_over, with_weight
from theory.validation import fail

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


class AddAgent(Edit):
    """One more agent, numbered behind the others."""

    kind: ClassVar[str] = "add-agent"
    name: str | None = Field(default=None, min_length=1)
    evidence_of: int | None = Field(
        default=None, description="Sees what that agent sees; left out: nothing that matters."
    )
    listens_to: list[int] | None = None
    heard_by: list[int] | None = None

    def apply(self, document: Table) -> Table:
        agents = agents_of(document["network"])
        for key in ("listens_to", "heard_by"):
            for k, agent in enumerate(getattr(self, key) or ()):
                as_agent(f"{key}[{k}]", agent, agents)
        hears, heard = self.listens_to, self.heard_by
        if hears is None and heard is None:
            topology = document["network"].get("topology", "star")
            hears = heard = _JOINED.get(topology, _JOINED["star"])(agents)
        joined = _Joining(sorted(set(hears or ())), sorted(set(heard or ())))
        return {
            **self._entries(document, agents),
            "network": self._names(joined.network(document["network"], agents), agents),
        }

    def _entries(self, document: Table, agents: int) -> Table:
        listed = entries_of(document)
        if len(listed) != agents:
            return document
        if self.evidence_of is None:
            model = "regression" in document
            plain = {key: v for key, v in listed[-1].items() if key not in own(listed[-1])}
            new = listed[-1] if model else uninformative(document, plain)
        else:
            new = listed[as_agent("evidence_of", self.evidence_of, agents)]
        changed = with_entries(document, [*listed, new])
        batch = document.get("learning", {}).get("batch")
        if isinstance(batch, list):
            more = batch[self.evidence_of] if self.evidence_of is not None else 1
            changed["learning"] = {**document["learning"], "batch": [*batch, more]}
        return changed

    def _names(self, network: Table, agents: int) -> Table:
        names = network.get("names")
        if names is None and self.name is None:
            return network
        listed = list(names or map(str, range(agents)))
        return with_names(network, [*listed, self.name or fresh_name(listed)])


class _Joining:
    """Whom a new agent hears, and who hears it."""

    def __init__(self, hears: list[int], heard: list[int]) -> None:
        self.hears, self.heard = hears, heard

    def network(self, network: Table, agents: int) -> Table:
        """The table [network] with the new agent."""
        joined = _JOINED.get(network.get("topology", ""))
        as_before = joined is not None and self.hears == self.heard == joined(agents)
        if as_before and "agents" in network:
            return _changed(network, agents, {**network, "agents": agents + 1})
        table = as_edges(network)
        if table is not None and self.hears != self.heard:
            table = one_way(table)
        if table is not None:
            new = [[agent, agents] for agent in self.hears]
            if table.get("directed"):
                new += [[agents, agent] for agent in self.heard]
            table = {**table, "edges": [*table["edges"], *new], "agents": agents + 1}
            return _changed(network, agents, table)
        network = copied(freed(network))
        for weights in _tables(network):
            self._join(weights)
        for phase in network.get("sequence", ()):
            if "active" in phase:
                phase["active"] = [*phase["active"], agents]
        return _changed(network, agents, network)

    def _join(self, weights: Weights) -> None:
        new = weights.add_agent()
        own = [*self.hears, new]
        weights.put(new, {agent: Fraction(1, len(own)) for agent in own})
        for agent in self.heard:
            row = weights.row(agent)
            weights.put(agent, with_weight(row, new, like_one_more(row), own=agent))


class RemoveAgent(Edit):
    """An agent leaves; what the others put on it they put on themselves, or their rule decides."""

    kind: ClassVar[str] = "remove-agent"
    agent: int

    def apply(self, document: Table) -> Table:
        agents = agents_of(document["network"])
        gone = as_agent("agent", self.agent, agents)
        if agents == 1:
            raise fail("agent", "more than one agent", "the last one", "add another one first")
        listed = entries_of(document)
        if len(listed) == agents:
            document = with_entries(document, [*listed[:gone], *listed[gone + 1 :]])
        network = _struck(document["network"], gone, agents)
        order = [agent - (agent > gone) if agent != gone else None for agent in range(agents)]
        return renumbered({**document, "network": network}, order)


def _struck(network: Table, gone: int, agents: int) -> Table:
    """The table [network] without an agent; its names and changes are as before."""
    topology = network.get("topology", "")
    if topology in _STRUCK and gone in _STRUCK[topology](agents) and "agents" in network:
        return {**network, "agents": agents - 1}
    table = as_edges(network)
    if table is not None:
        edges = [[a - (a > gone), b - (b > gone)] for a, b in table["edges"] if gone not in (a, b)]
        return {**table, "edges": edges, "agents": agents - 1}
    network = copied(freed(network))
    for weights in _tables(network):
        for agent in range(agents):
            row = weights.row(agent)
            if agent != gone and gone in row:
                weights.put(agent, handed_over(row, gone, own=agent))
        weights.remove_agent(gone)
    return network


class RenameAgent(Edit):
    """Another name of an agent."""

    kind: ClassVar[str] = "rename-agent"
    agent: int
    name: str = Field(min_length=1)

    def apply(self, document: Table) -> Table:
        network = document["network"]
        agents = agents_of(network)
        as_agent("agent", self.agent, agents)
        names = list(network.get("names") or map(str, range(agents)))
        names[self.agent] = self.name
        return {**document, "network": with_names(network, names)}


def with_names(network: Table, names: list[str]) -> Table:
    """The table [network] with these names; those that are numbers in order are left out."""
    table = {key: value for key, value in network.items() if key != "names"}
    return table if names == list(map(str, range(len(names)))) else {**table, "names": names}


def fresh_name(names: Sequence[str]) -> str:
    """A name that none of the others is."""
    number = len(names)
    while str(number) in names:
        number += 1
    return str(number)


def renumbered(document: Table, order: Sequence[int | None]) -> Table:
    """The document with what it says of agents by number said of their new numbers.

    Parameters
    ----------
    order
        The new number of each agent; None for those that are gone.
    """
    network = dict(document["network"])
    if "names" in network:
        left = [name for name, to in zip(network["names"], order, strict=False) if to is not None]
        network = with_names(network, left)
    if "positions" in network:
        places = zip(network["positions"], order, strict=False)
        network["positions"] = [place for place, to in places if to is not None]
    if "changes" in network:
        network["changes"] = _changes(network["changes"], order)
    if "sequence" in network:
        network["sequence"] = [
            {**phase, "active": _numbers(phase["active"], order)} if "active" in phase else phase
            for phase in network["sequence"]
        ]
    new = {**document, "network": network}
    batch = document.get("learning", {}).get("batch")
    if isinstance(batch, list):
        kept = [size for size, to in zip(batch, order, strict=False) if to is not None]
        new["learning"] = {**document["learning"], "batch": kept}
    if "faults" in document:
        new["faults"] = _faults(document["faults"], order)
    if "design" in document:
        new["design"] = _design(document["design"], order)
    return new


def _numbers(agents: Sequence[int], order: Sequence[int | None]) -> list[int]:
    known = [order[agent] for agent in agents if agent < len(order)]
    return [agent for agent in known if agent is not None]


def _changes(changes: Table, order: Sequence[int | None]) -> Table:
    left = [agent for agent, to in enumerate(order) if to is not None]
    changes = dict(changes)
    if "delays" in changes:
        changes["delays"] = [[changes["delays"][i][j] for j in left] for i in left]
    if "rates" in changes:
        changes["rates"] = [changes["rates"][i] for i in left]
    return changes


def _changed(before: Table, agents: int, network: Table) -> Table:
    """The network of one more agent, with what its changes say of the new one."""
    changes = dict(before.get("changes") or {})
    if "delays" in changes:
        rows = [[*row, 0] for row in changes["delays"]]
        changes["delays"] = [*rows, [0] * (agents + 1)]
    if "rates" in changes:
        changes["rates"] = [*changes["rates"], changes["rates"][-1]]
    network = {key: value for key, value in network.items() if key != "positions"}
    return {**network, "changes": changes} if changes else network


def _faults(faults: Table, order: Sequence[int | None]) -> Table:
    entries = [
        {**entry, "agents": _numbers(entry["agents"], order)} for entry in faults.get("agents", ())
    ]
    rest = {key: value for key, value in faults.items() if key != "agents"}
    entries = [entry for entry in entries if entry["agents"]]
    return {**rest, "agents": entries} if entries else rest


def _design(design: Table, order: Sequence[int | None]) -> Table:
    def pair(link: Sequence[int]) -> list[int]:
        return _numbers(link, order)

    design = dict(design)
    if "edges" in design:
        design["edges"] = [new for link in design["edges"] if len(new := pair(link)) == 2]
    if "fixed_agents" in design:
        design["fixed_agents"] = _numbers(design["fixed_agents"], order)
    for key in ("link_costs", "link_availability"):
        if key in design:
            moved = [{**entry, "link": pair(entry["link"])} for entry in design[key]]
            design[key] = [entry for entry in moved if len(entry["link"]) == 2]
    return {key: value for key, value in design.items() if value not in ([], ())}


def _tables(network: Table) -> list[Weights]:
    """The weights of a network that are written out: one table, or one a phase."""
    if form_of(network) == "sequence":
        return [Weights(phase) for phase in network["sequence"]]
    return [Weights(network)]


def resized(document: Table, agents: int) -> Table:
    """The document for so many agents, the network apart: struck, or more of the last one."""
    listed: list[Any] = entries_of(document)
    before = len(listed)
    new = with_entries(document, [*listed[:agents], *[listed[-1]] * max(0, agents - before)])
    if agents <= before:
        return renumbered(new, [a if a < agents else None for a in range(before)])
    names = new["network"].get("names")
    if names is not None:
        names = list(names)
        while len(names) < agents:
            names.append(fresh_name(names))
        new["network"] = with_names(new["network"], names)
    for _ in range(agents - before):
        new["network"] = _changed(new["network"], before, new["network"])
        before += 1
    batch = document.get("learning", {}).get("batch")
    if isinstance(batch, list):
        more = [*batch, *[batch[-1]] * (agents - len(batch))]
        new["learning"] = {**document["learning"], "batch": more}
    return new
