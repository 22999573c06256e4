"""The best rate in fractions against every vertex; sums of logarithms against 60 digits."""

from __future__ import annotations

from fractions import Fraction
from importlib import import_module
from itertools import combinations

import flint
import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.strategies import rational_models
from tests.theory.design.oracles import (
    TRIANGLE,
    best_rate,
    fractions_of,
    model_of,
    proved_by,
    rate_of,
    vertices,
)
from tests.theory.design.test_optimal_rate import divergences
from theory.design.constraints import Constraints
from theory.design.influences.flow_rows import Basis
from theory.design.influences.influence_set import InfluenceSet
from theory.design.rate.exact_optimal_rate import (
    BasisError,
    Game,
    exact_information,
    exact_optimal_rate,
)
from theory.design.rate.optimal_rate import optimal_rate
from theory.design.rate.rate_program import (
    LeastProgram,
    RateSolution,
    group_agents,
    rate_target,
    reachable_targets,
)
from theory.numbers import LogSum, as_fraction, precision
from theory.rational import RationalFiniteAgent, RationalGaussianAgent, RationalModel

# The package's function of that name hides the module.
module = import_module("theory.design.rate.exact_optimal_rate")

FLOORS = [Fraction(0), Fraction(1, 50), Fraction(1, 6)]


@settings(max_examples=30)
@given(table=divergences(), floor=st.sampled_from(FLOORS))
def test_the_best_of_all_vertices_exactly(table: np.ndarray, floor: Fraction) -> None:
    model = model_of(table)
    result = exact_optimal_rate(model, influences=InfluenceSet(model.agents, floor))
    wrong = [m for m in range(len(model.hypotheses)) if m not in result.reference]
    information = fractions_of(model.information(result.target)[:, wrong])
    assert result.rate == best_rate(information, floor)
    v = result.stationary_distribution
    assert (sum(v), min(v) >= floor, rate_of(information, v)) == (1, True, result.rate)
    weights = [result.multipliers[m] for m in wrong]
    assert (sum(weights), min(weights) >= 0) == (1, True)
    assert proved_by(information, weights, floor) == result.rate
    assert (result.certificate.kind, result.certificate.gap) == ("exact", 0.0)
    assert result.enclosure.contains(result.rate)
    assert result.enclosure.is_tight


@settings(max_examples=25)
@given(table=divergences(signed=True), data=st.data())
def test_doubles_of_no_particular_size(table: np.ndarray, data: st.DataObject) -> None:
    """Many digits: exact ties of the small numbers are broken at the last place."""
    factor = data.draw(st.floats(0.1, 10.0))
    model = model_of(table * factor / 3)
    if model.optimal_hypotheses:
        return
    allowed = InfluenceSet(model.agents, "1/50")
    for target in range(table.shape[1]):
        information = fractions_of(np.delete(model.information(target), target, axis=1))
        best = best_rate(information, Fraction(1, 50))
        if best > 1e-9:
            found = exact_optimal_rate(model, target=target, influences=allowed)
            assert found.rate == best
            assert optimal_rate(model, target=target, influences=allowed).certificate.bound >= best
        elif best < -1e-9:
            with pytest.raises(ValueError, match=r"target|model"):
                exact_optimal_rate(model, target=target, influences=allowed)


def best_in_digits(model: RationalModel, target: int, wrong: list[int], floor: Fraction) -> object:
    """The largest K over vertices, in 60 digits."""
    with mpmath.workdps(60):

        def number(x: LogSum) -> object:
            total = mpmath.mpf(x.rational.numerator) / x.rational.denominator
            for base, q in x.logs:
                total += mpmath.log(base) * q.numerator / q.denominator
            return total

        kinds = [[number(row[m] - row[target]) for m in wrong] for row in model.kind_divergences]
        table = [kinds[k] for k in model.assignment]
        low = mpmath.mpf(floor.numerator) / floor.denominator
        return max(vertex.rate for vertex in vertices(table, low, zero=1e-40))


@settings(max_examples=25)
@given(model=st.integers(1, 3).flatmap(rational_models), data=st.data())
def test_sums_of_logarithms_are_enclosed(model: RationalModel, data: st.DataObject) -> None:
    optimal = model.optimal_hypotheses
    target = optimal[0] if optimal else data.draw(st.integers(0, len(model.hypotheses) - 1))
    reference = optimal or (target,)
    wrong = [m for m in range(len(model.hypotheses)) if m not in reference]
    floor = Fraction(1, 10 * model.agents)
    best = best_in_digits(model, target, wrong, floor) if wrong else -1
    if best < 1e-30:
        with pytest.raises(ValueError, match=r"target|model|hypotheses"):
            exact_optimal_rate(model, target=target)
        return
    found = exact_optimal_rate(model, target=target)
    assert found.enclosure.lower <= best <= found.enclosure.upper
    assert found.enclosure.relative_width <= 2.0**-50
    entries = [row[m] - row[target] for row in model.kind_divergences for m in wrong]
    assert (found.rate is None) == any(not entry.is_rational for entry in entries)
    assert sum(found.stationary_distribution) == 1
    assert min(found.stationary_distribution) >= floor


def test_what_few_bits_leave_open_is_inside(monkeypatch: pytest.MonkeyPatch) -> None:
    """Logarithms to 16 bits: the enclosure is as wide as they are wrong, and holds K."""
    half = [Fraction(1, 2)] * 2

    def coin(*heads: str) -> RationalFiniteAgent:
        claims = [[[Fraction(h), 1 - Fraction(h)]] for h in heads]
        return RationalFiniteAgent.from_tables(inputs=[1], truth=[half], likelihood=claims)

    agents = [coin("1/2", "3/4", "1/2"), coin("1/2", "1/2", "2/3"), coin("1/2", "3/5", "3/5")]
    model = RationalModel.from_agents(["fair", "a", "b"], agents)
    best = best_in_digits(model, 0, [1, 2], Fraction(1, 30))
    monkeypatch.setattr(module, "_START_BITS", 16)
    monkeypatch.setattr(module, "_WIDTH", 1.0)
    found = exact_optimal_rate(model)
    assert found.enclosure.lower <= best <= found.enclosure.upper
    # Between one and some thousand units of 16 bits.
    assert 1e-6 < found.enclosure.relative_width < 1e-1
    assert found.certificate.kind == "certified"


def test_rational_divergences_give_a_fraction() -> None:
    """Equal standard deviations: I is a difference of squares."""
    means = [["0"], ["2"], ["0"]], [["0"], ["0"], ["1"]]
    agents = [
        RationalGaussianAgent.from_tables(
            inputs=[1], truth_means=["0"], truth_std="1", means=rows, std="1"
        )
        for rows in means
    ]
    model = RationalModel.from_agents(["zero", "a", "b"], agents, counts=[1, 2])
    found = exact_optimal_rate(model)
    assert (found.rate, found.certificate.kind) == (Fraction(2, 5), "exact")
    assert found.stationary_distribution == (Fraction(1, 5), Fraction(2, 5), Fraction(2, 5))


def test_kinds_that_differ_by_less_than_a_double_can_tell() -> None:
    tiny = Fraction(1, 10**30)
    half = [Fraction(1, 2)] * 2

    def coin(heads: Fraction) -> RationalFiniteAgent:
        return RationalFiniteAgent.from_tables(
            inputs=[1], truth=[half], likelihood=[[half], [[heads, 1 - heads]]]
        )

    agents = [coin(Fraction(3, 4)), coin(Fraction(3, 4) + tiny)]
    model = RationalModel.from_agents(["fair", "loaded"], agents)
    found = exact_optimal_rate(model, influences=InfluenceSet(2, 0))
    # The second agent's coin is farther from fair, by 1e-30.
    assert found.stationary_distribution == (0, 1)
    with precision(90):
        assert found.enclosure.contains(flint.arb(2).log() - flint.arb(3).log() / 2)


def test_fixed_rows() -> None:
    # Doubles that are exact, so that the fractions can be followed by hand.
    constraints = Constraints(fixed_rows={1: np.array([0.25, 0.5, 0.25])})
    model = model_of([[0.0, 0.0, 1.0], [0.0, 4.0, 0.0], [0.0, 0.0, 1.0]])
    allowed = InfluenceSet(3, 0, constraints, TRIANGLE)
    exact = exact_optimal_rate(model, influences=allowed)
    # Agent 1 returns half its influence: v_1 ≤ 2 (v_0 + v_2), which does not bind. K = .8.
    assert exact.rate == Fraction(4, 5)
    assert exact.stationary_distribution[1] == Fraction(1, 5)
    floats = optimal_rate(model, influences=allowed)
    assert floats.rate == pytest.approx(0.8, abs=1e-12)
    assert floats.certificate.gap < 1e-12
    # Of the many, (v_0, v_2) with the least largest entry.
    assert floats.stationary_distribution == pytest.approx([0.4, 0.2, 0.4], abs=1e-9)
    assert floats.is_unique is not True
    # With I_1 = 1/8 the balance binds: v = (1/6, 2/3, 1/6) and K = 1/12 from agent 1.
    faint = model_of([[0.0, 0.0, 1.0], [0.0, 0.125, 0.0], [0.0, 0.0, 1.0]])
    exact = exact_optimal_rate(faint, influences=allowed)
    assert exact.rate == Fraction(1, 12)
    assert exact.stationary_distribution[1] == Fraction(2, 3)
    assert optimal_rate(faint, influences=allowed).rate == pytest.approx(1 / 12, abs=1e-12)


def test_what_floating_point_left_out_is_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    """Doubles that stop at three hypotheses of five hundred: the exact method asks for others."""
    rng = np.random.default_rng(4)
    table = np.column_stack([np.zeros(6), rng.integers(1, 1000, (6, 500)) / 1024])
    model, allowed = model_of(table), InfluenceSet(6, 0)
    plain = exact_optimal_rate(model, influences=allowed)
    assert plain.refinements == 0

    def hasty(program: LeastProgram) -> RateSolution:
        found = program.program.solve()
        return program._solution(found, found.x[:-1], found.x[:-1] @ program.payoffs)

    monkeypatch.setattr("theory.design.rate.rate_program._FEWEST_ROWS", 3)
    monkeypatch.setattr(LeastProgram, "solve", hasty)
    mended = exact_optimal_rate(model, influences=allowed)
    assert mended.rate == plain.rate
    assert mended.refinements > 0
    given_up = exact_optimal_rate(model, influences=allowed, most_refinements=0)
    assert given_up.rate is None
    assert given_up.enclosure.contains(plain.rate)
    assert given_up.certificate.kind == "certified"
    assert "not verified: not optimal after 0 refinements" in given_up.certificate.note


@settings(max_examples=25)
@given(table=divergences(signed=True), floor=st.sampled_from(FLOORS))
def test_from_every_basis_to_the_same_optimum(table: np.ndarray, floor: Fraction) -> None:
    model = model_of(table)
    target = reachable_targets(model, InfluenceSet(model.agents, floor)).reachable[:1]
    if not target or len(model.optimal_hypotheses) == table.shape[1]:
        return
    allowed, aim = InfluenceSet(model.agents, floor), rate_target(model, target[0])
    groups = group_agents(allowed, model, aim)
    program = groups.program()
    game = Game.of(allowed, groups, program, exact_information(model, aim, 0))
    last, rows = groups.counts.size, 1 + len(program.generated)
    values = set()
    for size in range(min(last, rows - 1) + 1):
        for chosen in combinations(range(last), size):
            for tight in combinations(range(1, rows), size):
                start = Basis(np.array([*chosen, last]), np.array([0, *tight]))
                try:
                    game.at(start)
                except BasisError:  # singular: no basis
                    continue
                values.add(game.solve(start, 20)[0].point[-1])
    assert len(values) == 1
    information = fractions_of(groups.payoffs[groups.membership])
    assert as_fraction(values.pop()) == best_rate(information, floor)
