"""What agents hold at the start of a round, and its weight in what all hold in the end.

For a fixed k the product W_n … W_k tends to 1 v_kᵀ, and v_kᵀ = v_{k+1}ᵀ W_k. So, on average over
what is to come,

- periodic phases: v(s) = v(s + 1) W_s, v(0) the stationary vector of the product over one period;
- a Markov chain of phases: m(s) = E[v_k | phase s in round k] solves
  m(s) = Σ_r Q_sr m(r) W_s, one linear system of size S·N;
- phases drawn afresh: m(s) = m W_s, m the stationary vector of E[W].
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import numpy as np

from theory.changing.delays import AnyNetwork, ChangingNetwork, DelayedNetwork, RandomLinks
from theory.changing.markov import MarkovNetwork
from theory.changing.mean_states import expected_weights
from theory.changing.mixing import PeriodicNetwork, Turns, closed_classes
from theory.changing.phase import weighted_sum
from theory.changing.presence import RandomPresence, joint_presence
from theory.changing.trajectories import influence_samples
from theory.frames import frame
from theory.network.network import Network
from theory.network.stationary import DENSE_AGENTS, detailed_balance, stationary
from theory.network.structure import Weights, as_dense
from theory.scientific import sparse, sparse_linalg
from theory.showing import Shown
from theory.typed import typed
from theory.validation import FloatArray, IntArray, as_integer, fail, read_only

if TYPE_CHECKING:
    import pandas as pd


# What agents hold at the start of a round, and its weight in what all hold in the end ------------


# Systems of more entries are solved by iteration.
_MOST_ENTRIES = 1_000_000
# Relative residual at which the iteration stops, and what is accepted.
_TOLERANCE = 1e-14
_ACCEPTED = 1e-11


@dataclass(frozen=True, eq=False)
class ObservedWeights:
    """Observations and what each weighs in what all agents hold in the end.

    Attributes
    ----------
    agents, weights
        Shape (O,): whose observation it is, and its weight.
    rounds
        In how many rounds in a row they were made.
    course
        For a random network the weights round by round, shape (rounds, N), of one course of it;
        None where these rounds come again and again, so that their mean is that of all rounds.
    """

    agents: IntArray
    weights: FloatArray
    rounds: int = 1
    course: FloatArray | None = None


def stationary_vector(weights: Weights) -> FloatArray:
    """The stationary vector of a matrix with one closed class, zero outside it; shape (N,).

    Raises
    ------
    ValueError
        If a sparse factorisation does not resolve it.
    """
    closed = closed_classes(weights)[0]
    values = np.zeros(weights.shape[0])
    if closed.size == 1:
        values[closed] = 1.0
        return values
    part: Weights = sparse.csr_array(sparse.csr_array(weights)[closed][:, closed])
    if closed.size <= DENSE_AGENTS:
        part = as_dense(part)
    balanced = detailed_balance(part) if sparse.issparse(part) else None
    values[closed] = stationary(part, balanced).values
    return values


_BEFORE_FIRST: WeakKeyDictionary[PeriodicNetwork, FloatArray] = WeakKeyDictionary()


def before_first(network: PeriodicNetwork) -> FloatArray:
    """v(0), the stationary vector of the product over one period, shape (N,); it sums to one.

    Raises
    ------
    ValueError
        If a sparse factorisation does not resolve it.
    """
    # Networks do not change once made: what was found holds as long as they live.
    known = _BEFORE_FIRST.get(network)
    if known is None:
        known = _BEFORE_FIRST[network] = read_only(_solved(network))
    return known


def _solved(network: PeriodicNetwork) -> FloatArray:
    turns = Turns.of(network.phases)
    if network.agents > DENSE_AGENTS:
        return turns.before_first(stationary_vector(turns.walk))
    product = as_dense(network.phases[0].weights).copy()
    for phase in network.phases[1:]:
        phase.pool(product)
    return stationary_vector(product)


def carried_back(network: PeriodicNetwork) -> Iterator[tuple[int, FloatArray]]:
    """Each phase s from the last to the first, with v(s), shape (N,): one array, overwritten."""
    row = before_first(network).copy()
    for s in range(network.period - 1, -1, -1):
        network.phases[s].carry_back(row)
        yield s, row


def by_phase(network: PeriodicNetwork) -> FloatArray:
    """v(s) for every phase, shape (T, N); each sums to one."""
    values = np.empty((network.period, network.agents))
    for s, row in carried_back(network):
        values[s] = row
    values[0] = before_first(network)
    return np.asarray(values / values.sum(axis=1, keepdims=True))


def observed_by_phase(network: PeriodicNetwork) -> ObservedWeights:
    """The weights of all observations of one period, phase by phase."""
    found = [
        (phase.observers, row[phase.observers])
        for s, row in carried_back(network)
        for phase in (network.phases[s],)
    ][::-1]
    return ObservedWeights(
        np.concatenate([agents for agents, _ in found]),
        np.concatenate([weights for _, weights in found]),
        network.period,
    )


def by_markov_phase(network: MarkovNetwork) -> FloatArray:
    """m(s) for every phase, shape (S, N); each sums to one.

    Raises
    ------
    ValueError
        If the linear system does not resolve.
    """
    phases, agents = network.phases, network.agents
    if network.is_independent:
        mean = stationary_vector(weighted_sum(phases, network.stationary_phases))
        values = np.tile(mean, (len(phases), 1))
        for row, phase in zip(values, phases, strict=True):
            phase.carry_back(row)
        return np.asarray(values / values.sum(axis=1, keepdims=True))
    entries = _entries(network)
    if entries <= _MOST_ENTRIES or len(phases) * agents <= DENSE_AGENTS:
        joint = stationary_vector(joint_walk(network)).reshape(len(phases), agents)
        return np.asarray(joint / joint.sum(axis=1, keepdims=True))
    return iterated(network)


def _entries(network: MarkovNetwork) -> float:
    before = (network.transition > 0).sum(axis=0)
    sizes = np.array([_count(phase.weights) for phase in network.phases])
    return float(before @ sizes)


def _count(weights: Weights) -> int:
    return int(weights.nnz) if sparse.issparse(weights) else int(np.count_nonzero(weights))


def joint_walk(network: MarkovNetwork) -> sparse.csr_array[np.float64]:
    """The walk along a row of the products, with the phase, on S·N places s·N + i.

    Seen backwards, phase r is preceded by s with probability π_s Q_sr / π_r; the step from (r, i)
    into (s, j) has this probability times [W_s]_ij. Its stationary vector is π_s m_j(s).
    """
    pi, agents = network.stationary_phases, network.agents
    backward = (network.transition * pi[:, None]).T / pi[:, None]
    row, column, value = [], [], []
    for s, phase in enumerate(network.phases):
        after = np.flatnonzero(backward[:, s] > 0)
        block = sparse.coo_array(phase.weights)
        listener, speaker = block.coords
        row.append(np.add.outer(agents * after, listener).ravel())
        column.append(np.tile(agents * s + speaker, after.size))
        value.append(np.multiply.outer(backward[after, s], block.data).ravel())
    entries = (np.concatenate(value), (np.concatenate(row), np.concatenate(column)))
    return sparse.csr_array(entries, shape=(pi.size * agents, pi.size * agents))


def iterated(network: MarkovNetwork) -> FloatArray:
    """m(s) by GMRES on the S·N equations, without forming them; shape (S, N)."""
    phases, agents = network.phases, network.agents
    pi, chain = network.stationary_phases, network.transition
    shape = (len(phases), agents)

    def once(values: FloatArray) -> FloatArray:
        ahead = chain @ values
        for row, phase in zip(ahead, phases, strict=True):
            phase.carry_back(row)
        return np.asarray(ahead)

    def equations(flat: FloatArray) -> FloatArray:
        values = flat.reshape(shape)
        # A step keeps Σ_s π_s Σ_j m_j(s), so that the added term sets it to one.
        return np.asarray((values - once(values) + (pi @ values).sum() / agents).ravel())

    size = shape[0] * shape[1]
    system = sparse_linalg.LinearOperator((size, size), matvec=equations, dtype=np.float64)
    right = np.full(size, 1.0 / agents)
    solution, _ = sparse_linalg.gmres(
        system, right, x0=right, rtol=_TOLERANCE, atol=0.0, restart=100, maxiter=20
    )
    values = once(np.maximum(solution.reshape(shape), 0.0))
    values /= values.sum(axis=1, keepdims=True)
    left = float(np.abs(once(values) - values).sum(axis=1).max())
    if not left <= _ACCEPTED:
        raise fail(
            "phases",
            "a network whose phases change and mix fast enough to solve for its influence",
            f"a residual of {left:.1g}",
            "use fewer phases, or measure",
        )
    return values


# Whose observations count, and how much ----------------------------------------------------------


# Entries of weights by phase that are kept, 80 MB.
_MOST_BY_PHASE = 10_000_000


@dataclass(frozen=True, eq=False)
class Influence(Shown):
    """How much of one observation of each agent ends in every log-belief, on average per round.

    Floating point, accurate to rounding where no parts of the network are nearly decoupled.

    Attributes
    ----------
    values
        u, shape (N,), at least 0.
    by_phase
        Shape (S, N), for networks with phases: the weight of what agents hold at the start of a
        round of phase s in what all hold in the end, on average over the rounds that follow; rows
        sum to one. None for others, and for periodic phases where it would have more than
        10 million entries.
    event_rate
        Rounds per unit of time, where rounds are events in continuous time; else None.
    mean_age
        How many rounds old a message is when it is pooled, averaged with the weights v_i W_ij:
        0 where messages are fresh.
    """

    values: FloatArray
    by_phase: FloatArray | None = None
    event_rate: float | None = None
    mean_age: float = 0.0

    def to_frame(self) -> pd.DataFrame:
        """A table of the influence: one row for each agent.

        Raises
        ------
        ValueError
            If pandas is not installed.
        """
        return frame({"agent": np.arange(self.values.size), "influence": self.values})

    @property
    def total(self) -> float:
        """Σ_j u_j, in [0, 1]: with identical agents the rate is this times the rate of one."""
        return float(self.values.sum())

    @property
    def per_time(self) -> FloatArray | None:
        """Influence per unit of time, shape (N,), where rounds are events in continuous time."""
        if self.event_rate is None:
            return None
        return np.asarray(self.values * self.event_rate)

    @property
    def unheard(self) -> IntArray:
        """The agents whose observations end in nobody's log-belief: u_j = 0."""
        return np.flatnonzero(self.values == 0)


_FOUND: WeakKeyDictionary[ChangingNetwork, Influence] = WeakKeyDictionary()


@typed
def influence(network: AnyNetwork) -> Influence:
    """Whose observations count, and how much (docs: mathematics/changing).

    Raises
    ------
    ValueError
        If agents of given mean absence come and go and there are more than ten of them, or a
        linear system does not resolve.

    Examples
    --------
    Two agents talk in turn; only the one who listens observes.

    >>> from theory.changing import PeriodicNetwork, Phase
    >>> network = PeriodicNetwork(
    ...     [Phase([[0.5, 0.5], [0, 1]], [0]), Phase([[1, 0], [0.5, 0.5]], [1])]
    ... )
    >>> influence(network).values.round(12).tolist()
    [0.166666666667, 0.166666666667]
    """
    if isinstance(network, Network):
        return Influence(network.stationary_distribution)
    # Networks do not change once made: what was found holds as long as they live.
    known = _FOUND.get(network)
    if known is None:
        known = _FOUND[network] = _solve(network)
    return known


def _solve(network: ChangingNetwork) -> Influence:
    if isinstance(network, PeriodicNetwork):
        return _over_period(network)
    if isinstance(network, MarkovNetwork):
        return _over_phases(by_markov_phase(network), network)
    if isinstance(network, DelayedNetwork):
        return _aged(network.network, mean_delay(network))
    if isinstance(network, RandomLinks) and network.on_loss == "last":
        v = network.network.stationary_distribution
        age = (1.0 - network.link_up) / network.link_up
        listener = network.network.edges[:, 0]
        return _aged(network.network, float((v[listener] * network.link_weights) @ age))
    if isinstance(network, RandomPresence) and network.mean_absence is not None:
        found = influence(joint_presence(network))
        return Influence(found.values)
    mean = expected_weights(network)
    values = np.asarray(stationary_vector(mean.weights) @ mean.observed)
    return Influence(read_only(values))


def mean_delay(network: DelayedNetwork) -> float:
    """Σ_i v_i Σ_j W_ij τ_ij, in rounds."""
    v = network.network.stationary_distribution
    return float(sum(d * (v @ part.sum(axis=1)) for d, part in enumerate(network.weights_by_delay)))


def _over_period(network: PeriodicNetwork) -> Influence:
    seen = observed_by_phase(network)
    total = np.bincount(seen.agents, seen.weights, minlength=network.agents)
    few = network.period * network.agents <= _MOST_BY_PHASE
    table = read_only(by_phase(network)) if few else None
    return Influence(read_only(total / network.period), table)


def _over_phases(values: FloatArray, network: MarkovNetwork) -> Influence:
    observes = np.array([phase.observes for phase in network.phases])
    mean = network.stationary_phases @ np.where(observes, values, 0.0)
    return Influence(read_only(mean), read_only(values), network.event_rate)


def _aged(network: Network, age: float) -> Influence:
    values = network.stationary_distribution / (1.0 + age)
    return Influence(read_only(values), mean_age=age)


# What each observation weighs in what all agents hold in the end, for any network ----------------


# Entries of the course of a random network, rounds times agents, by default.
_ENTRIES = 1_000_000
_MOST_ROUNDS = 20_000
_LEAST_ROUNDS = 40


def observed_weights(
    network: AnyNetwork, *, seed: int = 0, samples: int | None = None
) -> ObservedWeights:
    """The weights of the observations of rounds that stand for all.

    Those of one round for a fixed network and for delays, of one period for periodic phases: exact,
    up to rounding. Those of one long course for random networks: an estimate.

    Parameters
    ----------
    seed, samples
        Of the course: its seed, and its number of rounds, at least 40; by default up to 20 000,
        fewer with more than 50 agents.

    Raises
    ------
    ValueError
        If `seed` or `samples` is too small, or a random network does not mix in 100 000 rounds.

    Examples
    --------
    >>> found = observed_weights(Network([[0.9, 0.1], [0.6, 0.4]]))
    >>> found.rounds, found.weights.round(6).tolist()
    (1, [0.857143, 0.142857])
    """
    agents = np.arange(network.agents)
    if isinstance(network, Network | DelayedNetwork):
        return ObservedWeights(agents, influence(network).values)
    if isinstance(network, PeriodicNetwork):
        return _without_zeros(observed_by_phase(network))
    default = max(200, min(_MOST_ROUNDS, _ENTRIES // network.agents))
    rounds = default if samples is None else as_integer("samples", samples, minimum=_LEAST_ROUNDS)
    seed = as_integer("seed", seed, minimum=0)
    course = influence_samples(network, samples=rounds, seed=seed)
    every = np.broadcast_to(agents, course.shape).ravel()
    return _without_zeros(ObservedWeights(every, course.ravel(), rounds, course))


def _without_zeros(found: ObservedWeights) -> ObservedWeights:
    counted = found.weights > 0
    return ObservedWeights(
        found.agents[counted], found.weights[counted], found.rounds, found.course
    )
