"""`peerbayes place`: which agent should hold which data.

The network stays as it is, and data sets (each agent's law, with its prior) are handed round. Where
there are few placements, every class of equivalent ones is shown with what theory predicts and what
a simulation measures.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
from sympy.utilities.iterables import multiset_permutations

from exact import Run, prepare
from peerbayes.design.documents import certificate_json, graph_json, record_body
from peerbayes.design.request import DesignRequest, target_of
from peerbayes.design.rows import samples_json
from peerbayes.kinds.finite.analyse import number
from peerbayes.problem.changing import ChangingProblem
from peerbayes.problem.faulty import FaultyProblem
from peerbayes.problem.finite import Problem
from peerbayes.problem.problems import AnyProblem
from peerbayes.problem.regression import RegressionProblem
from peerbayes.records import plain
from peerbayes.resources import check_hours
from theory import FiniteModel, Network, SampleSizes, error_exponent, learning_rate, sample_sizes
from theory.changing import changing_rate, influence
from theory.design import Placement, place
from theory.design.placement.problem import law_key
from theory.learning.rate import expected_log_ratio
from theory.regression import RegressionModel, regression_limits
from theory.validation import IntArray, as_integer, as_probability, fail

Progress = Callable[[int, int], None]

# More placements than this are not listed class by class.
MOST_LISTED = 100
# Regressions: above this many agents all orders are too many.
_MOST_ORDERED = 7
_ROUNDS = 200


@dataclass(frozen=True, eq=False)
class PlacementClass:
    """Placements that predict the same: one of them, their number, predicted and measured."""

    assignment: IntArray
    count: int
    rate: float
    exponent: float
    samples: SampleSizes | None
    predicted: float | None
    measured: float | None
    standard_error: float | None

    def as_json(self) -> dict[str, Any]:
        """The class as it stands under ``classes``."""
        return {
            "assignment": self.assignment,
            "count": self.count,
            "rate": number(self.rate),
            "error_exponent": number(self.exponent),
            "samples": None if self.samples is None else samples_json(self.samples),
            "simulated_rate": None
            if self.measured is None
            else {
                "rounds": _ROUNDS,
                "predicted": self.predicted,
                "mean": self.measured,
                "standard_error": self.standard_error,
            },
        }


@dataclass(frozen=True, eq=False)
class PlacementResult:
    """The best placement of a problem's data, and what the others would have been."""

    problem: AnyProblem
    objective: str
    content: dict[str, Any]
    before: Network | None
    remarks: tuple[str, ...]
    seed: int
    delta: float
    record_path: Path | None = None

    @property
    def failed(self) -> bool:
        """A search always ends with something."""
        return False

    def as_json(self) -> dict[str, Any]:
        """The JSON object of `place`."""
        content = {
            "problem": self.problem_name,
            "objective": self.objective,
            **self.content,
            "record": self.record_path,
            "notes": list(self.remarks),
        }
        result: dict[str, Any] = plain(content)
        return result

    @property
    def problem_name(self) -> str:
        """The name of the problem, whatever its kind."""
        problem = self.problem
        return problem.problem.name if isinstance(problem, FaultyProblem) else problem.name

    def as_record(self) -> Any:
        """What is left on disk."""
        problem = self.problem.problem if isinstance(self.problem, FaultyProblem) else self.problem
        return record_body(
            problem,
            seed=self.seed,
            delta=self.delta,
            result=self.as_json(),
            network=None if self.before is None else graph_json(self.before),
        )


def place_problem(
    problem: AnyProblem,
    *,
    objective: str = "rate",
    delta: float = 0.05,
    method: str = "auto",
    fixed: Sequence[int] = (),
    target: str | None = None,
    replicates: int = 1000,
    seed: int = 0,
    progress: Progress | None = None,
) -> PlacementResult:
    """The best placement of the agents' data on a network that stays as it is.

    Parameters
    ----------
    objective
        ``"rate"``, ``"exponent"`` or ``"samples"``.
    fixed
        Agents that keep their data.
    replicates
        Simulated runs for each class of placements, where these are few; 0 for none.

    Raises
    ------
    ValueError
        If the objective does not go with the problem, or an option is out of range.
    """
    as_probability("delta", delta)
    as_integer("replicates", replicates, minimum=0)
    if isinstance(problem, RegressionProblem):
        if objective != "rate" or target is not None or method != "auto":
            raise fail(
                "objective",
                "'rate', with no target and no method, for a regression",
                repr(objective),
                "leave the options out",
            )
        return _regression(problem, fixed=fixed, seed=seed, delta=delta)
    options: dict[str, Any] = {
        "objective": objective,
        "delta": delta,
        "method": method,
        "fixed": tuple(fixed),
        "seed": seed,
    }
    if isinstance(problem, ChangingProblem):
        if objective != "rate":
            raise fail(
                "objective", "'rate' for a network that changes", repr(objective), "choose it"
            )
        shares = influence(problem.network).values
        wanted = _named(target, problem.model)
        if wanted is None:
            wanted = changing_rate(problem.network, problem.model).reference[0]
        found = place(shares, problem.model, target=wanted, progress=progress, **options)
        return PlacementResult(
            problem,
            objective,
            _content(found, problem.model),
            None,
            ("the influence of each agent stands in for v", *_words(found)),
            seed,
            delta,
        )
    remarks: tuple[str, ...] = ()
    inner = problem
    if isinstance(problem, FaultyProblem):
        inner = problem.problem
        remarks = ("predicted as if nobody were faulty",)
    assert isinstance(inner, Problem)
    request = DesignRequest(target=target, delta=delta, seed=seed)
    wanted = target_of(request, inner.network, inner.model)
    found = place(inner.network, inner.model, target=wanted, progress=progress, **options)
    content = _content(found, inner.model)
    classes = _classes(
        inner, wanted, fixed=fixed, delta=delta, replicates=replicates, seed=seed,
        placements=found.placements,
    )  # fmt: skip
    content["classes"] = [entry.as_json() for entry in classes] or None
    return PlacementResult(
        problem, objective, content, inner.network, (*remarks, *_words(found)), seed, delta
    )


def _named(target: str | None, model: FiniteModel) -> int | None:
    if target is None:
        return None
    if target not in model.hypotheses:
        raise fail("target", f"one of {', '.join(model.hypotheses)}", repr(target), "name one")
    return model.hypotheses.index(target)


def _words(found: Placement) -> tuple[str, ...]:
    notes = [found.note] if found.note else []
    if found.certificate is not None and found.certificate.note:
        notes.append(f"certificate: {found.certificate.note}")
    return tuple(notes)


def _content(found: Placement, model: FiniteModel) -> dict[str, Any]:
    certificate = found.certificate
    return {
        "target": model.hypotheses[found.target],
        "assignment": found.assignment,
        "moved": found.moved,
        "value": number(found.value),
        "original": number(found.original),
        "worst": None if found.worst is None else number(found.worst),
        "certificate": None if certificate is None else certificate_json(certificate),
        "binding": [model.hypotheses[m] for m in found.binding],
        "method": found.method,
        "evaluated": found.evaluated,
        "placements": found.placements,
        "classes": None,
    }


def _classes(
    problem: Problem,
    target: int,
    *,
    fixed: Sequence[int],
    delta: float,
    replicates: int,
    seed: int,
    placements: int,
) -> list[PlacementClass]:
    """The classes of placements that predict the same, best first."""
    if placements > MOST_LISTED:
        return []
    network, model = problem.network, problem.model
    free = [j for j in range(model.agents) if j not in set(fixed)]
    given = _alike(model)
    found: dict[tuple[Any, ...], PlacementClass] = {}
    for order in multiset_permutations(given[free].tolist()):
        assignment = given.copy()
        assignment[free] = order
        placed = replace(model, assignment=assignment)
        rate = learning_rate(network, placed)
        if target not in rate.reference:
            continue
        exponent = error_exponent(network, placed).exponent
        key = (f"{rate.rate:.9e}", f"{exponent:.9e}", _seats(network, assignment))
        if key in found:
            old = found[key]
            found[key] = replace(old, count=old.count + 1)
            continue
        found[key] = PlacementClass(assignment, 1, rate.rate, exponent, None, None, None, None)
    settings: dict[str, Any] = {
        "target": target,
        "delta": delta,
        "replicates": replicates,
        "seed": seed,
    }
    classes = []
    for entry in sorted(found.values(), key=lambda entry: -entry.rate):
        placed = replace(model, assignment=entry.assignment)
        holders = _holders(given, entry.assignment)
        seen = _measured(network, placed, entry, **settings)
        classes.append(replace(seen, assignment=holders))
    return classes


def _alike(model: FiniteModel) -> IntArray:
    """The kind of each agent, the first of those that have the same law and prior."""
    first: dict[Any, int] = {}
    kinds = [
        first.setdefault((law_key(kind), prior.tobytes()), number)
        for number, (kind, prior) in enumerate(zip(model.kinds, model.log_priors, strict=True))
    ]
    return np.array(kinds, dtype=np.int64)[model.assignment]


def _seats(network: Network, assignment: IntArray) -> tuple[tuple[int, str, str], ...]:
    """Who sits where, but for the agents' numbers: kind, influence and deviation of each."""
    influences, deviations = network.stationary_distribution, network.deviation.upper
    seats = zip(assignment, influences, deviations, strict=True)
    return tuple(sorted((int(kind), f"{v:.9e}", f"{d:.6e}") for kind, v, d in seats))


def _holders(given: IntArray, placed: IntArray) -> IntArray:
    """For each agent whose data it gets: its own if these are alike, else the first free ones."""
    holders = np.where(given == placed, np.arange(len(given)), -1)
    for kind in np.unique(placed):
        waiting = np.flatnonzero((placed == kind) & (holders < 0))
        free = np.flatnonzero((given == kind) & (given != placed))
        holders[waiting] = free
    return holders


def _measured(
    network: Network,
    model: FiniteModel,
    entry: PlacementClass,
    *,
    target: int,
    delta: float,
    replicates: int,
    seed: int,
) -> PlacementClass:
    """The class with certified numbers, and the rate of its binding hypothesis in a simulation."""
    sizes = sample_sizes(network, model, delta=delta)
    rate = learning_rate(network, model)
    if not replicates or rate.binding is None:
        return replace(entry, samples=sizes)
    task = prepare(
        network, model, run=Run(rounds=_ROUNDS, replicates=replicates, seed=seed, record=[_ROUNDS])
    )
    check_hours(task.cost())
    run = task.simulate()
    mean = expected_log_ratio(network, model, [_ROUNDS], best=target).values[0]
    m = rate.binding
    return replace(
        entry,
        samples=sizes,
        predicted=float(mean[:, m].mean()) / _ROUNDS,
        measured=float(run.network_mean[-1, m]) / _ROUNDS,
        standard_error=float(run.network_standard_error[-1, m]) / _ROUNDS,
    )


def _regression(
    problem: RegressionProblem, *, fixed: Sequence[int], seed: int, delta: float
) -> PlacementResult:
    """The order of a regression's data with the least error: all orders of few agents, or swaps."""
    model = problem.regression
    agents = model.agents
    pinned = {as_integer("fixed", agent, minimum=0, maximum=agents - 1) for agent in fixed}
    free = [j for j in range(agents) if j not in pinned]
    v = problem.network.stationary_distribution
    tried = 0

    def value(order: Sequence[int]) -> tuple[float, float]:
        nonlocal tried
        tried += 1
        limits = regression_limits(v, _reordered(model, order))
        return float(limits.limit), float(limits.excess_error_constant)

    start = tuple(range(agents))
    everything = len(free) <= _MOST_ORDERED
    orders = _orders(agents, free) if everything else _swaps(value, start, free)
    scored = {order: value(order) for order in orders}
    best, worst = min(scored, key=scored.__getitem__), max(scored, key=scored.__getitem__)
    if np.allclose(scored[best], value(start), rtol=1e-12, atol=0):
        # No order is better by more than rounding: leave the data where they are.
        best = start
    method = "exhaustive" if everything else "local"
    content = {
        "assignment": list(best),
        "moved": [j for j in range(agents) if best[j] != j],
        "limit": number(scored[best][0]),
        "excess_error_constant": number(scored[best][1]),
        "original": dict(
            zip(("limit", "excess_error_constant"), map(number, value(start)), strict=True)
        ),
        "worst": dict(
            zip(("limit", "excess_error_constant"), map(number, scored[worst]), strict=True)
        )
        if everything
        else None,
        "method": method,
        "evaluated": tried,
    }
    note = (
        "all orders were tried: none does better"
        if everything
        else "the best that a local search found; no bound is known"
    )
    return PlacementResult(problem, "rate", content, problem.network, (note,), seed, delta)


def _reordered(model: RegressionModel, order: Sequence[int]) -> RegressionModel:
    return replace(model, assignment=np.asarray(model.assignment)[list(order)])


def _orders(agents: int, free: Sequence[int]) -> list[tuple[int, ...]]:
    found = []
    for moved in permutations(free):
        order = np.arange(agents)
        order[list(free)] = moved
        found.append(tuple(int(j) for j in order))
    return found


def _swaps(
    value: Callable[[Sequence[int]], tuple[float, float]],
    start: tuple[int, ...],
    free: Sequence[int],
) -> list[tuple[int, ...]]:
    """The orders that descent by the best swap goes through."""
    path = [start]
    lowest = value(start)
    while True:
        candidates = []
        for a in range(len(free)):
            for b in range(a):
                order = list(path[-1])
                i, j = free[a], free[b]
                order[i], order[j] = order[j], order[i]
                candidates.append(tuple(order))
        scored = [(value(order), order) for order in candidates]
        if not scored or min(scored)[0] >= lowest:
            return path
        lowest, best = min(scored)
        path.append(best)
