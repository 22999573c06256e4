"""The net of a training, from a module or an architecture, and a likelihood."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.stats import ks_2samp
from torch import Tensor, nn

from empirical.keeping import load_tensors
from empirical.likelihoods.heads import likelihood_of
from empirical.likelihoods.laws import Likelihood
from empirical.nets.architecture import Architecture, Convolution, Dense, Layer, MaxPool
from empirical.train.constants import with_constants
from empirical.train.data.agents_data import Filling, Scaling
from empirical.train.layout import entries, heads_of, joined
from empirical.train.module_checks import own_copy
from empirical.train.module_net import ModuleNet
from empirical.train.net import Net
from empirical.train.recognise import net_of
from empirical.train.scores import History, Metrics, scores_from_words
from empirical.train.seeding import seeded
from empirical.train.trained import FILE, TrainedNetwork
from theory.validation import FloatArray, fail

# The net of a training, from a module or an architecture, and a likelihood -----------------------


# Rows on which a module is tried.
_EXAMPLES = 4
_LAYERS: dict[str, Any] = {kind.__name__: kind for kind in (Dense, Convolution, MaxPool)}


def net_for(module: Any, likelihood: Likelihood, example: NDArray[Any]) -> Net:
    """The net that puts out what a likelihood asks for, its constants among it.

    Parameters
    ----------
    module
        A torch module, a function that returns one, or an architecture
        (:func:`~empirical.train.recognise.net_of`).
    example
        Some inputs, shape (n, …), n ≥ 1, as the net will get them.

    Raises
    ------
    ValueError
        If the module puts out something else, or cannot be trained; in one line.
    """
    own = net_of(
        module,
        input_shape=tuple(example.shape[1:]),
        input_dtype=torch.int64 if example.dtype.kind == "i" else torch.float32,
        outputs=likelihood.outputs - likelihood.constants,
        example=torch.from_numpy(np.resize(example, (_EXAMPLES, *example.shape[1:]))),
    )
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
        reason = (str(error).strip().splitlines() or ["no message"])[0][:200]
        raise fail(
            "module", f"a torch module that takes inputs of shape {example.shape}",
            f"{type(error).__name__}: {reason}", "change the module or the inputs",
        ) from None  # fmt: skip
    if len(heads_of(found)) > 1:
        remedy = "return the one that predicts the labels, or give the likelihood of all"
        raise fail("module", "one tensor of shape (B, numbers)", entries(found), remedy)
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
    layers = [_layer(text) for text in words["layers"]]
    return Architecture(tuple(words["input_shape"]), tuple(layers))


def _layer(text: str) -> Layer:
    """A layer as it is printed, such as ``Dense(units=64)``."""
    kind, _, inside = text.partition("(")
    numbers = {name: int(value) for name, value in re.findall(r"(\w+)=(\d+)", inside)}
    if kind not in _LAYERS:
        raise fail("layer", f"one of {', '.join(_LAYERS)}", text, "read it with newer peerbayes")
    layer: Layer = _LAYERS[kind](**numbers)
    return layer


# Trained networks read back from disk ------------------------------------------------------------


def load_trained(folder: str | Path, *, module: Any = None) -> TrainedNetwork:
    """A trained network that :meth:`TrainedNetwork.save` wrote.

    Parameters
    ----------
    folder
        Where it is.
    module
        The torch module, or the architecture, that was trained: its weights are not looked at.
        May be left out for nets of dense layers, convolutions, pooling and ReLU.

    Raises
    ------
    ValueError
        If the file is damaged, gone, or none of a trained network, or the module is another one.
    """
    path = Path(folder) / FILE
    kept = load_tensors(path)
    words = kept.words
    if words.get("kind") != "trained-network":
        raise fail(str(path), "a trained network", "other tensors", "name the folder of one")
    likelihood = likelihood_of(words["likelihood"])
    shape, kind = tuple(words["input_shape"]), words["input_type"]
    module = architecture_of(words["net"]) if module is None else module
    if module is None:
        raise fail(
            "module", "the module that was trained", "none",
            "give it: load_trained(folder, module=...)",
        )  # fmt: skip
    features, filled = words.get("features"), words.get("filling")
    filling = None if filled is None else Filling.from_document(filled)
    example = np.zeros((2, *shape), dtype=kind)
    if filling is not None:
        example = filling.apply(example).astype(kind)
    net = net_for(module, likelihood, example)
    mine = json.loads(json.dumps(dict(net.words)))
    if mine != words["net"]:
        raise fail(
            "module", "the module that was trained", f"another one than {path} is of",
            "build it as before",
        )  # fmt: skip
    scaling = (
        None if words[name] is None else Scaling.from_document(words[name])
        for name in ("inputs", "targets")
    )
    inputs, targets = scaling
    return TrainedNetwork(
        name=words["name"],
        agents=tuple(words["agents"]),
        net=net,
        likelihood=likelihood,
        mean=kept.tensors["mean"],
        variance=kept.tensors.get("variance"),
        input_shape=shape,
        input_type=kind,
        inputs=inputs,
        targets=targets,
        classes=None if words["classes"] is None else tuple(words["classes"]),
        history=History.from_words(words["history"]),
        metrics=Metrics(scores_from_words(words["validation"]), scores_from_words(words["test"])),
        learner=words["learner"],
        settings=words["settings"],
        seed=words["seed"],
        notes=tuple(words["notes"]),
        features=None if features is None else tuple(features),
        filling=filling,
    )


# First weights of a module that a user has made already ------------------------------------------


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
