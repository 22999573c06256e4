"""Which agent should hold which data, on a network that stays as it is.

Data sets (each agent's law, with its prior) are handed round. Where there are few placements, every
class of equivalent ones is shown with what theory predicts and what a simulation measures.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from exact import Run, prepare
from peerbayes.designs.placements import (
    PlacementClass,
    PlacementResult,
    SimulatedRate,
    kept_agents,
    search_options,
)
from peerbayes.designs.request import target_of
from peerbayes.problem.finite import Problem
from peerbayes.quantities.sizes import in_doubles
from peerbayes.resources import check_hours
from peerbayes.settings.questions import Placement
from theory import FiniteModel, Network, error_exponent, learning_rate, sample_sizes
from theory.design import place
from theory.design.placement.placement_problem import PlacementProblem
from theory.design.placement.samples import every_filling
from theory.learning import expected_log_ratio
from theory.progress import Progress
from theory.validation import IntArray

# More placements than this are not listed class by class.
MOST_LISTED = 100
_ROUNDS = 200


def place_finite(
    problem: Problem, request: Placement, progress: Progress | None = None
) -> PlacementResult:
    """The best placement of the agents' data on a network that stays as it is.

    Raises
    ------
    ValueError
        If an option is out of range, or there is no such target.
    """
    network, model, target = problem.network, problem.model, target_of(request, problem)
    found = place(network, model, target=target, progress=progress, **search_options(request))
    classes = () if found.placements > MOST_LISTED else _classes(problem, target, request)
    return PlacementResult(
        problem=problem, request=request, found=found, before=network, classes=classes
    )


def _classes(problem: Problem, target: int, request: Placement) -> tuple[PlacementClass, ...]:
    """The classes of placements that predict the same, best first."""
    network, model = problem.network, problem.model
    posed = PlacementProblem(
        model,
        network.stationary_distribution,
        target,
        fixed=kept_agents(request),
        joins_influence=False,
    )
    fillings = every_filling(posed)
    assert fillings is not None
    everywhere = posed.everywhere(fillings)
    found: dict[tuple[Any, ...], PlacementClass] = {}
    for index in np.lexsort(everywhere.T[::-1]):
        holders = posed.assignment(fillings[index])
        placed = replace(model, assignment=model.assignment[holders])
        rate = learning_rate(network, placed)
        if target not in rate.reference:
            continue
        exponent = error_exponent(network, placed).exponent
        key = (f"{rate.rate:.9e}", f"{exponent:.9e}", _seats(network, everywhere[index]))
        first = found.get(key, PlacementClass(holders, 0, rate.rate, exponent))
        found[key] = replace(first, count=first.count + 1)
    best_first = sorted(found.values(), key=lambda entry: -entry.rate)
    return tuple(_measured(network, model, entry, target, request) for entry in best_first)


def _seats(network: Network, assignment: IntArray) -> tuple[tuple[int, str, str], ...]:
    """Who sits where, but for the agents' numbers: kind, influence and deviation of each."""
    influences, deviations = network.stationary_distribution, network.deviation.upper
    seats = zip(assignment, influences, deviations, strict=True)
    return tuple(sorted((int(kind), f"{v:.9e}", f"{d:.6e}") for kind, v, d in seats))


def _measured(
    network: Network, model: FiniteModel, entry: PlacementClass, target: int, request: Placement
) -> PlacementClass:
    """The class with certified numbers, and the rate of its binding hypothesis in a simulation."""
    model = replace(model, assignment=model.assignment[entry.assignment])
    entry = replace(entry, samples=in_doubles(sample_sizes(network, model, delta=request.delta)))
    m = learning_rate(network, model).binding
    if not request.replicates or m is None:
        return entry
    how = Run(rounds=_ROUNDS, replicates=request.replicates, seed=request.seed, record=[_ROUNDS])
    task = prepare(network, model, run=how)
    check_hours(task.cost())
    run = task.simulate()
    mean = expected_log_ratio(network, model, [_ROUNDS], best=target).values[0]
    measured = SimulatedRate(
        rounds=_ROUNDS,
        predicted=float(mean[:, m].mean()) / _ROUNDS,
        mean=float(run.network_mean[-1, m]) / _ROUNDS,
        standard_error=float(run.network_standard_error[-1, m]) / _ROUNDS,
    )
    return replace(entry, simulated_rate=measured)
