"""What faulty agents do to the others under plain averaging, exactly.

Follow the weights from agent i: a walk that steps from i to j with probability W_ij. Stop it at
an agent that speaks without listening. Where it ends decides what i comes to believe
(docs: mathematics/faults):

* if it must end at speakers, i's own evidence and that of all others adds a bounded amount to its
  log-odds, and Λ_i/n tends to the mean growth of what the speakers say, weighted by the
  probabilities that the walk ends at each: zero for those that repeat themselves;
* what is left after that growth settles to a law whose mean and variance solve linear equations;
* if it may end in a set of agents that hear no speaker, Λ_i/n has their rate Σ_j v_j I_j as a part.

An agent with stuck data pools like the others; its evidence is a constant in place of I_j.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_discrete_lyapunov
from scipy.special import ndtr

from theory.learning.model import FiniteModel
from theory.network import Network
from theory.network.stationary import eliminate
from theory.network.structure import as_dense, communicating_classes
from theory.robustness.behaviours import LARGEST_MESSAGE, Colluding, StuckData
from theory.robustness.faults import Behaviours, checked_faults, honest_agents, honest_reference
from theory.showing import Shown
from theory.typed import typed
from theory.validation import FloatArray, IntArray, as_integer, fail, read_only

# Beyond it limits have fewer than four digits.
_LARGEST_CONDITION = 1e12
# Of the terms that a rate is a mean of, for each hypothesis by itself.
_ROUNDING = 1e-12
# Lyapunov equations take N³ operations a hypothesis.
MOST_AGENTS = 500


@dataclass(frozen=True, eq=False)
class FaultyAveraging(Shown):
    """The limits of Λ_i(best, θ) for H honest agents; floating point, exact up to rounding.

    Attributes
    ----------
    honest
        Shape (H,).
    reference
        What the honest agents ought to find; `best` is its first member.
    speakers
        Shape (F,): the faulty agents that say something without listening.
    hitting
        Shape (H, F): the probability that the walk from an honest agent first stops there.
    rates
        Shape (H, M): the limit of Λ_i(best, θ)/n in nats per round.
    mean
        Shape (H, M): the limit of E Λ_i(best, θ) − n·rate; NaN where the variance is infinite.
    variance
        Shape (H, M): the limit of Var Λ_i(best, θ), in nats²; infinite where the walk may end in a
        set of agents that hear no speaker, and the evidence of any of these varies.
    lowest
        Shape (H, M): the infimum of what Λ_i(best, θ) − n·rate can be in the limit; −inf or NaN
        as above.
    slack
        Shape (M,): rates against θ up to this are zero but for rounding.
    """

    honest: IntArray
    reference: tuple[int, ...]
    speakers: IntArray
    hitting: FloatArray
    rates: FloatArray
    mean: FloatArray
    variance: FloatArray
    lowest: FloatArray
    slack: FloatArray

    @property
    def best(self) -> int:
        """The hypothesis all log-ratios are taken against."""
        return self.reference[0]

    @property
    def learns(self) -> bool:
        """Whether every honest agent rejects every wrong hypothesis in the long run."""
        wrong = [m for m in range(self.rates.shape[1]) if m not in self.reference]
        return bool((self.rates[:, wrong] > 0).all())

    @cached_property
    def error_estimates(self) -> FloatArray:
        """P(Λ_i(best, θ) ≤ 0) in the limit, shape (H, M); zero for the reference.

        An estimate by a normal law where the rate is zero (the stationary law is a sum of
        independent terms, the last few of which weigh most); 0 or 1 elsewhere, by the rate's sign.
        """
        settled = np.abs(self.rates) <= self.slack
        deviation = np.sqrt(self.variance)
        with np.errstate(invalid="ignore", divide="ignore"):
            estimate = ndtr(-self.mean / deviation)
        estimate = np.where(self.variance == 0, (self.mean <= 0).astype(np.float64), estimate)
        result = np.where(settled, estimate, (self.rates < 0).astype(np.float64))
        result[:, list(self.reference)] = 0.0
        return read_only(result)


@dataclass(frozen=True, eq=False)
class FaultyLogRatio(Shown):
    """E and Var of Λ_i^(n)(best, θ) at T rounds, shapes (T, H, M), exact up to rounding."""

    rounds: IntArray
    honest: IntArray
    best: int
    mean: FloatArray
    variance: FloatArray


@dataclass(frozen=True, eq=False)
class _System:
    """Λ ← Q(Λ + z) + offset + n·slope + noise, for the P agents that pool.

    `pooling` are their numbers; Q has shape (P, P), `heard` = R shape (P, F); offset and slope
    (P, M); `deviations` (F,) of the speakers' noise; `information` and `variances` (P, M) of z,
    `minima` (P, M) of its infimum; `prior` (P, M).
    """

    honest: IntArray
    pooling: IntArray
    speakers: IntArray
    reference: tuple[int, ...]
    Q: FloatArray
    heard: FloatArray
    offset: FloatArray
    slope: FloatArray
    deviations: FloatArray
    information: FloatArray
    variances: FloatArray
    minima: FloatArray
    prior: FloatArray


@typed
def faulty_averaging(network: Network, model: FiniteModel, faults: Behaviours) -> FaultyAveraging:
    """What every honest agent comes to believe where all average and some are faulty.

    Raises
    ------
    ValueError
        If a behaviour does not fit, is :class:`~theory.robustness.behaviours.Colluding` (what
        that does depends on what others say, and is not linear), nobody is honest, there are
        more than 500 agents, or the limits would be all rounding (I − Q singular to 1e-12).

    Examples
    --------
    One agent of five that always says the same stops the other four from learning:

    >>> from theory import FiniteAgent
    >>> from theory.robustness import ConstantBelief
    >>> coin = FiniteAgent.from_tables(
    ...     inputs=[1.0], truth=[[0.5, 0.5]], likelihood=[[[0.5, 0.5]], [[0.75, 0.25]]]
    ... )
    >>> model = FiniteModel.from_agents(("fair", "loaded"), [coin], counts=[5])
    >>> crowd = Network.from_topology("complete", agents=5)
    >>> stopped = faulty_averaging(crowd, model, {0: ConstantBelief([0.0, 0.0])})
    >>> bool(stopped.rates.any()), stopped.mean[:, 1].round(4).tolist()
    (False, [0.5754, 0.5754, 0.5754, 0.5754])
    """
    system = _system(network, model, faults)
    P, F = system.heard.shape
    # The walk on pooling agents and, absorbing, speakers.
    chain = np.block([[system.Q, system.heard], [np.zeros((F, P)), np.eye(F)]])
    labels = communicating_classes(chain)
    closed = _closed_classes(chain, labels)
    own = [c for c in closed if (np.flatnonzero(labels == c) < P).all()]
    inside = np.isin(labels[:P], own)
    transient = np.flatnonzero(~inside)

    rates = np.zeros_like(system.slope)
    # In a set without speakers, E Λ − n·rate, and whether evidence varies.
    rest = np.zeros_like(rates)
    varies = np.zeros(rates.shape, dtype=bool)
    for label in own:
        members = np.flatnonzero(labels[:P] == label)
        Q, evidence = system.Q[np.ix_(members, members)], system.information[members]
        v = eliminate(Q)
        rates[members] = v @ evidence
        # Σ_{k≥1} (Q^k − 1vᵀ) = (1 − Q + 1vᵀ)⁻¹ − 1, and the priors are pooled by v.
        bent = np.linalg.solve(np.eye(members.size) - Q + v, evidence)
        rest[members] = v @ system.prior[members] + bent - evidence
        varies[members] = (system.variances[members] > 0).any(axis=0)
    Q = system.Q[np.ix_(transient, transient)]
    leak = system.Q[np.ix_(transient, np.flatnonzero(inside))]
    inverse = np.eye(transient.size) - Q
    _check_condition(inverse)
    rates[transient] = np.linalg.solve(inverse, leak @ rates[inside] + system.slope[transient])
    hitting = np.zeros((P, F))
    hitting[transient] = np.linalg.solve(inverse, system.heard[transient])

    # Whoever hears a set that learns by itself from evidence that varies never settles.
    unsettled: NDArray[np.bool_] = np.asarray(_reach(system.Q).astype(np.float64) @ varies > 0)
    mean = np.where(unsettled, np.nan, rest)
    lowest = mean.copy()
    variance = np.where(unsettled, np.inf, 0.0)
    noise = (system.heard * system.deviations**2) @ system.heard.T
    blurred: NDArray[np.bool_] = np.any(hitting[:, system.deviations > 0] > 0, axis=1)
    for m in range(rates.shape[1]):
        calm = np.flatnonzero(~unsettled[:, m] & ~inside)
        fixed = np.flatnonzero(~unsettled[:, m] & inside)
        if m == system.reference[0] or not calm.size:
            continue
        Q, leak = system.Q[np.ix_(calm, calm)], system.Q[np.ix_(calm, fixed)]
        inverse = np.eye(calm.size) - Q
        # α n + β = Q(α(n − 1) + β + I) + offset + n·slope, with α the rate.
        given = system.offset[calm, m] - Q @ rates[calm, m]
        given += leak @ (rest + system.information - rates)[fixed, m]
        steady = given + Q @ system.information[calm, m]
        endless = ~np.isfinite(system.minima[calm, m])
        bounded = given + Q @ np.where(endless, 0.0, system.minima[calm, m])
        sides = np.stack([steady, bounded, Q @ endless.astype(np.float64)], axis=1)
        mean[calm, m], least, unbounded = np.linalg.solve(inverse, sides).T
        lowest[calm, m] = np.where((unbounded > 0) | blurred[calm], -np.inf, least)
        fed = Q * system.variances[calm, m] @ Q.T + 2 * noise[np.ix_(calm, calm)]
        variance[calm, m] = np.diag(solve_discrete_lyapunov(Q, fed))
    for array in (mean, lowest, variance):
        array[:, system.reference[0]] = 0.0

    chosen = np.searchsorted(system.pooling, system.honest)
    parts = (rates, system.slope, system.information)  # a rate is a mean of these
    return FaultyAveraging(
        honest=read_only(system.honest),
        reference=system.reference,
        speakers=read_only(system.speakers),
        hitting=read_only(hitting[chosen]),
        rates=read_only(rates[chosen]),
        mean=read_only(mean[chosen]),
        variance=read_only(variance[chosen]),
        lowest=read_only(lowest[chosen]),
        slack=read_only(_ROUNDING * np.max([np.abs(x).max(axis=0) for x in parts], axis=0)),
    )


def _check_condition(matrix: FloatArray) -> None:
    """Refuse I − Q that is singular to rounding: limits would have no digits left."""
    condition = float(np.linalg.cond(matrix)) if matrix.size else 1.0
    if not condition <= _LARGEST_CONDITION:
        raise fail(
            "network",
            "weights on speakers, or on sets that hear none, that matter beyond rounding",
            f"a condition number of {condition:.1e}",
            "raise these weights, or ask faulty_log_ratio at the rounds of interest",
        )


@typed
def faulty_log_ratio(
    network: Network, model: FiniteModel, faults: Behaviours, rounds: Sequence[int] | IntArray
) -> FaultyLogRatio:
    """The exact mean and variance of every honest agent's log-odds at given rounds.

    The mean follows m_n = Q(m_{n−1} + I) + offset + n·slope, the covariance
    S_n = Q(S_{n−1} + V)Qᵀ + noise.

    Parameters
    ----------
    rounds
        Increasing whole numbers of at least 1.

    Raises
    ------
    ValueError
        If rounds do not increase from 1 or more, or as for :func:`faulty_averaging`.
    """
    wanted = [as_integer("rounds", n, minimum=1) for n in rounds]
    if not wanted or any(b <= a for a, b in pairwise(wanted)):
        raise fail("rounds", "increasing round numbers", wanted, "sort them, without repeats")
    system = _system(network, model, faults)
    Q, best = system.Q, system.reference[0]
    chosen = np.searchsorted(system.pooling, system.honest)
    noise = 2 * (system.heard * system.deviations**2) @ system.heard.T
    M = system.slope.shape[1]
    mean = system.prior
    covariance = np.zeros((M, *Q.shape))
    means = np.empty((len(wanted), chosen.size, M))
    variances = np.zeros_like(means)
    done = 0
    for index, n in enumerate(wanted):
        while done < n:
            done += 1
            mean = Q @ (mean + system.information) + system.offset + done * system.slope
            for m in range(M):
                if m != best:
                    fed = covariance[m] + np.diag(system.variances[:, m])
                    covariance[m] = Q @ fed @ Q.T + noise
        means[index] = mean[chosen]
        variances[index] = np.diagonal(covariance, axis1=1, axis2=2).T[chosen]
    return FaultyLogRatio(
        np.array(wanted, dtype=np.int64),
        read_only(system.honest),
        best,
        read_only(means),
        read_only(variances),
    )


def _system(network: Network, model: FiniteModel, faults: Behaviours) -> _System:
    checked = checked_faults(network, model, faults)
    as_integer("network", network.agents, minimum=1, maximum=MOST_AGENTS)
    for agent, behaviour in checked.items():
        if isinstance(behaviour, Colluding):
            raise fail(
                f"faults[{agent}]",
                "a behaviour that does not look at what others say",
                "Colluding",
                "measure it with exact.simulate",
            )
    honest = honest_agents(network, checked)
    reference = honest_reference(network, model, honest)
    best = reference[0]
    W = np.array(as_dense(network.weights))
    speaking = {a: b for a, b in checked.items() if not isinstance(b, StuckData | Colluding)}
    pooling = np.setdiff1d(np.arange(network.agents), np.array(list(speaking), dtype=np.int64))

    M = len(model.hypotheses)
    offset, slope = np.zeros((network.agents, M)), np.zeros((network.agents, M))
    deviations = []
    for agent, behaviour in speaking.items():
        listeners = np.setdiff1d(np.flatnonzero(W[:, agent] > 0), [agent])
        speech = behaviour.speech(model, listeners.size)
        with np.errstate(invalid="ignore", over="ignore"):
            said = speech.offset[:, [best]] - speech.offset
            grown = speech.slope[:, [best]] - speech.slope
            gaps = speech.offset.max(axis=1) - speech.offset.min(axis=1)
            useless = ~(gaps <= LARGEST_MESSAGE)
        # What is thrown away leaves its weight with the listener.
        W[listeners[useless], listeners[useless]] += W[listeners[useless], agent]
        W[listeners[useless], agent] = 0.0
        kept = listeners[~useless]
        offset[kept] += W[kept, agent][:, None] * said[~useless]
        slope[kept] += W[kept, agent][:, None] * grown[~useless]
        deviations.append(speech.deviation)

    laws = [model.log_ratio_laws(best, theta) for theta in range(M)]

    def table(values: list[list[float]]) -> FloatArray:
        return np.array(values).T[model.assignment]

    information = np.array(model.information(best))
    variances = table([[law.variance for law in row] for row in laws])
    minima = table([[law.minimum for law in row] for row in laws])
    for agent, behaviour in checked.items():
        if isinstance(behaviour, StuckData):
            datum = behaviour.datum(model, agent)
            information[agent] = minima[agent] = datum[best] - datum
            variances[agent] = 0.0
    prior = (model.log_priors[:, [best]] - model.log_priors)[model.assignment]
    speakers = np.array(list(speaking), dtype=np.int64)
    return _System(
        honest=honest,
        pooling=pooling,
        speakers=speakers,
        reference=reference,
        Q=W[np.ix_(pooling, pooling)],
        heard=W[np.ix_(pooling, speakers)],
        offset=offset[pooling],
        slope=slope[pooling],
        deviations=np.array(deviations, dtype=np.float64),
        information=information[pooling],
        variances=variances[pooling],
        minima=minima[pooling],
        prior=prior[pooling],
    )


def _closed_classes(chain: FloatArray, labels: IntArray) -> list[int]:
    """The classes that no weight leads out of."""
    rows, columns = np.nonzero(chain)
    leaving = np.unique(labels[rows[labels[rows] != labels[columns]]])
    return [int(c) for c in np.setdiff1d(labels, leaving)]


def _reach(Q: FloatArray) -> NDArray[np.bool_]:
    """Which agents each agent hears of, itself included; shape (P, P)."""
    reach = (Q > 0) | np.eye(len(Q), dtype=bool)
    for _ in range(max(1, len(Q).bit_length())):
        steps = reach.astype(np.float64)
        reach = steps @ steps > 0
    return np.asarray(reach)
