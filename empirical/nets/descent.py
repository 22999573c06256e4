"""A local step of a few agents: the gradient of a batch, then Adam with the divergence.

Perceptrons on the CPU take it in compiled passes, layer by layer
(:mod:`empirical.nets.dense_pass`); other nets and devices by torch's operations, where all agents
move at once and nothing waits for the device.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from empirical.nets import dense_pass
from empirical.nets.architecture import Architecture
from empirical.nets.dense_pass import DensePass
from empirical.nets.likelihood import Likelihood, gradient
from empirical.nets.recipe import Recipe
from empirical.nets.update import Moments, Numbers, update
from empirical.train.kernels.noise import Noise


@dataclass(frozen=True, eq=False)
class Beliefs:
    """What steps move and read: beliefs, Adam's averages, and the round's prior.

    All tensors have shape (N, d).
    """

    mean: Tensor
    variance: Tensor
    moments: Moments
    prior: tuple[Tensor, Tensor]

    @property
    def tensors(self) -> tuple[Tensor, ...]:
        """All of them, in this order."""
        m = self.moments
        averages = (m.mean_first, m.mean_second, m.scale_first, m.scale_second)
        return (self.mean, self.variance, *averages, *self.prior)


class Descent:
    """Steps of a fixed number of agents, with buffers that serve all of them.

    Parameters
    ----------
    architecture, likelihood, recipe
        Of the run.
    agents, batch
        N and B.
    device
        Where the beliefs are.
    """

    def __init__(
        self,
        architecture: Architecture,
        likelihood: Likelihood,
        recipe: Recipe,
        *,
        agents: int,
        batch: int,
        device: str,
    ) -> None:
        self._architecture, self._likelihood, self._recipe = architecture, likelihood, recipe
        self._passes: DensePass | None = None
        if device == "cpu" and dense_pass.knows(architecture) and recipe.estimator == "local":
            self._passes = DensePass(architecture, agents=agents, batch=batch, local=True)
        else:
            shape = agents, architecture.parameters
            self._into = torch.empty(shape, device=device), torch.empty(shape, device=device)

    def step(
        self,
        beliefs: Beliefs,
        inputs: Tensor,
        labels: Tensor,
        noise: Noise,
        numbers: Numbers,
        *,
        at: int,
        divergence: bool,
    ) -> Tensor:
        """One step, in place; the losses before it, shape (N,), not waited for.

        Parameters
        ----------
        inputs, labels
            Shapes (N, B, ...) and (N, B).
        noise
            Of this step.
        numbers, at
            Of several steps, and which of them this is.
        divergence
            Whether the belief may differ from its prior.
        """
        recipe = self._recipe
        counts = divergence and recipe.estimator != "point" and recipe.divergence != 0.0
        prior = beliefs.prior if counts else None
        mean, variance, moments = beliefs.mean, beliefs.variance, beliefs.moments
        if self._passes is not None:
            noise.normals(self._passes.noise)
            outputs = self._passes.outputs(mean, variance, inputs)
            loss, grad = self._likelihood.loss(outputs, labels)
            self._passes.descend(grad, moments, numbers, prior, at=at)
            return loss
        loss = gradient(
            self._architecture,
            mean,
            variance,
            inputs,
            labels,
            likelihood=self._likelihood,
            estimator=recipe.estimator,
            noise=noise,
            into=self._into,
        )
        update(mean, variance, self._into, moments, numbers, prior, at=at)
        return loss
