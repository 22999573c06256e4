"""Names do not matter: numbering agents or hypotheses otherwise renumbers the results."""

from __future__ import annotations

import numpy as np
from hypothesis import assume, example, given
from hypothesis import strategies as st
from scipy import sparse

from exact import belief_law, draw_log_likelihoods, learn, learn_fast
from exact.changing import process_for
from exact.regression import GaussianBeliefs, learn_regression
from tests.exact.law.oracles import reference_of
from tests.models import coins
from tests.properties.pinned import COUPLED, LEANING, RESET, SWAP, pinned
from tests.properties.support import assert_close, often
from tests.strategies import (
    Problem,
    behaviours,
    changing_networks,
    finite_models,
    networks,
    noisy_beliefs,
    problems,
    rational_models,
    rational_networks,
    regression_models,
    seeds,
    stiff_beliefs,
)
from theory import FiniteModel, Network, expected_log_ratio
from theory.changing import (
    ChangingNetwork,
    DelayedNetwork,
    MarkovNetwork,
    PeriodicNetwork,
    Phase,
    influence,
)
from theory.network.structure import Weights, as_dense
from theory.rational import RationalModel, RationalNetwork
from theory.regression import RegressionModel, conditional_error, draw_inputs, regression_limits
from theory.robustness import (
    Behaviour,
    Colluding,
    Silent,
    Split,
    StuckData,
    faulty_averaging,
)
from theory.validation import FloatArray, IntArray


def orders(agents: int, seed: int) -> IntArray:
    return np.random.default_rng(seed).permutation(agents)


def moved(weights: Weights, order: IntArray) -> Weights:
    dense = as_dense(weights)[np.ix_(order, order)]
    return sparse.csr_array(dense) if sparse.issparse(weights) else dense


def other(network: Network, order: IntArray) -> Network:
    return Network(moved(network.weights, order))


def reassigned(model: FiniteModel, order: IntArray) -> FiniteModel:
    return FiniteModel(model.hypotheses, model.kinds, model.assignment[order], model.log_priors)


@often(25)
@given(problem=problems(), rounds=st.integers(1, 30), seed=seeds)
@example(pinned(COUPLED), 30, 1)
@example(pinned(RESET), 30, 1)
@example(pinned(LEANING), 30, 1)
def test_agents(problem: Problem, rounds: int, seed: int) -> None:
    """Both forms, the means over replicates, v, and the expected log-ratios."""
    network, model = problem.network, problem.model
    order = orders(network.agents, seed)
    there = Problem(other(network, order), reassigned(model, order))
    observed = draw_log_likelihoods(model, rounds=rounds, seed=seed, replicates=4)
    one = learn_fast(network, observed, log_priors=problem.log_priors)
    two = learn_fast(there.network, observed[:, :, order], log_priors=there.log_priors)
    assert_close(two.log_ratios, one.log_ratios[:, :, order])
    assert_close(two.log_ratios.mean(axis=1), one.log_ratios.mean(axis=1)[:, order])
    papers = learn(there.network, observed[:, 0, order], log_priors=there.log_priors)
    assert_close(papers.private, one.private[:, 0, order])
    v, w = network.stationary_distribution, there.network.stationary_distribution
    # Relative, component by component, however small; but weights of 1 − 1e-12 are themselves
    # rounded, and the diagonal stands for 1 − the rest: only off-diagonal weights are read.
    np.testing.assert_allclose(w, v[order], rtol=1e-12)
    expected = expected_log_ratio(network, model, [rounds], best=0).values[0]
    assert_close(
        expected_log_ratio(there.network, there.model, [rounds], best=0).values[0], expected[order]
    )


@often(20)
@given(problem=problems(), rounds=st.integers(1, 20), seed=seeds)
@example(pinned(RESET), 20, 2)
def test_hypotheses(problem: Problem, rounds: int, seed: int) -> None:
    observed = draw_log_likelihoods(problem.model, rounds=rounds, seed=seed)
    order = orders(observed.shape[-1], seed)
    one = learn(problem.network, observed, log_priors=problem.log_priors)
    two = learn_fast(problem.network, observed[..., order], log_priors=problem.log_priors[:, order])
    assert_close(two.private, one.private[..., order])


def other_changing(network: ChangingNetwork, order: IntArray) -> ChangingNetwork:
    if isinstance(network, DelayedNetwork):
        delays = np.broadcast_to(network.delays, (network.agents,) * 2)
        return DelayedNetwork(other(network.network, order), delays[np.ix_(order, order)])
    phases = tuple(
        Phase(moved(phase.weights, order), phase.observes[order]) for phase in network.phases
    )
    if isinstance(network, MarkovNetwork):
        return MarkovNetwork(phases, network.transition, network.first_phases)
    return PeriodicNetwork(phases)


@often(20)
@given(
    network=changing_networks(changes=("periodic", "markov", "delays")),
    rounds=st.integers(1, 12),
    seed=seeds,
)
@example(SWAP, 12, 1)
def test_agents_of_a_network_that_changes(network: ChangingNetwork, rounds: int, seed: int) -> None:
    """The influence, the expected log-ratios, and a run on the same data and phases."""
    order = orders(network.agents, seed)
    there = other_changing(network, order)
    values = influence(network).values
    np.testing.assert_allclose(influence(there).values, values[order], rtol=1e-11, atol=1e-14)
    model = pinned_model(network.agents)
    expected = expected_log_ratio(network, model, [rounds], best=0).values[0]
    again = expected_log_ratio(there, reassigned(model, order), [rounds], best=0).values[0]
    assert_close(again, expected[order])
    observed = np.random.default_rng(seed).normal(size=(rounds, network.agents, 3, 2))
    assert_close(run(there, observed[:, order], seed), run(network, observed, seed)[order])


def pinned_model(agents: int) -> FiniteModel:
    return pinned(Network(np.full((agents, agents), 1 / agents))).model


def run(network: ChangingNetwork, observed: FloatArray, seed: int) -> FloatArray:
    """Log-ratios of agents in three replicates after all rounds of given data."""
    process = process_for(network)
    process.restart(np.random.SeedSequence(seed), replicates=3, columns=observed.shape[-1])
    state = np.zeros(observed.shape[1:])
    for seen in observed:
        state = process.advance(state, seen.copy())
    return state


@st.composite
def faulty(draw: st.DrawFn) -> tuple[Problem, dict[int, Behaviour]]:
    network = draw(networks(min_agents=3, max_agents=7))
    model = draw(finite_models(network.agents))
    liars = draw(st.lists(st.integers(0, network.agents - 1), unique=True, min_size=1, max_size=2))
    what = behaviours(hypotheses=len(model.hypotheses))
    return Problem(network, model), {i: draw(what) for i in liars}


@often(15)
@given(case=faulty(), seed=seeds)
def test_faulty_agents(case: tuple[Problem, dict[int, Behaviour]], seed: int) -> None:
    problem, faults = case
    # With halves that hardly hear each other I − Q is nearly singular: limits of 1e12 were right to
    # three digits, and at 1e18 there is nothing left to compare.
    condition = amplification(problem.network, faults)
    assume(condition < 1e8)
    # No prediction for colluders; and what a split liar says goes by the listeners' numbers.
    assume(not any(isinstance(fault, Colluding | Split) for fault in faults.values()))
    agents = problem.network.agents
    order = orders(agents, seed)
    place = np.argsort(order)
    one = faulty_averaging(problem.network, problem.model, faults)
    two = faulty_averaging(
        other(problem.network, order),
        reassigned(problem.model, order),
        {int(place[i]): fault for i, fault in faults.items()},
    )
    rows = [list(two.honest).index(place[i]) for i in one.honest]
    assert one.reference == two.reference
    tolerance = 1e-10 + 1e-14 * condition
    assert_close(two.rates[rows], one.rates, tolerance)
    for name in ("mean", "variance"):
        a, b = getattr(one, name), getattr(two, name)[rows]
        np.testing.assert_array_equal(np.isfinite(a), np.isfinite(b))
        finite = np.isfinite(a)
        assert_close(b[finite], a[finite], tolerance)


def amplification(network: Network, faults: dict[int, Behaviour]) -> float:
    """The largest row sum of (I − Q)⁻¹, with Q the weights among those who listen."""
    listens = [i for i in range(network.agents) if isinstance(faults.get(i), StuckData | None)]
    silent = [i for i, fault in faults.items() if isinstance(fault, Silent)]
    weights = as_dense(network.weights)
    # What a silent agent does not say, its listeners say themselves.
    kept = weights + np.diag(weights[:, silent].sum(axis=1))
    system = np.eye(len(listens)) - kept[np.ix_(listens, listens)]
    if len(listens) + len(silent) == network.agents:
        # Rows sum to one: the system is singular, and regular beside its only null vector.
        system = system + 1 / len(listens)
    if np.linalg.cond(system) > 1e12:
        return np.inf
    return float(np.abs(np.linalg.inv(system)).sum(axis=1).max())


@st.composite
def regressions(draw: st.DrawFn) -> tuple[Network, RegressionModel]:
    network = draw(networks(max_agents=6))
    return network, draw(regression_models(network.agents))


@often(15)
@given(problem=regressions(), seed=seeds)
def test_predictions_of_a_regression(problem: tuple[Network, RegressionModel], seed: int) -> None:
    network, model = problem
    order = orders(network.agents, seed)
    there, again = (
        other(network, order),
        RegressionModel(
            model.theta,
            model.kinds,
            model.prior_covariances[order],
            model.test_second_moment,
            model.prior_means[order],
            model.assignment[order],
        ),
    )
    inputs = draw_inputs(model, 6, np.random.default_rng(seed))
    one = conditional_error(network, model, inputs, [1, 6])
    two = conditional_error(there, again, inputs[:, order], [1, 6])
    for name in ("bias", "covariance", "reported_covariance", "excess_error"):
        # Condition numbers of posteriors after six rounds reach 1e4 or so. Noise stands between two
        # inverses, so that their square counts: 1e8 roundings.
        assert_close(getattr(two, name), getattr(one, name)[:, order], 2e-8)
    # The limit is learnt at a condition number of 1/v_i where i alone sees a direction, and refused
    # where that leaves no digits.
    if network.stationary_distribution.min() < 1e-5:
        return
    a, b = regression_limits(network, model), regression_limits(there, again)
    assert (a.excess_error_constant is None) == (b.excess_error_constant is None)
    if a.excess_error_constant is not None and b.excess_error_constant is not None:
        assert_close(b.excess_error_constant, a.excess_error_constant, 1e-9)


@often(15)
@given(data=st.data(), rounds=st.integers(1, 10), seed=seeds)
def test_beliefs_of_a_regression(data: st.DataObject, rounds: int, seed: int) -> None:
    network = data.draw(networks(max_agents=7))
    N, d = network.agents, 2
    order = orders(N, seed)
    rng = np.random.default_rng(seed)
    designs, targets = rng.normal(size=(rounds, N, 2, d)), rng.normal(size=(rounds, N, 2))
    prior = data.draw(stiff_beliefs(N, dimension=d))
    same = GaussianBeliefs(prior.precision[order], prior.information[order])
    one = learn_regression(network, designs, targets, prior=prior, noise_std=0.5).private
    two = learn_regression(
        other(network, order), designs[:, order], targets[:, order], prior=same, noise_std=0.5
    ).private
    assert_close(two.precision, one.precision[:, order])
    assert_close(two.information, one.information[:, order])
    noisy = data.draw(noisy_beliefs(N, dimension=d))
    twin = type(noisy)(
        *(getattr(noisy, name)[order] for name in ("precision", "information", "shape", "scale"))
    )
    first = learn_regression(network, designs, targets, prior=noisy).private
    second = learn_regression(
        other(network, order), designs[:, order], targets[:, order], prior=twin
    ).private
    for name in ("precision", "information", "shape", "scale"):
        assert_close(getattr(second, name), getattr(first, name)[:, order])


@st.composite
def rational_problems(draw: st.DrawFn) -> tuple[RationalNetwork, RationalModel]:
    network = draw(rational_networks(max_agents=3))
    model = draw(rational_models(network.agents))
    # There must be something to reject.
    assume(len(reference_of(network, model)) < len(model.hypotheses))
    return network, model


@often(10)
@given(problem=rational_problems(), seed=seeds)
def test_exact_laws(problem: tuple[RationalNetwork, RationalModel], seed: int) -> None:
    """Fractions are equal, not close: agents renumbered, then hypotheses."""
    network, model = problem
    rounds = 2 if network.agents > 1 else 4
    order = orders(network.agents, seed)
    rows = [[network.rows[i][j] for j in order] for i in order]
    turned = RationalModel(
        model.hypotheses,
        model.kinds,
        tuple(model.assignment[i] for i in order),
        model.priors,
    )
    one = belief_law(network, model, rounds, exact=True)
    two = belief_law(RationalNetwork(rows), turned, rounds, exact=True)
    assert one.best == two.best
    assert one.error_fraction() == two.error_fraction()
    for place, i in enumerate(order.tolist()):
        assert one.error_fraction(i) == two.error_fraction(place)
    assert_close(two.log_ratio_mean, one.log_ratio_mean[order])
    assert_close(two.log_ratio_variance, one.log_ratio_variance[order])
    assert_close(np.sort(two.log_ratios.sum(axis=(1, 2))), np.sort(one.log_ratios.sum(axis=(1, 2))))


def test_coins_are_all_alike() -> None:
    """Relabelling is a symmetry of the complete network: all agents have the same law."""
    law = belief_law(Network.from_topology("complete", agents=4), coins(4), 3)
    mean = law.log_ratio_mean
    assert_close(mean, np.broadcast_to(mean[0], mean.shape))
