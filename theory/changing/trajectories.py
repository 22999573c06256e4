"""Samples of v_k, the weights of round k's observations in what all agents hold in the end.

v_kᵀ = v_{k+1}ᵀ W_k: seen backwards from a far future, the weights v_k are a random walk on the
simplex, and what they were at the far end is forgotten. One long seeded path of it, after a
warm-up, is a sample of the stationary law of (v_k, A_k).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Protocol

import numpy as np

from theory.changing.delays import RandomLinks
from theory.changing.markov import MarkovNetwork
from theory.changing.presence import RandomPresence
from theory.network.structure import off_diagonal
from theory.validation import FloatArray, IntArray, fail

# Samples of v_k, the weights of round k's observations in what all agents hold in the end --------


# The warm-up ends when two walks from different ends are this close, in absolute sum.
_FORGOTTEN = 1e-9
_LONGEST_WARM_UP = 100_000


class Walk(Protocol):
    """Several rows carried back through the same rounds."""

    def back(self, rows: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The rows one round earlier, and the weights of that round's observations (R, N)."""
        ...

    @property
    def places(self) -> int:
        """How many entries a row has: agents, and messages kept."""
        ...


def influence_samples(
    network: MarkovNetwork | RandomLinks | RandomPresence, *, samples: int, seed: int
) -> FloatArray:
    """The weights of the observations of `samples` rounds in a row, shape (samples, N).

    Zero where an agent did not observe. The means over rounds tend to the influence u.

    Raises
    ------
    ValueError
        If the network forgets too slowly to warm up in 100 000 rounds.
    """
    walk = _walk(network, np.random.default_rng(seed))
    rows = np.zeros((2, walk.places))
    rows[0, : network.agents] = 1.0 / network.agents
    rows[1, 0] = 1.0
    for count in range(_LONGEST_WARM_UP + 1):
        if np.abs(rows[0] - rows[1]).sum() <= _FORGOTTEN:
            break
        if count == _LONGEST_WARM_UP:
            raise fail(
                "network",
                f"a network that mixes in {_LONGEST_WARM_UP} rounds",
                "one that has not",
                "take the rate, which needs no samples",
            )
        rows, _ = walk.back(rows)
    row = rows[:1] / rows[0].sum()
    found = np.empty((samples, network.agents))
    for index in range(samples):
        row, observed = walk.back(row)
        row /= row.sum()  # rounding is not to add up
        found[index] = observed[0]
    return found


def _walk(network: MarkovNetwork | RandomLinks | RandomPresence, rng: np.random.Generator) -> Walk:
    if isinstance(network, MarkovNetwork):
        return _PhaseWalk(network, rng)
    if isinstance(network, RandomPresence):
        return _PresenceWalk(network, rng)
    if network.on_loss == "last":
        return _MemoryWalk(network, rng)
    return _LinkWalk(network, rng)


class _PhaseWalk:
    def __init__(self, network: MarkovNetwork, rng: np.random.Generator):
        self.network, self.rng = network, rng
        self.places = network.agents
        pi = network.stationary_phases
        backward = (network.transition * pi[:, None]).T / pi[:, None]
        self.cumulative = np.cumsum(backward, axis=1)
        self.phase = int(rng.choice(len(pi), p=pi / pi.sum()))

    def back(self, rows: FloatArray) -> tuple[FloatArray, FloatArray]:
        phase = self.network.phases[self.phase]
        carried = rows.copy()
        phase.carry_back(carried)
        line = self.cumulative[self.phase]
        self.phase = int(np.searchsorted(line, self.rng.random() * line[-1], side="right"))
        return carried, np.where(phase.observes, carried, 0.0)


class _Links:
    """Weights between different agents, and who keeps the rest."""

    def __init__(self, edges: IntArray, agents: int):
        self.listener, self.speaker = edges.T
        self.agents = agents

    def carry(self, rows: FloatArray, weight: FloatArray) -> FloatArray:
        """Rows times the stochastic matrix with these weights of the links."""
        size = self.agents
        own = 1.0 - np.bincount(self.listener, weight, minlength=size)
        found = rows * own
        for index, row in enumerate(rows):
            found[index] += np.bincount(self.speaker, row[self.listener] * weight, minlength=size)
        return found


def _draws(network: RandomLinks, rng: np.random.Generator) -> Callable[[], np.ndarray]:
    """Draws which links are up, shape (E,)."""
    up = network.link_up
    if not network.symmetric:
        return lambda: rng.random(up.size) < up
    pairs = np.sort(network.network.edges, axis=1)
    _, which = np.unique(pairs, axis=0, return_inverse=True)
    which = which.ravel()
    return lambda: rng.random(int(which.max()) + 1)[which] < up


class _LinkWalk:
    def __init__(self, network: RandomLinks, rng: np.random.Generator):
        self.places = network.agents
        self.links = _Links(network.network.edges, network.agents)
        self.weights, self.draw = network.link_weights, _draws(network, rng)
        self.renormalises = network.on_loss == "renormalise"
        self.own = network.network.weights.diagonal()

    def back(self, rows: FloatArray) -> tuple[FloatArray, FloatArray]:
        weight = self.weights * self.draw()
        if self.renormalises:
            listener = self.links.listener
            arrived = self.own + np.bincount(listener, weight, minlength=self.places)
            weight = np.divide(weight, arrived[listener], where=weight > 0, out=weight)
        carried = self.links.carry(rows, weight)
        return carried, carried


class _MemoryWalk:
    """Rows are weights of the agents' log-ratios, then of the messages kept for each link."""

    def __init__(self, network: RandomLinks, rng: np.random.Generator):
        self.listener, self.speaker = network.network.edges.T
        self.agents = network.agents
        self.places = self.agents + len(self.listener)
        self.weights, self.draw = network.link_weights, _draws(network, rng)
        self.own = network.network.weights.diagonal()

    def back(self, rows: FloatArray) -> tuple[FloatArray, FloatArray]:
        up = self.draw()
        agents, kept = rows[:, : self.agents], rows[:, self.agents :]
        used = agents[:, self.listener] * self.weights + kept
        said = agents * self.own
        for index, row in enumerate(used):
            said[index] += np.bincount(self.speaker, row * up, minlength=self.agents)
        return np.hstack([said, used * ~up]), said


class _PresenceWalk:
    """A chain of two states runs backwards as it runs forwards."""

    def __init__(self, network: RandomPresence, rng: np.random.Generator):
        self.places = network.agents
        self.links = _Links(network.network.edges, network.agents)
        self.weights = off_diagonal(network.network.weights).weight
        self.here = self._states(network, rng)

    @staticmethod
    def _states(network: RandomPresence, rng: np.random.Generator) -> Iterator[np.ndarray]:
        here = rng.random(network.agents) < network.present
        while True:
            yield here
            chance = np.where(here, 1.0 - network.leaving, network.returning)
            here = rng.random(network.agents) < chance

    def back(self, rows: FloatArray) -> tuple[FloatArray, FloatArray]:
        here = next(self.here)
        links = self.links
        weight = self.weights * (here[links.listener] & here[links.speaker])
        carried = links.carry(rows, weight)
        return carried, np.where(here, carried, 0.0)


# The standard error of a mean over one course, whose rounds depend on one another ----------------


_MOST_BATCHES = 40
# The spread of ten means is known to a quarter.
_LEAST_BATCHES = 10
# Batches of five τ make the error about 5 % too small, where correlations fall geometrically.
_BATCH_TIMES = 5
# A sum of correlations ends here, in units of itself: later ones are noise (Sokal's window).
_WINDOW = 5
# What a course shows none of, if it is expected so often, hardly ever happens: e^−20.
_SURELY_SEEN = 20
# A course begins when weights have forgotten where they came from to 1e-9.
_ALIKE = 1e-8
# Eigenvalues of S phases cost S³ operations.
_MOST_PHASES = 400


def error_of_mean(
    values: FloatArray, network: MarkovNetwork | RandomLinks | RandomPresence
) -> float:
    """Standard error of the mean of a course's values (n,); NaN if it is too short to tell."""
    time = max(correlation_time(network), measured_correlation_time(values))
    batches = int(min(_MOST_BATCHES, len(values) / (_BATCH_TIMES * max(time, 1.0))))
    if batches < _LEAST_BATCHES:
        return np.nan
    if _is_constant(values) and len(values) * rarest(network) < _SURELY_SEEN * max(time, 1.0):
        return np.nan
    means = np.array([batch.mean() for batch in np.array_split(values, batches)])
    return float(means.std(ddof=1) / np.sqrt(batches))


def correlation_time(network: MarkovNetwork | RandomLinks | RandomPresence) -> float:
    """The largest τ of anything that depends on the phase, or on who is there; in rounds.

    That of an eigenvalue λ of the chain is Re (1 + λ)/(1 − λ). Beyond 400 phases only how long the
    chain stays in one of them is looked at. What messages remember is not in it.
    """
    if isinstance(network, RandomPresence) and network.mean_absence is not None:
        # Present with probability q, absent for A rounds on average: 1 − λ = 1/(Aq).
        away = np.broadcast_to(np.asarray(network.mean_absence, dtype=np.float64), network.agents)
        here = np.broadcast_to(np.asarray(network.present, dtype=np.float64), network.agents)
        return max(1.0, float((2 * away * here)[here < 1].max(initial=0.0)) - 1.0)
    if not isinstance(network, MarkovNetwork) or network.is_independent:
        return 1.0
    chain = np.asarray(network.transition, dtype=np.float64)
    if len(chain) > _MOST_PHASES:
        stay = np.diagonal(chain)
        return float(((1 + stay) / np.maximum(1 - stay, 1e-300)).max())
    others = np.linalg.eigvals(chain)
    others = np.delete(others, np.argmin(np.abs(others - 1.0)))
    if not others.size:
        return 1.0
    return float(((1 + others) / (1 - others)).real.max())


def rarest(network: MarkovNetwork | RandomLinks | RandomPresence) -> float:
    """The share of rounds in which the rarest thing happens that may happen; 1 if nothing may.

    That is a phase, a link that is up or down, or an agent that is there or away.
    """
    if isinstance(network, MarkovNetwork):
        shares = network.stationary_phases
        return float(shares[shares > 0].min())
    up = network.link_up if isinstance(network, RandomLinks) else network.present
    both = np.minimum(up, 1.0 - up)
    return float(both[both > 0].min(initial=1.0))


def _is_constant(values: FloatArray) -> bool:
    """Whether values are alike, but for what the course has kept from where it began."""
    return bool(np.ptp(values) <= _ALIKE * np.abs(values).max(initial=0.0))


def measured_correlation_time(values: FloatArray) -> float:
    """τ of a course, its correlations summed up to the first lag that is five times the sum."""
    n = len(values)
    centred = values - values.mean()
    power = np.abs(np.fft.rfft(centred, 2 * n)) ** 2
    covariance = np.fft.irfft(power)[:n]
    # Constant to rounding: nothing to correlate.
    if covariance[0] <= n * (1e-12 * np.abs(values).max(initial=0.0)) ** 2:
        return 1.0
    sums = 2 * np.cumsum(covariance) / covariance[0] - 1
    ends = np.flatnonzero(np.arange(n) >= _WINDOW * sums)
    return float(sums[ends[0]]) if ends.size else float(n)
