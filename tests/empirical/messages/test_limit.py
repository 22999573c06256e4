"""The curve of bits against nats, by closed forms, by another solver, and by simulation."""

from __future__ import annotations

from math import e, log2, pi

import numpy as np
import pytest
import torch
from scipy.optimize import minimize

from empirical.messages.limit import (
    UNIFORM_LOSS,
    Limit,
    Point,
    divergence,
    groups_limit,
    moves,
    shannon_limit,
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


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (([-1.0],), "at least 0"),
        (([],), "one or more"),
        (([1.0], [0.0]), "a positive number a signal"),
        (([1.0], [1.0, 1.0]), "a positive number a signal"),
    ],
)
def test_bad_signals_are_refused(arguments: tuple[list[float], ...], text: str) -> None:
    refused(text, Limit, *arguments)


def test_bad_points_are_refused() -> None:
    refused("nats: expected a number above 0", Limit([1.0]).bits, 0.0)
    refused("bits: expected a finite number of at least 0", Limit([1.0]).nats, -1.0)


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
