"""How near the consensus product comes to the machine's limit, without and with observations.

For each size, in turn in one run, on one thread.

Times are per round. A share is the work that a round states over time and limit, whatever is done
instead: 2·N²·M·R operations for dense W, one reading and one writing of the state for sparse W.
It can pass 100 %: only the M − 1 columns of log-ratios are carried, and one sweep through memory
serves several rounds of a sparse W. Times are CPU seconds.

`product` and `observed` leave out that fewer columns may do (`exact.compression`), which lifts a
share far above 100 % and says nothing of how well a product runs; `simulated` has it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from benchmarks.core import MultiplyAdds
from benchmarks.limits import Copy, MatrixProduct, interleaved
from benchmarks.tables import Options, Row
from exact.beliefs import bayes_update, pooled
from exact.compression import evidence_basis
from exact.propagation import (
    COMPILED_AGENTS,
    DensePropagation,
    Propagation,
    agent_order,
    batch_of,
    plan_for,
    propagation,
)
from exact.sampling import Draws, ObservationTable, Sampler, group_size
from theory import FiniteAgent, FiniteModel, Network
from theory.validation import FloatArray, IntArray


@dataclass(frozen=True)
class Size:
    """One line of the table."""

    name: str
    agents: int
    hypotheses: int
    replicates: int
    outcomes: int
    sparse: bool = False


SIZES = (
    Size("N = 10, M = 10, R = 10 000; 2 outcomes", 10, 10, 10_000, outcomes=2),
    Size("the same, 4 outcomes", 10, 10, 10_000, outcomes=4),
    Size("the same, 1 000 outcomes", 10, 10, 10_000, outcomes=1000),
    Size("N = 100, M = 100, R = 1 000; 4 outcomes", 100, 100, 1_000, outcomes=4),
    Size("N = 1 000, M = 1 000, R = 10; 4 outcomes", 1_000, 1_000, 10, outcomes=4),
    Size("ring of N = 100 000, M = 50, R = 1; 4 outcomes", 100_000, 50, 1, outcomes=4, sparse=True),
)
TOY_SIZES = (
    Size("N = 10, M = 3, R = 10; 2 outcomes", 10, 3, 10, outcomes=2),
    Size("ring of N = 100, M = 3, R = 1; 2 outcomes", 100, 3, 1, outcomes=2, sparse=True),
)


def model(size: Size) -> FiniteModel:
    """One kind of agent, random likelihoods."""
    rng = np.random.default_rng(1)
    table = rng.dirichlet(np.full(size.outcomes, 2.0), size=(size.hypotheses, 1))
    kind = FiniteAgent.from_tables(inputs=[1.0], truth=table[0], likelihood=table)
    names = [f"h{m}" for m in range(size.hypotheses)]
    return FiniteModel.from_agents(names, [kind], counts=[size.agents])


def network(size: Size) -> Network:
    """A random dense network, or a ring in its natural order."""
    if size.sparse:
        i = np.arange(size.agents)
        columns = np.concatenate([i, (i + 1) % size.agents, (i - 1) % size.agents])
        weights = np.full(3 * size.agents, 1 / 3)
        shape = (size.agents, size.agents)
        return Network(csr_array((weights, (np.tile(i, 3), columns)), shape=shape))
    weights = np.random.default_rng(2).random((size.agents, size.agents)) + 0.1
    return Network(weights / weights.sum(axis=1, keepdims=True))


class NoObservations(ObservationTable):
    """Leaves the memory that observations would fill as it is."""

    def look_up(self, symbols: IntArray, noise: FloatArray, out: FloatArray) -> None:
        pass


class Carry:
    """Carries all replicates through `rounds` rounds, chunk by chunk, as a simulation does."""

    def __init__(self, size: Size, *, observe: bool, rounds: int, compress: bool = False) -> None:
        law, graph = model(size), network(size)
        self.rounds, self.agents, self.observe = rounds, size.agents, observe
        basis = evidence_basis(law, best=0) if compress else None
        columns = size.hypotheses - 1 if basis is None else len(basis)
        self.group = 1
        if not size.sparse:
            self.group = group_size(law, columns=columns, replicates=size.replicates)
        self.plan = plan_for(graph, columns=columns, group=self.group)
        step = self.plan.replicates
        chunks = [min(step, size.replicates - d) for d in range(0, size.replicates, step)]
        self.rooms = [self.plan.storage(chunk) for chunk in chunks]
        self.seeds = np.random.SeedSequence(3).spawn(len(chunks))
        order = agent_order(graph)
        self.sampler = Sampler(law, best=0, group=self.group, order=order, basis=basis)
        table = self.sampler.table
        if not observe:
            kind = ObservationTable if size.sparse else NoObservations
            table = kind(np.zeros_like(table.offsets), table.slopes, self.group)
        self.engines: dict[int, Propagation] = {}
        self.fixed: dict[int, Draws] = {}
        prior = np.zeros((size.agents, columns))
        for room in set(self.rooms):
            self.sampler.restart(self.seeds[0], replicates=room)
            self.fixed[room] = self.sampler.draw(batch_of(self.plan, self.symbols(room)))
            engine = propagation(
                graph,
                table,
                replicates=room,
                plan=self.plan,
                order=order,
                compiled=size.agents <= COMPILED_AGENTS,
            )
            if isinstance(engine, DensePropagation):
                engine._stack[:] = 0.0  # so that nothing overflows, however often it is carried
            engine.start(prior, Draws(self.fixed[room].symbols[:1], self.fixed[room].noise[:1]))
            self.engines[room] = engine

    def symbols(self, room: int) -> int:
        return room // self.group * self.agents

    def __call__(self) -> None:
        for room, seed in zip(self.rooms, self.seeds, strict=True):
            engine, fixed = self.engines[room], self.fixed[room]
            batch = len(fixed.symbols)
            if self.observe:
                self.sampler.restart(seed, replicates=room)
            for done in range(0, self.rounds, batch):
                step = min(batch, self.rounds - done)
                if self.observe:
                    engine.advance(self.sampler.draw(step))
                else:
                    engine.advance(Draws(fixed.symbols[:step], fixed.noise[:step]))


class PerAgentLoop:
    """What one would write first; `agents` of them, the time of which is scaled up."""

    def __init__(self, size: Size) -> None:
        self.weights = network(size).weights
        self.part = min(size.agents, 100)
        self.scale = size.agents / self.part * size.replicates
        rng = np.random.default_rng(0)
        self.log_public = np.log(rng.dirichlet(np.ones(size.hypotheses), size=size.agents))
        self.log_likelihood = rng.random((size.agents, size.hypotheses))

    def __call__(self) -> None:
        for i in range(self.part):
            if isinstance(self.weights, np.ndarray):
                row, heard = self.weights[i], self.log_public
            else:
                span = slice(self.weights.indptr[i], self.weights.indptr[i + 1])
                row, heard = self.weights.data[span], self.log_public[self.weights.indices[span]]
            private = row @ heard
            private = private - np.logaddexp.reduce(private)
            public = private + self.log_likelihood[i]
            public - np.logaddexp.reduce(public)


def measure(size: Size, *, repeats: int) -> Row:
    rng = np.random.default_rng(0)
    graph = network(size)
    state = size.agents * size.hypotheses * size.replicates
    flops = 2.0 * size.agents * state
    # One timing of the engine lasts about a tenth of a second at 50 GFLOP/s or 10 GB/s.
    rounds = max(8, round(0.1 * (1e10 / (16 * state) if size.sparse else 5e10 / flops) / 8) * 8)
    rounds = min(rounds, 4000)  # only toy sizes reach this

    limit, core = Copy(state) if size.sparse else MatrixProduct(), MultiplyAdds()
    shape = (size.agents, size.hypotheses * size.replicates)
    before, after = rng.random(shape), np.empty(shape)
    # The papers' form keeps several copies of the state: a part of the replicates will do.
    part = max(1, min(size.replicates, 2_000_000 // (size.agents * size.hypotheses)))
    public = rng.random((part, size.agents, size.hypotheses))
    observed = rng.random(public.shape)
    loop = PerAgentLoop(size)

    def one_round() -> None:
        if isinstance(graph.weights, np.ndarray):
            np.matmul(graph.weights, before, out=after)
        else:
            graph.weights @ before

    seconds = interleaved(
        {
            "limit": limit,
            "core": core,
            "product": Carry(size, observe=False, rounds=rounds),
            "observed": Carry(size, observe=True, rounds=rounds),
            "simulated": Carry(size, observe=True, rounds=rounds, compress=True),
            "one round": one_round,
            "papers": lambda: bayes_update(pooled(graph.weights, public), observed),
            "loop": loop,
        },
        repeats=repeats,
    )
    seconds["product"] /= rounds
    seconds["observed"] /= rounds
    seconds["simulated"] /= rounds
    seconds["papers"] *= size.replicates / part
    seconds["loop"] *= loop.scale
    if isinstance(limit, Copy):
        rate, floor = limit.bytes / seconds["limit"], seconds["limit"]
    else:
        rate = limit.flops / seconds["limit"]
        floor = flops / rate
    seconds["limit"] = floor
    core_rate = core.flops / seconds.pop("core")
    return {
        "size": size.name,
        "limit": "copy, GB/s" if size.sparse else "matrix product, GFLOP/s",
        "limit_rate": rate / 1e9,
        "core_rate": None if size.sparse else core_rate / 1e9,
        "product_share": floor / seconds["product"],
        "core_share": None if size.sparse else flops / core_rate / seconds["product"],
        "observed_share": floor / seconds["observed"],
        "simulated_share": floor / seconds["simulated"],
        "milliseconds": {name: 1e3 * value for name, value in seconds.items()},
    }


def rows(how: Options) -> Sequence[Row]:
    """The tables."""
    sizes = TOY_SIZES if how.quick else SIZES
    found = [measure(size, repeats=how.repeats) for size in sizes]
    return [{key: value for key, value in row.items() if value is not None} for row in found]
