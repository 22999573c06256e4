"""A watched network as tables for people; each function takes the document of the command."""

from __future__ import annotations

from rich.console import RenderableType
from rich.text import Text

from peerbayes.live.watch.documents import LiveAgent, LiveLink, LiveStretch, WatchDocument
from peerbayes.tables import facts_table, figures_table, notes_text, number, rounds

# More agents or links than this are not listed one by one.
_MOST_LISTED = 24
_MOST_RATES = 8


def watch_parts(result: WatchDocument) -> list[RenderableType]:
    """The tables of `watch`: agents, links, beliefs, and rates predicted beside measured."""
    parts: list[RenderableType] = [facts_table(_heading(result), _facts(result))]
    parts.append(agents_table(result))
    if result.links:
        parts.append(links_table(result))
    if result.told.rates:
        parts.append(rates_table(result.told))
    if len(result.stretches) > 1:
        parts.append(stretches_table(result))
    return [*parts, notes_text(result.notes)] if result.notes else parts


def _heading(result: WatchDocument) -> str:
    return f"{result.name}: {result.title}" if result.title else result.name


def _facts(result: WatchDocument) -> dict[str, str]:
    states = [agent.state for agent in result.agents]
    seen = ", ".join(f"{states.count(s)} {s}" for s in dict.fromkeys(states))
    told = result.told
    facts = {
        "network": result.network,
        "watched": f"{number(result.seconds)} s",
        "agents": f"{len(result.agents)}: {seen}" if seen else "none yet",
        "pace": result.pace or "-",
        "a round of the network": f"{number(told.round_seconds)} s"
        + (f", over {number(told.seconds)} s" if told.round_seconds is not None else ""),
    }
    if result.reference is not None:
        facts["settles on"] = result.reference
    return facts


def agents_table(result: WatchDocument) -> RenderableType:
    """Where each agent is, what it believes, and how much of a round is spent on it."""
    is_net = any(agent.accuracy is not None for agent in result.agents)
    table = figures_table(
        "Agents", "agent", "state", "round", "ms", "v", "slowness",
        "accuracy" if is_net else "believes", "refused",
    )  # fmt: skip
    for agent in result.agents[:_MOST_LISTED]:
        table.add_row(
            Text(agent.name),
            Text(agent.state + (f", anew {agent.began_anew}x" if agent.began_anew else "")),
            rounds(agent.round),
            number(_milli(agent.round_seconds)),
            number(agent.influence),
            number(agent.slowness),
            number(agent.accuracy) if is_net else Text(_belief(agent)),
            rounds(sum(agent.refused.values())),
        )
    if len(result.agents) > _MOST_LISTED:
        table.add_row(f"and {len(result.agents) - _MOST_LISTED} more", *[""] * 7)
    return table


def links_table(result: WatchDocument) -> RenderableType:
    """Who was heard, how much and how late; of many links, those that took longest."""
    links = sorted(result.links, key=_by_wait)
    title = "Links" if len(links) <= _MOST_LISTED else "Links that took longest"
    table = figures_table(
        title, "agent", "hears", "is there", "weight", "given", "used", "ms old", "rounds late"
    )
    for link in sorted(links[:_MOST_LISTED], key=lambda link: (link.hearer, link.heard)):
        table.add_row(
            Text(result.agents[link.hearer].name),
            Text(result.agents[link.heard].name),
            {True: "yes", False: "no", None: "-"}[link.alive],
            number(link.weight),
            number(link.weight_given),
            number(link.used),
            number(_milli(link.seconds)),
            number(link.rounds_late),
        )
    return table


def rates_table(told: LiveStretch) -> RenderableType:
    """How fast hypotheses are rejected; the slowest first."""
    table = figures_table(
        "Rates, nats a second", "hypothesis", "predicted", "measured", "standard error"
    )
    known = sorted(told.rates, key=lambda rate: (rate.predicted is None, rate.predicted or 0.0))
    for rate in known[:_MOST_RATES]:
        cells = (rate.predicted, rate.measured, rate.standard_error)
        table.add_row(Text(rate.hypothesis), *map(number, cells))
    return table


def stretches_table(result: WatchDocument) -> RenderableType:
    """Times in which the same agents were present, and the rate that decided in each."""
    table = figures_table(
        "While the same agents were there", "from s", "for s", "there",
        "predicted", "measured", "standard error",
    )  # fmt: skip
    for stretch in result.stretches[-_MOST_LISTED:]:
        binding = stretch.binding
        cells = (
            (None,) * 3
            if binding is None
            else (binding.predicted, binding.measured, binding.standard_error)
        )
        table.add_row(
            number(stretch.began),
            number(stretch.seconds),
            f"{len(stretch.present)} of {len(result.agents)}",
            *map(number, cells),
        )
    return table


def _belief(agent: LiveAgent) -> str:
    if agent.believes is None:
        return "-"
    return f"{agent.believes} {number(agent.probability)}"


def _by_wait(link: LiveLink) -> tuple[bool, float]:
    return link.seconds is None, -(link.seconds or 0.0)


def _milli(seconds: float | None) -> float | None:
    return None if seconds is None else 1000 * seconds
