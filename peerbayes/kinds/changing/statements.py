"""What is said of a network that changes, each statement with its verdict.

Verdicts rest on the measured standard errors: where the network is random there is no formula for
the variance.
"""

from __future__ import annotations

import numpy as np

from peerbayes.comparison import Comparison, means_agree, within_transient
from peerbayes.kinds.changing.runs import Measurement, named_sizes, period_of
from peerbayes.kinds.learning_statements import rate_statement, size_statement
from theory import expected_log_ratio

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
    expected = result.expected[-1].mean(axis=0)
    allowed = result.allowed(result.rates.network_standard_error[-1])
    return [
        rate_statement(
            result.problem.name,
            result.rates,
            m,
            expected=float(expected[m]),
            allowed=float(allowed[m]),
            limit=float(result.analysis.rate.rates[m]),
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
    means = expected_log_ratio(
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
    if result.failures is None:
        return []
    name, run, delta = result.problem.name, result.failures, result.analysis.samples.delta
    sizes = [
        size_statement(name, run, words, size, delta=delta)
        for words, size in named_sizes(result.analysis)
    ]
    return [statement for statement in sizes if statement is not None]
