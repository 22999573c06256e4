"""The largest exponent: valid, tight, and proved by what is returned.

Where no truth is assumed uniform influence is best, and Chernoff's information its exponent.
"""

from __future__ import annotations

from itertools import count

import mpmath
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.models import coin, coins
from tests.strategies import mixed_models
from tests.theory.design.oracles import TRIANGLE, atoms, decay, exponent, grid, recheck, tilted
from theory import FiniteAgent, FiniteModel, GaussianAgent, Network, error_exponent
from theory.design import (
    BestExponent,
    Constraints,
    DesignFailed,
    DesignGraph,
    InfluenceSet,
    best_exponent,
    worst_case_exponent,
)
from theory.design.search import time_budget
from theory.learning.finite_agent import input_probabilities
from theory.learning.tilted import tabulate


def table_model(seed: int, agents: int, hypotheses: int, *, realizable: bool) -> FiniteModel:
    """Random agents with three labels; some blind to some hypotheses."""
    rng = np.random.default_rng(seed)
    kinds = []
    for _index in range(agents):
        claimed = rng.dirichlet(np.full(3, 3.0), size=hypotheses)
        claimed[rng.random(hypotheses) < 0.3] = claimed[0]
        truth = claimed[0] if realizable else rng.dirichlet(np.full(3, 3.0))
        kinds.append(
            FiniteAgent.from_tables(inputs=[1.0], truth=[truth], likelihood=claimed[:, None, :])
        )
    return FiniteModel.from_agents([f"theta{m}" for m in range(hypotheses)], kinds)


def target_of(model: FiniteModel) -> int | None:
    """A hypothesis that uniform influence settles on, where one has to be named."""
    if model.optimal_hypotheses:
        return None
    return int(model.compromise(np.full(model.agents, 1 / model.agents))[0])


def wrong(model: FiniteModel, best: BestExponent) -> list[int]:
    return [m for m in range(len(model.hypotheses)) if m not in best.reference]


def check_proof(model: FiniteModel, best: BestExponent, **allowed: object) -> None:
    """The certificate proves the bound, by digits that the solver does not have."""
    highest, bound = recheck(
        model,
        [(best.target, one.hypothesis) for one in best.binding],
        [one.multiplier for one in best.binding],
        [one.tilts for one in best.binding],
        **allowed,  # type: ignore[arg-type]
    )
    # Means are sums of a few products, of a relative error of a few 1e-16; vertices come from a
    # solver with tolerances of 1e-10.
    assert highest <= (1e-9 if "vertices" in allowed else 1e-14)
    assert bound == pytest.approx(best.certificate.bound, rel=1e-10)
    assert sum(one.multiplier for one in best.binding) == pytest.approx(1)
    assert sum(one.share for one in best.binding) == pytest.approx(1)


# Uninformative or undecided models are left out; they have tests of their own.
NO_TARGET = ("fits worse", "tells the target", "favour over")


@given(st.integers(2, 5).flatmap(mixed_models), st.sampled_from(["1/1000000", "1/1000", None]))
@settings(max_examples=6, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_every_kind_of_model(model: FiniteModel, floor: str | None) -> None:
    allowed = InfluenceSet(model.agents, floor)
    try:
        best = best_exponent(model, target=target_of(model), influences=allowed)
    except ValueError as error:
        if not any(word in str(error) for word in NO_TARGET):
            raise
        return
    if best.certificate is None:
        assert np.isinf(best.exponent)
        return
    v = best.stationary_distribution
    assert allowed.contains(v, tolerance=1e-12)
    rivals = wrong(model, best)
    # largest_decay sums by log-sum-exp, right to 1e-16 of one and not of E.
    own = exponent(model, best.target, rivals, v)
    assert best.exponent == pytest.approx(own, rel=1e-9, abs=1e-14)
    assert best.certificate.gap <= 1e-7 * best.exponent
    for trial in np.random.default_rng(0).dirichlet(np.full(model.agents, 0.5), size=10):
        other = allowed.lowest + allowed.spare * trial
        rival = exponent(model, best.target, rivals, other)
        assert rival <= best.certificate.bound * (1 + 1e-9) + 1e-14
    if np.isfinite(best.binding[0].tilts).all():
        check_proof(model, best, floor=allowed.lowest)


@pytest.mark.parametrize("realizable", [True, False])
def test_three_agents_against_their_proof_and_a_grid(realizable: bool) -> None:
    model = table_model(1, 3, 3, realizable=realizable)
    best = best_exponent(model, target=target_of(model))
    own = exponent(model, best.target, wrong(model, best), best.stationary_distribution)
    assert best.exponent == pytest.approx(own, rel=1e-9)
    assert best.certificate.gap <= 1e-9 * best.exponent
    check_proof(model, best, floor=1 / 30)
    values = [exponent(model, best.target, wrong(model, best), v) for v in grid(3, 1 / 30, 8)]
    assert max(values) <= best.exponent * (1 + 1e-9)


def test_identical_agents_want_equal_influence() -> None:
    best = best_exponent(coins(5))
    alone = error_exponent(Network([[1.0]]), coins(1)).exponent
    assert best.stationary_distribution == pytest.approx(np.full(5, 0.2))
    assert best.exponent == pytest.approx(5 * alone, rel=1e-12)
    assert best.uniform_exponent == pytest.approx(best.exponent, rel=1e-12)
    assert best.certificate.gap <= 1e-9 * best.exponent


def test_one_pair_has_the_sum_of_the_agents_exponents() -> None:
    """Where each agent can be weighed by its own best tilt: sup E = Σ_j max_u −κ_j(−u)."""
    agents = [
        GaussianAgent([1.0], [0.0], spread, [[0.0], [gap]], 1.0)
        for gap, spread in ((1.0, 1.0), (2.0, 0.5), (0.5, 2.0))
    ]
    model = FiniteModel.from_agents(["zero", "gap"], agents)
    best = best_exponent(model, influences=InfluenceSet(3, "1/1000"))
    # z ~ N(g²/2, g² s²): the best tilt is 1/2s², where the exponent is g²/8s².
    spreads = np.array([1.0, 0.5, 2.0])
    expected = sum(g * g / (8 * s * s) for g, s in zip((1.0, 2.0, 0.5), spreads, strict=True))
    v = spreads**-2 / (spreads**-2).sum()
    assert best.exponent == pytest.approx(expected, rel=1e-9)
    # E is flat at its maximum: a value right to 1e-10 leaves 1e-5 of v open.
    assert best.stationary_distribution == pytest.approx(v, abs=1e-4)
    assert best.exponent > 1.5 * best.uniform_exponent


def test_where_v_makes_no_difference_uniform_is_chosen() -> None:
    """Each hypothesis is told apart by a single agent: E does not see v."""
    first = GaussianAgent([1.0], [0.0], 1.0, [[0.0], [1.0], [0.0]], 1.0)
    second = GaussianAgent([1.0], [0.0], 1.0, [[0.0], [0.0], [2.0]], 1.0)
    best = best_exponent(FiniteModel.from_agents(["zero", "a", "b"], [first, second]))
    assert best.stationary_distribution.tolist() == [0.5, 0.5]
    assert best.exponent == pytest.approx(1 / 8, rel=1e-12)
    assert [one.hypothesis for one in best.binding] == [1]


def test_rows_that_are_given() -> None:
    """Agent 2 listens to agent 0 half of the time: the polytope's vertices are generated."""
    constraints = Constraints(fixed_rows={2: np.array([0.5, 0.0, 0.5])})
    allowed = InfluenceSet(3, "1/30", constraints, TRIANGLE)
    model = table_model(1, 3, 4, realizable=False)
    best = best_exponent(model, target=target_of(model), influences=allowed)
    assert best.certificate.gap <= 1e-8 * best.exponent
    assert allowed.contains(best.stationary_distribution, tolerance=1e-9)
    points = [v for v in grid(3, 1 / 30, 24) if allowed.contains(v, tolerance=1e-9)]
    values = [exponent(model, best.target, wrong(model, best), v) for v in points]
    assert len(values) > 20
    assert max(values) <= best.certificate.bound * (1 + 1e-9)
    assert max(values) >= best.exponent * 0.95
    # Its vertices are among the directions' maximisers.
    angles = np.random.default_rng(0).normal(size=(200, 3))
    corners = np.array([allowed.maximise(row).point for row in angles])
    check_proof(model, best, vertices=corners)


def test_uniform_influence_may_be_forced() -> None:
    model = table_model(0, 4, 5, realizable=True)
    best = best_exponent(model, influences=InfluenceSet(4, constraints=Constraints(symmetric=True)))
    assert best.stationary_distribution.tolist() == [0.25] * 4
    assert best.exponent == pytest.approx(best.uniform_exponent, rel=1e-12)
    assert best.certificate.gap <= 1e-9 * best.exponent


def test_hypotheses_and_agents_by_the_dozen() -> None:
    """Rows are generated, and kinds shared: 40 agents of 20 kinds, 300 hypotheses."""
    model = table_model(5, 20, 300, realizable=False)
    model = FiniteModel.from_agents(model.hypotheses, model.kinds, counts=[2] * 20)
    best = best_exponent(model, target=target_of(model))
    assert best.certificate.gap <= 1e-8 * best.exponent
    own = exponent(model, best.target, wrong(model, best), best.stationary_distribution)
    assert best.exponent == pytest.approx(own, rel=1e-9)
    check_proof(model, best, floor=1 / 400)
    assert len(best.binding) > 1
    # Two rounds of a dozen steps: Newton's method has its derivatives right.
    assert best.iterations < 60
    pairs = best.stationary_distribution.reshape(20, 2)
    assert (pairs[:, 0] == pairs[:, 1]).all()


def test_a_gap_that_stays_open_is_a_named_failure_unless_for_want_of_time() -> None:
    model = table_model(5, 20, 300, realizable=True)
    with pytest.raises(DesignFailed, match="the gap did not close: tried interior") as caught:
        best_exponent(model, tolerance=1e-300)
    longer = caught.value.best
    with time_budget(1, clock=count().__next__):  # every look takes a second
        best = best_exponent(model, tolerance=1e-300)
    assert (longer.certificate.stopped, best.certificate.stopped) == ("done", "time")
    assert best.exponent <= longer.exponent <= best.certificate.bound
    check_proof(model, best, floor=1 / 200)


def sure(first: float, second: float) -> FiniteModel:
    """Two agents whose z is at least `first` and `second`, with probability 1/4, else 1."""
    agents = []
    for least in (first, second):
        logs = np.log([[0.5, 0.5], [0.5, 0.5]])
        logs[1] -= [least, 1.0]
        agents.append(FiniteAgent.from_log_likelihoods(logs, probabilities=[0.25, 0.75]))
    return FiniteModel.from_agents(["a", "b"], agents)


def test_errors_that_can_be_made_impossible() -> None:
    """min Σ v_j z_j = v_0/5 − v_1/2: negative at uniform v, positive for v_0 > 5/7."""
    best = best_exponent(sure(0.2, -0.5))
    assert best.exponent == np.inf
    assert best.certificate is None
    assert best.binding == ()
    v = best.stationary_distribution
    assert 0.2 * v[0] - 0.5 * v[1] > 0
    assert np.isfinite(best.uniform_exponent)


def test_evidence_that_is_void_at_worst() -> None:
    """E = −Σ log P(z_j = 0) for every v."""
    best = best_exponent(sure(0.0, 0.0))
    assert best.exponent == pytest.approx(2 * np.log(4), rel=1e-14)
    assert best.certificate.gap == 0
    assert best.stationary_distribution.tolist() == [0.5, 0.5]
    assert np.isinf(best.binding[0].tilts).all()


def test_evidence_that_is_void_at_worst_may_bind() -> None:
    """`b` never misleads but is often void, E = −2 log(9/10); `c` misleads, but more rarely."""
    logs = np.log([[0.5, 0.5], [0.5, 0.5], [0.5, 0.5]])
    logs[1] -= [0.0, 1.0]
    logs[2] -= [1.0, -0.5]
    agent = FiniteAgent.from_log_likelihoods(logs, probabilities=[0.9, 0.1])
    other = FiniteAgent.from_log_likelihoods(2 * logs, probabilities=[0.9, 0.1])
    best = best_exponent(FiniteModel.from_agents(["a", "b", "c"], [agent, other]), target=0)
    silence = -2 * np.log(0.9)
    assert best.exponent == pytest.approx(silence, rel=1e-12)
    assert best.certificate.gap <= 1e-9 * best.exponent
    assert [one.hypothesis for one in best.binding] == [1]


def test_the_table_at_scales_that_plain_logarithms_lose() -> None:
    """E z = 1e-14 with |z| = 1e-7: h(1/2) is of that size too, and log(1 − 1e-14) would lose it."""
    small = 1e-7
    logs = np.array([[0.0, 0.0, 0.0], [-small, small, -3.0]])
    agent = FiniteAgent.from_log_likelihoods(logs, probabilities=[0.5 + small, 0.5 - small, 0.0])
    normal = GaussianAgent([0.3, 0.7], [0.2, -0.1], 0.8, [[0.0, 0.1], [1.0, -0.4]], 0.6)
    model = FiniteModel.from_agents(["a", "b"], [agent, normal])
    table = tabulate(model, np.array([0]), np.array([1]), slots=model.assignment)
    u = np.array([[0.5, 0.7]])
    found = table.tilted(np.array([0]), u)
    with mpmath.workdps(50):
        for slot, kind in enumerate(model.kinds):
            mean, cost = tilted(atoms(kind, 0, 1), mpmath.mpf(float(u[0, slot])))
            value = cost + mpmath.mpf(float(u[0, slot])) * mean
            # Of sums of terms of the size of z, rounding leaves 1e-16 · 1e-7.
            scale = 1e-22 if slot == 0 else 1e-14
            assert found.values[0, slot] == pytest.approx(float(value), rel=1e-12, abs=scale)
            assert found.means[0, slot] == pytest.approx(float(mean), rel=1e-12, abs=scale)


def test_a_compromise_that_needs_influence() -> None:
    """At uniform v the network settles on `south`; the target must be helped, or is refused."""
    fair = [0.75, 0.25]
    north = coin(fair, fair[::-1], truth=fair)
    south = FiniteAgent.from_tables(
        inputs=[1.0], truth=[fair[::-1]], likelihood=[[fair], [fair[::-1]]]
    )
    model = FiniteModel.from_agents(["north", "south"], [north, south], counts=[1, 2])
    best = best_exponent(model, target=0)
    assert best.rate > 0
    assert best.uniform_exponent == 0
    values = [exponent(model, 0, [1], v) for v in grid(3, 1 / 30, 30)]
    assert best.exponent >= max(values) * (1 - 1e-9)
    assert best.certificate.gap <= 1e-9 * best.exponent
    with pytest.raises(ValueError, match="south"):
        best_exponent(model, target=0, influences=InfluenceSet(3, "1/3"))


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


def least(laws: list, v: np.ndarray) -> float:  # type: ignore[type-arg]
    """E at v where the worst of all hypotheses is true."""
    names = [f"theta{m}" for m in range(len(laws[0][1]))]
    found = []
    for truth in range(len(names)):
        kinds = [FiniteAgent.from_tables(inputs=x, truth=c[truth], likelihood=c) for x, c in laws]
        found.append(decay(FiniteModel.from_agents(names, kinds), v))
    return min(found)


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
