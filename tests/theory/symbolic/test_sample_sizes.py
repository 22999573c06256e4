"""Sample sizes and risk as formulas: against the ladder, exact chances, and certified numbers."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import flint
import numpy as np
import pytest
import sympy
from scipy.optimize import minimize_scalar
from scipy.stats import norm

from theory import FiniteAgent, FiniteModel, Network, risk_bound, sample_sizes
from theory.bounds.tails.chernoff import hoeffding_bounds
from theory.bounds.tails.events import ErrorEvents
from theory.numbers import precision
from theory.rational import RationalNetwork
from theory.symbolic import FAMILIES, closed_form
from theory.symbolic.evaluation import to_ball
from theory.symbolic.formula import Member
from theory.symbolic.parameter import Sheet, risk_formulas
from theory.symbolic.sample_sizes import sample_size_formulas
from theory.symbolic.sheet_checks import check_risk, check_sample_sizes

DELTA = Fraction(1, 20)
HEADS = Fraction(3, 5)


def value(sheet: Sheet, name: str, **values: object) -> float:
    (bound,) = [one for one in sheet.bounds if one.name == name]
    given = {sympy_symbol(sheet, key): Fraction(str(x)) for key, x in values.items()}
    with precision(200):
        return float(to_ball(sheet.number(bound, given)))


def sympy_symbol(sheet: Sheet, name: str) -> sympy.Symbol:
    found = {str(p.symbol): p.symbol for p in sheet.letters}
    for one in (*sheet.where, *sheet.bounds):
        found |= {str(s): s for s in one.expression.free_symbols}
    return found[name]


@pytest.mark.parametrize("family", FAMILIES)
def test_bounds_solved_for_n_solve_them(family: str) -> None:
    formula = closed_form(family)
    check = check_sample_sizes(formula, sample_size_formulas(formula), points=4, seed=5)
    assert check.passed
    assert {one.quantity for one in check.comparisons} >= {"n repaired", "n normal", "n coins"}


@pytest.mark.parametrize(
    ("family", "values"),
    [
        ("star", {"N": 10**9}),
        ("star", {"N": 5000, "a": "1/5000"}),  # where v is uniform, at this N alone
        ("ring", {"N": 10**9}),
        ("hypercube", {"dimension": 60}),
        ("grid", {"rows": 10**4, "columns": 10**4}),
    ],
)
def test_bounds_of_many_agents_are_checked_at_fewer(
    family: str, values: dict[str, object], monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes: list[int] = []
    network = Member.network

    def counted(member: Member) -> RationalNetwork:
        sizes.append(member.agents)
        return network(member)

    monkeypatch.setattr(Member, "network", counted)
    formula = closed_form(family).substitute(**values)  # type: ignore[arg-type]
    check = check_sample_sizes(formula, sample_size_formulas(formula), points=3, seed=5)
    assert check.passed
    assert check.smaller
    assert 0 < max(sizes) <= 256
    assert {one.quantity for one in check.comparisons} >= {"n repaired", "n normal", "n coins"}


def test_a_wrong_formula_is_found() -> None:
    formula = closed_form("star")
    sheet = sample_size_formulas(formula)
    for place, bound in enumerate(sheet.bounds):
        bounds = list(sheet.bounds)
        bounds[place] = replace(bound, expression=bound.expression * Fraction(100001, 100000))
        check = check_sample_sizes(formula, replace(sheet, bounds=tuple(bounds)), points=1)
        assert [one.quantity for one in check.comparisons if one.failures] == [bound.name]


def tossers(heads: list[Fraction | None]) -> FiniteModel:
    """Coins of these chances of heads, or their mirror images; None: who sees nothing."""
    agents = []
    for p in heads:
        q = 0.5 if p is None else float(p)
        agents.append(
            FiniteAgent.from_tables(
                truth=[[q, 1 - q]],
                likelihood=[[[q, 1 - q]], [[1 - q, q]]] if p else [[[0.5, 0.5]]] * 2,
            )
        )
    return FiniteModel.from_agents(["straight", "mirrored"], agents)


def test_star_against_the_ladder() -> None:
    star = closed_form("star").substitute(N=6, a="2/5")
    network = Network.from_topology("star", agents=6, edge_confidence=0.4)
    odds = math.log(HEADS / (1 - HEADS))
    model = tossers([HEADS, None, None, None, None, HEADS])
    information = float(2 * HEADS - 1) * odds
    letters = {
        "N": 6, "a": "2/5", "c": "1/6", "M": 2, "delta": DELTA, "R": 2 * odds, "C": odds,
        "I_1": information, "S_edges": information, "r_1": 2 * odds, "r_edges": 2 * odds,
    }  # fmt: skip
    sheet = sample_size_formulas(star)
    repaired = value(sheet, "n repaired", **letters)
    ladder = sample_sizes(network, model, delta=float(DELTA), certify=False)
    assert value(sheet, "n printed", **letters) == pytest.approx(ladder.printed.rounds, abs=1)
    # The edges' ranges are taken for all five, and mixing is counted at its worst.
    assert ladder.repaired.rounds <= repaired
    everybody = sample_sizes(network, tossers([HEADS] * 6), delta=float(DELTA), certify=False)
    (single,) = [b for b in hoeffding_bounds(ErrorEvents(network, tossers([HEADS] * 6)))[1:] if b]
    letters["S_edges"] = 5 * information
    assert single.smallest_rounds(float(DELTA)) == math.ceil(value(sheet, "n repaired", **letters))
    coins = [value(sheet, "n coins", **letters, p=HEADS, t=x) for x in np.linspace(0.1, 6, 60)]
    best = min(x for x in coins if x > 0)
    assert everybody.chernoff.rounds <= math.ceil(best) <= 1.5 * everybody.chernoff.rounds


def test_coins_at_uniform_influence_are_at_their_best_tilt() -> None:
    sheet = sample_size_formulas(closed_form("complete"))
    letters = {"N": 7, "a": "1/2", "M": 3, "delta": "1/100000000", "p": HEADS}
    best = value(sheet, "n coins, best t", **letters)
    tries = [value(sheet, "n coins", **letters, t=x) for x in ("3", "7/2", "4")]
    assert tries[1] == pytest.approx(best, rel=1e-14)
    assert best == min(tries)


@pytest.mark.parametrize(("family", "given"), [("two-agents", {"a": "1/5", "b": "2/3"}),
                                               ("complete", {"N": "5", "a": "4/5"})])  # fmt: skip
def test_normal_evidence_is_enough_and_not_far_too_much(family: str, given: dict[str, str]) -> None:
    formula = closed_form(family)
    weights = np.array(formula.weights(**given), dtype=float)
    size = len(weights)
    each = 0.02
    sums = {str(c.information): 0 for c in formula.classes}
    sums = {name: each * size / len(sums) for name in sums}
    letters = {**given, **sums, "M": 2, "delta": DELTA, "J": each}
    n = math.ceil(value(sample_size_formulas(formula), "n normal", **letters))

    def errs(rounds: int) -> float:
        power, mean, variance = np.eye(size), np.zeros(size), np.zeros(size)
        for _ in range(rounds):
            power = power @ weights
            mean += power.sum(axis=1) * each
            variance += (power**2).sum(axis=1) * 2 * each
        return float(norm.sf(mean / np.sqrt(variance)).sum())

    assert errs(n) <= DELTA
    assert errs(n // 2) > DELTA, "not twice too many"


def test_risk_against_its_routes_and_the_sharp_bound() -> None:
    sheet = risk_formulas()
    assert check_risk(sheet, points=20, seed=2).passed
    wrong = [replace(b, expression=b.expression * sympy.Rational(101, 100)) for b in sheet.bounds]
    failed = check_risk(replace(sheet, bounds=tuple(wrong)), points=20, seed=2)
    named = {one.quantity for one in failed.comparisons if one.failures}
    assert named >= {"risk printed", "risk, Pinsker", "radius for a risk"}

    def at(t: float) -> float:
        return value(sheet, "risk, every t", s=2, r="3/10", t=t)

    lowest = minimize_scalar(at, bounds=(0.1, 20), method="bounded", options={"xatol": 1e-9})
    assert lowest.fun == pytest.approx(risk_bound(0.3).sharp, rel=1e-12)


def test_letters_are_read_and_refused() -> None:
    sheet = sample_size_formulas(closed_form("ring")).substitute(delta="1/20", hypotheses=2)
    assert str(sheet.shown(sheet.where[3].expression)) == "log(20)"
    with pytest.raises(ValueError, match="delta: expected 0 < delta < 1, got 2; choose"):
        sheet.substitute(delta=2)
    with pytest.raises(ValueError, match="x: expected a letter of the bounds"):
        sheet.substitute(x=2)
    with pytest.raises(ValueError, match="an exact number, got the float"):
        sheet.substitute(delta=0.5)  # type: ignore[arg-type]


def test_letters_of_a_matrix_may_not_be_those_of_the_bounds() -> None:
    from theory.symbolic import weights_formula

    with pytest.raises(ValueError, match="which the sample sizes use, got p; rename it"):
        sample_size_formulas(weights_formula([["1-p", "p"], ["b", "1-b"]]))


def test_logarithms_are_enclosed() -> None:
    from theory.symbolic.evaluation import evaluate

    x = sympy.Symbol("x", positive=True)
    with precision(200):
        ball = evaluate(sympy.log(x) * sympy.exp(-x), {x: Fraction(2)})
        assert isinstance(ball, flint.arb)
        assert abs(float(ball) - math.log(2) * math.exp(-2)) < 1e-16
