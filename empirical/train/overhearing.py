"""What an agent says, round by round, while a network trains: messages to try codecs on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import torch
from torch import Tensor

from empirical.data import Images
from empirical.likelihoods.laws import Classes, Likelihood
from empirical.messages.codec import Layout
from empirical.nets.architecture import Architecture
from empirical.nets.shares import Shares, as_inputs, as_labels
from empirical.train.kernel_net import KernelNet
from empirical.train.learners.averaging import Learner, State
from empirical.train.net import Net
from empirical.train.parts import layout_of_messages, share_of
from empirical.train.run import TrainingRun
from theory.changing import AnyNetwork
from theory.network import Network

# Of a training that nobody sees the end of: learning rates stay what they are at its beginning.
_ROUNDS = 10**3


@dataclass(frozen=True, eq=False)
class Overheard:
    """The messages of one agent.

    Attributes
    ----------
    layout
        What they look like.
    said
        One a round, vectors of shape (d,) by name, float32.
    """

    layout: Layout
    said: tuple[dict[str, Tensor], ...]


class _Listened:
    """A learner, and a note of what its first agent says."""

    def __init__(self, learner: Learner) -> None:
        self._learner = learner
        self.said: list[dict[str, Tensor]] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._learner, name)

    def message(self, state: State, into: State | None = None) -> dict[str, Tensor]:
        """The learner's."""
        found = self._learner.message(state, into)
        self.said.append({name: values[0].cpu().clone() for name, values in found.items()})
        return found


def overheard(
    net: Net,
    likelihood: Likelihood,
    shares: Shares,
    network: AnyNetwork,
    learner: Learner,
    *,
    rounds: int,
    local_steps: int,
    batch: int,
    seed: int,
) -> Overheard:
    """What agent 0 says in the first rounds, as it learns with uncoded messages.

    Parameters and errors as of :class:`~empirical.train.run.TrainingRun`.

    Raises
    ------
    ValueError
        If the parts of the run do not fit each other, or training fails.
    """
    listened = _Listened(learner)
    run = TrainingRun(
        net, likelihood, shares, network, cast(Learner, listened),
        rounds=_ROUNDS, local_steps=local_steps, batch=batch, seed=seed,
    )  # fmt: skip
    share = share_of(network, shares).of(slice(0, 1))
    layout = layout_of_messages(net, learner, learner.start(net.initial(seed), share))
    said = []
    for _ in range(rounds):
        run.run_round()
        said.append(listened.said[-1])
    return Overheard(layout, tuple(said))


def overheard_of_two(
    images: Images,
    architecture: Architecture,
    learner: Learner,
    *,
    rounds: int,
    local_steps: int,
    batch: int,
    seed: int,
) -> Overheard:
    """What the first of two agents says, who hold every other image each and trust both alike.

    Raises
    ------
    ValueError
        As :func:`overheard`.
    """
    inputs = as_inputs(images, input_shape=architecture.input_shape)
    labels = as_labels(images)
    rows = torch.arange(len(labels))
    return overheard(
        KernelNet(architecture),
        Classes(architecture.outputs),
        Shares(inputs, labels, (rows[::2], rows[1::2])),
        Network(np.full((2, 2), 0.5)),
        learner,
        rounds=rounds,
        local_steps=local_steps,
        batch=batch,
        seed=seed,
    )
