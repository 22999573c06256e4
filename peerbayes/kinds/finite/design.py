"""Weights and data of a network for finitely many hypotheses, beside what they are compared with.

A design is compared with the network as given and with those of the usual rules. Of placements of
data sets (each agent's law, with its prior), where there are few, every class of equivalent ones is
shown with what theory predicts and what a simulation measures.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from exact import Run, prepare, simulate, simulated_sample_size
from peerbayes.designs.objectives import binding_at, find, information_at
from peerbayes.designs.outcome import OneNetwork
from peerbayes.designs.placements import (
    PlacementClass,
    PlacementResult,
    SimulatedRate,
    kept_agents,
    search_options,
)
from peerbayes.designs.quantities import DESIGNED, FINITE_DESIGN, CurveDocument
from peerbayes.designs.request import DesignTask, check_runs, runs_of, target_of
from peerbayes.designs.shared import NetworkRow
from peerbayes.designs.weights import Found, expected, kept_weights
from peerbayes.documents import numbers
from peerbayes.problem.problems import Problem
from peerbayes.quantities.sizes import in_doubles
from peerbayes.settings import questions
from peerbayes.settings.questions import Placement
from peerbayes.terminal import check_hours
from theory import FiniteModel, Network, error_exponent, learning_rate, sample_sizes
from theory.design import DesignFailed, best_edge_confidence, place, star_centre
from theory.design.placement.placement_problem import PlacementProblem, every_filling
from theory.learnability import Learnability, learnability
from theory.learning import expected_log_ratio
from theory.progress import Progress
from theory.validation import IntArray

# Rounds times replicates of the two runs whose curves the report shows.
_CURVE_REPLICATES = 200
_CURVES = ("as given", "uniform", "star a=0.7")
# What the network loses when an agent leaves it is worked out for so many.
_MOST_REMOVED = 100
# Certified sample sizes of more agents take longer than one would wait for ten of them.
_MOST_CERTIFIED = 60
# More placements than this are not listed class by class; rounds of their simulations.
_MOST_LISTED = 100
_ROUNDS = 200


@dataclass(frozen=True, eq=False, kw_only=True)
class Design(OneNetwork):
    """The design of a network for one problem with finitely many hypotheses."""

    quantities = FINITE_DESIGN

    problem: Problem
    target: int
    learnability: Learnability

    @property
    def binding(self) -> list[str]:
        """The hypotheses that bind in the proof; without one those that are rejected last."""
        v = self.found.weights.expected.stationary_distribution
        return list(self.found.binding or binding_at(self.problem.model, v, self.target))

    @property
    def notes(self) -> list[str]:
        """What is to be said of the numbers, one sentence each."""
        weights, notes = self.found.weights, super().notes
        if weights.certificate is not None and weights.certificate is not self.found.certificate:
            notes.append(f"mixing: {weights.certificate.note}")
        if weights.expected is not weights.network:
            notes.append(
                "links fail: rate and subdominant modulus are those of E[W]; the exponent and "
                "sample sizes of a random network are not bounded"
            )
        if runs_of(self.request) == 0 and self.request.replicates is None:
            notes.append("no simulation: errors this rare would take too many runs to be seen")
        return notes

    def pictures(self) -> dict[str, Any]:
        """Both networks, and how belief grows on each."""
        return {**super().pictures(), "curves": self._curves()}

    def _curves(self) -> list[CurveDocument]:
        """Measured log-beliefs on the network as given, on the usual rule, and as designed."""
        rows = {name: self.rows[name] for name in (DESIGNED, *_CURVES) if name in self.rows}
        simulated = [row.simulated.rounds for row in rows.values() if row.simulated is not None]
        sizes = [size for size in simulated if size is not None]
        if not sizes:
            return []
        rounds = max(20, min(int(1.5 * max(sizes)), 20_000))
        model, curves = self.problem.model, []
        drawn: list[Network] = []
        for name, row in rows.items():
            # Curves that lie on each other are drawn once.
            if row.samples is None or any(row.network is network for network in drawn):
                continue
            drawn.append(row.network)
            last = [*binding_at(model, row.network.stationary_distribution, self.target)]
            if not last:
                continue
            run = simulate(
                row.network,
                model,
                run=Run(
                    rounds=rounds,
                    replicates=_CURVE_REPLICATES,
                    seed=self.request.seed,
                    record=sorted({max(1, round(x)) for x in np.linspace(1, rounds, 40)}),
                ),
            )
            m = run.hypotheses.index(last[0])
            curves.append(
                CurveDocument(
                    name=name,
                    hypothesis=last[0],
                    rate=row.rate,
                    rounds=run.rounds.tolist(),
                    mean=run.network_mean[:, m].tolist(),
                    standard_error=numbers(run.network_standard_error[:, m]),
                    failures=(run.errors / run.replicates).tolist(),
                )
            )
        return curves


def design_problem(
    problem: Problem, request: questions.Design, *, progress: Progress | None = None
) -> Design:
    """The best network that the objective asks for, beside the usual ones.

    Raises
    ------
    ValueError
        If no design reaches the objective, or limits exclude each other; in one line.
    """
    task = DesignTask.of(request, problem)
    target = task.target
    check_runs(request)
    try:
        found = find(task, progress)
    except DesignFailed as failure:
        v = getattr(failure.best, "stationary_distribution", task.stationary)
        certificate = getattr(failure.best, "certificate", None)
        found = Found(kept_weights(task, v, failure), certificate, {})
    networks = {DESIGNED: found.weights.network, **task.usual, **_stars(task)}
    rows: dict[str, NetworkRow] = {}
    for done, (name, network) in enumerate(networks.items()):
        if progress is not None:
            progress(done, len(networks))
        effective = expected(network, task)
        twin = next((row for row in rows.values() if _same(row.network, effective)), None)
        random = effective is not network
        rows[name] = twin or _row(effective, problem.model, request, target, random=random)
    if progress is not None:
        progress(len(networks), len(networks))
    many = problem.network.agents > _MOST_REMOVED
    known = learnability(
        problem.model,
        found.weights.expected,
        target=target,
        exponents=not many,
        most_removed=_MOST_REMOVED,
    )
    return Design(
        problem=problem, request=request, target=target, found=found, rows=rows, learnability=known
    )


def _same(first: Network, second: Network) -> bool:
    """Whether two networks have the same weights, but for rounding."""
    # Rules compute the same fraction in different orders.
    if not np.array_equal(first.edges, second.edges):
        return False
    i, j = first.edges.T
    return bool(np.allclose(first.weights[i, j], second.weights[i, j], rtol=0, atol=1e-15))


def _stars(task: DesignTask) -> dict[str, Network]:
    """The best stars by name, where the graph is one and they make it settle on the target."""
    found = {}
    if star_centre(task.graph) is not None:
        for objective in ("rate", "exponent"):
            with suppress(ValueError):  # no star makes the network settle on the target
                best = best_edge_confidence(
                    task.graph, task.problem.model, objective=objective, target=task.target
                )
                found[f"star, best a for the {objective}"] = best.network
    return found


def _row(
    network: Network, model: FiniteModel, request: questions.Design, target: int, *, random: bool
) -> NetworkRow:
    """Everything that is said of one network; of a `random` one what its E[W] decides."""
    delta, replicates, seed = request.delta, runs_of(request), request.seed
    rate = learning_rate(network, model)
    against = information_at(model, network.stationary_distribution, target)
    worst = min(against.values(), default=np.inf)
    settles = ", ".join(model.hypotheses[m] for m in rate.reference)
    row = NetworkRow(network=network, rate=worst, slem=network.slem, settles_on=settles)
    if random or target not in rate.reference or not worst > 0:
        return row
    samples = sample_sizes(network, model, delta=delta, certify=network.agents <= _MOST_CERTIFIED)
    simulated = None
    if replicates:
        # No fewer rounds than these are simulated.
        fewest = samples.certified.lower or 1
        run = Run(rounds=fewest, replicates=replicates, seed=seed)
        check_hours(prepare(network, model, run=run).cost())
        simulated = simulated_sample_size(
            network, model, delta=delta, replicates=replicates, seed=seed, proved=samples
        )
    return replace(
        row,
        error_exponent=error_exponent(network, model).exponent,
        samples=in_doubles(samples),
        simulated=simulated,
    )


# Placements of data -------------------------------------------------------------------------------


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
    classes = () if found.placements > _MOST_LISTED else _classes(problem, target, request)
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
    fillings = every_filling(posed.sizes.tolist(), posed.stock.tolist())
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
