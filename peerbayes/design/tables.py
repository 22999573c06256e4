"""Designs and placements as tables for people, made of their JSON objects."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.console import RenderableType
from rich.text import Text

from peerbayes.tables import (
    agent_names,
    facts_table,
    figures_table,
    interval,
    notes_text,
    number,
    rounds,
    spread,
)

_MOST_ROWS = 12
_MOST_WEIGHTS = 12


def design_parts(result: Mapping[str, Any]) -> list[RenderableType]:
    """The tables of `design`, for a problem of any kind."""
    if result["objective"] == "next-edge":
        return _next_edge_parts(result)
    facts = {"objective": result["objective"]}
    if "target" in result:
        facts["to settle on"] = result["target"]
    shares = "stationary_distribution" if "stationary_distribution" in result else "influence"
    facts["influence of each agent v"] = spread(result[shares])
    if "excess_error_constant" in result:
        facts["limit of the error"] = number(result["limit"])
        facts["error c/n with c"] = number(result["excess_error_constant"])
    else:
        facts["learning rate K"] = f"{number(result['rate'])} nats a round"
        facts["error exponent E"] = f"{number(result['error_exponent'])} nats a round"
    if "slem" in result:
        facts["subdominant modulus"] = number(result["slem"])
    of_mixing = result["objective"] == "mixing"
    facts |= _certificate("certificate", result["certificate"], of_mixing=of_mixing)
    if result.get("mixing") and result["objective"] != "mixing":
        facts |= _certificate("mixing", result["mixing"], of_mixing=True)
    if result.get("binding"):
        facts["binding"] = _binding(result)
    facts["weights by"] = result["method"]
    parts: list[RenderableType] = [facts_table(result["problem"], facts), Text()]
    parts += _weights(result["weights"])
    parts += _curve(result.get("trade_off"))
    parts.append(_comparison(result))
    parts += _learnability(result.get("learnability"))
    return [*parts, notes_text(result["notes"])]


def _certificate(
    name: str, certificate: Mapping[str, Any] | None, *, of_mixing: bool = False
) -> dict[str, str]:
    if certificate is None:
        return {}
    bound = certificate["bound"]
    kind = {
        "exact": "exact",
        "certified": "certified",
        "rounded": "up to rounding",
        "local": "a local search",
    }[certificate["kind"]]
    value = f"{certificate['value']:.9g}"
    if bound is None:
        return {name: f"{value}, no bound known ({kind})"}
    others = "any design"
    if of_mixing:
        # The bound of a local search, on directed graphs, holds for all W.
        reversible = "" if certificate["kind"] == "local" else "reversible "
        others = f"any {reversible}W with this v"
    side = "at most" if certificate["sense"] == "maximise" else "at least"
    gap = f"gap {certificate['gap']:.2g}"
    return {name: f"{value}; {others}: {side} {bound:.9g} ({gap}, {kind})"}


def _binding(result: Mapping[str, Any]) -> str:
    shares = result.get("multipliers") or {}
    names = [
        f"{name} ({shares[name]:.3g})" if name in shares else name
        for name in result["binding"][:_MOST_ROWS]
    ]
    more = len(result["binding"]) - len(names)
    return ", ".join(names) + (f", and {more} more" if more > 0 else "")


def _weights(weights: Any) -> list[RenderableType]:
    """W for networks that fit a screen."""
    if not isinstance(weights, list) or not weights or not isinstance(weights[0], list):
        return []
    if len(weights) > _MOST_WEIGHTS:
        return []
    table = figures_table("Weights W", "", *(str(j) for j in range(len(weights))))
    for i, row in enumerate(weights):
        table.add_row(str(i), *("" if w == 0 else f"{w:.3f}".removeprefix("0") for w in row))
    return [table]


def _curve(points: Any) -> list[RenderableType]:
    if not points:
        return []
    table = figures_table(
        "Rate against mixing", "share of the best K", "K", "E", "modulus", "at least", "rounds"
    )
    for point in points:
        table.add_row(
            f"{point['share']:.3g}" + ("" if point["efficient"] else " (dominated)"),
            number(point["rate"]),
            number(point["error_exponent"]),
            number(point["slem"]),
            number(point["slem_bound"]),
            interval(point["certified"]) if point["certified"] else rounds(point["chernoff"]),
        )
    return [table]


def _comparison(result: Mapping[str, Any]) -> RenderableType:
    rows = {"designed": result, **result["baselines"]}
    if "excess_error_constant" in result:
        table = figures_table("Networks", "weights", "limit", "c of c/n", "modulus")
        for name, row in rows.items():
            table.add_row(
                name,
                number(row["limit"]),
                number(row["excess_error_constant"]),
                number(row["slem"]),
            )
        return table
    delta = next((row["samples"]["delta"] for row in rows.values() if row["samples"]), None)
    title = "Networks" if delta is None else f"Networks; rounds for an error of at most {delta:g}"
    table = figures_table(title, "weights", "K", "E", "modulus", "certified", "simulated")
    for name, row in rows.items():
        samples, simulated = row["samples"], row.get("simulated")
        certified = None if samples is None else samples["certified"]
        enough = None if samples is None else samples["chernoff"]
        bound = "-" if enough is None else f"to {rounds(enough)}"
        table.add_row(
            name,
            number(row["rate"]),
            number(row["error_exponent"]),
            number(row.get("slem")),
            interval(certified) if certified else bound,
            "-" if simulated is None else rounds(simulated["rounds"]),
        )
    return table


def _learnability(found: Mapping[str, Any] | None) -> list[RenderableType]:
    if found is None:
        return []
    facts = {}
    if found["unseparable_pairs"]:
        pairs = "; ".join(" and ".join(pair) for pair in found["unseparable_pairs"][:_MOST_ROWS])
        facts["nobody tells apart"] = pairs
    fewest = found["sufficient_for_target"] or found["sufficient_agents"]
    agents = agent_names(fewest["agents"])
    proof = (
        "none smaller suffices" if fewest["proved"] else f"at least {fewest['lower']} are needed"
    )
    facts["agents that suffice"] = f"{agents} ({proof})"
    departures = found["departures"]
    if departures:
        silent = departures["silent"]["rates"]
        facts["K if one falls silent"] = spread(silent)
        if departures["critical"]:
            facts["nothing is learnt without"] = agent_names(departures["critical"])
        if departures["cuts"]:
            facts["the graph falls apart without"] = agent_names(departures["cuts"])
    return [facts_table("What no weights can mend, and who matters", facts), Text()]


def _next_edge_parts(result: Mapping[str, Any]) -> list[RenderableType]:
    parts: list[RenderableType] = []
    for title, key in (("Edges to add, best first", "added"), ("Edges least missed", "removed")):
        table = figures_table(
            f"{result['problem']}: {title} (weights: {result['rule']})",
            "edge",
            "K",
            "E",
            "modulus",
            "Chernoff",
            "certified",
        )
        for effect in [result["base"], *result[key][:_MOST_ROWS]]:
            edge = effect["edge"]
            table.add_row(
                "as it is" if edge is None else f"{edge[0]} - {edge[1]}",
                number(effect["rate"]),
                number(effect["error_exponent"]),
                number(effect["slem"]),
                rounds(effect["chernoff"]),
                interval(effect["certified"]),
            )
        parts.append(table)
    if result["bridges"]:
        bridges = ", ".join(f"{a} - {b}" for a, b in result["bridges"][:_MOST_ROWS])
        parts.append(Text(f"without any of these the network falls apart: {bridges}"))
    return [*parts, notes_text(result["notes"])]


def place_parts(result: Mapping[str, Any]) -> list[RenderableType]:
    """The tables of `place`."""
    facts = {"objective": result["objective"]}
    if "target" in result:
        facts["to settle on"] = result["target"]
    moved = result["moved"]
    order = [f"{j} gets what {result['assignment'][j]} had" for j in moved[:_MOST_ROWS]]
    more = f"; {len(moved) - len(order)} more" if len(moved) > len(order) else ""
    facts["data that move"] = "; ".join(order) + more if order else "none"
    if "excess_error_constant" in result:
        facts["error c/n with c"] = number(result["excess_error_constant"])
        facts["as given"] = number(result["original"]["excess_error_constant"])
        if result["worst"]:
            facts["worst"] = number(result["worst"]["excess_error_constant"])
    else:
        facts["value"] = number(result["value"])
        facts["as given"] = number(result["original"])
        facts["worst"] = number(result["worst"])
        facts |= _certificate("certificate", result["certificate"])
    facts["found by"] = f"{result['method']}, {result['evaluated']} placements looked at"
    parts: list[RenderableType] = [facts_table(result["problem"], facts), Text()]
    if result.get("classes"):
        parts.append(_classes(result["classes"]))
    return [*parts, notes_text(result["notes"])]


def _classes(classes: Any) -> RenderableType:
    columns = ("data sets by agent", "of", "K", "E", "rounds", "mean rate (exact)")
    table = figures_table("Placements that are alike", *columns)
    for entry in classes[:_MOST_ROWS]:
        kinds = entry["assignment"]
        shown = " ".join(map(str, kinds[:16])) + (" ..." if len(kinds) > 16 else "")
        run = entry["simulated_rate"]
        certified = entry["samples"]["certified"]
        table.add_row(
            shown,
            str(entry["count"]),
            number(entry["rate"]),
            number(entry["error_exponent"]),
            interval(certified) if certified else rounds(entry["samples"]["chernoff"]),
            "-" if run is None else f"{run['mean']:.4g} ({run['predicted']:.4g})",
        )
    return table
