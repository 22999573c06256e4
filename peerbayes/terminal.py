"""What a command says on a terminal: words, how far a run has come, and what it may take.

Names in problem files, names of files and messages made of them are anybody's: control characters
and escape sequences in them could move the cursor or hide text, and characters that turn the
direction of writing could make one thing look like another. All text for people goes through
:func:`visible` on its way out. JSON and records keep names as they are, escaped where JSON asks
for it.

Every slow function takes a callable ``progress(done, total)``. A `Stages` makes one for each stage
of a command: a bar on a terminal; elsewhere one line when the stage is finished; nothing if quiet.
For who wants to see more, ``peerbayes -v``, or `logging` in Python, tells what the program does:
loggers are called ``peerbayes.…``.
"""

from __future__ import annotations

import os
import sys
import time
import unicodedata
from collections.abc import Callable, Iterator
from contextlib import suppress
from types import TracebackType
from typing import TYPE_CHECKING, Protocol, TextIO

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderableType
    from rich.progress import Progress as Bars
    from rich.progress import TaskID
    from rich.segment import Segment

    from theory.progress import Progress


# Words and streams -------------------------------------------------------------------------------
# Control, format (direction, invisible), half of a pair, line and paragraph separators.
_ACTING = ("Cc", "Cf", "Cs", "Zl", "Zp")


def visible(text: str) -> str:
    r"""The text with every character that acts instead of showing written as its escape.

    Line feeds and tabulators stay.

    >>> print(visible("a\x1b[31mb, \u202egnp.exe, \x9b2J"))
    a\x1b[31mb, \u202egnp.exe, \x9b2J
    """
    if text.isascii() and text.isprintable():
        return text
    acts = (unicodedata.category(c) in _ACTING and c not in "\n\t" for c in text)
    return "".join(
        c.encode("unicode_escape", "surrogatepass").decode("ascii") if acting else c
        for c, acting in zip(text, acts, strict=True)
    )


class Visible:
    """A part of a result for `rich`, in which nothing acts but the styles that it was given."""

    def __init__(self, part: RenderableType) -> None:
        self._part = part

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Segment]:
        from rich.segment import Segment

        for segment in console.render(self._part, options):
            if segment.control:
                yield segment
            else:
                yield Segment(visible(segment.text), segment.style)


def say(text: str) -> None:
    """Say something beside the result, on standard error; if nobody can hear it, so be it."""
    with suppress(OSError, ValueError):
        print(visible(text), file=sys.stderr, flush=True)


def check_streams() -> None:
    """See that there is somewhere to write a result to; messages go nowhere if nobody hears them.

    Closed descriptors are opened on the null device, lest the next file gets their numbers and
    with them what was meant for the stream.

    Raises
    ------
    ValueError
        If standard output is closed; in one line.
    """
    while (descriptor := os.open(os.devnull, os.O_RDWR)) <= 2:
        pass
    os.close(descriptor)
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115  # until the end
    if sys.stdout is None:
        from theory.validation import fail

        raise fail(
            "standard output", "an open stream", "a closed one",
            "leave it open, or send it to a file or to the null device",
        )  # fmt: skip


def write_out(text: str) -> None:
    """Write to standard output, what its encoding lacks as question marks.

    Raises
    ------
    BrokenPipeError
        If whoever read it has gone away.
    ValueError
        If it cannot be written; in one line.
    """
    encoding = sys.stdout.encoding or "utf-8"
    try:
        sys.stdout.write(text.encode(encoding, "replace").decode(encoding))
        sys.stdout.flush()
    except OSError as error:
        settle_output()
        if isinstance(error, BrokenPipeError):
            raise
        from theory.validation import fail

        reason = (error.strerror or str(error)).lower()
        remedy = "send it to a place with room"
        raise fail("standard output", "a stream that can be written", reason, remedy) from None


def settle_output() -> None:
    """Forget what cannot be written any more: Python flushes once more at its end."""
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None:
                stream.flush()
        except OSError:
            with suppress(OSError, ValueError):
                os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
        except ValueError:  # it is closed
            continue


# How far a run has come, on standard error -------------------------------------------------------


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
        import logging

        name = visible(name)
        logging.getLogger(__name__).info("stage: %s", name)
        if self._quiet:
            return lambda done, total: None
        if self._bars is not None:
            return _Bar(self._bars, name)
        return _Line(self._stream, name)


def stage(progress: Progress | Stages | None, name: str) -> Progress | None:
    """What a stage reports to: of several stages the one of that name, or the only one."""
    return progress(name) if isinstance(progress, Stages) else progress


def sayer(progress: Progress | None) -> Callable[[str], None] | None:
    """What shows a few words beside a stage's bar, such as an accuracy so far; None without bar."""
    return getattr(progress, "say", None)


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


# What a run may take, and what it does -----------------------------------------------------------


def log_to_standard_error(verbosity: int) -> None:
    """Write what is logged to standard error, with the time: steps, and with 2 their details."""
    import logging

    from peerbayes._version import __version__

    logging.basicConfig(format="%(asctime)s %(name)s: %(message)s", datefmt="%H:%M:%S", force=True)
    logger = logging.getLogger("peerbayes")
    logger.setLevel(logging.INFO if verbosity == 1 else logging.DEBUG)
    logger.info("version %s", __version__)


# A run is announced if it is expected to take longer, or more memory.
ANNOUNCED_SECONDS = 10.0
ANNOUNCED_BYTES = 1 << 30
# Of an analysis beyond a million agents, for each of them.
_ANALYSIS_SECONDS = 5e-6
# A run that is expected to take longer is not begun unless it was asked for: its sizes are more
# likely to be typing errors.
MOST_HOURS = 24.0


class Predicted(Protocol):
    """What a run is expected to take."""

    @property
    def bytes(self) -> int:
        """Peak memory in bytes."""

    @property
    def seconds(self) -> float:
        """Wall time in seconds."""


def announce_analysis(name: str, agents: int, notice: Callable[[str], None]) -> None:
    """Say what an analysis of very many agents is expected to take."""
    seconds = agents * _ANALYSIS_SECONDS
    if seconds >= ANNOUNCED_SECONDS:
        notice(f"{name}: {agents} agents, about {duration(seconds)} (an estimate)")


def check_hours(cost: Predicted, *, hours: float = MOST_HOURS, remedy: str = "") -> None:
    """Refuse a run that is expected to take more than so many hours.

    Raises
    ------
    ValueError
        If it is; `remedy` is another one than smaller sizes.
    """
    if cost.seconds > 3600 * hours:
        from theory.validation import fail

        raise fail(
            "rounds × replicates",
            f"a run of at most about {duration(3600 * hours)}",
            f"one of about {duration(cost.seconds)} (an estimate)",
            "ask for fewer rounds or replicates" + (f", or {remedy}" if remedy else ""),
        )


def duration(seconds: float) -> str:
    """A time to two digits or so, in the unit that suits it.

    >>> [duration(s) for s in (12.3, 200, 9000, 400_000)]
    ['12 s', '3.3 min', '2.5 h', '4.6 days']
    """
    for unit, length, most in (("s", 1, 100), ("min", 60, 100), ("h", 3600, 48)):
        if seconds < most * length:
            return f"{seconds / length:.2g} {unit}"
    return f"{seconds / 86400:.2g} days"
