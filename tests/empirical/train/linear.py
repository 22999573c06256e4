"""A net whose outputs are linear in its weights, and the data it is tested on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from torch import Tensor

from empirical.messages.codec import Block
from empirical.nets.shares import Shares
from empirical.train.net import NoiseKey


@dataclass(frozen=True)
class LinearNet:
    """Outputs A x, the weights in the rows of A; trained with one output, x·w."""

    parameters: int
    dtype: torch.dtype = torch.float32
    outputs: int = 1

    @property
    def words(self) -> Mapping[str, object]:
        """What tells it from others."""
        return {"kind": "linear", "parameters": self.parameters}

    @property
    def blocks(self) -> tuple[Block, ...]:
        """One."""
        return (Block("weight", 0, (self.parameters,)),)

    def initial(self, seed: int) -> Tensor:
        """Normal weights."""
        generator = torch.Generator().manual_seed(seed)
        return torch.randn(self.parameters, generator=generator).to(self.dtype)

    def outputs_of(self, weights: Tensor, inputs: Tensor) -> Tensor:
        """A x of every net."""
        rows = weights.reshape(len(weights), self.outputs, -1)
        inputs = inputs.to(self.dtype).expand(len(weights), -1, -1)
        return torch.einsum("noi,nbi->nbo", rows, inputs)

    def gradient(
        self,
        weights: Tensor,
        inputs: Tensor,
        labels: Tensor,
        *,
        likelihood: Any,
        into: Tensor,
        noise: Sequence[NoiseKey] = (),
    ) -> Tensor:
        """Losses, and gradients row by row, so that the number of rows changes no bit."""
        losses = []
        for k in range(len(weights)):
            x = inputs[k].to(self.dtype)
            loss, back = likelihood.loss((x @ weights[k])[None, :, None], labels[k : k + 1])
            into[k] = back[0, :, 0] @ x
            losses.append(loss)
        return torch.cat(losses)

    def tensors(self, weights: Tensor) -> dict[str, Tensor]:
        """All in one."""
        return {"weight": weights}


@dataclass(frozen=True)
class Unit:
    """ℓ = N(y; output, 1), in the outputs' own precision."""

    outputs: int = 1

    def loss(self, outputs: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
        """Half squared errors, and their derivative."""
        gap = outputs[:, :, 0] - labels
        return 0.5 * (gap * gap).mean(dim=1), (gap / gap.shape[1])[:, :, None]


def regression(sizes: Sequence[int], *, weights: int = 3, seed: int = 0) -> Shares:
    """Noisy linear data, the agents' inputs of different size and tilt."""
    rng = np.random.default_rng(seed)
    truth = rng.normal(size=weights)
    parts = [
        rng.normal(size=(size, weights)) @ np.diag(rng.uniform(0.4, 1.6, weights)) for size in sizes
    ]
    inputs = np.concatenate(parts).astype(np.float32)
    labels = (inputs @ truth + rng.normal(size=len(inputs))).astype(np.float32)
    ends = np.cumsum([0, *sizes])
    rows = tuple(torch.arange(a, b) for a, b in pairwise(ends))
    return Shares(torch.from_numpy(inputs), torch.from_numpy(labels), rows)


def classified(agents: int, each: int, inputs: int, *, classes: int = 3, seed: int = 0) -> Shares:
    """Random inputs and labels, as many for each agent."""
    generator = torch.Generator().manual_seed(seed)
    size = agents * each
    x = torch.rand(size, inputs, generator=generator)
    labels = torch.randint(0, classes, (size,), generator=generator)
    return Shares(x, labels, tuple(torch.arange(size).reshape(agents, each)))
