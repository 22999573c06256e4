"""Regressions as tables for people."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.console import RenderableType
from rich.text import Text

from peerbayes.kinds.regression.approach import lasts
from peerbayes.kinds.regression.documents import (
    ExactRegressionDocument,
    RegressionAnalysisDocument,
    RegressionNumbers,
    RegressionRunDocument,
)
from peerbayes.quantities.numbers import ExpressionDocument, IntervalDocument
from peerbayes.tables import facts_table, figures_table, notes_text, number, spread


def regression_parts(
    result: RegressionAnalysisDocument | ExactRegressionDocument,
) -> list[RenderableType]:
    """The tables of `analyse` for a regression, in doubles or in fractions."""
    network, found = result.network, result.regression
    facts = {
        "agents, coefficients": f"{network.agents}, {found.dimension}",
        "stationary distribution v": _spread(network.stationary_distribution),
        "subdominant modulus": _written(network.slem),
        "every coefficient is seen": "yes" if found.identified else "no",
    }
    parts: list[RenderableType] = [facts_table(result.problem, facts), Text()]
    table = figures_table("Excess error after n rounds", "learner", "limit", "times 1/n")
    table.add_row("cooperating", _limit(found.limit, found.over_n), _written(found.over_n))
    for words, constant in (
        ("  as its beliefs report it", found.reported_error_constant),
        ("all data in one place", found.central_constant),
        ("central node, one sample a round", found.central_node_constant),
    ):
        table.add_row(words, "-", _written(constant))
    lone = zip(found.alone, found.alone_over_n, strict=True)
    for label, (limit, over_n) in _listed(list(lone)):
        table.add_row(f"{label} alone", _limit(limit, over_n), _written(over_n))
    ratios = {"coefficients": _spread(found.calibration.coordinates)}
    if isinstance(found, RegressionNumbers):
        if found.best_constant is not None:
            table.add_row("cooperating, with the best v", "-", number(found.best_constant))
        ratios["likelihoods to the powers"] = spread(found.calibrating_tempering)
        ratios[""] = "would make all of them 1"
    parts += [table, facts_table("True over reported variance (1 is honest)", ratios)]
    if result.notes:
        parts += [Text(), notes_text(result.notes)]
    return parts


def regression_run_parts(result: RegressionRunDocument) -> list[RenderableType]:
    """The tables of `simulate` for a regression."""
    found = result.regression
    facts = {
        "rounds, replicates, seed": f"{result.rounds}, {result.replicates}, {result.seed}",
        "excess error, all agents": f"{number(found.network_error.mean)}, standard error "
        f"{number(found.network_error.standard_error)}",
    }
    if result.record:
        facts["record"] = result.record
    table = figures_table(
        "Measured at the last round", "agent", "excess error", "st. error", "reported", "st. error"
    )
    error, reported = found.excess_error, found.reported_error
    columns = (error.mean, error.standard_error, reported.mean, reported.standard_error)
    for label, row in _listed(list(zip(*columns, strict=True))):
        table.add_row(label, *(number(value) for value in row))
    return [facts_table(result.problem, facts), Text(), table, notes_text(result.notes)]


# More agents than this are not listed one by one.
_MOST_LISTED = 12


def _listed(rows: Sequence[Any]) -> list[tuple[str, Any]]:
    """The rows with their agents' names, the first of many."""
    return [(f"agent {i}", row) for i, row in enumerate(rows[:_MOST_LISTED])]


def _written(value: Any) -> str:
    """A float to four digits, a fraction as it is, an algebraic number by its expression."""
    if isinstance(value, ExpressionDocument) and value.expression is not None:
        return value.expression
    if isinstance(value, ExpressionDocument | IntervalDocument):
        return f"{number(value.lower)} to {number(value.upper)}"
    return value if isinstance(value, str) else number(value)


def _limit(value: float | str | None, over_n: float | str | None) -> str:
    """A limit, 0 where only rounding is left of it."""
    if isinstance(value, float) and isinstance(over_n, float) and not lasts(value, over_n):
        return "0"
    return _written(value)


def _spread(values: Sequence[Any]) -> str:
    if all(value is None or isinstance(value, int | float) for value in values):
        return spread(values)
    words = [_written(value) for value in values[:_MOST_LISTED]]
    return " ".join(words) + (" …" if len(values) > _MOST_LISTED else "")
