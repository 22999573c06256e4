"""What agents see, decided without rounding: neither units nor an offset may hide a direction.

Ranges and rows of data are the fractions that their doubles are, so that what is seen of them is
decided exactly. A second moment that was typed or summed in doubles says less: where its smallest
eigenvalue, scaled to a unit diagonal, is within rounding, it is taken to be zero.
"""

from __future__ import annotations

from functools import lru_cache

import flint
import numpy as np
from scipy.linalg import qr

from theory.numbers import as_fraction
from theory.regression.agent import RegressionAgent
from theory.regression.expansion import Directions, fractions_of
from theory.regression.positive import rank_of, rank_tolerance, scales
from theory.regression.rational_model import uniform_moment
from theory.validation import FloatArray


@lru_cache(maxsize=16)
def rows_of(agent: RegressionAgent) -> flint.fmpq_mat:
    """The rows of an agent's data set, exactly; m by d."""
    return fractions_of(agent.inputs)


@lru_cache(maxsize=256)
def moment_of(agent: RegressionAgent) -> flint.fmpq_mat:
    """E x xᵀ of an agent's inputs, exactly; d by d."""
    if agent.ranges is not None:
        return uniform_moment([[as_fraction(x) for x in row] for row in agent.ranges.tolist()])
    if agent.inputs is None:
        return fractions_of(agent.second_moment)
    rows = rows_of(agent)
    return rows.transpose() * rows / rows.nrows()


@lru_cache(maxsize=256)
def is_decided(agent: RegressionAgent) -> bool:
    """Whether rounding leaves no doubt about what an agent sees."""
    return agent.law != "normal" or moment_of(agent).rank() == rank_of(agent.second_moment)


@lru_cache(maxsize=256)
def directions_seen(kinds: tuple[RegressionAgent, ...]) -> Directions:
    """Split ℝᵈ into what some of the agents see and what none does."""
    nothing = flint.fmpq_mat(kinds[0].dimension, kinds[0].dimension)
    sure = Directions.of(sum((moment_of(k) for k in kinds if is_decided(k)), nothing))
    doubtful = [moment_of(kind) for kind in kinds if not is_decided(kind)]
    Z = sure.hidden
    if not doubtful or not Z.ncols():
        return sure
    # Of what is left, in the same units for all, and with the same say for all.
    left = np.array([_floats(Z.transpose() * moment * Z) for moment in doubtful])
    unit = scales(left.max(axis=0))
    scaled = unit[:, None] * left * unit
    size = np.abs(scaled).max(axis=(1, 2), keepdims=True)
    total = (scaled / np.where(size > 0, size, 1.0)).sum(axis=0)
    values, vectors = np.linalg.eigh(total)
    tolerance = rank_tolerance(nothing.nrows())
    seen = vectors[:, values > tolerance].T
    # Coordinates on which these are regular, and the null space in terms of the others.
    order = qr(seen, mode="r", pivoting=True)[1]
    regular, free = order[: len(seen)], np.sort(order[len(seen) :])
    null = np.zeros((len(order), free.size))
    null[free, np.arange(free.size)] = 1.0
    inner = -np.linalg.solve(seen[:, regular], seen[:, free])
    null[regular] = np.where(np.abs(inner) > tolerance, inner, 0.0)
    null *= unit[:, None] / unit[free]
    hidden = Z * fractions_of(null) if free.size else flint.fmpq_mat(Z.nrows(), 0)
    # Columns of Z end in a 1, at a coordinate of their own.
    ends = [max(c for c in range(Z.nrows()) if Z[c, k] != 0) for k in free]
    rest = [c for c in range(Z.nrows()) if c not in ends]
    return Directions(fractions_of(np.eye(Z.nrows())[:, rest]), hidden)


def _floats(matrix: flint.fmpq_mat) -> FloatArray:
    return np.array([[float(as_fraction(x)) for x in row] for row in matrix.table()])
