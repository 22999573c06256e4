"""Weights for a network that changes: a local search for a larger rate, below a bound.

What an observation of agent j leaves in all log-beliefs, its influence u_j, depends on the weights
and on the course of the network together, so that no polytope describes what can be had
(docs: mathematics/changing). But whatever the weights are, u ≥ 0, Σ_j u_j ≤ 1, and u_j is at most
the share a_j of the rounds in which agent j observes, since the weight of one observation is at
most one. Hence for every choice of weights

    K ≤ max {min_θ Σ_j u_j I_j(θ*, θ) : 0 ≤ u_j ≤ a_j, Σ_j u_j ≤ 1},

a linear program. The search moves the logarithms of all weights that are positive now, the links
that are there and the phases' supports as they are, by a quasi-Newton method on a smoothed minimum
over θ; what it ends with is reported with the exact rate.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse
from scipy.optimize import Bounds, linprog, minimize

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
from theory.design.certificate import Certificate
from theory.learning import FiniteModel
from theory.network import Network
from theory.network.structure import Weights
from theory.validation import FloatArray, IntArray, as_integer, fail, read_only

# The smallest weight that the search puts on a link: closer to zero the network hardly mixes.
_FLOOR = 1e-3
# Relative to the rate itself, the smoothing of the minimum over hypotheses, in turn.
_SMOOTHING = (0.1, 0.01)
# One evaluation moves one weight: this bounds the time of the search.
_MOST_EVALUATIONS = 20_000

Progress = Callable[[int, int], None]


@dataclass(frozen=True, eq=False)
class ChangingWeights:
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


def changing_weights(
    network: ChangingNetwork,
    model: FiniteModel,
    *,
    target: int,
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

    >>> from theory import FiniteAgent, FiniteModel
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
    target = as_integer("target", target, minimum=0, maximum=len(model.hypotheses) - 1)
    if network.agents != model.agents:
        raise fail("model", f"{network.agents} agents", model.agents, "match the two")
    information = _against_rivals(model, target)
    layout = _Layout.of(network)
    given = float((influence(network).values @ information).min())
    evaluations = 0
    best = (given, network)

    def rates(logits: FloatArray) -> FloatArray:
        nonlocal evaluations, best
        candidate = layout.network(logits)
        found = np.asarray(influence(candidate).values @ information)
        evaluations += 1
        if progress is not None and evaluations % 50 == 0:
            progress(min(evaluations, effort), effort)
        if found.min() > best[0]:
            best = (float(found.min()), candidate)
        return found

    scale = max(float(np.abs(information).max()), 1e-300) / network.agents
    point = layout.logits
    steps = max(1, effort // (2 * len(_SMOOTHING) * (len(point) + 1)))
    for share in _SMOOTHING:
        width = share * max(best[0], 0.01 * scale)
        smoothed: Any = partial(_smoothed_loss, rates=rates, width=width, scale=scale)
        if len(point):
            options: Any = {"maxiter": steps, "maxfun": steps * (len(point) + 1)}
            bounds = Bounds(-12.0, 12.0)
            point = minimize(smoothed, point, method="L-BFGS-B", bounds=bounds, options=options).x
    if progress is not None:
        progress(effort, effort)
    rate, found = best
    bound = _bound(network, information)
    certificate = Certificate(
        rate, max(bound, rate), "maximise", "local", "a local search; the bound is a linear program"
    )
    shares = read_only(np.array(influence(found).values))
    return ChangingWeights(found, rate, given, shares, certificate, target, evaluations)


def _smoothed_loss(
    logits: FloatArray, *, rates: Callable[[FloatArray], FloatArray], width: float, scale: float
) -> float:
    values = rates(logits)
    least = float(values.min())
    return -(least - width * float(np.log(np.exp(-(values - least) / width).sum()))) / scale


def observing_share(network: ChangingNetwork) -> FloatArray:
    """The share of the rounds in which each agent observes, shape (N,)."""
    if isinstance(network, PeriodicNetwork):
        watched = np.array([phase.observes for phase in network.phases], dtype=np.float64)
        return np.asarray(watched.mean(axis=0))
    if isinstance(network, MarkovNetwork):
        return np.asarray(
            network.stationary_phases @ np.array([phase.observes for phase in network.phases])
        )
    if isinstance(network, RandomPresence):
        return np.asarray(network.present, dtype=np.float64)
    return np.ones(network.agents)


def _against_rivals(model: FiniteModel, target: int) -> FloatArray:
    """I_j(target, θ) for every hypothesis that is not as good for all agents; shape (N, rivals)."""
    optimal = model.optimal_hypotheses
    as_good = optimal if target in optimal else (target,)
    rivals = [m for m in range(len(model.hypotheses)) if m not in as_good]
    if not rivals:
        raise fail("target", "one with rivals", target, "there is nothing to reject")
    return np.asarray(model.information(target)[:, rivals])


def _bound(network: ChangingNetwork, information: FloatArray) -> float:
    agents, rivals = information.shape
    result = linprog(
        np.append(np.zeros(agents), -1.0),
        A_ub=np.vstack(
            [np.hstack([-information.T, np.ones((rivals, 1))]), np.append(np.ones(agents), 0.0)]
        ),
        b_ub=np.append(np.zeros(rivals), 1.0),
        bounds=[*((0.0, float(share)) for share in observing_share(network)), (None, None)],
        method="highs",
    )
    # By weak duality the multipliers prove the bound, whatever rounding did to them.
    multipliers = np.maximum(-result.ineqlin.marginals[:rivals], 0.0)
    if not multipliers.sum() > 0:
        return float(information.max())
    worth = np.maximum(information @ (multipliers / multipliers.sum()), 0.0)
    order = np.argsort(-worth)
    shares = observing_share(network)[order]
    taken = np.minimum(shares, np.maximum(1.0 - (np.cumsum(shares) - shares), 0.0))
    return float(worth[order] @ taken)


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
    return replace(network, network=Network(matrices[0], name=old.name, layout=old.layout))
