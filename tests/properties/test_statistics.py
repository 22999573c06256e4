"""Sums over replicates: cut anywhere and run by anybody, they are those of one pass."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from exact import Run
from exact.changing import process_for
from exact.changing.simulation import Footprint, process_task
from exact.compression import evidence_basis
from exact.learning import FixedNetwork, Replicates
from exact.parallel import run_units
from exact.propagation import plan_for
from exact.statistics import Tally, merge_tallies
from tests.properties.pinned import COUPLED, RESET, pinned
from tests.properties.support import assert_close, often
from tests.strategies import Problem, changing_networks, mixed_models, problems, seeds
from theory import FiniteModel
from theory.changing import ChangingNetwork


@often(25)
@given(
    sizes=st.lists(st.integers(1, 12), min_size=1, max_size=8),
    agents=st.integers(1, 4),
    hypotheses=st.integers(2, 4),
    best=st.integers(1, 2),
    scale=st.sampled_from([1e-3, 1.0, 1e6]),
    seed=seeds,
)
def test_chunks_are_merged(
    sizes: list[int], agents: int, hypotheses: int, best: int, scale: float, seed: int
) -> None:
    """Added to one tally, merged from many, and at once; whole numbers, so that many tie."""
    rng = np.random.default_rng(seed)
    total = sum(sizes)
    values = scale * rng.integers(-3, 4, (2, agents, total, hypotheses)).astype(np.float64)
    values[..., 0] = 0.0
    reference = tuple(range(min(best, hypotheses - 1)))

    def tally() -> Tally:
        return Tally(
            np.array([1, 5]),
            agents=agents,
            hypotheses=hypotheses,
            reference=reference,
            scale=np.full(hypotheses, scale),
        )

    whole, added, merged = tally(), tally(), tally()
    begin = 0
    for size in sizes:
        part = tally()
        for t in range(2):
            chunk = values[t, :, begin : begin + size]
            added.add(t, chunk)
            part.add(t, chunk)
        merge_tallies(merged.arrays(), part.arrays())
        begin += size
    for t in range(2):
        whole.add(t, values[t])
    for name, truth in whole.arrays().items():
        # The same batches in the same order give the same bits.
        np.testing.assert_array_equal(merged.arrays()[name], added.arrays()[name])
        if truth.dtype.kind == "i":
            np.testing.assert_array_equal(added.arrays()[name], truth)
        else:
            size = scale if name.endswith("mean") else scale**2 * total
            assert_close(added.arrays()[name] / size, truth / size, 1e-14 * len(sizes) + 1e-14)


def assert_runs_agree(work: Replicates, *, scale: float) -> None:
    """One worker, two at once, and one pass over all the paths.

    The workers get copies of work that has run before. Once the views that an engine keeps into
    its own memory became arrays of their own in a copy, which then gave other numbers.
    """
    one = run_units(work)
    two = run_units(work, workers=2, backend="threading")
    assert work.units > 1
    for name, value in one.items():
        np.testing.assert_array_equal(two[name], value)
    tally = Tally(
        work.recorded,
        agents=work.agents,
        hypotheses=work.hypotheses,
        reference=work.reference,
        scale=scale,
    )
    for index in range(work.recorded.size):
        tally.add(index, np.ascontiguousarray(one["paths"][:, index].swapaxes(0, 1)))
    for name, truth in tally.arrays().items():
        if truth.dtype.kind == "i":
            np.testing.assert_array_equal(one[name], truth)
        else:
            assert_close(one[name], truth)


@often(6)
@given(
    problem=problems(max_agents=6),
    largest=st.integers(1, 7),
    block=st.integers(1, 3),
    seed=seeds,
)
@example(pinned(COUPLED), 3, 2, 0)
@example(pinned(RESET), 3, 2, 0)
def test_fixed_networks(problem: Problem, largest: int, block: int, seed: int) -> None:
    network, model = problem.network, problem.model
    reference = model.reference_hypotheses(network.stationary_distribution)
    basis = evidence_basis(model, best=reference[0])
    hypotheses = len(model.hypotheses)
    columns = hypotheses - 1 if basis is None else len(basis)
    recorded = np.array([1, 4, 9])
    plan = plan_for(network, columns=columns, group=1)
    runner = FixedNetwork(network, model, best=reference[0], recorded=recorded, plan=plan, group=1)
    replicates = 2 * largest * block + 1
    work = Replicates(
        runner,
        recorded=recorded,
        agents=network.agents,
        hypotheses=hypotheses,
        reference=reference,
        replicates=replicates,
        seed=seed,
        paths=replicates,
        largest=largest,
        block=block,
    )
    assert_runs_agree(work, scale=runner.scale)


@st.composite
def changing_problems(draw: st.DrawFn) -> tuple[ChangingNetwork, FiniteModel]:
    network = draw(changing_networks(max_agents=4))
    return network, draw(mixed_models(network.agents))


@often(6)
@given(
    problem=changing_problems(),
    largest=st.integers(1, 7),
    block=st.integers(1, 3),
    seed=seeds,
)
def test_networks_that_change(
    problem: tuple[ChangingNetwork, FiniteModel], largest: int, block: int, seed: int
) -> None:
    network, model = problem
    replicates = 2 * largest * block + 1
    run = Run(rounds=9, replicates=replicates, seed=seed, record=[1, 4, 9], paths=replicates)
    task = process_task(
        process_for(network),
        model,
        run=run,
        reference=[0],
        linear=True,
        footprint=Footprint(),
    )
    work = replace(task.work(), largest=largest, block=block)
    assert_runs_agree(work, scale=work.runner.scale)
