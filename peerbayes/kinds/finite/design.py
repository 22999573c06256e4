"""A design beside the networks it is compared with, as one result."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import RenderableType

from exact import Run, simulate
from peerbayes.design.documents import record_body
from peerbayes.design.objectives import Found, binding_at, find
from peerbayes.design.request import DesignRequest, DesignTask, target_of
from peerbayes.design.rows import NetworkRow, measure
from peerbayes.design.tables import design_parts
from peerbayes.design.weights import expected, kept_weights
from peerbayes.documents import CertificateDocument, GraphDocument, number, weights_json
from peerbayes.problem.entries import placed
from peerbayes.problem.finite import Problem
from peerbayes.records import plain
from theory import Network
from theory.design import DesignFailed, baselines, best_edge_confidence, star_centre
from theory.learnability import FewestAgents, learnability
from theory.progress import Progress

# Rounds times replicates of the two runs whose curves the report shows.
_CURVE_REPLICATES = 200
# What the network loses when an agent leaves it is worked out for so many.
_MOST_REMOVED = 100


@dataclass(frozen=True, eq=False)
class Design:
    """The design of a network for one problem with finitely many hypotheses."""

    problem: Problem
    request: DesignRequest
    task: DesignTask
    target: int
    found: Found
    designed: NetworkRow
    rows: tuple[NetworkRow, ...]
    remarks: tuple[str, ...] = ()
    stopped: bool = False
    record_path: Path | None = None

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
        if self.request.runs == 0 and self.request.replicates is None:
            notes.append("no simulation: errors this rare would take too many runs to be seen")
        return notes

    def as_json(self) -> dict[str, Any]:
        """The JSON object of `design`."""
        found, designed = self.found, self.designed
        weights, names = found.weights, self.problem.model.hypotheses
        own = designed.as_json()
        mixing = weights.certificate
        v = weights.expected.stationary_distribution
        binding = found.binding or binding_at(self.problem.model, v, self.target)
        content = {
            "problem": self.problem.name,
            "objective": self.request.objective,
            "target": names[self.target],
            "stationary_distribution": v,
            "weights": weights_json(weights.network),
            "method": weights.method,
            **{key: own[key] for key in ("rate", "error_exponent", "slem", "samples", "simulated")},
            "certificate": None
            if found.certificate is None
            else CertificateDocument.of(found.certificate).as_json(),
            "mixing": None if mixing is None else CertificateDocument.of(mixing).as_json(),
            "binding": list(binding),
            "multipliers": dict(binding) if found.binding else None,
            **found.details,
            "baselines": {row.name: row.as_json() for row in self.rows},
            "learnability": learnability_json(self.problem, weights.expected, self.target),
            "failed": self.failed,
            "stopped_by_time_budget": self.stopped,
            "record": self.record_path,
            "notes": self.notes,
        }
        result: dict[str, Any] = plain(content)
        return result

    def tables(self) -> list[RenderableType]:
        """The same for people."""
        return design_parts(self.as_json())

    def remarked(self, *remarks: str, **changes: Any) -> Design:
        """The same with remarks before its own, and with other changes."""
        return replace(self, remarks=(*remarks, *self.remarks), **changes)

    def as_record(self) -> Any:
        """What is left on disk: the JSON object, both networks, and how belief grows on each."""
        before, after = self.task.network, self.found.weights.network
        return record_body(
            self.problem,
            seed=self.request.seed,
            delta=self.request.delta,
            result=self.as_json(),
            before=GraphDocument.of(before).as_json(),
            after=GraphDocument.of(after).as_json(),
            curves=self._curves(),
        )

    def _curves(self) -> list[dict[str, Any]]:
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
                {
                    "name": row.name,
                    "hypothesis": binding,
                    "rate": row.rate,
                    "rounds": run.rounds,
                    "mean": run.network_mean[:, m],
                    "standard_error": run.network_standard_error[:, m],
                    "failures": run.errors / run.replicates,
                }
            )
        return curves


def _recorded(rounds: int) -> list[int]:
    return sorted({max(1, round(x)) for x in np.linspace(1, rounds, 40)})


def design_problem(
    problem: Problem, request: DesignRequest, *, progress: Progress | None = None
) -> Design:
    """The best network that the objective asks for, beside the usual ones.

    Raises
    ------
    ValueError
        If no design reaches the objective, or limits exclude each other; in one line.
    """
    section = None if problem.specification is None else problem.specification.design
    with placed(problem.name, "design", request.section(section)):
        task = DesignTask.of(request, problem.network, section)
    target = target_of(request, problem.network, problem.model)
    request.check_runs()
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
                replicates=request.runs,
                seed=request.seed,
                random=effective is not network,
            )
        )
    if progress is not None:
        progress(total, total)
    return Design(problem, request, task, target, found, rows[0], tuple(rows[1:]))


def _same(first: Network, second: Network) -> bool:
    """Whether two networks have the same weights, but for rounding."""
    # Rules compute the same fraction in different orders.
    if not np.array_equal(first.edges, second.edges):
        return False
    i, j = first.edges.T
    return bool(np.allclose(first.weights[i, j], second.weights[i, j], rtol=0, atol=1e-15))


def rivals_of(
    problem: Problem, request: DesignRequest, task: DesignTask, target: int
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


def learnability_json(problem: Problem, network: Network, target: int) -> dict[str, Any]:
    """What no weights can mend, and who matters."""
    names = problem.model.hypotheses
    many = network.agents > _MOST_REMOVED
    found = learnability(
        problem.model, network, target=target, exponents=not many, most_removed=_MOST_REMOVED
    )
    departures, sufficient = found.departures, found.sufficient_for_target
    content: dict[str, Any] = {
        "unseparable_pairs": [[names[a], names[b]] for a, b in found.separation.unseparable_pairs],
        "redundant_agents": found.separation.redundant,
        "sufficient_agents": _fewest_json(found.sufficient),
        "sufficient_for_target": None if sufficient is None else _fewest_json(sufficient),
        "departures": None,
    }
    if departures is not None:
        content["departures"] = {
            "silent": {
                "rates": [number(x) for x in departures.silent_rates],
                "error_exponents": [number(x) for x in departures.silent_exponents],
            },
            "removed": {
                "rates": [number(x) for x in departures.removed_rates],
                "error_exponents": [number(x) for x in departures.removed_exponents],
            },
            "critical": departures.critical,
            "cuts": [cut.agent for cut in departures.cuts],
        }
    return content


def _fewest_json(fewest: FewestAgents) -> dict[str, Any]:
    return {
        "agents": fewest.agents,
        "size": fewest.size,
        "lower": fewest.lower,
        "proved": fewest.is_minimal,
    }
