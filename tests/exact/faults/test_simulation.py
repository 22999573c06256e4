"""Runs with faulty agents against their predictions, guarantees and exact special cases."""

from __future__ import annotations

from math import comb
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

from exact import simulate
from exact.faults import FaultySimulation, faulty_cost, simulate_faulty
from tests.exact.test_learning import mixed_model
from tests.models import coins
from theory import FiniteAgent, FiniteModel, GaussianAgent, Network
from theory.robustness import (
    Average,
    Behaviour,
    Clip,
    Colluding,
    ConstantBelief,
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
    run = simulate_faulty(
        UNEVEN, model, faults, rounds=40, replicates=4000, seed=3, record=[1, 2, 7, 40]
    )
    sim = run.simulation
    exact = faulty_log_ratio(UNEVEN, model, faults, sim.rounds)
    assert sim.best == exact.best
    assert run.honest.tolist() == exact.honest.tolist()
    assert_close(sim.mean, sim.standard_error, exact.mean)
    # 4000 replicates show a standard deviation to about 1/√8000 = 1.1 %, somewhat more for
    # laws with heavier tails: 8 % is more than five such errors.
    spread = sim.standard_error * np.sqrt(sim.replicates)
    np.testing.assert_allclose(spread, np.sqrt(exact.variance), rtol=0.08, atol=1e-9)


def test_long_runs_settle_where_predicted() -> None:
    """After 400 rounds the transient, of modulus below 0.95, is gone."""
    model = mixed_model(5)
    faults: dict[int, Behaviour] = {
        1: ConstantBelief(np.array([0.0, 1.0, 0.5])),
        4: RandomLies(1.0),
    }
    run = simulate_faulty(
        UNEVEN, model, faults, rounds=400, replicates=6000, seed=8, record=[400], paths=6000
    )
    sim, limit = run.simulation, faulty_averaging(UNEVEN, model, faults)
    assert not limit.rates.any()
    assert_close(sim.mean[-1], sim.standard_error[-1], limit.mean)
    spread = sim.standard_error[-1] * np.sqrt(sim.replicates)
    np.testing.assert_allclose(spread, np.sqrt(limit.variance), rtol=0.06, atol=1e-9)
    # The error probability is positive, and what a normal law gives but for its shape: the last
    # two or three observations weigh most.
    wrong = (sim.paths[:, -1] <= 0).mean(axis=0)[:, 1:]
    assert (wrong > 0.01).all()
    assert np.abs(wrong - limit.error_estimates[:, 1:]).max() < 0.05


def test_one_constant_agent_stops_everybody_wherever_it_is() -> None:
    ring = Network.from_topology("ring", agents=8)
    run = simulate_faulty(
        ring, coins(8), {0: ConstantBelief(np.zeros(2))}, rounds=3000, replicates=300, seed=2,
        record=[500, 3000],
    )  # fmt: skip
    half, end = run.simulation.mean[:, :, 1]
    assert np.abs(half - end).max() < 5 * run.simulation.standard_error.max() * np.sqrt(2)
    assert half[3] > half[0] > 0  # the farther from it, the more certain


def test_nobody_faulty_and_the_average_is_simulate() -> None:
    """The same data with the same seed, and so the same statistics up to rounding."""
    model = mixed_model(5)
    options = {"rounds": 30, "replicates": 500, "seed": 4, "paths": 3}
    plain = simulate(UNEVEN, model, **options)  # type: ignore[arg-type]
    for rule in (None, Average(), TrimmedMean(0), Clip(1e9)):
        run = simulate_faulty(UNEVEN, model, {}, rule, **options)  # type: ignore[arg-type]
        assert run.honest.tolist() == list(range(5))
        for name in ("mean", "standard_error", "paths", "network_mean"):
            np.testing.assert_allclose(
                getattr(run.simulation, name), getattr(plain, name), rtol=1e-9, atol=1e-9
            )
        np.testing.assert_array_equal(run.simulation.agent_errors, plain.agent_errors)
        assert run.discarded.sum() == 0


def order_statistic(agents: int, rank: int) -> float:
    """E of the `rank`-th smallest of independent fair coins' evidence: a binomial tail."""
    low = 1 - binom.cdf(rank - 1, agents, 0.5)  # at least `rank` of them are the low value
    return float(low * STEPS[0] + (1 - low) * STEPS[1])


@pytest.mark.parametrize("liars", [0, 1, 2])
def test_the_median_on_a_complete_network_is_an_order_statistic(liars: int) -> None:
    """All agents hold the same belief, and each round adds a quantile of the honest evidence."""
    crowd = Network.from_topology("complete", agents=7)
    faults: dict[int, Behaviour] = {i: Push(1, 100.0) for i in range(liars)}
    run = simulate_faulty(crowd, coins(7), faults, Median(), rounds=400, replicates=400, seed=5)
    rates = run.simulation.rates
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
    run = simulate_faulty(
        TORUS, coins(25), faults, rule, rounds=4000, replicates=40, seed=6, pool_every=200
    )
    rates = run.simulation.rates
    assert (rates.mean[:, 1] + 5 * rates.standard_error[:, 1] >= promised).all()
    assert run.simulation.errors[-1] == 0


def weighted_average(run: FaultySimulation, network: Network) -> FloatArray:
    v = network.stationary_distribution[run.honest]
    average: FloatArray = (v / v.sum()) @ run.simulation.mean[-1]
    return average


def test_clipping_loses_what_is_predicted() -> None:
    """Exactly the lower bound under a liar far below, and within the bounds under others."""
    radius, n = 0.5, 800
    for network in (TORUS, Network.from_topology("star", agents=6, edge_confidence=0.3)):
        model = coins(network.agents)
        plain = simulate_faulty(
            network, model, {}, Clip(radius), rounds=n, replicates=200, seed=1, record=[n]
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
            run = simulate_faulty(
                network, model, {liar: behaviour}, Clip(radius), rounds=n, replicates=200, seed=1
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
        run = simulate_faulty(TORUS, model, {}, rule, rounds=60, replicates=1500, seed=9)
        sim = run.simulation
        information = model.information(0)[0, 1]
        exact = sim.rounds * information
        assert_close(
            sim.mean[..., 1], sim.standard_error[..., 1], np.repeat(exact[:, None], 25, axis=1)
        )


def test_rare_strong_evidence_is_trimmed_away() -> None:
    """Nobody lies: the average learns, the median and the trimmed mean learn the opposite."""
    rare = FiniteAgent.from_tables(
        inputs=[1.0], truth=[[0.9, 0.1]], likelihood=[[[0.9, 0.1]], [[0.99, 0.01]]]
    )
    model = FiniteModel.from_agents(["risky", "safe"], [rare], counts=[25])
    rates = {}
    for rule in (Average(), Clip(0.2), TrimmedMean(1), Median()):
        run = simulate_faulty(TORUS, model, {}, rule, rounds=400, replicates=50, seed=3)
        rates[type(rule)] = run.simulation.rates.mean[:, 1]
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
    run = simulate_faulty(TORUS, model, {}, TrimmedMean(1), rounds=300, replicates=20, seed=1)
    assert not run.simulation.mean[:, 10:].any()
    # Those who know learn, slowly: the others' zeros are to them what a liar's would be.
    assert (run.simulation.rates.mean[:10, 1] > 0.005).all()
    run = simulate_faulty(TORUS, model, {}, Average(), rounds=300, replicates=20, seed=1)
    assert (run.simulation.rates.mean[:, 1] > 0.03).all()


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
    options = {"rounds": 30, "replicates": 50, "seed": 2}

    def mean(m: FiniteModel, against: str | None) -> FloatArray:
        run = simulate_faulty(crowd, m, faults, Median(), against=against, **options)  # type: ignore[arg-type]
        columns = [m.hypotheses.index(name) for name in model.hypotheses]
        return run.simulation.mean[-1][:, columns]

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
        simulate_faulty(TORUS, coins(25), faults, TrimmedMean(1), rounds=1, replicates=1, seed=0)
    for rule in (Average(), TrimmedMean(2), Median(), Clip(1.0)):
        simulate_faulty(TORUS, coins(25), faults, rule, rounds=1, replicates=1, seed=0)
    simulate_faulty(
        TORUS, coins(25), faults, TrimmedMean(1), rounds=1, replicates=1, seed=0,
        beyond_tolerance=True,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"faults": {25: Silent()}}, "faults: expected a whole number of at most 24, got 25"),
        ({"faults": {0: "liar"}}, r"faults\[0\]: expected one of .*, got str; describe"),
        ({"faults": {i: Silent() for i in range(25)}}, "faults: expected at least one honest"),
        ({"faults": {1: ConstantBelief(np.zeros(3))}}, "log_belief: expected one number for each"),
        ({"faults": {1: Push("heavy", 1.0)}}, "hypothesis: expected one of .*, got 'heavy'"),
        ({"faults": {1: StuckData(2)}}, r"faults\[1\].outcome: expected a whole number of at most"),
        ({"rule": "mode"}, "rule: expected one of .*, got 'mode'; choose a rule"),
        ({"rule": 3}, "rule: expected one of .*, got int; choose a rule"),
        ({"pool_every": 0}, "pool_every: expected a whole number of at least 1, got 0"),
        ({"against": "heavy"}, "hypothesis: expected one of .*, got 'heavy'"),
        ({"rounds": 0}, "rounds: expected a whole number of at least 1, got 0"),
        ({"model": coins(3)}, "model: expected as many agents as the network, 25, got 3"),
    ],
)
def test_bad_arguments_are_named(options: dict[str, object], message: str) -> None:
    good: dict[str, object] = {
        "model": coins(25), "faults": {}, "rule": Median(), "rounds": 2, "replicates": 2, "seed": 0
    }  # fmt: skip
    with pytest.raises(ValueError, match=f"^{message}"):
        simulate_faulty(TORUS, **(good | options))  # type: ignore[arg-type]


def assert_same(one: FaultySimulation, two: FaultySimulation) -> None:
    for name in ("mean", "standard_error", "agent_errors", "settled", "paths"):
        a, b = getattr(one.simulation, name), getattr(two.simulation, name)
        assert a.tobytes() == b.tobytes()
    np.testing.assert_array_equal(one.discarded, two.discarded)


def test_workers_and_resuming_change_no_bit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor what was thrown away: counted in each unit, and each unit once."""
    monkeypatch.setattr("exact.cost.UNIT_SECONDS", 0.01)
    monkeypatch.setattr("exact.parallel.EVERY_SECONDS", 0.0)
    faults: dict[int, Behaviour] = {0: RandomLies(2.0), 12: Silent()}
    options: dict[str, Any] = {
        "rounds": 30, "replicates": 6001, "seed": 3, "record": [7, 30], "paths": 3, "pool_every": 2
    }  # fmt: skip
    rule = TrimmedMean(1)
    cost = faulty_cost(
        TORUS, coins(25), faults, rule, **{k: v for k, v in options.items() if k != "seed"}
    )
    assert cost.units > 3
    one = simulate_faulty(TORUS, coins(25), faults, rule, **options)
    for backend in ("threading", "loky"):
        two = simulate_faulty(TORUS, coins(25), faults, rule, workers=2, backend=backend, **options)
        assert_same(one, two)
    # The four who hear the silent agent miss it whenever they talk, in the replicates reported.
    expected = np.zeros(25, dtype=int)
    expected[TORUS.weights[:, 12] > 0] = 15 * 6001
    expected[12] = 0
    np.testing.assert_array_equal(one.discarded, expected)

    path = tmp_path / "sums"

    def stop(done: int, total: int) -> None:
        if path.exists() and done > total // 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        simulate_faulty(TORUS, coins(25), faults, rule, checkpoint=path, progress=stop, **options)
    again: dict[str, Any] = {"checkpoint": path, "resume": True}
    for other in ({"faults": faults | {12: RandomLies(1.0)}}, {"rule": Median()}, {"against": 0}):
        changed = {"faults": faults, "rule": rule, **other, **options, **again}
        with pytest.raises(ValueError, match="expected a checkpoint of this run"):
            simulate_faulty(TORUS, coins(25), **changed)
    assert_same(one, simulate_faulty(TORUS, coins(25), faults, rule, **options, **again))
    assert not path.exists()


def test_the_cost_follows_the_rule() -> None:
    options = {"rounds": 1000, "replicates": 1000}
    costs = [faulty_cost(TORUS, coins(25), {}, rule, **options) for rule in (Average(), Median())]
    assert 2 < costs[1].seconds / costs[0].seconds < 10
    with pytest.raises(ValueError, match=r"^memory: expected at most 0\.00093 GiB"):
        simulate_faulty(TORUS, coins(25), {}, **options, seed=0, memory="1M")


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
    run = simulate_faulty(crowd, model, said, rounds=3, replicates=2, seed=1)
    assert run.discarded.tolist() == [6, 6, 6, 6, 0]
    # The prediction takes the speaker for silent, too.
    assert faulty_averaging(crowd, model, said).learns
