"""Smooth stand-ins for the subdominant modulus and the deviation, with their derivatives.

Modulus
    ‖B^k‖^{1/k} for B = W − 1vᵀ, k = 2^p, Frobenius norm: an upper bound on the modulus for every k,
    that tends to it, and smooth unless B^k = 0.
Deviation
    A soft maximum over agents of D_i = Σ_k Σ_j |[W^k]_ij − v_j|, with |x| rounded off near 0.

Derivatives are by W, all entries apart, and by v, W apart: adjoints of the recursions for powers
(docs: mathematics/directed-mixing).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import softmax

from theory.validation import FloatArray

# Below this a power of B is zero, or rounding.
_TINY = 1e-280
# Rounds beyond that in which all agents are so near to v add next to nothing.
_SETTLED = 1e-5
# Rounds that are summed, and entries of the powers that are kept: 20 million, 160 MB.
_MOST_ROUNDS = 1000
_MOST_ENTRIES = 2e7


@dataclass(frozen=True, eq=False)
class Measured:
    """A value and its derivatives: by W, shape (N, N), and by v, shape (N,)."""

    value: float
    by_weights: FloatArray
    by_influence: FloatArray


def smoothed_modulus(weights: FloatArray, v: FloatArray, *, doublings: int) -> Measured:
    """‖(W − 1vᵀ)^k‖_F^{1/k}, k = 2^`doublings`: an upper bound on the subdominant modulus."""
    power = weights - v
    powers, sizes, logarithm = [], [], 0.0
    for _ in range(doublings + 1):
        size = float(np.linalg.norm(power))
        if size < _TINY:
            nothing = np.zeros_like(weights)
            return Measured(0.0, nothing, np.zeros_like(v))
        power = power / size
        logarithm = 2 * logarithm + np.log(size)
        powers.append(power)
        sizes.append(size)
        power = power @ power
    value = float(np.exp(logarithm / 2**doublings))
    # The derivative of log‖M_p‖ by M_p / n_p is M_p / n_p itself; each squaring pulls it back.
    adjoint = powers[-1]
    for below, size in zip(powers[-2::-1], sizes[:0:-1], strict=True):
        adjoint = (below.T @ adjoint + adjoint @ below.T) / size
    gradient = adjoint * (value / sizes[0] / 2**doublings)
    return Measured(value, gradient, -gradient.sum(axis=0))


def smoothed_deviation(
    weights: FloatArray, v: FloatArray, *, sharpness: float, rounding: float
) -> Measured:
    """A soft maximum of D_i: log-sum-exp at `sharpness` per round; |x| as √(x² + ε²) − ε.

    ε is `rounding` times v_j. Rounds are summed until all agents are close to v.
    """
    agents = len(v)
    most = max(2, min(_MOST_ROUNDS, int(_MOST_ENTRIES / agents**2)))
    epsilon = rounding * v
    powers = [np.eye(agents)]
    signs: list[FloatArray] = []
    flats: list[FloatArray] = []
    totals = np.zeros(agents)
    while len(signs) < most:
        powers.append(powers[-1] @ weights)
        difference = powers[-1] - v
        root = np.sqrt(difference * difference + epsilon * epsilon)
        signs.append(difference / root)
        flats.append((epsilon / root - 1.0) * rounding)
        totals += (root - epsilon).sum(axis=1)
        if float(np.abs(difference).sum(axis=1).max()) <= _SETTLED:
            break
    top = float(totals.max())
    value = top + float(np.log(np.exp(sharpness * (totals - top)).sum())) / sharpness
    share = softmax(sharpness * totals)[:, None]
    by_weights, by_v = np.zeros_like(weights), np.zeros(agents)
    adjoint = np.zeros_like(weights)
    for k in range(len(signs), 0, -1):
        pull = share * signs[k - 1]
        adjoint = adjoint + pull
        # v moves the difference, and the width of the rounded corner.
        by_v += (share * flats[k - 1] - pull).sum(axis=0)
        by_weights += powers[k - 1].T @ adjoint
        adjoint = adjoint @ weights.T
    return Measured(value, by_weights, by_v)


def modulus_bound(weights: FloatArray, v: FloatArray) -> float:
    """The least ‖(W − 1vᵀ)^k‖_F^{1/k}, k = 1, 2, 4, … 2^30: above the modulus, up to rounding."""
    power, logarithm, least = weights - v, 0.0, np.inf
    for doubling in range(31):
        size = float(np.linalg.norm(power))
        if size < _TINY:
            return 0.0
        power, logarithm = power / size, 2 * logarithm + float(np.log(size))
        least = min(least, logarithm / 2**doubling)
        power = power @ power
    return float(np.exp(least))
