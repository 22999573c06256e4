"""Designs and placements as tables for people, made of their documents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.console import RenderableType
from rich.text import Text

from peerbayes.designs.details import PriceDocument, TradeOffPoint
from peerbayes.designs.documents import (
    ChangingDesignDocument,
    ChangingRow,
    FiniteDesignDocument,
    FiniteRow,
    LearnabilityDocument,
    LinksDocument,
    NetworkDesign,
    RegressionDesignDocument,
)
from peerbayes.designs.shared import certificate_words, rounds_words
from peerbayes.designs.weight_text import row_text, rows_of
from peerbayes.quantities.messages import MESSAGES
from peerbayes.quantities.showing import titled
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
# Of larger networks, and of longer sequences of phases, the beginning is shown.
_MOST_AGENTS, _MOST_PHASES = 40, 6


def design_parts(result: NetworkDesign) -> list[RenderableType]:
    """The tables of `design`, for a problem of any kind."""
    facts = _facts(result)
    parts: list[RenderableType] = [facts_table(result.problem, facts), Text()]
    parts += weight_parts(result)
    if isinstance(result, FiniteDesignDocument):
        parts += _curve(result.trade_off or [])
        parts += _prices(result.prices or [])
        parts += [] if result.messages is None else titled(MESSAGES, result.messages)
    parts.append(_comparison(result))
    if isinstance(result, FiniteDesignDocument):
        parts += _learnability(result.learnability, result.names)
    if result.recommended is not None:
        parts.append(Text(f"recommended: {result.recommended.sentence}"))
    return [*parts, notes_text(result.notes)]


def _facts(result: NetworkDesign) -> dict[str, str]:
    facts: dict[str, str] = {"objective": result.objective}
    if not isinstance(result, RegressionDesignDocument):
        facts["to settle on"] = result.target
    facts["influence of each agent v"] = spread(
        result.influence
        if isinstance(result, ChangingDesignDocument)
        else result.stationary_distribution
    )
    if isinstance(result, RegressionDesignDocument):
        facts["limit of the error"] = number(result.limit)
        facts["error c/n with c"] = number(result.excess_error_constant)
    else:
        facts["learning rate K"] = f"{number(result.rate)} nats a round"
        facts["error exponent E"] = f"{number(result.error_exponent)} nats a round"
    of_mixing = result.objective == "mixing"
    if isinstance(result, ChangingDesignDocument):
        facts["subdominant modulus, mean"] = number(result.mean_slem)
        proofs = {"certificate": certificate_words(result.certificate)}
    else:
        facts["subdominant modulus"] = number(result.slem)
        proofs = {"certificate": certificate_words(result.certificate, of_mixing=of_mixing)}
        if not of_mixing:
            proofs["mixing"] = certificate_words(result.mixing, of_mixing=True)
    facts |= {name: words for name, words in proofs.items() if words is not None}
    if isinstance(result, FiniteDesignDocument) and result.binding:
        facts["binding"] = _binding(result)
    facts["weights by"] = result.method
    if result.written is not None:
        facts["written to"] = result.written
    return facts


def _binding(result: FiniteDesignDocument) -> str:
    shares = result.multipliers or {}
    names = [
        f"{name} ({shares[name]:.3g})" if name in shares else name
        for name in result.binding[:_MOST_ROWS]
    ]
    more = len(result.binding) - len(names)
    return ", ".join(names) + (f", and {more} more" if more > 0 else "")


def weight_rows(result: NetworkDesign) -> list[tuple[str, list[dict[int, float]]]]:
    """W with its title, row by row its positive entries; one matrix for each phase."""
    if isinstance(result, ChangingDesignDocument):
        many = len(result.weights) > 1
        return [
            (f"Weights W of phase {s}" if many else "Weights W", links.rows())
            for s, links in enumerate(result.weights)
        ]
    weights = result.weights
    rows = weights.rows() if isinstance(weights, LinksDocument) else rows_of(weights)
    return [("Weights W", rows)]


def weight_parts(result: NetworkDesign) -> list[RenderableType]:
    """W as a table for few agents, else whom each agent hears; rows sum to one as shown."""
    matrices = weight_rows(result)
    parts: list[RenderableType] = []
    for title, rows in matrices[:_MOST_PHASES]:
        shown = [row_text(row) for row in rows[:_MOST_AGENTS]]
        if len(rows) <= _MOST_WEIGHTS:
            table = figures_table(title, "", *(result.called(j) for j in range(len(rows))))
            for i, row in enumerate(shown):
                table.add_row(Text(result.called(i)), *(row.get(j, "0") for j in range(len(rows))))
        else:
            table = facts_table(f"{title}: whom each agent hears, and how much", {})
            for i, row in enumerate(shown):
                heard = ", ".join(f"{result.called(j)}: {w}" for j, w in row.items())
                table.add_row(Text(result.called(i)), Text(heard))
        parts.append(table)
        if len(rows) > _MOST_AGENTS:
            more = len(rows) - _MOST_AGENTS
            parts.append(Text(f"and {more} more agents (all of them: --json, or --write FILE)"))
    if len(matrices) > _MOST_PHASES:
        more = len(matrices) - _MOST_PHASES
        parts.append(Text(f"and {more} more phases (all of them: --json, or --write FILE)"))
    return [*parts, Text()]


def _curve(points: Sequence[TradeOffPoint]) -> list[RenderableType]:
    if not points:
        return []
    table = figures_table(
        "Rate against mixing", "share of the best K", "K", "E", "modulus", "at least", "rounds"
    )
    for point in points:
        table.add_row(
            f"{point.share:.3g}" + ("" if point.efficient else " (dominated)"),
            number(point.rate),
            number(point.error_exponent),
            number(point.slem),
            number(point.slem_bound),
            rounds_words(point),
        )
    return [table]


def _comparison(result: NetworkDesign) -> RenderableType:
    if isinstance(result, RegressionDesignDocument):
        table = figures_table("Networks", "weights", "limit", "c of c/n", "modulus")
        for name, errors in {"designed": result, **result.baselines}.items():
            table.add_row(
                name,
                number(errors.limit),
                number(errors.excess_error_constant),
                number(errors.slem),
            )
        return table
    rows: Mapping[str, FiniteRow | ChangingRow] = {"designed": result, **result.baselines}
    delta = next((row.samples.delta for row in rows.values() if row.samples), None)
    title = "Networks" if delta is None else f"Networks; rounds for an error of at most {delta:g}"
    table = figures_table(title, "weights", "K", "E", "modulus", "certified", "simulated")
    for name, row in rows.items():
        certified = None if row.samples is None else row.samples.certified
        enough = None if row.samples is None else row.samples.chernoff
        bound = "-" if enough is None else f"to {rounds(enough)}"
        simulated = row.simulated if isinstance(row, FiniteRow) else None
        table.add_row(
            name,
            number(row.rate),
            number(row.error_exponent),
            number(row.slem if isinstance(row, FiniteRow) else row.mean_slem),
            interval(certified) if certified else bound,
            "-" if simulated is None else rounds(simulated.rounds),
        )
    return table


def _learnability(
    found: LearnabilityDocument | None, names: Sequence[str] | None
) -> list[RenderableType]:
    if found is None:
        return []
    facts = {}
    if found.unseparable_pairs:
        pairs = "; ".join(" and ".join(pair) for pair in found.unseparable_pairs[:_MOST_ROWS])
        facts["nobody tells apart"] = pairs
    fewest = found.sufficient_for_target or found.sufficient_agents
    agents = agent_names(fewest.agents, names)
    proof = "none smaller suffices" if fewest.proved else f"at least {fewest.lower} are needed"
    facts["agents that suffice"] = f"{agents} ({proof})"
    departures = found.departures
    if departures:
        facts["K if one falls silent"] = spread(departures.silent.rates)
        if departures.critical:
            facts["nothing is learnt without"] = agent_names(departures.critical, names)
        if departures.cuts:
            facts["the graph falls apart without"] = agent_names(departures.cuts, names)
    return [facts_table("What no weights can mend, and who matters", facts), Text()]


def _prices(prices: Sequence[PriceDocument]) -> list[RenderableType]:
    """The table of the cheapest messages on each network; nothing without any."""
    if not prices:
        return []
    table = figures_table(
        "Fewest certified bytes", "network", "step, nats", "mixing", "levels", "rounds", "bytes"
    )
    for price in prices:
        ends = (price.certified_rounds, price.certified_bytes)
        table.add_row(
            Text(price.network),
            number(price.step),
            number(price.mixing),
            rounds(price.levels),
            *("-" if one is None else rounds(one[1]) for one in ends),
        )
    return [table]
