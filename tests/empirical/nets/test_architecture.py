"""Shapes and places of weights, against torch's own layers."""

import pytest
import torch

from empirical.nets.architecture import (
    Architecture,
    Convolution,
    Dense,
    MaxPool,
    first_weights,
    perceptron,
)
from tests.empirical.nets.torch_nets import module_of
from tests.empirical.support import refused

NETS = {
    "2NN": perceptron(784, 200, 200, outputs=10),
    "one layer": perceptron(3, outputs=1),
    "convolutional": Architecture(
        (2, 9, 7), (Convolution(3, 3, 2, 1), MaxPool(2), Convolution(4, 1), Dense(5), Dense(3))
    ),
}


@pytest.mark.parametrize("name", NETS)
def test_as_many_weights_as_torchs_modules(name: str) -> None:
    net = NETS[name]
    peer = module_of(net, torch.zeros(net.parameters))
    assert net.parameters == sum(values.numel() for values in peer.parameters())
    x = torch.zeros(2, *net.input_shape)
    shapes = []
    for module in peer:
        x = module(x)
        if not isinstance(module, torch.nn.Flatten | torch.nn.ReLU):
            shapes.append(tuple(x.shape[1:]))
    assert tuple(shapes) == net.shapes


@pytest.mark.parametrize("name", NETS)
def test_places_tile_the_vector(name: str) -> None:
    net = NETS[name]
    place = 0
    for block in net.blocks:
        for part in (block.weight, block.bias):
            assert part.start == place
            place = part.stop
        size = block.weight.stop - block.weight.start
        assert size == torch.zeros(block.shape).numel()
        units = block.bias.stop - block.bias.start
        assert block.fan_in * units == size
    assert place == net.parameters


@pytest.mark.parametrize(
    ("shape", "layers", "words"),
    [
        ((4,), (), "no layers"),
        ((4, 4), (Dense(2),), "input_shape"),
        ((1, 4, 4), (Dense(2), MaxPool(2)), "a dense layer at the end"),
        ((4,), (Convolution(2, 3), Dense(2)), r"layers\[0\].*before dense layers"),
        ((1, 4, 4), (Convolution(2, 5), Dense(2)), r"layers\[0\].*smaller kernel"),
        ((1, 4, 4), (MaxPool(2), MaxPool(3), Dense(2)), r"layers\[1\].*smaller kernel"),
        ((0,), (Dense(2),), "input_shape"),
    ],
)
def test_layers_that_do_not_fit(shape: tuple[int, ...], layers: tuple, words: str) -> None:
    refused(words, Architecture, shape, layers)


def test_the_beginning_is_of_hes_size() -> None:
    net = perceptron(784, 400, outputs=10)
    start = first_weights(net, seed=1)
    for block in net.blocks:
        assert (start[block.bias] == 0).all()
        drawn = start[block.weight]
        # The standard error of a standard deviation of n normal numbers is σ / sqrt(2n).
        wanted = (2.0 / block.fan_in) ** 0.5
        assert abs(float(drawn.std()) - wanted) < 4 * wanted / (2 * drawn.numel()) ** 0.5
    assert (first_weights(net, seed=1) == start).all()
    assert (first_weights(net, seed=2) != start).any()
