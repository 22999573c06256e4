"""The page of `peerbayes watch`: what a watcher knows, streamed to a browser of this machine.

It is served as the page of `peerbayes explore` is: on the loopback address, behind the same guard.
Nothing can be asked of it but its files and the stream.
"""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy as np

from peerbayes.explorer.layouts import layout_of
from peerbayes.explorer.nursery import Frame
from peerbayes.live.watch.as_document import document_of
from peerbayes.live.watch.documents import WatchDocument
from peerbayes.live.watch.watcher import Watcher

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from peerbayes.explorer.guard import Door, Guard

_EACH = 0.5


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
        from peerbayes.explorer.guard import Door
        from peerbayes.explorer.serving import bound, needs_server, shown_in_browser

        needs_server()
        from peerbayes.explorer.app import server_of

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
    from starlette.routing import Route

    from peerbayes.explorer.app import PAGE, Lines, guarded

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

    routes = [Route("/api/follow", follow, methods=["POST"])]
    return guarded(PAGE / "live.html", routes, door)


def frame_of(watcher: Watcher) -> bytes:
    """What the page shows, as JSON: the document of the watch, and where agents stand."""
    document = document_of(watcher.sight(), with_course=True)
    told = {"document": document.as_json(), "layout": _layout(document)}
    return json.dumps(told, allow_nan=False).encode()


def _layout(document: WatchDocument) -> list[list[float]]:
    if not document.agents:
        return []
    given = None if document.positions is None else np.array(document.positions)
    if given is not None and len(given) != len(document.agents):
        given = None
    pairs = [(link.hearer, link.heard) for link in document.links]
    edges = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    return layout_of(given, edges, len(document.agents))
