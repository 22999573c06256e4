"""What theory says of one problem, statement by statement, beside what was measured."""

from __future__ import annotations

import numpy as np

from exact.law import error_law
from peerbayes.comparison import (
    Comparison,
    allowed_deviation,
    frequency_at_least,
    frequency_at_most,
    frequency_is,
    means_agree,
    within_transient,
)
from peerbayes.kinds.finite.message_statements import message_statements
from peerbayes.kinds.finite.runs import (
    Measurement,
    enumerable_rounds,
    last_proved_wrong,
    named_sizes,
)
from peerbayes.kinds.shared.learning_statements import (
    failures_at,
    rate_statement,
    size_statement,
    size_words,
)
from theory import SampleSize


def statements(result: Measurement) -> tuple[Comparison, ...]:
    """Every verdict on one problem."""
    if result.analysis.messages is not None:
        return (*message_statements(result), *_failure_statements(result))
    return (
        *_rate_statements(result),
        _every_agent(result),
        *_limit_statements(result),
        *_failure_statements(result),
        *_law_statements(result),
    )


def _rate_statements(result: Measurement) -> list[Comparison]:
    n = float(result.rates.rounds[-1])
    return [
        rate_statement(
            result.problem.name,
            result.rates,
            m,
            expected=float(result.expected[-1, m]),
            allowed=n * result.allowed_rate(m),
            limit=float(result.analysis.rate.rates[m]),
        )
        for m in result.wrong
    ]


def _every_agent(result: Measurement) -> Comparison:
    """All recorded rounds, agents and hypotheses at once, in shares of what chance allows."""
    expected = result.means.values
    chance = allowed_deviation(
        result.spread.agents,
        result.spread.reach,
        result.rates.replicates,
        scores=expected.size,
    )
    return means_agree(
        result.problem.name, measured=result.rates.mean, expected=expected, chance=chance
    )


def _limit_statements(result: Measurement) -> list[Comparison]:
    if not result.wrong:
        return []
    problem, analysis = result.problem, result.analysis
    names = problem.model.hypotheses
    binding = result.wrong[0]
    n = int(result.rates.rounds[-1])
    best = analysis.rate.reference[0]
    information = problem.model.information(best)[:, binding]
    prior = problem.model.log_priors[:, best] - problem.model.log_priors[:, binding]
    deviation = float(problem.network.deviation.upper.max())
    # |E Λ_i/n − Σ v_j I_j| ≤ (D_i (max I − min I)/2 + max |prior log-odds|)/n.
    transient = (deviation * float(np.ptp(information)) / 2 + float(np.abs(prior).max())) / n
    measured, error = result.measured_rate(binding)
    limit = within_transient(
        problem.name,
        f"learning rate K, bound by {names[binding]!r}",
        predicted=analysis.rate.rate,
        measured=measured,
        standard_error=error,
        allowed=result.allowed_rate(binding),
        transient=transient,
    )
    # Nothing is claimed where the transient is not known.
    settles = _settles(result)
    return [*([limit] if np.isfinite(transient) else []), *([settles] if settles else [])]


def _settles(result: Measurement) -> Comparison | None:
    names = result.problem.model.hypotheses
    chosen = " or ".join(repr(names[m]) for m in result.analysis.rate.reference)
    n = int(result.rates.rounds[-1])
    bound = result.analysis.samples.probability(n)
    if bound >= 1:
        return None  # nothing is claimed
    return frequency_at_most(
        result.problem.name,
        f"after {n} rounds some agent has not settled on {chosen}",
        limit=bound,
        failures=int(result.rates.errors[-1]),
        trials=result.rates.replicates,
        note="the smallest rigorous bound at this round",
    )


def _failure_statements(result: Measurement) -> list[Comparison]:
    """Sizes that were simulated; and, without a verdict, a printed one where a bound is proved."""
    sizes = [_of_a_size(result, name, size) for name, size in named_sizes(result.analysis)]
    return [statement for statement in (*sizes, _of_the_lower_end(result)) if statement is not None]


def _of_a_size(result: Measurement, name: str, size: SampleSize) -> Comparison | None:
    """The probability of error is at most δ from a sample size on."""
    samples, problem = result.analysis.ladder, result.problem.name
    if size.rounds is None or samples is None:
        return None
    measured = size_statement(problem, result.failures, name, size, delta=samples.delta)
    if measured is not None:
        return measured
    bound = samples.probability(size.rounds)
    if size.is_theorem or bound > samples.delta:
        return None
    words = f"{bound:.1e}" if bound > 0 else "below 1e-300"
    return Comparison(
        problem=problem,
        statement=size_words(name, size, samples.delta),
        predicted=samples.delta,
        measured=None,
        standard_error=None,
        kind="bound",
        holds=None,
        is_theorem=False,
        note=f"{size.note}; not run: a proved bound there is {words}",
    )


def _of_the_lower_end(result: Measurement) -> Comparison | None:
    """The probability of error is above δ before the certified lower end."""
    samples, last = result.analysis.samples, last_proved_wrong(result.analysis)
    failures = None if last is None else failures_at(result.failures, last)
    if failures is None:
        return None
    return frequency_at_least(
        result.problem.name,
        f"failures before the certified lower end, {last} rounds, above {samples.delta:g}",
        limit=samples.delta,
        failures=failures,
        trials=result.failures.replicates,
        note=samples.certified.note,
    )


def _law_statements(result: Measurement) -> list[Comparison]:
    """The exact probability of an error in the first rounds of a small problem."""
    problem, rounds = result.problem, enumerable_rounds(result.problem)
    failures = failures_at(result.failures, rounds)
    if failures is None or not result.wrong:
        return []
    law = error_law(problem.network, problem.model, rounds)
    low, high = float(law.some_lower[-1]), float(law.some_upper[-1])
    return [
        frequency_is(
            problem.name,
            f"some agent is wrong after {rounds} rounds, by enumeration",
            probability=(low + high) / 2,
            failures=failures,
            trials=result.failures.replicates,
            slack=(high - low) / 2,
            note="every history gone through; ties count as errors",
        )
    ]
