"""Which task runs which kind of network."""

from __future__ import annotations

from exact.changing.simulation import changing_task
from exact.faults.simulation import faulty_task
from exact.fixed import fixed_task
from exact.messages.simulation import compressed_task
from exact.results import Simulation
from exact.run import Run
from exact.task import Task
from theory import FiniteModel, Network
from theory.changing import ChangingNetwork
from theory.messages import Quantiser
from theory.robustness import Faults
from theory.typed import typed
from theory.validation import fail


@typed
def simulate(
    network: Network | ChangingNetwork,
    model: FiniteModel,
    *,
    faults: Faults | None = None,
    messages: Quantiser | None = None,
    run: Run,
) -> Simulation:
    """Run the algorithm on drawn observations, many times over.

    Observations are independent across agents, rounds and replicates. Networks that change draw
    from a stream of their own: the same seed gives the agents the same data on all of these and on
    every network with dense weights, whoever is faulty.

    Parameters
    ----------
    network, model
        N agents each. The network stays as it is, or is of a kind in :mod:`theory.changing`.
    faults
        Who is faulty, and how honest agents pool, on a network that stays; nobody if left out.
    messages
        What agents send instead of their beliefs (:mod:`theory.messages`), on a network that
        stays and where nobody is faulty; the beliefs themselves if left out.
    run
        Rounds, replicates, seed, and what the run may use of the machine.

    Returns
    -------
    Simulation
        Estimates over R replicates, about the honest agents.

    Raises
    ------
    ValueError
        If network and model disagree on the number of agents; if faults do not fit, are more than
        the rule tolerates, or come with a network that changes; if messages come with either, or
        their quantiser overloads; if the run would take more than
        10¹⁴ observations (more than a month), or more memory than allowed; if the checkpoint is
        damaged or of another run.

    Examples
    --------
    >>> from theory import FiniteAgent
    >>> from theory.robustness import Push, TrimmedMean
    >>> coin = FiniteAgent.from_tables(
    ...     inputs=[1.0], truth=[[0.5, 0.5]], likelihood=[[[0.5, 0.5]], [[0.75, 0.25]]]
    ... )
    >>> model = FiniteModel.from_agents(("fair", "loaded"), [coin], counts=[5])
    >>> crowd = Network.from_topology("complete", agents=5)
    >>> run = Run(rounds=200, replicates=100, seed=1)
    >>> rates = simulate(crowd, model, run=run).rates
    >>> bool((abs(rates.mean[:, 1] - 0.1438) < 4 * rates.standard_error[:, 1]).all())
    True
    >>> alert = Faults({4: Push("loaded", 1.0)}, TrimmedMean(1))  # agent 4 lies
    >>> bool((simulate(crowd, model, faults=alert, run=run).rates.mean[:, 1] > 0.01).all())
    True
    """
    return prepare(network, model, faults=faults, messages=messages, run=run).simulate()


@typed
def prepare(
    network: Network | ChangingNetwork,
    model: FiniteModel,
    *,
    faults: Faults | None = None,
    messages: Quantiser | None = None,
    run: Run,
) -> Task:
    """The simulation that :func:`simulate` runs, checked and cut up, and not begun.

    ``prepare(...).cost()`` says what it would take, in bytes and seconds, and
    ``prepare(...).simulate()`` runs it. Arguments are as for :func:`simulate`.

    Raises
    ------
    ValueError
        As for :func:`simulate`, but for memory and checkpoint.

    Examples
    --------
    >>> from theory import FiniteAgent
    >>> coin = FiniteAgent.from_tables(
    ...     inputs=[1.0], truth=[[0.5, 0.5]], likelihood=[[[0.5, 0.5]], [[0.75, 0.25]]]
    ... )
    >>> model = FiniteModel.from_agents(("fair", "loaded"), [coin], counts=[100_000])
    >>> ring = Network.from_topology("ring", agents=100_000)
    >>> cost = prepare(ring, model, run=Run(rounds=1000, replicates=10, seed=1)).cost()
    >>> cost.bytes < 2**30, 5 < cost.seconds < 50
    (True, True)
    """
    if messages is not None and (faults is not None or not isinstance(network, Network)):
        wanted = "a network that stays the same, and honest agents"
        got = "faults" if faults is not None else "one that changes"
        raise fail("messages", wanted, got, "leave out messages")
    if not isinstance(network, Network):
        task = changing_task(network, model, run=run)
        if faults is None:
            return task
        wanted = "a network that stays the same"
        raise fail("faults", wanted, "one that changes", "leave out faults, or what changes")
    if messages is not None:
        return compressed_task(network, model, messages=messages, run=run)
    if faults is None:
        return fixed_task(network, model, run=run)
    return faulty_task(network, model, faults=faults, run=run)
