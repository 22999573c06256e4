"""Rows of weights as a problem file writes them: exact where they are exact, summing to one.

A row is a mapping from the agents that are heard to positive weights. Rows whose numbers are all
fractions stay so, unless their denominators grow beyond use; a decimal of few digits that joins
them is a fraction too. All other rows are doubles, their sum one to the last bit but rounding.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Any

from pydantic_core import PydanticCustomError

from peerbayes.problem.entries import Rational, parse_number
from theory.validation import fail

Row = dict[int, Rational]
Table = dict[str, Any]

# A decimal of so many digits is meant exactly: a slider's step, not a rounded result.
_TYPED = 10**6
# Fractions of larger denominators are of no use to anybody: the row goes on in doubles.
_LARGEST = 10**9


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
    return _in_order(row, _scaled(others, _like(row.values(), value), on))


def without(row: Mapping[int, Rational], agent: int, *, own: int) -> Row:
    """The row with nothing on `agent`, the others scaled; `own` takes all where nobody is left."""
    if agent not in row:
        return dict(row)
    rest = {other: weight for other, weight in row.items() if other != agent}
    if not rest:
        return {own: Fraction(1)}
    return _in_order(row, _scaled(rest, Fraction(0) if is_exact(row.values()) else 0.0, agent))


def handed_over(row: Mapping[int, Rational], agent: int, *, own: int) -> Row:
    """The row with the weight on `agent` given to the agent `own` whose row it is."""
    if agent not in row:
        return dict(row)
    rest = {other: weight for other, weight in row.items() if other != agent}
    rest[own] = rest.get(own, Fraction(0)) + row[agent]
    return _in_order(row, rest)


def _like(numbers: Iterable[Rational], value: Rational) -> Rational:
    """The value as a fraction beside fractions, if it is a decimal of few digits."""
    if isinstance(value, Fraction) or not is_exact(numbers):
        return value
    decimal = Fraction(repr(value))
    return decimal if decimal.denominator <= _TYPED else value


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
    found = {agent: float(weight) / size * (1 - share) for agent, weight in others.items()}
    found = {agent: weight for agent, weight in found.items() if weight > 0}
    if found:
        # What rounding took from the sum, the largest of the others gets back.
        largest = max(found, key=lambda agent: found[agent])
        found[largest] += 1 - math.fsum([share, *found.values()])
    if share > 0:
        found[on] = share if found else 1.0
    return dict(found)


def _in_order(before: Mapping[int, Rational], row: Row) -> Row:
    """The row, its agents in the order that they had, new ones last."""
    known = [agent for agent in before if agent in row]
    return {agent: row[agent] for agent in [*known, *(a for a in row if a not in before)]}
