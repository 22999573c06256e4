"""What a learner has to say: what an agent keeps, how it steps, and what is pooled.

All tensors have a row for each of n agents and d columns, one for each weight of the net. Nothing a
learner does to a row depends on the other rows, so that agents can be computed a few at a time or
all at once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from torch import Tensor

from empirical.kernels.noise import Noise

# An agent's tensors by name, one row for each agent: what a learner keeps from round to round.
State = dict[str, Tensor]


@dataclass(frozen=True, eq=False)
class Share:
    """What each of n agents has of the data and of the influence, in columns of shape (n, 1).

    Attributes
    ----------
    held
        n_i: how many examples the agent holds.
    influence
        v_i, in shares: over all agents of the run they sum to one.
    total
        n: how many examples all agents of the run hold.
    """

    held: Tensor
    influence: Tensor
    total: int

    @property
    def of_data(self) -> Tensor:
        """n_i / n."""
        return self.held / self.total

    @property
    def weight(self) -> Tensor:
        """a_i = n_i / (v_i n): with it Σ_i v_i a_i L_i is the mean loss of all data."""
        return self.of_data / self.influence

    def of(self, rows: slice | Tensor) -> Share:
        """Those of some of the agents."""
        return Share(self.held[rows], self.influence[rows], self.total)

    def to(self, device: str) -> Share:
        """The same on a device."""
        return Share(self.held.to(device), self.influence.to(device), self.total)


class Batch(Protocol):
    """What the engine offers in one step of k agents."""

    @property
    def rate(self) -> float:
        """What learning rates are multiplied by in this round: the schedule."""
        ...

    @property
    def steps(self) -> Tensor:
        """How many steps each agent has taken, this one included; shape (k, 1), float64."""
        ...

    @property
    def size(self) -> int:
        """B, the number of examples in each agent's batch."""
        ...

    @property
    def first(self) -> bool:
        """Whether this is the first step since the last consensus."""
        ...

    def gradient(self, weights: Tensor, into: Tensor) -> Tensor:
        """Each agent's mean −log ℓ on its batch, shape (k,); its gradient goes to `into`."""
        ...

    def normals(self, like: Tensor) -> Tensor:
        """Standard normal numbers of this step, shape (k, d), the same at every call."""
        ...

    def noise(self, *, ahead: int = 0) -> Noise:
        """What :meth:`normals` of this step, or of a step so much later, depend on."""
        ...

    def local_gradient(
        self, mean: Tensor, variance: Tensor, into: tuple[Tensor, Tensor]
    ) -> Tensor | None:
        """By local reparameterisation, the derivatives by means and variances.

        None, and nothing written, where the net knows no local reparameterisation.
        """
        ...


@dataclass(frozen=True, eq=False)
class Belief:
    """What n agents believe of the weights.

    Attributes
    ----------
    mean
        Shape (n, d).
    variance
        Shape (n, d); None for learners that keep none.
    """

    mean: Tensor
    variance: Tensor | None


class Learner(Protocol):
    """How agents learn: settings alone, no state.

    A round of an agent is :meth:`begin`, its local steps, :meth:`end`; then all agents'
    :meth:`message` are pooled and :meth:`hear` takes in the result. An agent that rests does
    neither begin nor step.
    """

    @property
    def name(self) -> str:
        """One of ``LEARNERS``."""
        ...

    @property
    def vectors(self) -> Mapping[str, int]:
        """How many vectors of d numbers an agent takes: kept, in its steps, in its message."""
        ...

    def words(self) -> dict[str, Any]:
        """All settings in plain values, and the name: JSON, kept in records."""
        ...

    def start(self, weights: Tensor, share: Share) -> State:
        """Before round 1, every agent with the same weights, shape (d,)."""
        ...

    def begin(self, state: State, share: Share) -> State:
        """What the coming local steps need besides the state; forgotten after the round."""
        ...

    def step(self, state: State, work: State, batch: Batch, share: Share) -> Tensor:
        """One step of every agent, in place; the losses, shape (k,)."""
        ...

    def end(self, state: State, work: State, share: Share) -> None:
        """What follows the last local step of a round, in place."""
        ...

    def message(self, state: State) -> dict[str, Tensor]:
        """What agents say, in coordinates that pooling is linear in; may be views of the state."""
        ...

    def hear(self, state: State, pooled: Mapping[str, Tensor]) -> None:
        """Take in Σ_j W_ij (message of j), in place."""
        ...

    def belief(self, state: State) -> Belief:
        """Mean and variance of the weights; the mean is a view of the state."""
        ...
