"""The net for a module: the written-out kernels if they know it, else torch.func or a loop."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from empirical.nets.architecture import Architecture, Convolution, Dense, Layer, MaxPool
from empirical.train.kernel_net import KernelNet, layout_of
from empirical.train.module_checks import own_copy
from empirical.train.module_net import ModuleNet
from empirical.train.net import Net
from empirical.train.seeding import built
from theory.validation import fail

# Inputs on which a module is tried.
_EXAMPLES = 4


@dataclass(frozen=True)
class Recognised:
    """A torch module in the kernels' words.

    Attributes
    ----------
    architecture
        The function that it is.
    prefixes
        What the names of the tensors of each layer with weights begin with.
    """

    architecture: Architecture
    prefixes: tuple[str, ...]


def net_of(
    module: nn.Module | Architecture | Callable[[], nn.Module],
    *,
    input_shape: tuple[int, ...],
    input_dtype: torch.dtype = torch.float32,
    outputs: int,
    example: Tensor | None = None,
) -> Net:
    """The fastest net that is the same function as a module.

    Parameters
    ----------
    module
        A torch module, whose weights are where all agents begin; or a function without arguments
        that returns one, whose weights the run's seed then draws; or an architecture, which begins
        at He's random weights.
    input_shape
        Of one input: (features,), (channels, height, width), (tokens,), ….
    input_dtype
        ``torch.float32``, or ``torch.int64`` for tokens.
    outputs
        How many numbers it must put out for an input, without a likelihood's constants.
    example
        Rows of the data, shape (B, …), to try it on; left out: random numbers, zeros for tokens.

    Raises
    ------
    ValueError
        If the module cannot be a net (see :class:`ModuleNet`) or has other outputs.

    Examples
    --------
    >>> module = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2))
    >>> type(net_of(module, input_shape=(3,), outputs=2)).__name__
    'KernelNet'
    >>> module = nn.Sequential(nn.Linear(3, 4), nn.GELU(), nn.Linear(4, 2))
    >>> type(net_of(module, input_shape=(3,), outputs=2)).__name__
    'ModuleNet'
    """
    shape = tuple(input_shape)
    if isinstance(module, Architecture):
        net: Net = _architectures_net(module, shape)
    else:
        build = module if callable(module) and not isinstance(module, nn.Module) else None
        own = module if build is None else built(build, 0)
        copied = own_copy(own)
        found = recognised(copied, shape) if input_dtype == torch.float32 else None
        if found is None:
            examples = example if example is not None else _examples(copied, shape, input_dtype)
            net = ModuleNet(copied, example_input=examples, build=build)
        else:
            net = _kernels_net(copied, found, build)
    if net.outputs != outputs:
        raise fail(
            "module",
            f"{outputs} outputs, as the likelihood asks",
            net.outputs,
            "change its last layer or the likelihood",
        )
    return net


def recognised(module: nn.Module, input_shape: tuple[int, ...]) -> Recognised | None:
    """A module as an architecture, if it is one: a plain ``Sequential`` of what the kernels know.

    These are ``Flatten``, ``Linear`` and ``Conv2d`` with biases, ``MaxPool2d`` and ``ReLU``, with
    square kernels, all of whose weights are trained, each used once and watched by no hook. A ReLU
    follows each layer with weights but the last; it may stand behind the pooling, with which it
    commutes.
    """
    layers: list[Layer] = []
    prefixes: list[str] = []
    owes, flat, seen = False, len(input_shape) == 1, set()  # owes: a layer still lacks its ReLU
    for name, layer in _plain(module, ""):
        if _hooked(layer):
            return None
        if type(layer) is nn.ReLU:
            if not owes:
                return None
            owes = False
            continue
        if type(layer) is nn.Flatten:
            if (layer.start_dim, layer.end_dim) not in ((1, -1), (1, len(input_shape))):
                return None
            flat = True
            continue
        known = _layer(layer, flat=flat)
        if known is None or id(layer) in seen:
            return None
        seen.add(id(layer))
        if not isinstance(known, MaxPool):
            if owes or not _trained(layer):
                return None
            owes = True
            prefixes.append(name)
        layers.append(known)
    if not owes or not layers or not isinstance(layers[-1], Dense):
        return None
    first = input_shape
    if isinstance(layers[0], Dense) and len(input_shape) != 3:
        first = (math.prod(input_shape),)
    try:
        architecture = Architecture(first, tuple(layers))
        places = layout_of(architecture, prefixes).places
    except ValueError:
        return None
    shapes = {name: tuple(value.shape) for name, value in module.state_dict().items()}
    shared = len(list(module.parameters())) < len(places)
    if shared or shapes != {place.name: place.shape for place in places}:
        return None
    return Recognised(architecture, tuple(prefixes))


def _plain(module: nn.Module, name: str) -> Iterator[tuple[str, nn.Module]]:
    """The layers of nested plain ``Sequential``s in their order, with their names."""
    if type(module) is nn.Sequential and not _hooked(module):
        for key, layer in module.named_children():
            yield from _plain(layer, f"{name}.{key}" if name else key)
    elif type(module) is not nn.Identity:
        yield name, module


def _layer(layer: nn.Module, *, flat: bool) -> Layer | None:
    """One layer in the kernels' words."""
    if type(layer) is nn.Linear and flat:
        return Dense(layer.out_features) if layer.bias is not None else None
    if flat:
        return None
    if type(layer) is nn.Conv2d:
        square = [_side(v) for v in (layer.kernel_size, layer.stride, layer.padding)]
        plain = layer.groups == 1 and _side(layer.dilation) == 1 and layer.padding_mode == "zeros"
        kernel, stride, padding = square
        if plain and kernel and stride and padding is not None and layer.bias is not None:
            return Convolution(layer.out_channels, kernel, stride, padding)
    if type(layer) is nn.MaxPool2d:
        size, stride = _side(layer.kernel_size), _side(layer.stride)
        exact = _side(layer.padding) == 0 and _side(layer.dilation) == 1
        if size and size == stride and exact and not layer.ceil_mode and not layer.return_indices:
            return MaxPool(size)
    return None


def _side(value: object) -> int | None:
    """The one number of a square setting, or None."""
    if isinstance(value, int):
        return value
    if isinstance(value, tuple) and len(set(value)) == 1 and isinstance(value[0], int):
        return value[0]
    return None


def _trained(layer: nn.Module) -> bool:
    return all(p.requires_grad and p.dtype == torch.float32 for p in layer.parameters())


def _hooked(module: nn.Module) -> bool:
    """Whether a module does more than its class says."""
    return "forward" in vars(module) or any(
        getattr(module, name, None)
        for name in (
            "_forward_hooks",
            "_forward_pre_hooks",
            "_backward_hooks",
            "_backward_pre_hooks",
            "_state_dict_hooks",
        )
    )


def _kernels_net(
    module: nn.Module, found: Recognised, build: Callable[[], nn.Module] | None
) -> KernelNet:
    layout = layout_of(found.architecture, found.prefixes)
    own = layout.vector(module.state_dict())

    def start(seed: int) -> Tensor:
        return own.clone() if build is None else layout.vector(built(build, seed).state_dict())

    return KernelNet(found.architecture, prefixes=found.prefixes, start=start)


def _architectures_net(architecture: Architecture, shape: tuple[int, ...]) -> KernelNet:
    dense = isinstance(architecture.layers[0], Dense)
    same = math.prod(shape) == math.prod(architecture.input_shape)
    if not (same if dense else shape == architecture.input_shape):
        raise fail(
            "architecture",
            f"inputs of shape {shape}, as the data",
            architecture.input_shape,
            "change input_shape",
        )
    return KernelNet(architecture)


def _examples(module: nn.Module, shape: tuple[int, ...], dtype: torch.dtype) -> Tensor:
    """Inputs to try a module on: random numbers; zeros for tokens, or where those fail."""
    if dtype not in (torch.float32, torch.int64):
        raise fail("input_dtype", "torch.float32 or torch.int64", dtype, "choose one")
    zeros = torch.zeros(_EXAMPLES, *shape, dtype=dtype)
    if dtype == torch.int64:
        return zeros
    random = torch.randn(zeros.shape, generator=torch.Generator().manual_seed(0))
    try:
        with torch.no_grad():
            module.eval()(random)
    except Exception:  # such as columns that are numbers of categories
        return zeros
    return random
