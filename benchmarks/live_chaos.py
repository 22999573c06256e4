"""Faults of live networks of 16 agents, each a process: what happened, and what held afterwards.

For each fault a new network on a 4 × 4 torus, on the loopback interface, three hypotheses. A fault
counts as survived if the processes of all others live, the journals replayed give all beliefs to
the last bit, and each message that was pooled is one that its sender's journal makes it say; else
the run ends with an error. Counted and measured besides: what was refused and how often it was
sent; how far beliefs lie from what those who were heard let expect; and, while the same agents are
there, the rate predicted from measured weights and waits, and the one measured.
"""

from __future__ import annotations

import random
import resource
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.tables import Options, Row
from peerbayes.live.frames import seal
from peerbayes.live.keys import new_keys
from peerbayes.live.preparing import members_of
from peerbayes.live.security import KeyFolder, sign
from peerbayes.live.watch.measured import Measured, measure
from peerbayes.live.watch.reports import Course, Report
from peerbayes.problem.reading import problem_from_document
from tests.peerbayes.live.hostile import frame, hostile_frames
from tests.thorough.peerbayes.live.chaos.networks import Chaos
from tests.thorough.peerbayes.live.chaos.networks import chaos as network

COINS = [[["1/2", "1/2"]], [["3/4", "1/4"]], [["1/3", "2/3"]]]
INTERVAL = 0.1


@dataclass
class Trial:
    """One network, and what a fault did to it."""

    net: Chaos
    seconds: float
    fate: random.Random = field(default_factory=lambda: random.Random(0))
    sent: Counter[str] = field(default_factory=Counter)
    silent: str | None = None
    measured: Measured | None = None

    def watch(self, *, times: float = 1.0, without: Sequence[str] = ()) -> None:
        """Measure for some seconds what all agents report, but for some of them."""
        names = [name for name in self.net.members.names if name not in without]
        courses: dict[str, Course] = {}
        end = time.monotonic() + times * self.seconds

        def see(name: str, event: Mapping[str, Any] | int) -> None:
            if isinstance(event, int) or name not in names:
                return
            told = Report.model_validate(event)
            if name in courses:
                courses[name].add(told, told.time)
            else:
                courses[name] = Course(told, told.time)

        while (left := end - time.monotonic()) > 0:
            self.net.processes.watch(left, see)
        model = self.net.problem.model  # type: ignore[union-attr]
        self.measured = measure(self.net.members.names, courses, model)

    def alive(self, names: Sequence[str], *, seconds: float = 60.0, never: bool = False) -> None:
        """Wait until all others hear these agents; or none of them any more."""
        net = self.net
        links = [(i, j) for i in net.shares for j in net.members.heard(i) if j in names]
        links = [(i, j) for i, j in links if i not in names or len(names) == len(net.shares)]

        def heard() -> list[bool]:
            return [net.report(i)["links"][j]["alive"] for i, j in links]

        net.until(lambda: not any(heard()) if never else all(heard()), seconds=seconds)

    def counts(self) -> Counter[str]:
        """How often the process between did what to messages."""
        found = Counter[str]()
        for _, _, link in self.net.do("counts"):
            found.update(link)
        return found

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
        self.alive(names, never=True)
        self.watch(without=names)
        for name in names:
            net.restart(name)
        self.alive(names)
        net.rounds(50)
        return f"kill -9 of agents {', '.join(names)} within {moments[-1]:.0f} s"

    def parted(self) -> str:
        net = self.net
        net.do("cut", sides=[list(net.shares)[:8]])
        net.take_in(60.0)
        net.do("heal")
        net.rounds(100)
        lost = self.counts()["cut"]
        return f"two halves apart for 60 s, {lost} messages lost between them"

    def lost(self) -> str:
        self.net.do("faults", lose=0.2, double=0.2)
        self.watch()
        counts = self.counts()
        return f"{counts['lose']} lost, {counts['double']} doubled, of {counts['said']}"

    def rhythms(self) -> str:
        self.watch(times=2)
        return "8 of 16 twice as fast, each on its own clock"

    def garbage(self) -> str:
        net, kinds = self.net, 0
        for to in self.fate.sample(list(net.shares), 4):
            name = net.members.heard(to)[0]
            bad = hostile_frames(net.members.network, name, hypotheses=3)
            kinds = sum(map(len, bad.values()))
            for reason, frames in bad.items():
                for data in frames:
                    net.do("say", to=to, **{"as": name, "hex": data.hex(), "times": 25})
                    self.sent[reason] += 25
            net.do("say", to=to, **{"as": name, "zeros": 100 * 2**20, "times": 2})
            self.sent["too-large"] += 2
        self.watch()
        return f"{kinds} kinds of garbage and frames of 100 MB to 4 agents"

    def lying_router(self) -> str:
        net = self.net
        assert net.keys is not None
        net.do("faults", alter=0.05, replay=0.05)
        forged = frame(net.members.network, "1", np.full(3, -np.log(3)))
        other = KeyFolder.of_agent(net.keys, "2")
        for data in (seal(forged), seal(forged, lambda digest: sign(other, digest))):
            net.do("say", to="0", **{"as": "1", "hex": data.hex(), "times": 50})
        self.watch()
        net.do("faults")
        net.rounds(20)
        counts = self.counts()
        self.sent["altered"], self.sent["forged"] = counts["alter"], 100
        return f"{counts['alter']} altered, {counts['replay']} replayed, 100 forged"

    def full_disk(self) -> str:
        net, name = self.net, self.fate.choice(list(self.net.shares))
        pid = net.processes.agents[name].pid
        limits = resource.prlimit(pid, resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))
        stored = net.report(name)["stored_round"]
        self.watch()
        missing = net.round(name) - stored
        resource.prlimit(pid, resource.RLIMIT_FSIZE, limits)
        net.until(lambda: net.report(name)["stored_round"] > stored + 50)
        self.silent = name
        return f"the disk of agent {name} full for {missing} rounds"

    def router_restart(self) -> str:
        net = self.net
        net.end_between(signal.SIGKILL)
        self.alive(list(net.shares), never=True)
        net.take_in(5.0)
        net.start_between()
        self.alive(list(net.shares), seconds=120)
        self.watch()
        return "kill -9 of the router, back after 5 s"


def survived(
    how: Options, *, fault: str, what: str, side: int = 4, seconds: float = 20.0,
    secured: bool = False, routed: bool = False, patience: float = 0.5, own_clocks: bool = False,
) -> Row:  # fmt: skip
    """What held after a fault; with clocks of their own every other agent is twice as fast."""
    topology = "torus" if side > 2 else "grid"
    tosser = {"count": side * side, "truth": "fair", "likelihood": COINS}
    problem = problem_from_document(
        {
            "name": "coins",
            "network": {"topology": topology, "shape": [side, side]},
            "model": {"hypotheses": ["fair", "loaded", "light"], "agents": [tosser]},
        }
    )
    options = ["--interval", str(INTERVAL), "--gather", "120"]
    options += ["--pace", "own"] if own_clocks else ["--patience", str(patience)]
    quick = range(0, side * side, 2) if own_clocks else ()
    with tempfile.TemporaryDirectory(prefix="chaos-") as name:
        folder = Path(name)
        settings = {
            "keys": new_keys(members_of(problem), folder / "keys") if secured else None,
            "own": {str(i): ("--interval", str(INTERVAL / 2)) for i in quick},
        }
        with network(problem, folder, options=options, routed=routed, seed=0, **settings) as net:
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
                "refused": f"{refused} of {sum(trial.sent.values())}",
                "predicted": f"{rate.predicted:.3f}" if known else "–",
                "measured": f"{rate.measured:.3f} ± {rate.standard_error:.3f}" if known else "–",
            }
    print(f"{fault}: survived", file=sys.stderr, flush=True)
    return row
