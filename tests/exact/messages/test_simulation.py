"""Compressed beliefs, run: against loops in fractions, bounds, and the run without compression."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exact import Run, simulate
from exact.messages import lossy
from exact.messages.process import CompressedProcess
from tests.strategies import Problem, problems, seeds
from tests.theory.messages.oracles import (
    acknowledged_run,
    compressed_run,
    lazy,
    picked_run,
    plain_run,
    unacknowledged_run,
    uncompressed_run,
)
from theory import FiniteAgent, FiniteModel, Network
from theory.changing import PeriodicNetwork, Phase
from theory.messages import (
    Acknowledged,
    Deadband,
    MeanBytes,
    Plain,
    Quantiser,
    Samples,
    Single,
    Unacknowledged,
    Uniform,
    compressed_learning,
    message_levels,
    mixed_network,
    out_of_step,
    replica_deviation,
    sampled_ceiling,
    speaking_shares,
)
from theory.messages.exposure import exposure
from theory.network.structure import as_dense, off_diagonal
from theory.robustness import Faults

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


@settings(deadline=None, max_examples=60)
@given(
    problems(),
    st.sampled_from([0.25, 1.0, 3.0]),
    st.sampled_from([1.0, 0.25]),
    st.sampled_from(["uniform", "odd", "even", "deadband", "plain"]),
    seeds,
)
def test_rounds_are_those_of_the_oracle(
    problem: Problem, step: float, mixing: float, kind: str, seed: int
) -> None:
    """Any problem, any reference: every log-ratio against the first hypothesis, by loops.

    Evidence is random and never in the middle between two cells.
    """
    network, model = problem.network, problem.model
    agents, hypotheses = network.agents, len(model.hypotheses)
    levels = {"odd": 5, "even": 4}.get(kind)
    quantiser: Quantiser = Uniform(step=step, mixing=mixing, levels=levels)
    if kind == "deadband":
        # One log-ratio decides for the whole message: the oracle has no more than one.
        quantiser = Deadband(step=step, mixing=mixing, threshold=2 * step)
        hypotheses = 2
        kinds = (COIN,) * len(model.kinds)
        model = FiniteModel(("a", "b"), kinds, model.assignment, model.log_priors[:, :2])
    if kind == "plain":
        quantiser, mixing = Plain(step=step), 1.0
    best = seed % hypotheses
    process = CompressedProcess(network, model, quantiser, best=best)
    others = [m for m in range(hypotheses) if m != best]
    priors = model.log_priors[model.assignment]
    state = (priors[:, [best]] - priors[:, others])[:, None, :]
    process.restart(np.random.SeedSequence(0), replicates=1, columns=len(others))
    rng = np.random.default_rng(seed)
    logs = rng.normal(size=(6, agents, hypotheses))
    for seen in logs:
        state = process.advance(state, (seen[:, [best]] - seen[:, others])[:, None, :])
    found = np.insert(state[:, 0], best, 0.0, axis=-1)
    found = found - found[:, :1]
    weights = [[Fraction(x) for x in row] for row in as_dense(network.weights).tolist()]
    for m in range(1, hypotheses):
        evidence = [[Fraction(float(x)) for x in row] for row in logs[:, :, 0] - logs[:, :, m]]
        prior = [Fraction(float(x)) for x in priors[:, 0] - priors[:, m]]
        if kind == "plain":
            evidence[0] = [a + b for a, b in zip(evidence[0], prior, strict=True)]
            expected = plain_run(weights, evidence, Fraction(step))[-1]
        else:
            expected = compressed_run(
                weights,
                evidence,
                Fraction(step),
                mixing=Fraction(mixing),
                levels=levels,
                threshold=Fraction(2 * step) if kind == "deadband" else None,
                prior=prior,
            ).history[-1]
        np.testing.assert_allclose(found[:, m], [float(x) for x in expected], atol=ROUNDING)


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


def test_steps_that_go_to_zero_compress_nothing() -> None:
    for mixing in (1.0, 0.3):
        plain = simulate(mixed_network(STAR, mixing), COINS, run=RUN)
        found = simulate(STAR, COINS, messages=Uniform(step=1e-9, mixing=mixing), run=RUN)
        np.testing.assert_allclose(found.mean, plain.mean, atol=1e-7)
        assert found.messages is not None
        assert found.messages.largest_deviation < 1e-7


@pytest.mark.parametrize(
    "quantiser",
    [
        Uniform(step=0.05),
        Uniform(step=0.5),
        Uniform(step=2.0),
        Uniform(step=8.0),
        Uniform(step=8.0, mixing=0.1, levels=2),
        Deadband(step=2.0, threshold=20.0, mixing=0.05),
    ],
)
def test_what_is_measured_keeps_to_its_bounds(quantiser: Quantiser) -> None:
    found = compressed_learning(STAR, COINS, quantiser)
    measured = simulate(STAR, COINS, messages=quantiser, run=RUN).messages
    assert measured is not None
    assert measured.largest_error <= quantiser.error_bound + ROUNDING
    assert measured.largest_deviation <= found.deviation.max() + ROUNDING
    assert measured.bytes_per_round is not None
    assert measured.bytes_per_round <= found.bytes_after(200) / 200
    # Tight: data that nobody chose use a good part of the bound on errors, and a third of that on
    # beliefs where all is mixed at once.
    assert measured.largest_error > 0.9 * quantiser.error_bound
    if quantiser.mixing == 1.0:
        assert measured.largest_deviation > 0.5 * found.deviation.max()


def test_bytes_are_counted_message_by_message() -> None:
    found = simulate(STAR, COINS, messages=Uniform(step=0.5, header=2), run=RUN).messages
    assert found is not None
    # Sixteen links, three bytes each.
    assert found.bytes_per_round == 48.0
    assert found.sent.tolist() == [200 * 40] * 9
    assert 0 < found.entropy < 4


def test_nobody_to_tell_is_no_bytes_and_no_code_is_no_number() -> None:
    alone = FiniteModel.from_agents(["fair", "loaded"], [COIN])
    run = Run(rounds=5, replicates=3, seed=1)
    found = simulate(Network([[1.0]]), alone, messages=Uniform(step=1), run=run).messages
    assert found is not None
    assert (found.bytes_per_round, found.sent.tolist()) == (0.0, [15])
    plain = simulate(STAR, COINS, messages=Plain(step=1), run=run).messages
    assert plain is not None
    assert plain.bytes_per_round is None


def test_events_are_far_fewer_than_rounds() -> None:
    quantiser = Deadband(step=2.0, threshold=20.0, mixing=0.05)
    found = simulate(STAR, COINS, messages=quantiser, run=RUN).messages
    assert found is not None
    assert found.sent.sum() < 0.05 * 9 * 200 * 40


def test_the_same_seed_gives_the_same_numbers() -> None:
    quantiser = Uniform(step=1.0, mixing=0.5)
    one = simulate(STAR, COINS, messages=quantiser, run=RUN)
    two = simulate(
        STAR, COINS, messages=quantiser, run=Run(rounds=200, replicates=40, seed=7, workers=2)
    )
    np.testing.assert_array_equal(one.mean, two.mean)
    assert one.messages == two.messages
    other = simulate(STAR, COINS, messages=quantiser, run=Run(rounds=200, replicates=40, seed=8))
    assert one.messages != other.messages


def test_agents_see_the_same_data_whatever_they_send() -> None:
    """v-weighted means are those without compression: the data are, to the last draw."""
    v = STAR.stationary_distribution
    plain = simulate(STAR, COINS, run=RUN)
    for quantiser in (Uniform(step=4.0), Deadband(step=1.0, threshold=9.0)):
        found = simulate(STAR, COINS, messages=quantiser, run=RUN)
        np.testing.assert_allclose(found.mean[:, :, 1] @ v, plain.mean[:, :, 1] @ v, atol=1e-9)


def test_plain_rounding_is_biased_and_stops() -> None:
    run = Run(rounds=1000, replicates=40, seed=7)
    rates = simulate(STAR, COINS, run=run).rates.mean[:, 1]
    biased = simulate(STAR, COINS, messages=Plain(step=2.0), run=run).rates
    stopped = simulate(STAR, COINS, messages=Plain(step=2.8), run=run).rates
    kept = simulate(STAR, COINS, messages=Uniform(step=2.8), run=run).rates
    assert abs(biased.mean[:, 1] - rates).min() > 4 * biased.standard_error[:, 1].max()
    assert abs(stopped.mean[:, 1]).max() < 0.002
    assert abs(kept.mean[:, 1] - rates).max() < 2.9 * 1.4 / 1000


def test_a_killed_run_goes_on_to_the_same_bits(tmp_path) -> None:  # type: ignore[no-untyped-def]
    quantiser = Uniform(step=1.0)
    path = tmp_path / "kept"
    options = {"rounds": 50, "replicates": 400, "seed": 3}
    run = Run(**options, checkpoint=path)
    seen = []

    def stop(done: int, total: int) -> None:
        seen.append(done)
        if done > total / 2 and len(seen) < 10**6:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        simulate(
            STAR, COINS, messages=quantiser, run=Run(**options, checkpoint=path, progress=stop)
        )
    found = simulate(
        STAR, COINS, messages=quantiser, run=Run(**options, checkpoint=path, resume=True)
    )
    assert found.messages == simulate(STAR, COINS, messages=quantiser, run=run).messages
    # Another quantiser is another run.
    with pytest.raises(KeyboardInterrupt):
        simulate(
            STAR, COINS, messages=quantiser, run=Run(**options, checkpoint=path, progress=stop)
        )
    if path.exists():
        with pytest.raises(ValueError, match="run"):
            simulate(
                STAR,
                COINS,
                messages=Uniform(step=1.0000001),
                run=Run(**options, checkpoint=path, resume=True),
            )


def test_refused() -> None:
    half = Uniform(step=0.5)
    wanted = "messages: expected a network that stays the same, and honest agents, got "
    with pytest.raises(ValueError, match=wanted + "faults"):
        simulate(STAR, COINS, faults=Faults({}), messages=half, run=RUN)
    changing = PeriodicNetwork((Phase(STAR.weights),))
    with pytest.raises(ValueError, match=wanted + "one that changes"):
        simulate(changing, COINS, messages=half, run=RUN)
    with pytest.raises(ValueError, match="levels: expected at least 16"):
        simulate(STAR, COINS, messages=Uniform(step=0.5, levels=15), run=RUN)


def test_the_oracle_without_compression_is_the_run_without() -> None:
    """The oracles themselves: no cells, no difference."""
    weights = [[Fraction(x) for x in row] for row in as_dense(STAR.weights).tolist()]
    seen = [[Fraction(i - t, 7) for i in range(9)] for t in range(5)]
    fine = compressed_run(weights, seen, Fraction(1, 10**12)).history[-1]
    exact = uncompressed_run(weights, seen)[-1]
    assert max(abs(a - b) for a, b in zip(fine, exact, strict=True)) < Fraction(1, 10**11)
