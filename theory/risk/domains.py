"""Compact sets of parameters: boxes and ellipsoids, and what a linear map makes of them.

Both are {centre + Lz}, z in the cube [−1, 1]^d or in the unit ball. Coverings are made of z alone:
units and offsets of parameters are in L and the centre. Maps from z are matrices of shape (k, d),
called images; a cube becomes a zonotope, a ball an ellipsoid.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, product
from math import ceil, comb, prod
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import gammaln

from theory.scientific import optimize
from theory.showing import Value
from theory.validation import FloatArray, as_float_array, fail

# Compact sets of parameters ----------------------------------------------------------------------


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
        solution = optimize.lsq_linear(
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


# Lattice coverings in whitened coordinates, cut to the image of a domain and pulled into it ------


MOST_CANDIDATES = 4_000_000
# Distances are right to a few roundings; cells are made smaller by this share.
ROUNDING = 1e-11


def lattice_density(k: int) -> float:
    """How often A*_k covers a point on average: M(r) of large sets, over the volume bound."""
    radius = np.sqrt(k * (k + 2) / (12 * (k + 1)))
    return float(np.exp(log_ball_volume(k) + k * np.log(radius)) * np.sqrt(k + 1))


def dual_lattice(k: int) -> FloatArray:
    """A basis, shape (k, k) by rows, of A*_k scaled to the covering radius 1.

    A*_k is generated by k of the k + 1 vectors e_i − 1/(k + 1) that point from the centre of a
    regular simplex to its corners; its covering radius is √(k(k + 2)/(12(k + 1))).
    """
    corners = np.eye(k + 1) - 1 / (k + 1)
    frame = np.linalg.svd(np.ones((1, k + 1)))[2][1:]
    radius = np.sqrt(k * (k + 2) / (12 * (k + 1)))
    return np.asarray(corners[:k] @ frame.T / radius)


def deep_hole(k: int) -> FloatArray:
    """Coordinates, in the basis of :func:`dual_lattice`, of a point at distance 1 from the lattice.

    The Voronoi cell of A*_k is the permutohedron of the differences (i − k/2)/(k + 1).
    """
    vertex = (np.arange(k + 1) - k / 2) / (k + 1)
    corners = np.eye(k + 1) - 1 / (k + 1)
    return np.asarray(np.linalg.lstsq(corners[:k].T, vertex, rcond=None)[0])


def middles(count: int) -> FloatArray:
    """The middles of equal parts of [−1, 1], shape (count,)."""
    return np.asarray((2 * np.arange(count) + 1) / count - 1)


def lattice_coverings(
    domain: Domain, image: FloatArray, k: int, distance: float, *, most: int = MOST_CANDIDATES
) -> list[FloatArray]:
    """A*_k on the first k axes of the domain's image, cut to it, with two positions of its origin.

    Every point of the image's shadow on these axes has a lattice point within `distance`. Those
    farther than that from the shadow are not needed. The others are replaced by the nearest point
    of the image, shape (d, d), which is no farther from any point of a convex set: whatever is as
    long as `reach` on the other axes is within √(distance² + reach²). Empty if there are more than
    `most` candidates; else arrays of coordinates z, shape (M, d). On one axis, the fewest points.
    """
    shadow = image[:k]
    extents = domain.extents(shadow)
    if k > 1:
        positions = _positions(k, extents + distance, distance, most)
    elif (count := math.ceil(extents[0] / distance)) <= most:
        positions = [middles(count)[:, None] * extents]
    else:
        positions = []
    found = []
    for targets in positions:
        z = domain.nearest(shadow, targets)
        needed = np.linalg.norm(z @ shadow.T - targets, axis=1) <= distance * (1 + ROUNDING)
        if k < len(image):
            z = domain.nearest(image, np.pad(targets[needed], ((0, 0), (0, len(image) - k))))
        else:
            z = z[needed]
        found.append(z)
    return found


def _positions(k: int, extents: FloatArray, distance: float, most: int) -> list[FloatArray]:
    """Points of A*_k of covering radius `distance` in a box, from two origins; none if too many."""
    basis = dual_lattice(k) * distance
    inverse = np.linalg.inv(basis)
    ends = np.floor(np.abs(inverse.T) @ extents) + 1
    if np.prod(2 * ends + 1) > most:
        return []
    grids = np.meshgrid(*(np.arange(-end, end + 1) for end in ends), indexing="ij")
    lattice = np.stack([grid.ravel() for grid in grids], axis=1) @ basis
    shifted = (lattice, lattice + deep_hole(k) @ basis)
    return [targets[(np.abs(targets) <= extents).all(axis=1)] for targets in shifted]


# Product grids -----------------------------------------------------------------------------------


# Counts beyond this are given up.
_MOST = 64_000_000


def grid_density(k: int) -> float:
    """The same for a grid of cubes, (√k/2)^k times the volume of the unit ball."""
    return float(np.exp(log_ball_volume(k) + k * np.log(np.sqrt(k) / 2)))


def grid_counts(metric: FloatArray, limit: float) -> list[int] | None:
    """Points on each axis of the cube [−1, 1]^d, so few that cells are within √limit of corners.

    A corner δ of the cell has the squared length δᵀ·metric·δ, a convex function, so that the
    farthest points of a cell are corners. Tries to leave the shortest axes whole, gives the others
    equal shares, and then takes points away where that is possible. None beyond 64 million points.
    """
    signs = corners(len(metric))

    def fits(counts: list[int]) -> bool:
        ends = signs / np.array(counts, dtype=float)
        return bool(((ends @ metric) * ends).sum(axis=1).max() <= limit)

    lengths = np.sqrt(np.diag(metric))
    order = [int(axis) for axis in np.argsort(lengths) if lengths[axis] > 0]
    best: list[int] | None = None
    for whole in range(len(order)):
        left = limit - float((lengths[order[:whole]] ** 2).sum())
        if left <= 0:
            break
        cut = order[whole:]
        counts = [1] * len(metric)
        for axis in cut:
            counts[axis] = max(1, ceil(lengths[axis] / np.sqrt(left / len(cut))))
        # Correlated features make the corners longer than their coordinates tell.
        while prod(counts) <= _MOST and not fits(counts):
            for axis in cut:
                counts[axis] += max(1, counts[axis] // 50)
        if prod(counts) <= _MOST:
            counts = _thinned(counts, fits)
            if best is None or prod(counts) < prod(best):
                best = counts
    return best


def _thinned(counts: list[int], fits: Callable[[list[int]], bool]) -> list[int]:
    """Take points away, on one axis or on one for another, while the cells still fit."""
    axes = range(len(counts))
    moves = [{i: -1} for i in axes]
    for fewer, more in ((-1, 1), (-2, 1), (-1, 2)):
        moves += [{i: fewer, j: more} for i in axes for j in axes if i != j]

    def tried() -> Iterator[list[int]]:
        for move in moves:
            changed = [count + move.get(axis, 0) for axis, count in enumerate(counts)]
            if min(changed) >= 1 and prod(changed) < prod(counts):
                yield changed

    while (better := next((one for one in tried() if fits(one)), None)) is not None:
        counts = better
    return counts


def grid_points(counts: list[int]) -> FloatArray:
    """The centres of the cells, shape (Π counts, d)."""
    axes = [middles(count) for count in counts]
    return np.stack([axis.ravel() for axis in np.meshgrid(*axes, indexing="ij")], axis=1)
