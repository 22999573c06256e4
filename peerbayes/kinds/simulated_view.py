"""What the page says of a simulation: no prediction is in its record, only what was measured."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from peerbayes.figures.curves import measured_plot
from peerbayes.figures.views import Fact, Picture, picture
from peerbayes.figures.wording import DASH, count, listed, number, percentage


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


def simulation_view(body: Mapping[str, Any], *, key: str) -> SimulationView:
    """Everything the page says of one simulation."""
    result, trajectory = body["result"], body["trajectory"]
    chance, rounds = result["error_probability"], result["rounds"]
    measured = zip(
        trajectory["hypotheses"],
        trajectory["network_mean"][-1],
        trajectory["network_standard_error"][-1],
        strict=True,
    )
    rates = tuple(
        (name, number(mean / rounds, 5), DASH if error is None else number(error / rounds, 2))
        for name, mean, error in measured
        if name in result["rates"]
    )
    interval = f"{number(chance['lower'], 3)} to {number(chance['upper'], 3)}"
    return SimulationView(
        key=key,
        name=result["problem"],
        title=body["title"],
        facts=(
            Fact("Rounds", count(rounds)),
            Fact("Runs", count(result["replicates"]), f"seed {result['seed']}"),
            Fact("Reference", listed(result["reference"], joint="or")),
            Fact(
                "Some agent is wrong",
                f"{percentage(chance['estimate'])} of runs",
                f"{percentage(chance['confidence'])} interval {interval}",
            ),
        ),
        picture=picture(measured_plot(trajectory, reference=result["reference"][0]), f"{key}-0"),
        rates=rates,
        notes=tuple(result["notes"]),
    )
