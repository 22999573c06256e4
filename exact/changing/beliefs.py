"""Learning on a network that changes, as the papers write it, for phases that are given.

Round by round: active agents update by Bayes' rule, all agents pool by the weights of the round,
and both steps normalise, in logarithms. Where messages are late, agent i pools what agent j said
some rounds ago. :func:`draw_rounds` gives the phases and ages that a random network went through,
so that the quick runs can be checked against this form.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count, islice

import numpy as np
from numpy.typing import ArrayLike, NDArray

from exact.beliefs import (
    Beliefs,
    bayes_update,
    check_log_likelihoods,
    estimates,
    normalise,
    pooled,
    prior_rows,
)
from exact.changing.exchange import check_pairs
from exact.changing.simulation import ChangingProcess, process_for
from theory.changing import ChangingNetwork, Phase
from theory.network.structure import as_dense
from theory.showing import Shown
from theory.typed import typed
from theory.validation import FloatArray, IntArray, as_integer, fail, read_only


@dataclass(frozen=True, eq=False)
class Rounds(Shown):
    """What a changing network did in T rounds.

    Attributes
    ----------
    phases
        T of them: the weights of each round and who observed. An agent that nobody listened to, not
        even itself, may be missing among these.
    ages
        Shape (T, N, N): in round t agent i pools what agent j said ages[t, i, j] rounds before;
        a message from before round 1 is the prior. Zero where nothing is late or weighed.
    """

    phases: tuple[Phase, ...]
    ages: IntArray


def learn_changing(
    phases: Sequence[Phase],
    log_likelihoods: ArrayLike,
    *,
    log_priors: ArrayLike | None = None,
    ages: ArrayLike | None = None,
) -> Beliefs:
    """Run the algorithm on given observations and given phases, step by step.

    Parameters
    ----------
    phases
        One for each of T rounds.
    log_likelihoods
        Shape (T, N, M): log ℓ_i(y_t | θ, x_t), in nats; ignored where an agent is not active.
    log_priors
        Shape (N, M) or (M,); uniform if left out.
    ages
        Shape (T, N, N): how many rounds ago agent j said what agent i pools, at most as many as
        there were (which means the prior); zero if left out.

    Returns
    -------
    Beliefs
        As of :func:`exact.learn`; the public belief of an agent that is not active is its private
        one.

    Raises
    ------
    ValueError
        If shapes disagree, an age is out of range, or a number is not finite.

    Examples
    --------
    >>> head = np.log([0.8, 0.4])
    >>> alone = Phase(np.eye(2), active=[0])
    >>> together = Phase([[0.5, 0.5], [0.5, 0.5]], active=[1])
    >>> beliefs = learn_changing([alone, together], [[head, head], [head, head]])
    >>> np.exp(beliefs.private[-1]).round(4)
    array([[0.6667, 0.3333],
           [0.6667, 0.3333]])
    """
    table = check_log_likelihoods(log_likelihoods)
    agents = phases[0].agents if len(phases) else 0
    if table.ndim != 3 or table.shape[:2] != (len(phases), agents) or 0 in table.shape:
        raise fail(
            "log_likelihoods",
            f"shape ({len(phases)}, {agents}, hypotheses) for {len(phases)} phases of {agents} "
            "agents",
            f"shape {table.shape}",
            "give one row of log-likelihoods per round and agent",
        )
    rounds = len(table)
    old = checked_ages(ages, rounds=rounds, agents=agents)
    private = normalise(prior_rows(log_priors, agents=agents, hypotheses=table.shape[2]))
    said = [private]
    private_path = np.empty_like(table)
    for t, (phase, observed) in enumerate(zip(phases, table, strict=True)):
        public = np.where(phase.observes[:, None], bayes_update(private, observed), private)
        said.append(public)
        if old is None:
            private = pooled(phase.weights, public)
        else:
            weights = as_dense(phase.weights)
            heard = np.array(
                [[said[t + 1 - age][j] for j, age in enumerate(row)] for row in old[t]]
            )
            private = normalise(np.einsum("ij,ijm->im", weights, heard))
        private_path[t] = private
    return Beliefs(
        public=read_only(np.array(said[1:])),
        private=read_only(private_path),
        estimates=read_only(estimates(private_path)),
    )


@typed
def draw_rounds(network: ChangingNetwork, *, rounds: int, seed: int) -> Rounds:
    """What a network goes through in some rounds, drawn with a seed.

    Parameters
    ----------
    network
        N agents: a small network, since N² numbers are carried along.
    rounds, seed
        T ≥ 1, and a seed of its own.

    Raises
    ------
    ValueError
        If an argument is out of range, or T·N² numbers do not fit in memory.

    Examples
    --------
    >>> from theory.changing import PeriodicNetwork
    >>> swap = PeriodicNetwork([[[0.5, 0.5], [0, 1]], [[1, 0], [0.5, 0.5]]])
    >>> [phase.weights.tolist() for phase in draw_rounds(swap, rounds=2, seed=0).phases]
    [[[0.5, 0.5], [0.0, 1.0]], [[1.0, 0.0], [0.5, 0.5]]]
    """
    rounds = as_integer("rounds", rounds, minimum=1)
    check_pairs(rounds, network.agents)
    stream = np.random.SeedSequence(as_integer("seed", seed, minimum=0))
    return read_off(process_for(network), stream, agents=network.agents, rounds=rounds)[0]


def read_off(
    process: ChangingProcess,
    stream: np.random.SeedSequence,
    *,
    agents: int,
    rounds: int,
    replicates: int = 1,
) -> list[Rounds]:
    """What a process does in some rounds, for each replicate (:func:`walk`)."""
    drawn = list(
        islice(walk(process, stream, agents=agents, replicates=replicates), rounds),
    )
    return [
        Rounds(
            tuple(Phase(round.weights[r], round.observes[r]) for round in drawn),
            read_only(np.array([round.ages[r] for round in drawn])),
        )
        for r in range(replicates)
    ]


@dataclass(frozen=True, eq=False)
class DrawnRound:
    """What a process did in one round, in R replicates.

    Attributes
    ----------
    weights
        Shape (R, N, N): what agent i gave what agent j said.
    observes
        Shape (R, N): who learnt from data; agents that nobody heard, themselves included, may be
        missing.
    ages
        Shape (R, N, N): how many rounds ago agent j said it; zero where nothing is late or weighed.
    """

    weights: FloatArray
    observes: NDArray[np.bool_]
    ages: IntArray


def walk(
    process: ChangingProcess,
    stream: np.random.SeedSequence,
    *,
    agents: int,
    replicates: int = 1,
) -> Iterator[DrawnRound]:
    """What a process does, round after round without end, from how it answers.

    A round is linear in what goes in, and so unit vectors in place of log-ratios bring out its
    weights: column j stands for agent j. Two runs on the same stream, side by side, tell the
    weights, and who observes or (from agents that say the number of the round) how old the
    messages are.
    """
    unit = np.broadcast_to(np.eye(agents)[:, None, :], (agents, replicates, agents))
    plain, marked = copy.copy(process), copy.copy(process)
    for run in (plain, marked):
        run.restart(stream, replicates=replicates, columns=agents)
    for now in count(1):
        weights = plain.advance(unit * 1.0, unit * 0.0).swapaxes(0, 1).copy()
        ages = np.zeros(weights.shape, dtype=np.int64)
        observes = np.ones(weights.shape[:2], dtype=np.bool_)
        if process.fresh:
            # Nobody listened to an agent, itself included, whose column is empty.
            observes = np.any(marked.advance(unit * 0.0, unit * 1.0) > 0, axis=0)
        else:
            # The priors were said in round 0: what agents believe before round 1 is 0, and they
            # see 1.
            first = now == 1
            said = marked.advance(unit * (0.0 if first else now), unit * float(first))
            heard = weights > 0
            numbers = np.divide(
                said.swapaxes(0, 1), weights, out=np.zeros_like(weights), where=heard
            )
            ages[heard] = now - np.rint(numbers[heard]).astype(np.int64)
        yield DrawnRound(weights, observes, ages)


def checked_ages(ages: ArrayLike | None, *, rounds: int, agents: int) -> IntArray | None:
    """Ages as whole numbers, each from 0 to the number of the round."""
    if ages is None:
        return None
    table = np.asarray(ages)
    if table.shape != (rounds, agents, agents) or table.dtype.kind not in "iu":
        raise fail(
            "ages",
            f"whole numbers of shape {(rounds, agents, agents)}",
            f"{table.dtype} of shape {table.shape}",
            "say for each round, listener and speaker how old the message is",
        )
    limit = np.arange(1, rounds + 1)[:, None, None]
    if (table < 0).any() or (table > limit).any():
        t, i, j = (int(k) for k in np.argwhere((table < 0) | (table > limit))[0])
        raise fail(
            "ages",
            f"0 to {t + 1} in round {t + 1}",
            f"{table[t, i, j]} at [{t}, {i}, {j}]",
            "the oldest message is the prior, said in round 0",
        )
    return table.astype(np.int64)
