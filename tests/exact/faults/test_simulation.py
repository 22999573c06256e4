"""Runs with faulty agents against their predictions, guarantees and exact special cases."""

from __future__ import annotations

from dataclasses import replace
from math import comb

import numpy as np
import pytest
from scipy.stats import binom

from exact import Run, Simulation, prepare, simulate
from tests.exact.test_learning import mixed_model
from tests.models import coins
from theory import FiniteAgent, FiniteModel, GaussianAgent, Network
from theory.robustness import (
    Average,
    Behaviour,
    Clip,
    Colluding,
    ConstantBelief,
    Faults,
    Median,
    Push,
    RandomLies,
    Rule,
    Silent,
    Split,
    StuckData,
    TrimmedMean,
    clip_guarantee,
    faulty_averaging,
    faulty_log_ratio,
    pooling_guarantee,
    trimmed_spread,
)
from theory.validation import FloatArray

TORUS = Network.from_topology("torus", shape=[5, 5])
UNEVEN = Network(
    [
        [0.4, 0.3, 0.0, 0.3, 0.0],
        [0.2, 0.5, 0.3, 0.0, 0.0],
        [0.0, 0.1, 0.6, 0.1, 0.2],
        [0.5, 0.0, 0.2, 0.3, 0.0],
        [0.3, 0.0, 0.3, 0.0, 0.4],
    ]
)
STEPS = np.log([0.5 / 0.75, 0.5 / 0.25])  # what heads and tails say in `coins`
INFORMATION = STEPS.mean()


def assert_close(mean: FloatArray, error: FloatArray, exact: FloatArray) -> None:
    """Five standard errors; the seed is fixed, and few hundred numbers are compared."""
    assert (np.abs(mean - exact) <= 5 * error + 1e-9 * np.maximum(1, np.abs(exact))).all()


FAULTS: list[dict[int, Behaviour]] = [
    {2: ConstantBelief(np.array([0.0, 3.0, -1.0]))},
    {0: Push("b", 0.4), 3: Push("c", -0.2)},
    {1: RandomLies(4.0)},
    {4: Split("a", "b", 2.0, growing=False)},
    {2: StuckData(0)},
    {2: Silent(), 3: ConstantBelief(np.array([np.inf, 0.0, 0.0]))},
    {1: StuckData(log_likelihoods=np.array([0.0, 2.0, 1.0])), 2: RandomLies(1.0)},
]


@pytest.mark.parametrize("faults", FAULTS, ids=str)
def test_means_and_variances_are_the_predicted_ones(faults: dict[int, Behaviour]) -> None:
    """Finite and Gaussian agents, three hypotheses, a network that is not symmetric."""
    model = mixed_model(5)
    run = simulate(
        UNEVEN,
        model,
        faults=Faults(faults),
        run=Run(rounds=40, replicates=4000, seed=3, record=[1, 2, 7, 40]),
    )
    exact = faulty_log_ratio(UNEVEN, model, faults, run.rounds)
    assert run.best == exact.best
    assert run.watched.tolist() == exact.honest.tolist()
    assert_close(run.mean, run.standard_error, exact.mean)
    # 4000 replicates show a standard deviation to about 1/√8000 = 1.1 %, somewhat more for
    # laws with heavier tails: 8 % is more than five such errors.
    spread = run.standard_error * np.sqrt(run.replicates)
    np.testing.assert_allclose(spread, np.sqrt(exact.variance), rtol=0.08, atol=1e-9)


def test_long_runs_settle_where_predicted() -> None:
    """After 150 rounds the transient, of modulus below 0.95, is gone."""
    model = mixed_model(5)
    faults: dict[int, Behaviour] = {
        1: ConstantBelief(np.array([0.0, 1.0, 0.5])),
        4: RandomLies(1.0),
    }
    run = simulate(
        UNEVEN,
        model,
        faults=Faults(faults),
        run=Run(rounds=150, replicates=6000, seed=8, record=[150], paths=6000),
    )
    limit = faulty_averaging(UNEVEN, model, faults)
    assert not limit.rates.any()
    assert_close(run.mean[-1], run.standard_error[-1], limit.mean)
    spread = run.standard_error[-1] * np.sqrt(run.replicates)
    np.testing.assert_allclose(spread, np.sqrt(limit.variance), rtol=0.06, atol=1e-9)
    # The error probability is positive, and what a normal law gives but for its shape: the last
    # two or three observations weigh most.
    wrong = (run.paths[:, -1] <= 0).mean(axis=0)[:, 1:]
    assert (wrong > 0.01).all()
    assert np.abs(wrong - limit.error_estimates[:, 1:]).max() < 0.05


def test_one_constant_agent_stops_everybody_wherever_it_is() -> None:
    ring = Network.from_topology("ring", agents=8)
    run = simulate(
        ring,
        coins(8),
        faults=Faults({0: ConstantBelief(np.zeros(2))}),
        run=Run(rounds=3000, replicates=300, seed=2, record=[500, 3000]),
    )
    half, end = run.mean[:, :, 1]
    assert np.abs(half - end).max() < 5 * run.standard_error.max() * np.sqrt(2)
    assert half[3] > half[0] > 0  # the farther from it, the more certain


def order_statistic(agents: int, rank: int) -> float:
    """E of the `rank`-th smallest of independent fair coins' evidence: a binomial tail."""
    low = 1 - binom.cdf(rank - 1, agents, 0.5)  # at least `rank` of them are the low value
    return float(low * STEPS[0] + (1 - low) * STEPS[1])


@pytest.mark.parametrize("liars", [0, 1, 2])
def test_the_median_on_a_complete_network_is_an_order_statistic(liars: int) -> None:
    """All agents hold the same belief, and each round adds a quantile of the honest evidence."""
    crowd = Network.from_topology("complete", agents=7)
    faults: dict[int, Behaviour] = {i: Push(1, 100.0) for i in range(liars)}
    run = simulate(
        crowd,
        coins(7),
        faults=Faults(faults, Median()),
        run=Run(rounds=400, replicates=400, seed=5),
    )
    rates = run.rates
    exact = order_statistic(7 - liars, 4 - liars)
    assert_close(rates.mean[:, 1], rates.standard_error[:, 1], np.full(7 - liars, exact))
    assert exact < [0.15, -0.02, -0.19][liars]  # two liars of seven turn the median round
    if liars == 0:
        by_hand = sum(comb(7, k) for k in range(4)) / 2**7
        assert exact == pytest.approx(by_hand * STEPS[1] + (1 - by_hand) * STEPS[0])


@pytest.mark.parametrize("rule", [TrimmedMean(1), TrimmedMean(1, lost="renormalise"), Median()])
@pytest.mark.parametrize(
    "behaviour", [Push(1, 5.0), Colluding(1), Split(0, 1, 9.0), RandomLies(50.0)], ids=str
)
def test_no_liar_beats_the_pooling_guarantee(rule: Rule, behaviour: Behaviour) -> None:
    """On a torus where the graph condition for agreement fails, everybody learns all the same."""
    faults = {12: behaviour}
    promised = pooling_guarantee(TORUS, coins(25), faults, pool_every=200).rates[1]
    assert 0 < promised < INFORMATION
    run = simulate(
        TORUS,
        coins(25),
        faults=Faults(faults, rule, pool_every=200),
        run=Run(rounds=4000, replicates=40, seed=6),
    )
    rates = run.rates
    assert (rates.mean[:, 1] + 5 * rates.standard_error[:, 1] >= promised).all()
    assert run.errors[-1] == 0


def weighted_average(run: Simulation, network: Network) -> FloatArray:
    v = network.stationary_distribution[run.watched]
    average: FloatArray = (v / v.sum()) @ run.mean[-1]
    return average


def test_clipping_loses_what_is_predicted() -> None:
    """Exactly the lower bound under a liar far below, and within the bounds under others."""
    radius, n = 0.5, 800
    for network in (TORUS, Network.from_topology("star", agents=6, edge_confidence=0.3)):
        model = coins(network.agents)
        plain = simulate(
            network,
            model,
            faults=Faults({}, Clip(radius)),
            run=Run(rounds=n, replicates=200, seed=1, record=[n]),
        )
        v = network.stationary_distribution
        # Independent evidence, weighted by v: the average over agents has this deviation.
        error = np.sqrt(n * STEPS.var() * (v @ v) / 200) / n
        # The bounds are on a limit; the first rounds, before differences settle, do not matter
        # to the average.
        assert abs(weighted_average(plain, network)[1] / n - INFORMATION) < 5 * error
        liar = network.agents - 1
        honest = np.delete(v, liar) / np.delete(v, liar).sum()
        error = np.sqrt(n * STEPS.var() * (honest @ honest) / 200) / n
        bounds = clip_guarantee(network, model, {liar: Push(1, 1.0)}, radius=radius)
        behaviours: list[Behaviour] = [Push(1, 50.0), Push(0, 50.0), Colluding(1), RandomLies(5.0)]
        for behaviour in behaviours:
            run = simulate(
                network,
                model,
                faults=Faults({liar: behaviour}, Clip(radius)),
                run=Run(rounds=n, replicates=200, seed=1),
            )
            rate = weighted_average(run, network)[1] / n
            assert bounds.lower[1] - 5 * error < rate < bounds.upper[1] + 5 * error
            if behaviour == behaviours[0]:
                assert rate < bounds.lower[1] + 5 * error
            if behaviour == behaviours[1]:
                assert rate > bounds.upper[1] - 5 * error


@pytest.mark.parametrize("rule", [TrimmedMean(1), Median(), Clip(0.2)], ids=str)
def test_symmetric_evidence_costs_no_rate(rule: Rule) -> None:
    """Normal evidence, and fair coins, whose two values lie symmetrically about the mean."""
    gauge = GaussianAgent([1.0], [0.0], 1.0, [[0.0], [1.0]], 1.0)
    for model in (FiniteModel.from_agents(["a", "b"], [gauge], counts=[25]), coins(25)):
        run = simulate(
            TORUS, model, faults=Faults({}, rule), run=Run(rounds=40, replicates=800, seed=9)
        )
        information = model.information(0)[0, 1]
        exact = run.rounds * information
        assert_close(
            run.mean[..., 1], run.standard_error[..., 1], np.repeat(exact[:, None], 25, axis=1)
        )


def test_rare_strong_evidence_is_trimmed_away() -> None:
    """Nobody lies: the average learns, the median and the trimmed mean learn the opposite."""
    rare = FiniteAgent.from_tables(
        inputs=[1.0], truth=[[0.9, 0.1]], likelihood=[[[0.9, 0.1]], [[0.99, 0.01]]]
    )
    model = FiniteModel.from_agents(["risky", "safe"], [rare], counts=[25])
    rates = {}
    for rule in (Average(), Clip(0.2), TrimmedMean(1), Median()):
        run = simulate(
            TORUS, model, faults=Faults({}, rule), run=Run(rounds=400, replicates=50, seed=3)
        )
        rates[type(rule)] = run.rates.mean[:, 1]
    assert (rates[Average] > 0.1).all()
    assert (rates[Clip] > 0.1).all()
    assert (rates[Median] < -0.05).all()


def test_trimming_blocks_evidence_that_few_have() -> None:
    """Two rows of the torus know. The three others never learn, though nobody lies."""
    toss = FiniteAgent.from_tables(
        inputs=[1.0], truth=[[0.5, 0.5]], likelihood=[[[0.5, 0.5]], [[0.75, 0.25]]]
    )
    blind = FiniteAgent.from_tables(
        inputs=[1.0], truth=[[0.5, 0.5]], likelihood=[[[0.5, 0.5]], [[0.5, 0.5]]]
    )
    model = FiniteModel.from_agents(["fair", "loaded"], [toss, blind], counts=[10, 15])
    spread = trimmed_spread(TORUS, range(10), tolerate=1)
    assert spread.blocked == tuple(range(10, 25))
    run = simulate(
        TORUS, model, faults=Faults({}, TrimmedMean(1)), run=Run(rounds=300, replicates=20, seed=1)
    )
    assert not run.mean[:, 10:].any()
    # Those who know learn, slowly: the others' zeros are to them what a liar's would be.
    assert (run.rates.mean[:10, 1] > 0.005).all()
    run = simulate(
        TORUS, model, faults=Faults({}, Average()), run=Run(rounds=300, replicates=20, seed=1)
    )
    assert (run.rates.mean[:, 1] > 0.03).all()


def test_pairs_do_not_depend_on_a_reference_and_coordinates_do() -> None:
    """Relabelled hypotheses give relabelled results pair by pair; against the first they differ."""
    model = mixed_model(5)
    order = [2, 0, 1]
    names = tuple(model.hypotheses[m] for m in order)
    kinds = []
    for kind in model.kinds:
        if isinstance(kind, GaussianAgent):
            kinds.append(
                GaussianAgent(
                    kind.inputs, kind.truth_means, kind.truth_std, kind.means[order], kind.std
                )
            )
        else:
            kinds.append(FiniteAgent(kind.probabilities, kind.log_likelihoods[order], kind.entropy))
    other = FiniteModel(names, tuple(kinds), model.assignment, model.log_priors[:, order])
    crowd = Network.from_topology("complete", agents=5)
    faults: dict[int, Behaviour] = {1: Push("c", 2.0)}
    how = Run(rounds=30, replicates=50, seed=2)

    def mean(m: FiniteModel, against: str | None) -> FloatArray:
        run = simulate(crowd, m, faults=Faults(faults, Median(), against=against), run=how)
        columns = [m.hypotheses.index(name) for name in model.hypotheses]
        return run.mean[-1][:, columns]

    np.testing.assert_allclose(mean(other, None), mean(model, None), rtol=0, atol=1e-10)
    np.testing.assert_allclose(mean(other, "b"), mean(model, "b"), rtol=0, atol=1e-10)
    assert np.abs(mean(model, "a") - mean(model, "b")).max() > 0.1


def test_more_liars_than_the_rule_tolerates() -> None:
    faults: dict[int, Behaviour] = {7: Push(1, 1.0), 11: Silent()}
    message = (
        r"faults: expected at most 1 faulty among the 4 agents that agent 6 hears, which is what "
        r"TrimmedMean\(tolerate=1, lost='own'\) tolerates, got 2 \(agents 7, 11\); tolerate more"
    )
    with pytest.raises(ValueError, match=message):
        simulate(
            TORUS,
            coins(25),
            faults=Faults(faults, TrimmedMean(1)),
            run=Run(rounds=1, replicates=1, seed=0),
        )
    for rule in (Average(), TrimmedMean(2), Median(), Clip(1.0)):
        simulate(
            TORUS, coins(25), faults=Faults(faults, rule), run=Run(rounds=1, replicates=1, seed=0)
        )
    simulate(
        TORUS,
        coins(25),
        faults=Faults(faults, TrimmedMean(1), beyond_tolerance=True),
        run=Run(rounds=1, replicates=1, seed=0),
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"behaviours": {25: Silent()}}, "faults: expected a whole number of at most 24, got 25"),
        ({"behaviours": {0: "liar"}}, r"faults\[0\]: expected one of .*, got str; describe"),
        ({"behaviours": {i: Silent() for i in range(25)}}, "faults: expected at least one honest"),
        (
            {"behaviours": {1: ConstantBelief(np.zeros(3))}},
            "log_belief: expected one number for each",
        ),
        ({"behaviours": {1: Push("heavy", 1.0)}}, "hypothesis: expected one of .*, got 'heavy'"),
        (
            {"behaviours": {1: StuckData(2)}},
            r"faults\[1\].outcome: expected a whole number of at most",
        ),
        ({"rule": "middle"}, "rule: expected one of .*, got 'middle'; choose a rule"),
        ({"rule": 3}, "rule: expected one of .*, got int; choose a rule"),
        ({"pool_every": 0}, "pool_every: expected a whole number of at least 1, got 0"),
        ({"against": "heavy"}, "against: expected one of .*, got 'heavy'"),
        ({"behaviours": [Silent()]}, "faults: expected behaviours by agent, got list; write"),
        ({"behaviours": {-1: Silent()}}, "faults: expected a whole number of at least 0, got -1"),
    ],
)
def test_bad_faults_are_named(options: dict[str, object], message: str) -> None:
    good: dict[str, object] = {"behaviours": {}, "rule": Median()}
    run = Run(rounds=2, replicates=2, seed=0)
    with pytest.raises(ValueError, match=f"^{message}"):
        simulate(TORUS, coins(25), faults=Faults(**(good | options)), run=run)  # type: ignore[arg-type]


def test_as_many_agents_as_the_network() -> None:
    run = Run(rounds=2, replicates=2, seed=0)
    with pytest.raises(
        ValueError, match=r"^model: expected as many agents as the network, 25, got"
    ):
        simulate(TORUS, coins(3), faults=Faults({}), run=run)


def test_the_cost_follows_the_rule() -> None:
    run = Run(rounds=1000, replicates=1000, seed=0)
    costs = [
        prepare(TORUS, coins(25), faults=Faults({}, rule), run=run).cost()
        for rule in (Average(), Median())
    ]
    assert 2 < costs[1].seconds / costs[0].seconds < 10
    with pytest.raises(ValueError, match=r"^memory: expected at most 0\.00093 GiB"):
        simulate(TORUS, coins(25), faults=Faults({}), run=replace(run, memory="1M"))


@pytest.mark.parametrize("order", [[0, 1, 2], [1, 0, 2], [2, 1, 0]])
def test_a_message_is_useless_by_its_widest_log_ratio(order: list[int]) -> None:
    """Whichever hypothesis is the best one: 1.2e100 lies between the first and the last."""
    claims = np.array([[0.5, 0.5], [0.75, 0.25], [0.9, 0.1]])[order]
    coin = FiniteAgent.from_tables(
        inputs=[1.0], truth=[[0.5, 0.5]], likelihood=[[c] for c in claims]
    )
    model = FiniteModel.from_agents(["a", "b", "c"], [coin], counts=[5])
    said: dict[int, Behaviour] = {4: ConstantBelief([-0.6e100, 0.0, 0.6e100])}
    crowd = Network.from_topology("complete", agents=5)
    run = simulate(crowd, model, faults=Faults(said), run=Run(rounds=3, replicates=2, seed=1))
    assert run.discarded.tolist() == [6, 6, 6, 6, 0]
    # The prediction takes the speaker for silent, too.
    assert faulty_averaging(crowd, model, said).learns
