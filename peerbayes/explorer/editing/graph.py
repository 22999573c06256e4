"""Edits of links and weights: who hears whom, and how much it counts."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any, ClassVar, Literal

from pydantic import Field

from peerbayes.explorer.editing.edit import Edit, copied
from peerbayes.explorer.editing.networks import (
    Weights,
    agents_of,
    as_agent,
    as_edges,
    edge_known,
    edges_of_support,
    form_of,
    freed,
    one_way,
)
from peerbayes.explorer.editing.rows import Row, Table, as_share, with_weight, without
from theory.validation import fail

_PHASE: Any = Field(default=None, ge=0, description="Of a sequence: which phase; left out: all.")


class AddLink(Edit):
    """An agent hears another one from now on."""

    kind: ClassVar[str] = "add-link"
    listener: int = Field(alias="from", description="Who hears.")
    speaker: int = Field(alias="to", description="Who is heard.")
    both: bool = True
    value: Any = Field(default=None, description="The weight; left out: like one more neighbour.")
    phase: int | None = _PHASE

    def apply(self, document: Table) -> Table:
        network = document["network"]
        _ends(self, network)
        pairs = _pairs(self)
        table = None if self.value is not None else as_edges(network)
        if table is not None:
            known = [
                edge_known(table["edges"], b, a, directed=table.get("directed", False))
                for a, b in pairs
            ]
            if all(known):
                raise fail("to", f"an agent that {self.listener} does not hear", self.speaker, _CUT)
            one = not self.both and not table.get("directed")
            table = one_way(table) if one else table
        if table is not None:
            new = [[b, a] for (a, b), there in zip(pairs, known, strict=True) if not there]
            edges = [*table["edges"], *(new if table.get("directed") else new[:1])]
            return {**document, "network": {**table, "edges": edges}}
        return _on_weights(document, self.phase, lambda weights: self._link(weights, pairs))

    def _link(self, weights: Weights, pairs: list[tuple[int, int]]) -> None:
        rows = {a: weights.row(a) for a, _ in pairs}
        if all(b in rows[a] for a, b in pairs):
            raise fail("to", f"an agent that {self.listener} does not hear", self.speaker, _CUT)
        for a, b in pairs:
            if b not in rows[a]:
                share = (
                    like_one_more(rows[a]) if self.value is None else as_share("value", self.value)
                )
                weights.put(a, with_weight(rows[a], b, share, own=a))


class RemoveLink(Edit):
    """An agent no longer hears another one; what it puts on the others grows in proportion."""

    kind: ClassVar[str] = "remove-link"
    listener: int = Field(alias="from", description="Who hears.")
    speaker: int = Field(alias="to", description="Who is heard.")
    both: bool = True
    phase: int | None = _PHASE

    def apply(self, document: Table) -> Table:
        network = document["network"]
        _ends(self, network)
        pairs = _pairs(self)
        table = as_edges(network)
        if table is not None and not self.both and self._is_mutual(table):
            table = one_way(table)
        if table is None:
            return _on_weights(document, self.phase, lambda weights: self._cut(weights, pairs))
        gone = {(b, a) for a, b in pairs}
        if not table.get("directed"):
            gone |= {(a, b) for a, b in gone}
            gone |= {(b, a) for a, b in gone}
        edges = [edge for edge in table["edges"] if (edge[0], edge[1]) not in gone]
        if len(edges) == len(table["edges"]):
            raise fail("to", f"an agent that {self.listener} hears", self.speaker, _DRAW)
        return {**document, "network": {**table, "edges": edges}}

    def _is_mutual(self, table: Table) -> bool:
        """Whether the link to be cut is an edge that leads both ways."""
        known = edge_known(table["edges"], self.speaker, self.listener, directed=False)
        return known and not table.get("directed")

    def _cut(self, weights: Weights, pairs: list[tuple[int, int]]) -> None:
        rows = {a: weights.row(a) for a, _ in pairs}
        if not any(b in rows[a] for a, b in pairs):
            raise fail("to", f"an agent that {self.listener} hears", self.speaker, _DRAW)
        for a, b in pairs:
            weights.put(a, without(rows[a], b, own=a))


class SetWeight(Edit):
    """The weight of one agent on another; the others of the row are scaled to what is left."""

    kind: ClassVar[str] = "set-weight"
    listener: int = Field(alias="from", description="Who hears.")
    speaker: int = Field(alias="to", description="Who is heard.")
    value: Any
    phase: int | None = _PHASE

    def apply(self, document: Table) -> Table:
        agents = agents_of(document["network"])
        as_agent("from", self.listener, agents)
        as_agent("to", self.speaker, agents)
        share = as_share("value", self.value)

        def change(weights: Weights) -> None:
            row = weights.row(self.listener)
            weights.put(self.listener, with_weight(row, self.speaker, share, own=self.listener))

        return _on_weights(document, self.phase, change)


class SetSelfWeight(Edit):
    """The weight of an agent on itself; the others of the row are scaled to what is left."""

    kind: ClassVar[str] = "set-self-weight"
    agent: int
    value: Any
    phase: int | None = _PHASE

    def apply(self, document: Table) -> Table:
        agent = as_agent("agent", self.agent, agents_of(document["network"]))
        both = {"from": agent, "to": agent, "value": self.value, "phase": self.phase}
        return SetWeight.model_validate(both).apply(document)


class SetRule(Edit):
    """Weights by a rule on the graph of who hears whom."""

    kind: ClassVar[str] = "set-rule"
    rule: Literal["uniform", "metropolis", "lazy-metropolis", "max-degree"]

    def apply(self, document: Table) -> Table:
        network = document["network"]
        form = form_of(network)
        if form == "sequence":
            wanted = "a network of one graph"
            raise fail("rule", wanted, "a sequence of phases", "set the weights of a phase")
        if form not in ("topology", "edges"):
            return {**document, "network": edges_of_support(network, self.rule)}
        table = {
            key: value for key, value in network.items() if key not in ("rule", "edge_confidence")
        }
        if self.rule != "uniform" or form == "topology":
            table["rule"] = self.rule
        return {**document, "network": table}


class FreeWeights(Edit):
    """Weights that follow from a rule or a topology are written out."""

    kind: ClassVar[str] = "free-weights"

    def apply(self, document: Table) -> Table:
        return {**document, "network": freed(document["network"])}


_CUT = "it is there already"
_DRAW = "choose a link that is there"


def like_one_more(row: Row) -> Fraction:
    """The weight of one more neighbour: one part beside as many as are heard already."""
    return Fraction(1, len(row) + 1)


def _ends(edit: AddLink | RemoveLink, network: Table) -> None:
    agents = agents_of(network)
    as_agent("from", edit.listener, agents)
    as_agent("to", edit.speaker, agents)
    if edit.listener == edit.speaker:
        remedy = "set its self-weight instead"
        raise fail("to", "another agent", f"{edit.speaker}, the same", remedy)


def _pairs(edit: AddLink | RemoveLink) -> list[tuple[int, int]]:
    """(listener, speaker), the other way round as well if both are meant."""
    one = (edit.listener, edit.speaker)
    return [one, one[::-1]] if edit.both else [one]


def _on_weights(document: Table, phase: int | None, change: Callable[[Weights], None]) -> Table:
    """The document with its weights written out and changed, in one phase or in all."""
    network = document["network"]
    if form_of(network) != "sequence":
        if phase is not None:
            raise fail("phase", "none, as the network has one graph", phase, "leave it out")
        network = copied(freed(network))
        change(Weights(network))
        return {**document, "network": network}
    network = copied(network)
    phases = network["sequence"]
    if phase is not None and phase >= len(phases):
        raise fail("phase", f"a phase from 0 to {len(phases) - 1}", phase, "correct it")
    for table in phases if phase is None else [phases[phase]]:
        change(Weights(table))
    return {**document, "network": network}
