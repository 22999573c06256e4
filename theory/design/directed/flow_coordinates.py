"""All positive flows with given stationary distribution, in coordinates without constraints.

A W with stationary distribution v is a flow F_ij = v_i W_ij on the links, as much into every agent
as out of it, and no more than its weights allow: with slack y_i > 0,

    Σ_j F_ij − Σ_j F_ji = 0,    Σ_j F_ij/p_ij + y_i = (1 − s) v_i.

Write x = (F, y) and A x = b for these rows. For every θ there is exactly one x = exp(θ + Aᵀμ) with
A x = b (that which minimises Σ x (log(x/e^θ) − 1)), every positive x is reached, from θ = log x,
and x depends smoothly on θ: so that any method for unconstrained problems can move flows. It
generalises the scaling of Sinkhorn. μ is found by Newton's method on a convex function (docs:
mathematics/directed-mixing). Where E[W] has to be symmetric an edge is one variable for both of its
directions, and flows balance by themselves.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.special import softmax

from theory.design.constraints import Constraints
from theory.design.graph import DesignGraph
from theory.network import Network
from theory.network.graphs import assemble
from theory.network.structure import as_dense
from theory.validation import FloatArray, IntArray

# Rows are met to this part of the smallest influence.
_ACCURACY = 1e-13
_NEWTON_STEPS = 80
_HALVINGS = 50
# A Newton step may change log x by at most so much: beyond it the model is not worth following.
_LONGEST = 4.0


class UnbalancedError(Exception):
    """No positive flow was found."""


@dataclass(frozen=True, eq=False)
class Flow:
    """A point: x, shape (X,), and v, shape (N,), with what derivatives need."""

    x: FloatArray
    v: FloatArray
    prices: FloatArray


@dataclass(frozen=True, eq=False)
class PulledBack:
    """Derivatives by θ, shape (X,), and by v, shape (N,)."""

    by_coordinates: FloatArray
    by_influence: FloatArray


@dataclass(frozen=True, eq=False)
class NetworkPair:
    """The W to set, and E[W]; one object if all links are always up."""

    network: Network
    expected: Network


@dataclass(frozen=True, eq=False)
class FlowCoordinates:
    """Flows on the links of a graph.

    Attributes
    ----------
    graph
        N agents, L links.
    availability
        Shape (L,): p_ij.
    free
        Rows of `links` whose flow is to be chosen.
    own_row
        Shape (N,): whether an agent's row is to be chosen.
    listening
        Shape (N,): the most that an agent's weights on others may sum to; 1 − s.
    prescribed
        Shape (L,): E[W]_ij on links of fixed rows, and on those back if flows are mutual; 0
        elsewhere.
    back
        The links in the other direction of `free`, whose flow is the same, if E[W] is symmetric;
        else none.
    """

    graph: DesignGraph
    availability: FloatArray
    free: IntArray
    own_row: np.ndarray
    listening: FloatArray
    prescribed: FloatArray
    back: IntArray

    @classmethod
    def of(cls, graph: DesignGraph, constraints: Constraints) -> FlowCoordinates:
        """The flows that constraints leave."""
        constraints.check(graph)
        up = constraints.availability_on(graph)
        listener, speaker = graph.links.T
        fixed = np.zeros(graph.agents, dtype=bool)
        prescribed = np.zeros(len(graph.links))
        for agent, row in constraints.fixed_rows.items():
            fixed[agent] = True
            here = listener == agent
            prescribed[here] = row[speaker[here]] * up[here]
        chosen = ~fixed[listener]
        back = np.zeros(0, dtype=np.int64)
        if constraints.symmetric:
            prescribed = np.maximum(prescribed, prescribed[graph.reverse])
            chosen &= ~fixed[speaker] & (listener < speaker)
            back = graph.reverse[chosen]
        listening = np.where(fixed, 0.0, 1.0 - constraints.minimum_self_weight)
        free = np.flatnonzero(chosen).astype(np.int64)
        return cls(graph, up, free, ~fixed, listening, prescribed, back)

    @property
    def size(self) -> int:
        """The number of coordinates."""
        return len(self.free) + int(self.own_row.sum())

    @cached_property
    def matrix(self) -> FloatArray:
        """A, shape (rows, X): balance of all agents but the last, then limits of free rows."""
        agents, links = self.graph.agents, len(self.free)
        balance = np.zeros((agents, self.size))
        here = np.arange(links)
        i, j = self.graph.links[self.free].T
        balance[i, here] += 1.0
        balance[j, here] -= 1.0
        limit = np.zeros((agents, self.size))
        limit[i, here] = 1.0 / self.availability[self.free]
        if len(self.back):
            limit[j, here] = 1.0 / self.availability[self.back]
        limit[np.flatnonzero(self.own_row), links + np.arange(int(self.own_row.sum()))] = 1.0
        return np.concatenate([balance[: self._balanced], limit[self.own_row]])

    @property
    def _balanced(self) -> int:
        """How many agents' balance has to be asked for: none of mutual flows."""
        return 0 if len(self.back) else self.graph.agents - 1

    @cached_property
    def right_side(self) -> FloatArray:
        """B = C v: this C, shape (rows, N)."""
        agents = self.graph.agents
        balance = np.zeros((agents, agents))
        i, j = self.graph.links.T
        np.add.at(balance, (i, i), -self.prescribed)
        np.add.at(balance, (j, i), self.prescribed)
        taken = np.bincount(i, self.prescribed / self.availability, minlength=agents)
        room = np.diag(self.listening - taken)
        return np.concatenate([balance[: self._balanced], room[self.own_row]])

    def flow(self, theta: FloatArray, v: FloatArray, prices: FloatArray | None = None) -> Flow:
        """The x at coordinates `theta`, shape (X,).

        Raises
        ------
        UnbalancedError
            If Newton's method finds none: where fixed rows leave no positive flow.
        """
        A, b = self.matrix, self.right_side @ v
        mu = np.zeros(len(A)) if prices is None else prices
        accuracy = _ACCURACY * float(v.max())
        with np.errstate(over="ignore"):
            x = np.exp(theta + A.T @ mu)
            if not np.isfinite(x).all():
                mu = np.zeros(len(A))
                x = np.exp(theta)
            for _ in range(_NEWTON_STEPS):
                residual = b - A @ x
                if float(np.abs(residual).max(initial=0.0)) <= accuracy:
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
        if not float(np.abs(b - A @ x).max(initial=0.0)) <= 1e3 * accuracy:
            raise UnbalancedError
        return Flow(x, v, mu)

    def pulled_back(self, flow: Flow, by_flow: FloatArray, by_influence: FloatArray) -> PulledBack:
        """Derivatives by θ and v from those by F on links, shape (L,), and by v, shape (N,)."""
        gradient = np.zeros(self.size)
        gradient[: len(self.free)] = by_flow[self.free]
        if len(self.back):
            gradient[: len(self.free)] += by_flow[self.back]
        A, x = self.matrix, flow.x
        share = self._solve(x, A @ (x * gradient))
        by_v = by_influence + self.right_side.T @ share
        i = self.graph.links[:, 0]
        by_v = by_v + np.bincount(i, by_flow * self.prescribed, minlength=len(by_v))
        return PulledBack(x * (gradient - A.T @ share), by_v)

    def link_flows(self, flow: Flow) -> FloatArray:
        """F_ij = v_i E[W]_ij on all links, shape (L,)."""
        flows = self.prescribed * flow.v[self.graph.links[:, 0]]
        flows[self.free] = flow.x[: len(self.free)]
        if len(self.back):
            flows[self.back] = flow.x[: len(self.free)]
        return flows

    def coordinates(self, flows: FloatArray, v: FloatArray, *, least: float) -> FloatArray:
        """θ = log x for flows on all links, (L,); less than `least` v_i is lifted to it."""
        i = self.graph.links[:, 0]
        taken = np.bincount(i, flows / self.availability, minlength=len(v))
        slack = (self.listening * v - taken)[self.own_row]
        x = np.concatenate([flows[self.free], slack])
        lowest = least * np.concatenate([v[i[self.free]], v[self.own_row]])
        return np.asarray(np.log(np.maximum(x, lowest)))

    def expected(self, flow: Flow) -> FloatArray:
        """E[W], shape (N, N)."""
        agents = self.graph.agents
        i, j = self.graph.links.T
        weights = np.zeros((agents, agents))
        weights[i, j] = self.link_flows(flow) / flow.v[i]
        weights[np.arange(agents), np.arange(agents)] = 1.0 - weights.sum(axis=1)
        return weights

    def networks(self, flow: Flow, *, name: str) -> NetworkPair:
        """The W to set, and E[W]; one object if all links are always up."""
        i, j = self.graph.links.T
        weight = self.link_flows(flow) / flow.v[i]
        expected = self._network(i, j, weight, name)
        if (self.availability == 1).all():
            return NetworkPair(expected, expected)
        return NetworkPair(self._network(i, j, weight / self.availability, name), expected)

    def _network(self, i: IntArray, j: IntArray, weight: FloatArray, name: str) -> Network:
        agents = self.graph.agents
        own = np.maximum(1.0 - np.bincount(i, weight, minlength=agents), 0.0)
        matrix = assemble(i, j, weight, agents=agents, own=own, sparse_result=False)
        return self.graph.network(matrix, name=name)

    def _solve(self, x: FloatArray, right: FloatArray) -> FloatArray:
        """(A diag(x) Aᵀ)⁻¹ right, scaled to a unit diagonal first."""
        A = self.matrix
        normal = (A * x) @ A.T
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


# The weights of a network, as coordinates of its flow and of v ------------------------------------


# log x is kept this near to 0; weights of a start are lifted to at least this.
_REACH = 40.0
_LEAST = 1e-4


@dataclass(frozen=True, eq=False)
class Influence:
    """Either a given v, shape (N,), or any v with no entry below `least`."""

    given: FloatArray | None
    agents: int
    least: float = 0.0

    @property
    def size(self) -> int:
        """The number of coordinates of v."""
        return 0 if self.given is not None else self.agents

    def at(self, coordinates: FloatArray) -> FloatArray:
        """The v at some coordinates, shape (`size`,)."""
        if self.given is not None:
            return self.given
        share = (1.0 - self.agents * self.least) * softmax(coordinates)
        return np.asarray(self.least + share)

    def pulled_back(self, coordinates: FloatArray, by_v: FloatArray) -> FloatArray:
        """The derivative by coordinates from that by v."""
        if self.given is not None:
            return np.zeros(0)
        part = softmax(coordinates)
        return np.asarray((1.0 - self.agents * self.least) * part * (by_v - float(part @ by_v)))

    def coordinates(self, v: FloatArray) -> FloatArray:
        """Coordinates at which `at` is about v."""
        if self.given is not None:
            return np.zeros(0)
        part = np.maximum(v - self.least, 1e-3 / self.agents)
        return np.asarray(np.log(part / part.sum()))


class FlowWeights:
    """W as a point that a descent may move: coordinates of its flow, and then of v."""

    def __init__(self, coordinates: FlowCoordinates, influence: Influence) -> None:
        self.coordinates, self.influence = coordinates, influence
        self.prices: FloatArray | None = None
        """Those of the flow looked at last, to start the next from."""
        self._last: tuple[FloatArray, Flow] | None = None

    @property
    def size(self) -> int:
        """The number of variables."""
        return self.coordinates.size + self.influence.size

    @property
    def bounds(self) -> tuple[float, float]:
        """Limits of every variable."""
        return -_REACH, _REACH

    def of(self, weights: FloatArray, v: FloatArray | None = None) -> FloatArray:
        """The point of the W to set, shape (N, N), with v; that which is given if left out."""
        v = self.influence.at(np.zeros(self.influence.size)) if v is None else v
        links, up = self.coordinates.graph.links, self.coordinates.availability
        flows = weights[links[:, 0], links[:, 1]] * up * v[links[:, 0]]
        theta = self.coordinates.coordinates(flows, v, least=_LEAST)
        return np.concatenate([theta, self.influence.coordinates(v)])

    def flow(self, x: FloatArray) -> Flow:
        """The flow at a point.

        Raises
        ------
        UnbalancedError
            If there is none.
        """
        if self._last is None or not np.array_equal(x, self._last[0]):
            size = self.coordinates.size
            found = self.coordinates.flow(x[:size], self.influence.at(x[size:]), self.prices)
            self._last, self.prices = (x.copy(), found), found.prices
        return self._last[1]

    def forget(self) -> None:
        """Start the next flow from nothing."""
        self._last = self.prices = None

    def expected(self, x: FloatArray) -> FloatArray:
        """E[W], shape (N, N)."""
        return self.coordinates.expected(self.flow(x))

    def weights(self, x: FloatArray) -> FloatArray:
        """The W to set, shape (N, N)."""
        networks = self.coordinates.networks(self.flow(x), name="")
        return as_dense(networks.network.weights)

    def pull(
        self, x: FloatArray, by_expected: FloatArray, by_v: FloatArray | None = None
    ) -> FloatArray:
        """The derivative by x from that by E[W], and by v."""
        flow = self.flow(x)
        v, weights = flow.v, self.coordinates.expected(flow)
        # W_ij = F_ij / v_i, and what an agent listens to others it takes from its own weight.
        i, j = self.coordinates.graph.links.T
        by_weight = by_expected[i, j] - by_expected[i, i]
        moved = np.bincount(i, by_weight * weights[i, j] / v[i], minlength=len(v))
        besides = np.zeros(len(v)) if by_v is None else by_v
        pulled = self.coordinates.pulled_back(flow, by_weight / v[i], besides - moved)
        by_eta = self.influence.pulled_back(x[self.coordinates.size :], pulled.by_influence)
        return np.concatenate([pulled.by_coordinates, by_eta])
