"""What is said of a network that changes, each statement with its verdict.

Verdicts rest on the measured standard errors: where the network is random there is no formula for
the variance.
"""

from __future__ import annotations

import numpy as np

from peerbayes.comparison import (
    Comparison,
    equal_in_mean,
    frequency_at_most,
    means_agree,
    within_transient,
)
from peerbayes.kinds.changing.runs import Measurement, named_sizes, period_of
from theory.changing import changing_log_ratio

# Rounds over which the exact mean is followed to see its slope. What is left of the start there
# is far below one in a thousand unless the network mixes in thousands of rounds.
_FAR = 4000
_SLOPE_TOLERANCE = 1e-3


def statements(result: Measurement) -> tuple[Comparison, ...]:
    """Everything that is said of two runs."""
    return (
        *_rate_statements(result),
        _every_agent(result),
        *_limit_statements(result),
        *_failure_statements(result),
    )


def _rate_statements(result: Measurement) -> list[Comparison]:
    names, n = result.problem.model.hypotheses, int(result.rates.rounds[-1])
    expected = result.expected[-1].mean(axis=0)
    allowed = result.allowed(result.rates.network_standard_error[-1])
    return [
        equal_in_mean(
            result.problem.name,
            f"rate of rejecting {names[m]!r} after {n} rounds",
            predicted=float(expected[m]) / n,
            measured=float(result.rates.network_mean[-1, m]) / n,
            standard_error=float(result.rates.network_standard_error[-1, m]) / n,
            allowed=float(allowed[m]) / n,
            note=f"exact mean at this round; the limit is {result.analysis.rate.rates[m]:.6g}",
        )
        for m in result.wrong
    ]


def _every_agent(result: Measurement) -> Comparison:
    """All recorded rounds, agents and hypotheses at once, in shares of what chance allows."""
    chance = result.allowed(result.rates.standard_error, scores=result.expected.size)
    return means_agree(
        result.problem.name, measured=result.rates.mean, expected=result.expected, chance=chance
    )


def _limit_statements(result: Measurement) -> list[Comparison]:
    """The slope of the exact mean far out is the rate that influence predicts."""
    if not result.wrong:
        return []
    problem, binding = result.problem, result.wrong[0]
    period = period_of(problem.network)
    first = -(-_FAR // (2 * period)) * period
    means = changing_log_ratio(
        problem.network, problem.model, [first, 2 * first], best=result.rates.best
    ).values[..., binding]
    slopes = (means[1] - means[0]) / first
    rate = float(result.analysis.rate.rates[binding])
    furthest = float(slopes[np.argmax(np.abs(slopes - rate))])
    name = problem.model.hypotheses[binding]
    return [
        within_transient(
            problem.name,
            f"learning rate, bound by {name!r}: every agent's exact mean rises by as much "
            f"between rounds {first} and {2 * first}",
            predicted=rate,
            measured=furthest,
            standard_error=None,
            allowed=0.0,
            transient=_SLOPE_TOLERANCE * abs(rate),
            note="computed, not measured: influence against the exact means, which the run "
            "confirms",
        )
    ]


def _failure_statements(result: Measurement) -> list[Comparison]:
    failures, delta = result.failures, result.analysis.samples.delta
    if failures is None:
        return []
    statements = []
    for name, size in named_sizes(result.analysis):
        where = np.flatnonzero(failures.rounds == size.rounds)
        if size.rounds is not None and where.size:
            statements.append(
                frequency_at_most(
                    result.problem.name,
                    f"failures at the {name} sample size, {size.rounds} rounds, at most {delta:g}",
                    limit=delta,
                    failures=int(failures.errors[where[0]]),
                    trials=failures.replicates,
                    is_theorem=size.is_theorem,
                    note=size.note,
                )
            )
    return statements
