"""The stream of the watcher's page, and who may ask for it."""

from __future__ import annotations

import json
import threading

import httpx
import pytest

from peerbayes.live.watch.watcher import Watched, Watcher
from peerbayes.live.watch.watching import LivePage, frame_of
from tests.peerbayes.live.watch.network import NETWORK, fed, own_paces, steady

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")


def test_the_stream_tells_what_the_watcher_knows_until_it_ends() -> None:
    watcher = fed(own_paces(steady), 20)
    said: list[str] = []
    page = LivePage(said.append, open_browser=False)
    lines = []
    with page.of(watcher):
        assert said == [f"page: {page.address}"]
        address, token = page.address.split("/?token=")
        headers = {"X-Peerbayes-Token": token, "X-Peerbayes-Session": "s"}
        home = httpx.get(page.address)
        assert home.status_code == 200
        assert "live.js" in home.text
        assert "frame-ancestors 'none'" in home.headers["content-security-policy"]
        assert httpx.post(f"{address}/api/follow", json={}).status_code == 403
        assert httpx.get(f"{address}/").status_code == 401
        for name in ("edit", "save", "run", "start", "cancel"):  # nothing else can be asked
            answer = httpx.post(f"{address}/api/{name}", json={}, headers=headers)
            assert answer.status_code == 404
        with httpx.stream("POST", f"{address}/api/follow", json={}, headers=headers) as stream:
            for line in stream.iter_lines():
                lines.append(json.loads(line))
                if len(lines) == 1:
                    first = json.loads(frame_of(watcher))
                    ender = threading.Thread(target=page.end)
                    ender.start()
            ender.join()
    assert lines[-1] == {"result": None}
    assert len(lines) in (2, 3)  # what was told when it ended is told
    shown = lines[0]["progress"]
    assert shown["document"]["agents"] == first["document"]["agents"]
    assert shown["document"]["course"]["agents"] == ["a0", "a1", "a2"]
    assert len(shown["layout"]) == 3


def test_a_network_that_has_told_nothing_is_shown_too() -> None:
    told = json.loads(frame_of(Watcher(Watched.by_digest(NETWORK))))
    assert (told["layout"], told["document"]["agents"]) == ([], [])
