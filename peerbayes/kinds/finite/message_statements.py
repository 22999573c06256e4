"""What theory says of compressed beliefs, statement by statement, beside what was measured."""

from __future__ import annotations

import numpy as np

from exact import Simulation
from exact.results import MeasuredMessages
from peerbayes.comparison import (
    ROUNDING,
    STANDARD_ERRORS,
    Comparison,
    Side,
    means_agree,
    within_transient,
)
from peerbayes.comparison import allowed_deviation as by_chance
from peerbayes.kinds.finite.runs import Measurement
from theory.messages import (
    CompressedLearning,
    Deadband,
    MeanBytes,
    Samples,
    Unacknowledged,
    out_of_step,
    sampled_ceiling,
    speaking_shares,
)
from theory.validation import FloatArray


def message_statements(result: Measurement) -> list[Comparison]:
    """Of both runs at once: what was sent, how far it moved beliefs, and that K is what it was."""
    found = result.analysis.messages
    assert found is not None
    runs = [run.messages for run in (result.rates, result.failures)]
    measured = [one for one in runs if one is not None]
    statements = [_bytes(result, found, measured)]
    statements += _mean_bytes(result, found)
    if isinstance(found.quantiser, Unacknowledged) and found.quantiser.loss > 0:
        statements.append(_stopped(result, found.quantiser))
    if isinstance(found.quantiser, Samples):
        statements.append(_ended(result, found.quantiser))
    if np.isfinite(found.deviation).all():
        statements += [
            _at_most(
                result,
                "a replica is off after a round, in nats",
                limit=found.levels.error,
                measured=max(one.largest_error for one in measured),
            ),
            _at_most(
                result,
                "compression moves a log-ratio, in nats",
                limit=float(found.deviation.max()),
                measured=max(one.largest_deviation for one in measured),
            ),
        ]
    if np.isfinite(found.mean_deviation).all():
        statements += [_every_agent(result, _shift(result.rates, found)), *_rate(result, found)]
    return [statement for statement in statements if statement is not None]


def _bytes(
    result: Measurement, found: CompressedLearning, measured: list[MeasuredMessages]
) -> Comparison | None:
    sent = [one.bytes_per_round for one in measured if one.bytes_per_round is not None]
    if found.bytes_per_round is None or not sent:
        return None
    # A silence that a run ends in is cut short.
    last = [int(run.rounds[-1]) for run in (result.rates, result.failures)]
    limit = max(found.bytes_after(n) / n for n in last)
    return _at_most(result, "bytes a round on all links", limit=limit, measured=max(sent))


def _mean_bytes(result: Measurement, found: CompressedLearning) -> list[Comparison]:
    """The expected bytes of the longest run, where agents are silent at times."""
    run = result.rates
    sent, rounds = run.messages, int(run.rounds[-1])
    if found.frame is None or not isinstance(found.quantiser, Deadband) or sent is None:
        return []
    each, error = sent.bytes_per_round, sent.bytes_standard_error
    assert each is not None
    assert error is not None
    model = result.problem.model
    shares = speaking_shares(found.network, model, found.quantiser, found.levels, rounds=rounds)
    ends = MeanBytes.of(shares, found.heard * found.frame)
    allowed = STANDARD_ERRORS * error
    sides: list[tuple[Side, float, bool]] = [
        ("upper", ends.upper, each <= ends.upper + allowed),
        ("lower", ends.lower, each >= ends.lower - allowed),
    ]
    return [
        Comparison(
            problem=result.problem.name,
            statement=f"expected bytes a round on all links: at {word}",
            predicted=limit,
            measured=each,
            standard_error=error,
            kind="bound",
            holds=holds,
            note=f"over {rounds} rounds; {STANDARD_ERRORS:g} standard errors are allowed",
            side=side,
        )
        for word, (side, limit, holds) in zip(("most", "least"), sides, strict=True)
    ]


def _stopped(result: Measurement, quantiser: Unacknowledged) -> Comparison:
    """The mean log-ratios of replicas that are out of step, against the first hypothesis."""
    run, problem = result.rates, result.problem
    rounds = int(run.rounds[-1])
    known = out_of_step(problem.network, problem.model, quantiser, rounds=rounds)
    mean, error = run.mean[-1], run.standard_error[-1]
    difference = np.abs((mean - mean[:, :1])[:, 1:] - known.ratios)
    allowed = STANDARD_ERRORS * (error + error[:, :1])[:, 1:] + known.slack
    return Comparison(
        problem=problem.name,
        statement="mean log-ratios stop where replicas out of step hold them, as a share of what "
        "chance and rounding allow",
        predicted=1.0,
        measured=float((difference / allowed).max()),
        standard_error=None,
        kind="bound",
        holds=bool((difference <= allowed).all()),
        note=f"after {rounds} rounds; {STANDARD_ERRORS:g} standard errors are allowed",
    )


def _ended(result: Measurement, quantiser: Samples) -> Comparison:
    """No log-ratio ever passes what samples can say, so neither does a mean."""
    ceiling = sampled_ceiling(result.problem.network, result.problem.model, quantiser)
    means = [run.mean - run.mean[..., :1] for run in (result.rates, result.failures)]
    measured = max(float(np.abs(mean).max()) for mean in means)
    return _at_most(
        result, "mean log-ratios where samples are pooled", limit=ceiling, measured=measured
    )


def _at_most(result: Measurement, what: str, *, limit: float, measured: float) -> Comparison:
    """Something holds in every round of every replicate: no chance is allowed for."""
    largest = max(float(np.abs(run.mean).max()) for run in (result.rates, result.failures))
    slack = ROUNDING * max(1.0, largest)
    return Comparison(
        problem=result.problem.name,
        statement=f"{what}: at most",
        predicted=limit,
        measured=measured,
        standard_error=None,
        kind="bound",
        holds=measured <= limit + slack,
        note="in every round of every replicate",
    )


def _shift(run: Simulation, found: CompressedLearning) -> FloatArray:
    """How far compression may move each mean of Λ(best, θ), shape (H, M)."""
    twice = np.array([1.0 if 0 in (m, run.best) else 2.0 for m in range(len(run.hypotheses))])
    twice[run.best] = 0.0
    return np.asarray(found.mean_deviation[:, None] * twice)


def _every_agent(result: Measurement, shift: FloatArray) -> Comparison:
    expected = result.means.values
    chance = by_chance(
        result.spread.agents,
        result.spread.reach,
        result.rates.replicates,
        scores=expected.size,
    )
    return means_agree(
        result.problem.name,
        measured=result.rates.mean,
        expected=expected,
        chance=chance + shift,
        note="from the exact means without compression; chance and what compression may do",
    )


def _rate(result: Measurement, found: CompressedLearning) -> list[Comparison]:
    """K, as if nothing were compressed."""
    if not result.wrong:
        return []
    model, binding = result.problem.model, result.wrong[0]
    n, best = int(result.rates.rounds[-1]), result.rates.best
    information = model.information(best)[:, binding]
    prior = model.log_priors[:, best] - model.log_priors[:, binding]
    settling = float(found.network.deviation.upper.max()) * float(np.ptp(information)) / 2
    moved = settling + float(np.abs(prior).max()) + float(_shift(result.rates, found).max())
    if not np.isfinite(moved):
        return []
    measured, error = result.measured_rate(binding)
    name = model.hypotheses[binding]
    return [
        within_transient(
            result.problem.name,
            f"learning rate K, bound by {name!r}, is that without compression",
            predicted=result.analysis.rate.rate,
            measured=measured,
            standard_error=error,
            allowed=result.allowed_rate(binding),
            transient=moved / n,
        )
    ]
