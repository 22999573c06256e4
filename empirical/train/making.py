"""The net of a training, from a module or from numbers of hidden units."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from math import prod
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from empirical.nets.architecture import Architecture
from empirical.train.constants import with_constants
from empirical.train.likelihoods.likelihood import Likelihood
from empirical.train.net import Net
from empirical.train.recognise import net_of
from theory.validation import fail


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
        A torch module, a function that returns one, or an architecture
        (:func:`~empirical.train.recognise.net_of`); None for a perceptron.
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
        inputs = prod(example.shape[1:])

        def module() -> nn.Module:
            return perceptron_module(inputs, hidden or (), outputs)

    own = net_of(
        module,
        input_shape=tuple(example.shape[1:]),
        input_dtype=torch.int64 if example.dtype.kind == "i" else torch.float32,
        outputs=outputs,
        example=torch.from_numpy(np.resize(example, (4, *example.shape[1:]))),
    )
    return with_constants(own, likelihood.constants)


def outputs_of_module(module: Any, example: NDArray[Any]) -> int:
    """How many numbers a module puts out for one input, tried on a few.

    Raises
    ------
    ValueError
        If it fails on them.
    """
    if isinstance(module, Architecture):
        return module.outputs
    kind = torch.int64 if example.dtype.kind == "i" else torch.float32
    try:
        with torch.random.fork_rng(), torch.no_grad():
            own = module if isinstance(module, nn.Module) else module()
            found = deepcopy(own).eval()(torch.from_numpy(np.array(example)).to(kind))
    except Exception as error:
        reason = (str(error).strip().splitlines() or ["no message"])[0][:200]
        raise fail(
            "module", f"a torch module that takes inputs of shape {example.shape}",
            f"{type(error).__name__}: {reason}", "change the module or the inputs",
        ) from None  # fmt: skip
    heads = found.values() if isinstance(found, dict) else found
    heads = [found] if isinstance(found, torch.Tensor) else list(heads)
    return sum(head.shape[-1] if head.ndim > 1 else 1 for head in heads)


def perceptron_module(inputs: int, hidden: Sequence[int], outputs: int) -> nn.Module:
    """Dense layers with ReLU between them, as a torch module; inputs of any shape are flattened."""
    sizes = [inputs, *hidden]
    layers: list[nn.Module] = [nn.Flatten()]
    for before, after in zip(sizes[:-1], sizes[1:], strict=True):
        layers += [nn.Linear(before, after), nn.ReLU()]
    return nn.Sequential(*layers, nn.Linear(sizes[-1], outputs))
