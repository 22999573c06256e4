"""A small live network of processes: exact numbers, a death and a return, what is watched."""

from __future__ import annotations

import json
import os
import signal
import socket
import threading
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
from peerbayes.live.finding import every_share
from peerbayes.live.launching import LaunchRequest, run_launch
from peerbayes.live.replaying import beliefs_of, events_of
from peerbayes.live.watch.watched import find_watched
from peerbayes.records import read_record
from tests.peerbayes.live.networks import eventually


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


def test_processes_of_two_coins_learn_as_fast_as_predicted(tmp_path: Path) -> None:
    request = LaunchRequest(rounds=1500, pace="own", interval=0.004, seed=5)
    coins = find_watched("two-coins")
    launched = threading.Thread(
        target=run_launch, args=("two-coins", request), kwargs={"out": tmp_path}
    )
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
