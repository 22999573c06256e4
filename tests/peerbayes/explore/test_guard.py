"""Who may come in, what is refused, and what every answer carries."""

from __future__ import annotations

import asyncio
import secrets
from typing import Any

import httpx
import pytest
from starlette.applications import Starlette
from starlette.routing import Mount

from peerbayes.explorer.app import HANDLERS
from peerbayes.explorer.guard import LARGEST_BODY, Door, Guard
from tests.peerbayes.explore.processes import CALL, DOOR, HOST, answer_of

SECURE = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
        "connect-src 'self'; font-src 'self'; base-uri 'none'; form-action 'none'; "
        "frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
    "cache-control": "no-store",
    "x-frame-options": "DENY",
}


async def counting(scope: Any, receive: Any, send: Any) -> None:
    """An application that says how much it was sent, with headers of its own."""
    total, more = 0, True
    while more:
        message = await receive()
        total += len(message.get("body", b""))
        more = message.get("more_body", False)
    headers = [(b"cache-control", b"max-age=9"), (b"own", b"1")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": str(total).encode()})


def ask(path: str = "/api/edit", *, door: Door = DOOR, **options: Any) -> httpx.Response:
    app = Starlette(routes=[Mount("/", counting)], exception_handlers=HANDLERS)
    return answer_of(Guard(app, door), path, **options)


@pytest.mark.parametrize("host", [HOST, "localhost:8123", "LocalHost:8123"])
def test_the_page_itself_comes_in(host: str) -> None:
    own = {"origin": f"http://{host}"}
    assert ask(headers={**CALL, "host": host}).status_code == 200
    assert ask(headers={**CALL, "host": host, **own}).status_code == 200
    home = ask(f"/?token={DOOR.token}", method="GET", headers={"host": host})
    assert home.status_code == 200
    assert ask("/page/app.css", method="GET", headers={"host": host}).status_code == 200


def headers(**changes: str | list[str] | None) -> list[tuple[str, bytes]]:
    """Those of a call, some of them others, left out or said twice."""
    whole = {**CALL, **{f"x-peerbayes-{k}" if k in OWN else k: v for k, v in changes.items()}}
    told = {name: value if isinstance(value, list) else [value] for name, value in whole.items()}
    return [(name, v.encode()) for name, values in told.items() for v in values if v is not None]


OWN = ("token", "session")
REFUSED: dict[str, list[dict[str, Any]]] = {
    # A page whose name was made to lead here (DNS rebinding) sends its own name.
    "Host: this page is at 127.0.0.1 alone": [
        {"host": host}
        for host in (
            "evil.example", "evil.example:8123", "127.0.0.1", "127.0.0.1:8124", "localhost",
            "127.0.0.1:8123.evil.example", "127.0.0.1:81230", "[::1]:8123", "0.0.0.0:8123", "",
            "user@127.0.0.1:8123", " 127.0.0.1:8123x", "127.1:8123", "2130706433:8123", [HOST] * 2,
        )
    ],
    "Origin: only this page itself may ask": [
        {"origin": origin}
        for origin in (
            "http://evil.example", "null", "https://127.0.0.1:8123", "http://127.0.0.1:8124", "",
            "http://localhost:8123", "http://127.0.0.1", "http://127.0.0.1:8123/", "file://",
        )
    ],
    "token: ": [
        {"token": token}
        for token in (
            [], "", "wrong", "right-toke", "right-tokenx", "RIGHT-TOKEN", ["right-token"] * 2
        )
    ],
    "session: ": [{"session": one} for one in (None, "", "a b", "ä", "x" * 65, "a/b")],
}  # fmt: skip


@pytest.mark.parametrize("error", REFUSED)
def test_whoever_else_calls_stays_out(error: str) -> None:
    for changes in REFUSED[error]:
        answer = ask(headers=headers(**changes))
        assert answer.status_code == 403, changes
        assert answer.json()["error"].startswith(error), changes
        if error.startswith("Host"):  # from the page and its files too
            for path in ("/", f"/?token={DOOR.token}", "/page/app.css"):
                answer = ask(path, method="GET", headers=headers(**changes))
                assert (answer.status_code, answer.json()) == (403, {"error": error}), changes
        if error.startswith("token"):  # nor does one in the address do: others can make such links
            in_address = ask(f"/api/edit?token={DOOR.token}", headers=headers(token=None))
            assert in_address.status_code == 403


@pytest.mark.parametrize("query", ["", "?token=", "?token=wrong", "?token=right-token&token=x"])
def test_the_page_wants_the_token(query: str) -> None:
    answer = ask("/" + query, method="GET", headers={"host": HOST})
    assert answer.status_code == 401
    assert answer.headers["content-type"] == "text/plain; charset=utf-8"
    assert answer.text.count("\n") == 1
    assert "right" not in answer.text


def test_what_is_neither_page_nor_file_wants_the_token() -> None:
    for path in ("/pages", "/other", "/page", "//page/x"):
        assert ask(path, method="GET", headers={"host": HOST}).status_code == 403


def test_tokens_are_compared_in_constant_time(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[tuple[bytes, bytes]] = []
    real = secrets.compare_digest
    monkeypatch.setattr(
        secrets, "compare_digest", lambda *both: (calls.append(both), real(*both))[1]
    )
    ask(headers={**CALL, "x-peerbayes-token": "wrong"})
    ask("/?token=also-wrong", method="GET", headers={"host": HOST})
    assert calls == [(b"wrong", b"right-token"), (b"also-wrong", b"right-token")]


def test_a_browser_is_sent_to_the_page_once() -> None:
    async def exchange() -> None:
        guard = Guard(counting, DOOR)
        first, second = guard.address_for_one_visit(), guard.address_for_one_visit()
        assert DOOR.token not in first + second
        async with httpx.AsyncClient(transport=httpx.ASGITransport(guard)) as client:
            for address in (first, second):
                led = await client.get(address)
                assert (led.status_code, led.headers["location"]) == (303, DOOR.address)
                assert led.headers["referrer-policy"] == "no-referrer"
                assert (await client.get(address)).status_code == 401
            third = guard.address_for_one_visit()
            assert (await client.get(third, headers={"host": "evil.example"})).status_code == 403
            assert (await client.get(third.replace("/?", "/page/x?"))).status_code == 200
            assert (await client.post(third.replace("/?", "/api/edit?"))).status_code == 403
            for wrong in ("", "x", third.partition("=")[2][:-1]):
                answer = await client.get(f"http://{HOST}/?once={wrong}")
                assert answer.status_code == 401
            assert (await client.get(third)).status_code == 303

    asyncio.run(exchange())


def test_new_tokens_are_long_and_differ() -> None:
    tokens = {Door.with_new_token(1).token for _ in range(50)}
    assert len(tokens) == 50
    assert all(len(token) == 43 for token in tokens)  # 32 bytes, six bits a letter


def chunks(total: int) -> Any:
    async def generate() -> Any:
        for begin in range(0, total, 1 << 20):
            yield b"x" * min(1 << 20, total - begin)

    return generate()


def test_the_largest_body_comes_in_whole() -> None:
    assert ask(headers=CALL, content=b"x" * LARGEST_BODY).text == str(LARGEST_BODY)
    assert ask(headers=CALL, content=chunks(LARGEST_BODY)).text == str(LARGEST_BODY)


@pytest.mark.parametrize(
    ("length", "body"),
    [
        (None, b"x" * (LARGEST_BODY + 1)),
        (None, LARGEST_BODY + 1),
        *((length, 1) for length in ("-1", "9" * 30, "4194305", "1e3", "٣")),
    ],
)
def test_a_larger_one_does_not_nor_one_whose_length_is_none(length: str | None, body: Any) -> None:
    said = {} if length is None else {"content-length": length.encode()}
    content = chunks(body) if isinstance(body, int) else body
    answer = ask(headers={**CALL, **said}, content=content)  # type: ignore[arg-type]
    assert answer.status_code == 413
    assert answer.json() == {"error": "expected at most 4 MiB in a request, got more; send less"}


@pytest.mark.parametrize(
    ("path", "headers", "status"),
    [
        ("/api/edit", CALL, 200),
        ("/page/x.js", {"host": HOST}, 200),
        ("/", {"host": HOST}, 401),
        ("/api/edit", {"host": HOST}, 403),
        ("/api/edit", {**CALL, "host": "evil.example"}, 403),
        ("/api/edit", {**CALL, "content-length": "9" * 9}, 413),
    ],
)
def test_every_answer_carries_exactly_these_headers(
    path: str, headers: dict[str, str], status: int
) -> None:
    answer = ask(path, headers=headers)
    assert answer.status_code == status
    given = dict(answer.headers)
    for name in ("content-type", "content-length", "own"):
        given.pop(name, None)
    assert given == SECURE
    assert len(answer.headers.get_list("cache-control", split_commas=False)) == 1


def test_a_notebook_may_show_it_if_it_was_allowed() -> None:
    door = Door(8123, DOOR.token, frame="http://localhost:8888")
    headers = ask(headers=CALL, door=door).headers
    policy = SECURE["content-security-policy"].replace(
        "frame-ancestors 'none'", "frame-ancestors http://localhost:8888"
    )
    assert headers["content-security-policy"] == policy
    assert "x-frame-options" not in headers


@pytest.mark.parametrize(
    "frame", ["*", "", "localhost", "http://a b", "http://a;script-src *", "http://a/", "data:"]
)
def test_frames_are_origins(frame: str) -> None:
    with pytest.raises(ValueError, match="frame: expected an origin"):
        Door(1, "t", frame=frame)


def test_nothing_but_requests() -> None:
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    asyncio.run(Guard(counting, DOOR)({"type": "websocket", "path": "/"}, None, send))  # type: ignore[arg-type]
    assert sent == [{"type": "websocket.close", "code": 1008}]
