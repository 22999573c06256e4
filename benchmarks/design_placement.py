"""What finding a placement costs, and how far from the best it may be.

Two tables, each measured in turn in one run, on one thread:

``rate``
    K by trying all placements, by exchanges, and by the integer program (to a relative gap of 1e-4,
    or for 10 seconds of the clock); the bound by multipliers that all but the first rest on.
``exponent``
    E by trying all placements, and by exchanges with the bound by assignment problems.

Agents' influences are random, data sets blind to half of the hypotheses. What would take too long
is left out. Times are CPU seconds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from benchmarks.limits import interleaved
from benchmarks.tables import Options, Row
from theory import FiniteAgent, FiniteModel
from theory.design import Placement, place
from theory.design.placement.bounds import rate_bound
from theory.design.placement.placement_problem import PlacementProblem
from theory.validation import FloatArray

TOLERANCE = 1e-4
SECONDS = 10.0
# Placements up to which all are tried.
MOST_TRIED = 400_000

Numbers = dict[str, float | None]


@dataclass(frozen=True)
class Size:
    """Agents, sorts of data set among them, and wrong hypotheses."""

    agents: int
    sorts: int
    hypotheses: int

    def __str__(self) -> str:
        return f"N = {self.agents}, {self.sorts} sorts, {self.hypotheses} wrong"


RATE_SIZES = (
    Size(9, 9, 10),
    Size(9, 9, 50),
    Size(25, 5, 10),
    Size(100, 10, 50),
    Size(100, 100, 50),
)
EXPONENT_SIZES = (Size(9, 9, 3), Size(9, 9, 10), Size(25, 5, 10), Size(50, 10, 20))
TOY_SIZES = (Size(5, 5, 3), Size(8, 4, 3))


def model_of(size: Size, *, seed: int = 1) -> FiniteModel:
    """Coins that are fair; each sort of data set is blind to about half of the hypotheses."""
    rng = np.random.default_rng(seed)
    shape = (size.sorts, size.hypotheses)
    loads = rng.uniform(0.05, 0.4, shape) * (rng.random(shape) < 0.5)
    loads[np.arange(size.hypotheses) % size.sorts, np.arange(size.hypotheses)] = 0.2
    fair = [0.5, 0.5]
    kinds = [
        FiniteAgent.from_tables(
            inputs=[1.0],
            truth=[fair],
            likelihood=[[fair], *([[0.5 + a, 0.5 - a]] for a in row)],
        )
        for row in loads
    ]
    counts = [size.agents // size.sorts] * size.sorts
    counts[0] += size.agents - sum(counts)
    names = ["fair", *(f"loaded {h}" for h in range(size.hypotheses))]
    return FiniteModel.from_agents(names, kinds, counts=counts)


def influence_of(size: Size, *, seed: int = 2) -> FloatArray:
    return np.random.default_rng(seed).dirichlet(np.full(size.agents, 2.0))


def _kept(found: dict[str, Placement], task: str, run: Callable[[], Placement]) -> None:
    found[task] = run()


def _row(
    part: str,
    size: Size,
    tasks: dict[str, Callable[[], Placement]],
    others: dict[str, Callable[[], Any]],
    columns: tuple[str, ...],
    *,
    repeats: int,
) -> Row:
    found: dict[str, Placement] = {}
    timed = {task: partial(_kept, found, task, run) for task, run in tasks.items()}
    seconds = interleaved({**timed, **others}, repeats=repeats)
    best = max(one.value for one in found.values())
    gaps: Numbers = dict.fromkeys(columns)
    for task, one in found.items():
        assert one.certificate is not None
        # How much better another placement might be, as far as this method can tell.
        gaps[task] = one.certificate.gap / one.value
    worst = next((one.worst for one in found.values() if one.worst is not None), None)
    original = next(iter(found.values())).original
    return {
        "part": part,
        "problem": str(size),
        "milliseconds": {
            c: 1e3 * seconds[c] if c in seconds else None for c in [*columns, *others]
        },
        "gap": gaps,
        "gain": {
            "over as given": best / original,
            "over the worst": None if worst is None else best / worst,
        },
    }


def rates(sizes: tuple[Size, ...], *, repeats: int) -> Iterator[Row]:
    for size in sizes:
        model, v = model_of(size), influence_of(size)
        problem = PlacementProblem(model, v)
        tasks: dict[str, Callable[[], Placement]] = {
            "local": partial(place, v, model, method="local"),
            "milp": partial(place, v, model, method="milp", tolerance=TOLERANCE, seconds=SECONDS),
        }
        if (problem.classes or np.inf) <= MOST_TRIED:
            tasks["exhaustive"] = partial(place, v, model, method="exhaustive")
        columns = ("exhaustive", "local", "milp")
        others = {"bound": partial(rate_bound, problem)}
        yield _row("rate", size, tasks, others, columns, repeats=repeats)


def exponents(sizes: tuple[Size, ...], *, repeats: int) -> Iterator[Row]:
    for size in sizes:
        model, v = model_of(size), influence_of(size)
        run = partial(place, v, model, objective="exponent")
        tasks: dict[str, Callable[[], Placement]] = {"local": partial(run, method="local")}
        if (PlacementProblem(model, v).classes or np.inf) <= MOST_TRIED:
            tasks["exhaustive"] = partial(run, method="exhaustive")
        yield _row("exponent", size, tasks, {}, ("exhaustive", "local"), repeats=repeats)


def rows(how: Options) -> Sequence[Row]:
    """The tables."""
    found = list(rates(TOY_SIZES if how.quick else RATE_SIZES, repeats=how.repeats))
    sizes = TOY_SIZES if how.quick else EXPONENT_SIZES
    return [*found, *exponents(sizes, repeats=how.repeats)]
