"""The best rate: rows generated, against the whole program given to a solver through cvxpy.

For each size, every contender in a fresh process, one after the other, on one thread.

Times are CPU seconds, of the second call in the process; those of the others are given as multiples
of ours. Memory is how much the process grew at its peak beyond packages and model. The gap is how
much K of the v that comes out (made feasible) falls short of our bound, relative to it. A contender
that is not installed, fails, or takes longer than the limit leaves its cells empty.
"""

from __future__ import annotations

import resource
import statistics
import subprocess
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.limits import in_a_process, timed
from benchmarks.tables import Options, Row
from theory import FiniteAgent, FiniteModel
from theory.design import exact_optimal_rate, optimal_rate
from theory.validation import FloatArray

OURS = ("ours", "exact")
OTHERS = ("HiGHS, whole", "Clarabel", "SCS")
MIB = 1 << 20
# Answers this quick are repeated until they add up to more than reading the clock does.
SHORT = 0.02
# Seconds that each of the others may take.
LIMIT = 200.0


@dataclass(frozen=True)
class Size:
    """One line of the table."""

    family: str
    agents: int
    hypotheses: int

    @property
    def name(self) -> str:
        return f"{self.family}, N = {self.agents}, M = {self.hypotheses}"


SIZES = tuple(
    Size(family, agents, hypotheses)
    for family in ("linear", "random")
    for agents, hypotheses in ((9, 10), (50, 200), (1000, 2), (100, 1000), (500, 5000))
)
TOY_SIZES = (Size("linear", 4, 5), Size("random", 4, 6))


def model(size: Size) -> FiniteModel:
    """Agents that differ; hypothesis 0 is best for all.

    "linear": hypotheses are points of R⁵ and agent j sees four random directions a of it, so that
    I_j(θ) = Σ (a·θ)²/2: few bind. "random": every I_j(θ) is drawn from [0, 1]: nearly as many
    bind as there are agents, which is the hardest case.
    """
    rng = np.random.default_rng(1)
    if size.family == "random":
        table = rng.random((size.agents, size.hypotheses))
    else:
        seen = rng.standard_normal((size.agents, 4, 5))
        points = rng.standard_normal((size.hypotheses, 5))
        table = (np.einsum("jad,md->jma", seen, points) ** 2).sum(axis=2) / 2
    table[:, 0] = 0.0
    agents = [FiniteAgent(np.ones(1), -row[:, None]) for row in table]
    return FiniteModel.from_agents([f"h{m}" for m in range(size.hypotheses)], agents)


@dataclass(frozen=True)
class Answer:
    """A v, and an upper bound on K if there is one."""

    influence: FloatArray
    bound: float | None = None


def ours(model: FiniteModel) -> Answer:
    best = optimal_rate(model)
    return Answer(best.stationary_distribution, best.certificate.bound)


def exact(model: FiniteModel) -> Answer:
    best = exact_optimal_rate(model)
    assert best.rate is not None
    return Answer(np.array([float(v) for v in best.stationary_distribution]), float(best.rate))


def whole(model: FiniteModel) -> Answer:
    from scipy.optimize import linprog

    table, agents = model.information(0)[:, 1:], model.agents
    count = table.shape[1]
    found = linprog(
        np.append(np.zeros(agents), -1.0),
        A_ub=np.column_stack([-table.T, np.ones(count)]),
        b_ub=np.zeros(count),
        A_eq=np.append(np.ones(agents), 0.0)[None],
        b_eq=[1.0],
        bounds=[(1 / (10 * agents), None)] * agents + [(None, None)],
        method="highs-ds",
    )
    return Answer(found.x[:-1])


def by_cvxpy(model: FiniteModel, solver: str, **options: Any) -> Answer:
    import cvxpy

    table, agents = model.information(0)[:, 1:], model.agents
    v, t = cvxpy.Variable(agents), cvxpy.Variable()
    limits = [table.T @ v >= t, cvxpy.sum(v) == 1, v >= 1 / (10 * agents)]
    cvxpy.Problem(cvxpy.Maximize(t), limits).solve(solver=solver, **options)
    return Answer(np.asarray(v.value))


CONTENDERS: dict[str, Callable[[FiniteModel], Answer]] = {
    "ours": ours,
    "exact": exact,
    "HiGHS, whole": whole,
    "Clarabel": lambda model: by_cvxpy(model, "CLARABEL"),
    "SCS": lambda model: by_cvxpy(model, "SCS", eps=1e-6),
}


def made_feasible(influence: FloatArray) -> FloatArray:
    """The v at the floor where it was below it, and of sum one."""
    floor = 1 / (10 * influence.size)
    above = np.maximum(influence - floor, 0.0)
    return np.asarray(floor + above * ((1 - influence.size * floor) / above.sum()))


def alone(words: tuple[str, int, int], contender: str, repeats: int) -> dict[str, Any]:
    """One contender at a size, in this process, after a problem of toy size."""
    size = Size(*words)
    run = CONTENDERS[contender]
    run(model(TOY_SIZES[0]))
    problem = model(size)
    table = problem.information(0)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    answers: list[Answer] = []
    first = timed(lambda: answers.append(run(problem)))
    calls = max(1, round(SHORT / max(first, 1e-6)))
    seconds = [first] if first > 20 else []  # once is enough
    while len(seconds) < (1 if first > 20 else repeats):
        seconds.append(timed(lambda: run(problem), calls=calls))
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    v = made_feasible(answers[0].influence)
    return {
        "seconds": statistics.median(seconds),
        "bytes": (after - before) * 1024,
        "rate": float((v @ table[:, 1:]).min()),
        "bound": answers[0].bound,
    }


def row(size: Size, *, contenders: tuple[str, ...], repeats: int, limit: float) -> dict[str, Any]:
    found: dict[str, dict[str, Any]] = {key: {} for key in (*OURS, *OTHERS)}
    for name in contenders:
        seconds = None if name in OURS else limit
        with suppress(subprocess.SubprocessError):  # its cells stay empty
            found[name] = in_a_process("design_rate:alone", size, name, repeats, seconds=seconds)
    reference, bound = found["ours"]["seconds"], found["ours"]["bound"]

    def part(key: str, scale: float, names: tuple[str, ...]) -> dict[str, float | None]:
        return {n: found[n][key] / scale if found[n] else None for n in names}

    return {
        "size": size.name,
        "milliseconds": part("seconds", 1e-3, OURS),
        "times ours": part("seconds", reference, OTHERS),
        "MiB": part("bytes", MIB, (*OURS, *OTHERS)),
        "gap": {
            n: max(0.0, 1 - found[n]["rate"] / bound) if found[n] else None
            for n in ("ours", *OTHERS)
        },
    }


def rows(how: Options) -> Sequence[Row]:
    """The tables."""
    contenders = (*OURS, "HiGHS, whole") if how.quick else (*OURS, *OTHERS)
    return [
        row(size, contenders=contenders, repeats=how.repeats, limit=LIMIT)
        for size in (TOY_SIZES if how.quick else SIZES)
    ]
