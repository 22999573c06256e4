"""How each objective is met: by trying all, by an integer program, or by a search with a bound."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from theory.design.placement.bounds import RateBound, rate_bound, solve, worst_rate
from theory.design.placement.local import ExponentObjective, RateObjective, search
from theory.design.placement.placement_problem import PlacementProblem
from theory.design.placement.placement_tilts import Exponents, exponent_bound
from theory.design.placement.samples import (
    FEW_CLASSES,
    MOST_ENTRIES,
    TIE,
    Extremes,
    FewestRounds,
    Rounds,
    extreme_exponents,
    extreme_rates,
    fewest_by_searching,
    fewest_by_trying,
    network_orbits,
    rounds_of,
)
from theory.design.search import Kind
from theory.network import Network
from theory.validation import FloatArray, IntArray, fail

# Classes of which all are looked at unasked, 9! among them: seconds.
_MANY_CLASSES = 400_000


@dataclass(frozen=True)
class Settings:
    """What the caller chose; see `place`."""

    method: str
    seed: int
    restarts: int
    tolerance: float
    seconds: float
    progress: Callable[[int, int], None] | None


@dataclass(frozen=True, eq=False)
class Answer:
    """The best filling, and what is known about the others; as in `Placement`.

    `bound` is None if there is none, `kind` that of the certificate.
    """

    filling: IntArray
    value: float
    bound: float | None
    kind: Kind
    method: str
    evaluated: int
    note: str
    worst: float | None = None
    worst_filling: IntArray | None = None
    classes: int | None = None
    equivalent: int | None = None
    ties: int | None = None
    proof: RateBound | None = None


def tries_all(problem: PlacementProblem, method: str) -> bool:
    """Whether every class is to be looked at."""
    if method != "auto":
        return method == "exhaustive"
    count = problem.classes
    few = count is not None and count <= _MANY_CLASSES
    return few and (count or 0) * problem.free.size <= MOST_ENTRIES


# Rate -------------------------------------------------------------------------------------------


def best_rate(problem: PlacementProblem, settings: Settings) -> Answer:
    """The largest K.

    Raises
    ------
    ValueError
        If it is not above zero.
    """
    if tries_all(problem, settings.method):
        extremes = extreme_rates(problem)
        if not problem.learns(extremes.best):
            rates = problem.rates(extremes.best[None])[0]
            raise _unreachable(problem, rates <= problem.least_rates)
        return _exhausted(extremes)
    bound = rate_bound(problem)
    if bound.value <= problem.least_rates.min():
        raise _unreachable(problem, bound.multipliers[-1] > 0)
    worst, worst_filling = worst_rate(problem)
    objective = RateObjective(problem)
    starts = [*bound.fillings, problem.original]
    found = search(
        problem,
        objective,
        starts,
        restarts=settings.restarts,
        seed=settings.seed,
        # The bound is met, to rounding: nothing is left to find.
        enough=bound.value * (1 - TIE),
        progress=settings.progress,
    )
    filling, value, evaluated = found.filling, found.value, found.evaluated
    upper, words = bound.value, "bound by multipliers and sorting"
    if settings.method != "local" and value < upper * (1 - settings.tolerance):
        solved = solve(problem, bound, tolerance=settings.tolerance, seconds=settings.seconds)
        if solved.filling is not None:
            again = search(problem, objective, [solved.filling], restarts=0, seed=settings.seed)
            evaluated += again.evaluated
            if again.value > value:
                filling, value = again.filling, again.value
        words = f"HiGHS: {solved.status}; without it, {_number(bound.value)} by multipliers"
        upper = min(upper, solved.bound)
    if not problem.learns(filling):
        raise _unreachable(problem, problem.rates(filling[None])[0] <= problem.least_rates)
    return Answer(
        filling=filling,
        value=value,
        bound=max(upper, value),
        kind="local" if settings.method == "local" else "rounded",
        method="local" if settings.method == "local" else "milp",
        evaluated=evaluated,
        note=words,
        worst=worst,
        worst_filling=worst_filling,
        proof=bound,
    )


def _exhausted(extremes: Extremes) -> Answer:
    return Answer(
        filling=extremes.best,
        value=extremes.value,
        bound=extremes.value,
        kind="rounded",
        method="exhaustive",
        evaluated=extremes.evaluated,
        note=f"all {extremes.evaluated} classes of placements were tried",
        worst=extremes.worst_value,
        worst_filling=extremes.worst,
        ties=extremes.ties,
    )


def _unreachable(problem: PlacementProblem, culprits: FloatArray | np.ndarray) -> ValueError:
    names = problem.model.hypotheses
    winners = [names[problem.wrong[h]] for h in np.flatnonzero(culprits)]
    return fail(
        "target",
        "a hypothesis that the network settles on under some placement",
        f"{names[problem.best]!r}, which under none found rejects {', '.join(map(repr, winners))}",
        "name another target, or let an influential agent observe what tells them apart",
    )


def _number(value: float) -> str:
    return f"{value:.6g}"


# Exponent ---------------------------------------------------------------------------------------


def reaching(problem: PlacementProblem, settings: Settings) -> IntArray:
    """A filling under which the network settles on the target.

    Raises
    ------
    ValueError
        If there is none.
    """
    if problem.learns(problem.original):
        return problem.original
    return best_rate(problem, replace(settings, method="auto")).filling


def best_exponent(problem: PlacementProblem, settings: Settings) -> Answer:
    """The largest E.

    Raises
    ------
    ValueError
        If no placement makes the network settle on the target.
    """
    start = reaching(problem, settings)
    exponents = Exponents(problem)
    if tries_all(problem, settings.method):
        return _exhausted(extreme_exponents(exponents, progress=settings.progress))
    bound = rate_bound(problem)
    found = search(
        problem,
        ExponentObjective(exponents),
        [problem.original, start, *bound.fillings],
        restarts=settings.restarts,
        seed=settings.seed,
        progress=settings.progress,
    )
    upper = np.inf
    if np.isfinite(found.value):
        upper = exponent_bound(exponents, found.filling)
    return Answer(
        filling=found.filling,
        value=found.value,
        bound=upper if np.isfinite(upper) else None,
        kind="local",
        method="local",
        evaluated=found.evaluated,
        note="exchanges of pairs; bound by assignment problems over tilts",
    )


# Samples ----------------------------------------------------------------------------------------


def fewest_samples(
    network: Network, problem: PlacementProblem, delta: float, settings: Settings
) -> Answer:
    """The fewest rounds that are proved to be enough.

    `problem` tells agents of equal influence apart, as W does.

    Raises
    ------
    ValueError
        If no placement makes the network settle on the target, or all are to be tried and there
        are too many.
    """
    start = reaching(problem, settings)
    if _tries_all_samples(network, problem, settings.method):
        found = fewest_by_trying(network, problem, delta, progress=settings.progress)
        method, kind = "exhaustive", "certified"
        if found.separated:
            note = "proved: every other class of placements needs more rounds"
        else:
            note = "not separated: the enclosures of several classes overlap"
    else:
        found = fewest_by_searching(
            network,
            problem,
            delta,
            [problem.original, start],
            restarts=settings.restarts,
            seed=settings.seed,
            progress=settings.progress,
        )
        method, kind = "local", "local"
        note = "climbed by the exponent and by Chernoff's bound; not separated from the others"
    return _rounds_answer(found, method, "certified" if kind == "certified" else "local", note)


def _tries_all_samples(network: Network, problem: PlacementProblem, method: str) -> bool:
    if method != "auto":
        return method == "exhaustive"
    classes = network_orbits(network, problem)
    return classes is not None and classes[1].rows.size <= FEW_CLASSES


def _rounds_answer(found: FewestRounds, method: str, kind: Kind, note: str) -> Answer:
    if found.rounds.upper is None:
        note = "no number of rounds is known to be enough under any placement tried"
    elif found.rounds.lower is None:
        note += "; Chernoff's bound, as the network is too large for an enclosure"
    return Answer(
        filling=found.filling,
        value=np.inf if found.rounds.upper is None else float(found.rounds.upper),
        bound=None if found.least is None else float(found.least),
        kind=kind,
        method=method,
        evaluated=found.evaluated,
        note=note,
        worst=None if found.worst is None else float(found.worst),
        worst_filling=found.worst_filling,
        classes=found.classes,
        equivalent=found.equivalent,
    )


def original_rounds(network: Network, problem: PlacementProblem, delta: float) -> float:
    """Rounds that are enough as it was; infinite if none are known."""
    found: Rounds = rounds_of(network, problem, problem.original, delta)
    return np.inf if found.upper is None else float(found.upper)
