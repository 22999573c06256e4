"""Constants in fractions: the papers' cases, floats beside them, and condition numbers of 1e12."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from theory.rational import RationalNetwork
from theory.regression import calibration, regression_limits
from theory.regression.expansion import rational_limits, rational_regression
from theory.regression.rational_model import (
    RationalRegressionAgent,
    RationalRegressionModel,
    four_agents,
    two_nodes,
)

F = Fraction


def diagonal(table: tuple[tuple[F, ...], ...]) -> list[F]:
    assert all(x == 0 for i, row in enumerate(table) for j, x in enumerate(row) if i != j)
    return [row[k] for k, row in enumerate(table)]


def test_p1_by_hand() -> None:
    case = two_nodes()
    exact = rational_regression(case.network, case.model)
    assert exact.stationary_distribution == (F(6, 7), F(1, 7))
    assert diagonal(exact.estimator_covariance) == [
        F(16, 25) * x for x in (F(37, 49), F(3), F(4, 3))
    ]
    assert diagonal(exact.reported_covariance) == [F(16, 25) * x for x in (F(1), F(7, 2), F(28, 3))]
    assert exact.coordinate_ratios == (F(37, 49), F(6, 7), F(1, 7))
    assert exact.excess_error_constant == F(16, 25) * F(135, 49) == F(432, 245)
    assert exact.central_constant == F(16, 25) * F(5, 2)
    assert exact.central_node_constant == F(16, 25) * 3
    assert exact.excess_error_constant < exact.central_node_constant
    assert exact.alone == (F(12, 25), F(1, 12))


def test_p2_by_hand() -> None:
    case = four_agents()
    exact = rational_regression(case.network, case.model)
    v = (F(3, 14), F(5, 14), F(3, 14), F(3, 14))
    assert exact.stationary_distribution == v
    squares = sum(x * x for x in v)
    moments = [F(1, 3), F(3, 4), F(25, 48), F(3, 16)]
    assert squares == F(13, 49)
    assert diagonal(exact.estimator_covariance) == [
        F(16, 25) * x for x in (squares, *(1 / s for s in moments))
    ]
    assert exact.coordinate_ratios == (squares, *v)
    assert exact.excess_error_constant == F(16, 25) * (squares + 4)
    assert exact.central_constant == F(16, 25) * (F(1, 4) + 4)
    assert exact.central_node_constant == F(16, 25) * 5
    moments_of = zip((F(1, 2), F(1, 2), F(1, 10), F(1, 5)), moments, strict=True)
    shares = [theta**2 * s for theta, s in moments_of]
    assert exact.alone == tuple(sum(shares) - share for share in shares)


exponents = st.integers(-20, 20).map(lambda k: F(2) ** k)
seen = st.sampled_from([(1, 1), (0, 0), (-1, 1), (0, 2), (-(10**6), 10**6), (10**6, 10**6 + 1)])


@given(st.data())
@settings(max_examples=40)
def test_doubles_agree_with_fractions_in_any_units(data: st.DataObject) -> None:
    """Columns in dollars beside millions, a noise of 3e7 beside one of 1: decided as in fractions.

    All numbers are doubles, so that both machines have the same problem.
    """
    d = data.draw(st.integers(1, 4))
    units = [data.draw(exponents) for _ in range(d)]
    kinds = []
    for _ in range(data.draw(st.integers(1, 3))):
        ranges = [[u * end for end in data.draw(seen)] for u in units]
        agent = RationalRegressionAgent(
            ranges=ranges,
            noise_std=data.draw(exponents),
            claimed_noise_std=data.draw(st.none() | exponents),
            batch=data.draw(st.integers(1, 2)),
            tempering=data.draw(st.sampled_from([1, F(1, 4)])),
        )
        kinds.append(agent)
    rows = [[u * data.draw(st.integers(-2, 2)) for u in units] for _ in range(2)]
    test = [[sum(r[a] * r[b] for r in rows) for b in range(d)] for a in range(d)]
    tie = [data.draw(st.integers(-2, 2)) for _ in units]
    ties = [[(a == b) + F(tie[a] * tie[b], 4) for b in range(d)] for a in range(d)]
    prior = [[ties[a][b] / (units[a] * units[b]) for b in range(d)] for a in range(d)]
    theta, mean = ([data.draw(st.integers(-2, 2)) / u for u in units] for _ in "ab")
    model = RationalRegressionModel(theta, kinds, prior, test, mean)
    shares = [F(1, 4), F(1, 4), F(1, 2)][-len(kinds) :]
    shares = [share / sum(shares) for share in shares]
    weights = [F(float(share)) for share in shares]
    exact = rational_limits([*weights[:-1], 1 - sum(weights[:-1])], model)
    v = [float(x) for x in exact.stationary_distribution]
    floats, ratios = regression_limits(v, model.as_model()), calibration(v, model.as_model())
    assert floats.is_identified == exact.is_identified
    for name in ("excess_error_constant", "reported_error_constant", "central_constant", "limit"):
        theirs = getattr(exact, name)
        wanted = theirs if theirs is None else pytest.approx(float(theirs), rel=1e-9, abs=0)
        assert getattr(floats, name) == wanted, name
    for name in ("alone", "alone_constants", "limit_estimate"):
        wanted = [float(x) for x in getattr(exact, name)]
        np.testing.assert_allclose(getattr(floats, name), wanted, rtol=1e-9, err_msg=name)
    coordinates = [np.nan if x is None else float(x) for x in exact.coordinate_ratios]
    np.testing.assert_allclose(ratios.coordinates, coordinates, rtol=1e-9)


def graded(width: str, other: str) -> RationalRegressionModel:
    """Two agents in units that differ by `width`, with a bias that correlates with x."""
    ranges = [[1, 1], ["-1", "2"], [0, 0], [f"-{width}", f"3{width[1:]}"]]
    more = [[1, 1], [0, 0], [f"-{other}", other], [0, f"{width}"]]
    unit = [["1" if a == b else "0" for b in range(4)] for a in range(4)]
    kinds = [RationalRegressionAgent(ranges=r, noise_std="1/2") for r in (ranges, more)]
    return RationalRegressionModel(["1", "2", "-1", "1/2"], kinds, unit, unit)


def test_units_that_differ_by_a_million_cost_no_digits() -> None:
    """Condition 1e22 of A⁻¹: scaling to a unit diagonal takes it all away."""
    model = graded("1e-6", "1000000")
    network = RationalNetwork.from_rows([["9/10", "1/10"], ["3/5", "2/5"]])
    exact = rational_regression(network, model)
    floats = regression_limits(network.as_network(), model.as_model())
    assert np.linalg.cond(floats.reported_covariance) > 1e22
    wanted = np.array([[float(x) for x in row] for row in exact.estimator_covariance])
    np.testing.assert_allclose(floats.estimator_covariance, wanted, rtol=1e-12, atol=0)
    assert floats.excess_error_constant == pytest.approx(
        float(exact.excess_error_constant), rel=1e-13
    )


@pytest.mark.parametrize("exponent", [6, 9, 12])
def test_correlations_lose_no_more_digits_than_the_condition_number(exponent: int) -> None:
    """Two coordinates with correlation 1 − 10^−e: no scaling helps, and the error is ε·10^e."""
    near = 1 - F(1, 10**exponent)
    close = [[F(1), near], [near, F(1)]]
    # The doubles that the floats see, so that only the computation is on trial.
    seen = [[F(float(x)) for x in row] for row in close]
    unit = [[1, 0], [0, 1]]
    kinds = [
        RationalRegressionAgent(second_moment=seen, noise_std=1),
        RationalRegressionAgent(second_moment=[[1, 0], [0, 0]], noise_std=1),
    ]
    model = RationalRegressionModel([1, 1], kinds, unit, unit)
    weights = (F(3, 4), F(1, 4))
    exact = rational_limits(weights, model)
    floats = regression_limits([0.75, 0.25], model.as_model())
    wanted = float(exact.excess_error_constant)
    assert floats.excess_error_constant == pytest.approx(wanted, rel=1e-15 * 10**exponent + 1e-14)
    lone = float(exact.alone_constants[0])
    assert lone > 10**exponent / 2
    assert floats.alone_constants[0] == pytest.approx(lone, rel=1e-15 * 10**exponent)


def test_a_hilbert_matrix() -> None:
    """Nine directions, the least seen of which makes up the constants: ε times the condition."""
    d = 9
    hilbert = [[F(float(F(1, a + b + 1))) for b in range(d)] for a in range(d)]
    unit = [[int(a == b) for b in range(d)] for a in range(d)]
    line = [[F(a * b, 64) for b in range(d)] for a in range(d)]
    kinds = [
        RationalRegressionAgent(second_moment=hilbert, noise_std=1),
        RationalRegressionAgent(second_moment=line, noise_std=2),
    ]
    model = RationalRegressionModel([1] * d, kinds, unit, unit)
    exact = rational_limits((F(1, 4), F(3, 4)), model)
    floats = regression_limits([0.25, 0.75], model.as_model())
    condition = np.linalg.cond(floats.reported_covariance)
    assert condition > 1e11
    for ours, theirs in (
        (floats.excess_error_constant, exact.excess_error_constant),
        (floats.reported_error_constant, exact.reported_error_constant),
        (floats.central_constant, exact.central_constant),
        (floats.alone_constants[0], exact.alone_constants[0]),
    ):
        assert ours == pytest.approx(float(theirs), rel=4 * condition * 2**-52)


GOOD = RationalRegressionAgent(ranges=[[1, 1], [-1, 1]], noise_std=1)
UNIT = [[1, 0], [0, 1]]
SINGLE = RationalRegressionModel([1, 1], [GOOD], UNIT, UNIT)
AGENT, MODEL = RationalRegressionAgent, RationalRegressionModel


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: AGENT(ranges=[[1, 1]], noise_std=0),
            "noise_std: expected a number above 0, got 0",
        ),
        (
            lambda: AGENT(ranges=[[1, 1], [1, -1]], noise_std=1),
            r"ranges\[1\]: expected \[low, ",
        ),
        (
            lambda: AGENT(second_moment=[[1, 2], [2, 1]], noise_std=1),
            "a positive semidefinite",
        ),
        (lambda: AGENT(noise_std=1), "exactly one of ranges and second_moment"),
        (
            lambda: MODEL([1, 1], [GOOD], [[1, 1], [1, 1]], UNIT),
            "prior_covariance: expected a po",
        ),
        (lambda: MODEL([1], [GOOD], [[1]], [[1]]), r"agents\[0\]: expected inputs of dimension 1"),
        (lambda: MODEL([1], [], [[1]], [[1]]), "agents: expected at least one"),
        (lambda: MODEL(["x", 1], [GOOD], UNIT, UNIT), "theta: expected a fraction, got 'x'"),
        (lambda: rational_limits([F(1, 2)], SINGLE), "weights: expected 1 positive fractions"),
        (lambda: rational_regression(two_nodes().network, SINGLE), "as many agents as the network"),
    ],
)
def test_bad_input_is_named(make: Callable[[], object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()
