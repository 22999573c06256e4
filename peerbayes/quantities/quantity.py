"""What a declaration of a number says: one line for JSON, schema, tables, repr, frames and pages.

A *quantity* has a key in JSON, a type, and a way to get it from a result. If people are told it on
a terminal it has a label; if it is among the few lines of a repr, a short name; if the report
shows it, a fact. A *table* lists the quantities of one JSON object. Objects lie inside each other
as tables do (`part`), so that the path of a number, ``learning.rate``, is made of their keys. Where
the fields of a dataclass are its quantities, they are declared there (`quantity`, `table_of`)::

    >>> COIN = Table("Coin", "A coin.", (
    ...     Quantity("real", float, "the bias, of heads", label="bias"),
    ...     Quantity("side", str | None, get=lambda coin: None, optional=True),
    ... ))
    >>> COIN.tree(0.5)
    {'real': 0.5}
    >>> COIN.model.model_json_schema()["properties"]["real"]
    {'description': 'the bias, of heads', 'title': 'Real', 'type': 'number'}
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from operator import attrgetter
from types import GenericAlias
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import Field, GetCoreSchemaHandler, create_model
from pydantic_core import CoreSchema

from peerbayes.documents import Document
from peerbayes.figures.wording import Fact
from peerbayes.quantities.numbers import IN_DOUBLES, Numbers, Shape, written

Kind = Literal[
    "given", "computed", "proved", "certified", "lower", "upper", "estimate", "measured", "printed"
]
"""What stands behind a number: it is *given* by the problem (or counted, or named), *computed* in
doubles, *proved* (exact, or an interval), *certified* (both ends of an interval), a *lower* or
*upper* bound up to rounding, an *estimate*, *measured* in a run, or *printed* in a paper, without a
proof."""

NEEDED = object()
"""The default of a key that every record has."""

NOTE = "note"
"""The label of sentences on why a number is missing: they stand below a table, a line each."""


Get: TypeAlias = str | Callable[[Any], Any]
"""How something is taken from a source: the path of attributes that leads to it, or a function."""


def _taken(source: Any, get: Get) -> Any:
    return attrgetter(get)(source) if isinstance(get, str) else get(source)


def _within(table: Table | None, value: Any, many: bool) -> Any:
    if table is None or value is None:
        return value
    return [table(one) for one in value] if many else table(value)


@dataclass(frozen=True, eq=False)
class Quantity:
    """One number, or list of numbers, or word of a result: declared here and nowhere else.

    Functions of a value take it as the JSON object has it, and that object, checked, from which
    they may take other keys.

    Attributes
    ----------
    key
        Its key in JSON.
    type
        A Python type, perhaps annotated as pydantic has it: JSON is checked against it. Or a
        `Shape` of numbers, whose type follows from the arithmetic.
    meaning
        A line on what it is.
    get
        Takes it from what its table is of: a function, or the path of attributes that leads to it;
        left out: the attribute of that name.
    label
        What it is called on a terminal; a function of the object where it depends on it; None: it
        is not shown there.
    unit
        Follows the value there.
    words
        The value in words, with its unit; None from it leaves the row out. Left out: a number with
        four digits, several with spaces, or their range.
    column
        Of a mapping: it is a column of this title in the table of `rows`.
    short
        Its name in a repr; None: not there.
    fact
        What the report shows.
    kind
        What stands behind it; None: what its table says.
    optional
        Whether the key is left out where it is None.
    older
        What older records, which lack the key, are taken to say.
    table, many
        Of a part: its table, and whether there is a list of such objects.
    """

    key: str
    type: Any
    meaning: str | None = None
    get: Get | None = None
    label: str | Callable[[Any], str] | None = None
    unit: str = ""
    words: Callable[[Any, Any], str | None] | None = None
    column: str | None = None
    short: str | None = None
    fact: Callable[[Any, Any], Fact | None] | None = None
    kind: Kind | None = None
    optional: bool = False
    older: Any = NEEDED
    table: Table | None = None
    many: bool = False

    def of(self, source: Any) -> Any:
        """The value that a source has."""
        if self.get is not None:
            return _taken(source, self.get)
        return _within(self.table, getattr(source, self.key), self.many)

    def field(self, numbers: Numbers) -> tuple[Any, Any]:
        """Type and field of a pydantic model, in some arithmetic."""
        kind = numbers[self.type] if isinstance(self.type, Shape) else self.type
        start = None if self.optional and self.older is NEEDED else self.older
        if isinstance(start, type):
            return kind, Field(default_factory=start, description=self.meaning)
        return kind, Field(... if start is NEEDED else start, description=self.meaning)


@dataclass(frozen=True)
class Part:
    """An object inside a result's JSON: a table, and what it is of."""

    table: Table
    source: Any

    def as_json(self) -> dict[str, Any]:
        """The JSON object."""
        return self.table.tree(self.source)


@dataclass(frozen=True, eq=False)
class Table:
    """The quantities of one JSON object.

    Attributes
    ----------
    name, meaning
        Of the object, in JSON schemas.
    quantities
        In the order in which people are told them.
    numbers, kind
        The types of its numbers, and what stands behind them where a quantity says nothing.
    title
        Of a table of its own on a terminal, or a function of the object; None: its quantities
        stand among those of the table around it.
    columns
        Titles of the two columns of that table; none: it has no head.
    rows
        Of a table with `column`s: its title, and that of its first column.
    base
        A class of properties that objects of this table have when they are read.
    """

    name: str
    meaning: str
    quantities: tuple[Quantity, ...]
    numbers: Numbers = field(default_factory=lambda: IN_DOUBLES)
    kind: Kind = "computed"
    title: str | Callable[[Any], str] | None = None
    columns: tuple[str, str] | None = None
    rows: tuple[str, str] | None = None
    base: type[Document] = Document

    def __call__(self, source: Any) -> Part | None:
        """The part of a result that this table is of; None of None."""
        return None if source is None else Part(self, source)

    def tree(self, source: Any) -> dict[str, Any]:
        """The JSON object of a source, not checked."""
        values = ((q, written(q.of(source))) for q in self.quantities)
        return {q.key: value for q, value in values if value is not None or not q.optional}

    def document(self, source: Any) -> Any:
        """The JSON object of a source, checked: its keys are attributes.

        Raises
        ------
        pydantic.ValidationError
            If a value is not of its type, which is a mistake in this program.
        """
        return self.model.model_validate(self.tree(source))

    def read(self, tree: Any) -> Any:
        """A JSON object that was read, checked: its keys are attributes.

        Raises
        ------
        pydantic.ValidationError
            If a key is missing, or a value is not of its type.
        """
        return self.model.model_validate(tree)

    @cached_property
    def model(self) -> type[Document]:
        """The pydantic model of the object, from which its JSON schema is made."""
        fields: dict[str, Any] = {q.key: q.field(self.numbers) for q in self.quantities}
        model = create_model(self.name, __base__=self.base, __doc__=self.meaning, **fields)
        model.left_out = frozenset(q.key for q in self.quantities if q.optional)
        return model

    @property
    def type(self) -> Any:
        """The object as the type of a quantity, or of a field of a document."""
        return Annotated[Any, self]

    @property
    def by_name(self) -> Any:
        """Objects of this table, each by a name, as the type of a quantity."""
        return GenericAlias(dict, (str, self.type))

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        """An annotation by this table stands for its model."""
        return handler.generate_schema(self.model)

    def changed(self, **keys: Mapping[str, Any]) -> Table:
        """The table with some attributes of some quantities changed."""
        found = (replace(q, **keys.get(q.key, {})) for q in self.quantities)
        return replace(self, quantities=tuple(found))

    def __getitem__(self, key: str) -> Quantity:
        """The quantity of that key."""
        return next(q for q in self.quantities if q.key == key)

    def paths(self, before: str = "") -> Iterator[tuple[str, Quantity]]:
        """Every quantity with its path in JSON, those of parts after the part itself."""
        for q in self.quantities:
            path = f"{before}{q.key}"
            yield path, q
            if q.table is not None:
                yield from q.table.paths(f"{path}.")


def part(
    key: str,
    table: Table,
    get: Get | None,
    *,
    optional: bool = False,
    may_lack: bool = False,
    many: bool = False,
    shown: Table | None = None,
    **more: Any,
) -> Quantity:
    """An object inside another, or a list of objects.

    Parameters
    ----------
    key, table, optional
        Its key and its quantities; whether it is left out where it is None.
    get
        Takes from the source what the table is of; None: the attribute of that name.
    may_lack
        Whether it is null where it is None.
    many
        Whether it is a list of them.
    shown
        The table by which people are told of it, if not by `table`.
    more
        All else of a `Quantity`.
    """
    kind = GenericAlias(list, (table.type,)) if many else table.type
    return Quantity(
        key,
        kind | None if optional or may_lack else kind,
        get=None if get is None else lambda source: _within(table, _taken(source, get), many),
        optional=optional,
        table=shown or table,
        many=many,
        **more,
    )


def entry(type: Any, meaning: str | None = None, get: Get | None = None, **more: Any) -> Quantity:
    """A quantity that `entries` gives its key; a part, if its type is a table: see `part`."""
    if isinstance(type, Table):
        return part("", type, get, meaning=meaning, **more)
    return Quantity("", type, meaning, get, **more)


def entries(**own: Quantity) -> tuple[Quantity, ...]:
    """Quantities by their keys.

    >>> [q.key for q in entries(rate=entry(float), share=entry(float, get="found.share"))]
    ['rate', 'share']
    """
    return tuple(replace(q, key=key) for key, q in own.items())


# Results whose fields are their quantities -------------------------------------------------------


def quantity(type: Any, meaning: str | None = None, *, start: Any = NEEDED, **more: Any) -> Any:
    """A field of a frozen dataclass that is a quantity, by its own name; `start` is its default.

    All else is as of a `Quantity`.
    """
    declared = {"quantity": entry(type, meaning, **more)}
    return field(metadata=declared) if start is NEEDED else field(default=start, metadata=declared)


def table_of(
    holder: type,
    name: str,
    meaning: str,
    *,
    without: str = "",
    changed: Mapping[str, Mapping[str, Any]] | None = None,
    **more: Any,
) -> Table:
    """The table of the fields of a dataclass that are quantities.

    Parameters
    ----------
    holder, name, meaning
        The dataclass; name and meaning of the table.
    without
        Fields that are left out, with spaces between.
    changed
        Attributes of quantities that are others here, by their keys.
    more
        All else of a `Table`.
    """
    declared = {f.name: f.metadata["quantity"] for f in fields(holder) if f.metadata}
    found = [replace(q, key=key) for key, q in declared.items() if key not in without.split()]
    return Table(name, meaning, tuple(found), **more).changed(**(changed or {}))
