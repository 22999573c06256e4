"""What the page says of finitely many hypotheses: what a network settles on, and simulations.

The record of a simulation holds no prediction, only what was measured.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from peerbayes.figures.curves import measured_plot
from peerbayes.figures.views import Fact, Section, Table, pictures
from peerbayes.figures.wording import count, listed, number, percentage
from peerbayes.kinds.shared.social_learning import SimulationRecord
from peerbayes.quantities.learning import reference_of


def simulation_view(body: object, *, key: str) -> Section:
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
    rows = tuple(
        (name, (number(_each(mean, rounds), 5), number(_each(error, rounds), 2)))
        for name, mean, error in measured
        if name in result.rates
    )
    interval = f"{number(chance.lower, 3)} to {number(chance.upper, 3)}"
    wrong = f"{percentage(chance.estimate)} of runs"
    reference = listed(result.reference, joint="or")
    return Section(
        key=key,
        name=result.problem,
        heading=f"{result.problem}, simulated",
        title=record.title,
        finding=f"At round {count(rounds)} some agent is wrong in {wrong}; right is {reference}.",
        facts=(
            Fact("Rounds", count(rounds)),
            Fact("Runs", count(result.replicates), f"seed {result.seed}"),
            Fact("Reference", reference),
            Fact(
                "Some agent is wrong", wrong, f"{percentage(chance.confidence)} interval {interval}"
            ),
        ),
        pictures=pictures([measured_plot(trajectory, reference=result.reference[0])], key),
        tables=(
            Table.of(
                f"Measured: rate, {result.problem}",
                "hypothesis",
                ("rate [nats/round]", "± s.e."),
                rows,
            ),
        ),
        notes=tuple(result.notes),
    )


def _each(value: float | None, rounds: int) -> float | None:
    """A sum of so many rounds by round."""
    return None if value is None else value / rounds


def settles(learning: Any, settled: Mapping[str, float]) -> str:
    """What the network settles on, and how much of it did: `settled` is the share of each."""
    reference = reference_of(learning)
    if not learning.rates:
        return f"Every hypothesis is optimal, {listed(reference)}: there is nothing to reject."
    if learning.compromise is None:
        words = f"The network settles on {listed(reference, joint='or')}, best for every agent."
    else:
        words = (
            "No hypothesis is best for every agent (Θ* is empty): the network settles on the "
            f"compromise {listed(reference, joint='or')}, which minimises the v-weighted "
            "divergence."
        )
    share = sum(settled.get(name, 0.0) for name in reference)
    words += f" At the last round {percentage(share)} of all agents in all runs hold it"
    others = sorted(
        ((value, name) for name, value in settled.items() if name not in reference and value),
        reverse=True,
    )
    if others:
        words += f"; {percentage(others[0][0])} hold “{others[0][1]}”"
    return words + "."
