"""How long the best error exponent takes, beside bisection over convex programs.

One table. E(v) is quasi-concave, so that a modelling language finds its maximum by bisection: for a
given c one program in exponential cones decides whether some v has E(v) > c. Both solvers that do
such cones, Clarabel and SCS, are given the program once, with c as a parameter, and bisect between
the exponent of uniform v and four times that to 1e-4 of it. Ours returns a v with a proof.

Agents have three outcomes and laws of their own, the truth is none of the hypotheses. Peers are
asked up to ``PEERS_UP_TO``, and no more once a call took longer than ``PATIENCE`` seconds. Without
cvxpy (the extra ``design`` brings it) the columns of peers stay empty. Times are CPU seconds.
"""

from __future__ import annotations

import importlib.metadata
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from benchmarks.limits import interleaved, timed
from benchmarks.tables import Options, Row
from theory import FiniteAgent, FiniteModel
from theory.design import best_exponent

SOLVERS = ("Clarabel", "SCS")
PACKAGES = ("cvxpy", "clarabel", "scs")
PATIENCE = 60.0
# Peers are asked up to so many agents times hypotheses: their time grows with the square at least.
PEERS_UP_TO = 100
# Bisection stops at this share of the exponent, the gap that is asked for.
ACCURACY = 1e-4

# Numbers of agents and hypotheses.
SIZES = ((3, 4), (9, 10), (20, 20), (50, 200), (100, 1000), (500, 5000))
TOY_SIZES = ((2, 3),)


def random_model(agents: int, hypotheses: int) -> FiniteModel:
    """Laws on three outcomes; each agent is blind to three wrong hypotheses in ten."""
    rng = np.random.default_rng(1)
    kinds = []
    for _ in range(agents):
        claimed = rng.dirichlet(np.full(3, 3.0), size=hypotheses)
        claimed[rng.random(hypotheses) < 0.3] = claimed[0]
        truth = 0.9 * claimed[0] + 0.1 * rng.dirichlet(np.full(3, 3.0))
        kinds.append(
            FiniteAgent.from_tables(inputs=[1.0], truth=[truth], likelihood=claimed[:, None, :])
        )
    return FiniteModel.from_agents([f"theta{m}" for m in range(hypotheses)], kinds)


def target_of(model: FiniteModel) -> int:
    """What uniform influence settles on."""
    return int(model.compromise(np.full(model.agents, 1 / model.agents))[0])


class Bisection:
    """max E by exponential cones: w_j ≥ s κ_j(−v_j/s), Σ_j w_j ≤ −c s − margin, margin > 0."""

    def __init__(self, model: FiniteModel, target: int, floor: float) -> None:
        import cvxpy as cp

        self.cp = cp
        agents = model.agents
        v, self.margin, self.budget = cp.Variable(agents), cp.Variable(), cp.Parameter(nonneg=True)
        rules: list[Any] = [v >= floor, cp.sum(v) == 1]
        self.v = v
        for m in range(len(model.hypotheses)):
            if m == target:
                continue
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
        """The largest c found feasible, from `low` on, at most four times as large."""
        high, step = 4 * low, ACCURACY * low
        while high - low > step:
            self.budget.value = (low + high) / 2
            with warnings.catch_warnings():
                # Near the optimum the margin is about zero, and solvers say they are not sure.
                warnings.simplefilter("ignore", UserWarning)
                try:
                    self.problem.solve(solver=solver.upper())
                except self.cp.SolverError:
                    high = self.budget.value
                    continue
            feasible = self.margin.value is not None and float(self.margin.value) > 0
            low, high = (self.budget.value, high) if feasible else (low, self.budget.value)
        return low


def row(agents: int, hypotheses: int, solvers: list[str], *, repeats: int) -> Row:
    model = random_model(agents, hypotheses)
    target = target_of(model)
    found: dict[str, Any] = {}

    def ours() -> None:
        found["ours"] = best_exponent(model, target=target)

    ours()
    best = found["ours"]
    asked = list(solvers) if agents * hypotheses <= PEERS_UP_TO else []
    bisection = Bisection(model, target, 1 / (10 * agents)) if asked else None
    tasks: dict[str, Callable[[], Any]] = {"ours": ours}

    def ask(solver: str) -> None:
        assert bisection is not None
        found[solver] = bisection.solve(solver, best.uniform_exponent)

    alone: dict[str, float] = {}
    for solver in asked:
        alone[solver] = timed(lambda solver=solver: ask(solver))  # type: ignore[misc]
        if alone[solver] > PATIENCE:
            solvers.remove(solver)
        else:
            tasks[solver] = lambda solver=solver: ask(solver)  # type: ignore[misc]
    seconds = alone | interleaved(tasks, repeats=repeats)
    bound = best.certificate.bound
    gaps = {"ours": best.certificate.gap / bound}
    gaps |= {solver: abs(bound - found[solver]) / bound for solver in alone}
    columns = ("ours", *SOLVERS)
    return {
        "agents": agents,
        "hypotheses": hypotheses,
        "binding": len(best.binding),
        "milliseconds": {c: 1e3 * seconds[c] if c in seconds else None for c in columns},
        "times_ours": {c: seconds[c] / seconds["ours"] if c in alone else None for c in SOLVERS},
        "relative_gap": {c: gaps.get(c) for c in columns},
    }


def _rows(sizes: tuple[tuple[int, int], ...], solvers: list[str], *, repeats: int) -> Iterator[Row]:
    for agents, hypotheses in sizes:
        yield row(agents, hypotheses, solvers, repeats=repeats)


def installed() -> dict[str, str]:
    """The versions of the peers' packages that are here."""
    found = {}
    for package in PACKAGES:
        try:
            found[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def rows(how: Options) -> Sequence[Row]:
    """The tables."""
    versions = {} if how.quick else installed()
    solvers = [s for s in SOLVERS if "cvxpy" in versions and s.lower() in versions]
    return list(_rows(TOY_SIZES if how.quick else SIZES, solvers, repeats=how.repeats))
