"""What trains and tests the rows of a tensor of nets: compiled on a CPU, torch on a GPU."""

from __future__ import annotations

from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from empirical.data import Images
from empirical.gae.net import as_inputs, gradient, scores
from empirical.gae.reference import reference_gradient, reference_scores
from theory.validation import IntArray

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
