"""Designs and placements: what is recommended, what it gains, and what proves it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from peerbayes.designs.documents import (
    DesignRecord,
    FiniteDesignDocument,
    FiniteRow,
    NetworkDesign,
    RegressionDesignDocument,
    SomeDesign,
)
from peerbayes.designs.figures import curves_plot, failures_plot, trade_off_plot
from peerbayes.designs.placements import PlacementRecord
from peerbayes.designs.recommend import recommend
from peerbayes.designs.shared import called
from peerbayes.designs.tables import weight_rows
from peerbayes.designs.weight_text import row_text
from peerbayes.figures.chart import Plot
from peerbayes.figures.graph import network_plot
from peerbayes.figures.views import BROKEN, Fact, Rows, Section, Table, Verdict, pictures
from peerbayes.figures.wording import DASH, count, listed, number

_MOST_ROWS = 20
# W is a table for few agents, and else a list that stops somewhere.
_MOST_COLUMNS, _MOST_LISTED, _MOST_PHASES = 12, 60, 6


# What the objectives ask for, as a title says it.
_ASKED = {
    "rate": "fastest learning",
    "exponent": "fewest errors in the long run",
    "samples": "fewest certified rounds",
    "bytes": "fewest certified bytes",
    "mixing": "fastest mixing",
    "trade-off": "learning against mixing",
}


def design_view(body: Mapping[str, Any], *, key: str) -> Section:
    """Everything the page says of one design: before and after, beside the usual rules."""
    record = DesignRecord.model_validate(body)
    result = record.result
    if hasattr(result, "added"):
        heading = f"{result.problem}: the next edge"
        table = Table.of(f"Compared: {heading}", "edge", *_next_edges(result))
        section = Section(key, result.problem, heading, tables=(table,))
    else:
        by_error = isinstance(result, RegressionDesignDocument) and result.objective == "rate"
        asked = "smallest error" if by_error else _ASKED[result.objective]
        heading = f"{result.problem}: weights for {asked}"
        table = Table.of(f"Compared: {heading}", "weights", *_networks(result))
        words = "A solver gave up; these are the best weights it had."
        section = Section(
            key,
            result.problem,
            heading,
            claim=Verdict(BROKEN.style, BROKEN.mark, words) if result.failed else None,
            pictures=pictures(list(_plots(record)), key),
            tables=(table, *_weights(result)),
        )
    return replace(
        section,
        title=record.title,
        finding=finding(result, delta=record.delta),
        facts=_facts(result),
        notes=tuple(result.notes),
    )


def _weights(result: NetworkDesign) -> Iterator[Table]:
    """W, or as much of it as a page holds; rows sum to one as shown."""
    for title, rows in weight_rows(result)[:_MOST_PHASES]:
        shown = [row_text(row) for row in rows[:_MOST_LISTED]]
        columns = ["hears, with weight"]
        if len(rows) <= _MOST_COLUMNS:
            columns = list(map(result.called, range(len(rows))))
            cells = [tuple(row.get(j, "0") for j in range(len(rows))) for row in shown]
        else:
            cells = [
                (", ".join(f"{result.called(j)}: {w}" for j, w in row.items()),) for row in shown
            ]
        left = len(rows) - len(shown)
        more = f"and {left} more agents: the record has them all" if left else ""
        named = ((result.called(i), row) for i, row in enumerate(cells))
        table = Table.of(f"{title}: {result.problem}", title, columns, named)
        yield replace(table, remark=more, names="agent")


def placement_view(body: Mapping[str, Any], *, key: str) -> Section:
    """Everything the page says of one placement."""
    record = PlacementRecord.model_validate(body)
    result = record.result
    heading = f"{result.problem}: data placed for {_ASKED[result.objective]}"
    answer = (
        f"Data sets by agent, in the best placement: {_order(result.assignment)}."
        if result.moved
        else "No data should move."
    )
    columns = ("alike", "K", "E", "certified rounds", "mean rate, predicted", "measured")
    classes = getattr(result, "classes", None) or []
    table = Table.of(
        f"Compared: {heading}", "data sets by agent", columns, map(_class_row, classes[:_MOST_ROWS])
    )
    return Section(
        key=key,
        name=result.problem,
        heading=heading,
        title=record.title,
        finding=answer,
        facts=_placement_facts(result),
        pictures=() if record.network is None else pictures([network_plot(record.network)], key),
        tables=(table,) if len(table) else (),
        notes=tuple(result.notes),
    )


def _class_row(entry: Any) -> tuple[str, tuple[str, ...]]:
    run = entry.simulated_rate
    return (
        _order(entry.assignment),
        (
            count(entry.count),
            number(entry.rate),
            number(entry.error_exponent),
            _interval(entry.samples.certified),
            DASH if run is None else number(run.predicted),
            DASH if run is None else f"{number(run.mean)} ± {number(run.standard_error, 2)}",
        ),
    )


def _plots(record: DesignRecord) -> Iterator[Plot | None]:
    result = record.result
    if record.curves:
        yield curves_plot(record.curves)
        yield failures_plot(record.curves, delta=record.delta)
    if isinstance(result, FiniteDesignDocument) and result.trade_off:
        yield trade_off_plot(result.trade_off)
    for name, graph in (("before", record.before), ("after", record.after)):
        drawn = None if graph is None else network_plot(graph)
        yield None if drawn is None else replace(drawn, title=f"Network {name}")


def finding(result: SomeDesign, *, delta: float) -> str:
    """What a design came to, in a sentence or two."""
    if hasattr(result, "added"):
        return _edge_finding(result)
    best = recommend(result, delta=delta)
    return ("" if best is None else f"Recommended: {best.sentence}. ") + _certified(result)


def _edge_finding(result: Any) -> str:
    best = result.added[0] if result.added else None
    if best is None or best.edge is None:
        return "There is no edge to add."
    first, second = (called(result, agent) for agent in best.edge)
    before, after = result.base.chernoff, best.chernoff
    if before is not None and (after is None or after >= before):
        return (
            "No edge lowers the number of rounds that is enough; weights by the rule "
            f"“{result.rule}”."
        )
    return (
        f"Most is gained by an edge between agents {first} and {second}; weights by the rule "
        f"“{result.rule}”."
    )


def _certified(result: NetworkDesign) -> str:
    certificate = result.certificate
    if certificate is None and result.failed:
        return "A solver gave up: these are the best weights that it had, without a proof."
    if certificate is None:
        return "There is nothing to prove about this design."
    # The bound of a local search, on directed graphs, holds for all W.
    kind = "W with this v" if certificate.kind == "local" else "reversible W with this v"
    verb = f"No {kind if result.objective == 'mixing' else 'design'} does better than"
    if certificate.bound is None:
        return f"Achieved {number(certificate.value, 6)}; no bound is known."
    return (
        f"Achieved {number(certificate.value, 6)}. {verb} {number(certificate.bound, 6)}: the gap "
        f"is {number(certificate.gap, 2)}."
    )


def _facts(result: SomeDesign) -> tuple[Fact, ...]:
    if hasattr(result, "added"):
        return (
            Fact("Candidates", count(result.candidates)),
            Fact("Bridges", count(len(result.bridges)), "without one the network falls apart"),
        )
    facts = [Fact("Objective", result.objective)]
    if isinstance(result, RegressionDesignDocument):
        facts.append(Fact("Error", f"{number(result.excess_error_constant)}/n"))
        facts.append(Fact("Subdominant modulus", number(result.slem)))
        return tuple(facts)
    facts.append(Fact("Rate K", number(result.rate), "nats a round"))
    facts.append(Fact("Exponent E", number(result.error_exponent), "nats a round"))
    if isinstance(result, FiniteDesignDocument):
        facts.append(Fact("Subdominant modulus", number(result.slem)))
        if result.binding:
            facts.append(Fact("Rejected last", listed(result.binding[:6])))
    return tuple(facts)


def _placement_facts(result: Any) -> tuple[Fact, ...]:
    if hasattr(result, "value"):
        return (
            Fact("Value", number(result.value), result.objective),
            Fact("As given", number(result.original)),
            Fact("Worst", number(result.worst)),
            Fact("Found by", result.method),
        )
    return (
        Fact("Error", f"{number(result.excess_error_constant)}/n"),
        Fact("As given", f"{number(result.original.excess_error_constant)}/n"),
    )


def _networks(result: NetworkDesign) -> tuple[tuple[str, ...], Rows]:
    if isinstance(result, RegressionDesignDocument):
        columns: tuple[str, ...] = ("limit of the error", "c of c/n", "modulus")
        cells = {
            name: (number(row.limit), number(row.excess_error_constant), number(row.slem))
            for name, row in {"designed": result, **result.baselines}.items()
        }
        return columns, tuple(cells.items())
    columns = ("K", "E", "modulus", "certified rounds", "simulated rounds")
    table = []
    for name, row in {"designed": result, **result.baselines}.items():
        simulated = row.simulated if isinstance(row, FiniteRow) else None
        shown = (
            number(row.rate),
            number(row.error_exponent),
            number(row.slem if isinstance(row, FiniteRow) else row.mean_slem),
            DASH if row.samples is None else _interval(row.samples.certified),
            DASH if simulated is None else count(simulated.rounds),
        )
        table.append((name, shown))
    return columns, tuple(table)


def _next_edges(result: Any) -> tuple[tuple[str, ...], Rows]:
    effects = [("as it is", result.base)]
    for sign, listed_edges in (("+", result.added), ("−", result.removed)):
        effects += [
            (f"{sign} {effect.edge[0]} – {effect.edge[1]}", effect)
            for effect in listed_edges[:_MOST_ROWS]
            if effect.edge is not None
        ]
    rows = tuple(
        (
            name,
            (
                number(effect.rate),
                number(effect.error_exponent),
                number(effect.slem),
                count(effect.chernoff),
                _interval(effect.certified),
            ),
        )
        for name, effect in effects
    )
    return ("K", "E", "modulus", "Chernoff rounds", "certified rounds"), rows


def _order(assignment: Sequence[int]) -> str:
    shown = " ".join(str(k) for k in assignment[:30])
    return shown + (" …" if len(assignment) > 30 else "")


def _interval(ends: Sequence[int] | None) -> str:
    return DASH if ends is None else f"{count(ends[0])} to {count(ends[1])}"
