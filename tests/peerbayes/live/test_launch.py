"""Live agents as processes: same numbers as in one program, deaths and returns, options."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import peerbayes as pb
from exact import exchange
from exact.changing import replay
from peerbayes.cli import main
from peerbayes.live import processes
from peerbayes.live.evidence import drawn
from peerbayes.live.finding import every_share, robust_keys
from peerbayes.live.inbox import Inbox
from peerbayes.live.launching import LaunchRequest
from peerbayes.live.replaying import beliefs_of, events_of
from peerbayes.live.zenoh_transport import Endpoints, ZenohTransport, open_session
from peerbayes.records import read_record


def _exact(rounds: int, seed: int) -> Any:
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
    assert np.abs(np.array(live) - _exact(50, 4)).max() <= 1e-12
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

    monkeypatch.setattr(processes.Processes, "watch", watch)
    outcome = pb.launch(
        "two-coins", rounds=400, interval=0.02, seed=1, journal=True, revive=True, out=tmp_path,
        notice=said.append,
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


def test_no_agent_outlives_a_launch_that_is_killed(tmp_path: Path) -> None:
    arguments = ["launch", "two-coins", "--quiet", "--out", str(tmp_path), "--interval", "0.05"]
    command = [sys.executable, "-m", "peerbayes", *arguments]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as one:
        locks = _until(lambda: list(tmp_path.glob("live-*/*.lock")), 3)
        states = _until(lambda: list(tmp_path.glob("live-*/*.state")), 2)
        one.kill()
    assert len(locks) == 3
    from exact.whole_files import lock

    # The locks are free once the processes are gone.
    for state in states:
        with state.with_suffix(".lock").open("ab") as file:
            assert _until(lambda file=file: [1] if lock(file.fileno()) else [], 1)


def _until(found: Any, count: int) -> list[Any]:
    end = time.monotonic() + 30
    while len(values := found()) < count and time.monotonic() < end:
        time.sleep(0.05)
    return list(values)


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["peer", "two-coins"], "--agent"),
        (["peer", "two-coins", "--agent", "9"], "agent"),
        (["peer", "two-coins", "--agent", "mast"], "agent"),
        (["peer", "two-coins", "--agent", "0", "--robust", "clip"], "--robust"),
        (["peer", "two-coins", "--agent", "0", "--robust", "trimmed-mean:x"], "--robust"),
        (["peer", "two-coins", "--agent", "0", "--pace", "fast"], "--pace"),
        (["peer", "two-coins", "--agent", "0", "--evidence", "/none.csv"], "--evidence"),
        (["peer", "two-coins", "--agent", "0", "--keys", "/none"], "/none"),
        (["peer", "two-coins", "--agent", "0", "--members", "/none"], "/none"),
        (["peer", "two-coins", "--agent", "0", "--listen", "nowhere"], "nowhere"),
        (["peer", "none.share"], "none.share"),
        (["launch", "diabetes"], "regression"),
        (["launch", "rotating-star"], "PeriodicNetwork"),
        (["launch", "two-coins", "--robust", "clip:-1"], "radius"),
        (["launch", "two-coins", "--patience", "-1"], "--patience"),
    ],
)
def test_wrong_options_are_one_line(
    arguments: list[str], word: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*arguments, "--out", str(tmp_path)]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.count("\n") == 1
    assert word in printed.err


@pytest.mark.parametrize(
    "settings",
    [{"rounds": 0}, {"pace": "fast"}, {"on_loss": "none"}, {"interval": -1}, {"seed": -1},
     {"robust": "clip:0"}, {"patience": float("nan")}],
)  # fmt: skip
def test_requests_are_checked_before_anything_runs(settings: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="expected"):
        LaunchRequest(**settings)


def test_robust_rules_by_name() -> None:
    assert robust_keys("clip:0.5") == {"rule": "clip", "radius": 0.5}
    assert robust_keys(None) is None


def test_a_missing_package_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    import importlib.util

    real = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name == "zenoh" else real(name)
    )
    assert main(["launch", "two-coins", "--out", str(tmp_path)]) == 2
    assert "pip install -c constraints.txt '.[live]'" in capsys.readouterr().err


def test_live_modules_import_no_heavy_packages() -> None:
    code = """
import importlib, pkgutil, sys
import peerbayes.live.agent, peerbayes.live.launching, peerbayes.live.zenoh_transport
assert not {"torch", "zenoh", "cryptography"} & set(sys.modules)
names = [one.name for one in pkgutil.iter_modules(peerbayes.live.__path__)]
for name in names:
    if not name.startswith("net"):
        importlib.import_module(f"peerbayes.live.{name}")
assert len(names) > 20 and "torch" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_keys_made_anew_hold_for_states_that_were_kept(tmp_path: Path) -> None:
    """The list of members in a state has the keys of then; only the list given now is signed."""
    pytest.importorskip("cryptography")
    from peerbayes.live.keys import new_keys
    from peerbayes.live.preparing import members_of

    for rounds in (10, 20):
        keys = new_keys(members_of(pb.load("two-coins")), tmp_path / f"keys {rounds}")
        found = pb.launch(
            "two-coins", rounds=rounds, keys=keys, resume=rounds > 10, patience=30, out=tmp_path
        ).found
        assert [agent.refused for agent in found.agents] == [0, 0]
        heard = [r["receipts"]["new"] + r["receipts"]["early"] for r in found.reports]
        assert min(heard) == 10
    assert found.agents[0].probabilities == pytest.approx(np.exp(_exact(20, 0)[0]), abs=1e-12)


@pytest.mark.parametrize("secure", [False, True])
def test_the_second_process_of_an_agent_ends_and_its_neighbour_says_so(
    tmp_path: Path, secure: bool
) -> None:
    keys = ["--keys", str(tmp_path / "keys")] if secure else []
    if secure:
        assert main(["keys", "new", "two-coins", "--out", keys[1], "--quiet"]) == 0
    end = f"{'tls' if secure else 'tcp'}/127.0.0.1:{processes.free_ports(1)[0]}"

    def start(agent: str, how: str, out: str) -> subprocess.Popen[str]:
        command = [
            sys.executable,
            "-m",
            "peerbayes",
            "peer",
            "two-coins",
            "--agent",
            agent,
            how,
            end,
        ]
        command += ["--interval", "0.05", "--gather", "20", "--out", str(tmp_path / out), *keys]
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    one, both = start("1", "--listen", "a"), [start("0", "--connect", out) for out in "bc"]
    try:
        while all(other.poll() is None for other in both):
            time.sleep(0.05)
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
    finally:
        for process in (one, *both):
            process.kill()
            process.communicate()


def test_an_agent_that_is_there_behind_a_router_is_not_joined_by_another() -> None:
    at = [f"tcp/127.0.0.1:{processes.free_ports(1)[0]}"]
    router = open_session(Endpoints(listen=at, settings={"mode": '"router"'}))
    first, second = (
        ZenohTransport("0" * 16, "0", Endpoints(connect=at, router=True)) for _ in range(2)
    )
    try:
        first.open(Inbox(), names=[], limit=1000)
        with pytest.raises(ValueError, match="agent: expected no agent '0' in the network yet"):
            second.open(Inbox(), names=[], limit=1000)
    finally:
        first.close()
        router.close()


def test_who_waits_for_a_router_hears_that_it_is_to_end(monkeypatch: pytest.MonkeyPatch) -> None:
    import zenoh

    asked, released = iter([False, False, True]), threading.Event()
    monkeypatch.setattr(zenoh, "open", lambda config: released.wait(60))
    with pytest.raises(ValueError, match="connect: expected a router that answers, got none"):
        open_session(
            Endpoints(connect=["tcp/127.0.0.1:1"], router=True), stopped=lambda: next(asked)
        )
    released.set()


@pytest.mark.parametrize(
    ("address", "wanted"),
    [
        ("tcp/127.0.0.1:99999", "a port from {first} to 65535"),
        ("tls/127.0.0.1:-1", "a port from {first} to 65535"),
        ("tcp/127.0.0.1", "a port from {first} to 65535"),
        ("tcp/::1:7549", "brackets around an IPv6 address"),
        ("tcp/no.such.host.invalid:7549", "a host with an address"),
        ("tcp/a..b:7549", "a host with an address"),
        ("tcp/:7549", "a host with an address"),
        ("localhost:7549", "a protocol, a host and a port"),
    ],
)
@pytest.mark.parametrize(
    ("command", "option", "first"),
    [
        ("peer two-coins --agent 0 --rounds 1 --gather 0", "connect", 1),
        ("peer two-coins --agent 0 --rounds 1 --gather 0", "listen", 0),
        ("watch two-coins --seconds 0.1", "connect", 1),
        ("router --seconds 0.1", "listen", 0),
    ],
)
def test_addresses_that_cannot_be_are_refused_before_anything_is_done(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch,
    address: str, wanted: str, command: str, option: str, first: int,
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    assert main([*command.split(), f"--{option}", address]) == 2
    said = capsys.readouterr().err
    start = f"peerbayes: {option}: expected {wanted.format(first=first)}"
    assert (said.startswith(start), said.count("\n")) == (True, 1)
    assert not list(tmp_path.iterdir())
