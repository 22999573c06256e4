"""Which agent should hold which data, on a network that stays as it is.

Data sets (each agent's law, with its prior) are handed round. Where there are few placements, every
class of equivalent ones is shown with what theory predicts and what a simulation measures.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from exact import Run, prepare
from peerbayes.designs.place import PlacementResult, kept_agents, search_options
from peerbayes.designs.request import named_hypothesis
from peerbayes.problem.problems import Problem
from peerbayes.resources import check_hours
from peerbayes.settings.questions import Placement
from theory import FiniteModel, Network, SampleSizes, error_exponent, learning_rate, sample_sizes
from theory.design import place
from theory.design.placement.placement_problem import law_key
from theory.learning import expected_log_ratio
from theory.progress import Progress
from theory.showing import Value
from theory.validation import IntArray

# More placements than this are not listed class by class.
MOST_LISTED = 100


_ROUNDS = 200


@dataclass(frozen=True, eq=False)
class SimulatedRate(Value):
    """The rate of rejecting the binding hypothesis over some rounds: exact mean and measured."""

    rounds: int
    predicted: float
    mean: float
    standard_error: float


@dataclass(frozen=True, eq=False)
class PlacementClass(Value):
    """Placements that predict the same: one of them, their number, predicted and measured."""

    assignment: IntArray
    count: int
    rate: float
    exponent: float
    samples: SampleSizes | None = None
    simulated: SimulatedRate | None = None


def place_finite(
    problem: Problem, request: Placement, progress: Progress | None = None
) -> PlacementResult:
    """The best placement of the agents' data on a network that stays as it is.

    Raises
    ------
    ValueError
        If an option is out of range, or there is no such target.
    """
    named = named_hypothesis(request.target, problem.model)
    settled = learning_rate(problem.network, problem.model).reference[0]
    wanted = settled if named is None else named
    found = place(
        problem.network, problem.model, target=wanted, progress=progress, **search_options(request)
    )
    classes = _classes(problem, wanted, request, placements=found.placements)
    return PlacementResult(
        problem=problem,
        request=request,
        found=found,
        before=problem.network,
        classes=tuple(classes),
    )


def _classes(
    problem: Problem,
    target: int,
    request: Placement,
    *,
    placements: int,
) -> list[PlacementClass]:
    """The classes of placements that predict the same, best first."""
    if placements > MOST_LISTED:
        return []
    network, model = problem.network, problem.model
    free = [j for j in range(model.agents) if j not in kept_agents(request)]
    given = _alike(model)
    found: dict[tuple[Any, ...], PlacementClass] = {}
    for order in _orders(given[free].tolist()):
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
        found[key] = PlacementClass(assignment, 1, rate.rate, exponent)
    settings: dict[str, Any] = {
        "target": target,
        "delta": request.delta,
        "replicates": request.replicates,
        "seed": request.seed,
    }
    classes = []
    for entry in sorted(found.values(), key=lambda entry: -entry.rate):
        placed = replace(model, assignment=entry.assignment)
        holders = _holders(given, entry.assignment)
        seen = _measured(network, placed, entry, **settings)
        classes.append(replace(seen, assignment=holders))
    return classes


def _orders(kinds: Sequence[int]) -> Iterator[list[int]]:
    """The different orders of a list with repetitions, smallest first."""
    if not kinds:
        yield []
    for first in sorted(set(kinds)):
        rest = list(kinds)
        rest.remove(first)
        for order in _orders(rest):
            yield [first, *order]


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
    how = Run(rounds=_ROUNDS, replicates=replicates, seed=seed, record=[_ROUNDS])
    task = prepare(network, model, run=how)
    check_hours(task.cost())
    run = task.simulate()
    mean = expected_log_ratio(network, model, [_ROUNDS], best=target).values[0]
    m = rate.binding
    measured = SimulatedRate(
        rounds=_ROUNDS,
        predicted=float(mean[:, m].mean()) / _ROUNDS,
        mean=float(run.network_mean[-1, m]) / _ROUNDS,
        standard_error=float(run.network_standard_error[-1, m]) / _ROUNDS,
    )
    return replace(entry, samples=sizes, simulated=measured)
