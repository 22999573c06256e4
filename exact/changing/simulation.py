"""Networks that change, run: many replicates of any kind of changing network.

What a round does in each kind is written on :mod:`exact.changing.phases`,
:mod:`exact.changing.links`, :mod:`exact.changing.presence` and :mod:`exact.changing.delays`; the
loop is :func:`exact.changing.process.run_process`.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from exact.changing.delays import DelayedProcess
from exact.changing.links import LinksProcess
from exact.changing.phases import MarkovProcess, PeriodicProcess
from exact.changing.presence import PresenceProcess
from exact.changing.process import Design, run_process
from exact.checkpoint import Checkpoint, fingerprint
from exact.cost import Cost
from exact.learning import Simulation, recorded_rounds
from exact.parallel import Progress
from theory import FiniteModel, Network
from theory.changing import (
    ChangingNetwork,
    MarkovNetwork,
    PeriodicNetwork,
    RandomLinks,
    RandomPresence,
    influence,
)
from theory.typed import typed
from theory.validation import as_integer, fail

# Besides what every process has, each knows `layers`, `links` and `draws` (see run_process), and
# whether it is `fresh`: whether agents always pool what is said in the same round.
ChangingProcess = PeriodicProcess | MarkovProcess | LinksProcess | PresenceProcess | DelayedProcess


@typed
def simulate_changing(
    network: ChangingNetwork | Network,
    model: FiniteModel,
    *,
    rounds: int,
    replicates: int,
    seed: int,
    record: Sequence[int] | None = None,
    paths: int = 0,
    progress: Progress | None = None,
    workers: int = 1,
    backend: str | None = None,
    memory: int | str | None = None,
    checkpoint: str | Path | None = None,
    resume: bool = False,
) -> Simulation:
    """Run the algorithm on a network that changes, on drawn observations, many times over.

    What is random about the network is drawn afresh in every replicate, on a stream of its own:
    with the same seed, agents of all networks see the same data (which those that rest in a round
    do not use). The same arguments give the same numbers, up to rounding in the linear algebra
    library.

    Parameters
    ----------
    network, model
        N agents each.
    rounds, replicates, seed, record, paths, progress, workers, backend, memory, checkpoint, resume
        As for :func:`exact.simulate`. Rounds are ticks where a network has clocks.

    Returns
    -------
    Simulation
        Estimates over R replicates. Its `reference` is Θ*, or, if that is empty, the hypotheses
        the network settles on by :func:`theory.changing.influence`.

    Raises
    ------
    ValueError
        If network and model disagree on the number of agents, or an argument is out of range; if
        the run would take more than 10¹⁴ observations, or more memory than allowed; if the
        checkpoint is damaged or of another run.

    Examples
    --------
    >>> from theory import FiniteAgent
    >>> from theory.changing import rotating_star
    >>> coin = FiniteAgent.from_tables(
    ...     inputs=[1.0], truth=[[0.5, 0.5]], likelihood=[[[0.5, 0.5]], [[0.75, 0.25]]]
    ... )
    >>> star = rotating_star(groups=2, group_size=2, edge_confidence=0.5)
    >>> model = FiniteModel.from_agents(("fair", "loaded"), [coin], counts=[5])
    >>> run = simulate_changing(star, model, rounds=200, replicates=400, seed=1)
    >>> u = influence(star).values
    >>> predicted = float(u @ model.information(0)[:, 1])
    >>> bool(abs(run.rates.mean[0, 1] - predicted) < 0.01)
    True
    """
    process, reference = process_for(network), reference_for(network, model)
    kept = None
    if checkpoint is not None:
        numbers = (rounds, replicates, seed, recorded_rounds(record, rounds), paths)
        kept = Checkpoint(Path(checkpoint), fingerprint(network, model, numbers), resume=resume)
    return run_process(
        process,
        model,
        reference=reference,
        rounds=rounds,
        replicates=replicates,
        seed=seed,
        record=record,
        paths=paths,
        progress=progress,
        linear=True,
        layers=process.layers,
        links=process.links,
        draws=process.draws,
        workers=workers,
        backend=backend,
        memory=memory,
        checkpoint=kept,
    )


@typed
def changing_cost(
    network: ChangingNetwork | Network,
    model: FiniteModel,
    *,
    rounds: int,
    replicates: int,
    record: Sequence[int] | None = None,
    paths: int = 0,
    workers: int = 1,
) -> Cost:
    """What :func:`simulate_changing` would take, in bytes and seconds, without running it.

    Parameters
    ----------
    network, model, rounds, replicates, record, paths, workers
        As for :func:`simulate_changing`.

    Returns
    -------
    Cost
        Estimates, as of :func:`exact.learning.simulation_cost`.

    Raises
    ------
    ValueError
        If an argument is out of range, or the run would take more than 10¹⁴ observations.
    """
    process = process_for(network)
    design = Design.of(
        model,
        reference=reference_for(network, model),
        rounds=rounds,
        replicates=replicates,
        record=record,
        paths=paths,
        linear=True,
        layers=process.layers,
        links=process.links,
        draws=process.draws,
    )
    return design.cost(workers=as_integer("workers", workers, minimum=1))


def reference_for(network: ChangingNetwork | Network, model: FiniteModel) -> tuple[int, ...]:
    """What the network settles on: Θ*, or the compromise under its influence if Θ* is empty.

    Raises
    ------
    ValueError
        If network and model disagree on the number of agents.
    """
    if network.agents != model.agents:
        raise fail(
            "model",
            f"one agent for each of the network's {network.agents}",
            f"{model.agents}",
            "describe as many agents as the network has",
        )
    # The influence takes a while on large networks, and is not needed if one hypothesis suits all.
    return model.optimal_hypotheses or model.compromise(influence(network).values)


@typed
def process_for(network: ChangingNetwork | Network) -> ChangingProcess:
    """The process of a network's kind.

    Raises
    ------
    ValueError
        If it is none of the kinds known.
    """
    if isinstance(network, PeriodicNetwork | Network):
        return PeriodicProcess(network)
    if isinstance(network, MarkovNetwork):
        return MarkovProcess(network)
    if isinstance(network, RandomLinks):
        return LinksProcess(network)
    if isinstance(network, RandomPresence):
        return PresenceProcess(network)
    return DelayedProcess(network)
