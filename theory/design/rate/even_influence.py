"""Among equally good influences, the most even.

If several v attain the best rate, the one nearest to uniform is returned: it is unique, does not
depend on how agents are numbered, treats agents alike that are, and of all best v it has the least
variance, which is what the error exponent likes (docs: mathematics/optimal-rate).

The v that attain the best rate are those that meet complementary slackness with one optimal choice
of multipliers: agents whose marginal value is below the largest have v_j = v_min, hypotheses with
λ_θ > 0 bind. On these equations the nearest point to uniform is a least-distance problem, which is
a non-negative least-squares problem (Lawson and Hanson 1974, chapter 23).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import nnls

from theory.validation import FloatArray

# What HiGHS leaves of a zero after its last pivots, in units of the data.
_ZERO = 1e-9
# Slack that rounding may ask for where equations and inequalities are to hold together, in units
# of the data; the least that leaves a solution is used.
_SLACKS = (0.0, 1e-15, 1e-14, 1e-13)

# A residual of so little is one of zero: no point meets all inequalities.
_NONE = 1e-12


@dataclass(frozen=True, eq=False)
class EvenInfluence:
    """A best influence for groups of like agents, shape (G,), and whether it is the only one.

    `is_unique` is None where that was not decided; zeros are judged to 1e-9 of the data.
    """

    shares: FloatArray
    is_unique: bool | None


def most_even(
    payoffs: FloatArray,
    counts: FloatArray,
    *,
    floor: float,
    shares: FloatArray,
    multipliers: FloatArray,
) -> EvenInfluence:
    """The optimal shares u nearest to uniform, Σ_g n_g (u_g/n_g − 1/N)² least.

    Parameters
    ----------
    payoffs
        I_gθ, shape (G, M'): what each agent of a group observes against each wrong hypothesis.
    counts
        n_g, shape (G,): how many agents a group has; they share u_g evenly.
    floor
        v_min: u_g ≥ n_g v_min.
    shares, multipliers
        An optimal basic solution: shapes (G,) and (M',).
    """
    agents = float(counts.sum())
    lowest = counts * floor
    value = float((shares @ payoffs).min())
    # What influence is worth has one size, the hypotheses have others: those that do not bind may
    # be larger by far, and must not blur the comparison.
    scale = float((np.abs(payoffs) @ multipliers).max()) or 1.0
    largest = np.abs(payoffs).max(axis=0)
    largest[largest == 0] = scale
    worth = payoffs @ multipliers
    free = np.flatnonzero(worth >= worth.max() - _ZERO * scale)
    binding = multipliers > _ZERO
    # In y_g = u_g/√n_g − √n_g/N the distance to uniform is the length of y.
    root = np.sqrt(counts[free])
    gain = payoffs[free] * root[:, None] / largest
    offset = lowest.copy()
    offset[free] = counts[free] / agents
    left = np.vstack([gain[:, binding].T, root])
    short = (value - offset @ payoffs) / largest
    right = np.append(short[binding], 1.0 - float(offset.sum()))
    axes, sizes, rest = np.linalg.svd(left, full_matrices=True)
    rank = int(np.count_nonzero(sizes > _ZERO * sizes[0]))
    several = bool(((counts > 1) & (shares > lowest + _ZERO)).any())
    if rank == free.size:
        return EvenInfluence(shares, not several)
    nearest = rest[:rank].T @ ((axes[:, :rank].T @ right) / sizes[:rank])
    plane = rest[rank:].T
    lower = np.vstack([np.diag(root), gain[:, ~binding].T])
    least = np.concatenate(
        [
            lowest[free] - offset[free],
            short[~binding],
        ]
    )
    for slack in _SLACKS:
        steps = _least_length(lower @ plane, least - lower @ nearest - slack)
        if steps is None:
            continue
        even = lowest.copy()
        even[free] = counts[free] / agents + root * (nearest + plane @ steps)
        even = np.maximum(even, lowest)
        even /= even.sum()
        # Ten roundings more than the slack itself may cost.
        if float((even @ payoffs).min()) >= value - 10 * (slack + np.finfo(float).eps) * scale:
            moved = bool(np.abs(even - shares).max() > _ZERO)
            return EvenInfluence(even, False if several or moved else None)
    return EvenInfluence(shares, False if several else None)


def _least_length(matrix: FloatArray, right: FloatArray) -> FloatArray | None:
    """The shortest z with matrix @ z ≥ right; None if rounding leaves none."""
    stacked = np.vstack([matrix.T, right])
    unit = np.zeros(len(stacked))
    unit[-1] = 1.0
    try:
        found, _ = nnls(stacked, unit)
    except RuntimeError:  # too many iterations
        return None
    residual = stacked @ found - unit
    if -residual[-1] <= _NONE:
        return None
    return np.asarray(-residual[:-1] / residual[-1])
