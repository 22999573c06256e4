"""Which task runs which kind of network."""

from __future__ import annotations

import copy

import numpy as np
from numpy.typing import ArrayLike

from exact.beliefs import check_log_likelihoods
from exact.changing.process import Process
from exact.changing.simulation import ProcessTask, changing_task
from exact.faults.process import FaultyTask, faulty_task
from exact.learning import learn_fast, with_best
from exact.messages.simulation import CompressedTask, compressed_task
from exact.results import Run, Simulation
from exact.sampling import ratios
from exact.task import FixedTask, Task, fixed_task
from theory import FiniteModel, Network
from theory.changing import ChangingNetwork
from theory.messages import Quantiser
from theory.robustness import Faults
from theory.typed import typed
from theory.validation import FloatArray, fail, read_only

# Which task runs which kind of network -----------------------------------------------------------


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


# Learning from observations that are given, on every kind of network that is simulated -----------


def learn_given(task: Task, log_likelihoods: ArrayLike) -> FloatArray:
    """Log-ratios of every agent's beliefs after each round, from given observations.

    Parameters
    ----------
    task
        Of :func:`exact.prepare`. Its `reference` and its model's priors count, and the seed of its
        run, by which the network is drawn if it changes; rounds and replicates do not.
    log_likelihoods
        Shape (T, N, M): log ℓ of what agent i observed in round t, in nats; zeros where it observed
        nothing.

    Returns
    -------
    FloatArray
        Shape (T, N, M): Λ(θ*, θ) = log ρ(θ*) − log ρ(θ) of the private beliefs, where θ* is the
        first of the task's `reference`. Rows of faulty agents that do not learn stay the priors'.

    Raises
    ------
    ValueError
        If the shape is another, or a log-likelihood is not finite.

    Examples
    --------
    >>> from exact import Run, prepare
    >>> from theory import FiniteAgent, FiniteModel, Network
    >>> coin = FiniteAgent.from_tables(truth=[[0.5, 0.5]], likelihood=[[[0.5, 0.5]], [[0.8, 0.2]]])
    >>> model = FiniteModel.from_agents(["fair", "loaded"], [coin], counts=[2])
    >>> pair = Network([[0.5, 0.5], [0.5, 0.5]])
    >>> task = prepare(pair, model, run=Run(rounds=1, replicates=1, seed=0))
    >>> heads = coin.log_likelihoods[:, 0]
    >>> learn_given(task, [[heads, heads], [heads, heads]])[:, 0, 1].round(4).tolist()
    [-0.47, -0.94]
    """
    rows = check_log_likelihoods(log_likelihoods)
    wanted = (task.model.agents, len(task.model.hypotheses))
    if rows.ndim != 3 or rows.shape[1:] != wanted or not len(rows):
        raise fail(
            "log_likelihoods",
            f"shape (rounds, {wanted[0]}, {wanted[1]})",
            f"shape {rows.shape}",
            "give one row of log-likelihoods per round and agent",
        )
    best = task.reference[0]
    priors = task.model.log_priors[task.model.assignment]
    if isinstance(task, FixedTask):
        against_first = learn_fast(task.network, rows, log_priors=priors).log_ratios
        return read_only(against_first - against_first[..., best, None])
    inner = task.task if isinstance(task, FaultyTask | CompressedTask) else task
    assert isinstance(inner, ProcessTask)
    found = _processed(inner.process, rows, priors, best=best, seed=task.run.seed)
    return read_only(found)


def _processed(
    process: Process, rows: FloatArray, priors: FloatArray, *, best: int, seed: int
) -> FloatArray:
    """The same by a process, one replicate of it."""
    process, state = copy.copy(process), ratios(priors, best)[:, None, :]
    process.restart(np.random.SeedSequence(seed), replicates=1, columns=state.shape[-1])
    found = np.empty_like(rows)
    for t, seen in enumerate(ratios(rows, best)):
        state = process.advance(state, np.ascontiguousarray(seen)[:, None, :])
        found[t] = with_best(state, best)[:, 0]
    return found
