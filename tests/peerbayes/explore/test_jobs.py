"""Jobs in worker processes: killed, crashed, too long, too large, side by side. All are real.

No test is decided by a clock: what has to go on meanwhile ends when it is told to, or never.
"""

from __future__ import annotations

import asyncio
import json
import os
import select
import socket
import subprocess
import time
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from peerbayes.explorer.jobs import Jobs, Limits
from peerbayes.explorer.nursery import Frame, command
from tests.peerbayes.explore.processes import (
    ODD,
    done,
    is_alive,
    nursery_of,
    until,
    workers_of,
)

NEVER = {"until": "/none/of/these"}


async def last(jobs: Jobs, name: str, request: Any = None, **options: Any) -> Frame:
    return (await done(jobs, name, request, **options))[-1]


async def worker_of(jobs: Jobs) -> int:
    """The process that does quick jobs now."""
    return int(json.loads((await last(jobs, "process")).body)["pid"])


async def begun(jobs: Jobs, name: str, request: Any = NEVER, *, session: str = "tab") -> Any:
    """A long job that is inside its function: its task, and the process that does it."""
    inside = asyncio.Event()
    before = workers_of(jobs)

    async def follow() -> list[Frame]:
        frames = []
        async for frame in jobs.run(session, name, json.dumps(request).encode(), long=True):
            frames.append(frame)
            inside.set()
        return frames

    task = asyncio.ensure_future(follow())
    await inside.wait()
    (pid,) = workers_of(jobs) - before
    return task, pid


async def test_quick_jobs_share_a_process_of_one_thread(jobs: Jobs) -> None:
    assert (await done(jobs, "echo", {"a": [1, "ü"]})) == [
        Frame("result", b'{"a": [1, "\xc3\xbc"]}')
    ]
    first = await last(jobs, "process")
    assert json.loads(first.body)["threads"] == 1
    assert await last(jobs, "process") == first
    # A large request and its answer, which fill all buffers on the way.
    numbers = {"numbers": list(range(200_000))}
    assert json.loads((await last(jobs, "echo", numbers)).body) == numbers
    assert await worker_of(jobs) == json.loads(first.body)["pid"]


async def test_refusals_and_faults_are_one_line(
    jobs: Jobs, capfd: pytest.CaptureFixture[str]
) -> None:
    jobs.stop()  # one that starts from here on writes its errors where this test reads them
    words = b"weights: expected rows that sum to 1, got 2; rescale them"
    assert await done(jobs, "refuse") == [Frame("refusal", words)]
    while not jobs.is_warm:
        await last(jobs, "echo")
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
    assert "Traceback" in capfd.readouterr().err  # the fault is logged


@pytest.mark.parametrize("name", ["crash", "end"])
async def test_a_crash_is_answered_and_the_next_job_done(jobs: Jobs, name: str) -> None:
    pid = await worker_of(jobs)
    fault = await last(jobs, name)
    assert fault.kind == "fault"
    assert b"ended unexpectedly" in fault.body
    until(lambda: not is_alive(pid))
    assert (await last(jobs, "echo")).kind == "result"


@pytest.mark.parametrize("nursery", [False, True], ids=["an idle worker", "and the nursery"])
async def test_what_died_meanwhile_is_replaced(jobs: Jobs, nursery: bool) -> None:
    first, pid = nursery_of(jobs), await worker_of(jobs)
    for dead in [first, pid] if nursery else [pid]:
        os.kill(dead, 9)
        until(lambda dead=dead: not is_alive(dead))
    assert (await last(jobs, "echo")).kind == "result"
    assert (nursery_of(jobs) != first) == nursery


async def test_a_job_that_takes_too_much_memory_is_refused(jobs: Jobs) -> None:
    jobs.limits = replace(jobs.limits, memory=1 << 27)
    pid = await worker_of(jobs)
    small = await last(jobs, "devour", {"bytes": 1 << 26})
    assert small == Frame("result", str(1 << 26).encode())
    large = await last(jobs, "devour", {"bytes": 1 << 28})
    assert large.kind == "refusal"
    assert large.body.startswith(b"expected a computation within 0.12 GiB of memory")
    assert await worker_of(jobs) == pid


@pytest.mark.parametrize(
    ("name", "how", "short"),
    [
        ("wait", {}, "quick_seconds"),
        ("wait", {"patient": True}, "long_seconds"),
        ("long_compiled", {}, "long_seconds"),
    ],
)
async def test_a_job_that_takes_too_long_is_ended(
    jobs: Jobs, name: str, how: dict[str, bool], short: str
) -> None:
    """One that never ends, however slow the machine is; by its own limit, not the other one."""
    pid = await worker_of(jobs)
    jobs.limits = replace(jobs.limits, **{short: 0.2})
    late = await last(jobs, name, NEVER, **how)
    assert late.kind == "refusal"
    assert late.body.startswith(f"{name}: expected an answer within 0.2 seconds, got".encode())
    if not name.startswith("long_"):  # else it had a process of its own
        until(lambda: not is_alive(pid))
    until(lambda: workers_of(jobs) <= {pid})


@pytest.mark.parametrize(("name", "how"), [("long_wait", {}), ("wait", {"patient": True})])
async def test_long_and_patient_jobs_have_more_time_than_quick_ones(
    jobs: Jobs, name: str, how: dict[str, bool], tmp_path: Path
) -> None:
    jobs.limits = replace(jobs.limits, quick_seconds=1e-3)
    path = tmp_path / "go on"
    asyncio.get_running_loop().call_later(0.1, path.touch)
    assert (await last(jobs, name, {"until": str(path)}, **how)).kind == "result"


async def test_the_next_call_kills_the_one_before(jobs: Jobs) -> None:
    """In compiled code that never looks at Python."""
    first, pid = await begun(jobs, "long_compiled")
    replaced = asyncio.ensure_future(done(jobs, "long_compiled"))
    assert (await first)[-1] == Frame("cancelled")
    until(lambda: not is_alive(pid))
    assert jobs.cancel("tab", "long_compiled")
    assert (await replaced)[-1] == Frame("cancelled")
    assert not jobs.cancel("tab", "long_compiled")
    until(lambda: workers_of(jobs) <= {pid})


async def test_sessions_do_not_disturb_each_other(jobs: Jobs, tmp_path: Path) -> None:
    path = tmp_path / "go on"
    gate = {"until": str(path)}
    task, pid = await begun(jobs, "long_wait", gate, session="one")
    other, other_pid = await begun(jobs, "long_compiled", session="two")
    slow = asyncio.ensure_future(done(jobs, "wait", gate, session="one"))
    # A quick job of another session does not wait for that of the first.
    assert (await last(jobs, "echo", session="two")).kind == "result"
    assert not slow.done()
    assert not jobs.cancel("three", "long_wait")
    assert not jobs.cancel("two", "long_wait")
    assert jobs.cancel("two")
    assert (await other)[-1].kind == "cancelled"
    until(lambda: not is_alive(other_pid))
    path.touch()
    assert json.loads((await task)[-1].body) == {"pid": pid}
    assert (await slow)[-1].kind == "result"


async def test_a_listener_that_goes_away_ends_the_job(jobs: Jobs) -> None:
    task, pid = await begun(jobs, "long_compiled")
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    until(lambda: not is_alive(pid))
    body = json.dumps(NEVER).encode()
    async with aclosing(jobs.run("tab", "long_wait", body, long=True)) as frames:
        async for frame in frames:
            assert frame.kind == "progress"
            break
    until(lambda: not workers_of(jobs))


async def test_only_so_many_at_once(jobs: Jobs) -> None:
    jobs.limits = replace(jobs.limits, at_once=2)
    tasks = [asyncio.ensure_future(done(jobs, "long_wait", NEVER, session=s)) for s in ("a", "b")]
    await asyncio.sleep(0)
    refused = await last(jobs, "echo", session="c")
    assert refused.kind == "refusal"
    assert refused.body.startswith(b"expected at most 2 computations at once")
    for session in ("a", "b"):
        jobs.cancel(session)
    await asyncio.gather(*tasks)
    assert (await last(jobs, "echo", session="c")).kind == "result"


async def test_nothing_is_left_running(jobs: Jobs) -> None:
    await begun(jobs, "long_compiled")
    await last(jobs, "echo")
    left = {nursery_of(jobs)} | workers_of(jobs)
    assert len(left) == 3  # the nursery, a quick worker, a long one
    jobs.stop()
    until(lambda: not any(map(is_alive, left)))


def test_a_nursery_ends_silently_with_a_server_that_did_not_read() -> None:
    ours, theirs = socket.socketpair()
    with theirs:
        nursery = subprocess.Popen(
            command("nursery", ODD, theirs.fileno()),
            pass_fds=[theirs.fileno()], stderr=subprocess.PIPE,
        )  # fmt: skip
    with ours:  # what it says when it is warm lies unread at the end, so that the system resets
        assert select.select([ours], [], [], 60)[0]
    assert nursery.communicate(timeout=60) == (None, b"")
    assert nursery.returncode == 0


async def test_few_idle_workers_are_kept(jobs: Jobs) -> None:
    jobs.limits = replace(jobs.limits, kept=2)
    five = (done(jobs, "echo", session=str(k)) for k in range(5))  # most begin before one ends
    assert {frames[-1].kind for frames in await asyncio.gather(*five)} == {"result"}
    idle = len(jobs._idle)
    assert 1 <= idle <= 2
    until(lambda: len(workers_of(jobs)) == idle)


async def test_progress_comes_at_most_ten_times_a_second(jobs: Jobs) -> None:
    began = time.monotonic()
    frames = await done(jobs, "long_count", {"steps": 40})
    passed = time.monotonic() - began  # a slow machine allows for more, and never for fewer
    told = [json.loads(frame.body) for frame in frames[:-1]]
    assert {frame.kind for frame in frames[:-1]} == {"progress"}
    assert told == sorted(told)
    assert told[-1] == [40, 40]
    assert 2 <= len(told) <= 10 * passed + 2


@pytest.mark.parametrize(
    "wrong",
    [{"quick_seconds": 0}, {"long_seconds": -1}, {"memory": 0}, {"at_once": 0}, {"kept": 0}],
)
def test_limits_are_positive(wrong: dict[str, int]) -> None:
    with pytest.raises(ValueError, match=f"{next(iter(wrong))}: expected"):
        Limits(**wrong)
