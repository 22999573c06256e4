"""What can be asked of the server: the page, its files, the jobs of `peerbayes.explorer.work`.

Connections that ask for nothing end, and never take the place of those that ask.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from http import HTTPStatus
from itertools import accumulate
from pathlib import Path
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import FileResponse, JSONResponse, Response, StreamingResponse
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from peerbayes.explorer.guard import SESSION_HEADER, Door, Guard
from peerbayes.explorer.jobs import Jobs
from peerbayes.explorer.nursery import FAULT, Frame
from peerbayes.explorer.work import WORK

PAGE = Path(__file__).parent / "page"
MOST = 100
"""Connections that are open at a time."""
# Seconds from a connection's beginning, or from its last answer, to the end of the next head.
_HEAD_SECONDS = 10.0
_DEEPEST = 40
# A JSON text without what is not a bracket of its structure.
_NOT_BRACKETS = re.compile(rb'[^"\[\]{}]+|"(?:[^"\\]|\\.)*+"?', re.DOTALL)
_STEPS = bytes.maketrans(b"[{]}", b"\x02\x02\x00\x00")
_STATUS = {"result": 200, "refusal": 422, "fault": 500, "cancelled": 409}


@dataclass
class Opening:
    """What is shown first.

    Attributes
    ----------
    request
        That of the work ``start``, as JSON.
    answer
        What came of it, as JSON; None as long as nobody has asked.
    """

    request: bytes = b"{}"
    answer: bytes | None = None


def application(jobs: Jobs, door: Door, opening: Opening, *, page: Path = PAGE) -> Guard:
    """The application behind its guard.

    Parameters
    ----------
    jobs
        Where work is done; stopped when the application ends.
    door
        Who may come in.
    opening
        What is shown first.
    page
        Folder of the page's files.
    """

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        jobs.begin()
        try:
            yield
        finally:
            jobs.stop()

    async def work(request: Request) -> Response:
        name = request.path_params["name"]
        if name not in WORK:
            raise HTTPException(404, f"/api/{name}: there is nothing of this name; reload the page")
        body = await (request.body() if name == "start" else _body(request))
        if name == "start":
            if opening.answer is not None:
                return Response(opening.answer, media_type="application/json")
            body = opening.request
        asked = WORK[name]
        frames = jobs.run(_session(request), name, body, long=asked.long, patient=asked.patient)
        return Lines(frames, name) if asked.long else _Answer(frames)

    async def cancel(request: Request) -> Response:
        try:
            path = json.loads(await _body(request)).get("path")
        except ValueError:
            raise HTTPException(422, "request: expected valid JSON; send it again") from None
        name = path.removeprefix("/api/") if isinstance(path, str) else None
        return JSONResponse({"cancelled": jobs.cancel(_session(request), name)})

    routes = [
        Route("/api/cancel", cancel, methods=["POST"]),
        Route("/api/{name}", work, methods=["POST"]),
    ]
    return guarded(page / "index.html", routes, door, lifespan)


def guarded(
    home: Path,
    routes: list[Route],
    door: Door,
    lifespan: Callable[[Starlette], Any] | None = None,
) -> Guard:
    """An application of a page, the files beside it, and what can be asked, behind its guard.

    Parameters
    ----------
    home
        The file of the page.
    routes
        What can be asked.
    door
        Who may come in.
    lifespan
        What is begun with the application and ended with it.
    """

    async def page(request: Request) -> Response:
        return FileResponse(home, media_type="text/html")

    files = Mount("/page", StaticFiles(directory=home.parent, check_dir=False))
    every = [Route("/", page), files, *routes]
    return Guard(Starlette(routes=every, lifespan=lifespan, exception_handlers=HANDLERS), door)


def _session(request: Request) -> str:
    return request.headers[SESSION_HEADER]


async def _body(request: Request) -> bytes:
    """The body of a request: JSON, a table, not too deep."""
    try:
        body = await request.body()
    except ClientDisconnect:
        raise HTTPException(400, "request: it ended too early; send it again") from None
    if not body.lstrip(b" \t\r\n").startswith(b"{"):
        line = "request: expected a table, in braces, got something else; send one"
        raise HTTPException(422, line)
    if depth(body) > _DEEPEST:
        line = f"request: expected at most {_DEEPEST} levels, got more; use fewer"
        raise HTTPException(422, line)
    return body


def depth(text: bytes) -> int:
    """How deep the brackets of a JSON text are nested.

    >>> depth(b'{"a": [[1], "[[[[["]}')
    3
    """
    steps = _NOT_BRACKETS.sub(b"", text).translate(_STEPS)
    return max(accumulate(step - 1 for step in steps), default=0)


class _Answer(StreamingResponse):
    """The outcome of a quick job; the job is killed if nobody waits for it any more."""

    def __init__(self, frames: AsyncGenerator[Frame, None]) -> None:
        super().__init__(())
        self._frames = frames

    async def stream_response(self, send: Send) -> None:
        """Wait for the last frame: the status depends on it."""
        async with aclosing(self._frames) as frames:
            last = [frame async for frame in frames][-1]
        answer = Response(_json(last), _STATUS[last.kind], media_type="application/json")
        await send(
            {
                "type": "http.response.start",
                "status": answer.status_code,
                "headers": answer.raw_headers,
            }
        )
        await send({"type": "http.response.body", "body": answer.body})


class Lines(StreamingResponse):
    """Progress and outcome of a long job, a line of JSON each; the job ends if nobody listens."""

    def __init__(self, frames: AsyncGenerator[Frame, None], name: str) -> None:
        headers = {"content-type": "application/x-ndjson", "x-accel-buffering": "no"}
        super().__init__(_lines(frames, name), headers=headers)


async def _lines(frames: AsyncGenerator[Frame, None], name: str) -> AsyncGenerator[bytes, None]:
    what = json.dumps(name).encode()
    async with aclosing(frames):
        async for frame in frames:
            line = _json(frame)
            if frame.kind == "progress":
                line = b'{"progress": ' + frame.body + b', "what": ' + what + b"}"
            elif frame.kind == "result":
                line = b'{"result": ' + frame.body + b"}"
            yield line + b"\n"


def _json(frame: Frame) -> bytes:
    if frame.kind == "result":
        return frame.body
    if frame.kind == "cancelled":
        return b'{"cancelled": true}'
    return json.dumps({"error": frame.body.decode()}).encode()


async def _answer_error(request: Request, error: Exception) -> Response:
    """One line: that of a refusal, of a path that is not there, or that the program is at fault."""
    status, line = 500, FAULT
    if isinstance(error, HTTPException):
        status, line = error.status_code, error.detail
        if line == HTTPStatus(status).phrase:
            line = f"{request.url.path}: {line}"
    return JSONResponse({"error": line}, status)


HANDLERS = {HTTPException: _answer_error, Exception: _answer_error}


# Connections ------------------------------------------------------------------------------------


class Connection(H11Protocol):
    """One connection of the server, as uvicorn's, with an end to waiting.

    A head that is not whole in time ends the connection. Where there are too many, the one that has
    waited longest for a head gives way to the new one.
    """

    _waits: asyncio.TimerHandle | None = None

    @property
    def waits_since(self) -> float | None:
        """When the loop's clock began to count; None while a request is answered."""
        return None if self._waits is None else self._waits.when()

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Make room, then begin to wait."""
        others = (one for one in self.connections if isinstance(one, Connection))
        waiting = {one: since for one in others if (since := one.waits_since) is not None}
        if waiting and len(self.connections) >= MOST:
            longest = min(waiting, key=waiting.__getitem__)
            self.connections.discard(longest)
            longest.transport.abort()
        super().connection_made(transport)
        self._wait()

    def data_received(self, data: bytes) -> None:
        """Wait no longer once a request has begun to be answered."""
        super().data_received(data)
        if self.cycle is not None and not self.cycle.response_complete:
            self._wait_no_more()

    def on_response_complete(self) -> None:
        """Wait for the next request, which may have come already."""
        self._wait()
        super().on_response_complete()
        if not self.cycle.response_complete:
            self._wait_no_more()

    def connection_lost(self, exc: Exception | None) -> None:
        """Nothing to wait for."""
        self._wait_no_more()
        super().connection_lost(exc)

    def _wait(self) -> None:
        self._wait_no_more()
        self._waits = self.loop.call_later(_HEAD_SECONDS, self.transport.close)

    def _wait_no_more(self) -> None:
        if self._waits is not None:
            self._waits.cancel()
            self._waits = None


def server_of(guard: Guard) -> uvicorn.Server:
    """What answers for an application; to be given a socket."""
    config = uvicorn.Config(
        guard,
        lifespan="on", http=Connection, ws="none", loop="asyncio", log_config=None,
        log_level="warning", access_log=False, server_header=False, proxy_headers=False,
        limit_concurrency=MOST + 1, timeout_graceful_shutdown=2,
    )  # fmt: skip
    return uvicorn.Server(config)
