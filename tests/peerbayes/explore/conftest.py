"""Tests that are coroutines run in the event loop of their module's jobs."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Iterator

import pytest

from peerbayes.explorer.jobs import Jobs, Limits
from tests.peerbayes.explore.processes import ODD, done


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    given = {name: pyfuncitem.funcargs[name] for name in pyfuncitem._fixtureinfo.argnames}
    runner: asyncio.Runner = pyfuncitem.funcargs["shared"][0]
    runner.run(pyfuncitem.obj(**given))
    return True


@pytest.fixture(scope="module")
def shared() -> Iterator[tuple[asyncio.Runner, Jobs]]:
    """One nursery for all that do not end it, for it takes a while to import what it needs."""
    jobs = Jobs(module=ODD)

    async def stop() -> None:
        jobs.stop()

    with asyncio.Runner() as runner:
        yield runner, jobs
        runner.run(stop())
        assert jobs._nursery is None


@pytest.fixture
def jobs(shared: tuple[asyncio.Runner, Jobs]) -> Iterator[Jobs]:
    """Jobs of odd work that are warm; no worker is there before, and none after."""
    runner, jobs = shared
    jobs.limits = Limits(quick_seconds=60, long_seconds=60)

    async def tidy() -> None:
        while not jobs.is_warm:
            await done(jobs, "echo")
        for session in {session for session, _ in jobs._busy}:
            jobs.cancel(session)
        while jobs._idle:
            jobs._idle.pop().close()

    runner.run(tidy())
    yield jobs
    runner.run(tidy())
