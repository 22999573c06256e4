"""Sweeps of several rounds, of sparse and dense networks, against one round after another."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from exact import Run, simulate
from exact.dense_kernel import BAND, STRIP, Registers, dense_rounds, registers, work_space
from exact.kernels import sparse_rounds
from exact.plan import COMPILED_AGENTS, is_compiled, plan_for
from exact.propagation import CompiledPropagation, DensePropagation, reach
from exact.sampling import Sampler
from tests.models import coins
from theory import Network
from theory.validation import FloatArray


@pytest.mark.parametrize("tile", [1, 3, 7, 100])
@pytest.mark.parametrize("extra", [0, 2])
@pytest.mark.parametrize("first", [0, 1])
@pytest.mark.parametrize(("replicates", "noisy"), [(2, True), (1, True), (2, False), (1, False)])
@pytest.mark.parametrize("topology", ["grid", "star"])
def test_one_sweep_is_several_rounds(
    tile: int, extra: int, first: int, replicates: int, noisy: bool, topology: str
) -> None:
    """Tiles shorter and longer than the lag, and the longest lag that is needed or more.

    An agent of the grid hears three, four or five; one of the star two, or all twenty.
    """
    rng = np.random.default_rng(0)
    sizes = {"grid": {"shape": [5, 4]}, "star": {"agents": 20, "edge_confidence": 0.5}}[topology]
    weights = sparse.csr_array(Network.from_topology(topology, **sizes).weights)  # type: ignore[arg-type]
    agents, width, rounds = 20, 3, 6
    offsets, slopes = rng.random((4, width)), rng.random((4, width))
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
    np.testing.assert_allclose(state[(first + rounds) % 2], expected, rtol=0, atol=1e-13)


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
@pytest.mark.parametrize("columns", [STRIP, STRIP + 1, BAND - 1, BAND, 2 * BAND + STRIP + 3])
@pytest.mark.parametrize("rounds", [1, 2, 3])
def test_the_compiled_product_is_several_rounds(agents: int, columns: int, rounds: int) -> None:
    """Blocks of one to four agents; whole bands, strips, and a last strip that goes back."""
    rng = np.random.default_rng(agents)
    weights = rng.random((agents, agents))
    weights /= weights.sum(axis=1, keepdims=True)
    rows = rng.normal(size=(rounds, agents, columns))
    expected = state = rng.normal(size=(agents, columns))
    for z in rows:
        expected = z + np.einsum("ij,jk->ik", weights, expected)
    # Averages of a few numbers below ten, one rounding a neighbour and round.
    for at in (0, 1):
        np.testing.assert_allclose(
            carried(weights, rows, state, at=at), expected, rtol=0, atol=1e-14 * (agents + 2)
        )


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


def test_sums_fill_the_registers_of_the_processor() -> None:
    assert registers("+avx,+avx2,+avx512f,+fma") == Registers(lanes=8, rows=4, strips=4)
    assert registers("+avx,+avx2,-avx512f,+fma") == Registers(lanes=4, rows=4, strips=3)
    assert registers("+neon").lanes == 2


@pytest.mark.parametrize("replicates", [1, 2, 40])
def test_both_dense_engines_carry_the_same(replicates: int) -> None:
    """One column is narrower than a strip, forty times three are wider."""
    weights = np.random.default_rng(1).dirichlet(np.ones(6), size=6)
    network, model = Network(weights), coins(6)
    plan = plan_for(network, columns=len(model.hypotheses) - 1)
    sampler = Sampler(model, best=0)
    sampler.restart(np.random.SeedSequence(3), replicates=replicates)
    draws = [sampler.draw(rounds) for rounds in (1, 5, 30, 1)]
    prior = np.random.default_rng(2).normal(size=(6, sampler.table.columns))
    found = []
    for kind in (CompiledPropagation, DensePropagation):
        engine = kind(network, sampler.table, replicates=replicates, plan=plan)
        engine.start(prior, draws[0])
        states = [engine.private().copy()]
        for some in draws[1:]:
            engine.advance(some)
            states.append(engine.private().copy())
        found.append(states)
    # Thirty-seven rounds of log-ratios of order one.
    np.testing.assert_allclose(found[0], found[1], rtol=0, atol=1e-13)


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
        monkeypatch.setattr("exact.plan.COMPILED_WORK", least)
        runs.append(simulate(network, model, run=Run(rounds=40, replicates=5000, seed=1, paths=3)))
    for name in ("mean", "standard_error", "network_mean", "paths"):
        one, other = (getattr(run, name) for run in runs)
        # Forty rounds of log-ratios of order one, summed over five thousand replicates.
        np.testing.assert_allclose(one, other, rtol=1e-11, atol=1e-12)
    np.testing.assert_array_equal(runs[0].errors, runs[1].errors)


def test_workers_do_not_change_a_compiled_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("exact.plan.COMPILED_WORK", 1)
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
