"""Decentralised Bayesian learning at speed: log-ratios, many replicates, normalised once.

The log-ratio Λ_i^(n)(θ*, θ) = log ρ_i^(n)(θ*)/ρ_i^(n)(θ) obeys a linear recursion
(:mod:`exact.propagation`), so that a round costs one matrix product for all hypotheses and
replicates, and one log-sum-exp at the end gives the beliefs of the papers' form
(:mod:`exact.beliefs`), to about 1e-13 relative after 2000 rounds. Where the agents' evidence is of
fewer kinds than there are hypotheses, fewer columns are carried (:mod:`exact.compression`).

:func:`simulate` draws the observations and keeps statistics of Λ at chosen rounds, in memory that
grows neither with the number of rounds nor of replicates. :func:`learn_fast` runs given ones.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from exact.beliefs import check_log_likelihoods, normalise, prior_rows
from exact.compression import evidence_basis
from exact.limits import check_memory, check_work, simulation_bytes
from exact.propagation import (
    Propagation,
    agent_order,
    batch_of,
    plan_for,
    propagation,
)
from exact.sampling import Given, Sampler, Source, group_size, ratios
from exact.statistics import Proportion, Tally, proportion
from theory import FiniteModel, Network
from theory.validation import FloatArray, IntArray, as_integer, fail, read_only

Progress = Callable[[int, int], None]

DEFAULT_RECORDS = 20


@dataclass(frozen=True, eq=False)
class Rates:
    """Measured rates of rejection, Λ_i^(n)(best, θ)/n, in nats per round.

    Attributes
    ----------
    mean, standard_error
        Shape (N, M): over replicates; floating-point estimates.
    rounds
        The number n of rounds.
    """

    mean: FloatArray
    standard_error: FloatArray
    rounds: int


@dataclass(frozen=True, eq=False)
class Simulation:
    """What a simulation measured, at T recorded rounds; estimates over R replicates.

    Attributes
    ----------
    rounds
        Shape (T,): the recorded rounds.
    replicates, seed, hypotheses
        As given; the names of the M hypotheses.
    reference
        Θ*, or the network compromise if Θ* is empty; `best` is its first member.
    mean, standard_error
        Shape (T, N, M): of Λ_i^(n)(best, θ) in nats; zero in the column of `best`. The standard
        error is NaN for a single replicate.
    network_mean, network_standard_error
        Shape (T, M): of the average of Λ over agents.
    errors
        Shape (T,): replicates in which some agent's arg max is outside `reference`; a tie with a
        hypothesis outside counts.
    agent_errors
        Shape (T, N): the same for each agent.
    settled
        Shape (T, M): how many of the R·N pairs of replicate and agent have arg max θ. Where a tie
        counts as an error, it is counted for the hypothesis outside `reference`.
    paths
        Shape (P, T, N, M): Λ(best, ·) of the first P replicates.
    """

    rounds: IntArray
    replicates: int
    seed: int
    hypotheses: tuple[str, ...]
    reference: tuple[int, ...]
    mean: FloatArray
    standard_error: FloatArray
    network_mean: FloatArray
    network_standard_error: FloatArray
    errors: IntArray
    agent_errors: IntArray
    settled: IntArray
    paths: FloatArray

    @property
    def best(self) -> int:
        """The hypothesis all log-ratios are taken against."""
        return self.reference[0]

    @cached_property
    def rates(self) -> Rates:
        """Per-agent rates at the last recorded round."""
        last = int(self.rounds[-1])
        return Rates(
            mean=read_only(self.mean[-1] / last),
            standard_error=read_only(self.standard_error[-1] / last),
            rounds=last,
        )

    def error_probability(self, round_index: int = -1, *, confidence: float = 0.95) -> Proportion:
        """How often some agent was wrong, with its Clopper–Pearson interval.

        Parameters
        ----------
        round_index
            Index into `rounds`; the last by default.
        confidence
            Coverage, in (0, 1).
        """
        count = int(self.errors[round_index])
        return proportion(count, self.replicates, confidence=confidence)


@dataclass(frozen=True, eq=False)
class FastBeliefs:
    """Beliefs after T recorded rounds, in logarithms.

    Attributes
    ----------
    rounds
        Shape (T,).
    private
        Shape (T, N, M), or (T, R, N, M) for R replicates: log ρ, normalised.
    log_ratios
        The same shape: Λ(0, θ) = log ρ(0) − log ρ(θ), which normalising does not round.
    """

    rounds: IntArray
    private: FloatArray
    log_ratios: FloatArray


def simulate(
    network: Network,
    model: FiniteModel,
    *,
    rounds: int,
    replicates: int,
    seed: int,
    record: Sequence[int] | None = None,
    paths: int = 0,
    progress: Progress | None = None,
) -> Simulation:
    """Run the algorithm on drawn observations, many times over.

    Observations are independent across agents, rounds and replicates. The same arguments give the
    same numbers, up to rounding in the linear algebra library.

    Parameters
    ----------
    network, model
        N agents each.
    rounds, replicates
        n ≥ 1 and R ≥ 1.
    seed
        A whole number of at least 0.
    record
        Rounds at which to keep statistics, between 1 and `rounds`; about 20, evenly spread on a
        logarithmic scale and with the last one, if left out. They take 16·T·N·M bytes, and twice
        that at the end.
    paths
        How many replicates to keep Λ of, at most `replicates`.
    progress
        Called as progress(done, total), in rounds times replicates.

    Raises
    ------
    ValueError
        If network and model disagree on the number of agents, or an argument is out of range; if
        the run would take more than 10¹⁴ observations (more than a month), or more memory than
        three quarters of the machine's (:mod:`exact.limits`).

    Examples
    --------
    >>> from theory import FiniteAgent
    >>> coin = FiniteAgent.from_tables(
    ...     inputs=[1.0], truth=[[0.5, 0.5]], likelihood=[[[0.5, 0.5]], [[0.75, 0.25]]]
    ... )
    >>> model = FiniteModel.from_agents(("fair", "loaded"), [coin], counts=[2])
    >>> pair = Network([[0.5, 0.5], [0.5, 0.5]])
    >>> run = simulate(pair, model, rounds=100, replicates=400, seed=1)
    >>> rate = run.rates
    >>> bool(abs(rate.mean[0, 1] - 0.1438) < 3 * rate.standard_error[0, 1])
    True
    """
    rounds = as_integer("rounds", rounds, minimum=1)
    replicates = as_integer("replicates", replicates, minimum=1)
    seed = as_integer("seed", seed, minimum=0)
    paths = as_integer("paths", paths, minimum=0)
    if paths > replicates:
        raise fail("paths", f"at most {replicates} replicates", paths, "keep fewer paths")
    if network.agents != model.agents:
        raise fail(
            "model",
            f"one agent for each of the network's {network.agents}",
            f"{model.agents}",
            "describe as many agents as the network has",
        )
    last = last_round(record, rounds)
    check_work(rounds=last, replicates=replicates, agents=network.agents)
    reference = model.reference_hypotheses(network.stationary_distribution)
    best = reference[0]
    hypotheses = len(model.hypotheses)
    basis = evidence_basis(model, best=best)
    columns = hypotheses - 1 if basis is None else len(basis)
    group = 1
    if not network.is_sparse:
        group = group_size(model, columns=columns, replicates=replicates)
    plan = plan_for(network, columns=columns, group=group)
    needed = simulation_bytes(
        network,
        plan,
        columns=columns,
        hypotheses=hypotheses,
        rounds=last,
        replicates=replicates,
        # Rounds may be given more than once; there are no more than `last` different ones.
        times=min(DEFAULT_RECORDS if record is None else len(record), last),
        paths=paths,
    )
    check_memory(needed)
    recorded = recorded_rounds(record, rounds)
    prior = ratios(model.log_priors, best)[model.assignment]
    largest_prior = float(np.abs(prior).max())
    if basis is not None:
        prior = prior @ basis.T

    kept = np.empty((paths, recorded.size, network.agents, hypotheses))
    order = agent_order(network)
    sampler = Sampler(model, best=best, group=group, order=order, basis=basis)
    scale = sampler.table.largest + largest_prior
    if basis is not None:
        # An entry of Λ is a sum of r products of coordinates with numbers below one.
        scale *= columns + 1
    tally = Tally(
        recorded,
        agents=network.agents,
        hypotheses=hypotheses,
        reference=reference,
        scale=scale,
    )
    engine: Propagation | None = None
    room = 0
    done, total = 0, last * replicates
    size = 0

    def advanced(rounds_done: int) -> None:
        nonlocal done
        done += rounds_done * size
        if progress is not None:
            progress(done, total)

    for chunk in chunks(replicates, largest=plan.replicates, seed=seed):
        begin, size = chunk.begin, chunk.size
        if engine is None or plan.storage(size) != room:
            room = plan.storage(size)
            engine = propagation(network, sampler.table, replicates=room, plan=plan, order=order)
        sampler.restart(chunk.stream, replicates=room)
        batch = batch_of(plan, room // group * network.agents)
        states = propagate(engine, sampler, prior, recorded, batch=batch, advanced=advanced)
        for index, private in enumerate(states):
            log_ratios = private[:, :size]
            if basis is not None:
                log_ratios = log_ratios @ basis
            log_ratios = with_best(log_ratios, best)
            tally.add(index, log_ratios)
            for path in range(begin, min(begin + size, paths)):
                kept[path, index] = log_ratios[:, path - begin]

    return Simulation(
        rounds=read_only(recorded),
        replicates=replicates,
        seed=seed,
        hypotheses=model.hypotheses,
        reference=reference,
        mean=read_only(tally.each.mean),
        standard_error=read_only(tally.each.standard_error(replicates)),
        network_mean=read_only(tally.network.mean),
        network_standard_error=read_only(tally.network.standard_error(replicates)),
        errors=read_only(tally.errors),
        agent_errors=read_only(tally.agent_errors),
        settled=read_only(tally.settled),
        paths=read_only(kept),
    )


def learn_fast(
    network: Network,
    log_likelihoods: ArrayLike,
    *,
    log_priors: ArrayLike | None = None,
    record: Sequence[int] | None = None,
) -> FastBeliefs:
    """Beliefs from given observations, by the fast path.

    Parameters
    ----------
    network
        N agents.
    log_likelihoods
        Shape (T, N, M), or (T, R, N, M) for R replicates: log ℓ of what was observed, in nats.
    log_priors
        Shape (N, M) or (M,); uniform if left out.
    record
        Rounds whose beliefs are wanted, between 1 and T; all if left out.

    Returns
    -------
    FastBeliefs
        The same private beliefs as :func:`exact.beliefs.learn`, up to rounding.

    Raises
    ------
    ValueError
        As for :func:`exact.beliefs.learn`.

    Examples
    --------
    >>> pair = Network([[0.5, 0.5], [0.5, 0.5]])
    >>> head = np.log([0.8, 0.4])
    >>> np.exp(learn_fast(pair, [[head, head], [head, head]], record=[2]).private[-1]).round(4)
    array([[0.8, 0.2],
           [0.8, 0.2]])
    """
    values = check_log_likelihoods(log_likelihoods)
    if values.ndim not in (3, 4) or values.shape[-2] != network.agents or 0 in values.shape:
        raise fail(
            "log_likelihoods",
            f"shape (rounds, {network.agents}, hypotheses) or (rounds, replicates, "
            f"{network.agents}, hypotheses) for a network of {network.agents}",
            f"shape {values.shape}",
            "give one row of log-likelihoods per round and agent",
        )
    rows = values if values.ndim == 4 else values[:, None]
    rounds, replicates, agents, hypotheses = rows.shape
    if hypotheses < 2:
        raise fail("log_likelihoods", "at least two hypotheses", hypotheses, "add an alternative")
    recorded = recorded_rounds(range(1, rounds + 1) if record is None else record, rounds)
    prior = prior_rows(log_priors, agents=agents, hypotheses=hypotheses)
    prior = ratios(prior, 0)

    plan = plan_for(network, columns=hypotheses - 1)
    order = agent_order(network)
    log_ratios = np.empty((recorded.size, replicates, agents, hypotheses))
    for begin in range(0, replicates, plan.replicates):
        chunk = rows[:, begin : begin + plan.replicates].swapaxes(1, 2)
        size = chunk.shape[2]
        source = Given(ratios(chunk, 0), order=order)
        engine = propagation(network, source.table, replicates=size, plan=plan, order=order)
        states = propagate(engine, source, prior, recorded, batch=batch_of(plan, size * agents))
        for index, private in enumerate(states):
            log_ratios[index, begin : begin + size] = with_best(private, 0).swapaxes(0, 1)
    if values.ndim == 3:
        log_ratios = log_ratios[:, 0]
    return FastBeliefs(
        rounds=read_only(recorded),
        private=read_only(normalise(-log_ratios)),
        log_ratios=read_only(log_ratios),
    )


@dataclass(frozen=True, eq=False)
class Chunk:
    """Replicates run together: `size` of them from `begin` on, on their own random stream."""

    begin: int
    size: int
    stream: np.random.SeedSequence


def chunks(replicates: int, *, largest: int, seed: int) -> Iterator[Chunk]:
    """Cut replicates into chunks of `largest`, the last one perhaps smaller, one at a time.

    The streams are the children of ``SeedSequence(seed)`` in the order of its ``spawn``, made
    from their keys: spawning all at once takes memory for each, and the count of children that
    spawning keeps has 32 bits.
    """
    for index, begin in enumerate(itertools.count(0, largest)):
        if begin >= replicates:
            return
        stream = np.random.SeedSequence(seed, spawn_key=(index,))
        yield Chunk(begin, min(largest, replicates - begin), stream)


def propagate(
    engine: Propagation,
    source: Source,
    prior: FloatArray,
    recorded: IntArray,
    *,
    batch: int,
    advanced: Callable[[int], None] = lambda rounds: None,
) -> Iterator[FloatArray]:
    """Run `engine` on `source` and yield Λ, shape (N, R, M − 1), at every recorded round.

    What is yielded is overwritten by the next step. `advanced` hears of every few rounds done.
    """
    engine.start(prior, source.draw(1))
    advanced(1)
    now = 1
    for target in recorded:
        while now < target:
            step = min(batch, int(target) - now)
            engine.advance(source.draw(step))
            advanced(step)
            now += step
        yield engine.private()


def with_best(log_ratios: FloatArray, best: int) -> FloatArray:
    """Log-ratios with the column of `best`, which is zero, put back: shape (N, R, M)."""
    return np.insert(log_ratios, best, 0.0, axis=-1)


def last_round(record: Sequence[int] | None, rounds: int) -> int:
    """The last round to record, without going through a range."""
    if record is None:
        return rounds
    # A range may name more rounds than can be gone through, or than `len` can count.
    ends = isinstance(record, range) and bool(record)
    values = (record[0], record[-1]) if ends else record
    chosen = [as_integer("record", value, minimum=1) for value in values]
    if not chosen:
        raise fail("record", "at least one round", "none", f"record the last one, {rounds}")
    last = max(chosen)
    if last > rounds:
        raise fail("record", f"rounds up to {rounds}", last, "simulate more rounds")
    return last


def recorded_rounds(record: Sequence[int] | None, rounds: int) -> IntArray:
    """The rounds to record, increasing; by default about 20 on a logarithmic scale."""
    last_round(record, rounds)
    if record is None:
        if rounds <= DEFAULT_RECORDS:
            return np.arange(1, rounds + 1)
        return np.unique(np.rint(np.geomspace(1, rounds, DEFAULT_RECORDS)).astype(np.int64))
    return np.unique(np.array(record, dtype=np.int64))
