"""Ways to learn that are compared: networks, lone nets, all data in one place, a server.

All of them end in nets, each with a mean and perhaps a variance of its weights, and a count of
bytes and steps; one function judges them all.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from empirical.data import Images
from empirical.likelihoods.laws import Classes
from empirical.nets.architecture import Architecture
from empirical.nets.shares import Shares, as_inputs, as_labels
from empirical.train.averaging import Learner
from empirical.train.evaluation import judged as judged_probabilities
from empirical.train.follow import Watch, follow
from empirical.train.kernel_net import KernelNet
from empirical.train.mixture import predict
from empirical.train.pooling import NetworkRounds
from empirical.train.recipe import FedAvgRecipe, run_of_classes
from empirical.train.run import TrainingRun
from empirical.train.scores import score
from theory.changing import AnyNetwork
from theory.network import Network
from theory.progress import Progress
from theory.validation import FloatArray, IntArray

# Ways to learn that are compared -----------------------------------------------------------------


# Posterior samples that a prediction averages.
DRAWS = 10
_LONE = Network(np.ones((1, 1)))


@dataclass(frozen=True)
class Length:
    """Rounds of a training, local steps of a round, examples of a step."""

    rounds: int
    local_steps: int
    batch: int


@dataclass(frozen=True, eq=False)
class Trained:
    """Nets that were trained, and what it took.

    Attributes
    ----------
    beliefs
        Of each net: whose it is, mean and variance of the weights; no variance of a plain net.
    bytes_sent, local_steps
        Of all agents together.
    seconds
        Of training.
    mixture
        Weights with which the nets' predictions are mixed into one; None: each predicts by itself.
    """

    beliefs: Sequence[tuple[int, Tensor, Tensor | None]]
    bytes_sent: int
    local_steps: int
    seconds: float
    mixture: FloatArray | None = None


def train_network(
    architecture: Architecture,
    shares: Shares,
    network: AnyNetwork,
    learner: Learner,
    length: Length,
    *,
    seed: int,
    device: str = "cpu",
    progress: Progress | None = None,
) -> Trained:
    """Train a network from its first round to its last.

    Raises
    ------
    TrainingFailed
        If a loss or a message is not finite any more; the message names agent and round.
    """
    run = run_of_classes(
        architecture, shares, network, learner, **vars(length), seed=seed, device=device
    )
    return _trained(run, length.rounds, progress)


def _trained(run: TrainingRun, rounds: int, progress: Progress | None, *, nets: int = 0) -> Trained:
    """What is trained after all rounds: the nets of all agents, or the first ones."""
    watch = follow(run, rounds, Watch(), progress=progress)
    belief = run.belief()
    means, width = belief.mean[: nets or None], belief.variance
    return Trained(
        [(k, mean, None if width is None else width[k]) for k, mean in enumerate(means)],
        watch.bytes_sent,
        watch.local_steps,
        watch.seconds,
    )


def train_alone(
    architecture: Architecture,
    shares: Shares,
    network: AnyNetwork,
    learner: Learner,
    length: Length,
    *,
    mixture: str,
    seed: int,
    device: str = "cpu",
    progress: Progress | None = None,
) -> Trained:
    """Train every agent by itself, for as many rounds as it trains in the network.

    Each begins with weights of its own and sends its net to every other once, at the end.

    Parameters
    ----------
    mixture
        ``"agents"``: predictions count alike; ``"data"``: by how many examples an agent holds.
    """
    parts = []
    for agent, rounds in enumerate(_rounds_of_agents(network, length.rounds)):
        own = np.random.SeedSequence(seed, spawn_key=(agent,)).generate_state(1, np.uint64)[0]
        parts.append(
            train_network(
                architecture, shares.of([agent]), _LONE, learner,
                replace(length, rounds=int(rounds)), seed=int(own >> np.uint64(2)), device=device,
            )
        )  # fmt: skip
        if progress is not None:
            progress(agent + 1, shares.agents)
    held = np.array(shares.sizes if mixture == "data" else [1] * shares.agents, dtype=np.float64)
    links = shares.agents * (shares.agents - 1)
    return Trained(
        [(agent, *part.beliefs[0][1:]) for agent, part in enumerate(parts)],
        links * architecture.parameters * 4,
        sum(part.local_steps for part in parts),
        sum(part.seconds for part in parts),
        held / held.sum(),
    )


def train_central(
    architecture: Architecture,
    shares: Shares,
    network: AnyNetwork,
    learner: Learner,
    length: Length,
    **how: Any,
) -> Trained:
    """Train one net on all data, with as many examples a step as the network takes together."""
    whole = replace(length, batch=length.batch * active(network, length.rounds))
    return train_network(architecture, shares.together(), _LONE, learner, whole, **how)


def train_server(
    architecture: Architecture,
    shares: Shares,
    network: AnyNetwork,
    length: Length,
    *,
    rate: float,
    seed: int,
    progress: Progress | None = None,
) -> Trained:
    """Federated averaging, with as many clients a round as train in the network.

    Raises
    ------
    TrainingFailed
        If a client's weights are not finite any more.
    """
    fraction = active(network, length.rounds) / shares.agents
    recipe = FedAvgRecipe(**vars(length), fraction=fraction, rate=rate, schedule="cosine")
    run = recipe.training(shares, architecture=architecture, seed=seed)
    return _trained(run, length.rounds, progress, nets=1)


def active(network: AnyNetwork, rounds: int) -> int:
    """How many agents train in a round, the mean over the rounds, rounded.

    Examples
    --------
    >>> from theory.changing import rotating_star
    >>> active(rotating_star(groups=5, group_size=5, edge_confidence=0.5), 10)
    6
    """
    return max(1, round(float(_rounds_of_agents(network, rounds).sum()) / rounds))


def _rounds_of_agents(network: AnyNetwork, rounds: int) -> IntArray:
    """In how many rounds each agent trains, shape (N,)."""
    walk = NetworkRounds(network, seed=0)
    trains = np.array([walk.at(t).observes for t in range(1, rounds + 1)], dtype=np.int64)
    return np.asarray(trains.sum(axis=0))


def judged(
    architecture: Architecture,
    trained: Trained,
    examples: tuple[Tensor, Tensor],
    *,
    others: Tensor | None,
    seed: int,
) -> dict[str, FloatArray]:
    """Measures by name, one number a net or, of a mixture, one number: accuracy first.

    Accuracy; ``nll``, mean −log p of the labels, nats; ``calibration_error``; and, where there are
    others, ``other_data_auroc``. Beliefs predict by the mean of `DRAWS` posterior samples.

    Raises
    ------
    ValueError
        If a prediction is not finite.
    """
    net, likelihood = KernelNet(architecture), Classes(architecture.outputs)
    if trained.mixture is not None:
        pairs = list(zip(trained.mixture, trained.beliefs, strict=True))

        def mixed(inputs: Tensor) -> list[FloatArray]:
            """Probabilities of the mixture of plain nets, as one agent's."""
            each = (w * predict(net, likelihood, [m[None]], inputs).mean for w, (_, m, _) in pairs)
            return [np.asarray(sum(each))]

        inputs, labels = examples
        strange = None if others is None else mixed(others)
        return judged_probabilities(mixed(inputs), labels, others=strange).by_measure()
    found = score(
        net,
        likelihood,
        trained.beliefs,
        [examples] * len(trained.beliefs),
        draws=0 if trained.beliefs[0][2] is None else DRAWS,
        seed=seed,
        others=others,
    )
    return found.by_measure()


# Images split for a comparison -------------------------------------------------------------------


# What is held out of the training images is the same for all methods, settings and seeds.
HELD_OUT_SEED, HELD_OUT_SHARE = 0, 6


class SplitImages:
    """Images to learn from, to choose settings by, and to judge by; and those of another kind.

    A sixth of the training images, at random, is held out: nobody ever learns from it.

    Parameters
    ----------
    train, test
        Images of the same kind.
    others
        Of another kind, which entropy is to tell from the test images; None if there are none.
    device
        Where tensors are.
    """

    def __init__(
        self, train: Images, test: Images, others: Images | None, *, device: str = "cpu"
    ) -> None:
        self.input_shape = (int(np.prod(train.pixels.shape[1:])),)
        self.classes = len(train.classes)
        self._inputs, self._labels = self._tensors(train, device)
        self.test = self._tensors(test, device)
        self.others = None if others is None else self._tensors(others, device)[0]
        count = len(train)
        order = np.random.default_rng(HELD_OUT_SEED).permutation(count)
        self._held_out = order[: count // HELD_OUT_SHARE]
        self._rest = np.setdiff1d(np.arange(count), self._held_out)

    def _tensors(self, images: Images, device: str) -> tuple[Tensor, Tensor]:
        inputs = as_inputs(images, input_shape=self.input_shape, device=device)
        return inputs, as_labels(images, device=device)

    @property
    def validation(self) -> tuple[Tensor, Tensor]:
        """The images held out, and their labels."""
        return self._inputs[self._held_out], self._labels[self._held_out]

    def shares(self, deal: Callable[[IntArray], Sequence[IntArray]]) -> Shares:
        """The other training images, dealt by a rule from their labels to rows of each agent."""
        dealt = deal(self._labels.cpu().numpy()[self._rest])
        rows = (torch.from_numpy(self._rest[own]).to(self._inputs.device) for own in dealt)
        return Shares(self._inputs, self._labels, tuple(rows))
