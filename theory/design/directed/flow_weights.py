"""W as a point without constraints, whatever its limits are.

A W with stationary distribution v is a flow F_ij = v_i E[W]_ij on the links, as much into every
agent as out of it, and no more than its weights allow: with slack y ≥ 0 all limits on W are linear
equations A x = b in x = (v, F, y), or in (F, y) where v is given
(:mod:`theory.design.influences.flow_rows`).

For every θ there is exactly one x = exp(θ + Aᵀμ) with A x = b (that which minimises
Σ x (log(x/e^θ) − 1)), every positive x is reached, from θ = log x, and x depends smoothly on θ: so
that any method for unconstrained problems can move W. It generalises the scaling of Sinkhorn. μ is
found by Newton's method on a convex function (docs: mathematics/directed-mixing).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from theory.design.constraints import Constraints
from theory.design.graph import DesignGraph
from theory.design.influences.flow_rows import flow_rows
from theory.network import Network
from theory.network.graphs import assemble
from theory.network.structure import as_dense
from theory.validation import FloatArray, IntArray

# Positive solutions of linear equations -----------------------------------------------------------


# Rows are met to this part of the largest influence.
_ACCURACY = 1e-13
# Rows may exceed 1 by this: it is rounding.
_ROUNDING = 1e-12
_NEWTON_STEPS = 80
_HALVINGS = 50
# A Newton step may change log x by at most so much: beyond it the model is not worth following.
_LONGEST = 4.0
# What a flow that cannot be balanced counts as in a descent: line searches then turn back.
_NOWHERE = 1e6


class UnbalancedError(Exception):
    """No positive solution was found."""


@dataclass(frozen=True, eq=False)
class Positive:
    """The set {x > 0 : A x = b}, A of shape (rows, X); equations are met to `accuracy`."""

    A: FloatArray
    b: FloatArray
    accuracy: float

    def at(self, theta: FloatArray, prices: FloatArray | None) -> tuple[FloatArray, FloatArray]:
        """The x at θ, and its μ; `prices` is a μ to start from.

        Raises
        ------
        UnbalancedError
            If Newton's method finds none: where there is no positive solution.
        """
        A, b = self.A, self.b
        mu = np.zeros(len(A)) if prices is None else prices
        with np.errstate(over="ignore"):
            x = np.exp(theta + A.T @ mu)
            if not np.isfinite(x).all():
                mu = np.zeros(len(A))
                x = np.exp(theta)
            for _ in range(_NEWTON_STEPS):
                residual = b - A @ x
                if float(np.abs(residual).max(initial=0.0)) <= self.accuracy:
                    break
                step = self._solve(x, residual)
                if not np.isfinite(step).all():
                    raise UnbalancedError
                change = A.T @ step
                # Of the convex function Σ x − b μ; a step too long for exp is cut.
                length = min(1.0, _LONGEST / max(float(np.abs(change).max(initial=0.0)), 1e-300))
                now = float(x.sum() - b @ mu)
                slope = float(residual @ step)
                for _ in range(_HALVINGS):
                    moved = np.exp(theta + A.T @ (mu + length * step))
                    value = float(moved.sum() - b @ (mu + length * step))
                    if value <= now - 1e-4 * length * slope + 1e-14 * abs(now):
                        break
                    length /= 2
                mu = mu + length * step
                x = np.exp(theta + A.T @ mu)
        if not float(np.abs(b - A @ x).max(initial=0.0)) <= 1e3 * self.accuracy:
            raise UnbalancedError
        return x, mu

    def pulled_back(self, x: FloatArray, gradient: FloatArray) -> FloatArray:
        """The derivative by θ from that by x."""
        share = self._solve(x, self.A @ (x * gradient))
        return np.asarray(x * (gradient - self.A.T @ share))

    def _solve(self, x: FloatArray, right: FloatArray) -> FloatArray:
        """(A diag(x) Aᵀ)⁻¹ right, scaled to a unit diagonal first."""
        normal = (self.A * x) @ self.A.T
        scale = 1.0 / np.sqrt(np.maximum(np.diag(normal), 1e-300))
        normal *= scale[:, None] * scale
        # Far below the diagonal, far above rounding where flows span many orders of magnitude.
        normal[np.diag_indices_from(normal)] += 1e-14
        try:
            factor = cho_factor(normal, lower=True)
        except np.linalg.LinAlgError:
            raise UnbalancedError from None
        solution: FloatArray = scale * cho_solve(factor, scale * right)
        return solution


# The weights of a network -------------------------------------------------------------------------


# log x is kept this near to 0; what a start has less than this share of v is lifted to it.
_REACH = 40.0
_LEAST = 1e-4
# Weights that are hardly there: a W without them is sparse, and can be read.
_FAINT = 1e-6


@dataclass(frozen=True, eq=False)
class Point:
    """A W: v, shape (N,), flows on all links, shape (L,), and what the next one starts from."""

    v: FloatArray
    flows: FloatArray
    x: FloatArray
    prices: FloatArray


@dataclass(frozen=True, eq=False)
class Measured:
    """A value and its derivatives by E[W], shape (N, N), by v, (N,), and by further variables."""

    value: float
    by_weights: FloatArray
    by_influence: FloatArray
    by_others: FloatArray = field(default_factory=lambda: np.zeros(0))


@dataclass(frozen=True, eq=False)
class FlowWeights:
    """All W on a graph within limits, with a given v or with any v of at least `least`.

    Attributes
    ----------
    graph, limits
        Budgets of edges are met by the graph.
    given
        v, shape (N,); None if it may be anything.
    least
        The least entry of v, if it is not given.
    """

    graph: DesignGraph
    limits: Constraints
    given: FloatArray | None
    least: float = 0.0

    @cached_property
    def availability(self) -> FloatArray:
        """p_ij of each link, shape (L,)."""
        return self.limits.availability_on(self.graph)

    @cached_property
    def is_free(self) -> np.ndarray:
        """Shape (N,): whether an agent's row is to be chosen."""
        free = np.ones(self.graph.agents, dtype=bool)
        free[list(self.limits.fixed_rows)] = False
        return free

    @cached_property
    def prescribed(self) -> FloatArray:
        """E[W]_ij on links of fixed rows; 0 elsewhere; shape (L,)."""
        return np.asarray(np.nan_to_num(self.limits.fixed_on(self.graph)) * self.availability)

    @cached_property
    def _columns(self) -> tuple[IntArray, FloatArray, FloatArray]:
        """Links whose flow is a variable; A and b of all equations."""
        agents = self.graph.agents
        links = np.flatnonzero(self.is_free[self.graph.links[:, 0]])
        floor, mutual = Fraction(self.least), self.limits.symmetric
        rows = flow_rows(self.graph, self.limits, floor, mutual=mutual).as_floats()
        is_equal, whole = rows.below == rows.above, rows.A.toarray()
        equal, above, right = whole[is_equal], whole[~is_equal], rows.above[is_equal]
        v = np.full(agents, self.least) if self.given is None else self.given
        table = np.block([[equal, np.zeros((len(equal), len(above)))], [above, np.eye(len(above))]])
        b = np.append(right, np.zeros(len(above))) - table[:, :agents] @ v
        if self.given is not None:
            table, b = table[1:, agents:], b[1:]
            # A flow that has to be zero is no variable: that back to a row that does not listen.
            single = (np.count_nonzero(table, axis=1) == 1) & (b == 0)
            gone = np.flatnonzero(np.abs(table[single]).sum(axis=0))
            keep = np.setdiff1d(np.arange(table.shape[1]), gone)
            table, links = table[~single][:, keep], np.delete(links, gone)
            b = b[~single]
        return links.astype(np.int64), np.ascontiguousarray(table), b

    @property
    def links(self) -> IntArray:
        """The links whose flow is a variable."""
        return self._columns[0]

    @cached_property
    def points(self) -> Positive:
        """The equations."""
        _, A, b = self._columns
        largest = 1.0 if self.given is None else float(self.given.max())
        return Positive(A, b, _ACCURACY * largest)

    @property
    def size(self) -> int:
        """The number of variables θ."""
        return int(self.points.A.shape[1])

    @property
    def bounds(self) -> tuple[float, float]:
        """Limits of every variable."""
        return -_REACH, _REACH

    def owners_of(self, v: FloatArray) -> FloatArray:
        """The v of whom each variable belongs to, shape (X,)."""
        i = self.graph.links[:, 0]
        influence = [v] if self.given is None else []
        return np.concatenate([*influence, v[i[self.links]], v[np.unique(i[self.is_free[i]])]])

    def of(self, weights: FloatArray, v: FloatArray, *, least: float = _LEAST) -> FloatArray:
        """θ of the W to set, shape (N, N), with its v; less than `least` of v is lifted to it."""
        i, j = self.graph.links.T
        heard = weights[i, j] * v[i]
        slack = (1.0 - self.limits.minimum_self_weight) * v
        slack = slack - np.bincount(i, heard, minlength=len(v))
        influence = [v - self.least] if self.given is None else []
        flows = (heard * self.availability)[self.links]
        x = np.concatenate([*influence, flows, slack[np.unique(i[self.is_free[i]])]])
        return np.asarray(np.log(np.maximum(x, least * self.owners_of(v))))

    def at(self, theta: FloatArray, prices: FloatArray | None = None) -> Point:
        """The W at a point; `prices` are those of one nearby.

        Raises
        ------
        UnbalancedError
            If there is none.
        """
        x, mu = self.points.at(theta, prices)
        links, agents = self.links, self.graph.agents
        start = agents if self.given is None else 0
        v = self.least + x[:agents] if self.given is None else self.given
        flows = self.prescribed * v[self.graph.links[:, 0]]
        flows[links] = x[start : start + len(links)]
        return Point(v, flows, x, mu)

    def expected(self, point: Point) -> FloatArray:
        """E[W], shape (N, N)."""
        i, j = self.graph.links.T
        weights = np.zeros((self.graph.agents, self.graph.agents))
        weights[i, j] = point.flows / point.v[i]
        weights /= _excess(weights.sum(axis=1))[:, None]
        np.fill_diagonal(weights, 1.0 - weights.sum(axis=1))
        return weights

    def pull(self, point: Point, by_expected: FloatArray, by_v: FloatArray) -> FloatArray:
        """The derivative by θ from those by E[W], shape (N, N), and by v, shape (N,)."""
        links = self.links
        i, j = self.graph.links[links].T
        v = point.v[i]
        # What an agent listens to others it takes from its own weight.
        by_flow = (by_expected[i, j] - by_expected[i, i]) / v
        gradient = np.zeros(self.size)
        if self.given is None:
            agents = self.graph.agents
            moved = np.bincount(i, by_flow * point.flows[links] / v, minlength=agents)
            gradient[:agents] = by_v - moved
            gradient[agents : agents + len(links)] = by_flow
        else:
            gradient[: len(links)] = by_flow
        return self.points.pulled_back(point.x, gradient)

    def objective(
        self, function: Callable[[FloatArray, FloatArray, FloatArray], Measured]
    ) -> Callable[[FloatArray], tuple[float, FloatArray]]:
        """A function of E[W], v and further variables as one of θ and these, with its derivative.

        To be asked at points one after the other: μ is looked for near that of the point before.
        """
        prices: FloatArray | None = None

        def at(point: FloatArray) -> tuple[float, FloatArray]:
            nonlocal prices
            try:
                here = self.at(point[: self.size], prices)
            except UnbalancedError:
                return _NOWHERE, np.zeros_like(point)
            prices = here.prices
            found = function(self.expected(here), here.v, point[self.size :])
            by_theta = self.pull(here, found.by_weights, found.by_influence)
            return found.value, np.append(by_theta, found.by_others)

        return at

    def sparser(self, weights: FloatArray, v: FloatArray) -> tuple[FlowWeights, Point] | None:
        """The W to set without weights between agents below 1e-6, the others moved to suit.

        Rows that are fixed stay; v stays what it is if it is given. None if there are no such
        weights, or they are needed: by v, or for every agent to be reached.
        """
        i, j = self.graph.links.T
        size = (np.maximum(weights, weights.T) if self.limits.symmetric else weights)[i, j]
        faint = (size < _FAINT) & self.is_free[i]
        if not (size[faint] > 0).any():
            return None
        kept = (size > 0) & ~faint
        try:
            part = replace(self.graph, links=self.graph.links[kept])
            fewer = replace(self, graph=part, limits=self.limits.on(part))
            return fewer, fewer.at(fewer.of(weights, v, least=1e-12))
        except (ValueError, UnbalancedError):
            return None

    def weights(self, point: Point) -> FloatArray:
        """The W to set, shape (N, N)."""
        return as_dense(self.network(point, name="").weights)

    def network(self, point: Point, *, name: str, expected: bool = False) -> Network:
        """The network of W, or of E[W]."""
        i, j = self.graph.links.T
        weight = point.flows / point.v[i]
        if not expected:
            weight = weight / self.availability
        agents = self.graph.agents
        total = np.asarray(np.bincount(i, weight, minlength=agents), dtype=np.float64)
        weight, own = weight / _excess(total)[i], np.maximum(1.0 - total, 0.0)
        matrix = assemble(i, j, weight, agents=agents, own=own, sparse_result=False)
        for agent, row in () if expected else self.limits.fixed_rows.items():
            matrix[agent] = row
        return self.graph.network(matrix, name=name)


def _excess(total: FloatArray) -> FloatArray:
    """What rows of some sums are divided by: these where they exceed 1, else 1.

    Equations are met to an accuracy that is not small beside the least v.
    """
    return np.where(total > 1.0 + _ROUNDING, total, 1.0)
