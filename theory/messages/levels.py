"""How many levels keep a quantiser from overloading, and when plain rounding learns nothing.

What agent i has to round in round n is x = e^(n−1) + ((W − I)ŷ^(n−1))_i + z_i^(n), W that of
`theory.messages.mixing`. By induction, if nothing overloaded before round n,

    |x| ≤ max |z| + h B_i + (1 − W_ii) s + (3 − 2 W_ii + B²_i) ē      (n ≥ 2),
    |x| ≤ max |p| + max |z|                                           (n = 1),

z the log-ratios against the first hypothesis, 2h the length of an interval that contains them all,
p the prior's and s their spread, B²_i the sum of order 2, and ē the quantiser's error bound. L
cells of width Δ hold it if LΔ/2 is as large. Where a number waits for w rounds to be sent, ē is
the solution of ē = r + w g(ē), r what is left out when it is sent and g the first bound without
its last ē; other replicas have another factor of ē (`theory.messages.deviation`). Conversely, if
(L − 1)Δ/2 is below ν = max |Σ_j v_j z_j|, some data that may come leave the replicas behind for
ever, however large ē.
(docs: mathematics/compressed-beliefs)
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction

import flint
import numpy as np

from theory.learning.model import FiniteModel
from theory.learning.rate import check_same_agents
from theory.messages.deviation import ReplicaDeviation, exposure, replica_deviation
from theory.messages.quantiser import Deadband, Quantiser, Samples, Unacknowledged
from theory.network import Network
from theory.network.stationary import DENSE_AGENTS
from theory.network.structure import EPS, as_dense
from theory.numbers import as_fmpq
from theory.rational import RationalNetwork
from theory.scientific import sparse
from theory.showing import Shown
from theory.typed import typed
from theory.validation import FloatArray, as_integer, fail, read_only

# W_γ = (1 − γ)I + γW -----------------------------------------------------------------------------


@typed
def mixed_network(network: Network, mixing: float | Fraction) -> Network:
    """The network of W_γ, stored as W is, for γ in (0, 1]; in doubles.

    Examples
    --------
    >>> mixed_network(Network([[0.5, 0.5], [0.25, 0.75]]), 0.5).weights.tolist()
    [[0.75, 0.25], [0.125, 0.875]]
    """
    share = float(mixing)
    if share == 1.0:
        return network
    agents, W = network.agents, network.weights
    if isinstance(W, np.ndarray):
        return replace(network, weights=share * W + (1.0 - share) * np.eye(agents))
    kept = sparse.eye_array(agents, format="csr")
    return replace(network, weights=sparse.csr_array(share * W + (1.0 - share) * kept))


@typed
def mixed_rational(network: RationalNetwork, mixing: float | Fraction) -> RationalNetwork:
    """The same exactly; a double γ is read as the binary fraction it is."""
    share = as_fmpq(mixing)
    agents = network.agents
    kept = flint.fmpq_mat(agents, agents)
    for i in range(agents):
        kept[i, i] = 1 - share
    return replace(network, matrix=share * network.matrix + kept)


# How many levels keep a quantiser from overloading, and when plain rounding learns nothing -------


# Rounding in sums of a few thousand terms, relative to their size.
_DOUBT = 1e-9


@dataclass(frozen=True)
class MessageLevels(Shown):
    """What a quantiser has to hold, for one network and model: up to rounding.

    Attributes
    ----------
    reach
        An upper bound on |x| in any round at any agent, in nats; inf without a bound on log-ratios.
    growth
        An upper bound on what |x| grows by in a round without a message, in nats.
    least
        The fewest levels of which no overload is proved, at least 2; None without a bound.
    necessary
        With fewer levels some data that may come make the errors grow without end; None as above.
    silence
        Rounds from one message of an agent to its next, at least: 1 if it may speak every round.
    error
        ē: the most that a replica is off after a round, in nats, if nothing overloads; inf where
        nothing is proved.
    mean_error
        The same of its mean over runs: `error`, but where numbers wait by chance.
    """

    reach: float
    growth: float
    least: int | None
    necessary: int | None
    silence: int
    error: float
    mean_error: float


@typed
def message_levels(network: Network, model: FiniteModel, quantiser: Quantiser) -> MessageLevels:
    """The levels that a quantiser needs, whatever levels it has.

    Raises
    ------
    ValueError
        If network and model have different numbers of agents, or the network more than 2000.

    Examples
    --------
    >>> from theory import FiniteAgent
    >>> from theory.messages import Uniform
    >>> coin = FiniteAgent.from_tables(
    ...     inputs=[1.0], truth=[[0.5, 0.5]], likelihood=[[[0.5, 0.5]], [[0.75, 0.25]]]
    ... )
    >>> model = FiniteModel.from_agents(["fair", "loaded"], [coin], counts=[2])
    >>> pair = Network([["9/10", "1/10"], ["3/5", "2/5"]])
    >>> message_levels(pair, model, Uniform(step=0.5)).least
    10
    """
    check_same_agents(network, model)
    mixed = mixed_network(network, quantiser.mixing)
    evidence = _Evidence.of(model)
    numbers = len(model.hypotheses) - 1
    waits, mean_waits = quantiser.waits(numbers), quantiser.mean_waits(numbers)
    if not quantiser.has_replica or not math.isfinite(evidence.largest):
        known = quantiser.has_replica and waits == 0
        error = quantiser.error_bound if known else math.inf
        return MessageLevels(math.inf, math.inf, None, None, 1, error, error)
    step = float(quantiser.step)
    least = _growth(evidence, replica_deviation(mixed), _leaving(mixed)) * (1 + _DOUBT)
    feedback = exposure(mixed, quantiser).feedback * (1 + _DOUBT)
    error, mean = (
        _waiting_error(quantiser.error_bound, evidence.prior, waiting, least, feedback)
        for waiting in (waits, mean_waits)
    )
    drift = (evidence.drift(mixed.stationary_distribution)) * (1 - _DOUBT)
    necessary = max(2, math.ceil(2 * drift / step + 1))
    if math.isinf(error):
        return MessageLevels(math.inf, math.inf, None, None, 1, error, mean)
    growth = float((least + feedback * error).max())
    reach = max(evidence.start, growth + error) * (1 + _DOUBT)
    silence = 1
    if isinstance(quantiser, Deadband):
        room = (error - step / 2) * (1 - _DOUBT)
        silence = 1 + int(min(room / growth, 1e15)) if growth > 0 else 1
    return MessageLevels(
        reach=reach,
        growth=growth,
        least=max(2, math.ceil(2 * reach / step * (1 - 4 * EPS))),
        necessary=necessary,
        silence=silence,
        error=error,
        mean_error=mean,
    )


def _waiting_error(
    kept: float, prior: float, waits: float, growth: FloatArray, feedback: FloatArray
) -> float:
    """The least ē ≥ kept + waits · (growth + feedback · ē); inf if there is none.

    Before its first message a replica is off by the prior, if it has to wait for that.
    """
    if waits == 0:
        return kept
    left = 1 - waits * feedback
    if math.isinf(waits) or (left <= 0).any():
        return math.inf
    return float(((max(kept, prior) + waits * growth) / left).max())


@typed
def finest_step(
    network: Network, model: FiniteModel, *, levels: int, mixing: float | Fraction = 1
) -> float | None:
    """The smallest step at which so many levels are proved never to overload; None without one.

    With R = 3 − 2 W_ii + B²_i there is one for every L > R: about 2P/(L − R), P what |x| is at
    most where nothing is left out. Smaller steps leave out less, for the same bytes.

    Raises
    ------
    ValueError
        If `levels` is below 2, network and model have different numbers of agents, or the network
        has more than 2000.
    """
    check_same_agents(network, model)
    count = as_integer("levels", levels, minimum=2)
    evidence = _Evidence.of(model)
    if not math.isfinite(evidence.largest):
        return None
    mixed = mixed_network(network, mixing)
    first, second = replica_deviation(mixed), replica_deviation(mixed, order=2)
    leaving = _leaving(mixed)
    least = _growth(evidence, first, leaving)
    room = count - 1 - 2 * leaving - second.upper
    if (room <= 0).any():
        return None
    step = max(float((2 * least / room).max()), 2 * evidence.start / count)
    # The bound itself has a doubt of 1e-9, and what is left of L − R may be little.
    return step * (1 + 4 * _DOUBT * count / float(room.min()))


@typed
def stalling_step(network: Network, model: FiniteModel) -> float:
    """A step beyond which plain quantisation never sends anything but zeros; inf if there is none.

    With w the largest weight that an agent gives itself and c = max(max |p|, w max |z|/(1 − w)),
    all log-ratios stay within c for ever if the step is above 2(c + max |z|): nobody learns.

    Raises
    ------
    ValueError
        If network and model have different numbers of agents.
    """
    check_same_agents(network, model)
    evidence = _Evidence.of(model)
    most = 1 - float(_leaving(network).min())
    if most >= 1 or not math.isfinite(evidence.largest):
        return math.inf
    held = max(evidence.prior, most * evidence.largest / (1 - most))
    return 2 * (held + evidence.largest) * (1 + _DOUBT)


@typed
def sampled_ceiling(network: Network, model: FiniteModel, quantiser: Samples) -> float:
    """What no log-ratio exceeds where agents pool samples of beliefs; inf if some listen to nobody.

    With w the largest weight that an agent gives itself in W_γ and S = log((m + α)/α), the most
    that counts say: max(max |p|, S + w max |z|/(1 − w)), against the first hypothesis. Rigorous up
    to rounding.

    Raises
    ------
    ValueError
        If network and model have different numbers of agents.
    """
    check_same_agents(network, model)
    evidence = _Evidence.of(model)
    most = 1 - float(_leaving(mixed_network(network, quantiser.mixing)).min())
    if most >= 1 or not math.isfinite(evidence.largest):
        return math.inf
    smoothing = float(quantiser.smoothing)
    said = math.log((quantiser.draws + smoothing) / smoothing)
    return max(evidence.prior, said + most * evidence.largest / (1 - most)) * (1 + _DOUBT)


@dataclass(frozen=True, eq=False)
class _Evidence:
    """What a round may bring, against the first hypothesis: the worst of all others.

    Attributes
    ----------
    lower, upper
        Shape (N, M − 1): the ends of z.
    prior, spread
        max |p|, and max p − min p over agents.
    """

    lower: FloatArray
    upper: FloatArray
    prior: float
    spread: float

    @classmethod
    def of(cls, model: FiniteModel) -> _Evidence:
        others = range(1, len(model.hypotheses))
        laws = [model.log_ratio_laws(0, m) for m in others]
        kinds = model.assignment
        present = np.unique(kinds)
        odds = (model.log_priors[:, :1] - model.log_priors[:, 1:])[present]
        return cls(
            np.array([[law.minimum for law in row] for row in laws]).T[kinds],
            np.array([[law.maximum for law in row] for row in laws]).T[kinds],
            float(np.abs(odds).max()),
            float(np.ptp(odds, axis=0).max()),
        )

    @property
    def largest(self) -> float:
        """Max |z|."""
        return float(max(np.abs(self.lower).max(), np.abs(self.upper).max()))

    @property
    def half(self) -> float:
        """h: half the length of an interval that contains one hypothesis's z of every agent."""
        return float((self.upper.max(axis=0) - self.lower.min(axis=0)).max()) / 2

    @property
    def start(self) -> float:
        """Max |p| + max |z|."""
        return self.prior + self.largest

    def drift(self, stationary: FloatArray) -> float:
        """ν = max |Σ_j v_j z_j|."""
        ends = (stationary @ self.lower, stationary @ self.upper)
        return float(max(np.abs(end).max() for end in ends))


def _growth(evidence: _Evidence, first: ReplicaDeviation, leaving: FloatArray) -> FloatArray:
    """What x grows by if replicas stay, at most and but for what was left out, shape (N,)."""
    moved = evidence.half * first.upper + leaving * evidence.spread
    return np.asarray(evidence.largest + moved)


def _leaving(network: Network) -> FloatArray:
    """1 − W_ii, shape (N,)."""
    return np.asarray(1.0 - network.weights.diagonal(), dtype=np.float64)


# Where learning stops if lost differences are never noticed --------------------------------------


@dataclass(frozen=True, eq=False)
class OutOfStep(Shown):
    """Expected log-ratios against the first hypothesis after so many rounds.

    Attributes
    ----------
    ratios
        Shape (N, M − 1), in nats.
    slack
        How far the expected ones are from these at most.
    rounds
        n; None for the limit.
    """

    ratios: FloatArray
    slack: float
    rounds: int | None


@typed
def out_of_step(
    network: Network, model: FiniteModel, quantiser: Unacknowledged, *, rounds: int | None = None
) -> OutOfStep:
    """What agents believe in the mean whose messages get lost without notice, up to rounding.

    Parameters
    ----------
    network, model
        N agents each; W, not yet W_γ.
    quantiser
        What is sent, and how often it is lost: above 0.
    rounds
        n; None for the limit.

    Raises
    ------
    ValueError
        If network and model do not fit, nothing is lost, the network has more than 2000 agents, or
        `rounds` is below 1.
    """
    check_same_agents(network, model)
    loss = float(quantiser.loss)
    if loss == 0:
        raise fail("loss", "a number above 0", "0", "replicas stay in step without losses")
    if network.agents > DENSE_AGENTS:
        wanted = f"at most {DENSE_AGENTS} agents"
        raise fail("network", wanted, network.agents, "take a smaller network")
    W = as_dense(mixed_network(network, quantiser.mixing).weights)
    kept = W - loss * (W - np.diag(W.diagonal()))
    others, kinds = range(1, len(model.hypotheses)), model.assignment
    means = np.array([[law.mean for law in model.log_ratio_laws(0, m)] for m in others]).T[kinds]
    slack = (2 - loss) * float(quantiser.step) / (2 * loss)
    if rounds is None:
        ratios = np.linalg.solve(np.eye(network.agents) - kept, kept @ means)
        return OutOfStep(read_only(ratios), slack, None)
    ratios = (model.log_priors[:, :1] - model.log_priors[:, 1:])[kinds]
    for _ in range(as_integer("rounds", rounds, minimum=1)):
        ratios = kept @ (ratios + means)
    return OutOfStep(read_only(ratios), slack, rounds)
