"""Parts of scipy that are imported when they are first used, and what small problems need of it.

scipy takes longer to import than a small problem takes to analyse. `brentq`, `logsumexp` and
`xlogy` do here what scipy's functions of these names do, operation by operation, digit by digit.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray


class _Later(ModuleType):
    """A module that is imported when one of its names is first asked for."""

    def __getattr__(self, name: str) -> Any:
        return getattr(import_module(self.__name__), name)


if TYPE_CHECKING:
    from scipy import optimize, sparse
    from scipy.sparse import csgraph
    from scipy.sparse import linalg as sparse_linalg
else:
    optimize = _Later("scipy.optimize")
    sparse = _Later("scipy.sparse")
    csgraph = _Later("scipy.sparse.csgraph")
    sparse_linalg = _Later("scipy.sparse.linalg")

__all__ = ["brentq", "csgraph", "logsumexp", "optimize", "sparse", "sparse_linalg", "xlogy"]

# Up to so many entries a loop in Python takes no longer than importing scipy.
_FEW = 4096
_MOST_STEPS = 100


def logsumexp(values: ArrayLike, axis: int | None = None) -> Any:
    """Log Σ e^x over an axis, or over all entries; a number, or an array without that axis.

    Examples
    --------
    >>> round(float(logsumexp([0.0, 0.0])), 6)
    0.693147
    """
    x = np.atleast_1d(np.asarray(values, dtype=np.float64))
    over = tuple(range(x.ndim)) if axis is None else axis
    if not x.size:
        return np.full(x.sum(axis=over).shape, -np.inf)[()]
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        plain = np.log(np.exp(x).sum(axis=over, keepdims=True))
    with np.errstate(divide="ignore", invalid="ignore"):
        largest = x.max(axis=over, keepdims=True)
        at_largest = x == largest
        times = at_largest.astype(np.float64).sum(axis=over, keepdims=True)
        rest = np.exp(np.where(at_largest, -np.inf, x) - largest).sum(axis=over, keepdims=True)
        rest = np.where(rest == 0, rest, rest / times)
        total = np.log1p(rest) + np.log(times) + largest
    return np.where(np.isfinite(total), total, plain).squeeze(axis=over)[()]


def xlogy(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """X log x of each entry, 0 at 0; to the last bit alike on every processor.

    Examples
    --------
    >>> xlogy(np.array([0.0, 1.0])).tolist()
    [0.0, 0.0]
    """
    if x.size > _FEW:
        from scipy import special

        return np.asarray(special.xlogy(x, x))
    flat = [0.0 if value == 0 else value * math.log(value) for value in x.ravel().tolist()]
    return np.array(flat).reshape(x.shape)


def brentq(
    function: Callable[[float], float], low: float, high: float, *, xtol: float, rtol: float
) -> float:
    """A root between `low` and `high` by Brent's method, right to `xtol` + `rtol` × |root|.

    The bracket is [current, opposite]: interpolation by a line or an inverse parabola through the
    last points, halving where it is not trusted.

    Raises
    ------
    ValueError
        If the function has one sign at both ends.
    RuntimeError
        If a hundred steps do not suffice.

    Examples
    --------
    >>> round(brentq(lambda x: x * x - 2, 0.0, 2.0, xtol=1e-12, rtol=1e-12), 9)
    1.414213562
    """
    before, now, opposite = low, high, 0.0
    f_before, f_now, f_opposite = function(before), function(now), 0.0
    step_before = step = 0.0
    if f_before == 0:
        return before
    if f_now == 0:
        return now
    if (f_before < 0) == (f_now < 0):
        raise ValueError("f(a) and f(b) must have different signs")
    for _ in range(_MOST_STEPS):
        if f_before != 0 and f_now != 0 and (f_before < 0) != (f_now < 0):
            opposite, f_opposite = before, f_before
            step_before = step = now - before
        if abs(f_opposite) < abs(f_now):
            before, now, opposite = now, opposite, now
            f_before, f_now, f_opposite = f_now, f_opposite, f_now
        least = (xtol + rtol * abs(now)) / 2
        half = (opposite - now) / 2
        if f_now == 0 or abs(half) < least:
            return now
        if abs(step_before) > least and abs(f_now) < abs(f_before):
            if before == opposite:
                tried = -f_now * (now - before) / (f_now - f_before)
            else:
                slope = (f_before - f_now) / (before - now)
                across = (f_opposite - f_now) / (opposite - now)
                tried = -f_now * (f_opposite * across - f_before * slope)
                tried /= across * slope * (f_opposite - f_before)
            if 2 * abs(tried) < min(abs(step_before), 3 * abs(half) - least):
                step_before, step = step, tried
            else:
                step_before = step = half
        else:
            step_before = step = half
        before, f_before = now, f_now
        now += step if abs(step) > least else math.copysign(least, half)
        f_now = function(now)
    raise RuntimeError(f"no root within {_MOST_STEPS} steps, at {now}")
