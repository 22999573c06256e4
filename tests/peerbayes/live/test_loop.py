"""Loops of live agents in threads: the numbers of `exact.exchange`, and what ends no loop."""

from __future__ import annotations

import json
import threading
import time
from itertools import count
from typing import Any

import numpy as np
import pytest

import peerbayes as pb
from exact import exchange
from exact.changing.peer_state import Receipt
from peerbayes.live.evidence import drawn
from peerbayes.live.finding import every_share
from peerbayes.live.frames import Frame, seal, unseal
from peerbayes.live.hearing import Speakers, Trust
from peerbayes.live.loop import Pacing
from peerbayes.live.members import Members
from peerbayes.live.watch.reports import read_report
from tests.peerbayes.live.hub import Hub, loop_of, run_together

_COIN = {"truth": "fair", "likelihood": [[["1/2", "1/2"]], [["3/4", "1/4"]]]}
_RING = [["1/2", "1/2", "0", "0"], ["0", "1/2", "1/2", "0"], ["0", "0", "1/2", "1/2"],
         ["1/2", "0", "0", "1/2"]]  # fmt: skip
_PAIR = [["1/2", "1/2"], ["1/2", "1/2"]]
# Seconds that no test lasts: who waits for somebody in vain is seen to hang.
_LONG = 600.0


def _problem(weights: list[list[str]]) -> Any:
    from peerbayes.problem.reading import problem_from_document

    model = {"hypotheses": ["fair", "loaded"], "agents": [{"count": len(weights), **_COIN}]}
    document = {"name": "coins", "network": {"weights": weights}, "model": model}
    return problem_from_document(document)


def _exact(problem: Any, rounds: int, seed: int) -> Any:
    shares = every_share(problem)
    seen = np.stack([drawn(share, rounds=rounds, seed=seed) for share in shares], axis=1)
    return exchange(problem.network, seen, seed=0).beliefs.private[-1]


@pytest.mark.parametrize("weights", [_RING, None])
def test_lock_step_has_the_numbers_of_the_exact_run(weights: Any) -> None:
    # A ring in one direction, where an agent is up to three rounds ahead of its listener; a star.
    problem = pb.load("p2-star") if weights is None else _problem(weights)
    hub, rounds = Hub(), 40
    pacing = Pacing(rounds=rounds, patience=_LONG, linger=0)
    found = run_together(loop_of(hub, share, pacing, seed=5) for share in every_share(problem))
    live = [found[name]["belief"]["log_belief"] for name in sorted(found, key=int)]
    assert np.abs(np.array(live) - _exact(problem, rounds, 5)).max() <= 1e-12
    for report in found.values():
        assert report["done"]
        assert report["poolings"] == rounds
        total = report["own"]["weight"] + sum(link["weight"] for link in report["links"].values())
        assert total == pytest.approx(rounds)


def test_messages_twice_and_again_change_nothing() -> None:
    kept: list[bytes] = []

    def double(sender: str, to: str, data: bytes) -> list[bytes]:
        kept.append(data)
        return [data, kept[0], data]

    problem = _problem(_RING)
    pacing = Pacing(rounds=30, patience=_LONG, linger=0)
    hub = Hub(double)
    found = run_together(loop_of(hub, s, pacing, seed=1) for s in every_share(problem))
    live = [found[name]["belief"]["log_belief"] for name in sorted(found)]
    assert np.abs(np.array(live) - _exact(problem, 30, 1)).max() <= 1e-12
    counts = found["0"]["receipts"]
    assert counts["duplicate"] + counts["late"] >= 30


def test_lost_messages_are_replaced_by_the_rule_and_counted() -> None:
    random = np.random.default_rng(0)
    lock = threading.Lock()

    def lossy(sender: str, to: str, data: bytes) -> list[bytes]:
        with lock:
            return [] if random.random() < 0.2 else [data]

    hub = Hub(lossy)
    pacing = Pacing(rounds=60, patience=0.01, linger=0.5)
    shares = every_share(_problem(_RING))
    found = run_together(loop_of(hub, s, pacing, seed=1) for s in shares)
    late: list[int] = []
    for report in found.values():
        assert report["done"]
        (link,) = report["links"].values()
        # By "last" what is held is used again: every pooling has one, some of them late.
        assert link["used"] == report["poolings"]
        late.append(link["rounds_late"])
        assert np.isfinite(report["belief"]["log_belief"]).all()
    # An agent that is left behind skips rounds, and may be spared; not all of them are.
    assert sum(late) > 0


def test_an_agent_that_goes_is_done_without_at_once() -> None:
    hub = Hub()
    shares = every_share(_problem(_RING))
    short = Pacing(rounds=10, linger=0)
    long = Pacing(rounds=400, patience=_LONG, linger=0)
    loops = [loop_of(hub, s, short if s.agent == "1" else long) for s in shares]
    found = run_together(loops)  # had its listener waited for it, it would still
    link = found["0"]["links"]["1"]
    assert not link["alive"]
    assert link["weight"] < 0.5 * 30
    assert found["0"]["round"] == 400


def test_one_that_returns_to_nobody_waits_for_somebody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("peerbayes.live.loop._BACK", 0.01)
    hub = Hub()
    shares = every_share(_problem(_PAIR))
    pacing = Pacing(rounds=6, patience=_LONG, linger=0.2, gather=60.0)
    first, second = (loop_of(hub, share, pacing) for share in shares)
    for loop in (first, second):
        loop._learner.skip(4)  # as if back from a state of round 3
    thread = threading.Thread(target=first.run, daemon=True)
    thread.start()
    time.sleep(0.3)  # by far longer than it would wait for the others, were somebody there
    assert first._learner.round == 3
    report = second.run()
    thread.join(60)
    assert report["receipts"]["new"] + report["receipts"]["early"] == 3


def test_one_whose_state_holds_the_others_to_be_gone_waits_for_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Whoever ends last has seen the others leave."""
    hub = Hub()
    shares = every_share(_problem(_PAIR))
    pacing = Pacing(rounds=6, patience=_LONG, linger=0.2)
    loops = [loop_of(hub, share, pacing) for share in shares]
    for loop, other in zip(loops, "10", strict=True):
        loop._learner.skip(4)
        loop._learner.lose(other)
    learn = loops[1]._learner.learn

    def slowly(evidence: Any) -> Any:
        time.sleep(0.2)
        return learn(evidence)

    monkeypatch.setattr(loops[1]._learner, "learn", slowly)
    thread = threading.Thread(target=loops[1].run, daemon=True)
    thread.start()
    assert loops[0].run()["round"] == 6
    thread.join(60)
    for loop in loops:
        heard = loop.tally.receipts
        assert heard[Receipt.NEW] + heard[Receipt.EARLY] == 3


def test_one_left_behind_goes_to_the_others_round() -> None:
    hub = Hub()
    first, _ = every_share(_problem(_PAIR))
    slow = loop_of(hub, first, Pacing(rounds=500, patience=0.05, linger=0, gather=0))
    sent = {"log_belief": np.log([0.5, 0.5])}
    frame = Frame(first.network, "1", 0, 300, time.time(), 0.0, "finite", sent)
    slow._transport.open(slow.inbox, names=["1"], limit=10_000)
    slow.inbox.put("frame", "1", seal(frame))
    for _ in range(3):
        slow._shared_round()
    assert slow._learner.round >= 300
    # Nobody is that far ahead within a moment: a liar, who moves nobody.
    slow.inbox.put(
        "frame", "1", seal(Frame(first.network, "1", 0, 10**9, 0.0, 0.0, "finite", sent))
    )
    slow._shared_round()
    assert slow._learner.round < 400
    assert slow.tally.refused["far-ahead"] == 1


def test_what_is_wrong_is_refused_counted_and_said_once() -> None:
    hub, said = Hub(), []
    shares = every_share(_problem(_RING))
    pacing = Pacing(rounds=30, patience=_LONG, linger=0)
    loops = [loop_of(hub, s, pacing, log=said.append) for s in shares]
    good = seal(
        Frame(shares[0].network, "2", 0, 1, 0.0, 0.0, "finite", {"log_belief": np.zeros(2)})
    )
    wrong = [b"x", b"y" * 10_001, good[:-1], good.replace(b'"from":"2"', b'"from":"1"')]
    huge = Frame(
        shares[0].network, "1", 0, 1, 0.0, 0.0, "finite", {"log_belief": np.array([0, 1e200])}
    )
    for data in [*wrong, good, seal(huge)] * 2:
        loops[0].inbox.put("frame", "1", data)
    found = run_together(loops)
    assert found["0"]["refused"] == {
        "not-a-frame": 2, "too-large": 2, "bad-digest": 2, "wrong-name": 4, "not-finite": 2,
    }  # fmt: skip
    assert len([text for text in said if "refused" in text]) == 5
    assert all(report["round"] == 30 for report in found.values())


@pytest.mark.parametrize(
    ("spoken", "taken", "told"),
    [
        # One that came back, and again; what the first had said may come late, not much later.
        ("a0 a1 b2 b3 c4 c5", "yyyyyy", 0),
        ("a0 b5 a4 b6 a5 b7", "yyyyyy", 0),
        # The first speaks again: the second is heard no more, whoever else is.
        ("a0 b5 a6 b7 a8 b9", "yyynyn", 1),
        ("a0 b1 a2 c3 a4 b5 c6 a7 d8 d9", "yyyyynnyyy", 1),
        ("a0 b1 c2 b3 a4 c5 b6 a7", "yyyyynny", 1),
        # By clocks that differ, later, as what is under way does not take so long.
        ("a0 b5 a1 b6 a2 b7 a3 b8 a4 b9", "yyyyyyyyyy", 0),
        ("a0 b500 a1 b501 a12 b502 a13", "yyyyyny", 1),
        # Who does not say which process it is, is taken.
        ("-0 a1 -2 a3", "yyyy", 0),
    ],
)  # fmt: skip
def test_the_second_of_two_processes_is_heard_no_more(spoken: str, taken: str, told: int) -> None:
    said: list[str] = []
    speakers, now = Speakers(said.append), 0.0
    for one, right in zip(spoken.split(), taken, strict=True):
        made = float(one[1:])
        now = now + 1 if made > 100 else max(now, made)
        process = one[0].strip("-")
        assert speakers.hear("x", process, made=made, now=now) == (right == "y")
        assert speakers.hear("other", "z", made=made, now=now)
    assert len(said) == told
    assert speakers.doubled == ["x"] * told


def test_two_processes_of_a_neighbour_are_told_once_and_the_second_is_shown_the_first(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    hub, said, shown = Hub(), list[str](), list[bytes]()
    first, _ = every_share(_problem(_PAIR))
    loop = loop_of(hub, first, Pacing(rounds=9, patience=0, linger=0), log=said.append)
    monkeypatch.setattr(loop._transport, "echo", shown.append)
    loop._transport.open(loop.inbox, names=["1"], limit=10_000)

    def frame(round: int, made: float) -> bytes:
        sent = {"log_belief": np.log([0.5, 0.5])}
        return seal(Frame(first.network, "1", 0, round, made, 0.0, "finite", sent))

    frames = [frame(k, 100.0 + k) for k in range(1, 7)]
    for data, process in zip(frames, "abaabb", strict=True):
        loop.inbox.put("frame", "1", data, process)
    loop._take_in(loop.inbox.all())
    report = loop._tell()
    assert (report["doubled"], report["refused"]) == (["1"], {"second-process": 2})
    assert len([text for text in said if "two processes speak as agent '1'" in text]) == 1
    assert shown == [frames[2]]
    loop.inbox.put("frame", "1", frame(7, 107.0), "a")
    loop._take_in(loop.inbox.all())
    assert len(shown) == 2  # once more, since the second spoke again


@pytest.mark.parametrize("signed", [False, True])
def test_an_agent_ends_that_hears_itself_speak_from_elsewhere(
    monkeypatch: pytest.MonkeyPatch, signed: bool
) -> None:
    hub, kept = Hub(), list[bytes]()
    first, _ = every_share(_problem(_PAIR))
    verify = (lambda sender, digest, signature: sender == "0") if signed else None
    loop = loop_of(hub, first, Pacing(rounds=9, patience=0, linger=0), trust=Trust(verify=verify))
    loop._transport.open(loop.inbox, names=["1"], limit=10_000)
    monkeypatch.setattr(loop._transport, "send", kept.append)
    sent = {"log_belief": np.log([0.5, 0.5])}

    def other(round: int, made: float, name: str = "0") -> bytes:
        return seal(Frame(first.network, name, 0, round, made, 0.0, "finite", sent))

    later = time.time() + 5
    loop.inbox.put(
        "echo", None, other(1, later)
    )  # before it has said anything, it cannot be a second one
    loop._take_in(loop.inbox.all())
    for _ in range(3):
        loop._shared_round()
    # Its own, one of another agent, what is no frame, and one of an earlier life.
    harmless = [*kept, other(2, later, "1"), b"x", other(0, later)]
    harmless += [other(9, 5.0)] * signed
    for data in harmless:
        loop.inbox.put("echo", None, data)
    loop._take_in(loop.inbox.all())
    loop.inbox.put("echo", None, other(2, later))
    with pytest.raises(ValueError, match="agent: expected to be the only process that speaks as"):
        loop._take_in(loop.inbox.all())


@pytest.mark.parametrize("jump", [1e6, -1e6])
def test_a_clock_that_is_set_moves_no_wait(monkeypatch: pytest.MonkeyPatch, jump: float) -> None:
    hub, real, calls = Hub(), time.time, count()
    monkeypatch.setattr(time, "time", lambda: real() + jump * (next(calls) > 9))
    pacing = Pacing(rounds=20, patience=_LONG, linger=0)
    found = run_together(loop_of(hub, s, pacing) for s in every_share(pb.load("two-coins")))
    for report in found.values():
        waits = [report["seconds"], report["gap"], report["own"]["wait"]]
        waits += [link["wait"] for link in report["links"].values()]
        assert all(0 <= wait < 600 for wait in waits)


def test_own_rhythms_do_not_wait_for_each_other() -> None:
    hub = Hub()
    shares = every_share(_problem(_PAIR))
    paces = Pacing("own", 0.002, linger=0), Pacing("own", 0.02, rounds=20, linger=0)
    quick, slow = (loop_of(hub, s, p) for s, p in zip(shares, paces, strict=True))
    close = slow._transport.close
    slow._transport.close = lambda: (close(), quick.stop())  # type: ignore[method-assign]
    found = run_together((quick, slow))
    assert found["1"]["round"] == 20 < found["0"]["round"] / 2
    link = found["0"]["links"]["1"]
    # Each of the slow one's messages is pooled again and again.
    assert link["used"] > found["0"]["receipts"][Receipt.NEW.value] * 2


def test_a_new_list_changes_weights_while_it_runs() -> None:
    hub, said = Hub(), []
    shares = every_share(_problem(_PAIR))
    members = shares[0].members
    edges = {"rows": None, "edges": ((0, 1), (1, 2)), "rule": "metropolis"}
    new = Members(
        members.network, 1, ("0", "1", "2"), log_priors=(members.log_priors[0],) * 3, **edges
    )
    forged = Members(members.network, 2, ("0", "1"), rows=({0: 1.0}, {1: 1.0}))
    pacing = Pacing(rounds=20, patience=_LONG, gather=0.5, linger=0)
    options = {"log": said.append, "trust": Trust(trusted=lambda one: one.epoch == 1)}
    loops = [loop_of(hub, share, pacing, **options) for share in shares]
    for loop in loops:
        loop.inbox.put("members", None, b"nonsense")
        loop.inbox.put("members", None, json.dumps(forged.document()).encode())
        loop.inbox.put("members", None, json.dumps(new.document()).encode())
    found = run_together(loops)
    assert found["0"]["epoch"] == found["1"]["epoch"] == 1
    # Metropolis: the link of 0 (degree 1) and 1 (degree 2) weighs a third.
    assert found["0"]["links"]["1"]["weight"] == pytest.approx(20 / 3)
    assert found["1"]["links"]["0"]["weight"] == pytest.approx(20 / 3)
    assert found["1"]["own"]["weight"] == pytest.approx(40 / 3)  # that of 2, who is not there yet
    assert found["0"]["refused"] == {"not-a-frame": 1, "bad-signature": 1}


def test_reports_are_small_and_read_back() -> None:
    hub = Hub()
    shares = every_share(_problem(_RING))
    run_together(loop_of(hub, s, Pacing(rounds=5, linger=0)) for s in shares)
    for data in hub.reports:
        agent = json.loads(data)["agent"]
        assert read_report(data, network=shares[0].network, agent=agent).agent in "0123"


def test_frames_say_when_they_were_made_and_after_what_gap(monkeypatch: pytest.MonkeyPatch) -> None:
    frames: list[Frame] = []
    share = every_share(_problem(_RING))[0]
    loop = loop_of(Hub(), share, Pacing("own", 0.0, rounds=4, gather=0, linger=0))
    pooled, real = [], loop.tally.pooled

    def send(data: bytes) -> None:
        how: Any = {"limit": 10_000, "network": share.network, "kind": "finite"}
        frames.append(unseal(data, shapes={"log_belief": ("F64", (2,))}, **how))

    def pool(used: Any, now: float, round: int) -> None:
        pooled.append(now)
        real(used, now, round)

    monkeypatch.setattr(loop._transport, "send", send)
    monkeypatch.setattr(loop.tally, "pooled", pool)
    before = time.time()
    loop.run()
    assert [frame.round for frame in frames] == [1, 2, 3, 4]
    for frame, after in zip(frames[1:], pooled, strict=False):
        assert frame.gap == frame.time - after > 0
    # By a clock that nobody sets; the other one may be set a little meanwhile.
    assert frames[0].time == pytest.approx(before, abs=60)
