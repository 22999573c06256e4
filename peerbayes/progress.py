"""How far a run has come, on standard error.

Every slow function takes a callable ``progress(done, total)``. A `Stages` makes one for each stage
of a command: a bar on a terminal; elsewhere one line when the stage is finished; nothing if quiet.
"""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType
from typing import TYPE_CHECKING, TextIO

from peerbayes.terminal import visible
from theory.progress import Progress

if TYPE_CHECKING:
    from rich.progress import Progress as Bars
    from rich.progress import TaskID


_log = logging.getLogger(__name__)


class Stages:
    """The stages of one command; used as a context manager, and called with a stage's name.

    Parameters
    ----------
    quiet
        Say nothing at all.
    stream
        Where to; standard error if left out.

    Examples
    --------
    >>> import io
    >>> stream = io.StringIO()
    >>> with Stages(stream=stream) as stages:
    ...     report = stages("two-coins")
    ...     report(1, 2)
    ...     report(2, 2)
    >>> stream.getvalue().startswith("two-coins: done (")
    True
    """

    def __init__(self, *, quiet: bool = False, stream: TextIO | None = None) -> None:
        self._stream = sys.stderr if stream is None else stream
        self._quiet = quiet
        self._bars: Bars | None = None

    def __enter__(self) -> Stages:
        if not self._quiet and self._stream.isatty():
            self._bars = _bars(self._stream)
            self._bars.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._bars is not None:
            self._bars.stop()
            self._bars = None

    def __call__(self, name: str) -> Progress:
        """A callable for one stage; the stage appears when it is first called."""
        name = visible(name)
        _log.info("stage: %s", name)
        if self._quiet:
            return _nothing
        if self._bars is not None:
            return _Bar(self._bars, name)
        return _Line(self._stream, name)


def stage(progress: Progress | Stages | None, name: str) -> Progress | None:
    """What a stage reports to: of several stages the one of that name, or the only one."""
    return progress(name) if isinstance(progress, Stages) else progress


def sayer(progress: Progress | None) -> Callable[[str], None] | None:
    """What shows a few words beside a stage's bar, such as an accuracy so far; None without bar."""
    return getattr(progress, "say", None)


def _nothing(done: int, total: int) -> None:
    """No report."""


class _Bar:
    """One stage on a terminal."""

    def __init__(self, bars: Bars, name: str) -> None:
        self._bars = bars
        self._name = name
        self._task: TaskID | None = None

    def __call__(self, done: int, total: int) -> None:
        if self._task is None:
            self._task = self._bars.add_task(self._name, total=total)
        self._bars.update(self._task, completed=done, total=total)

    def say(self, words: str) -> None:
        """Show words after the name."""
        if self._task is not None:
            self._bars.update(self._task, description=f"{self._name}: {visible(words)}")


class _Line:
    """One stage elsewhere: a line when it is finished."""

    def __init__(self, stream: TextIO, name: str) -> None:
        self._stream = stream
        self._name = name
        self._start = time.monotonic()
        self._finished = False
        self._words = ""

    def __call__(self, done: int, total: int) -> None:
        if done >= total and not self._finished:
            self._finished = True
            seconds = time.monotonic() - self._start
            words = f"{self._name}: done ({seconds:.1f} s){self._words}"
            with suppress(OSError):  # nobody hears it
                print(words, file=self._stream, flush=True)

    def say(self, words: str) -> None:
        """Put words at the end of the line."""
        self._words = f", {visible(words)}"


def _bars(stream: TextIO) -> Bars:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
    from rich.table import Column

    return Progress(
        # Names may hold brackets, which are no markup.
        TextColumn("{task.description}", markup=False, table_column=Column(no_wrap=True)),
        BarColumn(bar_width=24),
        TextColumn("{task.percentage:>3.0f} %"),
        TimeElapsedColumn(),
        console=Console(file=stream),
    )
