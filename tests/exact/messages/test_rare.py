"""Silent, single, lost and sampled messages, run: against loops in fractions, and bounds."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from exact import Run, simulate
from exact.messages import lossy
from exact.messages.lossy import CompressedProcess
from tests.theory.messages.oracles import (
    acknowledged_run,
    lazy,
    picked_run,
    unacknowledged_run,
)
from theory import FiniteAgent, FiniteModel, Network
from theory.messages import (
    Acknowledged,
    Deadband,
    MeanBytes,
    Quantiser,
    Samples,
    Single,
    Unacknowledged,
    message_levels,
    mixed_network,
    out_of_step,
    replica_deviation,
    sampled_ceiling,
    speaking_shares,
)
from theory.messages.deviation import exposure
from theory.network.structure import as_dense, off_diagonal

STAR = Network.from_topology("star", agents=9, edge_confidence=0.5)
COIN = FiniteAgent.from_tables(
    inputs=[1.0], truth=[[0.5, 0.5]], likelihood=[[[0.5, 0.5]], [[0.75, 0.25]]]
)
COINS = FiniteModel.from_agents(["fair", "loaded"], [COIN], counts=[9])
DICE = FiniteModel.from_agents(
    ["a", "b", "c", "d"],
    [
        FiniteAgent.from_tables(
            inputs=[1.0],
            truth=[[0.5, 0.3, 0.2]],
            likelihood=[
                [[0.5, 0.3, 0.2]],
                [[0.3, 0.4, 0.3]],
                [[0.2, 0.2, 0.6]],
                [[0.25, 0.5, 0.25]],
            ],
        )
    ],
    counts=[9],
)
RUN = Run(rounds=200, replicates=40, seed=7)
# Log-ratios of some hundred nats, summed over some hundred rounds in doubles.
ROUNDING = 1e-9


@pytest.mark.parametrize("best", [0, 2])
@pytest.mark.parametrize("kind", ["rotation", "largest", "deadband"])
def test_several_columns_are_those_of_the_oracle(kind: str, best: int) -> None:
    """Which log-ratios are sent depends on all of them at once."""
    network, step = Network([["9/10", "1/10"], ["3/5", "2/5"]]), Fraction(1, 4)
    quantiser: Quantiser = Deadband(step=step, threshold=2)
    if kind != "deadband":
        quantiser = Single(step=step, choice=kind)  # type: ignore[arg-type]

    def pick(n: int, agent: int, differences: list[Fraction]) -> set[int]:
        sizes = [abs(x) for x in differences]
        if kind == "deadband":
            return {0, 1, 2} if max(sizes) > 2 else set()
        return {n % 3} if kind == "rotation" else {sizes.index(max(sizes))}

    pair = FiniteModel.from_agents(DICE.hypotheses, DICE.kinds, counts=[2])
    process = CompressedProcess(network, pair, quantiser, best=best)
    others = [m for m in range(4) if m != best]
    process.restart(np.random.SeedSequence(0), replicates=1, columns=3)
    state = np.zeros((2, 1, 3))
    logs = np.random.default_rng(best).normal(size=(20, 2, 4))
    for seen in logs:
        state = process.advance(state, (seen[:, [best]] - seen[:, others])[:, None, :])
    found = np.insert(state[:, 0], best, 0.0, axis=-1)
    evidence = [
        [[Fraction(float(x)) for x in row] for row in seen]
        for seen in logs[:, :, :1] - logs[:, :, 1:]
    ]
    weights = [[Fraction(x) for x in row] for row in as_dense(network.weights).tolist()]
    expected = picked_run(weights, evidence, step, pick)
    np.testing.assert_allclose(
        (found - found[:, :1])[:, 1:],
        np.array(expected.history[-1], dtype=float),
        atol=ROUNDING,
    )
    assert process.counted(1)["sent"].tolist() == expected.sent


@pytest.mark.parametrize("kind", [Acknowledged, Unacknowledged])
def test_losses_are_those_of_the_oracle(
    kind: type[Acknowledged | Unacknowledged], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same losses on both sides: what is lost is seen on its way into the process."""
    network = Network([[0.5, 0.5, 0.0], [0.25, 0.5, 0.25], [0.5, 0.25, 0.25]])
    ends = off_diagonal(network.weights)
    seen_arriving: list[np.ndarray] = []
    drawn = lossy._Links.arrived

    def arrived(self: lossy._Links) -> np.ndarray:
        seen_arriving.append(drawn(self)[:, 0])
        return seen_arriving[-1][:, None]

    monkeypatch.setattr(lossy._Links, "arrived", arrived)
    model = FiniteModel.from_agents(["fair", "loaded"], [COIN], counts=[3])
    process = CompressedProcess(network, model, kind(step=0.25, mixing=0.5, loss=0.4), best=0)
    process.restart(np.random.SeedSequence(3), replicates=1, columns=1)
    seen_arriving.clear()
    state = np.zeros((3, 1, 1))
    logs = np.random.default_rng(5).normal(size=(15, 3))
    for seen in logs:
        state = process.advance(state, seen[:, None, None].copy())
    links = list(zip(ends.row.tolist(), ends.column.tolist(), strict=True))

    def lost(n: int, i: int, j: int) -> bool:
        return (i, j) in links and not seen_arriving[n][links.index((i, j))]

    weights = lazy(
        [[Fraction(float(x)) for x in row] for row in as_dense(network.weights)], Fraction(1, 2)
    )
    evidence = [[Fraction(float(x)) for x in row] for row in logs]
    if kind is Unacknowledged:
        history = unacknowledged_run(weights, evidence, Fraction(1, 4), lost)
    else:
        v = [Fraction(float(x)) for x in network.stationary_distribution]
        history = acknowledged_run(weights, v, evidence, Fraction(1, 4), lost).history
    assert any(lost(n, i, j) for n in range(15) for i, j in links)
    np.testing.assert_allclose(state[:, 0, 0], np.array(history[-1], dtype=float), atol=ROUNDING)


def test_acknowledged_losses_leave_the_rate_and_their_bounds_hold() -> None:
    quantiser = Acknowledged(step=0.5, mixing=0.05, loss=0.2, burst=2)
    levels = message_levels(STAR, COINS, quantiser)
    moved = exposure(mixed_network(STAR, 0.05), quantiser).moved.max()
    found = simulate(STAR, COINS, messages=quantiser, run=RUN)
    plain = simulate(STAR, COINS, run=RUN)
    v = STAR.stationary_distribution
    np.testing.assert_allclose(found.mean[:, :, 1] @ v, plain.mean[:, :, 1] @ v, atol=1e-9)
    assert found.messages is not None
    assert 0.25 * levels.error < found.messages.largest_error <= levels.error
    assert 0 < found.messages.largest_deviation <= moved * levels.error
    # Sixteen links, five bytes each; four more where they arrive: 1 − p/(1 + p + …) of the time.
    lost = (0.2 + 0.2**2) / (1 + 0.2 + 0.2**2)
    assert found.messages.bytes_per_round is not None
    assert found.messages.bytes_per_round == pytest.approx(16 * (5 + 4 * (1 - lost)), rel=0.01)


def test_losses_without_bound_move_means_by_no_more_than_is_proved() -> None:
    quantiser = Acknowledged(step=0.5, mixing=0.05, loss=0.5)
    levels = message_levels(STAR, COINS, quantiser)
    moved = exposure(mixed_network(STAR, 0.05), quantiser).moved.max()
    found = simulate(STAR, COINS, messages=quantiser, run=RUN)
    plain = simulate(mixed_network(STAR, 0.05), COINS, run=RUN)
    assert found.messages is not None
    assert found.messages.largest_error > levels.mean_error
    assert abs(found.mean - plain.mean).max() <= moved * levels.mean_error


def test_replicas_out_of_step_stop_learning_where_theory_says() -> None:
    quantiser = Unacknowledged(step=0.05, loss=0.1)
    known = out_of_step(STAR, COINS, quantiser)
    run = Run(rounds=400, replicates=100, seed=3, record=[200, 400])
    found = simulate(STAR, COINS, messages=quantiser, run=run)
    mean, error = found.mean[-1, :, 1], found.standard_error[-1, :, 1]
    assert (abs(mean - known.ratios[:, 0]) <= known.slack + 5 * error).all()
    assert abs(found.mean[1] - found.mean[0]).max() < 5 * error.max() + 0.1
    # Without losses it would be 57 nats by then.
    assert mean.max() < 4
    late = out_of_step(STAR, COINS, quantiser, rounds=400).ratios
    np.testing.assert_allclose(late, known.ratios, rtol=1e-6)
    with pytest.raises(ValueError, match="loss: expected a number above 0"):
        out_of_step(STAR, COINS, Unacknowledged(step=1, loss=0))


def test_one_round_of_samples_in_expectation() -> None:
    """Three hypotheses: the mean pooled log-ratio, from all multinomial counts."""
    network = Network([["9/10", "1/10"], ["3/5", "2/5"]])
    kind = FiniteAgent.from_tables(inputs=[1.0], truth=[[1.0]], likelihood=[[[1.0]]] * 3)
    prior = [0.6, 0.3, 0.1]
    model = FiniteModel.from_agents(["a", "b", "c"], [kind], counts=[2], priors=[prior])
    draws, smoothing = 4, 0.25
    said = np.zeros(2)
    for a, b in itertools.product(range(draws + 1), repeat=2):
        c = draws - a - b
        if c < 0:
            continue
        chance = math.comb(draws, a) * math.comb(draws - a, b) * 0.6**a * 0.3**b * 0.1**c
        logs = [math.log(n + smoothing) for n in (a, b, c)]
        said += chance * (logs[0] - np.array(logs[1:]))
    own = np.array([0.9, 0.4])[:, None]
    expected = own * np.log(0.6 / np.array(prior[1:])) + (1 - own) * said
    process = CompressedProcess(network, model, Samples(draws=draws, smoothing=smoothing), best=1)
    count = 20000
    process.restart(np.random.SeedSequence(4), replicates=count, columns=2)
    state = np.repeat(
        np.log(0.3 / np.array([0.6, 0.1]))[None, None, :].repeat(2, axis=0), count, axis=1
    )
    found = process.advance(state, np.zeros_like(state))
    # Against b: (b/a, b/c), from which a/b and a/c follow.
    ratios = np.stack((-found[:, :, 0], found[:, :, 1] - found[:, :, 0]), axis=2)
    error = ratios.std(axis=1) / math.sqrt(count)
    assert (abs(ratios.mean(axis=1) - expected) <= 5 * error).all()


def test_learning_ends_where_samples_are_pooled() -> None:
    quantiser = Samples(draws=20)
    run = Run(rounds=400, replicates=100, seed=2, record=[200, 400])
    found = simulate(STAR, COINS, messages=quantiser, run=run)
    ceiling = sampled_ceiling(STAR, COINS, quantiser)
    assert abs(found.mean).max() < ceiling
    assert abs(found.mean[1] - found.mean[0]).max() < 8 * found.standard_error.max()
    assert found.messages is not None
    assert found.messages.bytes_per_round == 16 * 5


@pytest.mark.parametrize("choice", ["rotation", "largest", "random"])
def test_one_log_ratio_a_message_learns_as_fast(choice: str) -> None:
    """K is unchanged, and beliefs are moved by no more than is proved."""
    quantiser = Single(step=0.5, mixing=0.05, choice=choice)  # type: ignore[arg-type]
    levels = message_levels(STAR, DICE, quantiser)
    moved = replica_deviation(mixed_network(STAR, 0.05)).largest
    sent = simulate(STAR, DICE, messages=quantiser, run=RUN)
    plain = simulate(mixed_network(STAR, 0.05), DICE, run=RUN)
    assert sent.messages is not None
    gap = abs(sent.mean[-1] - plain.mean[-1]).max()
    assert 0 < gap <= moved * levels.mean_error
    if choice == "random":
        assert sent.messages.bytes_per_round is None
        # Longer waits than those of a rotation come up.
        assert sent.messages.largest_error > 6
        return
    assert sent.messages.bytes_per_round == 16 * 5
    assert 2 < sent.messages.largest_error <= levels.error
    assert sent.messages.largest_deviation <= moved * levels.error


def test_expected_bytes_are_those_of_the_bounds_and_of_the_estimate() -> None:
    """With little mixing the estimate is within a few per cent of 2 000 rounds."""
    run = Run(rounds=1500, replicates=10, seed=1)
    for threshold in (2.0, 5.0):
        quantiser = Deadband(step=1.0, threshold=threshold, mixing=0.01)
        levels = message_levels(STAR, COINS, quantiser)
        mixed = mixed_network(STAR, 0.01)
        shares = speaking_shares(mixed, COINS, quantiser, levels)
        sent = simulate(STAR, COINS, messages=quantiser, run=run).messages
        assert sent is not None
        assert sent.bytes_per_round is not None
        # The centre has eight listeners, the others one; one byte and a header.
        mean = MeanBytes.of(shares, np.array([8] + [1] * 8) * 5)
        assert mean.lower < sent.bytes_per_round < mean.upper
        assert sent.bytes_per_round == pytest.approx(mean.estimate, rel=0.08)
        assert sent.bytes_standard_error is not None
        assert 0 < sent.bytes_standard_error < 0.02 * sent.bytes_per_round


def test_the_standard_error_of_bytes_is_that_of_many_runs() -> None:
    """The means of 40 seeds spread as one run's own error says, up to what 40 seeds tell."""
    quantiser = Deadband(step=1.0, threshold=4.0, mixing=0.1)
    runs = [
        simulate(
            STAR, COINS, messages=quantiser, run=Run(rounds=30, replicates=20, seed=s)
        ).messages
        for s in range(40)
    ]
    means = [run.bytes_per_round for run in runs if run is not None and run.bytes_per_round]
    errors = [run.bytes_standard_error for run in runs if run is not None and run.bytes_per_round]
    assert len(means) == 40
    # A standard deviation from 40 draws is within 40 % but for a chance of 10⁻³.
    assert np.std(means, ddof=1) == pytest.approx(np.mean(np.array(errors)), rel=0.4)
