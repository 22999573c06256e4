"""What agents observe and how they pool, as checked arrays: batches of rows, weights, moments."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_array

from exact.beliefs import as_pooling
from exact.regression.factors import as_symmetric, named
from theory.showing import Shown
from theory.validation import FloatArray, as_float_array, as_integer, as_positive, fail

# Basis functions ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class PolynomialBasis(Shown):
    """1, x, x², ... up to `degree`, of one input.

    Examples
    --------
    >>> basis = PolynomialBasis(2)
    >>> basis([2.0, 3.0]).tolist(), basis.names
    ([[1.0, 2.0, 4.0], [1.0, 3.0, 9.0]], ('1', 'x', 'x^2'))
    """

    degree: int
    bias: bool = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "degree", as_integer("degree", self.degree, minimum=1))

    @property
    def names(self) -> tuple[str, ...]:
        """What each feature is."""
        powers = tuple("x" if k == 1 else f"x^{k}" for k in range(1, self.degree + 1))
        return ("1", *powers) if self.bias else powers

    @property
    def dimension(self) -> int:
        """The number d of features."""
        return self.degree + self.bias

    def __call__(self, inputs: ArrayLike) -> FloatArray:
        powers = np.arange(0 if self.bias else 1, self.degree + 1)
        return np.asarray(single(inputs)[:, None] ** powers)


@dataclass(frozen=True, eq=False)
class RadialBasis(Shown):
    """exp(−|x − c|²/(2 width²)) around centres c.

    Parameters
    ----------
    centres
        Shape (c,) for one input, or (c, k) for k of them.
    width
        In units of the inputs, above 0.
    bias
        Whether the first feature is the constant 1.

    Examples
    --------
    >>> RadialBasis([0.0, 1.0], width=1.0)([0.0]).round(4).tolist()
    [[1.0, 1.0, 0.6065]]
    """

    centres: FloatArray
    width: float
    bias: bool = True

    def __post_init__(self) -> None:
        given = np.asarray(self.centres)
        rows = given[:, None] if given.ndim == 1 else given
        centres = as_float_array("centres", rows, ndim=2)
        if centres.size == 0:
            raise fail("centres", "at least one", "none", "give some points")
        object.__setattr__(self, "centres", centres)
        object.__setattr__(self, "width", as_positive("width", self.width))

    @property
    def names(self) -> tuple[str, ...]:
        """What each feature is."""
        near = tuple("near " + ", ".join(f"{c:g}" for c in row) for row in self.centres)
        return ("1", *near) if self.bias else near

    @property
    def dimension(self) -> int:
        """The number d of features."""
        return len(self.centres) + self.bias

    def __call__(self, inputs: ArrayLike) -> FloatArray:
        points = finite("inputs", inputs, last=0)
        points = points[:, None] if points.ndim == 1 else points
        if points.ndim != 2 or points.shape[1] != self.centres.shape[1]:
            expected = f"{self.centres.shape[1]} numbers a point, as centres have"
            raise fail("inputs", expected, f"shape {points.shape}", "give points like the centres")
        gaps = points[:, None, :] - self.centres
        near = np.exp(-(gaps**2).sum(axis=-1) / (2 * self.width**2))
        return with_bias(near) if self.bias else near


@dataclass(frozen=True)
class FourierBasis(Shown):
    """cos(2πkx/period) and sin(2πkx/period) for k = 1, ..., `harmonics`, of one input.

    Examples
    --------
    >>> FourierBasis(1, period=4.0)([0.0, 1.0]).round(12).tolist()
    [[1.0, 1.0, 0.0], [1.0, 0.0, 1.0]]
    """

    harmonics: int
    period: float
    bias: bool = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "harmonics", as_integer("harmonics", self.harmonics, minimum=1))
        object.__setattr__(self, "period", as_positive("period", self.period))

    @property
    def names(self) -> tuple[str, ...]:
        """What each feature is."""
        waves = tuple(
            f"{wave} {k}" for k in range(1, self.harmonics + 1) for wave in ("cos", "sin")
        )
        return ("1", *waves) if self.bias else waves

    @property
    def dimension(self) -> int:
        """The number d of features."""
        return 2 * self.harmonics + self.bias

    def __call__(self, inputs: ArrayLike) -> FloatArray:
        phases = single(inputs)[:, None] * (
            2 * np.pi / self.period * np.arange(1, self.harmonics + 1)
        )
        waves = np.stack([np.cos(phases), np.sin(phases)], axis=-1).reshape(len(phases), -1)
        return with_bias(waves) if self.bias else waves


BasisFunctions = PolynomialBasis | RadialBasis | FourierBasis


def single(inputs: ArrayLike) -> FloatArray:
    """One input a point, shape (m,)."""
    points = finite("inputs", inputs, last=0)
    if points.ndim == 2 and points.shape[1] == 1:
        points = points[:, 0]
    if points.ndim != 1:
        raise fail("inputs", "one number a point", f"shape {points.shape}", "pass a single column")
    return points


def with_bias(features: FloatArray) -> FloatArray:
    """A column of ones before the features."""
    return np.hstack([np.ones((len(features), 1)), features])


# What agents observe and how they pool, as checked arrays ----------------------------------------


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
