"""From a problem to steps and keys: what each round's observation of each agent adds."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import lcm

import flint
import numpy as np

from exact.law.keys import EncodedStep, KeySpace, Step
from exact.law.law_problem import Problem, Vector, grid_step
from theory.numbers import as_fraction
from theory.validation import FloatArray

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
