"""A column far from zero is centred before moments are formed: a shift changes no prediction.

With a column x_0 that is constant for every agent, x' = L x subtracts multiples of it from the
others; coefficients become L⁻ᵀθ, precisions L Ω Lᵀ, information vectors L h. Fourth moments of a
column at distance c from zero would lose c⁴ in digits, second moments c².
"""

from __future__ import annotations

import numpy as np

from theory.numbers import precision
from theory.regression.agent import RegressionAgent
from theory.regression.expansion import doubles_of, fractions_of
from theory.regression.model import RegressionModel
from theory.regression.positive import check_test_digits
from theory.validation import FloatArray

# Mean squares of a column that centring leaves less of are those of an offset.
_FAR = 1e-4


def centring(model: RegressionModel) -> tuple[RegressionModel, FloatArray]:
    """The model with x' = L x for x, and L; with L = 1 where no column lies far from zero.

    The prior of the model returned means nothing: precisions are to be changed as they are used.

    Raises
    ------
    ValueError
        If the rounding of `test_second_moment` leaves fewer than three digits of a column's spread.
    """
    d = model.dimension
    L = np.eye(d)
    levels = np.array([_constants(kind) for kind in model.kinds])
    known = np.flatnonzero(~np.isnan(levels).any(axis=0) & (levels != 0).any(axis=0))
    if not known.size or any(kind.law == "normal" for kind in model.kinds):
        return model, L
    base = int(known[0])
    total = np.sum([kind.second_moment for kind in model.kinds], axis=0)
    L[:, base] -= total[:, base] / total[base, base]
    L[base, base] = 1.0
    left = np.sum([_moved(kind, L, base).second_moment for kind in model.kinds], axis=0)
    near = np.diag(left) > _FAR * np.diag(total)
    near[base] = False
    L[near, base] = 0.0
    if np.array_equal(L, np.eye(d)):
        return model, L
    S, turn = fractions_of(model.test_second_moment), fractions_of(L)
    with precision(256):
        test = doubles_of(turn * S * turn.transpose())
        theta = doubles_of(turn.inv().transpose() * fractions_of(model.theta[:, None]))[:, 0]
    check_test_digits(np.diag(test), np.diag(abs(L) @ abs(model.test_second_moment) @ abs(L.T)))
    kinds = tuple(_moved(kind, L, base) for kind in model.kinds)
    return RegressionModel(theta, kinds, np.eye(d), test, None, model.assignment), L


def _constants(kind: RegressionAgent) -> FloatArray:
    """The value of each coordinate that never varies, nan for the others; shape (d,)."""
    ends = kind.ranges
    if ends is None:
        rows = kind.second_moment if kind.inputs is None else kind.inputs
        ends = np.stack([rows.min(axis=0), rows.max(axis=0)], axis=1)
    return np.where(ends[:, 0] == ends[:, 1], ends[:, 0], np.nan)


def _moved(kind: RegressionAgent, L: FloatArray, base: int) -> RegressionAgent:
    """The agent that sees L x, where coordinate `base` is constant."""
    if kind.ranges is not None:
        moved = (
            kind.ranges + (L[:, base] * (np.arange(len(L)) != base))[:, None] * kind.ranges[base]
        )
        return kind.changed(ranges=moved)
    assert kind.inputs is not None
    return kind.changed(inputs=kind.inputs @ L.T)
