"""A design for a network that changes: its weights, for a larger rate.

Where links fail and a lost message counts as one's own, E[W] takes the place of W, and the design
is that of a fixed network, certificate included. Otherwise a local search moves the weights
(`theory.design.changing_weights`), below a bound that holds for all of them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import RenderableType
from scipy import sparse

from peerbayes.design.documents import record_body
from peerbayes.design.request import DesignRequest
from peerbayes.design.tables import design_parts
from peerbayes.documents import CertificateDocument, number
from peerbayes.kinds.changing.analyse import ChangingAnalysis, analyse_changing
from peerbayes.problem.changing import ChangingProblem
from peerbayes.records import plain
from theory import Network, learning_rate
from theory.changing import (
    ChangingNetwork,
    MarkovNetwork,
    PeriodicNetwork,
    RandomLinks,
    RandomPresence,
)
from theory.design import (
    Certificate,
    ChangingWeights,
    Constraints,
    DesignFailed,
    DesignGraph,
    InfluenceSet,
    baselines,
    changing_weights,
    fastest_mixing,
    optimal_rate,
    realise,
)
from theory.progress import Progress
from theory.validation import fail

# Networks tried by the search; long absences are judged by all sets of agents at once, slowly.
_EFFORT, _SLOW_EFFORT = 3000, 150


@dataclass(frozen=True, eq=False)
class ChangingDesign:
    """The design of a network that changes."""

    problem: ChangingProblem
    request: DesignRequest
    target: int
    certificate: Certificate
    method: str
    designed: ChangingAnalysis
    rows: dict[str, ChangingAnalysis]
    remarks: tuple[str, ...] = ()
    stopped: bool = False
    record_path: Path | None = None

    @property
    def failed(self) -> bool:
        """A search always ends with something."""
        return False

    @property
    def notes(self) -> list[str]:
        """What is to be said of the numbers, one sentence each."""
        return [*self.remarks, f"certificate: {self.certificate.note}"]

    def as_json(self) -> dict[str, Any]:
        """The JSON object of `design` for a network that changes."""
        names = self.problem.model.hypotheses
        network = self.designed.problem.network
        content = {
            "problem": self.problem.name,
            "objective": self.request.objective,
            "target": names[self.target],
            "influence": self.designed.influence.values,
            "weights": [_rows(weights) for weights in _matrices(network)],
            "method": self.method,
            **_row(self.designed),
            "certificate": CertificateDocument.of(self.certificate).as_json(),
            "baselines": {name: _row(row) for name, row in self.rows.items()},
            "failed": False,
            "stopped_by_time_budget": self.stopped,
            "record": self.record_path,
            "notes": self.notes,
        }
        result: dict[str, Any] = plain(content)
        return result

    def tables(self) -> list[RenderableType]:
        """The same for people."""
        return design_parts(self.as_json())

    def remarked(self, *remarks: str, **changes: Any) -> ChangingDesign:
        """The same with remarks before its own, and with other changes."""
        return replace(self, remarks=(*remarks, *self.remarks), **changes)

    def as_record(self) -> Any:
        """What is left on disk."""
        return record_body(
            self.problem,
            seed=self.request.seed,
            delta=self.request.delta,
            result=self.as_json(),
            before=None,
            after=None,
            curves=[],
        )


def design_changing(
    problem: ChangingProblem, request: DesignRequest, *, progress: Progress | None = None
) -> ChangingDesign:
    """Weights for a larger rate on a network that changes, beside the given ones.

    Raises
    ------
    ValueError
        If the objective is another than the rate, or the problem sets limits.
    """
    if request.objective != "rate" or request.exact:
        raise fail(
            "objective",
            "'rate', in floating point, for a network that changes",
            repr(request.objective) + " --exact" * request.exact,
            "choose it",
        )
    section = None if problem.specification is None else problem.specification.design
    if section is not None or request.changes:
        raise fail("design", "no limits for a network that changes", "some", "leave out [design]")
    network, model = problem.network, problem.model
    names = model.hypotheses
    if request.target is None:
        target = learning_rate(network, model).reference[0]
    elif request.target in names:
        target = names.index(request.target)
    else:
        raise fail("target", f"one of {', '.join(names)}", repr(request.target), "name one")
    remarks: tuple[str, ...] = ()
    if isinstance(network, RandomLinks) and network.on_loss == "own":
        found, certificate, method = _for_expected(problem, network, target)
        rivals = _rivals(network)
    else:
        slow = isinstance(network, RandomPresence) and network.mean_absence is not None
        searched: ChangingWeights = changing_weights(
            network,
            model,
            target=target,
            effort=_SLOW_EFFORT if slow else _EFFORT,
            progress=progress,
        )
        found, certificate, method = searched.network, searched.certificate, "local search"
        remarks = (
            "the weights are the best that a local search found, from those given; the bound "
            "holds for all weights on these links",
        )
        rivals = _rivals(network)
    rows = {"as given": analyse_changing(problem, delta=request.delta)}
    for name, rival in rivals.items():
        rows[name] = analyse_changing(replace(problem, network=rival), delta=request.delta)
    designed = analyse_changing(replace(problem, network=found), delta=request.delta)
    return ChangingDesign(problem, request, target, certificate, method, designed, rows, remarks)


def _rivals(network: ChangingNetwork) -> dict[str, ChangingNetwork]:
    """The usual rules under the same changes; none for networks given phase by phase."""
    if isinstance(network, PeriodicNetwork | MarkovNetwork):
        return {}
    return {
        entry.name: replace(network, network=entry.network)
        for entry in baselines(DesignGraph.from_network(network.network))
    }


def _for_expected(
    problem: ChangingProblem, network: RandomLinks, target: int
) -> tuple[ChangingNetwork, Certificate, str]:
    """The rate's best v for E[W], and the W whose E[W] has it and mixes fastest."""
    graph = DesignGraph.from_network(network.network)
    up = {
        (int(i), int(j)): float(p)
        for (i, j), p in zip(network.network.edges, network.link_up, strict=True)
        if p > 0
    }
    constraints = Constraints(availability=up)
    influences = InfluenceSet(network.agents, constraints=constraints, graph=graph)
    best = optimal_rate(problem.model, target=target, influences=influences)
    v = best.stationary_distribution
    method = "linear program"
    if graph.is_undirected:
        try:
            weights = fastest_mixing(graph, v, constraints=constraints).network
            method += ", fastest E[W]"
        except DesignFailed:
            weights = realise(graph, v, constraints=constraints)
    else:
        weights = realise(graph, v, constraints=constraints)
    return replace(network, network=weights), best.certificate, method


def _row(analysis: ChangingAnalysis) -> dict[str, Any]:
    exponent = analysis.exponent
    return {
        "rate": number(analysis.rate.rate),
        "settles_on": ", ".join(
            analysis.problem.model.hypotheses[m] for m in analysis.rate.reference
        ),
        "total_influence": number(analysis.influence.total),
        "error_exponent": None if exponent is None else number(exponent.exponent),
        "samples": {
            "delta": analysis.samples.delta,
            "chernoff": analysis.samples.chernoff.rounds,
            "certified": None,
        },
    }


def _matrices(network: ChangingNetwork) -> list[Any]:
    if isinstance(network, PeriodicNetwork | MarkovNetwork):
        return [phase.weights for phase in network.phases]
    inner: Network = network.network
    return [inner.weights]


def _rows(weights: Any) -> Any:
    """A matrix as its positive entries: listener, speaker, weight."""
    table = sparse.coo_array(weights)
    row, column = table.coords
    return {
        "listener": np.asarray(row),
        "speaker": np.asarray(column),
        "weight": np.asarray(table.data),
    }
