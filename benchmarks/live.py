"""Live peers: rounds a second, start, memory, and how soon a death is known to the neighbours.

All agents of a ring are processes of this machine, which they share with the process that measures;
each has ten hypotheses and draws its own evidence. The clock counts, since a network waits for its
slowest agent; CPU times, which other work on the machine does not lengthen, stand beside it.
"""

from __future__ import annotations

import os
import signal
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

import peerbayes as pb
from benchmarks.tables import Options, Row
from peerbayes.live import launching
from peerbayes.live.processes import Processes
from peerbayes.settings import Agent

PEERS, HYPOTHESES, ROUNDS = 16, 10, 1000


def ring(agents: int) -> Any:
    """Agents on a ring, each with three outcomes and tables of its own."""
    random = np.random.default_rng(1)

    def agent() -> pb.FiniteAgent:
        tables = random.dirichlet(np.full(3, 4.0), size=(HYPOTHESES, 1))
        return pb.FiniteAgent.from_tables(truth=tables[0], likelihood=tables)

    names = [f"hypothesis {k}" for k in range(HYPOTHESES)]
    model = pb.FiniteModel.from_agents(names, [agent() for _ in range(agents)])
    network = pb.Network.from_topology("ring", agents=agents, rule="metropolis")
    return pb.problem_of(network, model, name="live-ring")


def speed(problem: Any, *, rounds: int, secure: bool) -> tuple[Row, Row]:
    """One launch: its rounds, and its start."""
    with tempfile.TemporaryDirectory() as folder:
        keys = None
        if secure:
            from peerbayes.live.keys import new_keys
            from peerbayes.live.preparing import members_of

            keys = new_keys(members_of(problem), Path(folder) / "keys")
        found = pb.launch(problem, rounds=rounds, agent=Agent(keys=keys), out=folder).found
    reports = found.reports
    rates = [1 / report["gap"] for report in reports]
    peers = f"{len(reports)}, {'TLS and signed' if secure else 'plain'}"
    cpu = median(report["cpu_seconds"] / (report["poolings"] - 1) for report in reports)
    return (
        {
            "peers": peers,
            "rounds a second": min(rates),
            "milliseconds": {"CPU of a peer, a round": 1e3 * cpu},
            "bytes of a frame": round(reports[0]["bytes_sent"] / reports[0]["poolings"]),
        },
        {
            "peers": peers,
            "seconds": {"until all are in their rounds": found.seconds_to_start},
            "MB": {"largest peer": max(report["rss_mb"] for report in reports)},
        },
    )


def death(problem: Any) -> list[float]:
    """Milliseconds after the death of one agent at which each neighbour knew of it."""
    killed: dict[str, float] = {}
    agents = problem.network.agents
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

    before, launching.Processes = launching.Processes, Watched  # type: ignore[misc]
    try:
        with tempfile.TemporaryDirectory() as folder:
            found = pb.launch(problem, rounds=300, agent=Agent(interval=0.02), out=folder).found
    finally:
        launching.Processes = before  # type: ignore[misc]
    links = [report["links"][victim] for report in found.reports if victim in report["links"]]
    assert not any(link["alive"] for link in links)
    return [1e3 * (link["changed"] - killed["at"]) for link in links]


def measure(*, repeats: int, quick: bool) -> list[Row]:
    """All rows."""
    problem = ring(4 if quick else PEERS)
    rounds = 100 if quick else ROUNDS
    rows: list[Row] = []
    starts: list[Row] = []
    for secure in (False, True):
        runs = [speed(problem, rounds=rounds, secure=secure) for _ in range(repeats)]
        runs.sort(key=lambda run: run[0]["rounds a second"])
        middle = runs[len(runs) // 2]
        rows.append({"part": "rounds", **middle[0]})
        starts.append({"part": "start", **middle[1]})
    late = [value for _ in range(repeats) for value in death(problem)]
    last: Row = {
        "part": "death",
        "peers": str(problem.network.agents),
        "deaths": repeats,
        "milliseconds": {"median": median(late), "longest": max(late)},
    }
    return [*rows, *starts, last]


def rows(how: Options) -> Sequence[Row]:
    """The tables."""
    return measure(repeats=how.repeats, quick=how.quick)
