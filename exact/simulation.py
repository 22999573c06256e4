"""Simulations of finitely many hypotheses, on every kind of network: one door.

:func:`simulate` draws the observations and keeps statistics of Λ at chosen rounds, in memory that
grows neither with the number of rounds nor of replicates. Replicates may be spread over processes,
and a run that was killed be resumed, without changing a bit of the result (:mod:`exact.parallel`).
:func:`prepare` says beforehand what a simulation would cost.

What a round does is written with each kind: a network that stays as it is on
:mod:`exact.learning`, one that changes on :mod:`exact.changing.simulation`, faulty agents on
:mod:`exact.faults.simulation`. Regressions have a door of their own, of the same shape:
:func:`exact.simulate_regression`.
"""

from __future__ import annotations

from exact.changing.simulation import changing_task
from exact.faults.simulation import faulty_task
from exact.learning import fixed_task
from exact.results import Simulation
from exact.run import Run, check_run
from exact.task import Task
from theory import FiniteModel, Network
from theory.changing import ChangingNetwork
from theory.robustness import Faults
from theory.validation import fail


def simulate(
    network: Network | ChangingNetwork,
    model: FiniteModel,
    *,
    faults: Faults | None = None,
    run: Run,
) -> Simulation:
    """Run the algorithm on drawn observations, many times over.

    Observations are independent across agents, rounds and replicates. What is random about a
    network that changes is drawn afresh in every replicate, on a stream of its own. So the same
    seed gives the agents the same data on every network with dense weights and on all that change,
    whoever is faulty and whatever the rule; agents that rest in a round do not use theirs.

    Parameters
    ----------
    network, model
        N agents each. The network stays as it is, or is one of the kinds in
        :mod:`theory.changing`.
    faults
        Who is faulty, and how the honest agents pool; nobody if left out. For a network that stays
        as it is.
    run
        Rounds, replicates, seed, and what the run may use of the machine.

    Returns
    -------
    Simulation
        Estimates over R replicates, about the honest agents. Its `reference` is their Θ*, or, if
        that is empty, the hypotheses they settle on: by the stationary distribution, the influence
        in a network that changes (:func:`theory.changing.influence`), or the honest agents' share.

    Raises
    ------
    ValueError
        If network and model disagree on the number of agents; if there are faults on a network
        that changes, they do not fit, or an honest agent hears more faulty ones than its rule
        tolerates; if the run would take more than 10¹⁴ observations (more than a month), or more
        memory than allowed; if the checkpoint is damaged or of another run.

    Examples
    --------
    >>> from theory import FiniteAgent
    >>> from theory.changing import rotating_star
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

    Where only the centre of a star changes, it learns as fast:

    >>> star = rotating_star(groups=2, group_size=2, edge_confidence=0.5)
    >>> bool((abs(simulate(star, model, run=run).rates.mean[:, 1] - 0.1438) < 0.02).all())
    True

    Everybody who averages follows a liar; trimmed means do not:

    >>> liar = {4: Push("loaded", 1.0)}
    >>> plain, robust = Faults(liar), Faults(liar, TrimmedMean(1))
    >>> bool((simulate(crowd, model, faults=plain, run=run).rates.mean[:, 1] < -0.9).all())
    True
    >>> bool((simulate(crowd, model, faults=robust, run=run).rates.mean[:, 1] > 0.01).all())
    True
    """
    return prepare(network, model, faults=faults, run=run).simulate()


def prepare(
    network: Network | ChangingNetwork,
    model: FiniteModel,
    *,
    faults: Faults | None = None,
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
    if not isinstance(model, FiniteModel):
        got = type(model).__name__
        raise fail("model", "a FiniteModel", got, "regressions go to simulate_regression")
    check_run(run)
    if faults is not None and not isinstance(faults, Faults):
        got = type(faults).__name__
        raise fail("faults", "Faults", got, "write Faults({agent: behaviour, ...}, rule)")
    if not isinstance(network, Network):
        task = changing_task(network, model, run=run)
        if faults is None:
            return task
        wanted = "a network that stays the same"
        raise fail("faults", wanted, "one that changes", "leave out faults, or what changes")
    if faults is None:
        return fixed_task(network, model, run=run)
    return faulty_task(network, model, faults=faults, run=run)
