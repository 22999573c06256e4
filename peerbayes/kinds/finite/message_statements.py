"""What theory says of compressed beliefs, statement by statement, beside what was measured."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from exact import Simulation
from peerbayes.comparison import (
    ROUNDING,
    STANDARD_ERRORS,
    Comparison,
    Mean,
    Side,
    share_of_chance,
    within_bound,
    within_transient,
)
from peerbayes.kinds.shared.verify import Measurement, every_agent, settling
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


def message_statements(result: Measurement) -> list[Comparison]:
    """Of both runs at once: what was sent, how far it moved beliefs, and that K is what it was."""
    found, runs = result.analysis.messages, _runs(result)
    statements = [*_bytes(result, found), *_mean_bytes(result, found)]
    if isinstance(found.quantiser, Unacknowledged) and found.quantiser.loss > 0:
        statements.append(_stopped(result, found.quantiser))
    if isinstance(found.quantiser, Samples):
        statements.append(_ended(result, found.quantiser))
    if np.isfinite(found.deviation).all():
        sent = [run.messages for run in runs if run.messages is not None]
        off, moved = (
            max(getattr(one, name) for one in sent)
            for name in ("largest_error", "largest_deviation")
        )
        words = "a replica is off after a round, in nats"
        statements.append(_at_most(result, words, limit=found.levels.error, measured=off))
        limit = float(found.deviation.max())
        words = "compression moves a log-ratio, in nats"
        statements.append(_at_most(result, words, limit=limit, measured=moved))
    if np.isfinite(found.mean_deviation).all():
        statements += _means(result, found)
    return statements


def _runs(result: Measurement) -> list[Simulation]:
    """Both runs; of compressed beliefs there always are two."""
    return [run for run in (result.rates, result.failures) if run is not None]


def _bytes(result: Measurement, found: CompressedLearning) -> list[Comparison]:
    """What is sent a round, at most."""
    runs = _runs(result)
    sent = [run.messages.bytes_per_round for run in runs if run.messages is not None]
    known = [each for each in sent if each is not None]
    if found.bytes_per_round is None or not known:
        return []
    # A silence that a run ends in is cut short.
    last = [int(run.rounds[-1]) for run in runs]
    limit = max(found.bytes_after(n) / n for n in last)
    return [_at_most(result, "bytes a round on all links", limit=limit, measured=max(known))]


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
    sides: list[tuple[str, Side, float]] = [
        ("most", "upper", ends.upper),
        ("least", "lower", ends.lower),
    ]
    return [
        within_bound(
            result.problem.name,
            f"expected bytes a round on all links: at {word}",
            Mean(limit, each, error, STANDARD_ERRORS * error),
            side=side,
            note=f"over {rounds} rounds; {STANDARD_ERRORS:g} standard errors are allowed",
        )
        for word, side, limit in sides
    ]


def _stopped(result: Measurement, quantiser: Unacknowledged) -> Comparison:
    """The mean log-ratios of replicas that are out of step, against the first hypothesis."""
    run, problem = result.rates, result.problem
    rounds = int(run.rounds[-1])
    known = out_of_step(problem.network, problem.model, quantiser, rounds=rounds)
    mean, error = run.mean[-1], run.standard_error[-1]
    return share_of_chance(
        problem.name,
        "mean log-ratios stop where replicas out of step hold them, as a share of what chance and "
        "rounding allow",
        np.abs((mean - mean[:, :1])[:, 1:] - known.ratios),
        STANDARD_ERRORS * (error + error[:, :1])[:, 1:] + known.slack,
        note=f"after {rounds} rounds; {STANDARD_ERRORS:g} standard errors are allowed",
    )


def _ended(result: Measurement, quantiser: Samples) -> Comparison:
    """No log-ratio ever passes what samples can say, so neither does a mean."""
    ceiling = sampled_ceiling(result.problem.network, result.problem.model, quantiser)
    means = [run.mean - run.mean[..., :1] for run in _runs(result)]
    measured = max(float(np.abs(mean).max()) for mean in means)
    return _at_most(
        result, "mean log-ratios where samples are pooled", limit=ceiling, measured=measured
    )


def _at_most(result: Measurement, what: str, *, limit: float, measured: float) -> Comparison:
    """Something holds in every round of every replicate: no chance is allowed for."""
    largest = max(float(np.abs(run.mean).max()) for run in _runs(result))
    return within_bound(
        result.problem.name,
        f"{what}: at most",
        Mean(limit, measured, None, ROUNDING * max(1.0, largest)),
        note="in every round of every replicate",
    )


def _means(result: Measurement, found: CompressedLearning) -> list[Comparison]:
    """All means, and K, as if nothing were compressed; and by how much compression moves them."""
    run = result.rates
    twice = np.array([1.0 if 0 in (m, run.best) else 2.0 for m in range(len(run.hypotheses))])
    twice[run.best] = 0.0
    # How far compression may move each mean of Λ(best, θ), shape (H, M).
    shift = np.asarray(found.mean_deviation[:, None] * twice)
    note = "from the exact means without compression; chance and what compression may do"
    everyone = every_agent(result, shift, note)
    if not result.wrong:
        return [everyone]
    binding = result.wrong[0]
    moved = settling(result.problem, found.network, run.best, binding) + float(shift.max())
    if not np.isfinite(moved):
        return [everyone]
    name = result.problem.model.hypotheses[binding]
    rate = within_transient(
        result.problem.name,
        f"learning rate K, bound by {name!r}, is that without compression",
        replace(result.rate(binding), predicted=result.analysis.rate.rate),
        moved / int(run.rounds[-1]),
    )
    return [everyone, rate]
