"""A watcher on the wire: what agents publish is heard, and nothing is published back."""

from __future__ import annotations

import json
import threading
import time
from pathlib import Path

import pytest

import peerbayes as pb
from peerbayes.live.launching import LaunchRequest, run_launch
from peerbayes.live.processes import free_ports
from peerbayes.live.transport import key
from peerbayes.live.watch.listener import Listener, ends_of
from peerbayes.live.watch.reports import LARGEST_REPORT
from peerbayes.live.watch.watched import Watched, find_watched
from peerbayes.live.watch.watcher import Watcher
from peerbayes.records import read_record

zenoh = pytest.importorskip("zenoh")


def soon(holds, seconds: float = 15.0) -> None:
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.02)


def ends(network: str, endpoint: str):
    return ends_of(
        network, connect=[endpoint], router=False, keys=None, members=(), out=Path("nowhere")
    )[0]


def test_an_agent_that_starts_later_is_heard_and_hears_nothing() -> None:
    from peerbayes.live.zenoh_transport import Endpoints, open_session
    from tests.peerbayes.live.watch.network import NETWORK
    from tests.peerbayes.live.watch.test_watcher import one_report

    endpoint = f"tcp/127.0.0.1:{free_ports(1)[0]}"
    watcher = Watcher(Watched.by_digest(NETWORK))
    with Listener(NETWORK, ends(NETWORK, endpoint), watcher):
        agent = open_session(Endpoints(listen=[endpoint]))
        try:
            heard = []
            agent.declare_subscriber("**", lambda sample: heard.append(str(sample.key_expr)))
            tokens = agent.liveliness().declare_subscriber("**", heard.append, history=True)
            token = agent.liveliness().declare_token(key(NETWORK, "alive", "a0"))
            soon(lambda: watcher.seen.get("a0") is not None and watcher.seen["a0"].here)
            heard.clear()  # its own token

            def told() -> bool:
                # Again and again, as agents do: what is said before the wish to hear it has
                # arrived is lost, and nobody is told of that.
                agent.put(key(NETWORK, "report", "a0"), json.dumps(one_report()).encode())
                agent.put(key(NETWORK, "report", "a1"), b"x" * (LARGEST_REPORT + 1))
                return watcher.has_heard and sum(watcher.refused.values()) >= 1

            soon(told)
            # The end of a token overtakes reports on their way, and they would be heard after it.
            last = one_report() | {"round": 1 + watcher.seen["a0"].report.round}
            agent.put(
                key(NETWORK, "report", "a0"),
                json.dumps(last).encode(),
                congestion_control=zenoh.CongestionControl.BLOCK,
            )
            soon(lambda: watcher.seen["a0"].report.round == last["round"])
            token.undeclare()
            soon(lambda: not watcher.seen["a0"].here)
            tokens.undeclare()
            foreign = [what for what in heard if isinstance(what, str) and "/report/" not in what]
            assert foreign == []
        finally:
            agent.close()


def test_nobody_to_listen_to_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"^--connect: expected endpoints of the agents, got none"):
        pb.watch("two-coins", launched_in=tmp_path)
    with pytest.raises(ValueError, match="expected reports of agents, got none"):
        pb.watch("0123456789abcdef", connect=["tcp/127.0.0.1:9"], seconds=0.5)
    with pytest.raises(ValueError, match="hypotheses"):
        pb.watch("p1-regression", connect=["tcp/127.0.0.1:9"])


def test_processes_of_two_coins_learn_as_fast_as_predicted(tmp_path: Path) -> None:
    request = LaunchRequest(rounds=1500, pace="own", interval=0.004, seed=5)
    coins = find_watched("two-coins")
    launched = threading.Thread(
        target=run_launch, args=("two-coins", request), kwargs={"out": tmp_path}
    )
    launched.start()
    try:
        soon(lambda: list(tmp_path.glob("live-*.json")), 30)
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
