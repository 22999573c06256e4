"""Bounds on the probability of error where the network changes in a known way.

Those of :mod:`theory.bounds.tails.chernoff`, the union over agents, with the weights that past
observations have in a round of each phase.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from theory.bounds.tails.chernoff import log_bound, tabulated
from theory.bounds.tails.events import ErrorBound, ErrorEvents
from theory.changing.delays import DelayedNetwork, lagged_weights
from theory.changing.mixing import PeriodicNetwork
from theory.scientific import sparse
from theory.validation import FloatArray

# Chernoff's and Hoeffding's inequalities for given weights of past observations ------------------


# Multiples of the exponent's tilt t*: the best tilt tends to t* as rounds go by.
_FINE = np.union1d(np.geomspace(0.7, 1.3, 21), np.geomspace(1 / 32, 32, 21))
_COARSE = np.array([0.35, 0.5, 0.7, 0.85, 0.95, 1.0, 1.05, 1.15, 1.4, 2.0])
# Weights are rounded to this, so that agents in equal positions share their cumulants.
_DECIMALS = 13


class Hoeffding:
    """State: means and squared ranges, shape (2, N, H)."""

    name = "Hoeffding, union over agents"

    def __init__(self, events: ErrorEvents):
        self.events = events
        self.squares = events.squared_ranges

    def added(self, weights: FloatArray) -> FloatArray:
        """What the observations of one lag add to the state, for weights of shape (N, N)."""
        return np.array([weights @ self.events.information, (weights * weights) @ self.squares])

    def worst(self, added: FloatArray) -> FloatArray:
        """No less harmful than any later addition, given those of the last window (L, 2, N, H)."""
        return np.array([added[:, 0].min(axis=(0, 1)), added[:, 1].max(axis=(0, 1))])[:, None]

    @staticmethod
    def log_bound(state: FloatArray, priors: FloatArray) -> FloatArray:
        """−2 m₊²/R for each agent and hypothesis, shape (N, H)."""
        return log_bound(state[0] + priors, state[1])


class Chernoff:
    """State: Σ κ at every tilt of a grid, shape (N, H, T)."""

    name = "Chernoff, union over agents"

    def __init__(self, events: ErrorEvents, *, fine: bool):
        self.events = events
        grid = _FINE if fine else _COARSE
        centres = np.array([self._centre(index) for index in range(len(events.wrong))])
        self.tilts = np.multiply.outer(centres, grid)
        self.log_bound = partial(_least_exponents, self.tilts)
        self.cumulants: list[list[Callable[[FloatArray], FloatArray]]] = [
            [tabulated(law, -float(tilts.max())) for law in laws]
            for laws, tilts in zip(events.laws, self.tilts, strict=True)
        ]

    def _centre(self, index: int) -> float:
        theta = self.events.wrong[index]
        tilt = float(self.events.exponent.tilts[theta])
        if np.isfinite(tilt) and tilt > 0:
            return tilt
        # Evidence that never misleads: the larger the tilt the better.
        rate = float(self.events.rate.rates[theta])
        return 64.0 / rate if rate > 0 else 1.0

    def added(self, weights: FloatArray) -> FloatArray:
        """Σ_j κ_j(−t w_ij) for weights w of shape (N, N); shape (N, H, T)."""
        agents = len(weights)
        total = np.zeros((agents, *self.tilts.shape))
        for kind in range(len(self.events.model.kinds)):
            members = np.flatnonzero(self.events.model.assignment == kind)
            if not members.size:
                continue
            table = np.round(weights[:, members], _DECIMALS)
            values, place = np.unique(table, return_inverse=True)
            rows = np.repeat(np.arange(agents), members.size)
            # How often each agent gives each weight to agents of this kind.
            count = sparse.csr_array(
                (np.ones(rows.size), (rows, place.ravel())), shape=(agents, values.size)
            )
            count.sum_duplicates()
            for index, tilts in enumerate(self.tilts):
                points = np.multiply.outer(values, -tilts)
                total[:, index] += count @ self.cumulants[index][kind](points)
        return total

    def worst(self, added: FloatArray) -> FloatArray:
        """No less than any later addition, given those of the last window (L, N, H, T)."""
        return np.asarray(added.max(axis=(0, 1)))[None]


def _least_exponents(tilts: FloatArray, state: FloatArray, priors: FloatArray) -> FloatArray:
    """min_t of the exponents, at most 0, for each agent and hypothesis, shape (N, H)."""
    exponents = state - priors[..., None] * tilts
    return np.asarray(np.minimum(exponents.min(axis=-1), 0.0))


# Bounds on the probability of error where the network changes in a known way ---------------------


# Rows that agree to this are taken to be equal only in the sense that no further lags are summed
# one by one: the tail stays a bound.
_SETTLED = 1e-6
_MOST_LAGS = 4000
_MOST_AGENTS = 1500
# Entries of weights over all lags and phases, for a few seconds.
_MOST_ENTRIES = 5e7
# Entries times wrong hypotheses times tilts up to which the fine grid of tilts is used.
_MOST_FINE = 4e9


@dataclass(frozen=True, eq=False)
class PhasedBound:
    """A bound on the probability of error in rounds of every phase.

    `parts` has one bound for each phase e of the last round, a function of the number k of times
    the phase has come: round n = e + 1 + (k − 1) T.
    """

    name: str
    parts: tuple[ErrorBound, ...]

    def probability(self, rounds: int) -> float:
        """The bound at one round."""
        past, ending = divmod(rounds - 1, len(self.parts))
        return self.parts[ending].probability(past + 1)

    def smallest_rounds(self, delta: float) -> int | None:
        """The smallest n from which on the bound stays at most `delta`; None if there is none."""
        last = 0
        for ending, part in enumerate(self.parts):
            times = part.smallest_rounds(delta)
            if times is None:
                return None
            if times > 1:
                last = max(last, ending + 1 + (times - 2) * len(self.parts))
        return last + 1


def phased_bounds(
    network: PeriodicNetwork | DelayedNetwork, events: ErrorEvents
) -> list[PhasedBound] | str:
    """The bounds that apply, Chernoff's first, or why there is none."""
    if network.agents > _MOST_AGENTS:
        return f"not computed for more than {_MOST_AGENTS} agents"
    period = network.period if isinstance(network, PeriodicNetwork) else 1
    most = int(min(_MOST_LAGS, _MOST_ENTRIES / (period * network.agents**2)))
    if most < 4 * period or most < 4 * _longest(network):
        return "not computed: too many agents for this many phases"
    if not events.rate.rate > 0:
        return "some wrong hypothesis is never rejected"
    work = float(period * network.agents**2 * len(events.wrong)) * min(most, 500)
    sums: list[Hoeffding | Chernoff] = [Chernoff(events, fine=work * 40 <= _MOST_FINE)]
    if events.is_bounded:
        sums.append(Hoeffding(events))
    parts = [
        _ending(network, ending, period, sums, events.priors, most) for ending in range(period)
    ]
    return [
        PhasedBound(kind.name, tuple(part[index] for part in parts))
        for index, kind in enumerate(sums)
    ]


def _longest(network: PeriodicNetwork | DelayedNetwork) -> int:
    return network.longest if isinstance(network, DelayedNetwork) else 0


def _ending(
    network: PeriodicNetwork | DelayedNetwork,
    ending: int,
    period: int,
    sums: list[Hoeffding | Chernoff],
    odds: FloatArray,
    most: int,
) -> list[ErrorBound]:
    """The bounds for rounds of phase `ending`, as functions of how often it has come."""
    window = period if isinstance(network, PeriodicNetwork) else network.longest + 1
    states: list[FloatArray] = []
    recent: list[deque[FloatArray]] = [deque(maxlen=window) for _ in sums]
    priors: deque[FloatArray] = deque(maxlen=window)
    terms: list[list[FloatArray]] = [[] for _ in sums]
    for lag, weights in enumerate(lagged_weights(network, ending), start=1):
        for index, kind in enumerate(sums):
            added = kind.added(weights.observed)
            recent[index].append(added)
            if lag == 1:
                states.append(added)
            else:
                states[index] = states[index] + added
        priors.append(weights.prior @ odds)
        if (lag - 1) % period != ending:
            continue
        for index, kind in enumerate(sums):
            terms[index].append(kind.log_bound(states[index], priors[-1]).ravel())
        if lag >= max(window, period) and (weights.spread <= _SETTLED or lag + period > most):
            break
    lowest = np.min(np.array(priors), axis=(0, 1))
    bounds = []
    for index, kind in enumerate(sums):
        last = np.array(recent[index])
        if isinstance(network, PeriodicNetwork):
            # Each lag's successor one period later is made of averages of its rows.
            later = np.sum([kind.worst(one[None]) for one in last], axis=0)
        else:
            later = kind.worst(last)
        bounds.append(_bound(kind, np.array(terms[index]), states[index], later, lowest))
    return bounds


def _bound(
    kind: Hoeffding | Chernoff,
    terms: FloatArray,
    state: FloatArray,
    later: FloatArray,
    lowest: FloatArray,
) -> ErrorBound:
    shape = state.shape[1:3] if isinstance(kind, Hoeffding) else (*state.shape[:2], 1)
    tail = partial(_tail, kind.log_bound, shape, state, later, lowest, len(terms))
    return ErrorBound(kind.name, terms, tail)


def _tail(
    log_bound: Callable[[FloatArray, FloatArray], FloatArray],
    shape: tuple[int, ...],
    state: FloatArray,
    later: FloatArray,
    lowest: FloatArray,
    horizon: int,
    n: FloatArray,
) -> FloatArray:
    """The log of each event's bound at its round of `n`, shape (E,)."""
    more = n.reshape(shape) - horizon
    return log_bound(state + more * later, np.broadcast_to(lowest, shape[:2])).ravel()
