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
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.tables import Options, Row
from exact.changing import Replay
from peerbayes.live.frames import seal
from peerbayes.live.keys import new_keys
from peerbayes.live.preparing import members_of
from peerbayes.live.security import KeyFolder, sign
from peerbayes.live.watch.measured import Measured, measure
from peerbayes.live.watch.reports import Course, Report
from peerbayes.problem.problems import AnyProblem
from peerbayes.problem.reading import problem_from_document
from tests.peerbayes.live.hostile import frame, hostile_frames
from tests.thorough.peerbayes.live.chaos.networks import Chaos, chaos

COINS = [[["1/2", "1/2"]], [["3/4", "1/4"]], [["1/3", "2/3"]]]
INTERVAL = "0.1"
LOCKSTEP = ("--interval", INTERVAL, "--patience", "0.5", "--gather", "120")
OWN = ("--pace", "own", "--interval", INTERVAL, "--gather", "120")


def torus(side: int) -> AnyProblem:
    """Agents that toss coins, each with four neighbours, or on a small grid."""
    kind = {"count": side * side, "truth": "fair", "likelihood": COINS}
    return problem_from_document(
        {
            "name": "coins",
            "network": {"topology": "torus" if side > 2 else "grid", "shape": [side, side]},
            "model": {"hypotheses": ["fair", "loaded", "light"], "agents": [kind]},
        }
    )


@dataclass
class Trial:
    """One network, and what a fault did to it."""

    net: Chaos
    seconds: float
    fate: random.Random
    happened: str = ""
    sent: Counter[str] = field(default_factory=Counter)
    silent: set[str] = field(default_factory=set)
    measured: Measured | None = None

    def watch(self, seconds: float, *, without: tuple[str, ...] = ()) -> None:
        """Measure for some seconds what all agents report, but for some of them."""
        names = [name for name in self.net.members.names if name not in without]
        courses: dict[str, Course] = {}
        end = time.monotonic() + seconds

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


def nothing(trial: Trial) -> None:
    trial.happened = "none"
    trial.watch(trial.seconds)


def killed(trial: Trial) -> None:
    net = trial.net
    names = trial.fate.sample(list(net.shares), 3)
    moments = sorted(trial.fate.uniform(0, trial.seconds / 3) for _ in names)
    began = time.monotonic()
    for name, moment in zip(names, moments, strict=True):
        net.take_in(max(0.0, began + moment - time.monotonic()))
        net.kill(name)
    heard = [(i, j) for i in net.shares for j in net.members.heard(i) if j in names]
    heard = [(i, j) for i, j in heard if i not in names]
    net.until(lambda: not any(net.report(i)["links"][j]["alive"] for i, j in heard))
    trial.watch(trial.seconds, without=tuple(names))
    for name in names:
        net.restart(name)
    net.until(lambda: all(net.report(i)["links"][j]["alive"] for i, j in heard))
    net.rounds(50)
    trial.happened = f"kill -9 of agents {', '.join(names)} within {moments[-1]:.0f} s"


def partition(trial: Trial) -> None:
    net = trial.net
    half = list(net.shares)[:8]
    net.do("cut", sides=[half])
    net.take_in(60.0)
    net.do("heal")
    net.rounds(100)
    lost = sum(link["cut"] for _, _, link in net.do("counts"))
    trial.happened = f"two halves apart for 60 s, {lost} messages lost between them"


def lost_and_doubled(trial: Trial) -> None:
    net = trial.net
    net.do("faults", lose=0.2, double=0.2)
    trial.watch(trial.seconds)
    counts = Counter[str]()
    for _, _, link in net.do("counts"):
        counts.update(link)
    trial.happened = f"{counts['lose']} lost, {counts['double']} doubled, of {counts['said']}"


def rhythms(trial: Trial) -> None:
    trial.watch(2 * trial.seconds)
    trial.happened = "8 of 16 twice as fast, each on its own clock"


def garbage(trial: Trial) -> None:
    net = trial.net
    victims = trial.fate.sample(list(net.shares), 4)
    bad = hostile_frames(net.members.network, "?", hypotheses=3)
    for to in victims:
        name = net.members.heard(to)[0]
        bad = hostile_frames(net.members.network, name, hypotheses=3)
        for reason, frames in bad.items():
            for data in frames:
                net.do("say", to=to, **{"as": name, "hex": data.hex(), "times": 25})
                trial.sent[reason] += 25
        net.do("say", to=to, **{"as": name, "zeros": 100 * 2**20, "times": 2})
        trial.sent["too-large"] += 2
    trial.watch(trial.seconds)
    kinds = sum(map(len, bad.values()))
    trial.happened = f"{kinds} kinds of garbage and frames of 100 MB to 4 agents"


def lying_router(trial: Trial) -> None:
    net = trial.net
    assert net.keys is not None
    net.do("faults", alter=0.05, replay=0.05)
    forged = frame(net.members.network, "1", np.full(3, -np.log(3)))
    other = KeyFolder.of_agent(net.keys, "2")
    for data in (seal(forged), seal(forged, lambda digest: sign(other, digest))):
        net.do("say", to="0", **{"as": "1", "hex": data.hex(), "times": 50})
    trial.watch(trial.seconds)
    net.do("faults")
    net.rounds(20)
    counts = Counter[str]()
    for _, _, link in net.do("counts"):
        counts.update(link)
    trial.sent["altered"], trial.sent["forged"] = counts["alter"], 100
    trial.happened = f"{counts['alter']} altered, {counts['replay']} replayed, 100 forged"


def full_disk(trial: Trial) -> None:
    net = trial.net
    name = trial.fate.choice(list(net.shares))
    pid = net.processes.agents[name].pid
    limits = resource.prlimit(pid, resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))
    stored = net.report(name)["stored_round"]
    trial.watch(trial.seconds)
    missing = net.round(name) - stored
    resource.prlimit(pid, resource.RLIMIT_FSIZE, limits)
    net.until(lambda: net.report(name)["stored_round"] > stored + 50)
    trial.silent.add(name)
    trial.happened = f"the disk of agent {name} full for {missing} rounds"


def router_restart(trial: Trial) -> None:
    net = trial.net
    net.end_between(signal.SIGKILL)
    heard = [(i, j) for i in net.shares for j in net.members.heard(i)]
    net.until(lambda: not any(net.report(i)["links"][j]["alive"] for i, j in heard))
    net.take_in(5.0)
    net.start_between()
    net.until(lambda: all(net.report(i)["links"][j]["alive"] for i, j in heard), seconds=120)
    trial.watch(trial.seconds)
    trial.happened = "kill -9 of the router, back after 5 s"


@dataclass(frozen=True)
class Fault:
    """A fault, and the network to which it happens."""

    name: str
    happen: Callable[[Trial], None]
    options: tuple[str, ...] = LOCKSTEP
    secured: bool = False
    routed: bool = False
    quick: tuple[int, ...] = ()


# Of each trial.
SECONDS = 20.0
FAULTS = (
    Fault("nothing", nothing),
    Fault("kill -9 of 3 of 16, and return", killed),
    Fault("a partition for a minute", partition),
    Fault("20 % lost, 20 % doubled", lost_and_doubled, ("--patience", "0.1", *LOCKSTEP[:2])),
    Fault("clocks twice as fast", rhythms, OWN, quick=tuple(range(0, 16, 2))),
    Fault("garbage, NaN, 100 MB, other names", garbage),
    Fault("a router that lies", lying_router, secured=True),
    Fault("full disk", full_disk),
    Fault("router restart", router_restart, secured=True, routed=True),
)


def row(fault: Fault, *, seconds: float, seed: int, side: int = 4) -> Row:
    """One line of the table."""
    problem = torus(side)
    with tempfile.TemporaryDirectory(prefix="chaos-") as name:
        folder = Path(name)
        keys = new_keys(members_of(problem), folder / "keys") if fault.secured else None
        own = {str(i): ("--interval", str(float(INTERVAL) / 2)) for i in fault.quick}
        settings = {"seed": seed, "keys": keys, "routed": fault.routed, "own": own}
        with chaos(problem, folder, options=fault.options, **settings) as net:
            net.start()
            net.rounds(30)
            trial = Trial(net, seconds, random.Random(seed))
            fault.happen(trial)
            died = sum(agent.code is not None for agent in net.processes.agents.values())
            net.finish()
            return told(fault, trial, net.replays(), died=died)


def told(fault: Fault, trial: Trial, replays: Mapping[str, Replay], *, died: int) -> Row:
    """What held after a fault."""
    net = trial.net
    silent = next(iter(trial.silent), None)
    refused = Counter[str]()
    for counts in net.refused().values():
        refused.update(counts)
    rate = trial.measured.binding if trial.measured is not None else None
    known = rate is not None and rate.predicted is not None and rate.measured is not None
    return {
        "fault": fault.name,
        "happened": trial.happened,
        "died": died,
        "replayed": sum(len(replay.rounds) for replay in replays.values()),
        "traced": net.heard_what_was_said(silent=silent),
        "deviations": "–" if silent else f"{net.score(replays):.1f}",
        "refused": f"{sum(refused.values())} of {sum(trial.sent.values())}",
        "predicted": f"{rate.predicted:.3f}" if known else "–",
        "measured": f"{rate.measured:.3f} ± {rate.standard_error:.3f}" if known else "–",
    }


def rows(how: Options) -> Sequence[Row]:
    """The tables."""
    if how.quick:
        return [row(FAULTS[0], seconds=2.0, seed=0, side=2)]
    found = []
    for fault in FAULTS:
        if fnmatch(fault.name, how.only):
            found.append(row(fault, seconds=SECONDS, seed=0))
            print(f"{fault.name}: survived", file=sys.stderr, flush=True)
    return found
