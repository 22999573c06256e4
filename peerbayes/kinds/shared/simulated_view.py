"""What the page says of a simulation: no prediction is in its record, only what was measured."""

from __future__ import annotations

from dataclasses import dataclass

from peerbayes.figures.curves import measured_plot
from peerbayes.figures.views import Fact, Picture, picture
from peerbayes.figures.wording import count, listed, number, percentage
from peerbayes.learning_documents import SimulationRecord


@dataclass(frozen=True)
class SimulationView:
    """One ``simulate`` record."""

    key: str
    name: str
    title: str
    facts: tuple[Fact, ...]
    picture: Picture
    rates: tuple[tuple[str, str, str], ...]  # hypothesis, rate, standard error
    notes: tuple[str, ...]
    row: str = "hypothesis"
    quantity: str = "rate [nats/round]"


def simulation_view(body: object, *, key: str) -> SimulationView:
    """Everything the page says of one simulation: `body` is that of its record."""
    record = SimulationRecord.model_validate(body)
    result, trajectory = record.result, record.trajectory
    chance, rounds = result.error_probability, result.rounds
    measured = zip(
        trajectory.hypotheses,
        trajectory.network_mean[-1],
        trajectory.network_standard_error[-1],
        strict=True,
    )
    rates = tuple(
        (name, number(_each(mean, rounds), 5), number(_each(error, rounds), 2))
        for name, mean, error in measured
        if name in result.rates
    )
    interval = f"{number(chance.lower, 3)} to {number(chance.upper, 3)}"
    return SimulationView(
        key=key,
        name=result.problem,
        title=record.title,
        facts=(
            Fact("Rounds", count(rounds)),
            Fact("Runs", count(result.replicates), f"seed {result.seed}"),
            Fact("Reference", listed(result.reference, joint="or")),
            Fact(
                "Some agent is wrong",
                f"{percentage(chance.estimate)} of runs",
                f"{percentage(chance.confidence)} interval {interval}",
            ),
        ),
        picture=picture(measured_plot(trajectory, reference=result.reference[0]), f"{key}-0"),
        rates=rates,
        notes=tuple(result.notes),
    )


def _each(value: float | None, rounds: int) -> float | None:
    """A sum of so many rounds by round."""
    return None if value is None else value / rounds
