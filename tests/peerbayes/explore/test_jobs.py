"""Jobs in worker processes: killed, crashed, too long, too large, side by side. All are real."""

from __future__ import annotations

import asyncio
import json
import os
import select
import socket
import subprocess
import time
from contextlib import aclosing
from typing import Any

import pytest

from peerbayes.explorer.frames import Frame
from peerbayes.explorer.jobs import Jobs, Limits
from peerbayes.explorer.nursery import command
from tests.peerbayes.explore.processes import descendants, done, is_alive, until, with_jobs


async def last(jobs: Jobs, name: str, request: Any = None, **options: Any) -> Frame:
    return (await done(jobs, name, request, **options))[-1]


async def worker_of(jobs: Jobs, session: str = "tab") -> int:
    """The process that does quick jobs now."""
    return int(json.loads((await last(jobs, "process", session=session)).body)["pid"])


async def begun(jobs: Jobs, name: str, request: Any = None, *, session: str = "tab") -> Any:
    """A long job that runs: its task, and the process that does it."""
    before = set(descendants(os.getpid()))
    task = asyncio.ensure_future(done(jobs, name, request, session=session, long=True))
    while not jobs.is_warm:
        await asyncio.sleep(0.02)
    new: set[int] = set()
    while len(new) != 1:
        await asyncio.sleep(0.02)
        new = set(descendants(os.getpid())) - before - {nursery_of(jobs)}
    await asyncio.sleep(0.1)  # it is inside its function
    return task, new.pop()


def nursery_of(jobs: Jobs) -> int:
    assert jobs._nursery is not None
    return jobs._nursery.pid


def test_quick_jobs_share_a_process_of_one_thread() -> None:
    async def play(jobs: Jobs) -> None:
        assert (await done(jobs, "echo", {"a": [1, "ü"]})) == [
            Frame("result", b'{"a": [1, "\xc3\xbc"]}')
        ]
        while not jobs.is_warm:
            await asyncio.sleep(0.02)
        first = await last(jobs, "process")
        assert json.loads(first.body)["threads"] == 1
        assert await last(jobs, "process") == first
        # A large request and its answer, which fill all buffers on the way.
        numbers = {"numbers": list(range(200_000))}
        assert json.loads((await last(jobs, "echo", numbers)).body) == numbers
        assert await worker_of(jobs) == json.loads(first.body)["pid"]

    with_jobs(play)


def test_refusals_and_faults_are_one_line(capfd: pytest.CaptureFixture[str]) -> None:
    async def play(jobs: Jobs) -> None:
        words = b"weights: expected rows that sum to 1, got 2; rescale them"
        assert await done(jobs, "refuse") == [Frame("refusal", words)]
        pid = await worker_of(jobs)
        fault = await last(jobs, "err")
        assert fault.kind == "fault"
        assert fault.body.endswith(b"please report it (KeyError: 'nothing')")
        assert await worker_of(jobs) != pid  # it may be in any state
        assert b"null" in (await last(jobs, "infinite")).body
        for text in (b"{", b'{"a": NaN}', b"[1]", b"\xff"):
            frames = [f async for f in jobs.run("tab", "echo", text, long=False)]
            assert [f.kind for f in frames] == ["refusal"]
            assert b"\n" not in frames[0].body

    with_jobs(play)
    assert "Traceback" in capfd.readouterr().err  # the fault is logged


@pytest.mark.parametrize("name", ["crash", "end"])
def test_a_crash_is_answered_and_the_next_job_done(name: str) -> None:
    async def play(jobs: Jobs) -> None:
        pid = await worker_of(jobs)
        fault = await last(jobs, name)
        assert fault.kind == "fault"
        assert b"ended unexpectedly" in fault.body
        for _ in range(100):  # a busy machine takes its time to bury it
            if not is_alive(pid):
                break
            await asyncio.sleep(0.05)
        assert not is_alive(pid)
        assert (await last(jobs, "echo")).kind == "result"

    with_jobs(play)


def test_a_worker_that_died_while_idle_is_replaced() -> None:
    async def play(jobs: Jobs) -> None:
        pid = await worker_of(jobs)
        os.kill(pid, 9)
        until(lambda: not is_alive(pid))
        assert (await last(jobs, "echo")).kind == "result"

    with_jobs(play)


def test_a_nursery_that_died_is_replaced() -> None:
    async def play(jobs: Jobs) -> None:
        pid = await worker_of(jobs)
        first = nursery_of(jobs)
        os.kill(first, 9)
        os.kill(pid, 9)
        await asyncio.sleep(0.1)
        assert (await last(jobs, "echo")).kind == "result"
        assert nursery_of(jobs) != first

    with_jobs(play)


def test_a_job_within_its_limits_and_beyond() -> None:
    async def play(jobs: Jobs) -> None:
        while not jobs.is_warm:
            await last(jobs, "echo")
        pid = await worker_of(jobs)
        small = await last(jobs, "devour", {"bytes": 1 << 26})
        assert small == Frame("result", str(1 << 26).encode())
        large = await last(jobs, "devour", {"bytes": 1 << 28})
        assert large.kind == "refusal"
        assert large.body.startswith(b"expected a computation within 0.12 GiB of memory")
        assert await worker_of(jobs) == pid
        assert (await last(jobs, "sleep", {"seconds": 0})).kind == "result"
        late = await last(jobs, "sleep", {"seconds": 60})
        assert late.kind == "refusal"
        assert late.body.startswith(b"sleep: expected an answer within 0.5 seconds, got none")
        until(lambda: not is_alive(pid))
        # Long and patient jobs have limits of their own.
        longer = await last(jobs, "long_sleep", {"seconds": 0.7}, long=True)
        assert longer.kind == "result"
        waited = [
            f async for f in jobs.run("tab", "sleep", b'{"seconds": 0.7}', long=False, patient=True)
        ]
        assert waited[-1].kind == "result"
        late = await last(jobs, "long_compiled", long=True)
        assert late.body.startswith(b"long_compiled: expected an answer within 1.5 seconds")
        until(lambda: not is_alive(pid))
        assert len(descendants(os.getpid())) <= 2  # the nursery and a quick worker

    with_jobs(play, quick_seconds=0.5, long_seconds=1.5, memory=1 << 27)


def test_the_next_call_kills_the_one_before() -> None:
    """In compiled code that never looks at Python."""

    async def play(jobs: Jobs) -> None:
        first, pid = await begun(jobs, "long_compiled")
        replaced = asyncio.ensure_future(done(jobs, "long_compiled", long=True))
        assert (await first)[-1] == Frame("cancelled")
        until(lambda: not is_alive(pid), seconds=2)
        assert jobs.cancel("tab", "long_compiled")
        assert (await replaced)[-1] == Frame("cancelled")
        assert not jobs.cancel("tab", "long_compiled")
        until(lambda: descendants(os.getpid()) == [nursery_of(jobs)], seconds=2)

    with_jobs(play)


def test_sessions_do_not_disturb_each_other() -> None:
    async def play(jobs: Jobs) -> None:
        task, pid = await begun(jobs, "long_sleep", {"seconds": 1.5}, session="one")
        other, other_pid = await begun(jobs, "long_compiled", session="two")
        slow = asyncio.ensure_future(done(jobs, "sleep", {"seconds": 0.5}, session="one"))
        # A quick job of another session does not wait for that of the first.
        began = asyncio.get_running_loop().time()
        await last(jobs, "echo", session="two")
        assert not slow.done()
        assert asyncio.get_running_loop().time() - began < 0.5
        assert not jobs.cancel("three", "long_sleep")
        assert not jobs.cancel("two", "long_sleep")
        assert jobs.cancel("two")
        assert (await other)[-1].kind == "cancelled"
        until(lambda: not is_alive(other_pid), seconds=2)
        assert json.loads((await task)[-1].body) == {"pid": pid}
        assert (await slow)[-1].kind == "result"

    with_jobs(play)


def test_a_listener_that_goes_away_ends_the_job() -> None:
    async def play(jobs: Jobs) -> None:
        task, pid = await begun(jobs, "long_compiled")
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        until(lambda: not is_alive(pid), seconds=2)
        async with aclosing(jobs.run("tab", "long_sleep", b'{"seconds": 60}', long=True)) as frames:
            async for frame in frames:
                assert frame.kind == "progress"
                break
        until(lambda: descendants(os.getpid()) == [nursery_of(jobs)], seconds=2)

    with_jobs(play)


def test_only_so_many_at_once() -> None:
    async def play(jobs: Jobs) -> None:
        tasks = [
            asyncio.ensure_future(done(jobs, "long_sleep", {"seconds": 60}, session=s, long=True))
            for s in ("a", "b")
        ]
        await asyncio.sleep(0)
        refused = await last(jobs, "echo", session="c")
        assert refused.kind == "refusal"
        assert refused.body.startswith(b"expected at most 2 computations at once")
        for session in ("a", "b"):
            jobs.cancel(session)
        await asyncio.gather(*tasks)
        assert (await last(jobs, "echo", session="c")).kind == "result"

    with_jobs(play, at_once=2)


def test_nothing_is_left_running() -> None:
    async def play(jobs: Jobs) -> None:
        await begun(jobs, "long_compiled")
        await last(jobs, "echo")
        left.extend(descendants(os.getpid()))

    left: list[int] = []
    with_jobs(play)
    assert len(left) == 3  # the nursery, a quick worker, a long one
    until(lambda: not any(map(is_alive, left)), seconds=2)


def test_a_nursery_ends_silently_with_a_server_that_did_not_read() -> None:
    ours, theirs = socket.socketpair()
    with theirs:
        nursery = subprocess.Popen(
            command("nursery", "tests.peerbayes.explore.odd_work", theirs.fileno()),
            pass_fds=[theirs.fileno()], stderr=subprocess.PIPE,
        )  # fmt: skip
    with ours:  # what it says when it is warm lies unread at the end, so that the system resets
        assert select.select([ours], [], [], 60)[0]
    assert nursery.communicate(timeout=60) == (None, b"")
    assert nursery.returncode == 0


def test_few_idle_workers_are_kept() -> None:
    async def play(jobs: Jobs) -> None:
        while not jobs.is_warm:
            await last(jobs, "echo")
        sleeps = (done(jobs, "sleep", {"seconds": 0.3}, session=str(k)) for k in range(5))
        assert {frames[-1].kind for frames in await asyncio.gather(*sleeps)} == {"result"}
        until(lambda: len(descendants(os.getpid())) == 3)  # the nursery and two workers

    with_jobs(play, kept=2)


def test_progress_comes_at_most_ten_times_a_second() -> None:
    async def play(jobs: Jobs) -> None:
        began = time.monotonic()
        frames = await done(jobs, "long_count", {"steps": 40}, long=True)
        passed = time.monotonic() - began
        told = [json.loads(frame.body) for frame in frames[:-1]]
        assert {frame.kind for frame in frames[:-1]} == {"progress"}
        assert told == sorted(told)
        assert told[-1] == [40, 40]
        assert 2 <= len(told) <= 10 * passed + 2

    with_jobs(play)


@pytest.mark.parametrize(
    "wrong",
    [{"quick_seconds": 0}, {"long_seconds": -1}, {"memory": 0}, {"at_once": 0}, {"kept": 0}],
)
def test_limits_are_positive(wrong: dict[str, int]) -> None:
    with pytest.raises(ValueError, match=f"{next(iter(wrong))}: expected"):
        Limits(**wrong)
