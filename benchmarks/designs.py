"""The best designs: how long ours take beside solvers, with which gap, and how much memory.

Rates and mixing: every number is taken in a process of its own, on one thread, after a toy problem
has loaded all that is imported; memory is by how much the process has grown at its peak. A
contender that is not installed, fails, or takes longer than the limit leaves its cells empty.
Times are CPU seconds.
"""

from __future__ import annotations

import subprocess
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from importlib.util import find_spec
from typing import Any

import numpy as np
from scipy.linalg import lapack

from benchmarks.contest import LONG, MIB, Task, contest, grown, in_a_process, row_of
from benchmarks.tables import Options, Row
from tests.theory.design.mixing.support import geometric, grid, scale_free, solve_sdp
from tests.theory.design.oracles import model_of, whole_program
from tests.theory.design.placement.oracles import influences, random_coins
from theory import FiniteAgent, FiniteModel
from theory.design import (
    DesignGraph,
    best_exponent,
    exact_optimal_rate,
    fastest_mixing,
    optimal_rate,
    place,
)
from theory.design.mixing.fastest import mixing_bound
from theory.design.mixing.mixing_problem import mixing_problem
from theory.design.placement.bounds import rate_bound
from theory.design.placement.placement_problem import PlacementProblem
from theory.validation import FloatArray

# Seconds that each of the others may take.
LIMIT = 200.0
Answer = dict[str, float | None]


# In processes of their own --------------------------------------------------------------------


def alone(design: str, words: Sequence[Any], contender: str, repeats: int) -> Answer:
    """Seconds, MiB, and what else a contender answers, in this process."""
    toy, make, ask = DESIGNS[design]
    ask(make(*toy), contender)
    # The linear algebra of numpy and of scipy allocate their buffers at the first large matrix.
    np.linalg.cholesky(np.eye(300))
    lapack.dpotrf(np.eye(300))
    problem, answers = make(*words), []
    seconds, growth = grown(lambda: answers.append(ask(problem, contender)))
    if seconds < LONG:
        again = contest(Options(False, repeats), {"again": lambda: ask(problem, contender)})
        seconds = again.seconds["again"]
    return {"s": seconds, "MiB": growth / MIB, **answers[0]}


def asked(how: Options, design: str, words: Sequence[Any], names: Sequence[str]) -> dict[str, Any]:
    """By what was measured: the answers of those that have one; ours take what they want."""
    found: dict[str, dict[str, float]] = {}
    for name in names:
        seconds = None if name in ("ours", "exact") else LIMIT
        with suppress(subprocess.SubprocessError):
            answer = in_a_process(
                "designs:alone", design, words, name, how.repeats, seconds=seconds
            )
            if None not in answer.values():
                for key, value in answer.items():
                    found.setdefault(key, {})[name] = value
    return found


# Rate -----------------------------------------------------------------------------------------


def rate_model(family: str, agents: int, hypotheses: int) -> FiniteModel:
    """Agents that differ; hypothesis 0 is best for all.

    "linear": hypotheses are points of R⁵ and agent j sees four random directions a of it, so that
    I_j(θ) = Σ (a·θ)²/2: few bind. "random": every I_j(θ) is drawn from [0, 1]: nearly as many
    bind as there are agents, which is the hardest case.
    """
    rng = np.random.default_rng(1)
    if family == "random":
        table = rng.random((agents, hypotheses))
    else:
        seen, points = rng.standard_normal((agents, 4, 5)), rng.standard_normal((hypotheses, 5))
        table = (np.einsum("jad,md->jma", seen, points) ** 2).sum(axis=2) / 2
    table[:, 0] = 0.0
    return model_of(table)


def by_cvxpy(table: FloatArray, solver: str, **options: Any) -> FloatArray:
    """The program with all hypotheses, by one of cvxpy's solvers."""
    import cvxpy

    agents = len(table)
    v, t = cvxpy.Variable(agents), cvxpy.Variable()
    limits = [table.T @ v >= t, cvxpy.sum(v) == 1, v >= 1 / (10 * agents)]
    cvxpy.Problem(cvxpy.Maximize(t), limits).solve(solver=solver, **options)
    return np.asarray(v.value)


def ask_rate(model: FiniteModel, contender: str) -> Answer:
    """K of the v that comes out, at the floor where it was below it, and ours an upper bound."""
    table = model.information(0)[:, 1:]
    bound: dict[str, float] = {}
    if contender == "ours":
        best = optimal_rate(model)
        v, bound = best.stationary_distribution, {"bound": best.certificate.bound}
    elif contender == "exact":
        v = np.array([float(value) for value in exact_optimal_rate(model).stationary_distribution])
    elif contender == "HiGHS, whole":
        v = whole_program(table, 1 / (10 * len(table)))
    else:
        options = {"eps": 1e-6} if contender == "SCS" else {}
        v = by_cvxpy(table, contender.upper(), **options)
    floor = 1 / (10 * v.size)
    above = np.maximum(v - floor, 0.0)
    feasible = floor + above * ((1 - v.size * floor) / above.sum())
    return {"rate": float((feasible @ table).min()), **bound}


def rate(how: Options, *, family: str, agents: int, hypotheses: int, others: Sequence[str]) -> Row:
    """The best rate."""
    found = asked(how, "rate", (family, agents, hypotheses), ("ours", "exact", *others))
    gap = {name: max(0.0, 1 - k / found["bound"]["ours"]) for name, k in found["rate"].items()}
    return row_of(how.columns, found["s"], MiB=found["MiB"], gap=gap)


# Mixing ---------------------------------------------------------------------------------------


def graph_of(kind: str, side: int) -> DesignGraph:
    """A graph of side² agents; always the same."""
    if kind == "grid":
        return grid(side)
    if kind == "scale-free":
        return scale_free(side * side, seed=0)
    return geometric(side * side, seed=0, degree=10, growth=1.02)


def ask_mixing(graph: DesignGraph, contender: str) -> Answer:
    """How far what comes out is from what was proved; None for no answer."""
    v = np.full(graph.agents, 1 / graph.agents)
    if contender == "ours":
        return {"gap": fastest_mixing(graph, v).certificate.gap}
    problem = mixing_problem(graph, v)
    found = solve_sdp(problem, solver=contender.upper())
    if found is None:
        return {"gap": None}
    slem = problem.expected_network(problem.repaired(found.flows)).slem
    return {"gap": slem - mixing_bound(problem, found.slow, found.fast, found.multipliers).value}


DESIGNS: Mapping[str, tuple[Sequence[Any], Callable[..., Any], Callable[[Any, str], Answer]]] = {
    "rate": (("linear", 4, 5), rate_model, ask_rate),
    "mixing": (("grid", 2), graph_of, ask_mixing),
}
"""By design: a toy problem, how problems are made, and how a contender is asked."""


def mixing(how: Options, *, network: str, side: int, others: Sequence[str] = ()) -> Row:
    """The fastest reversible mixing for uniform v."""
    graph, found = graph_of(network, side), asked(how, "mixing", (network, side), ("ours", *others))
    return row_of(how.columns, found.pop("s"), N=graph.agents, edges=len(graph.edges), **found)


# Exponent -------------------------------------------------------------------------------------


def exponent_model(agents: int, hypotheses: int) -> FiniteModel:
    """Laws on three outcomes; each agent is blind to three wrong hypotheses in ten."""
    rng, kinds = np.random.default_rng(1), []
    for _ in range(agents):
        claimed = rng.dirichlet(np.full(3, 3.0), size=hypotheses)
        claimed[rng.random(hypotheses) < 0.3] = claimed[0]
        truth = 0.9 * claimed[0] + 0.1 * rng.dirichlet(np.full(3, 3.0))
        kinds.append(FiniteAgent.from_tables(truth=[truth], likelihood=claimed[:, None, :]))
    return FiniteModel.from_agents([f"theta{m}" for m in range(hypotheses)], kinds)


class Bisection:
    """max E by exponential cones: w_j ≥ s κ_j(−v_j/s), Σ_j w_j ≤ −c s − margin, margin > 0.

    The program is made once, with c as a parameter.
    """

    def __init__(self, model: FiniteModel, target: int) -> None:
        import cvxpy as cp

        self.failure, agents = cp.SolverError, model.agents
        v, self.margin, self.budget = cp.Variable(agents), cp.Variable(), cp.Parameter(nonneg=True)
        rules: list[Any] = [v >= 1 / (10 * agents), cp.sum(v) == 1]
        for m in set(range(len(model.hypotheses))) - {target}:
            laws = [model.kinds[k].log_ratio_law(target, m) for k in model.assignment]
            z = np.array([law.means for law in laws])
            p = np.array([law.probabilities for law in laws])
            s, w, k = cp.Variable(nonneg=True), cp.Variable((agents, 1)), cp.Variable(z.shape)
            spread = np.ones((1, z.shape[1]))
            column = cp.reshape(v, (agents, 1), order="F") @ spread
            rules += [
                cp.ExpCone(-cp.multiply(z, column) - w @ spread, s * np.ones(z.shape), k),
                cp.sum(cp.multiply(p, k), axis=1) <= s,
                cp.sum(w) <= -self.budget * s - self.margin,
                s <= 1e3,
            ]
        self.problem = cp.Problem(cp.Maximize(self.margin), rules)

    def solve(self, solver: str, low: float) -> float:
        """The largest c found feasible, from `low` on, at most four times as large, to 1e-4."""
        high, step = 4 * low, 1e-4 * low
        while high - low > step:
            self.budget.value = (low + high) / 2
            # Near the optimum the margin is about zero, and solvers say they are not sure.
            with warnings.catch_warnings(), suppress(self.failure):
                warnings.simplefilter("ignore", UserWarning)
                self.margin.value = None
                self.problem.solve(solver=solver.upper())
            feasible = self.margin.value is not None and float(self.margin.value) > 0
            low, high = (self.budget.value, high) if feasible else (low, self.budget.value)
        return low


def exponent(how: Options, *, agents: int, hypotheses: int, others: Sequence[str] = ()) -> Row:
    """The best exponent, with its certificate; peers bisect from that of uniform v."""
    model = exponent_model(agents, hypotheses)
    target = int(model.compromise(np.full(agents, 1 / agents))[0])
    uniform = best_exponent(model, target=target).uniform_exponent
    tasks: dict[str, Task] = {"ours": partial(best_exponent, model, target=target)}
    if others and find_spec("cvxpy"):
        bisection = Bisection(model, target)
        tasks |= {name: partial(bisection.solve, name, uniform) for name in others}
    found = contest(how, tasks)
    best = found.answers.pop("ours")
    bound = best.certificate.bound
    gaps = {name: abs(bound - value) / bound for name, value in found.answers.items()}
    gaps["ours"] = best.certificate.gap / bound
    return found.row(binding=len(best.binding), relative_gap=gaps)


# Placement ------------------------------------------------------------------------------------


def placement(how: Options, *, objective: Any, agents: int, sorts: int, hypotheses: int) -> Row:
    """K or E by all placements, by exchanges and, for K, by the integer program; influences random.

    Coins are fair; each sort of data set is blind to about half of the hypotheses. A gap is how
    much better another placement might be, as far as the method can tell.
    """
    model, v = random_coins(agents, sorts, hypotheses, seed=1, blind=0.5), influences(agents, 2)
    problem = PlacementProblem(model, v)
    ask = partial(place, v, model, objective=objective)
    tasks: dict[str, Task] = {"local": partial(ask, method="local")}
    others: dict[str, Task] = {}
    if objective == "rate":
        tasks["milp"] = partial(ask, method="milp", tolerance=1e-4, seconds=10.0)
        others = {"bound": partial(rate_bound, problem)}
    if (problem.classes or np.inf) <= 400_000:
        tasks["exhaustive"] = partial(ask, method="exhaustive")
    found = contest(how, {**tasks, **others})
    placed = {name: found.answers[name] for name in tasks}
    best = max(one.value for one in placed.values())
    worst = next((one.worst for one in placed.values() if one.worst is not None), None)
    gaps = {name: one.certificate.gap / one.value for name, one in placed.items()}
    gain = {"over as given": best / placed["local"].original}
    if worst is not None:
        gain["over the worst"] = best / worst
    return found.row(gap=gaps, gain=gain)
