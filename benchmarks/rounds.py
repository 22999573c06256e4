"""How near rounds come to the machine's limit, and to plainer ways of going through them.

For each size all contenders take turns in one run, on one thread; times are per round, CPU seconds.
A share is the work that a round states over time and limit, whatever is done instead.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.extending import intrinsic

from benchmarks.contest import Task, contest, copy, matrix_product
from benchmarks.tables import Options, Row
from exact import Run, prepare_regression, simulate, simulate_regression
from exact.beliefs import bayes_update, pooled
from exact.changing import draw_rounds, learn_changing, process_for
from exact.changing.process import observations
from exact.changing.simulation import Footprint, process_task
from exact.compression import evidence_basis
from exact.dense_kernel import DOUBLE
from exact.learning import chunks
from exact.propagation import (
    COMPILED_AGENTS,
    COUNTED_ROUNDS,
    DensePropagation,
    agent_order,
    batch_of,
    plan_for,
    propagation,
)
from exact.regression.beliefs import GaussianBeliefs
from exact.regression.state import DRAWS_AT_ONCE, Observer, add_product, steps
from exact.sampling import Draws, ObservationTable, Sampler, features_of, group_size
from theory import FiniteAgent, FiniteModel, Network
from theory.changing import (
    ChangingNetwork,
    DelayedNetwork,
    MarkovNetwork,
    RandomLinks,
    RandomPresence,
    rotating_star,
)
from theory.regression import RegressionAgent, RegressionModel
from theory.validation import FloatArray, IntArray


def random_model(agents: int, hypotheses: int, outcomes: int, *, kinds: int = 1) -> FiniteModel:
    """As many of each kind of agent, random likelihoods; hypothesis 0 is true."""
    rng = np.random.default_rng(1)
    tables = rng.dirichlet(np.full(outcomes, 2.0), size=(kinds, hypotheses, 1))
    each = [FiniteAgent.from_tables(truth=table[0], likelihood=table) for table in tables]
    counts = [agents // kinds] * kinds
    return FiniteModel.from_agents([f"h{m}" for m in range(hypotheses)], each, counts=counts)


def dense(agents: int) -> Network:
    """A random dense network."""
    weights = np.random.default_rng(2).random((agents, agents)) + 0.1
    return Network(weights / weights.sum(axis=1, keepdims=True))


# What a core can do ---------------------------------------------------------------------------

LANES = DOUBLE.lanes
# Sums that do not wait for each other: two units of four or five cycles want ten.
CHAINS = 12
# Of a call, and its operations.
STEPS = 200_000
FLOPS = 2 * LANES * CHAINS * STEPS


@intrinsic  # type: ignore[untyped-decorator]
def _sums(typing: Any, steps: Any) -> Any:
    """CHAINS vectors, each multiplied by .5 and added .5 to, `steps` times; the sum of lane 0."""

    def generate(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> ir.Value:
        vector = ir.VectorType(ir.DoubleType(), LANES)
        fused = cgutils.get_or_insert_function(
            builder.module, ir.FunctionType(vector, [vector] * 3), f"llvm.fma.v{LANES}f64"
        )
        half, *starts = (
            ir.Constant(vector, [x] * LANES) for x in (0.5, *map(float, range(CHAINS)))
        )
        sums = [cgutils.alloca_once_value(builder, start) for start in starts]  # LLVM: registers
        with cgutils.for_range(builder, args[0]):
            for one in sums:
                builder.store(builder.call(fused, [builder.load(one), half, half]), one)
        total = builder.load(sums[0])
        for one in sums[1:]:
            total = builder.fadd(total, builder.load(one))
        return builder.extract_element(total, ir.Constant(ir.IntType(32), 0))

    return types.float64(types.int64), generate


@njit(nogil=True)
def multiply_adds(steps: int = STEPS) -> float:
    """What a core does at best, whatever library is asked: multiply-adds, and no memory.

    As many and as wide as it has: 2 · LANES · CHAINS · `steps` operations. Tends to CHAINS, which
    every sum's 1 makes.
    """
    return float(_sums(steps))


# A network that stays -------------------------------------------------------------------------


class NoObservations(ObservationTable):
    """Leaves the memory that observations would fill as it is."""

    def look_up(self, symbols: IntArray, noise: FloatArray, out: FloatArray) -> None:
        pass


def carried(
    law: FiniteModel, graph: Network, *, replicates: int, rounds: int, observe: bool,
    shortened: bool = False,
) -> Task:  # fmt: skip
    """All replicates through some rounds, chunk by chunk, as a simulation does.

    What is `shortened` carries fewer columns (`exact.compression`) or counts of observations
    (`exact.propagation`) where that pays: it lifts a share far above 100 % and says nothing of how
    well a product runs.
    """
    basis = evidence_basis(law, best=0) if shortened else None
    columns = len(law.hypotheses) - 1 if basis is None else len(basis)
    group = 1
    if not graph.is_sparse:
        group = group_size(law, columns=columns, replicates=replicates)
    plan, order = plan_for(
        graph, columns=columns, group=group, features=features_of(law) if shortened else 0,
        stretch=rounds, amount=rounds * replicates,
    ), agent_order(graph)  # fmt: skip
    largest = plan.replicates
    rooms = [plan.storage(min(largest, replicates - d)) for d in range(0, replicates, largest)]
    seeds = np.random.SeedSequence(3).spawn(len(rooms))
    sampler = Sampler(law, best=0, group=group, order=order, basis=basis)
    table = sampler.table
    if not observe:
        kind = ObservationTable if graph.is_sparse else NoObservations
        table = kind(np.zeros_like(table.offsets), table.slopes, group)
    ready = {}
    for room in set(rooms):
        sampler.restart(seeds[0], replicates=room)
        drawn = sampler.draw(batch_of(plan, room // group * law.agents))
        compiled = law.agents <= COMPILED_AGENTS
        engine = propagation(
            graph, table, replicates=room, plan=plan, order=order, compiled=compiled
        )
        if isinstance(engine, DensePropagation):
            engine._layers[:] = 0.0  # so that nothing overflows, however often it is carried
        engine.start(np.zeros((law.agents, columns)), Draws(drawn.symbols[:1], drawn.noise[:1]))
        ready[room] = engine, drawn

    def run() -> None:
        for room, seed in zip(rooms, seeds, strict=True):
            engine, drawn = ready[room]
            batch = len(drawn.symbols)
            if observe:
                sampler.restart(seed, replicates=room)
            for done in range(0, rounds, batch):
                step = min(batch, rounds - done)
                again = Draws(drawn.symbols[:step], drawn.noise[:step])
                engine.advance(sampler.draw(step) if observe else again)

    return run


def agent_loop(graph: Network, hypotheses: int, part: int) -> Task:
    """What one would write first, for some of the agents."""
    weights, rng = graph.weights, np.random.default_rng(0)
    log_public = np.log(rng.dirichlet(np.ones(hypotheses), size=graph.agents))
    log_likelihood = rng.random((graph.agents, hypotheses))

    def run() -> None:
        for i in range(part):
            if isinstance(weights, np.ndarray):
                row, heard = weights[i], log_public
            else:
                span = slice(weights.indptr[i], weights.indptr[i + 1])
                row, heard = weights.data[span], log_public[weights.indices[span]]
            private = row @ heard
            private = private - np.logaddexp.reduce(private)
            public = private + log_likelihood[i]
            public - np.logaddexp.reduce(public)

    return run


def consensus(
    how: Options, *, agents: int, hypotheses: int, replicates: int, outcomes: int,
    sparse: bool = False, kinds: int = 1,
) -> Row:  # fmt: skip
    """The product of consensus, without and with observations."""
    law = random_model(agents, hypotheses, outcomes, kinds=kinds)
    graph = Network.from_topology("ring", agents=agents, sparse=True) if sparse else dense(agents)
    state = agents * hypotheses * replicates
    flops, rng = 2.0 * agents * state, np.random.default_rng(0)
    # One timing of the engine lasts about a tenth of a second at 50 GFLOP/s or 10 GB/s; only toy
    # sizes reach 4000 rounds.
    rounds = max(8, round(0.1 * (1e10 / (16 * state) if sparse else 5e10 / flops) / 8) * 8)
    rounds = min(rounds, 4000)
    before = rng.random((agents, hypotheses * replicates))
    after = np.empty_like(before)
    # The papers' form keeps several copies of the state: a part of the replicates will do.
    part = max(1, min(replicates, 2_000_000 // (agents * hypotheses)))
    public, observed = rng.random((2, part, agents, hypotheses))
    looped = min(agents, 100)

    def one_round() -> None:
        if isinstance(graph.weights, np.ndarray):
            np.matmul(graph.weights, before, out=after)
        else:
            graph.weights @ before

    def engine(observe: bool, *, shortened: bool = False, rounds: int = rounds) -> Task:
        return carried(
            law, graph, replicates=replicates, rounds=rounds, observe=observe, shortened=shortened
        )

    long = max(rounds, 2 * COUNTED_ROUNDS) if kinds > 1 else rounds

    found = contest(
        how,
        {
            "registers": lambda: multiply_adds(),
            "product": engine(False),
            "observed": engine(True),
            "simulated": engine(True, shortened=True, rounds=long),
            "one round": one_round,
            "papers": lambda: bayes_update(pooled(graph.weights, public), observed),
            "loop": agent_loop(graph, hypotheses, looped),
        },
        per={
            **dict.fromkeys(("product", "observed"), rounds),
            "simulated": long,
            "papers": part / replicates,
            "loop": looped / agents / replicates,
        },
        limit=copy(state) if sparse else matrix_product(),
        work=16.0 * state if sparse else flops,
    )
    if sparse:
        return found.row(limit="copy, GB/s")
    core = FLOPS / found.seconds["registers"]
    share = flops / core / found.seconds["product"]
    limit = "matrix product, GFLOP/s"
    return found.row(limit=limit, core_rate=core / 1e9, core_share=share)


# Networks that change -------------------------------------------------------------------------


def _torus(side: int) -> Network:
    return Network.from_topology("torus", shape=[side, side])


CHANGES: Mapping[str, Callable[[int], ChangingNetwork]] = {
    "stars": lambda size: rotating_star(groups=size, group_size=size, edge_confidence=0.5),
    "pairs": lambda side: MarkovNetwork.gossip_pairs(_torus(side)),
    "links": lambda side: RandomLinks(_torus(side), 0.5),
    "last": lambda side: RandomLinks(_torus(side), 0.5, on_loss="last"),
    "presence": lambda side: RandomPresence(_torus(side), 0.9, mean_absence=5.0),
    "delays": lambda side: DelayedNetwork(_torus(side), 3),
    "ring": lambda agents: RandomLinks(Network.from_topology("ring", agents=agents), 0.5),
}


def changing(
    how: Options, *, change: str, size: int, replicates: int, rounds: int = 200, given: int = 10
) -> Row:
    """Networks that change: `given` rounds in the papers' form, one replicate.

    Agents have as many outcomes as there are hypotheses, so that all M − 1 columns are carried.
    """
    network, hypotheses = CHANGES[change](size), 4
    law, process = random_model(network.agents, hypotheses, hypotheses), process_for(network)
    run = Run(rounds=rounds, replicates=replicates, seed=0, record=[rounds])
    footprint = Footprint(process.layers, process.links, process.draws)
    task = process_task(process, law, run=run, reference=[0], footprint=footprint, linear=True)
    sampler: Any = task.work().runner.sampler  # type: ignore[attr-defined]
    plan = task.extent.plan
    rooms = [
        (chunk.stream, plan.storage(chunk.size))
        for chunk in chunks(replicates, largest=plan.replicates, seed=0)
    ]
    drawn = draw_rounds(network, rounds=given, seed=0)
    observed = np.random.default_rng(0).normal(size=(given, network.agents, hypotheses))

    def draw() -> None:
        for stream, room in rooms:
            sampler.restart(stream, replicates=room)
            for _ in observations(sampler, rounds, replicates=room):
                pass

    def advance() -> None:
        for stream, room in rooms:
            process.restart(stream, replicates=room, columns=task.extent.columns)
            # Zeros stay zeros, whatever a process adds to whatever.
            state, nothing = np.zeros((2, network.agents, room, task.extent.columns))
            for _ in range(rounds):
                state = process.advance(state, nothing)
                if state is nothing:
                    nothing = np.zeros_like(state)

    limit = copy(network.agents * replicates * (hypotheses - 1))
    found = contest(
        how,
        {
            "drawing": draw,
            "process": advance,
            "simulated": lambda: simulate(network, law, run=run),
            "papers": lambda: learn_changing(drawn.phases, observed, ages=drawn.ages),
        },
        per={
            **dict.fromkeys(("drawing", "process", "simulated"), rounds),
            "papers": given / replicates,
        },
        limit=limit,
        work=limit.work,
    )
    seconds = found.seconds
    return found.row(papers_over_simulated=seconds["papers"] / seconds["simulated"])


# Regression -----------------------------------------------------------------------------------


def observing(dimension: int, agents: int) -> RegressionModel:
    """Agents that see everything, uniform inputs."""
    d = dimension
    kind = RegressionAgent(ranges=np.tile([-1.0, 1.0], (d, 1)), noise_std=0.8)
    return RegressionModel.from_agents(
        np.ones(d), [kind], counts=[agents],
        prior_covariance=np.eye(d), test_second_moment=np.eye(d) / 3,
    )  # fmt: skip


def regression_loop(weights: FloatArray, dimension: int, part: int) -> Task:
    """What one would write first, for some of the agents, without solves."""
    rng, theta = np.random.default_rng(0), np.ones(dimension)
    precision = np.tile(np.eye(dimension), (len(weights), 1, 1))
    information = rng.random((len(weights), dimension))

    def run() -> None:
        public_precision, public_information = precision.copy(), information.copy()
        for i in range(part):
            x = rng.uniform(-1, 1, dimension)
            y = x @ theta + 0.8 * rng.standard_normal()
            public_precision[i] += np.outer(x, x) / 0.64
            public_information[i] += x * y / 0.64
        for i in range(part):
            np.tensordot(weights[i], public_precision, axes=1)
            weights[i] @ public_information

    return run


def readable(weights: FloatArray, dimension: int, part: int) -> Task:
    """A round of readable beliefs, for some of the replicates."""
    rng, shape = np.random.default_rng(0), (part, len(weights))
    precision = np.broadcast_to(np.eye(dimension), (*shape, dimension, dimension))
    beliefs = GaussianBeliefs(precision, rng.random((*shape, dimension)))
    designs, targets = rng.uniform(-1, 1, (*shape, 1, dimension)), rng.random((*shape, 1))
    return lambda: beliefs.update(designs, targets, noise_std=0.8).consensus(weights)


def regression(how: Options, *, agents: int, dimension: int, replicates: int, rounds: int) -> Row:
    """A simulated regression; `observed` goes through W in every round."""
    graph, law = dense(agents), observing(dimension, agents)
    run = Run(rounds=rounds, replicates=replicates, seed=0, record=[rounds])
    work, weights = prepare_regression(graph, law, run=run).work, np.asarray(graph.weights)
    everywhere = replace(work, settled=rounds)  # every round goes through W

    def chunks_of() -> Iterator[tuple[int, Observer]]:
        for unit in range(work.units):
            yield from ((room, observer) for _, room, observer in work.observers(unit))

    rooms = [room for room, _ in chunks_of()]

    def carry() -> None:
        for room, observer in chunks_of():
            for _ in everywhere.carrier.run(observer, work.rounds, replicates=room, shared=False):
                pass

    def draw() -> None:
        for room, observer in chunks_of():
            numbers = (len(work.samples.owner) + work.samples.rows) * room
            for step in steps(rounds, max(1, DRAWS_AT_ONCE // numbers)):
                observer.draw(step)

    def multiply() -> None:
        for room in rooms:
            state, other = np.zeros((2, agents, work.load.width(room)))
            for _ in range(rounds):
                other[:] = 0.0
                if work.weights is not None:
                    add_product(work.weights, state, other)
                state, other = other, state

    part = max(1, min(replicates, 200_000 // (agents * dimension**2)))
    looped = min(agents, 50)
    found = contest(
        how,
        {
            "drawing": draw,
            "product": multiply,
            "observed": carry,
            "simulated": lambda: simulate_regression(graph, law, run=run),
            "papers": readable(weights, dimension, part),
            "loop": regression_loop(weights, dimension, looped),
        },
        per={
            **dict.fromkeys(("drawing", "product", "observed", "simulated"), rounds),
            "papers": part / replicates,
            "loop": looped / agents / replicates,
        },
        limit=matrix_product(),
        work=2.0 * agents**2 * work.load.width(1) * replicates,
    )
    seconds = found.seconds
    return found.row(loop_over_simulated=seconds["loop"] / seconds["simulated"])
