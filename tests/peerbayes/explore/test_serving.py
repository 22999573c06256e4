"""The server as it is used: real addresses, requests, processes and signals."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import threading
import webbrowser
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import pytest

from peerbayes.explorer import app
from peerbayes.explorer.jobs import Jobs, Limits
from peerbayes.explorer.serving import Explorer, serve
from tests.peerbayes.explore.processes import (
    ODD,
    client,
    first_line,
    is_alive,
    nursery_of,
    until,
    workers_of,
)
from tests.peerbayes.explore.test_guard import SECURE

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def odd() -> Iterator[Explorer]:
    """A server whose workers do what they should not."""
    jobs = Jobs(Limits(quick_seconds=600, long_seconds=600), module=ODD)
    with Explorer({"given": 1}, port=0, jobs=jobs, frame=None) as page:
        yield page


def test_answers_over_the_wire(odd: Explorer) -> None:
    with client(odd.address) as tab:
        home = httpx.get(odd.address)
        given = {k: v for k, v in home.headers.items() if k in SECURE}
        assert given == SECURE
        assert "server" not in home.headers
        got = tab.post("/api/edit", json={"a": "ü"})
        assert (got.status_code, got.json()) == (200, {"a": "ü"})
        assert tab.post("/api/start", json={"a": "ü"}).json() == {"given": 1}
        crashed = tab.post("/api/open", json={})
        assert crashed.status_code == 500
        assert "ended unexpectedly" in crashed.json()["error"]
        assert tab.post("/api/edit", json={}).json() == {}
        assert tab.post("/api/edit", content=b"{" * 5_000_000).status_code == 413
        for path in ("edit", "start", "run", "cancel"):  # without a length that is said before
            chunked = tab.post(f"/api/{path}", content=iter([b'{"a": "' + b"x" * 999_999] * 5))
            assert chunked.status_code == 413
            assert chunked.json()["error"].startswith("expected at most 4 MiB in a request")
        assert tab.post("/api/edit", headers={"host": "evil.example"}).status_code == 403


def test_progress_comes_while_the_work_goes_on(odd: Explorer) -> None:
    with client(odd.address) as tab, tab.stream("POST", "/api/run", json={}) as answer:
        line, rest = first_line(answer)
        assert line == {"progress": [0, 1], "what": "run"}
        assert tab_two_cancels(odd) == {"cancelled": False}
        assert tab.post("/api/cancel", json={"path": "/api/run"}).json() == {"cancelled": True}
        assert [json.loads(one) for one in rest] == [{"cancelled": True}]
    until(lambda: len(workers_of(odd._jobs)) <= 1)


@pytest.mark.parametrize("head", [b"", b"POST /api/edit HTTP/1.1\r\nHost: a\r\nX: "])
def test_connections_that_never_ask_shut_nobody_out(odd: Explorer, head: bytes) -> None:
    place = odd.address.partition("/?")[0].removeprefix("http://").split(":")
    with client(odd.address) as tab, ExitStack() as stack:
        assert tab.post("/api/edit", json={}).json() == {}
        with tab.stream("POST", "/api/run", json={}) as answer:  # goes on while they come
            _, rest = first_line(answer)
            for _ in range(150):
                one = stack.enter_context(socket.create_connection((place[0], int(place[1]))))
                one.sendall(head)
            with client(odd.address, "tab-2") as other:
                assert httpx.get(odd.address).status_code == 200
                assert other.post("/api/edit", json={"a": 1}).json() == {"a": 1}
            assert odd._server is not None
            there = odd._server.server_state.connections
            assert len(there) <= app.MOST
            # One that is answered may take its time; the others' answers have ended.
            until(lambda: sum(one.waits_since is None for one in list(there)) == 1)
            assert tab.post("/api/cancel", json={}).json() == {"cancelled": True}
            assert [json.loads(one) for one in rest] == [{"cancelled": True}]


def test_a_head_that_is_not_whole_in_time_ends_its_connection(
    odd: Explorer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(app, "_HEAD_SECONDS", 0.05)
    place = odd.address.partition("/?")[0].removeprefix("http://").split(":")
    with socket.create_connection((place[0], int(place[1])), timeout=20) as one:
        one.sendall(b"GET / HTTP/1.1\r\n")
        assert one.recv(100) == b""


def tab_two_cancels(page: Explorer) -> Any:
    with client(page.address, "tab-2") as other:
        return other.post("/api/cancel", json={"path": "run"}).json()


def test_a_connection_that_ends_ends_the_work(odd: Explorer) -> None:
    with client(odd.address) as tab:
        before = workers_of(odd._jobs)
        with tab.stream("POST", "/api/run", json={}) as answer:
            line, rest = first_line(answer)
            (pid,) = workers_of(odd._jobs) - before
            assert (line["what"], is_alive(pid)) == ("run", True)
        del rest  # which held the answer open
        until(lambda: not is_alive(pid))
    place = tuple(odd.address.removeprefix("http://").split("/")[0].split(":"))
    with client(odd.address) as tab, socket.create_connection(place) as one:  # a quick one
        request = tab.build_request("POST", "/api/save", json={"seconds": 600})
        lines = [f"{name}: {value}" for name, value in request.headers.items()]
        one.sendall("\r\n".join(["POST /api/save HTTP/1.1", *lines, "", ""]).encode())
        one.sendall(request.content)
        until(lambda: ("tab-1", "save") in odd._jobs._busy)
    until(lambda: ("tab-1", "save") not in odd._jobs._busy)


def test_the_same_call_again_ends_the_one_before(odd: Explorer) -> None:
    with client(odd.address) as tab, client(odd.address, "tab-2") as other:
        with (
            tab.stream("POST", "/api/run", json={}) as first,
            other.stream("POST", "/api/design", json={"seconds": 0.5}) as undisturbed,
        ):
            _, rest = first_line(first)
            with tab.stream("POST", "/api/run", json={}) as second:
                assert [json.loads(line) for line in rest] == [{"cancelled": True}]
                assert first_line(second)[0]["what"] == "run"
            assert set(json.loads(list(undisturbed.iter_lines())[-1])) == {"result"}
        answers: list[httpx.Response] = []
        slow = threading.Thread(
            target=lambda: answers.append(tab.post("/api/save", json={"seconds": 600}))
        )
        slow.start()
        until(lambda: odd._jobs._busy.get(("tab-1", "save")))
        assert tab.post("/api/save", json={"seconds": 0}).status_code == 200
        slow.join()
        assert (answers[0].status_code, answers[0].json()) == (409, {"cancelled": True})


def test_stopping_ends_what_runs() -> None:
    page = Explorer({}, port=0, jobs=Jobs(module=ODD), frame=None)
    with client(page.address) as tab, tab.stream("POST", "/api/run", json={}) as answer:
        _, rest = first_line(answer)
        ours = {nursery_of(page._jobs)} | workers_of(page._jobs)
        assert len(ours) >= 2
        page.stop()
        assert [json.loads(line) for line in rest] == [{"cancelled": True}]
    until(lambda: not any(map(is_alive, ours)))
    with pytest.raises(httpx.ConnectError):
        httpx.get(page.address)
    page.stop()
    assert "stopped" in repr(page)
    assert page._repr_html_() == "peerbayes explore: stopped"


def test_a_notebook_gets_a_link_unless_it_may_frame_the_page(odd: Explorer) -> None:
    html = odd._repr_html_()
    assert html.startswith(f'<a href="{odd.address}" target="_blank" rel="noopener">')
    assert "iframe" not in html


def test_another_system(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "win32")
    with pytest.raises(ValueError, match="explore: expected Linux or macOS, got Windows"):
        serve({})


def test_a_browser_is_opened_where_there_is_one(
    odd: Explorer, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    monkeypatch.setattr(webbrowser, "open", lambda address: not asked.append(address))
    for name in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    assert not odd.open()
    assert asked == []
    monkeypatch.setenv("DISPLAY", ":0")
    assert odd.open()
    assert len(asked) == 1
    visit = httpx.get(asked[0], follow_redirects=True)
    assert (visit.status_code, str(visit.url)) == (200, odd.address)
    assert httpx.get(asked[0]).status_code == 401

    def fail(address: str) -> bool:
        raise webbrowser.Error

    monkeypatch.setattr(webbrowser, "open", fail)
    assert not odd.open()


def test_the_server_itself_loads_nothing_that_computes() -> None:
    program = (
        "import sys, uvicorn, peerbayes.explorer.serving, peerbayes.explorer.app\n"
        "print(*{'numba', 'scipy', 'networkx', 'sympy', 'pydantic', 'flint'} & {*sys.modules})"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True)
    assert (done.stdout.strip(), done.stderr) == ("", "")
