"""Learning with faulty agents, run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from exact.changing.process import run_process
from exact.faults.process import FaultyProcess
from exact.learning import Progress, Simulation
from theory import FiniteModel, Network
from theory.robustness.behaviours import hypothesis_index
from theory.robustness.faults import (
    Faults,
    check_rule,
    check_tolerance,
    checked_faults,
    honest_agents,
    honest_reference,
)
from theory.robustness.rules import Average, Rule
from theory.validation import IntArray, as_integer, read_only


@dataclass(frozen=True, eq=False)
class FaultySimulation:
    """What the honest agents came to believe.

    Attributes
    ----------
    honest
        Shape (H,): the agents that the statistics are about.
    simulation
        Of these agents, in this order; `reference` is what they ought to find. An agent is wrong
        where the best hypothesis does not win all its comparisons.
    discarded
        Shape (N,): messages that each agent threw away, in all rounds and replicates (a few
        replicates are run and not reported, to fill up the last batch).
    """

    honest: IntArray
    simulation: Simulation
    discarded: IntArray


def simulate_faulty(
    network: Network,
    model: FiniteModel,
    faults: Faults,
    rule: Rule | None = None,
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
    chosen = Average() if rule is None else rule
    checked = checked_faults(network, model, faults)
    check_rule(chosen)
    if not beyond_tolerance:
        check_tolerance(network, checked, chosen)
    pool_every = as_integer("pool_every", pool_every, minimum=1)
    honest = honest_agents(network, checked)
    reference = honest_reference(network, model, honest)
    process = FaultyProcess(
        network,
        model,
        checked,
        chosen,
        best=reference[0],
        against=None if against is None else hypothesis_index(model, against),
        pool_every=pool_every,
    )
    simulation = run_process(
        process,
        model,
        reference=reference,
        rounds=rounds,
        replicates=replicates,
        seed=seed,
        record=record,
        paths=paths,
        progress=progress,
        agents=[int(i) for i in honest],
        layers=4,
    )
    return FaultySimulation(read_only(honest), simulation, read_only(process.discarded))
