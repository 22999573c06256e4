from fractions import Fraction
from itertools import product
from operator import mul

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial import Voronoi

from theory import Box, Covering, Ellipsoid, cover, covering_lower_bound, interval_covering_number
from theory.risk.domains import (
    Domain,
    deep_hole,
    dual_lattice,
    grid_density,
    lattice_density,
    log_ball_volume,
)

# Distances are sums of a few rounded products; the coverings promise their radius to this.
ROUNDING = 1 + 1e-9


def samples(domain: Domain, count: int, rng: np.random.Generator) -> np.ndarray:
    """Points of a domain, many of them on its surface."""
    if isinstance(domain, Box):
        inside = rng.uniform(-1, 1, (count, domain.dimension))
        face = rng.uniform(-1, 1, inside.shape)
        axis = rng.integers(domain.dimension, size=count)
        face[np.arange(count), axis] = rng.choice([-1, 1], count)
        corners = rng.choice([-1, 1], inside.shape)
        return domain.centre + domain.half_sides * np.vstack([inside, face, corners])
    z = rng.normal(size=(2 * count, domain.dimension))
    z /= np.linalg.norm(z, axis=1)[:, None]
    z[:count] *= rng.uniform(0, 1, (count, 1)) ** (1 / domain.dimension)
    return domain.centre + z @ domain.axes.T


def worst_divergence(covering: Covering, domain: Domain, seed: int) -> float:
    """At random points, and at the vertices of the Voronoi cells: the deep holes."""
    points = [samples(domain, 300, np.random.default_rng(seed))]
    S = covering.second_moment
    if len(S) > 1 and covering.size > len(S) + 1 and np.linalg.cond(S) < 1e12:
        root = np.linalg.cholesky(S).T
        vertices = np.linalg.solve(
            root, Voronoi(covering.points @ root.T, qhull_options="QJ").vertices.T
        ).T
        points.append(vertices[domain.contains(vertices)])
    return float(covering.divergences(np.vstack(points)).max())


def exact_divergence(covering: Covering, parameter: np.ndarray) -> Fraction:
    """From a parameter to a point near it, in rationals: all doubles count as what they are."""
    apart, S = covering.points - parameter, covering.second_moment
    nearest = covering.points[(apart @ S * apart).sum(axis=1).argmin()]
    gap = [Fraction(a) - Fraction(b) for a, b in zip(nearest, parameter, strict=True)]
    form = [
        sum(map(mul, map(Fraction, row), gap), Fraction(0)) * own
        for row, own in zip(S.tolist(), gap, strict=True)
    ]
    return sum(form, Fraction(0)) / (2 * Fraction(covering.noise_std) ** 2)


def problem(seed: int, *, offset: float = 0.0, spread: int = 0) -> tuple[Domain, np.ndarray, float]:
    """A domain, a second moment of any rank and a radius; units of coordinates 2^±spread."""
    rng = np.random.default_rng(seed)
    d = int(rng.integers(1, 4))
    units = 2.0 ** rng.integers(-spread, spread + 1, size=d)
    x = rng.normal(size=(int(rng.integers(1, d + 2)), d)) * rng.choice([1.0, 0.03], size=d)
    half = rng.uniform(0.2, 2.0, size=d)
    # Ends that are exact on offsets of up to 2^20.
    centre, half = np.round(64 * rng.normal(size=d)) / 64, np.ceil(2**20 * half) / 2**20
    centre += offset
    box = rng.random() < 0.6
    lower = 0.3 * np.tril(rng.normal(size=(d, d)), -1)
    domain: Domain = (
        Box(units * (centre - half), units * (centre + half))
        if box
        else Ellipsoid(units * centre, (units * half)[:, None] * (np.eye(d) + lower))
    )
    return domain, x.T @ x / np.outer(units, units), float(rng.choice([0.7, 0.11, 0.023]))


@st.composite
def moments(draw: st.DrawFn, dimension: int) -> np.ndarray:
    """Second moments of every rank, some nearly singular."""
    entry = st.integers(-3, 3)
    rows = draw(st.integers(1, dimension + 1))
    table = np.array(draw(st.lists(entry, min_size=rows * dimension, max_size=rows * dimension)))
    x = table.reshape(rows, dimension) * draw(st.sampled_from([1.0, 0.1]))
    if draw(st.booleans()):
        x = x * np.array([1.0, 1e-3, 1e-6])[:dimension]
    return np.asarray(x.T @ x)


@st.composite
def domains(draw: st.DrawFn, dimension: int) -> Domain:
    centre = np.array(draw(st.lists(st.integers(-2, 2), min_size=dimension, max_size=dimension)))
    sides = st.sampled_from([0.05, 0.5, 1.0, 1.5])
    half = np.array(draw(st.lists(sides, min_size=dimension, max_size=dimension)))
    if draw(st.booleans()):
        return Box(centre - half, centre + half)
    return Ellipsoid(centre, np.diag(half) + 0.2 * np.tril(np.ones((dimension, dimension)), -1))


@given(st.data(), st.integers(1, 3), st.sampled_from([3.0, 0.4, 0.08]))
@settings(max_examples=30)
def test_every_parameter_is_covered(data: st.DataObject, dimension: int, radius: float) -> None:
    domain, S = data.draw(domains(dimension)), data.draw(moments(dimension))
    for method in (None, "grid") if isinstance(domain, Box) and radius > 0.1 else (None,):
        covering = cover(domain, S, noise_std=1.0, radius=radius, method=method)
        assert method is None or covering.method in {"grid", "point"}
        assert worst_divergence(covering, domain, 0) <= radius * ROUNDING
        assert domain.contains(covering.points, slack=1e-9).all()
        assert 1 <= covering.lower_bound <= covering.size


@given(st.integers(0, 10**9), st.sampled_from([0.0, 300.0, -(2.0**20)]), st.sampled_from([0, 30]))
@settings(max_examples=50)
def test_every_corner_is_covered_in_rationals(seed: int, offset: float, spread: int) -> None:
    domain, S, radius = problem(seed, offset=offset, spread=spread)
    if isinstance(domain, Box) and seed % 2:
        # The middle need not be a double, and corners that are computed from it are rounded.
        domain = Box(domain.lower, np.nextafter(domain.upper, np.inf))
        ends = domain.centre + np.array([[1], [-1]]) * domain.half_sides
        assert domain.contains(ends, slack=1e-12).all()
    covering = cover(domain, S, noise_std=1.0, radius=radius)
    parameters = samples(domain, 100, np.random.default_rng(seed))
    if isinstance(domain, Box):
        ends = zip(domain.lower, domain.upper, strict=True)
        parameters = np.clip(parameters, domain.lower, domain.upper)
        parameters = np.vstack([np.array(list(product(*ends))), parameters])
        assert domain.contains(covering.points).all()
    worst = parameters[np.argsort(covering.divergences(parameters))[-5:]]
    # Random points of an ellipsoid are rounded: some of them are a last place outside.
    allowed = Fraction(radius) * (1 if isinstance(domain, Box) else Fraction(10**9 + 1, 10**9))
    assert max(exact_divergence(covering, one) for one in worst) <= allowed
    assert domain.contains(covering.points, slack=1e-9).all()


@pytest.mark.parametrize("offset", [300.0, 2.0**20])
@pytest.mark.parametrize("method", [None, "lattice"])
def test_small_boxes_far_from_zero(offset: float, method: str | None) -> None:
    """Sides of which a last place of their ends is up to 2^-26: corners are rounded."""
    for seed in range(40):
        rng = np.random.default_rng(seed)
        lower = offset + rng.uniform(-1, 1, 2 + seed % 2)
        box = Box(lower, lower + rng.uniform(0.01, 0.02, lower.size))
        scale = np.diag(rng.choice([30.0, 100.0], lower.size))
        S = scale @ (0.7 * np.eye(lower.size) + 0.3) @ scale
        covering = cover(box, S, noise_std=1.0, radius=0.05, method=method)
        corners = map(np.array, product(*zip(box.lower, box.upper, strict=True)))
        assert max(exact_divergence(covering, corner) for corner in corners) <= Fraction(0.05)
        assert box.contains(covering.points).all()


@given(st.integers(0, 10**9), st.sampled_from([0.0, 300.0, -(2.0**20)]), st.integers(-40, 40))
@settings(max_examples=40)
def test_units_and_offsets_change_no_covering(seed: int, offset: float, power: int) -> None:
    """θ → u·θ + shift, y → 2^power·y: the same points in other words, to their last places."""
    domain, S, radius = problem(seed)
    units = 2.0 ** np.random.default_rng(seed + 1).integers(-40, 41, size=len(S))
    shift = np.full(len(S), offset)
    moved: Domain = (
        Box(units * (domain.lower + shift), units * (domain.upper + shift))
        if isinstance(domain, Box)
        else Ellipsoid(units * (domain.centre + shift), units[:, None] * domain.axes)
    )
    form = S * 4.0**power / np.outer(units, units)
    for method in (None, "grid") if isinstance(domain, Box) else (None,):
        one = cover(domain, S, noise_std=1.0, radius=radius, method=method)
        two = cover(moved, form, noise_std=2.0**power, radius=radius, method=method)
        assert (one.method, one.size, one.lower_bound) == (two.method, two.size, two.lower_bound)
        # Rounding of coordinates on the offset is paid for, so that points may move by as much.
        apart = two.points / units - shift - one.points
        assert (apart @ S * apart).sum(axis=1).max() <= 1e-10 * radius
        parameters = samples(domain, 5, np.random.default_rng(seed))
        found = two.divergences((parameters + shift) * units)
        assert found == pytest.approx(one.divergences(parameters), abs=1e-5 * radius)


@pytest.mark.parametrize("s", [1.0, 1e-11, 1e-13, 1e-30, 1e20])
def test_one_problem_in_many_units(s: float) -> None:
    b = 1 / np.sqrt(s)
    covering = cover(Box([-1, -b], [1, b]), np.diag([1, s]), noise_std=1.0, radius=0.05)
    assert (covering.size, covering.lower_bound, covering.method) == (24, 13, "grid")
    assert covering.divergences([[1, b], [1, -b]]).max() <= 0.05


@pytest.mark.parametrize(
    ("short", "size"), [(0.0, 4), (1e-9, 4), (1e-3, 4), (0.05, 4), (0.2, 5), (0.5, 12)]
)
def test_a_short_axis_costs_what_it_is_long(short: float, size: int) -> None:
    """On one line M = ⌈1/√(.1 − short²)⌉, which two rows of hexagons beat in the end."""
    covering = cover(Box([-1, -short], [1, short]), np.eye(2), noise_std=1.0, radius=0.05)
    assert covering.size <= size
    assert covering.divergences([[1, short], [-1, short], [0, short]]).max() <= 0.05


def test_rounding_of_second_moments_costs_no_axis() -> None:
    """x xᵀ is of rank one but for its last places: as many points as its own line needs."""
    for seed in range(50):
        x = np.random.default_rng(seed).normal(size=3)
        box = Box(-1 / np.abs(x), 1 / np.abs(x))
        covering = cover(box, np.outer(x, x), noise_std=1.0, radius=0.011)
        assert covering.size == interval_covering_number(6, 1, 1, 0.011)


@pytest.mark.parametrize("k", [1, 2, 3, 4, 5])
def test_the_lattice_has_covering_radius_one(k: int) -> None:
    basis = dual_lattice(k)
    steps = np.stack([g.ravel() for g in np.meshgrid(*[np.arange(-3, 4)] * k)], axis=1)
    points = steps @ basis
    hole = np.linalg.norm(points - deep_hole(k) @ basis, axis=1).min()
    assert hole == pytest.approx(1.0, abs=1e-12)
    rng = np.random.default_rng(k)
    inside = rng.uniform(0, 1, (200, k)) @ basis
    assert max(np.linalg.norm(points - x, axis=1).min() for x in inside) <= 1 + 1e-12
    volume = abs(np.linalg.det(basis))
    assert lattice_density(k) == pytest.approx(np.exp(log_ball_volume(k)) / volume, rel=1e-12)


def test_densities_that_are_known() -> None:
    assert lattice_density(2) == pytest.approx(2 * np.pi / np.sqrt(27), rel=1e-12)  # hexagons
    assert lattice_density(3) == pytest.approx(5 * np.sqrt(5) * np.pi / 24, rel=1e-12)  # bcc
    assert grid_density(2) == pytest.approx(np.pi / 2, rel=1e-12)


@pytest.mark.parametrize("radius", [0.3, 0.05, 0.005])
def test_grids_are_within_their_factor_of_the_volume(radius: float) -> None:
    """M ≤ density · Π (1 + 2ϱ/(√k w_i)) · volume ratio, w_i the whitened sides."""
    S, box = np.diag([1.0, 1 / 6, 3 / 8]), Box([-1, -1, -1], [1, 1, 1])
    covering = cover(box, S, noise_std=0.8, radius=radius, method="grid")
    distance, sides = 0.8 * np.sqrt(2 * radius), 2 * np.sqrt(np.diag(S))
    volume = np.prod(sides / distance) / np.exp(log_ball_volume(3))
    edges = np.prod(1 + 2 * distance / (np.sqrt(3) * sides))
    assert covering.lower_bound >= volume
    assert covering.size <= grid_density(3) * edges * volume


@pytest.mark.parametrize("radius", [0.3, 0.05, 0.0005])
def test_lattices_are_within_their_factor_of_the_volume(radius: float) -> None:
    """M ≤ density · (1 + 2ϱ/s)^k · volume ratio, s the shortest whitened half-axis."""
    axes = np.array([[1.0, 0.0], [0.3, 0.7]])
    covering = cover(Ellipsoid([0, 0], axes), np.eye(2), noise_std=1.0, radius=radius)
    lengths = np.linalg.svd(axes, compute_uv=False)
    distance = np.sqrt(2 * radius)
    volume = np.prod(lengths / distance)
    assert covering.size <= lattice_density(2) * (1 + 2 * distance / lengths.min()) ** 2 * volume
    if radius < 0.01:  # tight: most cells are inside
        assert covering.size <= 1.4 * covering.lower_bound


@given(
    st.fractions(min_value=0, max_value=20, max_denominator=50),
    st.fractions(min_value=0, max_value=5, max_denominator=50),
    st.fractions(min_value="1/50", max_value=5, max_denominator=50),
    st.fractions(min_value="1/50", max_value=5, max_denominator=50),
)
@settings(max_examples=50)
def test_one_dimension_is_exact(w: Fraction, s: Fraction, variance: Fraction, r: Fraction) -> None:
    """m equal cells have divergence S(w/2m)²/2α² at their ends, and fewer points cannot do."""
    m = interval_covering_number(w, s, variance, r)
    assert s * (w / (2 * m)) ** 2 <= 2 * variance * r
    assert m == 1 or s * (w / (2 * (m - 1))) ** 2 > 2 * variance * r


def test_one_dimension_is_built_exactly() -> None:
    for radius in (1 / 128, 0.01, 0.0100001):
        covering = cover(Box([0], [1]), [[1.0]], noise_std=1.0, radius=radius)
        exact = interval_covering_number(1.0, 1.0, 1.0, radius)
        assert covering.lower_bound == covering.size == exact
    assert interval_covering_number(1, 1, 1, Fraction(1, 128)) == 4


def test_directions_that_nobody_sees_cost_nothing() -> None:
    box = Box([-1, -1, -5], [1, 1, 5])
    blind = cover(box, np.diag([1.0, 0.5, 0.0]), noise_std=1.0, radius=0.05)
    flat = cover(Box([-1, -1], [1, 1]), np.diag([1.0, 0.5]), noise_std=1.0, radius=0.05)
    assert blind.size == flat.size
    assert cover(box, np.zeros((3, 3)), noise_std=1.0, radius=1e-9).size == 1


def test_correlated_features_are_whitened() -> None:
    """A grid in the box's own axes would need many times the points."""
    x = np.array([[1.0, 1.0], [1.0, 1.02]])
    box = Box([-1, -1], [1, 1])
    both = {
        method: cover(box, x.T @ x, noise_std=1.0, radius=0.002, method=method).size
        for method in ("grid", "lattice")
    }
    assert both["lattice"] * 20 < both["grid"]
    assert cover(box, x.T @ x, noise_std=1.0, radius=0.002).size == both["lattice"]


@pytest.mark.parametrize("domain", [Box([-1, 0], [2, 1]), Ellipsoid([0, 1], [[1, 0], [1, 2]])])
def test_lower_bound_and_radius(domain: Domain) -> None:
    S = np.array([[1.0, 0.4], [0.4, 0.5]])
    bounds = [
        covering_lower_bound(domain, S, noise_std=1.0, radius=r) for r in (2, 0.5, 0.1, 0.01, 1e-3)
    ]
    assert bounds == sorted(bounds)
    assert bounds[0] == 1
    # volume of the image over that of the balls: πab √det S over π 2r, or 4ab √det S
    area = 3.0 if isinstance(domain, Box) else 2 * np.pi
    assert bounds[-1] == np.ceil(area * np.sqrt(np.linalg.det(S)) / (np.pi * 2e-3))


@given(st.data(), st.integers(1, 3), st.integers(0, 1000))
@settings(max_examples=20)
def test_nearest_points(data: st.DataObject, dimension: int, seed: int) -> None:
    """The projection onto a convex set is where ⟨target − nearest, other − nearest⟩ ≤ 0."""
    domain, S = data.draw(domains(dimension)), data.draw(moments(dimension))
    values, vectors = np.linalg.eigh(domain.axes.T @ S @ domain.axes)
    image = (np.sqrt(np.maximum(values, 0)) * vectors).T[values > 1e-12 * values.max()]
    rng = np.random.default_rng(seed)
    targets = 3 * rng.normal(size=(8, len(image))) * domain.extents(image)
    nearest = domain.nearest(image, targets)
    assert domain.contains(domain.at(nearest), slack=1e-9).all()
    z = np.linalg.solve(domain.axes, (samples(domain, 50, rng) - domain.centre).T)
    others = (image @ z).T
    for target, point in zip(targets, nearest @ image.T, strict=True):
        # Solvers stop at 1e-14 and differences are rounded; a wrong point is off by shares of one.
        gap = np.linalg.norm(target - point) + 1e-6 * np.linalg.norm(target)
        reach = np.linalg.norm(others - point, axis=1).max()
        assert ((others - point) @ (target - point)).max() <= 1e-7 * gap * reach


def test_one_point_exactly_where_the_farthest_corner_is_within_reach() -> None:
    box = Box([-1, -1], [1, 1])
    assert cover(box, np.eye(2), noise_std=1.0, radius=1.0 + 1e-9).method == "point"
    assert cover(box, np.eye(2), noise_std=1.0, radius=0.99).lower_bound == 2


@pytest.mark.parametrize(
    ("domain", "S", "changes", "message"),
    [
        (Box([0], [1]), [[1.0, 0], [0, 1]], {}, "second_moment: expected shape"),
        (Box([0, 0], [1, 1]), [[1.0, 2], [2, 1]], {}, "positive semi-definite"),
        (Box([0, 0], [1, 1]), [[1.0, 2], [0, 1]], {}, "symmetric"),
        (Box([0], [1]), [[1.0]], {"radius": 0.0}, "radius: expected a finite number above 0"),
        (Box([0, 0], [1, 1]), np.eye(2), {"radius": 1e-9}, "radius: expected at most 1000000"),
        (Ellipsoid([0.0], [[1.0]]), [[1.0]], {"method": "grid"}, "method: expected 'grid'"),
        (Box([0, 0], [1, 1]), np.diag([1e14, -1.0]), {}, "positive semi-definite"),
        (Box([0, 0], [1, 1]), [[1e14, 1e-3], [1e-3, 0]], {}, "positive semi-definite"),
        (
            Box([-1e30] * 12, [1e30] * 12),
            np.eye(12),
            {"radius": 1e-300},
            "radius: expected at most",
        ),
        (Box([2.0**52], [2.0**52 + 2]), [[1.0]], {}, "domain: expected numbers that doubles res"),
    ],
)
def test_bad_input(domain: Domain, S: object, changes: dict[str, object], message: str) -> None:
    arguments = {"noise_std": 1.0, "radius": 0.1, **changes}
    with pytest.raises(ValueError, match=message):
        cover(domain, S, **arguments)  # type: ignore[arg-type]


def test_ellipsoids_of_unlike_units() -> None:
    domain = Ellipsoid([0.0, 1e9], [[1e-9, 0], [3e8, 1e9]])
    assert domain.contains([[1e-9, 1.3e9], [0, 1.9e9]]).all()
    assert not domain.contains([[1.1e-9, 1e9], [0, 2.1e9]]).any()


def test_bad_domains() -> None:
    with pytest.raises(ValueError, match=r"upper\[1\]: expected at least 2"):
        Box([0, 2], [1, 1])
    with pytest.raises(ValueError, match="as many upper as lower ends"):
        Box(np.zeros(13), np.ones(13))
    with pytest.raises(ValueError, match="axes: expected linearly independent"):
        Ellipsoid([0, 0], [[1, 1], [1, 1]])
    with pytest.raises(ValueError, match="two numbers of at least 0"):
        interval_covering_number(1, 1, 0, 1)
