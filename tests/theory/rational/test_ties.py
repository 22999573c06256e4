"""The gap around zero, against enumeration; and what it does for the accountant."""

from fractions import Fraction
from itertools import product
from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from theory import FiniteAgent, FiniteModel, Network, account
from theory.numbers import LogSum
from theory.rational import (
    RationalFiniteAgent,
    RationalGaussianAgent,
    RationalModel,
    RationalNetwork,
    common_unit,
    tie_gap,
)

ONE = RationalNetwork.from_rows([["1"]])


def coin(first: str, second: str, truth: str = "2/3") -> RationalFiniteAgent:
    rows = [[[p, str(1 - Fraction(p))]] for p in (first, second)]
    true = [[truth, str(1 - Fraction(truth))]]
    return RationalFiniteAgent.from_tables(inputs=[1], truth=true, likelihood=rows)


@given(st.lists(st.fractions(max_denominator=12), min_size=1, max_size=5))
def test_the_unit_divides_every_value_and_is_the_largest(multiples: list[Fraction]) -> None:
    base = LogSum.log(Fraction(5, 3)) + LogSum.log(2, Fraction(1, 7))
    unit = common_unit([base * q for q in multiples])
    if not any(multiples):
        assert unit is None
        return
    assert unit.sign() == 1
    # In units of the base: a positive rational of which all are whole multiples.
    size = next(Fraction(c) / base.logs[0][1] for b, c in unit.logs if b == base.logs[0][0])
    quotients = [q / abs(size) for q in multiples]
    assert all(q.denominator == 1 for q in quotients)
    assert np.gcd.reduce([int(q) for q in quotients]) == 1


def test_no_log_ratio_lies_in_the_gap() -> None:
    network = RationalNetwork.from_rows([["1/3", "2/3"]] * 2)
    model = RationalModel.from_agents(
        ["a", "b"], [coin("2/3", "1/3"), coin("4/5", "1/5")], priors=[["1/3", "2/3"], None]
    )
    # log 2 and log 4 are commensurable: one coin's odds are the square of the other's.
    gap = tie_gap(network, model, reference=[0])
    assert gap == pytest.approx(np.log(2) / 3, rel=1e-14)
    values = []
    for rounds in range(1, 5):
        for ones in product(range(rounds + 1), repeat=2):
            steps = [2 * k - rounds for k in ones]
            values.append((-1 + steps[0] + 4 * steps[1]) * np.log(2) / 3)
    positive = [value for value in values if value > 1e-9]
    assert min(positive) >= gap * (1 - 1e-12)
    assert min(positive) == pytest.approx(gap)


@pytest.mark.parametrize(
    ("network", "agent"),
    [
        (RationalNetwork.from_rows([["9/10", "1/10"], ["3/5", "2/5"]]), coin("2/3", "1/3")),
        (ONE, coin("1/2", "3/4")),
        (
            ONE,
            RationalGaussianAgent.from_tables(
                inputs=[1], truth_means=[0], truth_std=1, means=[[0], [1]], std=1
            ),
        ),
    ],
    ids=["weights that mix", "incommensurable", "normal"],
)
def test_no_gap_where_none_is_proved(network: RationalNetwork, agent: object) -> None:
    model = RationalModel.from_agents(["a", "b"], [agent], counts=[network.agents])  # type: ignore[list-item]
    assert tie_gap(network, model, reference=[0]) == 0.0


@pytest.mark.parametrize(("p", "delta"), [("5/9", 0.3), ("2/3", 0.05), ("2/3", 1e-6)])
def test_ties_are_counted_by_both_ends(p: str, delta: float) -> None:
    """A symmetric coin ties at every even round; the lower end used to miss that mass."""
    q = float(Fraction(p))
    other = str(1 - Fraction(p))
    rational = RationalModel.from_agents(["a", "b"], [coin(p, other, truth=p)])
    gap = tie_gap(ONE, rational, reference=[0])
    assert gap == pytest.approx(np.log(q / (1 - q)))
    floats = FiniteAgent.from_tables(
        inputs=[1.0], truth=[[q, 1 - q]], likelihood=[[[q, 1 - q]], [[1 - q, q]]]
    )
    found = account(Network([[1.0]]), FiniteModel.from_agents(["a", "b"], [floats]), tie_gap=gap)
    exact = np.array(
        [
            sum(comb(n, k) * q**k * (1 - q) ** (n - k) for k in range(n // 2 + 1))
            for n in range(1, 400)
        ]
    )
    rounds = np.array([2, 3, 20, 21, 60])
    bounds = found.probability(rounds)
    truth = exact[rounds - 1]
    assert (bounds.lower <= truth).all()
    assert (truth <= bounds.upper).all()
    # As sharp as without ties: 2 % and a little.
    assert (bounds.upper <= 1.05 * bounds.lower).all()
    size = found.sample_size(delta)
    needed = int(np.flatnonzero(exact > delta)[-1]) + 2
    assert size.lower <= needed <= size.upper
    assert size.upper - size.lower <= 0.05 * needed + 1


def test_a_negative_gap_is_refused() -> None:
    model = FiniteModel.from_agents(
        ["a", "b"],
        [FiniteAgent.from_tables(inputs=[1], truth=[[0.5, 0.5]], likelihood=[[[0.5, 0.5]]] * 2)],
    )
    with pytest.raises(ValueError, match="tie_gap"):
        account(Network([[1.0]]), model, tie_gap=-1.0)
