"""Theory beside simulation, for a network that changes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from peerbayes.comparison import Comparison
from peerbayes.documents import GraphDocument
from peerbayes.kinds.changing.analyse import ChangingAnalysis, analyse_changing
from peerbayes.kinds.changing.documents import ChangingRecord
from peerbayes.kinds.changing.runs import Measurement, measure
from peerbayes.kinds.changing.statements import statements
from peerbayes.kinds.shared.verified import Verified, plain_parameters
from peerbayes.learning_documents import (
    FailuresDocument,
    RateDocument,
    TrajectoryDocument,
    settled_shares,
)
from peerbayes.problem.changing import ChangingProblem
from theory.changing import ChangingNetwork, MarkovNetwork, PeriodicNetwork
from theory.changing.phase import weighted_sum
from theory.progress import Progress
from theory.validation import FloatArray


@dataclass(frozen=True, eq=False)
class ChangingVerification(Verified):
    """Everything `verify` knows of one problem on a network that changes."""

    measured: Measurement
    comparisons: tuple[Comparison, ...]

    @property
    def problem(self) -> ChangingProblem:
        """What was verified."""
        return self.measured.problem

    @property
    def analysis(self) -> ChangingAnalysis:
        """What theory predicts of it."""
        return self.measured.analysis

    def as_record(self) -> ChangingRecord:
        """What the report needs."""
        problem, analysis, measured = self.problem, self.analysis, self.measured
        expected, limits = measured.expected.mean(axis=1), analysis.rate.rates
        shown, agents = measured.wrong[:1], problem.network.agents
        failures = measured.failures
        return ChangingRecord(
            name=problem.name,
            title=problem.title,
            family=problem.family,
            parameters=plain_parameters(problem.parameters),
            analysis=analysis.document(),
            graph=_graph(problem.network, analysis.influence.values),
            trajectory=None
            if not shown
            else TrajectoryDocument.of(
                measured.rates,
                shown[0],
                rate=float(limits[shown[0]]),
                expected=expected[:, shown[0]],
                agents=sorted({0, agents // 2, agents - 1}),
            ),
            rates=[
                RateDocument.of(
                    measured.rates, m, limit=float(limits[m]), expected=float(expected[-1, m])
                )
                for m in measured.wrong
            ],
            replicates=measured.rates.replicates,
            settled=settled_shares(measured.rates),
            failures=None
            if failures is None
            else FailuresDocument.of(failures, delta=analysis.samples.delta),
            comparisons=list(self.comparisons),
        )


def verify_changing(
    problem: ChangingProblem, *, seed: int, delta: float = 0.05, progress: Progress | None = None
) -> ChangingVerification:
    """Run the exact algorithm on a network that changes, and lay it beside the predictions.

    Raises
    ------
    ValueError
        If `delta` is not in (0, 1).
    """
    measured = measure(analyse_changing(problem, delta=delta), seed=seed, progress=progress)
    return ChangingVerification(measured, statements(measured))


def _graph(network: ChangingNetwork, shares: FloatArray) -> GraphDocument:
    """Who ever hears whom, with the mean weight, for the report's drawing."""
    if isinstance(network, PeriodicNetwork | MarkovNetwork):
        mean = weighted_sum(network.phases, np.full(len(network.phases), 1 / len(network.phases)))
    else:
        mean = sparse.csr_array(network.network.weights)
    links = sparse.coo_array(mean)
    row, column = links.coords
    off = row != column
    total = float(shares.sum())
    return GraphDocument(
        edges=np.column_stack([row[off], column[off]]).tolist(),
        weights=links.data[off].tolist(),
        positions=None if network.layout is None else network.layout.tolist(),
        stationary_distribution=(shares / total).tolist(),
        quantity="each agent's share of all influence",
    )
