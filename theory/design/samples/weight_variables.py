"""W in variables that a descent may move: rows by logarithms, or flows that keep v uniform.

Without more than rows to respect, W_ij = s 1{i = j} + (1 − s) e^{x_ij} / Σ_l e^{x_il} has any
weights on the graph's links, whatever x is. Where E[W] has to be symmetric or doubly stochastic x
are coordinates of its flow (:mod:`theory.design.directed.flow_coordinates`).

Availability p enters here: what is judged is E[W], with E[W]_ij = p_ij W_ij and the rest the
agent's own.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol

import numpy as np

from theory.design.constraints import Constraints
from theory.design.directed.flow_coordinates import FlowCoordinates, FlowWeights, Influence
from theory.design.graph import DesignGraph
from theory.design.samples.converse import Judged, perfect_mixing
from theory.design.samples.cover import Evidence
from theory.design.samples.mixing_descent import Start, Tried
from theory.learning.model import FiniteModel
from theory.learning.rate import error_exponent
from theory.network import Network
from theory.network.structure import as_dense
from theory.progress import Progress
from theory.validation import FloatArray, IntArray

# W in variables that a descent may move ----------------------------------------------------------


# Weights below this count as this in logarithms: a descent can bring them back.
_FAINT = 1e-5
# Logarithms reach no further: e^{−20} of a row is 2e-9.
_FAR = 20.0


def expected_weights(weights: FloatArray, graph: DesignGraph, limits: Constraints) -> FloatArray:
    """E[W], shape (N, N): what is lost on a link stays with the listener."""
    up = np.ones_like(weights)
    listener, speaker = graph.links.T
    up[listener, speaker] = limits.availability_on(graph)
    result = weights * up
    np.fill_diagonal(result, 0.0)
    np.fill_diagonal(result, 1.0 - result.sum(axis=1))
    return result


def expected_network(network: Network, graph: DesignGraph, limits: Constraints) -> Network:
    """The network of E[W]; the same object where links do not fail."""
    if (limits.availability_on(graph) == 1).all():
        return network
    weights = expected_weights(as_dense(network.weights), graph, limits)
    return replace(network, weights=weights)


class WeightVariables(Protocol):
    """Variables x of W."""

    @property
    def bounds(self) -> tuple[float, float]:
        """Limits of every variable."""
        ...

    def of(self, weights: FloatArray) -> FloatArray:
        """X of the W to set, shape (N, N)."""
        ...

    def weights(self, x: FloatArray) -> FloatArray:
        """The W to set, shape (N, N)."""
        ...

    def expected(self, x: FloatArray) -> FloatArray:
        """E[W], shape (N, N)."""
        ...

    def pull(self, x: FloatArray, by_expected: FloatArray) -> FloatArray:
        """The derivative by x from that by E[W]."""
        ...


@dataclass(frozen=True, eq=False)
class RowLogarithms:
    """The rows that are not fixed, by logarithms."""

    graph: DesignGraph
    limits: Constraints

    @property
    def bounds(self) -> tuple[float, float]:
        """Far enough for weights of 1e-9."""
        return -_FAR, _FAR

    @cached_property
    def _free(self) -> IntArray:
        fixed = self.limits.fixed_rows
        return np.array([i for i in range(self.graph.agents) if i not in fixed], dtype=np.int64)

    @cached_property
    def _open(self) -> np.ndarray:
        """Shape (N, N): the weights that are variables."""
        marks = np.eye(self.graph.agents, dtype=bool)
        marks[self.graph.links[:, 0], self.graph.links[:, 1]] = True
        marks[list(self.limits.fixed_rows)] = False
        return marks

    @cached_property
    def _up(self) -> FloatArray:
        up = np.ones((self.graph.agents, self.graph.agents))
        listener, speaker = self.graph.links.T
        up[listener, speaker] = self.limits.availability_on(self.graph)
        return up

    def of(self, weights: FloatArray) -> FloatArray:
        """Logarithms of the weights beside the least that agents keep, mean zero in each row."""
        own = self.limits.minimum_self_weight
        shares = (weights - own * np.eye(len(weights))) / (1 - own)
        logs = np.where(self._open, np.log(np.maximum(shares, _FAINT)), 0.0)
        logs -= (logs.sum(axis=1) / np.maximum(self._open.sum(axis=1), 1))[:, None]
        return np.asarray(logs[self._open])

    def _shares(self, x: FloatArray) -> FloatArray:
        logs = np.full(self._open.shape, -np.inf)
        logs[self._open] = x
        free = self._free
        shares = np.zeros(self._open.shape)
        rows = np.exp(logs[free] - logs[free].max(axis=1, keepdims=True))
        shares[free] = rows / rows.sum(axis=1, keepdims=True)
        return shares

    def weights(self, x: FloatArray) -> FloatArray:
        """Rows by softmax; fixed rows as they are."""
        own = self.limits.minimum_self_weight
        result = (1 - own) * self._shares(x) + own * np.eye(self.graph.agents)
        for agent, row in self.limits.fixed_rows.items():
            result[agent] = row
        return result

    def expected(self, x: FloatArray) -> FloatArray:
        """E[W]."""
        return expected_weights(self.weights(x), self.graph, self.limits)

    def pull(self, x: FloatArray, by_expected: FloatArray) -> FloatArray:
        """Through availability and softmax."""
        by_weights = self._up * (by_expected - np.diag(by_expected)[:, None])
        np.fill_diagonal(by_weights, 0.0)
        shares = self._shares(x)
        inner = (shares * by_weights).sum(axis=1, keepdims=True)
        by_logs = (1 - self.limits.minimum_self_weight) * shares * (by_weights - inner)
        return np.asarray(by_logs[self._open])


def weight_variables(graph: DesignGraph, limits: Constraints) -> WeightVariables:
    """The variables that fit the constraints."""
    if limits.forces_uniform:
        uniform = Influence(np.full(graph.agents, 1 / graph.agents), graph.agents)
        return FlowWeights(FlowCoordinates.of(graph, limits), uniform)
    return RowLogarithms(graph, limits)


# Which of several designs comes first, and how far a search has got ------------------------------


# Weights that agree to this are one start.
SAME = 1e-6
# A horizon for descents where no design has a bound yet.
_UNKNOWN = 1000


def strongest(model: FiniteModel, tried: tuple[Tried, ...]) -> FloatArray:
    """The influence with the largest error exponent."""
    exponents = [error_exponent(perfect_mixing(one.v), model).exponent for one in tried]
    return tried[int(np.argmax(exponents))].v


def strongest_of(evidence: tuple[Evidence, ...], influences: list[FloatArray]) -> FloatArray:
    """The influence with the largest exponent against all evidence."""
    values = [min(e.exponent(v) for e in evidence) for v in influences]
    return influences[int(np.argmax(values))]


def different(starts: list[Start]) -> list[Start]:
    """The first of those with the same weights."""
    kept: list[Start] = []
    for start in starts:
        weights = as_dense(start.network.weights)
        if all(np.abs(weights - as_dense(one.network.weights)).max() > SAME for one in kept):
            kept.append(start)
    return kept


def fewest_rounds(found: list[Judged]) -> int:
    """The fewest rounds that are known to be enough."""
    known = [one.row.rounds for one in found if one.row.rounds is not None]
    return min(known, default=_UNKNOWN)


def by_rounds(one: Judged) -> tuple[float, float]:
    """Fewest rounds first; among equals the smaller lower end."""
    rounds, lower = one.row.rounds, one.row.samples.lower
    return (
        np.inf if rounds is None else float(rounds),
        np.inf if lower is None else float(lower),
    )


class Steps:
    """Progress, in networks looked at."""

    def __init__(self, progress: Progress | None, total: int) -> None:
        self._progress, self._total, self._done = progress, total, 0

    def done(self) -> None:
        """One more."""
        self._reach(min(self._done + 1, self._total))

    def finish(self) -> None:
        """All of them, where there were fewer than foreseen."""
        if self._done < self._total:
            self._reach(self._total)

    def _reach(self, done: int) -> None:
        self._done = done
        if self._progress is not None:
            self._progress(self._done, self._total)
