"""What the written-out kernels know is recognised, and nothing else is."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from empirical.nets.architecture import (
    Architecture,
    Convolution,
    Dense,
    MaxPool,
    perceptron,
)
from empirical.train.kernel_net import KernelNet, sequential
from empirical.train.making import net_of, recognised
from tests.empirical.train.modules import some


@st.composite
def architectures(draw):
    """Small images through convolutions and pooling, or features; then dense layers."""
    dense = [Dense(units) for units in draw(st.lists(st.integers(1, 4), min_size=1, max_size=3))]
    if draw(st.booleans()):
        return Architecture((draw(st.integers(1, 5)),), tuple(dense))
    numbers = st.tuples(st.integers(1, 3), st.integers(1, 3), st.integers(1, 2), st.integers(0, 1))
    front = st.lists(
        st.one_of(numbers.map(lambda n: Convolution(*n)), st.integers(1, 2).map(MaxPool)),
        max_size=3,
    )
    shape = (draw(st.integers(1, 2)), draw(st.integers(9, 12)), draw(st.integers(9, 12)))
    layers = []
    for layer in draw(front):
        try:
            Architecture(shape, (*layers, layer, *dense))
        except ValueError:
            continue
        layers.append(layer)
    return Architecture(shape, (*layers, *dense))


@given(architectures(), st.integers(0, 100))
@settings(max_examples=40)
def test_a_sequential_module_is_its_architecture(architecture, seed):
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        module = sequential(architecture)
    found = recognised(module, architecture.input_shape)
    assert found is not None
    assert found.architecture == architecture
    net = net_of(module, some(*architecture.input_shape), outputs=architecture.outputs)
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(1, 3, *architecture.input_shape, generator=generator)
    expected = module(x[0]).detach()
    # Two orders of summation of at most some hundred numbers of order 1 in float32.
    near = {"rtol": 1e-5, "atol": 1e-5}
    torch.testing.assert_close(net.outputs_of(net.initial(0)[None], x)[0], expected, **near)
    # The architecture itself begins at weights of its own, which its module takes.
    own = net_of(architecture, some(*architecture.input_shape), outputs=architecture.outputs)
    weights = own.initial(seed)
    assert not torch.equal(weights, own.initial(seed + 1))
    module.load_state_dict(own.tensors(weights), strict=True)
    torch.testing.assert_close(own.outputs_of(weights[None], x)[0], module(x[0]).detach(), **near)


def linear(*middle, last=3):
    return nn.Sequential(nn.Linear(4, 5), *middle, nn.Linear(5, last))


def hooked():
    module = linear(nn.ReLU())
    module[1].register_forward_hook(lambda module, inputs, output: output + 1.0)
    return module


def shared():
    module = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 3))
    module[2].weight = module[0].weight
    return module


def used_twice():
    layer = nn.Linear(4, 4)
    return nn.Sequential(layer, nn.ReLU(), layer, nn.ReLU(), nn.Linear(4, 3))


def partly_frozen():
    module = linear(nn.ReLU())
    module[0].bias.requires_grad_(False)
    return module


def patched():
    module = linear(nn.ReLU())
    module[1].forward = torch.abs
    return module


class Negated(nn.Sequential):
    def forward(self, x):
        return -super().forward(x)


class Shifted(nn.ReLU):
    def forward(self, x):
        return super().forward(x - 1.0)


def image(*layers):
    return nn.Sequential(*layers, nn.Flatten(), nn.LazyLinear(3))


UNKNOWN = {
    "no bias": nn.Sequential(nn.Linear(4, 5), nn.ReLU(), nn.Linear(5, 3, bias=False)),
    "no ReLU": linear(),
    "two ReLUs": linear(nn.ReLU(), nn.ReLU()),
    "a ReLU at the end": nn.Sequential(*linear(nn.ReLU()), nn.ReLU()),
    "another activation": linear(nn.Tanh()),
    "dropout": linear(nn.ReLU(), nn.Dropout(0.1)),
    "a hook": hooked(),
    "a patch": patched(),
    "shared weights": shared(),
    "a layer used twice": used_twice(),
    "frozen weights": partly_frozen(),
    "weight norm": nn.Sequential(nn.utils.parametrizations.weight_norm(nn.Linear(4, 3))),
    "a class of its own": Negated(nn.Linear(4, 3)),
    "a ReLU of its own": linear(Shifted()),
    "nothing": nn.Sequential(),
}


@pytest.mark.parametrize("name", UNKNOWN)
def test_what_the_kernels_do_not_know_is_left_to_torch(name):
    module = UNKNOWN[name]
    assert recognised(module, (4,)) is None
    if name == "nothing":
        return
    net = net_of(module, some(4), outputs=3)
    x = torch.randn(1, 6, 4, generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        expected = module.eval()(x[0])
    assert not isinstance(net, KernelNet)
    torch.testing.assert_close(net.outputs_of(net.initial(0)[None], x)[0], expected)


@pytest.mark.parametrize(
    "layers",
    [
        (nn.Conv2d(1, 2, (3, 2)), nn.ReLU()),
        (nn.Conv2d(1, 2, 3, stride=(1, 2)), nn.ReLU()),
        (nn.Conv2d(1, 2, 3, dilation=2), nn.ReLU()),
        (nn.Conv2d(1, 2, 3, bias=False), nn.ReLU()),
        (nn.Conv2d(1, 2, 3, padding=1, padding_mode="circular"), nn.ReLU()),
        (nn.Conv2d(1, 2, 3, padding="same"), nn.ReLU()),
        (nn.Conv2d(1, 2, 3),),
        (nn.Conv2d(1, 2, 3), nn.ReLU(), nn.MaxPool2d(3, 2)),
        (nn.Conv2d(1, 2, 3), nn.ReLU(), nn.MaxPool2d(2, padding=1)),
        (nn.Conv2d(1, 2, 3), nn.ReLU(), nn.MaxPool2d(2, ceil_mode=True)),
        (nn.Conv2d(1, 2, 3), nn.ReLU(), nn.AvgPool2d(2)),
    ],
    ids=str,
)
def test_images_that_the_kernels_do_not_know(layers):
    module = nn.Sequential(*layers, nn.Flatten(), nn.LazyLinear(3))
    module(torch.zeros(1, 1, 9, 9))
    assert recognised(module, (1, 9, 9)) is None


def test_a_linear_layer_along_an_axis_is_not_a_dense_one():
    module = nn.Sequential(nn.Linear(4, 5), nn.ReLU(), nn.Flatten(), nn.Linear(15, 3))
    assert recognised(module, (3, 4)) is None
    flat = nn.Sequential(nn.Flatten(), nn.Linear(12, 5), nn.ReLU(), nn.Linear(5, 3))
    found = recognised(flat, (3, 4))
    assert found is not None
    assert found.architecture == perceptron(12, 5, outputs=3)
    assert recognised(flat, (3, 5)) is None
    assert recognised(nn.Linear(4, 3), (4,)) is not None
    nested = nn.Sequential(nn.Sequential(nn.Linear(4, 5)), nn.Identity(), nn.ReLU(inplace=True))
    found = recognised(nn.Sequential(nested, nn.Linear(5, 3)), (4,))
    assert found is not None
    assert found.prefixes == ("0.0.0", "1")
