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

import json
import re
import secrets
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import parse_qs

from theory.validation import fail

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

TOKEN_HEADER, SESSION_HEADER = b"x-peerbayes-token", b"x-peerbayes-session"
LARGEST_BODY = 4 << 20
_SESSION = re.compile(rb"[A-Za-z0-9_-]{1,64}")
_ORIGIN = re.compile(r"https?://[A-Za-z0-9.-]+(:[0-9]{1,5})?|https?://\[[0-9a-f:]+\](:[0-9]{1,5})?")
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
    "connect-src 'self'; font-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors {}"
)


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
    def hosts(self) -> tuple[bytes, ...]:
        """The names of this address."""
        return tuple(f"{name}:{self.port}".encode() for name in ("127.0.0.1", "localhost"))

    def headers(self) -> list[tuple[bytes, bytes]]:
        """What every answer carries."""
        framed = [] if self.frame else [("X-Frame-Options", "DENY")]
        pairs = [
            ("Content-Security-Policy", _POLICY.format(self.frame or "'none'")),
            ("X-Content-Type-Options", "nosniff"),
            ("Referrer-Policy", "no-referrer"),
            ("Cross-Origin-Opener-Policy", "same-origin"),
            ("Cross-Origin-Resource-Policy", "same-origin"),
            ("Permissions-Policy", "camera=(), geolocation=(), microphone=()"),
            ("Cache-Control", "no-store"),
            *framed,
        ]
        return [(name.lower().encode(), value.encode()) for name, value in pairs]


class TooLargeError(Exception):
    """A body is longer than it may be."""


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
        begun = False

        async def guarded(message: Message) -> None:
            nonlocal begun
            if message["type"] == "http.response.start":
                begun = True
                ours = self._door.headers()
                names = {name for name, _ in ours}
                theirs = [pair for pair in message.get("headers", []) if pair[0] not in names]
                message = {**message, "headers": [*theirs, *ours]}
            await send(message)

        refusal = self._refusal(scope)
        if refusal is not None:
            if refusal[0] == 401 and self._is_first_visit(scope):
                await _lead(guarded, self._door.address)
            else:
                await _answer(guarded, *refusal)
            return
        try:
            await self._app(scope, _bounded(receive), guarded)
        except TooLargeError:
            if not begun:
                await _answer(guarded, *TOO_LARGE)

    def _refusal(self, scope: Scope) -> tuple[int, str] | None:
        """A status and one line, or None if the request may come in."""
        headers = scope["headers"]
        hosts = _values(headers, b"host")
        if len(hosts) != 1 or hosts[0].lower() not in self._door.hosts:
            return 403, "Host: this page is at 127.0.0.1 alone"
        origins = _values(headers, b"origin")
        if origins and (len(origins) > 1 or origins[0].lower() != b"http://" + hosts[0].lower()):
            return 403, "Origin: only this page itself may ask"
        path = scope["path"]
        if path == "/":
            query = parse_qs(scope["query_string"].decode("latin-1"))
            if not self._knows(value.encode() for value in query.get("token", [])):
                return 401, "token: open the address that 'peerbayes explore' prints, whole"
        elif not path.startswith("/page/"):
            if not self._knows(_values(headers, TOKEN_HEADER)):
                return 403, "token: wrong or missing; open the address that is printed again"
            sessions = _values(headers, SESSION_HEADER)
            if len(sessions) != 1 or not _SESSION.fullmatch(sessions[0]):
                return 403, "session: expected 1 to 64 letters, digits, - and _ in its header"
        lengths = _values(headers, b"content-length")
        if any(len(n) > 15 or not n.isdigit() or int(n) > LARGEST_BODY for n in lengths):
            return TOO_LARGE
        return None

    def _is_first_visit(self, scope: Scope) -> bool:
        given = parse_qs(scope["query_string"].decode("latin-1")).get("once", [""])[0].encode()
        known = [code for code in self._codes if secrets.compare_digest(code.encode(), given)]
        self._codes.difference_update(known)
        return bool(known)

    def _knows(self, tokens: Iterable[bytes]) -> bool:
        """Whether there is one token, and it is the right one; takes the same time if not."""
        given = list(tokens)
        right = secrets.compare_digest(given[0] if given else b"", self._door.token.encode())
        return right and len(given) == 1


TOO_LARGE = (413, f"expected at most {LARGEST_BODY >> 20} MiB in a request, got more; send less")
"""Status and line that answer a body that is too long."""


def _values(headers: Iterable[tuple[bytes, bytes]], name: bytes) -> list[bytes]:
    return [value for key, value in headers if key == name]


def _bounded(receive: Receive) -> Receive:
    """The same, until more than the largest body has come."""
    total = 0

    async def bounded() -> Message:
        nonlocal total
        message = await receive()
        total += len(message.get("body", b""))
        if total > LARGEST_BODY:
            raise TooLargeError
        return message

    return bounded


async def _lead(send: Send, address: str) -> None:
    headers = [(b"location", address.encode()), (b"content-length", b"0")]
    await send({"type": "http.response.start", "status": 303, "headers": headers})
    await send({"type": "http.response.body"})


async def _answer(send: Send, status: int, line: str) -> None:
    is_page = status == 401
    body = f"{line}\n".encode() if is_page else json.dumps({"error": line}).encode()
    kind = b"text/plain; charset=utf-8" if is_page else b"application/json"
    headers = [(b"content-type", kind), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
