"""Predictions beside measurements as tables for people."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from peerbayes.comparison import Comparison
from peerbayes.sweep_documents import SlowestDocument, SweepDocument
from peerbayes.tables import figures_table, number


def verdict(statement: Comparison) -> str:
    """The verdict on one statement, in a word."""
    if statement.holds is None:
        return "not run"
    if statement.holds:
        return "holds"
    return "BROKEN" if statement.is_theorem else "fails*"


def verification_parts(statements: Sequence[Comparison], *, every: bool) -> list[RenderableType]:
    """The tables of `verify`: `every` statement, or a line a problem and what does not hold."""
    parts: list[RenderableType] = []
    groups = [(name, list(group)) for name, group in groupby(statements, lambda s: s.problem)]
    if every:
        parts += [_statement_table(name, group) for name, group in groups]
    else:
        table = figures_table(
            "Theory beside simulation", "problem", "statements", "hold", "broken", "not run"
        )
        for name, group in groups:
            table.add_row(
                Text(name),
                str(len(group)),
                *(
                    str(sum(verdict(statement) == word for statement in group))
                    for word in ("holds", "BROKEN", "not run")
                ),
            )
        parts.append(table)
        failing = [statement for statement in statements if statement.holds is False]
        if failing:
            parts.append(_statement_table("What does not hold", failing, with_problem=True))
    if any(verdict(statement) == "fails*" for statement in statements):
        parts.append(Text("* not a theorem: published as one, or an allowance in place of a bound"))
    return parts


def sweep_parts(sweeps: Sequence[SweepDocument]) -> list[RenderableType]:
    """For each sweep: what it settles on, the slowest rejection, and E, as a moves."""
    parts: list[RenderableType] = []
    for sweep in sweeps:
        table = figures_table(
            sweep.name, "a", "v₁", "settles on", "K pred.", "measured", "st. error", "E"
        )
        for a, weight, settled, slowest, exponent in zip(
            sweep.edge_confidence,
            sweep.centre_weight,
            sweep.settled,
            sweep.slowest,
            sweep.exponent,
            strict=True,
        ):
            table.add_row(
                f"{a:g}",
                f"{weight:.4f}",
                Text(" or ".join(settled)),
                *(["-"] * 3 if slowest is None else _measured(slowest)),
                number(exponent),
            )
        parts.append(table)
    return parts


def _measured(rate: SlowestDocument) -> list[str]:
    """Prediction, measurement and standard error."""
    return [number(rate.predicted), number(rate.measured), number(rate.standard_error)]


def _statement_table(
    title: str, statements: Sequence[Comparison], *, with_problem: bool = False
) -> Table:
    table = figures_table(title, "statement", "predicted", "measured", "st. error", "verdict")
    for statement in statements:
        words = statement.statement
        if with_problem:
            words = f"{statement.problem}: {words}"
        table.add_row(
            Text(words),
            statement.sign + number(statement.predicted),
            number(statement.measured),
            number(statement.standard_error),
            Text(verdict(statement), style="bold red" if statement.holds is False else ""),
        )
    return table
