"""Small live networks of processes: exact numbers, deaths and returns, keys, what is watched."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import peerbayes as pb
from exact import exchange
from exact.changing import replay
from exact.whole_files import lock
from peerbayes.cli import main
from peerbayes.live import processes
from peerbayes.live.evidence import drawn
from peerbayes.live.finding import every_share
from peerbayes.live.keys import new_keys
from peerbayes.live.launching import run_launch
from peerbayes.live.preparing import members_of
from peerbayes.live.processes import free_ports
from peerbayes.live.replaying import beliefs_of, events_of
from peerbayes.live.security import KeyFolder
from peerbayes.live.transport import key
from peerbayes.live.watch.watcher import find_watched
from peerbayes.records import read_record
from peerbayes.settings import Agent, Launch
from tests.peerbayes.live.networks import eventually, keys_of, session

Start = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def start() -> Iterator[Start]:
    """Starts Python with arguments; no process outlives the test."""
    with ExitStack() as stack:

        def started(*arguments: object) -> subprocess.Popen[str]:
            process = subprocess.Popen(
                [sys.executable, *map(str, arguments)], text=True,
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            )  # fmt: skip
            stack.enter_context(process)
            stack.callback(process.kill)
            return process

        yield started


def exact_beliefs(rounds: int, seed: int) -> Any:
    """Log-beliefs of two coins after so many rounds in one program."""
    shares = every_share("two-coins")
    seen = np.stack([drawn(share, rounds=rounds, seed=seed) for share in shares], axis=1)
    return exchange(pb.load("two-coins").network, seen, seed=0).beliefs.private[-1]


def test_launched_agents_have_the_numbers_of_the_exact_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["launch", "two-coins", "--rounds", "50", "--seed", "4", "--json", "--quiet"]
    assert main([*arguments, "--out", str(tmp_path)]) == 0
    document = json.loads(capsys.readouterr().out)
    live = [agent["belief"]["log_belief"] for agent in document["agents"]]
    assert np.abs(np.array(live) - exact_beliefs(50, 4)).max() <= 1e-12
    (path,) = tmp_path.glob("launch-*.json")
    assert read_record(path).body == document
    assert not list(tmp_path.glob("live-*.json"))  # nobody is there to be watched
    assert all(agent["code"] == 0 and agent["done"] for agent in document["agents"])
    # An agent without torch fits into 120 MB.
    assert all(agent["rss_mb"] < 120 for agent in document["agents"])


def test_a_killed_agent_comes_back_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[str] = []
    killed: list[int] = []
    real = processes.Processes.watch

    def watch(self: processes.Processes, seconds: float, see: Any) -> None:
        real(self, seconds, see)
        agent = self.agents["1"]
        if not killed and agent.report is not None and agent.report["round"] > 20:
            killed.append(agent.report["round"])
            os.kill(agent.pid, signal.SIGKILL)
            assert agent._process is not None
            agent._process.wait()
            (path,) = tmp_path.glob("live-*.json")
            port = int(json.loads(path.read_text())["endpoints"][1].split(":")[-1])
            # Its port is kept for it.
            with socket.socket() as other, pytest.raises(OSError, match="in use"):
                other.bind(("127.0.0.1", port))

    monkeypatch.setattr(processes.Processes, "watch", watch)
    outcome = pb.launch(
        "two-coins", rounds=400, seed=1, agent=Agent(interval=0.02, journal=True), revive=True,
        out=tmp_path, notice=said.append,
    )  # fmt: skip
    assert outcome.complete
    assert [agent.deaths for agent in outcome.found.agents] == [0, 1]
    assert any("was killed (signal 9); started again" in text for text in said)
    (folder,) = (path for path in tmp_path.glob("live-*") if path.is_dir())
    for name, agent in zip("01", outcome.found.agents, strict=True):
        own = beliefs_of(folder / f"{name}.state")
        again = replay(events_of(folder / f"{name}.state"))
        rounds = again.rounds.tolist()
        assert all(b > a for a, b in pairwise(rounds))
        assert rounds[-1] == 400
        for number, belief in zip(rounds, again.log_beliefs, strict=True):
            assert number not in own or belief.tobytes() == own[number].tobytes()
        assert agent.belief is not None
        assert again.log_beliefs[-1].tolist() == agent.belief["log_belief"]
    # The other one did without it meanwhile, and heard of it again.
    link = outcome.found.reports[0]["links"]["1"]
    assert killed[0] < link["used"] < 400
    assert outcome.found.reports[1]["poolings"] < 400


def test_processes_of_two_coins_learn_as_fast_as_predicted(tmp_path: Path) -> None:
    how = Launch(rounds=1500, agent=Agent(pace="own", interval=0.004), seed=5, out=tmp_path)
    coins = find_watched("two-coins")
    launched = threading.Thread(target=run_launch, args=("two-coins", how))
    launched.start()
    try:
        assert eventually(lambda: list(tmp_path.glob("live-*.json")))
        outcome = pb.watch("two-coins", launched_in=tmp_path, out=tmp_path, seconds=60)
    finally:
        launched.join(60)
    told = outcome.watched.told
    assert [agent.state for agent in outcome.watched.agents] == ["done", "done"]
    rate = told.binding
    assert rate.hypothesis == "loaded"
    assert abs(rate.measured - rate.predicted) < 5 * rate.standard_error
    # The weights are those of the problem: sums of some hundred weights.
    for link in outcome.watched.links:
        assert link.weight == pytest.approx(coins.weights[link.hearer, link.heard], abs=1e-9)
    assert sum(agent.slowness for agent in outcome.watched.agents) == pytest.approx(1)
    assert read_record(outcome.record_path).kind == "watch"
    assert "watched as it ran" in outcome.report_path.read_text(encoding="utf-8")


def test_no_agent_outlives_a_launch_that_is_killed(tmp_path: Path, start: Start) -> None:
    arguments = ["launch", "two-coins", "--quiet", "--out", tmp_path, "--interval", "0.05"]
    launch = start("-m", "peerbayes", *arguments)
    assert eventually(lambda: len(list(tmp_path.glob("live-*/*.lock"))) == 3)
    assert eventually(lambda: len(list(tmp_path.glob("live-*/*.state"))) == 2)
    launch.kill()
    # The locks are free once the processes are gone.
    for state in tmp_path.glob("live-*/*.state"):
        with state.with_suffix(".lock").open("ab") as file:
            assert eventually(lambda file=file: lock(file.fileno()))


def test_keys_made_anew_hold_for_states_that_were_kept(tmp_path: Path) -> None:
    """The list of members in a state has the keys of then; only the list given now is signed."""
    for rounds in (10, 20):
        keys = new_keys(members_of(pb.load("two-coins")), tmp_path / f"keys {rounds}")
        found = pb.launch(
            "two-coins", rounds=rounds, agent=Agent(keys=keys, patience=600), resume=rounds > 10,
            out=tmp_path,
        ).found  # fmt: skip
        assert [agent.refused for agent in found.agents] == [0, 0]
        heard = [r["receipts"]["new"] + r["receipts"]["early"] for r in found.reports]
        assert min(heard) == 10
    exact = np.exp(exact_beliefs(20, 0)[0])
    assert found.agents[0].probabilities == pytest.approx(exact, abs=1e-12)


@pytest.mark.parametrize("secure", [False, True])
def test_the_second_process_of_an_agent_ends_and_its_neighbour_says_so(
    tmp_path: Path, start: Start, secure: bool
) -> None:
    keys = ["--keys", tmp_path / "keys"] if secure else []
    if secure:
        assert main(["keys", "new", "two-coins", "--out", str(keys[1]), "--quiet"]) == 0
    with free_ports(1) as (port,):
        end = f"{'tls' if secure else 'tcp'}/127.0.0.1:{port}"

        def agent(name: str, how: str, out: str) -> subprocess.Popen[str]:
            own = ["--agent", name, how, end, "--out", tmp_path / out]
            pace = ["--interval", "0.05", "--gather", "60"]
            return start("-m", "peerbayes", "peer", "two-coins", *own, *pace, *keys)

        one, both = agent("1", "--listen", "a"), [agent("0", "--connect", out) for out in "bc"]
        assert eventually(lambda: any(other.poll() is not None for other in both))
        (second,) = [other for other in both if other.poll() is not None]
        (first,) = {*both} - {second}
        assert second.returncode == 2
        assert "only process that speaks as '0', got another" in second.communicate()[1]
        for other in (first, one):
            assert other.poll() is None
            other.send_signal(signal.SIGINT)
        said = one.communicate(timeout=60)
        assert (one.returncode, first.wait(60)) == (0, 0)
        assert said[1].count("two processes speak as agent '0'") == 1
        assert "two processes spoke as 0" in said[0]
        assert "two processes" not in first.communicate()[0]


COUNTING = """
import sys
from pathlib import Path
from peerbayes.live.transport import TransportRefusals
from peerbayes.live.security import KeyFolder
from tests.peerbayes.live.networks import session
folder, end = sys.argv[1:]
with TransportRefusals() as refusals:
    keys = KeyFolder.of_agent(folder, "mast")
    listening = session(keys, ("mast", "rö/of"), listen=end)
    ear = listening.declare_subscriber(f"peerbayes/{keys.network}/**", lambda sample: None)
    print("ready", flush=True)
    for line in sys.stdin:
        print(refusals.counts(), flush=True)
    listening.close()
print("done")
"""


def test_strangers_and_forbidden_messages_are_counted(tmp_path: Path, start: Start) -> None:
    folder = keys_of(tmp_path, "mast", "rö/of", "quay")
    freely = {"access_control": {"enabled": False}}
    with free_ports(1) as (port,):
        end = f"tls/127.0.0.1:{port}"
        child = start("-c", COUNTING, folder, end)
        assert child.stdin is not None
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n"

        def counts() -> dict[str, int]:
            child.stdin.write("\n")  # type: ignore[union-attr]
            child.stdin.flush()  # type: ignore[union-attr]
            text = child.stdout.readline()  # type: ignore[union-attr]
            return dict(json.loads(text.replace("'", '"')))

        assert counts() == {}
        own = KeyFolder.of_agent(folder, "rö/of")
        with session(own, (), connect=end, **freely) as speaking:
            assert eventually(lambda: list(speaking.info.peers_zid()))
            for _ in range(7):
                speaking.put(key(own.network, "belief", "mast"), b"x")
                speaking.put(key(own.network, "belief", "rö/of"), b"x")
            assert eventually(lambda: counts() == {"not-allowed": 7})
        # The same names by another authority, and somebody who does not speak TLS at all.
        other = KeyFolder.of_agent(keys_of(tmp_path / "other", "mast", "rö/of"), "rö/of")
        with session(other, (), connect=end, **freely) as speaking:
            assert eventually(lambda: counts().get("not-admitted", 0) >= 1)
            assert not list(speaking.info.peers_zid())
        before = counts()["not-admitted"]
        with session(None, (), connect=f"tcp/127.0.0.1:{port}") as plain:
            assert eventually(lambda: counts()["not-admitted"] > before)
            assert not list(plain.info.peers_zid())
        assert child.communicate("", timeout=60)[0] == "done\n"
        assert child.returncode == 0
