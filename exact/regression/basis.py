"""Basis functions: features of a raw input, in which a regression is linear.

Each is a value that can be called: raw inputs, shape (m,) or (m, k), become features, shape (m, d),
in the order of `names`. The first feature is the constant 1 unless `bias` is False.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from exact.regression.batches import finite
from theory.showing import Shown
from theory.validation import FloatArray, as_float_array, as_integer, as_positive, fail


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
