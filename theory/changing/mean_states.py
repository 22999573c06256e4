"""The mean of every agent's log-ratio at given rounds, over the data and over the network.

Everything is linear, so that means obey the recursion with mean weights:

- periodic phases: m_t = W_t (m_{t−1} + A_t I);
- rounds drawn afresh: m_t = E[W] m_{t−1} + E[W A] I;
- a Markov chain of phases: h_t(s) = E[Λ_t; phase s in round t] obeys
  h_t(s) = W_s (Σ_r Q_rs h_{t−1}(r) + P(phase s in round t) A_s I), and m_t = Σ_s h_t(s);
- delays and ``on_loss="last"``: the messages that are still to be used belong to the state.

A round's increment of the state is averaged again and again. Once it is the same for all agents, it
stays, and the rest of the way is a straight line: rounds far ahead cost nothing. The prior's share
is followed by itself. It ends as a constant; beside it a small increment would lose its digits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from scipy.sparse.linalg import ArpackNoConvergence, eigs

from theory.changing.delays import ChangingNetwork, DelayedNetwork, RandomLinks
from theory.changing.markov import MarkovNetwork
from theory.changing.mixing import PeriodicNetwork
from theory.changing.phase import weighted_sum
from theory.changing.presence import RandomPresence, joint_presence
from theory.network.structure import Weights, as_dense, off_diagonal
from theory.scientific import sparse
from theory.typed import typed
from theory.validation import FloatArray, IntArray, fail

# The mean weights of a network whose rounds are independent --------------------------------------


# Steps in y. The integrand is analytic for |Im y| < π/2, so that the rule's error is about
# e^{−π²/step} = 7e-18.
_STEP = 0.25
# e^{-40} of the integral lies beyond the ends.
_REACH = 40.0


@dataclass(frozen=True, eq=False)
class ExpectedWeights:
    """E[W], and E[W A]: what a round does to log-beliefs and to observations, shape (N, N)."""

    weights: sparse.csr_array[np.float64]
    observed: sparse.csr_array[np.float64]


def expected_weights(network: MarkovNetwork | RandomLinks | RandomPresence) -> ExpectedWeights:
    """The means of W and W A over the network; for rounds independent of each other only.

    Floating point, accurate to rounding; not for ``on_loss="last"``, nor for dependent phases.
    """
    if isinstance(network, MarkovNetwork):
        shares = network.stationary_phases
        return ExpectedWeights(
            weighted_sum(network.phases, shares),
            weighted_sum(network.phases, shares, observed=True),
        )
    listener, speaker = network.network.edges.T
    if isinstance(network, RandomPresence):
        q = network.present
        link = off_diagonal(network.network.weights).weight
        heard = _assembled(listener, speaker, link * q[listener] * q[speaker], network.agents)
        share = np.bincount(listener, link * q[speaker], minlength=network.agents)
        # A present agent keeps what it does not get from others, and observes.
        own = q * (1.0 - share)
        off = _off(listener, speaker, link * q[listener] * q[speaker], network.agents)
        return ExpectedWeights(heard, sparse.csr_array(off + sparse.diags_array(own)))
    if network.on_loss == "renormalise":
        mean = renormalised(listener, network)
    else:
        mean = network.link_weights * network.link_up
    table = _assembled(listener, speaker, mean, network.agents)
    return ExpectedWeights(table, table)


def renormalised(listener: IntArray, network: RandomLinks) -> FloatArray:
    """E of each link's weight after the row is divided by what has arrived; shape (E,)."""
    values = np.zeros(len(listener))
    diagonal = network.network.weights.diagonal()
    order = np.argsort(listener, kind="stable")
    starts = np.searchsorted(listener[order], np.arange(network.agents + 1))
    for agent in range(network.agents):
        links = order[starts[agent] : starts[agent + 1]]
        links = links[network.link_up[links] > 0]
        if links.size:
            values[links] = mean_shares(
                float(diagonal[agent]), network.link_weights[links], network.link_up[links]
            )
    return values


def mean_shares(own: float, weights: FloatArray, up: FloatArray) -> FloatArray:
    """E[w_j B_j / (own + Σ_l w_l B_l)] for independent B_l of probability up_l > 0; shape (d,).

    Accurate to rounding (tested against all 2^d cases).

    Examples
    --------
    >>> mean_shares(0.5, np.array([0.5]), np.array([0.5])).round(12).tolist()
    [0.25]
    """
    slowest = own + float(weights.min())
    points = np.arange(-_REACH, np.log(_REACH) - np.log(slowest), _STEP)
    s = np.exp(points)
    with np.errstate(divide="ignore"):
        logs = np.logaddexp(np.log1p(-up)[:, None], np.log(up)[:, None] - np.outer(weights, s))
    # All factors but the agent's own link, whose message has arrived.
    exponents = logs.sum(axis=0) - logs - np.outer(own + weights, s)
    values: FloatArray = up * weights * (np.exp(exponents) @ (s * _STEP))
    return values


def _off(
    listener: IntArray, speaker: IntArray, weight: FloatArray, agents: int
) -> sparse.csr_array[np.float64]:
    table = sparse.csr_array((weight, (listener, speaker)), shape=(agents, agents))
    table.eliminate_zeros()
    return table


def _assembled(
    listener: IntArray, speaker: IntArray, weight: FloatArray, agents: int
) -> sparse.csr_array[np.float64]:
    """The stochastic matrix with these weights between different agents."""
    own = np.maximum(1.0 - np.bincount(listener, weight, minlength=agents), 0.0)
    return sparse.csr_array(
        _off(listener, speaker, weight, agents) + sparse.diags_array(own, format="csr")
    )


# How fast a round brings agents together on average, in a network that changes -------------------


# All eigenvalues of so many states take a second.
_MOST_DENSE = 600
# Of the iteration for larger ones; where that is not enough, the number is left out.
_RESTARTS = 100


@typed
def mean_slem(network: ChangingNetwork) -> float:
    """The subdominant modulus of what a round does on average, in [0, 1]; an estimate in doubles.

    nan where there are more than 600 states and the iteration does not converge.

    Examples
    --------
    >>> from theory import Network
    >>> from theory.changing import RandomLinks
    >>> half = RandomLinks(Network([[0.5, 0.5], [0.5, 0.5]]), up=0.5)
    >>> round(mean_slem(half), 12)
    0.5
    """
    match network:
        case PeriodicNetwork():
            product = as_dense(network.phases[0].weights)
            for phase in network.phases[1:]:
                product = np.asarray(phase.weights @ product)
            return float(_second_modulus(product) ** (1 / network.period))
        case DelayedNetwork():
            return _second_modulus(network.message_walk)
        case MarkovNetwork():
            return _second_modulus(weighted_sum(network.phases, network.stationary_phases))
        case RandomLinks(on_loss="last"):
            # Every message is used, though some are old.
            return _second_modulus(network.network.weights)
        case _:
            return _second_modulus(expected_weights(network).weights)


def _second_modulus(weights: Weights) -> float:
    size = int(weights.shape[0])
    if size == 1:
        return 0.0
    if size <= _MOST_DENSE:
        values = np.abs(np.linalg.eigvals(as_dense(weights)))
    else:
        start: Any = np.random.default_rng(0).random(size)
        matrix: Any = sparse.csr_array(weights)
        try:
            values = np.abs(
                eigs(matrix, k=2, return_eigenvectors=False, v0=start, ncv=60, maxiter=_RESTARTS)
            )
        except ArpackNoConvergence:
            return float("nan")
    return float(np.clip(np.sort(values)[-2], 0.0, 1.0))


# The mean of every agent's log-ratio at given rounds, over the data and over the network ---------


# Rounds taken one by one; networks that have not settled by then are refused.
_MOST_ROUNDS = 1_000_000
# Increments that differ by this share of the state are equal to rounding.
_SETTLED = 8 * np.finfo(float).eps


class _Recursion(Protocol):
    """A mean state, shape (C, M), that moves by averaging and by what a round adds."""

    @property
    def period(self) -> int:
        """After how many rounds increments can be compared."""
        ...

    def start(self) -> FloatArray:
        """The state before round 1."""
        ...

    def step(self, rounds: int, state: FloatArray) -> FloatArray:
        """The state after round `rounds`."""
        ...

    def share(self, rounds: int) -> FloatArray:
        """What part of a common increment each row of the state has, shape (C, 1)."""
        ...

    def shown(self, state: FloatArray) -> FloatArray:
        """The agents' mean log-ratios, shape (N, M)."""
        ...


@typed
def mean_log_ratios(
    network: ChangingNetwork, information: FloatArray, prior: FloatArray, rounds: Sequence[int]
) -> FloatArray:
    """The mean log-ratios of all agents at given rounds, shape (T, N, M); exact up to rounding.

    Parameters
    ----------
    information
        What an observation adds on average, shape (N, M).
    prior
        What agents start with, shape (N, M).
    rounds
        T increasing whole numbers of at least 1.

    Raises
    ------
    ValueError
        If more than ten agents come and go with given mean absences, or the network has not settled
        in a million rounds.
    """
    wanted = list(rounds)
    values = _run(_recursion(network, information, np.zeros_like(prior)), wanted, grows=True)
    if prior.any():
        nothing = np.zeros_like(information)
        values += _run(_recursion(network, nothing, prior), wanted, grows=False)
    return values


def _run(recursion: _Recursion, wanted: list[int], *, grows: bool) -> FloatArray:
    """The shown state at the wanted rounds: one that comes to grow evenly, or to rest."""
    state = recursion.start()
    period = recursion.period
    before = state  # one period ago, whenever periods are compared
    values: list[FloatArray] = []
    for t in range(1, wanted[-1] + 1):
        state = recursion.step(t, state)
        if t == wanted[len(values)]:
            values.append(recursion.shown(state))
            if len(values) == len(wanted):
                break
        if t % period:
            continue
        last, before = before, state
        if t <= period:
            continue
        # What is added follows the law of the phases, which must have come to rest, too.
        if float(np.abs(recursion.share(t) - recursion.share(t - period)).max()) > _SETTLED:
            continue
        averaged = state - last if grows else state
        common = averaged.sum(axis=0) / recursion.share(t).sum()
        # Differences of states are right to rounding of the states, a few units in the last place
        # for each round of the period; so is what is extrapolated from them.
        size = np.abs(state).max(axis=0) * period
        if (np.abs(averaged - recursion.share(t) * common) <= _SETTLED * size).all():
            # From here on each period adds the same to every agent, or nothing to any.
            rests = {(n - t) % period for n in wanted[len(values) :]}
            table = {}
            for ahead in range(max(rests) + 1):
                state = recursion.step(t + ahead, state) if ahead else state
                if ahead in rests:
                    table[ahead] = recursion.shown(state)
            for n in wanted[len(values) :]:
                whole, rest = divmod(n - t, period)
                values.append(table[rest] + whole * common if grows else table[rest])
            break
        if t >= _MOST_ROUNDS and wanted[-1] > _MOST_ROUNDS:
            raise fail(
                "rounds",
                f"at most {_MOST_ROUNDS}, or a network that has settled by then",
                wanted[-1],
                "ask for fewer rounds",
            )
    return np.array(values)


def _recursion(network: ChangingNetwork, information: FloatArray, prior: FloatArray) -> _Recursion:
    if isinstance(network, PeriodicNetwork):
        return _Periodic(network, information, prior)
    if isinstance(network, DelayedNetwork):
        return _Delayed(network, information, prior)
    if isinstance(network, RandomLinks) and network.on_loss == "last":
        return _Remembered(network, information, prior)
    if isinstance(network, RandomPresence) and network.mean_absence is not None:
        network = joint_presence(network)
    if isinstance(network, MarkovNetwork) and (
        not network.is_independent or network.initial is not None
    ):
        return _Markov(network, information, prior)
    return _Independent(network, information, prior)


class _Periodic:
    def __init__(self, network: PeriodicNetwork, information: FloatArray, prior: FloatArray):
        self.period, self.phases, self.prior = network.period, network.phases, prior
        self.information = information

    def start(self) -> FloatArray:
        return self.prior

    def step(self, rounds: int, state: FloatArray) -> FloatArray:
        phase = self.phases[(rounds - 1) % self.period]
        held = state.copy()
        held[phase.observers] += self.information[phase.observers]
        phase.pool(held)
        return held

    def share(self, rounds: int) -> FloatArray:
        return np.ones((len(self.prior), 1))

    def shown(self, state: FloatArray) -> FloatArray:
        return state


class _Independent:
    period = 1

    def __init__(
        self,
        network: MarkovNetwork | RandomLinks | RandomPresence,
        information: FloatArray,
        prior: FloatArray,
    ):
        mean = expected_weights(network)
        self.weights, self.prior = mean.weights, prior
        self.added = np.asarray(mean.observed @ information)

    def start(self) -> FloatArray:
        return self.prior

    def step(self, rounds: int, state: FloatArray) -> FloatArray:
        return np.asarray(self.weights @ state + self.added)

    def share(self, rounds: int) -> FloatArray:
        return np.ones((len(self.prior), 1))

    def shown(self, state: FloatArray) -> FloatArray:
        return state


class _Markov:
    """The state holds h(s) for all phases, row s·N + i."""

    def __init__(self, network: MarkovNetwork, information: FloatArray, prior: FloatArray):
        self.phases, self.chain = network.phases, network.transition
        self.period = network.period
        self.agents = network.agents
        self.prior = prior
        self.added = [np.where(p.observes[:, None], information, 0.0) for p in network.phases]
        self.laws = [network.first_phases]

    def law(self, rounds: int) -> FloatArray:
        """P(phase s in round t), shape (S,); the last few rounds are kept."""
        return self.laws[min(rounds, len(self.laws)) - 1]

    def start(self) -> FloatArray:
        # "Before" the first round: what the first phase will find, split by that phase.
        return np.concatenate([p * self.prior for p in self.laws[0]])

    def step(self, rounds: int, state: FloatArray) -> FloatArray:
        table = state.reshape(len(self.phases), self.agents, -1)
        if rounds > 1:
            table = np.tensordot(self.chain.T, table, axes=1)
            self.laws.append(self.laws[-1] @ self.chain)
        law = self.laws[rounds - 1]
        said = [one + law[s] * self.added[s] for s, one in enumerate(table)]
        for phase, one in zip(self.phases, said, strict=True):
            phase.pool(one)
        return np.concatenate(said)

    def share(self, rounds: int) -> FloatArray:
        return np.repeat(self.laws[rounds - 1], self.agents)[:, None]

    def shown(self, state: FloatArray) -> FloatArray:
        return np.asarray(state.reshape(len(self.phases), self.agents, -1).sum(axis=0))


class _Delayed:
    """The state holds what was said in this round and the last ones, and the log-ratios first."""

    period = 1

    def __init__(self, network: DelayedNetwork, information: FloatArray, prior: FloatArray):
        self.parts = network.weights_by_delay
        self.information, self.prior = information, prior
        self.agents = network.agents

    def start(self) -> FloatArray:
        return np.concatenate([self.prior] * len(self.parts))

    def step(self, rounds: int, state: FloatArray) -> FloatArray:
        said = state[: self.agents] + self.information
        older = state[self.agents :]
        messages = [said, *np.split(older, len(self.parts) - 1)] if len(older) else [said]
        pooled = np.zeros_like(said)
        for part, message in zip(self.parts, messages, strict=True):
            pooled = pooled + part @ message
        return np.concatenate([pooled, *messages[:-1]])

    def share(self, rounds: int) -> FloatArray:
        return np.ones((self.agents * len(self.parts), 1))

    def shown(self, state: FloatArray) -> FloatArray:
        return state[: self.agents]


class _Remembered:
    """The state holds the log-ratios and, for each link, the last message that has arrived."""

    period = 1

    def __init__(self, network: RandomLinks, information: FloatArray, prior: FloatArray):
        self.own = network.network.weights.diagonal()[:, None]
        self.listener, self.speaker = network.network.edges.T
        self.up = network.link_up[:, None]
        links = len(self.listener)
        self.pool = sparse.csr_array(
            (network.link_weights, (self.listener, np.arange(links))), shape=(network.agents, links)
        )
        self.information, self.prior = information, prior

    def start(self) -> FloatArray:
        return np.concatenate([self.prior, self.prior[self.speaker]])

    def step(self, rounds: int, state: FloatArray) -> FloatArray:
        said = state[: len(self.own)] + self.information
        kept = self.up * said[self.speaker] + (1.0 - self.up) * state[len(self.own) :]
        return np.concatenate([self.own * said + self.pool @ kept, kept])

    def share(self, rounds: int) -> FloatArray:
        return np.ones((len(self.own) + len(self.speaker), 1))

    def shown(self, state: FloatArray) -> FloatArray:
        return state[: len(self.own)]
