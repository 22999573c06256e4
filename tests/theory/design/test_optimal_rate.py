"""The best rate against every vertex, in fractions, and against the whole program at once."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.strategies import mixed_models
from tests.theory.design.oracles import (
    best_rate,
    fractions_of,
    model_of,
    proved_by,
    rate_of,
    vertices,
    whole_program,
)
from theory import FiniteModel
from theory.design.constraints import Constraints
from theory.design.influences.influence_set import InfluenceSet
from theory.design.rate.exact_optimal_rate import exact_optimal_rate
from theory.design.rate.optimal_rate import OptimalRate, optimal_rate
from theory.design.rate.rate_program import reachable_targets

FLOORS = [Fraction(0), Fraction(1, 50), Fraction(1, 6)]


@st.composite
def divergences(draw: st.DrawFn, *, signed: bool = False) -> np.ndarray:
    """D of up to 4 agents and 4 hypotheses, the first best for all unless `signed`.

    Small whole numbers, so that programs are degenerate and optima are not unique; sometimes of
    very different sizes.
    """
    agents, hypotheses = draw(st.integers(1, 4)), draw(st.integers(2, 5))
    size = agents * hypotheses
    table = np.array(draw(st.lists(st.integers(0, 4), min_size=size, max_size=size)), float)
    table = table.reshape(agents, hypotheses)
    if not signed:
        table[:, 0] = 0.0
        table[draw(st.integers(0, agents - 1)), 1:] += 1.0
    scales = st.sampled_from([1.0, 1.0, 1.0, 1e-3, 1e-6])
    table = table * np.array([[draw(scales)] for _ in range(agents)])
    if agents > 2 and draw(st.booleans()):
        table[-1] = table[0]  # agents that are alike
    return table


def wrong_information(model: FiniteModel, result: OptimalRate) -> list[list[Fraction]]:
    wrong = [m for m in range(len(model.hypotheses)) if m not in result.reference]
    return fractions_of(model.information(result.target)[:, wrong])


def check(model: FiniteModel, result: OptimalRate, floor: Fraction) -> None:
    """The result against all vertices, and its proof against the definition."""
    information = wrong_information(model, result)
    best = best_rate(information, floor)
    # Valid: what is achieved and what is proved lie around the truth ...
    assert Fraction(result.certificate.value) <= best <= Fraction(result.certificate.bound)
    # ... and tight: a few dozen roundings of numbers of the size of I.
    scale = max(max(map(abs, row)) for row in information)
    assert result.certificate.gap <= 1e-13 * scale
    v = [Fraction(x) for x in result.stationary_distribution.tolist()]
    assert abs(sum(v) - 1) < 1e-15 * len(v)
    assert min(v) >= Fraction(float(floor))
    reached = rate_of(information, v) / sum(v)
    assert Fraction(result.certificate.value) <= reached <= Fraction(result.certificate.bound)
    wrong = [m for m in range(len(model.hypotheses)) if m not in result.reference]
    weights = [Fraction(result.multipliers[m]) for m in wrong]
    assert min(weights) >= 0
    assert abs(sum(weights) - 1) < 1e-15 * len(weights)
    assert proved_by(information, weights, floor) <= Fraction(result.certificate.bound)
    assert set(result.binding) == {m for m in wrong if result.multipliers[m] > 0}
    boundary = best_rate(information, Fraction(0))
    assert result.boundary_rate == pytest.approx(float(boundary), rel=1e-12)
    assert result.price == pytest.approx(float(boundary - best), rel=1e-9, abs=1e-13 * scale)


@settings(max_examples=40)
@given(table=divergences(), floor=st.sampled_from(FLOORS))
def test_the_best_of_all_vertices(table: np.ndarray, floor: Fraction) -> None:
    model = model_of(table)
    result = optimal_rate(model, influences=InfluenceSet(model.agents, floor))
    check(model, result, floor)


@settings(max_examples=40)
@given(table=divergences(signed=True), floor=st.sampled_from(FLOORS), data=st.data())
def test_a_target_that_not_all_agents_favour(
    table: np.ndarray, floor: Fraction, data: st.DataObject
) -> None:
    model = model_of(table)
    target = data.draw(st.integers(0, table.shape[1] - 1))
    allowed = InfluenceSet(model.agents, floor)
    if model.optimal_hypotheses:
        return
    # What no agent tells from the target need not be rejected.
    alike = {m for pair in model.ambiguous_pairs if target in pair for m in pair} | {target}
    information = fractions_of(np.delete(model.information(target), sorted(alike), axis=1))
    best = best_rate(information, floor)
    rates = reachable_targets(model, allowed)
    assert (target in rates.reachable) == (best > 1e-11)
    if best > 1e-11:
        result = optimal_rate(model, target=target, influences=allowed)
        check(model, result, floor)
        assert rates.rates[target] == pytest.approx(result.rate, rel=1e-12)
    else:
        assert rates.rates[target] <= 1e-11
        with pytest.raises(ValueError, match=r"target|model"):
            optimal_rate(model, target=target, influences=allowed)


@settings(max_examples=20)
@given(model=st.integers(2, 5).flatmap(mixed_models))
def test_models_of_finite_and_gaussian_agents(model: FiniteModel) -> None:
    found = reachable_targets(model)
    for target in found.reachable[:1]:
        if np.isinf(found.rates[target]):  # all hypotheses are optimal
            with pytest.raises(ValueError, match="no agent tells"):
                optimal_rate(model, target=target)
            continue
        result = optimal_rate(model, target=target)
        check(model, result, Fraction(1, 10 * model.agents))


@settings(max_examples=40)
@given(table=divergences(), floor=st.sampled_from(FLOORS))
def test_the_most_even_of_the_best(table: np.ndarray, floor: Fraction) -> None:
    """v is the point of the optimal face nearest to uniform: (v − 1/N)·(p − v) ≥ 0 for all p."""
    model = model_of(table)
    result = optimal_rate(model, influences=InfluenceSet(model.agents, floor))
    information = wrong_information(model, result)
    best = best_rate(information, floor)
    face = [vertex.influence for vertex in vertices(information, floor) if vertex.rate == best]
    v = result.stationary_distribution
    for p in face:
        # Zeros are told from rounding at 1e-9; so well the variational inequality can hold.
        assert (v - 1 / v.size) @ (np.array([float(x) for x in p]) - v) >= -1e-8
    if len(set(face)) > 1:
        assert result.is_unique is not True
    elif result.is_unique is False:
        raise AssertionError("a unique optimum was called one of several")


@pytest.mark.parametrize("unit", [1.0, 2.0**-14])
def test_few_rows_are_as_good_as_all(unit: float) -> None:
    """Rows generated as they are violated, if by little, against one program with all of them."""
    rng = np.random.default_rng(3)
    table = np.column_stack([np.zeros(30), rng.random((30, 600))])
    model = model_of(unit * table)
    result = optimal_rate(model, influences=InfluenceSet(30, 0))
    assert result.generated < 200
    whole = float((whole_program(table[:, 1:], 0.0) @ table[:, 1:]).min())
    assert result.rate == pytest.approx(unit * whole, rel=1e-12)  # two simplex methods
    # About four times 30 + 30 roundings of numbers below the unit.
    assert result.certificate.gap < 2e-14 * unit
    assert np.count_nonzero(result.multipliers) == 30 - len(result.silent)


def test_the_nearest_to_uniform_counts_agents() -> None:
    """Two agents are alike, and the plain average leaves the third hypothesis unfought.

    Every v has rate 1 against the first wrong hypothesis. u_1 + 2 u_2 ≥ 1 is left; by hand, with
    u_2 = 1/4 + s, u_1 = 1/2 − 2s and u_0 = 1/4 + s, (s − 1/4)²/2 + (1/4 − 2s)² + s² is least at
    s = 5/44.
    """
    model = model_of([[0.0, 1.0, 0.0], [0.0, 1.0, 1.0], [0.0, 1.0, 2.0]], counts=[2, 1, 1])
    result = optimal_rate(model, influences=InfluenceSet(4, 0))
    assert result.rate == pytest.approx(1.0, abs=1e-13)
    s = 5 / 44
    expected = [(0.25 + s) / 2, (0.25 + s) / 2, 0.5 - 2 * s, 0.25 + s]
    assert result.stationary_distribution == pytest.approx(expected, abs=1e-12)
    assert result.is_unique is False


def test_a_million_agents_of_three_kinds() -> None:
    table = [[0.0, 1.0, 0.0], [0.0, 0.0, 3.0], [0.0, 0.1, 0.1]]
    model = model_of(table, counts=[10**5, 4 * 10**5, 5 * 10**5])
    result = optimal_rate(model)
    v = result.stationary_distribution
    # The floor takes a tenth in all: .05 of it for the third kind.
    first, second = v[: 10**5].sum(), v[10**5 : 5 * 10**5].sum()
    assert first + second == pytest.approx(0.95, rel=1e-9)
    assert first == pytest.approx(3 * second, rel=1e-9)
    assert len(result.silent) == 5 * 10**5
    # Roundings of sums over 10⁶ agents, each exactly rounded once.
    assert result.certificate.gap < 1e-13


def test_a_forced_influence_leaves_no_choice() -> None:
    model = model_of([[0.0, 1.0], [0.0, 3.0]])
    for allowed in (
        InfluenceSet(2, "1/2"),
        InfluenceSet(2, constraints=Constraints(symmetric=True)),
        InfluenceSet(2, constraints=Constraints(doubly_stochastic=True)),
    ):
        result = optimal_rate(model, influences=allowed)
        assert result.stationary_distribution.tolist() == [0.5, 0.5]
        assert (result.rate, result.is_unique, result.silent) == (2.0, True, ())
    assert optimal_rate(model, influences=InfluenceSet(2, "1/2")).price == 1.0
    forced = InfluenceSet(2, constraints=Constraints(symmetric=True))
    assert optimal_rate(model, influences=forced).price == 0.0


def test_what_the_multipliers_mean() -> None:
    """λ and the floor's costs are the derivatives of the optimum, against differences."""
    table = np.array([[0.0, 4.0, 0.5, 1.0], [0.0, 0.5, 3.0, 2.0], [0.0, 1.0, 1.0, 1.5]])
    model = model_of(table)
    result = optimal_rate(model, influences=InfluenceSet(3, "1/100"))
    assert result.is_unique
    step = 2.0**-20
    for m in range(1, 4):
        less = table.copy()
        less[:, m] -= step
        changed = optimal_rate(model_of(less), influences=InfluenceSet(3, "1/100"))
        # The optimum is piecewise linear in a row that all agents lose alike: no step is too long
        # before the basis changes. Rounding is divided by the step.
        assert (result.rate - changed.rate) / step == pytest.approx(result.multipliers[m], abs=1e-8)
    higher = optimal_rate(model, influences=InfluenceSet(3, Fraction(1, 100) + Fraction(1, 2**20)))
    assert (result.rate - higher.rate) / step == pytest.approx(result.floor_costs.sum(), abs=1e-8)
    top = result.marginal_values.max()
    assert result.floor_costs == pytest.approx(top - result.marginal_values, abs=1e-14)


def test_two_hypotheses_that_no_agent_tells_apart() -> None:
    model = model_of([[0.0, 0.0, 2.0], [2.0, 2.0, 0.0]])
    found = optimal_rate(model, target=0)
    assert found.reference == (0, 1)
    # As if the other were not there.
    single = optimal_rate(model_of([[0.0, 2.0], [2.0, 0.0]]), target=0)
    assert found.rate == single.rate
    assert exact_optimal_rate(model, target=1).rate == exact_optimal_rate(model, target=0).rate
    assert optimal_rate(model, target=2).rate > 0
    # Twins that are both best for everybody stand in nobody's way.
    twins = model_of([[0.0, 0.0, 2.0], [1.0, 1.0, 1.5]])
    assert optimal_rate(twins).reference == (0, 1)


def test_a_rate_of_zero_is_not_reached() -> None:
    """At equal influence the two hypotheses fit equally well."""
    model = model_of([[0.0, 1.0], [1.0, 0.0]])
    found = reachable_targets(model, InfluenceSet(2, "1/2"))
    assert (found.reachable, found.rates.tolist()) == ((), [0.0, 0.0])
    assert reachable_targets(model).reachable == (0, 1)


@pytest.mark.parametrize(
    "table",
    [
        [[0, 0], [0, 0], [6.377277761466924e-06, 0], [2e-10, 0], [4e-9, 129.05549437036782]],
        [
            [2.8657082666157425e-05, 0.0],
            [7.831262546196488e-12, 3.303939571391812e-10],
            [0.3264218835183296, 0.0],
            [0.0, 289.8189549319643],
            [5.5410156817857954e-05, 0.08907742115611374],
        ],
    ],
)
def test_evidence_of_very_different_sizes(table: list[list[float]]) -> None:
    """The dual simplex method stops at these without an answer."""
    model = model_of(table)
    found = optimal_rate(model, target=0)
    check(model, found, Fraction(1, 50))


def test_a_hypothesis_easily_rejected_does_not_blur_the_others() -> None:
    """K is of the size of the hypotheses that bind, and so is the gap."""
    table = [
        [0.0, 3.9943127943138974e-10, 3.597343101722466e-05, 0.0, 2.683648539822026e-11],
        [0.0, 3.9943127943138974e-10, 3.597343101722466e-05, 0.0, 2.683648539822026e-11],
        [0.0, 0.0, 8.371826119783513e-10, 0.0, 0.0],
        [0.0, 8.775578580803808e-12, 8.714524248710403e-06, 281.00344693549334, 0.0274137],
        [0.0, 7.228949062480315e-11, 203.49150417581902, 2.073480524529619e-07, 0.00044177],
    ]
    found = optimal_rate(model_of(table), influences=InfluenceSet(5, Fraction(1, 35)))
    assert found.rate > 1e-10
    # HiGHS takes multipliers that are right to 1e-10.
    assert found.certificate.gap < 1e-9 * found.rate


def test_influences_sum_to_one_above_a_floor_below_the_solver_s_tolerance() -> None:
    table = [
        [1.0, 1.0, 0.0, 1.0, 1.0, 1.0],
        [1.0, 1.0, 0.0, 1.0, 1.0, 1.0],
        [2.0, 2.0, 2.0, 2.0, 2.0, 0.0],
        [2.0, 2.0, 1.0, 2.0, 2.0, 2.0],
        [2.0, 2.0, 0.0, 1.0, 2.0, 2.0],
        [0.0, 0.0, 2.0, 1.0, 0.0, 2.0],
        [1.0, 1.0, 2.0, 2.0, 1.0, 2.0],
        [1.0, 1.0, 1.0, 0.0, 1.0, 1.0],
    ]
    model = model_of(table)
    found = optimal_rate(model, target=3, influences=InfluenceSet(8, 1e-12))
    v = found.stationary_distribution
    assert abs(v.sum() - 1) < 1e-15
    assert v.min() >= 1e-12
    wrong = [m for m in range(6) if m != 3]
    assert abs(float((v @ model.information(3)[:, wrong]).min()) - found.rate) < 1e-15
