"""Where each tensor of a torch module stands in the one vector of a net's weights.

The vector holds the trainable parameters alone. What else a module's ``state_dict`` has, its
buffers and the parameters that are frozen, stays as the module's author gave it: it is the same at
all agents, never sent and never pooled. A parameter with two names stands in the vector once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import torch
from torch import Tensor, nn

from empirical.messages.codec import Block
from theory.validation import fail

# Where each tensor of a torch module stands in the one vector of a net's weights -----------------


@dataclass(frozen=True)
class Place:
    """Where one tensor stands.

    Attributes
    ----------
    name
        As in the module's ``state_dict``.
    slice
        Of the vector.
    shape
        As the module has it.
    transposed
        Whether the vector holds the transpose: the written-out kernels keep a dense layer's
        weights as (inputs, units), torch as (units, inputs).
    """

    name: str
    slice: slice
    shape: tuple[int, ...]
    transposed: bool = False

    def written(self, tensor: Tensor) -> Tensor:
        """A tensor of the module as the vector holds it, flat."""
        return (tensor.t() if self.transposed else tensor).reshape(-1)

    def read(self, vector: Tensor) -> Tensor:
        """The module's tensor, in memory of its own, from its part of the vector."""
        if self.transposed:
            return (
                vector[self.slice]
                .reshape(self.shape[::-1])
                .t()
                .clone(memory_format=torch.contiguous_format)
            )
        return vector[self.slice].reshape(self.shape).clone()


@dataclass(frozen=True, eq=False)
class Layout:
    """The places of all trainable tensors, and what stands beside them.

    Attributes
    ----------
    places
        In the order of the vector, without gaps.
    names
        All names of a ``state_dict`` in its order, and the place each stands at; None for a tensor
        that is kept as it is.
    kept
        Those, by name.
    """

    places: tuple[Place, ...]
    names: Mapping[str, Place | None]
    kept: Mapping[str, Tensor] = field(default_factory=dict)

    @classmethod
    def of(cls, module: nn.Module) -> Layout:
        """The trainable parameters of a module, in its own order."""
        places, start = {}, 0
        for name, parameter in module.named_parameters():
            if parameter.requires_grad:
                end = start + parameter.numel()
                places[id(parameter)] = Place(name, slice(start, end), tuple(parameter.shape))
                start = end
        state = module.state_dict(keep_vars=True)
        names = {name: places.get(id(value)) for name, value in state.items()}
        kept = {name: state[name].detach().clone() for name in names if names[name] is None}
        return cls(tuple(places.values()), names, kept)

    @classmethod
    def plain(cls, places: tuple[Place, ...]) -> Layout:
        """Places that are all that a ``state_dict`` has."""
        return cls(places, {place.name: place for place in places})

    @property
    def parameters(self) -> int:
        """The number d of trainable weights."""
        return self.places[-1].slice.stop if self.places else 0

    @property
    def blocks(self) -> tuple[Block, ...]:
        """The places as codecs take them, in shapes of the vector's own order."""
        return tuple(
            Block(
                place.name,
                place.slice.start,
                place.shape[::-1] if place.transposed else place.shape,
            )
            for place in self.places
        )

    def views(self, weights: Tensor) -> list[Tensor]:
        """Each trainable tensor as a view: of shape (N, …) from shape (N, d), (…) from (d,)."""
        lead = weights.shape[:-1]
        sizes = [place.slice.stop - place.slice.start for place in self.places]
        parts = torch.split_with_sizes(weights, sizes, dim=-1)
        return [
            part.view((*lead, *place.shape)) for part, place in zip(parts, self.places, strict=True)
        ]

    def vector(self, state: Mapping[str, Tensor]) -> Tensor:
        """The weights, shape (d,), from a ``state_dict``.

        Raises
        ------
        ValueError
            If a tensor is missing or of another shape.
        """
        for place in self.places:
            shape = tuple(state[place.name].shape) if place.name in state else None
            if shape != place.shape:
                raise fail(
                    "module",
                    f"a tensor {place.name!r} of shape {place.shape}",
                    "none" if shape is None else f"shape {shape}",
                    "give the same module each time",
                )
        parts = [place.written(state[place.name].detach()) for place in self.places]
        return torch.cat(parts).clone()

    def tensors(self, weights: Tensor) -> dict[str, Tensor]:
        """A ``state_dict`` of one net from its weights, shape (d,); tensors share no memory."""
        return {
            name: self.kept[name].clone() if place is None else place.read(weights.detach())
            for name, place in self.names.items()
        }


# Outputs of a module of one's own ----------------------------------------------------------------


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
