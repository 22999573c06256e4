"""First weights of a module that a user has made already: drawn anew by a seed, or kept.

A module comes with weights that torch drew as it was made, by a seed that nobody wrote down, or
with weights that somebody loaded, trained or set. The first are to be drawn by the run's seed, the
second never. They are told apart by how often torch has written to a tensor, as often as
`reset_parameters` does or not, and by its numbers, which must look like drawn ones.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from scipy.stats import ks_2samp
from torch import Tensor, nn

from empirical.train.module_checks import own_copy
from empirical.train.seeding import seeded
from theory.validation import FloatArray

KEPT = "a function that returns the module keeps these weights, one that builds it draws others"
# Numbers of a tensor that are compared with drawn ones, and of drawn ones at least.
_COMPARED, _DRAWN = 10_000, 4_096
# A tensor as drawn is taken for another once in so many.
_ONCE_IN = 1e7


def drawn_by_seed(module: Any) -> tuple[Any, *tuple[str, ...]]:
    """A module, or in its place a function that draws its weights anew; and a note on which.

    What is no module, such as a function that returns one, is left as it is, without a note.

    A function, for :func:`~empirical.train.seeding.built` to seed, where every weight is as
    ``reset_parameters`` of its layer leaves it; the module itself where one of them is not: loaded,
    trained, set, frozen, or of a layer without ``reset_parameters``.

    Raises
    ------
    ValueError
        If the module cannot be a net (:func:`~empirical.train.module_checks.own_copy`).
    """
    if not isinstance(module, nn.Module):
        return (module,)
    own = own_copy(module)
    with seeded(0):
        reason = next(_reasons(module, own), None)
    if reason is not None:
        return module, f"first weights: the module's own, not the seed's, for {reason}; {KEPT}"

    def build() -> nn.Module:
        found = own_copy(own)
        for layer in _layers(found):
            _reset(layer)
        return found

    return build, (
        "first weights: drawn by the seed, for the module's are as torch drew them;"
        " a function that returns the module keeps its own"
    )


def _layers(module: nn.Module) -> list[nn.Module]:
    """The layers that have weights of their own."""
    return [layer for layer in module.modules() if any(True for _ in layer.parameters(False))]


def _reset(layer: nn.Module) -> None:
    with torch.no_grad():
        layer.reset_parameters()  # type: ignore[operator]


def _reasons(module: nn.Module, copy: nn.Module) -> Iterator[str]:
    """Why weights of a module are not to be drawn anew; those of its copy are."""
    names = {id(tensor): name for name, tensor in module.named_parameters()}
    for layer, twin in zip(_layers(module), _layers(copy), strict=True):
        own = dict(layer.named_parameters(recurse=False))
        pairs = [(tensor, getattr(twin, name)) for name, tensor in own.items()]
        called = {id(tensor): repr(names[id(tensor)]) for tensor, _ in pairs}
        with torch.no_grad():
            for _, drawn in pairs:
                drawn.fill_(torch.nan)
        before = [drawn._version for _, drawn in pairs]
        try:
            _reset(twin)
        except Exception:  # there is none, or it fails
            name = called[id(pairs[0][0])]
            yield f"{type(layer).__name__} has no reset_parameters that draws {name}"
            continue
        written = [drawn._version - old for (_, drawn), old in zip(pairs, before, strict=True)]
        for (tensor, drawn), times in zip(pairs, written, strict=True):
            name = called[id(tensor)]
            if drawn.isnan().any():
                yield f"reset_parameters of {type(layer).__name__} does not draw {name}"
            elif not tensor.requires_grad:
                yield f"{name} is not trained"
            elif tensor._version != times:
                yield f"{name} was set, or copied, after it was drawn"
        sizes = [tensor.numel() for tensor, _ in pairs]
        pools: list[list[FloatArray]] = [[] for _ in pairs]
        for _ in range(max(1, min(64, _DRAWN // max(min(sizes), 1)))):
            _reset(twin)
            for pool, (_, drawn) in zip(pools, pairs, strict=True):
                pool.append(_some(drawn))
        for (tensor, _), pool in zip(pairs, pools, strict=True):
            if not _alike(_some(tensor), np.concatenate(pool)):
                yield f"{called[id(tensor)]} is not as reset_parameters draws it"


def _some(tensor: Tensor) -> FloatArray:
    """At most some ten thousand of a tensor's numbers."""
    flat = tensor.detach().reshape(-1)
    return flat[:: -(-len(flat) // _COMPARED) or 1].double().numpy().copy()


def _alike(given: FloatArray, drawn: FloatArray) -> bool:
    """Whether numbers may come from where the drawn ones do."""
    if np.ptp(drawn) == 0 or (len(given) > 1 and np.ptp(given) == 0):
        return bool((given == drawn[0]).all())
    beyond = np.abs(given).max() > 3.0 * np.abs(drawn).max()
    return not beyond and bool(ks_2samp(given, drawn).pvalue > 1.0 / _ONCE_IN)
