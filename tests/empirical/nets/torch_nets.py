"""Architectures as torch's own modules: what ours are compared with."""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import Tensor, nn

from empirical.nets.architecture import Architecture, Convolution, MaxPool


def module_of(architecture: Architecture, weights: Tensor) -> nn.Sequential:
    """The same net of torch's layers, with these weights, shape (d,), and in their precision."""
    layers: list[nn.Module] = []
    channels = architecture.input_shape[0]
    blocks = {block.layer: block for block in architecture.blocks}
    for index, layer in enumerate(architecture.layers):
        if isinstance(layer, MaxPool):
            layers.append(nn.MaxPool2d(layer.size))
            continue
        block = blocks[index]
        own = weights[block.weight].detach().clone()
        if isinstance(layer, Convolution):
            sizes = channels, layer.channels, layer.kernel, layer.stride, layer.padding
            one: nn.Conv2d | nn.Linear = nn.Conv2d(*sizes)
            one.weight.data, channels = own.reshape(one.weight.shape), layer.channels
        else:
            layers.append(nn.Flatten())
            one = nn.Linear(*block.shape)
            one.weight.data = own.reshape(block.shape).T.contiguous()
        one.bias.data = weights[block.bias].detach().clone()
        layers += [one, nn.ReLU()] if index < len(architecture.layers) - 1 else [one]
    return nn.Sequential(*layers)


def flat(values: Iterable[Tensor]) -> Tensor:
    """Numbers of a module's weights and biases in this project's order: dense weights turned."""
    rows = [v.detach().T if v.ndim == 2 else v.detach() for v in values]
    return torch.cat([row.reshape(-1) for row in rows])
