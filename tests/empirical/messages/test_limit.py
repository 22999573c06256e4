"""The curve of bits against nats, and codecs on trial: closed forms, another solver, simulation."""

from __future__ import annotations

from math import e, inf, log2, pi
from typing import Any

import numpy as np
import pytest
import torch
from scipy.optimize import minimize

from empirical.messages.codec import Block, Layout
from empirical.messages.codecs import codec_of
from empirical.messages.limit import (
    UNIFORM_LOSS,
    Limit,
    Point,
    curves,
    divergence,
    groups_limit,
    moves,
    primed,
    shannon_limit,
    trial,
)
from tests.empirical.support import refused


def test_one_scale_has_a_closed_form() -> None:
    limit = Limit([2.0])  # τ = 2σ: ρ = τ²/(2σ²) = 2
    for nats in (0.001, 0.1, 1.0):
        assert limit.bits(nats) == pytest.approx(0.5 * log2(2.0 / nats), rel=1e-14)
        assert limit.nats(limit.bits(nats)) == pytest.approx(nats, rel=1e-12)
    assert limit.bits(2.0) == limit.bits(9.0) == 0.0
    assert limit.nats(0.0) == limit.silence == 2.0


def test_water_filling_is_the_least_over_all_allocations() -> None:
    """Against a general solver over the divergences of all weights."""
    rng = np.random.default_rng(0)
    signals = rng.exponential(size=6) ** 2
    limit = Limit(signals)
    for nats in (0.01, 0.1, 0.4):
        # The share of each signal that is lost, in logarithms: rate is linear, divergence convex.
        best = minimize(
            lambda lost: float(-lost.sum() / 12 / np.log(2)),
            np.full(6, np.log(nats / signals.mean())) - 1,
            bounds=[(-40, 0)] * 6,
            constraints={"type": "ineq", "fun": lambda u, n=nats: n - (signals @ np.exp(u)) / 6},
            method="SLSQP",
            options={"ftol": 1e-12, "maxiter": 500},
        )
        assert best.success
        # A feasible point is never below the least; SLSQP stops within 1e-6 of it.
        assert -1e-12 < best.fun - limit.bits(nats) < 1e-5


def test_groups_stand_for_their_weights() -> None:
    one, many = Limit([0.5, 3.0], [3, 1]), Limit([0.5, 0.5, 3.0, 0.5])
    for nats in (0.01, 0.3, 0.7, 1.2):
        assert one.bits(nats) == pytest.approx(many.bits(nats), rel=1e-13)
    assert one.silence == pytest.approx(many.silence)


def test_certificates_hold_the_value_and_are_narrow() -> None:
    limit = Limit(np.random.default_rng(1).exponential(size=5000) ** 3)
    for nats in (1e-6, 1e-2, 1.0, 5.0, 100.0):
        found = limit.certified_bits(nats)
        # Equal but for rounding; float sums of 5 000 terms err by 1e-12 at most.
        assert found.lower - 1e-12 <= limit.bits(nats) <= found.upper + 1e-12
        assert found.upper - found.lower < 1e-11


def test_weights_without_signal_need_no_bits() -> None:
    limit = Limit([0.0, 0.0, 1.0])
    assert limit.bits(0.1) == pytest.approx(0.5 * log2(1 / 0.3) / 3)
    assert limit.nats(limit.bits(0.1)) == pytest.approx(0.1)
    assert Limit([0.0]).bits(0.1) == 0.0
    assert Limit([0.0]).nats(3.0) == 0.0


REFUSED: dict[str, Any] = {
    "signals: expected one or more numbers of at least 0": lambda: Limit([-1.0]),
    "signals: expected one or more": lambda: Limit([]),
    "shares: expected a positive number a signal": lambda: Limit([1.0], [0.0]),
    "shares: expected a positive": lambda: Limit([1.0], [1.0, 1.0]),
    "nats: expected a number above 0": lambda: Limit([1.0]).bits(0.0),
    "bits: expected a finite number of at least 0": lambda: Limit([1.0]).nats(-1.0),
    "^said: expected two or more messages, got 1; overhear": lambda: curves(*walk(1)),
    "^layout: expected messages of Gaussian .*, got mean;": lambda: curves(WEIGHTS, [{}, {}]),
}


@pytest.mark.parametrize("words", REFUSED)
def test_bad_input(words: str) -> None:
    refused(words, REFUSED[words])


def test_divergence_is_that_of_torch() -> None:
    rng = np.random.default_rng(2)
    said, heard = (
        {
            "precision": torch.tensor(rng.uniform(0.5, 3, 50), dtype=torch.float32),
            "shift": torch.tensor(rng.normal(size=50), dtype=torch.float32),
        }
        for _ in range(2)
    )

    def normal(message: dict[str, torch.Tensor]) -> torch.distributions.Normal:
        precision = 7 * message["precision"].double()
        mean = message["shift"].double() / message["precision"].double()
        return torch.distributions.Normal(mean, precision.rsqrt())

    oracle = torch.distributions.kl_divergence(normal(heard), normal(said))
    assert divergence(heard, said, examples=7) == pytest.approx(oracle.numpy(), rel=1e-12)
    moved = (normal(said).mean - normal(heard).mean) / normal(said).stddev
    assert moves(said, heard, examples=7) == pytest.approx(moved.numpy(), rel=1e-12)


def test_a_quantiser_of_normal_moves_is_a_quarter_bit_above_at_high_rate() -> None:
    """Entropy of the rounded number by its exact law; divergence by quadrature."""
    from scipy.stats import norm

    step = 0.01
    cells = np.arange(-700, 701)
    chances = np.diff(norm.cdf(np.append(cells - 0.5, 700.5) * step))
    bits = float(-(chances * np.log2(np.maximum(chances, 1e-300))).sum())
    point = Point(bits, step**2 / 24)  # D = c²/24 nats: the error is uniform to 1e-4
    assert point.above(Limit([0.5])) == pytest.approx(UNIFORM_LOSS, abs=1e-4)
    assert pytest.approx(0.25461, abs=1e-5) == UNIFORM_LOSS


def test_shannons_bound_is_the_curve_for_normal_moves_and_below_it_for_others() -> None:
    rng = np.random.default_rng(3)
    groups = np.arange(200_000) % 2
    scale = np.where(groups == 0, 1.0, 4.0)
    normal = rng.normal(size=200_000) * scale
    for nats in (0.01, 0.1, 1.0):
        curve = groups_limit(normal, groups).bits(nats)
        assert curve == pytest.approx(Limit([0.5, 8.0]).bits(nats), abs=0.01)
        assert shannon_limit(normal, groups, width=0.1).bits(nats) == pytest.approx(curve, abs=0.01)
    laplace = rng.laplace(size=200_000) * scale
    above = groups_limit(laplace, groups).bits(0.001) - shannon_limit(
        laplace, groups, width=0.05
    ).bits(0.001)
    # ½ log₂(2πe · 2) − log₂(2e): a Laplace law's variance is 2, its entropy log₂ 2e.
    assert above == pytest.approx(0.5 * log2(4 * pi * e) - log2(2 * e), abs=0.02)


# Codecs on trial, against closed forms of a source that is known ---------------------------------


ROWS, COLUMNS, STD, TAU = 100, 200, 0.5, 2.0
SIZE = ROWS * COLUMNS
BLOCKS = (Block("weight", 0, (ROWS, COLUMNS)),)
WEIGHTS = Layout({"mean": torch.zeros(SIZE)}, BLOCKS)


def belief(mean: Any) -> dict[str, Any]:
    precision = torch.full((SIZE,), 1 / STD**2)
    return {"precision": precision, "shift": precision * mean}


def walk(rounds: int, seed: int = 0) -> tuple[Layout, list[dict[str, Any]]]:
    """Means that move by τ standard deviations a round, independently; widths stay."""
    generator = torch.Generator().manual_seed(seed)
    mean, said = torch.zeros(SIZE), []
    layout = Layout(belief(mean.clone()), BLOCKS)
    for _ in range(rounds):
        mean = mean + TAU * STD * torch.randn(SIZE, generator=generator)
        said.append(belief(mean))
    return layout, said


@pytest.mark.parametrize(("step", "least"), [(0.25, 0.2), (0.5, 0.2), (2.0, 0.0)])
def test_steps_are_at_most_a_quarter_of_a_bit_above_the_closed_form(
    step: float, least: float
) -> None:
    layout, said = walk(3)
    found = trial(codec_of("posterior", step=step), layout, said, seed=0)
    # One size for all: ½ log₂(ρ/D), ρ = (τ² + what the replica lacks)/2; the mean square of 20 000
    # normal moves is τ² but for 1 % (one standard error), .007 bit.
    lacking = 2 * trial(codec_of("posterior", step=step), layout, said[:2], seed=0).nats
    assert found.common == pytest.approx(0.5 * log2(TAU**2 / 2 / found.nats), abs=0.03)
    own = 0.5 * log2((TAU**2 + lacking) / 2 / found.nats)
    assert found.limit == pytest.approx(own, abs=0.03)
    assert (found.limit - found.common > 0.04) == (step > 1)
    # A coder of these moves cannot be below the limit; at high rate it wastes a quarter of a bit,
    # and what classes of rows and columns cost, 300 of some bits each.
    assert least < found.bits - found.limit < UNIFORM_LOSS + 300 * 8 / SIZE + 0.03


def test_what_loses_nothing_costs_its_numbers_and_the_frame() -> None:
    layout, said = walk(2)
    found = trial(codec_of("plain"), layout, said, seed=0)
    assert (found.nats, found.limit, found.common) == (0.0, inf, inf)
    assert found.bits == 64 + 8 * 40 / SIZE


def test_replicas_in_place_have_the_numbers_of_differences() -> None:
    """Both limits among them: what is pooled of a message is no matter of the message."""
    layout, said = walk(3)
    inner = codec_of("quantised", step=1.0)
    found = [
        trial(codec_of(name, inner=inner), layout, said, seed=0)
        for name in ("difference", "replica")
    ]
    assert found[0] == found[1]
    assert abs(found[0].limit - found[0].common) > 0.01  # the replica lags behind what was said


def test_where_nothing_is_said_the_last_word_stands() -> None:
    layout, said = walk(3)
    codec = codec_of("seeds", share=0.25)
    coder = codec.coder(layout)
    # The listener's picture, by hand: coordinates that each message drew, one after the other.
    memory, picture = coder.memory(), {k: v.clone() for k, v in layout.begin.items()}
    for seed, message in zip((7, 8, 7 + len(said)), said, strict=True):
        heard = coder.decode(coder.encode(message, memory, seed=seed), memory, seed=seed)
        assert heard.sent is not None
        for name, values in picture.items():
            values[heard.sent] = heard.vectors[name][heard.sent]
        if seed == 8:
            known = primed(coder, layout, said[:2], seed=7).known
            assert all(torch.equal(known[name], values) for name, values in picture.items())
    by_hand = divergence(picture, said[-1]).mean()
    assert trial(codec, layout, said, seed=7).nats == pytest.approx(by_hand, rel=1e-12)
    assert by_hand > 1.0  # most weights were heard of two or three rounds ago


def test_the_curve_is_of_the_last_move() -> None:
    layout, said = walk(4)
    both = curves(layout, said)
    assert both.normal.silence == pytest.approx(TAU**2 / 2, rel=0.03)  # 3 standard errors
    # Normal moves have the entropy of normal moves; histograms add what a bin hides, and classes
    # of 20 000 numbers in rows and columns look a little more orderly than they are.
    for nats in (0.01, 0.1):
        assert both.shannon.bits(nats) == pytest.approx(both.normal.bits(nats), abs=0.1)
    again = curves(layout, said[2:])
    assert again.normal.silence == both.normal.silence
    assert not np.isclose(curves(layout, said[:3]).normal.silence, both.normal.silence, rtol=1e-6)
