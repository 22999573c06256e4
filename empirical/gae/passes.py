"""What trains and tests the rows of a tensor of nets: compiled on a CPU, torch on a GPU."""

from __future__ import annotations

import math
from typing import Protocol

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from empirical.data import Images
from empirical.gae.net import as_inputs, blocks, gradient, scores
from theory.validation import IntArray

# The local net by torch's own convolutions and derivatives ---------------------------------------


def reference_scores(
    weights: Tensor,
    images: Tensor,
    *,
    dropout: float = 0.0,
    generator: torch.Generator | None = None,
) -> Tensor:
    """What the output layer says of images, before softmax; differentiable.

    Parameters
    ----------
    weights
        Shape (613 514,), in the order of :mod:`empirical.gae.net`.
    images
        Shape (n, 28, 28).
    dropout, generator
        Share of what the max-pool leaves that is set to 0, and what draws it.
    """
    c1, b1, c2, b2, *dense = (
        weights[one.start : one.start + math.prod(one.shape)].view(one.shape) for one in blocks()
    )
    held = images[:, None]
    held = torch.relu(torch.conv2d(held, c1.permute(3, 2, 0, 1), b1))
    held = torch.relu(torch.conv2d(held, c2.permute(3, 2, 0, 1), b2))
    held = torch.max_pool2d(held, 2).permute(0, 2, 3, 1).flatten(1)
    if dropout:
        kept = torch.rand(held.shape, device=held.device, generator=generator) >= dropout
        held = held * kept / (1 - dropout)
    for number in range(0, len(dense), 2):
        held = held @ dense[number] + dense[number + 1]
        held = torch.relu(held) if number < len(dense) - 2 else held
    return held


def reference_gradient(
    weights: Tensor,
    images: Tensor,
    labels: Tensor,
    *,
    dropout: float,
    generator: torch.Generator | None = None,
) -> tuple[Tensor, Tensor]:
    """The sum of a batch's losses in nats, and the gradient of their mean, shape (613 514,)."""
    free = weights.detach().requires_grad_()
    said = reference_scores(free, images, dropout=dropout, generator=generator)
    loss = functional.cross_entropy(said, labels, reduction="sum")
    (found,) = torch.autograd.grad(loss / len(images), free)
    return loss.detach(), found


# What trains and tests the rows of a tensor of nets ----------------------------------------------


# Test images at a time on a GPU.
_SOME = 5000


class Passes(Protocol):
    """A data set's images at hand where the nets are; several threads may ask at once."""

    def gradient(
        self, weights: Tensor, chosen: IntArray, dropout: float, random: np.random.Generator
    ) -> tuple[float, Tensor]:
        """The sum of the losses of some images in nats, and their mean's gradient, shape (d,)."""
        ...

    def right(self, weights: Tensor) -> int:
        """How many images one net puts into their class."""
        ...


def passes(images: Images, *, device: str) -> Passes:
    """Those of a device."""
    return Compiled(images) if device == "cpu" else Differentiated(images, device)


class Compiled:
    """On a CPU."""

    def __init__(self, images: Images) -> None:
        self._inputs, self._labels = as_inputs(images.pixels), images.labels

    def gradient(
        self, weights: Tensor, chosen: IntArray, dropout: float, random: np.random.Generator
    ) -> tuple[float, Tensor]:
        """As :class:`Passes` says."""
        out = torch.empty_like(weights)
        loss = gradient(
            weights.numpy(), self._inputs[chosen], self._labels[chosen],
            dropout=dropout, random=random, out=out.numpy(),
        )  # fmt: skip
        return loss, out

    def right(self, weights: Tensor) -> int:
        """As :class:`Passes` says."""
        said = scores(weights.numpy(), self._inputs)
        return int((said.argmax(axis=1) == self._labels).sum())


class Differentiated:
    """By torch's own derivatives, on any of its devices."""

    def __init__(self, images: Images, device: str) -> None:
        self._inputs = torch.from_numpy(as_inputs(images.pixels)).to(device)
        self._labels = torch.tensor(images.labels).to(device)

    def gradient(
        self, weights: Tensor, chosen: IntArray, dropout: float, random: np.random.Generator
    ) -> tuple[float, Tensor]:
        """As :class:`Passes` says."""
        own = torch.from_numpy(chosen).to(self._inputs.device)
        seed = int(random.integers(2**63))
        generator = torch.Generator(self._inputs.device).manual_seed(seed)
        loss, found = reference_gradient(
            weights, self._inputs[own], self._labels[own], dropout=dropout, generator=generator
        )
        return float(loss), found

    @torch.no_grad()
    def right(self, weights: Tensor) -> int:
        """As :class:`Passes` says."""
        parts = [slice(k, k + _SOME) for k in range(0, len(self._labels), _SOME)]
        return sum(
            int((reference_scores(weights, self._inputs[p]).argmax(1) == self._labels[p]).sum())
            for p in parts
        )
