"""A primal-dual interior-point method for the fastest reversible mixing.

minimise r over g and r, subject to

    Z₁ = rI − (S(g) − qqᵀ) ⪰ 0,   Z₂ = rI + (S(g) − qqᵀ) ⪰ 0,   g ≥ 0,   Aᵀg ≤ budget shares,

q = √v. It is the log-barrier method on edge flows with the multipliers of the barrier,
X_k ≈ μ Z_k⁻¹, as variables of their own: directions of Helmberg, Kojima and Monteiro, Mehrotra's
predictor and corrector, feasible on both sides from the first step to the last. The number of
steps, some ten to thirty-five, hardly depends on the graph, whereas the barrier alone slows down
where many eigenvalues crowd at the optimum, as on random geometric graphs (docs:
mathematics/fastest-mixing).

The Newton system of a step is assembled once and solved twice. Its unknowns are y = (g_e of the
free edges, r). Every edge enters the two blocks through a matrix of rank one, ±b_e b_eᵀ, so that
the Schur complement needs no matrix an edge. It is

    H_ef = Σ_k (b_eᵀ X_k b_f)(b_eᵀ Z_k⁻¹ b_f) + (terms of the linear constraints),

products of entries of B X Bᵀ and B Z⁻¹ Bᵀ, each of which is a difference of rows of X. That is
O(F²) work and one F × F matrix, filled in panels that stay in cache.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

from theory.design.mixing.mixing_problem import MixingProblem
from theory.design.search import is_spent
from theory.network.structure import EPS, as_dense
from theory.scientific import sparse
from theory.validation import FloatArray

# Columns of the Schur complement made at a time: two panels of F × 128 stay in cache.
_PANEL = 128

# Patterns of at most so many entries, F × N, are dense: there the arithmetic is nothing beside the
# bookkeeping of sparse matrices.
_DENSE = 1 << 14

# Relative shifts of the diagonal tried in turn; the first is a few rounding errors.
_SHIFTS = (1e-15, 1e-13, 1e-11, 1e-9)

Matrix = FloatArray | sparse.csr_array[np.float64]
Pair = tuple[FloatArray, FloatArray]


class NotPositiveDefinite(ArithmeticError):  # noqa: N818 - a property, as it is called
    """A matrix that is positive definite in exact arithmetic is not so in floating point."""


@dataclass(frozen=True, eq=False)
class Blocks:
    """The pattern of the problem in scaled variables, free edges only; B and A dense if small.

    Attributes
    ----------
    B
        Shape (F, N): rows √min(v_i, v_j) b_eᵀ.
    A
        Shape (F, m): what g_e takes from the budgets that are in play.
    first, second
        Shape (F,): the two ends of each edge.
    at_first, at_second
        Shape (F,): the entries of b_e there.
    """

    B: Matrix
    A: Matrix
    first: NDArray[np.integer]
    second: NDArray[np.integer]
    at_first: FloatArray
    at_second: FloatArray

    @classmethod
    def of(cls, B: sparse.csr_array[np.float64], A: sparse.csr_array[np.float64]) -> Blocks:
        """From the two sparse matrices, B with exactly two entries a row."""
        ends = B.indices.reshape(-1, 2)
        values = B.data.reshape(-1, 2)
        small = B.shape[0] * B.shape[1] <= _DENSE
        return cls(
            as_dense(B) if small else B,
            as_dense(A) if small else A,
            ends[:, 0],
            ends[:, 1],
            values[:, 0].copy(),
            values[:, 1].copy(),
        )

    def forms(self, T: FloatArray) -> FloatArray:
        """b_eᵀ T b_e for every edge and a T, shape (N, N), that need not be symmetric."""
        a, c, i, j = self.at_first, self.at_second, self.first, self.second
        diagonal = T.diagonal()
        return np.asarray(a * a * diagonal[i] + c * c * diagonal[j] + a * c * (T[i, j] + T[j, i]))

    def laplacian(self, g: FloatArray) -> FloatArray:
        """Σ_e g_e b_e b_eᵀ, shape (N, N)."""
        if isinstance(self.B, np.ndarray):
            return np.asarray((self.B.T * g) @ self.B)
        return as_dense(sparse.csr_array(self.B.T @ self.B.multiply(g[:, None])))


# Of Σ g b bᵀ in Z₁ and Z₂.
SIGNS = (1.0, -1.0)


def product(left: Any, right: FloatArray) -> FloatArray:
    """A matrix that may be sparse, times an array."""
    return np.asarray(left @ right, dtype=np.float64)


def is_positive_definite(matrix: FloatArray) -> bool:
    """Whether Cholesky's method goes through; `matrix` is overwritten."""
    return bool(lapack.dpotrf(matrix.T, lower=0, clean=0, overwrite_a=1)[1] == 0)


def inverse(matrix: FloatArray) -> FloatArray:
    """The inverse of a positive definite matrix, symmetric to the last bit.

    Raises
    ------
    NotPositiveDefinite
        If there is none.
    """
    # The lower factor lies in the upper triangle of the transposed array.
    factor, info = lapack.dpotrf(matrix.T, lower=0, clean=0, overwrite_a=0)
    found, failed = lapack.dpotri(factor, lower=0, overwrite_c=1)
    if info or failed:
        raise NotPositiveDefinite
    upper = np.triu(found)
    return np.ascontiguousarray(upper + np.triu(upper, 1).T)


class NewtonSystem:
    """The factorised Schur complement at one point.

    Parameters
    ----------
    X, inverses
        The two X_k and Z_k⁻¹.
    ratios
        x_e / g_e, shape (F,), and λ_i / slack_i, shape (m,): those of the linear constraints.
    """

    def __init__(self, blocks: Blocks, X: Pair, inverses: Pair, ratios: Pair) -> None:
        self.inverses, self.ratios = inverses, ratios
        for shift in _SHIFTS:
            matrix = schur_complement(blocks, X, inverses, ratios)
            matrix.flat[:: len(matrix) + 1] *= 1.0 + shift
            scale = 1.0 / np.sqrt(matrix.diagonal())
            # A unit diagonal: the shift then means the same for every edge.
            matrix *= scale
            matrix *= scale[:, None]
            factor, info = lapack.dpotrf(matrix.T, lower=0, clean=0, overwrite_a=1)
            if not info:
                self._factor, self._scale = factor, scale
                return
        raise NotPositiveDefinite

    def solve(self, right: FloatArray) -> FloatArray:
        """H⁻¹ times a vector, shape (F + 1,)."""
        found, _ = lapack.dpotrs(self._factor, right * self._scale, lower=0)
        return np.asarray(found * self._scale)


def schur_complement(blocks: Blocks, X: Pair, inverses: Pair, ratios: Pair) -> FloatArray:
    """H, shape (F + 1, F + 1), the last row and column for r; only the lower triangle is filled."""
    pairs = list(zip(X, inverses, strict=True))
    edge_ratio, budget_ratio = ratios
    count = len(blocks.first)
    H = np.zeros((count + 1, count + 1))
    B = blocks.B
    for begin in range(0, count, _PANEL):
        end = min(begin + _PANEL, count)
        here, below = B[begin:end], B[begin:]
        panel = np.zeros((count - begin, end - begin))
        for each, inverted in pairs:
            entries = product(below, np.ascontiguousarray(product(here, each).T))
            entries *= product(below, np.ascontiguousarray(product(here, inverted).T))
            panel += entries
        H[begin:count, begin:end] = panel
    everyone = np.arange(count)
    H[everyone, everyone] += edge_ratio
    if isinstance(blocks.A, np.ndarray):
        H[:count, :count] += (blocks.A * budget_ratio) @ blocks.A.T
    else:
        shared = sparse.coo_array(sparse.csr_array(blocks.A.multiply(budget_ratio)) @ blocks.A.T)
        row, column = shared.coords
        H[row, column] += shared.data
    for sign, (each, inverted) in zip(SIGNS, pairs, strict=True):
        # tr(b bᵀ X Z⁻¹) from the few entries of X Z⁻¹ that are needed.
        i, j, a, c = blocks.first, blocks.second, blocks.at_first, blocks.at_second
        diagonal = np.einsum("ij,ij->i", each, inverted)
        crossed = _row_products(each, inverted, i, j) + _row_products(each, inverted, j, i)
        H[count, :count] += sign * (a * a * diagonal[i] + c * c * diagonal[j] + a * c * crossed)
        H[count, count] += diagonal.sum()
    return H


def _row_products(
    left: FloatArray, right: FloatArray, i: NDArray[np.integer], j: NDArray[np.integer]
) -> FloatArray:
    """Σ_k left[i, k] right[j, k] for pairs (i, j), a few at a time."""
    found = np.empty(len(i))
    for begin in range(0, len(i), 1024):
        part = slice(begin, begin + 1024)
        found[part] = np.einsum("ij,ij->i", left[i[part]], right[j[part]])
    return found


# Where the interior-point method is, where it goes, and how far it may go ------------------------


Cone = tuple[FloatArray, FloatArray, FloatArray, FloatArray]
"""Two symmetric matrices, (N, N), and two vectors, (F,) and (m,): those of Z₁, Z₂, g, the slack."""

# Steps to the boundary are found to about this power of one half of themselves.
_BISECTIONS = 6
_MOST_BISECTIONS = 40


@dataclass(frozen=True, eq=False)
class Point:
    """The bound r on all eigenvalues, what is left of the constraints, and their multipliers.

    Attributes
    ----------
    r
        The bound.
    Z, X
        All positive (definite): constraints, of which the third is g itself, and multipliers.
    """

    r: float
    Z: Cone
    X: Cone

    @property
    def g(self) -> FloatArray:
        """Shape (F,)."""
        return self.Z[2]

    @property
    def gap(self) -> float:
        """The sum of all constraints times their multipliers: primal minus dual objective."""
        blocks = sum(float(np.vdot(X, Z)) for X, Z in zip(self.X[:2], self.Z[:2], strict=True))
        return blocks + float(self.X[2] @ self.Z[2] + self.X[3] @ self.Z[3])

    @property
    def mean_product(self) -> float:
        """The gap shared out over the barrier's parameter: μ."""
        return self.gap / sum(len(X) for X in self.X)


@dataclass(frozen=True, eq=False)
class Direction:
    """What changes by how much."""

    r: float
    Z: Cone
    X: Cone


def longest(values: Cone, changes: Cone, *, limit: float) -> float:
    """Nearly the largest step up to `limit` that keeps all values positive (definite)."""
    pairs = list(zip(values, changes, strict=True))
    for value, change in pairs[2:]:
        falling = change < 0
        limit = min(limit, float(np.min(value[falling] / -change[falling], initial=np.inf)))

    def inside(step: float) -> bool:
        return all(is_positive_definite(value + step * change) for value, change in pairs[:2])

    if inside(limit):
        return limit
    low, high = 0.0, limit
    for done in range(1, _MOST_BISECTIONS + 1):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if inside(middle) else (low, middle)
        if low > 0 and done >= _BISECTIONS:
            break
    return low


def sandwiched(change: FloatArray, X: FloatArray, inverted: FloatArray) -> FloatArray:
    """The symmetric part of X · change · Z⁻¹, for symmetric X and change."""
    found = (change @ X).T @ inverted
    return np.asarray(0.5 * (found + found.T))


# A primal-dual interior-point method for the fastest reversible mixing ---------------------------


Status = Literal["optimal", "stalled", "iteration limit", "out of time"]

# Of so few edges all steps together take less than a second: the time is not asked for.
_QUICK = 500

_ITERATIONS = 100

# How far towards the boundary a step goes, at least and at most.
_CAUTIOUS, _BOLD = 0.9, 0.98

# The least part of the present μ aimed at in one step.
_SHARPEST = 1e-6

# Three steps in a row that do not take so much off the gap: rounding has the better of them.
_PROGRESS = 0.9
_IDLE = 3


@dataclass(frozen=True, eq=False)
class BarrierSolution:
    """Where the method stopped: flows, and multipliers for the bound.

    Attributes
    ----------
    flows
        Shape (E,), in the units of v, strictly feasible.
    slow, fast
        Shape (N, N), positive definite: the multipliers X₁ and X₂, of trace one together.
    multipliers
        Shape (N,), at least 0: prices λ_i of the budgets.
    iterations, status
        Newton steps, and why it stopped.
    """

    flows: FloatArray
    slow: FloatArray
    fast: FloatArray
    multipliers: FloatArray
    iterations: int
    status: Status


def solve_barrier(
    problem: MixingProblem, *, tolerance: float, iterations: int = _ITERATIONS
) -> BarrierSolution:
    """The fastest mixing flows, to `tolerance` times 1 − slem.

    The answer is feasible and near a central path, not certified: that is `mixing_bound`'s work.

    Parameters
    ----------
    tolerance
        Where to stop: primal minus dual objective, as a part of 1 − r.
    iterations
        The most Newton steps.
    """
    return _Method(problem).run(tolerance, iterations)


class _Method:
    def __init__(self, problem: MixingProblem) -> None:
        self.problem = problem
        self.limited = np.flatnonzero(problem.has_free)
        B = sparse.csr_array(problem.incidence[problem.free])
        A = sparse.csr_array(problem.loads[problem.free][:, self.limited])
        self.blocks = Blocks.of(B, A)
        self.share = problem.shares[self.limited]
        self.agents = problem.graph.agents
        root = np.sqrt(problem.v)
        known = Blocks.of(problem.incidence, problem.loads).laplacian(
            np.nan_to_num(problem.known) / problem.unit
        )
        # C in Z₁ = (r − 1)I + C + Σ g bbᵀ and Z₂ = (r + 1)I − C − Σ g bbᵀ.
        self.constant = np.outer(root, root) + known

    def run(self, tolerance: float, iterations: int) -> BarrierSolution:
        now = best = self.start()
        best_gap = np.inf
        status: Status = "iteration limit"
        idle = done = 0
        while True:
            gap = now.gap + self.lack_costs(now)
            idle = 0 if gap < _PROGRESS * best_gap else idle + 1
            if gap < best_gap:
                best, best_gap = now, gap
            if gap <= tolerance * max(1.0 - now.r, EPS):
                status = "optimal"
                break
            if idle == _IDLE:
                status = "stalled"
                break
            if done == iterations:
                break
            if len(now.g) > _QUICK and is_spent():
                status = "out of time"
                break
            try:
                now = self.step(now)
            except NotPositiveDefinite:
                status = "stalled"
                break
            done += 1
        free = self.problem.free
        flows = self.problem.known.copy()
        flows[free] = best.g * self.problem.unit[free]
        prices = np.zeros(self.agents)
        prices[self.limited] = best.X[3] / self.problem.v[self.limited]
        return BarrierSolution(flows, *best.X[:2], prices, done, status)

    def start(self) -> Point:
        """Feasible on both sides: half the budgets used, X a multiple of the identity."""
        g = 0.5 * (self.problem.even_flows() / self.problem.unit)[self.problem.free]
        r = 1.5  # all eigenvalues of S lie in [−1, 1]
        slack = self.share - product(self.blocks.A.T, g)
        prices = r / (2 * self.agents) / slack
        each = np.eye(self.agents) / (2 * self.agents)
        return self.point(g, r, (each, each, product(self.blocks.A, prices), prices))

    def point(self, g: FloatArray, r: float, X: Cone) -> Point:
        """The point of these unknowns and multipliers: Z and the slack follow, free of drift."""
        body = self.constant + self.blocks.laplacian(g)
        above, below = body, -body
        above.flat[:: self.agents + 1] += r - 1.0
        below.flat[:: self.agents + 1] += r + 1.0
        return Point(r, (above, below, g, self.share - product(self.blocks.A.T, g)), X)

    def moved(self, now: Point, by: Direction, primal: float, dual: float) -> Point:
        a, b, c, d = (X + dual * change for X, change in zip(now.X, by.X, strict=True))
        return self.point(now.g + primal * by.Z[2], now.r + primal * by.r, (a, b, c, d))

    def step(self, now: Point) -> Point:
        """A predictor and a corrector."""
        inverses = inverse(now.Z[0]), inverse(now.Z[1])
        ratios = now.X[2] / now.Z[2], now.X[3] / now.Z[3]
        system = NewtonSystem(self.blocks, now.X[:2], inverses, ratios)
        affine = self.direction(now, system, target=0.0, second=None)
        primal, dual = longest(now.Z, affine.Z, limit=1.0), longest(now.X, affine.X, limit=1.0)
        ahead = self.moved(now, affine, primal, dual)
        mean = now.mean_product
        exponent = max(1.0, 3 * min(primal, dual) ** 2)
        centring = np.clip((max(ahead.mean_product, 0.0) / mean) ** exponent, _SHARPEST, 1.0)
        final = self.direction(now, system, target=centring * mean, second=affine)
        reach = _CAUTIOUS + (_BOLD - _CAUTIOUS) * min(primal, dual)
        return self.moved(
            now,
            final,
            min(1.0, reach * longest(now.Z, final.Z, limit=1.0 / reach)),
            min(1.0, reach * longest(now.X, final.X, limit=1.0 / reach)),
        )

    def direction(
        self, now: Point, system: NewtonSystem, *, target: float, second: Direction | None
    ) -> Direction:
        """Towards X Z = target · I, with the second-order terms of an earlier direction."""
        aim = [target * W - X for W, X in zip(system.inverses, now.X, strict=False)]
        aim += [target / z - x for z, x in zip(now.Z[2:], now.X[2:], strict=True)]
        if second is not None:
            for k, W in enumerate(system.inverses):
                aim[k] -= sandwiched(second.Z[k], second.X[k], W)
            terms = zip(second.X[2:], second.Z[2:], now.Z[2:], strict=True)
            aim[2:] = [T - x * dz / z for T, (x, dz, z) in zip(aim[2:], terms, strict=True)]

        # At dg = dr = 0: what is still lacking of dual feasibility is what dg and dr must bring.
        lacking = self.lack([X + change for X, change in zip(now.X, aim, strict=True)])
        # Once is enough: what rounding leaves over, no second solution removes.
        y = -system.solve(lacking)
        g, r = y[:-1], float(y[-1])
        each, spread = r * np.eye(self.agents), self.blocks.laplacian(g)
        Z = (each + spread, each - spread, g, -product(self.blocks.A.T, g))
        a, b = (aim[k] - sandwiched(Z[k], now.X[k], W) for k, W in enumerate(system.inverses))
        c, d = (aim[k] - ratio * Z[k] for k, ratio in enumerate(system.ratios, start=2))
        return Direction(r, Z, (a, b, c, d))

    def lack(self, X: Sequence[FloatArray]) -> FloatArray:
        """What dual feasibility lacks: of equality on each edge, of a trace of one; (F + 1,)."""
        edges = product(self.blocks.A, X[3]) - self.blocks.forms(X[0] - X[1]) - X[2]
        return np.append(edges, 1.0 - np.trace(X[0]) - np.trace(X[1]))

    def lack_costs(self, now: Point) -> float:
        """What the bound loses by what dual feasibility lacks, to first order."""
        lack = np.abs(self.lack(now.X))
        return float(lack[:-1] @ now.g + lack[-1] * abs(1.0 - now.r))
