"""Outputs of a module of one's own: a tensor, several, or heads by name."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from theory.validation import fail


def joined(outputs: object) -> Tensor:
    """What a module returns as one tensor of shape (B, outputs): heads one after the other.

    Parameters
    ----------
    outputs
        A tensor of shape (B, k), or (B,) for a single number; or a tuple, list or dict of them.

    Raises
    ------
    ValueError
        If it is something else.
    """
    flat = []
    for part in heads_of(outputs).values():
        if not isinstance(part, Tensor) or part.ndim not in (1, 2):
            raise fail(
                "module",
                "outputs of shape (B, numbers), or several such heads",
                entries(outputs),
                "wrap it in a module that returns them alone, flattened after the first axis",
            )
        flat.append(part[:, None] if part.ndim == 1 else part)
    if not flat:
        raise fail("module", "outputs of shape (B, numbers)", "none", "return a tensor")
    whole = flat[0] if len(flat) == 1 else torch.cat(flat, dim=1)
    # The last product's, where torch.autocast rounds.
    return (
        whole.float()
        if whole.dtype == torch.bfloat16 and torch.is_autocast_enabled(whole.device.type)
        else whole
    )


def heads_of(outputs: object) -> dict[str, object]:
    """What a module returns, by the names or numbers of its entries."""
    if isinstance(outputs, Mapping):
        return {repr(name): part for name, part in outputs.items()}
    parts = outputs if isinstance(outputs, tuple | list) else [outputs]
    return {str(k): part for k, part in enumerate(parts)}


def entries(outputs: object) -> str:
    """The entries of what a module returns, in words."""
    heads = {
        name: f"shape {tuple(part.shape)}" if isinstance(part, Tensor) else type(part).__name__
        for name, part in heads_of(outputs).items()
    }
    if not isinstance(outputs, Mapping | tuple | list):
        return heads["0"]
    shown = ", ".join(f"{name} ({what})" for name, what in heads.items())
    return f"a {type(outputs).__name__} of {shown or 'no entries'}"
