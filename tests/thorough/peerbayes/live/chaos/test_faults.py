"""Faults of every kind, and what must hold after each: nobody else died, beliefs are those of the
journals replayed, to the last bit, they grew as those who were heard let expect, and every refusal
is counted.
"""

from __future__ import annotations

import json
import resource
import signal
import sys
import time
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from peerbayes.live.frames import seal
from peerbayes.live.keys import new_keys
from peerbayes.live.preparing import members_of
from peerbayes.live.security import KeyFolder, sign
from peerbayes.problem.problems import AnyProblem
from peerbayes.problem.reading import problem_from_document
from tests.peerbayes.live.hostile import frame, hostile_frames
from tests.peerbayes.live.networks import session
from tests.thorough.peerbayes.live.chaos.networks import Chaos, chaos

# Largest of a dozen normal deviates in standard deviations: beyond 5 with a chance of 1e-5.
DEVIATIONS = 5.0
COINS = [[["1/2", "1/2"]], [["3/5", "2/5"]], [["2/5", "3/5"]]]
UNIFORM = np.full(3, -np.log(3))


def coins(topology: str, agents: int) -> AnyProblem:
    """Agents that toss fair coins."""
    kind = {"count": agents, "truth": "fair", "likelihood": COINS}
    return problem_from_document(
        {
            "name": "coins",
            "network": {"topology": topology, "agents": agents},
            "model": {"hypotheses": ["fair", "loaded", "light"], "agents": [kind]},
        }
    )


def check(net: Chaos) -> None:
    """End in order; then all that must hold of any network but its refusals."""
    net.finish()
    replays = net.replays()
    assert net.heard_what_was_said() > 50
    assert net.score(replays) < DEVIATIONS


def done(net: Chaos, what: str) -> Counter[str]:
    """How often the process between did something to messages, by who got them."""
    counts: Counter[str] = Counter()
    for _, to, link in net.do("counts"):
        counts[to] += link[what]
    return counts


def test_a_router_that_loses_doubles_delays_alters_replays_and_forges(tmp_path: Path) -> None:
    problem = coins("ring", 3)
    keys = new_keys(members_of(problem), tmp_path / "keys")
    options = ["--interval", "0.01", "--patience", "0.03"]
    with chaos(problem, tmp_path, seed=3, keys=keys, options=options) as net:
        net.do("faults", lose=0.2, double=0.2, late=0.1, alter=0.05, replay=0.05)
        net.start()
        net.rounds(100)
        # Its certificate lets it put anything: it says that these are agent 1's.
        other = KeyFolder.of_agent(keys, "2")
        forged = frame(net.members.network, "1", UNIFORM)
        for data in (seal(forged), seal(forged, lambda digest: sign(other, digest))):
            net.do("say", to="0", **{"as": "1", "hex": data.hex(), "times": 5})
        net.do("faults")
        net.rounds(20)  # whatever was on its way has arrived
        altered = done(net, "alter")
        assert min(altered.values()) > 0
        refused = net.refused()
        assert refused["0"]["bad-signature"] >= 10
        altered["0"] += 10
        assert {name: sum(why.values()) for name, why in refused.items()} == altered
        check(net)
        receipts: Counter[str] = Counter()
        for name in net.shares:
            receipts.update(net.report(name)["receipts"])
        # One in five is doubled, one in twenty replayed, of hundreds; late is what was waited for.
        assert receipts["duplicate"] > 30
        assert receipts["late"] > 0


def test_garbage_of_every_kind_is_refused_and_counted(tmp_path: Path) -> None:
    with chaos(coins("complete", 2), tmp_path, seed=4, options=["--interval", "0.01"]) as net:
        net.start()
        net.rounds(20)
        bad = hostile_frames(net.members.network, "1", hypotheses=3)
        for frames in bad.values():
            for data in frames:
                net.do("say", to="0", **{"as": "1", "hex": data.hex(), "times": 7})
        net.do("say", to="0", **{"as": "1", "zeros": 100 * 2**20})
        far = frame(net.members.network, "1", UNIFORM, round=2**62)
        net.do("say", to="0", **{"as": "1", "hex": seal(far).hex()})
        expected = {reason: 7 * len(frames) for reason, frames in bad.items()}
        expected["too-large"] += 1
        expected["far-ahead"] = 1
        net.until(lambda: net.report("0")["refused"] == expected)
        net.rounds(20)
        assert net.refused() == {"0": expected}
        notices = (net.states / "0.log").read_text()
        assert {reason: notices.count(f": {reason}") for reason in expected} == dict.fromkeys(
            expected, 1
        )
        check(net)


def test_killed_agents_come_back_and_halves_go_on(tmp_path: Path) -> None:
    options = ["--interval", "0.02", "--patience", "0.5"]
    with chaos(coins("ring", 4), tmp_path, seed=5, options=options) as net:
        net.start()
        net.rounds(20)
        net.kill("2")
        net.until(lambda: not net.report("1")["links"]["2"]["alive"])
        net.rounds(30)
        net.restart("2")
        net.until(lambda: net.report("1")["links"]["2"]["alive"])
        net.rounds(20)
        net.do("cut", sides=[["0", "1"]])
        net.until(lambda: not net.report("1")["links"]["2"]["alive"])
        net.rounds(40)
        net.do("heal")
        net.until(lambda: net.report("1")["links"]["2"]["alive"])
        net.rounds(20)
        assert net.refused() == {}
        check(net)


@pytest.mark.skipif(sys.platform != "linux", reason="sets limits of another process")
def test_a_full_disk_ends_nothing(tmp_path: Path) -> None:
    with chaos(coins("complete", 2), tmp_path, seed=6, options=["--interval", "0.02"]) as net:
        net.start()
        net.rounds(20)
        pid = net.processes.agents["1"].pid
        # From now on no file of this process can grow; its notices are in one too.
        limits = resource.prlimit(pid, resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))
        net.rounds(20)
        stored = net.report("1")["stored_round"]
        net.rounds(60)
        assert net.report("1")["stored_round"] == stored < net.round("1") - 40
        resource.prlimit(pid, resource.RLIMIT_FSIZE, limits)
        net.until(lambda: "is kept again" in net.processes.agents["1"].notices())
        net.rounds(10)
        assert net.report("1")["stored_round"] > stored + 40
        assert net.refused() == {}
        net.finish()
        replays = net.replays()
        assert np.diff(replays["1"].rounds).max() > 40  # nobody wrote down what it did meanwhile
        assert net.heard_what_was_said(silent="1") > 50


def test_a_router_is_killed_and_comes_back(tmp_path: Path) -> None:
    problem = coins("complete", 2)
    keys = new_keys(members_of(problem), tmp_path / "keys")
    options = ["--interval", "0.02", "--patience", "0.5"]
    with chaos(problem, tmp_path, seed=8, keys=keys, routed=True, options=options) as net:
        net.start()
        net.rounds(20)
        assert net.report("0")["links"]["1"]["alive"]
        net.end_between(signal.SIGKILL)
        net.until(lambda: not net.report("0")["links"]["1"]["alive"])
        net.rounds(20)
        net.start_between()
        net.until(lambda: net.report("0")["links"]["1"]["alive"])
        net.rounds(20)
        # A member, who does not obey: he speaks for somebody else.
        member = KeyFolder.of_agent(keys, "1")
        free = {"access_control": {"enabled": False}}
        end = f"tls/127.0.0.1:{net.port('0')}"
        with session(member, (), connect=end, mode="client", **free) as speaking:
            time.sleep(0.5)
            for _ in range(9):
                speaking.put(f"peerbayes/{net.members.network}/belief/0", b"x")
            net.rounds(20)
        assert net.refused() == {}
        check(net)
        told = json.loads(net.end_between(signal.SIGINT))
        assert told["refused"] == {"not-allowed": 9}
