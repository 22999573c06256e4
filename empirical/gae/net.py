"""The local net, and what a node does with it alone: passes over a batch, Adam, an epoch.

Two 3 x 3 convolutions (32 and 64 channels, no padding, ReLU), max-pool of 2 x 2, dropout, dense
layers of 64 and 64 units (ReLU) and 10 outputs: 613 514 weights. Channels come last, as in the
library that the paper's authors used, and so the weights' order is theirs: by layer, weights before
biases, a convolution's by row, column, channel in, channel out. The nets of M nodes are the rows
of one tensor of shape (M, 613 514).

Torch multiplies and differentiates, on any of its devices. One channel is too few for its
convolutions: the first is a product of windows of nine pixels. The max-pool comes before bias and
ReLU, which gives the same on a quarter of the pixels. On a GPU the windows are made once, each as
16 numbers, which it multiplies well, and the gradient of a batch is one launch.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from empirical.data import Images
from empirical.gae.recipe import Recipe
from empirical.kernels.pooled_triton import pooled
from empirical.kernels.products import products
from empirical.kernels.replayed import Replayed
from empirical.kernels.sweeps import adam_step
from empirical.messages.codec import Block, Layout
from theory.validation import IntArray, fail

# Numbers that the max-pool leaves of an image.
FEATURES = 12 * 12 * 64
SHAPES: dict[str, tuple[int, ...]] = {
    "convolution-1.weight": (3, 3, 1, 32),
    "convolution-1.bias": (32,),
    "convolution-2.weight": (3, 3, 32, 64),
    "convolution-2.bias": (64,),
    "dense-1.weight": (FEATURES, 64),
    "dense-1.bias": (64,),
    "dense-2.weight": (64, 64),
    "dense-2.bias": (64,),
    "dense-3.weight": (64, 10),
    "dense-3.bias": (10,),
}
_SIZES = [math.prod(shape) for shape in SHAPES.values()]
SIZE = sum(_SIZES)
# Name of the one vector that a message of this net has.
WEIGHTS = "weights"
# Images at a time: on a CPU, what is kept of 64 of them stays in its caches.
_ON_CPU, _ELSEWHERE = 64, 8192
_WHITE = 255.0
_WINDOW = 16
Result = TypeVar("Result")
# Weights of all nodes and Adam's moments, by name.
State = dict[str, Tensor]


def blocks() -> tuple[Block, ...]:
    """The tensors of the net, in the order of their weights."""
    starts = [sum(_SIZES[:number]) for number in range(len(_SIZES))]
    return tuple(Block(*own) for own in zip(SHAPES, starts, SHAPES.values(), strict=True))


def layout(begin: Tensor) -> Layout:
    """What messages of such nets look like; `begin` has the weights that all begin with, (d,)."""
    return Layout({WEIGHTS: begin}, blocks())


def stream(seed: int, *place: int) -> np.random.Generator:
    """Random numbers of one purpose, by seed and place alone: nothing is to be remembered."""
    state = np.random.SeedSequence(seed, spawn_key=place)
    return np.random.Generator(np.random.SFC64(state))


def initial(generator: np.random.Generator) -> Tensor:
    """Glorot's uniform weights and zero biases, shape (613 514,), float32."""
    weights = np.zeros(SIZE, np.float32)
    for one in blocks():
        if one.name.endswith("weight"):
            size = math.prod(one.shape)
            limit = math.sqrt(6 / (size / one.shape[-2] + size / one.shape[-1]))
            weights[one.start : one.start + size] = generator.uniform(-limit, limit, size)
    return torch.from_numpy(weights)


def as_inputs(pixels: NDArray[np.uint8]) -> Tensor:
    """Grey values over 255, float32; shape (n, 28, 28) as given."""
    return torch.from_numpy(np.ascontiguousarray(pixels, np.float32) / np.float32(_WHITE))


def windows_of(pixels: NDArray[np.uint8], *, device: str) -> Tensor:
    """Grey values of each 3 × 3 pixels and seven zeros, shape (n, 26, 26, 16), bfloat16: exact."""
    images = torch.tensor(pixels, device=device).bfloat16()
    windows = images.unfold(1, 3, 1).unfold(2, 3, 1).flatten(3)
    return functional.pad(windows, (0, _WINDOW - windows.shape[3]))


def scores(
    weights: Tensor, images: Tensor, *, dropout: float = 0.0, drawn: Tensor | None = None
) -> Tensor:
    """What the output layer says of images, before softmax, shape (n, 10); differentiable.

    Parameters
    ----------
    weights
        Shape (613 514,).
    images
        Shape (n, 28, 28), or their windows (:func:`windows_of`).
    dropout, drawn
        Share of what the max-pool leaves that is set to 0, a multiple of 1/256, and random bytes,
        shape (n, 9216), that say which; the rest is divided by one less the share.
    """
    parts = zip(torch.split(weights, _SIZES), SHAPES.values(), strict=True)
    c1, b1, c2, b2, *dense = (part.view(shape) for part, shape in parts)
    c1 = c1.view(9, -1)
    if images.dtype == torch.bfloat16:  # grey values, which weights are divided by 255 for
        few = torch.is_autocast_enabled(images.device.type)
        windows = images if few else images.float()
        c1 = functional.pad(c1 / _WHITE, (0, 0, 0, _WINDOW - len(c1)))
    else:
        windows = images.unfold(1, 3, 1).unfold(2, 3, 1)
    held = torch.relu(torch.addmm(b1, windows.reshape(-1, len(c1)), c1))
    held = held.view(*windows.shape[:3], -1).permute(0, 3, 1, 2)
    held = pooled(torch.conv2d(held, c2.permute(3, 2, 0, 1)), b2, drawn=drawn, dropout=dropout)
    for number in range(0, len(dense), 2):
        held = torch.addmm(dense[number + 1], held, dense[number])
        held = torch.relu(held) if number < len(dense) - 2 else held
    return held


def _summed(
    weights: Tensor, images: Tensor, labels: Tensor, drawn: Tensor, count: Tensor, *, dropout: float
) -> Tensor:
    """The sum of losses, and its gradient over `count` behind it, shape (1 + d,)."""
    free = weights.detach().requires_grad_()
    said = scores(free, images, dropout=dropout, drawn=drawn if dropout else None)
    loss = functional.cross_entropy(said.float(), labels, reduction="sum")
    (found,) = torch.autograd.grad(loss / count, free)
    return torch.cat([loss.detach()[None], found])


class Passes:
    """A data set's images at hand where the nets are; on a CPU several threads may ask at once."""

    def __init__(self, images: Images, *, device: str = "cpu") -> None:
        on_cpu = device == "cpu"
        self._inputs = (
            as_inputs(images.pixels) if on_cpu else windows_of(images.pixels, device=device)
        )
        self._labels = torch.tensor(images.labels).to(device)
        self._some = _ON_CPU if on_cpu else _ELSEWHERE
        # By the share that is dropped, and whether products are of bfloat16.
        self._recorded: dict[tuple[float, bool], Replayed] = {}

    def gradient(
        self, weights: Tensor, chosen: Tensor, dropout: float, random: np.random.Generator
    ) -> tuple[Tensor, Tensor]:
        """The sum of the losses of some images in nats, and their mean's gradient, shape (d,).

        Parameters
        ----------
        chosen
            Which images, shape (n,), int64, where the weights are.
        """
        total, summed, device = (
            weights.new_zeros(()),
            torch.zeros_like(weights),
            weights.device.type,
        )
        way = dropout, torch.is_autocast_enabled(device)
        if way not in self._recorded:
            self._recorded[way] = Replayed(partial(_summed, dropout=dropout))
        for some in torch.split(chosen, self._some):
            drawn = self._drawn(len(some), random) if dropout else weights.new_empty(0)
            images, count = self._inputs[some], weights.new_full((), len(chosen))
            found = self._recorded[way](weights, images, self._labels[some], drawn, count)
            total += found[0]
            summed += found[1:]
        return total, summed

    def _drawn(self, count: int, random: np.random.Generator) -> Tensor:
        """Bytes of the stream itself on a CPU; elsewhere made on the device, seeded by it."""
        shape, device = (count, FEATURES), self._inputs.device
        if device.type == "cpu":
            return torch.from_numpy(random.integers(0, 256, shape, np.uint8))
        generator = torch.Generator(device).manual_seed(int(random.integers(2**63)))
        drawn = torch.empty(shape, dtype=torch.uint8, device=device)
        return drawn.random_(generator=generator)

    @torch.no_grad()
    def accuracy(self, weights: Tensor) -> float:
        """The share of images that one net puts into their class."""
        inputs, labels = (torch.split(own, self._some) for own in (self._inputs, self._labels))
        with products("highest", device=weights.device.type):
            said = (scores(weights, some).argmax(1) for some in inputs)
            right = sum((one == own).sum() for one, own in zip(said, labels, strict=True))
        return int(right) / len(self._labels)


def begin(weights: Tensor) -> State:
    """M rows of weights, shape (M, d), and what Adam remembers of them: all as it is kept in files.

    That is the means of gradients and of their squares, and how many steps there were, of a row and
    not of a step: merges of weights leave it alone.
    """
    steps = torch.zeros(len(weights), dtype=torch.int64)
    moments = {name: torch.zeros_like(weights) for name in ("first", "second")}
    return {"weights": weights, **moments, "steps": steps}


def step(state: State, row: int, gradient: Tensor, recipe: Recipe) -> None:
    """One step of Adam of one row, in place.

    The library of the paper's authors adds ε to the root before its bias is corrected:
    θ ← θ − η √(1 − β₂ᵗ) / (1 − β₁ᵗ) · m / (√v + ε).
    """
    state["steps"][row] += 1
    count = int(state["steps"][row])
    mean, first, second = (state[name][row : row + 1] for name in ("weights", "first", "second"))
    adam_step(
        mean, (first, second), gradient[None],
        weight=(1.0,), steps=(count,), rate=recipe.rate,
        betas=(recipe.first_decay, recipe.second_decay),
        epsilon=recipe.epsilon / math.sqrt(1 - recipe.second_decay**count),
    )  # fmt: skip


def epoch(
    passes: Passes,
    state: State,
    row: int,
    images: IntArray,
    recipe: Recipe,
    random: np.random.Generator,
) -> float:
    """Trains one row of a state once over its images in a new order, in place.

    Returns its mean loss on the way, in nats.

    Raises
    ------
    ValueError
        If the loss is not finite.
    """
    weights = state["weights"]
    order = torch.from_numpy(random.permutation(images)).to(weights.device)
    total = weights.new_zeros((), dtype=torch.float64)
    with products(recipe.products, device=weights.device.type):
        for start in range(0, len(order), recipe.batch):
            chosen = order[start : start + recipe.batch]
            loss, gradient = passes.gradient(weights[row], chosen, recipe.dropout, random)
            total += loss  # which nothing waits for on the way
            step(state, row, gradient, recipe)
    mean = float(total) / len(order)
    if not math.isfinite(mean):
        raise fail(f"loss of node {row}", "a finite number", mean, "lower the learning rate")
    return mean


def side_by_side(
    work: Callable[[int], Result], rows: Sequence[int], *, workers: int
) -> list[Result]:
    """What `work` gives for each row, in their order, by so many threads of one core each.

    Rows are trained from streams of their own, so that who shares the work changes no bit. After an
    error no other row is begun.
    """
    if workers == 1:
        return [work(row) for row in rows]
    with ThreadPoolExecutor(workers, initializer=torch.set_num_threads, initargs=(1,)) as pool:
        return list(pool.map(work, rows))
