"""How near networks that change come to the machine's limit, and to the papers' form of the rounds.

For each network, in turn in one run, on one thread.

Times are per round, CPU seconds. Agents have as many outcomes as there are hypotheses, so that all
M − 1 columns are carried.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks.limits import Copy, interleaved
from benchmarks.tables import Options, Row
from exact import Run, simulate
from exact.changing import draw_rounds, learn_changing, process_for
from exact.changing.process import observations
from exact.changing.simulation import Footprint, process_task
from exact.learning import chunks
from theory import FiniteAgent, FiniteModel, Network
from theory.changing import (
    ChangingNetwork,
    DelayedNetwork,
    MarkovNetwork,
    PeriodicNetwork,
    RandomLinks,
    RandomPresence,
    rotating_star,
)

HYPOTHESES = 4


@dataclass(frozen=True)
class Size:
    """One line of the table; `given` is the number of rounds that the papers' form runs."""

    name: str
    network: Callable[[], ChangingNetwork]
    replicates: int
    rounds: int = 200
    given: int = 10


def torus(side: int) -> Network:
    return Network.from_topology("torus", shape=[side, side])


def sizes(*, quick: bool) -> list[Size]:
    """Every kind of process; dense and sparse rounds."""
    if quick:
        small = Network.from_topology("ring", agents=5)
        return [
            Size("links", lambda: RandomLinks(small, 0.5), 8, rounds=5, given=2),
            Size("delays", lambda: DelayedNetwork(small, 2), 8, rounds=5, given=2),
        ]
    large = Network.from_topology("ring", agents=1000)
    return [
        Size("stars in turn, N = 26, R = 1 000", lambda: stars(), 1000),
        Size("one pair at a time, N = 100, R = 200", lambda: pairs(torus(10)), 200),
        Size("links up half the time, N = 100, R = 200", lambda: RandomLinks(torus(10), 0.5), 200),
        Size(
            "the same, last message used again",
            lambda: RandomLinks(torus(10), 0.5, on_loss="last"),
            200,
        ),
        Size(
            "agents away a tenth of the time, N = 100, R = 200",
            lambda: RandomPresence(torus(10), 0.9, mean_absence=5.0),
            200,
        ),
        Size("messages 3 rounds old, N = 100, R = 200", lambda: DelayedNetwork(torus(10), 3), 200),
        Size(
            "links up half the time, N = 1 000, R = 20",
            lambda: RandomLinks(large, 0.5),
            20,
            given=2,
        ),
    ]


def stars() -> PeriodicNetwork:
    return rotating_star(groups=5, group_size=5, edge_confidence=0.5)


def pairs(network: Network) -> MarkovNetwork:
    return MarkovNetwork.gossip_pairs(network)


def model(agents: int) -> FiniteModel:
    """One kind of agent, random likelihoods."""
    table = np.log(np.random.default_rng(1).dirichlet(np.full(HYPOTHESES, 2.0), size=HYPOTHESES))
    kind = FiniteAgent(np.exp(table[0]), table)
    return FiniteModel.from_agents([f"h{m}" for m in range(HYPOTHESES)], [kind], counts=[agents])


class Parts:
    """The two halves of a simulated round, each by itself, chunk by chunk."""

    def __init__(self, size: Size, network: ChangingNetwork) -> None:
        self.process, self.rounds = process_for(network), size.rounds
        run = Run(rounds=size.rounds, replicates=size.replicates, seed=0, record=[size.rounds])
        task = process_task(
            self.process,
            model(network.agents),
            run=run,
            reference=[0],
            footprint=Footprint(self.process.layers, self.process.links, self.process.draws),
            linear=True,
        )
        work = task.work()
        self.agents, self.columns = network.agents, task.extent.columns
        self.sampler = work.runner.sampler  # type: ignore[attr-defined]
        plan = task.extent.plan
        self.chunks = [
            (chunk.stream, plan.storage(chunk.size))
            for chunk in chunks(size.replicates, largest=plan.replicates, seed=0)
        ]

    def draw(self) -> None:
        for stream, room in self.chunks:
            self.sampler.restart(stream, replicates=room)
            for _ in observations(self.sampler, self.rounds, replicates=room):
                pass

    def advance(self) -> None:
        for stream, room in self.chunks:
            self.process.restart(stream, replicates=room, columns=self.columns)
            # Zeros stay zeros, whatever a process adds to whatever.
            state, nothing = np.zeros((2, self.agents, room, self.columns))
            for _ in range(self.rounds):
                state = self.process.advance(state, nothing)
                if state is nothing:
                    nothing = np.zeros_like(state)


def measure(size: Size, *, repeats: int) -> Row:
    network = size.network()
    law = model(network.agents)
    parts = Parts(size, network)
    drawn = draw_rounds(network, rounds=size.given, seed=0)
    rng = np.random.default_rng(0)
    observed = rng.normal(size=(size.given, network.agents, HYPOTHESES))
    limit = Copy(network.agents * size.replicates * (HYPOTHESES - 1))

    def simulated() -> None:
        simulate(
            network,
            law,
            run=Run(rounds=size.rounds, replicates=size.replicates, seed=0, record=[size.rounds]),
        )

    seconds = interleaved(
        {
            "limit": limit,
            "drawing": parts.draw,
            "process": parts.advance,
            "simulated": simulated,
            "papers": lambda: learn_changing(drawn.phases, observed, ages=drawn.ages),
        },
        repeats=repeats,
    )
    for name in ("drawing", "process", "simulated"):
        seconds[name] /= size.rounds
    seconds["papers"] *= size.replicates / size.given
    return {
        "network": size.name,
        "limit_rate": limit.bytes / seconds["limit"] / 1e9,
        "process_share": seconds["limit"] / seconds["process"],
        "papers_over_simulated": seconds["papers"] / seconds["simulated"],
        "milliseconds": {name: 1e3 * value for name, value in seconds.items()},
    }


def rows(how: Options) -> Sequence[Row]:
    """The tables."""
    return [measure(size, repeats=how.repeats) for size in sizes(quick=how.quick)]
