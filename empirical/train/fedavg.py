"""Federated averaging of ordinary nets: the baseline that networks of Bayesian nets are held to.

A server holds one net. In a round some clients, drawn at random, begin from it, take steps of SGD
on their own data, and the server averages what they return, weighted by how many examples each
holds (McMahan et al. 2017, algorithm 1). The nets of a round's clients are one tensor (K, d), and
a step of all of them one call (:func:`descend`).

Clients need not hold equally many examples. They are sorted by the number of their steps; those
that are done rest while the others go on.

Who takes part in a round depends on the seed and the round alone, a client's order of examples on
the seed, the round and the client.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from empirical.nets.architecture import Architecture
from empirical.nets.likelihood import PREDICTED_AT_ONCE, gradient, logits
from empirical.nets.posterior import first_weights
from empirical.nets.shares import Shares
from empirical.train.parts import restore_tensors
from empirical.train.recipe import FedAvgRecipe
from empirical.train.steps import TrainingFailed
from theory.validation import FloatArray, IntArray, as_integer, fail

# Plain stochastic gradient descent of many ordinary nets at once ---------------------------------


@dataclass(frozen=True, eq=False)
class ShareOfLoss:
    """Cross-entropy of batches in which every example has a share; a `Likelihood`.

    Parameters
    ----------
    share
        Shape (K, B): what each example counts; a client's sum is 1.
    """

    share: Tensor

    def loss(self, outputs: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
        """Σ_b share · −log softmax(outputs)_y in nats, shape (K,), and its derivative."""
        logs = torch.log_softmax(outputs, dim=2)
        places = labels[:, :, None]
        nll = -(logs.gather(2, places)[:, :, 0] * self.share).sum(dim=1)
        grad = logs.exp_()
        grad.scatter_add_(2, places, grad.new_full((1, 1, 1), -1.0).expand_as(places))
        return nll, grad.mul_(self.share[:, :, None])


def descend(
    architecture: Architecture,
    weights: Tensor,
    inputs: Tensor,
    labels: Tensor,
    *,
    share: Tensor,
    rate: float,
) -> Tensor:
    r"""One step of every net down the gradient of its own batch's loss.

    Parameters
    ----------
    weights
        Shape (K, d); moved in place.
    inputs, labels, share
        Shapes (K, B, \\*input_shape), (K, B) and (K, B); see :class:`ShareOfLoss`.
    rate
        The learning rate η.

    Returns
    -------
    Tensor
        The losses before the step, shape (K,), in nats.
    """
    loss = ShareOfLoss(share)
    into = torch.empty_like(weights)
    nll = gradient(
        architecture,
        weights,
        weights,
        inputs,
        labels,
        likelihood=loss,
        estimator="point",
        into=(into, into),
    )
    weights.add_(into, alpha=-rate)
    return nll


def epochs_of_batches(size: int, batch: int, *, steps: int, rng: np.random.Generator) -> IntArray:
    """The batches of a client's next steps: its examples in a new random order each epoch.

    Returns
    -------
    IntArray
        Shape (steps, batch): positions among the client's own examples; −1 is padding, after the
        examples of an epoch's last batch if `size` is no multiple of `batch`.

    Examples
    --------
    >>> batches = epochs_of_batches(5, 2, steps=3, rng=np.random.default_rng(0))
    >>> sorted(batches.ravel().tolist())
    [-1, 0, 1, 2, 3, 4]
    """
    an_epoch = batches_in_an_epoch(size, batch)
    epochs = -(-steps // an_epoch)
    order = np.full((epochs, an_epoch * batch), -1, dtype=np.int64)
    for row in order:
        row[:size] = rng.permutation(size)
    return order.reshape(epochs * an_epoch, batch)[:steps]


def batches_in_an_epoch(size: int, batch: int) -> int:
    """⌈size / batch⌉."""
    return -(-size // batch)


# Federated averaging of ordinary nets ------------------------------------------------------------


# Clients whose nets are in memory together: of 200 000 weights, 16 MB.
AT_ONCE = 20
# Steps whose batches are looked up together.
STEPS_AT_ONCE = 64


@dataclass(frozen=True, eq=False)
class FedAvgReport:
    """What a round did.

    Attributes
    ----------
    round
        Its number, counted from 1.
    clients
        Who took part, in increasing order.
    loss
        Shape (clients,): each one's mean −log ℓ over the batches of its steps, in nats.
    local_steps
        Steps taken by all clients together.
    bytes_sent
        The server's weights to every client and each client's back, as they lie in memory.
    seconds
        Of the whole round.
    """

    round: int
    clients: tuple[int, ...]
    loss: FloatArray
    local_steps: int
    bytes_sent: int
    seconds: float


class FedAvg:
    """A run, between two rounds.

    Parameters
    ----------
    shares
        Who holds which data; an agent is a client.
    recipe
        How.
    architecture
        Of all nets.
    seed
        Of the beginning, the choice of clients and the order of the data.
    start
        Weights to begin from, shape (d,), copied; left out: the means of
        :func:`~empirical.nets.posterior.first_weights` with this seed.

    Attributes
    ----------
    weights
        The server's, shape (d,), after `round` rounds.
    round
        How many are done.

    Raises
    ------
    ValueError
        If data or start do not fit the architecture.
    """

    def __init__(
        self,
        shares: Shares,
        recipe: FedAvgRecipe,
        *,
        architecture: Architecture,
        seed: int,
        start: Tensor | None = None,
    ) -> None:
        shares.check_fits(architecture)
        self.architecture, self.recipe, self.shares = architecture, recipe, shares
        self.seed = as_integer("seed", seed, minimum=0)
        if start is None:
            start = first_weights(architecture, seed=seed)
        elif tuple(start.shape) != (architecture.parameters,):
            raise fail(
                "start",
                f"shape ({architecture.parameters},)",
                f"shape {tuple(start.shape)}",
                "give one entry a weight of the architecture",
            )
        inputs = shares.inputs
        self.weights = start.to(inputs.device, inputs.dtype, copy=True)
        self._velocity = torch.zeros_like(self.weights)
        self._average = self.weights.clone()
        self.round = 0

    def run_round(self) -> FedAvgReport:
        """The next round.

        Raises
        ------
        TrainingFailed
            If a client's weights are not finite any more; the run stays where it was.
        """
        begin = time.perf_counter()
        round = self.round + 1
        clients = self.clients_in(round)
        held = np.array([self.shares.sizes[k] for k in clients], dtype=np.float64)
        importance = held / held.sum()
        steps = np.array([self._steps(k) for k in clients])
        losses = np.empty(len(clients))
        pooled = torch.zeros_like(self.weights)
        longest_first = np.argsort(-steps, kind="stable")
        for first in range(0, len(clients), AT_ONCE):
            some = longest_first[first : first + AT_ONCE]
            nets, losses[some] = self._local([clients[k] for k in some], steps[some], round)
            self._check(nets, [clients[k] for k in some], round)
            pooled += torch.tensor(importance[some]).to(nets) @ nets
        self._serve(pooled, round)
        self.round = round
        return FedAvgReport(
            round=round,
            clients=clients,
            loss=losses,
            local_steps=int(steps.sum()),
            bytes_sent=2 * len(clients) * self.weights.numel() * self.weights.element_size(),
            seconds=time.perf_counter() - begin,
        )

    def clients_in(self, round: int) -> tuple[int, ...]:
        """Who takes part in a round, in increasing order."""
        number = self.recipe.clients(self.shares.agents)
        chosen = self._rng(round).choice(self.shares.agents, size=number, replace=False)
        return tuple(sorted(chosen.tolist()))

    @property
    def served(self) -> Tensor:
        """The weights that are given out, shape (d,): an average over rounds if the recipe asks."""
        return self.weights if self.recipe.averaging is None else self._average

    def probabilities(self, inputs: Tensor) -> Tensor:
        r"""Softmax of the served net's outputs, shape (1, n, classes).

        Parameters
        ----------
        inputs
            Shape (n, \\*input_shape).
        """
        parts = [
            logits(self.architecture, self.served[None], some[None])
            for some in torch.split(inputs, PREDICTED_AT_ONCE)
        ]
        return torch.softmax(torch.cat(parts, dim=1), dim=2)

    # State ------------------------------------------------------------------------------------

    def state(self) -> dict[str, Tensor]:
        """All that the rest of the run depends on, between two rounds; views, not copies."""
        return {
            "weights": self.weights,
            "velocity": self._velocity,
            "average": self._average,
            "round": torch.tensor([self.round]),
        }

    def restore(self, state: Mapping[str, Tensor]) -> None:
        """Go on from a :meth:`state`; what follows is what would have followed there, bit by bit.

        Raises
        ------
        ValueError
            If a tensor is missing or of another shape.
        """
        mine = self.state()
        restore_tensors(mine, state)
        self.round = int(mine["round"][0])

    # A round ----------------------------------------------------------------------------------

    def _steps(self, client: int) -> int:
        """How many a client takes in a round."""
        recipe = self.recipe
        an_epoch = batches_in_an_epoch(self.shares.sizes[client], recipe.batch)
        return recipe.local_steps or recipe.epochs * an_epoch

    def _local(
        self, clients: list[int], steps: np.ndarray, round: int
    ) -> tuple[Tensor, FloatArray]:
        """The nets of some clients after their steps, longest first, and their mean losses."""
        shares, rate = self.shares, self.recipe.rate_in(round)
        nets = self.weights.repeat(len(clients), 1)
        total = torch.zeros(len(clients), dtype=nets.dtype, device=nets.device)
        batches = [
            epochs_of_batches(
                shares.sizes[client],
                self.recipe.batch,
                steps=int(count),
                rng=self._rng(round, client),
            )
            for client, count in zip(clients, steps, strict=True)
        ]
        done = 0
        while done < steps[0]:
            active = int((steps > done).sum())  # the first ones
            until = min(done + STEPS_AT_ONCE, int(steps[active - 1]))
            own = np.stack([batch[done:until] for batch in batches[:active]])
            real = torch.from_numpy(own >= 0).to(nets)
            share = real / real.sum(dim=2, keepdim=True)
            local = torch.from_numpy(np.maximum(own, 0)).to(nets.device)
            rows = torch.stack(
                [shares.indices[client][local[k]] for k, client in enumerate(clients[:active])]
            )
            for step in range(until - done):
                total[:active] += descend(
                    self.architecture,
                    nets[:active],
                    shares.inputs[rows[:, step]],
                    shares.labels[rows[:, step]],
                    share=share[:, step],
                    rate=rate,
                )
            done = until
        return nets, total.double().cpu().numpy() / steps

    def _serve(self, pooled: Tensor, round: int) -> None:
        """The server's step, and the average over rounds."""
        recipe = self.recipe
        if recipe.momentum == 0.0 and recipe.server_rate == 1.0:
            self.weights.copy_(pooled)
        else:
            self._velocity.mul_(recipe.momentum).add_(pooled - self.weights)
            self.weights.add_(self._velocity, alpha=recipe.server_rate)
        if recipe.averaging is not None:
            newest = (recipe.averaging + 1.0) / (round + recipe.averaging)
            self._average.lerp_(self.weights, newest)

    def _check(self, nets: Tensor, clients: list[int], round: int) -> None:
        finite = torch.isfinite(nets.abs().sum(dim=1)).cpu().numpy()
        if not finite.all():
            raise TrainingFailed(
                "training: expected finite weights, got others at client"
                f" {clients[int(np.argmin(finite))]} in round {round}; lower the learning rate"
            )

    def _rng(self, round: int, *client: int) -> np.random.Generator:
        """What is random in a round, or about a client in it."""
        return np.random.default_rng(np.random.SeedSequence(self.seed, spawn_key=(round, *client)))
