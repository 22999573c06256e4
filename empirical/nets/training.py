"""A network of nets in training, round by round.

The agents' steps are independent between two consensus steps. They are taken for a few agents at a
time, all local steps of a round before the next few, so that an agent's tensors are still in the
cache at its next step. An agent's noise and the order of its data depend on the seed, its number
and the round or step, never on who is computed beside it.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from empirical.kernels.noise import keys
from empirical.likelihoods.laws import Classes
from empirical.nets.architecture import Architecture
from empirical.nets.consensus import Consensus, Exchange, RoundPooling
from empirical.nets.descent import Beliefs, Descent, Order, Shares
from empirical.nets.likelihood import Likelihood
from empirical.nets.posterior import Posterior, kl_divergence, shared_initialisation
from empirical.nets.recipe import Recipe
from empirical.nets.update import Moments, Numbers
from theory.changing import influence
from theory.changing.mixing import PeriodicNetwork
from theory.network import Network
from theory.validation import FloatArray, as_integer, fail

# The state of a run as named tensors -------------------------------------------------------------


def restore_tensors(mine: Mapping[str, Tensor], state: Mapping[str, Tensor]) -> None:
    """Copy the tensors of `state` over those of a run, name by name, in place.

    Parameters
    ----------
    mine
        The run's own, which are overwritten.
    state
        As it was kept; what else it holds is left alone.

    Raises
    ------
    ValueError
        If a tensor is missing or of another shape; nothing is overwritten then.
    """
    for name, value in mine.items():
        if name not in state or state[name].shape != value.shape:
            got = f"shape {tuple(state[name].shape)}" if name in state else "none"
            raise fail(
                f"state[{name!r}]",
                f"shape {tuple(value.shape)}",
                got,
                "give the state of a run with the same agents and nets",
            )
    for name, value in mine.items():
        value.copy_(state[name])


# A network of nets in training, round by round ---------------------------------------------------


# Agents whose gradients are computed in one batched product: on a CPU so few that their tensors
# stay in the cache (measured), elsewhere all.
AT_ONCE = 1
# What names of the consensus's part of a state begin with.
_CONSENSUS = "consensus."


class TrainingFailed(ValueError):  # noqa: N818  # it names what happened
    """A loss or a belief is no longer finite; the message names the agent and the round."""


@dataclass(frozen=True, eq=False)
class RoundReport:
    """What a round did.

    Attributes
    ----------
    round
        Its number, counted from 1.
    loss
        Mean −log ℓ over each agent's batches, in nats, shape (N,); NaN for who rested.
    divergence
        KL of each agent's belief before the consensus from that round's prior, shape (N,), nats;
        NaN where it was not asked for.
    local_steps
        Steps taken by all agents together.
    bytes_sent
        Over all links.
    seconds
        Of local steps and consensus.
    """

    round: int
    loss: FloatArray
    divergence: FloatArray
    local_steps: int
    bytes_sent: int
    seconds: float


class Training:
    """A run, between two rounds.

    Parameters
    ----------
    shares
        Who holds which data.
    network
        A :class:`theory.Network`, or a :class:`theory.changing.PeriodicNetwork`, whose resting
        agents neither train nor pool in a round.
    recipe
        How.
    architecture
        Of all nets.
    seed
        Of the beginning, the noise and the order of the data.
    likelihood
        What a net's outputs mean; left out: classes.
    consensus
        What pools, where a codec writes the messages
        (:class:`empirical.train.coded_pooling.CodedConsensus`); left out: beliefs are sent as
        natural parameters in float32, or as means alone where the recipe averages nets.
    exchange
        Which agents this process holds, and how it reaches the others (:func:`connect`); left out:
        all of them. A `consensus` brings its own.
    start
        Beliefs to begin from, shape (N, d); left out: :func:`shared_initialisation`.
    device
        ``"cpu"`` or ``"cuda"``.

    Raises
    ------
    ValueError
        If network and shares disagree about the number of agents, the inputs do not fit the
        architecture, the device is absent, or an agent has no influence and the prior is fixed.
    """

    def __init__(
        self,
        shares: Shares,
        network: Network | PeriodicNetwork,
        recipe: Recipe,
        *,
        architecture: Architecture,
        seed: int,
        likelihood: Likelihood | None = None,
        consensus: RoundPooling | None = None,
        exchange: Exchange | None = None,
        start: Posterior | None = None,
        device: str = "cpu",
    ) -> None:
        if network.agents != shares.agents:
            raise fail(
                "network",
                f"weights for {shares.agents} agents, as many as hold data",
                f"{network.agents}",
                "give W a row for each agent that holds data",
            )
        shares.check_fits(architecture)
        self.architecture, self.recipe, self.network = architecture, recipe, network
        self.seed = as_integer("seed", seed, minimum=0)
        self.device = check_device(device)
        self._known_variance = _known_variance(recipe, start)
        if consensus is not None and exchange is not None:
            raise fail("exchange", "none beside a consensus", "both", "give it to the consensus")
        self.consensus: RoundPooling = consensus or Consensus(
            network, variance=self._known_variance, exchange=exchange
        )
        self.own = self.consensus.own
        self._at_once = min(AT_ONCE, len(self.own)) if self.device == "cpu" else len(self.own)
        self._likelihood = likelihood or Classes(architecture.outputs)
        self._shares = shares.of(self.own)
        if start is None:
            start = shared_initialisation(
                architecture, len(self.own), std=recipe.initial_std, seed=seed, device=device
            )
        else:
            if start.agents != network.agents:
                raise fail(
                    "start", f"beliefs of {network.agents} agents", start.agents, "give one each"
                )
            start = start.of(self.own)
        self.posterior = start
        self._moments = Moments.zeros(start.mean)
        self._prior_mean = torch.zeros_like(start.mean)
        self._prior_variance = torch.full_like(start.mean, recipe.prior_std**2)
        self._steps = np.zeros(len(self.own), dtype=np.int64)
        self._since = np.zeros(len(self.own), dtype=np.int64)  # steps since Adam began anew
        batches = recipe.batch_sizes(shares.sizes)
        self._batches = tuple(batches[agent] for agent in self.own)
        self._orders = [
            Order(size, batch, seed=self.seed, agent=agent)
            for agent, size, batch in zip(self.own, self._shares.sizes, self._batches, strict=True)
        ]
        self._loss_weights, self._divergence_weights = self._weights(shares)
        self._descents: dict[tuple[int, int], Descent] = {}
        self.round = 0

    # Rounds -----------------------------------------------------------------------------------

    def run_round(self, *, divergence: bool = False) -> RoundReport:
        """Local steps, then consensus.

        Raises
        ------
        TrainingFailed
            If a loss or a belief is not finite any more.
        """
        begin = time.perf_counter()
        loss, steps = self.local_phase()
        gap = self.divergence() if divergence else np.full(len(self.own), np.nan)
        sent = self.pool()
        return RoundReport(self.round, loss, gap, steps, sent, time.perf_counter() - begin)

    def local_phase(self) -> tuple[FloatArray, int]:
        """The local steps of the next round: each own agent's mean loss, and steps in all."""
        self.round += 1
        active = [k for k, on in enumerate(self.consensus.observes(self.round)) if on]
        if self.recipe.prior == "consensus":
            self._prior_mean.copy_(self.posterior.mean)
            self._prior_variance.copy_(self.posterior.variance)
        if self.recipe.forget:
            self._moments = Moments.zeros(self.posterior.mean)
            self._since[:] = 0
        losses = np.full(len(self.own), np.nan)
        for some in self._groups(active):
            losses[some] = self._steps_of(some)
        bad = [k for k in active if not np.isfinite(losses[k])]
        if bad:
            raise TrainingFailed(
                f"training: expected finite losses, got {losses[bad[0]]} at agent"
                f" {self.own[bad[0]]} in round {self.round}; lower the learning rates"
            )
        return losses, len(active) * self.recipe.local_steps

    def pool(self) -> int:
        """The consensus that ends a round; returns the bytes sent by own agents."""
        mean, variance = self.posterior.mean, self.posterior.variance
        try:
            sent = self.consensus.pool_in_place(mean, variance, round=self.round)
        except ValueError as error:
            raise TrainingFailed(str(error)) from None
        if self._known_variance is not None:
            variance.fill_(self._known_variance)  # to the last bit, which pooling may round
        return sent

    def divergence(self) -> FloatArray:
        """KL of each own agent's belief from its prior of this round, nats."""
        prior = Posterior(self.architecture, self._prior_mean, self._prior_variance)
        return np.asarray(kl_divergence(self.posterior, prior).cpu().numpy())

    # State ------------------------------------------------------------------------------------

    def state(self) -> dict[str, Tensor]:
        """All that the rest of the run depends on, between two rounds; views, not copies."""
        return {
            "mean": self.posterior.mean,
            "variance": self.posterior.variance,
            "mean_first": self._moments.mean_first,
            "mean_second": self._moments.mean_second,
            "scale_first": self._moments.scale_first,
            "scale_second": self._moments.scale_second,
            "steps": torch.tensor(self._steps),
            "since": torch.tensor(self._since),
            "round": torch.tensor([self.round]),
            **{_CONSENSUS + key: value for key, value in self.consensus.state().items()},
        }

    def restore(self, state: Mapping[str, Tensor]) -> None:
        """Go on from a :meth:`state`; what follows is what would have followed there, bit by bit.

        Raises
        ------
        ValueError
            If a tensor is missing or of another shape.
        """
        mine = {k: v for k, v in self.state().items() if not k.startswith(_CONSENSUS)}
        restore_tensors(mine, state)
        self._steps = mine["steps"].numpy()
        self._since = mine["since"].numpy()
        self.round = int(mine["round"][0])
        pooled = {k: v for k, v in state.items() if k.startswith(_CONSENSUS)}
        self.consensus.restore({k.removeprefix(_CONSENSUS): v for k, v in pooled.items()})

    # The steps --------------------------------------------------------------------------------

    def _groups(self, active: list[int]) -> list[list[int]]:
        """The agents in groups, in each of which batches have one size.

        On a CPU these are neighbours in number, whose rows are views.
        """
        groups: list[list[int]] = []
        for k in active:
            last = groups[-1] if groups else []
            fits = last and self._batches[last[0]] == self._batches[k]
            beside = self.device != "cpu" or (last and last[-1] == k - 1)
            if fits and beside and len(last) < self._at_once:
                last.append(k)
            else:
                groups.append([k])
        return groups

    def _steps_of(self, some: list[int]) -> FloatArray:
        """All local steps of a few agents; their mean losses."""
        beliefs = self._rows_of(some)
        taken, steps = self._steps[some], self.recipe.local_steps
        places = self._places(some)
        total = self._descent(len(some), places.shape[2]).run(
            beliefs,
            self._shares,
            places,
            keys=keys(self.seed, [self.own[k] for k in some]),
            taken=taken,
            numbers=self._numbers(some),
        )
        self._write_rows(some, beliefs)
        self._steps[some] += steps
        self._since[some] += steps
        return np.asarray(total.cpu().numpy()) / steps

    def _descent(self, agents: int, batch: int) -> Descent:
        """What takes the steps of so many agents; kept, with its buffers, for the next ones."""
        if (agents, batch) not in self._descents:
            self._descents[agents, batch] = Descent(
                self.architecture,
                self._likelihood,
                self.recipe,
                agents=agents,
                batch=batch,
                device=self.device,
            )
        return self._descents[agents, batch]

    def _places(self, some: list[int]) -> Tensor:
        """Rows of the inputs in every step to come, shape (steps, agents, batch)."""
        found = []
        for k in some:
            steps = range(int(self._steps[k]), int(self._steps[k]) + self.recipe.local_steps)
            rows = np.stack([self._orders[k].rows(step) for step in steps])
            found.append(self._shares.indices[k][torch.from_numpy(rows).to(self.device)])
        return torch.stack(found, dim=1)

    def _numbers(self, some: list[int]) -> Numbers:
        recipe = self.recipe
        rate = recipe.rate(self.round)
        return Numbers(
            recipe.mean_rate * rate,
            recipe.scale_rate * rate,
            recipe.mean_epsilon,
            recipe.scale_epsilon,
            recipe.first_beta,
            recipe.second_beta,
            self._since[some] + np.arange(1, recipe.local_steps + 1)[:, None],
            self._loss_weights[some],
            self._divergence_weights[some],
            recipe.estimator != "point" and recipe.scale_rate > 0.0,
        )

    def _tensors(self) -> tuple[Tensor, ...]:
        moments = self._moments
        return (
            self.posterior.mean,
            self.posterior.variance,
            moments.mean_first,
            moments.mean_second,
            moments.scale_first,
            moments.scale_second,
            self._prior_mean,
            self._prior_variance,
        )

    def _rows_of(self, some: list[int]) -> Beliefs:
        """What the steps of some agents move: views where they are neighbours, else copies."""
        together = some == list(range(some[0], some[-1] + 1))
        rows = slice(some[0], some[-1] + 1) if together else some
        mean, variance, *rest = (values[rows] for values in self._tensors())
        return Beliefs(mean, variance, Moments(*rest[:4]), (rest[4], rest[5]))

    def _write_rows(self, some: list[int], moved: Beliefs) -> None:
        if moved.mean.data_ptr() == self.posterior.mean[some[0]].data_ptr():
            return
        for values, own in zip(self._tensors(), moved.tensors, strict=True):
            values[some] = own

    def _weights(self, shares: Shares) -> tuple[FloatArray, FloatArray]:
        """a_i and c_i of the own agents (see :class:`Recipe`)."""
        sizes = np.array(shares.sizes, dtype=np.float64)
        own = list(self.own)
        if self.recipe.prior == "consensus":
            return np.ones(len(own)), self.recipe.divergence / sizes[own]
        if isinstance(self.network, Network):
            shares_of_influence = self.network.stationary_distribution
        else:
            # Where agents rest they do not sum to one; what a datum counts is relative to the rest.
            found = influence(self.network)
            if found.unheard.size:
                raise fail(
                    "network",
                    "agents whose data somebody hears of in the end",
                    f"agent {int(found.unheard[0])} without influence",
                    "give it listeners, or choose the prior 'consensus'",
                )
            shares_of_influence = found.values / found.total
        weight = sizes / (shares_of_influence * sizes.sum())
        return weight[own], np.full(len(own), self.recipe.divergence / sizes.sum())


def _known_variance(recipe: Recipe, start: Posterior | None) -> float | None:
    """The variance that all weights have and keep, as float32 has it; None if they differ."""
    if recipe.estimator != "point":
        return None
    if start is None:
        return float(torch.tensor(recipe.initial_std**2, dtype=torch.float32))
    value = float(start.variance.flatten()[0])
    return value if bool((start.variance == value).all()) else None


def check_device(device: str) -> str:
    """The device, if it can be used.

    Raises
    ------
    ValueError
        If it is neither ``"cpu"`` nor ``"cuda"``, or CUDA is asked for and absent.
    """
    if device not in ("cpu", "cuda"):
        raise fail("device", "'cpu' or 'cuda'", repr(device), "choose one of them")
    if device == "cuda" and not torch.cuda.is_available():
        raise fail("device", "a CUDA device", "none that torch can use", "use the device 'cpu'")
    return device
