"""Losses and their gradients against autograd, finite differences, each other; compiled passes."""

from __future__ import annotations

import pytest
import torch

from empirical.kernels.noise import Noise, keys
from empirical.likelihoods.laws import Classes
from empirical.nets import dense_pass
from empirical.nets.architecture import Architecture, Convolution, Dense, MaxPool, perceptron
from empirical.nets.dense_pass import DensePass
from empirical.nets.likelihood import ESTIMATORS, gradient
from empirical.nets.update import Adam, rows_of, states_of, update
from tests.empirical.nets.torch_nets import flat, module_of

# Losses and their gradients ----------------------------------------------------------------------


NETS = {
    "perceptron": perceptron(6, 5, 4, outputs=3),
    "linear": perceptron(4, outputs=3),
    "convolutional": Architecture(
        (2, 7, 6), (Convolution(3, 3, 1, 1), MaxPool(2), Convolution(2, 2), Dense(4), Dense(3))
    ),
}
AGENTS, BATCH = 3, 4


def setting(net: Architecture, seed: int = 0, batch: int = BATCH) -> tuple[torch.Tensor, ...]:
    generator = torch.Generator().manual_seed(seed)
    shape = (AGENTS, net.parameters)
    mean = torch.randn(shape, dtype=torch.float64, generator=generator)
    variance = torch.rand(shape, dtype=torch.float64, generator=generator) * 0.2 + 0.01
    inputs = torch.randn(
        (AGENTS, batch, *net.input_shape), dtype=torch.float64, generator=generator
    )
    labels = torch.randint(net.outputs, (AGENTS, batch), generator=generator)
    return mean, variance, inputs, labels


def noise_of(seed: int = 0) -> Noise:
    return Noise(keys(seed, range(AGENTS)), [3] * AGENTS)


def found(net, mean, variance, inputs, labels, estimator, likelihood=None, seed=0):
    into = (torch.full_like(mean, torch.nan), torch.zeros_like(mean))
    loss = gradient(
        net,
        mean,
        variance,
        inputs,
        labels,
        likelihood=likelihood or Classes(net.outputs),
        estimator=estimator,
        noise=noise_of(seed),
        into=into,
    )
    return loss, into


def torchs_losses(net, weights, inputs, labels):
    """The mean loss of each agent's net of torch's modules; `weights` get their gradients."""
    losses, slopes = [], []
    for own, x, y in zip(weights, inputs, labels, strict=True):
        module = module_of(net, own)
        loss = torch.nn.functional.cross_entropy(module(x), y)
        slopes.append(flat(torch.autograd.grad(loss, list(module.parameters()))))
        losses.append(loss.detach())
    weights.backward(torch.stack(slopes))
    return torch.stack(losses)


@pytest.mark.parametrize("name", NETS)
def test_point_and_sampled_weights_against_autograd(name: str) -> None:
    net = NETS[name]
    mean, variance, inputs, labels = setting(net)
    noise = noise_of().normals(torch.empty(AGENTS, net.parameters)).double()
    for estimator in ("point", "weights"):
        m, v = mean.clone().requires_grad_(), variance.clone().requires_grad_()
        weights = m if estimator == "point" else m + v.sqrt() * noise
        expected = torchs_losses(net, weights, inputs, labels)
        loss, into = found(net, mean, variance, inputs, labels, estimator)
        # The same sums in another order, in float64.
        assert torch.allclose(loss, expected, rtol=1e-12)
        assert torch.allclose(into[0], m.grad, rtol=1e-9, atol=1e-12)
        if estimator == "weights":
            assert torch.allclose(into[1], v.grad, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", NETS)
@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_gradients_against_finite_differences(name: str, estimator: str) -> None:
    net = NETS[name]
    mean, variance, inputs, labels = setting(net, seed=1)
    _, into = found(net, mean, variance, inputs, labels, estimator)
    step = 1e-6
    for which in (0, 1):
        for k in range(0, net.parameters, 7):
            ends = []
            for sign in (1.0, -1.0):
                moved = [mean.clone(), variance.clone()]
                moved[which][:, k] += sign * step
                ends.append(found(net, *moved, inputs, labels, estimator)[0])
            slope = (ends[0] - ends[1]) / (2 * step)
            # Central differences: an error of step² in the slope, and of 1e-16 / step.
            assert torch.allclose(into[which][:, k], slope, rtol=1e-6, atol=1e-7)


# One kernel over the whole image: no two outputs share a weight.
ONE_PLACE = Architecture((2, 3, 3), (Convolution(4, 3), Dense(3)))


@pytest.mark.parametrize("net", [NETS["perceptron"], ONE_PLACE])
def test_both_ways_to_draw_agree_in_expectation(net: Architecture) -> None:
    mean, variance, inputs, labels = setting(net, seed=2)
    variance = variance * 0.05
    inputs, labels = inputs[:, :1], labels[:, :1]  # within a batch sampled weights are shared
    draws = 300
    sums = {}
    for estimator in ("local", "weights"):
        total = [torch.zeros_like(mean) for _ in range(4)]
        losses = []
        for seed in range(draws):
            loss, into = found(net, mean, variance, inputs, labels, estimator, seed=seed)
            losses.append(loss)
            for place, values in enumerate(into):
                total[2 * place] += values
                total[2 * place + 1] += values**2
        sums[estimator] = total, torch.stack(losses)
    # Five standard errors of the difference, for every one of some hundred coordinates; a hidden
    # unit's noise is shared by its outputs in both, so that the expectations are the same.
    for place in (0, 2):
        means, errors = [], []
        for estimator in ("local", "weights"):
            first, second = (value / draws for value in sums[estimator][0][place : place + 2])
            means.append(first)
            errors.append((second - first**2).clamp(min=0) / draws)
        gap = (means[0] - means[1]).abs()
        assert (gap <= 5.5 * (errors[0] + errors[1]).sqrt() + 1e-9).all()
    one, other = (sums[estimator][1] for estimator in ("local", "weights"))
    error = ((one.var(dim=0) + other.var(dim=0)) / draws).sqrt()
    assert ((one.mean(dim=0) - other.mean(dim=0)).abs() < 5 * error).all()


def test_local_reparameterisation_has_the_smaller_variance() -> None:
    net = NETS["perceptron"]
    mean, variance, inputs, labels = setting(net, seed=3, batch=40)
    spread = {}
    for estimator in ("local", "weights"):
        drawn = torch.stack(
            [
                found(net, mean, variance, inputs, labels, estimator, seed=seed)[1][0]
                for seed in range(200)
            ]
        )
        spread[estimator] = float(drawn.var(dim=0).sum())
    assert spread["local"] < 0.5 * spread["weights"], spread


def test_an_agents_noise_is_its_own() -> None:
    net = NETS["perceptron"]
    mean, variance, inputs, labels = setting(net)
    for estimator in ("local", "weights"):
        loss, into = found(net, mean, variance, inputs, labels, estimator)
        alone = torch.zeros((1, net.parameters), dtype=torch.float64)
        own = gradient(
            net,
            mean[1:2],
            variance[1:2],
            inputs[1:2],
            labels[1:2],
            likelihood=Classes(net.outputs),
            estimator=estimator,
            noise=Noise(noise_of().keys[1:2], [3]),
            into=(alone, torch.zeros_like(alone)),
        )
        assert torch.allclose(own, loss[1:2], rtol=1e-12)
        assert torch.allclose(alone, into[0][1:2], rtol=1e-10, atol=1e-14)


# The compiled passes of perceptrons against those written in torch's operations, in float64 ------


DENSE_AGENTS, DENSE_BATCH = 3, 20
DENSE_NETS = {
    "deep": perceptron(30, 17, 50, 9, outputs=10),
    "one layer": perceptron(5, outputs=3),
    "wide": perceptron(70, 130, outputs=2),
}
NOISE = Noise(keys(0, range(DENSE_AGENTS)), [4, 5, 6])


def dense_setting(net: Architecture) -> tuple[torch.Tensor, ...]:
    generator = torch.Generator().manual_seed(0)
    mean = torch.randn(DENSE_AGENTS, net.parameters, generator=generator) * 0.3
    variance = torch.rand(DENSE_AGENTS, net.parameters, generator=generator) * 0.05 + 0.01
    inputs = torch.randn(DENSE_AGENTS, DENSE_BATCH, *net.input_shape, generator=generator)
    labels = torch.randint(net.outputs, (DENSE_AGENTS, DENSE_BATCH), generator=generator)
    return mean, variance, inputs, labels


def found_densely(net: Architecture, dense_setting, estimator: str, noise: Noise = NOISE):
    mean, variance, inputs, labels = dense_setting
    into = torch.full_like(mean, torch.nan), torch.zeros_like(mean)
    loss = gradient(
        net, mean, variance, inputs, labels,
        likelihood=Classes(net.outputs), estimator=estimator, noise=noise, into=into,
    )  # fmt: skip
    return loss, *into


@pytest.mark.parametrize("name", DENSE_NETS)
@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_gradients_are_those_of_torch(name: str, estimator: str) -> None:
    net, here = DENSE_NETS[name], dense_setting(DENSE_NETS[name])
    there = tuple(t.double() if t.is_floating_point() else t for t in here)
    assert dense_pass.fits(net, here[0], here[2])
    assert not dense_pass.fits(net, there[0], there[2])
    one, other = found_densely(net, here, estimator), found_densely(net, there, estimator)
    for values, exact in zip(one, other, strict=True):
        # Sums of some hundred terms in float32, through four layers.
        size = exact.abs().amax(dim=-1, keepdim=True)
        assert ((values.double() - exact).abs() <= 1e-5 * size).all()


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_an_agents_numbers_are_its_own_to_the_last_bit(estimator: str) -> None:
    """Alone or beside others, and wherever its rows begin."""
    net, here = DENSE_NETS["deep"], dense_setting(DENSE_NETS["deep"])
    together = found_densely(net, here, estimator)
    padded = torch.zeros(DENSE_AGENTS, net.parameters + 5)[:, 2:-3]
    padded.copy_(here[0])
    apart = found_densely(net, (padded, *here[1:]), estimator)
    for k in range(DENSE_AGENTS):
        own = tuple(values[k : k + 1] for values in here)
        alone = found_densely(net, own, estimator, Noise(NOISE.keys[k : k + 1], [4 + k]))
        for one, other, moved in zip(alone, together, apart, strict=True):
            assert (one[0] == other[k]).all()
            assert (moved[k] == other[k]).all()


@pytest.mark.parametrize("prior", [True, False])
@pytest.mark.parametrize("scales", [True, False])
def test_descent_is_gradient_then_update(prior: bool, scales: bool) -> None:
    net = DENSE_NETS["deep"]
    mean, variance, inputs, labels = dense_setting(net)
    adam = Adam(1e-8, 1e-8, 0.9, 0.999, scales)
    columns = adam.columns(
        torch.tensor([[2.0], [3.0], [10.0]], dtype=torch.float64), mean_rate=1e-2, scale_rate=1e-2,
        loss_weight=torch.tensor([[1.0], [0.5], [2.0]]),
        divergence_weight=torch.tensor([[0.1], [0.0], [0.3]]),
    )  # fmt: skip
    ends = []
    for fused in (True, False):
        moved, spread = mean.clone(), variance.clone()
        moments = [torch.zeros_like(mean) for _ in range(4)]
        tensors = (moved, spread, *moments, mean + 0.1, variance * 1.5)
        passes = DensePass(net, agents=DENSE_AGENTS, batch=DENSE_BATCH, local=True)
        NOISE.normals(passes.noise)
        outputs = passes.outputs(rows_of(moved), rows_of(spread), inputs)
        _, grad = Classes(net.outputs).loss(outputs, labels)
        if fused:
            passes.descend(grad, states_of(tensors), adam, columns, prior=prior)
        else:
            into = torch.empty_like(mean), torch.empty_like(mean)
            passes.gradient(grad, into)
            update(tensors, into, adam, columns, prior=prior)
        ends.append((moved, spread, moments[1], moments[2]))
    for one, other in zip(*ends, strict=True):
        # The same operations; one of them may be fused in one and not in the other.
        assert torch.allclose(one, other, rtol=1e-5, atol=1e-9)
    assert (ends[0][1] != variance).any() == scales


def test_what_the_passes_do_not_know() -> None:
    net = Architecture((1, 4, 4), (Convolution(2, 3), Dense(3)))
    assert not dense_pass.knows(net)
    assert dense_pass.knows(DENSE_NETS["deep"])
