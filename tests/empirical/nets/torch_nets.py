"""Architectures as torch's own modules: what ours are compared with."""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import Tensor, nn

from empirical.nets.architecture import Architecture
from empirical.train.kernel_net import layout_of, sequential


def module_of(architecture: Architecture, weights: Tensor) -> nn.Sequential:
    """The same net of torch's layers, with these weights, shape (d,), and in their precision."""
    module = sequential(architecture).to(weights.dtype)
    module.load_state_dict(layout_of(architecture).tensors(weights))
    return module


def flat(values: Iterable[Tensor]) -> Tensor:
    """Numbers of a module's weights and biases in this project's order: dense weights turned."""
    rows = [v.detach().T if v.ndim == 2 else v.detach() for v in values]
    return torch.cat([row.reshape(-1) for row in rows])
