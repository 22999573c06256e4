"""The inbox of a live agent: nothing lost, in order, and its reader woken when it should be."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

from peerbayes.live.transport import Event, Inbox

FOREVER = threading.TIMEOUT_MAX  # who waits so long was not woken, and never will be


class Reader(threading.Thread):
    """Reads in a thread of its own; `result` is what it read, and a minute only bounds a hang."""

    def __init__(self, read: Callable[[], Any]) -> None:
        super().__init__(daemon=True)
        self._read, self._found = read, None
        self.start()

    def run(self) -> None:
        self._found = self._read()

    def result(self) -> Any:
        self.join(60)
        assert not self.is_alive(), "nobody woke the reader"
        return self._found


class Bell:
    """An inbox's bell, which counts rings and tells when its reader is about to sleep."""

    def __init__(self, inbox: Inbox) -> None:
        self.real, self.rings, self.sleeps = inbox._bell, 0, threading.Event()
        inbox._bell = self  # type: ignore[assignment]

    def acquire(self, timeout: float) -> None:
        self.sleeps.set()
        self.real.acquire(timeout=timeout)

    def release(self) -> None:
        self.rings += 1
        self.real.release()


def asleep(enough: int) -> tuple[Inbox, Bell, Reader]:
    """An inbox whose reader sleeps until so many frames are there."""
    inbox = Inbox()
    bell = Bell(inbox)
    reader = Reader(lambda: inbox.wait(FOREVER, enough=enough))
    assert bell.sleeps.wait(60)
    return inbox, bell, reader


def test_what_is_there_is_read_in_order_without_a_wait() -> None:
    inbox = Inbox()
    inbox.put("frame", "1", b"a")
    inbox.put("alive", "2", False)
    inbox.put("frame", "1", b"b")
    wanted = [("frame", "1", b"a"), ("alive", "2", False), ("frame", "1", b"b")]
    assert Reader(lambda: inbox.wait(FOREVER, enough=3)).result() == wanted
    assert inbox.all() == []


def test_the_reader_sleeps_until_enough_frames_are_there() -> None:
    inbox, bell, reader = asleep(enough=2)
    inbox.put("frame", "1", b"a")
    assert bell.rings == 0
    inbox.put("refused", "2", "too-large")
    events: list[Event] = reader.result()
    assert [event[0] for event in events] == ["frame", "refused"]


def test_too_few_frames_are_handed_over_when_the_time_is_up() -> None:
    inbox = Inbox()
    inbox.put("frame", "1", b"a")
    assert [e for _ in range(2) for e in inbox.wait(0.01, enough=5)] == [("frame", "1", b"a")]


@pytest.mark.parametrize("what", [("alive", "1", True), ("members", None, b"{}"), ("wake",)])
def test_everything_but_frames_wakes_at_once(what: tuple[Any, ...]) -> None:
    inbox, _, reader = asleep(enough=100)
    inbox.put(*what)
    assert len(reader.result()) == 1


def test_no_wake_is_missed_whoever_comes_first() -> None:
    """Two threads add, one reads two at a time; were a ring lost it would wait for ever."""
    inbox, each = Inbox(), 3000
    ahead = threading.Semaphore(2), threading.Semaphore(2)

    def speak(number: int) -> None:
        for round in range(each):
            ahead[number].acquire()
            inbox.put("frame", str(number), str(round).encode())

    def read() -> list[list[int]]:
        heard: list[list[int]] = [[], []]
        while sum(map(len, heard)) < 2 * each:
            for _, name, data in inbox.wait(FOREVER, enough=2):
                heard[int(name)].append(int(data))
                ahead[int(name)].release()
        return heard

    for number in (0, 1):
        threading.Thread(target=speak, args=(number,), daemon=True).start()
    assert Reader(read).result() == [list(range(each))] * 2
