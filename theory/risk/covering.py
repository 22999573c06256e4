"""Coverings of a set of regression parameters: how many hypotheses stand for a continuum.

For y = xᵀθ + N(0, α²) the divergence of two parameters, averaged over inputs and agents, is

    (θ − ψ)ᵀ S (θ − ψ) / 2α²,   S = Σ_j w_j E x_j x_jᵀ,

symmetric, so that the direction of P1's covering does not matter. An r-covering of Φ is a set of
points such that every θ in Φ has one within divergence r; M(r) is the size of the smallest. Φ is
{centre + Lz}, z in a cube or a ball: in whitened coordinates of LᵀSL, which has no units of θ,
divergence r is the distance ϱ = α√(2r).

* lower bound: balls of radius ϱ must fill the volume of Φ's image, or of its shadow on its longest
  axes;
* upper bounds: coverings that are built. A grid aligned with a box, whose cells have their corners
  at distance ϱ or less; or the lattice A*_k in whitened coordinates, which is the thinnest known
  for k ≤ 5, cut to what Φ needs and pulled into Φ.

What rounding may do to distances is taken off ϱ, and so are axes on which the image of Φ is so
short that one value will do: a covering covers whatever the units and the offset of parameters are.

In one dimension M(r) is exact (docs: mathematics/risk).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from math import ceil, isqrt, prod

import numpy as np
from numpy.typing import ArrayLike

from theory.risk.domains import (
    MOST_CANDIDATES,
    ROUNDING,
    Box,
    Domain,
    grid_counts,
    grid_points,
    lattice_coverings,
    middles,
)
from theory.showing import Shown
from theory.typed import typed
from theory.validation import FloatArray, as_float_array, as_positive, fail, read_only

MOST_POINTS = 1_000_000
# Axes get one value where that costs less than this share of ϱ².
_SHORT = 1e-9
# Leaving out more is tried where it is quick: so many candidates, over d².
_FEW = 100_000


@dataclass(frozen=True, eq=False)
class Covering(Shown):
    """An r-covering: every parameter of the domain is within divergence `radius` of a point.

    Attributes
    ----------
    points
        Shape (M, d), all inside the domain (of an ellipsoid: to rounding).
    radius
        r in nats.
    lower_bound
        No r-covering has fewer points: lower_bound ≤ M(r) ≤ len(points).
    method
        "point", "interval" (on one axis; for d = 1 the fewest, or one more where that is a tie that
        doubles break), "grid" or "lattice".
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
        nearest = []
        for one in as_float_array("parameters", parameters, ndim=2):
            apart = (self.points - one) / self.noise_std
            squares = (apart @ self.second_moment * apart).sum(axis=1)
            nearest.append(squares.min(initial=np.inf))
        return np.asarray(np.maximum(nearest, 0.0) / 2)


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
    """A number of points that every r-covering needs: exact for d = 1, else rounded down.

    The largest of vol_j(shadow of Φ)/vol_j(ball) over the shadows on the j longest axes, and of the
    diameter over 2ϱ, in floating point.
    """
    S, distance = _metric(domain, second_moment, noise_std, radius)
    if domain.dimension == 1:
        low, high = domain.interval
        variance = Fraction(float(noise_std)) ** 2
        return interval_covering_number(high - low, S.item(), variance, float(radius))
    image, doubt = _image(domain, S)
    squares = (image**2).sum(axis=1, keepdims=True)
    image = image * np.sqrt(np.maximum(1 - doubt / np.maximum(squares, doubt or 1.0), 0.0))
    logs = domain.log_ball_ratios(image) - np.arange(1, len(image) + 1) * np.log(distance)
    largest = max(float(np.exp(min(logs.max(), 700.0))), domain.reach(image)[0] / distance)
    return max(1, ceil(min(largest, 1e300) * (1 - ROUNDING)))


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
        S, shape (d, d), symmetric and positive semi-definite. Directions in which it sees nothing
        of the domain need one value only.
    noise_std, radius
        α > 0 and r > 0.
    method
        "grid" (boxes only: a product of points on each axis, which keeps Θ* non-empty where all
        agents' second moments are diagonal) or "lattice"; the smaller of the two if left out.

    Raises
    ------
    ValueError
        If S is not a second moment of that dimension, a grid of an ellipsoid is asked for, more
        than a million points would be needed, or doubles do not resolve the radius as far from
        zero as the domain is.

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
    bound = covering_lower_bound(domain, S, noise_std=noise_std, radius=radius)
    if bound > MOST_POINTS:
        raise _too_many(bound)
    aligned = method == "grid"

    def built(z: FloatArray, how: str) -> Covering:
        return Covering(read_only(domain.at(z)), float(radius), bound, how, S, float(noise_std))

    image, doubt = _image(domain, S)
    image, doubt = image / distance, doubt / distance**2
    rounding = _rounding_of_points(domain, S) / distance
    # Squared distances that are left, over ϱ²: of points alone, and of whitened coordinates.
    limit = (max(1 - rounding, 0.0) * (1 - ROUNDING)) ** 2
    room = limit - doubt
    if room <= 0:
        raise fail(
            "domain",
            "numbers that doubles resolve to the radius",
            f"rounding of {rounding:.2g} of the distance that a point covers",
            "measure parameters from the middle of the domain",
        )
    reach, _ = domain.reach(image)
    if reach**2 <= room:
        return built(np.zeros((1, domain.dimension)), "point")
    if domain.dimension == 1 and not aligned:
        interval = built(middles(ceil(reach / np.sqrt(room)))[:, None], "interval")
        if interval.size == bound:
            return interval
        exact = built(middles(bound)[:, None], "interval")
        return exact if _covers_interval(exact, domain) else interval
    found = []
    for k in range(1, 1 if aligned else domain.dimension + 1):
        # One value does for the axes that are left out, at a price.
        price = domain.reach(image[k:])[0] ** 2
        last = price <= max(_SHORT, doubt)
        if price < room:
            how = "interval" if k == 1 else "lattice"
            left, most = np.sqrt(room - price), MOST_CANDIDATES if last else _FEW // len(S) ** 2
            found += [built(z, how) for z in lattice_coverings(domain, image, k, left, most=most)]
        if last:
            break
    if isinstance(domain, Box) and method != "lattice" and (aligned or k > 1):
        sides = domain.axes / distance
        counts = grid_counts(sides @ S @ sides, limit)
        if counts is not None and prod(counts) <= MOST_POINTS:
            found.insert(0, built(grid_points(counts), "grid"))
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
    scale, correlations = standardised(S)
    if (
        S[scale == 0].any()
        or np.abs(correlations - correlations.T).max() > 1e-12
        or np.linalg.eigvalsh((correlations + correlations.T) / 2).min() < -1e-12
    ):
        raise fail(
            "second_moment",
            "a symmetric positive semi-definite matrix",
            S.tolist(),
            "average x xᵀ over inputs",
        )
    noise, r = as_positive("noise_std", noise_std), as_positive("radius", radius)
    return (S + S.T) / 2, float(noise * np.sqrt(2 * r))


def standardised(second_moment: FloatArray) -> tuple[FloatArray, FloatArray]:
    """(s, C) with S = diag(s) C diag(s): C has no units, and ones on its diagonal or zero rows."""
    scale = np.sqrt(np.maximum(np.diag(second_moment), 0.0))
    units = np.where(scale > 0, scale, 1.0)
    return scale, second_moment / units[:, None] / units


def _image(domain: Domain, S: FloatArray) -> tuple[FloatArray, float]:
    """R of shape (d, d), longest axis first, with RᵀR = LᵀSL, and what rounding may do to it.

    The second number is above |‖Rδ‖² − δᵀLᵀSLδ| for all differences δ of two z.
    """
    L = domain.axes
    values, vectors = np.linalg.eigh(L.T @ S @ L)
    size = float(np.sqrt(np.diag(S)) @ np.linalg.norm(L, axis=1))
    doubt = 16 * (len(L) - 1) * np.finfo(np.float64).eps * size**2
    return (np.sqrt(np.maximum(values, 0.0)) * vectors).T[::-1], doubt


def _rounding_of_points(domain: Domain, S: FloatArray) -> float:
    """How far, in units of y, points may be from where they should be: a few last places."""
    sides = np.abs(domain.axes).sum(axis=1)
    places = np.where(sides > 0, np.spacing(np.abs(domain.centre) + sides), 0.0)
    return float((len(S) + 3) * (np.sqrt(np.diag(S)) @ places))


def _covers_interval(covering: Covering, domain: Domain) -> bool:
    """Whether every parameter of an interval is within the radius of a point: exact."""
    low, high = domain.interval
    places = sorted(map(Fraction, covering.points[:, 0].tolist()))
    widths = [2 * (places[0] - low), *(b - a for a, b in pairwise(places)), 2 * (high - places[-1])]
    variance = Fraction(covering.noise_std) ** 2
    moment = covering.second_moment.item()
    return interval_covering_number(max(widths), moment, variance, covering.radius) == 1


def _too_many(bound: int) -> ValueError:
    return fail(
        "radius",
        f"at most {MOST_POINTS} points",
        f"at least {min(bound, 10**18)} needed",
        "use a larger radius",
    )
