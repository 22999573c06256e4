from math import log

import numpy as np
import pytest
from hypothesis import given, settings

from tests.models import COIN, coins
from tests.strategies import changing_networks
from tests.theory.changing.oracles import phase_rounds, phase_sequences, possible_rounds, run
from theory import FiniteAgent, FiniteModel, Network, expected_log_ratio
from theory.changing import (
    ChangingNetwork,
    DelayedNetwork,
    MarkovNetwork,
    PeriodicNetwork,
    Phase,
    RandomLinks,
    RandomPresence,
    rotating_star,
)
from theory.network.structure import as_dense
from theory.validation import FloatArray

SKEW = Network([[0.2, 0.5, 0.3], [0.4, 0.0, 0.6], [0.9, 0.1, 0.0]])
MODEL = FiniteModel.from_agents(
    ["fair", "loaded"], [COIN] * 3, priors=[[0.2, 0.8], None, [0.9, 0.1]]
)
INFORMATION = MODEL.information(0)
PRIOR = (MODEL.log_priors[:, [0]] - MODEL.log_priors)[MODEL.assignment]


def found(network: ChangingNetwork, rounds: int) -> FloatArray:
    return expected_log_ratio(network, MODEL, [rounds], best=0).values[0]


@given(changing_networks(changes=("periodic", "markov"), min_agents=3, max_agents=3))
@settings(max_examples=40)
def test_every_course_of_the_phases(network: ChangingNetwork) -> None:
    assert isinstance(network, PeriodicNetwork | MarkovNetwork)
    cases = phase_rounds(network)
    for n in (1, 2, 5):
        if isinstance(network, PeriodicNetwork):
            course = [cases[t % network.period] for t in range(n)]
            expected = run(course, INFORMATION, PRIOR)
        else:
            expected = sum(
                chance * run([cases[s] for s in sequence], INFORMATION, PRIOR)
                for chance, sequence in phase_sequences(network, n)
            )
        # A few averages of numbers of order one.
        np.testing.assert_allclose(found(network, n), expected, atol=1e-13)


def test_a_first_phase_that_is_given() -> None:
    walk = MarkovNetwork.walk(SKEW, initial=[0, 0, 1])
    cases = phase_rounds(walk)
    expected = sum(
        chance * run([cases[s] for s in sequence], INFORMATION, PRIOR)
        for chance, sequence in phase_sequences(walk, 4)
    )
    np.testing.assert_allclose(found(walk, 4), expected, atol=1e-14)


@pytest.mark.parametrize(
    "network",
    [
        RandomLinks(SKEW, 0.4),
        RandomLinks(SKEW, 0.4, "renormalise"),
        RandomPresence(SKEW, np.array([0.3, 1.0, 0.8])),
    ],
    ids=["own", "renormalise", "presence"],
)
def test_every_course_of_links_and_agents(network: RandomLinks | RandomPresence) -> None:
    cases = possible_rounds(network)
    expected = sum(
        p * q * run([(a, x), (b, y)], INFORMATION, PRIOR) for p, a, x in cases for q, b, y in cases
    )
    np.testing.assert_allclose(found(network, 2), expected, atol=1e-12)


def test_every_course_of_remembered_messages() -> None:
    up = np.array([[1, 0.3, 0.8], [0.5, 1, 0.4], [0.9, 0.4, 1]])
    network = RandomLinks(SKEW, up, "last")
    edges, weights = network.network.edges, np.asarray(SKEW.weights)
    expected = np.zeros_like(PRIOR)

    def descend(chance: float, state: FloatArray, kept: FloatArray, left: int) -> None:
        nonlocal expected
        if left == 0:
            expected += chance * state
            return
        said = state + INFORMATION
        for case in range(2 ** len(edges)):
            arrived = (case >> np.arange(len(edges))) & 1
            here = np.prod(np.where(arrived, network.link_up, 1 - network.link_up))
            held = np.where(arrived[:, None], said[edges[:, 1]], kept)
            pooled = np.diag(weights)[:, None] * said
            for link, (i, j) in enumerate(edges):
                pooled[i] += weights[i, j] * held[link]
            descend(chance * float(here), pooled, held, left - 1)

    descend(1.0, PRIOR, PRIOR[edges[:, 1]], 2)
    np.testing.assert_allclose(found(network, 2), expected, atol=1e-12)


def test_delays_by_keeping_everything_that_was_said() -> None:
    delays = np.array([[1, 3, 0], [0, 0, 2], [1, 1, 0]])
    network = DelayedNetwork(SKEW, delays)
    weights = as_dense(SKEW.weights)
    state, said = PRIOR, dict.fromkeys(range(-5, 1), PRIOR)
    for t in range(1, 13):
        said[t] = state + INFORMATION
        state = np.array(
            [sum(weights[i, j] * said[t - delays[i, j]][j] for j in range(3)) for i in range(3)]
        )
        np.testing.assert_allclose(found(network, t), state, atol=1e-13)


@pytest.mark.parametrize(
    "network",
    [
        PeriodicNetwork([SKEW.weights] * 2),
        DelayedNetwork(SKEW, 1),
        MarkovNetwork.walk(SKEW),
        MarkovNetwork.clocks(SKEW, [1.0, 2.0, 3.0]),
        RandomLinks(SKEW, 0.4),
        RandomLinks(SKEW, 0.4, "last"),
        RandomPresence(SKEW, 0.8, mean_absence=3.0),
    ],
    ids=["periodic", "delayed", "walk", "clocks", "own", "last", "presence"],
)
def test_a_prior_hides_no_evidence_however_far_ahead(network: ChangingNetwork) -> None:
    """It ends as a constant between the smallest and the largest; K is 1e-13 a round."""
    tables = [[[0.5, 0.5]], [[0.5 + 2.0**-22, 0.5 - 2.0**-22]]]
    agent = FiniteAgent.from_tables(truth=[[0.5, 0.5]], likelihood=tables)
    priors = [[1 / 3, 2 / 3], [0.7, 0.3], [1e-300, 1 - 1e-300]]
    plain, held = (
        FiniteModel.from_agents(["fair", "loaded"], [agent] * 3, priors=given)
        for given in (None, priors)
    )
    rounds = [10**5, 10**10, 10**15]
    without, with_ = (
        expected_log_ratio(network, model, rounds, best=0).values[..., 1] for model in (plain, held)
    )
    assert without[2].min() > 1
    share = (with_ - without)[0]
    assert log(1e-300) < share.min() <= share.max() < log(7 / 3)
    np.testing.assert_allclose(with_ - without, [share] * 3, rtol=1e-12)
    np.testing.assert_allclose(without[2], 1e5 * without[1], rtol=1e-4)


def test_a_law_of_phases_that_still_moves_is_not_taken_for_settled() -> None:
    """Everything looked at rest after one round: all agents had added the same."""
    pool, watch = Phase(np.full((2, 2), 0.5)), Phase(np.eye(2), [0])
    chain = np.array([[0.5, 0.5], [0.5, 0.5]])
    network = MarkovNetwork((pool, watch), chain, initial=[1.0, 0.0])
    model = coins(2)
    rounds = [1, 2, 3, 10, 1000]
    got = expected_log_ratio(network, model, rounds, best=0).values[:, :, 1]
    information = model.information(0)[:, [1]]
    # By hand: state(s) = W_s (Σ_r Q_rs state(r) + P(s) A_s I), summed over the phases.
    law, table, wanted = np.array([1.0, 0.0]), np.zeros((2, 2)), []
    for t in range(1, 1001):
        if t > 1:
            law, table = law @ chain, chain.T @ table
        table = np.stack(
            [
                as_dense(phase.weights)
                @ (table[s] + law[s] * np.where(phase.observes, information[:, 0], 0.0))
                for s, phase in enumerate((pool, watch))
            ]
        )
        if t in rounds:
            wanted.append(table.sum(axis=0))
    # A thousand additions of numbers of order one.
    np.testing.assert_allclose(got, wanted, rtol=1e-12)


def test_bad_input() -> None:
    star = rotating_star(groups=3, group_size=2, edge_confidence=0.5)
    with pytest.raises(ValueError, match="increasing round numbers"):
        expected_log_ratio(star, coins(7), [3, 3], best=0)
    with pytest.raises(ValueError, match="as many agents as the network, 7, got 2"):
        expected_log_ratio(star, coins(2), [3], best=0)
    with pytest.raises(ValueError, match=r"rounds: expected a whole number of at least 1, got .*5"):
        expected_log_ratio(star, coins(7), np.array([2.5]), best=0)  # type: ignore[arg-type]


@pytest.mark.parametrize("best", [-1, 2, 7])
@pytest.mark.parametrize("network", [SKEW, RandomLinks(SKEW, 0.6)], ids=["fixed", "links"])
def test_the_best_hypothesis_is_one_of_the_model(
    network: Network | ChangingNetwork, best: int
) -> None:
    with pytest.raises(ValueError, match=f"best: expected a whole number of at .*, got {best}"):
        expected_log_ratio(network, coins(3), [3], best=best)
