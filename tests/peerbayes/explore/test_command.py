"""`peerbayes explore` as a command: one line for what is wrong."""

from __future__ import annotations

import socket
import threading
from typing import Any

import pytest

from peerbayes import cli


def servers() -> int:
    return [thread.name for thread in threading.enumerate()].count("peerbayes explore")


def complaint(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """What the command complains about, in one line; it prints no address."""
    before = servers()
    assert cli.main(["explore", *arguments, "--no-browser", "--quiet"]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    (line,) = captured.err.splitlines()
    assert servers() == before
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


def test_a_problem_that_is_none(capsys: pytest.CaptureFixture[str]) -> None:
    assert "did you mean 'p2-star'" in complaint(capsys, "p2-stra")


def test_a_missing_package(capsys: pytest.CaptureFixture[str], monkeypatch: Any) -> None:
    import importlib.util

    find = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name == "uvicorn" else find(name)
    )
    line = complaint(capsys, "two-coins")
    assert line.startswith("peerbayes: explore: expected starlette and uvicorn, got no uvicorn; ")
    assert line.endswith("pip install -c constraints.txt '.[explore]'")
