"""Pieces of the documents of social learning: what theory predicts, and what figures draw.

They are shared by every kind of problem with finitely many hypotheses. Rates and exponents are in
nats a round.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Self

import numpy as np
from pydantic import Field

from peerbayes.documents import (
    Document,
    Number,
    Numbers,
    Probability,
    Rounds,
    number,
    numbers,
)
from theory.validation import FloatArray

if TYPE_CHECKING:
    from exact import Simulation

Names = list[str]


def settled_shares(run: Simulation) -> dict[str, float]:
    """The share of agents and replicates that settle on each hypothesis at the last round."""
    pairs = run.replicates * run.mean.shape[1]
    shares = (run.settled[-1] / pairs).tolist()
    return dict(zip(run.hypotheses, shares, strict=True))


class RateDocument(Document):
    """The rate of rejecting one hypothesis: its limit, its exact mean, and its measured mean."""

    hypothesis: str
    limit: float = Field(description="as rounds grow")
    predicted: float = Field(description="exact mean at the last round")
    measured: float
    standard_error: Number

    @classmethod
    def of(cls, run: Simulation, hypothesis: int, *, limit: float, expected: float) -> Self:
        """The rate at the last round of a run, averaged over agents.

        `expected` is the exact mean of the log belief ratio there, in nats.
        """
        rounds = float(run.rounds[-1])
        return cls(
            hypothesis=run.hypotheses[hypothesis],
            limit=limit,
            predicted=expected / rounds,
            measured=float(run.network_mean[-1, hypothesis]) / rounds,
            standard_error=number(float(run.network_standard_error[-1, hypothesis]) / rounds),
        )


class TrajectoryDocument(Document):
    """Log belief ratio of one hypothesis over the rounds: predicted and measured, in nats."""

    hypothesis: str
    reference: str = Field(description="the hypothesis that it is compared with")
    rounds: list[Rounds]
    rate: float = Field(description="limit of the ratio by rounds")
    expected: Numbers = Field(description="exact mean at each recorded round")
    mean: Numbers
    standard_error: Numbers
    paths: list[Numbers] = Field(description="single runs of single agents")

    @classmethod
    def of(
        cls,
        run: Simulation,
        hypothesis: int,
        *,
        rate: float,
        expected: FloatArray,
        agents: Iterable[int],
    ) -> Self:
        """The trajectory of a run, averaged over agents, with the paths of some of them.

        `expected` are its exact means, shape (T,).
        """
        return cls(
            hypothesis=run.hypotheses[hypothesis],
            reference=run.hypotheses[run.best],
            rounds=run.rounds.tolist(),
            rate=rate,
            expected=numbers(expected),
            mean=numbers(run.network_mean[:, hypothesis]),
            standard_error=numbers(run.network_standard_error[:, hypothesis]),
            paths=[
                [float(f"{x:.5g}") for x in path[:, agent, hypothesis]]
                for path in run.paths
                for agent in agents
            ],
        )


class FailuresDocument(Document):
    """How often some agent was wrong, round by round."""

    left_out = frozenset({"bound"})

    rounds: list[Rounds]
    frequency: list[Probability] = Field(description="share of the replicates")
    bound: Numbers | None = Field(
        default=None, description="smallest rigorous bound on the probability"
    )
    replicates: int = Field(ge=1)
    measured_rounds: Rounds | None = Field(
        description="from here on at most a share delta failed; null: the run was too short"
    )

    @classmethod
    def of(cls, run: Simulation, *, delta: float, bound: list[float | None] | None = None) -> Self:
        """The failures of a run, with a bound on the probability at each recorded round."""
        frequency = run.errors / run.replicates
        too_many = np.flatnonzero(frequency > delta)
        first = int(too_many[-1]) + 1 if too_many.size else 0
        return cls(
            rounds=run.rounds.tolist(),
            frequency=frequency.tolist(),
            bound=bound,
            replicates=run.replicates,
            measured_rounds=int(run.rounds[first]) if first < len(run.errors) else None,
        )


class MeasuredDocument(Document):
    """Mean trajectory of a simulation: log belief ratios of all hypotheses, by round."""

    rounds: list[Rounds]
    hypotheses: Names
    network_mean: list[Numbers] = Field(description="round by hypothesis, in nats")
    network_standard_error: list[Numbers]
    errors: list[int] = Field(description="replicates in which some agent is wrong, by round")
