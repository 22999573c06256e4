"""Live agents, a process each: rounds a second, start, deaths, and nets beside one process.

``peers``
    Agents of a ring, each with ten hypotheses and evidence of its own, on cores that they share
    with the process that measures. The clock counts, since a network waits for its slowest agent;
    CPU times, which other work on the machine does not lengthen, stand beside it.
``nets``
    Nets over live processes, beside the same training from the same seed in one process. CPU time
    is that of local steps, and of all that a process does: pooling, frames, their checksums,
    Zenoh's threads, states on disk, scores for reports. The beliefs that the agents leave are
    compared number by number with those of the one process.
"""

from __future__ import annotations

import os
import signal
import tempfile
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from numpy.typing import NDArray

import peerbayes as pb
from benchmarks.tables import Options, Row
from peerbayes.live import launching
from peerbayes.live.agent import own_file, state_folder
from peerbayes.live.frames import arrays, split
from peerbayes.live.keys import new_keys
from peerbayes.live.launching import run_launch
from peerbayes.live.preparing import members_of
from peerbayes.live.processes import Processes
from peerbayes.settings import Agent, Launch

# Peers ----------------------------------------------------------------------------------------


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

    before, launching.Processes = launching.Processes, Watched  # type: ignore[misc]
    try:
        with tempfile.TemporaryDirectory() as folder:
            found = pb.launch(problem, rounds=300, agent=Agent(interval=0.02), out=folder).found
    finally:
        launching.Processes = before  # type: ignore[misc]
    links = [report["links"][victim] for report in found.reports if victim in report["links"]]
    assert not any(link["alive"] for link in links)
    return [1e3 * (link["changed"] - killed["at"]) for link in links]


def deaths(how: Options, *, agents: int) -> Row:
    """One of them is killed, again and again."""
    late = [value for _ in range(how.repeats) for value in death(ring(agents))]
    milliseconds = {"median": median(late), "longest": max(late)}
    return {"peers": str(agents), "deaths": how.repeats, "milliseconds": milliseconds}


# Nets -----------------------------------------------------------------------------------------

SEED = 0
TOY = """
[network]
topology = "complete"
agents = 2
[data]
builtin = "digits"
deal = { by = "balanced" }
[net]
hidden = [8]
[likelihood]
kind = "classes"
[training]
learner = "backprop"
rounds = 6
local_steps = 5
"""

Beliefs = tuple[NDArray[np.float32], NDArray[np.float32]]
Accuracy = Callable[[Beliefs], float | None]


def row_alone(recipe: str) -> tuple[Any, Accuracy]:
    """The row's training in one process, as `peerbayes run star-mnist-1` has it."""
    import torch

    from empirical.nets.posterior import Posterior
    from empirical.train.evaluation import evaluate
    from peerbayes.experiments.net_rows import ROWS, Part, part_values
    from peerbayes.experiments.net_run import net_problem, part_run
    from peerbayes.experiments.run import part_seed

    row = ROWS["star-mnist-1"]
    part, seed = Part(recipe, "cooperating", row.main, 0), part_seed(SEED, 0)
    problem = net_problem(row, part, is_quick=False, device="cpu", data=None, seed=seed)
    values = part_values(row, part, is_quick=False)
    run, _, _ = part_run(problem, part, values, seed=seed, device="cpu")
    test = problem.test

    def accuracy(beliefs: Beliefs) -> float:
        mean, variance = (torch.from_numpy(np.array(values)) for values in beliefs)
        nets = Posterior(problem.architecture, mean, variance)
        found = evaluate(
            nets, test.inputs, test.labels, draws=0, seed=0, own_labels=test.own_labels
        )
        return float(found["accuracy"].mean())

    return run, accuracy


def file_alone(path: Path) -> tuple[Any, Accuracy]:
    """A net file's training, as `peerbayes train` has it."""
    from empirical.train.run import TrainingRun
    from peerbayes.nets.reading import plan_of, read_net_file

    plan = plan_of(read_net_file(path), None, None, source=str(path))
    run = TrainingRun(
        plan.net, plan.likelihood, plan.shares(), plan.network, plan.learner,
        rounds=plan.rounds, local_steps=plan.local_steps, batch=plan.batch, seed=plan.seed,
    )  # fmt: skip
    return run, lambda beliefs: None


def left_by(out: Path, network: str, agents: Mapping[str, Any]) -> Beliefs:
    """Means and variances in the agents' states."""
    parts = []
    for name in agents:
        found = arrays(*split(own_file(state_folder(out, network), name, "state").read_bytes()))
        parts.append(tuple(found[f"training.learner.{name}"] for name in ("mean", "variance")))
    mean, variance = (np.concatenate(values) for values in zip(*parts, strict=True))
    return mean, variance


def launched_nets(problem: str, recipe: str, rounds: int, out: Path) -> dict[str, Any]:
    """One launch, and what it took."""
    how = Launch(rounds=rounds, agent=Agent(recipe=recipe or None), seed=SEED, out=out)
    document = run_launch(problem, how).as_json()
    later = (rounds - 1) / 1e3  # so that seconds become milliseconds a round
    agents = {agent["agent"]: agent for agent in document["agents"]}
    assert all(agent["rounds"] == rounds for agent in agents.values())
    return {
        # Both since each agent's first pooling.
        "learning": sum(one["belief"]["learning"] for one in document["reports"]) / later,
        "cpu": sum(one["cpu_seconds"] for one in document["reports"]) / later,
        "start": document["seconds_to_start"],
        "memory": [agent["rss_mb"] for agent in agents.values()],
        "beliefs": left_by(out, document["network"], agents),
    }


def nets(how: Options, *, recipe: str, local_steps: int, rounds: int) -> Row:
    """A training of `star-mnist-1`; without a recipe a toy."""
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "digits.toml"
        path.write_text(TOY, encoding="utf-8")
        run, accuracy = row_alone(recipe) if recipe else file_alone(path)
        problem = "star-mnist-1" if recipe else str(path)
        lives = [
            launched_nets(problem, recipe, rounds, Path(name) / str(k)) for k in range(how.repeats)
        ]
    for _ in range(rounds):
        run.run_round()
    found = run.belief()
    own = found.mean.numpy(), found.variance.numpy()
    learning, cpu = (median(one[what] for one in lives) for what in ("learning", "cpu"))
    return {
        "local steps": local_steps,
        "weights": int(own[0].shape[1]),
        "rounds": rounds,
        "CPU_a_round": {"local steps, ms": learning, "all, ms": cpu},
        "overhead_share": cpu / learning - 1,
        "start": {"s": median(live["start"] for live in lives)},
        "memory": {
            "first agent, MB": max(live["memory"][0] for live in lives),
            "all agents, MB": max(sum(live["memory"]) for live in lives),
        },
        "largest difference": max(
            float(np.abs(a - b).max())
            for live in lives
            for a, b in zip(live["beliefs"], own, strict=True)
        ),
        "accuracy": {"one process": accuracy(own), "live": accuracy(lives[0]["beliefs"])},
    }
