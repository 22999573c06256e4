"""Live networks on the loopback interface to which things happen, and what must hold afterwards."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import peerbayes
from exact.changing import Event, Log, Peer, Replay, realised, replay
from peerbayes.live.agent import own_file, state_folder
from peerbayes.live.members import Members
from peerbayes.live.preparing import shares_of
from peerbayes.live.processes import Processes, free_ports
from peerbayes.live.replaying import beliefs_of, events_of
from peerbayes.problem.problems import AnyProblem

ROOT = Path(peerbayes.__file__).parents[1]


@dataclass
class Chaos:
    """A live network of which each agent is a process, all messages by way of another one: the
    one that loses and invents messages, or a router.

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
    routed
        Whether a router stands between the agents.
    best
        The hypothesis that is true of all agents.
    options
        Further options of ``peerbayes peer``, for all agents; `own` for single ones.
    """

    problem: AnyProblem
    folder: Path
    seed: int = 0
    keys: Path | None = None
    routed: bool = False
    best: str = "fair"
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
        self._protocol = "tcp" if self.keys is None else "tls"
        self._held = ExitStack()
        ports = self._held.enter_context(free_ports(1 if self.routed else len(self.shares)))
        self._ports = dict(zip(self.shares, ports * len(self.shares), strict=False))
        self.start_between()

    def start_between(self) -> None:
        """Start what stands between the agents."""
        plan = {
            "network": self.members.network,
            "seed": self.seed,
            "ports": self._ports,
            "heard": {name: self.members.heard(name) for name in self.shares},
            "keys": None if self.keys is None else str(self.keys),
        }
        command = ["tests.thorough.peerbayes.live.chaos.between", json.dumps(plan)]
        if self.routed:
            command = ["peerbayes", "router", "--json", "--quiet", "--listen"]
            command += [f"{self._protocol}/127.0.0.1:{next(iter(self._ports.values()))}"]
            command += [] if self.keys is None else ["--keys", str(self.keys)]
        self.between = subprocess.Popen(
            [sys.executable, "-m", *command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
        )
        if not self.routed:
            self._answer()

    def _answer(self) -> Any:
        assert self.between.stdout is not None
        line = self.between.stdout.readline()
        assert line, "the process between the agents died"
        return json.loads(line)

    def do(self, what: str, **options: Any) -> Any:
        """A command for the process between (`tests.thorough.peerbayes.live.chaos.between`)."""
        assert self.between.stdin is not None
        self.between.stdin.write(json.dumps({"do": what, **options}) + "\n")
        self.between.stdin.flush()
        return self._answer()

    # Agents -------------------------------------------------------------------------------------

    def start(self, *names: str) -> None:
        """Start agents, all if none is named."""
        for name in names or self.shares:
            path = own_file(self.states, name, "share")
            self.shares[name].write(path)
            arguments = ["peer", str(path), "--out", str(self.folder), "--journal"]
            arguments += ["--connect", f"{self._protocol}/127.0.0.1:{self._ports[name]}"]
            arguments += ["--router"] * self.routed
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
        self.processes.agents[name].ask_to_end()
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

    def port(self, name: str) -> int:
        """The port of the loopback interface to which an agent connects."""
        return self._ports[name]

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
            path = self._state(name)
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

    def heard_what_was_said(self, *, silent: str | None = None) -> int:
        """See that each message in a journal is one that its sender said; how many there are.

        What anybody pooled is then what an honest agent's journal makes it say, to the last bit.
        The journal of the agent `silent` has gaps: of what it said there, nothing is known.
        """
        events = {name: list(events_of(self._state(name))) for name in self.processes.agents}
        said = {self.members.number(name): _said(events[name]) for name in events}
        count = 0
        for name, happened in events.items():
            for event in happened:
                if event.message is not None:
                    sender, when = event.message.sender, event.message.round
                    if self.members.names[sender] == silent and when not in said[sender]:
                        continue
                    expected = said[sender][when]
                    assert np.array_equal(event.message.log_belief, expected), (name, sender, when)
                    count += 1
        return count

    def score(self, replays: Mapping[str, Replay]) -> float:
        """The measured growth of log-beliefs, in standard deviations off what it should have been
        given who heard what; of all agents and hypotheses, the largest."""
        logs = [Log.of(replays[name], agents=self.members.agents) for name in self.members.names]
        model = self.problem.model  # type: ignore[union-attr]
        best = self.best
        beliefs = np.stack([replays[name].state.log_belief for name in self.members.names])
        growth = realised(logs).growth(model, best)
        gains = beliefs[:, [model.hypotheses.index(best)]] - beliefs
        return float(np.abs(growth.score(gains)).max())

    def _state(self, name: str) -> Path:
        return own_file(self.states, name, "state")

    def refused(self) -> dict[str, dict[str, int]]:
        """What each agent refused, by reason; agents that refused nothing are left out."""
        refused = {name: dict(self.report(name)["refused"]) for name in self.processes.agents}
        return {name: counts for name, counts in refused.items() if counts}

    def close(self) -> None:
        """End every process that is left."""
        with self._held:
            self.processes.finish()
            if self.between.returncode is None:
                self.end_between(signal.SIGINT)

    def end_between(self, number: int) -> str:
        """End what stands between the agents by a signal; what it said last."""
        assert self.between.stdin is not None
        assert self.between.stdout is not None
        self.between.send_signal(number)
        if not self.routed:
            self.between.stdin.close()
        try:
            self.between.wait(10)
        except subprocess.TimeoutExpired:
            self.between.kill()
            self.between.wait()
        text = self.between.stdout.read()
        self.between.stdin.close()
        self.between.stdout.close()
        return text


def _said(events: Sequence[Event]) -> dict[int, Any]:
    """By round: the public log-belief that an agent's journal makes it say; 0 is its prior."""
    said: dict[int, Any] = {}
    for event in events:
        if event.state is not None:
            peer = Peer.from_state(event.state)
            if peer.round == 0:
                said[0] = peer.log_belief
        elif event.kind == "observe":
            message = peer.observe(event.log_likelihood)
            said[message.round] = message.log_belief
        else:
            values = (event.message, event.round, event.sender, event.weights, event.log_priors)
            getattr(peer, event.kind)(*(value for value in values if value is not None))
    return said


@contextmanager
def chaos(problem: AnyProblem, folder: Path, **settings: Any) -> Iterator[Chaos]:
    """A live network whose processes end with the block."""
    network = Chaos(problem, folder, **settings)
    try:
        yield network
    finally:
        network.close()
