"""What no design can beat, against enumeration, the account and grids of influences.

The best test between two laws against the normal formula, binomial sums, and all tests enumerated.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.special import ndtr, ndtri
from scipy.stats import binom, norm

from tests.models import BLIND, COIN, FAIR, coin, coins, error_probability
from tests.strategies import networks
from theory import FiniteAgent, FiniteModel, GaussianAgent, LogRatioLaw, Network, account
from theory.design.constraints import Constraints
from theory.design.exponent.best_exponent import best_exponent
from theory.design.influences.influence_set import InfluenceSet
from theory.design.samples.converse import EveryDesignBound, every_design_bound, perfect_mixing
from theory.design.samples.cover import (
    Term,
    _fourth_moment,
    _share,
    _third_moment,
    least_probability,
)

LEFT = [0.75, 0.25]


def skewed(*, prior: list[float] | None = None) -> FiniteModel:
    """Three agents of two kinds; one wrong hypothesis is more clearly wrong for each of them.

    Against each hypothesis another influence would be best.
    """
    unsure, sure = [0.5, 0.5], [0.3, 0.7]
    claims = [[FAIR, FAIR], [LEFT, FAIR], [FAIR, LEFT]]
    first = FiniteAgent.from_tables(inputs=FAIR, truth=[unsure, sure], likelihood=claims)
    second = FiniteAgent.from_tables(inputs=FAIR, truth=[sure, unsure], likelihood=claims)
    return FiniteModel.from_agents(
        ["fair", "left", "right"], [first, second], counts=[2, 1], priors=[prior, None]
    )


def bound_for(
    model: FiniteModel, delta: float, allowed: InfluenceSet, most: int = 2000
) -> EveryDesignBound:
    v = best_exponent(model, influences=allowed).stationary_distribution
    return every_design_bound(model, delta=delta, influences=allowed, v=v, most_rounds=most)


@given(networks(min_agents=2, max_agents=3), st.integers(1, 3))
@settings(max_examples=25, deadline=None)
def test_perfect_mixing_has_the_fewest_errors(network: Network, rounds: int) -> None:
    """Every history enumerated; tiny influences leave ties that rounding decides: left out."""
    v = network.stationary_distribution
    if v.min() < 1e-3:
        return
    model = coins(2)
    if network.agents == 3:
        model, rounds = skewed(), 1
    own = error_probability(network, model, rounds)
    perfect = error_probability(perfect_mixing(v), model, rounds)
    assert own >= perfect - 1e-12


def test_one_informed_agent_decides_whatever_the_design() -> None:
    model = FiniteModel.from_agents(["fair", "loaded"], [COIN, BLIND], counts=[1, 3])
    bound = bound_for(model, 0.05, InfluenceSet(4))
    alone = account(Network([[1.0]]), coins(1)).sample_size(0.05)
    assert bound.rounds == alone.lower == 42
    assert "agent 0 alone" in bound.note


def test_one_influence_is_the_account_of_perfect_mixing() -> None:
    allowed = InfluenceSet(3, constraints=Constraints(symmetric=True))
    bound = bound_for(skewed(), 0.1, allowed)
    perfect = account(perfect_mixing(np.full(3, 1 / 3)), skewed()).sample_size(0.1)
    assert bound.rounds == perfect.lower
    assert perfect.upper <= perfect.lower + 4


@pytest.mark.parametrize(("delta", "prior"), [(0.2, None), (1e-5, [0.5, 0.3, 0.2])])
def test_every_influence_needs_as_many_rounds(delta: float, prior: list[float] | None) -> None:
    model = skewed(prior=prior)
    bound = bound_for(model, delta, InfluenceSet(3))
    best = best_exponent(model, influences=InfluenceSet(3)).stationary_distribution
    rivals = [best, np.full(3, 1 / 3), *(0.1 + 0.7 * np.eye(3))]
    fewest = min(account(perfect_mixing(v), model).sample_size(delta).upper for v in rivals)
    assert 1 <= bound.rounds <= fewest
    if delta == 1e-5:
        assert bound.rounds >= 0.75 * fewest


def test_normal_agents_are_bounded_sharply() -> None:
    """Four alike: the best design averages, and errs with probability Φ(−√n)."""
    agent = GaussianAgent([1.0], [0.0], 1.0, [[0.0], [1.0]], 1.0)
    model = FiniteModel.from_agents(["zero", "one"], [agent], counts=[4])
    for delta in (0.1, 0.01, 1e-6):
        sharp = account(perfect_mixing(np.full(4, 0.25)), model).sample_size(delta)
        assert bound_for(model, delta, InfluenceSet(4)).rounds in (sharp.lower - 1, sharp.lower)


@pytest.mark.parametrize("v", [None, [0.6, 0.3, 0.1]])
def test_the_laws_cover_every_influence(v: list[float] | None) -> None:
    """The certificate once more, from its tilts alone; with laws bent along another v as well."""
    model, floor = skewed(), 1 / 30
    bound = bound_for(model, 1e-3, InfluenceSet(3))
    if v is not None:
        sharp = bound.rounds
        bound = every_design_bound(
            model, delta=1e-3, influences=InfluenceSet(3), v=np.array(v), most_rounds=500
        )
        assert 1 < bound.rounds < sharp
    assert np.isclose(bound.multipliers.sum(), 1)
    assert (bound.multipliers >= 0).all()
    means = np.zeros((len(bound.hypotheses), 3))
    for row, (theta, tilts) in enumerate(zip(bound.hypotheses, bound.tilts, strict=True)):
        cost = 0.0
        for j in range(3):
            agent = model.kinds[model.assignment[j]]
            z = agent.log_likelihoods[0] - agent.log_likelihoods[theta]
            q = agent.probabilities * np.exp(-tilts[j] * z)
            q /= q.sum()
            means[row, j] = q @ z
            cost += q @ np.log(q / agent.probabilities)
        assert cost <= bound.budget * (1 + 1e-9)
    hope = bound.multipliers @ means
    vertices = floor + (1 - 3 * floor) * np.eye(3)
    assert (vertices @ hope).max() <= 1e-12
    if v is None:  # neither hypothesis alone would do
        assert len(bound.hypotheses) == 2
    # What the bound says of the round before: more errors than δ, whatever v is.
    for other in vertices * 0.9 + 0.1 / 3:
        upper = account(perfect_mixing(other), model).probability(bound.rounds - 1).upper[0]
        assert upper >= bound.probability > 1e-3
    # The budget is an upper bound on every exponent, and close to the best one.
    best = best_exponent(model, influences=InfluenceSet(3)).exponent
    assert best <= bound.budget * (1 + 1e-9)
    if v is None:
        assert bound.budget <= best * (1 + 1e-4)


@given(
    st.lists(st.tuples(st.floats(0.05, 1), st.floats(-3, 3)), min_size=2, max_size=3),
    st.lists(st.floats(0.01, 1), min_size=1, max_size=3),
    st.integers(1, 3),
)
@settings(max_examples=30, deadline=None)
def test_the_share_of_losses(
    atoms: list[tuple[float, float]], weights: list[float], rounds: int
) -> None:
    """P(Σ_j v_j S_j ≤ 0) ≥ share for every v, where the mean is at most zero: all outcomes."""
    p = np.array([p for p, _ in atoms])
    p = p / p.sum()
    z = np.array([z for _, z in atoms])
    z = z - p @ z
    law = LogRatioLaw(p, z, np.zeros_like(z))
    if law.variance < 1e-6:
        return
    share = _share([law], rounds)
    values, masses = np.zeros(1), np.ones(1)
    for w in weights:
        for _ in range(rounds):
            values = np.add.outer(values, w * z).ravel()
            masses = np.multiply.outer(masses, p).ravel()
    # Ties with zero count; they are right to rounding.
    assert masses[values <= 1e-9].sum() >= share - 1e-9


@pytest.mark.parametrize("rounds", [1, 4, 9])
def test_the_share_is_what_the_fourth_moment_of_all_rounds_leaves(rounds: int) -> None:
    """(2√3 − 3) / E X⁴ for X of variance one: rare losses, whose moments are those of binomials."""
    law = point_law([0.1, 0.9], [-0.9, 0.1])
    fourth = 3 + float(binom.stats(rounds, 0.1, moments="k"))
    assert _share([law], rounds) == pytest.approx((2 * np.sqrt(3) - 3) / fourth, rel=1e-12)


def _power(x: float, normal: Any, mean: float, power: int) -> float:
    return float(abs(x - mean) ** power * normal.pdf(x))


def test_moments_of_mixtures() -> None:
    law = LogRatioLaw(
        np.array([0.3, 0.5, 0.2]), np.array([-1.0, 0.4, 2.0]), np.array([0, 0.5, 2.0])
    )
    for power, found in ((3, _third_moment(law)), (4, _fourth_moment(law))):
        total = 0.3 * abs(-1 - law.mean) ** power
        for p, m, s in ((0.5, 0.4, np.sqrt(0.5)), (0.2, 2.0, np.sqrt(2.0))):
            normal = norm(m, s)
            value, _ = quad(_power, -15, 15, args=(normal, law.mean, power), points=[law.mean])
            total += p * value
        assert np.isclose(found, total, rtol=1e-7)


def test_without_a_bound_it_says_so() -> None:
    sure = coin(FAIR, [0.4, 0.6], truth=[1.0, 0.0])
    model = FiniteModel.from_agents(["even", "odd"], [sure], counts=[2])
    allowed = InfluenceSet(2)
    bound = every_design_bound(
        model, delta=0.1, influences=allowed, v=allowed.centre, most_rounds=9
    )
    assert bound.rounds == 1
    assert "impossible" in bound.note


def point_law(probabilities: list[float], values: list[float]) -> LogRatioLaw:
    return LogRatioLaw(np.array(probabilities), np.array(values), np.zeros(len(values)))


def best_test(under_p: np.ndarray, under_q: np.ndarray, likely: float) -> float:
    """min P(B) over randomised events with Q(B) ≥ likely, by the lemma of Neyman and Pearson."""
    order = np.argsort(under_p / under_q)
    p, q = under_p[order], under_q[order]
    before = np.cumsum(q) - q
    taken = np.clip((likely - before) / q, 0.0, 1.0)
    return float(taken @ p)


@pytest.mark.parametrize(
    ("variance", "tilt", "agents", "rounds", "likely"),
    [
        *((1.0, 0.3, 1, n, likely) for n in (1, 10, 60) for likely in (0.5, 0.15)),
        (1e-3, 0.5, 3, 20_000, 0.5),  # many rounds stay in the window
    ],
)
def test_normal_observations(
    variance: float, tilt: float, agents: int, rounds: int, likely: float
) -> None:
    law = LogRatioLaw(np.array([1.0]), np.array([variance / 2]), np.array([variance]))
    found = least_probability([Term(law, tilt, agents)], rounds, likely)
    exact = ndtr(ndtri(likely) - tilt * np.sqrt(agents * rounds * variance))
    assert found <= exact * (1 + 1e-9)
    assert found >= (0.99 if agents == 1 else 0.98) * exact


@pytest.mark.parametrize("rounds", [1, 7, 80])
def test_coins(rounds: int) -> None:
    law = point_law([0.5, 0.5], [-0.405, 0.693])
    heads = law.tilted(-0.6).probabilities[0]
    n = np.arange(rounds + 1)
    exact = best_test(binom.pmf(n, rounds, 0.5), binom.pmf(n, rounds, heads), 0.4)
    found = least_probability([Term(law, 0.6, 1)], rounds, 0.4)
    assert 0.96 * exact <= found <= exact * (1 + 1e-9)


@given(
    st.lists(st.tuples(st.floats(0.1, 1), st.floats(-3, 3)), min_size=2, max_size=4),
    st.lists(st.tuples(st.floats(0.1, 1), st.floats(-3, 3)), min_size=2, max_size=3),
    st.floats(0.05, 2),
    st.floats(0.05, 2),
    st.floats(0.05, 0.95),
)
@settings(max_examples=40, deadline=None)
def test_all_outcomes_of_two_kinds_of_agents(
    first: list[tuple[float, float]],
    second: list[tuple[float, float]],
    u: float,
    w: float,
    likely: float,
) -> None:
    laws = []
    for atoms in (first, second):
        weights = np.array([p for p, _ in atoms])
        laws.append(point_law(list(weights / weights.sum()), [z for _, z in atoms]))
    bent = [law.tilted(-t) for law, t in zip(laws, (u, w), strict=True)]
    # One agent of the first kind, two of the second; two rounds.
    p, q = np.ones(1), np.ones(1)
    for kind in (0, 1, 1) * 2:
        p = np.multiply.outer(p, laws[kind].probabilities).ravel()
        q = np.multiply.outer(q, bent[kind].probabilities).ravel()
    found = least_probability([Term(laws[0], u, 1), Term(laws[1], w, 2)], 2, likely)
    exact = best_test(p, q, likely)
    assert found <= exact * (1 + 1e-9)
    assert found >= 0.93 * exact - 1e-12


def test_mixtures_of_normals_and_points() -> None:
    """Against a fine grid of outcomes of one observation."""
    law = LogRatioLaw(np.array([0.3, 0.7]), np.array([-0.5, 0.8]), np.array([0.0, 0.6]))
    edges = np.linspace(-8, 9, 20_001)
    bent = law.tilted(-0.9)

    def masses(of: LogRatioLaw) -> np.ndarray:
        normal = np.diff(ndtr((edges - of.means[1]) / np.sqrt(of.variances[1])))
        return np.append(of.probabilities[1] * normal, of.probabilities[0])

    p, q = masses(law), masses(bent)
    keep = q > 1e-15
    exact = best_test(p[keep], q[keep], 0.35)
    found = least_probability([Term(law, 0.9, 1)], 1, 0.35)
    assert 0.985 * exact <= found <= exact * (1 + 1e-5)
