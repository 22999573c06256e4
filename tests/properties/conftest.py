"""Counts the networks that strategies generate, over all test processes.

A full run (HYPOTHESIS_PROFILE=full, `make properties`) fails if there were fewer than 10 000. How
many of them were different matrices is said as well: some kinds have few.
"""

from __future__ import annotations

import os
from collections import Counter
from typing import Any

import pytest

from tests.strategies import DIFFERENT, GENERATED

WANTED = 10_000
# What the processes of pytest-xdist have sent.
received: Counter[str] = Counter()
different: set[str] = set()


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any, error: Any) -> None:
    """Take in the counts of a test process that ends."""
    del error
    received.update(node.workeroutput.get("networks", {}))
    different.update(node.workeroutput.get("different", []))


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Send the counts to the process in charge, or judge them there."""
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["networks"] = dict(GENERATED)
        session.config.workeroutput["different"] = sorted(DIFFERENT)
        return
    received.update(GENERATED)
    different.update(DIFFERENT)
    full = os.environ.get("HYPOTHESIS_PROFILE") == "full"
    if full and session.exitstatus == pytest.ExitCode.OK and received.total() < WANTED:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Say how many networks of each kind there were."""
    if not received:
        return
    kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(received.items()))
    line = f"networks generated: {received.total()}, {len(different)} of them different ({kinds})"
    if os.environ.get("HYPOTHESIS_PROFILE") == "full" and received.total() < WANTED:
        line += f"; a full run needs {WANTED}"
    terminalreporter.write_line(line)
