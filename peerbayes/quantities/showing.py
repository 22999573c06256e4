"""Quantities for people: how numbers of every arithmetic are worded, and terminal tables.

A float has four digits. An interval is its middle and a distance that covers both ends; an exact
number with more than a few signs is followed by its value.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import groupby
from typing import TYPE_CHECKING, Any, ClassVar

from peerbayes.documents import Document, Documented
from peerbayes.figures.wording import Fact
from peerbayes.figures.wording import number as page_number
from peerbayes.quantities.numbers import Expression, RoundsBetween, RoundsInterval
from peerbayes.quantities.quantity import NOTE, Part, Quantity, Table
from peerbayes.tables import facts_table, figures_table, notes_text, number, rounds, spread
from theory.frames import frame

if TYPE_CHECKING:
    import pandas as pd
    from rich.console import RenderableType
    from rich.table import Table as Columns


# Longer expressions are left to --json.
_LONGEST = 44
# Distinct values of agents that are listed.
_MOST_LISTED = 12


# Words ------------------------------------------------------------------------------------------


def text(value: Any) -> str:
    """A number of any arithmetic, in JSON or in Python; a dash for None.

    >>> text(0.14384), text(Fraction(9, 25)), text(None), text(Expression("log(4)", 1.386, 1.387))
    ('0.1438', '9/25', '-', 'log(4) = 1.386 ± 2e-03')
    """
    if value is None or isinstance(value, float):
        return number(value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, str | Fraction):
        return shortened(str(value))
    if isinstance(value, RoundsBetween | RoundsInterval):
        return rounds_text(value)
    words = interval_text(value.lower, value.upper)
    expression = expression_of(value)
    if expression is None or len(expression) > _LONGEST:
        return words
    return f"{expression} = {words}"


def value_text(value: Any) -> str:
    """The same without an expression."""
    if expression_of(value) is not None:
        return interval_text(value.lower, value.upper)
    return text(value)


def expression_of(value: Any) -> str | None:
    """The closed form of a number, if it has one and is no fraction."""
    if isinstance(value, Expression):
        return value.text
    return getattr(value, "expression", None)


def rounds_text(value: Any) -> str:
    """A number of rounds, or both ends where it lies between two.

    >>> rounds_text(12345), rounds_text(RoundsBetween(45, 4567)), rounds_text(RoundsBetween(7, 7))
    ('12 345', '45 to 4 567', '7')
    """
    if value is None or isinstance(value, int):
        return rounds(value)
    return ends_text((value.lower, value.upper))


def ends_text(ends: Sequence[int | None] | None) -> str:
    """Both ends of an interval of whole numbers, each perhaps not known; one if they are equal."""
    if ends is None or not any(end is not None for end in ends):
        return "-"
    lower, upper = ends
    return rounds(lower) if lower == upper else f"{rounds(lower)} to {rounds(upper)}"


def interval_text(lower: float | None, upper: float | None) -> str:
    """An interval as its middle and a distance."""
    if lower is None or upper is None or max(-lower, upper) == float("inf"):
        has_end = lower is not None and abs(lower) < float("inf")
        return f"at least {lower:.6g}" if has_end else "infinite"
    low, high = Fraction(lower), Fraction(upper)
    if low == high:
        return f"{lower:.17g}"
    for digits in range(2, 18):
        shown = f"{float((low + high) / 2):.{digits}g}"
        distance = max(high - Fraction(shown), Fraction(shown) - low)
        # As short as it can be without making the distance much larger than it is.
        if distance <= high - low:
            break
    return f"{shown} ± {_rounded_up(distance)}"


def _rounded_up(distance: Fraction) -> str:
    """A positive number with one digit, never too small."""
    words = f"{float(distance):.0e}"
    if Fraction(words) < distance:
        mantissa, _, exponent = words.partition("e")
        more = int(mantissa) + 1
        words = f"{more}e{exponent}" if more < 10 else f"1e{int(exponent) + 1:+03d}"
    return words


def shortened(words: str) -> str:
    """Text; a long fraction is given as a decimal with its numbers of digits."""
    if len(words) <= _LONGEST or not re.fullmatch(r"-?\d+(/\d+)?", words):
        return words
    numerator, _, denominator = words.partition("/")
    value = int(numerator) / int(denominator or "1")
    return f"{value:.12g}… (a fraction of {len(numerator)} and {len(denominator)} digits)"


def several(values: Sequence[Any]) -> str:
    """All of a few floats, or their range; proved numbers each once, with its agents."""
    if all(value is None or isinstance(value, int | float) for value in values):
        return spread(values)
    texts = [text(value) for value in values]
    if len(set(texts)) == 1:
        return texts[0]
    listed = []
    for words, group in groupby(enumerate(texts), lambda pair: pair[1]):
        agents = [agent for agent, _ in group]
        first, last = agents[0], agents[-1]
        where = f"agent {first}" if first == last else f"agents {first} to {last}"
        listed.append(f"{words} ({where})")
    if len(listed) > _MOST_LISTED:
        listed = [*listed[: _MOST_LISTED - 1], f"… {len(listed) - _MOST_LISTED + 1} more"]
    return "\n".join(listed)


class _Words(str):
    """Text that a repr shows without quotation marks."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def in_short(value: Any, q: Quantity) -> object:
    """A value as a repr shows it: an interval is said, and does not look like a pair."""
    if isinstance(value, tuple) and len(value) == 2 and q.kind == "certified":
        if all(end is None or isinstance(end, int) for end in value):
            return _Words(ends_text(value))
        return _Words(f"{text(value[0])} to {text(value[1])}")
    if hasattr(value, "lower") and hasattr(value, "upper"):
        return _Words(text(value))
    return value


# Terminal tables --------------------------------------------------------------------------------


def facts(table: Table, document: Document) -> dict[str, str]:
    """Label and words of every quantity that has a label, those of parts without a title too."""
    found: dict[str, str] = {}
    for q in table.quantities:
        if q.label == NOTE or (q.label is None and q.table is None):
            continue
        value = getattr(document, q.key)
        if q.label is not None and not (value is None and q.optional):
            words = _worded(q, value, document)
            if words is not None:
                found[q.label if isinstance(q.label, str) else q.label(document)] = words
        if q.table is not None and q.table.title is None and isinstance(value, Document):
            found |= facts(q.table, value)
    return found


def _worded(q: Quantity, value: Any, document: Document, *, with_unit: bool = True) -> str | None:
    if q.words is not None:
        return q.words(value, document)
    words = several(value) if isinstance(value, list) else text(value)
    return f"{words} {q.unit}" if q.unit and with_unit else words


def columns(table: Table, document: Document) -> Iterator[RenderableType]:
    """The table of the mappings that have a column each; nothing where they are empty."""
    shown = [q for q in table.quantities if q.column is not None]
    if not shown or table.rows is None or not getattr(document, shown[0].key):
        return
    from rich.text import Text

    title, first = table.rows
    drawn = figures_table(title, first, *(str(q.column) for q in shown))
    for name in _slowest_first(getattr(document, shown[0].key)):
        drawn.add_row(Text(name), *(value_text(getattr(document, q.key)[name]) for q in shown))
    yield drawn


def grid(
    table: Table,
    objects: Iterable[Any],
    *,
    title: str | None = None,
    names: str = "",
    draw: Callable[..., Columns] = figures_table,
) -> Columns:
    """A row for each object of a list: its quantities that have a column.

    With `names` objects are pairs, and this is the title of the column of what comes first. `draw`
    makes a table of its title and its heads.
    """
    from rich.text import Text

    shown = [q for q in table.quantities if q.column is not None]
    heads = [*([names] if names else []), *(str(q.column) for q in shown)]
    drawn = draw(str(table.title) if title is None else title, *heads)
    for entry in objects:
        name, document = entry if names else (None, entry)
        cells = [
            _worded(q, getattr(document, q.key, None), document, with_unit=False) or "-"
            for q in shown
        ]
        drawn.add_row(*(Text(str(cell)) for cell in ([name, *cells] if names else cells)))
    return drawn


def _slowest_first(values: dict[str, Any]) -> Iterable[str]:
    """Names by their numbers, those without one last; as they come where numbers are proved."""
    if not all(value is None or isinstance(value, float) for value in values.values()):
        return values
    return sorted(values, key=lambda name: float("inf") if (v := values[name]) is None else v)


def parts(table: Table, document: Any, *, title: str | None = None) -> list[RenderableType]:
    """The tables of a result: its facts, then the parts with a title of their own, and its notes.

    `title` is that of the first table; left out: the name of the problem.
    """
    from rich.text import Text

    head = facts_table(document.problem if title is None else title, facts(table, document))
    below: list[RenderableType] = [*columns(table, document)]
    for q in table.quantities:
        if q.label == NOTE:
            below += notes(q, getattr(document, q.key), document)
        elif q.table is not None and isinstance(inner := getattr(document, q.key), Document):
            below += columns(q.table, inner) if q.table.title is None else titled(q.table, inner)
        elif q.table is not None and isinstance(inner, list) and inner:
            below.append(grid(q.table, inner[:_MOST_LISTED]))
    return [head, Text(), *below]


def around(table: Table, document: Any, *drawn: RenderableType) -> list[RenderableType]:
    """The facts of a result, tables of its own, and its notes."""
    from rich.text import Text

    shown = facts_table(document.problem, facts(table, document))
    return [shown, Text(), *drawn, notes_text(document.notes)]


def titled(table: Table, document: Any) -> list[RenderableType]:
    """A part with a title of its own; a blank line before one without a head."""
    from rich.text import Text

    title = table.title if isinstance(table.title, str) else _call(table.title, document)
    if table.columns is not None:
        drawn = figures_table(title, *table.columns)
        for label, words in facts(table, document).items():
            drawn.add_row(label, words)
        return [drawn]
    told = [q for q in table.quantities if q.label == NOTE]
    below = [line for q in told for line in notes(q, getattr(document, q.key), document)]
    return [Text(), facts_table(title, facts(table, document)), *below]


def notes(q: Quantity, value: Any, document: Any) -> list[RenderableType]:
    """Sentences below a table, a line each."""
    told = value if q.words is None else q.words(value, document)
    sentences = [told] if isinstance(told, str) else [*(told or ())]
    return [notes_text([sentence]) for sentence in sentences if sentence]


def _call(title: Callable[[Any], str] | None, document: Any) -> str:
    return "" if title is None else title(document)


# Pages ------------------------------------------------------------------------------------------


def page_facts(table: Table, document: Any) -> dict[str, Fact]:
    """The facts that the report shows of one object, by key; those of parts are not among them."""
    found = ((q, getattr(document, q.key)) for q in table.quantities if q.fact)
    facts = {q.key: _fact(q, value, document) for q, value in found}
    return {key: fact for key, fact in facts.items() if fact is not None}


def _fact(q: Quantity, value: Any, document: Any) -> Fact | None:
    if not isinstance(q.fact, str):
        return q.fact and q.fact(value, document)
    return Fact(q.fact, value if isinstance(value, str) else page_number(value), q.unit)


# Results that are made of quantities -------------------------------------------------------------


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
        for path, of, one, *rest in _numbers(q.of(source), f"{before}{q.key}"):
            yield path, of, one, *(rest or (q.unit, q.kind or table.kind))


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
