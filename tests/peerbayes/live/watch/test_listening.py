"""A watcher on the wire: what agents publish is heard, and nothing is published back."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path

import pytest

import peerbayes as pb
from peerbayes.live.processes import free_ports
from peerbayes.live.transport import key
from peerbayes.live.watch.reports import LARGEST_REPORT
from peerbayes.live.watch.watcher import Watched, Watcher
from peerbayes.live.watch.watching import Listener, ends_of
from peerbayes.live.zenoh_transport import Endpoints, open_session
from tests.peerbayes.live.networks import eventually
from tests.peerbayes.live.watch.network import NETWORK, one_report

zenoh = pytest.importorskip("zenoh")
REPORT = key(NETWORK, "report", "a0")


def test_an_agent_that_starts_later_is_heard_and_hears_nothing() -> None:
    watcher = Watcher(Watched.by_digest(NETWORK))
    seen = watcher.seen
    with free_ports(1) as (port,):
        end = f"tcp/127.0.0.1:{port}"
        ends, _ = ends_of(
            NETWORK, connect=[end], router=False, keys=None, members=(), out=Path("nowhere")
        )
        with (
            Listener(NETWORK, ends, watcher),
            closing(open_session(Endpoints(listen=[end]))) as agent,
        ):
            heard = []
            agent.declare_subscriber("**", lambda sample: heard.append(str(sample.key_expr)))
            tokens = agent.liveliness().declare_subscriber("**", heard.append, history=True)
            token = agent.liveliness().declare_token(key(NETWORK, "alive", "a0"))
            assert eventually(lambda: seen.get("a0") is not None and seen["a0"].here)
            heard.clear()  # its own token

            def told() -> bool:
                # Again and again, as agents do: what is said before the wish to hear it has
                # arrived is lost, and nobody is told of that.
                agent.put(REPORT, json.dumps(one_report()).encode())
                agent.put(key(NETWORK, "report", "a1"), b"x" * (LARGEST_REPORT + 1))
                return watcher.has_heard and sum(watcher.refused.values()) >= 1

            assert eventually(told)
            # The end of a token overtakes reports on their way, and they would be heard after it.
            last = one_report() | {"round": 1 + seen["a0"].report.round}
            block = zenoh.CongestionControl.BLOCK
            agent.put(REPORT, json.dumps(last).encode(), congestion_control=block)
            assert eventually(lambda: seen["a0"].report.round == last["round"])
            token.undeclare()
            assert eventually(lambda: not seen["a0"].here)
            tokens.undeclare()
            foreign = [what for what in heard if isinstance(what, str) and "/report/" not in what]
            assert foreign == []


def test_nobody_to_listen_to_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"^--connect: expected endpoints of the agents, got none"):
        pb.watch("two-coins", launched_in=tmp_path)
    with free_ports(1) as (port,):
        end = [f"tcp/127.0.0.1:{port}"]
        with pytest.raises(ValueError, match="expected reports of agents, got none"):
            pb.watch("0123456789abcdef", connect=end, seconds=0.5)
        with pytest.raises(ValueError, match="hypotheses"):
            pb.watch("p1-regression", connect=end)
