"""`peerbayes simulate` where hypotheses are finitely many: what a run of the algorithm came to.

The JSON keys are those of the stable contract (docs: reference/json).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import RenderableType

from exact import Simulation
from peerbayes.documents import Documented, numbers
from peerbayes.kinds.shared.learning_tables import simulation_parts
from peerbayes.learning_documents import (
    ErrorProbabilityDocument,
    MeasuredDocument,
    MeasuredRate,
    SentDocument,
    SimulationDocument,
    SimulationRecord,
    SimulationResult,
    settled_shares,
)
from peerbayes.problem.problems import FiniteProblem

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True, eq=False)
class SimulationSummary(Documented):
    """A simulation, of which problem, and where its record is (None if it left none)."""

    problem: FiniteProblem
    simulation: Simulation
    record_path: Path | None = None

    def _facts(self) -> Iterator[tuple[str, object]]:
        run = self.simulation
        names, chance = run.hypotheses, run.error_probability()
        yield "rounds", int(run.rounds[-1])
        yield "replicates", run.replicates
        yield "seed", run.seed
        yield "reference", tuple(names[m] for m in run.reference)
        means = run.network_mean[-1] / float(run.rounds[-1])
        yield "rates", {name: means[m] for m, name in enumerate(names) if m != run.best}
        yield "error probability", chance.estimate
        yield "its interval", (chance.lower, chance.upper)
        if run.messages is not None:
            yield "bytes a round", run.messages.bytes_per_round
        if self.record_path is not None:
            yield "record", str(self.record_path)

    @property
    def notes(self) -> list[str]:
        """Why a number is missing or needs a word, one sentence each."""
        run = self.simulation
        best = run.hypotheses[run.best]
        notes = [f"rates are those of log belief({best}) / belief(hypothesis), in nats per round"]
        if run.replicates == 1:
            notes.append("one replicate cannot show a spread: standard errors are null")
        if not self.problem.model.optimal_hypotheses:
            notes.append(
                "no hypothesis is best for every agent: an error is to settle on another "
                "hypothesis than the network compromise"
            )
        return notes

    def document(self) -> SimulationDocument:
        """What `simulate` prints; rates are measured at the last round."""
        record = None if self.record_path is None else str(self.record_path)
        return SimulationDocument(**dict(self._result()), record=record)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Log belief ratios over the rounds, averaged over agents.

        Drawn on `ax`, or on new axes, which are returned.
        """
        from peerbayes.figures.curves import measured_plot
        from peerbayes.figures.own_axes import on_axes

        record = self.as_record()
        reference = record.result.reference[0]
        return on_axes(
            lambda axes: measured_plot(record.trajectory, reference=reference, axes=axes), ax
        )

    def tables(self) -> list[RenderableType]:
        """The same for people."""
        return simulation_parts(self.document())

    def as_record(self) -> SimulationRecord:
        """What is left on disk: the result, the problem's file, and the mean trajectory."""
        run, specification = self.simulation, self.problem.specification
        return SimulationRecord(
            title=self.problem.title,
            specification=None if specification is None else specification.document(),
            result=self._result(),
            trajectory=MeasuredDocument(
                rounds=run.rounds.tolist(),
                hypotheses=list(run.hypotheses),
                network_mean=[numbers(row) for row in run.network_mean],
                network_standard_error=[numbers(row) for row in run.network_standard_error],
                errors=run.errors.tolist(),
            ),
        )

    def _result(self) -> SimulationResult:
        run, rates = self.simulation, self.simulation.rates
        chance = run.error_probability()
        return SimulationResult(
            problem=self.problem.name,
            rounds=rates.rounds,
            replicates=run.replicates,
            seed=run.seed,
            reference=[run.hypotheses[m] for m in run.reference],
            rates={
                name: MeasuredRate(
                    mean=numbers(rates.mean[:, m]),
                    standard_error=numbers(rates.standard_error[:, m]),
                )
                for m, name in enumerate(run.hypotheses)
                if m != run.best
            },
            error_probability=ErrorProbabilityDocument(
                estimate=chance.estimate,
                lower=chance.lower,
                upper=chance.upper,
                confidence=chance.confidence,
            ),
            settled=settled_shares(run),
            messages=SentDocument.of(run.messages),
            notes=self.notes,
        )
