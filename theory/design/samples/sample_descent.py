"""Local descent on W for few samples, on a smooth stand-in for the probability of error."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import LinearConstraint, minimize

from theory.design.samples.smooth_errors import LEAST_TILT, MOST_TILT, SmoothErrors
from theory.design.samples.weight_variables import WeightVariables
from theory.design.time_budget import is_spent
from theory.validation import FloatArray

# Influence below the floor costs its squared logarithm times this: a few percent below it costs as
# much as a few percent of the probability of error.
_FLOOR_PRICE = 50.0
# Aim this much above the floor, for what the penalty gives away.
_FLOOR_MARGIN = 1.02
# Variables beyond which the dense quadratic programs of SLSQP take minutes.
MOST_VARIABLES = 400


@dataclass(frozen=True, eq=False)
class Descended:
    """Where a descent ended: the W to set, shape (N, N), and the stand-in's value there."""

    weights: FloatArray
    value: float
    steps: int


def _until_spent(point: Any) -> None:
    """Ends a descent where it is once the time is up."""
    if is_spent():
        raise StopIteration


def descend(
    errors: SmoothErrors,
    variables: WeightVariables,
    weights: FloatArray,
    *,
    floor: float,
    iterations: int,
) -> Descended:
    """Go down from `weights` over W and tilts together.

    Parameters
    ----------
    errors
        The stand-in.
    variables
        How W is written.
    weights
        Shape (N, N): a W that meets the limits.
    floor
        v_min. Where the descent ends below it, it goes back towards the start.
    iterations
        The most steps.
    """
    start = variables.of(weights)
    count = start.size
    logs = errors.best_tilts(variables.expected(start))
    shape = logs.shape

    def objective(point: FloatArray) -> tuple[float, FloatArray]:
        x, tilts = point[:count], point[count:].reshape(shape)
        expected = variables.expected(x)
        penalty, extra = _penalty(errors, expected, floor * _FLOOR_MARGIN)
        found = errors.derivatives(expected, tilts, extra)
        gradient = np.append(variables.pull(x, found.by_weights), found.by_tilts.ravel())
        return found.value + penalty, gradient

    callback: Any = _until_spent
    low, high = variables.bounds
    ends = (np.log(LEAST_TILT), np.log(MOST_TILT))
    bounds = [(low, high)] * count + [ends] * logs.size
    begin = np.append(np.clip(start, low, high), logs.ravel())
    if variables.linear is None:
        found = minimize(
            objective,
            begin,
            jac=True,
            method="L-BFGS-B",
            bounds=bounds,
            options={"maxiter": iterations, "maxcor": 20},
            callback=callback,
        )
    else:
        A, a, B, b = variables.linear
        wide = np.zeros((len(A), logs.size))
        limits = [LinearConstraint(np.hstack([A, wide]), -np.inf, a)]
        if len(B):
            limits.append(LinearConstraint(np.hstack([B, np.zeros((len(B), logs.size))]), b, b))
        found = minimize(
            objective,
            begin,
            jac=True,
            method="SLSQP",
            bounds=bounds,
            constraints=limits,
            options={"maxiter": iterations, "ftol": 1e-7},
            callback=callback,
        )
    x = _allowed(variables, start, np.asarray(found.x[:count]), floor)
    final = variables.weights(x)
    expected = variables.expected(x)
    return Descended(final, errors.value(expected, errors.best_tilts(expected)), int(found.nit))


def stationary_of(weights: FloatArray) -> FloatArray:
    """V of a dense W, by one linear solve; for comparisons."""
    size = len(weights)
    system = np.vstack([weights.T - np.eye(size), np.ones(size)])
    right = np.zeros(size + 1)
    right[-1] = 1.0
    return np.asarray(np.linalg.lstsq(system, right, rcond=None)[0])


def _penalty(
    errors: SmoothErrors, expected: FloatArray, floor: float
) -> tuple[float, FloatArray | None]:
    """What influences below the floor cost, and its derivative by the last power of W."""
    if floor <= 0:
        return 0.0, None
    last = errors.last_power(expected)
    v = last.mean(axis=0)
    short = np.maximum(np.log(floor / np.maximum(v, 1e-300)), 0.0)
    if not short.any():
        return 0.0, None
    by_v = -2 * _FLOOR_PRICE * short / np.maximum(v, 1e-300)
    return _FLOOR_PRICE * float(short @ short), np.tile(by_v / len(v), (len(v), 1))


def _allowed(
    variables: WeightVariables, start: FloatArray, end: FloatArray, floor: float
) -> FloatArray:
    """The point nearest `end` on the way back to `start` that meets all limits."""
    linear = variables.linear
    if linear is not None and len(linear[2]):
        # Solvers leave 1e-9 or so of an equation: the nearest point that meets it.
        end = end - np.linalg.pinv(linear[2]) @ (linear[2] @ end - linear[3])
    for share in (1.0, 0.97, 0.9, 0.75, 0.5, 0.25, 0.1):
        x = start + share * (end - start)
        if linear is not None:
            A, a, B, b = linear
            # The start meets them to rounding.
            if (A @ x > a).any() or (x < 0).any() or (np.abs(B @ x - b) > 1e-13).any():
                continue
        if stationary_of(variables.expected(x)).min() >= floor * (1 - 1e-9):
            return np.asarray(x)
    return start
