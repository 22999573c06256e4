"""Weights for a network that changes: a local search for a larger rate, below a bound.

What an observation of agent j leaves in all log-beliefs, its influence u_j, depends on the weights
and on the course of the network together. But in a round of sort s, which happens with frequency
π_s, the observations that are made have weights m_s ≥ 0 in the end whose sum is at most one,
whatever the weights are. Hence

    K ≤ max {min_θ Σ_j u_j I_j(θ*, θ) : u_j = Σ_s π_s a_sj m_sj, Σ_j m_sj ≤ 1},

with a_sj one if agent j observes in such rounds and else zero; where agents come and go by chance,
one sort of round with a_j the probability that j is present (docs: mathematics/changing). This is
a linear program. The search moves the logarithms of all weights that are positive now, the links
that are there and the phases' supports as they are, by a quasi-Newton method on a smoothed minimum
over θ; what it ends with is reported with the exact rate.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from theory.changing import (
    ChangingNetwork,
    DelayedNetwork,
    MarkovNetwork,
    PeriodicNetwork,
    Phase,
    RandomLinks,
    RandomPresence,
    influence,
)
from theory.design.influences.flow_rows import LinearRows
from theory.design.rate.rate_program import LeastProgram, as_good
from theory.design.search import Certificate, Search, descended
from theory.learning import FiniteModel
from theory.network.structure import Weights
from theory.progress import Progress
from theory.scientific import sparse
from theory.showing import Shown
from theory.typed import typed
from theory.validation import FloatArray, IntArray, as_position, fail, read_only

# The smallest weight that the search puts on a link: closer to zero the network hardly mixes.
_FLOOR = 1e-3
# Relative to the rate itself, the smoothing of the minimum over hypotheses, in turn.
_SMOOTHING = (0.1, 0.01)
# One evaluation moves one weight: this bounds the time of the search.
_MOST_EVALUATIONS = 20_000


@dataclass(frozen=True, eq=False)
class ChangingWeights(Shown):
    """The best weights that a search found for a network that changes.

    Attributes
    ----------
    network
        The network with these weights; what changes is as given.
    rate, given_rate
        min_θ Σ_j u_j I_j(target, θ) with the weights found and with those given, in nats per round;
        floating point.
    influence
        u, shape (N,), with the weights found.
    certificate
        The rate beside the bound of the linear program.
    target
        The hypothesis that the others are told from.
    evaluations
        How many networks were tried.
    """

    network: ChangingNetwork
    rate: float
    given_rate: float
    influence: FloatArray
    certificate: Certificate
    target: int
    evaluations: int


@typed
def changing_weights(
    network: ChangingNetwork,
    model: FiniteModel,
    *,
    target: int | str,
    effort: int = _MOST_EVALUATIONS,
    progress: Progress | None = None,
) -> ChangingWeights:
    """Weights with a larger rate, found by descent from those given.

    Parameters
    ----------
    network
        What changes, and the weights to start from; only positive weights are moved.
    target
        The hypothesis to be learnt.
    effort
        About how many networks may be tried.
    progress
        Called with (done, total).

    Raises
    ------
    ValueError
        If network and model do not fit, or `target` is no hypothesis.

    Examples
    --------
    Where messages are late, an agent that is well informed should hardly listen.

    >>> from theory import FiniteAgent, FiniteModel, Network
    >>> from theory.changing import DelayedNetwork
    >>> fair, loaded = [0.5, 0.5], [0.75, 0.25]
    >>> knows = FiniteAgent.from_tables(inputs=[1], truth=[fair], likelihood=[[fair], [loaded]])
    >>> blind = FiniteAgent.from_tables(inputs=[1], truth=[fair], likelihood=[[fair], [fair]])
    >>> model = FiniteModel.from_agents(["fair", "loaded"], [knows, blind])
    >>> late = DelayedNetwork(Network([[0.5, 0.5], [0.5, 0.5]]), 2)
    >>> found = changing_weights(late, model, target=0)
    >>> found.given_rate < found.rate < found.certificate.bound
    True
    """
    target = as_position("target", target, model.hypotheses)
    if network.agents != model.agents:
        raise fail("model", f"{network.agents} agents", model.agents, "match the two")
    information = _against_rivals(model, target)
    layout = _Layout.of(network)
    given = float((influence(network).values @ information).min())
    evaluations = 0
    search = Search[ChangingNetwork]("maximise")
    search.offer(given, network)

    def rates(logits: FloatArray) -> FloatArray:
        nonlocal evaluations
        candidate = layout.network(logits)
        found = np.asarray(influence(candidate).values @ information)
        evaluations += 1
        if search.is_over:
            raise StopIteration
        if progress is not None and evaluations % 50 == 0:
            progress(min(evaluations, effort), effort)
        search.offer(float(found.min()), candidate)
        return found

    scale = max(float(np.abs(information).max()), 1e-300) / network.agents
    point = layout.logits
    steps = max(1, effort // (2 * len(_SMOOTHING) * (len(point) + 1)))
    for share in search.over(_SMOOTHING if len(point) else ()):
        width = share * max(search.value, 0.01 * scale)
        point = descended(
            partial(_smoothed_loss, rates=rates, width=width, scale=scale),
            point,
            bounds=[(-12.0, 12.0)] * len(point),
            iterations=steps,
            jac=False,
            maxfun=steps * (len(point) + 1),
        )
    if progress is not None:
        progress(effort, effort)
    search.raise_bound(
        rate_bound(network, information), "a local search; the bound is a linear program"
    )
    certificate, found = search.certificate("local"), search.best
    assert found is not None
    shares = read_only(np.array(influence(found).values))
    return ChangingWeights(found, search.value, given, shares, certificate, target, evaluations)


def _smoothed_loss(
    logits: FloatArray, *, rates: Callable[[FloatArray], FloatArray], width: float, scale: float
) -> float:
    values = rates(logits)
    least = float(values.min())
    return -(least - width * float(np.log(np.exp(-(values - least) / width).sum()))) / scale


@dataclass(frozen=True, eq=False)
class ObservingRounds:
    """Who observes: the sorts of rounds, whatever the weights are.

    Attributes
    ----------
    frequencies
        π, shape (S,), sums to one.
    shares
        a, shape (S, N): u_j = Σ_s π_s a_sj m_sj for some m_s ≥ 0 with Σ_j m_sj ≤ 1.
    """

    frequencies: FloatArray
    shares: FloatArray


def observing_rounds(network: ChangingNetwork) -> ObservingRounds:
    """The sorts of rounds of a network: those in which the same agents observe are one sort."""
    if isinstance(network, RandomPresence):
        present = np.asarray(network.present, dtype=np.float64)
        return ObservingRounds(np.ones(1), present[None])
    if isinstance(network, PeriodicNetwork | MarkovNetwork):
        watched = np.array([phase.observes for phase in network.phases], dtype=np.float64)
        frequencies = np.full(len(watched), 1 / len(watched))
        if isinstance(network, MarkovNetwork):
            frequencies = network.stationary_phases
        sorts, which = np.unique(watched, axis=0, return_inverse=True)
        totals = np.zeros(len(sorts))
        np.add.at(totals, which.ravel(), frequencies)
        return ObservingRounds(totals, sorts)
    return ObservingRounds(np.ones(1), np.ones((1, network.agents)))


def _against_rivals(model: FiniteModel, target: int) -> FloatArray:
    """I_j(target, θ) for every hypothesis that is not as good for all agents; shape (N, rivals)."""
    right = as_good(model, target)
    rivals = [m for m in range(len(model.hypotheses)) if m not in right]
    if not rivals:
        raise fail("target", "one with rivals", target, "there is nothing to reject")
    return np.asarray(model.information(target)[:, rivals])


def rate_bound(network: ChangingNetwork, information: FloatArray) -> float:
    """What K is at most for all weights; I of shape (N, M'). By weak duality, right to rounding."""
    rounds = observing_rounds(network)
    if not np.abs(information).max(axis=0).min():
        return 0.0  # what nobody rejects is rejected at no rate
    sort, agent = np.nonzero(rounds.shares)
    gain = (rounds.frequencies[sort] * rounds.shares[sort, agent])[:, None] * information[agent]
    each = (np.ones(sort.size), (sort, np.arange(sort.size)))
    sorts = len(rounds.frequencies)
    at_most_one = LinearRows(
        sort.size,
        sparse.csr_array(each, shape=(sorts, sort.size)),
        np.full(sorts, -np.inf),
        np.ones(sorts),
        np.zeros(sort.size),
    )
    even = 1 / np.bincount(sort)[sort]
    multipliers = LeastProgram(at_most_one, gain, start=even).solve().multipliers
    if not multipliers.any():
        multipliers = np.ones(information.shape[1])
    # Any multipliers prove a bound, whatever rounding did to them.
    worth = np.maximum(information @ (multipliers / multipliers.sum()), 0.0)
    return float(rounds.frequencies @ (rounds.shares * worth).max(axis=1))


@dataclass(frozen=True, eq=False)
class _Layout:
    """Where the weights of a network that changes are, as one vector of logarithms."""

    given: ChangingNetwork
    rows: tuple[IntArray, ...]
    columns: tuple[IntArray, ...]
    logits: FloatArray

    @classmethod
    def of(cls, network: ChangingNetwork) -> _Layout:
        rows, columns, values = [], [], []
        for weights in _matrices(network):
            table = sparse.coo_array(weights)
            row, column = (np.asarray(axis, dtype=np.int64) for axis in table.coords)
            # A row with a single weight has nothing to choose.
            free = (np.bincount(row, minlength=network.agents) > 1)[row] & (table.data > 0)
            rows.append(row[free])
            columns.append(column[free])
            values.append(np.log(table.data[free]))
        return cls(network, tuple(rows), tuple(columns), np.concatenate(values))

    def network(self, logits: FloatArray) -> ChangingNetwork:
        agents, start, matrices = self.given.agents, 0, []
        for weights, row, column in zip(
            _matrices(self.given), self.rows, self.columns, strict=True
        ):
            part = logits[start : start + len(row)]
            start += len(row)
            top = np.full(agents, -np.inf)
            np.maximum.at(top, row, part)
            share = np.exp(part - top[row])
            share /= np.bincount(row, share, minlength=agents)[row]
            count = np.bincount(row, minlength=agents)[row]
            matrix = np.array(weights.toarray() if sparse.issparse(weights) else weights)
            matrix[row, column] = _FLOOR / count + (1 - _FLOOR) * share
            matrices.append(matrix / matrix.sum(axis=1, keepdims=True))
        return _with_matrices(self.given, matrices)


def _matrices(network: ChangingNetwork) -> list[Weights]:
    if isinstance(network, PeriodicNetwork | MarkovNetwork):
        return [phase.weights for phase in network.phases]
    return [network.network.weights]


def _with_matrices(network: ChangingNetwork, matrices: list[FloatArray]) -> ChangingNetwork:
    if isinstance(network, PeriodicNetwork | MarkovNetwork):
        phases = tuple(
            Phase(matrix, active=phase.observes)
            for matrix, phase in zip(matrices, network.phases, strict=True)
        )
        return replace(network, phases=phases)
    assert isinstance(network, RandomLinks | RandomPresence | DelayedNetwork)
    old = network.network
    return replace(network, network=replace(old, weights=matrices[0]))
