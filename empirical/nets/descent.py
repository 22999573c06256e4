"""A local step of a few agents: the gradient of a batch, then Adam with the divergence.

Perceptrons on the CPU take it in compiled passes, layer by layer
(:mod:`empirical.nets.dense_pass`); other nets and devices by torch's operations, where all agents
move at once and nothing waits for the device.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from empirical.kernels.noise import Noise
from empirical.nets import dense_pass
from empirical.nets.architecture import Architecture
from empirical.nets.dense_pass import DensePass
from empirical.nets.likelihood import Likelihood, gradient
from empirical.nets.recipe import Recipe
from empirical.nets.shares import Shares
from empirical.nets.update import Moments, Numbers, State, states_of, update
from theory.validation import IntArray

UInt32 = NDArray[np.uint32]


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
        self._counts = recipe.estimator != "point" and recipe.divergence != 0.0
        self._passes: DensePass | None = None
        if device == "cpu" and dense_pass.knows(architecture) and recipe.estimator == "local":
            self._passes = DensePass(architecture, agents=agents, batch=batch, local=True)
        else:
            shape = agents, architecture.parameters
            self._into = torch.empty(shape, device=device), torch.empty(shape, device=device)

    def run(
        self,
        beliefs: Beliefs,
        shares: Shares,
        places: Tensor,
        *,
        keys: UInt32,
        taken: IntArray,
        numbers: Numbers,
    ) -> Tensor:
        """All local steps of a round, in place; the sums of the losses, not waited for.

        Parameters
        ----------
        shares, places
            The data, and the rows of each batch, shape (steps, N, B).
        keys, taken
            Of the agents' noise, and how many steps each has taken before.
        numbers
            Of all these steps.

        Returns
        -------
        Tensor
            Shape (N,), float64.
        """
        total = torch.zeros(places.shape[1], dtype=torch.float64, device=places.device)
        states: list[State] = []
        if self._passes is not None:
            states = states_of(beliefs.mean, beliefs.variance, beliefs.moments, beliefs.prior)
        shape = tuple(places.shape[1:])
        inputs = shares.inputs.new_empty(places[0].numel(), *shares.inputs.shape[1:])
        labels = shares.labels.new_empty(places[0].numel())
        batch = inputs.reshape(*shape, *inputs.shape[1:]), labels.reshape(shape)
        for step, here in enumerate(places.flatten(1)):
            torch.index_select(shares.inputs, 0, here, out=inputs)
            torch.index_select(shares.labels, 0, here, out=labels)
            noise = Noise(keys, (taken + step).astype(np.uint32))
            # At the first step after a consensus the belief is its own prior: no gradient.
            counts = self._counts and not (step == 0 and self._recipe.prior == "consensus")
            if self._passes is not None:
                total += self._compiled(states, batch, noise, numbers, step, counts)
            else:
                total += self._by_torch(beliefs, batch, noise, numbers, step, counts)
        return total

    def _compiled(
        self,
        states: list[State],
        batch: tuple[Tensor, Tensor],
        noise: Noise,
        numbers: Numbers,
        at: int,
        counts: bool,
    ) -> Tensor:
        passes = self._passes
        assert passes is not None
        noise.normals(passes.noise)
        outputs = passes.outputs([s[0] for s in states], [s[1] for s in states], batch[0])
        loss, grad = self._likelihood.loss(outputs, batch[1])
        passes.descend(grad, states, numbers, at=at, prior=counts)
        return loss

    def _by_torch(
        self,
        beliefs: Beliefs,
        batch: tuple[Tensor, Tensor],
        noise: Noise,
        numbers: Numbers,
        at: int,
        counts: bool,
    ) -> Tensor:
        mean, variance = beliefs.mean, beliefs.variance
        loss = gradient(
            self._architecture,
            mean,
            variance,
            *batch,
            likelihood=self._likelihood,
            estimator=self._recipe.estimator,
            noise=noise,
            into=self._into,
        )
        prior = beliefs.prior if counts else None
        update(mean, variance, self._into, beliefs.moments, numbers, prior, at=at)
        return loss
