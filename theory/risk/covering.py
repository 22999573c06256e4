"""Coverings of a set of regression parameters: how many hypotheses stand for a continuum.

For y = xᵀθ + N(0, α²) the divergence of two parameters, averaged over inputs and agents, is

    (θ − ψ)ᵀ S (θ − ψ) / 2α²,   S = Σ_j w_j E x_j x_jᵀ,

symmetric, so that the direction of P1's covering does not matter. An r-covering of Φ is a set of
points such that every θ in Φ has one within divergence r: in whitened coordinates u = S^½θ, within
the distance ϱ = α√(2r). M(r) is the size of the smallest one.

* lower bound: balls of radius ϱ must fill the volume of Φ's image, or of its shadow on its longest
  axes;
* upper bounds: coverings that are built. A grid aligned with a box, whose cells have their corners
  at distance ϱ or less; or the lattice A*_k in whitened coordinates, which is the thinnest known
  for k ≤ 5, cut to what Φ needs and pulled into Φ.

In one dimension M(r) is exact (docs: mathematics/risk).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import ceil, isqrt, prod

import numpy as np
from numpy.typing import ArrayLike

from theory.risk.domains import Box, Domain, root_of
from theory.risk.grids import grid_counts, grid_points
from theory.risk.lattices import ROUNDING, lattice_coverings
from theory.showing import Shown
from theory.typed import typed
from theory.validation import FloatArray, as_float_array, as_positive, fail, read_only

MOST_POINTS = 1_000_000


@dataclass(frozen=True, eq=False)
class Covering(Shown):
    """An r-covering: every parameter of the domain is within divergence `radius` of a point.

    Attributes
    ----------
    points
        Shape (M, d), all inside the domain (to rounding).
    radius
        r in nats.
    lower_bound
        No r-covering has fewer points: lower_bound ≤ M(r) ≤ len(points).
    method
        "point", "interval" (both exact), "grid" or "lattice".
    second_moment, noise_std
        S, shape (d, d), and α: they define the divergence.
    """

    points: FloatArray
    radius: float
    lower_bound: int
    method: str
    second_moment: FloatArray
    noise_std: float

    @property
    def size(self) -> int:
        """The number of points, an upper bound on M(r)."""
        return len(self.points)

    def divergences(self, parameters: ArrayLike) -> FloatArray:
        """From each parameter to its nearest point, shape (P,), for parameters of shape (P, d)."""
        root = root_of(self.second_moment)
        seen = as_float_array("parameters", parameters, ndim=2) @ root.T
        points = self.points @ root.T
        nearest = np.array([((points - one) ** 2).sum(axis=1).min(initial=np.inf) for one in seen])
        return np.asarray(nearest / (2 * self.noise_std**2))


def interval_covering_number(
    width: Fraction | float,
    second_moment: Fraction | float,
    noise_variance: Fraction | float,
    radius: Fraction | float,
) -> int:
    """M(r) of an interval of parameters, exact: the smallest m with m² ≥ S·width²/(8 α² r).

    Floats are read as the exact binary values they are.

    Raises
    ------
    ValueError
        If `width` or `second_moment` is negative, or one of the others not positive.

    Examples
    --------
    >>> interval_covering_number(2, 1, 1, Fraction(1, 8))
    2
    """
    numbers = (width, second_moment, noise_variance, radius)
    w, s, variance, r = (Fraction(x) for x in numbers)
    if w < 0 or s < 0 or variance <= 0 or r <= 0:
        raise fail(
            "width, second_moment, noise_variance, radius",
            "two numbers of at least 0 and two above 0",
            [float(x) for x in numbers],
            "correct the signs",
        )
    square = ceil(s * w * w / (8 * variance * r))
    return max(1, isqrt(square - 1) + 1 if square > 0 else 1)


@typed
def covering_lower_bound(
    domain: Domain, second_moment: ArrayLike, *, noise_std: float, radius: float
) -> int:
    """A number of points that every r-covering needs, in floating point, rounded down.

    The largest of vol_j(shadow of Φ)/vol_j(ball) over the shadows on the j longest axes, and of the
    diameter over 2ϱ.
    """
    S, distance = _metric(domain, second_moment, noise_std, radius)
    root = root_of(S)
    if len(root) == 0:
        return 1
    logs = domain.log_ball_ratios(root) - np.arange(1, len(root) + 1) * np.log(distance)
    reach, _ = domain.reach(root)
    largest = max(float(np.exp(logs.max())), reach / distance)
    return max(1, ceil(largest * (1 - ROUNDING)))


@typed
def cover(
    domain: Domain,
    second_moment: ArrayLike,
    *,
    noise_std: float,
    radius: float,
    method: str | None = None,
) -> Covering:
    """Build an r-covering of a box or an ellipsoid.

    Parameters
    ----------
    domain
        Φ, in d dimensions.
    second_moment
        S, shape (d, d), symmetric and positive semi-definite. Directions it does not see need one
        value only.
    noise_std, radius
        α > 0 and r > 0.
    method
        "grid" (boxes only: a product of points on each axis, which keeps Θ* non-empty where all
        agents' second moments are diagonal) or "lattice"; the smaller of the two if left out.

    Raises
    ------
    ValueError
        If S is not a second moment of that dimension, a grid of an ellipsoid is asked for, or more
        than a million points would be needed.

    Examples
    --------
    >>> square = Box([-1, -1], [1, 1])
    >>> covering = cover(square, np.diag([1, 0.25]), noise_std=1.0, radius=0.05)
    >>> covering.lower_bound, covering.size, covering.method
    (7, 12, 'grid')
    """
    S, distance = _metric(domain, second_moment, noise_std, radius)
    if method not in (None, "grid", "lattice") or (
        method == "grid" and not isinstance(domain, Box)
    ):
        raise fail(
            "method",
            "'grid' (for a Box) or 'lattice'",
            repr(method),
            "leave it out for the smaller",
        )
    root = root_of(S)
    bound = covering_lower_bound(domain, S, noise_std=noise_std, radius=radius)
    if bound > MOST_POINTS:
        raise _too_many(bound)
    aligned = method == "grid"

    def built(points: FloatArray, how: str) -> Covering:
        return Covering(read_only(points), float(radius), bound, how, S, float(noise_std))

    if len(root) == 0:
        return built(domain.centre[None].copy(), "point")
    reach, end = domain.reach(root)
    if reach <= distance * (1 - ROUNDING):
        return built(domain.centre[None].copy(), "point")
    if len(root) == 1 and not aligned:
        count = max(1, ceil(reach / distance * (1 - ROUNDING)))
        steps = (2 * np.arange(count) + 1) / count - 1
        return built(domain.centre + steps[:, None] * (end - domain.centre), "interval")
    found = []
    if isinstance(domain, Box) and method != "lattice":
        counts = grid_counts(domain.half_sides, S, distance)
        if counts is not None and prod(counts) <= MOST_POINTS:
            found.append(built(grid_points(domain, counts), "grid"))
    if not aligned:
        found += [built(points, "lattice") for points in lattice_coverings(domain, root, distance)]
    if not found:
        raise _too_many(bound)
    return min(found, key=lambda covering: covering.size)


def _metric(
    domain: Domain, second_moment: ArrayLike, noise_std: float, radius: float
) -> tuple[FloatArray, float]:
    """S, checked, and ϱ = α√(2r)."""
    S = as_float_array("second_moment", second_moment, ndim=2)
    d = domain.dimension
    if S.shape != (d, d):
        raise fail("second_moment", f"shape {(d, d)}", f"shape {S.shape}", "match the domain")
    scale = max(float(np.abs(S).max()), 1e-300)
    symmetric = np.allclose(S, S.T, rtol=0, atol=1e-12 * scale)
    if not symmetric or np.linalg.eigvalsh((S + S.T) / 2).min() < -1e-12 * scale:
        raise fail(
            "second_moment",
            "a symmetric positive semi-definite matrix",
            S.tolist(),
            "average x xᵀ over inputs",
        )
    noise, r = as_positive("noise_std", noise_std), as_positive("radius", radius)
    return S, float(noise * np.sqrt(2 * r))


def _too_many(bound: int) -> ValueError:
    return fail(
        "radius", f"at most {MOST_POINTS} points", f"at least {bound} needed", "use a larger radius"
    )
