"""Nets of one shape whose weights are the rows of a tensor: what learners train.

All weights of a net are one vector of d numbers. The nets of N agents are then one tensor of shape
(N, d), and neither pooling nor a learner needs a word about layers.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, NoReturn, Protocol

import numpy as np
import torch
from torch import Tensor, nn

from empirical.messages.codec import Block
from empirical.nets.likelihood import Likelihood as Losses
from theory.validation import as_integer, fail

# Nets of one shape whose weights are the rows of a tensor ----------------------------------------


@dataclass(frozen=True)
class NoiseKey:
    """What the noise within a net's forward pass depends on, such as dropout.

    Attributes
    ----------
    seed, agent, step
        Of the run; whose net; how many steps this agent has taken, from 0.
    """

    seed: int
    agent: int
    step: int


class Net(Protocol):
    """A family of nets, one for each weight vector."""

    @property
    def parameters(self) -> int:
        """The number d of weights."""
        ...

    @property
    def outputs(self) -> int:
        """How many numbers a net puts out for one input, all heads together."""
        ...

    @property
    def words(self) -> Mapping[str, object]:
        """What names the family: JSON that tells two different nets apart, kept in records."""
        ...

    @property
    def blocks(self) -> tuple[Block, ...]:
        """Which weights belong together, in their order and without a gap."""
        ...

    def initial(self, seed: int) -> Tensor:
        """Random weights to begin from, shape (d,), float32; the same for all agents of a run."""
        ...

    def outputs_of(self, weights: Tensor, inputs: Tensor) -> Tensor:
        """What N nets put out in prediction, shape (N, B, outputs), without gradients.

        Parameters
        ----------
        weights
            Shape (N, d).
        inputs
            Shape (N, B, …), or (1, B, …) for the same inputs to all.
        """
        ...

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
        """The mean −log ℓ of each net over its own batch, and its gradient by the weights.

        The likelihood is asked for the losses of one or more nets at a time, in their order, once
        each.

        Parameters
        ----------
        weights
            Shape (N, d).
        inputs, labels
            Shapes (N, B, …) and (N, B) or (N, B, k).
        into
            Shape (N, d): overwritten by the gradient.
        noise
            One key for each of the N nets, for those that draw noise of their own.

        Returns
        -------
        Tensor
            The losses, shape (N,), in nats; on the weights' device, not waited for.
        """
        ...

    def tensors(self, weights: Tensor) -> dict[str, Tensor]:
        """One net's weights by name, as ``load_state_dict`` takes them, from shape (d,)."""
        ...


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


# What a torch module draws from torch's global generator, made to depend on a seed alone ---------


# The generators are the whole process's: one thread at a time draws from them.
_ALONE = threading.RLock()


@contextmanager
def seeded(seed: int, device: torch.device | str = "cpu") -> Iterator[None]:
    """Torch's global generators begin from a seed, and are the caller's again afterwards.

    While one thread is in such a block, others wait before theirs: runs side by side draw the
    numbers that they draw alone.
    """
    device = torch.device(device)
    devices = [] if device.type == "cpu" else [device]
    with _ALONE, torch.random.fork_rng(devices=devices):
        if device.type == "cpu":
            torch.default_generator.manual_seed(seed)
        else:
            torch.manual_seed(seed)
        yield


def seed_of(key: NoiseKey) -> int:
    """A seed for one agent's noise in one step, of 63 bits; other keys have unrelated ones."""
    words = np.random.SeedSequence((key.seed, key.agent, key.step)).generate_state(1, np.uint64)
    return int(words[0] >> np.uint64(1))


def built(build: Callable[[], nn.Module], seed: int) -> nn.Module:
    """The module that a function returns when torch's global generator begins from a seed.

    Raises
    ------
    ValueError
        If it returns no module, or wants arguments.
    """
    wanted = "a torch.nn.Module, or a function without arguments that returns one"
    with seeded(as_integer("seed", seed, minimum=0)):
        try:
            module = build()
        except TypeError as error:
            first = str(error).partition("\n")[0]
            raise fail(
                "module", wanted, f"TypeError ({first})", "give the module itself"
            ) from error
    if not isinstance(module, nn.Module):
        raise fail(
            "module",
            wanted,
            f"a function that returns {type(module).__name__}",
            "return the module",
        )
    return module


def unknown_start(*_: Any) -> NoReturn:
    """Stands where a function of the user's built nets, in what was pickled or copied.

    Raises
    ------
    ValueError
        When it is called.
    """
    got, remedy = "a net that was pickled or copied", "make it anew, of its module"
    raise fail("net", "a net with its first weights", got, remedy)
