"""The law of one log-likelihood ratio, and its cumulants.

At agent j one observation (x, y) moves the log-odds of hypothesis θ* against θ by

    z_j(θ*, θ) = log ℓ_j(y | θ*, x) − log ℓ_j(y | θ, x).

Every law in this project is a mixture: with probability p_o the *atom* o is drawn, and given the
atom z is Normal(m_o, s_o²). A finite alphabet has s_o = 0 (each outcome fixes z); a Gaussian
likelihood has one atom per input, because z is then linear in y. Three numbers of this law decide
how fast a network learns: its mean I_j (the rate), its range r_j (Hoeffding) and its cumulant
generating function κ_j(u) = log E e^{u z_j} (Chernoff, and the error exponent).

Sums that almost cancel, to all their digits.

Where two hypotheses claim nearly the same, z is of the size d of what they differ by, while its
mean I and its cumulants κ are of the size d²: terms of the size d cancel. With

    φ(x) = e^x − 1 − x ≥ 0,

which has no term of the size d, nothing is left to cancel in

    κ(u) = log1p(u I + Σ_o p_o [φ(u m_o) + e^{u m_o} (e^{u² s_o²/2} − 1)]),

given that the mean I has its digits (:mod:`theory.learning.tables`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from theory.showing import Value
from theory.validation import (
    FloatArray,
    IntArray,
    as_distribution,
    as_float_array,
    as_integer,
    fail,
    read_only,
)

SMALL = 1e-3
"""Values below this, of sums whose terms are of size one, are summed again without cancellation."""

HALF = 0.5
"""Up to this φ is its power series; beyond it e^x − 1 and x share hardly a digit."""

SERIES = tuple(1.0 / math.factorial(k) for k in range(16, 1, -1))
"""Coefficients of φ(x)/x², the highest power first: enough of them for |x| ≤ 1/2."""


def second_order(x: FloatArray) -> FloatArray:
    """φ(x) = e^x − 1 − x of each entry, correct to a few roundings; inf where e^x overflows."""
    near = np.abs(x) < HALF
    with np.errstate(over="ignore"):
        values = np.expm1(x) - x
    small = x[near]
    series = np.full_like(small, SERIES[0])
    for coefficient in SERIES[1:]:
        series *= small
        series += coefficient
    values[near] = series * small * small
    return np.asarray(values)


def beyond_mean(means: FloatArray, variances: FloatArray | None, u: FloatArray) -> FloatArray:
    """E e^{uz} − 1 − u m for normals z of given means m and variances, at u; arrays broadcast.

    Never negative; inf where it overflows. Points where `variances` is None.
    """
    x = u * means
    values = second_order(x)
    if variances is not None:
        spread = 0.5 * u * u * variances
        with np.errstate(over="ignore", invalid="ignore"):
            small = np.exp(x) * np.expm1(spread)
            values += np.where(spread < 1.0, small, np.exp(x + spread) - np.exp(x))
    return values


# Values of u handled at a time: bounds the table (u by atom) that one call allocates to about
# 4 million entries, 32 MiB.
_BLOCK = 1 << 22


@dataclass(frozen=True, eq=False)
class LogRatioLaw(Value):
    """The law of z: a finite mixture of normals, points included.

    Parameters
    ----------
    probabilities
        Shape (O,), the probability of each atom; they sum to one.
    means
        Shape (O,), E[z | atom], in nats.
    variances
        Shape (O,), Var[z | atom], in nats²; zero for a point.
    terms
        How many independent, identically distributed terms z is known to be the sum of: the
        observations of a batch.
    known_mean
        E z, where it is known to more digits than the sum over atoms has, which cancels where two
        hypotheses claim nearly the same.

    Raises
    ------
    ValueError
        If the shapes differ, the probabilities are no distribution, a variance is negative, or
        `terms` is not a whole number of at least 1.
    """

    probabilities: FloatArray
    means: FloatArray
    variances: FloatArray
    terms: int = field(default=1, repr=False)
    known_mean: float | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        probabilities = as_distribution("probabilities", self.probabilities)
        means = as_float_array("means", self.means, ndim=1)
        variances = as_float_array("variances", self.variances, ndim=1)
        if not probabilities.shape == means.shape == variances.shape:
            raise fail(
                "variances",
                f"as many means and variances as probabilities, {probabilities.size}",
                f"{means.size} means and {variances.size} variances",
                "give one of each for every atom",
            )
        if (variances < 0).any():
            raise fail("variances", "at least 0", f"{variances.min():g}", "make it non-negative")
        possible = probabilities > 0
        object.__setattr__(self, "terms", as_integer("terms", self.terms, minimum=1))
        object.__setattr__(self, "probabilities", read_only(probabilities[possible]))
        object.__setattr__(self, "means", read_only(means[possible]))
        object.__setattr__(self, "variances", read_only(variances[possible]))

    @cached_property
    def is_bounded(self) -> bool:
        """Whether |z| has a finite bound: no atom is a proper normal."""
        return not self.variances.any()

    @cached_property
    def mean(self) -> float:
        """E z in nats, in floating point."""
        if self.known_mean is not None:
            return self.known_mean
        return float(self.probabilities @ self.means)

    @cached_property
    def is_silent(self) -> bool:
        """Whether z is 0 whatever is observed."""
        return self.is_bounded and not self.means.any()

    @cached_property
    def mean_cancels(self) -> bool:
        """Whether E z is so far below E |z| that sums like it are formed without its terms."""
        return abs(self.mean) < SMALL * float(self.probabilities @ np.abs(self.means))

    @cached_property
    def variance(self) -> float:
        """Var z in nats², in floating point."""
        centred = self.means - self.mean
        return float(self.probabilities @ (self.variances + centred * centred))

    @cached_property
    def minimum(self) -> float:
        """The essential infimum of z: −inf if any atom is a proper normal."""
        return float(self.means.min()) if self.is_bounded else -np.inf

    @cached_property
    def maximum(self) -> float:
        """The essential supremum of z: +inf if any atom is a proper normal."""
        return float(self.means.max()) if self.is_bounded else np.inf

    @property
    def range(self) -> float:
        """``maximum − minimum`` in nats."""
        return self.maximum - self.minimum

    @property
    def squared_range(self) -> float:
        """r_j² of Hoeffding's inequality, in nats²: of B independent terms, B times one's."""
        return self.range**2 / self.terms

    @cached_property
    def probability_of_minimum(self) -> float:
        """P(z = minimum); zero for an unbounded law."""
        if not self.is_bounded:
            return 0.0
        return float(self.probabilities[self.means == self.means.min()].sum())

    def cumulant(self, u: ArrayLike) -> FloatArray:
        """κ(u) = log E e^{uz}, for each entry of `u`; finite for every real u.

        A floating-point estimate, accurate to rounding, also where it is far below one: there E z
        is added to what remains (:mod:`theory.learning.log_ratio`). Else it is a log-sum-exp.

        Examples
        --------
        >>> coin = LogRatioLaw(np.array([0.5, 0.5]), np.array([-1.0, 1.0]), np.zeros(2))
        >>> bool(np.isclose(coin.cumulant(2.0), np.log(np.cosh(2.0))))
        True
        """
        return self._over_blocks(u, lambda part: self._stack(_ALL, part[None])[0])

    def cumulant_slope(self, u: ArrayLike) -> FloatArray:
        """κ'(u) for each entry of `u`: the mean of z under the law tilted by e^{uz}."""
        return self._over_blocks(u, lambda part: self._stack.slope(_ALL, part[None])[0])

    def cumulant_curvature(self, u: ArrayLike) -> FloatArray:
        """κ''(u) for each entry of `u`: the variance of z under the law tilted by e^{uz}."""
        return self._over_blocks(u, self._curvature_block)

    def tilted(self, u: float) -> LogRatioLaw:
        """The law of density e^{uz − κ(u)} with respect to this one, again a mixture of normals.

        Atom o gets the probability p_o exp(u m_o + u² s_o²/2 − κ(u)), the mean m_o + u s_o² and
        the old variance (docs: mathematics/prefactor). Floating point, accurate to rounding.

        Examples
        --------
        >>> coin = LogRatioLaw(np.array([0.5, 0.5]), np.array([-1.0, 1.0]), np.zeros(2))
        >>> coin.tilted(-np.log(3) / 2).probabilities.round(12).tolist()
        [0.75, 0.25]
        """
        exponents = self._exponents(np.array([float(u)]))[0]
        weights = self.probabilities * np.exp(exponents - exponents.max())
        means = self.means + u * self.variances
        mean = float(self.cumulant_slope(u)) if self.mean_cancels else None
        return LogRatioLaw(weights / weights.sum(), means, self.variances, self.terms, mean)

    @cached_property
    def _stack(self) -> LawStack:
        return LawStack.of([self])

    def _over_blocks(
        self, u: ArrayLike, function: Callable[[FloatArray], FloatArray]
    ) -> FloatArray:
        points = np.asarray(u, dtype=np.float64)
        flat = points.ravel()
        result = np.empty_like(flat)
        step = max(1, _BLOCK // self.means.size)
        for start in range(0, flat.size, step):
            result[start : start + step] = function(flat[start : start + step])
        return result.reshape(points.shape)

    def _exponents(self, u: FloatArray) -> FloatArray:
        exponents = np.multiply.outer(u, self.means)
        if not self.is_bounded:
            exponents += np.multiply.outer(0.5 * u * u, self.variances)
        return exponents

    def _curvature_block(self, u: FloatArray) -> FloatArray:
        exponents = self._exponents(u)
        exponents -= exponents.max(axis=1, keepdims=True)
        np.exp(exponents, out=exponents)
        exponents *= self.probabilities
        exponents /= exponents.sum(axis=1, keepdims=True)
        means = self.means + np.multiply.outer(u, self.variances)
        means -= (exponents * means).sum(axis=1, keepdims=True)
        values: FloatArray = (exponents * (means * means + self.variances)).sum(axis=1)
        return values


@dataclass(frozen=True, eq=False)
class LawStack:
    """Laws of as many atoms each, whose cumulants are taken together.

    Attributes
    ----------
    probabilities, means, variances
        Shape (P, O), as of :class:`LogRatioLaw`; `variances` is None where all atoms are points.
    mean, cancels
        Shape (P,): E z of each law, and whether it has terms far above itself.
    """

    probabilities: FloatArray
    means: FloatArray
    variances: FloatArray | None
    mean: FloatArray
    cancels: NDArray[np.bool_]

    @classmethod
    def of(cls, laws: Sequence[LogRatioLaw]) -> LawStack:
        """The stack of some laws of as many atoms each."""
        variances = None
        if not all(law.is_bounded for law in laws):
            variances = np.array([law.variances for law in laws])
        return cls(
            np.array([law.probabilities for law in laws]),
            np.array([law.means for law in laws]),
            variances,
            np.array([law.mean for law in laws]),
            np.array([law.mean_cancels for law in laws]),
        )

    def __call__(self, which: IntArray | slice, u: FloatArray) -> FloatArray:
        """κ(u) of the laws numbered `which`, shape (L,), each at points of its own, shape (L, U).

        `slice(None)` stands for all laws. As accurate as :meth:`LogRatioLaw.cumulant`.
        """
        return self._in_blocks(self._cumulants, which, u)

    def slope(self, which: IntArray | slice, u: FloatArray) -> FloatArray:
        """κ'(u) of the laws numbered `which`, each at points of its own, shape (L, U)."""
        return self._in_blocks(self._slopes, which, u)

    def _in_blocks(
        self, function: Callable[..., FloatArray], which: IntArray | slice, u: FloatArray
    ) -> FloatArray:
        step = max(1, _CACHED // max(1, self.means.shape[1] * u.shape[1]))
        if step >= len(u):
            return function(which, u)
        which = np.arange(len(u)) if isinstance(which, slice) else which
        parts = [slice(start, start + step) for start in range(0, len(u), step)]
        return np.concatenate([function(which[part], u[part]) for part in parts])

    def _exponentials(
        self, which: IntArray | slice, u: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Σ_o p_o e^{x_o} has these terms without p_o, shape (L, O, U), over e to the largest x."""
        exponents = self.means[which][:, :, None] * u[:, None, :]
        if self.variances is not None:
            exponents += self.variances[which][:, :, None] * (0.5 * u * u)[:, None, :]
        largest = exponents.max(axis=1)
        exponents -= largest[:, None, :]
        return np.exp(exponents, out=exponents), largest

    def _cumulants(self, which: IntArray | slice, u: FloatArray) -> FloatArray:
        terms, largest = self._exponentials(which, u)
        values = largest + np.log(_sums(self.probabilities[which], terms))
        small = np.abs(values) < SMALL
        if small.any():
            at = u[small]
            law = _ONLY if len(self.means) == 1 else _numbers(which, small)
            atoms = self.means[law].T, None if self.variances is None else self.variances[law].T
            beyond = beyond_mean(*atoms, at)
            beyond *= self.probabilities[law].T
            values[small] = np.log1p(at * self.mean[law] + beyond.sum(axis=0))
        return np.asarray(values)

    def _slopes(self, which: IntArray | slice, u: FloatArray) -> FloatArray:
        terms, largest = self._exponentials(which, u)
        p, m, s = self.probabilities[which], self.means[which], self.variances
        total, slopes = _sums(p, terms), _sums(p * m, terms)
        if s is not None:
            slopes += u * _sums(p * s[which], terms)
        values = slopes / total
        if not self.cancels.any():
            return np.asarray(values)
        near = self.cancels[which][:, None] & (np.abs(largest + np.log(total)) < HALF)
        if near.any():
            rows = np.nonzero(near)[0]
            law = _numbers(which, near)
            at, p, m = u[near][:, None], p[rows], m[rows]
            moved = 0.0 * m if s is None else at * s[law]
            grown = np.expm1(at * (m + 0.5 * moved))
            rest = (p * (grown * (m + moved) + moved)).sum(axis=1)
            values[near] = (self.mean[law] + rest) / (1.0 + (p * grown).sum(axis=1))
        return np.asarray(values)


_ONLY = np.zeros(1, dtype=np.int64)
_ALL = slice(None)
# Entries that stay near the processor: 1 MiB.
_CACHED = 1 << 17


def _numbers(which: IntArray | slice, where: NDArray[np.bool_]) -> IntArray:
    """The law of each entry that is true; shape (L, U)."""
    rows = np.nonzero(where)[0]
    return rows if isinstance(which, slice) else which[rows]


def _sums(weights: FloatArray, terms: FloatArray) -> FloatArray:
    """Σ_o weights_o terms_o, shape (L, U) for shapes (L, O) and (L, O, U)."""
    if len(weights) == 1:
        return np.asarray((weights[0] @ terms[0])[None])
    return np.asarray((weights[:, None, :] @ terms)[:, 0])
