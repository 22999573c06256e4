"""Fewer columns than hypotheses must change nothing but the time."""

from __future__ import annotations

import numpy as np
import pytest

from exact import Run, compression, simulate
from exact.compression import evidence_basis
from exact.sampling import kind_rows, ratios
from tests.models import coins
from theory import FiniteAgent, FiniteModel, GaussianAgent, Network

PAIR = Network([[0.9, 0.1], [0.6, 0.4]])
M = 16


def many_hypotheses(*, priors: bool = False, gaussian: bool = False) -> FiniteModel:
    """Sixteen hypotheses about three outcomes, or two inputs of a normal label."""
    rng = np.random.default_rng(4)
    die = FiniteAgent.from_log_likelihoods(
        np.log(rng.dirichlet([2, 2, 2], size=M)), probabilities=[0.2, 0.3, 0.5]
    )
    normal = GaussianAgent(
        np.array([0.5, 0.5]), np.array([0.0, 1.0]), 1.5, rng.normal(size=(M, 2)), 1.0
    )
    prior = rng.dirichlet(np.full(M, 3.0)) if priors else None
    return FiniteModel.from_agents(
        [f"h{m}" for m in range(M)],
        [die, normal if gaussian else die],
        priors=[prior, None],
    )


MODELS = {
    "plain": many_hypotheses(),
    "priors": many_hypotheses(priors=True),
    "gaussian": many_hypotheses(priors=True, gaussian=True),
}


@pytest.mark.parametrize("name", MODELS)
def test_basis_is_orthonormal_and_spans_all_evidence(name: str) -> None:
    model = MODELS[name]
    basis = evidence_basis(model, best=1)
    assert basis is not None
    assert basis.shape[0] < basis.shape[1] == M - 1
    # Householder's method: orthonormal to a few roundings per row.
    np.testing.assert_allclose(basis @ basis.T, np.eye(len(basis)), atol=1e-14)
    rows = [
        ratios(part, 1) for _, a, b in kind_rows(model) for part in (a, b.reshape(-1, a.shape[1]))
    ]
    every = np.concatenate([*rows, ratios(model.log_priors, 1)])
    np.testing.assert_allclose(every @ basis.T @ basis, every, atol=1e-13 * np.abs(every).max())


@pytest.mark.parametrize("name", MODELS)
def test_same_run_without_compression(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Eight replicates are too few to share words, so that both runs draw the same symbols."""
    model = MODELS[name]
    record = [1, 2, 50, 400]
    how = Run(rounds=400, replicates=8, seed=5, record=record, paths=8)
    few = simulate(PAIR, model, run=how)
    monkeypatch.setattr(compression, "WORTHWHILE", 0.0)
    assert evidence_basis(model, best=1) is None
    all_columns = simulate(PAIR, model, run=how)
    # 400 additions of numbers below ten.
    np.testing.assert_allclose(few.paths, all_columns.paths, rtol=1e-12, atol=1e-11)
    np.testing.assert_array_equal(few.errors, all_columns.errors)
    np.testing.assert_array_equal(few.settled, all_columns.settled)


def test_ties_are_still_ties(monkeypatch: pytest.MonkeyPatch) -> None:
    """Biases p and 1 − p tie whenever heads equal tails, as often with compression as without."""
    bias = np.linspace(0.1, 0.9, 17)
    coin = FiniteAgent.from_log_likelihoods(np.log([bias, 1 - bias]).T)
    model = FiniteModel.from_agents([f"bias {b:.2f}" for b in bias], [coin], counts=[2])
    uniform = Network([[0.5, 0.5], [0.5, 0.5]])
    few = simulate(uniform, model, run=Run(rounds=6, replicates=4000, seed=2, record=[2, 4, 6]))
    assert evidence_basis(model, best=8) is not None
    monkeypatch.setattr(compression, "WORTHWHILE", 0.0)
    whole = simulate(uniform, model, run=Run(rounds=6, replicates=4000, seed=3, record=[2, 4, 6]))
    share, other = few.errors / 4000, whole.errors / 4000
    # Two independent runs: five standard errors of the difference.
    assert (np.abs(share - other) <= 5 * np.sqrt(2 * share * (1 - share) / 4000) + 1e-9).all()
    # And exactly: an error unless heads are near enough to half of 2n tosses.
    from scipy.stats import binom

    for n, measured in zip((2, 4, 6), share, strict=True):
        heads = np.arange(2 * n + 1)
        beliefs = heads[:, None] * np.log(bias) + (2 * n - heads[:, None]) * np.log(1 - bias)
        winners = beliefs >= beliefs.max(axis=1, keepdims=True) - 1e-9
        wrong = np.delete(winners, 8, axis=1).any(axis=1)
        exact = binom.pmf(heads[wrong], 2 * n, 0.5).sum()
        assert abs(measured - exact) <= 5 * np.sqrt(exact * (1 - exact) / 4000) + 1e-9


def test_two_hypotheses_are_left_alone() -> None:
    assert evidence_basis(coins(2), best=0) is None


def test_as_many_kinds_of_evidence_as_hypotheses_are_left_alone() -> None:
    rng = np.random.default_rng(0)
    table = np.log(rng.dirichlet(np.ones(200), size=10))
    model = FiniteModel.from_agents(
        [f"h{m}" for m in range(10)], [FiniteAgent.from_log_likelihoods(table)]
    )
    assert evidence_basis(model, best=0) is None


def test_no_evidence_at_all() -> None:
    """All hypotheses say the same: there is nothing to carry, and still a run."""
    coin = FiniteAgent.from_log_likelihoods(np.log(np.full((5, 2), 0.5)))
    model = FiniteModel.from_agents([f"h{m}" for m in range(5)], [coin], counts=[2])
    assert evidence_basis(model, best=0) is None
    run = simulate(PAIR, model, run=Run(rounds=3, replicates=20, seed=0))
    assert not run.errors.any()
    assert not run.mean.any()
