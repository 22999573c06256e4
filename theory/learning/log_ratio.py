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
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

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


# Entries (atom, law) that are handled at a time: 1 MiB, which stays near the processor.
_CACHED = 1 << 17


@dataclass(frozen=True, eq=False)
class Atoms:
    """Many laws of z at once, and their cumulants: the only place in doubles that computes them.

    Attributes
    ----------
    probabilities, means, variances
        Shape (O, ...): atoms first, laws behind, as of :class:`LogRatioLaw`. An axis of laws may be
        1 where all are alike; `variances` is None where all atoms are points.
    mean, cancels
        Shape (...): E z of each law, and whether it may have terms far above itself.
    """

    probabilities: FloatArray
    means: FloatArray
    variances: FloatArray | None
    mean: FloatArray
    cancels: NDArray[np.bool_]

    @classmethod
    def of(cls, laws: Sequence[LogRatioLaw]) -> Atoms:
        """Some laws of as many atoms each, shape (O, laws, 1)."""
        bounded = all(law.is_bounded for law in laws)
        return cls(
            np.array([law.probabilities for law in laws]).T[:, :, None],
            np.array([law.means for law in laws]).T[:, :, None],
            None if bounded else np.array([law.variances for law in laws]).T[:, :, None],
            np.array([law.mean for law in laws])[:, None],
            np.array([law.mean_cancels for law in laws])[:, None],
        )

    @classmethod
    def together(cls, kinds: Sequence[Atoms]) -> Atoms:
        """Laws of shape (O, R) for each of K kinds, as one of shape (O, R, K, 1)."""
        columns = [[getattr(kind, name) for kind in kinds] for name in cls.__dataclass_fields__]
        found = [None if c[0] is None else np.stack(c, axis=-1)[..., None] for c in columns]
        return cls(*found)  # type: ignore[arg-type]  # only variances may be None

    def __getitem__(self, which: IntArray | slice) -> Atoms:
        """The laws numbered `which` on their first axis; all, where that is 1."""
        if self.means.shape[1] == 1:
            return self
        if isinstance(which, slice):
            which = np.arange(len(self.mean))[which]
        p, s = self.probabilities, self.variances
        return Atoms(
            p if p.shape[1] == 1 else p.take(which, axis=1),
            self.means.take(which, axis=1),
            None if s is None else s.take(which, axis=1),
            self.mean.take(which, axis=0),
            self.cancels.take(which, axis=0),
        )

    def _at(self, where: NDArray[np.bool_]) -> tuple[FloatArray, FloatArray, Any, FloatArray]:
        """Probabilities, means, variances and E z of the laws where an array of them is true."""
        places, s = np.nonzero(where), self.variances

        def at(table: FloatArray) -> FloatArray:
            if table.shape[1:] == where.shape:
                return table[:, where]
            axes = zip(places, table.shape[1:], strict=True)
            found = table[:, *(place if size > 1 else 0 for place, size in axes)]
            return found if found.ndim == 2 else found[:, None]  # one law for all

        p, z, mean = at(self.probabilities), at(self.means), at(self.mean[None])[0]
        return p, z, None if s is None else at(s), mean

    def cumulants(self, u: FloatArray, order: int = 2) -> tuple[FloatArray, ...]:
        """κ(u), and κ' and κ'' as far as `order` goes, for u of the laws' shape or that shape's.

        Accurate to rounding, κ also where it is far below one: there E z is added to what remains.
        """
        step = max(1, _CACHED // max(1, len(self.means) * u[:1].size))
        if step >= len(u):
            return self._cumulants(u, order)
        parts = [slice(start, start + step) for start in range(0, len(u), step)]
        found = [self[part]._cumulants(u[part], order) for part in parts]
        return tuple(np.concatenate(column) for column in zip(*found, strict=True))

    def _cumulants(self, u: FloatArray, order: int) -> tuple[FloatArray, ...]:
        p, z, s = self.probabilities, self.means, self.variances
        x = z * u
        if s is not None:
            x += (0.5 * u * u) * s
        top = x.max(axis=0)
        x -= top
        weights = np.exp(x, out=x)
        weights *= p
        total = weights.sum(axis=0)
        logs = np.asarray(np.log(total))
        logs += top
        small = np.abs(logs) < SMALL
        found = [self._far_below_one(u, small, logs) if small.any() else logs]
        if order == 0:
            return (found[0],)
        if s is not None:
            z = z + u * s
        means = (weights * z).sum(axis=0)
        means /= total
        near = self.cancels & (np.abs(logs) < HALF)
        if near.any():
            means[near] = self._cancelling(u, near)
        found.append(means)
        if order == 2:
            centred = z - means
            centred *= centred
            if s is not None:
                centred += s
            centred *= weights
            found.append(centred.sum(axis=0) / total)
        return tuple(found)

    def _far_below_one(
        self, u: FloatArray, small: NDArray[np.bool_], logs: FloatArray
    ) -> FloatArray:
        """κ where it is small, by E z and what is beyond it."""
        p, z, spread, mean = self._at(small)
        at = u[small] if u.shape == small.shape else np.broadcast_to(u, small.shape)[small]
        beyond = p * beyond_mean(z, spread, at)
        values = logs.copy()
        values[small] = np.log1p(at * mean + beyond.sum(axis=0))
        return values

    def _cancelling(self, u: FloatArray, near: NDArray[np.bool_]) -> FloatArray:
        """κ' where the terms of E z cancel, by E z and what tilting adds to it."""
        p, z, spread, mean = self._at(near)
        at = np.broadcast_to(u, near.shape)[near]
        moved = np.zeros_like(z) if spread is None else at * spread
        grown = np.expm1(at * (z + 0.5 * moved))
        rest = (p * (grown * (z + moved) + moved)).sum(axis=0)
        return np.asarray((mean + rest) / (1.0 + (p * grown).sum(axis=0)))


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
        return self.cumulants(u, 0)[0]

    def cumulant_slope(self, u: ArrayLike) -> FloatArray:
        """κ'(u) for each entry of `u`: the mean of z under the law tilted by e^{uz}."""
        return self.cumulants(u, 1)[1]

    def cumulant_curvature(self, u: ArrayLike) -> FloatArray:
        """κ''(u) for each entry of `u`: the variance of z under the law tilted by e^{uz}."""
        return self.cumulants(u, 2)[2]

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
        exponents = u * self.means
        if not self.is_bounded:
            exponents += 0.5 * u * u * self.variances
        weights = self.probabilities * np.exp(exponents - exponents.max())
        means = self.means + u * self.variances
        mean = float(self.cumulant_slope(u)) if self.mean_cancels else None
        return LogRatioLaw(weights / weights.sum(), means, self.variances, self.terms, mean)

    @cached_property
    def _atoms(self) -> Atoms:
        return Atoms.of([self])

    def cumulants(self, u: ArrayLike, order: int = 2) -> tuple[FloatArray, ...]:
        """κ(u), κ'(u) and κ''(u), as far as `order` goes."""
        points = np.asarray(u, dtype=np.float64)
        found = self._atoms.cumulants(points.reshape(-1, 1), order)
        return tuple(values.reshape(points.shape) for values in found)
