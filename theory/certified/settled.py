"""Σ_{k>K} |a_k| in closed form, once the signs of a_k = [W^k − 1vᵀ]_ij provably stay as they are.

If a_k keeps one sign on the even k > K and one on the odd ones, then

    Σ_{k>K} |a_k| = |Σ_{even k>K} a_k| + |Σ_{odd k>K} a_k|,

and both sums on the right are entries of (I − B²)⁻¹B^{K+1} and (I − B²)⁻¹B^{K+2}, B = W − 1vᵀ.
The right side never exceeds the left, whatever the signs do. What is computed here is how much
the left may exceed it, the *slack*.

In an eigenbasis a_k = Σ_l x_il d_l^k y_lj + e_k, where e_k comes of what the basis leaves off the
diagonal. Put modes of equal modulus together, the largest modulus first. If a group of real d
outweighs all later groups at k = K, it does so at every k > K, and the sum of the two has the
sign of the group: only the groups before it and e_k can do otherwise, and they cost at most
twice their sums. A group before it is one that (i, j) does not feel, by symmetry: its part is
zero but for rounding. (docs: mathematics/certified)
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import flint
import numpy as np
from numpy.typing import NDArray

from theory.certified.eigenbasis import Eigenbasis, magnitudes, upper_bounds
from theory.numbers import precision
from theory.validation import FloatArray

_EPS = 2.0**-52
_TINY = 1e-300


# Entries of a table over groups, agents and agents: rows of agents are taken in blocks.
_MOST_ENTRIES = 60_000


@dataclass(frozen=True, eq=False)
class _Part:
    """Lower and upper bounds for each group; shape (groups, rows, N)."""

    lower: FloatArray
    upper: FloatArray


@dataclass(frozen=True, eq=False)
class Modes:
    """a_k(i, j) = scale_ij (Re Σ_l left_il d_l^k right_lj + e_k), everything with its error.

    Attributes
    ----------
    left, right
        Shapes (N, r), (r, N): doubles near the true coefficients.
    left_size, right_size, left_error, right_error
        Upper bounds on the moduli of the true coefficients, and on the errors of the doubles.
    scale
        Upper bounds on the positive factors, shape (N, N).
    groups
        Members of equal modulus, the largest modulus first; modes with d = 0 are left out.
    moduli
        Of the groups, exact balls.
    signs
        Of the members' d: +1 or −1; 0 if a d is not real.
    error
        Upper bounds on Σ_j Σ_{k≥1} scale_ij |e_k(i, j)|, shape (N,), in units of 2^unit.
    bits
        Of the eigenbasis.
    unit
        Sums over rounds are in units of 2^unit, so that W may mix as slowly as it likes.
    """

    left: NDArray[np.complex128]
    right: NDArray[np.complex128]
    left_size: FloatArray
    right_size: FloatArray
    left_error: FloatArray
    right_error: FloatArray
    scale: FloatArray
    groups: tuple[NDArray[np.int64], ...]
    moduli: tuple[flint.arb, ...]
    signs: NDArray[np.float64]
    error: FloatArray
    bits: int
    unit: int

    def slack(self, rounds: int) -> FloatArray:
        """How much Σ_j Σ_{k>K} |a_k| may exceed the closed form, K = `rounds`.

        Shape (N,), in units of 2^unit.
        """
        with precision(self.bits):
            one = flint.arb(2) ** -self.unit
            late = [
                _above(one * modulus ** (rounds + 1) / (1 - modulus**2)) for modulus in self.moduli
            ]
            fall = [
                _above((after / before) ** rounds)
                for before, after in zip(self.moduli, self.moduli[1:], strict=False)
            ]
        agents = len(self.scale)
        total = np.zeros(agents)
        block = max(1, _MOST_ENTRIES // (max(1, len(self.groups)) * agents))
        for start in range(0, agents if self.groups else 0, block):
            rows = slice(start, start + block)
            even, odd = self._parts(rows)
            excess = _excess(even, np.array(late), fall)
            excess = excess + (excess if odd is even else _excess(odd, np.array(late), fall))
            total[rows] = (excess * self.scale[rows]).sum(axis=1)
        terms = total + 2 * self.error
        return np.asarray(terms * (1 + (4 * agents + 64) * _EPS) + _TINY)

    @property
    def can_settle(self) -> bool:
        """Whether the largest modulus belongs to real d: else no sign settles for ever."""
        return not self.groups or bool(np.all(self.signs[self.groups[0]] != 0))

    @cached_property
    def _by_size(self) -> list[tuple[NDArray[np.int64], NDArray[np.int64]]]:
        """Groups of as many members: their numbers, shape (k,), and members, shape (k, size)."""
        sizes = np.array([len(group) for group in self.groups])
        picked = [np.flatnonzero(sizes == size) for size in np.unique(sizes)]
        return [(which, np.stack([self.groups[g] for g in which])) for which in picked]

    def _over_groups(self, left: FloatArray, right: FloatArray) -> FloatArray:
        """Σ_l left_il right_lj over each group's members l; shape (groups, rows, N)."""
        found = np.empty((len(self.groups), len(left), right.shape[1]))
        for which, members in self._by_size:
            found[which] = left[:, members].transpose(1, 0, 2) @ right[members]
        return found

    def _parts(self, rows: slice) -> tuple[_Part, _Part]:
        """Bounds on |Re Σ_l left d^k right| / modulus^k over each group, at even and at odd k."""
        count = np.array([[[len(group)]] for group in self.groups])
        left_size, left_error = self.left_size[rows], self.left_error[rows]
        size = self._over_groups(left_size, self.right_size) * (1 + (count + 8) * _EPS)
        stored = self._over_groups(left_size, self.right_error)
        stored += self._over_groups(left_error, self.right_size)
        doubt = (count + 16) * 4 * _EPS * size + 2 * stored
        signs = [self.signs[group] for group in self.groups]
        is_real = np.array([[[bool(np.all(sign != 0))]] for sign in signs])

        def part(left: NDArray[np.complex128]) -> _Part:
            near = self._over_groups(left.real, self.right.real)
            if left.imag.any():
                near -= self._over_groups(left.imag, self.right.imag)
            near = np.abs(near)
            lower, upper = near - doubt, (near + doubt) * (1 + 4 * _EPS)
            if not is_real.all():
                lower = np.where(is_real, lower, -np.inf)
                upper = np.where(is_real, upper, size)
            return _Part(lower, upper)

        even = part(self.left[rows])
        # Where each group has one sign, what is odd is as large as what is even.
        if all(np.all(sign == sign[0]) for sign in signs):
            return even, even
        return even, part(self.left[rows] * self.signs)


def _excess(part: _Part, late: FloatArray, fall: list[float]) -> FloatArray:
    """What groups before the leader cost, or all of them; of one parity, shape (rows, N).

    The leader is the first group that outweighs all later ones; −1 if there is none.
    """
    leader = np.full(part.lower.shape[1:], -1)
    rest = np.zeros(leader.shape)
    widen = 1 + 64 * _EPS
    for g in range(len(late) - 1, -1, -1):
        leader[part.lower[g] > rest * widen] = g
        if g:
            rest = (rest + part.upper[g]) * (fall[g - 1] * widen)
    costs = np.zeros((len(late) + 1, *leader.shape))
    np.cumsum(late[:, None, None] * part.upper, axis=0, out=costs[1:])
    before = np.take_along_axis(costs, np.maximum(leader, 0)[None], axis=0)[0]
    return np.asarray(np.minimum(np.where(leader < 0, np.inf, 2 * before), costs[-1]))


def modes(
    basis: Eigenbasis,
    stationary: list[flint.arb],
    *,
    symmetric: bool,
    together: tuple[float, ...] = (0.0,),
    unit: int = 0,
) -> Iterator[Modes]:
    """The modes of W − 1vᵀ from a basis of `spectrum.refined_bases`; none if it is too coarse.

    Parameters
    ----------
    basis
        Of D^½WD^−½ − √v√vᵀ if `symmetric`, else of the difference matrix.
    stationary
        v in balls of the basis's precision.
    together
        Modes for each: eigenvalues that differ by less are put together, as are those whose discs
        are wider.
    unit
        Sums over rounds are taken in units of 2^unit; about log2(1/(1 − slem)) where that is large.
    """
    agents = len(stationary)
    with precision(basis.bits):
        if symmetric:
            left, right = basis.vectors, basis.inverse
            root = [entry.sqrt() for entry in stationary]
            scale = np.array([[_above(b / a) for b in root] for a in root])
        else:
            left, right = _from_differences(basis, stationary)
            scale = np.ones((agents, agents))
        left_size, right_size = magnitudes(left), magnitudes(right)
        left_middle, left_error = _doubles(left)
        right_middle, right_error = _doubles(right)
    if not all(np.isfinite(array).all() for array in (scale, left_size, right_size)):
        return
    for width in together:
        with precision(basis.bits):
            chosen = _chosen_values(basis, width)
            moduli = [abs(value).mid() for value in chosen]
            if not all(modulus < 1 for modulus in moduli):
                continue
            one = flint.arb(2) ** -unit
            slow = np.array([_above(one / (1 - modulus)) for modulus in moduli])
            rest = magnitudes(_less_diagonal(basis.similar, chosen), unit=-unit)
            error = _drift(left_size, slow, rest, right_size, scale)
            groups, distinct = _groups(moduli)
        if np.isfinite(error).all():
            yield Modes(
                left_middle,
                right_middle,
                left_size,
                right_size,
                left_error,
                right_error,
                scale,
                groups,
                distinct,
                np.array([_sign(value) for value in chosen]),
                error,
                basis.bits,
                unit,
            )


def _less_diagonal(matrix: Any, values: list[Any]) -> Any:
    """A ball matrix less the diagonal matrix of some values."""
    rest = type(matrix)(matrix)
    for i, value in enumerate(values):
        rest[i, i] -= value
    return rest


def _drift(
    left: FloatArray, slow: FloatArray, off: FloatArray, right: FloatArray, scale: FloatArray
) -> FloatArray:
    """Σ_j Σ_k scale |e_k(i, j)|, e_k = left ((D + F)^k − D^k) right, |F| ≤ `off`, at most.

    (D + F)^k − D^k = Σ_{a+b=k−1} D^a F (D + F)^b, so that the sum over k is at most
    left S |F| z with S = (I − |D|)⁻¹ and (I − |D| − |F|) z = right. As I − |D| − |F| is an
    M-matrix, z ≤ S(right + ε) as soon as ε ≥ |F|S(right + ε) in every entry. `slow`, the diagonal
    of S, and the result are in units of 2^unit, and `off` in units of 2^-unit.
    """
    size = len(slow)
    widen = 1 + (8 * size + 64) * _EPS
    theta = float((off @ slow).max()) * widen
    if not theta < 0.5:
        return np.full(len(left), np.inf)
    right = right + 2 * theta * right.max(axis=0)
    table = (left * slow) @ (off @ (slow[:, None] * right))
    return np.asarray((table * scale).sum(axis=1) * widen)


def _from_differences(basis: Eigenbasis, stationary: list[flint.arb]) -> tuple[Any, Any]:
    """Left and right factors for W − 1vᵀ from those of the differences to agent 0.

    (W − 1vᵀ)^k f has mean v·(…) = 0 and the differences C^k(f_j − f_0): subtract the mean.
    """
    vectors, inverse = basis.vectors, basis.inverse
    size = len(basis.values)
    mean = flint.acb_mat([stationary[1:]]) * vectors
    rows = [[-mean[0, m] for m in range(size)]]
    rows += [[vectors[i, m] - mean[0, m] for m in range(size)] for i in range(size)]
    columns = [[-sum(row, flint.acb(0)), *row] for row in inverse.table()]
    return flint.acb_mat(rows), flint.acb_mat(columns)


def _chosen_values(basis: Eigenbasis, together: float) -> list[Any]:
    """Exact numbers near T_ii: real, equal or opposite where the discs cannot tell otherwise."""
    width = flint.arb(together)
    for radius in basis.radii:
        width = width.max(4 * radius)
    middles = [flint.acb(value).mid() for value in basis.values]
    order = sorted(range(len(middles)), key=lambda m: float(abs(middles[m]).mid()))
    chosen: list[Any] = list(middles)
    modulus = flint.arb(-1)
    for m in order:
        size = abs(middles[m]).mid()
        # A chain of close moduli takes the first one's; it must not drift away from it.
        if not size - modulus > width:
            size = modulus
        modulus = size
        if abs(middles[m].imag) <= width:
            chosen[m] = flint.acb(-size if middles[m].real < 0 else size)
        elif not size.is_zero():
            chosen[m] = (middles[m] * (size / abs(middles[m]).mid())).mid()
    if all(isinstance(value, flint.arb) for value in basis.values):
        return [value.real for value in chosen]
    return chosen


def _groups(moduli: list[flint.arb]) -> tuple[tuple[NDArray[np.int64], ...], tuple[flint.arb, ...]]:
    """Members of equal modulus; complex ones whose moduli differ in the last bits stand apart."""
    sets: dict[tuple[int, int], list[int]] = {}
    values: dict[tuple[int, int], flint.arb] = {}
    for index, modulus in enumerate(moduli):
        if modulus.is_zero():
            continue
        mantissa, exponent = modulus.man_exp()
        key = (int(mantissa), int(exponent))
        sets.setdefault(key, []).append(index)
        values[key] = modulus
    ordered = sorted(values, key=lambda key: _Descending(values[key]))
    return tuple(np.array(sets[key]) for key in ordered), tuple(values[key] for key in ordered)


@dataclass(frozen=True, eq=False)
class _Descending:
    value: flint.arb

    def __lt__(self, other: _Descending) -> bool:
        return bool(self.value > other.value)


def _sign(value: Any) -> float:
    number = flint.acb(value)
    if not number.imag.is_zero():
        return 0.0
    return -1.0 if number.real < 0 else 1.0


def _doubles(matrix: Any) -> tuple[NDArray[np.complex128], FloatArray]:
    """Doubles near the entries, and bounds on what they miss (rounding and radius)."""
    shape = (matrix.nrows(), matrix.ncols())
    entries = [flint.acb(entry) for entry in matrix.entries()]
    middles = np.array([complex(entry.mid()) for entry in entries]).reshape(shape)
    radii = upper_bounds([entry.real.rad() + entry.imag.rad() for entry in entries]).reshape(shape)
    return middles, np.asarray(radii + 4 * _EPS * np.abs(middles) + _TINY)


def _above(ball: flint.arb) -> float:
    return float(ball.abs_upper()) * (1 + 4 * _EPS) + _TINY
