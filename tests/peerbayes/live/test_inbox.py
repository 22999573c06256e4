"""The inbox of a live agent: nothing lost, in order, and its reader woken when it should be."""

from __future__ import annotations

import threading
import time

from peerbayes.live.inbox import Inbox

LONG = 60.0
"""Seconds, of a wait that has to end early."""


def later(seconds: float, *what: tuple[str, object, object], inbox: Inbox) -> threading.Thread:
    """Something that arrives while the reader waits."""

    def put() -> None:
        time.sleep(seconds)
        for name, *arguments in what:
            getattr(inbox, name)(*arguments)

    thread = threading.Thread(target=put, daemon=True)
    thread.start()
    return thread


def test_what_is_there_is_read_in_order_without_a_wait() -> None:
    inbox = Inbox()
    inbox.frame("1", b"a")
    inbox.alive("2", False)
    inbox.frame("1", b"b")
    wanted = [("frame", "1", b"a"), ("alive", "2", False), ("frame", "1", b"b")]
    assert inbox.wait(LONG, enough=3) == wanted
    assert inbox.all() == []


def test_the_reader_sleeps_until_enough_frames_are_there() -> None:
    inbox = Inbox()
    inbox.frame("1", b"a")
    inbox.wait(0.0)  # a bell that has been rung already wakes once
    thread = later(0.05, ("frame", "1", b"b"), ("refused", "2", "too-large"), inbox=inbox)
    events = inbox.wait(LONG, enough=2) or inbox.wait(LONG, enough=2)
    assert [event[0] for event in events] == ["frame", "refused"]
    thread.join()


def test_too_few_frames_are_handed_over_when_the_time_is_up() -> None:
    inbox = Inbox()
    inbox.frame("1", b"a")
    assert [e for _ in range(2) for e in inbox.wait(0.01, enough=5)] == [("frame", "1", b"a")]


def test_everything_but_frames_wakes_at_once() -> None:
    for what in (("alive", "1", True), ("members", b"{}"), ("wake",)):
        inbox = Inbox()
        thread = later(0.02, what, inbox=inbox)  # type: ignore[arg-type]
        assert len(inbox.wait(LONG, enough=100)) == 1
        thread.join()


def test_no_wake_is_missed_whoever_comes_first() -> None:
    """Two threads add, one reads two at a time; were a ring lost it would wait for a minute."""
    inbox, each = Inbox(), 3000
    ahead = threading.Semaphore(2), threading.Semaphore(2)

    def speak(number: int) -> None:
        for round in range(each):
            ahead[number].acquire()
            inbox.frame(str(number), str(round).encode())

    for number in (0, 1):
        threading.Thread(target=speak, args=(number,), daemon=True).start()
    heard: list[list[int]] = [[], []]
    began = time.monotonic()
    while sum(map(len, heard)) < 2 * each:
        for _, name, data in inbox.wait(LONG, enough=2):
            heard[int(name)].append(int(data))
            ahead[int(name)].release()
    assert heard == [list(range(each))] * 2
    assert time.monotonic() - began < LONG


def test_a_flood_is_dropped_but_not_who_comes_and_goes() -> None:
    inbox = Inbox()
    for _ in range(30_000):
        inbox.frame("1", b"")
    inbox.alive("2", True)
    events = inbox.all()
    assert len(events) == 20_001
    assert events[-1] == ("alive", "2", True)
