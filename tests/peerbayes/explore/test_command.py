"""`peerbayes explore` as a command: signals, exit codes, one line for what is wrong."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from peerbayes import cli
from tests.peerbayes.explore.processes import descendants, is_alive, until
from tests.peerbayes.explore.test_serving import client, first_line

ROOT = Path(__file__).parents[3]
Started = tuple[subprocess.Popen[str], str]


@pytest.fixture
def started() -> Iterator[Started]:
    """The command in a process of its own, and the address that it printed."""
    process = subprocess.Popen(
        [sys.executable, "-m", "peerbayes", "explore", "two-coins", "--no-browser", "--json"],
        cwd=ROOT, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        start_new_session=True,
    )  # fmt: skip
    assert process.stdout is not None
    lines = [process.stdout.readline() for _ in range(3)]
    yield process, json.loads("".join(lines))["address"]
    for pid in [*descendants(process.pid), process.pid]:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    process.communicate()


@pytest.mark.parametrize(
    ("number", "code", "words"),
    [
        (signal.SIGINT, 0, []),
        (signal.SIGTERM, 143, ["peerbayes: terminated"]),
        (signal.SIGKILL, -9, []),
    ],
    ids=["SIGINT", "SIGTERM", "SIGKILL"],
)
def test_the_command_ends_and_leaves_nobody(
    number: int, code: int, words: list[str], started: Started
) -> None:
    process, address = started
    with client(address) as tab:
        document = tab.post("/api/start", json={}).json()["document"]
        request = {"document": document, "rounds": 2000, "replicates": 5000, "seed": 0}
        with tab.stream("POST", "/api/run", json={**request, "delta": 0.05, "truth": None}) as run:
            _, rest = first_line(run)
            left = descendants(process.pid)
            assert len(left) >= 2
            assert listens_on(int(address.split(":")[2].split("/")[0])) == ["0100007F"]
            process.send_signal(number)
            assert process.wait(timeout=20) == code
        del rest  # which held the connection open
    assert process.stderr is not None
    said = process.stderr.read().splitlines()
    assert [line for line in said if not line.startswith("two-coins: prepare: done")] == words
    until(lambda: not any(map(is_alive, left)))


def listens_on(port: int) -> list[str]:
    """The addresses, in the system's hexadecimal, on which somebody listens."""
    rows = [
        line.split()
        for table in ("tcp", "tcp6")
        for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]
    ]
    return [
        r[1].split(":")[0] for r in rows if r[3] == "0A" and int(r[1].split(":")[1], 16) == port
    ]


def complaint(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """What the command complains about, in one line; it prints no address."""
    assert cli.main(["explore", *arguments, "--no-browser", "--quiet"]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    (line,) = captured.err.splitlines()
    assert "peerbayes explore" not in [thread.name for thread in threading.enumerate()]
    return line


def test_a_port_that_is_in_use(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = str(other.getsockname()[1])
        line = complaint(capsys, "two-coins", "--port", port)
    assert line == (
        f"peerbayes: --port: expected a free port of 127.0.0.1, got {port} (address already in "
        "use); choose another one, or leave it out"
    )
    assert "--port: expected" in complaint(capsys, "two-coins", "--port", "70000")
    assert "--port" in complaint(capsys, "two-coins", "--port", "-1")
    assert "--seconds" in complaint(capsys, "two-coins", "--seconds", "0")


@pytest.mark.parametrize(
    ("name", "words"),
    [("p2-stra", "did you mean 'p2-star'"), ("none.toml", "none.toml: expected a readable")],
)
def test_a_problem_that_is_none(name: str, words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert words in complaint(capsys, name)


def test_a_missing_package(capsys: pytest.CaptureFixture[str], monkeypatch: Any) -> None:
    import importlib.util

    find = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name == "uvicorn" else find(name)
    )
    line = complaint(capsys, "two-coins")
    assert line.startswith("peerbayes: explore: expected starlette and uvicorn, got no uvicorn; ")
    assert line.endswith("pip install -c constraints.txt '.[explore]'")
