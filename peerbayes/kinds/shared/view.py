"""What the page says of problems of every kind, and of finitely many hypotheses.

Everything is made from a record's plain numbers; nothing is computed anew. The first picture stands
beside the answer. The record of a simulation holds no prediction, only what was measured.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from peerbayes.figures.chart import Plot
from peerbayes.figures.curves import failures_plot, measured_plot, rates_plot, trajectory_plot
from peerbayes.figures.graph import network_plot, not_drawn
from peerbayes.figures.views import Fact, Section, Table, pictures, statements
from peerbayes.figures.wording import count, listed, number, percentage
from peerbayes.kinds.shared.simulate import SimulationSummary
from peerbayes.quantities.learning import reference_of


def verified_section(
    record: Any, plots: Sequence[Plot | None], *, key: str, finding: str, facts: Sequence[Fact]
) -> Section:
    """A verified problem of any kind: its answer and key numbers, `plots`, and its network."""
    return Section(
        key=key,
        name=record.name,
        title=record.title,
        family=record.family,
        finding=finding,
        facts=tuple(facts),
        pictures=pictures([*plots, network_plot(record.graph)], key),
        statements=statements(record.comparisons),
        notes=(*not_drawn(record.graph), *record.analysis.notes),
    )


def learning_plots(record: Any, ladder: Plot | None = None) -> list[Plot | None]:
    """The figures of a verified problem with something to reject."""
    if not record.rates:
        return []
    plots: list[Plot | None] = [
        trajectory_plot(record.trajectory),
        rates_plot(record.rates, replicates=record.replicates),
        *([] if ladder is None else [ladder]),
    ]
    if record.failures is not None:
        plots.append(failures_plot(record.failures, delta=record.analysis.samples.delta))
    return plots


def simulated_section(
    record: Any, picture: Plot, table: Table, *, key: str, finding: str, facts: Sequence[Fact]
) -> Section:
    """A simulation of any kind of problem: its answer, and the table of what was measured."""
    result = record.result
    return Section(
        key=key,
        name=result.problem,
        heading=f"{result.problem}, simulated",
        title=record.title,
        finding=finding,
        facts=(
            Fact("Rounds", count(result.rounds)),
            Fact("Runs", count(result.replicates), f"seed {result.seed}"),
            *facts,
        ),
        pictures=pictures([picture], key),
        tables=(table,),
        notes=tuple(result.notes),
    )


def simulation_view(body: object, *, key: str) -> Section:
    """Everything the page says of one simulation: `body` is that of its record."""
    record = SimulationSummary.record.read(body)
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
    columns = ("rate [nats/round]", "± s.e.")
    return simulated_section(
        record,
        measured_plot(trajectory, reference=result.reference[0]),
        Table.of(f"Measured: rate, {result.problem}", "hypothesis", columns, rows),
        key=key,
        finding=f"At round {count(rounds)} some agent is wrong in {wrong}; right is {reference}.",
        facts=(
            Fact("Reference", reference),
            Fact(
                "Some agent is wrong", wrong, f"{percentage(chance.confidence)} interval {interval}"
            ),
        ),
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
