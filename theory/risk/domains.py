"""Compact sets of parameters: boxes and ellipsoids, as a linear map R sees them.

Coverings are made in whitened coordinates u = Rθ, in which the divergence of two parameters is half
the squared distance over the noise. A box becomes a zonotope, an ellipsoid an ellipsoid, both
perhaps of fewer dimensions: directions that no agent sees are gone.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations, product
from math import comb

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import lsq_linear
from scipy.special import gammaln

from theory.validation import FloatArray, as_float_array, fail, read_only
from theory.values import Value

# Signs of the corners of a box, and minors of its generators, are enumerated.
_MOST_AXES = 12
_MOST_AXES_OF_FACES = 6


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
        """The midpoint, shape (d,)."""
        return (self.lower + self.upper) / 2

    @property
    def half_sides(self) -> FloatArray:
        """Shape (d,)."""
        return (self.upper - self.lower) / 2

    def contains(self, points: ArrayLike, *, slack: float = 0.0) -> np.ndarray:
        """Which of the points, shape (M, d), lie inside, to within `slack` half-sides."""
        allowed = self.half_sides * (1 + slack)
        return np.asarray((np.abs(np.asarray(points) - self.centre) <= allowed).all(axis=1))

    def reach(self, root: FloatArray) -> tuple[float, FloatArray]:
        """The largest ‖R(θ − centre)‖ over the box, and a θ that attains it: a corner."""
        signs = np.array(list(product((1.0, -1.0), repeat=self.dimension - 1)))
        signs = np.hstack([np.ones((len(signs), 1)), signs])
        norms = np.linalg.norm((signs * self.half_sides) @ root.T, axis=1)
        best = int(norms.argmax())
        return float(norms[best]), self.centre + signs[best] * self.half_sides

    def extents(self, root: FloatArray) -> FloatArray:
        """Half the width of the image along each axis, shape (k,)."""
        return np.asarray(np.abs(root) @ self.half_sides)

    def log_ball_ratios(self, root: FloatArray) -> FloatArray:
        """Logs of vol_j(image on its j longest axes)/vol_j(unit ball), for j = 1, …, k.

        The volume of a zonotope is 2^j times the sum of the minors of its generators.
        """
        generators = root * self.half_sides
        axes = np.linalg.svd(generators)[0]
        values = []
        for j in range(1, len(root) + 1):
            shadow = axes[:, :j].T @ generators
            columns = np.array(list(combinations(range(self.dimension), j)))
            assert len(columns) == comb(self.dimension, j)
            minors = np.abs(np.linalg.det(shadow[:, columns].swapaxes(0, 1))).sum()
            with np.errstate(divide="ignore"):
                values.append(j * np.log(2.0) + np.log(minors) - log_ball_volume(j))
        return np.array(values)

    def nearest(self, root: FloatArray, targets: FloatArray) -> FloatArray:
        """The θ in the box with Rθ nearest to each target; targets (M, k), result (M, d).

        It is the free minimum on some face of the box on which R is one to one (else one may move
        on to the face's edge). Of at most 3^d such minima those inside the box are compared; above
        six axes a solver goes from face to face.
        """
        if self.dimension > _MOST_AXES_OF_FACES:
            return np.array([self._solved(root, target) for target in targets]).reshape(
                len(targets), self.dimension
            )
        found = np.empty((len(targets), self.dimension))
        least = np.full(len(targets), np.inf)
        for free in product((True, False), repeat=self.dimension):
            inner = np.array(free)
            part = root[:, inner]
            if inner.any() and np.linalg.matrix_rank(part) < inner.sum():
                continue
            inverse = np.linalg.pinv(part)
            for signs in product((1.0, -1.0), repeat=int((~inner).sum())):
                theta = np.tile(self.centre, (len(targets), 1))
                theta[:, ~inner] += np.array(signs) * self.half_sides[~inner]
                theta[:, inner] = (targets - theta[:, ~inner] @ root[:, ~inner].T) @ inverse.T
                gaps = np.linalg.norm(theta @ root.T - targets, axis=1)
                better = self.contains(theta, slack=1e-12) & (gaps < least)
                found[better], least[better] = theta[better], gaps[better]
        return found

    def _solved(self, root: FloatArray, target: FloatArray) -> FloatArray:
        theta = self.centre.copy()
        # An axis of length zero is not free; the solver wants lower < upper.
        free = self.half_sides > 0
        if free.any():
            theta[free] = lsq_linear(
                root[:, free],
                target - root[:, ~free] @ self.centre[~free],
                bounds=(self.lower[free], self.upper[free]),
                method="bvls",
                tol=1e-14,
                max_iter=50 * self.dimension,
            ).x
        return theta


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
        if np.linalg.matrix_rank(axes) < centre.size:
            raise fail("axes", "linearly independent half-axes", "a singular matrix", "use a Box")
        object.__setattr__(self, "centre", centre)
        object.__setattr__(self, "axes", axes)

    @property
    def dimension(self) -> int:
        """The number d of coordinates."""
        return int(self.centre.size)

    def contains(self, points: ArrayLike, *, slack: float = 0.0) -> np.ndarray:
        """Which of the points, shape (M, d), lie inside, to within `slack` half-axes."""
        z = np.linalg.solve(self.axes, (np.asarray(points) - self.centre).T)
        return np.asarray(np.linalg.norm(z, axis=0) <= 1 + slack)

    def reach(self, root: FloatArray) -> tuple[float, FloatArray]:
        """The largest ‖R(θ − centre)‖, and a θ that attains it: the end of the longest axis."""
        _, lengths, right = np.linalg.svd(root @ self.axes)
        return float(lengths[0]), self.centre + self.axes @ right[0]

    def extents(self, root: FloatArray) -> FloatArray:
        """Half the width of the image along each axis, shape (k,)."""
        return np.asarray(np.linalg.norm(root @ self.axes, axis=1))

    def log_ball_ratios(self, root: FloatArray) -> FloatArray:
        """Logs of vol_j(image on its j longest axes)/vol_j(unit ball), for j = 1, …, k."""
        lengths = np.linalg.svd(root @ self.axes, compute_uv=False)
        return np.asarray(np.cumsum(np.log(lengths)))

    def nearest(self, root: FloatArray, targets: FloatArray) -> FloatArray:
        """The θ in the ellipsoid with Rθ nearest to each target; targets (M, k), result (M, d).

        Where the target is outside, the nearest point has coordinates s²w/(s² + λ) along the axes
        s of the image, with the λ > 0 that puts it on the surface, found by bisection.
        """
        left, lengths, right = np.linalg.svd(root @ self.axes, full_matrices=False)
        w = (targets - root @ self.centre) @ left
        squares = lengths**2

        def scaled(multiplier: FloatArray) -> FloatArray:
            return np.asarray(lengths * w / (squares + multiplier[:, None]))

        low = np.zeros(len(w))
        high = lengths.max(initial=0.0) * np.linalg.norm(w, axis=1)
        inside = np.linalg.norm(scaled(low), axis=1) <= 1
        for _ in range(100):
            middle = (low + high) / 2
            outside = np.linalg.norm(scaled(middle), axis=1) > 1
            low, high = np.where(outside, middle, low), np.where(outside, high, middle)
        z = scaled(np.where(inside, 0.0, high))
        return np.asarray(self.centre + (z @ right) @ self.axes.T)


Domain = Box | Ellipsoid


def log_ball_volume(k: int) -> float:
    """The log of the volume of the unit ball in k dimensions."""
    return float(k / 2 * np.log(np.pi) - gammaln(k / 2 + 1))


def root_of(second_moment: FloatArray) -> FloatArray:
    """R of shape (k, d) with RᵀR = S, k the rank: eigenvalues below 1e-12 of the largest are 0."""
    values, vectors = np.linalg.eigh(second_moment)
    seen = values > 1e-12 * max(float(values.max(initial=0.0)), 0.0)
    root = np.sqrt(values[seen])[:, None] * vectors[:, seen].T
    return np.asarray(read_only(np.ascontiguousarray(root[::-1])))
