"""How the papers' nets are trained, as one value: everything but data, network, net and seed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np

from empirical.likelihoods.laws import Classes, Likelihood
from empirical.nets.architecture import Architecture
from empirical.nets.likelihood import ESTIMATORS, Estimator
from empirical.nets.shares import Shares
from empirical.train.averaging import (
    Averaging,
    AveragingAdam,
    Learner,
    below_one,
    one_of,
)
from empirical.train.backprop import Backprop
from empirical.train.federated import Server
from empirical.train.kernel_net import KernelNet
from empirical.train.run import TrainingRun
from empirical.train.steps import Schedule
from theory.changing import AnyNetwork
from theory.network import Network
from theory.validation import as_integer, as_positive, as_probability


def run_of_classes(
    architecture: Architecture,
    shares: Shares,
    network: AnyNetwork,
    learner: Learner,
    *,
    likelihood: Likelihood | None = None,
    **how: Any,
) -> TrainingRun:
    """A training of nets of layers; left out of the likelihood: classes, an output each.

    Parameters and errors as of :class:`~empirical.train.run.TrainingRun`, which gets `how`.

    Raises
    ------
    ValueError
        If the inputs do not fit the architecture either.
    """
    shares.check_fits(architecture)
    law = Classes(architecture.outputs) if likelihood is None else likelihood
    return TrainingRun(KernelNet(architecture), law, shares, network, learner, **how)


# How the nets of a network are trained -----------------------------------------------------------


# Below this a step costs no less: moving the weights takes the time.
SMALLEST_BATCH = 8


@dataclass(frozen=True)
class Recipe:
    """A round is `local_steps` steps of every agent on its own data, then one consensus.

    Agents learn by :class:`~empirical.train.backprop.Backprop`, which says what a step
    lowers; with the estimator ``"point"`` by
    :class:`~empirical.train.averaging.AveragingAdam`.

    Parameters
    ----------
    rounds, local_steps, batch
        Of a run; u; examples in a batch.
    batches
        ``"equal"``: everybody's batches have `batch` examples; ``"proportional"``: `batch` is their
        mean, and each agent's is in proportion to the data it holds, but `SMALLEST_BATCH` at least.
    estimator
        ``"local"`` reparameterisation, ``"weights"`` sampled once a batch, or ``"point"``: no
        noise, no divergence and no variances, and pooling is averaging.
    initial_std
        σ of every weight at the beginning.
    mean_rate, scale_rate
        Adam's learning rates of the means and of log σ.
    mean_epsilon, scale_epsilon
        Adam's ε of both: below it, a gradient's size counts again, not its sign alone.
    first_beta, second_beta
        Adam's β₁, β₂.
    schedule
        ``"cosine"``: rates fall to 0 over the run as ½(1 + cos πt); ``"geometric"``: by the factor
        `decay` each round.
    warm_up
        The share of the run over which rates rise linearly to their full size, in [0, 1).
    forget
        Whether Adam's averages begin anew after each consensus.
    prior, prior_std, divergence
        ``"consensus"``: each datum counts again in each round; ``"fixed"``: around 0, of standard
        deviation `prior_std`, and each datum counts once. What the divergence counts.
    draws
        How many posterior samples a sampled prediction averages.

    Raises
    ------
    ValueError
        If a number is out of its range or a word unknown.
    """

    rounds: int
    local_steps: int
    batch: int
    batches: Literal["equal", "proportional"] = "equal"
    estimator: Estimator = "local"
    initial_std: float = 0.03
    mean_rate: float = 1e-3
    scale_rate: float = 1e-3
    mean_epsilon: float = 1e-8
    scale_epsilon: float = 1e-8
    first_beta: float = 0.9
    second_beta: float = 0.999
    schedule: Schedule = "cosine"
    decay: float = 1.0
    warm_up: float = 0.0
    forget: bool = False
    prior: Literal["consensus", "fixed"] = "consensus"
    prior_std: float = 0.1
    divergence: float = 1.0
    draws: int = 10

    def __post_init__(self) -> None:
        for name in ("rounds", "local_steps", "batch", "draws"):
            as_integer(name, getattr(self, name), minimum=1)
        for name in ("decay", "prior_std"):
            as_positive(name, getattr(self, name))
        below_one("warm_up", self.warm_up)
        one_of("batches", self.batches, ("equal", "proportional"))
        one_of("estimator", self.estimator, ESTIMATORS)
        one_of("schedule", self.schedule, ("cosine", "geometric"))
        one_of("prior", self.prior, ("consensus", "fixed"))
        self._backprop("local")  # whose numbers are checked there

    @property
    def learner(self) -> Learner:
        """How agents learn."""
        if self.estimator == "point":
            return AveragingAdam(
                rate=self.mean_rate,
                first_beta=self.first_beta,
                second_beta=self.second_beta,
                epsilon=self.mean_epsilon,
                weighting="data" if self.prior == "fixed" else "agents",
                forget=self.forget,
            )
        return self._backprop(self.estimator)

    def _backprop(self, estimator: Literal["local", "weights"]) -> Backprop:
        return Backprop(
            initial_std=self.initial_std,
            mean_rate=self.mean_rate,
            scale_rate=self.scale_rate,
            mean_epsilon=self.mean_epsilon,
            scale_epsilon=self.scale_epsilon,
            first_beta=self.first_beta,
            second_beta=self.second_beta,
            divergence=self.divergence,
            estimator=estimator,
            prior_std=self.prior_std if self.prior == "fixed" else None,
            forget=self.forget,
        )

    def training(
        self,
        shares: Shares,
        network: AnyNetwork,
        *,
        architecture: Architecture,
        seed: int,
        **how: Any,
    ) -> TrainingRun:
        """A training by this recipe, before its first round.

        Parameters and errors as of :func:`run_of_classes`, which gets `how`.
        """
        return run_of_classes(
            architecture,
            shares,
            network,
            self.learner,
            rounds=self.rounds,
            local_steps=self.local_steps,
            batch=self.batch_sizes(shares.sizes),
            seed=seed,
            schedule=self.schedule,
            decay=self.decay,
            warm_up=self.warm_up,
            **how,
        )

    def batch_sizes(self, sizes: Sequence[int]) -> tuple[int, ...]:
        """How many examples each agent's batches have, from how many it holds.

        Examples
        --------
        >>> recipe = Recipe(rounds=1, local_steps=1, batch=50, batches="proportional")
        >>> recipe.batch_sizes((8000, 1000, 1000, 10))
        (160, 20, 20, 8)
        """
        if self.batches == "equal":
            return (self.batch,) * len(sizes)
        total = self.batch * len(sizes)
        shares = (round(total * size / sum(sizes)) for size in sizes)
        return tuple(max(share, min(SMALLEST_BATCH, self.batch)) for share in shares)

    def as_json(self) -> dict[str, Any]:
        """All settings, in plain values."""
        return asdict(self)


# How federated averaging is run ------------------------------------------------------------------


@dataclass(frozen=True)
class FedAvgRecipe:
    """FederatedAveraging (McMahan et al. 2017, algorithm 1) and what a server may add to it.

    Those of the papers' rows stand in `empirical/papers/rows.toml`, by name.

    Parameters
    ----------
    rounds
        Of the whole run; the schedule is stretched over them.
    fraction
        C in (0, 1]: the share of clients in a round; at least one takes part.
    epochs
        E: how often a client goes through its data in a round.
    local_steps
        Steps of each client in a round, in place of `epochs`; 0: as `epochs` says.
    batch
        B: examples in a batch.
    rate
        η of the clients' SGD.
    schedule, decay
        ``"cosine"``: η falls to 0 over the run as ½(1 + cos πt); ``"geometric"``: by the factor
        `decay` each round, 1 for a constant η.
    momentum, server_rate
        With Δ the clients' average less the server's weights w: u ← momentum u + Δ, then
        w ← w + server_rate u (Hsu et al. 2019; 0 and 1 is plain averaging).
    averaging
        What is served is an average over rounds, w̄ ← (1 − c) w̄ + c w with c = (a + 1) / (t + a)
        in round t (Shamir and Zhang 2013, section 4): with a = 8 about the last ninth of the run,
        whenever it ends. None: the last weights.

    Raises
    ------
    ValueError
        If a number is out of its range or a word unknown.
    """

    rounds: int
    fraction: float = 0.1
    epochs: int = 1
    local_steps: int = 0
    batch: int = 10
    rate: float = 0.01
    schedule: Schedule = "geometric"
    decay: float = 1.0
    momentum: float = 0.0
    server_rate: float = 1.0
    averaging: float | None = None

    def __post_init__(self) -> None:
        for name in ("rounds", "epochs", "batch"):
            as_integer(name, getattr(self, name), minimum=1)
        as_integer("local_steps", self.local_steps, minimum=0)
        if self.fraction != 1.0:
            as_probability("fraction", self.fraction)
        for name in ("rate", "decay"):
            as_positive(name, getattr(self, name))
        one_of("schedule", self.schedule, ("cosine", "geometric"))
        self.server(1)

    def server(self, agents: int) -> Server:
        """The server of so many agents: max(C N, 1) of them, rounded, take part in a round.

        Examples
        --------
        >>> [FedAvgRecipe(rounds=1).server(agents).clients for agents in (100, 3)]
        [10, 1]
        """
        clients = max(1, round(self.fraction * agents))
        return Server(clients, self.momentum, self.server_rate, self.averaging)

    def training(
        self, shares: Shares, *, architecture: Architecture, seed: int, **how: Any
    ) -> TrainingRun:
        """A training by this recipe, before its first round; clients weigh by their examples.

        Parameters and errors as of :func:`run_of_classes`, which gets `how`.
        """
        held = np.array(shares.sizes, dtype=np.float64)
        epochs = [self.epochs * -(-size // self.batch) for size in shares.sizes]
        return run_of_classes(
            architecture,
            shares,
            Network(np.tile(held / held.sum(), (held.size, 1))),
            Averaging(self.rate, momentum=0.0, weighting="agents"),
            rounds=self.rounds,
            local_steps=self.local_steps or epochs,
            batch=self.batch,
            seed=seed,
            schedule=self.schedule,
            decay=self.decay,
            server=self.server(held.size),
            **how,
        )

    def as_json(self) -> dict[str, Any]:
        """All settings, in plain values."""
        return asdict(self)
