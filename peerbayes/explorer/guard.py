"""Who may come in, and what goes out with every answer: a layer around the whole application.

The address is on the loopback interface, where every page that the browser shows, and every user
of the machine, can send requests. Hence:

- the header Host must name the address itself, lest a page of another name that leads here
  (DNS rebinding) is taken for this one; so must Origin, where it is sent;
- the page wants the token in its address, every call below ``/api/`` in a header, which no form of
  another page can send;
- a browser is opened with a code in the token's place that is good for one visit, since every user
  of the machine can read how programs were called;
- a body is refused as soon as it is longer than it may be;
- every answer carries a policy by which the browser runs no scripts but those of this address,
  shows nothing of elsewhere, sends nothing elsewhere, and keeps no copy.
"""

from __future__ import annotations

import re
import secrets
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import parse_qs

from theory.validation import fail

if TYPE_CHECKING:
    from starlette.datastructures import Headers
    from starlette.responses import Response
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

TOKEN_HEADER, SESSION_HEADER = "x-peerbayes-token", "x-peerbayes-session"
LARGEST_BODY = 4 << 20
TOO_LARGE = (413, f"expected at most {LARGEST_BODY >> 20} MiB in a request, got more; send less")
"""Status and line that answer a body that is too long."""
_SESSION = re.compile(r"[A-Za-z0-9_-]{1,64}")
_ORIGIN = re.compile(r"https?://[A-Za-z0-9.-]+(:[0-9]{1,5})?|https?://\[[0-9a-f:]+\](:[0-9]{1,5})?")
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
    "connect-src 'self'; font-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors {}"
)
_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Cache-Control": "no-store",
}


@dataclass(frozen=True)
class Door:
    """Where the page is, and who may come in.

    Attributes
    ----------
    port
        Of the loopback address.
    token
        What the address of the page ends with; 32 random bytes (:meth:`with_new_token`).
    frame
        The origin, such as ``http://localhost:8888``, whose pages may show this one in a frame;
        None if nobody may.

    Raises
    ------
    ValueError
        If `frame` is no origin.
    """

    port: int
    token: str
    frame: str | None = None

    def __post_init__(self) -> None:
        if self.frame is not None and not _ORIGIN.fullmatch(self.frame):
            wanted = "an origin, such as 'http://localhost:8888'"
            raise fail("frame", wanted, repr(self.frame), "give scheme, name and port alone")

    @classmethod
    def with_new_token(cls, port: int, frame: str | None = None) -> Door:
        return cls(port, secrets.token_urlsafe(32), frame)

    @property
    def address(self) -> str:
        """Where the page is, with the token."""
        return f"http://127.0.0.1:{self.port}/?token={self.token}"

    @property
    def hosts(self) -> tuple[str, ...]:
        """The names of this address."""
        return f"127.0.0.1:{self.port}", f"localhost:{self.port}"

    def headers(self) -> dict[str, str]:
        """What every answer carries."""
        policy = {"Content-Security-Policy": _POLICY.format(self.frame or "'none'")}
        return policy | _HEADERS | ({} if self.frame else {"X-Frame-Options": "DENY"})


class Guard:
    """The layer: refuses what may not come in, and adds the headers to every answer.

    Parameters
    ----------
    app
        The application behind it.
    door
        Who may come in.
    """

    def __init__(self, app: ASGIApp, door: Door) -> None:
        self._app = app
        self._door = door
        self._codes: set[str] = set()

    def address_for_one_visit(self) -> str:
        """An address that leads to the page once."""
        code = secrets.token_urlsafe(32)
        self._codes.add(code)
        return f"http://127.0.0.1:{self._door.port}/?once={code}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
            return
        from starlette.datastructures import Headers, MutableHeaders

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(self._door.headers())
            await send(message)

        refusal = self._refusal(scope, Headers(scope=scope))
        if refusal is not None:
            await refusal(scope, receive, guarded)
        else:
            await self._app(scope, _bounded(receive), guarded)

    def _refusal(self, scope: Scope, headers: Headers) -> Response | None:
        """What is answered in one line, or None if the request may come in."""
        hosts, origins = headers.getlist("host"), headers.getlist("origin")
        if len(hosts) != 1 or hosts[0].lower() not in self._door.hosts:
            return _line(403, "Host: this page is at 127.0.0.1 alone")
        if origins and (len(origins) > 1 or origins[0].lower() != f"http://{hosts[0].lower()}"):
            return _line(403, "Origin: only this page itself may ask")
        path = scope["path"]
        if path == "/":
            query = parse_qs(scope["query_string"].decode("latin-1"))
            if not self._knows(query.get("token", [])):
                return self._first_visit(query.get("once", [""])[0])
        elif not path.startswith("/page/"):
            if not self._knows(headers.getlist(TOKEN_HEADER)):
                return _line(403, "token: wrong or missing; open the address that is printed again")
            sessions = headers.getlist(SESSION_HEADER)
            if len(sessions) != 1 or not _SESSION.fullmatch(sessions[0]):
                line = "session: expected 1 to 64 letters, digits, - and _ in its header"
                return _line(403, line)
        lengths = headers.getlist("content-length")
        if any(len(n) > 15 or not n.isdecimal() or int(n) > LARGEST_BODY for n in lengths):
            return _line(*TOO_LARGE)
        return None

    def _first_visit(self, given: str) -> Response:
        """The way to the page for a code that is used the first time; for others, where it is."""
        from starlette.responses import PlainTextResponse, RedirectResponse

        known = [c for c in self._codes if secrets.compare_digest(c.encode(), given.encode())]
        self._codes.difference_update(known)
        if known:
            return RedirectResponse(self._door.address, 303)
        line = "token: open the address that 'peerbayes explore' prints, whole\n"
        return PlainTextResponse(line, 401)

    def _knows(self, tokens: list[str]) -> bool:
        """Whether there is one token, and it is the right one; takes the same time if not."""
        given = tokens[0].encode() if tokens else b""
        return secrets.compare_digest(given, self._door.token.encode()) and len(tokens) == 1


def _line(status: int, line: str) -> Response:
    from starlette.responses import JSONResponse

    return JSONResponse({"error": line}, status)


def _bounded(receive: Receive) -> Receive:
    """The same, until more than the largest body has come."""
    from starlette.exceptions import HTTPException

    total = 0

    async def bounded() -> Message:
        nonlocal total
        message = await receive()
        total += len(message.get("body", b""))
        if total > LARGEST_BODY:
            raise HTTPException(*TOO_LARGE)
        return message

    return bounded
