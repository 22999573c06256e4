"""How near a simulated regression comes to the machine's limit, and to plainer ways of doing it.

For each size, in turn in one run, on one thread.

Times are per round, CPU seconds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks.limits import MatrixProduct, interleaved
from benchmarks.tables import Options, Row
from exact import Run, prepare_regression, simulate_regression
from exact.regression.beliefs import GaussianBeliefs
from exact.regression.cost import RegressionWork
from exact.regression.state import DRAWS_AT_ONCE, Carrier, Observer, add_product, steps
from theory import Network
from theory.regression import RegressionAgent, RegressionModel
from theory.validation import FloatArray


@dataclass(frozen=True)
class Size:
    """One line of the table."""

    name: str
    agents: int
    dimension: int
    replicates: int
    rounds: int


SIZES = (
    Size("N = 4, d = 5, R = 1 000", 4, 5, 1000, rounds=400),
    Size("N = 100, d = 10, R = 100", 100, 10, 100, rounds=100),
    Size("N = 1 000, d = 10, R = 8", 1000, 10, 8, rounds=60),
)
TOY_SIZES = (Size("N = 4, d = 2, R = 16", 4, 2, 16, rounds=20),)


def model(size: Size) -> RegressionModel:
    """Agents that see everything, uniform inputs."""
    d = size.dimension
    kind = RegressionAgent(ranges=np.tile([-1.0, 1.0], (d, 1)), noise_std=0.8)
    return RegressionModel.from_agents(
        np.ones(d),
        [kind],
        counts=[size.agents],
        prior_covariance=np.eye(d),
        test_second_moment=np.eye(d) / 3,
    )


def network(size: Size) -> Network:
    """A random dense network."""
    weights = np.random.default_rng(2).random((size.agents, size.agents)) + 0.1
    return Network(weights / weights.sum(axis=1, keepdims=True))


class Engine:
    """All replicates through all rounds, chunk by chunk, every one of them through W."""

    def __init__(self, size: Size, work: RegressionWork) -> None:
        self.work, self.size = work, size
        together = work.plan.together
        begins = range(0, size.replicates, together)
        self.rooms = [min(together, -(-(size.replicates - b) // 8) * 8) for b in begins]
        self.carrier = Carrier(
            work.weights,
            work.distribution,
            size.rounds,
            work.samples,
            work.columns,
            work.model.theta,
            work.prior,
        )

    def observer(self, chunk: int, room: int) -> Observer:
        return Observer(
            self.work.model, self.work.samples, replicates=room, shared=False, seed=0, chunk=chunk
        )

    def run(self) -> None:
        for chunk, room in enumerate(self.rooms):
            observer = self.observer(chunk, room)
            last = np.array([self.size.rounds])
            for _ in self.carrier.run(observer, last, replicates=room, shared=False):
                pass

    def draw(self) -> None:
        for chunk, room in enumerate(self.rooms):
            observer = self.observer(chunk, room)
            numbers = (len(self.work.samples.owner) + self.work.samples.rows) * room
            for step in steps(self.size.rounds, max(1, DRAWS_AT_ONCE // numbers)):
                observer.draw(step)

    def multiply(self) -> None:
        for room in self.rooms:
            width = self.work.load.width(room)
            state, other = np.zeros((2, self.size.agents, width))
            for _ in range(self.size.rounds):
                other[:] = 0.0
                if self.work.weights is not None:
                    add_product(self.work.weights, state, other)
                state, other = other, state


class PerAgentLoop:
    """What one would write first; `agents` of them, the time of which is scaled up."""

    def __init__(self, size: Size) -> None:
        d, rng = size.dimension, np.random.default_rng(0)
        self.weights = np.asarray(network(size).weights)
        self.part = min(size.agents, 50)
        self.scale = size.agents / self.part * size.replicates
        self.precision = np.tile(np.eye(d), (size.agents, 1, 1))
        self.information = rng.random((size.agents, d))
        self.rng, self.theta = rng, np.ones(d)

    def __call__(self) -> None:
        public_precision, public_information = self.precision.copy(), self.information.copy()
        for i in range(self.part):
            x = self.rng.uniform(-1, 1, len(self.theta))
            y = x @ self.theta + 0.8 * self.rng.standard_normal()
            public_precision[i] += np.outer(x, x) / 0.64
            public_information[i] += x * y / 0.64
        for i in range(self.part):
            np.tensordot(self.weights[i], public_precision, axes=1)
            self.weights[i] @ public_information


class Papers:
    """Readable beliefs of a part of the replicates, a round at a time."""

    def __init__(self, size: Size, work: RegressionWork) -> None:
        d, N = size.dimension, size.agents
        self.part = max(1, min(size.replicates, 200_000 // (N * d * d)))
        rng = np.random.default_rng(0)
        shape = (self.part, N)
        self.beliefs = GaussianBeliefs(
            np.broadcast_to(np.eye(d), (*shape, d, d)), rng.random((*shape, d))
        )
        self.designs: FloatArray = rng.uniform(-1, 1, (*shape, 1, d))
        self.targets: FloatArray = rng.random((*shape, 1))
        self.weights = np.asarray(network(size).weights)
        self.scale = size.replicates / self.part

    def __call__(self) -> None:
        self.beliefs.update(self.designs, self.targets, noise_std=0.8).consensus(self.weights)


def measure(size: Size, *, repeats: int) -> Row:
    graph, law = network(size), model(size)
    run = Run(rounds=size.rounds, replicates=size.replicates, seed=0, record=[size.rounds])
    work = prepare_regression(graph, law, run=run).work
    engine, papers, loop = Engine(size, work), Papers(size, work), PerAgentLoop(size)
    limit = MatrixProduct()

    def simulated() -> None:
        simulate_regression(graph, law, run=run)

    seconds = interleaved(
        {
            "limit": limit,
            "drawing": engine.draw,
            "product": engine.multiply,
            "observed": engine.run,
            "simulated": simulated,
            "papers": papers,
            "loop": loop,
        },
        repeats=repeats,
    )
    for name in ("drawing", "product", "observed", "simulated"):
        seconds[name] /= size.rounds
    seconds["papers"] *= papers.scale
    seconds["loop"] *= loop.scale
    rate = limit.flops / seconds["limit"]
    floor = 2.0 * size.agents**2 * work.load.width(1) * size.replicates / rate
    seconds["limit"] = floor
    return {
        "size": size.name,
        "limit_rate": rate / 1e9,
        "product_share": floor / seconds["product"],
        "observed_share": floor / seconds["observed"],
        "simulated_share": floor / seconds["simulated"],
        "loop_over_simulated": seconds["loop"] / seconds["simulated"],
        "milliseconds": {name: 1e3 * value for name, value in seconds.items()},
    }


def rows(how: Options) -> Sequence[Row]:
    """The tables."""
    return [measure(s, repeats=how.repeats) for s in (TOY_SIZES if how.quick else SIZES)]
