"""Faults of live networks of 16 agents, each a process: what happened, and what held afterwards.

For each fault a new network; those that the tests try at small size are done as there. The run ends
with an error if a fault is not survived. The rate is measured while the same agents are there.
"""

from __future__ import annotations

import random
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.tables import Options, Row
from peerbayes.live.keys import new_keys
from peerbayes.live.preparing import members_of
from peerbayes.live.watch.measured import Measured, measure
from peerbayes.live.watch.reports import Report, Stretch
from tests.thorough.peerbayes.live.chaos.faults import (
    coins,
    done,
    forge,
    full_disk,
    heard,
    throw_garbage,
    without_router,
)
from tests.thorough.peerbayes.live.chaos.networks import Chaos, chaos

INTERVAL = 0.1


@dataclass
class Trial:
    """One network, and what a fault did to it."""

    net: Chaos
    seconds: float
    fate: random.Random = field(default_factory=lambda: random.Random(0))
    sent: int = 0
    silent: str | None = None
    measured: Measured | None = None

    def watch(self, *, times: float = 1.0, without: Sequence[str] = ()) -> None:
        """Measure for some seconds what all agents report, but for some of them."""
        names, net = self.net.members.names, self.net
        stretch = Stretch(time.time(), frozenset(names) - frozenset(without))
        end = time.monotonic() + times * self.seconds

        def see(name: str, event: Mapping[str, Any] | int) -> None:
            if not isinstance(event, int) and name in stretch.present:
                told = Report.model_validate(event)
                stretch.add(told, told.time)

        while (left := end - time.monotonic()) > 0:
            net.processes.watch(left, see)
        model = net.problem.model  # type: ignore[union-attr]
        self.measured = measure(names, stretch.courses, model)

    def count(self, what: str) -> int:
        """How often the process between did something to messages."""
        return done(self.net, what).total()

    # Faults -----------------------------------------------------------------------------------

    def nothing(self) -> str:
        self.watch()
        return "none"

    def killed(self) -> str:
        net, names = self.net, self.fate.sample(list(self.net.shares), 3)
        moments = sorted(self.fate.uniform(0, self.seconds / 3) for _ in names)
        began = time.monotonic()
        for name, moment in zip(names, moments, strict=True):
            net.take_in(max(0.0, began + moment - time.monotonic()))
            net.kill(name)
        heard(net, *names, never=True)
        self.watch(without=names)
        for name in names:
            net.restart(name)
        heard(net, *names)
        net.rounds(50)
        return f"kill -9 of agents {', '.join(names)} within {moments[-1]:.0f} s"

    def parted(self) -> str:
        self.net.do("cut", sides=[list(self.net.shares)[:8]])
        self.net.take_in(60.0)
        self.net.do("heal")
        self.net.rounds(100)
        return f"two halves apart for 60 s, {self.count('cut')} messages lost between them"

    def lost(self) -> str:
        self.net.do("faults", lose=0.2, double=0.2)
        self.watch()
        lost, doubled, said = map(self.count, ("lose", "double", "said"))
        return f"{lost} lost, {doubled} doubled, of {said}"

    def rhythms(self) -> str:
        self.watch(times=2)
        return "8 of 16 twice as fast, each on its own clock"

    def garbage(self) -> str:
        times, large = 25, 2
        for to in self.fate.sample(list(self.net.shares), 4):
            name = self.net.members.heard(to)[0]
            sent = throw_garbage(self.net, to, name, times=times, large=large).total()
            self.sent += sent
        self.watch()
        return f"{(sent - large) // times} kinds of garbage and frames of 100 MB to 4 agents"

    def lying_router(self) -> str:
        self.net.do("faults", alter=0.05, replay=0.05)
        forged = forge(self.net, times=50)
        self.watch()
        self.net.do("faults")
        self.net.rounds(20)
        altered, replayed = map(self.count, ("alter", "replay"))
        self.sent = altered + forged
        return f"{altered} altered, {replayed} replayed, {forged} forged"

    def full_disk(self) -> str:
        net, name = self.net, self.fate.choice(list(self.net.shares))
        with full_disk(net, name):
            stored = net.report(name)["stored_round"]
            self.watch()
            missing = net.round(name) - stored
        net.until(lambda: net.report(name)["stored_round"] > stored + 50)
        self.silent = name
        return f"the disk of agent {name} full for {missing} rounds"

    def router_restart(self) -> str:
        with without_router(self.net):
            self.net.take_in(5.0)
        self.watch()
        return "kill -9 of the router, back after 5 s"


def survived(
    how: Options, *, fault: str, what: str, side: int = 4, seconds: float = 20.0,
    secured: bool = False, routed: bool = False, patience: float = 0.5, own_clocks: bool = False,
) -> Row:  # fmt: skip
    """What held after a fault; with clocks of their own every other agent is twice as fast."""
    shape = {"topology": "torus" if side > 2 else "grid", "shape": [side, side]}
    problem = coins(side * side, loaded="3/4", light="1/3", **shape)
    options = ["--interval", str(INTERVAL), "--gather", "120"]
    options += ["--pace", "own"] if own_clocks else ["--patience", str(patience)]
    quick = range(0, side * side, 2) if own_clocks else ()
    with tempfile.TemporaryDirectory(prefix="chaos-") as name:
        folder = Path(name)
        settings = {
            "keys": new_keys(members_of(problem), folder / "keys") if secured else None,
            "own": {str(i): ("--interval", str(INTERVAL / 2)) for i in quick},
        }
        with chaos(problem, folder, options=options, routed=routed, seed=0, **settings) as net:
            net.start()
            net.rounds(30)
            trial = Trial(net, seconds)
            happened = getattr(trial, what)()
            died = sum(agent.code is not None for agent in net.processes.agents.values())
            net.finish()
            replays, silent = net.replays(), trial.silent
            refused = sum(sum(counts.values()) for counts in net.refused().values())
            rate = trial.measured.binding if trial.measured is not None else None
            known = rate is not None and rate.predicted is not None and rate.measured is not None
            row = {
                "happened": happened,
                "died": died,
                "replayed": sum(len(replay.rounds) for replay in replays.values()),
                "traced": net.heard_what_was_said(silent=silent),
                "deviations": "–" if silent else f"{net.score(replays):.1f}",
                "refused": f"{refused} of {trial.sent}",
                "predicted": f"{rate.predicted:.3f}" if known else "–",
                "measured": f"{rate.measured:.3f} ± {rate.standard_error:.3f}" if known else "–",
            }
    print(f"{fault}: survived", file=sys.stderr, flush=True)
    return row
