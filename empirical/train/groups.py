"""Which nets are computed together, so that no net's gradient depends on its company.

A product of matrices on a CPU can come out to other bits when it is one of several, or when its
operands begin elsewhere in memory: libraries choose their kernels by both. Here each net's rows
begin at multiples of 64 bytes, by a copy where the caller's do not, and a group is computed
together only if a trial of the same shapes gives each net the bits that it gets alone.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import torch
from torch import Tensor

from empirical.kernels.products import in_use
from empirical.nets.likelihood import Likelihood as Losses

ALIGNMENT = 64  # bytes: a line of the cache, and the widest register

# Weights of all nets that are computed together on a CPU, so that they stay in its cache with
# their gradients (measured).
WEIGHTS_AT_ONCE = 2**20

# More nets than these gain little from going together on a CPU.
MOST_TOGETHER = 16

# How often, and on how many weights in all, nets together are compared with nets alone.
MOST_TRIALS = 20
NUMBERS_TRIED = 2**15


class Pass(Protocol):
    """A forward and backward pass of a group of nets."""

    def __call__(
        self,
        group: slice,
        weights: Tensor,
        inputs: Tensor,
        labels: Tensor,
        likelihood: Losses,
        into: Tensor,
        /,
    ) -> Tensor:
        """Losses, shape (n,), and gradients to `into`, shape (n, d); `group` says which nets."""
        ...


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
