"""Processes and jobs of `tests.peerbayes.explore.odd_work`, seen from outside."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import time
from collections.abc import Awaitable, Callable
from typing import Any

from peerbayes.explorer.frames import Frame
from peerbayes.explorer.jobs import Jobs, Limits

ODD = "tests.peerbayes.explore.odd_work"
# Workers that other tests of this process started before, and keep.
OTHERS: set[int] = set()


def descendants(pid: int) -> list[int]:
    """The processes below a process, those that are dead but not buried left out."""
    listing = subprocess.run(
        ["ps", "-A", "-o", "pid=,ppid=,stat=,comm="], capture_output=True, text=True, check=True
    )
    lines = [line.split() for line in listing.stdout.splitlines() if line.split()[3] != "ps"]
    below, found = [pid], []
    while below:
        parent = below.pop()
        ours = [int(one) for one, of, state, *_ in lines if int(of) == parent and state[0] != "Z"]
        below += ours
        found += ours
    return [one for one in found if one not in OTHERS]


def forget_others() -> None:
    """What runs below this process by now is none of the tests' that follow."""
    OTHERS.clear()
    OTHERS.update(descendants(os.getpid()))


def is_alive(pid: int) -> bool:
    states = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True)
    return states.stdout.strip()[:1] not in ("", "Z")


def until(holds: Callable[[], Any], *, seconds: float = 10) -> Any:
    """Wait until something holds; what it then is."""
    deadline = time.monotonic() + seconds
    while not (found := holds()):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    return found


async def done(
    jobs: Jobs, name: str, request: Any = None, *, session: str = "tab", long: bool = False
) -> list[Frame]:
    """All frames of a job."""
    body = json.dumps({} if request is None else request).encode()
    return [frame async for frame in jobs.run(session, name, body, long=long)]


def with_jobs(play: Callable[[Jobs], Awaitable[None]], **limits: Any) -> None:
    """Play with jobs of odd work; whatever happens, nothing is left of them."""

    async def whole() -> None:
        jobs = Jobs(Limits(**limits), module=ODD)
        try:
            await play(jobs)
        finally:
            jobs.stop()

    asyncio.run(whole())
