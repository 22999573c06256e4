"""From what a watcher knows to the document that it prints and records."""

from __future__ import annotations

from typing import Any

import numpy as np

from peerbayes.documents import number
from peerbayes.live.watch.courses import Course
from peerbayes.live.watch.documents import (
    CONTRADICTS,
    LiveAgent,
    LiveCourse,
    LiveLink,
    LiveRate,
    LiveStretch,
    WatchDocument,
)
from peerbayes.live.watch.measured import Measured, Rate
from peerbayes.live.watch.watcher import Past, Seen, Sight
from peerbayes.messages import shorten
from theory.validation import FloatArray

_MOST_POINTS = 120


def document_of(sight: Sight, *, with_course: bool = False) -> WatchDocument:
    """All that a watcher knows at one moment."""
    watched, found = sight.watched, sight.measured
    hypotheses = watched.hypotheses or _numbered(sight)
    reference = None if found.reference is None else hypotheses[found.reference]
    reports = [seen.report for _, seen in sight.agents if seen.report is not None]
    stretches = [_stretch(past, hypotheses) for past in sight.stretches]
    notes = list(stretches[sight.main].notes)
    against = stretches[sight.main].contradicted
    if against is not None:
        notes.append(
            f"beliefs in {against.hypothesis!r} rose by {-(against.measured or 0.0):.4g} nats a "
            f"second where a fall by {against.predicted:.4g} is predicted: {CONTRADICTS}"
        )
    if sight.jumped:
        named = ", ".join(f"{name} by {jump:+.4g} s" for name, jump in sight.jumped.items())
        notes.append(
            f"clocks jumped against the watcher's ({shorten(named, length=300)}): what lies before "
            "is measured apart, and what lies across is left out"
        )
    doubled = {*sight.doubled}.union(*(report.doubled for report in reports))
    notes.extend(
        f"two processes speak as agent {shorten(repr(name), length=80)}: the second is left out"
        for name in sorted(doubled)[:6]
    )
    if sight.refused:
        notes.append(f"{sum(sight.refused.values())} reports were refused")
    unseen = [name for name, seen in sight.agents if seen.report is None]
    if reports and unseen:
        named = ", ".join(unseen[:6]) + ", …" * (len(unseen) > 6)
        notes.append(
            f"nothing heard of {named}: agents pass nothing on, connect to each or a router"
        )
    return WatchDocument(
        network=watched.network,
        name=watched.name,
        title=watched.title,
        began=sight.began.isoformat(timespec="seconds"),
        seconds=sight.seconds,
        pace=reports[0].pace if reports else None,
        hypotheses=list(hypotheses) or None,
        reference=reference,
        agents=[
            _agent(i, name, seen, sight, hypotheses) for i, (name, seen) in enumerate(sight.agents)
        ],
        links=_links(sight),
        stretches=stretches,
        main=sight.main,
        positions=None if watched.positions is None else watched.positions.tolist(),
        refused=sight.refused,
        notes=notes,
        course=_course(sight, hypotheses) if with_course else None,
    )


def _numbered(sight: Sight) -> tuple[str, ...]:
    """Hypotheses by their numbers, where nobody told their names."""
    beliefs = [seen.report.belief.log_belief for _, seen in sight.agents if seen.report is not None]
    count = max((len(belief) for belief in beliefs if belief), default=0)
    return tuple(str(theta) for theta in range(count))


def _agent(i: int, name: str, seen: Seen, sight: Sight, hypotheses: tuple[str, ...]) -> LiveAgent:
    found, report = sight.measured, seen.report
    known = i in found.agents
    influence = number(found.influence[i]) if known and found.influence is not None else None
    slowness = number(found.slowness[i]) if known and found.slowness is not None else None
    about: dict[str, Any] = dict.fromkeys(("round", "believes"))
    about |= {"receipts": {}, "refused": {}, "evidence_taken": 0, "evidence_refused": 0}
    about |= {"bytes_sent": 0}
    if report is not None:
        about |= {
            "round": report.round,
            "epoch": report.epoch,
            "receipts": report.receipts,
            "refused": report.refused,
            "evidence_taken": report.evidence.taken,
            "evidence_refused": report.evidence.refused,
            "bytes_sent": report.bytes_sent,
            "rss_mb": report.rss_mb,
            "stored_round": report.stored_round,
            "accuracy": report.belief.accuracy,
            "nll": report.belief.nll,
            **_believes(report.belief.log_belief, hypotheses),
        }
    return LiveAgent(
        name=name,
        state=seen.state(sight.now),
        reports=seen.reports,
        began_anew=seen.began_anew,
        round_seconds=number(found.rhythm[i]) if known else None,
        influence=influence,
        slowness=slowness,
        **about,
    )


def _believes(log_belief: list[float] | None, hypotheses: tuple[str, ...]) -> dict[str, Any]:
    if not log_belief or len(log_belief) != len(hypotheses):
        return {"believes": None}
    beliefs = np.exp(np.array(log_belief) - np.logaddexp.reduce(log_belief))
    best = int(np.argmax(log_belief))
    return {
        "believes": hypotheses[best],
        "probability": min(1.0, float(beliefs[best])),
        "probabilities": np.minimum(beliefs, 1.0).tolist(),
    }


def _links(sight: Sight) -> list[LiveLink]:
    """Links that the problem has, and such as agents tell of."""
    names = [name for name, _ in sight.agents]
    numbers = {name: i for i, name in enumerate(names)}
    given = sight.watched.weights
    pairs: set[tuple[int, int]] = set()
    if given is not None:
        pairs |= {(int(i), int(j)) for i, j in np.argwhere(given > 0) if i != j}
    told = {}
    for i, (_, seen) in enumerate(sight.agents):
        for name, link in (seen.report.links if seen.report is not None else {}).items():
            j = numbers.get(name)
            if j is not None and j != i:
                pairs.add((i, j))
                told[i, j] = link.alive
    return [_link(i, j, told.get((i, j)), given, sight.measured) for i, j in sorted(pairs)]


def _link(
    i: int, j: int, alive: bool | None, given: FloatArray | None, found: Measured
) -> LiveLink:
    measured: dict[str, float | None] = dict.fromkeys(("weight", "used", "seconds", "rounds_late"))
    if i in found.agents and j < len(found.rhythm):
        weight = float(found.weights[i, j])
        seconds = found.waits[i, j] / weight if weight > 0 else np.nan
        measured = {
            "weight": number(weight),
            "used": number(found.used[i, j]),
            "seconds": number(seconds),
            "rounds_late": number(found.late[i, j]),
        }
    known = given is not None and max(i, j) < len(given)
    return LiveLink(
        hearer=i,
        heard=j,
        alive=alive,
        weight_given=float(given[i, j]) if given is not None and known else None,
        **measured,
    )


def _stretch(past: Past, hypotheses: tuple[str, ...]) -> LiveStretch:
    return LiveStretch(
        began=past.began,
        seconds=past.seconds,
        present=list(past.present),
        round_seconds=past.round_seconds,
        rates=[_rate(rate, hypotheses) for rate in past.rates],
        notes=list(past.notes),
    )


def _rate(rate: Rate, hypotheses: tuple[str, ...]) -> LiveRate:
    return LiveRate(
        hypothesis=hypotheses[rate.hypothesis],
        predicted=rate.predicted,
        measured=rate.measured,
        standard_error=rate.standard_error,
        blocks_error=rate.blocks_error,
    )


def _course(sight: Sight, hypotheses: tuple[str, ...]) -> LiveCourse | None:
    """Log-ratios of the binding hypothesis from the beginning, thinned."""
    binding = sight.measured.binding
    reference = sight.measured.reference
    if binding is None or reference is None:
        return None
    agents, seconds, ratios = [], [], []
    for name, _ in sight.agents:
        course = sight.courses.get(name)
        times, values = _ratios(course, reference, binding.hypothesis)
        if len(times):
            agents.append(name)
            seconds.append([max(0.0, float(t)) for t in times - (sight.now - sight.seconds)])
            ratios.append(values.tolist())
    if not agents:
        return None
    return LiveCourse(
        hypothesis=hypotheses[binding.hypothesis],
        reference=hypotheses[reference],
        agents=agents,
        seconds=seconds,
        log_ratios=ratios,
    )


def _ratios(course: Course | None, reference: int, other: int) -> tuple[FloatArray, FloatArray]:
    if course is None:
        return np.zeros(0), np.zeros(0)
    times, beliefs = course.beliefs
    if not len(times) or beliefs.shape[1] <= max(reference, other):
        return np.zeros(0), np.zeros(0)
    step = -(-len(times) // _MOST_POINTS)
    return times[::step], (beliefs[:, reference] - beliefs[:, other])[::step]
