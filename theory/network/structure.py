"""What makes a weight matrix a network: stochastic, irreducible, aperiodic, perhaps reversible.

A weight matrix W has one row an agent, and W_ij is the weight agent i gives to what j says.
Agent i can be reached from j when a chain of positive weights leads from j to i. W is

- *stochastic* if its entries are not negative and each row sums to one;
- *irreducible* if every agent reaches every other: then v = vW has one solution, and v > 0;
- *aperiodic* if the lengths of its closed walks have no common divisor but 1: then W^k
  converges to 1vᵀ, which is what learning on the network needs;
- *reversible* if v_i W_ij = v_j W_ji for all pairs: then W is similar to a symmetric matrix.

Everything here works on the pattern of non-zeros, so that a sparse W of a million agents costs
no more than a few passes over its entries.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from theory.numbers.rational import read_fraction
from theory.progress import Progress
from theory.scientific import csgraph, sparse
from theory.validation import SUM_TOLERANCE, FloatArray, IntArray, as_float_array, fail, read_only

# What makes a weight matrix a network ------------------------------------------------------------


Weights: TypeAlias = "FloatArray | sparse.csr_array[np.float64]"

EPS = float(np.finfo(np.float64).eps)
# Smaller ones would leave the range of doubles where they are inverted or multiplied.
_SMALLEST_WEIGHT = 1e-307
# Products of three numbers between this and its inverse are normal floats.
MODERATE = 2.0**-300
# A dense W of so many agents, of whose entries at most this part is positive, is multiplied as if
# it were sparse.
_MANY_AGENTS = 256
_FEW_ENTRIES = 1 / 16


@dataclass(frozen=True, eq=False)
class OffDiagonal:
    """The positive weights between different agents, in row order: W[row, column] = weight."""

    row: IntArray
    column: IntArray
    weight: FloatArray


def as_weights(
    weights: ArrayLike | Weights, names: Sequence[str] | None = None, *, normalise: bool = False
) -> Weights:
    """A fresh read-only copy of `weights`, checked to be row-stochastic.

    Dense input becomes a float64 array, sparse input a canonical CSR array (sorted, duplicates
    summed, explicit zeros removed). Entries may be strings that hold fractions, such as "1/3".

    Parameters
    ----------
    names
        What messages call the rows; their numbers if there are not as many as rows.
    normalise
        Whether each row is divided by its sum first.

    Raises
    ------
    ValueError
        If the entries are ragged, not numeric, not finite or negative, the matrix is empty or
        not square, or a row does not sum to one, or to zero with `normalise`.
    """
    matrix: Weights
    if not isinstance(weights, np.ndarray) and sparse.issparse(weights):
        matrix = _as_csr(weights)
    else:
        matrix = as_float_array("weights", _without_fractions(weights), ndim=2)
    rows, columns = matrix.shape
    if rows != columns or rows == 0:
        raise fail(
            "weights",
            "a square matrix, one row and one column an agent",
            f"shape {(rows, columns)}",
            "give each agent one row that weighs all agents",
        )
    called = names if names is not None and len(names) == rows else range(rows)
    if normalise:
        matrix = divided_by_sums(matrix, called)
    _check_positive(matrix)
    if not normalise:
        _check_sums(matrix, called)
    return matrix


def divided_by_sums(matrix: Weights, called: Sequence[object]) -> Weights:
    """Each row of a matrix divided by its sum; read-only.

    Raises
    ------
    ValueError
        If an entry is negative, or a row is zero; `called` is what messages call the rows.
    """
    _check_positive(matrix)
    rows = matrix.shape[0]
    largest: FloatArray = np.zeros(rows)
    if isinstance(matrix, np.ndarray):
        largest = matrix.max(axis=1)
    else:
        lines = np.repeat(np.arange(rows), np.diff(matrix.indptr))
        np.maximum.at(largest, lines, matrix.data)
    if (largest <= 0).any():
        row = int(np.flatnonzero(largest <= 0)[0])
        wanted = "a weight above 0 in every row, to divide by the sum"
        raise fail("weights", wanted, f"none in row {called[row]}", "say whom it hears")
    if isinstance(matrix, np.ndarray):
        scaled = matrix / largest[:, None]  # of numbers near 1e308 the sum would be infinite
        return read_only(scaled / scaled.sum(axis=1, keepdims=True))
    data = matrix.data / largest[lines]
    data /= np.bincount(lines, data, minlength=rows)[lines]
    new = sparse.csr_array((data, matrix.indices, matrix.indptr), shape=matrix.shape)
    read_only(new.data)
    return new


def as_dense(weights: Weights) -> FloatArray:
    """W as an array; the same object if it is one already."""
    if isinstance(weights, np.ndarray):
        return weights
    return np.asarray(weights.toarray(), dtype=np.float64)


def as_compact(weights: Weights) -> Weights:
    """W as products with it are quickest: sparse if it is, or if few of many entries are positive.

    The same object where nothing is gained.
    """
    if not isinstance(weights, np.ndarray) or len(weights) < _MANY_AGENTS:
        return weights
    if np.count_nonzero(weights) > _FEW_ENTRIES * weights.size:
        return weights
    return sparse.csr_array(weights)


def off_diagonal(weights: Weights) -> OffDiagonal:
    """The positive off-diagonal entries of W, in row order."""
    if isinstance(weights, np.ndarray):
        listener, speaker = np.nonzero((weights > 0) & ~np.eye(len(weights), dtype=bool))
        return OffDiagonal(listener, speaker, weights[listener, speaker])
    matrix = sparse.coo_array(sparse.csr_array(weights))
    row, column = matrix.coords
    keep = (row != column) & (matrix.data > 0)
    return OffDiagonal(row[keep].astype(np.int64), column[keep].astype(np.int64), matrix.data[keep])


def communicating_classes(weights: Weights) -> IntArray:
    """Labels of the sets of agents that reach each other; shape (N,)."""
    if isinstance(weights, np.ndarray) and all(
        (_search_tree(links, 0) >= 0).all() for links in (weights, weights.T)
    ):
        return np.zeros(len(weights), dtype=np.int64)
    _, labels = csgraph.connected_components(
        sparse.csr_array(weights), directed=True, connection="strong"
    )
    return np.asarray(labels, dtype=np.int64)


def cyclic_classes(weights: Weights) -> IntArray:
    """Labels 0 … p−1 of the cyclic classes of an irreducible W of period p; shape (N,).

    Weight only leads from class c to class c + 1 modulo p; all labels are 0 if W is aperiodic.
    """
    agents = weights.shape[0]
    if weights.diagonal().any():
        return np.zeros(agents, dtype=np.int64)
    levels = breadth_first_depth(weights)
    links = off_diagonal(weights)
    # Every closed walk is a sum of these excesses, so their common divisor is the period.
    excess = levels[links.row] + 1 - levels[links.column]
    period = int(np.gcd.reduce(excess)) if excess.size else 1
    return np.asarray(levels % max(period, 1), dtype=np.int64)


def breadth_first_tree(weights: Weights, root: int = 0) -> IntArray:
    """Each agent's parent in a breadth-first tree from the root, its own parent; shape (N,)."""
    if isinstance(weights, np.ndarray):
        return _search_tree(weights, root)
    _, parent = csgraph.breadth_first_order(sparse.csr_array(weights), root, directed=True)
    parent[root] = root
    return np.asarray(parent, dtype=np.int64)


def _search_tree(weights: FloatArray, root: int) -> IntArray:
    """As `breadth_first_tree`, row by row; negative where the root does not lead."""
    parent = np.full(len(weights), -1, dtype=np.int64)
    parent[root] = root
    queue = [root]
    for agent in queue:
        reached = np.flatnonzero((weights[agent] != 0) & (parent < 0))
        parent[reached] = agent
        queue.extend(reached.tolist())
    return parent


def breadth_first_depth(weights: Weights, root: int = 0) -> IntArray:
    """How many links lead from the root to each agent; shape (N,)."""
    parent = breadth_first_tree(weights, root)
    depth: IntArray = (parent != np.arange(len(parent))).astype(np.int64)
    # Each agent knows an ancestor; in each step all ancestors double their distance.
    while (parent != root).any():
        depth += depth[parent]
        parent = parent[parent]
    return depth


def check_irreducible(weights: Weights, names: Sequence[str] | None = None) -> None:
    """Check that every agent reaches every other.

    Raises
    ------
    ValueError
        If there are several communicating classes, which it names.
    """
    labels = communicating_classes(weights)
    if labels.max() > 0:
        raise fail(
            "weights",
            "an irreducible network, in which every agent reaches every other",
            f"{labels.max() + 1} classes that do not all reach each other: "
            f"{name_groups(labels, names)}",
            "add positive weights that lead from each class to the others",
        )


def check_aperiodic(weights: Weights, names: Sequence[str] | None = None) -> None:
    """Check that an irreducible network has the period 1.

    Raises
    ------
    ValueError
        If there are several cyclic classes; it names them, and the period.
    """
    labels = cyclic_classes(weights)
    if labels.max() > 0:
        raise fail(
            "weights",
            "an aperiodic network",
            f"period {labels.max() + 1} with the cyclic classes {name_groups(labels, names)}",
            "give at least one agent a positive weight on itself",
        )


def _as_csr(weights: Any) -> sparse.csr_array[np.float64]:
    if weights.dtype.kind not in "biuf":
        raise fail("weights", "real numbers", f"dtype {weights.dtype}", "convert them to floats")
    matrix = sparse.csr_array(weights, dtype=np.float64, copy=True)
    if matrix.ndim != 2:
        raise fail(
            "weights", "an array with 2 axes", f"shape {matrix.shape}", "give a square matrix"
        )
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    matrix.sort_indices()
    if not np.isfinite(matrix.data).all():
        bad = int(np.flatnonzero(~np.isfinite(matrix.data))[0])
        where = [int(np.searchsorted(matrix.indptr, bad, "right")) - 1, int(matrix.indices[bad])]
        raise fail(
            "weights",
            "finite numbers",
            f"{matrix.data[bad]} at {where}",
            "replace it by a finite number",
        )
    for part in (matrix.data, matrix.indices, matrix.indptr):
        read_only(part)
    return matrix


def _without_fractions(values: Any) -> Any:
    """The same values with strings turned into floats, as far as they can be."""
    try:
        array = np.asarray(values)
        if array.dtype.kind not in "US":
            return array
        numbers = [float(read_fraction(str(text))) for text in array.flat]
    except (ValueError, ZeroDivisionError, OverflowError):
        return values  # the caller's check names what is wrong with it
    return np.array(numbers).reshape(array.shape)


def _check_positive(matrix: Weights) -> None:
    entries = matrix if isinstance(matrix, np.ndarray) else matrix.data
    if np.min(entries, initial=0.0) < 0:
        table = sparse.coo_array(matrix)
        first = int(np.flatnonzero(table.data < 0)[0])
        where = [int(axis[first]) for axis in table.coords]
        raise fail(
            "weights",
            "weights of at least 0",
            f"{table.data[first]:g} at {where}",
            "make it non-negative",
        )
    least = float(np.min(entries, initial=1.0, where=entries > 0))
    if least < _SMALLEST_WEIGHT:
        raise fail(
            "weights", f"0 or weights of at least {_SMALLEST_WEIGHT:g}", f"{least:g}", "make it 0"
        )


def _check_sums(matrix: Weights, called: Sequence[object]) -> None:
    sums = _sums(matrix, axis=1)
    # A sum of n rounded numbers that add up to one is off by at most n half units.
    slack = SUM_TOLERANCE + matrix.shape[1] * EPS
    wrong = np.abs(sums - 1.0) > slack
    if wrong.any():
        row = int(np.flatnonzero(wrong)[0])
        remedy = 'rescale the row, or write exact fractions such as "1/3"'
        if (np.abs(_sums(matrix, axis=0) - 1.0) <= slack).all():
            remedy = "the columns do sum to 1: give the transpose, W.T"
        raise fail(
            "weights",
            "rows that sum to 1",
            f"a sum of {sums[row]:.12g} in row {called[row]}",
            remedy,
        )


def _sums(matrix: Weights, *, axis: int) -> NDArray[np.float64]:
    return np.asarray(matrix.sum(axis=axis)).ravel()


def name_groups(
    labels: IntArray,
    names: Sequence[str] | None = None,
    *,
    most_classes: int = 4,
    most_agents: int = 6,
) -> str:
    """The classes as sets of agents, by name if they have names: '{0, 2}, {1, 3, …}, …'."""

    def shortened(parts: Iterable[str], cut: bool) -> str:
        return ", ".join([*parts, "…"] if cut else parts)

    count = int(labels.max()) + 1
    named = []
    for label in range(min(count, most_classes)):
        members = np.flatnonzero(labels == label)
        texts = [str(m) if names is None else names[m] for m in members[:most_agents]]
        inside = shortened(texts, members.size > most_agents)
        named.append("{" + inside + "}")
    return shortened(named, count > most_classes)


# The stationary distribution of a large sparse W by iteration, with a bound on its error ---------


# Steps between two looks at what is left.
_CHECKED = 8
# Relative changes that may be rounding, if they no longer fall.
_SETTLED = 1e-11
# Of the differences between agents' values that are left, what proves that they vanish.
_CONTRACTED = 0.5
# Iteration is given up after a quarter of its steps if it needs four times as many as are left.
_BEGUN, _SLACK = 0.25, 4.0
# A bound on the relative error that is good enough.
_ACCEPTED = 1e-6
# A Gaussian vector's part along any one direction is below this with a chance below 8e-4: for
# four independent vectors at once, 4e-13.
_STARTS = 4
_PART = 1e-3
_START_SEED = 21


def iterate(
    weights: sparse.csr_array[np.float64], *, steps: int, progress: Progress | None = None
) -> tuple[FloatArray, float, int] | None:
    """The stationary v by iteration, shape (N,), a bound on every |v̂_j/v_j − 1|, and products.

    None where `steps` steps of two products each do not find and prove it. What is iterated is the
    walk without its stays, y ← y(J + J²)/2 with J_ij = W_ij/Σ_k≠i W_ik and v_j ∝ y_j/Σ_k≠j W_jk:
    it neither subtracts nor is periodic. (docs: mathematics/mixing)
    """
    agents = weights.shape[0]
    links = off_diagonal(weights)
    leaving = np.bincount(links.row, links.weight, minlength=agents)
    share = links.weight / leaving[links.row]
    jumps = sparse.csr_array((share, (links.column, links.row)), shape=(agents, agents))
    if not (share.min() > 0 and leaving.min() > MODERATE):
        return None
    most_added = max(int(np.diff(jumps.indptr).max()), int(np.bincount(links.row).max()))
    # Of sums of so many positive numbers, for J as for yJ.
    rounding = (most_added + 4) * EPS

    y = np.full(agents, 1.0 / agents)
    off = np.inf
    for step in range(1, steps + 1):
        once = jumps @ y
        if step % _CHECKED == 0:
            _tell(progress, step, steps)
            before, off = off, float(np.abs(once / y - 1.0).max())
            if off <= 4 * EPS or before <= off <= _SETTLED:
                break
            if _is_slow(off, before, goal=_SETTLED, step=step, steps=steps):
                return None
        y = (once + jumps @ once) / 2
        if not y.min() > MODERATE:
            return None
    else:
        return None
    values = y / leaving
    contraction = _contraction(jumps, y, steps=steps, progress=progress)
    if contraction is None:
        return None
    taken, tau = contraction
    apart = 3 * taken * (off + 2 * rounding) / (1 - tau)
    if not apart <= _ACCEPTED:
        return None
    products = 2 * (step + _STARTS * taken)
    return values / values.sum(), float(apart / (1 - apart) + rounding), products


def _contraction(
    jumps: sparse.csr_array[np.float64], y: FloatArray, *, steps: int, progress: Progress | None
) -> tuple[int, float] | None:
    """After how many steps the reversed walk is proved to contract, and a bound τ ≤ ½ by how much.

    The walk reversed at y, averaged over one and two moves, brings the values of any function on
    the agents together: the largest difference to τ of itself, but for a chance of 4e-13. Known
    from what it leaves of Gaussian vectors, which have a part along the slowest direction.
    """
    agents = y.size
    z = np.random.default_rng(_START_SEED).standard_normal((agents, _STARTS))
    weight = y.reshape(-1, 1)
    inflow = np.asarray(jumps @ y).reshape(-1, 1)
    tau = np.inf
    for step in range(steps + 1):
        z -= z.mean(axis=0)
        if step % _CHECKED == 0:
            _tell(progress, step, steps)
            before, tau = tau, math.sqrt(agents) * float(np.linalg.norm(z, axis=0).max()) / _PART
            if tau <= _CONTRACTED:
                return step, tau
            if _is_slow(tau, before, goal=_CONTRACTED, step=step, steps=steps):
                return None
        once = (jumps @ (weight * z)) / inflow
        z = (once + (jumps @ (weight * once)) / inflow) / 2
    return None


def _is_slow(now: float, before: float, *, goal: float, step: int, steps: int) -> bool:
    """Whether what falls like this between two looks will be far from its goal in the end."""
    looks = _SLACK * (steps - step) / _CHECKED
    begun = step >= _BEGUN * steps
    return begun and math.log(max(now / goal, 1.0)) > looks * math.log(max(before / now, 1.0))


def _tell(progress: Progress | None, done: int, total: int) -> None:
    if progress is not None:
        progress(done, total)
