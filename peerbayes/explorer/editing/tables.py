"""Edits of whole tables: what changes, who is faulty, what is sent, names, limits of a design."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from pydantic import ConfigDict, Field

from peerbayes.explorer.editing.agents import resized
from peerbayes.explorer.editing.edit import Edit
from peerbayes.explorer.editing.networks import agents_of, form_of
from peerbayes.explorer.editing.rows import Table, as_number, written
from peerbayes.messages import choose
from peerbayes.problem.changes_section import CHANGES
from peerbayes.problem.design_section import DesignSection
from peerbayes.problem.exchange_sections import FAULTS
from theory.validation import fail

_LONG_NAMES = {"random-links": "links", "random-presence": "presence", "delayed": "delays"}
_TABLES = ("network", "changes", "faults", "messages", "learning")


class _Open(Edit):
    """An edit whose further keys are those of a table of the file, which judges them."""

    model_config = ConfigDict(extra="allow")

    @property
    def given(self) -> Table:
        """The further keys; null stands for one that is left out."""
        return {key: v for key, v in (self.__pydantic_extra__ or {}).items() if v is not None}


class SetChanges(_Open):
    """What happens to the network: the table [network.changes]."""

    kind: ClassVar[str] = "set-changes"
    change: str = "none"

    def apply(self, document: Table) -> Table:
        network = {key: v for key, v in document["network"].items() if key != "changes"}
        if form_of(network) == "sequence":
            wanted = "a network of one graph"
            raise fail("kind", wanted, "a sequence of phases", "its phases are what changes")
        if self.change == "none":
            return {**document, "network": network}
        kind = _LONG_NAMES.get(self.change, self.change)
        choose("kind", kind, ["none", *CHANGES, *_LONG_NAMES])
        table = {"kind": kind, **_START_CHANGES.get(kind, {}), **self.given}
        if "delays" in table:
            table.pop("delay", None)
        return {**document, "network": {**network, "changes": table}}


_START_CHANGES: dict[str, Table] = {
    "links": {"up": "9/10"},
    "presence": {"present": "9/10"},
    "delays": {"delay": 1},
    "rotation": {"group_size": 1},
}


class SetFaults(_Open):
    """Who is faulty and how the others pool: the table [faults]."""

    kind: ClassVar[str] = "set-faults"
    faulty: list[int] = Field(default_factory=list)
    behaviour: str | None = None
    rule: str | None = None
    count: int | None = None

    def apply(self, document: Table) -> Table:
        given = self.given
        table: Table = {}
        rule = self.rule or "average"
        if rule != "average":
            table["rule"] = rule
        of_table = ("tolerate", "radius", "pool_every", "beyond_tolerance")
        table |= {key: given.pop(key) for key in of_table if key in given}
        if rule == "trimmed-mean":
            tolerate = len(self.faulty) if self.count is None else self.count
            table.setdefault("tolerate", tolerate)
        if rule == "clip":
            table.setdefault("radius", "1")
        if "agents" in given:
            table["agents"] = given["agents"]
        elif self.faulty:
            behaviour = self.behaviour or "push"
            choose("behaviour", behaviour, FAULTS)
            names = document.get("model", {}).get("hypotheses", ["", ""])
            started = _start_of_fault(behaviour, names)
            table["agents"] = [{"agents": self.faulty, "behaviour": behaviour, **started, **given}]
        rest = {key: value for key, value in document.items() if key != "faults"}
        return {**rest, "faults": table} if table else rest


def _start_of_fault(behaviour: str, names: Sequence[str]) -> Table:
    """What a fault does unless more is said: it speaks for the last hypothesis."""
    last = names[-1]
    match behaviour:
        case "push":
            return {"hypothesis": last, "strength": "1"}
        case "split":
            return {"first": names[0], "second": last, "strength": "1"}
        case "colluding":
            return {"hypothesis": last}
        case "random-lies":
            return {"scale": "1"}
        case "stuck-data":
            return {"outcome": 0}
        case "constant-belief":
            others = [f"1/{10 * (len(names) - 1)}"] * (len(names) - 1)
            return {"belief": [*others, "9/10"]}
    return {}


class SetMessages(_Open):
    """What agents send: the table [messages]; no key at all for beliefs as they are."""

    kind: ClassVar[str] = "set-messages"

    def apply(self, document: Table) -> Table:
        rest = {key: value for key, value in document.items() if key != "messages"}
        given = self.given
        return {**rest, "messages": given} if given else rest


class SetName(Edit):
    """The short name of the problem, and one line about it."""

    kind: ClassVar[str] = "set-name"
    name: str | None = None
    title: str | None = None

    def apply(self, document: Table) -> Table:
        new = dict(document)
        if self.name is not None:
            new["name"] = self.name
        if self.title is not None:
            new["title"] = self.title
        return {key: v for key, v in new.items() if key != "title" or v}


class SetDesign(Edit):
    """A key of the table [design]; null leaves it out."""

    kind: ClassVar[str] = "set-design"
    key: str
    value: Any = None

    def apply(self, document: Table) -> Table:
        choose("key", self.key, DesignSection.model_fields)
        design = {key: v for key, v in document.get("design", {}).items() if key != self.key}
        if self.value is not None:
            design[self.key] = self.value
        rest = {key: value for key, value in document.items() if key != "design"}
        return {**rest, "design": design} if design else rest


class SetParameter(Edit):
    """A number that much follows from: edge confidence, agents, shape, share of links up."""

    kind: ClassVar[str] = "set-parameter"
    key: str
    value: Any = None

    def apply(self, document: Table) -> Table:
        *path, key = self.key.split(".")
        name = path[-1] if path else "network"
        choose("key", name, _TABLES)
        if name == "changes":
            network = document["network"]
            if "changes" not in network:
                remedy = "say what changes first"
                raise fail("key", "a network that changes", self.key, remedy)
            new = _changed_table(network["changes"], network["changes"], key, self.value)
            return {**document, "network": {**network, "changes": new}}
        if name != "network":
            table = document.get(name, {})
            return {**document, name: _changed_table(table, table, key, self.value)}
        return self._network(document, key)

    def _network(self, document: Table, key: str) -> Table:
        network = document["network"]
        if form_of(network) not in ("topology", "edges"):
            wanted = "a network by topology or by edges"
            got = f"one by {form_of(network)}"
            raise fail(f"network.{key}", wanted, got, "choose a topology first")
        new = {**document, "network": _changed_table(network, network, key, self.value)}
        if key not in _SIZES:
            return new
        return resized(new, agents_of(new["network"]))


_SIZES = ("agents", "shape", "dimension", "topology")


def _changed_table(table: Table, like: Table, key: str, value: Any) -> Table:
    """The table with another value of a key; a decimal is exact where the one before was."""
    if value is None:
        return {name: entry for name, entry in table.items() if name != key}
    before = like.get(key)
    if isinstance(before, str) and isinstance(value, int | float) and not isinstance(value, bool):
        try:
            as_number(key, before)
        except ValueError:
            return {**table, key: value}
        text = f"{value!r}"
        if len(text) <= 8:
            value = written(as_number(key, text))
    return {**table, key: value}
