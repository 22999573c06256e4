"""Live networks on the loopback interface to which things happen, and what must hold afterwards."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import peerbayes
from exact.changing.replay import Replay, replay
from peerbayes.live.agent import own_file, state_folder
from peerbayes.live.members import Members
from peerbayes.live.preparing import shares_of
from peerbayes.live.processes import Processes, free_ports
from peerbayes.live.store import beliefs_of, events_of
from peerbayes.problem.problems import AnyProblem

ROOT = Path(peerbayes.__file__).parents[1]


@dataclass
class Chaos:
    """A live network of which each agent is a process, all messages by way of another one.

    Parameters
    ----------
    problem
        With finitely many hypotheses.
    folder
        For states, journals, notices.
    seed
        Of observations and of what happens to messages.
    keys
        The network's key folder, if it has one.
    options
        Further options of ``peerbayes peer``, for all agents; `own` for single ones.
    """

    problem: AnyProblem
    folder: Path
    seed: int = 0
    keys: Path | None = None
    options: Sequence[str] = ()
    own: Mapping[str, Sequence[str]] = field(default_factory=dict)
    processes: Processes = field(default_factory=Processes)
    killed: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.shares = {share.agent: share for share in shares_of(self.problem)}
        first = next(iter(self.shares.values()))
        self.members: Members = first.members
        self.states = state_folder(self.folder, first.network)
        self.states.mkdir(parents=True, exist_ok=True)
        self._ports = dict(zip(self.shares, free_ports(len(self.shares)), strict=True))
        plan = {
            "network": first.network,
            "seed": self.seed,
            "ports": self._ports,
            "heard": {name: self.members.heard(name) for name in self.shares},
            "keys": None if self.keys is None else str(self.keys),
        }
        module = "tests.peerbayes.live.chaos.between"
        self._between = subprocess.Popen(
            [sys.executable, "-m", module, json.dumps(plan)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
        )
        self._answer()

    def _answer(self) -> Any:
        assert self._between.stdout is not None
        line = self._between.stdout.readline()
        assert line, "the process between the agents died"
        return json.loads(line)

    def do(self, what: str, **options: Any) -> Any:
        """A command for the process between (`tests.peerbayes.live.chaos.between`)."""
        assert self._between.stdin is not None
        self._between.stdin.write(json.dumps({"do": what, **options}) + "\n")
        self._between.stdin.flush()
        return self._answer()

    # Agents -------------------------------------------------------------------------------------

    def start(self, *names: str) -> None:
        """Start agents, all if none is named."""
        for name in names or self.shares:
            path = own_file(self.states, name, "share")
            self.shares[name].write(path)
            protocol = "tcp" if self.keys is None else "tls"
            arguments = ["peer", str(path), "--out", str(self.folder), "--journal"]
            arguments += ["--connect", f"{protocol}/127.0.0.1:{self._ports[name]}"]
            arguments += ["--seed", str(self.seed), *self.options, *self.own.get(name, ())]
            if self.keys is not None:
                arguments += ["--keys", str(self.keys)]
            self.processes.start(name, arguments, log=own_file(self.states, name, "log"))

    def kill(self, name: str) -> None:
        """Kill -9."""
        self.killed[name] = self.killed.get(name, 0) + 1
        os.kill(self.processes.agents[name].pid, signal.SIGKILL)
        self.until(lambda: self.processes.agents[name].code is not None)

    def restart(self, name: str) -> None:
        """Start a killed agent again, as it was started."""
        self.processes.agents[name].report = None
        self.processes.agents[name].start()

    def take_in(self, seconds: float) -> None:
        """Read what agents report, for some time."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            self.processes.watch(left, lambda name, event: None)

    def until(self, holds: Callable[[], object], seconds: float = 60.0) -> None:
        """Go on until it holds."""
        end = time.monotonic() + seconds
        while not holds():
            assert time.monotonic() < end, f"not within {seconds} s; {self.told()}"
            self.take_in(0.05)

    def told(self) -> str:
        """What the agents say of themselves, for messages of failed tests."""
        lines = {name: agent.notices() for name, agent in self.processes.agents.items()}
        return "; ".join(
            f"{name}: round {self.round(name)}, {text}" for name, text in lines.items()
        )

    def round(self, name: str) -> int:
        """An agent's last reported round."""
        report = self.processes.agents[name].report
        return 0 if report is None else report["round"]

    def rounds(self, least: int) -> None:
        """Go on until every agent that lives has reported so many rounds more than now."""
        living = [name for name, agent in self.processes.agents.items() if agent.code is None]
        wanted = {name: self.round(name) + least for name in living}
        self.until(lambda: all(self.round(name) >= wanted[name] for name in living))

    def report(self, name: str) -> dict[str, Any]:
        """An agent's last report."""
        report = self.processes.agents[name].report
        assert report is not None, self.told()
        return report

    def finish(self) -> None:
        """Let all agents end in order, and see that they did, and that nobody else died."""
        self.processes.finish()
        self.until(lambda: all(agent.code is not None for agent in self.processes.agents.values()))
        codes = {name: agent.code for name, agent in self.processes.agents.items()}
        assert codes == dict.fromkeys(codes, 0), self.told()

    # What must hold -----------------------------------------------------------------------------

    def replays(self) -> dict[str, Replay]:
        """The agents' journals replayed: the beliefs that they had, to the last bit."""
        found = {}
        for name in self.processes.agents:
            path = own_file(self.states, name, "state")
            again = replay(events_of(path))
            had = beliefs_of(path)
            assert had, name
            mine = dict(zip(again.rounds.tolist(), again.log_beliefs, strict=True))
            for number, belief in had.items():
                assert np.array_equal(mine[number], belief), (name, number)
            last = np.array(self.report(name)["belief"]["log_belief"])
            assert np.array_equal(last, again.state.log_belief), name
            assert (np.diff(again.rounds) > 0).all(), name
            found[name] = again
        return found

    def refused(self) -> dict[str, dict[str, int]]:
        """What each agent refused, by reason; agents that refused nothing are left out."""
        refused = {name: dict(self.report(name)["refused"]) for name in self.processes.agents}
        return {name: counts for name, counts in refused.items() if counts}

    def close(self) -> None:
        """End every process that is left."""
        self.processes.finish()
        assert self._between.stdin is not None
        assert self._between.stdout is not None
        self._between.stdin.close()
        try:
            self._between.wait(10)
        except subprocess.TimeoutExpired:
            self._between.kill()
            self._between.wait()
        self._between.stdout.close()


@contextmanager
def chaos(problem: AnyProblem, folder: Path, **settings: Any) -> Iterator[Chaos]:
    """A live network whose processes end with the block."""
    network = Chaos(problem, folder, **settings)
    try:
        yield network
    finally:
        network.close()
