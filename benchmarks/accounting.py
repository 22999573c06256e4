"""How sharp certified probabilities of error are, and what they cost, beside two peers.

One event, agent 0 at a given round, bounded from both sides by three methods:

``ours``
    Fourier inversion with extremal functions, as `theory.account` does it.
``grid``
    The method of privacy accountants: every weighted log-ratio is rounded to a grid, down for the
    upper and up for the lower bound, and the laws are convolved by FFT. No tilt, so that
    probabilities below its rounding, about 1e-15, are out of reach.
``sampling``
    As many simulated runs as fit into the time that ours takes, and the Clopper-Pearson interval
    of confidence 99.9 %.

The ratio is the upper bound over the lower one: 1 is exact. Where a method proves no positive lower
bound it has none. And the whole account: all events of all agents, together.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import binomtest

from benchmarks.limits import interleaved
from benchmarks.tables import Options, Row
from theory import FiniteAgent, FiniteModel, Network, account
from theory.bounds.accounting.events import EventSet
from theory.bounds.accounting.inversion import EventCurve
from theory.bounds.accounting.inversion_tilts import Grid, choose_tilt
from theory.validation import FloatArray

GRID_POINTS = 1 << 14


@dataclass(frozen=True)
class Case:
    """A network of coins and a round."""

    name: str
    network: Network
    rounds: int

    @property
    def model(self) -> FiniteModel:
        """Fair coins, suspected of being loaded; nobody is certain of anything."""
        agent = FiniteAgent.from_tables(
            inputs=[1.0], truth=[[0.5, 0.5]], likelihood=[[[0.5, 0.5]], [[0.6, 0.4]]]
        )
        return FiniteModel.from_agents(["fair", "loaded"], [agent], counts=[self.network.agents])


def cases(*, quick: bool) -> list[Case]:
    """Probabilities of a few per cent, and tiny ones; slow mixing, and many rounds."""
    pair = Network([[0.9, 0.1], [0.6, 0.4]])
    star = Network.from_topology("star", agents=9, edge_confidence=0.5)
    if quick:
        return [Case("pair", pair, 20)]
    slow = Network.from_topology("star", agents=9, edge_confidence=0.1)
    grid = Network.from_topology("grid", shape=[5, 5])
    return [
        Case("pair", pair, 200),
        Case("star of 9", star, 100),
        Case("star of 9, edges of .1", slow, 100),
        Case("grid of 25", grid, 100),
        Case("star of 9", star, 1000),
        Case("grid of 25", grid, 10_000),
    ]


def one_event(case: Case) -> tuple[float, float]:
    """Our logs of a lower and an upper bound for agent 0."""
    events = EventSet(case.network, case.model)
    terms = events.terms(0, 0)
    grid = Grid.around(choose_tilt(terms, case.rounds))
    found = EventCurve(terms, grid, case.rounds, case.rounds).bounds(case.rounds, case.rounds)
    return float(found.lower[0]), float(found.upper[0])


def on_a_grid(case: Case, *, points: int = GRID_POINTS) -> tuple[float, float]:
    """The privacy accountant's bounds for agent 0: directed rounding and FFTs."""
    law = case.model.log_ratio_laws(0, 1)[0]
    rows = EventSet(case.network, case.model).powers.rows[:, 0, :]
    kept = min(case.rounds, len(rows))
    # Twelve standard deviations on either side of the mean; the rest wraps around and is counted
    # by Hoeffding's inequality, as 1e-30 or so: nothing beside rounding.
    squares = float((rows[:kept] ** 2).sum() + (case.rounds - kept) * (rows[-1] ** 2).sum())
    half = 12 * math.sqrt(law.variance * squares)
    step = 2 * half / points
    weights: list[tuple[FloatArray, int]] = [(row, 1) for row in rows[:kept]]
    if case.rounds > kept:
        weights.append((rows[-1], case.rounds - kept))
    logs = []
    for direction in (1, -1):
        transform = np.ones(points // 2 + 1, dtype=np.complex128)
        drift = 0
        for row, times in weights:
            for w, count in zip(*np.unique(row, return_counts=True), strict=True):
                values = w * law.means
                cells = np.ceil(values / step) if direction > 0 else np.floor(values / step)
                mean = round(float(law.probabilities @ cells))
                mass = np.zeros(points)
                np.add.at(mass, (cells - mean).astype(int) % points, law.probabilities)
                transform *= np.fft.rfft(mass) ** (times * int(count))
                drift += mean * times * int(count)
        total = np.fft.irfft(transform, points)
        place = (np.arange(points) + points // 2) % points - points // 2 + drift
        found = float(total[place <= 0].sum())
        # What the transforms may have added or lost.
        slack = 1e-15 * points**0.5
        bound = found - slack if direction > 0 else found + slack
        logs.append(math.log(bound) if bound > 0 else -math.inf)
    return logs[0], min(logs[1], 0.0)


def by_sampling(case: Case, *, seconds: float, rng: np.random.Generator) -> tuple[float, float]:
    """A confidence interval from as many runs of agent 0 as there is time for."""
    law = case.model.log_ratio_laws(0, 1)[0]
    rows = EventSet(case.network, case.model).powers.rows[:, 0, :]
    index = np.minimum(np.arange(case.rounds), len(rows) - 1)
    # About 5 ns a draw, which is what the generator takes.
    runs = max(10, int(seconds / 5e-9 / (case.rounds * case.network.agents)))
    failures, block = 0, max(1, int(2e6 / (case.rounds * case.network.agents)))
    for start in range(0, runs, block):
        size = (min(block, runs - start), case.rounds * case.network.agents)
        heads = rng.random(size) < law.probabilities[1]
        total = np.where(heads, law.means[1], law.means[0]) @ rows[index].ravel()
        failures += int((total <= 0).sum())
    found = binomtest(failures, runs).proportion_ci(0.999, method="exact")
    return (
        math.log(found.low) if found.low > 0 else -math.inf,
        math.log(found.high) if found.high > 0 else -math.inf,
    )


def row(case: Case, *, repeats: int) -> Row:
    tasks: dict[str, Callable[[], object]] = {
        "ours": lambda: one_event(case),
        "grid": lambda: on_a_grid(case),
        "account": lambda: account(case.network, case.model).probability(case.rounds),
    }
    seconds = interleaved(tasks, repeats=repeats)
    ends = {
        "ours": one_event(case),
        "grid": on_a_grid(case),
        "sampling": by_sampling(case, seconds=seconds["ours"], rng=np.random.default_rng(1)),
    }
    whole = account(case.network, case.model).probability(case.rounds)
    ends["account"] = (float(whole.log_lower[0]), float(whole.log_upper[0]))
    return {
        "problem": case.name,
        "rounds": case.rounds,
        "log10_probability": ends["ours"][1] / math.log(10),
        "milliseconds": {name: 1e3 * value for name, value in seconds.items()},
        "ratio": {
            name: math.exp(upper - lower)
            for name, (lower, upper) in ends.items()
            if math.isfinite(lower)
        },
    }


def rows(how: Options) -> Sequence[Row]:
    """The tables."""
    return [row(case, repeats=how.repeats) for case in cases(quick=how.quick)]
