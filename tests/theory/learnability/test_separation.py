"""Who tells apart and who rejects what, against pairs gone through one by one."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import fsum, log, mpf, sign, workdps
from numpy.typing import NDArray

from tests.models import COIN, FAIR, coin
from tests.strategies import mixed_models, rational_models
from theory import FiniteModel, GaussianAgent
from theory.learnability import disputes, rejection, separation
from theory.rational import RationalModel

LEFT, RIGHT = [0.75, 0.25], [0.25, 0.75]


def separated(model: FiniteModel | RationalModel, agents: list[int]) -> set[tuple[int, int]]:
    """The pairs that some of the agents tell apart, one by one."""
    return {
        (a, b)
        for a, b in combinations(range(len(model.hypotheses)), 2)
        if any(not model.kinds[model.assignment[j]].indistinguishable(a, b) for j in agents)
    }


def check_separation(model: FiniteModel | RationalModel) -> None:
    who = separation(model)
    everyone = list(range(model.agents))
    all_pairs = separated(model, everyone)
    names = range(len(model.hypotheses))
    assert set(who.unseparable_pairs) == set(combinations(names, 2)) - all_pairs
    assert who.unseparable_pairs == model.ambiguous_pairs
    assert sorted(theta for members in who.groups for theta in members) == list(names)
    for a, b in combinations(names, 2):
        separators = [j for j in everyone if (a, b) in separated(model, [j])]
        assert who.separators(a, b).tolist() == separators
        assert who.counts[a, b] == who.counts[b, a] == len(separators)
    for j in everyone:
        lost = all_pairs - separated(model, [i for i in everyone if i != j])
        assert {tuple(pair) for pair in who.pairs_guarded_by(j).tolist()} == lost
        assert who.guards[j] == len(lost)
        assert (j in who.redundant) == (not lost)
    table = who.signatures.table
    assert {row.tobytes() for row in table} == {
        (who.classes[:, a] != who.classes[:, b])[None].tobytes()
        if not (who.kind_counts == 0).any()
        else ((who.classes[:, a] != who.classes[:, b]) & (who.kind_counts > 0)).tobytes()
        for a, b in all_pairs
    }
    for row, (a, b) in zip(table, who.signatures.pairs.tolist(), strict=True):
        kinds = {int(model.assignment[j]) for j in who.separators(a, b)}
        assert set(np.flatnonzero(row).tolist()) == kinds


@given(st.integers(1, 5).flatmap(lambda n: rational_models(n, max_hypotheses=5)))
@settings(max_examples=40)
def test_separation_of_rationals(model: RationalModel) -> None:
    check_separation(model)


@given(st.integers(1, 5).flatmap(mixed_models))
@settings(max_examples=40)
def test_separation_of_doubles(model: FiniteModel) -> None:
    check_separation(model)


def test_doubles_agree_with_rationals_where_thirds_are_rounded() -> None:
    thirds = [[1 / 3, 2 / 3], [3 * 0.1 / 0.9, 6 * 0.1 / 0.9], [0.4, 0.6]]
    assert thirds[0] != thirds[1]
    who = separation(FiniteModel.from_agents(["a", "b", "c"], [coin(*thirds)]))
    assert who.groups == ((0, 1), (2,))
    assert who.unseparable_pairs == ((0, 1),)


def test_an_input_of_probability_zero_teaches_nothing() -> None:
    agent = GaussianAgent([1.0, 0.0], [0.0, 0.0], 1.0, [[0.0, 0.0], [0.0, 5.0], [1.0, 0.0]], 1.0)
    who = separation(FiniteModel.from_agents(["a", "b", "c"], [agent]))
    assert who.groups == ((0, 1), (2,))


def test_a_kind_that_nobody_is_of_separates_nothing() -> None:
    model = FiniteModel(("a", "b"), (coin(FAIR, FAIR), COIN), np.zeros(3), np.zeros((2, 2)))
    who = separation(model)
    assert who.unseparable_pairs == ((0, 1),)
    assert who.signatures.table.shape == (0, 2)
    assert who.redundant == (0, 1, 2)


def signs_by_fifty_digits(model: RationalModel, target: int) -> NDArray[np.int8]:
    """The sign of E log ℓ(target)/ℓ(θ) for every kind and θ; numbers below 1e-40 are zero."""
    with workdps(50):
        rows = [
            [
                fsum(
                    mpf(p.numerator)
                    / p.denominator
                    * log(mpf(b.numerator * o.denominator) / (b.denominator * o.numerator))
                    for p, b, o in zip(
                        kind.probabilities, kind.likelihoods[target], claim, strict=True
                    )
                )
                for claim in kind.likelihoods
            ]
            for kind in model.kinds
        ]
        return np.array([[0 if abs(x) < 1e-40 else int(sign(x)) for x in row] for row in rows])


@given(st.integers(1, 5).flatmap(lambda n: rational_models(n, max_hypotheses=4)), st.data())
@settings(max_examples=30)
def test_rejection_of_rationals(model: RationalModel, data: st.DataObject) -> None:
    target = data.draw(st.integers(0, len(model.hypotheses) - 1))
    found = rejection(model, target)
    everyone = range(model.agents)
    expected = signs_by_fifty_digits(model, target)
    np.testing.assert_array_equal(found.signs, expected)
    if target in model.optimal_hypotheses:
        assert found.is_optimal
        assert found.reference == model.optimal_hypotheses
        assert not found.unrejected
    rejecters = {
        theta: [j for j in everyone if expected[model.assignment[j], theta] > 0]
        for theta in found.wrong
    }
    for theta, agents in rejecters.items():
        assert found.rejecters(theta).tolist() == agents
    assert found.unrejected == tuple(t for t, agents in rejecters.items() if not agents)
    for j in everyone:
        alone = tuple(t for t, agents in rejecters.items() if agents == [j])
        assert found.guarded_by(j) == alone
        assert found.guards[j] == len(alone)
        assert (j in found.redundant) == (not alone)


def test_telling_apart_is_not_rejecting() -> None:
    """Left and right are equally far from a fair coin: told apart by all, rejected by none."""
    model = FiniteModel.from_agents(["left", "right"], [coin(LEFT, RIGHT)])
    assert separation(model).unseparable_pairs == ()
    assert model.optimal_hypotheses == (0, 1)
    assert rejection(model, 0).wrong == ()
    with_fair = FiniteModel.from_agents(["fair", "left", "right"], [coin(FAIR, LEFT, RIGHT)])
    against_left = rejection(with_fair, 1)
    assert against_left.signs.tolist() == [[-1, 0, 0]]
    assert against_left.wrong == (0, 2)
    assert against_left.unrejected == (0, 2)


def test_rounding_rejects_nothing() -> None:
    """Equally far from a fair coin, computed differently; and not the best, so that it shows."""
    thirds = [[1 / 3, 2 / 3], [3 * 0.1 / 0.9, 6 * 0.1 / 0.9], FAIR]
    model = FiniteModel.from_agents(["a", "b", "fair"], [coin(*thirds)])
    assert model.kind_divergences[0, 0] != model.kind_divergences[0, 1]
    for target in (0, 1):
        assert rejection(model, target).signs.tolist() == [[0, 0, -1]]
    assert not disputes(model, [1.0], 0).support[1]


def test_disputes_are_the_definition_written_out() -> None:
    model = FiniteModel.from_agents(
        ["left", "fair", "right"],
        [coin(LEFT, FAIR, RIGHT, truth=LEFT), coin(LEFT, FAIR, RIGHT, truth=RIGHT)],
        counts=[2, 1],
    )
    v = np.array([0.3, 0.3, 0.4])
    found = disputes(model, v, 1)
    gap = model.information(1)
    np.testing.assert_allclose(found.support, v @ np.maximum(-gap, 0), rtol=1e-15)
    np.testing.assert_allclose(found.opposition - found.support, v @ gap, atol=1e-16)
    assert found.most_disputed == 0
    assert found.supporters(0).tolist() == [0, 1]
    assert found.supporters(2).tolist() == [2]
    agreed = disputes(FiniteModel.from_agents(["fair", "loaded"], [COIN]), [1.0], 0)
    assert agreed.most_disputed is None


def test_bad_input() -> None:
    who = separation(FiniteModel.from_agents(["fair", "loaded"], [COIN]))
    with pytest.raises(ValueError, match="second: expected a whole number of at most 1, got 2"):
        who.separators(0, 2)
    with pytest.raises(ValueError, match="agent: expected a whole number of at most 0, got 1"):
        who.pairs_guarded_by(1)
    with pytest.raises(ValueError, match="target: expected a whole number of at most 1, got 5"):
        rejection(FiniteModel.from_agents(["fair", "loaded"], [COIN]), 5)
    with pytest.raises(ValueError, match="one weight for each of 1 agents"):
        disputes(FiniteModel.from_agents(["fair", "loaded"], [COIN]), [0.5, 0.5], 0)
