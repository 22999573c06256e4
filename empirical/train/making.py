"""The net of a training, from a module or from numbers of hidden units."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import torch
from numpy.typing import NDArray
from torch import nn

from empirical.train.constants import with_constants
from empirical.train.likelihoods.likelihood import Likelihood
from empirical.train.net import Net
from empirical.train.recognise import net_of


def net_for(
    module: Any,
    likelihood: Likelihood,
    example: NDArray[Any],
    *,
    hidden: Sequence[int] | None = None,
) -> Net:
    """The net that puts out what a likelihood asks for, its constants among it.

    Parameters
    ----------
    module
        A torch module or an architecture; None for a perceptron.
    example
        Some inputs, shape (n, …), as the net will get them.
    hidden
        Units of the perceptron's hidden layers.

    Raises
    ------
    ValueError
        If the module puts out something else, or cannot be trained; in one line.
    """
    outputs = likelihood.outputs - likelihood.constants
    if module is None:
        module = perceptron_module(prod(example.shape[1:]), hidden or (), outputs)
    own = net_of(
        module,
        input_shape=tuple(example.shape[1:]),
        input_dtype=torch.int64 if example.dtype.kind == "i" else torch.float32,
        outputs=outputs,
    )
    return with_constants(own, likelihood.constants)


def perceptron_module(inputs: int, hidden: Sequence[int], outputs: int) -> nn.Module:
    """Dense layers with ReLU between them, as a torch module; inputs of any shape are flattened."""
    sizes = [inputs, *hidden]
    layers: list[nn.Module] = [nn.Flatten()]
    for before, after in zip(sizes[:-1], sizes[1:], strict=True):
        layers += [nn.Linear(before, after), nn.ReLU()]
    return nn.Sequential(*layers, nn.Linear(sizes[-1], outputs))
