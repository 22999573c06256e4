"""A watcher fed by an event-by-event network: presence, stretches, refusals, the record."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from peerbayes.live.members import Members
from peerbayes.live.watch.quantities import WATCH, document_of
from peerbayes.live.watch.reports import LARGEST_REPORT, read_report
from peerbayes.live.watch.watcher import Watched, Watcher
from peerbayes.live.watch.watching import watch_until
from peerbayes.records import read_record
from tests.peerbayes.live.watch.network import (
    KNOWN,
    NETWORK,
    ROWS,
    Evidence,
    Fed,
    LiveNetwork,
    fed,
    lockstep,
    one_report,
    own_paces,
    steady,
)


def test_what_is_told_of_a_steady_network() -> None:
    document = document_of(fed(own_paces(steady), 30).sight(), with_course=True)
    assert [agent.state for agent in document.agents] == ["here"] * 3
    assert (document.reference, document.pace) == ("fair", "own")
    assert {agent.believes for agent in document.agents} == {"fair"}
    assert sum(agent.influence for agent in document.agents) == pytest.approx(1)
    assert sum(agent.slowness for agent in document.agents) == pytest.approx(1)
    weights = {(link.hearer, link.heard): link.weight for link in document.links}
    assert weights == pytest.approx(
        {(i, j): ROWS[i, j] for i, j in np.argwhere(ROWS > 0) if i != j}
    )
    # Messages are 5 to 25 ms on their way, and then wait for the hearer, whose mean pause is 10 to
    # 30 ms; the gap before is a pause of the sender.
    assert all(0.02 < link.seconds < 0.15 for link in document.links)
    course = document.course
    assert course.agents == ["a0", "a1", "a2"]
    slope = np.polyfit(course.seconds[0], course.log_ratios[0], 1)[0]
    assert slope == pytest.approx(document.told.binding.predicted, rel=0.01)


@cache
def steady_seconds(pace: Callable[[Evidence], LiveNetwork]) -> float:
    """Seconds of a round of a network whose clocks do not jump."""
    return document_of(fed(pace(steady), 40).sight()).told.round_seconds


@pytest.mark.parametrize("pace", [own_paces, lockstep])
@pytest.mark.parametrize(
    ("jump", "who"),  # all at once: the watcher's own clock
    [(3600.0, {1}), (-3600.0, {0, 1, 2}), (30.0, {0, 1, 2}), (-2.5, {1})],
)
def test_a_clock_that_jumps_moves_no_rate(
    pace: Callable[[Evidence], LiveNetwork], jump: float, who: set[int]
) -> None:
    network = pace(steady)
    network.clock = lambda i, at: 100 + at + jump * (i in who and at > 12)
    document = document_of(fed(network, 40).sight())
    told = document.told
    (note,) = [note for note in document.notes if "clocks jumped" in note]
    assert all(f"a{i} by {jump:+.4g} s" in note for i in who)
    for rate in told.rates:  # of some 25 s, to a belief that is a round old
        assert rate.measured == pytest.approx(rate.predicted, rel=0.02)
    assert told.round_seconds == pytest.approx(steady_seconds(pace), rel=0.05)
    assert not document.refused


@pytest.mark.parametrize("jump", [100.0, -8.0])
def test_a_watcher_s_clock_that_jumps_moves_no_rate(jump: float) -> None:
    watcher = Fed(own_paces(steady)).until(40, shows=lambda at: at + jump * (at > 12))
    document = document_of(watcher.sight(), with_course=True)
    assert [note for note in document.notes if "clocks jumped" in note]
    for rate in document.told.rates:
        assert rate.measured == pytest.approx(rate.predicted, rel=0.02)


def test_one_late_report_is_no_jump() -> None:
    seen, number = Fed(own_paces(steady)), count(1)

    def tell(name: str, report: bytes) -> None:
        seen.watcher.report(name, report, seen.now + 1.5 * (next(number) == 40))

    document = document_of(seen.until(40, tell=tell).sight())
    assert (len(document.stretches), document.notes) == (1, [])
    for rate in document.told.rates:
        assert rate.measured == pytest.approx(rate.predicted, rel=0.02)


def test_two_processes_that_report_as_one_agent_are_told() -> None:
    seen = Fed(own_paces(steady))
    watcher, reports = seen.watcher, []

    def tell(name: str, report: bytes) -> None:
        watcher.report(name, report, seen.now, name)
        if name == "a0" and 5 < seen.now < 15:
            watcher.report(name, report, seen.now + 0.1, "another")
        reports.append((name, report))

    seen.until(20, tell=tell)
    name, report = reports[-1]
    said = {**json.loads(report), "doubled": ["a1", "a\n2"]}
    watcher.report(name, json.dumps(said).encode(), seen.now, name)
    document = document_of(watcher.sight())
    told = [note.split(": ")[0].split("agent ")[1] for note in document.notes if "two pro" in note]
    assert told == [r"'a\n2'", "'a0'", "'a1'"]
    # Of nine reports the first was taken: nobody could know yet that the other process lives.
    assert document.refused == {"second process": 8}


def test_a_report_overtaken_by_the_loss_of_its_token_brings_nobody_back() -> None:
    watcher = Watcher(Watched.by_digest(NETWORK))
    report = json.dumps(one_report()).encode()
    watcher.alive("a0", True, 1.0)
    watcher.alive("a0", False, 5.0)
    watcher.report("a0", report, 5.0 + 0.9 * watcher.settle)
    assert watcher.seen["a0"].reports == 1
    assert not watcher.seen["a0"].here
    # Whoever is still heard later is there, whatever became of the token.
    watcher.report("a0", report, 5.0 + watcher.settle)
    assert watcher.seen["a0"].here


def test_a_killed_agent_ends_a_stretch_and_its_return_begins_another() -> None:
    network = own_paces(steady)
    network.absent = ((1, 20.0, 40.0),)
    seen = Fed(network)
    document = document_of(seen.until(39).sight())
    assert [agent.state for agent in document.agents] == ["here", "gone", "here"]
    assert [len(stretch.present) for stretch in document.stretches] == [3, 2]
    assert document.main == 1  # the one of now has a rate
    assert document.agents[1].influence is None
    assert not next(link for link in document.links if (link.hearer, link.heard) == (0, 1)).alive
    # Row 0 gives the dead agent's .3 to itself, row 2 its .2: v of two states by hand.
    v0 = 0.1 / (0.1 + 0.2)
    assert document.agents[0].influence == pytest.approx(v0, abs=0.01)
    document = document_of(seen.until(75).sight())
    assert [len(stretch.present) for stretch in document.stretches] == [3, 2, 3]
    assert document.agents[1].began_anew == 1
    began = [stretch.began for stretch in document.stretches]
    assert began == pytest.approx([1, 20, 40], abs=1.5)
    for stretch in document.stretches:
        for rate in stretch.rates:  # rounds at both ends
            assert rate.measured == pytest.approx(rate.predicted, rel=0.02)
    at_end = document_of(seen.watcher.sight(at_end=True))
    assert at_end.told.seconds == max(stretch.seconds for stretch in document.stretches)


def test_what_is_no_report_is_refused_and_counted() -> None:
    watcher = Watcher(KNOWN)
    good = one_report()
    text = json.dumps(good).encode()
    bad = {
        "too large": text + b" " * LARGEST_REPORT,
        "no JSON": b"\xff{",
        "a list": b"[]",
        "too deep": b"[" * 20000,
        "another network": json.dumps({**good, "network": "f" * 16}).encode(),
        "another schema": json.dumps({**good, "schema": 2}).encode(),
        "not finite": text.replace(b'"poolings": ', b'"gap": NaN, "poolings": '),
        "negative": json.dumps({**good, "poolings": -1}).encode(),
        "a belief of one": json.dumps({**good, "belief": {"log_belief": [0.0]}}).encode(),
    }
    for number, payload in enumerate(bad.values(), 1):
        watcher.report("a0", payload)
        assert sum(watcher.refused.values()) == number
    watcher.report("a1", text)  # in another agent's name
    watcher.report("stranger", json.dumps({**good, "agent": "stranger"}).encode())
    assert sum(watcher.refused.values()) == len(bad) + 2
    assert not watcher.has_heard
    watcher.report("a0", text)
    assert watcher.has_heard


def test_a_refusal_is_one_line() -> None:
    with pytest.raises(
        ValueError, match=r"^poolings: expected a report of an agent, got .*; "
    ) as e:
        read_report(json.dumps({**one_report(), "poolings": -1}).encode(), network="", agent="")
    assert "\n" not in str(e.value)


def test_a_network_that_nobody_described_tells_its_own_names() -> None:
    document = document_of(fed(own_paces(steady), 20, Watched.by_digest(NETWORK)).sight())
    assert [agent.name for agent in document.agents] == ["a0", "a1", "a2"]
    assert document.hypotheses == ["0", "1", "2"]
    assert document.told.binding.predicted is None
    assert document.told.binding.measured > 0
    assert {link.weight_given for link in document.links} == {None}


def test_a_list_of_a_later_epoch_names_newcomers() -> None:
    watcher = Watcher(KNOWN)
    rows = ({0: 0.5, 1: 0.5}, {1: 1.0}, {2: 1.0}, {3: 0.5, 0: 0.5})
    later = Members(NETWORK, 1, ("a0", "a1", "a2", "new"), rows)
    watcher.members(json.dumps(later.document()).encode())
    assert watcher.names == later.names
    assert watcher.watched.weights[3, 0] == 0.5
    older = Members(NETWORK, 0, ("x",), ({0: 1.0},))
    for bad in (older.document(), {**later.document(), "network": "f" * 16, "epoch": 9}):
        watcher.members(json.dumps(bad).encode())
    assert watcher.names == later.names
    signed = Watcher(KNOWN, authority="0" * 64)
    signed.members(json.dumps(later.document()).encode())
    assert signed.names == KNOWN.names
    assert signed.refused["members"] == 1


def test_another_list_of_members_begins_another_stretch() -> None:
    seen = Fed(own_paces(steady))

    def tell(name: str, report: bytes) -> None:
        later = json.loads(report) | {"epoch": int(seen.now > 15)}
        seen.watcher.report(name, json.dumps(later).encode())

    stretches = seen.until(30, tell=tell).sight().stretches
    # Each begins with its first report, is measured from a second later, and all agents cover it
    # from up to a second after that.
    assert [one.began for one in stretches] == pytest.approx([1, 15 + 1 / 3], abs=1e-9)
    assert [one.seconds for one in stretches] == pytest.approx([12, 13], abs=1.01)


def test_a_record_is_left_and_read_back(tmp_path: Path) -> None:
    seen = Fed(own_paces(steady))
    watcher, shown = seen.watcher, list[Any]()

    def pause(seconds: float) -> None:
        seen.until(seen.now + seconds)

    outcome = watch_until(watcher, seconds=40, show=shown.append, out=tmp_path, pause=pause)
    assert len(shown) > 70
    record = read_record(outcome.record_path)
    assert record.kind == "watch"
    body = WATCH.read(record.body)
    assert body.course is not None
    assert body.as_json() == outcome.watched.as_json()
    assert outcome.document().course is None
    # Another watch of the same network sets the record aside.
    again = watch_until(watcher, seconds=1, out=tmp_path, pause=pause)
    assert again.record_path == outcome.record_path
    assert len(list(tmp_path.glob("*.json"))) == 2


def test_watching_ends_when_all_are_done_and_nobody_heard_is_an_error(tmp_path: Path) -> None:
    now = 0.0

    def pause(seconds: float) -> None:
        nonlocal now
        now += seconds

    watcher = Watcher(KNOWN, clock=lambda: now)
    with pytest.raises(ValueError, match="expected reports of agents, got none in 3 s"):
        watch_until(watcher, seconds=3, out=tmp_path, pause=pause)
    assert not list(tmp_path.iterdir())
    watcher.report("a0", json.dumps({**one_report(), "done": True}).encode())
    watch_until(watcher, pause=pause)  # ends
    assert now < 15
