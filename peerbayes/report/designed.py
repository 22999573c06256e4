"""What the page says of a design or a placement: before and after, beside the usual rules."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from peerbayes.documents import GraphDocument
from peerbayes.figures.canvas import COLOURS, SERIES_MARKS, LegendEntry, Plot, axis_label
from peerbayes.figures.graph import network_plot
from peerbayes.figures.panels import panel
from peerbayes.figures.scales import linear_scale, log_scale
from peerbayes.figures.views import Fact, Picture, picture
from peerbayes.figures.wording import DASH, count, listed, number

_BARS = {"fmt": "none", "elinewidth": 1.2, "capsize": 0, "zorder": 4}
_MOST_ROWS = 20


@dataclass(frozen=True)
class DesignView:
    """One ``design`` or ``place`` record."""

    key: str
    name: str
    title: str
    heading: str
    finding: str
    failed: bool
    facts: tuple[Fact, ...]
    pictures: tuple[Picture, ...]
    row: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, tuple[str, ...]], ...]
    notes: tuple[str, ...]


def design_view(body: Mapping[str, Any], *, key: str) -> DesignView:
    """Everything the page says of one design."""
    result = body["result"]
    columns, rows = _next_edges(result) if "added" in result else _networks(result)
    plots = [] if "added" in result else _plots(body)
    return DesignView(
        key=key,
        name=result["problem"],
        title=body["title"],
        heading=f"{result['problem']}: design, {result['objective']}",
        finding=_finding(result),
        failed=bool(result.get("failed", False)),
        facts=_facts(result),
        pictures=tuple(picture(plot, f"{key}-{i}") for i, plot in enumerate(plots)),
        row="edge" if "added" in result else "weights",
        columns=columns,
        rows=rows,
        notes=tuple(result["notes"]),
    )


def placement_view(body: Mapping[str, Any], *, key: str) -> DesignView:
    """Everything the page says of one placement."""
    result = body["result"]
    plots = [network_plot(GraphDocument.model_validate(body["network"]))] if body["network"] else []
    moved = result["moved"]
    finding = (
        "No data should move."
        if not moved
        else "Data sets by agent, in the best placement: " + _order(result["assignment"]) + "."
    )
    rows = tuple(
        (
            _order(entry["assignment"]),
            (
                count(entry["count"]),
                number(entry["rate"]),
                number(entry["error_exponent"]),
                _interval(entry["samples"]["certified"]),
                DASH
                if entry["simulated_rate"] is None
                else number(entry["simulated_rate"]["predicted"]),
                DASH
                if entry["simulated_rate"] is None
                else f"{number(entry['simulated_rate']['mean'])} ± "
                f"{number(entry['simulated_rate']['standard_error'], 2)}",
            ),
        )
        for entry in (result.get("classes") or [])[:_MOST_ROWS]
    )
    return DesignView(
        key=key,
        name=result["problem"],
        title=body["title"],
        heading=f"{result['problem']}: placement, {result['objective']}",
        finding=finding,
        failed=False,
        facts=_placement_facts(result),
        pictures=tuple(
            picture(plot, f"{key}-{i}") for i, plot in enumerate(plots) if plot is not None
        ),
        row="data sets by agent",
        columns=("alike", "K", "E", "certified rounds", "mean rate, predicted", "measured"),
        rows=rows,
        notes=tuple(result["notes"]),
    )


def curves_plot(curves: Sequence[Mapping[str, Any]]) -> Plot:
    """Measured log-beliefs against the hypothesis rejected last, one line a network."""
    rounds = np.array(curves[0]["rounds"], dtype=float)
    means = [np.array(curve["mean"], dtype=float) for curve in curves]
    x = linear_scale([0.0, *rounds], zero=True)
    y = linear_scale([0.0, *np.concatenate(means)])
    figure, axes = panel(x, y, height=3.2)
    legend = []
    for index, (curve, mean) in enumerate(zip(curves, means, strict=True)):
        colour, mark = f"series-{index % 10}", SERIES_MARKS[index % len(SERIES_MARKS)]
        error = np.nan_to_num(np.array(_numbers(curve["standard_error"])))
        slope = float(curve["rate"])
        axes.plot(
            [0, rounds[-1]], [0, slope * rounds[-1]],
            color=COLOURS[colour], linewidth=0.8, dashes=(4, 2.5), zorder=3,
        )  # fmt: skip
        every = max(1, len(rounds) // 12)
        axes.errorbar(
            rounds[::every], mean[::every], 2 * error[::every], ecolor=COLOURS[colour], **_BARS
        )
        axes.plot(
            rounds[::every], mean[::every], mark, color=COLOURS[colour], markersize=4, zorder=5,
            linestyle="none", markeredgecolor=COLOURS["paper"], markeredgewidth=0.5,
        )  # fmt: skip
        legend.append(LegendEntry(mark, colour, f"{curve['name']}, against {curve['hypothesis']}"))
    axis_label(axes, x="round", y=f"log belief ratio [{y.unit('nats')}]")
    best = max(curves, key=lambda curve: float(curve["rate"]))
    return Plot(
        figure,
        "Belief before and after",
        "How much more the target is believed than the hypothesis rejected last, measured, bars "
        f"± 2 s.e.; dashes have the predicted slope K. Steepest: {best['name']}, "
        f"{number(best['rate'])} nats a round.",
        tuple(legend),
    )


def failures_plot(curves: Sequence[Mapping[str, Any]], *, delta: float) -> Plot:
    """How often some agent is wrong, round by round, one line a network."""
    rounds = np.array(curves[0]["rounds"], dtype=float)
    shares = [np.array(curve["failures"], dtype=float) for curve in curves]
    positive = np.concatenate([*(s[s > 0] for s in shares), [delta]])
    x, y = linear_scale([0.0, *rounds], zero=True), log_scale(positive)
    figure, axes = panel(x, y, height=3.2)
    legend = []
    for index, (curve, share) in enumerate(zip(curves, shares, strict=True)):
        colour, mark = f"series-{index % 10}", SERIES_MARKS[index % len(SERIES_MARKS)]
        seen = share > 0
        axes.plot(
            rounds[seen], share[seen], mark, color=COLOURS[colour], markersize=4, zorder=5,
            linestyle="-", linewidth=0.8, markeredgecolor=COLOURS["paper"], markeredgewidth=0.5,
        )  # fmt: skip
        legend.append(LegendEntry(mark, colour, curve["name"]))
    axes.axhline(delta, color=COLOURS["ink"], linewidth=1.2, dashes=(4, 2.5), zorder=3)
    legend.append(LegendEntry("dashes", "ink", f"δ = {number(delta)}"))
    axis_label(axes, x="round", y="share of runs with an error")
    return Plot(
        figure,
        "Runs in which some agent is wrong",
        "Measured, round by round; a line ends where no run failed any more.",
        tuple(legend),
    )


def trade_off_plot(points: Sequence[Mapping[str, Any]]) -> Plot:
    """Rate against mixing: achieved, and the bound on the mixing for each v."""
    rates = [float(point["rate"]) for point in points]
    slems = [float(point["slem"]) for point in points]
    bounds = [float(point["slem_bound"]) for point in points if point["slem_bound"] is not None]
    x, y = linear_scale(rates, room=0.06), linear_scale([*slems, *bounds])
    figure, axes = panel(x, y, height=3.2)
    for name, wanted in (("predicted", True), ("muted", False)):
        chosen = [k for k, point in enumerate(points) if bool(point["efficient"]) is wanted]
        axes.plot(
            [rates[k] for k in chosen], [slems[k] for k in chosen], "o", color=COLOURS[name],
            markersize=5, zorder=4, mew=0, linestyle="-" if wanted else "none", linewidth=1.0,
        )  # fmt: skip
    axis_label(axes, x=f"rate K [{x.unit('nats per round')}]", y="subdominant modulus")
    return Plot(
        figure,
        "Rate against mixing",
        "What was achieved: to the right learns faster in the end, further down agrees sooner. "
        "Grey points are beaten in both.",
        (
            LegendEntry("dots", "predicted", "efficient among those found"),
            LegendEntry("dots", "muted", "beaten"),
        ),
    )


def _plots(body: Mapping[str, Any]) -> list[Plot]:
    result, plots = body["result"], []
    for name in ("before", "after"):
        drawn = network_plot(GraphDocument.model_validate(body[name])) if body[name] else None
        if drawn is not None:
            plots.append(Plot(drawn.figure, f"Network {name}", drawn.finding, drawn.legend))
    if result.get("trade_off"):
        plots.append(trade_off_plot(result["trade_off"]))
    if body["curves"]:
        plots.append(curves_plot(body["curves"]))
        plots.append(failures_plot(body["curves"], delta=float(body["delta"])))
    return plots


def _finding(result: Mapping[str, Any]) -> str:
    if "added" in result:
        best = result["added"][0] if result["added"] else None
        if best is None:
            return "There is no edge to add."
        first, second = best["edge"]
        before, after = result["base"]["chernoff"], best["chernoff"]
        if before is not None and (after is None or after >= before):
            return (
                "No edge lowers the number of rounds that is enough; weights by the rule "
                f"“{result['rule']}”."
            )
        return (
            f"Most is gained by an edge between agents {first} and {second}; weights by the rule "
            f"“{result['rule']}”."
        )
    certificate = result["certificate"]
    if certificate is None and result.get("failed"):
        return "A solver gave up: these are the best weights that it had, without a proof."
    if certificate is None:
        return "There is nothing to prove about this design."
    bound = certificate["bound"]
    of_mixing = result["objective"] == "mixing"
    # The bound of a local search, on directed graphs, holds for all W.
    kind = "W with this v" if certificate["kind"] == "local" else "reversible W with this v"
    verb = f"No {kind if of_mixing else 'design'} does better than"
    if bound is None:
        return f"Achieved {number(certificate['value'], 6)}; no bound is known."
    return (
        f"Achieved {number(certificate['value'], 6)}. {verb} {number(bound, 6)}: the gap is "
        f"{number(certificate['gap'], 2)}."
    )


def _facts(result: Mapping[str, Any]) -> tuple[Fact, ...]:
    if "added" in result:
        return (
            Fact("Candidates", count(result["candidates"])),
            Fact("Bridges", count(len(result["bridges"])), "without one the network falls apart"),
        )
    facts = [Fact("Objective", result["objective"])]
    if "target" in result:
        facts.append(Fact("To settle on", result["target"]))
    if "excess_error_constant" in result:
        constant = result["excess_error_constant"]
        facts.append(Fact("Error", f"{number(constant)}/n", "in the limit"))
    else:
        facts.append(Fact("Rate K", number(result["rate"]), "nats a round"))
        facts.append(Fact("Exponent E", number(result["error_exponent"]), "nats a round"))
    if result.get("slem") is not None:
        facts.append(Fact("Subdominant modulus", number(result["slem"])))
    if result.get("binding"):
        facts.append(Fact("Rejected last", listed(list(result["binding"][:6]))))
    return tuple(facts)


def _placement_facts(result: Mapping[str, Any]) -> tuple[Fact, ...]:
    if "excess_error_constant" in result:
        return (
            Fact("Error", f"{number(result['excess_error_constant'])}/n"),
            Fact("As given", f"{number(result['original']['excess_error_constant'])}/n"),
        )
    return (
        Fact("Value", number(result["value"]), result["objective"]),
        Fact("As given", number(result["original"])),
        Fact("Worst", number(result["worst"])),
        Fact("Found by", result["method"]),
    )


def _networks(
    result: Mapping[str, Any],
) -> tuple[tuple[str, ...], tuple[tuple[str, tuple[str, ...]], ...]]:
    rows = {"designed": result, **result["baselines"]}
    if "excess_error_constant" in result:
        columns: tuple[str, ...] = ("limit of the error", "c of c/n", "modulus")
        cells = {
            name: tuple(number(row[k]) for k in ("limit", "excess_error_constant", "slem"))
            for name, row in rows.items()
        }
        return columns, tuple(cells.items())
    columns = ("K", "E", "modulus", "certified rounds", "simulated rounds")
    table = []
    for name, row in rows.items():
        samples, simulated = row["samples"], row.get("simulated")
        table.append(
            (
                name,
                (
                    number(row["rate"]),
                    number(row["error_exponent"]),
                    number(row.get("slem")),
                    DASH if samples is None else _interval(samples["certified"]),
                    DASH if simulated is None else count(simulated["rounds"]),
                ),
            )
        )
    return columns, tuple(table)


def _next_edges(
    result: Mapping[str, Any],
) -> tuple[tuple[str, ...], tuple[tuple[str, tuple[str, ...]], ...]]:
    effects = [("as it is", result["base"])]
    for sign, key in (("+", "added"), ("−", "removed")):
        effects += [
            (f"{sign} {effect['edge'][0]} – {effect['edge'][1]}", effect)
            for effect in result[key][:_MOST_ROWS]
        ]
    rows = tuple(
        (
            name,
            (
                number(effect["rate"]),
                number(effect["error_exponent"]),
                number(effect["slem"]),
                count(effect["chernoff"]),
                _interval(effect["certified"]),
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


def _numbers(values: Sequence[Any]) -> list[float]:
    return [np.nan if value is None else float(value) for value in values]
