"""Decentralised Bayesian learning at speed: log-ratios, many replicates, normalised once.

The log-ratio Λ_i^(n)(θ*, θ) = log ρ_i^(n)(θ*)/ρ_i^(n)(θ) obeys a linear recursion
(:mod:`exact.propagation`), so that a round costs one matrix product for all hypotheses and
replicates, and one log-sum-exp at the end gives the beliefs of the papers' form
(:mod:`exact.beliefs`), to about 1e-13 relative after 2000 rounds. Where the agents' evidence is of
fewer kinds than there are hypotheses, fewer columns are carried (:mod:`exact.compression`).

:func:`simulate` draws the observations and keeps statistics of Λ at chosen rounds, in memory that
grows neither with the number of rounds nor of replicates; :func:`simulation_cost` says beforehand
how much. Replicates may be spread over processes, and a run that was killed be resumed, without
changing a bit of the result (:mod:`exact.parallel`). :func:`learn_fast` runs given observations.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from exact.beliefs import check_log_likelihoods, normalise, prior_rows
from exact.checkpoint import Arrays, Checkpoint, fingerprint
from exact.compression import evidence_basis, round_scale
from exact.cost import Cost, Extent, check_cost
from exact.limits import as_memory, check_work
from exact.parallel import Progress as Progress
from exact.parallel import run_units
from exact.plan import Plan, batch_of, is_compiled, plan_for
from exact.propagation import Propagation, agent_order, propagation
from exact.replicates import Chunk, Replicates
from exact.replicates import chunks as chunks
from exact.sampling import Given, Sampler, Source, group_size, kind_rows, ratios
from exact.statistics import Proportion, proportion, standard_error
from theory import FiniteModel, Network
from theory.validation import FloatArray, IntArray, as_integer, fail, read_only

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
    workers: int = 1,
    backend: str | None = None,
    memory: int | str | None = None,
    checkpoint: str | Path | None = None,
    resume: bool = False,
) -> Simulation:
    """Run the algorithm on drawn observations, many times over.

    Observations are independent across agents, rounds and replicates. The same arguments give the
    same numbers, up to rounding in the linear algebra library; the last five arguments change none.

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
    workers, backend
        How many processes share the replicates, and where they come from: see
        :func:`exact.parallel.run_units`.
    memory
        What the run may take, in bytes or as "500M" or "2GiB"; three quarters of the machine's
        memory if left out.
    checkpoint, resume
        A file to keep the sums in from time to time, removed at the end; and whether to go on from
        it if it is there. Without `resume` it is overwritten.

    Raises
    ------
    ValueError
        If network and model disagree on the number of agents, or an argument is out of range; if
        the run would take more than 10¹⁴ observations (more than a month), or more memory than
        allowed (:func:`simulation_cost`); if the checkpoint is damaged or of another run.

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
    seed = as_integer("seed", seed, minimum=0)
    workers = as_integer("workers", workers, minimum=1)
    allowed = None if memory is None else as_memory("memory", memory)
    design = _design(
        network, model, rounds=rounds, replicates=replicates, record=record, paths=paths
    )
    check_cost(design.extent.cost(workers=workers), memory=allowed)
    work = design.work(seed, recorded_rounds(record, rounds))
    kept = None
    if checkpoint is not None:
        kept = Checkpoint(Path(checkpoint), work_fingerprint(network, model, work), resume=resume)
    sums = run_units(work, workers=workers, backend=backend, checkpoint=kept, progress=progress)
    return measured(work, sums, hypotheses=model.hypotheses)


def simulation_cost(
    network: Network,
    model: FiniteModel,
    *,
    rounds: int,
    replicates: int,
    record: Sequence[int] | None = None,
    paths: int = 0,
    workers: int = 1,
) -> Cost:
    """What :func:`simulate` would take, in bytes and seconds, without running it: estimates.

    Parameters
    ----------
    network, model, rounds, replicates, record, paths, workers
        As for :func:`simulate`.

    Returns
    -------
    Cost
        Bytes are an upper estimate for more than a few dozen megabytes; seconds may be off by a
        factor of two or three on another machine.

    Raises
    ------
    ValueError
        If an argument is out of range, or the run would take more than 10¹⁴ observations.

    Examples
    --------
    >>> from theory import FiniteAgent
    >>> coin = FiniteAgent.from_tables(
    ...     inputs=[1.0], truth=[[0.5, 0.5]], likelihood=[[[0.5, 0.5]], [[0.75, 0.25]]]
    ... )
    >>> model = FiniteModel.from_agents(("fair", "loaded"), [coin], counts=[100_000])
    >>> ring = Network.from_topology("ring", agents=100_000)
    >>> cost = simulation_cost(ring, model, rounds=1000, replicates=10)
    >>> cost.bytes < 2**30, 5 < cost.seconds < 50
    (True, True)
    """
    design = _design(
        network, model, rounds=rounds, replicates=replicates, record=record, paths=paths
    )
    return design.extent.cost(workers=as_integer("workers", workers, minimum=1))


def every_round(
    network: Network, model: FiniteModel, *, rounds: int, replicates: int, seed: int
) -> Replicates:
    """The work of :func:`simulate` that stops at every round, cut up and not begun.

    For statistics of one's own: its units name the chunks, its runner yields Λ of a chunk.

    Raises
    ------
    ValueError
        As for :func:`simulate`.
    """
    design = _design(network, model, rounds=rounds, replicates=replicates, record=[rounds], paths=0)
    check_cost(design.extent.cost(workers=1))
    return design.work(seed, np.arange(1, rounds + 1))


@dataclass(frozen=True, eq=False)
class _Design:
    """A simulation that has been checked and cut up, and not begun."""

    network: Network
    model: FiniteModel
    reference: tuple[int, ...]
    extent: Extent

    def work(self, seed: int, recorded: IntArray) -> Replicates:
        extent = self.extent
        runner = FixedNetwork(
            self.network,
            self.model,
            best=self.reference[0],
            recorded=recorded,
            plan=extent.plan,
            group=extent.group,
            compiled=is_compiled(
                extent.agents, numbers=extent.rounds * extent.replicates * extent.columns
            ),
        )
        return Replicates(
            runner,
            recorded=recorded,
            agents=extent.agents,
            hypotheses=extent.hypotheses,
            reference=self.reference,
            replicates=extent.replicates,
            seed=seed,
            paths=extent.paths,
            largest=extent.plan.replicates,
            block=extent.block,
        )


def _design(
    network: Network,
    model: FiniteModel,
    *,
    rounds: int,
    replicates: int,
    record: Sequence[int] | None,
    paths: int,
) -> _Design:
    rounds = as_integer("rounds", rounds, minimum=1)
    replicates = as_integer("replicates", replicates, minimum=1)
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
    hypotheses = len(model.hypotheses)
    basis = evidence_basis(model, best=reference[0])
    columns = hypotheses - 1 if basis is None else len(basis)
    group = 1
    if not network.is_sparse:
        group = group_size(model, columns=columns, replicates=replicates)
    plan = plan_for(network, columns=columns, group=group)
    rows = kind_rows(model)
    extent = Extent(
        agents=network.agents,
        links=_links(network),
        sparse=network.is_sparse,
        hypotheses=hypotheses,
        columns=columns,
        rounds=last,
        replicates=replicates,
        # Rounds may be given more than once; there are no more than `last` different ones.
        times=min(DEFAULT_RECORDS if record is None else len(record), last),
        paths=paths,
        plan=plan,
        group=group,
        table=sum(2 * a.size + group * columns * p.size**group for p, a, _ in rows),
        gaussian=any(b.any() for _, _, b in rows),
    )
    return _Design(network, model, reference, extent)


def _links(network: Network) -> int:
    weights = network.weights
    return int(weights.size if isinstance(weights, np.ndarray) else weights.nnz)


@dataclass(frozen=True, eq=False)
class FixedNetwork:
    """Runs chunks of replicates on a network that stays as it is.

    It is an :class:`exact.replicates.Runner`.

    Attributes
    ----------
    network, model
        N agents each.
    best
        The hypothesis that log-ratios are taken against.
    recorded
        The rounds at which Λ is wanted.
    plan, group
        How replicates are cut up, and how many share a symbol.
    compiled
        Whether products with dense W are: see :func:`exact.plan.is_compiled`.
    """

    network: Network
    model: FiniteModel
    best: int
    recorded: IntArray
    plan: Plan
    group: int
    compiled: bool = False

    def __getstate__(self) -> dict[str, Any]:
        """Copies prepare anew: an engine holds views into its own memory, and no copy of one."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @cached_property
    def basis(self) -> FloatArray | None:
        """What rows are written in, if fewer columns are carried than there are log-ratios."""
        return evidence_basis(self.model, best=self.best)

    @cached_property
    def order(self) -> IntArray | None:
        """The agent of each row of the state."""
        return agent_order(self.network)

    @cached_property
    def sampler(self) -> Sampler:
        """Draws the observations."""
        return Sampler(
            self.model, best=self.best, group=self.group, order=self.order, basis=self.basis
        )

    @cached_property
    def scale(self) -> FloatArray:
        """The largest log-ratio that a single round can add, shape (M,)."""
        prior = ratios(self.model.log_priors[np.unique(self.model.assignment)], self.best)
        return round_scale(self.sampler.table, prior, best=self.best, basis=self.basis)

    @cached_property
    def prior(self) -> FloatArray:
        """Shape (N, C): what agents believe before the first round."""
        prior = ratios(self.model.log_priors, self.best)[self.model.assignment]
        return prior if self.basis is None else prior @ self.basis.T

    @cached_property
    def _engines(self) -> dict[int, Propagation]:
        """The engine of the last chunk, by the replicates it has room for."""
        return {}

    def states(self, chunk: Chunk, advanced: Callable[[int], None]) -> Iterator[FloatArray]:
        """Λ(best, ·) of the chunk at each recorded round, shape (N, size, M)."""
        room = self.plan.storage(chunk.size)
        engines = self._engines
        if room not in engines:
            engines.clear()
            engines[room] = propagation(
                self.network,
                self.sampler.table,
                replicates=room,
                plan=self.plan,
                order=self.order,
                compiled=self.compiled,
            )
        self.sampler.restart(chunk.stream, replicates=room)
        batch = batch_of(self.plan, room // self.group * self.network.agents)
        for private in propagate(
            engines[room],
            self.sampler,
            self.prior,
            self.recorded,
            batch=batch,
            advanced=advanced,
        ):
            yield self._log_ratios(private[:, : chunk.size])

    def _log_ratios(self, private: FloatArray) -> FloatArray:
        # In a function of its own, so that no copy of Λ outlives it.
        log_ratios = private if self.basis is None else private @ self.basis
        return with_best(log_ratios, self.best)


def measured(work: Replicates, sums: Arrays, *, hypotheses: tuple[str, ...]) -> Simulation:
    """What the sums over all replicates say; the sums themselves become read-only."""
    count = work.replicates
    return Simulation(
        rounds=read_only(work.recorded),
        replicates=count,
        seed=work.seed,
        hypotheses=hypotheses,
        reference=work.reference,
        mean=read_only(sums["each_mean"]),
        standard_error=read_only(standard_error(sums["each_squares"], count)),
        network_mean=read_only(sums["network_mean"]),
        network_standard_error=read_only(standard_error(sums["network_squares"], count)),
        errors=read_only(sums["errors"]),
        agent_errors=read_only(sums["agent_errors"]),
        settled=read_only(sums["settled"]),
        paths=read_only(sums["paths"]),
    )


def work_fingerprint(network: Network, model: FiniteModel, work: Replicates) -> str:
    """Of all that the sums of a simulation follow from."""
    return fingerprint(
        network.weights,
        model,
        work.recorded,
        (work.replicates, work.seed, work.paths, work.largest, work.block),
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
