"""What agents observe and how they pool, as checked arrays: batches of rows, weights, moments."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_array

from exact.beliefs import as_pooling
from exact.regression.factors import as_symmetric, named
from theory.validation import FloatArray, as_positive, fail

Weights = ArrayLike | csr_array
Batches = ArrayLike | Sequence[ArrayLike]


def pool(matrix: FloatArray | csr_array, values: FloatArray, *, axis: int) -> FloatArray:
    """Σ_j W_ij values_j along the agents' axis."""
    rows = np.moveaxis(values, axis, 0)
    flat = matrix @ rows.reshape(rows.shape[0], -1)
    return np.moveaxis(flat.reshape(-1, *rows.shape[1:]), 0, axis)


def pooling_of(weights: Weights, *, agents: int) -> FloatArray | csr_array:
    """W as a dense or CSR array with non-negative rows that sum to one.

    Raises
    ------
    ValueError
        If it does not have one column per agent, or a row is no distribution.
    """
    matrix = as_pooling(weights)
    if matrix.shape[1] != agents:
        raise fail(
            "weights", f"shape ({agents}, {agents})", f"shape {matrix.shape}", "one row per agent"
        )
    return matrix


def sums(
    designs: Batches, targets: Batches, *, agents: int, dimension: int
) -> tuple[FloatArray, FloatArray]:
    """XᵀX of shape (..., N, d, d) and Xᵀy of shape (..., N, d)."""
    features, labels = as_batches(designs, targets, agents=agents, dimension=dimension)
    if isinstance(features, np.ndarray) and isinstance(labels, np.ndarray):
        turned = features.swapaxes(-1, -2)
        return turned @ features, (turned @ labels[..., None])[..., 0]
    pairs = zip(features, labels, strict=True)
    return np.array([x.T @ x for x in features]), np.array([x.T @ y for x, y in pairs])


def as_batches(
    designs: Batches, targets: Batches, *, agents: int, dimension: int
) -> tuple[FloatArray | list[FloatArray], FloatArray | list[FloatArray]]:
    """Check batches: either two arrays, or two lists with an array for each agent.

    Raises
    ------
    ValueError
        Naming the agent whose data are not finite or do not fit.
    """
    remedy = "give every agent its rows of features and as many labels, none of them if it is empty"
    if not isinstance(designs, np.ndarray):
        features = [np.asarray(x, dtype=np.float64) for x in designs]  # type: ignore[union-attr]
        labels = [np.asarray(y, dtype=np.float64) for y in targets]  # type: ignore[union-attr]
        if len(features) != agents or len(labels) != agents:
            got = f"{len(features)} designs and {len(labels)} sets of targets"
            raise fail("designs", f"one for each of {agents} agents", got, remedy)
        batches: list[tuple[FloatArray, FloatArray]] = []
        for i, (x, y) in enumerate(zip(features, labels, strict=True)):
            rows = x.reshape(0, dimension) if x.size == 0 else x
            if rows.ndim != 2 or rows.shape[1] != dimension:
                got = f"shape {x.shape}"
                raise fail(f"designs of agent {i}", f"shape (rows, {dimension})", got, remedy)
            if y.shape != rows.shape[:1]:
                got = f"shape {y.shape}"
                raise fail(f"targets of agent {i}", f"shape ({len(rows)},)", got, remedy)
            batches.append(
                (
                    finite(f"designs of agent {i}", rows, last=0),
                    finite(f"targets of agent {i}", y, last=0),
                )
            )
        return [x for x, _ in batches], [y for _, y in batches]
    table = finite("designs", designs, last=2)
    answers = finite("targets", targets, last=1)  # type: ignore[arg-type]
    if table.ndim < 3 or table.shape[-3] != agents or table.shape[-1] != dimension:
        expected = f"shape (..., {agents}, rows, {dimension})"
        raise fail("designs", expected, f"shape {table.shape}", remedy)
    if answers.shape != table.shape[:-1]:
        raise fail("targets", f"shape {table.shape[:-1]}", f"shape {answers.shape}", remedy)
    return table, answers


def moments(
    mean: ArrayLike, covariance: ArrayLike, *, agents: int | None
) -> tuple[FloatArray, FloatArray]:
    """Means of shape (..., N, d) and covariances of shape (..., N, d, d), broadcast together."""
    centre = finite("mean", mean, last=1)
    spread = as_symmetric("covariance", finite("covariance", covariance, last=2))
    d = spread.shape[-1]
    if centre.ndim == 0 or centre.shape[-1] != d:
        raise fail(
            "mean", f"{d} coefficients, as the covariance has", f"shape {centre.shape}", "match"
        )
    try:
        shape = np.broadcast_shapes(
            centre.shape[:-1], spread.shape[:-2], () if agents is None else (agents,)
        )
    except ValueError:
        got = f"shapes {centre.shape} and {spread.shape}"
        raise fail(
            "covariance", "as many agents as the mean", got, "give each agent both"
        ) from None
    if not shape:
        raise fail("agents", "a number of agents", "none", "say how many agents share this belief")
    return np.broadcast_to(centre, (*shape, d)), np.broadcast_to(spread, (*shape, d, d))


def per_agent(argument: str, values: ArrayLike, *, agents: int) -> FloatArray:
    """Positive numbers, one for each agent, shape (N,).

    Raises
    ------
    ValueError
        Naming the first agent whose number is not positive.
    """
    array = np.asarray(values, dtype=np.float64)
    if array.shape not in ((), (1,), (agents,)):
        expected = f"one number, or one for each of {agents} agents"
        raise fail(argument, expected, f"shape {array.shape}", "give one per agent")
    if array.ndim == 0:
        as_positive(argument, float(array))
    for agent, value in enumerate(np.atleast_1d(array)):
        as_positive(f"{argument} of agent {agent}", float(value))
    return np.array(np.broadcast_to(array, (agents,)))


def as_rows(argument: str, values: ArrayLike, *, dimension: int) -> FloatArray:
    """Rows of d finite numbers, shape (m, d)."""
    rows = finite(argument, values, last=0)
    if rows.ndim != 2 or rows.shape[1] != dimension:
        expected = f"shape (rows, {dimension})"
        raise fail(
            argument, expected, f"shape {rows.shape}", "one row per point, features in order"
        )
    return rows


def finite(argument: str, values: ArrayLike, *, last: int) -> FloatArray:
    """A fresh array of finite floats; the axis before the `last` ones counts agents.

    Raises
    ------
    ValueError
        If it is ragged, not numeric, or has an entry that is not finite.
    """
    try:
        array = np.array(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise fail(
            argument,
            "a rectangular array of numbers",
            "ragged or non-numeric values",
            "give every row the same number of numbers",
        ) from None
    if not np.isfinite(array).all():
        where = [int(i) for i in np.argwhere(~np.isfinite(array))[0]]
        value = float(array[tuple(where)])
        place = where[: max(0, len(where) - last)] if last else []
        inside = where[len(place) :]
        raise fail(
            argument + named(place),
            "finite numbers",
            f"{value} at {inside}",
            "drop the row, or replace the number",
        )
    return array
