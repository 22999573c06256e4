"""Watching from beginning to end: listen, show, and leave a record."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from peerbayes.documents import Documented
from peerbayes.live.watch.as_document import document_of
from peerbayes.live.watch.documents import WatchDocument
from peerbayes.live.watch.watcher import Watcher
from peerbayes.records import file_name, set_aside, write_record
from theory.validation import fail

if TYPE_CHECKING:
    from rich.console import RenderableType

KIND = "watch"
Show = Callable[[WatchDocument], None]

_EACH = 0.5
# Seconds between records while it runs: what a watcher that is killed leaves.
_RECORD_EACH = 30.0
# Agents that are gone may come back: watching ends when nobody was there for so long.
_NOBODY = 5.0


@dataclass(frozen=True, eq=False)
class WatchOutcome(Documented):
    """What was seen of a live network, and where the record is.

    Attributes
    ----------
    watched
        What was seen, the courses of beliefs included.
    record_path, report_path
        The record's file, and the page's; None where none was written.
    """

    watched: WatchDocument
    record_path: Path | None = None
    report_path: Path | None = None

    def _title(self) -> str:
        return f"{type(self).__name__} of {self.watched.name!r}"

    def _facts(self) -> Iterator[tuple[str, object]]:
        told = self.watched.told
        yield "agents", len(self.watched.agents)
        yield "seconds", self.watched.seconds
        yield "seconds a round", told.round_seconds
        if told.binding is not None:
            yield "predicted rate", told.binding.predicted
            yield "measured rate", told.binding.measured
        yield "record", None if self.record_path is None else str(self.record_path)

    def document(self) -> WatchDocument:
        """What `watch` prints: the record without the courses, and where that is."""
        path = self.record_path
        more = {"course": None, "record": None if path is None else str(path)}
        return self.watched.model_copy(update=more)

    def tables(self) -> Sequence[RenderableType]:
        """The same for people."""
        from peerbayes.live.watch.tables import watch_parts

        return watch_parts(self.document())


def watch_until(
    watcher: Watcher,
    *,
    seconds: float | None = None,
    show: Show | None = None,
    out: Path | None = None,
    pause: Callable[[float], None] = time.sleep,
) -> WatchOutcome:
    """Show what a watcher hears until all agents are done, time is over, or Ctrl-C.

    Parameters
    ----------
    watcher
        Fed by a listener.
    seconds
        How long at most; None for no limit.
    show
        Called about twice a second.
    out
        Folder of the record, which is written every half minute and at the end; None for none.
    pause
        Waits so many seconds.

    Raises
    ------
    ValueError
        If no agent was heard, or the record cannot be written.
    """
    clock = watcher.clock
    began = clock()
    written = here = began
    path: Path | None = None
    try:
        while seconds is None or clock() - began < seconds:
            pause(_EACH if seconds is None else min(_EACH, began + seconds - clock()))
            if show is not None:
                show(document_of(watcher.sight()))
            now = clock()
            if not watcher.is_over:
                here = now
            if now - here > _NOBODY or watcher.are_done:
                break
            if out is not None and now - written > _RECORD_EACH and watcher.has_heard:
                path, written = write_watch(watcher, out, path), now
    except KeyboardInterrupt:
        pass  # the way to end it
    finally:
        if out is not None and watcher.has_heard:
            path = write_watch(watcher, out, path)
    if not watcher.has_heard:
        wanted, remedy = "reports of agents", "see that they run, and name them with --connect"
        refused = sum(watcher.refused.values())
        got = f"none in {clock() - began:.0f} s" + (f", and {refused} refused" if refused else "")
        raise fail("watch", wanted, got, remedy)
    return WatchOutcome(final_document(watcher), path)


def final_document(watcher: Watcher) -> WatchDocument:
    """What is told at the end, the courses included."""
    return document_of(watcher.sight(at_end=True), with_course=True)


def write_watch(watcher: Watcher, out: Path, before: Path | None = None) -> Path:
    """Write the record; one of an earlier watch is set aside, `before` is written over.

    Raises
    ------
    ValueError
        If it cannot be written.
    """
    document = final_document(watcher)
    path = out / file_name(KIND, document.name)
    if before is None:
        set_aside(path)
    return write_record(path, kind=KIND, body=document)


@contextmanager
def on_terminal(stream: TextIO | None = None, *, quiet: bool = False) -> Iterator[Show | None]:
    """Tables that are drawn anew as agents report, on standard error if that is a terminal."""
    stream = sys.stderr if stream is None else stream
    if quiet or not stream.isatty():
        yield None
        return
    from rich.console import Console, Group
    from rich.live import Live

    from peerbayes.live.watch.tables import watch_parts
    from peerbayes.terminal import Visible

    console = Console(file=stream, highlight=False, emoji=False, markup=False)
    with Live(console=console, auto_refresh=False, transient=True) as live:
        yield lambda document: live.update(
            Group(*(Visible(part) for part in watch_parts(document))), refresh=True
        )
