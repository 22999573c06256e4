"""A live network as it was watched: who was heard, how late, and rates beside predictions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from peerbayes.documents import GraphDocument
from peerbayes.figures.canvas import Plot
from peerbayes.figures.chart import DASHES, MOST_SERIES, Chart, linear_scale, series_style
from peerbayes.figures.graph import network_plot, not_drawn
from peerbayes.figures.views import (
    HOLDS,
    NO_STATEMENTS,
    NOT_RUN,
    Fact,
    Row,
    Section,
    Table,
    Verdict,
    pictures,
)
from peerbayes.figures.wording import DASH, count, number, percentage
from peerbayes.live.watch.quantities import (
    ALLOWED,
    CONTRADICTS,
    WATCH,
    is_of_nets,
    oldest,
    slowest,
    states,
)

DIFFERS = Verdict("news", "△", "differs")
_MOST_ROWS = 60
_MOST_RATES = 12


def watched_view(body: Any, *, key: str) -> Section:
    """Everything the page says of one watch: `body` is that of its record."""
    record = WATCH.read(body)
    graph = _graph(record)
    tables = (_agents(record), _links(record))
    return Section(
        key=key,
        name=record.name,
        heading=f"{record.name}, watched as it ran",
        title=record.title,
        finding=_finding(record),
        facts=_facts(record),
        statements=replace(NO_STATEMENTS, rows=tuple(_statements(record))),
        pictures=pictures(list(_plots(record, graph)), key),
        tables=tuple(table for table in tables if len(table)),
        notes=tuple(_notes(record, graph)),
    )


def _finding(record: Any) -> str:
    against = record.told.contradicted
    rate = against or record.told.binding
    said = rate_words(rate)
    if rate is None or not said:
        return "No rate was measured: see the notes."
    end = f": {CONTRADICTS}." if against else "."
    return f"Beliefs in “{rate.hypothesis}” {said}{end}"


def _facts(record: Any) -> tuple[Fact, ...]:
    told = record.told
    anew = sum(agent.began_anew for agent in record.agents)
    refused = sum(sum(agent.refused.values()) for agent in record.agents)
    milli = None if told.round_seconds is None else 1000 * told.round_seconds
    return (
        Fact("Agents", count(len(record.agents)), states(record)),
        Fact("Watched", f"{number(record.seconds)} s", f"from {_moment(record.began)}"),
        Fact("Pace", record.pace or DASH),
        Fact("A round", DASH if milli is None else f"{number(milli)} ms", "of the whole network"),
        Fact("Began anew", count(anew), "processes"),
        Fact("Refused", count(refused), "frames, by all agents"),
    )


def _moment(text: str) -> str:
    """A moment in UTC as people read it."""
    return text.replace("T", " ").replace("+00:00", " UTC")


def _statements(record: Any) -> Iterator[Row]:
    """Rates of the main stretch, slowest first, then the deciding rate of every other one."""
    told = record.told
    for rate in slowest(told.rates)[:_MOST_RATES]:
        yield _statement(rate, told, len(record.agents))
    for index, stretch in enumerate(record.stretches):
        if index != record.main and stretch.binding is not None:
            yield _statement(stretch.binding, stretch, len(record.agents))


def _statement(rate: Any, stretch: Any, agents: int) -> Row:
    deviation, verdict = None, NOT_RUN
    if None not in (rate.predicted, rate.measured) and rate.standard_error:
        deviation = abs((rate.measured or 0.0) - (rate.predicted or 0.0)) / rate.standard_error
        verdict = HOLDS if deviation <= ALLOWED else DIFFERS
    note = f"standard error as the beliefs show it: {number(rate.blocks_error, 2)}"
    return Row(
        f"“{rate.hypothesis}” is rejected, nats a second; from {number(stretch.began)} s for "
        f"{number(stretch.seconds)} s, {len(stretch.present)} of {agents} agents present",
        (
            number(rate.predicted, 5),
            number(rate.measured, 5),
            number(rate.standard_error, 2),
            "estimate",
            note if rate.blocks_error is not None else "",
        ),
        verdict,
        deviation,
    )


def _plots(record: Any, graph: GraphDocument | None) -> Iterator[Plot | None]:
    if record.course is not None:
        yield live_course_plot(record.course, record.stretches)
    if graph is not None:
        yield network_plot(graph)


def live_course_plot(course: Any, stretches: list[Any]) -> Plot:
    """A line an agent, and in every stretch of time the slope that was predicted for it."""
    series = [
        (name, np.array(seconds), np.array(ratios))
        for name, seconds, ratios in zip(
            course.agents, course.seconds, course.log_ratios, strict=True
        )
    ]
    lines = [line for one in stretches if (line := _predicted(course, one, series)) is not None]
    seconds = np.concatenate([s for _, s, _ in series])
    ratios = np.concatenate([r for _, _, r in series] + [y for _, y in lines])
    chart = Chart(linear_scale([0.0, *seconds], zero=True), linear_scale([0.0, *ratios]))
    few = len(series) <= MOST_SERIES
    for index, (name, x, y) in enumerate(series):
        if few:
            chart.line(x, y, series_style(index)[0], name, width=1.2)
        else:
            chart.line(x, y, "cloud", "" if index else "agents", width=0.7, over=2)
    for index, (x, y) in enumerate(lines):
        label = "" if index else "growth predicted by who was heard, how late"
        chart.line(x, y, "ink", label, dashes=DASHES, over=4)
    return chart.plot(
        "Log belief ratio while it was watched",
        f"How much more “{course.reference}” is believed than “{course.hypothesis}”. Predicted "
        "lines begin where the agents’ mean is when a stretch of time begins; their slope is not "
        "fitted.",
        x="seconds",
        y="log belief ratio [nats]",
    )


def _predicted(
    course: Any,
    stretch: Any,
    series: list[tuple[str, np.ndarray, np.ndarray]],
) -> tuple[np.ndarray, np.ndarray] | None:
    """Two points of the predicted line of a stretch; None where nothing is predicted."""
    rate = next((r for r in stretch.rates if r.hypothesis == course.hypothesis), None)
    if rate is None or rate.predicted is None or stretch.seconds <= 0:
        return None
    ends = np.array([stretch.began, stretch.began + stretch.seconds])
    heights = [np.interp(ends[0], x, y) for name, x, y in series if name in stretch.present]
    if not heights:
        return None
    start = float(np.mean(heights))
    return ends, start + rate.predicted * (ends - ends[0])


def _graph(record: Any) -> GraphDocument | None:
    """Weights that were measured, and the influence that follows; None where it does not."""
    shares = [agent.influence for agent in record.agents]
    measured = [link for link in record.links if link.weight]
    if not any(shares):
        return None
    return GraphDocument(
        edges=[(link.hearer, link.heard) for link in measured],
        weights=[link.weight or 0.0 for link in measured],
        positions=record.positions,
        stationary_distribution=[share or 0.0 for share in shares],
        quantity="the influence v of the weights that were measured",
        names=[agent.name for agent in record.agents],
    )


def _agents(record: Any) -> Table:
    is_net = is_of_nets(record)
    columns = (
        "state", "rounds", "ms a round", "v", "slowness",
        "accuracy" if is_net else "believes", "observations", "refused", "memory [MB]",
    )  # fmt: skip
    rows = tuple((agent.name, _cells(agent, is_net)) for agent in record.agents[:_MOST_ROWS])
    return Table.of(f"Agents: {record.name}", "agent", columns, rows)


def _cells(agent: Any, is_net: bool) -> tuple[str, ...]:
    anew = f", {agent.began_anew}× anew" if agent.began_anew else ""
    belief = DASH
    if is_net:
        belief = DASH if agent.accuracy is None else percentage(agent.accuracy)
    elif agent.believes is not None:
        belief = f"{agent.believes}, {number(agent.probability)}"
    return (
        agent.state + anew,
        DASH if agent.round is None else count(agent.round),
        _milli(agent.round_seconds),
        number(agent.influence),
        DASH if agent.slowness is None else percentage(agent.slowness),
        belief,
        count(agent.evidence_taken),
        _refused(agent.refused),
        number(agent.rss_mb, 3),
    )


def _refused(reasons: dict[str, int]) -> str:
    told = [f"{count(number_of)} {reason}" for reason, number_of in reasons.items() if number_of]
    return "; ".join(told) or "0"


def _links(record: Any) -> Table:
    """Who was heard, how much and how late; those that took longest first."""
    names = [agent.name for agent in record.agents]
    rows = tuple(
        (
            f"{names[link.hearer]} hears {names[link.heard]}",
            (
                {True: "there", False: "gone", None: DASH}[link.alive],
                number(link.weight),
                number(link.weight_given),
                DASH if link.used is None else percentage(link.used),
                _milli(link.seconds),
                number(link.rounds_late, 3),
            ),
        )
        for link in oldest(record.links)[:_MOST_ROWS]
    )
    columns = ("at the end", "weight", "given", "used", "ms old", "rounds late")
    return Table.of(f"Links: {record.name}", "link", columns, rows)


def _milli(seconds: float | None) -> str:
    return DASH if seconds is None else number(1000 * seconds)


def _notes(record: Any, graph: GraphDocument | None) -> Iterator[str]:
    yield from record.notes
    yield f"network {record.network}: the first 16 hexadecimal digits of the problem’s digest"
    yield (
        "Predicted: v·I over the seconds a round of the network takes, with v of the weights that "
        "were measured. A difference of more than five standard errors says that the evidence is "
        "not what the problem says, or that weights and lateness depend on what is heard."
    )
    yield "“ms old” counts a message’s age and the time since its sender’s message before."
    if record.refused:
        told = "; ".join(f"{count(n)} {reason}" for reason, n in record.refused.items())
        yield f"reports that the watcher refused: {told}"
    if graph is not None:
        yield from not_drawn(graph)
    for what, listed in (("agents", record.agents), ("links", record.links)):
        if len(listed) > _MOST_ROWS:
            yield f"{_MOST_ROWS} of {len(listed)} {what} are listed"


def rate_words(rate: Any) -> str:
    """How fast beliefs in one hypothesis fall or rise, and what was predicted; "" if not known.

    >>> from peerbayes.live.watch.quantities import RATE
    >>> numbers = {"predicted": 1.5, "measured": 1.25, "standard_error": 0.25}
    >>> rate = RATE.read({"hypothesis": "b", "blocks_error": None, **numbers})
    >>> rate_words(rate)
    'fell by 1.250 ± 0.25 nats a second, predicted 1.5'
    >>> rate_words(rate.model_copy(update={"measured": -0.5}))
    'rose by 0.5 ± 0.25 nats a second, predicted to fall by 1.5'
    """
    if rate is None or rate.measured is None:
        return ""
    fell = rate.measured >= 0
    said = f"{'fell' if fell else 'rose'} by {number(abs(rate.measured))}"
    if rate.standard_error is not None:
        said += f" ± {number(rate.standard_error, 2)}"
    said += " nats a second"
    if rate.predicted is None:
        return said
    return f"{said}, predicted {'' if fell else 'to fall by '}{number(rate.predicted)}"
