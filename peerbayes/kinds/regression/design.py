"""A design for linear regression: the v with the least error, and the fastest W for it.

Where labels follow θ the best v is known in closed form, whatever is tested (docs:
mathematics/regression), and proved best. On a data set the error has a limit that depends on v
through the data, which a local search lowers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import minimize

from peerbayes.designs.advice import design_advice
from peerbayes.designs.documents import RegressionDesignDocument, RegressionRow, weights_document
from peerbayes.designs.outcome import DesignOutcome, named_objective, place_text
from peerbayes.designs.recommend import DESIGNED, recommend
from peerbayes.designs.request import DesignTask, section_of
from peerbayes.designs.shared import certified
from peerbayes.designs.weights import Weights, weights_for
from peerbayes.documents import GraphDocument, names_of, number, numbers
from peerbayes.problem.entries import placed
from peerbayes.problem.problems import AnyProblem, RegressionProblem
from peerbayes.problem.writing import with_network
from peerbayes.settings.questions import Design
from theory import Network
from theory.design import Certificate, baselines
from theory.network.labels import called
from theory.regression import RegressionModel, best_stationary_distribution, regression_limits
from theory.regression.limits import limit_of
from theory.validation import FloatArray, fail

OBJECTIVES = ("rate", "mixing")


@dataclass(frozen=True, eq=False, kw_only=True)
class RegressionDesign(DesignOutcome):
    """The design of a network for one regression."""

    problem: RegressionProblem
    weights: Weights
    certificate: Certificate | None
    rows: Mapping[str, RegressionRow]
    """The networks compared, by name; the design first."""

    def _facts(self) -> Iterator[tuple[str, object]]:
        row = self.rows[DESIGNED]
        yield "objective", self.request.objective
        yield from design_advice(self.document())
        yield from self._remarked()
        yield "v", self.weights.expected.stationary_distribution
        yield "limit of the error", row.limit
        yield "error, times n", row.excess_error_constant
        yield "slem", row.slem

    @property
    def failed(self) -> bool:
        """Whether a solver gave up on the way."""
        return self.weights.failed

    @property
    def notes(self) -> list[str]:
        """What is to be said of the numbers, one sentence each."""
        notes = [*self.remarks, *self.weights.notes]
        if self.certificate is not None and self.certificate.note:
            notes.append(f"certificate: {self.certificate.note}")
        return notes

    def document(self) -> RegressionDesignDocument:
        """What `design` prints for a regression."""
        mixing, own = self.weights.certificate, self.rows[DESIGNED]
        document = RegressionDesignDocument(
            names=names_of(self.problem.network.names),
            problem=self.problem.name,
            objective=named_objective(self.request.objective),
            stationary_distribution=numbers(self.weights.expected.stationary_distribution),
            weights=weights_document(self.weights.network.weights),
            method=self.weights.method,
            limit=own.limit,
            excess_error_constant=own.excess_error_constant,
            slem=own.slem,
            certificate=certified(self.certificate),
            mixing=certified(mixing),
            baselines={name: row for name, row in self.rows.items() if name != DESIGNED},
            failed=self.failed,
            stopped_by_time_budget=self.stopped,
            record=place_text(self.record_path),
            written=place_text(self.written_path),
            notes=self.notes,
        )
        best = recommend(document, delta=self.request.delta)
        return document.model_copy(update={"recommended": best})

    def designed_problem(self) -> AnyProblem:
        """The problem with the designed weights."""
        return with_network(self.problem, self.weights.network)

    def pictures(self) -> dict[str, Any]:
        """Both networks."""
        return {
            "before": GraphDocument.of(self.problem.network),
            "after": GraphDocument.of(self.weights.network),
        }


def design_regression(problem: RegressionProblem, request: Design) -> RegressionDesign:
    """The network with the least error, beside the usual ones.

    Raises
    ------
    ValueError
        If the objective is not for regressions, or the limits exclude each other.
    """
    if request.objective not in OBJECTIVES:
        raise fail(
            "objective",
            f"{' or '.join(OBJECTIVES)} for a regression",
            repr(request.objective),
            "choose one of these",
        )
    if request.target is not None or request.exact:
        raise fail("target or exact", "finitely many hypotheses", problem.name, "leave it out")
    section = None if problem.specification is None else problem.specification.design
    with placed(problem.name, "design", section_of(request, section)):
        task = DesignTask.of(request, problem.network, section)
    remarks: tuple[str, ...] = ()
    if request.objective == "mixing":
        weights = weights_for(task, task.stationary, thorough=True, seed=request.seed)
        certificate = weights.certificate
    else:
        # The best v is positive by itself: only a floor that was asked for stands in its way.
        asked = section_of(request, section).minimum_influence
        floor = 0.0 if asked is None else float(asked)
        v, certificate, remarks = _least_error(problem, task, floor=floor)
        weights = weights_for(task, v, thorough=False, seed=request.seed)
    networks = {DESIGNED: weights.expected, "as given": problem.network}
    networks |= {entry.name: entry.network for entry in baselines(task.graph)}
    return RegressionDesign(
        problem=problem,
        request=request,
        weights=weights,
        certificate=certificate,
        rows={name: _row(network, problem.regression) for name, network in networks.items()},
        remarks=remarks,
    )


def _row(network: Network, model: RegressionModel) -> RegressionRow:
    limits = regression_limits(network, model)
    return RegressionRow(
        limit=number(limits.limit),
        excess_error_constant=number(limits.excess_error_constant),
        slem=number(network.slem),
    )


def _least_error(
    problem: RegressionProblem, task: DesignTask, *, floor: float
) -> tuple[FloatArray, Certificate | None, tuple[str, ...]]:
    if task.constraints.fixed_rows:
        raise fail("fixed_agents", "none for this objective", "some", "use the objective mixing")
    if task.constraints.forces_uniform:
        note = "the limits leave one v alone, the uniform one"
        return np.full(task.network.agents, 1 / task.network.agents), None, (note,)
    model = problem.regression
    limits = regression_limits(problem.network, model)
    if not model.has_targets and limits.central_constant is not None:
        best = best_stationary_distribution(problem.network, model)
        v = best.distribution
        if v.min() < floor:
            who = called(int(v.argmin()), problem.network.names)
            raise fail(
                "minimum_influence",
                f"at most {v.min():.6g}, what the best v gives to {who}",
                f"{floor:g}",
                "lower it",
            )
        note = "no v does better for any law of the test's inputs (Gauss and Markov)"
        certificate = Certificate(best.constant, best.constant, "minimise", "rounded", note)
        return v, certificate, ()
    v = _search(model, task.minimum_influence)
    reached = regression_limits(v, model).limit
    start = limits.limit
    note = (
        f"the error does not vanish: its limit is {reached:.6g} at the v found by a local search "
        f"and {start:.6g} as given; no bound on what other v reach is known"
    )
    certificate = Certificate(reached, -np.inf, "minimise", "local", "a search, from N + 1 starts")
    return v, certificate, (note,)


def _search(model: RegressionModel, floor: float) -> FloatArray:
    """A v with a small limit of the error, by descent from the uniform v and towards each agent."""
    agents = model.agents
    spare = 1 - agents * floor

    def influence(logits: FloatArray) -> FloatArray:
        share = np.exp(logits - logits.max())
        return np.asarray(floor + spare * share / share.sum())

    def value(logits: FloatArray) -> float:
        return limit_of(influence(logits), model)

    starts = [np.zeros(agents), *(2.0 * np.eye(agents))]
    found = [minimize(value, start, method="BFGS").x for start in starts]
    return influence(min([*found, *starts], key=value))
