"""Learning from observations that are given, on every kind of network that is simulated.

What a round does is what it does in :func:`exact.simulate`: lost messages, absent agents, liars and
quantisers are drawn with the run's seed, and only the observations are not.
"""

from __future__ import annotations

import copy

import numpy as np
from numpy.typing import ArrayLike

from exact.beliefs import check_log_likelihoods
from exact.changing.process import Process
from exact.changing.task import ProcessTask
from exact.faults.simulation import FaultyTask
from exact.fixed import FixedTask
from exact.learning import learn_fast, with_best
from exact.messages.simulation import CompressedTask
from exact.sampling import ratios
from exact.task import Task
from theory.validation import FloatArray, fail, read_only


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
