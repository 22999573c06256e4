"""Processes, jobs and answers of the server, seen from outside."""

from __future__ import annotations

import asyncio
import json
import subprocess
import time
from collections.abc import Callable
from typing import Any

import httpx

from peerbayes.explorer.guard import Door
from peerbayes.explorer.jobs import Jobs
from peerbayes.explorer.nursery import Frame

ODD = "tests.peerbayes.explore.odd_work"


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
    return found


def nursery_of(jobs: Jobs) -> int:
    """The process from which these jobs' workers are forked."""
    assert jobs._nursery is not None
    return jobs._nursery.pid


def workers_of(jobs: Jobs) -> set[int]:
    """The workers of these jobs, whatever else runs below this process."""
    return set(descendants(nursery_of(jobs)))


def is_alive(pid: int) -> bool:
    """Whether a process runs."""
    states = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True)
    return states.stdout.strip()[:1] not in ("", "Z")


def until(holds: Callable[[], Any]) -> Any:
    """Wait until something holds; what it then is. A minute only bounds a hang."""
    deadline = time.monotonic() + 60
    while not (found := holds()):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    return found


async def done(
    jobs: Jobs, name: str, request: Any = None, *, session: str = "tab", **how: Any
) -> list[Frame]:
    """All frames of a job."""
    body = json.dumps({} if request is None else request).encode()
    how.setdefault("long", name.startswith("long_"))
    return [frame async for frame in jobs.run(session, name, body, **how)]


DOOR = Door(8123, "right-token")
HOST = f"127.0.0.1:{DOOR.port}"
CALL = {"host": HOST, "x-peerbayes-token": DOOR.token, "x-peerbayes-session": "tab-1"}


def answer_of(app: Any, path: str, *, method: str = "POST", **options: Any) -> httpx.Response:
    """What an application at this address answers, without a wire between."""

    async def exchange() -> httpx.Response:
        transport = httpx.ASGITransport(app, raise_app_exceptions=False)
        async with httpx.AsyncClient(transport=transport, base_url=f"http://{HOST}") as client:
            return await client.request(method, path, **options)

    return asyncio.run(exchange())


def client(address: str, session: str = "tab-1") -> httpx.Client:
    """A tab of the page that has this address."""
    place, _, token = address.partition("/?token=")
    headers = {"x-peerbayes-token": token, "x-peerbayes-session": session}
    return httpx.Client(base_url=place, headers=headers, timeout=60)


def first_line(answer: httpx.Response) -> Any:
    """What comes while the work goes on."""
    lines = answer.iter_lines()
    return json.loads(next(lines)), lines
