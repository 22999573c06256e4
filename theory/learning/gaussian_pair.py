"""Two hypotheses, normal labels, the truth among them: every error probability in closed form.

Agent j has one input, and a separation of d_j = |means[1] − means[0]| / std standard deviations
between the hypotheses. Then z_j ~ N(d_j²/2, d_j²), so the log-odds are exactly normal,

    Λ_i^(n) ~ N(p_i^(n) + ½ Σ_k Σ_j [W^k]_ij d_j²,  Σ_k Σ_j [W^k]_ij² d_j²),   p^(n) = W^n p,

p the prior log-odds, and P(Λ_i^(n) ≤ 0) = Φ(−mean/deviation) at every round. The best test of all
nN observations, with even prior odds, errs with probability Φ(−½√(n Σ_j d_j²)). The exponents are

    E(v) = (Σ_j v_j d_j²)² / (8 Σ_j v_j² d_j²)  ≤  E_central = Σ_j d_j² / 8,

with equality iff v_j is the same number c for all agents with d_j > 0; and then agent i's error
probability is in the limit a constant times the central one (docs: mathematics/gaussian-pair),

    P_i(n)/P_central(n) → exp( Σ_k Σ_j ([W^k]_ij − v_j)² d_j² / 8c²  −  Σ_j v_j p_j / 2c ).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
from scipy.special import log_ndtr, logsumexp

from theory.changing.delays import AnyNetwork
from theory.changing.mean_states import mean_log_ratios
from theory.learning.model import FiniteModel
from theory.learning.rate import check_same_agents
from theory.learning.tables import GaussianAgent
from theory.network import Network
from theory.network.network import require_fixed
from theory.showing import Shown
from theory.typed import typed
from theory.validation import FloatArray, IntArray, as_integer, as_position, fail, read_only

# The mean of every agent's log-odds at given rounds, before the limit ----------------------------


@dataclass(frozen=True, eq=False)
class ExpectedLogRatio(Shown):
    """E Λ_i^(n)(best, θ) in nats: `values` has shape (T, N, M), one entry per round asked for."""

    rounds: IntArray
    values: FloatArray
    best: int


@typed
def expected_log_ratio(
    network: AnyNetwork, model: FiniteModel, rounds: Sequence[int] | IntArray, *, best: int | str
) -> ExpectedLogRatio:
    """The exact mean of every agent's log-odds log ρ_i^(n)(best)/ρ_i^(n)(θ) at given rounds.

    The mean is over the observations and, where the network is random, over the network too. Priors
    are included. Exact up to rounding.

    Parameters
    ----------
    rounds
        Increasing whole numbers of at least 1.
    best
        Index or name of the hypothesis in the numerator, usually that of
        ``learning_rate(...).reference[0]``.

    Raises
    ------
    ValueError
        If rounds do not increase from 1 or more, `best` is no hypothesis, network and model do not
        fit, more than ten agents come and go with given mean absences, or a network that changes
        has not settled in a million rounds.

    Examples
    --------
    >>> from theory import FiniteAgent
    >>> from theory.changing import rotating_star
    >>> coin = FiniteAgent.from_tables(
    ...     inputs=[1.0], truth=[[0.5, 0.5]], likelihood=[[[0.5, 0.5]], [[0.75, 0.25]]]
    ... )
    >>> model = FiniteModel.from_agents(["fair", "loaded"], [coin], counts=[3])
    >>> star = rotating_star(groups=2, group_size=1, edge_confidence=0.5)
    >>> values = expected_log_ratio(star, model, [1, 2], best=0).values[:, :, 1]
    >>> (values / model.information(0)[0, 1]).round(12).tolist()
    [[1.0, 1.0, 0.0], [1.5, 1.0, 1.5]]
    """
    check_same_agents(network, model)
    best = as_position("best", best, model.hypotheses)
    wanted = [as_integer("rounds", n, minimum=1) for n in rounds]
    if not wanted or any(b <= a for a, b in pairwise(wanted)):
        raise fail("rounds", "increasing round numbers", wanted, "sort them, without repeats")
    information = model.information(best)
    prior = (model.log_priors[:, [best]] - model.log_priors)[model.assignment]
    if isinstance(network, Network):
        values = _in_fixed(network, information, prior, wanted)
    else:
        values = mean_log_ratios(network, information, prior, wanted)
    return ExpectedLogRatio(np.array(wanted, dtype=np.int64), read_only(values), best)


def _in_fixed(
    network: Network, increment: FloatArray, carried: FloatArray, rounds: Sequence[int]
) -> FloatArray:
    """Σ_{k=1..n} W^k I + W^n Λ^(0), shape (T, N, M).

    W averages, so that later increments stay between the smallest and the largest of the present
    ones, and the recursion stops once these agree to rounding.
    """
    total = np.zeros_like(increment)
    values = np.empty((len(rounds), *increment.shape))
    sizes = np.maximum(np.abs(increment).max(axis=0), np.abs(carried).max(axis=0))
    # Increments that agree to this are equal to rounding: summing k of them loses as much. Each
    # hypothesis has its own, or one that is far off would hide what the others still do.
    settled = 16 * np.finfo(float).eps * sizes
    done = 0
    for index, n in enumerate(rounds):
        while done < n:
            spread = np.maximum(np.ptp(increment, axis=0), np.ptp(carried, axis=0))
            if (spread <= settled).all():
                total = total + (n - done) * increment
                done = n
                break
            increment = np.asarray(network.weights @ increment)
            carried = np.asarray(network.weights @ carried)
            total = total + increment
            done += 1
        values[index] = total + carried
    return values


# Two hypotheses, normal labels, the truth among them ---------------------------------------------


# Dense powers of W, by repeated squaring: a minute at most.
_MOST_AGENTS = 2000
# Weights of informed agents that agree to this, relatively, are equal: v is right to 1e-14.
_EQUAL = 1e-12
# Squarings after which float64 resolves nothing that has not mixed.
_SQUARINGS = 60


@dataclass(frozen=True)
class ErrorBracket(Shown):
    """Bounds on log P(some agent errs)."""

    log_lower: float
    log_upper: float


@dataclass(frozen=True, eq=False)
class GaussianPair(Shown):
    """A network whose agents weigh two normal hypotheses; all values in floating point.

    Attributes
    ----------
    network
        The network.
    truth
        The index of the hypothesis that is true, 0 or 1.
    separations
        Shape (N,): d_j² = (Δ_j/std_j)².
    log_prior_odds
        Shape (N,): p_j, of the truth against the other hypothesis.
    """

    network: Network
    truth: int
    separations: FloatArray
    log_prior_odds: FloatArray

    @cached_property
    def exponent(self) -> float:
        """E(v) in nats per round."""
        informed = self.separations > 0
        v, d = self.network.stationary_distribution[informed], self.separations[informed]
        # In units of the largest informed weight: nothing underflows, however small it is.
        shares = v / v.max()
        return float((shares @ d) ** 2 / (8 * (shares**2 @ d)))

    @cached_property
    def central_exponent(self) -> float:
        """Σ_j d_j² / 8 in nats per round: the exponent of the best test of all observations."""
        return float(self.separations.sum() / 8)

    @cached_property
    def is_efficient(self) -> bool:
        """Whether E(v) is the central exponent: v_j equal (to 1e-12) wherever d_j > 0."""
        v = self.network.stationary_distribution[self.separations > 0]
        return bool(np.ptp(v) <= _EQUAL * v.max())

    @cached_property
    def log_ratio_limit(self) -> FloatArray:
        """The limit of log P_i(n)/P_central(n), shape (N,): inf where the exponents differ."""
        informed = self.separations > 0
        v = self.network.stationary_distribution
        if not self.is_efficient:
            return read_only(np.full(self.network.agents, np.inf))
        c = float(v[informed].mean())
        prior = float(v @ self.log_prior_odds) / (2 * c)
        return read_only(self._deviation_energy() / (8 * c * c) - prior)

    @cached_property
    def ratio_limit(self) -> FloatArray:
        """The limit of P_i(n)/P_central(n), shape (N,): inf where the exponents differ."""
        with np.errstate(over="ignore"):
            return read_only(np.exp(self.log_ratio_limit))

    def log_error_probabilities(self, rounds: int) -> FloatArray:
        """Logarithms of P(Λ_i^(n) ≤ 0), shape (N,): exact to rounding at every round n ≥ 1."""
        n = as_integer("rounds", rounds, minimum=1)
        mean, variance = self._moments(n)
        return np.asarray(log_ndtr(-mean / np.sqrt(variance)))

    def error_probability(self, agent: int, rounds: int) -> float:
        """P(Λ_i^(n) ≤ 0) of one agent, exact to rounding; 0.0 below 1e-308."""
        i = as_integer("agent", agent, minimum=0, maximum=self.network.agents - 1)
        return float(np.exp(self.log_error_probabilities(rounds)[i]))

    def log_central_error_probability(self, rounds: int) -> float:
        """The logarithm of Φ(−½√(n Σ_j d_j²)), the error probability of the central test."""
        n = as_integer("rounds", rounds, minimum=1)
        return float(log_ndtr(-np.sqrt(n * float(self.separations.sum())) / 2))

    def central_error_probability(self, rounds: int) -> float:
        """Φ(−½√(n Σ_j d_j²)); 0.0 below 1e-308."""
        return float(np.exp(self.log_central_error_probability(rounds)))

    def some_agent(self, rounds: int) -> ErrorBracket:
        """Rigorous: between the largest of the agents' error probabilities and their sum."""
        single = self.log_error_probabilities(rounds)
        return ErrorBracket(float(single.max()), min(0.0, float(logsumexp(single))))

    def _moments(self, n: int) -> tuple[FloatArray, FloatArray]:
        """The mean and variance of Λ^(n), each of shape (N,), by about 2 log₂ n products.

        With A_n = W^n, m_n = Σ_{k ≤ n} W^k d²/2 and S_n = Σ_{k ≤ n} W^k D (W^k)ᵀ, D = diag(d²):
        A_{a+b} = A_a A_b, m_{a+b} = m_a + A_a m_b, S_{a+b} = S_a + A_a S_b A_aᵀ.
        """
        d = self.separations
        W = next(self.network.powers())
        power, mean, scatter = W, W @ d / 2, (W * d) @ W.T
        for bit in bin(n)[3:]:
            mean = mean + power @ mean
            scatter = scatter + power @ scatter @ power.T
            power = _stochastic(power @ power)
            if bit == "1":
                mean = W @ (d / 2 + mean)
                scatter = W @ (np.diag(d) + scatter) @ W.T
                power = _stochastic(W @ power)
        return mean + power @ self.log_prior_odds, np.diag(scatter).copy()

    def _deviation_energy(self) -> FloatArray:
        """Σ_{k ≥ 1} Σ_j ([W^k]_ij − v_j)² d_j², shape (N,), by doubling the number of terms."""
        v = self.network.stationary_distribution
        gap = next(self.network.powers()) - v
        total = (gap * self.separations) @ gap.T
        for _ in range(_SQUARINGS):
            more = gap @ total @ gap.T
            total = total + more
            if float(np.abs(np.diag(more)).max()) <= 1e-17 * float(np.diag(total).max()):
                break
            gap = gap @ gap
            # Its rows sum to zero, as (W − 1vᵀ)^k = W^k − 1vᵀ: rounding must not add to that.
            gap -= np.multiply.outer(gap.sum(axis=1), v)
        return np.asarray(np.diag(total)).copy()


@typed
def gaussian_pair(network: Network, model: FiniteModel) -> GaussianPair:
    """The closed form for two normal hypotheses, one of which is true.

    Raises
    ------
    ValueError
        If the model is another: more than two hypotheses, agents that are not Gaussian with one
        input and a known standard deviation, no hypothesis that is true for all, or two that no
        agent tells apart; or if the network has more than 2000 agents or another number than
        the model.

    Examples
    --------
    >>> from theory import FiniteModel, GaussianAgent, Network
    >>> agent = GaussianAgent([1.0], [0.0], 1.0, [[0.0], [1.0]], 1.0)
    >>> model = FiniteModel.from_agents(["zero", "one"], [agent], counts=[2])
    >>> pair = gaussian_pair(Network([[0.75, 0.25], [0.25, 0.75]]), model)
    >>> pair.exponent, pair.central_exponent
    (0.25, 0.25)
    >>> pair.log_ratio_limit.round(6).tolist()
    [0.083333, 0.083333]
    """
    check_same_agents(require_fixed(network), model)
    if network.agents > _MOST_AGENTS:
        remedy = "use error_exponent, which needs v alone"
        raise fail("network", f"at most {_MOST_AGENTS} agents", network.agents, remedy)
    remedy = "use error_exponent and refined_error_probability, which take every model"
    if len(model.hypotheses) != 2:
        raise fail("model", "two hypotheses", len(model.hypotheses), remedy)
    truths = {0, 1}
    separations = np.zeros(len(model.kinds))
    for index in np.unique(model.assignment):
        kind = model.kinds[index]
        name = f"agents of kind {index}"
        if not isinstance(kind, GaussianAgent):
            raise fail(name, "Gaussian agents", type(kind).__name__, remedy)
        inputs = np.flatnonzero(kind.inputs > 0)
        if inputs.size != 1:
            raise fail(name, "one input", f"{inputs.size}", remedy)
        if kind.truth_std != kind.std:
            got = f"std={kind.std:g} and truth_std={kind.truth_std:g}"
            raise fail(name, "a known standard deviation, std = truth_std", got, remedy)
        means, truth = kind.means[:, inputs[0]], kind.truth_means[inputs[0]]
        truths &= {m for m in (0, 1) if means[m] == truth}
        separations[index] = kind.batch * ((means[1] - means[0]) / kind.std) ** 2
    if not truths:
        raise fail("model", "a hypothesis that is true for every agent", "none", remedy)
    if len(truths) == 2:
        raise fail("model", "hypotheses that some agent tells apart", "equal ones", remedy)
    best = truths.pop()
    odds = model.log_priors[:, best] - model.log_priors[:, 1 - best]
    return GaussianPair(
        network=network,
        truth=best,
        separations=read_only(separations[model.assignment]),
        log_prior_odds=read_only(odds[model.assignment]),
    )


def _stochastic(power: FloatArray) -> FloatArray:
    """`power` with rows that sum to one: squaring would double what rounding has added."""
    return np.asarray(power / power.sum(axis=1, keepdims=True))
