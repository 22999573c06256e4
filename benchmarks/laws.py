"""Probabilities of error and exact laws of coins, beside peers and plainer ways."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
from scipy.stats import binomtest

from benchmarks.contest import Task, contest
from benchmarks.tables import Options, Row
from exact import Run, belief_law, rare_errors, simulate
from tests.models import FAIR, PAIR, STAR, coin, coins
from theory import FiniteModel, Network, account
from theory.bounds.accounting.events import EventSet
from theory.bounds.accounting.inversion import EventCurve
from theory.bounds.accounting.inversion_tilts import Grid, choose_tilt
from theory.rational import RationalFiniteAgent, RationalModel, RationalNetwork
from theory.validation import FloatArray

# More histories than these are not laid out; replicates that plain simulation is timed on.
MOST_HISTORIES, TIMED = 1 << 20, 20_000
TARGET = 0.05
Logs = tuple[float, float]

NETWORKS: Mapping[str, Network] = {
    "pair": PAIR,
    "star": STAR,
    "slow star": Network.from_topology("star", agents=9, edge_confidence=0.1),
    "grid": Network.from_topology("grid", shape=[5, 5]),
}
RATIONAL: Mapping[str, RationalNetwork] = {
    "even": RationalNetwork([["1/2", "1/2"], ["1/2", "1/2"]]),
    "pair": RationalNetwork([["9/10", "1/10"], ["3/5", "2/5"]]),
    "path": RationalNetwork.from_topology("path", agents=3),
}


# Certified probabilities ----------------------------------------------------------------------


def one_event(events: EventSet, rounds: int) -> Logs:
    """Ours for agent 0: Fourier inversion with extremal functions, as `theory.account` does it."""
    terms = events.terms(0, 0)
    grid = Grid.around(choose_tilt(terms, rounds))
    found = EventCurve(terms, grid, rounds, rounds).bounds(rounds, rounds)
    return float(found.lower[0]), float(found.upper[0])


def on_a_grid(model: FiniteModel, rows: FloatArray, rounds: int, *, points: int = 1 << 14) -> Logs:
    """The method of privacy accountants for agent 0.

    Every weighted log-ratio is rounded to a grid, down for the upper and up for the lower bound,
    and the laws are convolved by FFT. No tilt, so that probabilities below its rounding, about
    1e-15, are out of reach. `rows` are those of agent 0 in powers of W, the last one of all others.
    """
    law = model.log_ratio_laws(0, 1)[0]
    kept = min(rounds, len(rows))
    weights = [(row, 1) for row in rows[:kept]] + [(rows[-1], rounds - kept)] * (rounds > kept)
    # Twelve standard deviations on either side of the mean; the rest wraps around and is counted
    # by Hoeffding's inequality, as 1e-30 or so: nothing beside rounding.
    squares = sum(times * float((row**2).sum()) for row, times in weights)
    step = 2 * 12 * math.sqrt(law.variance * squares) / points
    logs = []
    for rounded, sign in ((np.ceil, -1), (np.floor, 1)):
        transform, drift = np.ones(points // 2 + 1, dtype=np.complex128), 0
        for row, times in weights:
            for w, count in zip(*np.unique(row, return_counts=True), strict=True):
                cells = rounded(w * law.means / step)
                mean, mass = round(float(law.probabilities @ cells)), np.zeros(points)
                np.add.at(mass, (cells - mean).astype(int) % points, law.probabilities)
                transform *= np.fft.rfft(mass) ** (times * int(count))
                drift += mean * times * int(count)
        total = np.fft.irfft(transform, points)
        place = (np.arange(points) + points // 2) % points - points // 2 + drift
        # And what the transforms may have added or lost.
        bound = float(total[place <= 0].sum()) + sign * 1e-15 * points**0.5
        logs.append(math.log(bound) if bound > 0 else -math.inf)
    return logs[0], min(logs[1], 0.0)


def by_sampling(model: FiniteModel, rows: FloatArray, rounds: int, *, seconds: float) -> Logs:
    """Clopper and Pearson's interval of 99.9 %, from as many runs as there is time for."""
    law, rng = model.log_ratio_laws(0, 1)[0], np.random.default_rng(1)
    index, draws = np.minimum(np.arange(rounds), len(rows) - 1), rounds * model.agents
    # About 5 ns a draw, which is what the generator takes.
    runs, block = max(10, int(seconds / 5e-9 / draws)), max(1, int(2e6 / draws))
    failures = 0
    for start in range(0, runs, block):
        heads = rng.random((min(block, runs - start), draws)) < law.probabilities[1]
        total = np.where(heads, law.means[1], law.means[0]) @ rows[index].ravel()
        failures += int((total <= 0).sum())
    ends = binomtest(failures, runs).proportion_ci(0.999, method="exact")
    low, high = (math.log(end) if end > 0 else -math.inf for end in (ends.low, ends.high))
    return low, high


def certified(how: Options, *, network: str, rounds: int) -> Row:
    """The ratio is the upper bound over the lower one: 1 is exact; none without a lower bound."""
    graph = NETWORKS[network]
    agents = [coin(FAIR, [0.6, 0.4])]
    model = FiniteModel.from_agents(["fair", "loaded"], agents, counts=[graph.agents])
    rows = EventSet(graph, model).powers.rows[:, 0, :]
    found = contest(
        how,
        {
            "ours": lambda: one_event(EventSet(graph, model), rounds),
            "grid": lambda: on_a_grid(model, rows, rounds),
            "account": lambda: account(graph, model).probability(rounds),
        },
    )
    ends = {name: found.answers[name] for name in ("ours", "grid")}
    ends["sampling"] = by_sampling(model, rows, rounds, seconds=found.seconds["ours"])
    whole = found.answers["account"]
    ends["account"] = float(whole.log_lower[0]), float(whole.log_upper[0])
    return {
        **found.row(log10_probability=ends["ours"][1] / math.log(10)),
        "ratio": {n: math.exp(up - low) for n, (low, up) in ends.items() if math.isfinite(low)},
    }


# Exact laws, and rare errors ------------------------------------------------------------------


def by_histories(network: RationalNetwork, rounds: int) -> float:
    """P(some agent is wrong), from all histories at once, in doubles."""
    W = np.array([[float(x) for x in row] for row in network.rows])
    tosses = np.indices((2,) * (len(W) * rounds), dtype=np.int8).reshape(rounds, len(W), -1)
    beliefs = np.zeros(tosses.shape[1:])
    for observed in np.log([2 / 3, 2.0])[tosses]:
        beliefs = W @ (beliefs + observed)
    return float((beliefs <= 1e-12).any(axis=0).mean())


def enumeration(how: Options, *, network: str, rounds: int) -> Row:
    """The joint law of all agents' log-ratios; it gives the same probability as all histories."""
    graph = RATIONAL[network]
    toss = RationalFiniteAgent.from_tables(
        inputs=[1], truth=[["1/2", "1/2"]], likelihood=[[["1/2", "1/2"]], [["3/4", "1/4"]]]
    )
    model = RationalModel.from_agents(["fair", "loaded"], [toss], counts=[graph.agents])
    tasks: dict[str, Task] = {"law": lambda: belief_law(graph, model, rounds)}
    if 2 ** (graph.agents * rounds) <= MOST_HISTORIES:
        tasks["histories"] = lambda: by_histories(graph, rounds)
    found = contest(how, tasks)
    law, enumerated = found.answers["law"], found.answers.get("histories")
    assert enumerated is None or math.isclose(law.error_probability(), enumerated, rel_tol=1e-9)
    histories = math.log10(2) * graph.agents * rounds
    return found.row(log10_histories=histories, states=law.states)


def rare(how: Options, *, network: str, rounds: int) -> Row:
    """Errors of 1e-3 to 1e-30, and what counting them would take."""
    graph = NETWORKS[network]
    model, run = coins(graph.agents), Run(rounds=rounds, replicates=TIMED, seed=1, record=[rounds])
    found = contest(
        how,
        {
            "rare": lambda: rare_errors(
                graph, model, rounds=rounds, seed=1, target_standard_error=TARGET
            ),
            "count": lambda: simulate(graph, model, run=run),
        },
    )
    errors = found.answers["rare"]
    # As accurate for the least likely of the events: R = (1 − p)/(p ε²).
    runs = -min(e.log_probability for e in errors.each_agent) - 2 * math.log(TARGET)
    hours = math.log10(found.seconds["count"] / TIMED / 3600) + runs / math.log(10)
    every = (*errors.each_agent, errors.some_agent)
    return found.row(
        log10_probability=errors.some_agent.log_probability / math.log(10),
        runs=errors.replicates,
        error_share=max(e.relative_standard_error for e in every),
        log10_runs_to_count=runs / math.log(10),
        log10_hours_to_count=hours,
    )
