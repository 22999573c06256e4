"""`peerbayes simulate` where hypotheses are finitely many: what a run of the algorithm came to.

The JSON keys are those of the stable contract (docs: reference/json).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field
from rich.console import RenderableType
from rich.text import Text

from exact import Simulation
from exact.statistics import Proportion
from peerbayes.documents import Document, Number, PerAgent, Probability, Rounds, numbers
from peerbayes.learning_documents import MeasuredDocument, settled_shares
from peerbayes.problem.problems import FiniteProblem
from peerbayes.quantities.quantity import NOTE, Quantity, Table, part
from peerbayes.quantities.result import Result
from peerbayes.quantities.showing import facts
from peerbayes.tables import facts_table, figures_table, notes_text, number

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Natural = Annotated[int, Field(ge=0)]


# What is said of it -----------------------------------------------------------------------------


def _chance(value: Any, _: Any) -> str:
    """A probability with its interval."""
    return (
        f"{number(value.estimate)}, with {100 * value.confidence:g} % "
        f"confidence {number(value.lower)} to {number(value.upper)}"
    )


MEASURED_RATE = Table(
    "MeasuredRate",
    "A measured rate, agent by agent.",
    (
        Quantity("mean", PerAgent, get=lambda rate: rate[0], unit="nats a round"),
        Quantity(
            "standard_error",
            PerAgent,
            "null of one replicate",
            get=lambda rate: rate[1],
            unit="nats a round",
        ),
    ),
    kind="measured",
)
ERROR_PROBABILITY = Table(
    "ErrorProbabilityDocument",
    "How often some agent settled outside the reference, with its Clopper-Pearson interval.",
    (
        Quantity("estimate", Probability, short="error probability"),
        Quantity("lower", Probability),
        Quantity("upper", Probability),
        Quantity("confidence", Probability, kind="given"),
    ),
    kind="measured",
)
SENT = Table(
    "SentDocument",
    "What was sent where beliefs are compressed, over all rounds and replicates.",
    (
        Quantity(
            "bytes_per_round",
            Number,
            "of all links, in the mean; null without levels",
            label="bytes a round",
            short="bytes a round",
        ),
        Quantity("bytes_standard_error", Number, "of bytes_per_round", older=None),
        Quantity(
            "messages",
            Natural,
            "each counted once, however many agents hear it",
            get=lambda sent: int(sent.sent.sum()),
        ),
        Quantity(
            "entropy",
            Number,
            "of one number that was sent, in bits: an estimate",
            label="  bits a number, by entropy",
        ),
        Quantity(
            "largest_error",
            Number,
            "of a replica after a round, in nats",
            label="replica off by at most",
            unit="nats",
        ),
        Quantity(
            "largest_deviation",
            Number,
            "of a log-ratio from the run without compression, in nats",
            label="log-ratio moved by at most",
            unit="nats",
        ),
    ),
    kind="measured",
)
SIMULATION_RESULT = Table(
    "SimulationResult",
    "What a simulation measured at its last round.",
    (
        Quantity("problem", str, get=lambda summary: summary.problem.name),
        Quantity(
            "rounds",
            Rounds,
            get=lambda summary: summary.simulation.rates.rounds,
            label="rounds, replicates, seed",
            words=lambda value, d: f"{value}, {d.replicates}, {d.seed}",
            short="rounds",
        ),
        Quantity(
            "replicates",
            Annotated[int, Field(ge=1)],
            get=attrgetter("simulation.replicates"),
            short="replicates",
        ),
        Quantity("seed", Natural, get=attrgetter("simulation.seed"), short="seed"),
        Quantity(
            "reference",
            Annotated[list[str], Field(min_length=1)],
            "optimal hypotheses, or the network compromise",
            label="reference",
            words=lambda value, _: ", ".join(value),
            short="reference",
        ),
        Quantity(
            "rates",
            MEASURED_RATE.by_name,
            "log belief(first reference) / belief(hypothesis) per round",
        ),
        part(
            "error_probability",
            ERROR_PROBABILITY,
            lambda summary: summary.error_probability,
            label="some agent is wrong",
            words=_chance,
        ),
        Quantity(
            "settled",
            dict[str, Probability],
            "share of agents and replicates that settle on each hypothesis",
            get=lambda summary: settled_shares(summary.simulation),
            kind="measured",
        ),
        part(
            "messages",
            SENT,
            lambda summary: summary.simulation.messages,
            meaning="where they are compressed",
            optional=True,
        ),
        Quantity("notes", list[str], label=NOTE),
    ),
)
SIMULATION = Table(
    "SimulationDocument",
    "What `simulate` prints.",
    (
        *SIMULATION_RESULT.quantities,
        Quantity(
            "record",
            str | None,
            "where it is on disk; null if it left none",
            get=lambda summary: summary.record_path,
            label="record",
            words=lambda value, _: value,
            short="record",
        ),
    ),
)


class SimulationRecord(Document):
    """What `simulate` leaves on disk; it does not say where it is, so that it can be moved."""

    title: str
    specification: dict[str, Any] | None = Field(description="the problem's file")
    result: Annotated[Any, SIMULATION_RESULT]
    trajectory: MeasuredDocument


# The result -------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class SimulationSummary(Result):
    """A simulation, of which problem, and where its record is (None if it left none)."""

    problem: FiniteProblem
    simulation: Simulation
    record_path: Path | None = None

    quantities = SIMULATION

    @property
    def reference(self) -> tuple[str, ...]:
        """Optimal hypotheses, or the network compromise."""
        return tuple(self.simulation.hypotheses[m] for m in self.simulation.reference)

    @property
    def rates(self) -> dict[str, Any]:
        """The rate of rejecting each other hypothesis, agent by agent, at the last round."""
        run, rates = self.simulation, self.simulation.rates
        return {
            name: MEASURED_RATE((rates.mean[:, m], rates.standard_error[:, m]))
            for m, name in enumerate(run.hypotheses)
            if m != run.best
        }

    @cached_property
    def error_probability(self) -> Proportion:
        """How often some agent settled outside the reference."""
        return self.simulation.error_probability()

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

    def plot(self, ax: Axes | None = None) -> Axes:
        """Log belief ratios over the rounds, averaged over agents.

        Drawn on `ax`, or on new axes, which are returned.
        """
        from peerbayes.figures.chart import on_axes
        from peerbayes.figures.curves import measured_plot

        record = self.as_record()
        reference = record.result.reference[0]
        return on_axes(
            lambda axes: measured_plot(record.trajectory, reference=reference, axes=axes), ax
        )

    def tables(self) -> list[RenderableType]:
        """Terminal tables of this result."""
        document = self.document()
        columns = ("hypothesis", "mean", "lowest", "highest", "standard error")
        table = figures_table("Measured rates of rejection over agents, nats a round", *columns)
        for name, rate in document.rates.items():
            mean = [value for value in rate.mean if value is not None]
            errors = [error for error in rate.standard_error if error is not None]
            row = (sum(mean) / len(mean), min(mean), max(mean), max(errors, default=None))
            table.add_row(Text(name), *map(number, row))
        shown = facts_table(document.problem, facts(self.table, document))
        return [shown, Text(), table, notes_text(document.notes)]

    def as_record(self) -> SimulationRecord:
        """What is left on disk: the result, the problem's file, and the mean trajectory."""
        run, specification = self.simulation, self.problem.specification
        return SimulationRecord(
            title=self.problem.title,
            specification=None if specification is None else specification.document(),
            result=SIMULATION_RESULT.document(self),
            trajectory=MeasuredDocument(
                rounds=run.rounds.tolist(),
                hypotheses=list(run.hypotheses),
                network_mean=[numbers(row) for row in run.network_mean],
                network_standard_error=[numbers(row) for row in run.network_standard_error],
                errors=run.errors.tolist(),
            ),
        )
