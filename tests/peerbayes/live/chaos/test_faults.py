"""Faults of every kind, and what must hold after each: nobody else died, beliefs are those of the
journals replayed, to the last bit, they grew as those who were heard let expect, and every refusal
is counted.
"""

from __future__ import annotations

import resource
import sys
import time
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from peerbayes.live.frames import seal
from peerbayes.problem.problems import AnyProblem
from peerbayes.problem.reading import problem_from_document
from tests.peerbayes.live.chaos.hostile import frame, hostile_frames
from tests.peerbayes.live.chaos.networks import Chaos, chaos

# Largest of a dozen normal deviates in standard deviations: beyond 5 with a chance of 1e-5.
DEVIATIONS = 5.0
COINS = [[["1/2", "1/2"]], [["3/5", "2/5"]], [["2/5", "3/5"]]]


def ring(agents: int) -> AnyProblem:
    """Agents that toss coins."""
    kind = {"count": agents, "truth": "fair", "likelihood": COINS}
    return problem_from_document(
        {
            "name": "ring",
            "network": {"topology": "ring", "agents": agents},
            "model": {"hypotheses": ["fair", "loaded", "light"], "agents": [kind]},
        }
    )


def check(net: Chaos) -> None:
    """End in order; then all that must hold of any network but its refusals."""
    net.finish()
    replays = net.replays()
    assert net.heard_what_was_said() > 50
    assert net.score(replays) < DEVIATIONS


def done(net: Chaos, what: str) -> dict[str, int]:
    """How often the process between did something to messages for each agent."""
    counts: Counter[str] = Counter()
    for _, to, link in net.do("counts"):
        counts[to] += link[what]
    return dict(counts)


def test_lost_doubled_late_altered_and_replayed_messages(tmp_path: Path) -> None:
    options = ["--interval", "0.004", "--patience", "0.03"]
    with chaos(ring(4), tmp_path, seed=3, options=options) as net:
        net.do("faults", lose=0.2, double=0.2, late=0.1, alter=0.05, replay=0.05)
        net.start()
        net.rounds(120)
        net.do("faults")
        net.rounds(20)  # whatever was on its way has arrived
        altered = done(net, "alter")
        assert {name: sum(why.values()) for name, why in net.refused().items()} == altered
        assert set(altered) == {"0", "1", "2", "3"}
        check(net)
        for name in net.shares:
            receipts = net.report(name)["receipts"]
            assert receipts["duplicate"] > 10
            assert receipts["late"] > 5
            assert net.report(name)["links"][str((int(name) + 1) % 4)]["rounds_late"] > 10


def test_garbage_of_every_kind_is_refused_and_counted(tmp_path: Path) -> None:
    with chaos(ring(3), tmp_path, seed=4, options=["--interval", "0.004"]) as net:
        net.start()
        net.rounds(20)
        bad = hostile_frames(net.members.network, "1", hypotheses=3)
        for frames in bad.values():
            for data in frames:
                net.do("say", to="0", **{"as": "1", "hex": data.hex(), "times": 7})
        net.do("say", to="0", **{"as": "1", "zeros": 100 * 2**20, "times": 3})
        far = frame(net.members.network, "1", np.log([0.98, 0.01, 0.01]), round=2**62)
        net.do("say", to="0", **{"as": "1", "hex": seal(far).hex()})
        expected = {reason: 7 * len(frames) for reason, frames in bad.items()}
        expected["too-large"] += 3
        expected["far-ahead"] = 1
        net.until(lambda: net.report("0")["refused"] == expected, seconds=30)
        net.rounds(20)
        assert net.refused() == {"0": expected}
        check(net)


@pytest.mark.skipif(sys.platform != "linux", reason="limits of another process")
def test_killed_agents_partitions_and_full_disks(tmp_path: Path) -> None:
    options = ["--interval", "0.004", "--patience", "0.5"]
    with chaos(ring(4), tmp_path, seed=5, options=options) as net:
        net.start()
        net.rounds(20)
        # Killed: its weight is handed over at once, and nobody waits for it.
        net.kill("2")
        began = time.monotonic()
        net.until(lambda: not net.report("1")["links"]["2"]["alive"], seconds=10)
        net.rounds(30)
        net.restart("2")
        net.until(lambda: net.report("1")["links"]["2"]["alive"])
        net.rounds(20)
        # Two halves, each of which goes on.
        net.do("cut", sides=[["0", "1"]])
        net.until(lambda: not net.report("1")["links"]["2"]["alive"], seconds=10)
        net.rounds(40)
        net.do("heal")
        net.until(lambda: net.report("1")["links"]["2"]["alive"])
        net.rounds(20)
        # A disk on which nothing more can be written.
        pid = net.processes.agents["3"].pid
        limits = resource.prlimit(pid, resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))
        stored = net.report("3")["stored_round"]
        net.rounds(150)
        assert "cannot keep its state" in net.processes.agents["3"].notices()
        assert net.report("3")["stored_round"] <= stored + 150 < net.round("3") + 150
        resource.prlimit(pid, resource.RLIMIT_FSIZE, limits)
        net.until(lambda: "is kept again" in net.processes.agents["3"].notices())
        net.rounds(10)
        assert net.refused() == {}
        assert began < time.monotonic()
        check(net)
