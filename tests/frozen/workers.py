"""Cases in processes of their own, so that Ctrl-C ends everything at once."""

from __future__ import annotations

import contextlib
import os
import signal
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from typing import Any

from tests.frozen.cases import Case, all_cases
from tests.frozen.running import TERMINAL, ImagesError, goldens_of
from tests.frozen.store import Golden


@dataclass(frozen=True)
class Said:
    """What became of a case.

    Attributes
    ----------
    case
        Its name.
    goldens
        What it says.
    missing
        Why it was left out, if it was.
    fault
        The traceback of this program's or the script's fault, if there was one.
    seconds
        CPU time of the process meanwhile.
    """

    case: str
    goldens: list[Golden] = field(default_factory=list)
    missing: str = ""
    fault: str = ""
    seconds: float = 0.0


def said_by(case: Case) -> Said:
    """Run a case in this process."""
    began = time.process_time()
    found: dict[str, Any] = {}
    try:
        found["goldens"] = goldens_of(case)
    except ImagesError as why:
        found["missing"] = str(why)
    except Exception:
        found["fault"] = traceback.format_exc()
    return Said(case.name, seconds=time.process_time() - began, **found)


def serve(connection: Connection, folder: str) -> None:
    """Run the cases that are asked for by name until there are no more."""
    os.setsid()  # Ctrl-C in a terminal is for the process that started this one
    tempfile.tempdir = folder
    cases = all_cases()
    with contextlib.suppress(EOFError, BrokenPipeError):
        while (name := connection.recv()) is not None:
            connection.send(said_by(cases[name]))


def run_all(cases: Sequence[Case], *, workers: int) -> Iterator[Said]:
    """Run cases in so many processes, dear ones first; yield what each says when it has said it.

    The processes end with the iterator, whatever they do then.
    """
    os.environ.update(TERMINAL)
    context = get_context("spawn")
    waiting = sorted(cases, key=_cost)
    running: dict[Any, tuple[Any, Case]] = {}  # by the connection to a process
    processes = []
    with tempfile.TemporaryDirectory(prefix="peerbayes-frozen-") as folder:
        try:
            for _ in range(min(workers, len(waiting))):
                ours, theirs = context.Pipe()
                process = context.Process(target=serve, args=(theirs, folder), daemon=True)
                process.start()
                processes.append(process)
                theirs.close()
                running[ours] = process, waiting.pop()
                ours.send(running[ours][1].name)
            while running:
                connection: Any
                for connection in wait(list(running)):
                    process, case = running.pop(connection)
                    said = _heard(connection, process, case)
                    if waiting:
                        running[connection] = process, waiting.pop()
                        connection.send(running[connection][1].name)
                    yield said
        finally:
            for process in processes:
                _end(process.pid)
                process.join()


def _heard(connection: Any, process: Any, case: Case) -> Said:
    """Return what a process says of the case that it runs."""
    try:
        said: Said = connection.recv()
    except EOFError:
        process.join()
        raise ValueError(
            f"{case.name}: expected a process that lives, got exit code {process.exitcode}; "
            "look for what killed it, such as too little memory"
        ) from None
    return said


def _cost(case: Case) -> tuple[bool, bool, bool]:
    """Order cases, cheap ones first; cases are taken from the end."""
    words = case.name.split()
    return words[0] in ("design", "run", "verify"), "samples" in words, case.images


def _end(process: int | None) -> None:
    """Kill a process and those that it has started."""
    ends: tuple[Callable[[Any, int], None], ...] = (os.killpg, os.kill)
    for end in ends:  # it has no group of its own until it has begun
        with contextlib.suppress(ProcessLookupError):
            end(process, signal.SIGKILL)
            return
