"""What a watcher says, each number declared once: on the terminal, as JSON and on the page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from pydantic import Field

from peerbayes.documents import Document, Number, Probability
from peerbayes.live.watch.reports import BeliefReport, Report
from peerbayes.messages import shorten
from peerbayes.quantities.quantity import Quantity, Table, part, quantity, table_of
from peerbayes.quantities.showing import grid
from peerbayes.tables import facts_table, figures_table, notes_text, number, rounds
from theory.showing import Value

if TYPE_CHECKING:
    from rich.console import RenderableType


_MOST_POINTS = 120
# More agents or links than this are not listed one by one.
_MOST_LISTED = 24
_MOST_RATES = 8
_COUNT = Annotated[int, Field(ge=0)]
_COUNTS = dict[str, int]
_SECONDS = Annotated[float, Field(ge=0)]
ALLOWED = 5.0
"""Standard errors of a measured rate that chance allows."""
CONTRADICTS = "the evidence contradicts the truth that the file states"


# Rates and stretches of time --------------------------------------------------------------------


def binding_of(rates: Sequence[Any]) -> Any:
    """The rate that decides: the smallest predicted one, or the smallest measured; None of none."""
    for key in ("predicted", "measured"):
        known = [rate for rate in rates if getattr(rate, key) is not None]
        if known:
            return min(known, key=attrgetter(key))
    return None


def contradicted(rates: Sequence[Any]) -> Any:
    """The rate of the hypothesis in which beliefs rose most, beyond chance, against the file.

    None where nothing is predicted from a file, or beliefs fell.
    """
    risen = [
        rate
        for rate in rates
        if rate.predicted is not None
        and (rate.measured or 0.0) < -ALLOWED * (rate.standard_error or 0.0)
    ]
    return min(risen, key=lambda rate: rate.measured or 0.0, default=None)


RATE = Table(
    "LiveRate",
    "How fast one hypothesis is rejected, in nats a second.",
    (
        Quantity("hypothesis", str, get="name", column="hypothesis"),
        Quantity("predicted", Number, column="predicted"),
        Quantity("measured", Number, column="measured", kind="measured"),
        Quantity(
            "standard_error",
            Number,
            "of what is measured, by model and rhythms",
            column="standard error",
        ),
        Quantity("blocks_error", Number, "the same as the beliefs themselves show it"),
    ),
    title="Rates, nats a second",
)


@dataclass(frozen=True, eq=False)
class Past(Value):
    """A stretch of time: its beginning, who was there, what was measured."""

    began: float = quantity(_SECONDS, "seconds after watching began")
    seconds: float = quantity(_SECONDS, "that reports of all its agents cover")
    present: tuple[str, ...] = quantity(list[str])
    round_seconds: float | None = quantity(Number, "of a round of the whole network")
    rates: tuple[Any, ...] = quantity(RATE, many=True)
    notes: tuple[str, ...] = quantity(list[str])


class StretchDocument(Document):
    """A stretch of time as it is read."""

    if TYPE_CHECKING:
        rates: list[Any]

    @property
    def binding(self) -> Any:
        """The rate that decides."""
        return binding_of(self.rates)

    @property
    def contradicted(self) -> Any:
        """The rate of the hypothesis in which beliefs rose most, beyond chance, or None."""
        return contradicted(self.rates)


STRETCH = table_of(
    Past, "LiveStretch", "A time in which the same agents were present.", base=StretchDocument
)


# One agent --------------------------------------------------------------------------------------

# Stands for the report of an agent that has not reported yet.
_NOTHING = Report.model_construct(
    **dict.fromkeys(("round", "epoch"), None), belief=BeliefReport(), receipts={}, refused={}
)
_REPORTED = ("round", "epoch", "receipts", "refused", "bytes_sent", "rss_mb", "stored_round")


def _agents(sight: Any) -> Iterator[dict[str, Any]]:
    """What is known of each agent."""
    found = sight.measured
    for i, (name, seen) in enumerate(sight.agents):
        report, known = seen.report or _NOTHING, i in found.agents
        columns = (found.rhythm, found.influence, found.slowness)
        measured = [column[i] if known and column is not None else None for column in columns]
        yield {
            "name": name,
            "state": seen.state(sight.now),
            "reports": seen.reports,
            "began_anew": seen.began_anew,
            **{key: getattr(report, key) for key in _REPORTED},
            **dict(zip(("round_seconds", "influence", "slowness"), measured, strict=True)),
            **_believed(report.belief.log_belief or [], sight.hypotheses),
            "accuracy": report.belief.accuracy,
            "nll": report.belief.nll,
            "evidence_taken": report.evidence.taken,
            "evidence_refused": report.evidence.refused,
        }


def _believed(log_belief: list[float], hypotheses: tuple[str, ...]) -> dict[str, Any]:
    """The most probable hypothesis, and probabilities; nothing where they are not known."""
    if not log_belief or len(log_belief) != len(hypotheses):
        return {"believes": None}
    beliefs = np.exp(np.array(log_belief) - np.logaddexp.reduce(log_belief))
    beliefs, best = np.minimum(beliefs, 1.0).tolist(), int(np.argmax(log_belief))
    told = {"probability": beliefs[best], "probabilities": beliefs}
    return {"believes": hypotheses[best], **told}


def _measured(key: str, meaning: str | None = None, **more: Any) -> Quantity:
    return Quantity(key, Number, meaning, kind="measured", **more)


def _state(value: str, agent: Any) -> str:
    return f"{value}, anew {agent.began_anew}x" if agent.began_anew else value


def _belief(value: str | None, agent: Any) -> str:
    return "-" if value is None else f"{value} {number(agent.probability)}"


def _milli(value: float | None, _: Any) -> str:
    return number(None if value is None else 1000 * value)


AGENT = Table(
    "LiveAgent",
    "One agent, as it was heard last.",
    (
        Quantity("name", str, column="agent"),
        Quantity(
            "state", str, "here, silent, gone, done, or not seen", column="state", words=_state
        ),
        Quantity("round", int | None, column="round", words=lambda value, _: rounds(value)),
        Quantity("epoch", int | None, older=None),
        Quantity("reports", _COUNT),
        Quantity("began_anew", _COUNT, "how often its process began again"),
        _measured(
            "round_seconds", "mean time between poolings, measured", column="ms", words=_milli
        ),
        _measured("influence", "v, of the weights that were measured", column="v"),
        _measured(
            "slowness",
            "share of the network's round that is spent in waiting for it",
            column="slowness",
        ),
        Quantity(
            "believes", str | None, "its most probable hypothesis", column="believes", words=_belief
        ),
        Quantity("probability", Probability | None, older=None),
        Quantity("probabilities", list[Probability] | None, older=None),
        _measured("accuracy", older=None, column="accuracy"),
        _measured("nll", older=None),
        Quantity("receipts", _COUNTS),
        Quantity(
            "refused",
            _COUNTS,
            column="refused",
            words=lambda value, _: rounds(sum(value.values())),
        ),
        Quantity("evidence_taken", _COUNT),
        Quantity("evidence_refused", _COUNT),
        Quantity("bytes_sent", _COUNT),
        Quantity("rss_mb", Number, older=None),
        Quantity("stored_round", int | None, older=None),
    ),
    title="Agents",
)


# Links ------------------------------------------------------------------------------------------


def _links(sight: Any) -> Iterator[dict[str, Any]]:
    """Links that the problem has, and such as agents tell of."""
    numbers = {name: i for i, (name, _) in enumerate(sight.agents)}
    given, found = sight.watched.weights, sight.measured
    told: dict[tuple[int, int], bool | None] = {}
    if given is not None:
        told = {(int(i), int(j)): None for i, j in np.argwhere(given > 0)}
    for i, (_, seen) in enumerate(sight.agents):
        for name, link in (seen.report.links if seen.report is not None else {}).items():
            if name in numbers:
                told[i, numbers[name]] = link.alive
    for i, j in sorted(pair for pair in told if pair[0] != pair[1]):
        measured: dict[str, Any] = dict.fromkeys(("weight", "used", "seconds", "rounds_late"))
        if i in found.agents and j < len(found.rhythm):
            weight = found.weights[i, j]
            measured = {
                "weight": weight,
                "used": found.used[i, j],
                "seconds": found.waits[i, j] / weight if weight > 0 else None,
                "rounds_late": found.late[i, j],
            }
        known = given is not None and max(i, j) < len(given)
        w = float(given[i, j]) if given is not None and known else None
        yield {"hearer": i, "heard": j, "alive": told[i, j], "weight_given": w, **measured}


LINK = Table(
    "LiveLink",
    "What one agent heard of another, in means over poolings.",
    (
        Quantity("hearer", int, column="agent"),
        Quantity("heard", int, column="hears"),
        Quantity(
            "alive", bool | None, "as the hearer says; null: it has not said", column="is there"
        ),
        _measured("weight", "measured; null: not yet", column="weight"),
        Quantity("weight_given", Number, "in W of the problem", column="given"),
        _measured("used", "share of poolings that used a message of it", column="used"),
        _measured(
            "seconds",
            "mean age of what was used, and its gap before",
            column="ms old",
            words=_milli,
        ),
        _measured("rounds_late", older=None, column="rounds late"),
    ),
)


# Beliefs in the course of time ------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Ratios:
    """Log-ratios of one hypothesis while it was watched, agent by agent."""

    hypothesis: str = quantity(str)
    reference: str = quantity(str)
    agents: list[str] = quantity(list[str])
    seconds: list[list[float]] = quantity(list[list[float]])
    log_ratios: list[list[float]] = quantity(list[list[float]])


COURSE = table_of(
    Ratios, "LiveCourse", "Log-ratios of one hypothesis while it was watched, agent by agent."
)


def _course(sight: Any) -> Ratios | None:
    """Log-ratios of the binding hypothesis from the beginning, thinned."""
    binding, reference = sight.measured.binding, sight.measured.reference
    if binding is None or reference is None:
        return None
    found = Ratios(binding.name, sight.hypotheses[reference], [], [], [])
    for name, _ in sight.agents:
        if name not in sight.courses:
            continue
        times, beliefs = sight.courses[name].beliefs
        if not len(times) or beliefs.shape[1] <= max(reference, binding.hypothesis):
            continue
        step = -(-len(times) // _MOST_POINTS)
        since = times[::step] - (sight.now - sight.seconds)
        ratios = (beliefs[:, reference] - beliefs[:, binding.hypothesis])[::step]
        found.agents.append(name)
        found.seconds.append([max(0.0, float(t)) for t in since])
        found.log_ratios.append(ratios.tolist())
    return found if found.agents else None


# All of it --------------------------------------------------------------------------------------


class SightDocument(Document):
    """A watch as it is read."""

    if TYPE_CHECKING:
        stretches: list[Any]
        main: int

    @property
    def told(self) -> Any:
        """The stretch of which rhythms, weights and waits are told."""
        return self.stretches[self.main]


def _notes(sight: Any) -> list[str]:
    """What else is to be known, a sentence each."""
    past = sight.stretches[sight.main]
    notes = list(past.notes)
    against = contradicted(past.rates)
    if against is not None:
        notes.append(
            f"beliefs in {against.name!r} rose by {-(against.measured or 0.0):.4g} nats a "
            f"second where a fall by {against.predicted:.4g} is predicted: {CONTRADICTS}"
        )
    if sight.jumped:
        named = ", ".join(f"{name} by {jump:+.4g} s" for name, jump in sight.jumped.items())
        notes.append(
            f"clocks jumped against the watcher's ({shorten(named, length=300)}): what lies before "
            "is measured apart, and what lies across is left out"
        )
    doubled = {*sight.doubled}.union(*(report.doubled for report in sight.reports))
    notes.extend(
        f"two processes speak as agent {shorten(repr(name), length=80)}: the second is left out"
        for name in sorted(doubled)[:6]
    )
    if sight.refused:
        notes.append(f"{sum(sight.refused.values())} reports were refused")
    unseen = [name for name, seen in sight.agents if seen.report is None]
    if sight.reports and unseen:
        named = ", ".join(unseen[:6]) + ", …" * (len(unseen) > 6)
        notes.append(
            f"nothing heard of {named}: agents pass nothing on, connect to each or a router"
        )
    return notes


def _reference(sight: Any) -> str | None:
    reference = sight.measured.reference
    return None if reference is None else sight.hypotheses[reference]


WATCH = Table(
    "WatchDocument",
    "A live network as it was watched; null: not known, see notes.",
    (
        Quantity(
            "names",
            list[str] | None,
            "left out: agents say theirs",
            get=lambda sight: None,
            optional=True,
        ),
        Quantity(
            "network",
            str,
            "first 16 hexadecimal digits of the problem's digest",
            get="watched.network",
        ),
        Quantity("name", str, get="watched.name"),
        Quantity("title", str, get="watched.title"),
        Quantity(
            "began",
            str,
            "when watching began, UTC",
            get=lambda sight: sight.began.isoformat(timespec="seconds"),
        ),
        Quantity("seconds", _SECONDS),
        Quantity("pace", str | None, "lockstep or own, as the agents say"),
        Quantity("hypotheses", list[str] | None, get=lambda sight: sight.hypotheses or None),
        Quantity(
            "reference", str | None, "the hypothesis that the network settles on", get=_reference
        ),
        Quantity("agents", list.__class_getitem__(AGENT.type), get=lambda sight: [*_agents(sight)]),
        Quantity("links", list.__class_getitem__(LINK.type), get=lambda sight: [*_links(sight)]),
        part("stretches", STRETCH, None, many=True),
        Quantity("main", int, "the stretch of which rhythms, weights and waits are told"),
        Quantity("positions", list[list[float]] | None, get="watched.positions"),
        Quantity("refused", _COUNTS, "reports that were refused, by reason"),
        Quantity("notes", list[str], get=_notes),
        part("course", COURSE, _course, optional=True),
    ),
    base=SightDocument,
)


def document_of(sight: Any, *, with_course: bool = False) -> Any:
    """All that a watcher knows at one moment, checked: its keys are attributes."""
    return WATCH.document(sight if with_course else replace(sight, courses={}))


# Terminal tables --------------------------------------------------------------------------------


def watch_parts(result: Any) -> list[RenderableType]:
    """The tables of `watch`: agents, links, beliefs, and rates predicted beside measured."""
    heading = f"{result.name}: {result.title}" if result.title else result.name
    parts: list[RenderableType] = [facts_table(heading, _facts(result)), _agent_table(result)]
    if result.links:
        parts.append(_link_table(result))
    if result.told.rates:
        parts.append(grid(RATE, slowest(result.told.rates)[:_MOST_RATES]))
    if len(result.stretches) > 1:
        parts.append(_stretches(result))
    return [*parts, notes_text(result.notes)] if result.notes else parts


def states(result: Any) -> str:
    """How many agents are where."""
    found = [agent.state for agent in result.agents]
    return ", ".join(f"{found.count(one)} {one}" for one in dict.fromkeys(found))


def slowest(rates: Sequence[Any]) -> list[Any]:
    """Rates by what was predicted, unknown ones last."""
    return sorted(rates, key=lambda rate: (rate.predicted is None, rate.predicted or 0.0))


def oldest(links: Sequence[Any]) -> list[Any]:
    """Links by how long they took, the longest first."""
    return sorted(links, key=lambda link: (link.seconds is None, -(link.seconds or 0.0)))


def is_of_nets(result: Any) -> bool:
    """Whether the agents train nets."""
    return any(agent.accuracy is not None for agent in result.agents)


def _facts(result: Any) -> dict[str, str]:
    told, seen = result.told, states(result)
    over = "" if told.round_seconds is None else f", over {number(told.seconds)} s"
    facts = {
        "network": result.network,
        "watched": f"{number(result.seconds)} s",
        "agents": f"{len(result.agents)}: {seen}" if seen else "none yet",
        "pace": result.pace or "-",
        "a round of the network": f"{number(told.round_seconds)} s{over}",
    }
    return facts if result.reference is None else {**facts, "settles on": result.reference}


def _agent_table(result: Any) -> RenderableType:
    """Where each agent is, what it believes, and how much of a round is spent on it."""
    other = "believes" if is_of_nets(result) else "accuracy"
    table = grid(AGENT.changed(**{other: {"column": None}}), result.agents[:_MOST_LISTED])
    if len(result.agents) > _MOST_LISTED:
        table.add_row(f"and {len(result.agents) - _MOST_LISTED} more", *[""] * 7)
    return table


def _link_table(result: Any) -> RenderableType:
    """Who was heard, how much and how late; of many links, those that took longest."""
    title = "Links" if len(result.links) <= _MOST_LISTED else "Links that took longest"
    names = {"words": lambda value, _: result.agents[value].name}
    shown = sorted(oldest(result.links)[:_MOST_LISTED], key=attrgetter("hearer", "heard"))
    return grid(LINK.changed(hearer=names, heard=names), shown, title=title)


def _stretches(result: Any) -> RenderableType:
    """Times in which the same agents were present, and the rate that decided in each."""
    table = figures_table(
        "While the same agents were there", "from s", "for s", "there",
        "predicted", "measured", "standard error",
    )  # fmt: skip
    rate = attrgetter("predicted", "measured", "standard_error")
    for stretch in result.stretches[-_MOST_LISTED:]:
        cells = (None,) * 3 if stretch.binding is None else rate(stretch.binding)
        there = f"{len(stretch.present)} of {len(result.agents)}"
        table.add_row(number(stretch.began), number(stretch.seconds), there, *map(number, cells))
    return table
