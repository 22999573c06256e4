"""Faults of every kind, and what must hold after each: nobody else died, beliefs are those of the
journals replayed, to the last bit, they grew as those who were heard let expect, and every refusal
is counted.
"""

from __future__ import annotations

import json
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
from peerbayes.live.security import KeyFolder
from tests.peerbayes.live.hostile import frame
from tests.peerbayes.live.networks import session
from tests.thorough.peerbayes.live.chaos.faults import (
    UNIFORM,
    coins,
    done,
    forge,
    full_disk,
    heard,
    throw_garbage,
    without_router,
)
from tests.thorough.peerbayes.live.chaos.networks import Chaos, chaos

# Largest of a dozen normal deviates in standard deviations: beyond 5 with a chance of 1e-5.
DEVIATIONS = 5.0


def check(net: Chaos) -> None:
    """End in order; then all that must hold of any network but its refusals."""
    net.finish()
    replays = net.replays()
    assert net.heard_what_was_said() > 50
    assert net.score(replays) < DEVIATIONS


def test_a_router_that_loses_doubles_delays_alters_replays_and_forges(tmp_path: Path) -> None:
    problem = coins(3, topology="ring")
    keys = new_keys(members_of(problem), tmp_path / "keys")
    options = ["--interval", "0.01", "--patience", "0.03"]
    with chaos(problem, tmp_path, seed=3, keys=keys, options=options) as net:
        net.do("faults", lose=0.2, double=0.2, late=0.1, alter=0.05, replay=0.05)
        net.start()
        net.rounds(100)
        # Its certificate lets it put anything: it says that these are agent 1's.
        forged = forge(net, times=5)
        net.do("faults")
        net.rounds(20)  # whatever was on its way has arrived
        altered = done(net, "alter")
        assert min(altered.values()) > 0
        refused = net.refused()
        assert refused["0"]["bad-signature"] >= forged == 10
        altered["0"] += forged
        assert {name: sum(why.values()) for name, why in refused.items()} == altered
        check(net)
        receipts: Counter[str] = Counter()
        for name in net.shares:
            receipts.update(net.report(name)["receipts"])
        # One in five is doubled, one in twenty replayed, of hundreds; late is what was waited for.
        assert receipts["duplicate"] > 30
        assert receipts["late"] > 0


def test_garbage_of_every_kind_is_refused_and_counted(tmp_path: Path) -> None:
    with chaos(
        coins(2, topology="complete"), tmp_path, seed=4, options=["--interval", "0.01"]
    ) as net:
        net.start()
        net.rounds(20)
        expected = throw_garbage(net, "0", "1", times=7, large=1)
        far = frame(net.members.network, "1", UNIFORM, round=2**62)
        net.do("say", to="0", **{"as": "1", "hex": seal(far).hex()})
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
    with chaos(coins(4, topology="ring"), tmp_path, seed=5, options=options) as net:
        net.start()
        net.rounds(20)
        net.kill("2")
        heard(net, "2", never=True)
        net.rounds(30)
        net.restart("2")
        heard(net, "2")
        net.rounds(20)
        net.do("cut", sides=[["0", "1"]])
        net.until(lambda: not net.report("1")["links"]["2"]["alive"])
        net.rounds(40)
        net.do("heal")
        heard(net)
        net.rounds(20)
        assert net.refused() == {}
        check(net)


@pytest.mark.skipif(sys.platform != "linux", reason="sets limits of another process")
def test_a_full_disk_ends_nothing(tmp_path: Path) -> None:
    with chaos(
        coins(2, topology="complete"), tmp_path, seed=6, options=["--interval", "0.02"]
    ) as net:
        net.start()
        net.rounds(20)
        with full_disk(net, "1"):
            net.rounds(20)
            stored = net.report("1")["stored_round"]
            net.rounds(60)
            assert net.report("1")["stored_round"] == stored < net.round("1") - 40
        net.until(lambda: "is kept again" in net.processes.agents["1"].notices())
        net.rounds(10)
        assert net.report("1")["stored_round"] > stored + 40
        assert net.refused() == {}
        net.finish()
        replays = net.replays()
        assert np.diff(replays["1"].rounds).max() > 40  # nobody wrote down what it did meanwhile
        assert net.heard_what_was_said(silent="1") > 50


def test_a_router_is_killed_and_comes_back(tmp_path: Path) -> None:
    problem = coins(2, topology="complete")
    keys = new_keys(members_of(problem), tmp_path / "keys")
    options = ["--interval", "0.02", "--patience", "0.5"]
    with chaos(problem, tmp_path, seed=8, keys=keys, routed=True, options=options) as net:
        net.start()
        net.rounds(20)
        assert net.report("0")["links"]["1"]["alive"]
        with without_router(net):
            net.rounds(20)
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
