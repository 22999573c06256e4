"""The local steps of some agents in one round: their batches, their noise, and their rates."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Literal, overload

import numpy as np
import torch
from torch import Tensor

from empirical.kernels.noise import Noise, UInt32
from empirical.kernels.sweeps import Rate
from empirical.likelihoods.laws import Likelihood
from empirical.nets import dense_pass
from empirical.nets.likelihood import gradient
from empirical.nets.shares import Shares
from empirical.nets.update import Adam, State, Tensors, states_of
from empirical.train.kernel_net import KernelNet
from empirical.train.net import Net, NoiseKey
from theory.validation import FloatArray, IntArray

# What ends a training ----------------------------------------------------------------------------


class TrainingFailed(ValueError):  # noqa: N818  # it names what happened
    """A loss or a belief is no longer finite; the message names the agent and the round."""


def checked(
    losses: Tensor,
    active: Sequence[int],
    messages: Mapping[str, Tensor],
    *,
    agents: Sequence[int],
    round: int,
) -> FloatArray:
    """The losses on the host: the one wait for the device in a round.

    Parameters
    ----------
    losses, messages
        Shape (n,), and vectors of shape (n, d).
    active
        Which of the rows trained.
    agents, round
        Whose rows these are, and the round, for error messages.

    Raises
    ------
    TrainingFailed
        If a loss or a message is not finite, or a precision not above 0; names agent and round.
    """

    def failed(what: str, got: object, k: int) -> TrainingFailed:
        wanted = what if what.startswith("precision") else f"finite {what}"
        return TrainingFailed(
            f"training: expected {wanted}, got {got} at agent {agents[k]} in round {round};"
            " lower the learning rate"
        )

    # Two reductions: torch.aminmax of rows takes ten times as long on a CPU as amin and amax.
    ends = [(values.amin(dim=1), values.amax(dim=1)) for values in messages.values()]
    table = torch.stack([losses] + [end.double() for pair in ends for end in pair]).cpu().numpy()
    loss, said = table[0], table[1:].T
    for k in active:
        if not np.isfinite(loss[k]):
            raise failed("losses", loss[k], k)
    for k, row in enumerate(said):
        if not np.isfinite(row).all():
            raise failed("messages", "NaN or infinity", k)
    if "precision" in messages:
        lowest = said[:, 2 * list(messages).index("precision")]
        if (lowest <= 0).any():
            raise failed("precisions above 0", lowest.min(), int(np.argmin(lowest)))
    return np.array(loss)


# How learning rates fall over the rounds of a run ------------------------------------------------


Schedule = Literal["cosine", "geometric"]


def share_of_rate(schedule: Schedule, round: int, *, rounds: int, decay: float) -> float:
    """What a learning rate is multiplied by in a round, counted from 1; 0 behind the last.

    ``"cosine"``: ½ (1 + cos πt) at the share t of `rounds` that is done; ``"geometric"``:
    decay^(round − 1), whatever `rounds` is.

    Examples
    --------
    >>> share_of_rate("cosine", 51, rounds=100, decay=1.0)
    0.5
    >>> share_of_rate("geometric", 3, rounds=100, decay=0.5)
    0.25
    """
    if schedule == "geometric":
        return float(decay ** (round - 1))
    done = min((round - 1) / rounds, 1.0)
    return 0.5 + 0.5 * math.cos(math.pi * done) if done != 0.5 else 0.5


# Kinds of devices on which local reparameterisation takes agents one at a time: products of several
# may round in another way.
APART: tuple[str, ...] = ("cpu",)

# The local steps of some agents in one round -----------------------------------------------------


class Steps:
    """Goes through the steps of k agents: what the engine offers a learner.

    Parameters
    ----------
    net, likelihood, shares
        Of the run.
    places
        Rows of the inputs for every step, shape (steps, k, batch).
    agents
        Their numbers in the run.
    taken
        How many steps each has taken before, shape (k,); on a device, there.
    keys
        Of the agents' noise (:func:`empirical.kernels.noise.keys`).
    seed
        Of the run.
    rate
        What learning rates are multiplied by.
    sizes
        How many examples the batch of each step has, where some have fewer than `places` is wide;
        None: all have as many.

    Attributes
    ----------
    rate
        As given: the schedule's, in this round.
    steps
        How many steps each agent has taken, this one included; shape (k, 1), float64.
    """

    def __init__(
        self,
        net: Net,
        likelihood: Likelihood,
        shares: Shares,
        *,
        places: Tensor,
        agents: Sequence[int],
        taken: IntArray | Tensor,
        keys: UInt32 | Tensor,
        seed: int,
        rate: Rate,
        sizes: Sequence[int] | None = None,
    ) -> None:
        self.rate, self._sizes = rate, sizes
        self._net, self._likelihood = net, likelihood
        self._places, self._agents, self._taken, self._seed = places, agents, taken, seed
        self._keys = keys
        self._done = -1
        self.steps = torch.as_tensor(taken).to(torch.float64, copy=True)[:, None]
        # One batch after the other in the same memory.
        self._held, shape = (shares.inputs, shares.labels), places.shape[1:]
        self._rows = [part.new_empty(shape.numel(), *part.shape[1:]) for part in self._held]
        self._inputs, self._labels = (rows.reshape(*shape, *rows.shape[1:]) for rows in self._rows)
        self._states: list[State] | None = None
        self._noise: Tensor | None = None
        self._drawn = -1

    def next(self) -> bool:
        """On to the next step; False behind the last."""
        self._done += 1
        if self._done == len(self._places):
            return False
        places = self._places[self._done]
        if self._sizes is not None:
            self._shorten(self._sizes[self._done])
            places = places[:, : self.size]
        for values, batch in zip(self._held, self._rows, strict=True):
            torch.index_select(values, 0, places.reshape(-1), out=batch[: places.numel()])
        self.steps += 1.0
        return True

    def _shorten(self, size: int) -> None:
        """Make batches of so many examples, in the same memory."""
        if size != self.size:
            agents = len(self._inputs)
            self._inputs, self._labels = (
                rows[: agents * size].reshape(agents, size, *rows.shape[1:]) for rows in self._rows
            )

    @property
    def size(self) -> int:
        """How many examples the batch has."""
        return int(self._inputs.shape[1])

    @property
    def count(self) -> int:
        """How many steps an agent takes in the round."""
        return len(self._places)

    @property
    def done(self) -> int:
        """Which of them this is, from 1."""
        return self._done + 1

    @property
    def first(self) -> bool:
        """Whether this is the first step since the last consensus."""
        return self._done == 0

    def gradient(self, weights: Tensor, into: Tensor) -> Tensor:
        """Losses, and gradients to `into`."""
        return self._net.gradient(
            weights,
            self._inputs,
            self._labels,
            likelihood=self._likelihood,
            into=into,
            noise=_NoiseKeys(self._seed, self._agents, self._taken + self._done),
        )

    def normals(self, like: Tensor) -> Tensor:
        """Standard normal numbers of this step, shape (k, d)."""
        if self._noise is None:
            self._noise = torch.empty_like(like, dtype=torch.float32)
        if self._drawn != self._done:
            self.noise().normals(self._noise)
            self._drawn = self._done
        return self._noise.to(like.dtype)

    def local_gradient(
        self, mean: Tensor, variance: Tensor, into: tuple[Tensor, Tensor]
    ) -> Tensor | None:
        """By local reparameterisation, where the net is made of layers that know it."""
        if not isinstance(self._net, KernelNet):
            return None
        architecture = self._net.architecture
        inputs = self._inputs.reshape(*self._inputs.shape[:2], *architecture.input_shape)
        noise = self.noise()
        size = 1 if mean.device.type in APART else len(mean)
        losses = [
            gradient(
                architecture,
                mean[some],
                variance[some],
                inputs[some],
                self._labels[some],
                likelihood=self._likelihood,
                estimator="local",
                noise=Noise(noise.keys[some], noise.steps[some]),
                into=(into[0][some], into[1][some]),
            )
            for some in (slice(k, k + size) for k in range(0, len(mean), size))
        ]
        return torch.cat(losses)

    def local_step(
        self, tensors: Tensors, adam: Adam, columns: Tensor, *, prior: bool
    ) -> Tensor | None:
        """By passes that move a layer's weights as soon as their gradient is known."""
        net = self._net
        if not isinstance(net, KernelNet) or not dense_pass.fits(
            net.architecture, tensors[0], self._inputs
        ):
            return None
        if self._states is None:  # the same tensors in all steps of a round
            self._states = states_of(tensors)
        passes = dense_pass.passes_of(net.architecture, *self._inputs.shape[:2], local=True)
        self.noise().normals(passes.noise)
        means, variances = ([state[k] for state in self._states] for k in (0, 1))
        outputs = passes.outputs(means, variances, self._inputs)
        loss, grad = self._likelihood.loss(outputs, self._labels)
        passes.descend(grad, self._states, adam, columns, prior=prior)
        return loss

    def noise(self, *, ahead: int = 0) -> Noise:
        """What the agents' noise in this step depends on, or in a step to come."""
        return Noise(self._keys, self._taken + (self._done + ahead))


class _NoiseKeys(Sequence[NoiseKey]):
    """The keys of some agents' own noise, made where a net asks for them; most have no noise."""

    def __init__(self, seed: int, agents: Sequence[int], steps: IntArray | Tensor) -> None:
        self._seed, self._agents, self._steps = seed, agents, steps

    def __len__(self) -> int:
        return len(self._agents)

    @overload
    def __getitem__(self, place: int) -> NoiseKey: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[NoiseKey]: ...
    def __getitem__(self, place: int | slice) -> NoiseKey | Sequence[NoiseKey]:
        if isinstance(place, slice):
            return _NoiseKeys(self._seed, self._agents[place], self._steps[place])
        return NoiseKey(self._seed, self._agents[place], int(self._steps[place]))
