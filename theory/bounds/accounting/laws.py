"""The agents' log-ratio laws for one pair of hypotheses, and how far the stored ones may be off.

A certified number should hold for the problem that was meant, not only for the doubles that stand
for it. So each stored number carries the error that typing, logarithms and products can have given
it: likelihoods and probabilities a few units in the last place, and what probabilities lack to one
is taken to be missing from their largest.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from theory.learning.finite_agent import Agent, FiniteAgent
from theory.learning.model import FiniteModel
from theory.validation import FloatArray, IntArray

# The smallest band-limited functions above, and the largest below, a one-sided exponential -------


EPS = float(np.finfo(np.float64).eps)


def majorant_transform(s: FloatArray, rate: float) -> NDArray[np.complex128]:
    """∫ M(x) e^{−2πisx} dx for 0 ≤ `s` ≤ 1 and λ = `rate` > 0, in floating point.

    The transform at −s is the conjugate; beyond 1 it is zero. That of m is this, less 1 − s.
    `transform_error` bounds the rounding.
    """
    # q = e^{−λ−2πis} with 1 − q free of cancellation for small λ and s.
    turn = 2.0 * np.pi * s
    decay = np.exp(-rate)
    gap = -np.expm1(-rate) + decay * 2.0 * np.sin(turn / 2) ** 2 + 1j * decay * np.sin(turn)
    ratio = (1.0 - gap) / gap
    values: NDArray[np.complex128] = (1.0 - s) / gap + rate / (2j * np.pi) * (
        1.0 / np.expm1(rate) - ratio
    )
    return values


def transform_error(rate: float) -> float:
    """An upper bound on the absolute rounding error of `majorant_transform`, for λ ≤ 1.

    |1 − q| ≥ 1 − e^{−λ} ≥ λ/2, each quotient has a numerator below one and is right to a dozen
    units in the last place over |1 − q|².
    """
    return 64.0 * EPS / rate**2


def majorant(x: FloatArray, rate: float) -> FloatArray:
    """M(x), summed term by term; for tests and pictures."""
    return _by_series(x, rate)


def minorant(x: FloatArray, rate: float) -> FloatArray:
    """m(x), summed term by term; for tests and pictures."""
    values: FloatArray = _by_series(x, rate) - np.sinc(x) ** 2
    return values


def _by_series(x: FloatArray, rate: float) -> FloatArray:
    """The two series in one, with sinc in place of quotients so that integers are no exception."""
    points = np.asarray(x, dtype=np.float64)
    most = int(np.ceil(40.0 / rate))
    flat = points.ravel()
    total = np.sinc(flat) ** 2 + rate / np.expm1(rate) * flat * np.sinc(flat) ** 2
    for start in range(1, most + 1, 1024):
        n = np.arange(start, min(start + 1024, most + 1))
        distance = np.subtract.outer(flat, n)
        weights = np.exp(-rate * n)
        total += (np.sinc(distance) ** 2 * (1.0 - rate * distance)) @ weights
    return np.asarray(total.reshape(points.shape))


# The agents' log-ratio laws for one pair of hypotheses, and how far the stored ones may be off ---


# Atoms of a kind in `Laws.thinned`.
_FEW = 32


@dataclass(frozen=True, eq=False)
class Laws:
    """The laws of z for K kinds of agents, their atoms one after the other.

    Attributes
    ----------
    start
        Shape (K + 1,): the atoms of kind k are start[k] to start[k + 1].
    probabilities, means, deviations
        One for each atom; equal atoms are merged.
    mean_errors, deviation_errors, probability_errors
        Shape (K,): upper bounds on how far a mean or standard deviation may be off (in nats), and
        a probability (relatively).
    """

    start: IntArray
    probabilities: FloatArray
    means: FloatArray
    deviations: FloatArray
    mean_errors: FloatArray
    deviation_errors: FloatArray
    probability_errors: FloatArray

    @property
    def is_bounded(self) -> bool:
        """Whether all atoms are points."""
        return not self.deviations.any()

    @property
    def lowest(self) -> float:
        """The smallest mean of an atom."""
        return float(self.means.min())

    @property
    def highest(self) -> float:
        """The largest mean of an atom."""
        return float(self.means.max())

    @cached_property
    def reach(self) -> FloatArray:
        """Shape (K,): the largest |z| of a kind, errors included; infinite where unbounded."""
        found = np.maximum.reduceat(np.abs(self.means), self.start[:-1]) + self.mean_errors
        spread = np.maximum.reduceat(self.deviations, self.start[:-1]) + self.deviation_errors
        return np.where(spread > 0, np.inf, found)

    @cached_property
    def is_zero(self) -> NDArray[np.bool_]:
        """Shape (K,): whether z is zero, as far as one can see."""
        return self.reach <= 2 * self.mean_errors

    @cached_property
    def variances(self) -> FloatArray:
        """Shape (K,): Var z, in floating point."""
        weights, start = self.probabilities, self.start[:-1]
        mean = np.add.reduceat(weights * self.means, start)
        sizes = np.diff(self.start)
        centred = self.means - np.repeat(mean, sizes)
        found = np.add.reduceat(weights * (centred**2 + self.deviations**2), start)
        return np.asarray(found)

    def chosen(self, kinds: IntArray) -> Laws:
        """The laws of several kinds, one after the other; a kind may come twice."""
        atoms = [np.arange(self.start[k], self.start[k + 1]) for k in kinds.tolist()]
        sizes = [part.size for part in atoms]
        where = np.concatenate(atoms)
        return Laws(
            np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
            self.probabilities[where],
            self.means[where],
            self.deviations[where],
            self.mean_errors[kinds],
            self.deviation_errors[kinds],
            self.probability_errors[kinds],
        )

    @cached_property
    def thinned(self) -> Laws:
        """Much the same laws with few atoms, for choices on which nothing rests."""
        if self.means.size <= _FEW * (len(self.start) - 1):
            return self
        parts = [self._thin(kind) for kind in range(len(self.start) - 1)]
        sizes = [part.shape[1] for part in parts]
        return replace(
            self,
            start=np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
            **{
                name: np.concatenate([part[row] for part in parts])
                for row, name in enumerate(("probabilities", "means", "deviations"))
            },
        )

    def _thin(self, kind: int) -> FloatArray:
        atoms = slice(int(self.start[kind]), int(self.start[kind + 1]))
        weights, means, deviations = (
            self.probabilities[atoms], self.means[atoms], self.deviations[atoms]
        )  # fmt: skip
        if means.size <= _FEW or deviations.any():
            return np.array([weights, means, deviations])
        cells = np.digitize(means, np.linspace(means[0], means[-1], _FEW))
        mass = np.bincount(cells, weights=weights)
        used = mass > 0
        centres = np.bincount(cells, weights=weights * means)[used] / mass[used]
        return np.array([mass[used], centres, np.zeros(centres.size)])


_Part = tuple[FloatArray, FloatArray, FloatArray]


def pair_laws(model: FiniteModel, best: int, other: int) -> Laws:
    """The laws of z(best, other)."""
    laws = [kind.log_ratio_law(best, other) for kind in model.kinds]
    parts = [_merged(law.probabilities, law.means, law.variances) for law in laws]
    return _join(parts, *np.array([_errors(kind, best, other) for kind in model.kinds]).T)


def slanted_laws(laws: Laws, slants: FloatArray) -> tuple[Laws, FloatArray, FloatArray]:
    """The laws with densities e^{uz − κ(u)}, u = `slants` for each kind; κ(u), and its errors.

    An atom (m, s²) of probability p becomes (m + u s², s²) with p e^{um + u²s²/2 − κ}. `slants`
    are exact. Where atoms and probabilities differ from the stored ones by their errors, κ and the
    logs of the new probabilities change by at most what is added here.
    """
    sizes = np.diff(laws.start)
    start = laws.start[:-1]
    u = np.repeat(slants, sizes)
    squares = (u * laws.deviations) ** 2
    exponents = u * laws.means + 0.5 * squares
    top = np.maximum.reduceat(exponents, start)
    weights = laws.probabilities * np.exp(exponents - np.repeat(top, sizes))
    mass = np.add.reduceat(weights, start)
    logs = top + np.log(mass)
    largest = np.maximum.reduceat(np.abs(u * laws.means) + squares, start)
    spread = np.maximum.reduceat(laws.deviations, start)
    size = np.abs(slants)
    # How far an exponent may be off.
    doubt = size * laws.mean_errors + size**2 * laws.deviation_errors * (
        spread + laws.deviation_errors
    )
    errors = 1.01 * (doubt + laws.probability_errors) + EPS * (8 * (1 + largest) + sizes)
    found = replace(
        laws,
        probabilities=weights / np.repeat(mass, sizes),
        means=laws.means + u * laws.deviations**2,
        mean_errors=laws.mean_errors
        + 2 * size * laws.deviation_errors * (spread + laws.deviation_errors)
        + 4 * EPS * (size * spread**2 + np.maximum.reduceat(np.abs(laws.means), start)),
        probability_errors=2.02 * errors,
    )
    return found, np.asarray(logs), np.asarray(errors)


def mixed_laws(
    probabilities: list[FloatArray],
    values: list[FloatArray],
    covariances: list[FloatArray],
    laws: tuple[Laws, Laws],
    share: float,
) -> Laws:
    """The laws of share z + (1 − share) z', from the joint laws of (z, z') and their own laws.

    For each kind: `probabilities`, shape (O,), `values`, (2, O), and `covariances`, (O, 2, 2).
    """
    shares = np.array([share, 1.0 - share])
    parts = [
        _merged(p, shares @ z, np.maximum(shares @ c @ shares, 0.0))
        for p, z, c in zip(probabilities, values, covariances, strict=True)
    ]
    largest = np.array([float(np.abs(z).max()) for z in values])
    widest = np.array([float(np.sqrt(c.max())) for c in covariances])
    one, other = laws
    errors = np.maximum(one.mean_errors, other.mean_errors) + 4 * EPS * largest
    spread = np.maximum(one.deviation_errors, other.deviation_errors)
    return _join(parts, errors, spread + np.sqrt(8 * EPS) * widest, one.probability_errors)


def _errors(agent: Agent, best: int, other: int) -> tuple[float, float, float]:
    """Bounds on the errors of means, standard deviations and (relatively) probabilities."""
    if isinstance(agent, FiniteAgent):
        one = agent.single or agent
        # Each log is right to a unit in the last place, of a likelihood that was rounded once;
        # those of a batch are added up, outcome by outcome.
        largest = float(np.abs(one.log_likelihoods[[best, other]]).max())
        added = 0 if agent.single is None else one.probabilities.size
        mean = agent.batch * EPS * ((4 + added) * largest + 4)
        return mean, 0.0, _batch_error(one.probabilities, agent.batch)
    used = np.stack([agent.means[best], agent.means[other], agent.truth_means])
    # z is made of what means differ by: an offset that all of them have is taken as it is given.
    reach = 2 * float(np.ptp(used, axis=0).max()) / agent.std
    ratio = agent.truth_std / agent.std
    units = 16 if agent.batch == 1 else 16 + agent.inputs.size
    # The deviation of a batch is the length of a vector of single ones.
    return (
        agent.batch * units * EPS * reach * reach,
        math.sqrt(agent.batch) * units * EPS * reach * ratio,
        _batch_error(agent.inputs, agent.batch),
    )


def _batch_error(probabilities: FloatArray, batch: int) -> float:
    """The same of products of `batch` sums of some of them, which were rounded once more."""
    one = _probability_error(probabilities)
    return one if batch == 1 else 1.01 * batch * (one + probabilities.size * EPS) + EPS


def _probability_error(probabilities: FloatArray) -> float:
    lacking = abs(1.0 - math.fsum(probabilities.tolist()))
    return lacking / float(probabilities.max()) + 4 * EPS


def _join(parts: list[_Part], *errors: FloatArray) -> Laws:
    sizes = [part[0].size for part in parts]
    return Laws(
        np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
        *(np.concatenate([part[column] for part in parts]) for column in range(3)),
        *(np.ascontiguousarray(column) for column in errors),
    )


def _merged(probabilities: FloatArray, means: FloatArray, variances: FloatArray) -> _Part:
    """Probabilities, means and deviations of the different atoms, in order."""
    if variances.any():
        atoms, where = np.unique(np.stack([means, variances]), axis=1, return_inverse=True)
    else:
        alone, where = np.unique(means, return_inverse=True)
        atoms = np.stack([alone, np.zeros_like(alone)])
    weights = np.bincount(where.ravel(), weights=probabilities)
    return weights.astype(np.float64), np.ascontiguousarray(atoms[0]), np.sqrt(atoms[1])
