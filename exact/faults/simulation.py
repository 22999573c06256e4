"""Learning with faulty agents, run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from exact.changing.process import Design
from exact.checkpoint import Checkpoint, fingerprint
from exact.cost import Cost, check_cost
from exact.faults.process import FaultyProcess
from exact.faults.work import FaultyRunner, FaultyWork
from exact.learning import Simulation, measured, recorded_rounds
from exact.limits import as_memory
from exact.parallel import Progress, run_units
from theory import FiniteModel, Network
from theory.robustness.behaviours import Behaviour
from theory.robustness.faults import (
    Faults,
    as_rule,
    check_tolerance,
    checked_faults,
    honest_agents,
    honest_reference,
)
from theory.robustness.rules import Average, Rule
from theory.showing import Shown
from theory.typed import typed
from theory.validation import IntArray, as_integer, as_position, read_only


@dataclass(frozen=True, eq=False)
class FaultySimulation(Shown):
    """What the honest agents came to believe.

    Attributes
    ----------
    honest
        Shape (H,): the agents that the statistics are about.
    simulation
        Of these agents, in this order; `reference` is what they ought to find. An agent is wrong
        where the hypothesis that does best in comparison with `best` is outside `reference`.
    discarded
        Shape (N,): messages that each agent threw away, in all rounds and replicates.
    """

    honest: IntArray
    simulation: Simulation
    discarded: IntArray


@typed
def simulate_faulty(
    network: Network,
    model: FiniteModel,
    faults: Faults,
    rule: Rule | str | None = None,
    *,
    rounds: int,
    replicates: int,
    seed: int,
    record: Sequence[int] | None = None,
    paths: int = 0,
    progress: Progress | None = None,
    against: int | str | None = None,
    pool_every: int = 1,
    beyond_tolerance: bool = False,
    workers: int = 1,
    backend: str | None = None,
    memory: int | str | None = None,
    checkpoint: str | Path | None = None,
    resume: bool = False,
) -> FaultySimulation:
    """Run the algorithm where some agents are broken or lie.

    Without faults and with :class:`~theory.robustness.rules.Average` this is what
    :func:`exact.simulate` runs. The same seed gives the honest agents the same data whoever is
    faulty and whatever the rule.

    Parameters
    ----------
    network, model
        N agents each.
    faults
        The behaviour of each faulty agent (:mod:`theory.robustness.behaviours`).
    rule
        How honest agents pool (:mod:`theory.robustness.rules`); plain averaging if left out.
    rounds, replicates, seed, record, paths, progress
        As for :func:`exact.simulate`.
    against
        Index or name of a hypothesis. Robust rules then act on the log-ratios against it, and
        the outcome depends on the choice; if left out, on every pair of hypotheses.
    pool_every
        B ≥ 1: agents observe each round, but talk in every B-th alone.
    beyond_tolerance
        Whether to run with more liars than the rule tolerates.
    workers, backend, memory, checkpoint, resume
        As for :func:`exact.simulate`.

    Raises
    ------
    ValueError
        If a behaviour does not fit, nobody is honest, an honest agent hears more faulty ones than
        the rule tolerates, or as for :func:`exact.simulate`.

    Examples
    --------
    >>> from theory import FiniteAgent
    >>> from theory.robustness import Push, TrimmedMean
    >>> coin = FiniteAgent.from_tables(
    ...     inputs=[1.0], truth=[[0.5, 0.5]], likelihood=[[[0.5, 0.5]], [[0.75, 0.25]]]
    ... )
    >>> model = FiniteModel.from_agents(("fair", "loaded"), [coin], counts=[5])
    >>> crowd = Network.from_topology("complete", agents=5)
    >>> liar = {4: Push("loaded", 1.0)}
    >>> options = dict(rounds=200, replicates=20, seed=1)
    >>> plain = simulate_faulty(crowd, model, liar, **options).simulation
    >>> bool((plain.rates.mean[:, 1] < -0.9).all())  # everybody follows the liar
    True
    >>> robust = simulate_faulty(crowd, model, liar, TrimmedMean(1), **options).simulation
    >>> bool((robust.rates.mean[:, 1] > 0.01).all())
    True
    """
    seed = as_integer("seed", seed, minimum=0)
    workers = as_integer("workers", workers, minimum=1)
    allowed = None if memory is None else as_memory("memory", memory)
    plan = _plan(
        network,
        model,
        faults,
        rule,
        rounds=rounds,
        replicates=replicates,
        record=record,
        paths=paths,
        against=against,
        pool_every=pool_every,
        beyond_tolerance=beyond_tolerance,
    )
    check_cost(plan.design.cost(workers=workers), memory=allowed)
    recorded = recorded_rounds(record, rounds)
    work = plan.design.work(plan.process, seed=seed, recorded=recorded, runs=FaultyRunner)
    assert isinstance(work.runner, FaultyRunner)
    kept = None
    if checkpoint is not None:
        rules = (plan.faults, plan.rule, plan.against, pool_every)
        numbers = (recorded, replicates, seed, paths, work.largest, work.block)
        mark = fingerprint(network.weights, model, rules, numbers)
        kept = Checkpoint(Path(checkpoint), mark, resume=resume)
    sums = run_units(
        FaultyWork(work, work.runner),
        workers=workers,
        backend=backend,
        checkpoint=kept,
        progress=progress,
    )
    return FaultySimulation(
        read_only(plan.design.watched),
        measured(work, sums, hypotheses=model.hypotheses),
        read_only(sums["discarded"]),
    )


@typed
def faulty_cost(
    network: Network,
    model: FiniteModel,
    faults: Faults,
    rule: Rule | str | None = None,
    *,
    rounds: int,
    replicates: int,
    record: Sequence[int] | None = None,
    paths: int = 0,
    against: int | str | None = None,
    pool_every: int = 1,
    beyond_tolerance: bool = False,
    workers: int = 1,
) -> Cost:
    """What :func:`simulate_faulty` would take, in bytes and seconds, without running it.

    Parameters
    ----------
    network, model, faults, rule
        As for :func:`simulate_faulty`.
    rounds, replicates, record, paths, against, pool_every, beyond_tolerance, workers
        As for :func:`simulate_faulty`.

    Returns
    -------
    Cost
        Estimates, as of :func:`exact.learning.simulation_cost`.

    Raises
    ------
    ValueError
        As for :func:`simulate_faulty`, but for memory and checkpoint.

    Examples
    --------
    >>> from theory import FiniteAgent
    >>> from theory.robustness import Median, Push
    >>> coin = FiniteAgent.from_tables(
    ...     inputs=[1.0], truth=[[0.5, 0.5]], likelihood=[[[0.5, 0.5]], [[0.75, 0.25]]]
    ... )
    >>> model = FiniteModel.from_agents(("fair", "loaded"), [coin], counts=[25])
    >>> torus, liar = Network.from_topology("torus", shape=[5, 5]), {3: Push("loaded", 1.0)}
    >>> size = dict(rounds=10_000, replicates=1000)
    >>> plain = faulty_cost(torus, model, liar, **size)
    >>> robust = faulty_cost(torus, model, liar, Median(), **size)
    >>> plain.seconds < robust.seconds < 120, robust.bytes < 2**28
    (True, True)
    """
    plan = _plan(
        network,
        model,
        faults,
        rule,
        rounds=rounds,
        replicates=replicates,
        record=record,
        paths=paths,
        against=against,
        pool_every=pool_every,
        beyond_tolerance=beyond_tolerance,
    )
    return plan.design.cost(workers=as_integer("workers", workers, minimum=1))


@dataclass(frozen=True, eq=False)
class _Plan:
    """A run that has been checked and cut up, and not begun."""

    faults: dict[int, Behaviour]
    rule: Rule
    against: int | None
    process: FaultyProcess
    design: Design


def _plan(
    network: Network,
    model: FiniteModel,
    faults: Faults,
    rule: Rule | str | None,
    *,
    rounds: int,
    replicates: int,
    record: Sequence[int] | None,
    paths: int,
    against: int | str | None,
    pool_every: int,
    beyond_tolerance: bool,
) -> _Plan:
    chosen = as_rule(Average() if rule is None else rule)
    checked = checked_faults(network, model, faults)
    if not beyond_tolerance:
        check_tolerance(network, checked, chosen)
    honest = honest_agents(network, checked)
    reference = honest_reference(network, model, honest)
    pivot = None if against is None else as_position("hypothesis", against, model.hypotheses)
    process = FaultyProcess(
        network,
        model,
        checked,
        chosen,
        best=reference[0],
        against=pivot,
        pool_every=as_integer("pool_every", pool_every, minimum=1),
    )
    design = Design.of(
        model,
        reference=reference,
        rounds=rounds,
        replicates=replicates,
        record=record,
        paths=paths,
        agents=[int(i) for i in honest],
        layers=process.layers,
        links=process.links,
        draws=process.draws,
        hearing=process.hearing,
    )
    return _Plan(checked, chosen, pivot, process, design)
