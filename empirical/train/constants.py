"""Outputs that are trained numbers rather than matters of the input, beside a net's own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from empirical.messages.codec import Block
from empirical.nets.likelihood import Likelihood as Losses
from empirical.train.net import Net, NoiseKey
from theory.validation import as_integer, fail


def with_constants(net: Net, count: int) -> Net:
    """A net that puts out `count` more numbers, the last, the same for all inputs and trained.

    What a likelihood's ``constants`` asks for: log standard deviations, log dispersions. They
    begin at 0 and are the last of the weights, so that they are learned and pooled like them.
    ``tensors`` gives the net's own tensors alone, as its module takes them.

    Raises
    ------
    ValueError
        If `count` is not a whole number of at least 0.

    Examples
    --------
    >>> from empirical.nets.architecture import perceptron
    >>> from empirical.train.kernel_net import KernelNet
    >>> net = with_constants(KernelNet(perceptron(3, 4, outputs=2)), 2)
    >>> net.outputs, net.parameters
    (4, 28)
    """
    count = as_integer("count", count, minimum=0)
    return _WithConstants(net, count) if count else net


@dataclass(frozen=True)
class _WithConstants:
    net: Net
    count: int

    @property
    def together(self) -> bool:
        return bool(getattr(self.net, "together", False))

    @property
    def parameters(self) -> int:
        return self.net.parameters + self.count

    @property
    def outputs(self) -> int:
        return self.net.outputs + self.count

    @property
    def words(self) -> Mapping[str, object]:
        return {**self.net.words, "constants": self.count}

    @property
    def blocks(self) -> tuple[Block, ...]:
        return (*self.net.blocks, Block("constants", self.net.parameters, (self.count,)))

    def initial(self, seed: int) -> Tensor:
        own = self.net.initial(seed)
        return torch.cat([own, own.new_zeros(self.count)])

    def outputs_of(self, weights: Tensor, inputs: Tensor) -> Tensor:
        own, constants = weights[:, : -self.count], weights[:, -self.count :]
        return _appended(self.net.outputs_of(own, inputs), constants)

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
        through = _Appending(likelihood, weights[:, -self.count :], into[:, -self.count :])
        loss = self.net.gradient(
            weights[:, : -self.count],
            inputs,
            labels,
            likelihood=through,
            into=into[:, : -self.count],
            noise=noise,
        )
        assert through.seen == weights.shape[0], "a likelihood sees each net once, in order"
        return loss

    def tensors(self, weights: Tensor) -> dict[str, Tensor]:
        if weights.shape != (self.parameters,):
            raise fail(
                "weights",
                f"shape ({self.parameters},)",
                f"shape {tuple(weights.shape)}",
                "give the weights of one net",
            )
        return self.net.tensors(weights[: -self.count])


class _Appending:
    """A likelihood of a net's own outputs: constants are put behind them, net after net."""

    def __init__(self, likelihood: Losses, constants: Tensor, into: Tensor) -> None:
        self._likelihood = likelihood
        self._constants, self._into = constants, into
        self.seen = 0

    def loss(self, outputs: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
        some = slice(self.seen, self.seen + outputs.shape[0])
        self.seen = some.stop
        own = outputs.shape[2]
        loss, grad = self._likelihood.loss(_appended(outputs, self._constants[some]), labels)
        torch.sum(grad[:, :, own:], dim=1, out=self._into[some])
        return loss, grad[:, :, :own].contiguous()


def _appended(outputs: Tensor, constants: Tensor) -> Tensor:
    """Shape (N, B, outputs) and (N, k): (N, B, outputs + k)."""
    widened = constants[:, None].expand(-1, outputs.shape[1], -1)
    return torch.cat([outputs, widened], dim=2)
