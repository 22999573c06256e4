"""A max-pool with what follows it in one launch each way on a GPU, written for Triton.

Bias, ReLU and dropout come behind the max-pool of 2 × 2: each of them alone would read and write
all numbers once more, and torch's own max-pool takes longer than its memory needs. What the way
back has to know is one byte an output: from which of its four places it came, or that nothing
passes.

Triton comes with torch for CUDA; where it is missing or refuses, callers use torch's operations,
which are the oracle of these.
"""

from __future__ import annotations

import functools
import importlib.util
from typing import Any

import torch
from torch import Tensor

from empirical.kernels.noise_triton import for_device

try:
    from triton import language as tl
except ModuleNotFoundError:
    tl = None

# Outputs of a program.
OUTPUTS = 1024


@for_device
def _corner(output, side, channels):
    """Where the first of an output's four inputs stands; all are counted image, row, column."""
    channel, place = output % channels, output // channels
    column, row, image = place % side, place // side % side, place // (side * side)
    return ((image * 2 * side + 2 * row) * 2 * side + 2 * column) * channels + channel


@for_device
def _later(best, which, other, number: tl.constexpr):
    """The larger of two, of equal ones the first; not a number wins, as in torch."""
    wins = (other > best) | (other != other)
    return tl.where(wins, other, best), tl.where(wins, number, which)


@for_device
def _forward(
    values, bias, drawn, out, passed, count, least, scale, side, channels,
    drops: tl.constexpr, outputs: tl.constexpr,
):  # fmt: skip
    output = tl.program_id(0).to(tl.int64) * outputs + tl.arange(0, outputs)
    here, row = output < count, 2 * side * channels
    first = values + _corner(output, side, channels)
    best = tl.load(first, mask=here, other=0.0).to(tl.float32)
    which = tl.zeros((outputs,), tl.int32)
    second = tl.load(first + channels, mask=here, other=0.0).to(tl.float32)
    best, which = _later(best, which, second, 1)
    third = tl.load(first + row, mask=here, other=0.0).to(tl.float32)
    best, which = _later(best, which, third, 2)
    fourth = tl.load(first + row + channels, mask=here, other=0.0).to(tl.float32)
    best, which = _later(best, which, fourth, 3)
    best += tl.load(bias + output % channels, mask=here, other=0.0).to(tl.float32)
    passes = (best > 0) | (best != best)
    if drops:
        passes = passes & (tl.load(drawn + output, mask=here, other=0).to(tl.int32) >= least)
    tl.store(out + output, tl.where(passes, best * scale, 0.0), mask=here)
    tl.store(passed + output, tl.where(passes, which, 4).to(tl.uint8), mask=here)


@for_device
def _backward(
    gradient, passed, out, count, scale, side, channels, outputs: tl.constexpr
):  # fmt: skip
    output = tl.program_id(0).to(tl.int64) * outputs + tl.arange(0, outputs)
    here, row = output < count, 2 * side * channels
    first = out + _corner(output, side, channels)
    own = tl.load(gradient + output, mask=here, other=0.0).to(tl.float32) * scale
    which = tl.load(passed + output, mask=here, other=4).to(tl.int32)
    tl.store(first, tl.where(which == 0, own, 0.0), mask=here)
    tl.store(first + channels, tl.where(which == 1, own, 0.0), mask=here)
    tl.store(first + row, tl.where(which == 2, own, 0.0), mask=here)
    tl.store(first + row + channels, tl.where(which == 3, own, 0.0), mask=here)


class _Pooled(torch.autograd.Function):
    """Inputs' gradient goes to the place that each output came from."""

    @staticmethod
    def forward(
        ctx: Any, values: Tensor, bias: Tensor, drawn: Tensor | None, least: int, scale: float
    ) -> Tensor:
        """Outputs, shape (n, side² · channels)."""
        images, channels, side = values.shape[0], values.shape[1], values.shape[2] // 2
        values = values.contiguous(memory_format=torch.channels_last)
        out = values.new_empty(images, side * side * channels)
        passed = torch.empty(out.shape, dtype=torch.uint8, device=out.device)
        _forward[(-(-out.numel() // OUTPUTS),)](
            values, bias, passed if drawn is None else drawn, out, passed, out.numel(), least,
            scale, side, channels, drops=drawn is not None, outputs=OUTPUTS,
        )  # fmt: skip
        ctx.save_for_backward(passed)
        ctx.scale, ctx.shape = scale, values.shape
        return out

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Any:
        """Of the inputs, in the type of the outputs' gradient, and of the bias, float32."""
        (passed,) = ctx.saved_tensors
        channels, side = ctx.shape[1], ctx.shape[2] // 2
        gradient = gradient.contiguous()
        inputs = torch.empty(
            ctx.shape, dtype=gradient.dtype, device=gradient.device,
            memory_format=torch.channels_last,
        )  # fmt: skip
        _backward[(-(-gradient.numel() // OUTPUTS),)](
            gradient, passed, inputs, gradient.numel(), ctx.scale, side, channels, outputs=OUTPUTS
        )
        held = torch.where(passed < 4, gradient, 0).view(-1, channels)
        return inputs, held.sum(0, dtype=torch.float32) * ctx.scale, None, None, None


def pooled_by_torch(
    values: Tensor, bias: Tensor, *, drawn: Tensor | None = None, dropout: float = 0.0
) -> Tensor:
    """Max-pool of 2 × 2, bias, ReLU, dropout; shape (n, side² · channels), differentiable.

    Parameters
    ----------
    values
        Shape (n, channels, 2 side, 2 side).
    bias
        Shape (channels,).
    drawn, dropout
        Random bytes, shape (n, side² · channels), and the share of them, a multiple of 1/256, that
        set an output to 0; the rest is divided by one less the share.
    """
    held = torch.max_pool2d(values, 2)
    held = torch.relu(held.permute(0, 2, 3, 1) + bias).flatten(1)
    return held if drawn is None else held * (drawn >= round(256 * dropout)) / (1 - dropout)


def pooled(
    values: Tensor, bias: Tensor, *, drawn: Tensor | None = None, dropout: float = 0.0
) -> Tensor:
    """:func:`pooled_by_torch`, on a GPU in one launch each way, in the type of `values`."""
    if not in_one_launch(values.device.type):
        return pooled_by_torch(values, bias, drawn=drawn, dropout=dropout)
    return _in_one_launch(values, bias, drawn=drawn, dropout=dropout)


def _in_one_launch(values: Tensor, bias: Tensor, *, drawn: Tensor | None, dropout: float) -> Tensor:
    scale = 1.0 if drawn is None else 1.0 / (1.0 - dropout)
    apply: Any = _Pooled.apply
    out: Tensor = apply(values, bias, drawn, round(256 * dropout), scale)
    return out


@functools.cache
def in_one_launch(device: str) -> bool:
    """Whether these kernels work on a device; tried once in a process."""
    if device != "cuda" or importlib.util.find_spec("triton") is None:
        return False
    generator = torch.Generator(device).manual_seed(0)
    values = torch.randn(3, 5, 8, 8, device=device, generator=generator)
    bias = torch.randn(5, device=device, generator=generator)
    drawn = torch.randint(256, (3, 80), device=device, generator=generator).to(torch.uint8)

    def tried(way: Any) -> tuple[Tensor, ...]:
        free = values.clone().requires_grad_(), bias.clone().requires_grad_()
        out = way(*free)
        return out, *torch.autograd.grad(out.square().sum(), free)

    try:
        ours = tried(functools.partial(_in_one_launch, drawn=drawn, dropout=1 / 4))
    except Exception:  # whatever keeps a compiler from its work
        return False
    theirs = tried(functools.partial(pooled_by_torch, drawn=drawn, dropout=1 / 4))
    return all(torch.allclose(a, b, atol=1e-5) for a, b in zip(ours, theirs, strict=True))
