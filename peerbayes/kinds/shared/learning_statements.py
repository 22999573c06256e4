"""Statements on runs of social learning that are the same on every network."""

from __future__ import annotations

import numpy as np

from exact import Simulation
from peerbayes.comparison import Comparison, equal_in_mean, frequency_at_most
from theory import LearningRate, SampleSize


def wrong_hypotheses(rate: LearningRate) -> list[int]:
    """The hypotheses outside the reference set, slowest first."""
    outside = [m for m in range(len(rate.rates)) if m not in rate.reference]
    return sorted(outside, key=lambda m: float(rate.rates[m]))


def rate_statement(
    problem: str, run: Simulation, hypothesis: int, *, expected: float, allowed: float, limit: float
) -> Comparison:
    """The measured rate of rejecting a hypothesis at the last round has its exact mean.

    Parameters
    ----------
    expected, allowed
        The exact mean of the log belief ratio there, averaged over agents, and how far chance may
        take it from there; in nats.
    limit
        The rate in the limit, in nats a round.
    """
    n = int(run.rounds[-1])
    return equal_in_mean(
        problem,
        f"rate of rejecting {run.hypotheses[hypothesis]!r} after {n} rounds",
        predicted=expected / n,
        measured=float(run.network_mean[-1, hypothesis]) / n,
        standard_error=float(run.network_standard_error[-1, hypothesis]) / n,
        allowed=allowed / n,
        note=f"exact mean at this round; the limit is {limit:.6g}",
    )


def failures_at(run: Simulation, rounds: int | None) -> int | None:
    """In how many replicates some agent was wrong at that round; None where nobody looked."""
    where = np.flatnonzero(run.rounds == rounds)
    return int(run.errors[where[0]]) if where.size else None


def size_words(name: str, size: SampleSize, delta: float) -> str:
    """What a sample size promises."""
    return f"failures at the {name} sample size, {size.rounds} rounds, at most {delta:g}"


def size_statement(
    problem: str, run: Simulation, name: str, size: SampleSize, *, delta: float
) -> Comparison | None:
    """The probability of error is at most δ at a sample size; None where nobody looked there."""
    failures = failures_at(run, size.rounds)
    if failures is None:
        return None
    return frequency_at_most(
        problem,
        size_words(name, size, delta),
        limit=delta,
        failures=failures,
        trials=run.replicates,
        is_theorem=size.is_theorem,
        note=size.note,
    )
