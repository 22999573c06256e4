"""`peerbayes simulate`: what a run came to, of every kind of problem, and of social learning.

The JSON keys are those of the stable contract (docs: reference/json).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field
from rich.console import RenderableType
from rich.text import Text

from exact import prepare
from exact.statistics import Proportion
from peerbayes.documents import Natural, Number, PerAgent, Probability, Rounds
from peerbayes.kinds.shared.analyse import NOTES, PROBLEM, TITLE, Recorded, form_of
from peerbayes.measured import MeasuredDocument, settled_shares
from peerbayes.problem.problems import FiniteProblem
from peerbayes.quantities.quantity import Quantity, Table, entries, entry
from peerbayes.quantities.showing import Result, around
from peerbayes.tables import figures_table, number

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from exact import Run


# Of every kind ----------------------------------------------------------------------------------


def measured_run(name: str, meaning: str, **measured: Quantity) -> Table:
    """The table of what a simulation measured at its last round."""
    return Table(
        name,
        meaning,
        entries(
            problem=PROBLEM,
            rounds=entry(
                Rounds,
                get=lambda found: int(found.simulation.rounds[-1]),
                label="rounds, replicates, seed",
                words=lambda value, d: f"{value}, {d.replicates}, {d.seed}",
                short="rounds",
            ),
            replicates=entry(Rounds, get="simulation.replicates", short="replicates"),
            seed=entry(Natural, get="simulation.seed", short="seed"),
            **measured,
            notes=NOTES,
        ),
    )


def printed_run(name: str, meaning: str, result: Table) -> Table:
    """The table of what `simulate` prints."""
    record = Quantity(
        "record",
        str | None,
        "where it is on disk; null if it left none",
        get="record_path",
        label="record",
        words=lambda value, _: value,
        short="record",
    )
    return replace(result, name=name, meaning=meaning, quantities=(*result.quantities, record))


def recorded_run(name: str, result: Table, form: str | None = None, **drawn: Quantity) -> Table:
    """The table of what `simulate` leaves on disk; it does not say where, so that it can be moved.

    `drawn` is what its figures show; `form` names the kind of problem where it is not of finitely
    many hypotheses.
    """
    return Table(
        name,
        "What `simulate` leaves on disk.",
        entries(
            form=form_of(form),
            title=TITLE,
            specification=entry(
                dict[str, Any] | None,
                "the problem's file",
                get=lambda found: (
                    found.problem.specification and found.problem.specification.document()
                ),
            ),
            result=entry(result, get=lambda found: found),
            **drawn,
        ),
    )


@dataclass(frozen=True, eq=False)
class Simulated(Recorded, Result):
    """Base of simulations: of which problem, and where the record is (None if it left none)."""

    problem: Any
    simulation: Any
    record_path: Path | None = None


# Of social learning -----------------------------------------------------------------------------


def _chance(value: Any, _: Any) -> str:
    """A probability with its interval."""
    return (
        f"{number(value.estimate)}, with {100 * value.confidence:g} % "
        f"confidence {number(value.lower)} to {number(value.upper)}"
    )


MEASURED_RATE = Table(
    "MeasuredRate",
    "A measured rate, agent by agent.",
    entries(
        mean=entry(PerAgent, get=lambda rate: rate[0], unit="nats a round"),
        standard_error=entry(
            PerAgent, "null of one replicate", get=lambda rate: rate[1], unit="nats a round"
        ),
    ),
    kind="measured",
)
ERROR_PROBABILITY = Table(
    "ErrorProbabilityDocument",
    "How often some agent settled outside the reference, with its Clopper-Pearson interval.",
    entries(
        estimate=entry(Probability, short="error probability"),
        lower=entry(Probability),
        upper=entry(Probability),
        confidence=entry(Probability, kind="given"),
    ),
    kind="measured",
)
SENT = Table(
    "SentDocument",
    "What was sent where beliefs are compressed, over all rounds and replicates.",
    entries(
        bytes_per_round=entry(
            Number,
            "of all links, in the mean; null without levels",
            label="bytes a round",
            short="bytes a round",
        ),
        bytes_standard_error=entry(Number, "of bytes_per_round", older=None),
        messages=entry(
            Natural,
            "each counted once, however many agents hear it",
            get=lambda sent: int(sent.sent.sum()),
        ),
        entropy=entry(
            Number,
            "of one number that was sent, in bits: an estimate",
            label="  bits a number, by entropy",
        ),
        largest_error=entry(
            Number,
            "of a replica after a round, in nats",
            label="replica off by at most",
            unit="nats",
        ),
        largest_deviation=entry(
            Number,
            "of a log-ratio from the run without compression, in nats",
            label="log-ratio moved by at most",
            unit="nats",
        ),
    ),
    kind="measured",
)
SIMULATION_RESULT = measured_run(
    "SimulationResult",
    "What a simulation measured at its last round.",
    reference=entry(
        Annotated[list[str], Field(min_length=1)],
        "optimal hypotheses, or the network compromise",
        label="reference",
        words=lambda value, _: ", ".join(value),
        short="reference",
    ),
    rates=entry(
        MEASURED_RATE.by_name, "log belief(first reference) / belief(hypothesis) per round"
    ),
    error_probability=entry(ERROR_PROBABILITY, label="some agent is wrong", words=_chance),
    settled=entry(
        dict[str, Probability],
        "share of agents and replicates that settle on each hypothesis",
        get=lambda summary: settled_shares(summary.simulation),
        kind="measured",
    ),
    messages=entry(
        SENT, get="simulation.messages", meaning="where they are compressed", optional=True
    ),
)


SIMULATION = printed_run("SimulationDocument", "What `simulate` prints.", SIMULATION_RESULT)


@dataclass(frozen=True, eq=False)
class SimulationSummary(Simulated):
    """What a run of the algorithm came to, where hypotheses are finitely many."""

    quantities = SIMULATION
    record = recorded_run("SimulationRecord", SIMULATION_RESULT, trajectory=entry(MeasuredDocument))

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
        found: Proportion = self.simulation.error_probability()
        return found

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

    @property
    def trajectory(self) -> MeasuredDocument:
        """The mean log belief ratios over the rounds."""
        return MeasuredDocument.taken_from(self.simulation)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Log belief ratios over the rounds, averaged over agents.

        Drawn on `ax`, or on new axes, which are returned.
        """
        from peerbayes.figures.chart import on_axes
        from peerbayes.figures.curves import measured_plot

        first = self.reference[0]
        return on_axes(lambda axes: measured_plot(self.trajectory, reference=first, axes=axes), ax)

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
        return around(self.table, document, table)


def prepared(problem: FiniteProblem, run: Run) -> Any:
    """The exact algorithm on drawn observations, many times over: ready to run."""
    return prepare(
        problem.network, problem.model, faults=problem.faults, messages=problem.messages, run=run
    )
