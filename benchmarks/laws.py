"""What exact laws cost beside plain enumeration, and rare errors beside counting them.

``law``
    `exact.belief_law`: convolution of one small law an observation, equal states joined.
``histories``
    Every history on its own, vectorised: all combinations of outcomes, their log-ratios and
    probabilities as arrays.
``rare``
    `exact.rare_errors` to a standard error of 5 %, pilot included.
``counting``
    Plain simulation to the same standard error, extrapolated from a part of the runs.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from benchmarks.limits import interleaved
from benchmarks.tables import Options, Row
from exact import Run, belief_law, rare_errors, simulate
from theory import FiniteAgent, FiniteModel, Network
from theory.rational import RationalFiniteAgent, RationalModel, RationalNetwork

# More histories than these are not laid out.
MOST_HISTORIES = 1 << 20
# Replicates that plain simulation is timed on.
TIMED = 20_000
TARGET = 0.05


def rational_coins(agents: int) -> RationalModel:
    """Fair coins, or loaded ones."""
    coin = RationalFiniteAgent.from_tables(
        inputs=[1],
        truth=[["1/2", "1/2"]],
        likelihood=[[["1/2", "1/2"]], [["3/4", "1/4"]]],
    )
    return RationalModel.from_agents(["fair", "loaded"], [coin], counts=[agents])


def coins(agents: int) -> FiniteModel:
    """The same in doubles."""
    coin = FiniteAgent.from_tables(
        inputs=[1.0], truth=[[0.5, 0.5]], likelihood=[[[0.5, 0.5]], [[0.75, 0.25]]]
    )
    return FiniteModel.from_agents(["fair", "loaded"], [coin], counts=[agents])


def by_histories(network: RationalNetwork, rounds: int) -> float:
    """P(some agent is wrong), from all histories at once."""
    agents = network.agents
    W = np.array([[float(x) for x in row] for row in network.rows])
    tosses = np.indices((2,) * (agents * rounds), dtype=np.int8).reshape(rounds, agents, -1)
    values = np.log([2 / 3, 2.0])[tosses]
    beliefs = np.zeros(values.shape[1:])
    for observed in values:
        beliefs = W @ (beliefs + observed)
    return float((beliefs <= 1e-12).any(axis=0).mean())


def enumeration(name: str, network: RationalNetwork, rounds: int, *, repeats: int) -> Row:
    model = rational_coins(network.agents)
    count = 2 ** (network.agents * rounds)
    tasks: dict[str, Callable[[], object]] = {"law": lambda: belief_law(network, model, rounds)}
    if count <= MOST_HISTORIES:
        tasks["histories"] = lambda: by_histories(network, rounds)
    seconds = interleaved(tasks, repeats=repeats)
    law = belief_law(network, model, rounds)
    if count <= MOST_HISTORIES:
        assert math.isclose(law.error_probability(), by_histories(network, rounds), rel_tol=1e-9)
    milliseconds = {
        task: 1e3 * seconds[task] if task in seconds else None for task in ("law", "histories")
    }
    return {
        "part": "enumeration",
        "problem": name,
        "rounds": rounds,
        "log10_histories": math.log10(2) * network.agents * rounds,
        "states": law.states,
        "milliseconds": milliseconds,
    }


def rare(name: str, network: Network, rounds: int, *, repeats: int) -> Row:
    model = coins(network.agents)

    def estimate() -> object:
        return rare_errors(network, model, rounds=rounds, seed=1, target_standard_error=TARGET)

    def count() -> object:
        return simulate(
            network, model, run=Run(rounds=rounds, replicates=TIMED, seed=1, record=[rounds])
        )

    count()  # compiles
    seconds = interleaved({"rare": estimate, "count": count}, repeats=repeats)
    found = rare_errors(network, model, rounds=rounds, seed=1, target_standard_error=TARGET)
    # As accurate for the least likely of the events: R = (1 − p)/(p ε²).
    least = min(e.log_probability for e in found.each_agent)
    runs = -least - 2 * math.log(TARGET)
    hours = math.log10(seconds["count"] / TIMED / 3600) + runs / math.log(10)
    errors = [e.relative_standard_error for e in (*found.each_agent, found.some_agent)]
    return {
        "part": "rare",
        "problem": name,
        "rounds": rounds,
        "log10_probability": found.some_agent.log_probability / math.log(10),
        "runs": found.replicates,
        "error_share": max(errors),
        "milliseconds": {"rare": 1e3 * seconds["rare"]},
        "log10_runs_to_count": runs / math.log(10),
        "log10_hours_to_count": hours,
    }


def rows(how: Options) -> list[Row]:
    """Networks that merge well, a little, and hardly; errors of 1e-3 to 1e-30."""
    even = RationalNetwork([["1/2", "1/2"], ["1/2", "1/2"]])
    pair = RationalNetwork([["9/10", "1/10"], ["3/5", "2/5"]])
    doubles = Network([[0.9, 0.1], [0.6, 0.4]])
    quick, repeats = how.quick, how.repeats
    if quick:
        return [
            enumeration("equal rows", even, 3, repeats=repeats),
            rare("pair", doubles, 20, repeats=repeats),
        ]
    star = Network.from_topology("star", agents=9, edge_confidence=0.5)
    grid = Network.from_topology("grid", shape=[5, 5])
    path = RationalNetwork.from_topology("path", agents=3)
    return [
        enumeration("equal rows", even, 9, repeats=repeats),
        enumeration("equal rows", even, 500, repeats=repeats),
        enumeration("pair", pair, 9, repeats=repeats),
        enumeration("pair", pair, 11, repeats=repeats),
        enumeration("path of 3", path, 6, repeats=repeats),
        rare("pair", doubles, 100, repeats=repeats),
        rare("pair", doubles, 700, repeats=repeats),
        rare("star of 9", star, 130, repeats=repeats),
        rare("star of 9", star, 300, repeats=repeats),
        rare("grid of 25", grid, 40, repeats=repeats),
    ]
