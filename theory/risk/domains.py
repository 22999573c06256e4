"""Compact sets of parameters: boxes and ellipsoids, and what a linear map makes of them.

Both are {centre + Lz}, z in the cube [−1, 1]^d or in the unit ball. Coverings are made of z alone:
units and offsets of parameters are in L and the centre. Maps from z are matrices of shape (k, d),
called images; a cube becomes a zonotope, a ball an ellipsoid.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, product
from math import comb
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import lsq_linear
from scipy.special import gammaln

from theory.validation import FloatArray, as_float_array, fail
from theory.values import Value

# Signs of the corners of a box, and minors of its generators, are enumerated.
_MOST_AXES = 12
_MOST_AXES_OF_FACES = 6
_TINY = np.finfo(np.float64).tiny


@dataclass(frozen=True, eq=False)
class Box(Value):
    """{θ : lower ≤ θ ≤ upper}, both of shape (d,), d at most 12; equal ends fix a coordinate.

    Raises
    ------
    ValueError
        If the shapes differ, an upper end is below its lower one, or there are more axes.
    """

    lower: FloatArray
    upper: FloatArray

    if TYPE_CHECKING:

        def __init__(self, lower: ArrayLike, upper: ArrayLike) -> None: ...

    def __post_init__(self) -> None:
        lower = as_float_array("lower", self.lower, ndim=1)
        upper = as_float_array("upper", self.upper, ndim=1)
        if lower.shape != upper.shape or not 0 < lower.size <= _MOST_AXES:
            raise fail(
                "upper",
                f"as many upper as lower ends, 1 to {_MOST_AXES}",
                f"{upper.size} and {lower.size}",
                "give one pair of ends for each coordinate",
            )
        if (upper < lower).any():
            axis = int(np.argmax(upper < lower))
            raise fail(
                f"upper[{axis}]", f"at least {lower[axis]:g}", f"{upper[axis]:g}", "swap the ends"
            )
        object.__setattr__(self, "lower", lower)
        object.__setattr__(self, "upper", upper)

    @property
    def dimension(self) -> int:
        """The number d of coordinates."""
        return int(self.lower.size)

    @property
    def centre(self) -> FloatArray:
        """The midpoint, shape (d,), to rounding."""
        return self.lower / 2 + self.upper / 2

    @property
    def half_sides(self) -> FloatArray:
        """Shape (d,)."""
        return self.upper / 2 - self.lower / 2

    @property
    def axes(self) -> FloatArray:
        """L, shape (d, d): the half-sides on the diagonal."""
        return np.diag(self.half_sides)

    @property
    def interval(self) -> tuple[Fraction, Fraction]:
        """Both ends of a box of one dimension, exact."""
        return Fraction(self.lower.item()), Fraction(self.upper.item())

    def at(self, z: FloatArray) -> FloatArray:
        """Points centre + Lz for rows z of the cube, shape (M, d): rounded, and inside."""
        return np.clip(self.centre + z * self.half_sides, self.lower, self.upper)

    def contains(self, points: ArrayLike, *, slack: float = 0.0) -> np.ndarray:
        """Which of the points, shape (M, d), lie inside, to within `slack` half-sides.

        Slack includes the rounding of a corner, a last place of the ends.
        """
        places = np.spacing(np.maximum(np.abs(self.lower), np.abs(self.upper)))
        more, p = self.half_sides * slack + (slack > 0) * places, np.asarray(points)
        return np.asarray(((self.lower - more <= p) & (p <= self.upper + more)).all(axis=1))

    def reach(self, image: FloatArray) -> tuple[float, FloatArray]:
        """The largest ‖image z‖ over the cube, and a z that attains it: a corner."""
        signs = corners(self.dimension)
        norms = np.linalg.norm(signs @ image.T, axis=1)
        best = int(norms.argmax())
        return float(norms[best]), signs[best]

    def extents(self, image: FloatArray) -> FloatArray:
        """Half the width of the image along each axis, shape (k,)."""
        return np.asarray(np.abs(image).sum(axis=1))

    def log_ball_ratios(self, image: FloatArray) -> FloatArray:
        """Logs of vol_j(image on its j longest axes)/vol_j(unit ball), for j = 1, …, k.

        The volume of a zonotope is 2^j times the sum of the minors of its generators.
        """
        axes = np.linalg.svd(image)[0]
        values = []
        for j in range(1, len(image) + 1):
            shadow = axes[:, :j].T @ image
            columns = np.array(list(combinations(range(self.dimension), j)))
            assert len(columns) == comb(self.dimension, j)
            with np.errstate(divide="ignore"):
                minors = np.linalg.slogdet(shadow[:, columns].swapaxes(0, 1))[1]
            values.append(j * np.log(2.0) + np.logaddexp.reduce(minors) - log_ball_volume(j))
        return np.array(values)

    def nearest(self, image: FloatArray, targets: FloatArray) -> FloatArray:
        """The z in the cube with image z nearest to each target; targets (M, k), result (M, d).

        It is the free minimum on some face of the cube on which the image is one to one (else one
        may move on to the face's edge). Of at most 3^d such minima those inside the cube are
        compared; above six axes a solver goes from face to face.
        """
        if self.dimension > _MOST_AXES_OF_FACES:
            return np.array([self._solved(image, target) for target in targets]).reshape(
                len(targets), self.dimension
            )
        found = np.empty((len(targets), self.dimension))
        least = np.full(len(targets), np.inf)
        for free in product((True, False), repeat=self.dimension):
            inner = np.array(free)
            part = image[:, inner]
            if inner.any() and np.linalg.matrix_rank(part) < inner.sum():
                continue
            inverse = np.linalg.pinv(part).T
            for signs in product((1.0, -1.0), repeat=int((~inner).sum())):
                z = np.zeros((len(targets), self.dimension))
                z[:, ~inner] = signs
                for _ in range(2):  # the second step takes the rounding of the first away
                    z[:, inner] += (targets - z @ image.T) @ inverse
                gaps = np.linalg.norm(z @ image.T - targets, axis=1)
                better = (np.abs(z) <= 1 + 1e-12).all(axis=1) & (gaps < least)
                found[better], least[better] = z[better], gaps[better]
        return found

    def _solved(self, image: FloatArray, target: FloatArray) -> FloatArray:
        solution = lsq_linear(
            image,
            target,
            bounds=(-1.0, 1.0),
            method="bvls",
            tol=1e-14,
            max_iter=50 * self.dimension,
        )
        return np.asarray(solution.x)


@dataclass(frozen=True, eq=False)
class Ellipsoid(Value):
    """{centre + Lz : ‖z‖ ≤ 1}, with L = `axes` of shape (d, d), not singular.

    With L the Cholesky factor of a prior's covariance times a radius it is the set on which the
    prior density is above a level.

    Raises
    ------
    ValueError
        If the shapes disagree, or L is singular.
    """

    centre: FloatArray
    axes: FloatArray

    if TYPE_CHECKING:

        def __init__(self, centre: ArrayLike, axes: ArrayLike) -> None: ...

    def __post_init__(self) -> None:
        centre = as_float_array("centre", self.centre, ndim=1)
        axes = as_float_array("axes", self.axes, ndim=2)
        if centre.size == 0 or axes.shape != (centre.size, centre.size):
            raise fail(
                "axes",
                f"shape {(centre.size, centre.size)}",
                f"shape {axes.shape}",
                "give one column for each half-axis",
            )
        # Of rows and columns of length one: neither units nor long half-axes hide another.
        rows = axes / np.maximum(np.linalg.norm(axes, axis=1, keepdims=True), _TINY)
        rows = rows / np.maximum(np.linalg.norm(rows, axis=0), _TINY)
        if np.linalg.matrix_rank(rows) < centre.size:
            raise fail("axes", "linearly independent half-axes", "a singular matrix", "use a Box")
        object.__setattr__(self, "centre", centre)
        object.__setattr__(self, "axes", axes)

    @property
    def dimension(self) -> int:
        """The number d of coordinates."""
        return int(self.centre.size)

    @property
    def interval(self) -> tuple[Fraction, Fraction]:
        """Both ends of an ellipsoid of one dimension, exact."""
        centre, half = Fraction(self.centre.item()), abs(Fraction(self.axes.item()))
        return centre - half, centre + half

    def at(self, z: FloatArray) -> FloatArray:
        """Points centre + Lz for rows z of the ball, shape (M, d): inside to rounding."""
        return np.asarray(self.centre + z @ self.axes.T)

    def contains(self, points: ArrayLike, *, slack: float = 0.0) -> np.ndarray:
        """Which of the points, shape (M, d), lie inside, to within `slack` half-axes and rounding.

        Rounding is that of doubles as large as the ellipsoid's own.
        """
        size = np.linalg.norm(self.axes, axis=1)
        inverse = np.linalg.inv(self.axes / size[:, None])
        z = (np.asarray(points) - self.centre) / size @ inverse.T
        doubt = np.abs(inverse) @ (np.spacing(np.abs(self.centre) + size) / size)
        return np.asarray(np.linalg.norm(z, axis=1) <= 1 + slack + np.linalg.norm(doubt))

    def reach(self, image: FloatArray) -> tuple[float, FloatArray]:
        """The largest ‖image z‖ over the ball, and a z that attains it: the longest axis."""
        _, lengths, right = np.linalg.svd(image)
        return float(lengths.max(initial=0.0)), np.asarray(right[0])

    def extents(self, image: FloatArray) -> FloatArray:
        """Half the width of the image along each axis, shape (k,)."""
        return np.asarray(np.linalg.norm(image, axis=1))

    def log_ball_ratios(self, image: FloatArray) -> FloatArray:
        """Logs of vol_j(image on its j longest axes)/vol_j(unit ball), for j = 1, …, k."""
        with np.errstate(divide="ignore"):
            return np.asarray(np.cumsum(np.log(np.linalg.svd(image, compute_uv=False))))

    def nearest(self, image: FloatArray, targets: FloatArray) -> FloatArray:
        """The z in the ball with image z nearest to each target; targets (M, k), result (M, d).

        Where the target is outside, the nearest point has coordinates s²w/(s² + λ) along the axes
        s of the image, with the λ > 0 that puts it on the surface, found by bisection.
        """
        left, lengths, right = np.linalg.svd(image, full_matrices=False)
        w = targets @ left
        squares = lengths**2

        def scaled(multiplier: FloatArray) -> FloatArray:
            return np.asarray(lengths * w / np.maximum(squares + multiplier[:, None], _TINY))

        low = np.zeros(len(w))
        high = lengths.max(initial=0.0) * np.linalg.norm(w, axis=1)
        inside = np.linalg.norm(scaled(low), axis=1) <= 1
        for _ in range(100):
            middle = (low + high) / 2
            outside = np.linalg.norm(scaled(middle), axis=1) > 1
            low, high = np.where(outside, middle, low), np.where(outside, high, middle)
        return np.asarray(scaled(np.where(inside, 0.0, high)) @ right)


Domain = Box | Ellipsoid


def log_ball_volume(k: int) -> float:
    """The log of the volume of the unit ball in k dimensions."""
    return float(k / 2 * np.log(np.pi) - gammaln(k / 2 + 1))


def corners(dimension: int) -> FloatArray:
    """Half of the corners of the cube [−1, 1]^d, one of each opposite pair, shape (2^(d−1), d)."""
    return np.array([(1.0, *rest) for rest in product((1.0, -1.0), repeat=dimension - 1)])
