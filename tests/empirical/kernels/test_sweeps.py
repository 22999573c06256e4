"""One sweep over memory against torch's operations in float64, its optimisers and a Gaussian."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from empirical.kernels import natural_sweep, sweeps
from empirical.kernels.natural_sweep import (
    Cavity,
    Gaussians,
    Natural,
    draw,
    draw_by_torch,
    natural_step,
    natural_step_by_torch,
)
from empirical.kernels.noise import Noise, keys
from empirical.kernels.sweeps import adam_step, momentum_step

AGENTS, SIZE = 3, 333  # no multiple of a block of noise
WEIGHT, STEPS = [0.7, 1.0, 1.9], [1, 4, 1000]
NATURAL = Natural(0.1, 0.9, 0.999, 1e-3, 0.3, 0.2, 600.0, WEIGHT, STEPS)


def tensors(seed: int, count: int) -> list[torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return [torch.randn(AGENTS, SIZE, generator=generator) for _ in range(count)]


def noise(step: int = 0) -> Noise:
    return Noise(keys(1, range(AGENTS)), [step, step + 1, step + 7])


def gaussians(seed: int, dtype: torch.dtype) -> Gaussians:
    mean, precision, momentum = tensors(seed, 3)
    return Gaussians(mean.to(dtype), (precision.exp() + 0.01).to(dtype), momentum.to(dtype))


def cavity(dtype: torch.dtype) -> Cavity:
    total, gradient, precision, mean = (values.to(dtype) for values in tensors(9, 4))
    return Cavity(total, gradient, precision.exp(), mean, 0.5)


def close(one: torch.Tensor, other: torch.Tensor) -> bool:
    # A dozen operations in float32, each right to 6e-8 of what it adds up, which is of size one.
    return torch.allclose(one.double(), other.double(), rtol=3e-6, atol=3e-6)


def test_momentum_does_what_torchs_optimiser_does() -> None:
    mean, gradient = tensors(0, 2)
    parameter = torch.nn.Parameter(mean.double().clone())
    optimiser = torch.optim.SGD([parameter], lr=0.1, momentum=0.9)
    momentum = torch.zeros_like(mean)
    for _ in range(3):
        parameter.grad = gradient.double() * sweeps.column(WEIGHT, gradient)
        optimiser.step()
        momentum_step(mean, momentum, gradient, weight=WEIGHT, rate=0.1, decay=0.9)
    assert close(mean, parameter.detach())


def test_adam_does_what_torchs_optimiser_does() -> None:
    mean, *gradients = tensors(0, 4)
    parameter = torch.nn.Parameter(mean.double().clone())
    optimiser = torch.optim.Adam([parameter], lr=0.1, betas=(0.8, 0.99), eps=1e-3)
    moments = torch.zeros_like(mean), torch.zeros_like(mean)
    for step, gradient in enumerate(gradients, start=1):
        parameter.grad = gradient.double() * 0.5
        optimiser.step()
        adam_step(
            mean, moments, gradient, weight=[0.5] * AGENTS, steps=[step] * AGENTS, rate=0.1,
            betas=(0.8, 0.99), epsilon=1e-3,
        )  # fmt: skip
    assert close(mean, parameter.detach())


@pytest.mark.parametrize("numbers", ["list", "column"])
def test_each_agent_has_its_own_numbers(numbers: str) -> None:
    given = (WEIGHT, STEPS)
    if numbers == "column":
        given = tuple(torch.tensor(values, dtype=torch.float64)[:, None] for values in given)
    mean, first, second, gradient = tensors(2, 4)
    second = second.abs()
    kept = [values.double() for values in (mean, first, second)]
    common = {"rate": 0.1, "betas": (0.9, 0.999), "epsilon": 1e-3}
    adam_step(mean, (first, second), gradient, weight=given[0], steps=given[1], **common)
    for n in range(AGENTS):
        alone = [values[n : n + 1].clone() for values in kept]
        sweeps.adam_step_by_torch(
            alone[0], (alone[1], alone[2]), gradient[n : n + 1].double(),
            weight=[WEIGHT[n]], steps=[STEPS[n]], **common,
        )  # fmt: skip
        for one, other in zip((mean, first, second), alone, strict=True):
            assert close(one[n : n + 1], other)


@pytest.mark.parametrize("with_cavity", [False, True])
@pytest.mark.parametrize("clip", [0.2, float("inf")])
@pytest.mark.parametrize("squares", [0, 50])
def test_the_natural_step_does_what_torch_does(
    with_cavity: bool, clip: float, squares: int
) -> None:
    step = replace(NATURAL, clip=clip, squares=squares)
    found = {}
    for dtype, act, take in (
        (torch.float32, draw, natural_step),
        (torch.float64, draw_by_torch, natural_step_by_torch),
    ):
        beliefs, gradient = gaussians(3, dtype), tensors(4, 1)[0].to(dtype)
        beside = cavity(dtype) if with_cavity else None
        weights = torch.empty_like(gradient)
        act(beliefs.mean, beliefs.precision, data=step.data, noise=noise(), out=weights)
        drawn = weights.clone()
        take(beliefs, gradient, weights, step, cavity=beside, following=noise(1))
        total = beside.total if beside else weights
        found[dtype] = [
            drawn, beliefs.mean, beliefs.precision, beliefs.momentum, weights, total
        ]  # fmt: skip
    for place, (one, other) in enumerate(zip(*found.values(), strict=True)):
        if place == 2:
            # ĥ takes w − m, which rounding leaves right to 6e-8 of m only: here |m| reaches 4,
            # and n s |a g| about 10⁴, of which (1 − β₂) counts.
            assert torch.allclose(one.double(), other, rtol=3e-5, atol=3e-5)
        else:
            # The new precision's error goes on into the mean's step.
            assert torch.allclose(one.double(), other, rtol=1e-4, atol=3e-5), place


def test_the_last_step_leaves_weights_alone() -> None:
    beliefs, (gradient, weights) = gaussians(3, torch.float32), tensors(4, 2)
    before = weights.clone()
    natural_step(beliefs, gradient, weights, NATURAL)
    assert (weights == before).all()


def test_a_quadratic_is_learnt_exactly() -> None:
    """Loss ½ c (w − b)² a datum: the belief must become N(b c/(c + δ), 1/(n (c + δ)))."""
    curvature = torch.linspace(0.5, 2.0, SIZE)[None].repeat(AGENTS, 1)
    target = torch.linspace(-1.0, 1.0, SIZE)[None].repeat(AGENTS, 1)
    delta, n = 0.1, 1000.0
    beliefs = Gaussians(
        torch.zeros(AGENTS, SIZE), torch.ones(AGENTS, SIZE), torch.zeros(AGENTS, SIZE)
    )
    weights = torch.empty(AGENTS, SIZE)
    draw(beliefs.mean, beliefs.precision, data=n, noise=noise(), out=weights)
    means, precisions, rounds = [], [], 6000
    for t in range(1, rounds + 1):
        # A step in which means and precisions move little, so that their averages are unbiased.
        rate = 0.1 if t < 500 else 0.02
        step = Natural(rate, 0.9, 0.995, delta, 0.0, np.inf, n, [1.0] * AGENTS, [t] * AGENTS)
        natural_step(
            beliefs, curvature * (weights - target), weights, step, following=noise(10 * t)
        )
        if t > rounds // 2:
            means.append(beliefs.mean.clone())
            precisions.append(beliefs.precision.clone())
    expected = curvature + delta
    mean, precision = torch.stack(means).mean(dim=0), torch.stack(precisions).mean(dim=0)
    # Averages over 3 000 steps, correlated over 200 of them, of ĥ, whose own standard deviation is
    # √2 c and, from the mean's offset, less; four standard errors of some thousand coordinates.
    assert (precision / expected - 1).abs().max() < 0.2
    assert (precision / expected - 1).mean().abs() < 0.01
    assert (mean - target * curvature / expected).abs().max() < 0.01


def test_a_nan_comes_through() -> None:
    for place in range(2):
        beliefs, (gradient, weights) = gaussians(3, torch.float32), tensors(4, 2)
        (gradient, weights)[place][1, 5] = torch.nan
        natural_step(beliefs, gradient, weights, NATURAL)
        assert beliefs.mean[1, 5].isnan()
        assert beliefs.mean.isnan().sum() == 1


@pytest.mark.parametrize("function", [draw_by_torch, natural_step_by_torch])
def test_other_types_go_by_torch(function, monkeypatch) -> None:
    """Float64, and rows that are not contiguous."""
    called = []
    monkeypatch.setattr(
        natural_sweep, function.__name__, lambda *args, **given: called.append(function)
    )
    beliefs, (gradient, weights) = gaussians(3, torch.float64), tensors(4, 2)
    if function is draw_by_torch:
        draw(beliefs.mean, beliefs.precision, data=1.0, noise=noise(), out=weights.double())
    else:
        natural_step(beliefs, gradient.double(), weights.double(), NATURAL)
    assert called == [function]
    assert not sweeps.compiled(torch.zeros(4, 3).T)
