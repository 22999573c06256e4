"""Work of every sort that a worker can do or suffer, for the tests of processes."""

from __future__ import annotations

import ctypes
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from peerbayes.explorer.work import Request, Work
from theory.progress import Progress

KEPT: list[int] = []


def echo(request: Request, progress: Progress | None) -> Any:
    return request


def process(request: Request, progress: Progress | None) -> Any:
    return {"pid": os.getpid(), "threads": threading.active_count()}


def sleep(request: Request, progress: Progress | None) -> Any:
    if progress is not None:
        progress(0, 1)
    time.sleep(request["seconds"])
    return {"pid": os.getpid()}


def wait(request: Request, progress: Progress | None) -> Any:
    """Until there is a file."""
    if progress is not None:
        progress(0, 1)
    while not Path(request["until"]).exists():
        time.sleep(0.01)
    return {"pid": os.getpid()}


def compiled(request: Request, progress: Progress | None) -> Any:
    """Long in compiled code that never looks at Python, nor lets another thread do so."""
    assert progress is not None
    progress(0, 1)
    return ctypes.PyDLL(None).sleep(1000)


def count(request: Request, progress: Progress | None) -> Any:
    assert progress is not None
    for step in range(request["steps"]):
        time.sleep(0.01)
        progress(step + 1, request["steps"])
    return None


def refuse(request: Request, progress: Progress | None) -> Any:
    raise ValueError("weights: expected rows that sum to 1,\n got 2; rescale them")


def err(request: Request, progress: Progress | None) -> Any:
    return {}["nothing"]


def crash(request: Request, progress: Progress | None) -> Any:
    return ctypes.string_at(0)


def end(request: Request, progress: Progress | None) -> Any:
    os.kill(os.getpid(), signal.SIGKILL)


def devour(request: Request, progress: Progress | None) -> Any:
    return len(bytearray(request["bytes"]))


def infinite(request: Request, progress: Progress | None) -> Any:
    return {"rate": float("inf"), "name": "ü"}


WORK: dict[str, Work] = {
    function.__name__: Work(function)
    for function in (echo, process, sleep, wait, refuse, err, crash, end, devour, infinite)
} | {
    "long_wait": Work(wait, long=True),
    "long_compiled": Work(compiled, long=True),
    "long_count": Work(count, long=True),
    # By names that the server knows.
    "start": Work(echo),
    "edit": Work(echo),
    "open": Work(crash),
    "save": Work(sleep),
    "run": Work(compiled, long=True),
    "design": Work(sleep, long=True),
    "analyse": Work(count, long=True),
}


def prepare() -> None:
    KEPT.append(os.getpid())


def warm_steps() -> Iterator[Callable[[], object]]:
    yield lambda: KEPT.append(os.getpid())
