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
from weakref import WeakKeyDictionary

import numpy as np

from theory.changing.backward import Turns
from theory.changing.markov import MarkovNetwork
from theory.changing.mixing import closed_classes
from theory.changing.periodic import PeriodicNetwork
from theory.changing.phase import weighted_sum
from theory.network.stationary import DENSE_AGENTS, detailed_balance, stationary
from theory.network.structure import Weights, as_dense
from theory.scientific import sparse, sparse_linalg
from theory.validation import FloatArray, IntArray, fail, read_only

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
