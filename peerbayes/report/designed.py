"""Designs and placements: what is recommended, what it gains, and what proves it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from peerbayes.designs.figures import curves_plot, failures_plot, trade_off_plot
from peerbayes.designs.outcome import compared_in, networks_of, recommend
from peerbayes.designs.placements import PLACEMENTS, PlacementRecord
from peerbayes.designs.quantities import DESIGNS, EFFECT, DesignRecord
from peerbayes.designs.shared import called, form_of, of_this_v
from peerbayes.designs.weight_text import shown_weights
from peerbayes.figures.canvas import Plot
from peerbayes.figures.graph import network_plot
from peerbayes.figures.views import BROKEN, Section, Table, Verdict, pictures
from peerbayes.figures.wording import DASH, count, number
from peerbayes.quantities import quantity
from peerbayes.quantities.showing import page_facts

_MOST_ROWS = 20
# Of larger networks the beginning of W is shown.
_MOST_AGENTS = 60

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
        shown, names = EFFECT, "edge"
        compared = {"as it is": result.base}
        for sign, effects in (("+", result.added), ("−", result.removed)):
            compared |= {
                f"{sign} {effect.edge[0]} – {effect.edge[1]}": effect
                for effect in effects[:_MOST_ROWS]
                if effect.edge is not None
            }
        weights: list[Table] = []
    else:
        by_error = hasattr(result, "excess_error_constant") and result.objective == "rate"
        asked = "smallest error" if by_error else _ASKED[result.objective]
        heading = f"{result.problem}: weights for {asked}"
        shown, names, compared = compared_in(result), "weights", networks_of(result)
        weights = list(_weights(result))
    failed = getattr(result, "failed", False)
    words = "A solver gave up; these are the best weights it had."
    facts = page_facts(form_of(result, DESIGNS), result)
    return Section(
        key,
        result.problem,
        heading,
        title=record.title,
        claim=Verdict(BROKEN.style, BROKEN.mark, words) if failed else None,
        finding=finding(result, delta=record.delta),
        facts=tuple(facts[name] for name in _FACTS if name in facts),
        pictures=pictures(list(_plots(record)), key),
        tables=(_grid(f"Compared: {heading}", names, shown, compared), *weights),
        notes=tuple(result.notes),
    )


# Key numbers, in this order.
_FACTS = (
    *("objective", "rate", "error_exponent", "excess_error_constant", "slem", "binding"),
    *("candidates", "bridges"),
)
# Columns that have other heads than on a terminal.
_HEADS = {
    "certified": "certified rounds",
    "simulated": "simulated rounds",
    "Chernoff": "Chernoff rounds",
    "limit": "limit of the error",
}


def _grid(label: str, head: str, shown: quantity.Table, rows: Mapping[str, Any]) -> Table:
    """Named objects, a row each: their quantities that have a column."""
    columns = {q.key: str(q.column) for q in shown.quantities if q.column is not None}
    cells = (
        (name, tuple(_cell(getattr(row, key, None)) for key in columns))
        for name, row in rows.items()
    )
    return Table.of(label, head, [_HEADS.get(name, name) for name in columns.values()], cells)


def _cell(value: Any) -> str:
    """A number, a number of rounds, or both certified ends of one."""
    if hasattr(value, "certified"):
        value = value.certified
    if hasattr(value, "replicates"):
        value = value.rounds
    if isinstance(value, list):
        return f"{count(value[0])} to {count(value[1])}"
    return count(value) if isinstance(value, int) else number(value)


def _weights(result: Any) -> Iterator[Table]:
    """W, or as much of it as a page holds; rows sum to one as shown."""
    for shown in shown_weights(result, most=_MOST_AGENTS):
        columns = shown.columns or ["hears, with weight"]
        table = Table.of(f"{shown.title}: {result.problem}", shown.title, columns, shown.rows)
        more = f"and {shown.left} more agents: the record has them all" if shown.left else ""
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
        facts=tuple(page_facts(form_of(result, PLACEMENTS), result).values()),
        pictures=() if record.network is None else pictures([network_plot(record.network)], key),
        tables=(table,) if len(table) else (),
        notes=tuple(result.notes),
    )


def _class_row(entry: Any) -> tuple[str, tuple[str, ...]]:
    run = entry.simulated_rate
    measured = DASH if run is None else f"{number(run.mean)} ± {number(run.standard_error, 2)}"
    numbers = (entry.count, entry.rate, entry.error_exponent, entry.samples, run and run.predicted)
    return _order(entry.assignment), (*map(_cell, numbers), measured)


def _plots(record: DesignRecord) -> Iterator[Plot | None]:
    result = record.result
    if record.curves:
        yield curves_plot(record.curves)
        yield failures_plot(record.curves, delta=record.delta)
    if getattr(result, "trade_off", None):
        yield trade_off_plot(result.trade_off)
    for name, graph in (("before", record.before), ("after", record.after)):
        drawn = None if graph is None else network_plot(graph)
        yield None if drawn is None else replace(drawn, title=f"Network {name}")


def finding(result: Any, *, delta: float) -> str:
    """What a design came to, in a sentence or two."""
    if hasattr(result, "added"):
        return _edge_finding(result)
    best = recommend(result, delta=delta)
    return ("" if best is None else f"Recommended: {best.sentence}. ") + _certified(result)


def _edge_finding(result: Any) -> str:
    best = result.added[0] if result.added else None
    if best is None or best.edge is None:
        return "There is no edge to add."
    by_rule = f"weights by the rule “{result.rule}”."
    before, after = result.base.chernoff, best.chernoff
    if before is not None and (after is None or after >= before):
        return f"No edge lowers the number of rounds that is enough; {by_rule}"
    first, second = (called(result, agent) for agent in best.edge)
    return f"Most is gained by an edge between agents {first} and {second}; {by_rule}"


def _certified(result: Any) -> str:
    certificate = result.certificate
    if certificate is None and result.failed:
        return "A solver gave up: these are the best weights that it had, without a proof."
    if certificate is None:
        return "There is nothing to prove about this design."
    reached = f"Achieved {number(certificate.value, 6)}"
    if certificate.bound is None:
        return f"{reached}; no bound is known."
    others = of_this_v(certificate) if result.objective == "mixing" else "design"
    bound, gap = number(certificate.bound, 6), number(certificate.gap, 2)
    return f"{reached}. No {others} does better than {bound}: the gap is {gap}."


def _order(assignment: Sequence[int]) -> str:
    shown = " ".join(str(k) for k in assignment[:30])
    return shown + (" …" if len(assignment) > 30 else "")
