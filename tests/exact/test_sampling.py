"""Drawing observations: their law against exact probabilities, and their rows."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chi2, kstest, norm

from exact.sampling import (
    Sampler,
    alias_table,
    draw_log_likelihoods,
    group_size,
    joint_law,
    joint_rows,
)
from theory import FiniteAgent, FiniteModel, GaussianAgent

SEED = 20240229


def agent(probabilities: list[float], hypotheses: int = 2) -> FiniteAgent:
    """Outcome o has log-likelihood −o − θ/10 − 1: its row tells the outcome."""
    outcomes = np.arange(len(probabilities))
    table = -1.0 - outcomes - np.arange(hypotheses)[:, None] / 10
    return FiniteAgent.from_log_likelihoods(table, probabilities=probabilities)


def model(*agents: FiniteAgent | GaussianAgent) -> FiniteModel:
    names = [f"h{m}" for m in range(agents[0].hypotheses)]
    return FiniteModel.from_agents(names, agents)


@given(st.lists(st.integers(0, 10**6), min_size=1, max_size=40).filter(any))
def test_the_alias_table_holds_the_law(weights: list[int]) -> None:
    """Adding up each outcome's columns gives its probability back, without any drawing."""
    law = np.array(weights) / sum(weights)
    table = alias_table(law)
    share = table.thresholds.astype(float) / 2.0**64
    found = np.zeros(max(law.size, int(table.choices.max()) + 1))
    np.add.at(found, table.choices[:, 1], share / share.size)
    np.add.at(found, table.choices[:, 0], (1 - share) / share.size)
    assert (found[law.size :] == 0).all(), "an outcome that does not exist"
    # Vose's subtractions lose at most one rounding of a number below `columns` per column.
    found = found[: law.size]
    np.testing.assert_allclose(found, law, rtol=0, atol=share.size * np.finfo(float).eps)
    assert (found[law == 0] == 0).all()


@pytest.mark.parametrize("group", [1, 2, 4])
def test_symbols_follow_the_law(group: int) -> None:
    """Chi-square at a fixed seed, for agents of different numbers of outcomes at once."""
    laws = [[0.5, 0.5], [0.7, 0.1, 0.1, 0.05, 0.05], [0.01, 0.99], [1.0]]
    law = model(*(agent(p) for p in laws))
    sampler = Sampler(law, group=group)
    sampler.restart(np.random.SeedSequence(SEED), replicates=60)
    draws = sampler.draw(500)
    rows = np.empty((500, 4, 60 * 2))
    sampler.table.look_up(draws.symbols, draws.noise, rows)
    outcomes = np.rint(-1 - rows.reshape(500, 4, 60, 2)[..., 0]).astype(int)
    for i, p in enumerate(laws):
        counts = np.bincount(outcomes[:, i].ravel(), minlength=len(p))
        expected = np.array(p) * outcomes[:, i].size
        statistic = ((counts - expected) ** 2 / expected).sum()
        # Eleven such tests at 1e-4 each; the seed is fixed, so that it passes for good.
        assert counts.size == len(p)
        assert statistic <= chi2.ppf(1 - 1e-4, max(1, len(p) - 1))
    # Independent across replicates, rounds and agents: neighbours agree no more often than chance.
    coins = outcomes[:, 0]
    for a, b in ((coins[:, 1:], coins[:, :-1]), (coins[1:], coins[:-1])):
        assert abs((a == b).mean() - 0.5) < 4 * 0.5 / np.sqrt(a.size)
    assert abs((coins == outcomes[:, 1].clip(0, 1)).mean() - 0.5) < 4 * 0.5 / np.sqrt(coins.size)


def test_many_outcomes() -> None:
    """A data set of 5000 images: every one is drawn, about equally often."""
    law = model(agent([1 / 5000] * 5000))
    rows = draw_log_likelihoods(law, rounds=2000, replicates=100, seed=SEED)
    counts = np.bincount(np.rint(-1 - rows[..., 0]).astype(int).ravel(), minlength=5000)
    statistic = ((counts - 40) ** 2 / 40).sum()
    assert counts.size == 5000
    assert chi2.ppf(1e-4, 4999) < statistic < chi2.ppf(1 - 1e-4, 4999)


def test_gaussian_rows_are_the_log_likelihoods() -> None:
    """Differences between hypotheses against scipy's density, and the law of the noise."""
    kind = GaussianAgent(
        inputs=np.array([0.25, 0.0, 0.75]),
        truth_means=np.array([1.0, 5.0, -2.0]),
        truth_std=0.5,
        means=np.array([[1.0, 5.0, -2.0], [0.0, 0.0, 0.0], [2.0, 1.0, -3.0]]),
        std=0.8,
    )
    law = model(kind, agent([0.5, 0.5], hypotheses=3))
    sampler = Sampler(law)
    sampler.restart(np.random.SeedSequence(SEED), replicates=50)
    draws = sampler.draw(40)
    rows = np.empty((40, 2, 150))
    sampler.table.look_up(draws.symbols, draws.noise, rows)
    rows = rows.reshape(40, 2, 50, 3)
    x = draws.symbols[:, 0]
    assert set(np.unique(x)) == {0, 2}
    y = kind.truth_means[x] + kind.truth_std * draws.noise[:, 0]
    density = np.stack([norm.logpdf(y, m[x], kind.std) for m in kind.means], axis=-1)
    # Terms of up to 50 nats, a few roundings each.
    np.testing.assert_allclose(np.diff(rows[:, 0]), np.diff(density), rtol=0, atol=1e-13)
    np.testing.assert_allclose(np.diff(rows[:, 1]), -0.1, rtol=0, atol=1e-14)
    assert kstest(draws.noise[:, 0].ravel(), norm.cdf).pvalue > 1e-3
    assert abs((x == 2).mean() - 0.75) < 4 * np.sqrt(0.1875 / x.size)

    ratios = Sampler(law, best=1)
    ratios.restart(np.random.SeedSequence(SEED), replicates=50)
    same = ratios.draw(40)
    out = np.empty((40, 2, 100))
    ratios.table.look_up(same.symbols, same.noise, out)
    expected = rows[..., [1]] - rows[..., [0, 2]]
    np.testing.assert_allclose(out.reshape(40, 2, 50, 2), expected, rtol=0, atol=1e-13)


def test_the_cut_into_batches_does_not_change_the_draws() -> None:
    gaussian = GaussianAgent([0.5, 0.5], [0.0, 1.0], 1.0, [[0.0, 1.0], [1.0, 0.0]], 1.0)
    law = model(agent([0.2, 0.8]), gaussian)
    whole, parts = Sampler(law), Sampler(law)
    for sampler in (whole, parts):
        sampler.restart(np.random.SeedSequence(1), replicates=7)
    at_once = whole.draw(9)
    pieces = [parts.draw(n) for n in (1, 3, 5)]
    np.testing.assert_array_equal(at_once.symbols, np.concatenate([p.symbols for p in pieces]))
    np.testing.assert_array_equal(at_once.noise, np.concatenate([p.noise for p in pieces]))


def test_joint_rows_go_with_the_joint_law() -> None:
    p, rows = np.array([0.25, 0.75]), np.array([[1.0, 10.0], [2.0, 20.0]])
    np.testing.assert_allclose(joint_law(p, 2), [1 / 16, 3 / 16, 3 / 16, 9 / 16], rtol=1e-15)
    np.testing.assert_array_equal(
        joint_rows(rows, 2), [[1, 10, 1, 10], [1, 10, 2, 20], [2, 20, 1, 10], [2, 20, 2, 20]]
    )


def test_replicates_are_drawn_jointly_only_where_it_pays() -> None:
    coin = agent([0.5, 0.5])
    assert group_size(model(coin), columns=1, replicates=10_000) > 1
    assert group_size(model(coin), columns=1, replicates=2) == 1
    assert group_size(model(agent([1 / 500] * 500)), columns=1, replicates=10_000) == 1
    gaussian = GaussianAgent([1.0], [0.0], 1.0, [[0.0], [1.0]], 1.0)
    assert group_size(model(coin, gaussian), columns=1, replicates=10_000) == 1


def test_same_seed_same_observations() -> None:
    law = model(agent([0.2, 0.8]), agent([0.5, 0.5]))
    a = draw_log_likelihoods(law, rounds=20, seed=3)
    assert a.shape == (20, 2, 2)
    np.testing.assert_array_equal(a, draw_log_likelihoods(law, rounds=20, seed=3))
    assert (a != draw_log_likelihoods(law, rounds=20, seed=4)).any()
    assert draw_log_likelihoods(law, rounds=20, seed=3, replicates=5).shape == (20, 5, 2, 2)
