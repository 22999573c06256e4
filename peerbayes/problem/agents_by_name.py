"""From what a problem file may write for convenience to what its sections know.

The sections of a file (`peerbayes.problem.specification`) know agents by number, networks by
weights or edges, and rows that sum to 1. A file may also name agents wherever it takes their
numbers, name a graph file, and leave the sums to the reader. `by_number` rewrites such a document
before it is checked, and `in_order` sorts entries that say whose they are. A text is a name first,
then a number.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from fractions import Fraction
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError
from pydantic_core import PydanticCustomError

from peerbayes.messages import Place, input_error, path_text, translate
from peerbayes.problem.entries import Rational, Section, number_text, parse_number
from peerbayes.problem.model_section import AgentEntry
from peerbayes.problem.network_section import FORMS, FileNetwork
from theory.network.labels import agent_number, numbered_edges
from theory.validation import fail

Table = dict[str, Any]
Entry = TypeVar("Entry", bound=AgentEntry)

_EACH = "*"
# Where a file takes an agent; a star stands for every entry of a list.
_AGENTS: tuple[tuple[str, ...], ...] = (
    ("network", "sequence", _EACH, "active", _EACH),
    ("faults", "agents", _EACH, "agents", _EACH),
    ("design", "fixed_agents", _EACH),
    ("design", "edges", _EACH, _EACH),
    ("design", "link_costs", _EACH, "link", _EACH),
    ("design", "link_availability", _EACH, "link", _EACH),
)
# Where it takes one number an agent, and what agents have that a table does not name.
_LISTS: Mapping[tuple[str, ...], Any] = {
    ("learning", "batch"): 1,
    ("network", "changes", "rates"): "1",
}
_ANY_NUMBER = 10**9


class _OfFile(Section):
    """What is checked of a document before its graph file is read."""

    network: FileNetwork


def by_number(
    document: Mapping[str, Any], *, source: str = "", folder: Path | None = None
) -> Table:
    """The document with numbers in place of names, and a network in place of a graph file.

    Parameters
    ----------
    source
        Names the file in messages.
    folder
        From where a graph file is looked for; None: there is none, and it is refused.

    Raises
    ------
    ValueError
        If there is no agent of a name, or the graph file is none; in one line with its place.
    """
    table = dict(document)
    if isinstance(table.get("network"), Mapping):
        table["network"] = _network(table["network"], source, folder)
    names = _names(table.get("network"))
    number = {name: agent for agent, name in enumerate(names or ())}

    def found(name: str, place: Place) -> int:
        return agent_number(_where(source, place), name, number, agents=len(number) or _ANY_NUMBER)

    for path in _AGENTS:
        table = _replaced(table, path, (), found)
    for path, rest in _LISTS.items():
        table = _replaced(table, path, (), _list_of(_count(table), rest, found), tables=True)
    return table


def in_order(
    entries: tuple[Entry, ...], names: Sequence[str] | None, source: str, place: Place
) -> tuple[Entry, ...]:
    """Entries of a table of agents, in the order of the network if each says whose it is.

    Raises
    ------
    ValueError
        If only some have a name, one describes several agents, there is no agent of a name, or
        two describe the same.
    """
    if all(entry.name is None for entry in entries):
        return entries
    number = {name: agent for agent, name in enumerate(names or ())}
    found: dict[int, Entry] = {}
    for k, entry in enumerate(entries):
        where = (*place, k, "name")
        if entry.name is None:
            wanted, remedy = "a name in every entry, or in none", "name its agent"
            raise input_error(source, where, wanted, "none", remedy)
        if entry.count != 1:
            wanted, remedy = "1 beside a name", "give each agent an entry"
            raise input_error(source, (*place, k, "count"), wanted, entry.count, remedy)
        known = len(number) or len(entries)
        agent = agent_number(_where(source, where), entry.name, number, agents=known)
        if agent in found:
            got = f"{entry.name!r} again"
            raise input_error(source, where, "each agent once", got, "strike one of the entries")
        found[agent] = entry
    return tuple(found[agent] for agent in sorted(found))


def transposed(document: Mapping[str, Any]) -> bool:
    """Whether the columns of a file's weights sum to 1, as its rows should."""
    with suppress(PydanticCustomError, TypeError, KeyError, ValueError):
        rows = [[parse_number(entry) for entry in row] for row in document["network"]["weights"]]
        return all(abs(float(sum(column)) - 1) < 1e-9 for column in zip(*rows, strict=True))
    return False


def _where(source: str, place: Place) -> str:
    return ": ".join(part for part in (source, path_text(place)) if part)


def _network(given: Mapping[str, Any], source: str, folder: Path | None) -> Table:
    """The table [network], of a graph file if it names one."""
    network = dict(given)
    if "file" in network and not any(form in network for form in FORMS if form != "file"):
        network = _of_file(network, source, folder)
    if network.get("normalise") is True and "weights" in network:
        del network["normalise"]
        network["weights"] = _normalised(network["weights"], source)
    names = _names(network)
    for form in ("edges", "links"):
        if form in network:
            network[form], names = _pairs(network[form], names, form, source)
    if names is not None:
        network["names"] = list(names)
        has_count = {"edges", "links", "topology"} & set(network)
        if has_count and not {"shape", "dimension"} & set(network):
            network.setdefault("agents", len(names))
    elif "agents" not in network and network.get("edges") is not given.get("edges"):
        network["agents"] = 1 + max(max(edge) for edge in network["edges"])
    return network


def _of_file(network: Table, source: str, folder: Path | None) -> Table:
    try:
        section = _OfFile.model_validate({"network": network}).network
    except ValidationError as error:
        raise translate(error, source=source, sections={"network": FileNetwork}) from None
    if folder is None:
        wanted = "a problem that is read from a file, beside which a graph file is"
        remedy = "give its edges, or write the problem to a file"
        raise input_error(source, ("network", "file"), wanted, repr(section.file), remedy)
    from peerbayes.problem.graph_files import network_table

    options = section.model_dump(exclude={"file", "changes"})
    try:
        table = network_table(folder / section.file, **options)
    except ValueError as error:
        where = _where(source, ("network", "file"))
        raise ValueError(f"{where}: {error}") from None
    return {**table, "changes": network["changes"]} if "changes" in network else table


def _normalised(weights: Any, source: str) -> Any:
    """Each row divided by its sum, exactly where the row is exact; what is no table, as it is."""
    if not isinstance(weights, list | tuple):
        return weights
    if not all(isinstance(row, list | tuple) for row in weights):
        return weights
    table = []
    for i, row in enumerate(weights):
        where = _where(source, ("network", "weights", i))
        numbers: list[Rational] = []
        for j, entry in enumerate(row):
            try:
                number = parse_number(entry)
            except PydanticCustomError as error:
                context = error.context or {}
                words = context["expected"], context["got"], context["remedy"]
                raise fail(f"{where}[{j}]", *words) from None
            if number < 0:
                wanted, remedy = "a number of at least 0", "make it non-negative"
                raise fail(f"{where}[{j}]", wanted, number_text(number), remedy)
            numbers.append(number)
        exact = all(isinstance(number, Fraction) for number in numbers)
        total = sum(numbers) if exact else sum(float(number) for number in numbers)
        if not total:
            raise fail(where, "a number above 0", "none", "say whom the agent hears")
        shares = [number / total for number in numbers]
        table.append([str(share) if exact else float(share) for share in shares])
    return table


def _names(network: object) -> tuple[str, ...] | None:
    """The names in a table [network], as far as they are texts."""
    names = network.get("names") if isinstance(network, Mapping) else None
    if isinstance(names, list | tuple) and all(isinstance(name, str) for name in names):
        return tuple(names)
    return None


def _pairs(
    entries: Any, names: tuple[str, ...] | None, form: str, source: str
) -> tuple[Any, tuple[str, ...] | None]:
    """Edges or links by number, and the names of the agents: if left out, those of the entries."""
    ends = entries
    if form == "links":
        lists = isinstance(entries, list | tuple) and all(
            isinstance(entry, list | tuple) and len(entry) == 3 for entry in entries
        )
        if not lists:
            return entries, names
        ends = [list(entry[:2]) for entry in entries]
    try:
        pairs, names = numbered_edges(ends, names)
    except ValueError as error:
        text = str(error).replace("edges[", f"{form}[", 1)
        raise ValueError(f"{_where(source, ('network',))}.{text}") from None
    if pairs is ends:
        return entries, names
    if form == "links":
        pairs = [[*pair, entry[2]] for pair, entry in zip(pairs, entries, strict=True)]
    return pairs, names


def _replaced(
    value: Any, path: Sequence[str], place: Place, new: Any, *, tables: bool = False
) -> Any:
    """The value with what `new` makes of texts, or of `tables`, at a path."""
    if not path:
        is_meant = isinstance(value, Mapping if tables else str)
        return new(value, place) if is_meant else value
    step, rest = path[0], path[1:]
    if step == _EACH and isinstance(value, list | tuple):
        return [_replaced(one, rest, (*place, k), new) for k, one in enumerate(value)]
    if isinstance(value, Mapping) and step in value:
        return {**value, step: _replaced(value[step], rest, (*place, step), new, tables=tables)}
    return value


def _list_of(agents: int, rest: Any, found: Any) -> Any:
    """What makes a list, one entry an agent, of a table by agent; `rest` is for all others."""

    def listed(table: Mapping[str, Any], place: Place) -> list[Any]:
        entries = [rest] * agents
        for name, entry in table.items():
            agent = found(name, (*place, name))
            if agent >= agents:
                wanted = f"an agent from 0 to {agents - 1}"
                raise fail(path_text((*place, name)), wanted, agent, "correct it")
            entries[agent] = entry
        return entries

    return listed


def _count(table: Table) -> int:
    """The number of agents, as far as the document says it plainly."""
    network = table.get("network")
    names = _names(network)
    if names is not None:
        return len(names)
    given = network if isinstance(network, Mapping) else {}
    for key in ("weights", "agents"):
        value = given.get(key)
        if isinstance(value, list | tuple):
            return len(value)
        if isinstance(value, int):
            return value
    entries = [
        entry
        for key in ("model", "regression")
        if isinstance(table.get(key), Mapping) and isinstance(table[key].get("agents"), list)
        for entry in table[key]["agents"]
    ]
    counts = [entry.get("count", 1) for entry in entries if isinstance(entry, Mapping)]
    return sum(count for count in counts if isinstance(count, int))
