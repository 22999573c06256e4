"""Decentralised Bayesian learning at speed: log-ratios, many replicates, normalised once.

The log-ratio Λ_i^(n)(θ*, θ) = log ρ_i^(n)(θ*)/ρ_i^(n)(θ) obeys a linear recursion
(:mod:`exact.propagation`), so that a round costs one matrix product for all hypotheses and
replicates, and one log-sum-exp at the end gives the beliefs of the papers' form
(:mod:`exact.beliefs`), to about 1e-13 relative after 2000 rounds. Where the agents' evidence is of
fewer kinds than there are hypotheses, fewer columns are carried (:mod:`exact.compression`).

:class:`FixedNetwork` does so for drawn observations (:func:`exact.simulate`), and
:func:`learn_fast` for given ones.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike

from exact.beliefs import check_log_likelihoods, normalise, prior_rows
from exact.checkpoint import Arrays
from exact.compression import evidence_basis, round_scale
from exact.propagation import (
    Plan,
    Propagation,
    agent_order,
    batch_of,
    is_compiled,
    plan_for,
    propagation,
)
from exact.results import recorded_rounds
from exact.sampling import Given, Sampler, Source, ratios
from exact.statistics import Tally, merge_tallies
from theory import FiniteModel, Network
from theory.showing import Shown
from theory.typed import typed
from theory.validation import FloatArray, IntArray, fail, read_only

# Replicates of a simulation, in chunks, and the chunks in units of work --------------------------


@dataclass(frozen=True, eq=False)
class Chunk:
    """Replicates run together: `size` of them from `begin` on, on their own random stream."""

    begin: int
    size: int
    stream: np.random.SeedSequence


def chunks(replicates: int, *, largest: int, seed: int, first: int = 0) -> Iterator[Chunk]:
    """Cut replicates into chunks of `largest`, the last one perhaps smaller, one at a time.

    The streams are the children of ``SeedSequence(seed)`` in the order of its ``spawn``, made
    from their keys: spawning all at once takes memory for each, and the count of children that
    spawning keeps has 32 bits. The chunks before number `first` are left out.
    """
    for index in itertools.count(first):
        begin = index * largest
        if begin >= replicates:
            return
        stream = np.random.SeedSequence(seed, spawn_key=(index,))
        yield Chunk(begin, min(largest, replicates - begin), stream)


class Runner(Protocol):
    """Runs chunks of replicates; pickled to reach a worker, and then used there many times."""

    @property
    def scale(self) -> FloatArray:
        """As for `Tally`: the largest log-ratio that a single round can add, shape (M,)."""
        ...

    def states(self, chunk: Chunk, advanced: Callable[[int], None]) -> Iterator[FloatArray]:
        """Λ(best, ·) of the chunk at each recorded round in turn, shape (N, size, M).

        What is yielded may be overwritten by the next step. `advanced` hears of rounds done.
        """
        ...


@dataclass(frozen=True, eq=False)
class Replicates:
    """All replicates of a simulation, as units of work.

    Attributes
    ----------
    runner
        What runs a chunk.
    recorded
        Shape (T,): the rounds at which it yields Λ; the last one is the last to be run.
    agents, hypotheses, reference
        N and M of what it yields, and the hypotheses an agent may hold without being wrong.
    replicates, seed, paths
        R, the seed, and the number of replicates to keep Λ of.
    largest, block
        Replicates of a chunk, and chunks of a unit.
    """

    runner: Runner
    recorded: IntArray
    agents: int
    hypotheses: int
    reference: tuple[int, ...]
    replicates: int
    seed: int
    paths: int
    largest: int
    block: int

    @property
    def units(self) -> int:
        """Units of work."""
        return -(-self.replicates // (self.largest * self.block))

    def amount(self, units: int) -> int:
        """Rounds times replicates of the first `units` units."""
        return int(self.recorded[-1]) * min(self.replicates, units * self.largest * self.block)

    def empty(self) -> Arrays:
        """Sums over no replicate, with room for all paths."""
        return {**self._tally(np.zeros(self.hypotheses)).arrays(), "paths": self._room(self.paths)}

    def run(self, unit: int, advanced: Callable[[int], None]) -> Arrays:
        """The sums over one unit's replicates."""
        tally = self._tally(self.runner.scale)
        begin = unit * self.block * self.largest
        end = min(self.replicates, begin + self.block * self.largest)
        kept = self._room(max(0, min(end, self.paths) - begin))
        own = chunks(end, largest=self.largest, seed=self.seed, first=unit * self.block)
        for chunk in own:
            size = chunk.size

            def rounds(done: int, size: int = size) -> None:
                advanced(done * size)

            first = chunk.begin - begin
            paths = max(0, min(size, len(kept) - first))
            places = itertools.count()
            for log_ratios in self.runner.states(chunk, rounds):
                index = next(places)
                tally.add(index, log_ratios)
                kept[first : first + paths, index] = log_ratios[:, :paths].swapaxes(0, 1)
                # Not to hold them while the next ones are computed.
                del log_ratios
        return {**tally.arrays(), "paths": kept}

    def merge(self, total: Arrays, part: Arrays) -> None:
        """Take in the sums of the next unit."""
        begin = int(total["each_counts"][0])
        total["paths"][begin : begin + len(part["paths"])] = part["paths"]
        merge_tallies(total, part)

    def _tally(self, scale: FloatArray) -> Tally:
        return Tally(
            self.recorded,
            agents=self.agents,
            hypotheses=self.hypotheses,
            reference=self.reference,
            scale=scale,
        )

    def _room(self, paths: int) -> FloatArray:
        return np.zeros((paths, self.recorded.size, self.agents, self.hypotheses))


# Decentralised Bayesian learning at speed --------------------------------------------------------


@dataclass(frozen=True, eq=False)
class FastBeliefs(Shown):
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
        Whether products with dense W are: see :func:`exact.propagation.is_compiled`.
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


@typed
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
        engine = propagation(
            network,
            source.table,
            replicates=size,
            plan=plan,
            order=order,
            compiled=is_compiled(agents, numbers=rounds * replicates * (hypotheses - 1)),
        )
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


def change_reference(log_ratios: FloatArray, column: int | None) -> None:
    """From log-ratios against one hypothesis to those against that of `column`, in place.

    The column then holds that of the first. The map is its own inverse; None leaves all as it is.
    """
    if column is None:
        return
    pivot = log_ratios[..., column].copy()
    log_ratios -= pivot[..., None]
    log_ratios[..., column] = -pivot
