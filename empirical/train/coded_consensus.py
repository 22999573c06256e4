"""The consensus of :class:`empirical.nets.training.Training` where a codec writes the messages."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import torch
from torch import Tensor

from empirical.messages.codec import Codec, Layout
from empirical.messages.coordinates import PRECISION, SHIFT, is_belief
from empirical.nets.architecture import Architecture
from empirical.nets.consensus import Exchange
from empirical.nets.messages import Natural
from empirical.nets.posterior import shared_initialisation
from empirical.nets.recipe import Recipe
from empirical.train.coded_pooling import CodedPooling
from empirical.train.kernel_net import layout_of
from empirical.train.rounds import NetworkRounds
from theory.changing.periodic import PeriodicNetwork
from theory.network import Network


def layout_of_beliefs(architecture: Architecture, recipe: Recipe, *, seed: int) -> Layout:
    """What agents of a recipe say to each other: Gaussians, or means where nets are averaged.

    Parameters
    ----------
    seed
        Of the training, which all begin from.
    """
    start = shared_initialisation(architecture, 1, std=recipe.initial_std, seed=seed)
    begin = _message(start.mean, start.variance, recipe.estimator != "point")
    return Layout(
        {name: values[0] for name, values in begin.items()}, layout_of(architecture).blocks
    )


class CodedConsensus:
    """Pooling over a network, round by round, of beliefs that a codec writes.

    Parameters
    ----------
    network
        Fixed weights, or phases in turn.
    codec, layout
        How messages are written, and what they look like (:func:`layout_of_beliefs`).
    seed
        Of the training.
    exchange
        Which agents this process holds, and how it reaches the others; left out: all of them.
    pace
        What learning rates are multiplied by in a round, counted from 1; left out: they stay.

    Attributes
    ----------
    own
        The agents of this process.

    Raises
    ------
    ValueError
        If the codec does not fit the messages, or there are more processes than agents.
    """

    def __init__(
        self,
        network: Network | PeriodicNetwork,
        codec: Codec,
        layout: Layout,
        *,
        seed: int,
        exchange: Exchange | None = None,
        pace: Callable[[int], float] = lambda round: 1.0,
    ) -> None:
        self._pace = pace
        self._rounds = NetworkRounds(network, seed=seed)
        self._pooling = CodedPooling(
            self._rounds, exchange=exchange, codec=codec, layout=layout, missing="own", seed=seed
        )
        self._agents, self._is_belief = network.agents, is_belief(layout.names)
        self.own: range = self._pooling.own

    def observes(self, round: int) -> tuple[bool, ...]:
        """Whether each agent of this process learns from data in a round, counted from 1."""
        mask = self._rounds.at(round).observes
        return tuple(bool(mask[agent]) for agent in self.own)

    def collect(self, rows: Tensor) -> Tensor:
        """Rows of all N agents, on every process, from one for each agent of this process."""
        return self._pooling.exchange.collect(rows, self._agents)

    def pool_in_place(self, mean: Tensor, variance: Tensor, *, round: int) -> int:
        """See :class:`empirical.nets.consensus.RoundPooling`; bytes are those of whole frames.

        Raises
        ------
        ValueError
            If an agent that speaks or listens has numbers that are no Gaussian's, or that the
            codec cannot write.
        """
        happens = self._rounds.at(round)
        mean, variance = mean.detach(), variance.detach()
        for row, agent in enumerate(self.own):
            if happens.links[agent] or happens.pools[agent]:
                natural = Natural.from_moments(mean[row], variance[row])
                natural.check(agents=[agent], round=round)
        said = _message(mean, variance, self._is_belief)
        sent = self._pooling.pool(said, number=round, pace=self._pace(round))
        # Who hears nobody keeps what it has, to the last bit.
        rows = torch.tensor([bool(happens.pools[agent]) for agent in self.own])
        if not self._is_belief:
            mean[rows] = said["mean"][rows]
            return sent
        precision, shift = (said[name][rows].double() for name in (PRECISION, SHIFT))
        mean[rows] = (shift / precision).to(mean.dtype)
        variance[rows] = precision.reciprocal().to(variance.dtype)
        return sent

    def state(self) -> dict[str, Tensor]:
        """What both ends of all streams remember, as named tensors."""
        return self._pooling.state()

    def restore(self, state: Mapping[str, Tensor]) -> None:
        """Go on from a :meth:`state`.

        Raises
        ------
        ValueError
            If it is of another codec, other settings or other nets.
        """
        self._pooling.restore(state)


def _message(mean: Tensor, variance: Tensor, belief: bool) -> dict[str, Tensor]:
    """What agents say, in tensors of its own, shape (n, d)."""
    if not belief:
        return {"mean": mean.clone()}
    natural = Natural.from_moments(mean, variance)
    return {PRECISION: natural.precision, SHIFT: natural.shift}
