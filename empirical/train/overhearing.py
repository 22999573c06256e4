"""What an agent says, round by round, while a network trains: messages to try codecs on."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from empirical.data import Images
from empirical.messages.codec import Layout
from empirical.nets.architecture import Architecture
from empirical.nets.shares import Shares, as_inputs, as_labels
from empirical.train.averaging import Learner
from empirical.train.parts import layout_of_messages, share_of
from empirical.train.recipe import run_of_classes
from empirical.train.run import TrainingRun
from theory.network import Network

# Of a training that nobody sees the end of.
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


def overheard(run: TrainingRun, shares: Shares, *, rounds: int) -> Overheard:
    """What agent 0 says in the first rounds of a run, as it learns with uncoded messages.

    Parameters
    ----------
    run
        Before its first round.
    shares
        Who holds which data in it.

    Raises
    ------
    ValueError
        If training fails.
    """
    share = share_of(run.network, shares).of(slice(0, 1))
    begin = run.learner.start(run.net.initial(run.seed), share)
    said = []
    for _ in range(rounds):
        _, messages = run.local_phase()
        said.append({name: values[0].cpu().clone() for name, values in messages.items()})
        run.pool(messages)
    return Overheard(layout_of_messages(run.net, run.learner, begin), tuple(said))


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

    Learning rates stay what they are at the beginning of a training whose end nobody sees.

    Raises
    ------
    ValueError
        If the parts of the run do not fit each other, or training fails.
    """
    inputs = as_inputs(images, input_shape=architecture.input_shape)
    rows = torch.arange(len(inputs))
    shares = Shares(inputs, as_labels(images), (rows[::2], rows[1::2]))
    run = run_of_classes(
        architecture, shares, Network(np.full((2, 2), 0.5)), learner,
        rounds=_ROUNDS, local_steps=local_steps, batch=batch, seed=seed,
    )  # fmt: skip
    return overheard(run, shares, rounds=rounds)
