"""Every engine and kernel that carries several rounds at once, against one round after another."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from exact import Run, simulate
from exact.dense_kernel import (
    BAND,
    STRIP,
    Registers,
    dense_rounds,
    registers,
    sparse_rounds,
    work_space,
)
from exact.propagation import (
    COMPILED_AGENTS,
    CompiledPropagation,
    CountedPropagation,
    DensePropagation,
    SparsePropagation,
    agent_order,
    is_compiled,
    plan_for,
    propagation,
    reach,
)
from exact.sampling import Draws, ObservationTable, Sampler
from exact.task import fixed_task
from tests.models import COIN, coins
from theory import FiniteAgent, FiniteModel, GaussianAgent, Network
from theory.validation import FloatArray

NORMAL = GaussianAgent([1.0], [0.0], 1.5, [[0.0], [0.5]], 1.0)


def dense(agents: int) -> Network:
    return Network(np.random.default_rng(agents).dirichlet(np.ones(agents), size=agents))


def shuffled(network: Network) -> Network:
    order = np.random.default_rng(0).permutation(network.agents)
    return Network(sparse.csr_array(network.weights)[order][:, order])


def around_a_hub(agents: int) -> Network:
    """A ring whose agents hear the last one as well: no order makes its longest edge short."""
    ring = Network.from_topology("ring", agents=agents, sparse=True).weights
    hub = sparse.coo_array((np.ones(agents), (np.arange(agents), np.full(agents, agents - 1))))
    return Network(sparse.csr_array(ring / 2 + hub / 2))


def grid(*shape: int) -> Network:
    return Network.from_topology("grid", shape=list(shape), sparse=True)


CASES: dict[str, tuple[type, Callable[[], Network]]] = (
    {
        "grid": (SparsePropagation, partial(grid, 50, 50)),
        "grid-in-disorder": (SparsePropagation, lambda: shuffled(grid(30, 30))),
        "ring": (
            SparsePropagation,
            partial(Network.from_topology, "ring", agents=3000, sparse=True),
        ),
        "hub": (SparsePropagation, partial(around_a_hub, 700)),
    }
    | {
        f"{name}-{agents}": (engine, partial(dense, agents))
        for name, engine in (("compiled", CompiledPropagation), ("library", DensePropagation))
        for agents in (1, 2, 6, 33, 64)
    }
    | {f"counted-{agents}": (CountedPropagation, partial(dense, agents)) for agents in (65, 70)}
)


def plain_rounds(
    network: Network, table: ObservationTable, state: FloatArray, draws: Draws
) -> FloatArray:
    """B ← z + W B, round by round, for B of shape (N, R) and observations of every agent."""
    for t, symbols in enumerate(draws.symbols):
        seen = table.offsets[symbols, 0]
        if draws.noise.size:
            seen = seen + draws.noise[t] * table.slopes[symbols, 0]
        state = seen + network.weights @ state
    return state


@pytest.mark.parametrize("kind", [COIN, NORMAL], ids=["coins", "normal"])
@pytest.mark.parametrize("case", CASES)
def test_every_engine_carries_what_plain_rounds_do(
    case: str, kind: FiniteAgent | GaussianAgent
) -> None:
    """Sparse networks of many tiles, in every order of agents; chunks of rounds of any length."""
    engine, build = CASES[case]
    network = build()
    model = FiniteModel.from_agents(["a", "b"], [kind], counts=[network.agents])
    plan, order = plan_for(network, columns=1), agent_order(network)
    if engine is CountedPropagation:
        plan = replace(plan, counted=7)
    rows = np.arange(network.agents) if order is None else order
    sampler = Sampler(model, best=0, order=order)
    prior = np.random.default_rng(2).normal(size=(network.agents, 1))
    for replicates in (1, 40):
        carried = propagation(
            network,
            sampler.table,
            replicates=replicates,
            plan=plan,
            order=order,
            compiled=engine is CompiledPropagation,
        )
        assert type(carried) is engine
        sampler.restart(np.random.SeedSequence(3), replicates=replicates)
        state = np.zeros((network.agents, replicates))
        for begun, rounds in enumerate((1, 5, 17, 1)):
            draws = sampler.draw(rounds)
            (carried.advance if begun else partial(carried.start, prior))(draws)
            # A row of the draws is that of the agent which the engine keeps there.
            noise = draws.noise.reshape(rounds, network.agents, -1)
            places = np.argsort(rows)
            given = Draws(draws.symbols[:, places], noise[:, places])
            state = plain_rounds(network, sampler.table, state, given)
            state += 0 if begun else prior
            found = carried.private()[..., 0]
            # Two dozen rounds of log-ratios below ten, one rounding a neighbour and round.
            np.testing.assert_allclose(found, network.weights @ state, rtol=0, atol=1e-12)


@pytest.mark.parametrize("topology", ["grid", "star"])
def test_one_sweep_is_several_rounds(topology: str) -> None:
    """Tiles shorter and longer than the lag, and the longest lag that is needed or more.

    An agent of the grid hears three, four or five; one of the star two, or all twenty.
    """
    rng = np.random.default_rng(0)
    sizes = {"grid": {"shape": [5, 4]}, "star": {"agents": 20, "edge_confidence": 0.5}}[topology]
    weights = sparse.csr_array(Network.from_topology(topology, **sizes).weights)  # type: ignore[arg-type]
    agents, width, rounds = 20, 3, 6
    offsets, slopes = rng.random((4, width)), rng.random((4, width))
    for tile, extra, first, replicates, noisy in product(
        (1, 3, 7, 100), (0, 2), (0, 1), (1, 2), (True, False)
    ):
        symbols = rng.integers(0, 4, size=(rounds, agents, replicates))
        noise = rng.normal(size=symbols.shape) if noisy else np.empty((rounds, agents, 0))
        state = np.full((2, agents, replicates * width), np.nan)
        state[first] = expected = rng.random((agents, replicates * width))
        for k in range(rounds):
            rows = offsets[symbols[k]]
            if noisy:
                rows = rows + noise[k][..., None] * slopes[symbols[k]]
            expected = rows.reshape(agents, -1) + weights @ expected
        sparse_rounds(
            weights.indptr,
            weights.indices,
            weights.data,
            reach(weights) + extra,
            tile,
            symbols,
            offsets,
            slopes,
            noise,
            state,
            first,
        )
        # Six sums of a few numbers below ten.
        np.testing.assert_allclose(
            state[(first + rounds) % 2],
            expected,
            rtol=0,
            atol=1e-13,
            err_msg=f"tile {tile}, lag + {extra}, copy {first}, {replicates} replicates",
        )


def carried(weights: FloatArray, rows: FloatArray, state: FloatArray, *, at: int) -> FloatArray:
    """`state` after the rounds of `rows`, by the compiled product."""
    agents, columns = state.shape
    memory = np.full(work_space(agents, columns), np.nan)
    copies = memory[: 2 * state.size].reshape(2, agents, columns)
    copies[at] = state
    dense_rounds(weights, rows, memory, at)
    np.testing.assert_array_equal(copies[at], state)
    return copies[1 - at].copy()


@pytest.mark.parametrize("agents", [1, 2, 3, 4, 5, 7, 8, 9, 16, 33, 64])
def test_the_compiled_product_is_several_rounds(agents: int) -> None:
    """Blocks of one to four agents; whole bands, whole strips, and columns that are left over."""
    rng = np.random.default_rng(agents)
    weights = rng.random((agents, agents))
    weights /= weights.sum(axis=1, keepdims=True)
    for columns in (1, STRIP, STRIP + 1, BAND - 1, BAND, 2 * BAND + STRIP + 3):
        rows = rng.normal(size=(3, agents, columns))
        expected = state = rng.normal(size=(agents, columns))
        for rounds in (1, 2, 3):
            expected = rows[rounds - 1] + np.einsum("ij,jk->ik", weights, expected)
            # Averages of a few numbers below ten, one rounding a neighbour and round.
            for at in (0, 1):
                found = carried(weights, rows[:rounds], state, at=at)
                np.testing.assert_allclose(found, expected, rtol=0, atol=1e-14 * (agents + 2))


def test_columns_do_not_depend_on_how_they_are_cut_up() -> None:
    """To the last bit, with columns in other places of bands and strips, next to others."""
    rng = np.random.default_rng(0)
    weights, columns = rng.dirichlet(np.ones(10), size=10), 2 * BAND + 5
    rows, state = rng.normal(size=(4, 10, columns)), rng.normal(size=(10, columns))
    whole = carried(weights, rows, state, at=0)
    for begin, end in ((3, columns), (0, STRIP + 2), (BAND - 7, 2 * BAND)):
        part = np.ascontiguousarray(rows[:, :, begin:end])
        found = carried(weights, part, state[:, begin:end], at=0)
        np.testing.assert_array_equal(found, whole[:, begin:end])


@pytest.mark.parametrize(
    ("features", "single", "double"),
    [
        ("+avx,+avx2,+fma,+avx512f", (16, 8, 3), (8, 4, 4)),
        ("+avx,+avx2,-avx512f,+fma", (8, 4, 3), (4, 4, 3)),
        ("+avx2,+avx", (8, 4, 3), (4, 4, 3)),
        ("-avx,+sse2", (4, 4, 3), (2, 4, 3)),
        ("+neon", (4, 4, 3), (2, 4, 3)),
    ],
)
def test_sums_fill_the_registers_of_the_processor(
    features: str, single: tuple[int, int, int], double: tuple[int, int, int]
) -> None:
    assert registers(features, 32) == Registers(*single)
    assert registers(features, 64) == Registers(*double)


def test_only_long_runs_of_few_agents_are_compiled() -> None:
    """Where loading pays: ten agents from two million rounds times replicates times columns on."""
    assert is_compiled(10, numbers=22_000_000)
    assert not is_compiled(10, numbers=21_000_000)
    assert is_compiled(COMPILED_AGENTS, numbers=10**9)
    assert not is_compiled(COMPILED_AGENTS + 1, numbers=10**9)


def test_a_compiled_run_measures_what_another_does(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same draws; recorded rounds, several chunks and a short last one included."""
    weights = np.random.default_rng(1).dirichlet(np.ones(6), size=6)
    network, model = Network(weights), coins(6)
    runs = []
    for least in (1, 10**18):
        monkeypatch.setattr("exact.propagation.COMPILED_WORK", least)
        runs.append(simulate(network, model, run=Run(rounds=40, replicates=5000, seed=1, paths=3)))
    for name in ("mean", "standard_error", "network_mean", "paths"):
        one, other = (getattr(run, name) for run in runs)
        # Forty rounds of log-ratios of order one, summed over five thousand replicates.
        np.testing.assert_allclose(one, other, rtol=1e-11, atol=1e-12)
    np.testing.assert_array_equal(runs[0].errors, runs[1].errors)


def varied(agents: int, hypotheses: int) -> FiniteModel:
    """Agents of one to four outcomes and Gaussian ones, of one label a round and of two."""
    rng = np.random.default_rng(0)
    kinds: list[FiniteAgent | GaussianAgent] = []
    for agent in range(agents):
        if agent % 3:
            law = rng.dirichlet(np.full(1 + agent % 4, 2.0), size=(hypotheses, 1))
            kinds.append(FiniteAgent.from_tables(truth=law[0], likelihood=law))
        else:
            means = rng.normal(size=(hypotheses, 2))
            kinds.append(GaussianAgent([0.4, 0.6], means[0], 1.0, means, 1.0, batch=1 + agent % 2))
    return FiniteModel.from_agents([f"h{m}" for m in range(hypotheses)], kinds)


@pytest.mark.parametrize("record", [[60], [1, 2, 3, 9, 10, 60]], ids=["last", "some"])
def test_a_counted_run_measures_what_another_does(
    record: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Agents that all differ; blocks of rounds cut by records, several chunks, a short last one."""
    monkeypatch.setattr("exact.propagation.COUNTING", 0.01)  # so that few hypotheses are enough
    network, model = dense(66), varied(66, 40)
    run = Run(rounds=60, replicates=60, seed=1, paths=3, record=record)
    counted = fixed_task(network, model, run=run)
    assert counted.extent.plan.counted == (60 if len(record) == 1 else 42)
    monkeypatch.setattr("exact.propagation.COUNTED_BYTES", 0)
    plain = fixed_task(network, model, run=run)
    assert plain.extent.plan.counted == 0
    one, other = counted.simulate(), plain.simulate()
    for name in ("mean", "standard_error", "network_mean", "paths"):
        # Sixty rounds of log-ratios of order one.
        np.testing.assert_allclose(getattr(one, name), getattr(other, name), rtol=0, atol=1e-12)
    np.testing.assert_array_equal(one.errors, other.errors)


def test_what_is_counted() -> None:
    """Many agents who differ, many hypotheses, many rounds between records."""

    def counted(agents: int, hypotheses: int, **run: Any) -> int:
        asked = Run(seed=0, **run)
        plan = fixed_task(dense(agents), varied(agents, hypotheses), run=asked).extent.plan
        assert plan.replicates == plan_for(dense(agents), columns=hypotheses - 1).replicates
        return plan.counted

    long: dict[str, Any] = {"rounds": 100, "replicates": 1000, "record": [100]}
    assert counted(66, 200, **long) == 64
    assert counted(66, 20, **long) == 0
    assert counted(66, 200, rounds=100, replicates=1000, record=range(1, 101)) == 0
    assert counted(66, 200, rounds=30, replicates=1, record=[30]) == 0
    assert counted(COMPILED_AGENTS, 200, **long) == 0
    alike = fixed_task(dense(66), coins(66), run=Run(seed=0, **long))
    assert alike.extent.plan.counted == 0


def test_workers_do_not_change_a_compiled_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("exact.propagation.COMPILED_WORK", 1)
    monkeypatch.setattr("exact.cost.UNIT_SECONDS", 0.01)
    network = Network(np.random.default_rng(1).dirichlet(np.ones(6), size=6))
    runs = [
        simulate(
            network,
            coins(6),
            run=Run(rounds=20, replicates=9000, seed=1, workers=w, backend="threading"),
        )
        for w in (1, 2)
    ]
    np.testing.assert_array_equal(runs[0].mean, runs[1].mean)
    np.testing.assert_array_equal(runs[0].standard_error, runs[1].standard_error)
