"""The stationary distribution v = vW, also called the agents' eigenvector centralities.

v_j is the share of agent j's evidence in what the network comes to believe: the learning rate
is Σ_j v_j I_j. Small entries matter as much as large ones, so each is wanted to full *relative*
accuracy. Four methods, each the best on its ground:

``gth``
    Elimination after Grassmann, Taksar and Heyman (1985) for dense W, and for what up to 4000
    agents can neither be iterated nor factorised without becoming so: states are removed one
    by one, and what a removed state passed on is added to the weights of those that stay. Only
    additions, multiplications and divisions of positive numbers occur, so nothing cancels and
    every v_j is accurate to about N rounding errors, however weakly W is coupled.
``detailed-balance``
    Closed form for reversible sparse W: v_j = v_i W_ij / W_ji along a spanning tree, accepted
    only if the balance holds on every edge.
``iteration``
    For other sparse W of more than 2000 agents: averaging over and over, which does not subtract,
    and a bound on the relative error of every v_j (docs: mathematics/mixing).
``sparse-lu``
    One sparse factorisation where iteration is slow and little is filled in. Its subtractions
    lose the digits that a weak coupling has few of: with coupling c the error is about 1e-16/c,
    and neither the residual nor refinement in float64 shows or mends it.

The diagonal of W is never read. W_ii is taken as one minus the other weights of row i, which
is what makes a floating-point W a stochastic matrix exactly.
"""

from __future__ import annotations

import sys
from collections import Counter
from dataclasses import dataclass
from functools import cache
from threading import Thread
from types import ModuleType
from typing import Literal, TypeAlias

import numpy as np

from theory.network.structure import (
    EPS,
    MODERATE,
    OffDiagonal,
    Weights,
    as_dense,
    breadth_first_depth,
    breadth_first_tree,
    off_diagonal,
)
from theory.progress import Progress
from theory.scientific import sparse, sparse_linalg
from theory.showing import Shown
from theory.validation import FloatArray, IntArray, fail, read_only

# Below this many agents a dense matrix is small enough to eliminate or diagonalise.
DENSE_AGENTS = 2000

# Double steps of the iteration, a few for each entry of W at first; in the end some minutes.
_QUICK_STEPS = 250
_MOST_STEPS = 20_000
_MOST_VISITS = 1e10
# Operations of a factorisation that takes seconds, and of one that takes a few minutes.
QUICK_WORK = 1e11
MOST_WORK = 2.5e12

# Up to so many agents elimination is as quick as factors that are filled in, and loses no digits.
_FILLED_AGENTS = 4000

# Columns eliminated between two matrix products; the product does nearly all the work.
_PANEL = 32

# Two numbers whose binary exponents differ by more do not meet in one float64.
_EXPONENTS = 2000
_LOWEST_EXPONENT = np.iinfo(np.int64).min // 2


Method: TypeAlias = Literal["gth", "detailed-balance", "iteration", "sparse-lu"]


@dataclass(frozen=True, eq=False)
class Stationary(Shown):
    """The stationary distribution v of a network: a floating-point estimate.

    Attributes
    ----------
    values
        v, shape (N,), positive, sums to one. Entries below 1e-308 read as 0.
    method
        "gth", "detailed-balance" and "iteration" are accurate componentwise, "sparse-lu" as far as
        no parts of W are nearly decoupled.
    residual
        max_j |(vW)_j − v_j| / v_j over the agents whose v_j is a normal float. A small one is
        necessary, not sufficient: nearly decoupled parts may be out of proportion.
    error
        Of "iteration": a bound on the relative error of every v_j, rounding of v included, but for
        a chance of 4e-13 over the vectors that prove it; nan for the other methods.
    seconds
        About how long it takes to find on a common core, by its method and the sizes.
    """

    values: FloatArray
    method: Method
    residual: float
    error: float = float("nan")
    seconds: float = 0.0


def stationary(
    weights: Weights, balanced: FloatArray | None, progress: Progress | None = None
) -> Stationary:
    """The stationary distribution of an irreducible W by the method that suits it.

    Parameters
    ----------
    weights
        W, shape (N, N), row-stochastic and irreducible.
    balanced
        What `detailed_balance` returned for it.
    progress
        Called with (done, total) while it is iterated.

    Raises
    ------
    ValueError
        If a large sparse W mixes too slowly to iterate and its factors would be too large.
    """
    method: Method
    if isinstance(weights, np.ndarray):
        values, method = eliminate(weights), "gth"
    elif balanced is not None:
        values, method = balanced, "detailed-balance"
    elif weights.shape[0] <= DENSE_AGENTS:
        values, method = eliminate(as_dense(weights)), "gth"
    else:
        return _large(weights, progress)
    return _found(weights, values, method)


def _found(
    weights: Weights,
    values: FloatArray,
    method: Method,
    error: float = float("nan"),
    work: float = 0.0,
) -> Stationary:
    """v, and what it took: `work` are products of W with a vector, or operations."""
    agents = weights.shape[0]
    links = weights.size if isinstance(weights, np.ndarray) else weights.nnz
    seconds = {
        "gth": 3e-11 * agents**3 + 1.3e-7 * agents**2,
        "detailed-balance": 1.6e-7 * links,
        "iteration": 2e-9 * links * work,
        "sparse-lu": 2.5e-6 * agents + 1.4e-9 * work,
    }[method]
    return Stationary(read_only(values), method, residual(weights, values), error, seconds)


def _large(weights: sparse.csr_array[np.float64], progress: Progress | None) -> Stationary:
    """The v of a large sparse W that is not reversible."""
    from theory.network.structure import iterate

    found = iterate(weights, steps=_QUICK_STEPS, progress=progress)
    if found is None:
        work = elimination_work(weights)
        longer = int(min(_MOST_STEPS, _MOST_VISITS / weights.nnz))
        if weights.shape[0] <= _FILLED_AGENTS and work > weights.shape[0] ** 3 / 30:
            return _found(weights, eliminate(as_dense(weights)), "gth")
        if work > QUICK_WORK:
            found = iterate(weights, steps=longer, progress=progress)
        if found is None and work <= MOST_WORK:
            values, operations = solve_sparse(weights)
            return _found(weights, values, "sparse-lu", work=operations)
        if found is None:
            raise fail(
                "weights",
                "a network that mixes in some thousand rounds, or whose factors are small",
                f"{weights.shape[0]} agents, no bound on the error after {2 * longer} rounds, and "
                f"factors of about {work:.0e} operations",
                "join parts of it by larger weights, or use a smaller network of the same kind",
            )
    values, error, products = found
    return _found(weights, values, "iteration", error, products)


def elimination_work(weights: sparse.csr_array[np.float64]) -> float:
    """About how many operations a factorisation on the pattern of W takes at most.

    Level by level of a breadth-first search from an agent far out, each level a dense matrix.
    """
    both = sparse.csr_array(weights + weights.T)
    depth = breadth_first_depth(both, int(np.argmax(breadth_first_depth(both))))
    sizes = np.append(np.bincount(depth), 0).astype(np.float64)
    return float((sizes[:-1] * (sizes[:-1] + sizes[1:]) ** 2).sum())


def residual(weights: Weights, values: FloatArray) -> float:
    """max_j |(vW)_j − v_j| / v_j, written as the imbalance of flow into and out of agent j."""
    links = off_diagonal(weights)
    agents = weights.shape[0]
    inflow = np.bincount(links.column, values[links.row] * links.weight, minlength=agents)
    outflow = values * np.bincount(links.row, links.weight, minlength=agents)
    normal = values > np.finfo(np.float64).tiny / EPS
    return float(np.max(np.abs(inflow - outflow)[normal] / values[normal], initial=0.0))


def eliminate(weights: FloatArray) -> FloatArray:
    """The stationary v by Grassmann–Taksar–Heyman elimination; shape (N,).

    Accurate componentwise, to about N rounding errors.

    Costs 2N³/3 operations, nearly all of them in matrix products. Where numba is loaded anyway and
    many agents have been eliminated, the rest is compiled, to the same digits.

    Raises
    ------
    ValueError
        If an agent's weights on the others underflow.

    Examples
    --------
    >>> eliminate(np.array([[0.9, 0.1], [0.6, 0.4]])).round(12).tolist()
    [0.857142857143, 0.142857142857]
    """
    A = np.array(weights, dtype=np.float64, order="C")
    agents = A.shape[0]
    v = np.empty(agents)
    # Two forms of the same operations, in the same order: digits do not tell which one ran.
    kernel = None
    if "numba" in sys.modules:
        _done["agents"] += agents
        kernel = _compiled() if _done["agents"] > _MOST_AGENTS else None
    if kernel is not None and agents <= _PANEL + 1:
        failed = kernel.eliminate_at_once(A, v)
        if failed:
            if failed > 0:
                raise _underflow(failed)
            return _added_up_in_scales(A)
        return v
    for stop in range(agents, 1, -_PANEL):
        start = max(stop - _PANEL, 1)
        failed = (kernel.remove if kernel else remove)(A, start, stop)
        if failed:
            raise _underflow(failed)
        if start > 1:
            A[:start, :start] += A[:start, start:stop] @ A[start:stop, :start]
    in_scale = (kernel.add_up if kernel else add_up)(A, v)
    return v if in_scale else _added_up_in_scales(A)


# Agents that are eliminated before the loops are compiled, in all calls together: about as long as
# loading them takes, and a tenth of compiling them. Who asks for one v does not wait for that.
_MOST_AGENTS = 3_000
_done = Counter[str]()


@cache
def _compiled() -> ModuleType:
    from theory.network import elimination_kernel

    return elimination_kernel


def _underflow(agent: int) -> ValueError:
    return fail(
        "weights",
        "weights whose products stay above 1e-308",
        f"an underflow at agent {agent}",
        "replace the smallest weights by larger ones or by 0",
    )


def remove(A: FloatArray, start: int, stop: int) -> int:
    """Remove agents stop − 1, ..., start ≥ 1 in place, from the columns `start` on and those rows.

    What the others' weights on each other still gain is one product of both. Returns the agent
    whose weights on those before it have underflowed, or 0.
    """
    for k in range(stop - 1, start - 1, -1):
        leaving = A[k, :k].sum()
        if not leaving > 0:
            return k
        A[:k, k] /= leaving
        A[start:k, :k] += np.outer(A[start:k, k], A[k, :k])
        A[:start, start:k] += np.outer(A[:start, k], A[k, start:k])
    return 0


def add_up(A: FloatArray, v: FloatArray) -> bool:
    """Set v to v_0 = 1 and v_k = Σ_{i<k} v_i A_ik, over their sum, in place.

    Returns False, and leaves v undefined, if that might underflow or overflow on the way.
    """
    v[0] = 1.0
    for k in range(1, v.size):
        v[k] = (v[:k] * A[:k, k]).sum()
        if not MODERATE < v[k] < 1 / MODERATE:
            return False
    shares = np.triu(A, 1)
    if not shares.min(where=shares > 0, initial=1.0) > MODERATE:
        return False
    v /= v.sum()
    return True


def _added_up_in_scales(A: FloatArray) -> FloatArray:
    """The normalised v as mantissa · 2^exponent: v may span more than a float does."""
    agents = A.shape[0]
    share, scale = np.frexp(np.triu(A, 1).T)
    mantissa, exponent = np.ones(agents), np.zeros(agents, dtype=np.int64)
    for k in range(1, agents):
        level = np.where(share[k, :k] > 0, exponent[:k] + scale[k, :k], _LOWEST_EXPONENT)
        top = level.max()
        terms = np.ldexp(mantissa[:k] * share[k, :k], np.maximum(level - top, -_EXPONENTS))
        mantissa[k], shift = np.frexp(terms.sum())
        exponent[k] = top + shift
    return _normalised(mantissa, exponent)


def _opposite(
    weights: Weights, links: OffDiagonal
) -> tuple[IntArray, IntArray, FloatArray, FloatArray] | None:
    """i, j, W_ij and W_ji of every link in row order; None if a link has no opposite.

    A sparse W comes without its diagonal.
    """
    if isinstance(weights, np.ndarray):
        back = weights[links.column, links.row]
        return (links.row, links.column, links.weight, back) if (back > 0).all() else None
    backward = sparse.csr_array((links.weight, (links.column, links.row)), shape=weights.shape)
    backward.sort_indices()
    if not (
        np.array_equal(weights.indptr, backward.indptr)
        and np.array_equal(weights.indices, backward.indices)
    ):
        return None
    return links.row, weights.indices.astype(np.int64), weights.data, backward.data


def detailed_balance(weights: Weights) -> FloatArray | None:
    """The v of a reversible W in closed form, shape (N,), or None if W is not reversible.

    v_j = v_i W_ij / W_ji along a breadth-first tree. An edge at depth d is reached through d
    quotients of weights, so its balance may be off by a few rounding errors for each.
    """
    agents = weights.shape[0]
    links = off_diagonal(weights)
    if not isinstance(weights, np.ndarray):
        shape = (agents, agents)
        weights = sparse.csr_array((links.weight, (links.row, links.column)), shape=shape)
        weights.sort_indices()
    opposite = _opposite(weights, links)
    if opposite is None:
        return None
    row, column, forth, back = opposite
    out_mantissa, out_exponent = np.frexp(forth)
    in_mantissa, in_exponent = np.frexp(back)

    parent = breadth_first_tree(weights)
    tree = parent[column] == row
    child = column[tree]
    mantissa, exponent = np.ones(agents), np.zeros(agents, dtype=np.int64)
    mantissa[child] = out_mantissa[tree] / in_mantissa[tree]
    exponent[child] = out_exponent[tree] - in_exponent[tree]
    depth = breadth_first_depth(weights)
    # Each agent holds its ratio to an ancestor; in each step all ancestors double their distance.
    while parent.any():
        mantissa, shift = np.frexp(mantissa * mantissa[parent])
        exponent = exponent + exponent[parent] + shift
        parent = parent[parent]

    shift = np.clip(
        exponent[row] + out_exponent - exponent[column] - in_exponent, -1000, 1000
    ).astype(np.int64)
    balance = np.ldexp(mantissa[row] * out_mantissa / (mantissa[column] * in_mantissa), shift)
    # Two weights of about two roundings each, a quotient and a product: 8 half units a level.
    tolerance = 4 * EPS * (depth[row] + depth[column] + 2)
    if np.any(np.abs(balance - 1.0) > tolerance):
        return None
    return _normalised(mantissa, exponent)


def solve_sparse(weights: sparse.csr_array[np.float64]) -> tuple[FloatArray, float]:
    """The stationary v, shape (N,), by one sparse LU factorisation, and about its operations.

    With parts of W coupled by c, the relative error is about 1e-16/c.

    Raises
    ------
    ValueError
        If the solution is not positive.
    """
    agents = weights.shape[0]
    links = off_diagonal(weights)
    flow = sparse.csr_array((links.weight, (links.column, links.row)), shape=(agents, agents))
    leaving = np.bincount(links.row, links.weight, minlength=agents)
    balance = sparse.csc_array(sparse.diags_array(leaving) - flow)
    fixed = int(np.argmax(np.bincount(links.column, links.weight, minlength=agents)))
    others = np.delete(np.arange(agents), fixed)
    system = balance[others][:, others]
    right = -balance[others][:, [fixed]].toarray().ravel()
    factors = factorise(system)
    solution = factors.solve(right)
    values = np.ones(agents)
    values[others] = solution
    if not (np.isfinite(values).all() and values.min() > 0):
        raise fail(
            "weights",
            "a sparse network whose stationary distribution an LU factorisation can resolve",
            f"{int((~(values > 0)).sum())} entries that are not positive",
            "pass it as a dense array if memory allows, or join parts of it by larger weights",
        )
    filled = np.diff(factors.L.indptr).astype(np.float64)
    return np.asarray(values / values.sum(), dtype=np.float64), 2 * float(filled @ filled)


def factorise(system: sparse.csc_array[np.float64]) -> sparse_linalg.SuperLU:
    """Sparse LU factors of a matrix whose diagonal dominates.

    Pivots stay on the diagonal, so that a symmetric ordering keeps the fill low. It is computed in
    a thread, for which this one waits, so that a signal to end is heard meanwhile.
    """
    found: list[sparse_linalg.SuperLU] = []
    errors: list[Exception] = []

    def compute() -> None:
        options = {"SymmetricMode": True}
        try:
            found.append(
                sparse_linalg.splu(
                    system, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options=options
                )
            )
        except Exception as error:
            errors.append(error)

    thread = Thread(target=compute, daemon=True)
    thread.start()
    thread.join()
    if errors:
        raise errors[0]
    return found[0]


def _normalised(mantissa: FloatArray, exponent: IntArray) -> FloatArray:
    scaled = np.ldexp(mantissa, np.maximum(exponent - exponent.max(), -_EXPONENTS))
    return np.asarray(scaled / scaled.sum(), dtype=np.float64)
