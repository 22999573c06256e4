"""The loops of a small problem in whole rows of numpy: no numba, which takes longer to import.

They do what :mod:`theory.bounds.accounting.factors` and `inversion_kernels` do, operation by
operation and in the same order, sums included: the digits are equal, and so are the errors that are
bounded. Only laws of a few atoms, without normal parts, have so short a form.
"""

from __future__ import annotations

import math
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from theory.bounds.accounting.laws import Laws
from theory.bounds.accounting.terms import EventTerms
from theory.validation import FloatArray, IntArray

# Frequencies are taken in runs of so many, as by `factors`.
RUN = 64
EPS = 2.0**-52
# As in `inversion_kernels`.
UNDERFLOW = 1e-300
NEGLIGIBLE = 2.0**-80

# With more atoms `inversion_kernels` may put them on a grid.
_MOST_ATOMS = 16
# Entries of φ over all rounds, in all calls together: about as long as importing numba and loading
# the compiled loops takes, and a quarter of compiling them.
_MOST_WORK = 16_000_000
_done = Counter[str]()


def suit(laws: Laws, work: int) -> bool:
    """Whether these loops are the quicker ones: numba is not loaded, and there is little to do.

    What is done by them is counted: whoever bounds a thousand small problems loads numba soon.
    """
    if (
        "numba" in sys.modules
        or _done["work"] + work > _MOST_WORK
        or laws.deviations.any()
        or np.diff(laws.start).max(initial=0) > _MOST_ATOMS
    ):
        return False
    _done["work"] += work
    return True


def foresee(work: int) -> None:
    """Say what is to come: if numba is to be loaded for it, it may be loaded at once."""
    if _done["work"] + work > _MOST_WORK:
        _done["work"] = _MOST_WORK + 1


def _each(function: Callable[[float], float], values: FloatArray) -> FloatArray:
    """By the C library, entry by entry: numpy's own loops may differ in the last digit."""
    return np.array(list(map(function, values.ravel().tolist()))).reshape(values.shape)


def _turned(numbers: IntArray, angle: float) -> tuple[FloatArray, FloatArray]:
    """Cosines and sines of multiples of an angle."""
    angles = (numbers * angle).astype(np.float64)
    return _each(math.cos, angles), _each(math.sin, angles)


def _sum_in_order(values: FloatArray) -> float:
    """The sum of all entries, each added to the sum of those before it."""
    return float(np.add.accumulate(values.ravel())[-1]) if values.size else 0.0


@dataclass(frozen=True, eq=False)
class Factors:
    """The factors of the first rounds side by side; shapes (F, A), A the most atoms of any.

    A factor of fewer atoms has its first again, of probability 0.
    """

    atoms: FloatArray
    probabilities: FloatArray
    repeats: FloatArray

    @classmethod
    def of(cls, terms: EventTerms, laws: Laws, rounds: int, more: float) -> Factors:
        """Of rounds 1 … `rounds`, the last of them 1 + `more` times."""
        used = slice(terms.first[0], terms.first[rounds])
        kinds, size = terms.kinds[used], np.diff(laws.start)
        places = np.arange(size.max(initial=1))
        absent = places >= size[kinds][:, None]
        index = laws.start[kinds][:, None] + np.where(absent, 0, places)
        per_round = np.diff(terms.first[: rounds + 1])
        z = laws.means[index] - np.repeat(terms.centre[:rounds], per_round)[:, None]
        weight = np.where(z > 0, terms.low[used][:, None], terms.high[used][:, None])
        times = np.ones(rounds)
        times[rounds - 1 :] += more
        repeats = np.repeat(times, per_round) * terms.count[used]
        return cls(weight * z, np.where(absent, 0.0, laws.probabilities[index]), repeats)

    def cumulants(self, tilt: float) -> tuple[float, float, float]:
        """ψ(t) = log E e^{−tS} with ψ' and ψ''."""
        centred = 0.0 - self.atoms
        exponents = tilt * centred
        largest = exponents.max(axis=1, initial=-np.inf)
        weights = self.probabilities * _each(math.exp, exponents - largest[:, None])
        terms = (weights, weights * centred, weights * (centred * centred))
        mass, mean, square = (np.add.accumulate(term, axis=1)[:, -1] for term in terms)
        mean = mean / mass
        logs = largest + _each(math.log, mass)
        spread = np.maximum(0.0, square / mass - mean * mean)
        return (
            _sum_in_order(self.repeats * logs),
            _sum_in_order(self.repeats * mean),
            _sum_in_order(self.repeats * spread),
        )


class Inversion:
    """φ at the frequencies, changed in place from round to round, and its trapezoid sums."""

    def __init__(
        self,
        parts: tuple[FloatArray, FloatArray, FloatArray],
        step: float,
        transform: tuple[FloatArray, FloatArray, float],
    ) -> None:
        self.real, self.imaginary, self.error = parts
        self.step, self.transform = step, transform
        length = self.length = self.real.size - 1
        self.index = np.arange(length + 1)
        self.starts = np.arange(0, length + 1, RUN)
        self.alive = np.ones(self.starts.size, dtype=np.bool_)
        index = self.index[:-1]
        self.weight = np.where(index == 0, 1.0, 2.0)
        size = np.abs(transform[0][:-1]) + np.abs(transform[1][:-1])
        self.fejer = 1.0 - index / max(length, 1)
        self.both = size + self.fejer
        loads = self.weight * (size + 1.0 - index / max(length, 1))
        self.loads = np.add.accumulate(loads.reshape(-1, RUN), axis=1)[:, -1]

    def multiply(self, by_real: FloatArray, by_imaginary: FloatArray, by_error: FloatArray) -> None:
        """As `inversion_kernels.multiply`."""
        a, b, c, d = self.real, self.imaginary, by_real, by_imaginary
        size, factor = np.sqrt(a * a + b * b), np.sqrt(c * c + d * d)
        grown = self.error * (factor + by_error) + size * (by_error + 4 * EPS)
        grown = grown * (1 + 8 * EPS) + UNDERFLOW
        grown = np.minimum(grown, 1.0 + size * factor * (1 + 8 * EPS))
        alive = np.repeat(self.alive, RUN)[: self.length + 1]
        real, imaginary = a * c - b * d, a * d + b * c
        np.copyto(self.real, real, where=alive)
        np.copyto(self.imaginary, imaginary, where=alive)
        np.copyto(self.error, grown, where=alive)

    def bury(self) -> None:
        """As `inversion_kernels.bury`."""
        sizes = np.abs(self.real) + np.abs(self.imaginary) + self.error
        low = np.logical_and.reduceat(sizes <= NEGLIGIBLE, self.starts) & self.alive
        if not low.any():
            return
        largest = np.maximum.reduceat(sizes, self.starts) * (1 + 8 * EPS)
        self.alive &= ~low
        where = np.repeat(low, RUN)[: self.length + 1]
        self.real[where] = self.imaginary[where] = 0.0
        self.error[where] = np.repeat(largest, RUN)[: self.length + 1][where]

    def sums(self, place: float, place_error: float) -> tuple[float, float, float]:
        """As `inversion_kernels.invert`."""
        length, transform = self.length, self.transform
        turn = self.step * place
        cosines, sines = _turned(np.arange(RUN), turn)
        c, s = (part[:, None] for part in _turned(self.starts[:-1], turn))
        turn_real = (c * cosines - s * sines).ravel()
        turn_imaginary = (c * sines + s * cosines).ravel()
        real, imaginary, error = self.real[:-1], self.imaginary[:-1], self.error[:-1]
        x = real * turn_real + imaginary * turn_imaginary
        y = real * turn_imaginary - imaginary * turn_real
        modulus = np.abs(real) + np.abs(imaginary)
        relative = self.step * (abs(place) * 4 * EPS + place_error)
        doubt = self.weight * (
            self.both * (error + modulus * (relative * self.index[:-1] + 16 * EPS))
            + modulus * transform[2]
            + self.both * modulus * (length * EPS)
        )
        upper = self.weight * (transform[0][:-1] * x - transform[1][:-1] * y)
        hat = self.weight * self.fejer * x
        buried = ~self.alive[:-1]
        if buried.any():
            for terms in (doubt, upper, hat):
                terms.reshape(-1, RUN)[buried] = 0.0
            doubt[self.starts[:-1][buried]] = (self.loads * error[::RUN])[buried]
        return (
            _sum_in_order(upper) / length,
            _sum_in_order(hat) / length,
            _sum_in_order(doubt) / length * (1 + 1e-9),
        )

    def transform_of(
        self, points: list[float], weights: list[float]
    ) -> tuple[FloatArray, FloatArray]:
        """As `factors.transform`, of points."""
        real, imaginary = np.zeros((2, self.starts.size, RUN))
        angles = [self.step * point for point in points]
        short = _multiples(angles, 1, [1.0] * len(points), RUN)
        long = _multiples(angles, RUN, weights, self.starts.size)
        for cosines, sines, c, s in zip(*short, *(part[:, :, None] for part in long), strict=True):
            real += c * cosines - s * sines
            imaginary += c * sines + s * cosines
        size = self.length + 1
        return real.ravel()[:size], imaginary.ravel()[:size]


def _multiples(
    angles: list[float], stride: int, scales: list[float], count: int
) -> tuple[FloatArray, FloatArray]:
    """As `factors.multiples`, a row for each angle."""
    cosines, sines = np.empty((2, len(angles), count))
    cosines[:, 0], sines[:, 0] = scales, 0.0
    width = 1
    while width < count:
        turns = [angle * (width * stride) for angle in angles]
        c = np.array([[math.cos(turn)] for turn in turns])
        s = np.array([[math.sin(turn)] for turn in turns])
        more = min(width, count - width)
        x, y = cosines[:, :more], sines[:, :more]
        cosines[:, width : width + more] = c * x - s * y
        sines[:, width : width + more] = c * y + s * x
        width *= 2
    return cosines, sines


@dataclass(frozen=True)
class Tilts:
    """t, and how far above and below it two more cumulants are taken."""

    value: float
    above: float
    below: float


def forward(
    terms: EventTerms,
    inversion: Inversion,
    tilts: Tilts,
    cumulants: FloatArray,
    begin: int,
    end: int,
    evaluate: int,
    threshold: float,
) -> FloatArray:
    """As `inversion_kernels.forward`, for rounds `begin` + 1 … `end`; the table."""
    table = np.zeros((end, 9))
    for k in range(begin, end):
        for f in range(terms.first[k], terms.first[k + 1]):
            factor = _factor(terms, f, float(terms.centre[k]), tilts, cumulants)
            if inversion.length:
                by = factor.at(inversion)
                for _ in range(int(terms.count[f])):
                    inversion.multiply(*by)
        if inversion.length:
            inversion.bury()
        table[k, :6] = cumulants
        if k + 1 >= evaluate:
            place = float(terms.shift[k] - threshold)
            doubt = float(terms.shift_error[k] + EPS * abs(threshold))
            table[k, 6:] = inversion.sums(-place, doubt)
    return table


@dataclass(frozen=True)
class _Factor:
    """The atoms of one tilted factor, and of a bound on its error what is constant and linear."""

    points: list[float]
    weights: list[float]
    constant: float
    linear: float

    def at(self, inversion: Inversion) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Its transform at the frequencies, and the bound."""
        error = self.constant + inversion.step * inversion.index * self.linear
        return *inversion.transform_of(self.points, self.weights), np.asarray(error, dtype=float)


def _factor(
    terms: EventTerms, f: int, centre: float, tilts: Tilts, cumulants: FloatArray
) -> _Factor:
    """One factor; its cumulants are added to the six numbers."""
    laws, kind, tilt = terms.laws, int(terms.kinds[f]), tilts.value
    high, low, repeats = float(terms.high[f]), float(terms.low[f]), int(terms.count[f])
    atoms = slice(int(laws.start[kind]), int(laws.start[kind + 1]))
    z = [mean - centre for mean in laws.means[atoms].tolist()]
    y = [(low if one > 0 else high) * one for one in z]
    probabilities = laws.probabilities[atoms].tolist()
    reach = max(map(abs, y))
    slack, mean_error = float(terms.slack[f]), float(laws.mean_errors[kind])
    eta = 1.01 * (
        slack * max(map(abs, z)) + high * (mean_error + float(laws.deviation_errors[kind]))
    )
    rho = float(laws.probability_errors[kind])
    size, kappa = len(y), 0.0
    for which, at in enumerate((tilt, tilt + tilts.above, tilt - tilts.below)):
        value = _cumulant(at, y, probabilities)
        cumulants[which] += repeats * value
        exponents = abs(at) * reach
        cumulants[3 + which] += (
            repeats * (1.01 * abs(at) * eta + 1.01 * rho)
            + repeats * EPS * (8 * (1 + exponents) + size)
            + EPS * abs(cumulants[which])
        )
        kappa = value if which == 0 else kappa
    exponents = tilt * reach
    constant = 2.05 * rho + 2 * tilt * eta + EPS * (128 + size + 16 * (1 + exponents))
    linear = eta + 12 * EPS * reach
    weights = [
        p * math.exp(tilt * (0.0 - one) - kappa) for p, one in zip(probabilities, y, strict=True)
    ]
    return _Factor(y, weights, constant, linear)


def _cumulant(tilt: float, y: list[float], probabilities: list[float]) -> float:
    """As `factors.cumulant`, of points."""
    exponents = [tilt * (0.0 - one) for one in y]
    largest, total = max(exponents), 0.0
    for p, exponent in zip(probabilities, exponents, strict=True):
        total += p * math.exp(exponent - largest)
    return largest + math.log(total)


def scan(
    inversion: Inversion,
    factor: tuple[FloatArray, FloatArray, FloatArray],
    place: float,
    place_error: float,
    rows: int,
) -> FloatArray:
    """As `inversion_kernels.scan`; the table of `rows` rows."""
    table = np.zeros((rows, 3))
    for row in range(rows):
        if row:
            inversion.multiply(*factor)
        inversion.bury()
        table[row] = inversion.sums(place, place_error)
    return table
