"""Where no truth is assumed: uniform influence is best, and Chernoff's information its exponent."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.special import logsumexp

from tests.models import coins
from tests.theory.design.exponent_oracles import grid
from theory import FiniteAgent, FiniteModel, GaussianAgent
from theory.design import Constraints, DesignGraph, InfluenceSet, worst_case_exponent
from theory.learning.finite_agent import input_probabilities


def tables(seed: int, *, agents: int = 3, hypotheses: int = 3) -> tuple[FiniteModel, list]:  # type: ignore[type-arg]
    """A model of agents with two inputs each, and its P(x) and ℓ(y|θ, x)."""
    rng = np.random.default_rng(seed)
    kinds, laws = [], []
    for _ in range(agents):
        inputs = rng.dirichlet([2.0, 2.0])
        claimed = rng.dirichlet(np.full(3, 2.0), size=(hypotheses, 2))
        truth = rng.dirichlet(np.full(3, 2.0), size=2)
        kinds.append(FiniteAgent.from_tables(inputs=inputs, truth=truth, likelihood=claimed))
        laws.append((inputs, claimed))
    return FiniteModel.from_agents([f"theta{m}" for m in range(hypotheses)], kinds), laws


def pair_exponent(laws: list, a: int, b: int, v: np.ndarray) -> float:  # type: ignore[type-arg]
    """max_t −Σ_j log E_x Σ_y ℓ(a)^{1−t v_j} ℓ(b)^{t v_j}, by a bounded minimiser."""

    def total(t: float) -> float:
        return sum(
            float(
                logsumexp(
                    np.log(x)[:, None] + (1 - t * w) * np.log(claim[a]) + t * w * np.log(claim[b])
                )
            )
            for (x, claim), w in zip(laws, v, strict=True)
        )

    # For t v_j ≥ 1 each term rises: it is convex, and zero at t v_j = 0 and 1.
    found = minimize_scalar(total, bounds=(0, 1 / v.min()), options={"xatol": 1e-9})
    return -float(found.fun)


def least(laws: list, v: np.ndarray) -> float:  # type: ignore[type-arg]
    count = len(laws[0][1])
    return min(pair_exponent(laws, a, b, v) for a in range(count) for b in range(count) if a != b)


@pytest.mark.parametrize("seed", [0, 1])
def test_uniform_influence_is_best(seed: int) -> None:
    model, laws = tables(seed)
    best = worst_case_exponent(model)
    assert best.stationary_distribution == pytest.approx(np.full(3, 1 / 3))
    assert best.exponent == pytest.approx(least(laws, np.full(3, 1 / 3)), rel=1e-9)
    assert best.certificate.gap <= 1e-12
    for v in grid(3, 1 / 30, 4):
        assert least(laws, v) <= best.exponent * (1 + 1e-9)


def test_the_proof_by_hand() -> None:
    """Halfway laws: the same for both orders, equally far from both hypotheses."""
    model, laws = tables(4, agents=4)
    best = worst_case_exponent(model)
    forward, back = best.binding
    assert (forward.truth, forward.hypothesis) == (back.hypothesis, back.truth)
    assert forward.multiplier == back.multiplier == 0.5
    assert forward.share + back.share == pytest.approx(1)
    costs = np.zeros(2)
    for j, (x, claim) in enumerate(laws):
        s = forward.tilts[j]
        assert back.tilts[j] == pytest.approx(1 - s, rel=1e-12)
        a, b = claim[forward.truth], claim[forward.hypothesis]
        q = x[:, None] * a ** (1 - s) * b**s
        q /= q.sum()
        costs += [(q * np.log(q / (x[:, None] * law))).sum() for law in (a, b)]
    assert costs == pytest.approx(best.certificate.bound, rel=1e-10)  # type: ignore[union-attr]
    assert best.exponent == pytest.approx(costs[0], rel=1e-10)


def test_gaussian_agents_have_a_closed_form() -> None:
    """Σ_j d_j²/8 of the nearest pair, whatever the model's own truth is."""
    means = np.array([[0.0, 0.5], [1.0, 0.0], [3.0, 1.0]])
    agents = [
        GaussianAgent([1.0], [7.0], 2.0, means[:, [0]], 1.0),
        GaussianAgent([1.0], [-7.0], 0.1, means[:, [1]], 0.5),
    ]
    best = worst_case_exponent(FiniteModel.from_agents(["a", "b", "c"], agents))
    gaps = ((means[:, None] - means[None]) / [1.0, 0.5]) ** 2
    expected = min(gaps[a, b].sum() / 8 for a, b in ((0, 1), (0, 2), (1, 2)))
    assert best.exponent == pytest.approx(expected, rel=1e-12)
    assert (best.binding[0].tilts == pytest.approx(np.full(2, 0.5))) is True


def test_rows_that_exclude_uniform_influence() -> None:
    """Agent 2 listens to agent 0 nine times in ten: uniform flows would overfill agent 0's row."""
    graph = DesignGraph.from_edges([[0, 1], [0, 2]], agents=3)
    rows = {1: np.array([0.9, 0.1, 0.0]), 2: np.array([0.9, 0.0, 0.1])}
    allowed = InfluenceSet(3, "1/100", Constraints(fixed_rows=rows), graph)
    uniform = np.full(3, 1 / 3)
    assert not allowed.contains(uniform, tolerance=1e-6)
    model, laws = tables(2)
    best = worst_case_exponent(model, influences=allowed)
    assert best.certificate.gap <= 1e-7 * best.exponent
    assert allowed.contains(best.stationary_distribution, tolerance=1e-9)
    # The oracle's tilt is right to 1e-9, its value to the square of that.
    assert best.exponent == pytest.approx(least(laws, best.stationary_distribution), rel=1e-8)
    assert best.exponent < best.uniform_exponent
    points = [v for v in grid(3, 1 / 100, 14) if allowed.contains(v, tolerance=1e-9)]
    values = [least(laws, v) for v in points]
    assert len(values) > 3
    assert max(values) <= best.certificate.bound * (1 + 1e-9)


def test_inputs_are_told_apart_by_their_sums() -> None:
    _, laws = tables(6, agents=1)
    inputs, claimed = laws[0]
    agent = FiniteAgent.from_tables(inputs=inputs, truth=np.full((2, 3), 1 / 3), likelihood=claimed)
    assert input_probabilities(agent) == pytest.approx(np.repeat(inputs, 3), rel=1e-14)


def test_refusals() -> None:
    logs = np.log([[0.5, 0.4, 0.7], [0.3, 0.6, 0.2]])
    reader = FiniteModel.from_agents(["a", "b"], [FiniteAgent.from_log_likelihoods(logs)])
    with pytest.raises(ValueError, match="agents of kind 0: expected likelihoods that sum to one"):
        worst_case_exponent(reader)
    gap = FiniteAgent.from_tables(
        inputs=[1.0], truth=[[0.5, 0.5, 0.0]], likelihood=[[[0.4, 0.4, 0.2]], [[0.3, 0.5, 0.2]]]
    )
    with pytest.raises(ValueError, match="positive truth for every label"):
        worst_case_exponent(FiniteModel.from_agents(["a", "b"], [gap]))
    same = GaussianAgent([1.0], [0.0], 1.0, [[0.0], [1.0], [1.0]], 1.0)
    with pytest.raises(ValueError, match="no agent tells 'b' from 'c'"):
        worst_case_exponent(FiniteModel.from_agents(["a", "b", "c"], [same]))
    with pytest.raises(ValueError, match="above 0"):
        worst_case_exponent(coins(3), influences=InfluenceSet(3, 0))
