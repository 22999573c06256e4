"""Nets of one shape whose weights are the rows of a tensor: what learners train.

All weights of a net are one vector of d numbers. The nets of N agents are then one tensor of shape
(N, d), and neither pooling nor a learner needs a word about layers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from torch import Tensor

from empirical.messages.codec import Block
from empirical.nets.likelihood import Likelihood as Losses


@dataclass(frozen=True)
class NoiseKey:
    """What the noise within a net's forward pass depends on, such as dropout.

    Attributes
    ----------
    seed, agent, step
        Of the run; whose net; how many steps this agent has taken, from 0.
    """

    seed: int
    agent: int
    step: int


class Net(Protocol):
    """A family of nets, one for each weight vector."""

    @property
    def parameters(self) -> int:
        """The number d of weights."""
        ...

    @property
    def outputs(self) -> int:
        """How many numbers a net puts out for one input, all heads together."""
        ...

    @property
    def words(self) -> Mapping[str, object]:
        """What names the family: JSON that tells two different nets apart, kept in records."""
        ...

    @property
    def blocks(self) -> tuple[Block, ...]:
        """Which weights belong together, in their order and without a gap."""
        ...

    def initial(self, seed: int) -> Tensor:
        """Random weights to begin from, shape (d,), float32; the same for all agents of a run."""
        ...

    def outputs_of(self, weights: Tensor, inputs: Tensor) -> Tensor:
        """What N nets put out in prediction, shape (N, B, outputs), without gradients.

        Parameters
        ----------
        weights
            Shape (N, d).
        inputs
            Shape (N, B, …), or (1, B, …) for the same inputs to all.
        """
        ...

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
        """The mean −log ℓ of each net over its own batch, and its gradient by the weights.

        The likelihood is asked for the losses of one or more nets at a time, in their order, once
        each.

        Parameters
        ----------
        weights
            Shape (N, d).
        inputs, labels
            Shapes (N, B, …) and (N, B) or (N, B, k).
        into
            Shape (N, d): overwritten by the gradient.
        noise
            One key for each of the N nets, for those that draw noise of their own.

        Returns
        -------
        Tensor
            The losses, shape (N,), in nats; on the weights' device, not waited for.
        """
        ...

    def tensors(self, weights: Tensor) -> dict[str, Tensor]:
        """One net's weights by name, as ``load_state_dict`` takes them, from shape (d,)."""
        ...
