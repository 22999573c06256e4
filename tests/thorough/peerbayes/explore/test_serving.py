"""`peerbayes explore` as a program with all that it computes: from Python, and ended by signals."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import httpx
import pytest

import peerbayes as pb
from peerbayes.explorer.serving import Explorer
from tests.peerbayes.explore.processes import client, descendants, first_line, is_alive, until

ROOT = Path(__file__).parents[4]
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
            assert process.wait(timeout=60) == code
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


def test_from_python(tmp_path: Path) -> None:
    problem = pb.load("two-coins")
    with pb.explore(problem, open_browser=False, frame="http://localhost:8888") as page:
        assert isinstance(page, Explorer)
        with client(page.address) as tab:
            state = tab.post("/api/start", json={}).json()
            before = pb.analyse(problem).as_json()["network"]["slem"]
            assert state["numbers"]["network"]["slem"] == before
            edit = {"kind": "set-weight", "from": 0, "to": 0, "value": "1/2"}
            request = {"document": state["document"], "edits": [edit]}
            moved = tab.post("/api/edit", json=request).json()
            saved = tab.post("/api/save", json={"document": moved["document"]}).json()
            file = tmp_path / "moved.toml"
            file.write_text(saved["text"], encoding="utf-8")
            after = pb.analyse(file).as_json()["network"]["slem"]
            assert moved["numbers"]["network"]["slem"] == after
            assert abs(after - before) > 0.1
            bad = [{**edit, "value": "3/2"}]
            refused = tab.post("/api/edit", json={"document": state["document"], "edits": bad})
            assert refused.status_code == 422
            until(lambda: page._jobs.is_warm)
            nursery = page._jobs._nursery
            assert nursery is not None
            # One that forks has one thread, whatever was imported and tried in it.
            assert len(list(Path(f"/proc/{nursery.pid}/task").iterdir())) == 1
            with tab.stream("POST", "/api/certify", json={"document": state["document"]}) as answer:
                last = json.loads(list(answer.iter_lines())[-1])
            assert (
                last["result"]["learning"]
                == pb.analyse(problem, certify=True).as_json()["learning"]
            )
        html = page._repr_html_()
        assert html.startswith(f'<iframe src="{page.address}"')
        policy = httpx.get(page.address).headers["content-security-policy"]
        assert policy.endswith("frame-ancestors http://localhost:8888")


def test_a_program_that_ends_leaves_nobody() -> None:
    program = (
        "import peerbayes as pb\n"
        "from tests.peerbayes.explore.processes import descendants\n"
        "page = pb.explore('two-coins', open_browser=False)\n"
        "import os; print(*descendants(os.getpid()))\n"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    left = list(map(int, done.stdout.split()))
    assert left
    until(lambda: not any(map(is_alive, left)))
