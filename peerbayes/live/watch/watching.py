"""Watching from beginning to end: listen, show, and leave a record.

A listener subscribes, and publishes nothing. Reports, tokens of who is there, and lists of members
are all that it asks for. With keys its certificate is a watcher's, from which agents take nothing
in any case.

The page of `peerbayes watch` streams what a watcher knows to a browser of this machine. It is
served as the page of `peerbayes explore` is: on the loopback address, behind the same guard.
Nothing can be asked of it but its files and the stream.
"""

from __future__ import annotations

import asyncio
import json
import sys
import threading
import time
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TextIO

import numpy as np

from peerbayes.documents import Documented
from peerbayes.live.security import KeyFolder, zenoh_settings
from peerbayes.live.transport import agent_of, check_addresses, key
from peerbayes.live.watch.quantities import document_of, watch_parts
from peerbayes.live.watch.reports import LARGEST_REPORT
from peerbayes.live.watch.watcher import Watcher
from peerbayes.live.zenoh_transport import (
    Endpoints,
    listen,
    listen_to_tokens,
    open_session,
    process_of,
)
from peerbayes.record_names import file_name
from peerbayes.records import set_aside, write_record
from theory.validation import fail

if TYPE_CHECKING:
    import zenoh
    from rich.console import RenderableType
    from starlette.requests import Request
    from starlette.responses import Response

    from peerbayes.explorer.guard import Door, Guard


KIND = "watch"
Show = Callable[[Any], None]

_LARGEST_LIST = 16 << 20
# Stands for a payload that was not read, and is refused as that would be.
_TOO_LARGE = bytes(LARGEST_REPORT + 1)
_EACH = 0.5
# Seconds between records while it runs: what a watcher that is killed leaves.
_RECORD_EACH = 30.0
# Agents that are gone may come back: watching ends when nobody was there for so long.
_NOBODY = 5.0


# Listening --------------------------------------------------------------------------------------


class Listener:
    """A session that listens until it is closed; a context manager.

    Parameters
    ----------
    network
        First 16 hexadecimal digits of the problem's digest.
    ends
        Endpoints and settings.
    watcher
        Told of all that arrives.

    Raises
    ------
    ValueError
        If the package zenoh is missing, or the session cannot be opened.
    """

    def __init__(self, network: str, ends: Endpoints, watcher: Watcher) -> None:
        def reports(data: bytes | None, sample: zenoh.Sample) -> None:
            name = agent_of(str(sample.key_expr))
            watcher.report(name, _TOO_LARGE if data is None else data, process=process_of(sample))

        def lists(data: bytes | None, _: zenoh.Sample) -> None:
            if data is not None:
                watcher.members(data)

        session = self._session = open_session(ends)
        self._kept = [
            listen(session, key(network, "report", "*"), reports, limit=LARGEST_REPORT),
            listen(session, key(network, "members"), lists, limit=_LARGEST_LIST),
            listen_to_tokens(session, network, watcher.alive),
        ]

    def close(self) -> None:
        """Stop listening."""
        self._session.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def ends_of(
    network: str,
    *,
    connect: Iterable[str],
    router: bool,
    keys: Path | None,
    members: Iterable[str],
    out: Path,
) -> tuple[Endpoints, str]:
    """Where to listen, and the key that lists of members must be signed by ("" for none).

    Without `connect`: at the agents that `peerbayes launch` started with the same folder `out`.

    Raises
    ------
    ValueError
        If there is nobody to listen to, or `keys` are not a watcher's of this network.
    """
    endpoints = tuple(connect)
    check_addresses(connect=endpoints)
    if not endpoints:
        endpoints, router = launched(network, out)
    folder = None
    if keys is not None:
        folder = KeyFolder.read(keys if (keys / "folder.json").exists() else keys / "watcher")
        if folder.network != network:
            got = f"those of {folder.network}"
            raise fail("--keys", f"keys of network {network}", got, "name its folder")
    settings = zenoh_settings(folder, members=members)
    ends = Endpoints(connect=endpoints, router=router, settings=settings)
    return ends, "" if folder is None else folder.authority


def launched(network: str, out: Path) -> tuple[tuple[str, ...], bool]:
    """Endpoints of the agents that `peerbayes launch` runs, and whether they are a router's.

    Raises
    ------
    ValueError
        If it runs none of this network.
    """
    path = out / f"live-{network}.json"
    try:
        content = json.loads(path.read_bytes())
        endpoints = tuple(str(one) for one in content["endpoints"])
        router = bool(content.get("router", False))
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        wanted = "endpoints of the agents"
        remedy = "name them with --connect, or start 'peerbayes launch' with the same --out"
        raise fail("--connect", wanted, "none", remedy) from None
    if not endpoints:
        raise fail(str(path), "endpoints of the agents", "none", "start 'peerbayes launch' again")
    return endpoints, router


# Watching ---------------------------------------------------------------------------------------


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

    watched: Any
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

    def document(self) -> Any:
        """What `watch` prints: the record without the courses, and where that is."""
        path = self.record_path
        more = {"course": None, "record": None if path is None else str(path)}
        return self.watched.model_copy(update=more)

    def tables(self) -> Sequence[RenderableType]:
        """Terminal tables of this result."""
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


def final_document(watcher: Watcher) -> Any:
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

    from peerbayes.terminal import Visible

    console = Console(file=stream, highlight=False, emoji=False, markup=False)
    with Live(console=console, auto_refresh=False, transient=True) as live:
        yield lambda document: live.update(
            Group(*(Visible(part) for part in watch_parts(document))), refresh=True
        )


# The page ---------------------------------------------------------------------------------------


class LivePage:
    """A page that shows a watcher while it watches.

    Parameters
    ----------
    notice
        Told the address.
    open_browser
        Open the page in a browser of this machine, if it has one with windows.
    port
        Of the loopback address; any that is free if 0.
    """

    def __init__(
        self, notice: Callable[[str], None], *, open_browser: bool = True, port: int = 0
    ) -> None:
        self._notice, self._open, self._port = notice, open_browser, port
        self._over = threading.Event()
        self.address = ""

    def end(self) -> None:
        """Tell browsers that there is nothing more to come."""
        self._over.set()

    @contextmanager
    def of(self, watcher: Watcher) -> Iterator[None]:
        """Serve the page of this watcher, from a thread of its own.

        Raises
        ------
        ValueError
            If a package is missing (the extra ``explore``), or the port is in use.
        """
        from peerbayes.explorer.app import server_of
        from peerbayes.explorer.guard import Door
        from peerbayes.explorer.serving import bound, needs_server, shown_in_browser

        needs_server()
        listener = bound(self._port)
        door = Door.with_new_token(listener.getsockname()[1])
        self._over.clear()
        guard = application(lambda: frame_of(watcher), door, self._over)
        server = server_of(guard)
        thread = threading.Thread(
            target=lambda: asyncio.run(server.serve(sockets=[listener])),
            name="peerbayes watch",
            daemon=True,
        )
        thread.start()
        try:
            self.address = door.address
            self._notice(f"page: {door.address}")
            if self._open:
                shown_in_browser(guard.address_for_one_visit())
            yield
        finally:
            self.end()
            server.should_exit = True
            thread.join()
            listener.close()


def application(told: Callable[[], bytes], door: Door, over: threading.Event) -> Guard:
    """The application behind its guard.

    Parameters
    ----------
    told
        What is shown now, as JSON.
    door
        Who may come in.
    over
        Set when there is nothing more to tell.
    """
    from starlette.applications import Starlette
    from starlette.responses import FileResponse
    from starlette.routing import Mount, Route
    from starlette.staticfiles import StaticFiles

    from peerbayes.explorer.app import HANDLERS, PAGE, Lines
    from peerbayes.explorer.guard import Guard
    from peerbayes.explorer.nursery import Frame

    async def home(request: Request) -> Response:
        return FileResponse(PAGE / "live.html", media_type="text/html")

    async def frames() -> AsyncGenerator[Frame, None]:
        while True:
            last = over.is_set()
            yield Frame("progress", await asyncio.to_thread(told))
            if last:
                break
            await asyncio.to_thread(over.wait, _EACH)
        yield Frame("result", b"null")

    async def follow(request: Request) -> Response:
        return Lines(frames(), "follow")

    routes = [
        Route("/", home),
        Mount("/page", StaticFiles(directory=PAGE, check_dir=False)),
        Route("/api/follow", follow, methods=["POST"]),
    ]
    return Guard(Starlette(routes=routes, exception_handlers=HANDLERS), door)


def frame_of(watcher: Watcher) -> bytes:
    """What the page shows, as JSON: the document of the watch, and where agents stand."""
    document = document_of(watcher.sight(), with_course=True)
    told = {"document": document.as_json(), "layout": _layout(document)}
    return json.dumps(told, allow_nan=False).encode()


def _layout(document: Any) -> list[list[float]]:
    from peerbayes.explorer.layouts import layout_of

    if not document.agents:
        return []
    given = None if document.positions is None else np.array(document.positions)
    if given is not None and len(given) != len(document.agents):
        given = None
    pairs = [(link.hearer, link.heard) for link in document.links]
    edges = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    return layout_of(given, edges, len(document.agents))
