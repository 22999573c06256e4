"""Nets of dense layers, convolutions and pooling, by the kernels that are written out for them.

Nothing is recorded by autograd, and gradients go straight to where they are wanted: see
:mod:`empirical.nets.layers`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from empirical.messages.codec import Block
from empirical.nets.architecture import Architecture, Convolution, Dense, MaxPool
from empirical.nets.likelihood import PREDICTED_AT_ONCE, gradient, logits
from empirical.nets.likelihood import Likelihood as Losses
from empirical.nets.posterior import shared_initialisation
from empirical.train.groups import (
    WEIGHTS_AT_ONCE,
    Groups,
    aligned,
    aligned_empty,
    is_aligned,
)
from empirical.train.layout import Layout, Place
from empirical.train.net import NoiseKey
from empirical.train.seeding import unknown_start
from theory.validation import fail


class KernelNet:
    """The nets of one architecture.

    Parameters
    ----------
    architecture
        Layers in order; a ReLU follows every layer with weights but the last.
    prefixes
        What the names of each such layer's tensors begin with, where the net stands for a torch
        module; left out: those of :func:`sequential`.
    start
        The weights to begin from for a seed; left out: He's normal weights and biases of zero, as
        the papers' nets.

    Raises
    ------
    ValueError
        If there is not one prefix a layer with weights.

    Examples
    --------
    >>> from empirical.nets.architecture import perceptron
    >>> net = KernelNet(perceptron(3, 4, outputs=2))
    >>> module = sequential(perceptron(3, 4, outputs=2))
    >>> module.load_state_dict(net.tensors(net.initial(0)))
    <All keys matched successfully>
    """

    def __init__(
        self,
        architecture: Architecture,
        *,
        prefixes: Sequence[str] | None = None,
        start: Callable[[int], Tensor] | None = None,
    ) -> None:
        self.architecture, self._start = architecture, start
        self._layout = layout_of(architecture, prefixes)
        # Convolutions of several nets at once are no quicker on a CPU, and have other bits.
        convolves = any(isinstance(layer, Convolution) for layer in architecture.layers)
        self._at_once = 1 if convolves else max(1, WEIGHTS_AT_ONCE // architecture.parameters)
        self._groups = Groups(self._trial)

    def __getstate__(self) -> dict[str, Any]:
        """What is pickled and copied; how it starts may be a function of the user's, left out."""
        return {**vars(self), "_start": None if self._start is None else unknown_start}

    @property
    def parameters(self) -> int:
        """The number d of weights and biases."""
        return self.architecture.parameters

    @property
    def outputs(self) -> int:
        """The units of the last layer."""
        return self.architecture.outputs

    @property
    def words(self) -> Mapping[str, object]:
        """The shape of an input, and the layers."""
        return {
            "kind": "layers",
            "input_shape": list(self.architecture.input_shape),
            "layers": [str(layer) for layer in self.architecture.layers],
        }

    @property
    def blocks(self) -> tuple[Block, ...]:
        """A block for each tensor that is trained."""
        return self._layout.blocks

    def initial(self, seed: int) -> Tensor:
        """The weights to begin from, shape (d,)."""
        if self._start is not None:
            return self._start(seed)
        return shared_initialisation(self.architecture, 1, std=1.0, seed=seed).mean[0]

    def tensors(self, weights: Tensor) -> dict[str, Tensor]:
        """One net's weights, shape (d,), as a ``state_dict`` with torch's shapes."""
        return self._layout.tensors(weights)

    def outputs_of(self, weights: Tensor, inputs: Tensor) -> Tensor:
        """What N nets put out, shape (N, B, outputs); see :class:`Net`."""
        agents, batch = weights.shape[0], inputs.shape[1]
        found = weights.new_empty(agents, batch, self.outputs)
        at_once = 1 if weights.device.type == "cpu" else agents
        for start in range(0, batch, PREDICTED_AT_ONCE):
            some = slice(start, start + PREDICTED_AT_ONCE)
            for first in range(0, agents, at_once):
                own = slice(first, first + at_once)
                x = aligned(inputs[:, some] if inputs.shape[0] == 1 else inputs[own, some])
                row = aligned(weights[own])
                found[own, some] = logits(self.architecture, row, self._shaped(x))
        return found

    def gradient(
        self,
        weights: Tensor,
        inputs: Tensor,
        labels: Tensor,
        *,
        likelihood: Losses,
        into: Tensor,
        noise: Sequence[NoiseKey] = (),
    ) -> Tensor:
        """The losses of N nets, and their gradients to `into`; see :class:`Net`."""
        size = self._at_once if weights.device.type == "cpu" else weights.shape[0]
        return self._groups.gradient(
            self._pass, weights, inputs, labels, likelihood, into, size=size
        )

    def _pass(
        self,
        group: slice,
        weights: Tensor,
        inputs: Tensor,
        labels: Tensor,
        likelihood: Losses,
        into: Tensor,
    ) -> Tensor:
        """A pass of some nets; the variances of a belief, which this estimator does not read."""
        target = into if is_aligned(into) else aligned_empty(into)
        losses = gradient(
            self.architecture,
            weights,
            weights,
            self._shaped(inputs),
            labels,
            likelihood=likelihood,
            estimator="point",
            into=(target, target),
        )
        if target is not into:
            into.copy_(target)
        return losses

    def _trial(self, count: int, batch: int, seed: int) -> tuple[Tensor, Tensor]:
        """Weights near the initial ones and made-up inputs, to try nets on."""
        generator = torch.Generator().manual_seed(seed)
        noise = torch.randn(count, self.parameters, generator=generator)
        shape = count, batch, *self.architecture.input_shape
        return self.initial(0) + 0.1 * noise, torch.randn(shape, generator=generator)

    def _shaped(self, inputs: Tensor) -> Tensor:
        """Inputs as the first layer takes them: flat for a dense one."""
        return inputs.reshape(*inputs.shape[:2], *self.architecture.input_shape)


def layout_of(architecture: Architecture, prefixes: Sequence[str] | None = None) -> Layout:
    """Where the tensors of a torch module of this architecture stand in the weight vector."""
    if prefixes is None:
        named = sequential(architecture, device="meta").named_modules()
        prefixes = [name for name, layer in named if isinstance(layer, nn.Linear | nn.Conv2d)]
    if len(prefixes) != len(architecture.blocks):
        raise fail(
            "prefixes",
            f"one for each of {len(architecture.blocks)} layers with weights",
            len(prefixes),
            "name them",
        )
    places = []
    for prefix, block in zip(prefixes, architecture.blocks, strict=True):
        dense, begins = len(block.shape) == 2, f"{prefix}." if prefix else ""
        shape = block.shape[::-1] if dense else block.shape
        places.append(Place(f"{begins}weight", block.weight, shape, transposed=dense))
        units = (block.bias.stop - block.bias.start,)
        places.append(Place(f"{begins}bias", block.bias, units))
    return Layout.plain(tuple(places))


def sequential(architecture: Architecture, *, device: str = "cpu") -> nn.Sequential:
    """A torch module of an architecture, with torch's own initial weights.

    Examples
    --------
    >>> from empirical.nets.architecture import perceptron
    >>> [type(layer).__name__ for layer in sequential(perceptron(3, 4, outputs=2))]
    ['Flatten', 'Linear', 'ReLU', 'Linear']
    """
    layers: list[nn.Module] = []
    shape, flat = architecture.input_shape, False
    last = len(architecture.layers) - 1
    sizes = iter(architecture.blocks)
    for index, (layer, after) in enumerate(
        zip(architecture.layers, architecture.shapes, strict=True)
    ):
        if isinstance(layer, MaxPool):
            layers.append(nn.MaxPool2d(layer.size))
        elif isinstance(layer, Convolution):
            next(sizes)
            layers.append(
                nn.Conv2d(
                    shape[0],
                    layer.channels,
                    layer.kernel,
                    stride=layer.stride,
                    padding=layer.padding,
                    device=device,
                )
            )
        elif isinstance(layer, Dense):
            if not flat:
                layers.append(nn.Flatten())
                flat = True
            layers.append(nn.Linear(next(sizes).fan_in, layer.units, device=device))
        if index < last and not isinstance(layer, MaxPool):
            layers.append(nn.ReLU())
        shape = after
    return nn.Sequential(*layers)
