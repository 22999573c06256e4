"""Nets of dense layers, convolutions and pooling, by the kernels that are written out for them.

Nothing is recorded by autograd, and gradients go straight to where they are wanted: see
:mod:`empirical.nets.architecture`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from empirical.kernels.products import in_use
from empirical.messages.codec import Block
from empirical.nets.architecture import (
    Architecture,
    Convolution,
    Dense,
    MaxPool,
    first_weights,
)
from empirical.nets.likelihood import PREDICTED_AT_ONCE, gradient, logits
from empirical.nets.likelihood import Likelihood as Losses
from empirical.train.net import Layout, NoiseKey, Place, unknown_start
from theory.validation import fail

# Which nets are computed together, so that no net's gradient depends on its company --------------


ALIGNMENT = 64  # bytes: a line of the cache, and the widest register

# Weights of all nets that are computed together on a CPU, so that they stay in its cache with
# their gradients (measured).
WEIGHTS_AT_ONCE = 2**20

# More nets than these gain little from going together on a CPU.
MOST_TOGETHER = 16

# How often, and on how many weights in all, nets together are compared with nets alone.
MOST_TRIALS = 20
NUMBERS_TRIED = 2**15


Pass = Callable[[slice, Tensor, Tensor, Tensor, Losses, Tensor], Tensor]
"""A forward and backward pass of a group of nets.

Of which nets, weights, inputs, labels, the likelihood, and where gradients go, shape (n, d), it
gives the losses, shape (n,).
"""


class Groups:
    """How nets of one family are grouped.

    Parameters
    ----------
    trial
        Of a number n of nets, a batch size B and a seed: weights and inputs to try, of shapes
        (n, d) and (n, B, …).
    """

    def __init__(self, trial: Callable[[int, int, int], tuple[Tensor, Tensor]]) -> None:
        self._trial = trial
        self._tried: dict[tuple[object, ...], bool] = {}

    def gradient(
        self,
        run: Pass,
        weights: Tensor,
        inputs: Tensor,
        labels: Tensor,
        likelihood: Losses,
        into: Tensor,
        *,
        size: int,
    ) -> Tensor:
        """Losses of N nets, shape (N,), `size` at a time at most; gradients to `into`.

        `run` is the same function of its arguments at each call with the same `size`.
        """
        losses = []
        for group in self._groups(run, weights, inputs.shape[1], size):
            own = aligned(weights[group]), aligned(inputs[group]), labels[group]
            losses.append(run(group, *own, likelihood, into[group]))
        return losses[0] if len(losses) == 1 else torch.cat(losses)

    def _groups(self, run: Pass, weights: Tensor, batch: int, size: int) -> list[slice]:
        """The nets in their order; on a CPU in powers of two, if together at all."""
        agents, start = weights.shape[0], 0
        if size == 1 or weights.device.type != "cpu":
            return [slice(k, min(k + size, agents)) for k in range(0, agents, size)]
        most = _power_below(min(size, MOST_TOGETHER))
        if most > 1 and agents > 1 and not self._alike(run, batch, weights.dtype, most):
            most = 1
        groups = []
        while start < agents:
            count = min(most, _power_below(agents - start))
            groups.append(slice(start, start + count))
            start += count
        return groups

    def _alike(self, run: Pass, batch: int, dtype: torch.dtype, most: int) -> bool:
        """Whether nets together get each one's own bits; tried once a batch size and product."""
        key = batch, dtype, in_use()
        if key not in self._tried:
            self._tried[key] = self._found_alike(run, batch, dtype, most)
        return self._tried[key]

    def _found_alike(self, run: Pass, batch: int, dtype: torch.dtype, most: int) -> bool:
        # Where few numbers are computed, other ways through a library may agree by chance.
        seed, seen = 0, 0
        while seed < MOST_TRIALS and seen < NUMBERS_TRIED:
            weights, inputs = self._trial(most, batch, seed)
            weights = weights.to(dtype)
            inputs = inputs.to(dtype) if inputs.is_floating_point() else inputs
            alone = probed(run, weights, inputs, size=1)
            seed, seen = seed + 1, seen + weights.numel()
            if not all(torch.isfinite(part).all() for part in alone):
                continue
            count = most
            while count > 1:
                together = probed(run, weights[:count], inputs[:count], size=count)
                if not all(torch.equal(a, b[:count]) for a, b in zip(together, alone, strict=True)):
                    return False
                count //= 2
        return True


def _power_below(count: int) -> int:
    """The largest power of two that is not above `count`."""
    return 1 << (count.bit_length() - 1)


def probed(run: Pass, weights: Tensor, inputs: Tensor, *, size: int) -> tuple[Tensor, ...]:
    """Outputs, losses and gradients of nets under a made-up likelihood.

    Parameters
    ----------
    weights, inputs
        Shapes (N, d) and (N, B, …).
    size
        How many nets at a time.
    """
    probe, into = _Probe(), aligned_empty(weights)
    weights = aligned(weights)
    losses = []
    for start in range(0, weights.shape[0], size):
        group = slice(start, start + size)
        x = aligned(inputs[group].clone())
        labels = torch.zeros(x.shape[:2])
        losses.append(run(group, weights[group], x, labels, probe, into[group]))
    return torch.cat(probe.seen), torch.cat(losses), into


class _Probe:
    """A likelihood of nothing, which keeps what it sees."""

    def __init__(self) -> None:
        self.seen: list[Tensor] = []

    def loss(self, outputs: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
        self.seen.append(outputs.clone())
        count = outputs.shape[1] * outputs.shape[2]
        grad = torch.cos(torch.arange(count, dtype=outputs.dtype)).reshape(outputs.shape[1:])
        return (outputs * grad).sum(dim=(1, 2)), grad.expand(outputs.shape) / count


def aligned(tensor: Tensor) -> Tensor:
    """The same rows along the first axis, on a CPU each beginning at a multiple of 64 bytes.

    The tensor itself if they do already, which costs nothing: keep weights of N nets in a tensor
    of :func:`aligned_rows`.
    """
    return tensor if is_aligned(tensor) else aligned_empty(tensor).copy_(tensor)


def aligned_rows(agents: int, parameters: int, *, device: torch.device | str = "cpu") -> Tensor:
    """An empty float32 tensor of shape (N, d), each of whose rows begins at a line of the cache.

    Examples
    --------
    >>> rows = aligned_rows(3, 17)
    >>> rows.shape, rows.stride()
    (torch.Size([3, 17]), (32, 1))
    """
    return _padded((agents, parameters), torch.float32, torch.device(device))


def is_aligned(tensor: Tensor) -> bool:
    """Whether each row along the first axis begins at a multiple of 64 bytes; always on a GPU."""
    if tensor.device.type != "cpu":
        return True
    apart = tensor.shape[0] == 1 or tensor.stride(0) * tensor.element_size() % ALIGNMENT == 0
    return apart and tensor.data_ptr() % ALIGNMENT == 0 and tensor[0].is_contiguous()


def aligned_empty(tensor: Tensor) -> Tensor:
    """An empty tensor of the same shape whose rows begin at multiples of 64 bytes."""
    return _padded(tuple(tensor.shape), tensor.dtype, tensor.device)


def _padded(shape: tuple[int, ...], dtype: torch.dtype, device: torch.device) -> Tensor:
    count = torch.Size(shape[1:]).numel()
    line = ALIGNMENT // dtype.itemsize
    # Torch's own memory begins at such multiples.
    buffer = torch.empty(shape[0], -(-count // line) * line, dtype=dtype, device=device)
    return buffer[:, :count].view(shape)


# Nets of dense layers, convolutions and pooling, by the kernels that are written out for them ----


class KernelNet:
    """The nets of one architecture.

    Parameters
    ----------
    architecture
        Layers in order; a ReLU follows every layer with weights but the last.
    prefixes
        What the names of each such layer's tensors begin with, where the net stands for a torch
        module; left out: those of :func:`sequential`.
    start
        The weights to begin from for a seed; left out: He's normal weights and biases of zero, as
        the papers' nets.

    Raises
    ------
    ValueError
        If there is not one prefix a layer with weights.

    Examples
    --------
    >>> from empirical.nets.architecture import perceptron
    >>> net = KernelNet(perceptron(3, 4, outputs=2))
    >>> module = sequential(perceptron(3, 4, outputs=2))
    >>> module.load_state_dict(net.tensors(net.initial(0)))
    <All keys matched successfully>
    """

    def __init__(
        self,
        architecture: Architecture,
        *,
        prefixes: Sequence[str] | None = None,
        start: Callable[[int], Tensor] | None = None,
    ) -> None:
        self.architecture, self._start = architecture, start
        self._layout = layout_of(architecture, prefixes)
        # Convolutions of several nets at once are no quicker on a CPU, and have other bits.
        convolves = any(isinstance(layer, Convolution) for layer in architecture.layers)
        self._at_once = 1 if convolves else max(1, WEIGHTS_AT_ONCE // architecture.parameters)
        self._groups = Groups(self._trial)

    def __getstate__(self) -> dict[str, Any]:
        """What is pickled and copied; how it starts may be a function of the user's, left out."""
        return {**vars(self), "_start": None if self._start is None else unknown_start}

    together = True  # a GPU takes any number of nets by the same launches

    @property
    def parameters(self) -> int:
        """The number d of weights and biases."""
        return self.architecture.parameters

    @property
    def outputs(self) -> int:
        """The units of the last layer."""
        return self.architecture.outputs

    @property
    def words(self) -> Mapping[str, object]:
        """The shape of an input, and the layers."""
        return {
            "kind": "layers",
            "input_shape": list(self.architecture.input_shape),
            "layers": [str(layer) for layer in self.architecture.layers],
        }

    @property
    def blocks(self) -> tuple[Block, ...]:
        """A block for each tensor that is trained."""
        return self._layout.blocks

    def initial(self, seed: int) -> Tensor:
        """The weights to begin from, shape (d,)."""
        if self._start is not None:
            return self._start(seed)
        return first_weights(self.architecture, seed=seed)

    def tensors(self, weights: Tensor) -> dict[str, Tensor]:
        """One net's weights, shape (d,), as a ``state_dict`` with torch's shapes."""
        return self._layout.tensors(weights)

    def outputs_of(self, weights: Tensor, inputs: Tensor) -> Tensor:
        """What N nets put out, shape (N, B, outputs); see :class:`Net`."""
        agents, batch = weights.shape[0], inputs.shape[1]
        found = weights.new_empty(agents, batch, self.outputs)
        at_once = 1 if weights.device.type == "cpu" else agents
        for start in range(0, batch, PREDICTED_AT_ONCE):
            some = slice(start, start + PREDICTED_AT_ONCE)
            for first in range(0, agents, at_once):
                own = slice(first, first + at_once)
                x = aligned(inputs[:, some] if inputs.shape[0] == 1 else inputs[own, some])
                row = aligned(weights[own])
                found[own, some] = logits(self.architecture, row, self._shaped(x))
        return found

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
        """The losses of N nets, and their gradients to `into`; see :class:`Net`."""
        size = self._at_once if weights.device.type == "cpu" else weights.shape[0]
        return self._groups.gradient(
            self._pass, weights, inputs, labels, likelihood, into, size=size
        )

    def _pass(
        self,
        group: slice,
        weights: Tensor,
        inputs: Tensor,
        labels: Tensor,
        likelihood: Losses,
        into: Tensor,
    ) -> Tensor:
        """A pass of some nets; the variances of a belief, which this estimator does not read."""
        target = into if is_aligned(into) else aligned_empty(into)
        losses = gradient(
            self.architecture,
            weights,
            weights,
            self._shaped(inputs),
            labels,
            likelihood=likelihood,
            estimator="point",
            into=(target, target),
        )
        if target is not into:
            into.copy_(target)
        return losses

    def _trial(self, count: int, batch: int, seed: int) -> tuple[Tensor, Tensor]:
        """Weights near the initial ones and made-up inputs, to try nets on."""
        generator = torch.Generator().manual_seed(seed)
        noise = torch.randn(count, self.parameters, generator=generator)
        shape = count, batch, *self.architecture.input_shape
        return self.initial(0) + 0.1 * noise, torch.randn(shape, generator=generator)

    def _shaped(self, inputs: Tensor) -> Tensor:
        """Inputs as the first layer takes them: flat for a dense one."""
        return inputs.reshape(*inputs.shape[:2], *self.architecture.input_shape)


def layout_of(architecture: Architecture, prefixes: Sequence[str] | None = None) -> Layout:
    """Where the tensors of a torch module of this architecture stand in the weight vector."""
    if prefixes is None:
        named = sequential(architecture, device="meta").named_modules()
        prefixes = [name for name, layer in named if isinstance(layer, nn.Linear | nn.Conv2d)]
    if len(prefixes) != len(architecture.blocks):
        raise fail(
            "prefixes",
            f"one for each of {len(architecture.blocks)} layers with weights",
            len(prefixes),
            "name them",
        )
    places = []
    for prefix, block in zip(prefixes, architecture.blocks, strict=True):
        dense, begins = len(block.shape) == 2, f"{prefix}." if prefix else ""
        shape = block.shape[::-1] if dense else block.shape
        places.append(Place(f"{begins}weight", block.weight, shape, transposed=dense))
        units = (block.bias.stop - block.bias.start,)
        places.append(Place(f"{begins}bias", block.bias, units))
    return Layout.plain(tuple(places))


def sequential(architecture: Architecture, *, device: str = "cpu") -> nn.Sequential:
    """A torch module of an architecture, with torch's own initial weights.

    Examples
    --------
    >>> from empirical.nets.architecture import perceptron
    >>> [type(layer).__name__ for layer in sequential(perceptron(3, 4, outputs=2))]
    ['Flatten', 'Linear', 'ReLU', 'Linear']
    """
    layers: list[nn.Module] = []
    shape, flat = architecture.input_shape, False
    last = len(architecture.layers) - 1
    sizes = iter(architecture.blocks)
    for index, (layer, after) in enumerate(
        zip(architecture.layers, architecture.shapes, strict=True)
    ):
        if isinstance(layer, MaxPool):
            layers.append(nn.MaxPool2d(layer.size))
        elif isinstance(layer, Convolution):
            next(sizes)
            layers.append(
                nn.Conv2d(
                    shape[0],
                    layer.channels,
                    layer.kernel,
                    stride=layer.stride,
                    padding=layer.padding,
                    device=device,
                )
            )
        elif isinstance(layer, Dense):
            if not flat:
                layers.append(nn.Flatten())
                flat = True
            layers.append(nn.Linear(next(sizes).fan_in, layer.units, device=device))
        if index < last and not isinstance(layer, MaxPool):
            layers.append(nn.ReLU())
        shape = after
    return nn.Sequential(*layers)
