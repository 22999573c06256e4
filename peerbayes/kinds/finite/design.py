"""A design beside the networks it is compared with, as one result."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from exact import Run, simulate
from peerbayes.designs.advice import design_advice
from peerbayes.designs.documents import (
    ChangesOfRates,
    CurveDocument,
    DeparturesDocument,
    FewestDocument,
    FiniteDesignDocument,
    LearnabilityDocument,
    weights_document,
)
from peerbayes.designs.found import Found
from peerbayes.designs.objectives import binding_at, find
from peerbayes.designs.outcome import DesignOutcome, named_objective, place_text
from peerbayes.designs.recommend import recommend
from peerbayes.designs.request import DesignTask, check_runs, runs_of, section_of, target_of
from peerbayes.designs.rows import NetworkRow, measure
from peerbayes.designs.shared import certified
from peerbayes.designs.weights import expected, kept_weights
from peerbayes.documents import GraphDocument, names_of, numbers
from peerbayes.problem.entries import placed
from peerbayes.problem.problems import AnyProblem, Problem
from peerbayes.problem.writing import with_network
from peerbayes.settings import questions
from theory import Network
from theory.design import DesignFailed, baselines, best_edge_confidence, star_centre
from theory.learnability import FewestAgents, learnability
from theory.progress import Progress

# Rounds times replicates of the two runs whose curves the report shows.
_CURVE_REPLICATES = 200
# What the network loses when an agent leaves it is worked out for so many.
_MOST_REMOVED = 100


@dataclass(frozen=True, eq=False, kw_only=True)
class Design(DesignOutcome):
    """The design of a network for one problem with finitely many hypotheses."""

    problem: Problem
    task: DesignTask
    target: int
    found: Found
    designed: NetworkRow
    rows: tuple[NetworkRow, ...]
    learnability: LearnabilityDocument

    def _facts(self) -> Iterator[tuple[str, object]]:
        row = self.designed
        yield "objective", self.request.objective
        yield "target", self.problem.model.hypotheses[self.target]
        yield from design_advice(self.document())
        yield from self._remarked()
        yield "v", row.network.stationary_distribution
        yield from [("rate K", row.rate), ("exponent E", row.exponent), ("slem", row.slem)]

    @property
    def failed(self) -> bool:
        """Whether a solver gave up on the way."""
        return self.found.weights.failed

    @property
    def notes(self) -> list[str]:
        """What is to be said of the numbers, one sentence each."""
        weights, certificate = self.found.weights, self.found.certificate
        notes = [*self.remarks, *self.found.notes, *weights.notes]
        if certificate is not None and certificate.note:
            notes.append(f"certificate: {certificate.note}")
        if weights.certificate is not None and weights.certificate is not certificate:
            notes.append(f"mixing: {weights.certificate.note}")
        if weights.expected is not weights.network:
            notes.append(
                "links fail: rate and subdominant modulus are those of E[W]; the exponent and "
                "sample sizes of a random network are not bounded"
            )
        if runs_of(self.request) == 0 and self.request.replicates is None:
            notes.append("no simulation: errors this rare would take too many runs to be seen")
        return notes

    def document(self) -> FiniteDesignDocument:
        """What `design` prints."""
        found, problem, request = self.found, self.problem, self.request
        weights, mixing = found.weights, found.weights.certificate
        v = weights.expected.stationary_distribution
        binding = found.binding or binding_at(problem.model, v, self.target)
        own = self.designed.document()
        document = FiniteDesignDocument(
            names=names_of(self.problem.network.names),
            problem=problem.name,
            objective=named_objective(request.objective),
            target=problem.model.hypotheses[self.target],
            stationary_distribution=numbers(v),
            weights=weights_document(weights.network.weights),
            method=weights.method,
            rate=own.rate,
            error_exponent=own.error_exponent,
            slem=own.slem,
            samples=own.samples,
            simulated=own.simulated,
            certificate=certified(found.certificate),
            mixing=certified(mixing),
            binding=list(binding),
            multipliers=dict(found.binding) if found.binding else None,
            **dict(found.details),
            baselines={row.name: row.document() for row in self.rows},
            learnability=self.learnability,
            failed=self.failed,
            stopped_by_time_budget=self.stopped,
            record=place_text(self.record_path),
            written=place_text(self.written_path),
            notes=self.notes,
        )
        return document.model_copy(update={"recommended": recommend(document, delta=request.delta)})

    def designed_problem(self) -> AnyProblem:
        """The problem with the designed weights."""
        found, weights = self.found, self.found.weights
        return with_network(
            self.problem, weights.network, rows=weights.rows, messages=found.quantiser
        )

    def pictures(self) -> dict[str, Any]:
        """Both networks, and how belief grows on each."""
        return {
            "before": GraphDocument.of(self.task.network),
            "after": GraphDocument.of(self.found.weights.network),
            "curves": self._curves(),
        }

    def _curves(self) -> list[CurveDocument]:
        """Measured log-beliefs on the network as given, on the usual rule, and as designed."""
        shown = [row for row in self.rows if row.name in ("as given", "uniform", "star a=0.7")]
        sizes = [
            row.simulated.rounds
            for row in (*shown, self.designed)
            if row.simulated is not None and row.simulated.rounds is not None
        ]
        if not sizes:
            return []
        rounds = max(20, min(int(1.5 * max(sizes)), 20_000))
        curves = []
        drawn: list[Network] = []
        for row in (self.designed, *shown):
            # Curves that lie on each other are drawn once.
            if row.samples is None or any(row.network is network for network in drawn):
                continue
            drawn.append(row.network)
            run = simulate(
                row.network,
                self.problem.model,
                run=Run(
                    rounds=rounds,
                    replicates=_CURVE_REPLICATES,
                    seed=self.request.seed,
                    record=_recorded(rounds),
                ),
            )
            binding = next(
                iter(
                    binding_at(self.problem.model, row.network.stationary_distribution, self.target)
                ),
                None,
            )
            if binding is None:
                continue
            m = run.hypotheses.index(binding)
            curves.append(
                CurveDocument(
                    name=row.name,
                    hypothesis=binding,
                    rate=row.rate,
                    rounds=run.rounds.tolist(),
                    mean=run.network_mean[:, m].tolist(),
                    standard_error=numbers(run.network_standard_error[:, m]),
                    failures=(run.errors / run.replicates).tolist(),
                )
            )
        return curves


def _recorded(rounds: int) -> list[int]:
    return sorted({max(1, round(x)) for x in np.linspace(1, rounds, 40)})


def design_problem(
    problem: Problem, request: questions.Design, *, progress: Progress | None = None
) -> Design:
    """The best network that the objective asks for, beside the usual ones.

    Raises
    ------
    ValueError
        If no design reaches the objective, or limits exclude each other; in one line.
    """
    section = None if problem.specification is None else problem.specification.design
    with placed(problem.name, "design", section_of(request, section)):
        task = DesignTask.of(request, problem.network, section)
    target = target_of(request, problem.network, problem.model)
    check_runs(request)
    try:
        found = find(problem, request, task, target, progress=progress)
    except DesignFailed as failure:
        v = getattr(failure.best, "stationary_distribution", task.stationary)
        certificate = getattr(failure.best, "certificate", None)
        found = Found(kept_weights(task, v, failure), certificate, {})
    rivals = rivals_of(problem, request, task, target)
    total = len(rivals) + 1
    rows: list[NetworkRow] = []
    for done, (name, network) in enumerate((("designed", found.weights.network), *rivals.items())):
        if progress is not None:
            progress(done, total)
        effective = expected(network, task)
        twin = next((row for row in rows if _same(row.network, effective)), None)
        if twin is not None:
            rows.append(replace(twin, name=name))
            continue
        rows.append(
            measure(
                name,
                effective,
                problem.model,
                target=target,
                delta=request.delta,
                replicates=runs_of(request),
                seed=request.seed,
                random=effective is not network,
            )
        )
    if progress is not None:
        progress(total, total)
    return Design(
        problem=problem,
        request=request,
        task=task,
        target=target,
        found=found,
        designed=rows[0],
        rows=tuple(rows[1:]),
        learnability=learnability_document(problem, found.weights.expected, target),
    )


def _same(first: Network, second: Network) -> bool:
    """Whether two networks have the same weights, but for rounding."""
    # Rules compute the same fraction in different orders.
    if not np.array_equal(first.edges, second.edges):
        return False
    i, j = first.edges.T
    return bool(np.allclose(first.weights[i, j], second.weights[i, j], rtol=0, atol=1e-15))


def rivals_of(
    problem: Problem, request: questions.Design, task: DesignTask, target: int
) -> dict[str, Network]:
    """The networks that a design is compared with, by name."""
    rivals = {"as given": task.network}
    rivals |= {entry.name: entry.network for entry in baselines(task.graph)}
    if star_centre(task.graph) is not None:
        for objective in ("rate", "exponent"):
            try:
                best = best_edge_confidence(
                    task.graph, problem.model, objective=objective, target=target
                )
            except ValueError:
                # No star makes the network settle on the target.
                continue
            rivals[f"star, best a for the {objective}"] = best.network
    return rivals


def learnability_document(problem: Problem, network: Network, target: int) -> LearnabilityDocument:
    """Which hypotheses no weights can tell apart, and which agents matter."""
    names = problem.model.hypotheses
    many = network.agents > _MOST_REMOVED
    found = learnability(
        problem.model, network, target=target, exponents=not many, most_removed=_MOST_REMOVED
    )
    departures, sufficient = found.departures, found.sufficient_for_target
    return LearnabilityDocument(
        unseparable_pairs=[(names[a], names[b]) for a, b in found.separation.unseparable_pairs],
        redundant_agents=list(found.separation.redundant),
        sufficient_agents=_fewest(found.sufficient),
        sufficient_for_target=None if sufficient is None else _fewest(sufficient),
        departures=None
        if departures is None
        else DeparturesDocument(
            silent=ChangesOfRates(
                rates=numbers(departures.silent_rates),
                error_exponents=numbers(departures.silent_exponents),
            ),
            removed=ChangesOfRates(
                rates=numbers(departures.removed_rates),
                error_exponents=numbers(departures.removed_exponents),
            ),
            critical=list(departures.critical),
            cuts=[cut.agent for cut in departures.cuts],
        ),
    )


def _fewest(fewest: FewestAgents) -> FewestDocument:
    return FewestDocument(
        agents=list(fewest.agents), size=fewest.size, lower=fewest.lower, proved=fewest.is_minimal
    )
