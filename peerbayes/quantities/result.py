"""Results that are made of quantities: JSON, tables, repr and frames from one table.

A result is a frozen dataclass that holds what theory or a run gave, and names its table in
`quantities`. All else is made here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from peerbayes.documents import Document, Documented
from peerbayes.quantities.quantity import Part, Table
from peerbayes.quantities.showing import in_short, parts, titled
from theory.frames import frame

if TYPE_CHECKING:
    import pandas as pd
    from rich.console import RenderableType


class Result(Documented):
    """Base of frozen dataclasses whose numbers are declared in a table of quantities."""

    quantities: ClassVar[Table]

    @property
    def table(self) -> Table:
        """The quantities of this result."""
        return self.quantities

    def document(self) -> Any:
        """The JSON object, checked: its keys are attributes."""
        return self.table.document(self)

    def tables(self) -> list[RenderableType]:
        """Terminal tables of this result."""
        lay_out = parts if self.table.title is None else titled
        return lay_out(self.table, self.document())

    def to_frame(self) -> pd.DataFrame:
        """A table of all numbers: one row for each, by its path in JSON.

        The column ``of`` says whose it is in a list or a mapping: a hypothesis, an agent's number.

        Raises
        ------
        ValueError
            If pandas is not installed.
        """
        rows = list(_rows(self.table, self))
        names = ("quantity", "of", "value", "unit", "kind")
        return frame({name: [row[k] for row in rows] for k, name in enumerate(names)})

    def _facts(self) -> Iterator[tuple[str, object]]:
        yield from short_facts(self.table, self)


def short_facts(table: Table, source: Any) -> Iterator[tuple[str, object]]:
    """The quantities with a short name, and those of parts without one of their own."""
    for q in table.quantities:
        if q.short is None and q.table is None:
            continue
        value = q.of(source)
        if value is None or (isinstance(value, list | tuple) and not value):
            continue
        if isinstance(value, Part):
            yield from (
                [(q.short, value.source)] if q.short else short_facts(value.table, value.source)
            )
        elif q.short is not None:
            yield q.short, in_short(value, q)


def _rows(table: Table, source: Any, before: str = "") -> Iterator[tuple[str, str, Any, str, str]]:
    """Every number of a result: path, whose, value, unit, kind."""
    for q in table.quantities:
        for path, of, number, *rest in _numbers(q.of(source), f"{before}{q.key}"):
            yield path, of, number, *(rest or (q.unit, q.kind or table.kind))


def _numbers(value: Any, path: str, of: str = "") -> Iterator[tuple[Any, ...]]:
    """The numbers of a value, however deep, and whose they are; of parts with unit and kind."""
    if isinstance(value, Part):
        for inner, whose, *rest in _rows(value.table, value.source, f"{path}."):
            yield inner, f"{of} {whose}".strip(), *rest
        return
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, Document):
        value = value.as_json()
    if isinstance(value, Mapping | list | tuple):
        pairs = value.items() if isinstance(value, Mapping) else enumerate(value)
        for key, entry in pairs:
            yield from _numbers(entry, path, f"{of} {key}".strip())
    elif value is not None and not isinstance(value, str | bool):
        yield path, of, value
