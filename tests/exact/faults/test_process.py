"""One round among faulty agents: rules against slow ones, lies of any size, relabelling."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exact import Run, Simulation, simulate
from exact.faults.process import FaultyProcess
from tests.models import coins
from tests.strategies import behaviours, finite_models, networks
from theory import FiniteAgent, FiniteModel, Network
from theory.robustness import (
    Average,
    Behaviour,
    Clip,
    Colluding,
    ConstantBelief,
    Faults,
    Median,
    Push,
    Rule,
    Silent,
    Split,
    StuckData,
    TrimmedMean,
)
from theory.validation import FloatArray

RULES = [
    Average(),
    TrimmedMean(0),
    TrimmedMean(1),
    TrimmedMean(2, lost="renormalise"),
    TrimmedMean(1, lost="renormalise"),
    Median(),
    Clip(0.3),
    Clip(100.0),
]


def dense(network: Network) -> FloatArray:
    return network.weights.toarray() if network.is_sparse else np.array(network.weights)


def slow_pool(rule: Rule, x: float, heard: list[tuple[float, float]], own_weight: float) -> float:
    """One agent's new number, from its own and (number, weight) pairs; weights add to one."""
    if isinstance(rule, Average):
        return x + sum(w * (m - x) for m, w in heard)
    if isinstance(rule, Clip):
        return x + sum(w * max(-rule.radius, min(rule.radius, m - x)) for m, w in heard)
    if isinstance(rule, Median):
        return float(np.median([x] + [m for m, _ in heard]))
    # The heaviest of equal numbers goes first, on either side.
    above = sorted((p for p in heard if p[0] > x), key=lambda p: (-p[0], -p[1]))
    below = sorted((p for p in heard if p[0] < x), key=lambda p: (p[0], -p[1]))
    level = [p for p in heard if p[0] == x]
    kept = above[rule.tolerate :] + below[rule.tolerate :] + level
    total = own_weight + sum(w for _, w in kept)
    if rule.lost == "own":
        return x + sum(w * (m - x) for m, w in kept)
    return x if total == 0 else (own_weight * x + sum(w * m for m, w in kept)) / total


def carried(rows: FloatArray, best: int) -> FloatArray:
    return np.delete(rows[..., [best]] - rows, best, axis=-1)


def slow_round(
    network: Network,
    model: FiniteModel,
    faults: dict[int, Behaviour],
    rule: Rule,
    private: FloatArray,
    observed: FloatArray,
    round_number: int,
) -> FloatArray:
    """A round for one replicate, pair by pair against hypothesis 0; rows (N, M) of Λ(0, ·)."""
    W = dense(network)
    N, M = private.shape
    public = private + observed
    for agent, behaviour in faults.items():
        if isinstance(behaviour, StuckData):
            row = behaviour.datum(model, agent)
            public[agent] = private[agent] + row[0] - row
    honest = [i for i in range(N) if i not in faults]
    new = private.copy()
    for i in range(N):
        if i in faults and not isinstance(faults[i], StuckData):
            continue
        messages: list[tuple[FloatArray, float]] = []
        own = W[i, i]
        for j in range(N):
            if j == i or W[i, j] == 0:
                continue
            fault = faults.get(j)
            if fault is None or isinstance(fault, StuckData):
                said = public[j]
            elif isinstance(fault, Colluding):
                said = np.zeros(M)
                for m in range(1, M):
                    column = [public[k, m] for k in honest]
                    said[m] = float(np.mean(column))
                    if fault.hypothesis == m:
                        said[m] = min(column) - fault.margin
                    if fault.hypothesis == 0:
                        said[m] = max(column) + fault.margin
            else:
                listeners = [k for k in range(N) if k != j and W[k, j] > 0]
                speech = fault.speech(model, len(listeners))
                mine = listeners.index(i)
                with np.errstate(all="ignore"):
                    lie = speech.offset[mine] + round_number * speech.slope[mine]
                    said = lie[0] - lie
                    if not lie.max() - lie.min() <= 1e100:
                        own += W[i, j]
                        continue
            messages.append((said, W[i, j]))
        for m in range(1, M):
            new[i, m] = slow_pool(rule, public[i, m], [(s[m], w) for s, w in messages], own)
    return new


@settings(max_examples=60)
@given(st.data())
def test_every_rule_and_behaviour_does_what_it_says(data: st.DataObject) -> None:
    network = data.draw(networks(max_agents=6))
    model = data.draw(finite_models(network.agents))
    M = len(model.hypotheses)
    liars = data.draw(st.sets(st.integers(0, network.agents - 1), max_size=network.agents - 1))
    # Random lies are no function of the round: their law is tested by simulation.
    kinds = behaviours(hypotheses=M).filter(lambda b: not hasattr(b, "scale"))
    faults = {i: data.draw(kinds) for i in sorted(liars)}
    rule = data.draw(st.sampled_from(RULES))
    process = FaultyProcess(network, model, faults, rule, best=0)
    process.restart(np.random.SeedSequence(1), replicates=2, columns=M - 1)
    rng = np.random.default_rng(data.draw(st.integers(0, 10**6)))
    # Few different values: ties are common.
    slow = rng.integers(-2, 3, (2, network.agents, M)) / 2
    slow -= slow[..., [0]]
    fast = np.ascontiguousarray(slow[..., 1:].swapaxes(0, 1))
    for t in (1, 2, 3):
        seen = rng.integers(-2, 3, slow.shape) / 2
        seen -= seen[..., [0]]
        fast = process.advance(fast, np.ascontiguousarray(seen[..., 1:].swapaxes(0, 1)))
        slow = np.stack(
            [slow_round(network, model, faults, rule, slow[r], seen[r], t) for r in range(2)]
        )
        pooling = [
            i for i in range(network.agents) if i not in faults or hasattr(faults[i], "datum")
        ]
        expected = slow[..., 1:].swapaxes(0, 1)
        # Sums of a few products of numbers up to 100; and a tie that rounding breaks in one of
        # the two moves the result by a rounding as well, as equal numbers are interchangeable.
        np.testing.assert_allclose(fast[pooling], expected[pooling], rtol=1e-9, atol=1e-9)
        fast[pooling] = expected[pooling]


@settings(max_examples=25)
@given(st.data())
def test_a_simulation_is_plain_rounds_on_its_own_data(data: st.DataObject) -> None:
    """Who never pools shows the data that are drawn; these are run again, round by round."""
    network = data.draw(networks(max_agents=5))
    model = data.draw(finite_models(network.agents))
    liars = data.draw(st.sets(st.integers(0, network.agents - 1), max_size=network.agents - 1))
    kinds = behaviours(hypotheses=len(model.hypotheses)).filter(lambda b: not hasattr(b, "scale"))
    faults = {i: data.draw(kinds) for i in sorted(liars)}
    # Trimmed sums jump where numbers tie, which rounding may break either way.
    rule = data.draw(st.sampled_from([Average(), Median(), Clip(0.3), Clip(100.0)]))
    every = data.draw(st.integers(1, 3))
    rounds, seed = 4, data.draw(st.integers(0, 1000))

    def run(honest_only: bool) -> Simulation:
        return simulate(
            network,
            model,
            faults=Faults(
                {} if honest_only else faults,
                rule,
                pool_every=rounds + 1 if honest_only else every,
                beyond_tolerance=True,
            ),
            run=Run(rounds=rounds, replicates=2, seed=seed, record=range(1, rounds + 1), paths=2),
        )

    found, drawn = run(False), run(True)
    best = found.best
    order = [best, *(m for m in range(len(model.hypotheses)) if m != best)]
    seen = drawn.paths
    seen = (seen - seen[..., [best]])[..., order]
    slow_model = FiniteModel(
        tuple(model.hypotheses[m] for m in order),
        tuple(
            FiniteAgent(k.probabilities, k.log_likelihoods[order], k.entropy)
            for k in model.kinds
            if isinstance(k, FiniteAgent)
        ),
        model.assignment,
        model.log_priors[:, order],
    )
    renamed = {i: renumbered(b, order) for i, b in faults.items()}
    prior = slow_model.log_priors[model.assignment]
    for r in range(2):
        state = prior[:, [0]] - prior
        before = state
        for t in range(1, rounds + 1):
            now = seen[r, t - 1]
            step, before = now - before, now
            if t % every:
                state = state + with_stuck(slow_model, renamed, step)
            else:
                state = slow_round(network, slow_model, renamed, rule, state, step, t)
            expected = state[found.watched]
            size = 1 + np.abs(expected).max() + np.abs(now).max()
            np.testing.assert_allclose(
                found.paths[r, t - 1][:, order], expected, rtol=0, atol=1e-11 * size
            )


def renumbered(behaviour: Behaviour, order: list[int]) -> Behaviour:
    """The same behaviour where hypothesis order[m] is called m."""
    match behaviour:
        case Push(hypothesis=h):
            return replace(behaviour, hypothesis=order.index(int(h)))
        case Colluding(hypothesis=h):
            return replace(behaviour, hypothesis=order.index(int(h)))
        case Split(first=a, second=b):
            return replace(behaviour, first=order.index(int(a)), second=order.index(int(b)))
        case ConstantBelief(log_belief=row):
            return ConstantBelief(row[order])
    return behaviour


def with_stuck(model: FiniteModel, faults: dict[int, Behaviour], step: FloatArray) -> FloatArray:
    """What agents observe in a round, those with stuck data among them."""
    result = step.copy()
    for agent, behaviour in faults.items():
        if isinstance(behaviour, StuckData):
            row = behaviour.datum(model, agent)
            result[agent] = row[0] - row
    return result


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_relabelling_agents_relabels_what_happens(rule: Rule) -> None:
    """With a liar, unequal weights and many ties."""
    rng = np.random.default_rng(3)
    weights = rng.integers(0, 3, (7, 7)) + np.eye(7) + np.roll(np.eye(7), 1, axis=1)
    weights /= weights.sum(axis=1, keepdims=True)
    order = rng.permutation(7)
    model = coins(7)
    liars: dict[int, Behaviour] = {2: Push(1, 0.5), 5: Colluding(1), 6: StuckData(0)}
    moved = {int(np.flatnonzero(order == a)[0]): b for a, b in liars.items()}
    here = FaultyProcess(Network(weights), model, liars, rule, best=0)
    there = FaultyProcess(Network(weights[np.ix_(order, order)]), model, moved, rule, best=0)
    a = rng.integers(-2, 3, (7, 4, 1)) / 2
    b = a[order].copy()
    for process in (here, there):
        process.restart(np.random.SeedSequence(0), replicates=4, columns=1)
    for _ in range(5):
        seen = rng.integers(-1, 2, (7, 4, 1)) / 2
        a = here.advance(a, seen.copy())
        b = there.advance(b, seen[order].copy())
        np.testing.assert_allclose(a[order], b, rtol=0, atol=1e-12)


@settings(max_examples=25)
@given(st.data())
def test_rules_commute_with_shifts_and_signs(data: st.DataObject) -> None:
    """What the theorems on symmetric evidence rest on."""
    network = data.draw(networks(max_agents=6))
    rule = data.draw(st.sampled_from(RULES))
    N = network.agents
    values = np.array(data.draw(st.lists(st.integers(-8, 8), min_size=N, max_size=N))) / 4
    shift = data.draw(st.integers(-8, 8)) / 4

    def pooled(numbers: FloatArray) -> FloatArray:
        process = FaultyProcess(network, coins(N), {}, rule, best=0)
        process.restart(np.random.SeedSequence(0), replicates=1, columns=1)
        return process.advance(np.zeros((N, 1, 1)), numbers[:, None, None].copy())[:, 0, 0]

    # Numbers below 10 and weights that sum to one up to rounding.
    np.testing.assert_allclose(pooled(values + shift), pooled(values) + shift, atol=1e-12)
    np.testing.assert_allclose(pooled(-values), -pooled(values), atol=1e-12)


@settings(max_examples=25)
@given(st.data())
def test_no_liar_moves_an_honest_agent_out_of_the_honest_range(data: st.DataObject) -> None:
    """The heart of the guarantee, for any lies, as long as the rule tolerates their number."""
    agents = data.draw(st.integers(3, 7))
    network = Network.from_topology("complete", agents=agents)
    rule, most = data.draw(
        st.sampled_from([(TrimmedMean(1), 1), (TrimmedMean(2, lost="renormalise"), 2)])
        | st.just((Median(), (agents - 1) // 2))
    )
    liars = data.draw(st.integers(0, min(most, agents - 1)))
    lies = [data.draw(st.floats(-1e3, 1e3)) for _ in range(liars)]
    faults: dict[int, Behaviour] = {
        i: ConstantBelief(np.array([lie, 0.0])) for i, lie in enumerate(lies)
    }
    values = np.array(data.draw(st.lists(st.integers(-8, 8), min_size=agents, max_size=agents)))
    process = FaultyProcess(network, coins(agents), faults, rule, best=0)
    process.restart(np.random.SeedSequence(0), replicates=1, columns=1)
    new = process.advance(np.zeros((agents, 1, 1)), values[:, None, None].astype(np.float64))
    honest = values[liars:]
    # Averages of numbers up to 8.
    assert (new[liars:] >= honest.min() - 1e-12).all()
    assert (new[liars:] <= honest.max() + 1e-12).all()


@pytest.mark.parametrize("rule", RULES, ids=str)
@pytest.mark.parametrize(
    "lie", [[np.inf, 0.0], [-np.inf, 0.0], [np.nan, 0.0], [1e200, 0.0], [np.inf, np.inf]]
)
def test_messages_that_are_no_numbers_are_discarded(rule: Rule, lie: list[float]) -> None:
    """And counted: the agent that sends them is as good as silent."""
    network = Network.from_topology("complete", agents=4)
    rng = np.random.default_rng(0)
    start, seen = rng.standard_normal((2, 4, 3, 1))
    results = []
    for behaviour in (ConstantBelief(np.array(lie)), Silent()):
        process = FaultyProcess(network, coins(4), {1: behaviour}, rule, best=0)
        process.restart(np.random.SeedSequence(0), replicates=3, columns=1)
        state = process.advance(start.copy(), seen.copy())
        state = process.advance(state, seen.copy())
        assert process.discarded.tolist() == [[2] * 3, [0] * 3, [2] * 3, [2] * 3]
        results.append(state)
    assert np.isfinite(results[0]).all()
    np.testing.assert_array_equal(results[0], results[1])


def test_what_is_thrown_away_weighs_as_much_as_ones_own() -> None:
    """By the listener's own belief, before the rest is scaled to sum to one."""
    network = Network.from_topology("complete", agents=4)
    rule = TrimmedMean(1, lost="renormalise")
    process = FaultyProcess(network, coins(4), {3: Silent()}, rule, best=0)
    process.restart(np.random.SeedSequence(0), replicates=1, columns=1)
    seen = np.array([0.0, 0.0, 4.0, 0.0])[:, None, None]
    start = np.array([-1.0, -2.0, -3.0, 0.0])[:, None, None]
    new = process.advance(start.copy(), seen.copy())
    # Agent 2 holds 1 and drops -2, the lowest; it keeps -1, with a weight of 1/4 of 3/4.
    assert new[2, 0, 0] == pytest.approx((2 * 1 - 1) / 3, rel=1e-14)


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_huge_lies_that_are_numbers_are_used(rule: Rule) -> None:
    network = Network.from_topology("complete", agents=5)
    process = FaultyProcess(
        network, coins(5), {0: ConstantBelief(np.array([0.0, 1e99]))}, rule, best=0
    )
    process.restart(np.random.SeedSequence(0), replicates=1, columns=1)
    state = np.zeros((5, 1, 1))
    for _ in range(50):
        state = process.advance(state, np.full((5, 1, 1), 0.1))
    assert np.isfinite(state).all()
    assert process.discarded.sum() == 0
    if (isinstance(rule, TrimmedMean) and rule.tolerate == 0) or isinstance(rule, Average):
        assert (state[1:] < -1e98).all()
    elif not (isinstance(rule, Clip) and rule.radius == 100.0):
        assert (np.abs(state[1:]) < 10).all()


def test_pooling_seldom_is_pooling_sums() -> None:
    """B = 3: three observations at once give what three rounds give."""
    network = Network.from_topology("ring", agents=6)
    rng = np.random.default_rng(2)
    start, seen = np.zeros((6, 2, 1)), rng.standard_normal((3, 6, 2, 1))
    seldom = FaultyProcess(network, coins(6), {}, Median(), best=0, pool_every=3)
    once = FaultyProcess(network, coins(6), {}, Median(), best=0)
    for process in (seldom, once):
        process.restart(np.random.SeedSequence(0), replicates=2, columns=1)
    state = start.copy()
    for t in range(3):
        state = seldom.advance(state, seen[t].copy())
    np.testing.assert_allclose(state, once.advance(start.copy(), seen.sum(axis=0)), atol=1e-13)


def test_a_split_liar_tells_every_other_listener_the_opposite() -> None:
    network = Network.from_topology("complete", agents=5)
    liar: dict[int, Behaviour] = {2: Split(0, 1, 10.0, growing=False)}
    process = FaultyProcess(network, coins(5), liar, Average(), best=0)
    process.restart(np.random.SeedSequence(0), replicates=1, columns=1)
    new = process.advance(np.zeros((5, 1, 1)), np.zeros((5, 1, 1)))[:, 0, 0]
    np.testing.assert_allclose(new[[0, 1, 3, 4]], [2.0, -2.0, 2.0, -2.0], atol=1e-14)


@settings(max_examples=25)
@given(st.data())
def test_pooling_against_any_hypothesis_by_the_slow_way(data: st.DataObject) -> None:
    """Turn the numbers, pool them as if that hypothesis were the first, and turn back."""
    network = data.draw(networks(max_agents=5))
    model = data.draw(finite_models(network.agents).filter(lambda m: len(m.hypotheses) > 2))
    N, M = network.agents, len(model.hypotheses)
    rule = data.draw(st.sampled_from(RULES))
    best, against = data.draw(st.permutations(range(M)))[:2]
    process = FaultyProcess(
        network, model, {0: Push(against, 2.0)}, rule, best=best, against=against
    )
    same = FaultyProcess(network, model, {0: Push(against, 2.0)}, rule, best=against)
    for each in (process, same):
        each.restart(np.random.SeedSequence(0), replicates=1, columns=M - 1)
    beliefs = np.random.default_rng(data.draw(st.integers(0, 99))).standard_normal((N, M))
    zeros = np.zeros((N, 1, M - 1))
    got = process.advance(zeros.copy(), carried(beliefs, best)[:, None])[:, 0]
    direct = same.advance(zeros.copy(), carried(beliefs, against)[:, None])[:, 0]
    full = np.insert(-direct, against, 0.0, axis=-1)
    np.testing.assert_allclose(got[1:], carried(full, best)[1:], rtol=0, atol=1e-12)


@pytest.mark.parametrize(("hypothesis", "margin"), [(0, 0.0), (1, 0.0), (0, 2.0), (1, 2.0)])
def test_colluders_say_what_the_least_convinced_honest_agent_says(
    hypothesis: int, margin: float
) -> None:
    network = Network.from_topology("complete", agents=4)
    liars: dict[int, Behaviour] = {0: Colluding(hypothesis, margin), 3: Colluding("fair")}
    process = FaultyProcess(network, coins(4), liars, Average(), best=0)
    process.restart(np.random.SeedSequence(0), replicates=1, columns=1)
    public = np.array([50.0, 1.0, 3.0, -50.0])[:, None, None]
    new = process.advance(np.zeros((4, 1, 1)), public)[:, 0, 0]
    lie = 1.0 - margin if hypothesis == 1 else 3.0 + margin
    np.testing.assert_allclose(new[1:3], (lie + 1.0 + 3.0 + 3.0) / 4, rtol=1e-14)
