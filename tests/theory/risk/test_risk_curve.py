from itertools import pairwise

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad

from theory import (
    Box,
    Network,
    QuantisedRegression,
    RiskCurve,
    cover,
    risk_curve,
    transfer_factor,
    two_node_regression,
)

PAIR = Network([["9/10", "1/10"], ["3/5", "2/5"]])
BOX = Box([-1, -1, -1], [1, 1, 1])
EDGES = [-1.0, 0.0, 0.5, 1.0]
RADII = [1.0, 0.5, 0.2, 0.1, 0.05]


def curve(**options: object) -> RiskCurve:
    edges = options.pop("label_edges", None)
    regression = two_node_regression(label_edges=edges)  # type: ignore[arg-type]
    return risk_curve(PAIR, regression, BOX, RADII, delta=0.05, method="grid", **options)  # type: ignore[arg-type]


def test_second_moments_of_the_two_nodes() -> None:
    """E x² of a uniform law on [−a, a] is a²/3."""
    found = two_node_regression().second_moments
    assert np.allclose(found[0], np.diag([1, 1 / 3, 0]), atol=1e-15)
    assert np.allclose(found[1], np.diag([1, 0, 3 / 4]), atol=1e-15)


@given(st.integers(0, 10**6), st.integers(1, 3))
def test_transfer_factor(seed: int, rows: int) -> None:
    """The largest ratio over directions: never exceeded, and attained."""
    rng = np.random.default_rng(seed)
    x, y = rng.normal(size=(3, 3)), rng.normal(size=(rows, 3))
    source, to = x.T @ x, y.T @ y
    factor = transfer_factor(to, source)
    z = rng.normal(size=(500, 3))
    assert ((z @ to * z).sum(1) <= factor * (z @ source * z).sum(1) * (1 + 1e-9)).all()
    values, vectors = np.linalg.eig(np.linalg.solve(source, to))
    best = vectors[:, values.real.argmax()].real
    assert best @ to @ best == pytest.approx(factor * (best @ source @ best), rel=1e-6)


def test_transfer_into_a_direction_that_is_not_seen() -> None:
    assert transfer_factor(np.eye(2), np.diag([1.0, 0.0])) == np.inf
    assert transfer_factor(np.diag([2.0, 0.0]), np.diag([1.0, 0.0])) == pytest.approx(2.0)
    assert transfer_factor(np.diag([1.0, 1e-10]), np.diag([1.0, 0.0])) == np.inf
    assert transfer_factor(np.diag([1.0, 1e-300]), np.diag([1.0, 0.0])) == np.inf
    assert transfer_factor(np.diag([1.0, 3e-20]), np.diag([1.0, 1e-20])) == pytest.approx(3.0)
    assert transfer_factor(np.zeros((2, 2)), np.zeros((2, 2))) == 0.0


@given(st.integers(0, 10**9), st.integers(1, 4), st.booleans())
@settings(max_examples=200)
def test_transfer_between_weights_of_one_network(seed: int, rows: int, apart: bool) -> None:
    """Σ w_j x_j x_jᵀ of two weights: at most max w/w', to equality where features are independent.

    Features that an unseen agent alone has are transferred by no factor, in all units.
    """
    rng = np.random.default_rng(seed)
    x, units = rng.normal(size=(rows, 3)), 2.0 ** rng.integers(-60, 61, size=3)
    one, two = rng.uniform(0.1, 1, rows), rng.uniform(0.1, 1, rows)
    if apart:
        two[-1] = 0.0
    to, source = (x.T @ (w[:, None] * x) for w in (one, two))
    factor = transfer_factor(to, source)
    moved = transfer_factor(to / np.outer(units, units), source / np.outer(units, units))
    assert moved == factor
    if apart and rows <= 3:
        assert factor == np.inf
    elif rows <= 3:
        assert factor == pytest.approx((one / two).max(), rel=1e-6)


def test_a_guarantee_holds_for_features_of_unlike_sizes() -> None:
    """Agent 1 sees one coefficient, agent 2 another that is large where its feature is small."""
    for size in (1.0, 1e-7, 1e-12):
        regression = QuantisedRegression(
            (np.array([[1.0, 0.0]]), np.array([[0.0, size]])),
            (np.ones(1), np.ones(1)),
            np.array([0.0, 3 / size]),
            1.0,
        )
        network = Network([["1/10", "9/10"], ["1/10", "9/10"]])
        box = Box([-1, -3 / size], [1, 3 / size])
        found = risk_curve(network, regression, box, [0.1], delta=0.05).points[0]
        gaps = network.stationary_distribution @ regression.risk_differences(found.covering.points)
        assert gaps[list(found.acceptable)].max() <= found.guarantee.sharp < 0.3
        assert found.covering.size == 10
        assert found.rounds == 21


@given(st.integers(0, 10**9), st.sampled_from([0.0, 300.0, 2.0**20]), st.booleans())
@settings(max_examples=5)
def test_units_and_offsets_change_no_curve(seed: int, offset: float, binned: bool) -> None:
    rng = np.random.default_rng(seed)
    network = Network(rng.dirichlet(np.ones(2), size=2))
    inputs = (np.full(2, 0.5),) * 2
    # Features of few bits, so that offsets of labels, which a bias takes, are exact.
    features = [np.column_stack([np.ones(2), rng.integers(-8, 9, size=(2, 1)) / 4]) for _ in "ab"]
    truth = rng.integers(-64, 65, size=2) / 64
    edges = np.array([-0.5, 0.25, 1.0])
    shift, units = np.array([offset, 0.0]), 2.0 ** rng.integers(-20, 21, size=2)
    power = 2.0 ** rng.integers(-9, 10)
    curves = []
    for move, unit, y in ((0 * shift, np.ones(2), 1.0), (shift, units, power)):
        regression = QuantisedRegression(
            tuple(x * y / unit for x in features),
            inputs,
            (truth + move) * unit,
            0.5 * y,
            (0.25 + move[0]) * y,
            (edges + move[0]) * y if binned else None,
        )
        box = Box((move - 1) * unit, (move + 1) * unit)
        curves.append(risk_curve(network, regression, box, [0.4, 0.13], delta=0.1, slack=0.7))
    for one, two in zip(*(found.points for found in curves), strict=True):
        assert one.covering.size == two.covering.size
        assert one.acceptable == two.acceptable
        for name in ("rate", "exponent"):
            assert getattr(one, name) == pytest.approx(getattr(two, name), rel=1e-4)
        assert one.guarantee.sharp == pytest.approx(two.guarantee.sharp, rel=1e-9)
        assert one.own_guarantee.sharp == pytest.approx(two.own_guarantee.sharp, rel=1e-9)


def test_bins_against_high_precision() -> None:
    regression = two_node_regression(label_edges=EDGES)
    points = np.array([[0.2, -0.4, 0.9], [30.0, 0.0, 0.0], [-30.0, 0.0, 0.0]])
    agent = regression.model(points).kinds[0]
    logs = agent.log_likelihoods.reshape(3, 4, 5)  # type: ignore[union-attr]
    ends = [-mpmath.inf, *EDGES, mpmath.inf]
    with mpmath.workdps(400):
        for m, theta in enumerate(points):
            for x, row in enumerate(regression.features[0]):
                z = [(mpmath.mpf(e) - mpmath.mpf(float(row @ theta))) / 0.8 for e in ends]
                cdf = [mpmath.ncdf(value) for value in z]
                exact = [float(mpmath.log(b - a)) for a, b in pairwise(cdf)]
                assert np.allclose(logs[m, x], exact, rtol=1e-10)


def test_bins_lose_information_so_that_a_covering_stays_one() -> None:
    exact, binned = two_node_regression(), two_node_regression(label_edges=EDGES)
    points = np.random.default_rng(5).uniform(-1, 1, (200, 3))
    full, part = exact.model(points).divergences, binned.model(points).divergences
    assert (part <= full + 1e-12).all()
    # Gaussian divergences are the quadratic form that coverings are made for.
    gaps = points - exact.truth
    form = np.einsum("md,nde,me->nm", gaps, exact.second_moments, gaps) / (2 * 0.8**2)
    assert np.allclose(full, form, atol=1e-13)
    assert binned.model(points).log_ratio_bound < np.inf


def test_risks_by_integration() -> None:
    regression, theta = two_node_regression(threshold=0.3), np.array([0.1, -0.7, 0.4])
    means = regression.features[1] @ theta

    def density(y: float) -> float:
        z = (y - means) / 0.8
        return float(regression.inputs[1] @ np.exp(-z * z / 2)) / (0.8 * np.sqrt(2 * np.pi))

    integral, _ = quad(density, 0.3, 12.0)
    assert regression.risks(theta[None])[1, 0] == pytest.approx(integral, abs=1e-9)


@pytest.mark.parametrize("slack", [0.0, 1.0])
@pytest.mark.parametrize("weights", ["uniform", "stationary"])
@pytest.mark.parametrize("edges", [None, EDGES])
def test_the_curve(slack: float, weights: str, edges: list[float] | None) -> None:
    found = curve(slack=slack, weights=weights, label_edges=edges)
    guarantees = [p.guarantee.sharp for p in found.points]
    assert guarantees == sorted(guarantees, reverse=True)
    bounds = [p.covering.lower_bound for p in found.points]
    assert bounds == sorted(bounds)
    regression = two_node_regression(label_edges=edges)
    v = PAIR.stationary_distribution
    for point in found.points:
        points = point.covering.points
        gaps = regression.risk_differences(points)
        allowed = list(point.acceptable)
        assert (v @ gaps)[allowed].max() <= point.guarantee.sharp
        # Whatever acceptable hypothesis each agent holds: the worst case agent by agent.
        assert gaps[:, allowed].max(axis=1).mean() <= point.own_guarantee.sharp
        if point.samples is not None:
            divergences = regression.model(points).weighted_divergences(v)
            wrong = [m for m in range(len(points)) if m not in allowed]
            gap = divergences[wrong].min() - divergences.min()
            assert point.rate == pytest.approx(gap, rel=1e-9)
            worst = max(divergences[allowed])
            assert worst <= point.guarantee.divergence * (1 + 1e-12)
            if slack and edges is None and weights == "stationary":
                assert point.rate >= slack * point.radius * (1 - 1e-12)
            assert 0 < point.exponent < point.rate
            assert (point.samples.printed.rounds is None) == (edges is None)


@given(st.integers(0, 10**6))
@settings(max_examples=40)
def test_slack_makes_the_rate_uniform_over_truths(seed: int) -> None:
    """Rejecting what is worse by s·r: K ≥ s·r for every θ*, and tiny K without slack."""
    truth = np.random.default_rng(seed).uniform(-1, 1, 3)
    base = two_node_regression()
    regression = QuantisedRegression(base.features, base.inputs, truth, 0.8)
    v = PAIR.stationary_distribution
    covering = cover(BOX, regression.second_moment(v), noise_std=0.8, radius=0.2)
    divergences = regression.model(covering.points).weighted_divergences(v)
    wrong = divergences > 2 * 0.2
    assert divergences.min() <= 0.2
    assert divergences[wrong].min() - divergences.min() >= 0.2


@given(st.integers(0, 10**6), st.sampled_from([0.5, 1.0, 3.0]))
@settings(max_examples=20)
def test_exponent_is_proportional_to_the_radius(seed: int, slack: float) -> None:
    """E ≥ (√(1 + c) − 1)² r/(4 max v) where every agent has one input value."""
    rng = np.random.default_rng(seed)
    weights = rng.dirichlet(np.ones(3), size=3) + 1e-3
    network = Network(weights / weights.sum(axis=1, keepdims=True))
    features = tuple(rng.normal(size=(1, 2)) for _ in range(3))
    regression = QuantisedRegression(
        features, (np.ones(1),) * 3, rng.uniform(-1, 1, 2), 0.5 + rng.uniform()
    )
    radius = float(rng.choice([0.2, 0.5]))
    point = risk_curve(
        network, regression, Box([-1, -1], [1, 1]), [radius], delta=0.1, slack=slack
    ).points[0]
    largest = network.stationary_distribution.max()
    assert point.exponent >= (np.sqrt(1 + slack) - 1) ** 2 * radius / (4 * largest) * (1 - 1e-9)


def test_grids_keep_the_best_hypothesis_common_to_all_agents() -> None:
    """Diagonal second moments and a product grid: each coordinate is rounded by itself."""
    for point in curve(weights="uniform").points:
        assert point.is_globally_learnable
        assert point.own_guarantee.divergence == pytest.approx(point.radius)


def test_the_best_radius_for_a_number_of_rounds() -> None:
    found = curve(slack=1.0)
    assert found.best_within(10**6) is found.points[-1]
    few = found.best_within(60)
    assert few.rounds <= 60
    better = [p for p in found.points if p.guarantee.sharp < few.guarantee.sharp]
    assert all(p.rounds is None or p.rounds > 60 for p in better)
    assert curve().best_within(1) is None
    assert found.radii.tolist() == RADII
    assert (np.diff(found.sizes) >= 0).all()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"slack": -1.0}, "slack: expected a number of at least 0"),
        ({"weights": "equal"}, "weights: expected 'stationary' or 'uniform'"),
        ({"delta": 1.0}, "delta: expected a number in"),
    ],
)
def test_bad_options(changes: dict[str, object], message: str) -> None:
    options = {"delta": 0.1, **changes}
    with pytest.raises(ValueError, match=message):
        risk_curve(PAIR, two_node_regression(), BOX, [0.5], **options)  # type: ignore[arg-type]


def test_bad_problems() -> None:
    regression = two_node_regression()
    with pytest.raises(ValueError, match="domain: expected to hold the truth"):
        risk_curve(PAIR, regression, Box([0, 0, 0], [1, 1, 1]), [0.5], delta=0.1)
    with pytest.raises(ValueError, match="network: expected 2 agents"):
        risk_curve(Network([[1.0]]), regression, BOX, [0.5], delta=0.1)
    with pytest.raises(ValueError, match="label_edges: expected increasing numbers"):
        two_node_regression(label_edges=[1.0, 0.0])
    with pytest.raises(ValueError, match=r"features\[0\]: expected shape"):
        QuantisedRegression((np.ones((2, 1)),), (np.array([0.5, 0.5]),), np.zeros(2), 1.0)
    with pytest.raises(ValueError, match="points: expected 3 coordinates"):
        regression.model(np.zeros((2, 2)))
    with pytest.raises(ValueError, match="threshold: expected"):
        two_node_regression(threshold=np.inf)
    with pytest.raises(ValueError, match="weights: expected one for each of 2 agents"):
        regression.second_moment([1.0])


def test_binned_labels_bound_a_loss_of_bins_alone() -> None:
    """Of one agent that sees signs of y, guarantees are about the loss 1(y > 0) and no other."""
    line = Box([-4.0], [4.0])
    network = Network([[1.0]])

    def signs(threshold: float) -> QuantisedRegression:
        return QuantisedRegression(
            (np.array([[1.0]]),), (np.array([1.0]),), np.array([3.0]), 1.0, threshold, np.zeros(1)
        )

    for point in risk_curve(network, signs(0.0), line, [0.5, 0.1], delta=0.1, slack=0.5).points:
        losses = signs(0.0).risk_differences(point.covering.points)[0, list(point.acceptable)]
        assert losses.max() <= point.guarantee.sharp
    # Another threshold: hypotheses whose bins are as likely lose more than would be promised.
    kept = point.covering.points[list(point.acceptable)]
    assert signs(3.0).risk_differences(kept).max() > point.guarantee.sharp
    with pytest.raises(ValueError, match=r"threshold: expected one of the ends of the bins, \[0"):
        risk_curve(network, signs(3.0), line, [0.5], delta=0.1)
