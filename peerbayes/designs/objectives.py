"""What each objective leads to: v by the objective, W by its mixing."""

from __future__ import annotations

import numpy as np

from peerbayes.designs.details import (
    AgentsOfRate,
    BoundaryDocument,
    ExactRate,
    ObjectiveDetails,
    StartDocument,
    TradeOffPoint,
)
from peerbayes.designs.found import Found
from peerbayes.designs.price_list import cheapest_messages
from peerbayes.designs.request import DesignTask
from peerbayes.designs.weights import Weights, exactly, expected, weights_for
from peerbayes.documents import interval, number, numbers
from peerbayes.problem.problems import Problem
from peerbayes.settings.questions import Design
from theory import FiniteModel
from theory.design import (
    InfluenceSet,
    best_exponent,
    exact_optimal_rate,
    fewest_samples,
    optimal_rate,
    trade_off,
    worst_case_exponent,
)
from theory.progress import Progress
from theory.validation import FloatArray, fail


def find(
    problem: Problem,
    request: Design,
    task: DesignTask,
    target: int,
    *,
    progress: Progress | None = None,
) -> Found:
    """The design that the objective asks for.

    Raises
    ------
    ValueError
        If no design reaches the objective, or limits exclude each other; in one line.
    """
    if request.objective == "mixing":
        return _mixing(request, task)
    check_separable(problem.model, target)
    search = {
        "rate": _rate,
        "exponent": _exponent,
        "samples": _samples,
        "trade-off": _trade_off,
        "bytes": cheapest_messages,
    }[request.objective]
    return search(problem, request, task, target, progress)


def check_separable(model: FiniteModel, target: int) -> None:
    """See that every other hypothesis is told from the target by some agent.

    Raises
    ------
    ValueError
        If there is one that nobody tells from it: then K = 0 for every W.
    """
    for pair in model.ambiguous_pairs:
        if target in pair:
            first, second = (model.hypotheses[m] for m in pair)
            raise fail(
                "hypotheses",
                "pairs that some agent tells apart",
                f"{first!r} and {second!r}, which have the same likelihoods for every agent, so "
                "that K = 0 for every W",
                "leave one of them out, or give some agent data that differ",
            )


def _influences(task: DesignTask) -> InfluenceSet:
    return InfluenceSet(
        task.network.agents,
        task.minimum_influence,
        constraints=task.constraints,
        graph=task.graph,
    )


def _mixing(request: Design, task: DesignTask) -> Found:
    weights = weights_for(task, task.stationary, thorough=True, seed=request.seed)
    return Found(weights, weights.certificate, {})


def _rate(
    problem: Problem,
    request: Design,
    task: DesignTask,
    target: int,
    progress: Progress | None,
) -> Found:
    model, influences = problem.model, _influences(task)
    best = optimal_rate(model, target=target, influences=influences)
    names = model.hypotheses
    certificate, notes = best.certificate, []
    if len(best.silent):
        share = f"{len(best.silent)} of {model.agents} agents"
        notes.append(
            f"K alone prefers silence from {share}, which are held at the smallest influence "
            f"allowed, {task.minimum_influence:g}; without that K would be "
            f"{number(best.boundary_rate):.6g}"
        )
    weights = weights_for(task, best.stationary_distribution, thorough=False, seed=request.seed)
    exact: ExactRate | None = None
    if request.exact:
        exact_model = problem.rational_model if problem.is_exact else model
        proved = exact_optimal_rate(exact_model, target=target, influences=influences)
        weights = exactly(weights, proved.stationary_distribution, task)
        exact = ExactRate(
            rate=str(proved.rate),
            enclosure=proved.enclosure.as_json(),
            stationary_distribution=list(map(str, proved.stationary_distribution)),
            multipliers={names[m]: str(proved.multipliers[m]) for m in proved.binding},
            weights=None if weights.rows is None else [list(map(str, row)) for row in weights.rows],
        )
        certificate = proved.certificate
    details = ObjectiveDetails(
        agents=AgentsOfRate(
            marginal_value=numbers(best.marginal_values),
            floor_cost=numbers(best.floor_costs),
            silent=list(best.silent),
        ),
        boundary=BoundaryDocument(rate=number(best.boundary_rate), price=number(best.price)),
        is_unique=best.is_unique,
        exact=exact,
    )
    binding = {names[m]: float(best.multipliers[m]) for m in best.binding}
    return Found(weights, certificate, binding, details, tuple(notes))


def _exponent(
    problem: Problem,
    request: Design,
    task: DesignTask,
    target: int,
    progress: Progress | None,
) -> Found:
    model, names = problem.model, problem.model.hypotheses
    if request.worst_case:
        worst = worst_case_exponent(model, influences=_influences(task))
        weights = weights_for(
            task, worst.stationary_distribution, thorough=False, seed=request.seed
        )
        binding = {
            f"{names[pair.hypothesis]} when {names[pair.truth]} is true": pair.multiplier
            for pair in worst.binding
        }
        details = ObjectiveDetails(worst_case_exponent=number(worst.exponent))
        note = "every hypothesis may be the true one: data are taken to follow its likelihoods"
        return Found(weights, worst.certificate, binding, details, (note,))
    best = best_exponent(model, target=target, influences=_influences(task))
    weights = weights_for(task, best.stationary_distribution, thorough=False, seed=request.seed)
    binding = {names[one.hypothesis]: one.multiplier for one in best.binding}
    details = ObjectiveDetails(uniform_exponent=number(best.uniform_exponent))
    notes = () if best.certificate else ("errors become impossible: there is nothing to prove",)
    return Found(weights, best.certificate, binding, details, notes)


def _samples(
    problem: Problem,
    request: Design,
    task: DesignTask,
    target: int,
    progress: Progress | None,
) -> Found:
    found = fewest_samples(
        task.graph,
        problem.model,
        delta=request.delta,
        target=target,
        constraints=task.constraints,
        minimum_influence=task.minimum_influence,
        seed=request.seed,
        progress=progress,
    )
    weights = Weights(found.network, expected(found.network, task), None, "local search")
    starts = [
        StartDocument(
            name=start.name,
            chernoff=start.chernoff,
            certified=None if start.samples is None else interval(start.samples),
            rate=number(start.rate),
            error_exponent=number(start.exponent),
            slem=number(start.slem),
        )
        for start in found.starts
    ]
    details = ObjectiveDetails(starts=starts, best_for_influence=found.best_for_influence)
    return Found(weights, found.certificate, {}, details, (found.note,) if found.note else ())


def _trade_off(
    problem: Problem,
    request: Design,
    task: DesignTask,
    target: int,
    progress: Progress | None,
) -> Found:
    curve = trade_off(
        task.graph,
        problem.model,
        objective="rate",
        delta=request.delta,
        target=target,
        constraints=task.constraints,
        minimum_influence=task.minimum_influence,
        seed=request.seed,
        progress=progress,
    )
    best = curve.recommended
    weights = Weights(best.network, expected(best.network, task), None, "local search")
    points = [
        TradeOffPoint(
            share=float(point.share),
            rate=point.rate,
            error_exponent=number(point.exponent),
            slem=point.slem,
            slem_bound=number(point.slem_bound),
            chernoff=point.chernoff,
            certified=None if point.certified is None else interval(point.certified),
            efficient=bool(point.is_pareto),
            stationary_distribution=numbers(point.network.stationary_distribution),
        )
        for point in curve.points
    ]
    details = ObjectiveDetails(trade_off=points)
    return Found(weights, best.certificate, {}, details, (curve.note,) if curve.note else ())


def binding_at(model: FiniteModel, v: FloatArray, target: int) -> dict[str, float]:
    """The hypotheses that are rejected last at v: each with the share 1/number of them."""
    information = v @ model.information(target)
    # Those that are right whenever the target is are not rejected at all.
    right = model.optimal_hypotheses if target in model.optimal_hypotheses else (target,)
    rivals = [m for m in range(len(model.hypotheses)) if m not in right]
    if not rivals:
        return {}
    lowest = float(information[rivals].min())
    last = [m for m in rivals if np.isclose(information[m], lowest, rtol=1e-9, atol=0.0)]
    return {model.hypotheses[m]: 1 / len(last) for m in last}
