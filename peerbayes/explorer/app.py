"""What can be asked of the server: the page, its files, the jobs of `peerbayes.explorer.work`."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import aclosing, asynccontextmanager, suppress
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import FileResponse, JSONResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import Receive, Scope, Send

from peerbayes.explorer.frames import Frame
from peerbayes.explorer.guard import SESSION_HEADER, TOO_LARGE, Door, Guard, TooLargeError
from peerbayes.explorer.jobs import Jobs
from peerbayes.explorer.nursery import FAULT
from peerbayes.explorer.work import WORK

PAGE = Path(__file__).parent / "page"
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


class _RefusedError(Exception):
    """A request that is answered by one line."""

    def __init__(self, status: int, line: str) -> None:
        super().__init__(line)
        self.status = status


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

    async def home(request: Request) -> Response:
        return FileResponse(page / "index.html", media_type="text/html")

    async def work(request: Request) -> Response:
        name = request.path_params["name"]
        if name not in WORK:
            raise _RefusedError(404, f"/api/{name}: there is nothing of this name; reload the page")
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
            raise _RefusedError(422, "request: expected valid JSON; send it again") from None
        name = path.removeprefix("/api/") if isinstance(path, str) else None
        return JSONResponse({"cancelled": jobs.cancel(_session(request), name)})

    routes = [
        Route("/", home),
        Mount("/page", StaticFiles(directory=page, check_dir=False)),
        Route("/api/cancel", cancel, methods=["POST"]),
        Route("/api/{name}", work, methods=["POST"]),
    ]
    return Guard(Starlette(routes=routes, lifespan=lifespan, exception_handlers=HANDLERS), door)


def _session(request: Request) -> str:
    return request.headers[SESSION_HEADER.decode()]


async def _body(request: Request) -> bytes:
    """The body of a request: JSON, a table, not too deep."""
    try:
        body = await request.body()
    except ClientDisconnect:
        raise _RefusedError(400, "request: it ended too early; send it again") from None
    if not body.lstrip(b" \t\r\n").startswith(b"{"):
        raise _RefusedError(
            422, "request: expected a table, in braces, got something else; send one"
        )
    if depth(body) > _DEEPEST:
        raise _RefusedError(
            422, f"request: expected at most {_DEEPEST} levels, got more; use fewer"
        )
    return body


def depth(text: bytes) -> int:
    """How deep the brackets of a JSON text are nested.

    >>> depth(b'{"a": [[1], "[[[[["]}')
    3
    """
    steps = _NOT_BRACKETS.sub(b"", text).translate(_STEPS)
    return max(accumulate(step - 1 for step in steps), default=0)


class _Answer(Response):
    """The outcome of a quick job; the job is killed if nobody waits for it any more."""

    def __init__(self, frames: AsyncGenerator[Frame, None]) -> None:
        self._frames = frames

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def finish() -> None:
            last = Frame("fault", b"no answer")
            async with aclosing(self._frames) as frames:
                async for frame in frames:
                    last = frame
            status = _STATUS[last.kind]
            await Response(_json(last), status, media_type="application/json")(scope, receive, send)

        await _while_heard(finish, receive)


class Lines(Response):
    """Progress and outcome of a long job, a line of JSON each."""

    def __init__(self, frames: AsyncGenerator[Frame, None], name: str) -> None:
        self._frames = frames
        self._name = name

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def finish() -> None:
            headers = [(b"content-type", b"application/x-ndjson"), (b"x-accel-buffering", b"no")]
            await send({"type": "http.response.start", "status": 200, "headers": headers})
            what = json.dumps(self._name).encode()
            async with aclosing(self._frames) as frames:
                async for frame in frames:
                    if frame.kind == "progress":
                        line = b'{"progress": ' + frame.body + b', "what": ' + what + b"}"
                    elif frame.kind == "result":
                        line = b'{"result": ' + frame.body + b"}"
                    else:
                        line = _json(frame)
                    await _more(send, line + b"\n")
            await send({"type": "http.response.body", "body": b""})

        await _while_heard(finish, receive)


async def _more(send: Send, line: bytes) -> None:
    await send({"type": "http.response.body", "body": line, "more_body": True})


def _json(frame: Frame) -> bytes:
    if frame.kind == "result":
        return frame.body
    if frame.kind == "cancelled":
        return b'{"cancelled": true}'
    return json.dumps({"error": frame.body.decode()}).encode()


async def _while_heard(finish: Callable[[], Awaitable[None]], receive: Receive) -> None:
    """Finish an answer, or stop as soon as the other side is gone."""

    async def gone() -> None:
        while (await receive())["type"] != "http.disconnect":
            pass

    tasks = [asyncio.ensure_future(finish()), asyncio.ensure_future(gone())]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        outcomes = await asyncio.gather(*tasks, return_exceptions=True)
    if isinstance(outcomes[0], Exception):
        with suppress(OSError):  # nobody hears it
            raise outcomes[0]


async def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, _RefusedError)
    return JSONResponse({"error": str(error)}, error.status)


async def _too_large(request: Request, error: Exception) -> Response:
    status, line = TOO_LARGE
    return JSONResponse({"error": line}, status)


async def _not_there(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return JSONResponse({"error": f"{request.url.path}: {error.detail}"}, error.status_code)


async def _failed(request: Request, error: Exception) -> Response:
    return JSONResponse({"error": FAULT}, 500)


HANDLERS = {
    _RefusedError: _refused, TooLargeError: _too_large,
    HTTPException: _not_there, Exception: _failed,
}  # fmt: skip
"""How errors are answered: in one line."""
