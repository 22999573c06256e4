"""The deviation D_i = Σ_{k≥1} Σ_j |[W^k]_ij − v_j|: how long agent i's view differs from v.

The bias of agent i's log-ratio against its limit is at most D_i times the largest expected
log-ratio, whatever the number of rounds. The printed bound 4 log N / (1 − λ_max) on it is false;
what holds is this. Write f_i(k) = ‖e_i W^k − v‖₁, and τ for a number below one with
½‖e_i W^m − e_j W^m‖₁ ≤ τ for all i and j.

1. f_i never increases, since ‖(x − v)W‖₁ ≤ ‖x − v‖₁. So a sum over s rounds is bounded on both
   sides by its ends: s f_i(k+s) ≤ f_i(k+1) + … + f_i(k+s) ≤ (s−1) f_i(k) + f_i(k+s).
2. f_i(k+m) ≤ τ f_i(k). So S_m ≤ D_i ≤ S_m / (1 − τ), S_m the sum of the first m terms.
3. If W is reversible, with eigenvalues λ_m and eigenvectors u_m of D^½ W D^−½, D = diag(v), then
   χ_i(k)² = Σ_{m≥2} λ_m^2k u_m(i)²/v_i bounds f_i(k) ≤ χ_i(k) by Cauchy and Schwarz. In turn
   f_i(k) ≥ χ_i(k)²/(χ_i(k/2) max_j χ_j(k/2)), since that is the largest |[W^k]_ij/v_j − 1|.
   Where few modes are left, f_i(k) is summed from them. The tail of all later rounds is at most
   χ_i(k) slem/(1 − slem).

All rounds are summed one by one at first; then in strides, which double each time the number of
rounds has doubled. The relative width is then about the stride over the rounds so far, however
slowly W mixes, and a gap of 1e-9 takes a few thousand products. Hundreds of agents, of whose W most
entries are zero, are taken by the eigenvectors of the slow modes if W is reversible, which takes no
products. (docs: mathematics/mixing)
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from theory.network.spectrum import ROUNDING, Spectrum, symmetrised
from theory.network.stationary import DENSE_AGENTS
from theory.network.structure import EPS, Weights, as_dense, off_diagonal
from theory.scientific import sparse
from theory.showing import Shown
from theory.validation import FloatArray, IntArray, read_only

# The tail beyond the last round is at most this part of the sum, or less than the strides cost.
_TAIL = 1e-13

# Operations of products that take a second or two.
_MOST_WORK = 1e11
# All modes are held of so many agents, and so many modes of more.
_ALL_MODES, _MOST_MODES = 512, 128
# Modes this much smaller than the slowest are bounded, and those that are left are added up where
# that takes so many products.
_NEGLIGIBLE, _MOST_MODAL = 1e-6, 4e7

# Rows of a product that are summed together.
_ROWS = 64

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

    Up to 2000 agents by powers of W, or by modes of a reversible sparse W. Above, the upper bound
    is that of a reversible W of a known subdominant modulus, or inf, and the lower bound the first
    term of the sum or, if W is reversible, `witness_bound`.

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
        by_modes = _has_quick_modes(weights, reversible)
        bounds = (_by_modes if by_modes else _by_powers)(weights, stationary)
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


@dataclass(frozen=True, eq=False)
class _Modes:
    """The slow modes of a reversible W.

    Attributes
    ----------
    values
        λ_m by falling modulus, without the 1; shape (q,).
    vectors
        u_m, shape (N, q).
    beyond
        No other mode has a larger modulus.
    stationary
        v, shape (N,).
    """

    values: FloatArray
    vectors: FloatArray
    beyond: float
    stationary: FloatArray

    @property
    def rounding(self) -> FloatArray:
        """What rounding may do to D_i: these are the modes of W and about N roundings.

        f_i(k) changes by at most k (N + 2) eps slem^(k−1)/√v_i, of which this is the sum.
        """
        return np.asarray(
            2 * (len(self.stationary) + 2) * EPS / (1 - self.slem) ** 2 / np.sqrt(self.stationary)
        )

    @property
    def slem(self) -> float:
        """The subdominant modulus."""
        return float(np.abs(self.values[0]))

    @cached_property
    def shares(self) -> FloatArray:
        """u_m(i)²/v_i, shape (N, q)."""
        return np.asarray(self.vectors**2 / self.stationary[:, None])

    @cached_property
    def others(self) -> FloatArray:
        """Σ u_m(i)²/v_i over the modes that are not held: all of them add up to 1/v_i − 1."""
        return np.asarray(np.maximum(1 / self.stationary - 1 - self.shares.sum(axis=1), 0.0))

    def chi(self, rounds: float) -> tuple[FloatArray, FloatArray]:
        """Lower and upper bounds on χ_i(k), shape (N,) each."""
        known = self.shares @ np.abs(self.values) ** (2 * rounds)
        return np.sqrt(known), np.sqrt(known + self.others * self.beyond ** (2 * rounds))

    def distance(self, rounds: int) -> tuple[FloatArray, FloatArray]:
        """Lower and upper bounds on f_i(k), shape (N,) each; rounding is not in them."""
        decay = self.values**rounds
        left = int(np.count_nonzero(np.abs(decay) >= _NEGLIGIBLE * np.abs(decay[0])))
        if len(self.stationary) ** 2 * left > _MOST_MODAL:
            lower, upper = self.chi(rounds)
            _, earlier = self.chi(rounds / 2)
            largest = earlier * earlier.max()
            least = np.divide(lower**2, largest, out=np.zeros_like(lower), where=largest > 0)
            return np.minimum(least, 2.0), np.minimum(upper, 2.0)
        # What is left out: later modes, and those not held.
        small = np.sqrt(self.shares[:, left:] @ decay[left:] ** 2) + (
            np.sqrt(self.others) * self.beyond**rounds
        )
        root = np.sqrt(self.stationary)
        left_vectors = self.vectors[:, :left] * (decay[:left] / root[:, None])
        right = (self.vectors[:, :left] * root[:, None]).T
        # Some rows at a time: all of the product would be far larger than a cache.
        sums = np.concatenate(
            [
                np.abs(left_vectors[i : i + _ROWS] @ right).sum(axis=1)
                for i in range(0, len(root), _ROWS)
            ]
        )
        return np.maximum(sums - small, 0.0), np.minimum(sums + small, 2.0)


def _slow_modes(weights: Weights, stationary: FloatArray) -> _Modes:
    """As many modes as are worth their time, from all eigenvalues."""
    from scipy.linalg import eigh

    S = as_dense(symmetrised(sparse.csr_array(weights)))
    agents = len(stationary)
    if agents <= _ALL_MODES:
        values, vectors = np.linalg.eigh(S)
        order = np.argsort(-np.abs(values[:-1]), kind="stable")
        return _Modes(values[order], vectors[:, order], 0.0, stationary)
    # No eigenvalue of a stochastic matrix is below 2 min_i W_ii − 1, by Gershgorin: where that is
    # no large modulus, the slowest modes are those at the top.
    least = 2 * float(S.diagonal().min()) - 1 - ROUNDING
    if agents > _MOST_MODES + 1:
        values, vectors = eigh(S, subset_by_index=(agents - 2 - _MOST_MODES, agents - 2))
        if -least < values[0]:
            return _Modes(values[:0:-1], vectors[:, :0:-1], float(values[0]), stationary)
    values = np.linalg.eigvalsh(S)[:-1]
    order = np.argsort(-np.abs(values), kind="stable")
    held = order[:_MOST_MODES]
    bottom = int((values[held] < 0).sum())
    ends = [(agents - 1 - (len(held) - bottom), agents - 2), (0, bottom - 1)]
    parts = [eigh(S, subset_by_index=end) for end in ends if end[0] <= end[1]]
    found = np.concatenate([part[0] for part in parts])
    by_modulus = np.argsort(-np.abs(found), kind="stable")
    vectors = np.hstack([part[1] for part in parts])[:, by_modulus]
    beyond = float(np.abs(values[order[len(held) :]]).max(initial=0.0))
    return _Modes(found[by_modulus], vectors, beyond, stationary)


def _by_modes(weights: Weights, stationary: FloatArray) -> Deviation:
    """Bounds on D_i of a reversible W, from its slow modes."""
    modes = _slow_modes(weights, stationary)
    # Samples of an octave: a mode takes less than a product.
    slem, resolution = modes.slem + ROUNDING, 32 if len(stationary) <= _ALL_MODES else 16
    rounds = 1
    low, high = modes.distance(rounds)
    lower, upper = low, high
    while float(high.max()) > _TAIL and rounds < 2**_OCTAVES:
        stride = max(1, rounds // resolution)
        rounds += stride
        low, now = modes.distance(rounds)
        # Monotone in exact arithmetic.
        before, high = high, np.minimum(high, now)
        lower = lower + stride * low
        upper = upper + (stride - 1) * before + high
    if slem >= 1:
        return Deviation(lower, np.full(len(stationary), np.inf), rounds)
    tail = modes.chi(rounds)[1] * slem / (1 - slem)
    return Deviation(np.maximum(lower - modes.rounding, 0), upper + tail + modes.rounding, rounds)


def _product(left: FloatArray, right: Weights) -> FloatArray:
    product = np.asarray(left @ right)
    # Rows sum to one exactly: without this, rounding would be doubled by each squaring.
    product /= product.sum(axis=1, keepdims=True)
    return product


def _has_quick_modes(weights: Weights, reversible: Spectrum | None) -> bool:
    """Whether powers of a reversible sparse W would take many seconds."""
    if reversible is None or isinstance(weights, np.ndarray):
        return False
    agents = weights.shape[0]
    resolution = _samples_an_octave(agents)
    rounds = math.log(_TAIL) / math.log(min(max(reversible.slem, EPS), 1 - EPS))
    strides = max(math.log2(rounds / (2 * resolution)), 0.0)
    return 2.0 * agents**3 * resolution * (2 + strides) > _MOST_WORK


def _samples_an_octave(agents: int) -> int:
    """Fewer samples, and so wider bounds, where a product is expensive."""
    for largest, samples in ((64, 1024), (256, 128), (512, 32), (1000, 8)):
        if agents <= largest:
            return samples
    return 4


# Rows of powers, but for their order --------------------------------------------------------------


# Rounds that tell most pairs of rows apart, and rounds that are compared together after them.
_FIRST, _TOGETHER = 2, 32
# Zero, divided by this, is zero.
_TINY = 1e-300


def rows_apart(
    powers: FloatArray, rows: IntArray, parts: Sequence[ArrayLike], *, enough: float
) -> FloatArray:
    """How far rows of several powers of W differ from the first row, each in order of size.

    Parameters
    ----------
    powers
        Shape (m, N, J): non-negative.
    rows
        Shape (R,): which rows.
    parts
        Sets of columns; each is put in order by itself.
    enough
        Once a row is known to differ by more, later powers are not looked at.

    Returns
    -------
    FloatArray
        The largest difference over powers and columns, relative to the numbers, shape (R,).
    """
    found, start = np.zeros(rows.size), 0
    while start < len(powers) and np.count_nonzero(found <= enough) > 1:
        end = start + (_FIRST if not start else _TOGETHER)
        near = np.flatnonzero(found <= enough)
        some = powers[start:end, rows[near]]
        for part in parts:
            own = np.sort(some[:, :, np.asarray(part, dtype=np.int64)], axis=2)
            size = np.maximum(np.maximum(own, own[:, :1]), _TINY)
            gap = (np.abs(own - own[:, :1]) / size).max(axis=(0, 2))
            found[near] = np.maximum(found[near], gap)
        start = end
    return found
