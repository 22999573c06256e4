"""Upper bounds on the probability that two log-ratios have chosen signs, for many rounds at once.

P(X ≤ 0, Y ≤ 0) for two sums X and Y of independent terms that share their observations: the sum of
:mod:`theory.bounds.accounting.inversion` in two dimensions. Tilted by e^{−sX−tY}, it is
e^K E[e^{sX+tY} 1{X ≤ 0} 1{Y ≤ 0}], and a product of two majorants is a majorant of the product. Its
sum over frequencies is the expectation of the product made periodic, none of whose terms is
negative: an upper bound with no error of quadrature, whatever tilts, periods and numbers of
frequencies are (docs: mathematics/certified-samples).

Most frequencies do not count: the characteristic function is small there after a few observations.
They are given up with what they could have added, which is known.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from theory.bounds.accounting.inversion import raised
from theory.bounds.accounting.laws import EPS, majorant_transform, transform_error
from theory.validation import FloatArray, IntArray

# λ in either dimension: a bound exceeds the probability by about this share.
_SHARPNESS = 0.08
_FEWEST, _MOST = 32, 160
# The period in standard deviations of the tilted sum, and in 1/t.
_DEVIATIONS = 5.5
_TILTS = 7.5
# Tilts are at least this and at most that many per standard deviation.
_FLAT, _STEEP = 0.4, 12.0
# What frequencies that are given up may add, as a share of the sum.
_GIVEN_UP = 3e-3
# Factors are multiplied one by one until so small a share of the frequencies is left.
_FEW = 0.04
# The most by which a factor in single precision is off: the angle and its cosine by a few units.
_SINGLE = 1e-6
# Terms whose tables are made at once.
_AT_ONCE = 8
# Numbers in one array.
_MOST_NUMBERS = 400_000


@dataclass(frozen=True, eq=False)
class _Terms:
    """Tilted terms: values (2, …, A), covariances (3, …, A) if any, and probabilities (…, A)."""

    values: FloatArray
    curves: FloatArray | None
    chances: FloatArray

    def some(self, index: IntArray | slice) -> _Terms:
        """Those of a flat list."""
        curves = None if self.curves is None else self.curves[:, index]
        return _Terms(self.values[:, index], curves, self.chances[index])

    @property
    def flat(self) -> _Terms:
        """One after the other."""
        atoms = self.chances.shape[-1]
        curves = None if self.curves is None else self.curves.reshape(3, -1, atoms)
        values = self.values.reshape(2, -1, atoms)
        return _Terms(values, curves, self.chances.reshape(-1, atoms))


@dataclass(frozen=True, eq=False)
class PairTerms:
    """Y = (Y_1, Y_2), a constant plus independent terms, whose P(Y_1 ≥ 0, Y_2 ≥ 0) is asked for.

    Attributes
    ----------
    weights, slack
        Shape (2, m + 1, G): of each round for G groups of agents, which are as heard in both sums,
        and how far they may be off; the last round stands for all later ones.
    count
        Shape (G,): the agents of a group.
    probabilities, values, covariances
        Shapes (G, A), (2, G, A) and (3, G, A): the joint law of a group's terms, padded with
        probability 0; of normal ones values are means, with both variances around their covariance.
    value_errors, deviation_errors, probability_errors
        Shapes (2, G), (2, G) and (G,): how far values, standard deviations and probabilities may be
        off; the last relatively.
    places, place_errors
        Shape (2, m + 1): the constants, and how far they may be off.
    doubt
        Shape (2,): what each round after m adds to the errors of the constants.
    """

    weights: FloatArray
    slack: FloatArray
    count: IntArray
    probabilities: FloatArray
    values: FloatArray
    covariances: FloatArray
    value_errors: FloatArray
    deviation_errors: FloatArray
    probability_errors: FloatArray
    places: FloatArray
    place_errors: FloatArray
    doubt: FloatArray

    @property
    def rounds(self) -> int:
        """The number m of rounds that are kept apart."""
        return int(self.weights.shape[1]) - 1

    @cached_property
    def reach(self) -> FloatArray:
        """Shape (2, G): the largest |z|."""
        return np.asarray(np.abs(self.values).max(axis=2))

    @cached_property
    def spread(self) -> FloatArray:
        """Shape (2, G): the largest standard deviation of an atom."""
        return np.asarray(np.sqrt(self.covariances[::2].max(axis=2)))

    @cached_property
    def has_normals(self) -> bool:
        """Whether some atom is no point."""
        return bool(self.covariances.any())

    def tilted(self, tilts: FloatArray, rounds: slice) -> tuple[_Terms, FloatArray]:
        """Terms of some rounds with densities e^{tilts·y − κ}, (…, k, G, A); and κ, (k, G)."""
        w = self.weights[:, rounds]
        y = w[..., None] * self.values[:, None]
        exponents = tilts[0] * y[0] + tilts[1] * y[1]
        curves = None
        if self.has_normals:
            scale = np.stack([w[0] * w[0], w[0] * w[1], w[1] * w[1]])[..., None]
            curves = scale * self.covariances[:, None]
            moved = tilts[0] * curves[:2] + tilts[1] * curves[1:]
            exponents += 0.5 * np.maximum(np.tensordot(tilts, moved, 1), 0.0)
            y += moved
        top = exponents.max(axis=2)
        chances = self.probabilities * np.exp(exponents - top[..., None])
        mass = chances.sum(axis=2)
        return _Terms(y, curves, chances / mass[..., None]), top + np.log(mass)

    def places_at(self, rounds: IntArray) -> tuple[FloatArray, FloatArray]:
        """The constants after some numbers of rounds, and bounds on their errors; shapes (2, R)."""
        m = self.rounds
        later = np.maximum(rounds - m - 1, 0)
        index = np.minimum(rounds, m + 1) - 1
        errors = (self.place_errors[:, index] + later * self.doubt[:, None]) * (1 + 4 * EPS)
        return self.places[:, index], errors

    def moments(self, tilts: FloatArray, rounds: int) -> tuple[float, FloatArray, FloatArray]:
        """Log E e^{tilts·Y} with its gradient, shape (2,), and its second derivatives, (2, 2)."""
        kept = min(rounds, self.rounds + 1)
        total, slope, curve = 0.0, np.zeros(2), np.zeros((2, 2))
        chunk = max(1, _MOST_NUMBERS // self.probabilities.size)
        for begin in range(0, kept, chunk):
            used = slice(begin, min(begin + chunk, kept))
            found, cumulants = self.tilted(tilts, used)
            y, chances = found.values, found.chances
            times = np.ones(used.stop - begin)
            if used.stop == kept:
                times[-1] += rounds - kept
            repeats = times[:, None] * self.count
            total += float((repeats * cumulants).sum())
            means = (y * chances).sum(axis=3)
            slope += (repeats * means).sum(axis=(1, 2))
            y -= means[..., None]
            chances *= repeats[..., None]
            curve += np.einsum("iklo,jklo,klo->ij", y, y, chances)
            if found.curves is not None:
                curve += (found.curves * chances).sum(axis=(1, 2, 3))[[[0, 1], [1, 2]]]
        place = self.places_at(np.array([rounds]))[0][:, 0]
        return total + float(tilts @ place), slope + place, curve


@dataclass(frozen=True)
class _Plan:
    """Tilts, periods and numbers of frequencies of both dimensions; any are valid."""

    tilts: FloatArray
    periods: FloatArray
    lengths: tuple[int, int]
    about: float

    @classmethod
    def of(cls, terms: PairTerms, rounds: int) -> _Plan:
        """Near the minimum of log E e^{tilts·Y} at `rounds`, by Newton's method."""
        _, slope, curve = terms.moments(np.zeros(2), rounds)
        scale = 1.0 / np.sqrt(np.maximum(np.diag(curve), 1e-200))
        least, most = _FLAT * scale, _STEEP * scale
        tilts = np.zeros(2)
        for _ in range(8):
            ridge = curve + 1e-6 * np.diag(np.diag(curve)) + 1e-200 * np.eye(2)
            free = ~((tilts <= least) & (slope > 0))
            step = np.zeros(2)
            if free.any():
                step[free] = -np.linalg.solve(ridge[np.ix_(free, free)], slope[free])
            moved = np.clip(tilts + step, least, np.minimum(most, 2 * tilts + 4 * least))
            done = (np.abs(moved - tilts) <= 0.03 * moved).all()
            tilts = moved
            _, slope, curve = terms.moments(tilts, rounds)
            if done:
                break
        spread = np.sqrt(np.maximum(np.diag(curve), 0.0))
        periods = np.maximum(_DEVIATIONS * spread, _TILTS / tilts)
        # λ is at most 1, as the error of the transform asks for.
        tilts = np.minimum(tilts, 0.99 * _MOST / periods)
        lengths = np.ceil(tilts * periods / _SHARPNESS / 32) * 32
        first, second = np.clip(lengths, _FEWEST, _MOST).astype(int).tolist()
        about = float(np.prod(1.0 / (1.0 + tilts * spread * np.sqrt(2 * np.pi))))
        return cls(tilts, periods, (first, second), about)


@dataclass(frozen=True, eq=False)
class _Wave:
    """Frequencies that count, and the characteristic function of the tilted Y there."""

    index: tuple[IntArray, IntArray]
    load: NDArray[np.complex128]
    value: NDArray[np.complex128]

    @property
    def size(self) -> float:
        """What an error of 1, relative to φ, adds to the sum at most."""
        return float(np.abs(self.load) @ np.abs(self.value)) * (1 + 1e-9)

    def times(self, factor: NDArray[np.complex128]) -> _Wave:
        """With one more factor."""
        return replace(self, value=self.value * factor)

    def lighter(self, least: float) -> tuple[_Wave, float]:
        """Without frequencies that add less than `least`, and a bound on what they all add."""
        sizes = np.abs(self.load) * np.abs(self.value)
        kept = sizes > least
        lost = float(sizes[~kept].sum()) * (1 + 1e-9)
        first, second = self.index
        return _Wave((first[kept], second[kept]), self.load[kept], self.value[kept]), lost


@dataclass(frozen=True, eq=False)
class PairCurve:
    """Upper bounds on log P(Y_1 ≥ 0, Y_2 ≥ 0) for many n, with tilts that are good at `pilot`."""

    terms: PairTerms
    pilot: int

    @cached_property
    def _plan(self) -> _Plan:
        return _Plan.of(self.terms, self.pilot)

    @property
    def _rates(self) -> list[float]:
        plan = self._plan
        rates: list[float] = (plan.tilts * plan.periods / np.array(plan.lengths)).tolist()
        return rates

    @cached_property
    def _angles(self) -> tuple[FloatArray, FloatArray]:
        """Frequencies from 0, and from −L to L: what is left out is the conjugate."""
        first, second = self._plan.lengths
        steps = 2 * np.pi / self._plan.periods
        return steps[0] * np.arange(first), steps[1] * np.arange(1 - second, second)

    @cached_property
    def _transforms(self) -> tuple[NDArray[np.complex128], NDArray[np.complex128]]:
        """Of both majorants, with the weights of the sum over frequencies."""
        (first, second), rates = self._plan.lengths, self._rates
        one = majorant_transform(np.arange(first) / first, rates[0]) / first
        two = majorant_transform(np.arange(second) / second, rates[1]) / second
        one[1:] *= 2
        return one, np.concatenate([two[:0:-1].conj(), two])

    @cached_property
    def _weigh(self) -> tuple[FloatArray, float]:
        """What an error of 1, or of an angle, everywhere adds to the sum; the transforms' error."""
        one, two = (np.abs(part) for part in self._transforms)
        first, second = self._angles
        sums = one.sum(), two.sum()
        mine, other = (transform_error(rate) for rate in self._rates)
        doubt = 2.02 * (other * sums[0] + mine * sums[1] + 2 * mine * other)
        weigh = [sums[0] * sums[1], first @ one * sums[1], sums[0] * (np.abs(second) @ two)]
        return np.array(weigh) * (1 + 1e-9), float(doubt)

    @cached_property
    def _least(self) -> float:
        """Frequencies that add less are given up."""
        return _GIVEN_UP * self._plan.about / (self._angles[0].size * self._angles[1].size)

    def _tilted(self, rounds: slice) -> tuple[_Terms, FloatArray, FloatArray]:
        """Of some rounds: terms, cumulants and errors.

        The last two of shapes (k,) and (4, k): the errors of a cumulant and of a factor of the
        characteristic function, in which the last two are multiplied by angles.
        """
        terms, tilts = self.terms, self._plan.tilts
        w, slack = terms.weights[:, rounds], terms.slack[:, rounds]
        found, cumulants = terms.tilted(tilts, rounds)
        # By how much a term may differ from the stored one, as for one event: of a normal one the
        # mean, and the deviation, by which the tilt moves the mean, and the transform falls.
        eta = 1.01 * (slack * terms.reach[:, None] + w * terms.value_errors[:, None])
        bent = 1.01 * (slack * terms.spread[:, None] + w * terms.deviation_errors[:, None])
        reach, spread = w * terms.reach[:, None], w * terms.spread[:, None]
        pull, size, more, wide = (
            np.tensordot(tilts, part, 1) for part in (eta, reach, bent, spread)
        )
        pull, size = pull + more * (wide + more), size + wide * wide
        eta, reach = eta + bent * (1 + wide + more) + spread * more, reach + spread * wide
        rho, atoms = terms.probability_errors, terms.probabilities.shape[1]
        of_cumulant = 1.01 * (pull + rho) + EPS * (8 * (1 + size) + atoms)
        constant = 2.05 * rho + 2.02 * pull + EPS * (256 + atoms + 16 * (1 + size))
        errors = np.stack([of_cumulant, constant, *(eta + 16 * EPS * reach)]) @ terms.count
        return found, cumulants @ terms.count, np.asarray(errors, dtype=np.float64)

    def _factors(self, wave: _Wave, terms: _Terms) -> NDArray[np.complex128]:
        """E e^{iθ·y} of some terms at the frequencies of a wave, shape (terms, F).

        Whole turns are taken off in doubles; what is left goes in single precision, to `_SINGLE`.
        """
        first, second = (part[index] for part, index in zip(self._angles, wave.index, strict=True))
        y = terms.values
        turns = y[0][..., None] * (first / (2 * np.pi))
        turns += y[1][..., None] * (second / (2 * np.pi))
        turns -= np.rint(turns)
        phases = (turns * (2 * np.pi)).astype(np.float32)
        weights = terms.chances.astype(np.float32)[..., None]
        if terms.curves is not None:
            squares = np.stack([first * first / 2, first * second, second * second / 2])
            falls = np.tensordot(terms.curves, squares, (0, 0))
            weights = weights * np.exp(-np.maximum(falls, 0.0)).astype(np.float32)
        found = np.empty(phases.shape[:-2] + phases.shape[-1:], dtype=np.complex128)
        found.real = (weights * np.cos(phases)).sum(axis=-2)
        found.imag = (weights * np.sin(phases)).sum(axis=-2)
        return found

    def _dense(self, terms: _Terms, repeats: IntArray) -> tuple[_Wave, float, int]:
        """φ of the first terms of some, as many as it takes to leave few frequencies.

        None of normal ones, whose factors are no products.
        """
        (first, second), steps = self._plan.lengths, 2 * np.pi / self._plan.periods
        load, y, chances = np.multiply.outer(*self._transforms), terms.values, terms.chances
        if terms.curves is not None:
            rows, columns = (part.ravel() for part in np.indices(load.shape))
            return _Wave((rows, columns), load.ravel(), np.ones(load.size, complex)), 0.0, 0
        sizes = np.abs(load).astype(np.float32)
        value, used = np.ones(load.shape, dtype=np.complex64), 0
        while used < len(repeats):
            part = slice(used, used + _AT_ONCE)
            one = _multiples(steps[0] * y[0, part], first) * chances[part, :, None]
            two = _multiples(steps[1] * y[1, part], second)
            two = np.concatenate([two[..., :0:-1].conj(), two], axis=-1)
            halves = one.astype(np.complex64).swapaxes(1, 2), two.astype(np.complex64)
            for a, b, times in zip(*halves, repeats[part].tolist(), strict=True):
                value *= a @ b if times == 1 else raised((a @ b).astype(np.complex128), times)
            used = min(used + _AT_ONCE, len(repeats))
            added = sizes * np.abs(value)
            kept = added > self._least
            if np.count_nonzero(kept) <= _FEW * load.size:
                break
        rows, columns = (part.astype(np.int64) for part in np.nonzero(kept))
        index = rows, columns
        lost = float(added[~kept].sum(dtype=np.float64)) * (1 + 1e-5)
        lost += _SINGLE * float(repeats[:used].sum()) * self._weigh[0][0]
        return _Wave(index, load[index], value[index].astype(np.complex128)), lost, used

    def _start(self, terms: _Terms, repeats: IntArray) -> tuple[_Wave, float]:
        """φ of some terms, those that vary most first: few frequencies outlive them."""
        tilts, chances = self._plan.tilts, terms.chances
        u = np.tensordot(tilts, terms.values, 1)
        spread = (chances * u * u).sum(axis=1) - (chances * u).sum(axis=1) ** 2
        if terms.curves is not None:
            squares = np.array([tilts[0] ** 2, 2 * tilts[0] * tilts[1], tilts[1] ** 2])
            spread += (chances * np.tensordot(squares, terms.curves, 1)).sum(axis=1)
        order = np.argsort(-spread * repeats, kind="stable")
        terms, repeats = terms.some(order), repeats[order]
        wave, lost, done = self._dense(terms, repeats)
        size = 8 if terms.curves is None else 0  # of a whole grid one by one at first
        while done < len(repeats):
            most = _MOST_NUMBERS // max(1, wave.value.size * chances.shape[1])
            size = max(1, min(2 * size, most))
            part = slice(done, done + size)
            factors = self._factors(wave, terms.some(part))
            if repeats[part].max() > 1:
                factors **= repeats[part, None]
            lost += _SINGLE * float(repeats[part].sum()) * wave.size
            wave, more = wave.times(factors.prod(axis=0)).lighter(self._least)
            done, lost = done + size, lost + more
        return wave, lost

    def upper(self, first: int, last: int) -> FloatArray:
        """For n = `first` … `last`; at most 0."""
        m, (groups, atoms) = self.terms.rounds, self.terms.probabilities.shape
        terms, cumulants, errors = self._tilted(slice(0, min(first, m + 1)))
        repeats = np.ones((len(cumulants), 1), dtype=np.int64)
        repeats[-1] = max(1, first - m)
        wave, lost = self._start(terms.flat, (repeats * self.terms.count).ravel())
        level, error = float(cumulants @ repeats[:, 0]), errors @ repeats[:, 0]
        found = [self._logs(wave, first, wave.value[None], np.array([level]), error[:, None], lost)]
        done = first
        while done < last:
            size = max(1, _MOST_NUMBERS // max(1, wave.value.size * groups * atoms))
            size = min(size, m - done, last - done) if done < m else min(atoms * size, last - done)
            later = slice(done, done + size) if done < m else slice(m, m + 1)
            terms, cumulants, errors = self._tilted(later)
            steps = self._factors(wave, terms)
            if self.terms.count.max() > 1:
                steps **= self.terms.count[:, None]
            steps = steps.prod(axis=1)
            lost += _SINGLE * size * float(self.terms.count.sum()) * wave.size
            if done >= m:
                steps, cumulants = steps.repeat(size, axis=0), cumulants.repeat(size)
                errors = errors.repeat(size, axis=1)
            values = wave.value * np.cumprod(steps, axis=0)
            levels, errors = (
                level + np.cumsum(cumulants),
                error[:, None] + np.cumsum(errors, axis=1),
            )
            found.append(self._logs(wave, done + 1, values, levels, errors, lost))
            done, level, error = done + size, float(levels[-1]), errors[:, -1]
            wave, more = replace(wave, value=values[-1]).lighter(self._least)
            lost += more
        return np.concatenate(found)

    def _logs(
        self,
        wave: _Wave,
        first: int,
        values: NDArray[np.complex128],
        levels: FloatArray,
        errors: FloatArray,
        lost: float,
    ) -> FloatArray:
        """The bounds for n = `first` … from φ, the cumulant and errors after each round."""
        tilts, (weigh, doubt) = self._plan.tilts, self._weigh
        rounds = np.arange(first, first + len(values))
        places, place_errors = self.terms.places_at(rounds)
        angles = [a[index] for a, index in zip(self._angles, wave.index, strict=True)]
        turns = np.exp(1j * (places.T @ np.array(angles)))
        sums = ((values * turns) @ wave.load).real
        of_angles = errors[2:] + place_errors + 8 * EPS * np.abs(places)
        rounding = errors[1] + (wave.load.size + 256) * EPS
        doubts = (weigh[0] * rounding + weigh[1:] @ of_angles) * 1.01 + doubt + lost
        shifts = tilts @ places
        exponents = levels + shifts + errors[0] + tilts @ place_errors
        exponents += 16 * EPS * rounds * (1 + np.abs(levels) + tilts @ np.abs(places))
        with np.errstate(divide="ignore", invalid="ignore"):
            logs = exponents + np.log(np.maximum(sums + doubts, 0.0))
        # Errors of products were added up, which holds to a share of their sum.
        widest = np.array([part[-1] for part in self._angles])
        known = (errors[1] + widest @ of_angles <= 0.01) & ~np.isnan(logs)
        return np.where(known, np.minimum(np.minimum(logs, exponents), 0.0), 0.0)


def _multiples(angles: FloatArray, count: int) -> NDArray[np.complex128]:
    """e^{ik·angle} for k < `count`, products of two short tables; shape (…, count)."""
    fine = np.exp(1j * np.multiply.outer(angles, np.arange(16)))
    coarse = np.exp(1j * np.multiply.outer(angles, np.arange(0, count, 16)))
    return (coarse[..., None] * fine[..., None, :]).reshape(*angles.shape, -1)[..., :count]
