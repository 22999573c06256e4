"""Pairs of events and the unions that follow: every history, and simulations, are the oracles."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import beta, binom, multivariate_normal

from tests.models import HALVES, PAIR, SLOW, coin, coins
from theory import FiniteAgent, FiniteModel, GaussianAgent, Network, account, sample_sizes
from theory.bounds.accounting import pairs as pairs_module
from theory.bounds.accounting import rounds as rounds_module
from theory.bounds.accounting.curves import ErrorCurve
from theory.bounds.accounting.events import EventSet
from theory.bounds.accounting.joint import Event, JointEvents
from theory.bounds.accounting.pairs import PairCurve
from theory.bounds.accounting.unions import PairUnion
from theory.learning.finite_agent import Agent

Problem = Callable[[int], tuple[Network, FiniteModel]]

# Rounding of an oracle that adds up thousands of probabilities.
ROUNDING = 1e-11
DICE = FiniteModel.from_agents(
    ["right", "left", "down"],
    [coin([0.4, 0.3, 0.3], [0.3, 0.4, 0.3], [0.25, 0.3, 0.45], truth=[0.4, 0.3, 0.3])],
    counts=[2],
)


def histories(network: Network, model: FiniteModel, rounds: int) -> tuple[np.ndarray, np.ndarray]:
    """Λ_i(0, θ) of every history, shape (H, N, M − 1), and its probability."""
    tables = [model.kinds[k] for k in model.assignment]
    state = np.asarray(model.log_priors)[model.assignment][None]
    mass = np.ones(1)
    for _ in range(rounds):
        for j, table in enumerate(tables):
            state = np.repeat(state[None], table.probabilities.size, axis=0)
            state[:, :, j] += table.log_likelihoods.T[:, None]
            state = state.reshape(-1, *state.shape[2:])
            mass = np.multiply.outer(table.probabilities, mass).ravel()
        state = np.einsum("ij,hjm->him", np.asarray(network.weights), state)
    return state[:, :, :1] - state[:, :, 1:], mass


@pytest.mark.parametrize("network", [PAIR, SLOW, HALVES], ids=["pair", "slow", "halves"])
@pytest.mark.parametrize("signs", [(-1, -1), (-1, 1)])
def test_pairs_against_every_history(network: Network, signs: tuple[int, int]) -> None:
    """Valid at every pair of events of two hypotheses, two agents; and sharp at some."""
    events = JointEvents(EventSet(network, DICE))
    sharpest = np.inf
    for n in (1, 3, 4):
        logs, mass = histories(network, DICE, n)
        for (i, a), (j, b) in product(product(range(2), range(2)), repeat=2):
            if (i, a) == (j, b):
                continue
            both = (logs[:, i, a] <= 1e-12) & (signs[1] * logs[:, j, b] >= -1e-12)
            exact = float(mass[both].sum())
            terms = events.pair_terms((Event(a, (i,)), Event(b, (j,))), signs, 0.0)
            found = float(np.exp(PairCurve(terms, n).upper(n, n)[0]))
            assert found >= exact - ROUNDING
            if exact > 0.01:
                sharpest = min(sharpest, found / exact)
    # λ in either dimension; a law of few values near zero may lose more, as ties do.
    assert sharpest < (1.15 if signs == (-1, -1) else 1.5)


@pytest.mark.parametrize("last", [5, 40, 900])
def test_rounds_one_after_the_other_are_those_of_each(last: int) -> None:
    """Before, at and far behind the round at which W has settled."""
    events = JointEvents(EventSet(PAIR, DICE))
    terms = events.pair_terms((Event(0, (0,)), Event(1, (1,))), (-1, -1), 0.0)
    curve = PairCurve(terms, last)
    first = max(1, last - 30)
    many = curve.upper(first, last)
    for n in (first, first + 1, (first + last) // 2, last):
        # Frequencies that are given up on another way: a share of the sum.
        assert many[n - first] == pytest.approx(curve.upper(n, n)[0], abs=2e-2)


def test_any_plan_is_valid(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few frequencies, short periods, bad tilts: worse, and never below the truth."""
    logs, mass = histories(PAIR, DICE, 4)
    exact = float(mass[(logs[:, 0, 0] <= 1e-12) & (logs[:, 1, 1] <= 1e-12)].sum())
    terms = JointEvents(EventSet(PAIR, DICE)).pair_terms(
        (Event(0, (0,)), Event(1, (1,))), (-1, -1), 0.0
    )
    for name, value in (("_DEVIATIONS", 1.0), ("_TILTS", 1.0), ("_FEWEST", 4), ("_FLAT", 3.0)):
        with monkeypatch.context() as patch:
            patch.setattr(pairs_module, name, value)
            patch.setattr(pairs_module, "_SHARPNESS", 0.7)
            for given_up in (1e-3, 0.3):
                patch.setattr(pairs_module, "_GIVEN_UP", given_up)
                assert np.exp(PairCurve(terms, 4).upper(4, 4)[0]) >= exact - ROUNDING


@pytest.mark.parametrize("network", [PAIR, SLOW], ids=["pair", "slow"])
@pytest.mark.parametrize("n", [1, 2, 4])
def test_unions_against_every_history(network: Network, n: int) -> None:
    logs, mass = histories(network, DICE, n)
    exact = float(mass[(logs <= 1e-12).any(axis=(1, 2))].sum())
    curve = ErrorCurve(EventSet(network, DICE), n, n)
    union = PairUnion(curve, n, n, n, 1e5)
    upper, lower = np.exp(union.upper()[0]), np.exp(union.lower()[0])
    assert lower - ROUNDING <= exact <= upper + ROUNDING
    plain = curve.bounds(n, n)
    assert upper <= np.exp(plain.upper[0]) + ROUNDING
    assert lower >= np.exp(plain.lower[0]) - ROUNDING


def random_problem(seed: int) -> tuple[Network, FiniteModel]:
    """Five agents on a random network, four hypotheses about dice of three sides, all different."""
    rng = np.random.default_rng(seed)
    network = Network(0.5 * np.eye(5) + 0.5 * rng.dirichlet(np.ones(5), size=5))
    agents = []
    for _ in range(5):
        truth = rng.dirichlet(np.full(3, 6.0))
        claims = np.vstack([truth, rng.dirichlet(np.full(3, 6.0), size=3)])
        agents.append(FiniteAgent.from_tables(truth=[truth], likelihood=claims[:, None]))
    return network, FiniteModel.from_agents(list("abcd"), agents)


def normal_problem(seed: int) -> tuple[Network, FiniteModel]:
    """The same network; agents with normal labels of one or two inputs and batches, and a die."""
    network, model = random_problem(seed)
    rng = np.random.default_rng(seed)
    agents = [
        GaussianAgent([0.4, 0.6], [0.0, 0.1], 1.2, rng.normal(0, 0.4, (4, 2)), 1.0, batch=batch)
        for batch in (1, 2)
    ]
    agents += [GaussianAgent([1.0], [0.0], 1.0, rng.normal(0, 0.4, (4, 1)), 1.0) for _ in "cd"]
    agents = [replace(a, means=np.vstack([a.truth_means, a.means[1:]])) for a in agents]
    return network, FiniteModel.from_agents(list("abcd"), [*agents, model.kinds[0]])


def seen(agent: Agent, runs: int, rng: np.random.Generator) -> np.ndarray:
    """Log-likelihoods of a round, shape (runs, M); of normal labels but for a constant."""
    if isinstance(agent, FiniteAgent):
        outcomes = rng.choice(agent.probabilities.size, size=runs, p=agent.probabilities)
        return agent.log_likelihoods[:, outcomes].T
    inputs = rng.choice(agent.inputs.size, size=(runs, agent.batch), p=agent.inputs)
    labels = rng.normal(agent.truth_means[inputs], agent.truth_std)
    return -(((labels - agent.means[:, inputs]) / agent.std) ** 2 / 2).sum(axis=2).T


def errors(network: Network, model: FiniteModel, rounds: list[int], runs: int) -> list[int]:
    """In how many of some simulated runs somebody errs, at each of `rounds`."""
    rng, found = np.random.default_rng(3), []
    agents = [model.kinds[k] for k in model.assignment]
    state = np.repeat(np.asarray(model.log_priors)[model.assignment][None], runs, axis=0)
    for n in range(1, max(rounds) + 1):
        for j, agent in enumerate(agents):
            state[:, j] += seen(agent, runs, rng)
        state = np.einsum("ij,rjm->rim", np.asarray(network.weights), state)
        if n in rounds:
            found.append(int((state[:, :, :1] <= state[:, :, 1:]).any(axis=(1, 2)).sum()))
    return found


@pytest.mark.parametrize("problem", [random_problem, normal_problem])
@pytest.mark.parametrize("seed", [0, 1])
def test_simulated_errors_lie_between_the_ends(problem: Problem, seed: int) -> None:
    """Clopper and Pearson's intervals, which fail once in a million, meet the enclosures."""
    network, model = problem(seed)
    rounds, runs = [8, 16, 24], 20_000
    found = account(network, model).probability(rounds, pairs=True)
    for k, count in enumerate(errors(network, model, rounds, runs)):
        low = beta.ppf(5e-7, count, runs - count + 1) if count else 0.0
        high = beta.isf(5e-7, count + 1, runs - count)
        assert found.lower[k] <= high
        assert found.upper[k] >= low
        # Fifteen events that overlap: the union bound alone is three times the truth.
        assert found.upper[k] <= 2.0 * count / runs
        assert found.lower[k] >= 0.5 * count / runs


@pytest.mark.parametrize("problem", [random_problem, normal_problem])
@pytest.mark.parametrize("seed", [1, 4, 7, 8])
def test_sample_sizes_of_random_problems_are_tight(problem: Problem, seed: int) -> None:
    """By the union bound and the likeliest event alone the ends are 1.4 to 2.4 times apart."""
    found = sample_sizes(*problem(seed), delta=0.1).certified
    assert found.upper <= 1.5 * found.lower


def test_agents_alike_are_more_likely_to_err_than_one_of_them() -> None:
    ring = Network.from_topology("ring", agents=20)
    found = sample_sizes(ring, coins(20), delta=0.1).certified
    assert found.upper <= 1.5 * found.lower
    before, after = errors(ring, coins(20), [found.lower - 1, found.upper], 20_000)
    assert binom.cdf(before, 20_000, 0.1) > 1e-6
    assert binom.sf(after, 20_000, 0.1) > 1e-6


@given(st.data())
def test_ends_are_where_bounds_say(data: st.DataObject) -> None:
    """Whatever bounds there are round by round, and in whatever blocks they are asked for."""
    first = data.draw(st.integers(1, 40))
    last = first + data.draw(st.integers(3 + first // 20, 60))
    likely = st.lists(st.integers(0, last), max_size=4)
    uppers, lowers = np.full((2, last + 1), np.log(0.1))
    uppers[data.draw(likely)] = lowers[data.draw(likely)] = -1.0

    @dataclass
    class Union:
        curve: None
        first: int
        last: int
        pilot: int
        work: float

        def upper(self) -> np.ndarray:
            assert self.first <= self.pilot <= self.last
            return uppers[self.first : self.last + 1]

        def lower(self) -> np.ndarray:
            return lowers[self.first : self.last + 1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rounds_module, "PairUnion", Union)
        patch.setattr(rounds_module, "_MOST_AT_ONCE", data.draw(st.sampled_from([64, 10**6])))
        given_ends = rounds_module.CertifiedSampleSize(0.1, first, last + 1, last + 1, "")
        found = rounds_module._by_pairs(None, given_ends)
    looked = range(first, last + 1)
    upper = max((n + 1 for n in looked if uppers[n] > np.log(0.1)), default=first)
    below = range(first, upper)
    lower = max((n + 1 for n in below if lowers[n] > np.log(0.1)), default=first)
    assert (found.lower, found.upper) == (lower, upper)


def test_pairs_never_make_an_end_worse(monkeypatch: pytest.MonkeyPatch) -> None:
    network, model = random_problem(3)
    found = sample_sizes(network, model, delta=0.1).certified
    # Where pairs may look at nothing, what one event at a time gives is kept.
    monkeypatch.setattr("theory.bounds.accounting.rounds.PAIR_WORK", 0.0)
    plain = sample_sizes(network, model, delta=0.1).certified
    assert plain.lower < found.lower <= found.upper < plain.upper


def test_an_account_looks_at_all_pairs_if_asked() -> None:
    network, model = random_problem(0)
    ends = account(network, model)
    plain, close = ends.probability([8, 16]), ends.probability([8, 16], pairs=True)
    assert (close.lower >= plain.lower).all()
    assert (close.upper < 0.9 * plain.upper).all()


@pytest.mark.parametrize("signs", [(-1, -1), (-1, 1)])
@pytest.mark.parametrize("rounds", [1, 5])
def test_pairs_of_normal_sums_against_their_distribution(
    signs: tuple[int, int], rounds: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Given all inputs two log-ratios are normal together: an integral that scipy knows."""
    monkeypatch.setattr(pairs_module, "_SHARPNESS", 0.01)
    monkeypatch.setattr(pairs_module, "_MOST", 1024)
    first = GaussianAgent([0.3, 0.7], [0.5, 0.0], 0.9, [[0.5, 0.0], [0.0, 0.6], [-0.3, 0.2]], 1.0)
    second = GaussianAgent([1.0], [0.0], 1.0, [[0.1], [-0.6], [0.5]], 1.0, batch=2)
    model = FiniteModel.from_agents(["right", "left", "down"], [first, second])
    joint, sharpest = JointEvents(EventSet(SLOW, model)), np.inf
    powers = [np.linalg.matrix_power(SLOW.weights, k) for k in range(1, rounds + 1)]
    turned = np.diag([-signs[0], -signs[1]])  # both sums are to be at most 0
    for (i, a), (j, b) in combinations(product(range(2), range(2)), 2):
        exact = 0.0
        for inputs in product(range(2), repeat=rounds):
            mean, covariance, chance = np.zeros(2), np.zeros((2, 2)), 1.0
            for power, x in zip(powers, inputs, strict=True):
                for k, (agent, y, times) in enumerate([(first, x, 1), (second, 0, 2)]):
                    gap = (agent.means[0, y] - agent.means[[a + 1, b + 1], y]) * power[[i, j], k]
                    middle = (agent.means[0, y] + agent.means[[a + 1, b + 1], y]) / 2
                    mean += times * gap * (agent.truth_means[y] - middle)
                    covariance += times * np.outer(gap, gap) * agent.truth_std**2
                chance *= first.inputs[x]
            law = multivariate_normal(turned @ mean, turned @ covariance @ turned, True)
            exact += chance * law.cdf(np.zeros(2))
        terms = joint.pair_terms((Event(a, (i,)), Event(b, (j,))), signs, 0.0)
        found = float(np.exp(PairCurve(terms, rounds).upper(rounds, rounds)[0]))
        assert found >= exact - 1e-6  # of scipy's integral
        sharpest = min(sharpest, found / exact if exact > 0.01 else np.inf)
    assert sharpest < 1.02


@pytest.mark.parametrize("signs", [(-1, -1), (-1, 1)])
def test_deviations_that_are_stored_wrongly_are_allowed_for(
    signs: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pairs_module, "_GIVEN_UP", 0.0)
    agents = [GaussianAgent([1.0], [0.0], 1.0, [[0.0], [d], [-0.5]], 1.0) for d in (0.7, 1.1)]
    model = FiniteModel.from_agents(["right", "left", "down"], agents)
    joint, off, known = JointEvents(EventSet(PAIR, model)), 1e-5, 0
    for (i, a), (j, b) in combinations(product(range(2), range(2)), 2):
        terms = joint.pair_terms((Event(a, (i,)), Event(b, (j,))), signs, 0.0)
        allowed = PairCurve(replace(terms, deviation_errors=np.full((2, 2), off)), 2)
        (bound,) = allowed.upper(2, 2)
        known += bound < 0  # where angles are not too large for such errors
        first, both, second = terms.covariances
        for one, two in product([-off, off], repeat=2):
            s, t = np.sqrt(first) + one, np.sqrt(second) + two
            moved = replace(terms, covariances=np.stack([s * s, np.sign(both) * s * t, t * t]))
            curve = PairCurve(moved, 2)
            curve.__dict__["_plan"] = allowed._plan
            assert curve.upper(2, 2)[0] <= bound
    assert known


def test_means_of_two_normal_log_ratios_have_their_law() -> None:
    agent = GaussianAgent([0.3, 0.7], [0.5, 0.0], 0.9, [[0.5, 0.0], [0.0, 0.6], [-0.3, 0.2]], 1.0)
    model = FiniteModel.from_agents(["right", "left", "down"], [agent])
    events = JointEvents(EventSet(Network([[1.0]]), model))
    laws = events.mixed_terms((Event(0, (0,)), Event(1, (0,))), 0.35).laws
    gaps, middles = agent.means[0] - agent.means[1:], (agent.means[0] + agent.means[1:]) / 2
    mixed = np.array([0.35, 0.65])
    order = np.argsort(means := mixed @ (gaps * (agent.truth_means - middles)))
    np.testing.assert_allclose(laws.means, means[order], rtol=1e-12)
    np.testing.assert_allclose(laws.deviations, np.abs(mixed @ gaps)[order] * 0.9, rtol=1e-12)
    np.testing.assert_allclose(laws.probabilities, agent.inputs[order])


def test_many_outcomes_have_no_joint_laws() -> None:
    table = np.random.default_rng(0).dirichlet(np.full(140, 4.0), size=3)
    agent = FiniteAgent.from_tables(truth=[table[0]], likelihood=table[:, None])
    events = EventSet(PAIR, FiniteModel.from_agents(list("abc"), [agent], counts=[2]))
    joint = JointEvents(events)
    assert not joint.has_pairs
    # The mean of two sums bounds both: two hypotheses at one agent still add up.
    curve = ErrorCurve(events, 30, 30)
    union = PairUnion(curve, 30, 30, 30, 1e5)
    assert union.lower()[0] > curve.bounds(30, 30).lower[0] + 0.03
    assert (union.upper() == curve.bounds(30, 30).upper).all()


def test_agents_heard_alike_are_one_group() -> None:
    network = Network.from_topology("star", agents=9, edge_confidence=0.5)
    terms = JointEvents(EventSet(network, coins(9))).pair_terms(
        (Event(0, (0,)), Event(0, (1,))), (-1, 1), 0.0
    )
    # The centre, the listening edge, and seven others.
    assert sorted(terms.count.tolist()) == [1, 1, 7]
