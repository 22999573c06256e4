"""Compressed beliefs, run: against loops in fractions, bounds, and the run without compression."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exact import Run, simulate
from exact.messages.lossy import CompressedProcess
from tests.strategies import Problem, problems, seeds
from tests.theory.messages.oracles import (
    compressed_run,
    plain_run,
    uncompressed_run,
)
from theory import FiniteAgent, FiniteModel, Network
from theory.changing import PeriodicNetwork, Phase
from theory.messages import (
    Deadband,
    Plain,
    Quantiser,
    Uniform,
    compressed_learning,
    mixed_network,
)
from theory.network.structure import as_dense
from theory.robustness import Faults

STAR = Network.from_topology("star", agents=9, edge_confidence=0.5)
COIN = FiniteAgent.from_tables(
    inputs=[1.0], truth=[[0.5, 0.5]], likelihood=[[[0.5, 0.5]], [[0.75, 0.25]]]
)
COINS = FiniteModel.from_agents(["fair", "loaded"], [COIN], counts=[9])
RUN = Run(rounds=200, replicates=40, seed=7)
# Log-ratios of some hundred nats, summed over some hundred rounds in doubles.
ROUNDING = 1e-9


@settings(deadline=None, max_examples=40)
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


def test_steps_that_go_to_zero_compress_nothing() -> None:
    for mixing in (1.0, 0.3):
        plain = simulate(mixed_network(STAR, mixing), COINS, run=RUN)
        found = simulate(STAR, COINS, messages=Uniform(step=1e-9, mixing=mixing), run=RUN)
        np.testing.assert_allclose(found.mean, plain.mean, atol=1e-7)
        assert found.messages is not None
        assert found.messages.largest_deviation < 1e-7


def assert_within_bounds(quantiser: Quantiser) -> None:
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


@pytest.mark.parametrize(
    "quantiser",
    [
        Uniform(step=0.05),
        Uniform(step=8.0),
        Uniform(step=8.0, mixing=0.5, levels=4),
        Deadband(step=2.0, threshold=20.0, mixing=0.5),
    ],
)
def test_what_is_measured_keeps_to_its_bounds(quantiser: Quantiser) -> None:
    assert_within_bounds(quantiser)


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
