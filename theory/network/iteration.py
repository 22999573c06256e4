"""The stationary distribution of a large sparse W by iteration, with a bound on its error.

Averaging over and over does not subtract: if every v_j is bounded away from what it should be, each
is so relative to its own size (docs: mathematics/mixing, where the bound is proved).
"""

from __future__ import annotations

import math

import numpy as np

from theory.network.structure import EPS, MODERATE, off_diagonal
from theory.progress import Progress
from theory.scientific import sparse
from theory.validation import FloatArray

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
) -> tuple[FloatArray, float] | None:
    """The stationary v by iteration, shape (N,), and a bound on every |v̂_j/v_j − 1|.

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
    return values / values.sum(), float(apart / (1 - apart) + rounding)


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
