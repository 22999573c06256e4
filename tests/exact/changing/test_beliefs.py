"""The papers' form for phases that are given, and reading off what a network went through."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exact import draw_log_likelihoods, learn
from exact.changing import draw_rounds, learn_changing
from tests.strategies import changing_networks, finite_models, networks
from theory import Network
from theory.changing import DelayedNetwork, PeriodicNetwork, Phase, RandomLinks, RandomPresence
from theory.network.structure import as_dense

TRIO = Network([[0.5, 0.5, 0.0], [0.1, 0.6, 0.3], [0.2, 0.0, 0.8]])
RESTING = PeriodicNetwork((Phase(TRIO.weights, [2]), Phase(np.eye(3), [0, 1])))


@settings(max_examples=25)
@given(st.data())
def test_the_same_phase_always_is_a_network(data: st.DataObject) -> None:
    network = data.draw(networks(max_agents=5))
    model = data.draw(finite_models(network.agents))
    observed = draw_log_likelihoods(model, rounds=6, seed=1)
    priors = model.log_priors[model.assignment]
    papers = learn(network, observed, log_priors=priors)
    phases = [Phase(network.weights)] * 6
    none = np.zeros((6, network.agents, network.agents), dtype=np.int64)
    for ages in (None, none):
        beliefs = learn_changing(phases, observed, log_priors=priors, ages=ages)
        np.testing.assert_allclose(beliefs.private, papers.private, rtol=1e-13, atol=1e-13)
        np.testing.assert_allclose(beliefs.public, papers.public, rtol=1e-13, atol=1e-13)
    np.testing.assert_array_equal(beliefs.estimates, papers.estimates)


def test_by_hand() -> None:
    """Probabilities multiplied and normalised as the formula says, without logarithms."""
    observed = np.log([[[0.8, 0.4], [0.5, 0.5]], [[0.3, 0.6], [0.9, 0.1]]])
    phases = [Phase([[0.5, 0.5], [0.0, 1.0]], [0]), Phase([[1.0, 0.0], [0.25, 0.75]], [1])]
    one = learn_changing(phases, observed, log_priors=np.log([0.4, 0.6]))
    odds = np.array([[2 / 3], [2 / 3]])  # hypothesis 0 against 1
    odds[0] *= 2  # agent 0 alone observes
    odds = np.array([np.sqrt(odds[0] * odds[1]), odds[1]])
    np.testing.assert_allclose(np.exp(one.private[0, :, 0] - one.private[0, :, 1]), odds[:, 0])
    odds[1] *= 9
    odds = np.array([odds[0], odds[0] ** 0.25 * odds[1] ** 0.75])
    np.testing.assert_allclose(np.exp(one.private[1, :, 0] - one.private[1, :, 1]), odds[:, 0])
    np.testing.assert_allclose(np.exp(one.private).sum(axis=2), 1, rtol=1e-14)


def test_a_message_of_round_zero_is_the_prior() -> None:
    observed = np.log([[[0.8, 0.4], [0.5, 0.25]]])
    ages = np.array([[[0, 1], [0, 0]]])
    priors = np.log([[0.5, 0.5], [0.1, 0.9]])
    beliefs = learn_changing(
        [Phase([[0.5, 0.5], [0.5, 0.5]])], observed, log_priors=priors, ages=ages
    )
    odds = np.exp(beliefs.private[0, :, 0] - beliefs.private[0, :, 1])
    np.testing.assert_allclose(odds, [np.sqrt(2 * 1 / 9), np.sqrt(2 * 2 / 9)])


@settings(max_examples=50)
@given(changing_networks(max_agents=4), st.integers(0, 2**32))
def test_rounds_are_those_of_their_kind(network: object, seed: int) -> None:
    """Weights of averages; no age beyond the prior's; the same for the same seed."""
    rounds = draw_rounds(network, rounds=7, seed=seed)
    again = draw_rounds(network, rounds=7, seed=seed)
    np.testing.assert_array_equal(rounds.ages, again.ages)
    for t, (phase, same) in enumerate(zip(rounds.phases, again.phases, strict=True)):
        np.testing.assert_array_equal(phase.weights, same.weights)
        np.testing.assert_array_equal(phase.observes, same.observes)
        assert 0 <= rounds.ages[t].min() <= rounds.ages[t].max() <= t + 1
        if isinstance(network, PeriodicNetwork):
            np.testing.assert_array_equal(phase.weights, as_dense(network.phase_of(t + 1).weights))
            heard = phase.weights.any(axis=0)
            given = network.phase_of(t + 1).observes
            np.testing.assert_array_equal(phase.observes[heard], given[heard])
        if isinstance(network, DelayedNetwork):
            table = np.broadcast_to(network.delays, phase.weights.shape)
            np.testing.assert_array_equal(rounds.ages[t], np.minimum(table, t + 1))
        if isinstance(network, RandomPresence):
            away = ~phase.observes
            np.testing.assert_array_equal(phase.weights[away], np.eye(network.agents)[away])


def test_masks_come_as_often_as_they_should() -> None:
    """4000 rounds of 6 links: the share that is up, and the ages of what is used again."""
    dense = Network.from_topology("complete", agents=3)
    rounds = draw_rounds(RandomLinks(dense, 0.7, "last"), rounds=4000, seed=1)
    off = ~np.eye(3, dtype=bool)
    ages = rounds.ages[100:, off]
    # Five standard errors of 23 400 draws, and a geometric law of ages for each link.
    for age, chance in enumerate([0.7, 0.21, 0.063]):
        error = 5 * np.sqrt(chance * (1 - chance) / ages.size) * 2
        assert abs((ages == age).mean() - chance) < error
    own = draw_rounds(RandomLinks(dense, 0.7, symmetric=True), rounds=500, seed=1)
    for phase in own.phases:
        up = as_dense(phase.weights) > 0
        np.testing.assert_array_equal(up, up.T)


def test_absences_last_as_long_as_they_should() -> None:
    network = RandomPresence(TRIO, [0.9, 0.3, 0.6], mean_absence=4.0)
    here = np.array([p.observes for p in draw_rounds(network, rounds=8000, seed=2).phases])
    # Some 200 absences at least, of a geometric law: five standard errors.
    np.testing.assert_allclose(here.mean(axis=0), [0.9, 0.3, 0.6], atol=0.05)
    for agent in range(3):
        gone = (~here[1:, agent] & here[:-1, agent]).sum()
        assert (~here[:, agent]).sum() / gone == pytest.approx(4.0, rel=5 / np.sqrt(gone))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"log_likelihoods": np.zeros((3, 3, 2))}, r"log_likelihoods: expected shape \(2, 3, hyp"),
        ({"log_likelihoods": np.full((2, 3, 2), -np.inf)}, "log_likelihoods: expected finite"),
        ({"phases": []}, "log_likelihoods: expected shape"),
        ({"log_priors": [0.0]}, "log_priors: expected shape"),
        ({"ages": np.zeros((2, 3, 3))}, "ages: expected whole numbers of shape"),
        ({"ages": np.zeros((2, 3, 2), dtype=int)}, "ages: expected whole numbers of shape"),
        (
            {"ages": np.full((2, 3, 3), 2)},
            r"ages: expected 0 to 1 in round 1, got 2 at \[0, 0, 0\]",
        ),
    ],
)
def test_bad_arguments_are_named(options: dict[str, object], message: str) -> None:
    good: dict[str, object] = {"phases": RESTING.phases, "log_likelihoods": np.zeros((2, 3, 2))}
    with pytest.raises(ValueError, match=f"^{message}"):
        learn_changing(**(good | options))


def test_bad_rounds_are_named() -> None:
    with pytest.raises(ValueError, match=r"^rounds: expected a whole number of at least 1, got 0"):
        draw_rounds(RESTING, rounds=0, seed=0)
    with pytest.raises(ValueError, match=r"^seed: expected a whole number of at least 0, got -1"):
        draw_rounds(RESTING, rounds=1, seed=-1)
