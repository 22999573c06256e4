"""The server of the page: an address on the loopback interface, answered from a thread."""

from __future__ import annotations

import asyncio
import json
import socket
import sys
import threading
from collections.abc import Callable
from contextlib import aclosing, suppress
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from peerbayes.explorer.guard import Door
from theory.validation import as_positive, fail, install_extra

if TYPE_CHECKING:
    from peerbayes.explorer.jobs import Jobs
    from peerbayes.explorer.nursery import Frame

_LOOPBACK = "127.0.0.1"
_HEIGHT = 720


class Explorer:
    """A page that is being served; a context manager, which stops it.

    Attributes
    ----------
    address
        What to open in a browser of this machine; who knows it may use the page.
    """

    def __init__(
        self, problem: dict[str, Any], *, port: int, jobs: Jobs, frame: str | None
    ) -> None:
        self._socket, self._jobs = bound(port), jobs
        try:
            door = Door.with_new_token(self._socket.getsockname()[1], frame)
            jobs.begin()  # imports its packages while this process imports those of the server
            from peerbayes.explorer.app import Opening, application, server_of

            self._opening = Opening(json.dumps(problem).encode())
            self._guard = application(jobs, door, self._opening)
            self._server = server_of(self._guard)
        except BaseException:
            jobs.stop()
            self._socket.close()
            raise
        self.address, self._framed = door.address, frame is not None
        self._loop = asyncio.new_event_loop()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._serve, name="peerbayes explore", daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        try:
            with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
                runner.run(self._server.serve(sockets=[self._socket]))
        finally:
            self._jobs.stop()  # if the server did not get as far as that
            self._socket.close()
            self._ended.set()

    def check(self, progress: Callable[[int, int], None] | None = None) -> None:
        """Wait until the first problem can be shown.

        Raises
        ------
        ValueError
            If it cannot, in the line that says why.
        RuntimeError
            If that is a fault of this program.
        """
        last = asyncio.run_coroutine_threadsafe(self._first(progress), self._loop).result()
        if last is None or last.kind != "result":
            error = RuntimeError if last is not None and last.kind == "fault" else ValueError
            raise error((last.body.decode() if last else "") or "stopped")
        self._opening.answer = last.body

    async def _first(self, progress: Callable[[int, int], None] | None) -> Frame | None:
        last: Frame | None = None
        run = self._jobs.run("", "start", self._opening.request, long=True)
        async with aclosing(run) as frames:
            async for last in frames:
                if last.kind == "progress" and progress is not None:
                    progress(*json.loads(last.body))
        return last

    def open(self) -> bool:
        """Show the page in a browser, if there is one here that has windows; whether there is."""
        return shown_in_browser(self._guard.address_for_one_visit())

    def wait(self) -> None:
        """Wait until somebody stops the server.

        Raises
        ------
        ValueError
            If it ended by itself.
        """
        self._ended.wait()
        if not self._server.should_exit:
            raise fail("explore", "a server that answers", "one that ended", "start it again")

    def stop(self) -> None:
        """End the server and all that it started; a second time nothing is done."""
        if not self._ended.is_set():
            self._server.should_exit = True
            with suppress(RuntimeError):  # the loop has just ended
                self._loop.call_soon_threadsafe(self._jobs.stop)
        self._thread.join()

    def __enter__(self) -> Explorer:
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()

    def __repr__(self) -> str:
        state = "stopped" if self._ended.is_set() else "Ctrl-C or .stop() ends it"
        return f"{self.address} ({state})"

    def _repr_html_(self) -> str:
        """A link; the page itself where the notebook was allowed to frame it."""
        address = escape(self.address, quote=True)
        link = f'<a href="{address}" target="_blank" rel="noopener">peerbayes explore</a>'
        if self._ended.is_set():
            return "peerbayes explore: stopped"
        if not self._framed:
            return link
        return f'<iframe src="{address}" width="100%" height="{_HEIGHT}"></iframe><br>{link}'


def serve(
    problem: dict[str, Any],
    *,
    port: int = 0,
    seconds: float = 300,
    data: Path | None = None,
    frame: str | None = None,
) -> Explorer:
    """Serve the page, from a thread of its own, until it is stopped.

    Parameters
    ----------
    problem
        What is shown first: ``{"problem": name or file}``, ``{"document": …}``, or nothing of the
        kind.
    port, seconds, data, frame
        As of `peerbayes.explore`.

    Raises
    ------
    ValueError
        If the port is in use, `seconds` is not positive, a package is missing, or workers do not
        run on this system.
    """
    as_positive("seconds", seconds)
    if sys.platform == "win32":
        raise fail("explore", "Linux or macOS", "Windows", "use it in WSL")
    needs_server()
    from peerbayes.explorer.jobs import Jobs, Limits

    jobs = Jobs(Limits(long_seconds=seconds), data=data)
    return Explorer(problem, port=port, jobs=jobs, frame=frame)


def shown_in_browser(address: str) -> bool:
    """Open a page in a browser, if there is one here that has windows; whether there is."""
    import os
    import webbrowser

    if sys.platform.startswith("linux") and not (
        os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    ):
        return False  # what is left are browsers for a terminal, which would take this one
    try:
        return webbrowser.open(address)
    except (webbrowser.Error, OSError):
        return False


def needs_server() -> None:
    """Say in one line what to install if a package of the server is missing.

    Raises
    ------
    ValueError
        If one is.
    """
    from importlib.util import find_spec

    missing = [name for name in ("starlette", "uvicorn") if find_spec(name) is None]
    if missing:
        wanted = "starlette and uvicorn"
        raise fail("explore", wanted, f"no {' and no '.join(missing)}", install_extra("explore"))


def bound(port: int) -> socket.socket:
    """A socket that listens on the loopback address."""
    # Named a TCP socket, it gets TCP_NODELAY from asyncio: without, answers wait for 40 ms.
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((_LOOPBACK, port))
        listener.listen(128)
    except (OSError, OverflowError) as error:
        listener.close()
        reason = str(getattr(error, "strerror", None) or error).lower()
        remedy = "choose another one, or leave it out"
        raise fail("--port", "a free port of 127.0.0.1", f"{port} ({reason})", remedy) from None
    return listener
