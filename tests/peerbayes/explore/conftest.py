"""Processes that other tests left running are none of these tests'."""

from __future__ import annotations

import pytest

from tests.peerbayes.explore.processes import forget_others


@pytest.fixture(autouse=True)
def only_own_processes(request: pytest.FixtureRequest) -> None:
    if request.module.__name__.rsplit(".", 1)[-1] in ("test_jobs", "test_serving"):
        forget_others()
