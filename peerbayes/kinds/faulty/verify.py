"""Theory beside simulation, where agents are faulty: one run of the honest agents.

What is said of it is in `peerbayes.kinds.faulty.statements`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from exact import Run, Simulation, simulate
from peerbayes.comparison import Comparison
from peerbayes.documents import GraphDocument, numbers
from peerbayes.kinds.faulty.analyse import FaultyAnalysis
from peerbayes.kinds.faulty.documents import FaultyRecord, HonestRate, HonestTrajectory
from peerbayes.kinds.faulty.quantities import rule_name
from peerbayes.kinds.faulty.statements import statements
from peerbayes.kinds.shared.verified import Verified, plain_parameters
from peerbayes.problem.problems import FaultyProblem
from theory.progress import Progress

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_ROUNDS = 600
_REPLICATES = 400
_LEAST_REPLICATES = 50
# Agents' updates at most, all rules included: a few seconds on one core.
_MOST_UPDATES = 2e7
_RECORDS = 25
_PATHS = 8


@dataclass(frozen=True, eq=False)
class FaultyVerification(Verified):
    """Everything `verify` knows of one problem with faulty agents."""

    problem: FaultyProblem
    analysis: FaultyAnalysis
    run: Simulation
    comparisons: tuple[Comparison, ...]

    def plot(self, ax: Axes | None = None) -> Axes:
        """Log belief ratio of the honest agents over the rounds.

        Drawn on `ax`, or on new axes, which are returned.
        """
        from peerbayes.figures.chart import on_axes
        from peerbayes.kinds.faulty.view import honest_plot

        record = self.as_record()
        return on_axes(lambda axes: honest_plot(record, axes=axes), ax)

    def as_record(self) -> FaultyRecord:
        """What the report needs."""
        problem, analysis, simulation = self.problem, self.analysis, self.run
        names = problem.model.hypotheses
        right = sum(simulation.settled[-1, m] for m in analysis.reference)
        return FaultyRecord(
            name=problem.name,
            title=problem.title,
            family=problem.family,
            parameters=plain_parameters(problem.parameters),
            analysis=analysis.document(),
            graph=GraphDocument.of(problem.network, marked=list(problem.faults.behaviours)),
            rule=rule_name(problem),
            rounds=simulation.rounds.tolist(),
            trajectories={
                names[m]: HonestTrajectory(
                    lowest=numbers(simulation.mean[:, :, m].min(axis=1)),
                    mean=numbers(simulation.network_mean[:, m]),
                    highest=numbers(simulation.mean[:, :, m].max(axis=1)),
                )
                for m in analysis.wrong
            },
            rates=[self._rate(m) for m in analysis.wrong],
            settled=float(right) / (simulation.replicates * simulation.watched.size),
            replicates=simulation.replicates,
            discarded=int(simulation.discarded.sum()),
            comparisons=list(self.comparisons),
        )

    def _rate(self, hypothesis: int) -> HonestRate:
        """The rate of rejecting one hypothesis at the last round."""
        simulation, m = self.run, hypothesis
        guaranteed, averaging = self.analysis.guaranteed, self.analysis.averaging
        n = float(simulation.rounds[-1])
        rates, errors = simulation.mean[-1, :, m] / n, simulation.standard_error[-1, :, m] / n
        return HonestRate(
            hypothesis=self.problem.model.hypotheses[m],
            faultless=float(self.analysis.faultless.rates[m]),
            averaging=None if averaging is None else float(averaging.rates[:, m].min()),
            guaranteed=None if guaranteed is None else float(guaranteed[m]),
            lowest=float(rates.min()),
            mean=float(rates.mean()),
            standard_error=float(errors.max()),
        )


def verify_faulty(
    problem: FaultyProblem, *, seed: int, progress: Progress | None = None
) -> FaultyVerification:
    """Run the honest agents among the faulty ones, and compare them with the predictions."""
    agents, every = problem.network.agents, problem.faults.pool_every
    rounds = -(-_ROUNDS // every) * every
    affordable = int(_MOST_UPDATES / (rounds * agents))
    record = {max(1, round(n / every)) * every for n in np.linspace(1, rounds, _RECORDS)}
    options = Run(
        rounds=rounds,
        replicates=int(np.clip(affordable, _LEAST_REPLICATES, _REPLICATES)),
        seed=seed,
        record=sorted(record),
        paths=_PATHS,
        progress=progress,
    )
    run = simulate(problem.network, problem.model, faults=problem.faults, run=options)
    analysis = FaultyAnalysis(problem)
    return FaultyVerification(problem, analysis, run, tuple(statements(analysis, run)))
