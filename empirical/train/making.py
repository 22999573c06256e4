"""The net of a training, from a module or an architecture, and a likelihood."""

from __future__ import annotations

import re
from collections.abc import Mapping
from copy import deepcopy
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from empirical.nets.architecture import Architecture, Convolution, Dense, Layer, MaxPool
from empirical.train.constants import with_constants
from empirical.train.likelihoods.likelihood import Likelihood
from empirical.train.module_net import ModuleNet
from empirical.train.module_outputs import entries, heads_of, joined
from empirical.train.net import Net
from empirical.train.recognise import net_of
from empirical.train.seeding import seeded
from theory.validation import fail

# Rows on which a module is tried.
_EXAMPLES = 4
_LAYERS: dict[str, Any] = {kind.__name__: kind for kind in (Dense, Convolution, MaxPool)}


def net_for(module: Any, likelihood: Likelihood, example: NDArray[Any]) -> Net:
    """The net that puts out what a likelihood asks for, its constants among it.

    Parameters
    ----------
    module
        A torch module, a function that returns one, or an architecture
        (:func:`~empirical.train.recognise.net_of`).
    example
        Some inputs, shape (n, …), n ≥ 1, as the net will get them.

    Raises
    ------
    ValueError
        If the module puts out something else, or cannot be trained; in one line.
    """
    own = net_of(
        module,
        input_shape=tuple(example.shape[1:]),
        input_dtype=torch.int64 if example.dtype.kind == "i" else torch.float32,
        outputs=likelihood.outputs - likelihood.constants,
        example=torch.from_numpy(np.resize(example, (_EXAMPLES, *example.shape[1:]))),
    )
    return with_constants(own, likelihood.constants)


def outputs_of_module(module: Any, example: NDArray[Any], *, tokens: bool = False) -> int:
    """How many numbers a module puts out for one input, tried on a few.

    Parameters
    ----------
    tokens
        Whether the module takes whole numbers as they are.

    Raises
    ------
    ValueError
        If it fails on them.
    """
    if isinstance(module, Architecture):
        return module.outputs
    kind = torch.int64 if tokens else torch.float32
    try:
        with seeded(0), torch.no_grad():
            own = module if isinstance(module, nn.Module) else module()
            found = deepcopy(own).eval()(torch.from_numpy(np.array(example)).to(kind))
    except Exception as error:
        reason = (str(error).strip().splitlines() or ["no message"])[0][:200]
        raise fail(
            "module", f"a torch module that takes inputs of shape {example.shape}",
            f"{type(error).__name__}: {reason}", "change the module or the inputs",
        ) from None  # fmt: skip
    if len(heads_of(found)) > 1:
        remedy = "return the one that predicts the labels, or give the likelihood of all"
        raise fail("module", "one tensor of shape (B, numbers)", entries(found), remedy)
    return joined(found).shape[1]


def notes_on(net: Net, likelihood: Likelihood, example: NDArray[Any]) -> tuple[str, ...]:
    """What looks like a mistake in a net, tried on inputs as :func:`net_for`: sentences."""
    if likelihood.words["kind"] != "classes" or not isinstance(net, ModuleNet):
        return ()
    inputs = torch.from_numpy(np.array(example))[None]
    with torch.no_grad():
        found = net.outputs_of(net.initial(0)[None], inputs)
    sums = found.sum(dim=-1)
    if bool((found >= 0).all()) and torch.allclose(sums, torch.ones_like(sums), atol=1e-4):
        return (
            "the module's outputs are probabilities, as behind a softmax: the likelihood takes "
            "their logarithms, so leave the last softmax out",
        )
    return ()


def architecture_of(words: Mapping[str, Any]) -> Architecture | None:
    """The architecture that a net's words name; None if they name a module.

    Raises
    ------
    ValueError
        If they name layers that are not known.
    """
    if words.get("kind") != "layers":
        return None
    layers = [_layer(text) for text in words["layers"]]
    return Architecture(tuple(words["input_shape"]), tuple(layers))


def _layer(text: str) -> Layer:
    """A layer as it is printed, such as ``Dense(units=64)``."""
    kind, _, inside = text.partition("(")
    numbers = {name: int(value) for name, value in re.findall(r"(\w+)=(\d+)", inside)}
    if kind not in _LAYERS:
        raise fail("layer", f"one of {', '.join(_LAYERS)}", text, "read it with newer peerbayes")
    layer: Layer = _LAYERS[kind](**numbers)
    return layer
