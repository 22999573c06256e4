"""The net of a training, from a module or an architecture, and a likelihood."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy  # its statistics, which are heavy, load where numbers are compared
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from empirical.likelihoods.laws import Likelihood
from empirical.nets.architecture import Architecture, Convolution, Dense, Layer, MaxPool
from empirical.train.kernel_net import KernelNet, layout_of, sequential
from empirical.train.module_checks import first_line, own_copy, refused
from empirical.train.module_net import ModuleNet, with_constants
from empirical.train.net import Net, built, entries, heads_of, joined, seeded
from theory.validation import FloatArray, fail

# The net for a module ----------------------------------------------------------------------------


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
    module: nn.Module | Architecture | Callable[[], nn.Module], example: Tensor, *, outputs: int
) -> Net:
    """The fastest net that is the same function as a module.

    Parameters
    ----------
    module
        A torch module, whose weights are where all agents begin; or a function without arguments
        that returns one, whose weights the run's seed then draws; or an architecture, which begins
        at He's random weights.
    example
        Inputs to try it on, shape (B, …), B ≥ 2, as it will get them: float32, or int64 for tokens.
    outputs
        How many numbers it must put out for an input, without a likelihood's constants.

    Raises
    ------
    ValueError
        If the module cannot be a net (see :class:`ModuleNet`) or has other outputs.

    Examples
    --------
    >>> module = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2))
    >>> type(net_of(module, torch.ones(2, 3), outputs=2)).__name__
    'KernelNet'
    >>> module = nn.Sequential(nn.Linear(3, 4), nn.GELU(), nn.Linear(4, 2))
    >>> type(net_of(module, torch.ones(2, 3), outputs=2)).__name__
    'ModuleNet'
    """
    shape = tuple(example.shape[1:])
    net = _net(module, example, shape)
    if net.outputs != outputs:
        remedy = "change its last layer or the likelihood"
        raise refused(f"{outputs} outputs, as the likelihood asks", net.outputs, remedy)
    return net


def _net(module: Any, example: Tensor, shape: tuple[int, ...]) -> Net:
    if isinstance(module, Architecture):
        wanted = module.input_shape
        same = math.prod(shape) == math.prod(wanted)
        if not (same if isinstance(module.layers[0], Dense) else shape == wanted):
            got, remedy = f"inputs of shape {shape}, as the data", "change input_shape"
            raise fail("architecture", got, wanted, remedy)
        return KernelNet(module)
    build = module if callable(module) and not isinstance(module, nn.Module) else None
    own = own_copy(module if build is None else built(build, 0))
    found = recognised(own, shape) if example.dtype == torch.float32 else None
    if found is None:
        return ModuleNet(own, example_input=example, build=build)
    layout = layout_of(found.architecture, found.prefixes)
    first = layout.vector(own.state_dict())

    def start(seed: int) -> Tensor:
        return first.clone() if build is None else layout.vector(built(build, seed).state_dict())

    return KernelNet(found.architecture, prefixes=found.prefixes, start=start)


# The layers that the kernels know, with a sign, and as the kernels' words have them.
_SIGNS = {nn.Flatten: "F", nn.ReLU: "R", nn.Linear: "D", nn.Conv2d: "C", nn.MaxPool2d: "P"}
_WORDS: dict[type, Callable[[Any], Layer]] = {
    nn.Linear: lambda layer: Dense(layer.out_features),
    nn.Conv2d: lambda layer: Convolution(
        layer.out_channels, *(_side(v) for v in (layer.kernel_size, layer.stride, layer.padding))
    ),
    nn.MaxPool2d: lambda layer: MaxPool(_side(layer.kernel_size)),
}


def recognised(module: nn.Module, input_shape: tuple[int, ...]) -> Recognised | None:
    """A module as an architecture, if it is one: a plain ``Sequential`` of what the kernels know.

    These are ``Flatten``, ``Linear`` and ``Conv2d`` with biases, ``MaxPool2d`` and ``ReLU``, with
    square kernels, all of whose weights are trained, each used once and watched by no hook. A ReLU
    follows each layer with weights but the last; it may stand behind the pooling, with which it
    commutes.
    """
    found = list(_plain(module, ""))
    signs = "".join(_SIGNS.get(type(layer), "?") for _, layer in found)
    flat = len(input_shape) == 1
    in_order = re.fullmatch("P*([CD]P*RP*)*D", signs.replace("F", ""))
    # What follows a flattening is dense, and what is dense follows one.
    if not in_order or not re.fullmatch("[FDR]*" if flat else "[CPR]*F[FDR]*", signs):
        return None
    if any(_hooked(layer) or not _trained(layer) for _, layer in found):
        return None
    known = [layer for _, layer in found if type(layer) in _WORDS]
    flattens = {(one.start_dim, one.end_dim) for _, one in found if isinstance(one, nn.Flatten)}
    first = input_shape if signs[0] in "CP" or len(input_shape) == 3 else (math.prod(input_shape),)
    try:
        layers = tuple(_WORDS[type(layer)](layer) for layer in known)
        architecture = Architecture(first, layers)
    except (ValueError, TypeError):
        return None
    twins = [one for one in sequential(architecture, device="meta") if type(one) in _WORDS]
    prefixes = tuple(name for name, one in found if isinstance(one, nn.Linear | nn.Conv2d))
    shared = len(list(module.parameters())) < 2 * len(prefixes)
    whole = flattens <= {(1, -1), (1, len(input_shape))}
    if shared or not whole or [*map(_settings, known)] != [*map(_settings, twins)]:
        return None
    return Recognised(architecture, prefixes)


def _plain(module: nn.Module, name: str) -> Iterator[tuple[str, nn.Module]]:
    """The layers of nested plain ``Sequential``s in their order, with their names."""
    if type(module) is nn.Sequential and not _hooked(module):
        for key, layer in module.named_children():
            yield from _plain(layer, f"{name}.{key}" if name else key)
    elif type(module) is not nn.Identity:
        yield name, module


def _settings(layer: nn.Module) -> str:
    """All that torch prints of a layer, with a square's side in place of its sides."""
    return re.sub(r"\((\d+), \1\)", r"\1", repr(layer)) + str(getattr(layer, "return_indices", ""))


def _side(value: Any) -> int:
    """The one number of a square setting, or of one side."""
    return int(value[0] if isinstance(value, tuple) else value)


def _trained(layer: nn.Module) -> bool:
    return all(p.requires_grad and p.dtype == torch.float32 for p in layer.parameters())


def _hooked(module: nn.Module) -> bool:
    """Whether a module does more than its class says."""
    kinds = ("forward", "forward_pre", "backward", "backward_pre", "state_dict")
    hooks = (getattr(module, f"_{kind}_hooks", None) for kind in kinds)
    return "forward" in vars(module) or any(hooks)


# The net of a training, from a module or an architecture, and a likelihood -----------------------


_LAYERS: dict[str, Any] = {kind.__name__: kind for kind in (Dense, Convolution, MaxPool)}


def net_for(module: Any, likelihood: Likelihood, example: NDArray[Any]) -> Net:
    """The net that puts out what a likelihood asks for, its constants among it.

    Parameters
    ----------
    module
        A torch module, a function that returns one, or an architecture
        (:func:`net_of`).
    example
        Some inputs, shape (n, …), n ≥ 1, as the net will get them.

    Raises
    ------
    ValueError
        If the module puts out something else, or cannot be trained; in one line.
    """
    rows = torch.from_numpy(np.resize(example, (_EXAMPLES, *example.shape[1:])))
    own = net_of(module, rows, outputs=likelihood.outputs - likelihood.constants)
    return with_constants(own, likelihood.constants)


def outputs_of_module(module: Any, example: NDArray[Any], *, tokens: bool = False) -> int:
    """How many numbers a module puts out for one input, tried on a few.

    Parameters
    ----------
    tokens
        Whether the module takes whole numbers as they are.

    Raises
    ------
    ValueError
        If it fails on them.
    """
    if isinstance(module, Architecture):
        return module.outputs
    kind = torch.int64 if tokens else torch.float32
    try:
        with seeded(0), torch.no_grad():
            own = module if isinstance(module, nn.Module) else module()
            found = deepcopy(own).eval()(torch.from_numpy(np.array(example)).to(kind))
    except Exception as error:
        wanted = f"a torch module that takes inputs of shape {example.shape}"
        got = f"{type(error).__name__}: {first_line(error)}"
        raise refused(wanted, got, "change the module or the inputs") from None
    if len(heads_of(found)) > 1:
        remedy = "return the one that predicts the labels, or give the likelihood of all"
        raise refused("one tensor of shape (B, numbers)", entries(found), remedy)
    return joined(found).shape[1]


def notes_on(net: Net, likelihood: Likelihood, example: NDArray[Any]) -> tuple[str, ...]:
    """What looks like a mistake in a net, tried on inputs as :func:`net_for`: sentences."""
    if likelihood.words["kind"] != "classes" or not isinstance(net, ModuleNet):
        return ()
    inputs = torch.from_numpy(np.array(example))[None]
    with torch.no_grad():
        found = net.outputs_of(net.initial(0)[None], inputs)
    sums = found.sum(dim=-1)
    if bool((found >= 0).all()) and torch.allclose(sums, torch.ones_like(sums), atol=1e-4):
        return (
            "the module's outputs are probabilities, as behind a softmax: the likelihood takes "
            "their logarithms, so leave the last softmax out",
        )
    return ()


def architecture_of(words: Mapping[str, Any]) -> Architecture | None:
    """The architecture that a net's words name; None if they name a module.

    Raises
    ------
    ValueError
        If they name layers that are not known.
    """
    if words.get("kind") != "layers":
        return None
    layers = [_layer_of(text) for text in words["layers"]]
    return Architecture(tuple(words["input_shape"]), tuple(layers))


def _layer_of(text: str) -> Layer:
    """A layer as it is printed, such as ``Dense(units=64)``."""
    kind, _, inside = text.partition("(")
    numbers = {name: int(value) for name, value in re.findall(r"(\w+)=(\d+)", inside)}
    if kind not in _LAYERS:
        raise fail("layer", f"one of {', '.join(_LAYERS)}", text, "read it with newer peerbayes")
    layer: Layer = _LAYERS[kind](**numbers)
    return layer


# First weights of a module that a user has made already ------------------------------------------


KEPT = "a function that returns the module keeps these weights, one that builds it draws others"
# Numbers of a tensor that are compared with drawn ones, and of drawn ones at least.
_COMPARED, _DRAWN = 10_000, 4_096
# A tensor as drawn is taken for another once in so many.
_ONCE_IN = 1e7


def drawn_by_seed(module: Any) -> tuple[Any, *tuple[str, ...]]:
    """A module, or in its place a function that draws its weights anew; and a note on which.

    What is no module, such as a function that returns one, is left as it is, without a note.

    A function, for :func:`~empirical.train.net.built` to seed, where every weight is as
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
        reason = _reason(module, own)
    if reason is not None:
        return module, f"first weights: the module's own, not the seed's, for {reason}; {KEPT}"

    def build() -> nn.Module:
        found = own_copy(own)
        for layer in found.modules():
            if dict(layer.named_parameters(recurse=False)):
                _reset(layer)
        return found

    return build, (
        "first weights: drawn by the seed, for the module's are as torch drew them;"
        " a function that returns the module keeps its own"
    )


def _reset(layer: nn.Module) -> None:
    with torch.no_grad():
        layer.reset_parameters()  # type: ignore[operator]


def _reason(module: nn.Module, copy: nn.Module) -> str | None:
    """Why weights of a module are not to be drawn anew; those of its copy are."""
    for (prefix, layer), twin in zip(module.named_modules(), copy.modules(), strict=True):
        own, drawn = (dict(one.named_parameters(recurse=False)) for one in (layer, twin))
        called = {key: repr(f"{prefix}.{key}" if prefix else key) for key in own}
        if not own:
            continue
        with torch.no_grad():
            for tensor in drawn.values():
                tensor.fill_(torch.nan)
        before = {key: tensor._version for key, tensor in drawn.items()}
        kind = type(layer).__name__
        try:
            _reset(twin)
        except Exception:  # there is none, or it fails
            return f"{kind} has no reset_parameters that draws {next(iter(called.values()))}"
        for key, tensor in own.items():
            if drawn[key].isnan().any():
                return f"reset_parameters of {kind} does not draw {called[key]}"
            if not tensor.requires_grad:
                return f"{called[key]} is not trained"
            if tensor._version != drawn[key]._version - before[key]:
                return f"{called[key]} was set, or copied, after it was drawn"
        fewest = max(min(tensor.numel() for tensor in own.values()), 1)
        pools: dict[str, list[FloatArray]] = {key: [] for key in own}
        for _ in range(max(1, min(64, _DRAWN // fewest))):
            _reset(twin)
            for key, pool in pools.items():
                pool.append(_some(drawn[key]))
        for key, pool in pools.items():
            if not _alike(_some(own[key]), np.concatenate(pool)):
                return f"{called[key]} is not as reset_parameters draws it"
    return None


def _some(tensor: Tensor) -> FloatArray:
    """At most some ten thousand of a tensor's numbers."""
    flat = tensor.detach().reshape(-1)
    return flat[:: -(-len(flat) // _COMPARED) or 1].double().numpy().copy()


def _alike(given: FloatArray, drawn: FloatArray) -> bool:
    """Whether numbers may come from where the drawn ones do."""
    if np.ptp(drawn) == 0 or (len(given) > 1 and np.ptp(given) == 0):
        return bool((given == drawn[0]).all())
    beyond = np.abs(given).max() > 3.0 * np.abs(drawn).max()
    return not beyond and bool(scipy.stats.ks_2samp(given, drawn).pvalue > 1.0 / _ONCE_IN)
