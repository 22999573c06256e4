"""The local net by torch's own convolutions and derivatives: on a GPU, and as a second opinion."""

from __future__ import annotations

import math

import torch
from torch import Tensor
from torch.nn import functional

from empirical.gae.net import blocks


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
