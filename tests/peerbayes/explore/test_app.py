"""What is asked of the server and what it answers, byte for byte; the work is played."""

from __future__ import annotations

import json
import random
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import httpx
import pytest

from peerbayes.explorer.app import Opening, application, depth
from peerbayes.explorer.nursery import Frame
from tests.peerbayes.explore.processes import CALL, DOOR, answer_of


class Played:
    """Jobs whose outcome is written beforehand."""

    def __init__(self, *frames: Frame) -> None:
        self.frames = frames
        self.asked: list[tuple[str, str, bytes, bool]] = []
        self.cancelled: list[tuple[str, str | None]] = []
        self.closed = False

    async def run(
        self, session: str, name: str, body: bytes, *, long: bool, patient: bool
    ) -> AsyncGenerator[Frame, None]:
        assert patient == (name in ("start", "open"))
        self.asked.append((session, name, body, long))
        try:
            for frame in self.frames:
                yield frame
        finally:
            self.closed = True

    def cancel(self, session: str, name: str | None = None) -> bool:
        self.cancelled.append((session, name))
        return True


@pytest.fixture
def page(tmp_path: Path) -> Path:
    """A folder of the page's files, with something beside it that is not the page's."""
    (tmp_path / "secret.txt").write_text("not for all")
    folder = tmp_path / "page"
    (folder / "js").mkdir(parents=True)
    (folder / "index.html").write_text("<!doctype html>ü", encoding="utf-8")
    (folder / "js" / "main.js").write_text("1;\n")
    (folder / "app.css").write_text("a{}\n")
    (folder / "link.txt").symlink_to(tmp_path / "secret.txt")
    return folder


def ask(
    jobs: Any, path: str, *, page: Path | None = None, opening: Opening | None = None,
    headers: dict[str, str] | None = None, **options: Any,
) -> httpx.Response:  # fmt: skip
    app = application(jobs, DOOR, opening or Opening(), page=page or Path("nowhere"))
    return answer_of(app, path, headers={**CALL, **(headers or {})}, **options)


@pytest.mark.parametrize(
    ("path", "kind", "text"),
    [
        (f"/?token={DOOR.token}", "text/html; charset=utf-8", "<!doctype html>ü"),
        ("/page/js/main.js", "javascript", "1;\n"),
        ("/page/app.css", "text/css; charset=utf-8", "a{}\n"),
    ],
)
def test_the_page_and_its_files(page: Path, path: str, kind: str, text: str) -> None:
    answer = ask(Played(), path, method="GET", page=page)
    assert (answer.status_code, answer.text) == (200, text)
    assert kind in answer.headers["content-type"]
    assert answer.headers["cache-control"] == "no-store"


@pytest.mark.parametrize(
    "path",
    [
        *("/page/../secret.txt", "/page/%2e%2e/secret.txt", "/page/..%2fsecret.txt", "/page/"),
        *("/page//etc/passwd", "/page/js/../../secret.txt", "/page/link.txt", "/page/js"),
        *("/page/%00", "/page/none.js", "/secret.txt", "/page/" + "a" * 300),
    ],
)
def test_nothing_else_of_the_disk(page: Path, path: str) -> None:
    answer = ask(Played(), path, method="GET", page=page)
    assert answer.status_code == 404
    assert set(answer.json()) == {"error"}
    assert "not for all" not in answer.text


ENDS: list[tuple[Frame, int, Any, Any]] = [  # how a job ends; the answer of a quick and a long one
    (Frame("result", b'{"a": "\xc3\xbc"}'), 200, {"a": "ü"}, {"result": {"a": "ü"}}),
    (Frame("refusal", "ü: expected".encode()), 422, {"error": "ü: expected"}, None),
    (Frame("fault", b"a fault"), 500, {"error": "a fault"}, None),
    (Frame("cancelled"), 409, {"cancelled": True}, None),
]


@pytest.mark.parametrize(("frame", "status", "answer", "line"), ENDS)
def test_quick_and_long_work(frame: Frame, status: int, answer: Any, line: Any) -> None:
    told = Frame("progress", b"[1, 2]"), Frame("progress", b"[2, 2]")
    jobs = Played(*told, frame)
    got = ask(jobs, "/api/edit", content=b' {"edits": []}')
    assert (got.status_code, got.json()) == (status, answer)
    assert got.headers["content-type"] == "application/json"
    assert jobs.asked == [("tab-1", "edit", b' {"edits": []}', False)]
    assert jobs.closed
    jobs = Played(*told, frame)
    got = ask(jobs, "/api/certify", content=b"{}")
    assert got.status_code == 200
    assert got.headers["content-type"] == "application/x-ndjson"
    assert [json.loads(one) for one in got.text.splitlines()] == [
        {"progress": [1, 2], "what": "certify"},
        {"progress": [2, 2], "what": "certify"},
        line or answer,
    ]
    assert got.text.endswith("\n")
    assert jobs.asked == [("tab-1", "certify", b"{}", True)]
    assert jobs.closed


def test_what_was_given_at_the_start_is_worked_out_once() -> None:
    opening = Opening(b'{"problem": "two-coins"}')
    jobs = Played(Frame("result", b'{"document": 1}'))
    assert ask(jobs, "/api/start", opening=opening, content=b'{"problem": "/etc/passwd"}').json()
    assert jobs.asked == [("tab-1", "start", b'{"problem": "two-coins"}', False)]
    opening.answer = b'{"document": 2}'
    assert ask(jobs, "/api/start", opening=opening, content=b"{}").json() == {"document": 2}
    assert len(jobs.asked) == 1


TABLE = "request: expected a table"
FLAT = "request: expected at most 40 levels, got more; use fewer"


@pytest.mark.parametrize(
    ("body", "error"),
    [
        *((body, TABLE) for body in (b"", b"[1]", b"1", b'"{"', b"\xef\xbb\xbf{}")),
        *((b, FLAT) for b in (b'{"a": ' * 41, b'{"a": ' + b"[" * 2_000_000, b"{[" * 30)),
    ],
)
def test_bodies_are_tables_of_few_levels(body: bytes, error: str) -> None:
    jobs = Played()
    got = ask(jobs, "/api/edit", content=body)
    assert got.status_code == 422
    assert got.json()["error"].startswith(error)
    assert jobs.asked == []


def test_depth_is_that_of_the_parsed_text() -> None:
    assert ask(Played(Frame("result", b"{}")), "/api/edit", content=b"{" * 40).status_code == 200
    draw = random.Random(1)
    letters = 'a"[]{}\\\n,:ü'

    def value(left: int) -> Any:
        sort = draw.randrange(4 if left else 2)
        if sort < 2:
            return "".join(draw.choices(letters, k=draw.randrange(8))) if sort else 1.5
        inside = [value(left - 1) for _ in range(draw.randrange(4))]
        return inside if sort == 2 else {str(v)[:9]: v for v in inside}

    def levels(one: Any) -> int:
        if isinstance(one, dict):
            return 1 + max(map(levels, one.values()), default=0)
        return 1 + max(map(levels, one), default=0) if isinstance(one, list) else 0

    seen = set()
    for _ in range(2000):
        made = value(5)
        assert depth(json.dumps(made, ensure_ascii=draw.random() < 0.5).encode()) == levels(made)
        seen.add(levels(made))
    assert seen == set(range(6))


def test_cancelling() -> None:
    jobs = Played()
    for path in ("certify", "/api/certify", None):
        got = ask(jobs, "/api/cancel", json={"path": path})
        assert (got.status_code, got.json()) == (200, {"cancelled": True})
    assert jobs.cancelled == [("tab-1", "certify"), ("tab-1", "certify"), ("tab-1", None)]
    assert ask(jobs, "/api/cancel", content=b"{x").status_code == 422


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        *(("POST", path, 404) for path in ("/api/none", "/api/", "/api/edit/x", "/api/__init__")),
        *((method, "/api/edit", 405) for method in ("GET", "PUT", "DELETE", "OPTIONS")),
        ("POST", f"/?token={DOOR.token}", 405),
    ],
)
def test_what_there_is_not(method: str, path: str, status: int) -> None:
    got = ask(Played(), path, method=method, content=b"{}")
    assert got.status_code == status
    assert set(got.json()) == {"error"}
    assert "access-control-allow-origin" not in got.headers


def test_a_fault_of_the_server_is_one_line() -> None:
    class Broken(Played):
        def run(self, *_: Any, **__: Any) -> Any:
            raise RuntimeError("private")

    got = ask(Broken(), "/api/edit", content=b"{}")
    assert got.status_code == 500
    assert got.json()["error"].startswith("a fault of this program")
    assert "private" not in got.text
    assert got.headers["content-security-policy"].startswith("default-src 'none'")
