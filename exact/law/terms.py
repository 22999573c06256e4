"""From a problem to steps and keys: what each round's observation of each agent adds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import lcm, prod

import flint
import numpy as np
from numpy.typing import NDArray

from exact.law.keys import EncodedStep, Keys, KeySpace, Masses, Step, check_size
from exact.law.law_problem import Problem, Vector, grid_step
from theory.numbers import LogSum, as_fraction
from theory.validation import FloatArray, as_integer, as_positive, fail

# From a problem to steps and keys ----------------------------------------------------------------


Flat = tuple[Fraction, ...]


@dataclass(frozen=True, eq=False)
class Terms:
    """All independent terms of the log-ratios up to some round.

    A vector has one entry for each of A agents, C columns and B coefficients, in this order.

    Attributes
    ----------
    shape
        (A, C, B).
    space
        Keys for all sums.
    lags
        For each lag, newest first, one step for each agent that is heard.
    priors
        For each number of lags k from 1 on, the share of the priors if there were k rounds; for
        weights that were given for each round, the last one alone counts.
    displacement
        How far any log-ratio may be from the true one, in nats; 0.0 where nothing was rounded.
    """

    shape: tuple[int, int, int]
    space: KeySpace
    lags: tuple[tuple[EncodedStep, ...], ...]
    priors: tuple[Flat, ...]
    displacement: float


def terms(problem: Problem, rounds: int, *, exact: bool, merge_within: float) -> Terms:
    """The terms of `rounds` rounds.

    Parameters
    ----------
    exact
        Whether probabilities are whole numbers over a denominator.
    merge_within
        For models of doubles: what rounding to the grid may add up to, in nats.
    """
    influences = problem.influences(rounds)
    kinds = [int(k) for k in problem.model.assignment]
    columns = len(problem.reference.columns)
    grid = grid_step(merge_within, terms=rounds * len(kinds))
    known: dict[tuple[object, ...], int] = {}
    steps: list[Step] = []
    where: list[list[int]] = []
    priors: list[Flat] = []
    for influence in influences:
        table = _table(influence, problem.agents)
        found = []
        for j, kind in enumerate(kinds):
            column = tuple(row[j] for row in table)
            if not any(column):
                continue
            key = (kind, column)
            if key not in known:
                known[key] = len(steps)
                steps.append(_step(problem, kind, column, grid=grid, exact=exact))
            found.append(known[key])
        where.append(found)
        priors.append(_prior(problem, kinds, table))
    counts = [0] * len(steps)
    for found in where:
        for index in found:
            counts[index] += 1
    space = KeySpace.of(steps, counts)
    encoded = [space.encode(step) for step in steps]
    width = 1 + len(problem.base)
    displacement = 0.0
    if not problem.is_rational:
        displacement = float(grid) / 2 * sum(counts) + _rounding(problem, rounds)
    return Terms(
        shape=(len(problem.agents), columns, width),
        space=space,
        lags=tuple(tuple(encoded[index] for index in found) for found in where),
        priors=tuple(priors),
        displacement=displacement,
    )


def _table(influence: FloatArray | flint.fmpq_mat, agents: tuple[int, ...]) -> list[list[Fraction]]:
    """The chosen agents' rows, as fractions."""
    if isinstance(influence, np.ndarray):
        rows = influence[list(agents)].tolist()
    else:
        rows = [[influence[i, j] for j in range(influence.ncols())] for i in agents]
    return [[as_fraction(x) for x in row] for row in rows]


def _step(
    problem: Problem, kind: int, column: tuple[Fraction, ...], *, grid: Fraction, exact: bool
) -> Step:
    table = problem.tables[kind]
    outcomes: list[Flat]
    if isinstance(table.values, np.ndarray):
        weights = np.array([float(w) for w in column])
        counts = np.rint(np.multiply.outer(weights, table.values) / float(grid))
        outcomes = [
            tuple(int(x) * grid for x in counts[:, o].ravel().tolist())
            for o in range(counts.shape[1])
        ]
    else:
        outcomes = [_scaled(column, row) for row in table.values]
    start = outcomes[0]
    moves = tuple(tuple(x - s for x, s in zip(row, start, strict=True)) for row in outcomes)
    probabilities = list(table.probabilities)
    if not exact:
        return Step(start, moves, tuple(float(p) for p in probabilities), 1)
    fractions = [as_fraction(p) for p in probabilities]
    below = lcm(*(p.denominator for p in fractions))
    return Step(start, moves, tuple(int(p * below) for p in fractions), below)


def _scaled(column: tuple[Fraction, ...], row: tuple[Vector, ...]) -> Flat:
    return tuple(weight * x for weight in column for vector in row for x in vector)


def _prior(problem: Problem, kinds: list[int], table: list[list[Fraction]]) -> Flat:
    width = len(problem.reference.columns) * (1 + len(problem.base))
    odds: list[Flat] = []
    for k in range(len(problem.model.kinds)):
        priors = problem.tables[k].priors
        if isinstance(priors, np.ndarray):
            odds.append(tuple(Fraction(x) for x in priors.tolist()))
        else:
            odds.append(tuple(x for vector in priors for x in vector))
    shares: list[Fraction] = []
    for row in table:
        totals = [Fraction(0)] * len(odds)
        for k, weight in zip(kinds, row, strict=True):
            totals[k] += weight
        shares += [
            sum((t * o[d] for t, o in zip(totals, odds, strict=True)), Fraction(0))
            for d in range(width)
        ]
    return tuple(shares)


def _rounding(problem: Problem, rounds: int) -> float:
    """What doubles add to the displacement: powers of W and their products with log-ratios.

    A power is off by at most k(N + 1) units of 2⁻⁵³ relatively, as all terms are positive; two
    more for the row sums and the product.
    """
    size = len(problem.model.assignment)
    tables = [x for t in problem.tables for x in (t.values, t.priors)]
    largest = max(float(np.abs(x).max()) for x in tables if isinstance(x, np.ndarray))
    return largest * (rounds + 1) ** 2 * (size + 3) * 2.0**-53


# From keys back to log-ratios, and who is wrong --------------------------------------------------


BoolArray = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Verdict:
    """Which states are errors.

    Attributes
    ----------
    wrong, surely
        Shape (S, A): whether the agent errs in the state, ties included; and whether it does so
        whatever rounding has done. The two are equal where nothing was rounded.
    """

    wrong: BoolArray
    surely: BoolArray


@dataclass(frozen=True, eq=False)
class Decoder:
    """Log-ratios of keys; see :class:`exact.law.terms.Terms`."""

    problem: Problem
    terms: Terms

    @cached_property
    def _slopes(self) -> FloatArray:
        """What one unit of each coordinate adds to each log-ratio, shape (r, A·C)."""
        space = self.terms.space
        rows = [
            self._values(tuple(unit * x for x in row))
            for row, unit in zip(space.rows, space.units, strict=True)
        ]
        agents, columns, _ = self.terms.shape
        return np.array(rows).reshape(len(rows), agents * columns)

    def _number(self, vector: Flat, index: int) -> LogSum:
        """Entry `index` of the A·C log-ratios that a vector of coefficients stands for."""
        width = self.terms.shape[2]
        rational, *powers = vector[index * width : (index + 1) * width]
        logs = zip(self.problem.base, powers, strict=True)
        return LogSum(rational, tuple((b, q) for b, q in logs if q))

    def _values(self, vector: Flat) -> FloatArray:
        agents, columns, _ = self.terms.shape
        sizes = [self._number(vector, i).enclosure() for i in range(agents * columns)]
        return np.array([(e.lower + e.upper) / 2 for e in sizes])

    def log_ratios(self, keys: Keys, zero: Flat) -> FloatArray:
        """Shape (S, A, C), right to a few roundings of the terms summed."""
        agents, columns, _ = self.terms.shape
        digits = self._digits(keys)
        values = self._values(zero) + digits @ self._slopes
        return np.asarray(values.reshape(-1, agents, columns))

    def _digits(self, keys: Keys) -> FloatArray:
        found = [d.astype(np.float64) for d in self.terms.space.digits(keys)]
        return np.stack(found, axis=1) if found else np.zeros((keys.size, 0))

    def verdict(self, keys: Keys, zero: Flat) -> Verdict:
        """Who is wrong in each state.

        An agent errs if some wrong θ has Λ(best, θ) ≤ Λ(best, r) for every r that is no error.
        """
        agents, columns, _ = self.terms.shape
        reference = self.problem.reference
        place = {theta: c for c, theta in enumerate(reference.columns)}
        digits = self._digits(keys)
        wrong = np.zeros((keys.size, agents), dtype=bool)
        surely = np.zeros_like(wrong)
        for a in range(agents):
            for theta in reference.wrong:
                beats = np.ones(keys.size, dtype=bool)
                proved = np.ones(keys.size, dtype=bool)
                for rival in (None, *(place[m] for m in reference.others)):
                    other = None if rival is None else a * columns + rival
                    found = self._at_most_zero(
                        keys, digits, zero, a * columns + place[theta], other
                    )
                    beats &= found.wrong[:, 0]
                    proved &= found.surely[:, 0]
                wrong[:, a] |= beats
                surely[:, a] |= proved
        return Verdict(wrong, surely)

    def _at_most_zero(
        self, keys: Keys, digits: FloatArray, zero: Flat, index: int, other: int | None
    ) -> Verdict:
        """Whether entry `index`, less entry `other` if given, is at most 0."""
        start, slopes = self._values(zero), self._slopes
        base, slope = start[index], slopes[:, index]
        sizes = np.abs(slope)
        reach = abs(base)
        if other is not None:
            base, slope = base - start[other], slope - slopes[:, other]
            sizes = sizes + np.abs(slopes[:, other])
            reach += abs(start[other])
        values = base + digits @ slope
        # Each term is off by two roundings or so, and so is each sum.
        slack = (digits @ sizes + reach) * (8 + 2 * slope.size) * 2.0**-53
        if not self.problem.is_rational:
            moved = self.terms.displacement * (1 if other is None else 2) + slack
            return Verdict((values <= moved)[:, None], (values <= -moved)[:, None])
        decided = values <= 0
        for state in np.flatnonzero(np.abs(values) <= slack):
            vector = self._vector(int(keys[state]), zero)
            number = self._number(vector, index)
            if other is not None:
                number = number - self._number(vector, other)
            decided[state] = number.sign() <= 0
        return Verdict(decided[:, None], decided[:, None])

    def _vector(self, key: int, zero: Flat) -> Flat:
        moved = self.terms.space.vector(key)
        return tuple(z + m for z, m in zip(zero, moved, strict=True)) if moved else zero


def add(first: Flat, second: Flat) -> Flat:
    """The sum of two vectors."""
    return tuple(x + y for x, y in zip(first, second, strict=True))


def nothing(size: int) -> Flat:
    """The zero vector."""
    return (Fraction(0),) * size


# The laws of all log-ratios, round after round, by convolution -----------------------------------


@dataclass(frozen=True, eq=False)
class State:
    """The law after some number of rounds, in keys.

    Attributes
    ----------
    rounds
        n.
    masses
        Keys and weights.
    zero
        The vector that key 0 stands for.
    """

    rounds: int
    masses: Masses
    zero: Flat


@dataclass(frozen=True, eq=False)
class Enumeration:
    """All that is needed to enumerate up to a last round."""

    terms: Terms
    decoder: Decoder
    exact: bool
    limit: int

    @classmethod
    def of(
        cls, problem: Problem, rounds: int, *, exact: bool, merge_within: float, limit: int
    ) -> Enumeration:
        """Prepare `rounds` rounds."""
        prepared = terms(problem, rounds, exact=exact, merge_within=merge_within)
        return cls(prepared, Decoder(problem, prepared), exact, limit)

    @property
    def foreseen(self) -> int:
        """No more states than this: outcomes of all observations, and values of all keys."""
        outcomes = prod(len(step.keys) for lag in self.terms.lags for step in lag)
        return min(outcomes, self.terms.space.size)

    def rounding(self, rounds: int) -> float:
        """A bound on the relative rounding of a probability after `rounds` rounds.

        All numbers are positive. Each observation rounds its probabilities once, multiplies once
        and adds no more numbers than it has outcomes.
        """
        if self.exact:
            return 2.0**-52
        steps = (step for lag in self.terms.lags[:rounds] for step in lag)
        return 1.01 * sum(len(step.keys) + 2 for step in steps) * 2.0**-53

    def states(self) -> Iterator[State]:
        """The law after 1, 2, … rounds.

        For weights that were given for each round only the last one is a law of beliefs.

        Raises
        ------
        ValueError
            Where there are more states than the limit.
        """
        masses = Masses.start(self.terms.space, exact=self.exact)
        agents, columns, width = self.terms.shape
        zero = nothing(agents * columns * width)
        total = sum(len(lag) for lag in self.terms.lags)
        done = 0
        for index, lag in enumerate(self.terms.lags):
            for step in lag:
                check_size(
                    masses,
                    step,
                    limit=self.limit,
                    done=done,
                    terms=total,
                    foreseen=self.foreseen,
                )
                masses = masses.add(step)
                zero = add(zero, step.zero)
                done += 1
            yield State(index + 1, masses, add(zero, self.terms.priors[index]))


def prepare(
    found: Problem, rounds: int, *, exact: bool, merge_within: float, limit: int
) -> Enumeration:
    """Check the options and prepare `rounds` rounds.

    Raises
    ------
    ValueError
        If fractions are asked of a model of doubles, or an option is out of range.
    """
    if exact and not found.is_rational:
        raise fail(
            "exact",
            "a RationalModel, to have probabilities as fractions",
            "a FiniteModel",
            "build the model of fractions, or leave it out",
        )
    return Enumeration.of(
        found,
        rounds,
        exact=exact,
        merge_within=as_positive("merge_within", merge_within),
        limit=as_integer("limit", limit, minimum=1),
    )
