"""The compiled passes of perceptrons against those written in torch's operations, in float64."""

import pytest
import torch

from empirical.kernels.noise import Noise, keys
from empirical.likelihoods.laws import Classes
from empirical.nets import dense_pass
from empirical.nets.architecture import Architecture, Convolution, Dense, perceptron
from empirical.nets.dense_pass import DensePass
from empirical.nets.likelihood import ESTIMATORS, gradient
from empirical.nets.update import Adam, rows_of, states_of, update

AGENTS, BATCH = 3, 20
NETS = {
    "deep": perceptron(30, 17, 50, 9, outputs=10),
    "one layer": perceptron(5, outputs=3),
    "wide": perceptron(70, 130, outputs=2),
}
NOISE = Noise(keys(0, range(AGENTS)), [4, 5, 6])


def setting(net: Architecture) -> tuple[torch.Tensor, ...]:
    generator = torch.Generator().manual_seed(0)
    mean = torch.randn(AGENTS, net.parameters, generator=generator) * 0.3
    variance = torch.rand(AGENTS, net.parameters, generator=generator) * 0.05 + 0.01
    inputs = torch.randn(AGENTS, BATCH, *net.input_shape, generator=generator)
    labels = torch.randint(net.outputs, (AGENTS, BATCH), generator=generator)
    return mean, variance, inputs, labels


def found(net: Architecture, setting, estimator: str, noise: Noise = NOISE):
    mean, variance, inputs, labels = setting
    into = torch.full_like(mean, torch.nan), torch.zeros_like(mean)
    loss = gradient(
        net, mean, variance, inputs, labels,
        likelihood=Classes(net.outputs), estimator=estimator, noise=noise, into=into,
    )  # fmt: skip
    return loss, *into


@pytest.mark.parametrize("name", NETS)
@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_gradients_are_those_of_torch(name: str, estimator: str) -> None:
    net, here = NETS[name], setting(NETS[name])
    there = tuple(t.double() if t.is_floating_point() else t for t in here)
    assert dense_pass.fits(net, here[0], here[2])
    assert not dense_pass.fits(net, there[0], there[2])
    one, other = found(net, here, estimator), found(net, there, estimator)
    for values, exact in zip(one, other, strict=True):
        # Sums of some hundred terms in float32, through four layers.
        size = exact.abs().amax(dim=-1, keepdim=True)
        assert ((values.double() - exact).abs() <= 1e-5 * size).all()


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_an_agents_numbers_are_its_own_to_the_last_bit(estimator: str) -> None:
    """Alone or beside others, and wherever its rows begin."""
    net, here = NETS["deep"], setting(NETS["deep"])
    together = found(net, here, estimator)
    padded = torch.zeros(AGENTS, net.parameters + 5)[:, 2:-3]
    padded.copy_(here[0])
    apart = found(net, (padded, *here[1:]), estimator)
    for k in range(AGENTS):
        own = tuple(values[k : k + 1] for values in here)
        alone = found(net, own, estimator, Noise(NOISE.keys[k : k + 1], [4 + k]))
        for one, other, moved in zip(alone, together, apart, strict=True):
            assert (one[0] == other[k]).all()
            assert (moved[k] == other[k]).all()


@pytest.mark.parametrize("prior", [True, False])
@pytest.mark.parametrize("scales", [True, False])
def test_descent_is_gradient_then_update(prior: bool, scales: bool) -> None:
    net = NETS["deep"]
    mean, variance, inputs, labels = setting(net)
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
        passes = DensePass(net, agents=AGENTS, batch=BATCH, local=True)
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
    assert dense_pass.knows(NETS["deep"])
