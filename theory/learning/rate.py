"""How fast the network rejects wrong hypotheses.

Almost surely −(1/n) log ρ_i^(n)(θ) → Σ_j v_j I_j(θ*, θ) at every agent i, where v is the stationary
distribution of W (docs: mathematics/rate). The slowest of these is the learning rate

    K(Θ) = min_{θ* ∈ Θ*, θ ∉ Θ*} Σ_j v_j I_j(θ*, θ)            (P1 Theorem 1, P2 eq. 7)

and the hypothesis that attains it is the binding one. Where Θ* is empty, the network settles on
the compromise argmin_θ Σ_j v_j D_j(θ), and the same formula holds with it in place of θ*. Where
the network changes, the influence u of each agent stands in place of v
(docs: mathematics/changing).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

import numpy as np

from theory.learning.model import FiniteModel
from theory.learning.tilted import exponents, shared_slots, tabulate
from theory.network.network import Network
from theory.showing import Value
from theory.typed import typed
from theory.validation import FloatArray, IntArray, fail, read_only

if TYPE_CHECKING:
    import pandas as pd

    from theory.changing.delays import ChangingNetwork, RandomNetwork
    from theory.changing.rhythms import Rhythm


# How fast the network rejects wrong hypotheses ---------------------------------------------------


class HasAgents(Protocol):
    """What has a number of agents: a network, a graph or a model, in doubles or in fractions."""

    @property
    def agents(self) -> int:
        """N."""


def check_same_agents(network: HasAgents, model: HasAgents) -> None:
    """Check that network and model have equally many agents.

    Raises
    ------
    ValueError
        If network and model have different numbers of agents.
    """
    if network.agents != model.agents:
        raise fail(
            "model",
            f"as many agents as the network, {network.agents}",
            f"{model.agents}",
            "change the agents' counts or the network's size",
        )


@dataclass(frozen=True, eq=False)
class LearningRate(Value):
    """K(Θ) and what it is made of; all rates in nats per round, in floating point.

    Per second where agents share no rounds.

    Attributes
    ----------
    rate
        K(Θ): infinite if no hypothesis is wrong.
    binding
        The wrong hypothesis rejected last; None if there is none.
    rates
        Shape (M,): Σ_j u_j I_j(θ*, θ), with u = v where the network does not change; zero for the
        reference hypotheses.
    reference
        Θ*, or the network compromise if Θ* is empty.
    is_compromise
        Whether Θ* is empty.
    undecided
        Hypotheses of which doubles do not say whether they are as good as the reference. They
        count as ties; no theorem may rest on that.
    """

    rate: float
    binding: int | None
    rates: FloatArray
    reference: tuple[int, ...]
    is_compromise: bool
    undecided: tuple[int, ...] = ()

    def to_frame(self) -> pd.DataFrame:
        """A table of the rates: one row for each hypothesis, by number.

        Raises
        ------
        ValueError
            If pandas is not installed.
        """
        from theory.frames import frame

        numbers = np.arange(self.rates.size)
        return frame(
            {
                "hypothesis": numbers,
                "rate": self.rates,
                "is_reference": np.isin(numbers, self.reference),
                "is_binding": numbers == (-1 if self.binding is None else self.binding),
            }
        )


@typed
def learning_rate(network: Network | ChangingNetwork | Rhythm, model: FiniteModel) -> LearningRate:
    """The rate of rejection of every wrong hypothesis, and the slowest, K(Θ).

    All members of the reference set have equal Σ_j v_j D_j, so the minimum over θ* is attained by
    each of them. Where the network changes, v is its influence u: a hypothesis that no agent with
    u_j > 0 can tell from the reference has the rate 0. Of agents on clocks of their own
    (:func:`theory.changing.rhythm_rate`) it is the rate per second.

    Raises
    ------
    ValueError
        If network and model have different numbers of agents, or as for
        :func:`theory.changing.stationary`.

    Examples
    --------
    >>> from theory import FiniteAgent, FiniteModel, Network
    >>> coin = FiniteAgent.from_tables(
    ...     inputs=[1.0], truth=[[0.5, 0.5]], likelihood=[[[0.5, 0.5]], [[0.75, 0.25]]]
    ... )
    >>> model = FiniteModel.from_agents(["fair", "loaded"], [coin], counts=[2])
    >>> result = learning_rate(Network([[0.9, 0.1], [0.6, 0.4]]), model)
    >>> round(result.rate, 4), result.binding
    (0.1438, 1)

    In a star whose groups take turns most agents rest most of the time.

    >>> from theory.changing import rotating_star
    >>> star = rotating_star(groups=5, group_size=5, edge_confidence=0.5)
    >>> many = FiniteModel.from_agents(["fair", "loaded"], [coin], counts=[26])
    >>> round(learning_rate(star, many).rate / result.rate, 9)
    0.285714286
    """
    check_same_agents(network, model)
    if isinstance(network, Network):
        return rate_of(network.stationary_distribution, model)
    from theory.changing.rhythms import Rhythm
    from theory.changing.stationary import influence

    if isinstance(network, Rhythm):
        return rate_of(network.influence, model)
    return rate_of(influence(network).values, model)


def rate_of(influence: FloatArray, model: FiniteModel) -> LearningRate:
    """The same for given influences, shape (N,), at least 0.

    Raises
    ------
    ValueError
        If there is not one influence per agent.
    """
    reference = model.reference_hypotheses(influence)
    comparison = model.weighted_comparison(influence, reference[0])
    rates = comparison.values.copy()
    rates[list(reference)] = 0.0
    wrong = [m for m in range(len(model.hypotheses)) if m not in reference]
    binding = min(wrong, key=lambda m: float(rates[m])) if wrong else None
    return LearningRate(
        rate=np.inf if binding is None else float(rates[binding]),
        binding=binding,
        rates=read_only(rates),
        reference=reference,
        is_compromise=not model.optimal_hypotheses,
        undecided=tuple(int(m) for m in np.flatnonzero(comparison.undecided)),
    )


# How fast the probability of error falls ---------------------------------------------------------


@dataclass(frozen=True, eq=False)
class ErrorExponent(Value):
    """E in nats per round, in floating point.

    Attributes
    ----------
    exponent
        The smallest of `exponents`; infinite if no error is possible after enough rounds.
    binding
        The wrong hypothesis most likely to win; None if there is none.
    exponents
        Shape (M,); infinite for the reference hypotheses and those that can never win.
    tilts
        Shape (M,): the maximising t; zero for the reference, infinite where the maximum is a limit.
    against
        Shape (M,): the reference hypothesis that each wrong one is compared with; itself for the
        reference.
    samples
        Rounds of the course it was estimated from, for random networks; 0 if it is exact.
    standard_error
        Of `exponent`: 0.0 if it is exact (in floating point); NaN if no standard error is known, as
        where the course is short for how long phases last: then the estimate is rough.

    Notes
    -----
    Where the reference set has several members, each wrong θ is compared with the member that
    gives the largest exponent: a lower bound on the true one then, exact if there is one member.
    """

    exponent: float
    binding: int | None
    exponents: FloatArray
    tilts: FloatArray
    against: IntArray
    samples: int = 0
    standard_error: float = 0.0

    @property
    def is_exact(self) -> bool:
        """Whether the exponent is computed, and not estimated from samples."""
        return self.samples == 0

    def to_frame(self) -> pd.DataFrame:
        """A table of the exponents: one row for each hypothesis, by number.

        Raises
        ------
        ValueError
            If pandas is not installed.
        """
        from theory.frames import frame

        numbers = np.arange(self.exponents.size)
        columns = {"exponent": self.exponents, "tilt": self.tilts, "against": self.against}
        return frame({"hypothesis": numbers, **columns})


@typed
def error_exponent(
    network: Network | ChangingNetwork,
    model: FiniteModel,
    *,
    seed: int = 0,
    samples: int | None = None,
    rate: LearningRate | None = None,
) -> ErrorExponent:
    """E and the hypothesis that binds (docs: mathematics/exponent).

    Needs no bound on the likelihoods: Gaussian agents are welcome.

    Parameters
    ----------
    seed, samples
        For random networks: the seed, and the number of rounds, of the course that is averaged
        over; by default up to 20 000, fewer with more than 50 agents. As a maximum over t is
        taken, the estimate is biased upwards, by less than its standard error. To have one, the
        course must be fifty times as long as its rounds are correlated.
    rate
        The learning rate of this network and model, where it has been computed.

    Raises
    ------
    ValueError
        If network and model have different numbers of agents, or a random network does not mix in
        100 000 rounds.

    Examples
    --------
    Two normal hypotheses one standard deviation apart: z ~ N(1/2, 1), so E = 1/8 for one agent. A
    message three rounds late makes beliefs lag, but errors no likelier in the long run.

    >>> from theory import FiniteModel, GaussianAgent, Network
    >>> from theory.changing import DelayedNetwork
    >>> agent = GaussianAgent([1.0], [0.0], 1.0, [[0.0], [1.0]], 1.0)
    >>> model = FiniteModel.from_agents(["zero", "one"], [agent])
    >>> round(error_exponent(Network([[1.0]]), model).exponent, 12)
    0.125
    >>> five = FiniteModel.from_agents(["zero", "one"], [agent], counts=[5])
    >>> ring = Network.from_topology("ring", agents=5)
    >>> round(error_exponent(DelayedNetwork(ring, 3), five).exponent, 12)
    0.625
    """
    reference = (rate or learning_rate(network, model)).reference
    if isinstance(network, Network):
        v = network.stationary_distribution
        return _largest_decays(np.arange(v.size), v, 1, model, reference)
    from theory.changing.delays import RandomNetwork
    from theory.changing.stationary import observed_weights

    seen = observed_weights(network, seed=seed, samples=samples)
    found = _largest_decays(seen.agents, seen.weights, seen.rounds, model, reference)
    if seen.course is None or not isinstance(network, RandomNetwork):
        return found
    error = _standard_error(seen.course, model, found, network)
    return replace(found, samples=seen.rounds, standard_error=error)


def _largest_decays(
    agents: IntArray,
    weights: FloatArray,
    rounds: int,
    model: FiniteModel,
    reference: tuple[int, ...],
) -> ErrorExponent:
    """max_t of the average over `rounds` in which these agents' observations weigh so much."""
    count = len(model.hypotheses)
    wrong = [m for m in range(count) if m not in reference]
    values, tilts = np.full(count, np.inf), np.zeros(count)
    against = np.arange(count, dtype=np.int64)
    if wrong:
        slots = shared_slots(model.assignment[agents], weights)
        first, second = np.repeat(reference, len(wrong)), np.tile(wrong, len(reference))
        table = tabulate(model, first, second, slots=slots, agents=agents)
        found = exponents(table, np.arange(table.rows), table.by_slot(weights))
        best = found.values.reshape(len(reference), -1).argmax(axis=0)
        rows = best * len(wrong) + np.arange(len(wrong))
        values[wrong], tilts[wrong] = found.values[rows] / rounds, found.tilts[rows]
        against[wrong] = first[rows]
    binding = min(wrong, key=lambda m: float(values[m])) if wrong else None
    return ErrorExponent(
        exponent=np.inf if binding is None else float(values[binding]),
        binding=binding,
        exponents=read_only(values),
        tilts=read_only(tilts),
        against=read_only(against),
    )


def _standard_error(
    course: FloatArray, model: FiniteModel, found: ErrorExponent, network: RandomNetwork
) -> float:
    """Standard error of the mean over rounds of Σ_j κ_j(−t v_j), at the best t held fixed."""
    from theory.changing.trajectories import error_of_mean

    if found.binding is None or not np.isfinite(found.tilts[found.binding]):
        return np.nan
    tilt = float(found.tilts[found.binding])
    laws = model.log_ratio_laws(int(found.against[found.binding]), found.binding)
    per_round = np.zeros(len(course))
    for kind, law in enumerate(laws):
        members = model.assignment == kind
        if members.any():
            per_round += law.cumulant(-tilt * course[:, members]).sum(axis=1)
    return error_of_mean(per_round, network)
