"""How many rounds are enough where the network changes in a known way.

The bounds of :mod:`theory.bounds.samples`, with the weights that past observations have in a round
of each phase. For random networks a bound would have to hold on average over the network; none is
offered, and the answer says so.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

import numpy as np

from theory.bounds.error_bound import ErrorBound
from theory.bounds.samples import SampleSize
from theory.changing.bounded import Chernoff, Hoeffding, Wrong
from theory.changing.delays import DelayedNetwork
from theory.changing.exponent import changing_exponent
from theory.changing.influence import changing_rate, check_agents
from theory.changing.kinds import ChangingNetwork
from theory.changing.lagged import lagged_weights
from theory.changing.periodic import PeriodicNetwork
from theory.changing.phase import Phase
from theory.learning.model import FiniteModel
from theory.network.network import Network
from theory.showing import Shown
from theory.typed import typed
from theory.validation import FloatArray, as_integer, as_probability, fail

# Rows that agree to this are taken to be equal only in the sense that no further lags are summed
# one by one: the tail stays a bound.
_SETTLED = 1e-6
_MOST_LAGS = 4000
_MOST_AGENTS = 1500
# Entries of weights over all lags and phases, for a few seconds.
_MOST_ENTRIES = 5e7
# Entries times wrong hypotheses times tilts up to which the fine grid of tilts is used.
_MOST_FINE = 4e9


@dataclass(frozen=True)
class ChangingSampleSizes(Shown):
    """Rounds after which every agent's arg max is right with probability 1 − δ, and from then on.

    `repaired` is Hoeffding's inequality with the exact mean, `chernoff` the better of that and of
    Chernoff's with the agents' own cumulants; both are theorems. Their `rounds` are None where
    there is no number; the note says why.
    """

    delta: float
    repaired: SampleSize
    chernoff: SampleSize


@typed
def changing_sample_sizes(
    network: Network | ChangingNetwork, model: FiniteModel, *, delta: float
) -> ChangingSampleSizes:
    """Two upper bounds on the number of rounds that is enough, for periodic phases and for delays.

    Rigorous up to rounding. From the round given on the probability of error stays at most δ in
    every round, whatever its phase.

    Raises
    ------
    ValueError
        If `delta` is not in (0, 1), or network and model have different numbers of agents.

    Examples
    --------
    >>> from theory import FiniteAgent
    >>> from theory.changing import rotating_star
    >>> coin = FiniteAgent.from_tables(
    ...     inputs=[1.0], truth=[[0.5, 0.5]], likelihood=[[[0.5, 0.5]], [[0.75, 0.25]]]
    ... )
    >>> model = FiniteModel.from_agents(["fair", "loaded"], [coin], counts=[3])
    >>> star = rotating_star(groups=2, group_size=1, edge_confidence=0.5)
    >>> sizes = changing_sample_sizes(star, model, delta=0.05)
    >>> sizes.chernoff.rounds < sizes.repaired.rounds
    True
    """
    delta = as_probability("delta", delta)
    check_agents(network, model)
    if isinstance(network, Network):
        network = PeriodicNetwork((Phase(network.weights),), name=network.name, names=network.names)
    if not isinstance(network, PeriodicNetwork | DelayedNetwork):
        return _none(delta, "random networks: no bound on average over the network is offered")
    bounds = error_bounds(network, model)
    if isinstance(bounds, str):
        return _none(delta, bounds)
    hoeffding = _size([b for b in bounds if b.name.startswith("Hoeffding")], delta)
    return ChangingSampleSizes(delta, repaired=hoeffding, chernoff=_size(bounds, delta))


@typed
def changing_error_bound(
    network: Network | PeriodicNetwork | DelayedNetwork, model: FiniteModel, rounds: int
) -> float:
    """An upper bound on P(some agent errs at round n), rigorous up to rounding; at most one.

    Raises
    ------
    ValueError
        If network and model have different numbers of agents, `rounds` is below 1, or the network
        is random: no bound on average over the network is offered.
    """
    n = as_integer("rounds", rounds, minimum=1)
    check_agents(network, model)
    if isinstance(network, Network):
        network = PeriodicNetwork((Phase(network.weights),), name=network.name, names=network.names)
    if not isinstance(network, PeriodicNetwork | DelayedNetwork):
        raise fail(
            "network",
            "periodic phases or delays",
            type(network).__name__,
            "estimate the error by simulation",
        )
    bounds = error_bounds(network, model)
    return 1.0 if isinstance(bounds, str) else min((b.probability(n) for b in bounds), default=1.0)


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


def error_bounds(
    network: PeriodicNetwork | DelayedNetwork, model: FiniteModel
) -> list[PhasedBound] | str:
    """The bounds that apply, or why there is none."""
    if network.agents > _MOST_AGENTS:
        return f"not computed for more than {_MOST_AGENTS} agents"
    period = network.period if isinstance(network, PeriodicNetwork) else 1
    most = int(min(_MOST_LAGS, _MOST_ENTRIES / (period * network.agents**2)))
    if most < 4 * period or most < 4 * _longest(network):
        return "not computed: too many agents for this many phases"
    rate = changing_rate(network, model)
    wrong = Wrong(model, rate, changing_exponent(network, model))
    if not wrong.hypotheses:
        return "every hypothesis is optimal: there is nothing to reject"
    if not rate.rate > 0:
        return "some wrong hypothesis is never rejected"
    work = float(period * network.agents**2 * len(wrong.hypotheses)) * min(most, 500)
    sums: list[Hoeffding | Chernoff] = [Chernoff(wrong, fine=work * 40 <= _MOST_FINE)]
    if wrong.is_bounded:
        sums.append(Hoeffding(wrong))
    parts = [_ending(network, ending, period, sums, wrong, most) for ending in range(period)]
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
    wrong: Wrong,
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
        priors.append(weights.prior @ wrong.priors)
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
    horizon = len(terms)
    agents, hypotheses = state.shape[1:3] if isinstance(kind, Hoeffding) else state.shape[:2]

    def tail(n: FloatArray) -> FloatArray:
        more = n.reshape(agents, hypotheses) - horizon
        if isinstance(kind, Chernoff):
            more = more[..., None]
        return kind.log_bound(
            state + more * later, np.broadcast_to(lowest, (agents, hypotheses))
        ).ravel()

    return ErrorBound(kind.name, terms, tail)


def _size(bounds: list[PhasedBound], delta: float) -> SampleSize:
    found = [(n, b.name) for b in bounds if (n := b.smallest_rounds(delta)) is not None]
    if found:
        return SampleSize(min(found)[0], True, min(found)[1])
    if not bounds:
        note = "unbounded likelihoods: Hoeffding's inequality does not apply"
    else:
        note = "no bound: the network learns too slowly"
    return SampleSize(None, True, note)


def _none(delta: float, note: str) -> ChangingSampleSizes:
    size = SampleSize(None, True, note)
    return ChangingSampleSizes(delta, size, size)
