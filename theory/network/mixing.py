"""The deviation D_i = Σ_{k≥1} Σ_j |[W^k]_ij − v_j|: how long agent i's view differs from v.

The bias of agent i's log-ratio against its limit is at most D_i times the largest expected
log-ratio, whatever the number of rounds. The printed bound 4 log N / (1 − λ_max) on it is false;
what holds is this. Write f_i(k) = ‖e_i W^k − v‖₁, and τ for a number below one with
½‖e_i W^m − e_j W^m‖₁ ≤ τ for all i and j.

1. f_i never increases, since ‖(x − v)W‖₁ ≤ ‖x − v‖₁. So a sum over s rounds is bounded on both
   sides by its ends: s f_i(k+s) ≤ f_i(k+1) + … + f_i(k+s) ≤ (s−1) f_i(k) + f_i(k+s).
2. f_i(k+m) ≤ τ f_i(k). So S_m ≤ D_i ≤ S_m / (1 − τ), S_m the sum of the first m terms.
3. If W is reversible, f_i(k) ≤ min(2, slem^k √((1 − v_i)/v_i)), which is summed in closed form.

All rounds are summed one by one at first; then in strides, which double each time the number of
rounds has doubled. The relative width is then about the stride over the rounds so far, however
slowly W mixes, and a gap of 1e-9 takes a few thousand products. (docs: mathematics/mixing)
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from theory.network.spectrum import Spectrum
from theory.network.stationary import DENSE_AGENTS
from theory.network.structure import EPS, Weights, as_dense, off_diagonal
from theory.showing import Shown
from theory.validation import FloatArray, read_only

# The tail beyond the last round is at most this part of the sum, or less than the strides cost.
_TAIL = 1e-13

# Strides double up to 2^_OCTAVES rounds; float64 resolves no gap that takes longer.
_OCTAVES = 60


@dataclass(frozen=True, eq=False)
class Deviation(Shown):
    """Bounds on D_i, rigorous up to the rounding that is allowed for.

    Attributes
    ----------
    lower, upper
        Shape (N,), in rounds; `upper` is inf where nothing is known. The rounding allowed for
        grows with the number of rounds, so that an agent whose D_i is a millionth of the
        largest has it to fewer digits.
    terms
        The number of rounds that were summed.
    """

    lower: FloatArray
    upper: FloatArray
    terms: int

    @property
    def width(self) -> float:
        """The largest (upper − lower) / max(1, upper); inf where nothing is known."""
        return float(
            np.max(
                (self.upper - self.lower)
                / np.maximum(1.0, np.minimum(self.upper, np.finfo(float).max))
            )
        )


def deviation(
    weights: Weights, stationary: FloatArray, *, reversible: Spectrum | None = None
) -> Deviation:
    """Bounds on D_i for all agents.

    Up to 2000 agents by powers of W. Above, the upper bound is that of a reversible W of a known
    subdominant modulus, or inf,
    and the lower bound the first term of the sum or, if W is reversible, `witness_bound`.

    Parameters
    ----------
    weights
        W, shape (N, N), stochastic, irreducible and aperiodic.
    stationary
        v, shape (N,).
    reversible
        The spectrum of W if it is reversible.
    """
    if weights.shape[0] <= DENSE_AGENTS:
        bounds = _by_powers(weights, stationary)
    else:
        first = _first_term(weights, stationary) * (1 - weights.shape[0] * EPS)
        bounds = Deviation(first, np.full(weights.shape[0], np.inf), 1)
    lower, upper = bounds.lower, bounds.upper
    if reversible is not None:
        slem = reversible.slem + reversible.slem_error
        if not np.isnan(slem):
            upper = np.minimum(upper, reversible_bound(stationary, slem))
        if reversible.slow_mode is not None:
            lower = np.maximum(lower, witness_bound(weights, stationary, reversible.slow_mode))
    return Deviation(read_only(lower), read_only(upper), bounds.terms)


def witness_bound(weights: Weights, stationary: FloatArray, witness: FloatArray) -> FloatArray:
    """|(Wh)_i − vh| / ‖(I − W)h‖_∞ ≤ D_i for any h, shape (N,), that is not constant.

    With g = (I − W)h the sum Σ_{k≥1} (e_iW^k − v)g telescopes to (Wh)_i − vh, and it is at most
    D_i ‖g‖_∞. An eigenvector of a slow mode is a good h.
    """
    links = off_diagonal(weights)
    # (Wh)_i − h_i from differences of h, which are small where h is smooth.
    step = np.bincount(
        links.row, links.weight * (witness[links.column] - witness[links.row]), len(witness)
    )
    reach = np.abs(witness - stationary @ witness + step)
    return np.asarray(reach / np.abs(step).max())


def reversible_bound(stationary: FloatArray, slem: float) -> FloatArray:
    """Σ_{k≥1} min(2, slem^k √((1 − v_i)/v_i)) ≥ D_i for a reversible W; shape (N,)."""
    if slem >= 1:
        return np.full(len(stationary), np.inf)
    with np.errstate(divide="ignore"):
        # In logarithms: 1/v overflows for the smallest v that a double holds.
        log_start = (np.log1p(-stationary) - np.log(stationary)) / 2
    if slem <= 0:
        return np.zeros(len(stationary))
    # The terms are above 2 for k < k_0 and geometric from there on.
    flat = np.maximum(np.ceil((log_start - math.log(2)) / -math.log(slem)) - 1, 0.0)
    late = np.where(np.isfinite(flat), log_start + (flat + 1) * math.log(slem), 0.0)
    return np.asarray(2 * flat + np.exp(np.minimum(late, math.log(2))) / (1 - slem))


def _first_term(weights: Weights, stationary: FloatArray) -> FloatArray:
    """‖e_i W − v‖₁ without forming the dense difference; shape (N,)."""
    links = off_diagonal(weights)
    agents = weights.shape[0]
    own = weights.diagonal()
    near = stationary[links.column]
    change = np.abs(links.weight - near) - near
    return np.asarray(
        1.0 + np.abs(own - stationary) - stationary + np.bincount(links.row, change, agents)
    )


def _by_powers(weights: Weights, stationary: FloatArray) -> Deviation:
    agents = len(stationary)
    resolution = _samples_an_octave(agents)
    # As long as the stride is one round, products with a sparse W are quick.
    stride_power, stride = weights, 1
    power, rounds, products = as_dense(weights), 1, 1
    distance = np.abs(power - stationary).sum(axis=1)
    lower, upper, allowance = distance, distance, np.zeros(agents)
    while True:
        # Each product adds at most about N roundings to a row of sum one.
        error = (products + 1) * (agents + 2) * EPS
        allowance = allowance + stride * error
        # ½‖row − row'‖₁ ≤ half the sum of their distances to v.
        contraction = float(distance.max()) + error
        # A tail well below the width that the strides have already cost is short enough.
        tail = max(_TAIL, 4 * error, 1e-3 * (stride - 1) / rounds)
        if contraction <= tail or rounds >= 2**_OCTAVES:
            break
        if rounds >= 2 * resolution * stride:
            whole = as_dense(stride_power)
            stride_power, stride, products = _product(whole, whole), 2 * stride, products + 1
        power, rounds, products = _product(power, stride_power), rounds + stride, products + 1
        previous, distance = distance, np.abs(power - stationary).sum(axis=1)
        # Monotone in exact arithmetic; rounding may lift the last digits.
        distance = np.minimum(distance, previous)
        lower = lower + stride * distance
        upper = upper + (stride - 1) * previous + distance
    lower = np.maximum(lower - allowance, 0.0)
    if contraction >= 1:
        return Deviation(lower, np.full(agents, np.inf), rounds)
    return Deviation(lower, (upper + allowance) / (1 - contraction), rounds)


def _product(left: FloatArray, right: Weights) -> FloatArray:
    product = np.asarray(left @ right)
    # Rows sum to one exactly: without this, rounding would be doubled by each squaring.
    product /= product.sum(axis=1, keepdims=True)
    return product


def _samples_an_octave(agents: int) -> int:
    """Fewer samples, and so wider bounds, where a product is expensive."""
    for largest, samples in ((64, 1024), (256, 128), (512, 32), (1000, 8)):
        if agents <= largest:
            return samples
    return 4
