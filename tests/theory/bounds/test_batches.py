"""Rounds that are enough where agents draw batches: against brute force and single observations."""

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from tests.models import COIN, PAIR, Tables, by_sequences, coin, coins
from theory import (
    FiniteAgent,
    FiniteModel,
    GaussianAgent,
    Network,
    account,
    learning_rate,
    printed_rounds,
    sample_sizes,
)
from theory.certified import certify_learning
from theory.design.exponent.best_exponent import worst_case_exponent
from theory.design.placement.placement_problem import law_key
from theory.design.samples.converse import _restricted
from theory.messages import Uniform, message_levels
from theory.rational import RationalModel, RationalNetwork

F = Fraction
SETTLED = Network([[0.25, 0.75], [0.25, 0.75]])
DICE: Tables = (
    [F(1)],
    [[F(1, 2), F(3, 10), F(1, 5)]],
    [[[F(1, 2), F(3, 10), F(1, 5)]], [[F(3, 10), F(3, 10), F(2, 5)]]],
)


def die(tables: Tables) -> FiniteAgent:
    inputs, truth, likelihood = (np.array(table, dtype=float) for table in tables)
    return FiniteAgent.from_tables(inputs=inputs, truth=truth, likelihood=likelihood)


BATCHES = [3, 2]
BATCHED = FiniteModel.from_agents(["a", "b"], [die(DICE)], counts=[2]).batched(BATCHES)
BRUTE = FiniteModel.from_agents(["a", "b"], [die(by_sequences(DICE, b)) for b in BATCHES])


def test_sizes_against_all_sequences() -> None:
    batched, brute = (sample_sizes(PAIR, m, delta=0.01) for m in (BATCHED, BRUTE))
    for rung in ("printed", "printed_p2", "chernoff"):
        assert getattr(batched, rung).rounds <= getattr(brute, rung).rounds
    assert batched.printed.rounds == brute.printed.rounds
    # Hoeffding's inequality sees the terms of a batch, of which brute force knows nothing.
    assert batched.repaired.rounds < brute.repaired.rounds
    ends = [(s.certified.lower, s.certified.upper) for s in (batched, brute)]
    assert ends[0] == ends[1]
    assert ends[0][0] <= ends[0][1] <= batched.chernoff.rounds


def test_probabilities_enclose_one_another() -> None:
    n = [1, 5, 40]
    one, other = (account(PAIR, m).probability(n) for m in (BATCHED, BRUTE))
    assert (one.lower <= other.upper).all()
    assert (other.lower <= one.upper).all()
    np.testing.assert_allclose(one.upper, other.upper, rtol=1e-6)  # and are as tight


@pytest.mark.parametrize("batch", [2, 5])
def test_settled_at_once_a_batch_is_as_many_rounds(batch: int) -> None:
    """All rows of W are v: every bound after n rounds is that of single ones after nB."""
    one, many = coins(2), coins(2).batched(batch)
    single, batched = (sample_sizes(SETTLED, m, delta=0.02) for m in (one, many))
    for rung in ("repaired", "chernoff"):
        assert getattr(batched, rung).rounds == math.ceil(getattr(single, rung).rounds / batch)
    n = 12
    for bound, wanted in zip(batched.bounds, single.bounds, strict=True):
        assert bound.name == wanted.name
        # The same numbers, in sums of other lengths; the grid of tilts is the same.
        assert bound.probability(n) == pytest.approx(wanted.probability(n * batch), rel=1e-9)
    probability = [account(SETTLED, m).probability([k]) for m, k in ((many, n), (one, n * batch))]
    assert probability[0].lower[0] <= probability[1].upper[0]
    assert probability[1].lower[0] <= probability[0].upper[0]
    assert batched.certified.lower <= math.ceil(single.certified.upper / batch)


def test_normal_batches() -> None:
    """Four labels of one input are their mean, of half the deviation: the same sizes."""
    one = GaussianAgent([1.0], [0.0], 1.0, [[0.0], [0.4]], 1.0)
    mean = GaussianAgent([1.0], [0.0], 0.5, [[0.0], [0.4]], 0.5)
    found = [
        sample_sizes(PAIR, FiniteModel.from_agents(["a", "b"], [agent, one]), delta=0.01)
        for agent in (one.batched(4), mean)
    ]
    assert found[0].chernoff.rounds == found[1].chernoff.rounds
    assert found[0].certified.lower == found[1].certified.lower
    assert found[0].certified.upper == found[1].certified.upper
    several = GaussianAgent([0.5, 0.5], [0.0, 0.0], 1.0, [[0.0, 0.0], [0.4, 0.2]], 1.0)
    model = FiniteModel.from_agents(["a", "b"], [several], counts=[2])
    single, batched = (sample_sizes(SETTLED, m, delta=0.01) for m in (model, model.batched(4)))
    assert batched.chernoff.rounds == math.ceil(single.chernoff.rounds / 4)
    assert 4 * (batched.certified.lower - 1) < single.certified.upper
    assert single.certified.lower <= 4 * batched.certified.upper


def printed(model: FiniteModel, factor: float, epsilon: float) -> float:
    gap = 1 - PAIR.second_eigenvalue
    return factor * model.log_ratio_bound * math.log(2 * 2 / 0.01) / (epsilon**2 * gap)


@pytest.mark.parametrize("model", [coins(2), coins(2).batched(7), BATCHED])
def test_both_papers_printed_sizes(model: FiniteModel) -> None:
    rate = learning_rate(PAIR, model).rate
    ladder = sample_sizes(PAIR, model, delta=0.01)
    assert ladder.printed.rounds == math.ceil(printed(model, 16, rate))
    assert ladder.printed_p2.rounds == math.ceil(printed(model, 8, rate / 2))
    assert not ladder.printed_p2.is_theorem
    assert "ε = K/2" in ladder.printed_p2.note
    again = printed_rounds(PAIR, model, delta=0.01, paper="P2", margin=0.1)
    assert again.rounds == math.ceil(printed(model, 8, 0.1))
    assert printed_rounds(PAIR, model, delta=0.01) == ladder.printed


@pytest.mark.parametrize(
    ("changes", "wanted"),
    [
        ({"paper": "P3"}, "paper: expected P1 or P2"),
        ({"paper": "P2", "margin": 0.0}, "margin: expected"),
        ({"margin": 0.1}, "margin: expected none with P1"),
    ],
)
def test_bad_requests_for_printed_sizes(changes: dict[str, Any], wanted: str) -> None:
    with pytest.raises(ValueError, match=wanted):
        printed_rounds(PAIR, coins(2), delta=0.01, **changes)


def test_proved_sizes_of_batches() -> None:
    network = RationalNetwork.from_network(PAIR)
    model = RationalModel.from_model(coins(2)).batched([4, 1])
    found = certify_learning(network, model)
    doubles = coins(2).batched([4, 1])
    assert found.rate.lower <= learning_rate(PAIR, doubles).rate * (1 + 1e-12)
    assert found.rate.upper >= learning_rate(PAIR, doubles).rate * (1 - 1e-12)
    from theory.certified.information import decide_reference
    from theory.certified.ladder import certify_sample_sizes
    from theory.certified.learning import certified_ladder
    from theory.certified.maximum import Evidence
    from theory.certified.network import certify_network

    certified = certify_network(network)
    evidence = Evidence(network, model)
    ladder = certify_sample_sizes(
        certified_ladder(evidence, decide_reference(evidence), certified),
        delta=0.01,
        exponent=found.exponent.midpoint,
        second_eigenvalue=certified.second_eigenvalue,
    )
    wanted = sample_sizes(PAIR, doubles, delta=0.01)
    for rung in ("printed", "printed_p2", "repaired"):
        proved, rounds = getattr(ladder, rung), getattr(wanted, rung).rounds
        assert proved.lower <= rounds <= proved.upper
    assert ladder.chernoff.lower <= wanted.chernoff.rounds


def test_laws_that_differ_in_the_batch_are_told_apart() -> None:
    normal = GaussianAgent([1.0], [0.0], 1.0, [[0.0], [0.4]], 1.0)
    assert law_key(normal) != law_key(normal.batched(2))
    assert law_key(COIN) != law_key(COIN.batched(2))
    three = coin(*([p, 1 - p] for p in (0.5, 0.4, 0.3)))
    part = coin([0.5, 0.5], [0.3, 0.7])
    assert _restricted(three.batched(4), [0, 2]) == part.batched(4)


def test_other_questions_about_batches_against_all_sequences() -> None:
    """Levels of messages that never overload; exponents whichever hypothesis is true."""
    levels = [message_levels(PAIR, model, Uniform(step=F(1, 2))) for model in (BATCHED, BRUTE)]
    assert (levels[0].least, levels[0].necessary) == (levels[1].least, levels[1].necessary)
    worst = [worst_case_exponent(model) for model in (BATCHED, BRUTE)]
    # Both searches stop within their certificates' gaps.
    gap = sum(one.certificate.gap for one in worst) + 1e-12
    assert abs(worst[0].exponent - worst[1].exponent) <= gap <= 1e-3
    normal = GaussianAgent([0.0, 1.0], [9.0, 0.0], 1.0, [[1.0, 0.0], [5.0, 0.4]], 1.0)
    single, batched = (
        worst_case_exponent(FiniteModel.from_agents(["a", "b"], [normal], counts=[2]).batched(b))
        for b in (1, 6)
    )
    assert batched.exponent == pytest.approx(6 * single.exponent, rel=1e-9)
