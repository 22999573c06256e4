"""Nets over live processes, one an agent, beside the same training in one process.

Both are trained from the same seed. CPU time is that of local steps, and of all that a process
does: pooling, frames, their checksums, Zenoh's threads, states on disk, scores for reports. The
beliefs that the agents leave are compared number by number with those of the one process.
"""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from benchmarks.tables import Options, Row
from peerbayes.live.agent import own_file, state_folder
from peerbayes.live.frames import arrays, split
from peerbayes.live.launching import run_launch
from peerbayes.settings import Agent, Launch

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


@dataclass(frozen=True)
class Case:
    """One line of the table; without a recipe it is the toy."""

    title: str
    recipe: str
    local_steps: int
    rounds: int


CASES = (
    Case("star-mnist-1, paper", "paper", 155, 12),
    Case("star-mnist-1, best", "best", 5, 60),
)
TOYS = (Case("digits over two agents", "", 5, 6),)

Beliefs = tuple[NDArray[np.float32], NDArray[np.float32]]


@dataclass(frozen=True)
class Alone:
    """The training in one process."""

    advance: Callable[[], object]
    beliefs: Callable[[], Beliefs]
    accuracy: Callable[[Beliefs], float | None]


def row_alone(recipe: str) -> Alone:
    """The row's training, as `peerbayes run star-mnist-1` has it."""
    from empirical.train.averaging import Belief
    from empirical.train.evaluation import evaluate
    from empirical.train.kernel_net import KernelNet
    from peerbayes.experiments.net_rows import ROWS, Part, part_values
    from peerbayes.experiments.net_run import net_problem, part_run
    from peerbayes.experiments.run import part_seed

    row = ROWS["star-mnist-1"]
    part, seed = Part(recipe, "cooperating", row.main, 0), part_seed(SEED, 0)
    problem = net_problem(row, part, is_quick=False, device="cpu", data=None, seed=seed)
    values = part_values(row, part, is_quick=False)
    run, _, _ = part_run(problem, part, values, seed=seed, device="cpu")

    def accuracy(beliefs: Beliefs) -> float:
        mean, variance = (torch.from_numpy(np.array(values)) for values in beliefs)
        found = evaluate(
            KernelNet(problem.architecture),
            Belief(mean, variance),
            problem.test.inputs,
            problem.test.labels,
            draws=0,
            seed=0,
            own_labels=problem.test.own_labels,
        )
        return float(found["accuracy"].mean())

    return Alone(run.run_round, lambda: beliefs_of(run), accuracy)


def file_alone(path: Path) -> Alone:
    """A net file's training, as `peerbayes train` has it."""
    from empirical.train.run import TrainingRun
    from peerbayes.nets.reading import plan_of, read_net_file

    plan = plan_of(read_net_file(path), None, None, source=str(path))
    run = TrainingRun(
        plan.net, plan.likelihood, plan.shares(), plan.network, plan.learner,
        rounds=plan.rounds, local_steps=plan.local_steps, batch=plan.batch, seed=plan.seed,
    )  # fmt: skip
    return Alone(run.run_round, lambda: beliefs_of(run), lambda beliefs: None)


def beliefs_of(run: Any) -> Beliefs:
    """Means and variances of a run's agents."""
    found = run.belief()
    return found.mean.numpy().copy(), found.variance.numpy().copy()


def left_by(out: Path, network: str, agents: Mapping[str, Any]) -> Beliefs:
    """The beliefs in the agents' states."""
    parts = []
    for name in agents:
        path = own_file(state_folder(out, network), name, "state")
        found = arrays(*split(path.read_bytes()))
        parts.append(tuple(found[f"training.learner.{name}"] for name in ("mean", "variance")))
    mean, variance = (np.concatenate(values) for values in zip(*parts, strict=True))
    return mean, variance


def measure(case: Case, *, repeats: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "digits.toml"
        path.write_text(TOY, encoding="utf-8")
        alone = row_alone(case.recipe) if case.recipe else file_alone(path)
        problem = "star-mnist-1" if case.recipe else str(path)
        lives = [launched(case, problem, Path(folder) / str(k)) for k in range(repeats)]
    for _ in range(case.rounds):
        alone.advance()
    own = alone.beliefs()
    learning, cpu = (statistics.median(one[what] for one in lives) for what in ("learning", "cpu"))
    return {
        "training": case.title,
        "local steps": case.local_steps,
        "weights": int(own[0].shape[1]),
        "rounds": case.rounds,
        "CPU_a_round": {"local steps, ms": learning, "all, ms": cpu},
        "overhead_share": cpu / learning - 1,
        "start": {"s": statistics.median(live["start"] for live in lives)},
        "memory": {
            "first agent, MB": max(live["memory"][0] for live in lives),
            "all agents, MB": max(sum(live["memory"]) for live in lives),
        },
        "largest difference": max(
            float(np.abs(a - b).max())
            for live in lives
            for a, b in zip(live["beliefs"], own, strict=True)
        ),
        "accuracy": {
            "one process": alone.accuracy(own),
            "live": alone.accuracy(lives[0]["beliefs"]),
        },
    }


def launched(case: Case, problem: str, out: Path) -> dict[str, Any]:
    """One launch, and what it took."""
    how = Launch(rounds=case.rounds, agent=Agent(recipe=case.recipe or None), seed=SEED, out=out)
    document = run_launch(problem, how).as_json()
    later = (case.rounds - 1) / 1e3  # so that seconds become milliseconds a round
    agents = {agent["agent"]: agent for agent in document["agents"]}
    assert all(agent["rounds"] == case.rounds for agent in agents.values())
    return {
        # Both since each agent's first pooling.
        "learning": sum(one["belief"]["learning"] for one in document["reports"]) / later,
        "cpu": sum(one["cpu_seconds"] for one in document["reports"]) / later,
        "start": document["seconds_to_start"],
        "memory": [agent["rss_mb"] for agent in agents.values()],
        "beliefs": left_by(out, document["network"], agents),
    }


def rows(how: Options) -> Sequence[Row]:
    """The tables."""
    return [measure(case, repeats=how.repeats) for case in (TOYS if how.quick else CASES)]
