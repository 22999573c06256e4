"""Live agents, a process each: rounds a second, start, memory, how soon a death is known, faults.

The clock counts, since a network waits for its slowest agent; CPU times stand beside it.
"""

from __future__ import annotations

import os
import random
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

import peerbayes as pb
from benchmarks.rounds import random_model
from benchmarks.tables import Options, Row
from peerbayes.live import launching
from peerbayes.live.keys import new_keys
from peerbayes.live.preparing import members_of
from peerbayes.live.processes import Processes
from peerbayes.live.watch.measured import Measured, measure
from peerbayes.live.watch.reports import Report, Stretch
from peerbayes.settings import Agent
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

# Seconds between two rounds while something happens.
INTERVAL = 0.1


# A launch --------------------------------------------------------------------------------------


def ring(agents: int) -> Any:
    """Agents on a ring, each with three outcomes and tables of its own for ten hypotheses."""
    network = pb.Network.from_topology("ring", agents=agents, rule="metropolis")
    return pb.problem_of(network, random_model(agents, 10, 3, kinds=agents), name="live-ring")


def launched(problem: Any, *, rounds: int, secure: bool) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        keys = new_keys(members_of(problem), Path(folder) / "keys") if secure else None
        return pb.launch(problem, rounds=rounds, agent=Agent(keys=keys), out=folder).found


def peers(how: Options, *, agents: int, rounds: int, secure: bool) -> list[Row]:
    """Rounds and start of the launch that was neither the slowest nor the quickest."""
    problem = ring(agents)
    runs = [launched(problem, rounds=rounds, secure=secure) for _ in range(how.repeats)]
    slowest = [min(1 / report["gap"] for report in found.reports) for found in runs]
    middle = sorted(range(len(runs)), key=slowest.__getitem__)[len(runs) // 2]
    found, named = runs[middle], {"peers": f"{agents}, {'TLS and signed' if secure else 'plain'}"}
    cpu = median(one["cpu_seconds"] / (one["poolings"] - 1) for one in found.reports)
    first = found.reports[0]
    return [
        {
            "part": "rounds",
            **named,
            "rounds a second": slowest[middle],
            "milliseconds": {"CPU of a peer, a round": 1e3 * cpu},
            "bytes of a frame": round(first["bytes_sent"] / first["poolings"]),
        },
        {
            "part": "start",
            **named,
            "seconds": {"until all are in their rounds": found.seconds_to_start},
            "MB": {"largest peer": max(report["rss_mb"] for report in found.reports)},
        },
    ]


def death(problem: Any) -> list[float]:
    """Milliseconds after the death of one agent at which each neighbour knew of it."""
    agents, killed = problem.network.agents, {}
    victim = str(agents // 2)

    class Watched(Processes):
        """Kills one agent when all are at work."""

        def __enter__(self) -> Processes:
            threading.Thread(target=self._kill, daemon=True).start()
            return self

        def _kill(self) -> None:
            while len(self.agents) < agents or any(
                agent.report is None or agent.report["round"] < 20 for agent in self.agents.values()
            ):
                time.sleep(0.05)
            os.kill(self.agents[victim].pid, signal.SIGKILL)
            killed["at"] = time.time()

    before, launching.Processes = launching.Processes, Watched  # type: ignore[attr-defined]
    try:
        with tempfile.TemporaryDirectory() as folder:
            found = pb.launch(problem, rounds=300, agent=Agent(interval=0.02), out=folder).found
    finally:
        launching.Processes = before  # type: ignore[attr-defined]
    links = [report["links"][victim] for report in found.reports if victim in report["links"]]
    assert not any(link["alive"] for link in links)
    return [1e3 * (link["changed"] - killed["at"]) for link in links]


def deaths(how: Options, *, agents: int) -> Row:
    """One of them is killed, again and again."""
    late = [value for _ in range(how.repeats) for value in death(ring(agents))]
    milliseconds = {"median": median(late), "longest": max(late)}
    return {"peers": str(agents), "deaths": how.repeats, "milliseconds": milliseconds}


# What happens to networks ----------------------------------------------------------------------


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
    """What happened to a new network of agents, and what held afterwards; an error if it did not.

    Faults that the tests try at small size are done as there. The rate is measured while the same
    agents are there. With clocks of their own every other agent is twice as fast.
    """
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
