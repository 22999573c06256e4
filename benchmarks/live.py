"""Live agents, a process each: rounds a second, start, memory, and how soon a death is known.

The clock counts, since a network waits for its slowest agent; CPU times stand beside it.
"""

from __future__ import annotations

import os
import signal
import tempfile
import threading
import time
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

import peerbayes as pb
from benchmarks.tables import Options, Row
from peerbayes.live import launching
from peerbayes.live.keys import new_keys
from peerbayes.live.preparing import members_of
from peerbayes.live.processes import Processes
from peerbayes.settings import Agent


def ring(agents: int, hypotheses: int = 10) -> Any:
    """Agents on a ring, each with three outcomes and tables of its own."""
    random = np.random.default_rng(1)
    tables = random.dirichlet(np.full(3, 4.0), size=(agents, hypotheses, 1))
    kinds = [pb.FiniteAgent.from_tables(truth=one[0], likelihood=one) for one in tables]
    model = pb.FiniteModel.from_agents([f"hypothesis {k}" for k in range(hypotheses)], kinds)
    network = pb.Network.from_topology("ring", agents=agents, rule="metropolis")
    return pb.problem_of(network, model, name="live-ring")


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
