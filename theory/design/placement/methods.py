"""How each objective is met: by trying all, by an integer program, or by a search with a bound."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from theory.bounds.accounting import account
from theory.bounds.samples import sample_sizes
from theory.design.placement.bounds import rate_bound, solve, worst_rate
from theory.design.placement.local import TIE, Answer, Rates, Settings, climbed, tried
from theory.design.placement.placement_problem import (
    MOST_ENTRIES,
    PlacementProblem,
    fillings_of,
    network_orbits,
)
from theory.design.placement.placement_tilts import Exponents, exponent_bound
from theory.design.search import seconds_left, until_spent
from theory.network import Network
from theory.progress import Progress
from theory.validation import FloatArray, IntArray, fail

# Classes of which all are looked at unasked, 9! among them: seconds.
_MANY_CLASSES = 400_000


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
    objective = Rates(problem)
    if tries_all(problem, settings.method):
        answer = tried(objective)
        if not problem.learns(answer.filling):
            rates = objective.by_hypothesis(answer.filling)
            raise _unreachable(problem, rates <= problem.least_rates)
        return answer
    bound = rate_bound(problem)
    if bound.value <= problem.least_rates.min():
        raise _unreachable(problem, bound.multipliers[-1] > 0)
    worst, worst_filling = worst_rate(problem)
    starts = [*bound.fillings, problem.original]
    found = climbed(
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
    seconds, timed_out = min(settings.seconds, seconds_left()), False
    if settings.method != "local" and seconds > 0 and value < upper * (1 - settings.tolerance):
        solved = solve(problem, bound, tolerance=settings.tolerance, seconds=seconds)
        if solved.filling is not None:
            again = climbed(objective, [solved.filling], restarts=0, seed=settings.seed)
            evaluated += again.evaluated
            if again.value > value:
                filling, value = again.filling, again.value
        words = f"HiGHS: {solved.status}; without it, {_number(bound.value)} by multipliers"
        upper, timed_out = min(upper, solved.bound), not solved.is_optimal
    if not problem.learns(filling):
        raise _unreachable(problem, objective.by_hypothesis(filling) <= problem.least_rates)
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
        timed_out=timed_out,
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
        return tried(exponents, progress=settings.progress)
    bound = rate_bound(problem)
    found = climbed(
        exponents,
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
        evaluated=found.evaluated,
        note="exchanges of pairs; bound by assignment problems over tilts",
    )


# Samples ----------------------------------------------------------------------------------------


# Classes that are all certified unasked, at a quarter of a second each for nine agents; if asked:
# minutes.
_FEW_CLASSES = 48
_MOST_CLASSES = 1000
_MOST_SECONDS = 3.0
# As for `sample_sizes`: larger networks have no enclosure, but Chernoff's bound.
_MOST_AGENTS = 64
# Placements whose Chernoff bound is found on the way of a search, and of those certified.
_MOST_BOUNDS = 40
_MOST_CERTIFIED = 4


@dataclass(frozen=True, eq=False)
class Rounds:
    """Rounds that are enough for `delta` under the placements of a network; to be minimised.

    `problem` tells agents of equal influence apart, as W does. For a search, the fewer rounds
    Chernoff's bound asks for the better, till as many placements are `known` as take some seconds.
    """

    network: Network
    problem: PlacementProblem
    delta: float
    progress: Progress | None = None
    known: dict[bytes, tuple[float, IntArray]] = field(default_factory=dict)

    def enclosed(self, filling: IntArray) -> tuple[float, float]:
        """Proved numbers at both ends; infinite above, and 0 below, where none is known.

        Where the enclosure takes too long, Chernoff's bound alone; both ends are infinite where the
        network settles on another hypothesis.
        """
        if not self.problem.learns(filling):
            return np.inf, np.inf
        if self.network.agents <= _MOST_AGENTS:
            model = self.problem.placed(self.problem.assignment(filling))
            found = account(self.network, model).sample_size(self.delta, seconds=_MOST_SECONDS)
            if found.upper is not None:
                return float(found.lower or 0), float(found.upper)
        return 0.0, self.chernoff(filling)

    def chernoff(self, filling: IntArray) -> float:
        """Rounds that are enough by Chernoff's bound; infinite if none are known."""
        if not self.problem.learns(filling):
            return np.inf
        model = self.problem.placed(self.problem.assignment(filling))
        found = sample_sizes(self.network, model, delta=self.delta, certify=False).chernoff.rounds
        return np.inf if found is None else float(found)

    def values(self, fillings: IntArray) -> FloatArray:
        """Minus the rounds of each filling, which it remembers; −1e300 for infinitely many."""
        for filling in fillings:
            if (key := filling.tobytes()) not in self.known:
                self.known[key] = self.chernoff(filling), filling
                if self.progress is not None:
                    self.progress(len(self.known), _MOST_BOUNDS)
        return -np.array([min(self.known[filling.tobytes()][0], 1e300) for filling in fillings])

    def exchanged(
        self, filling: IntArray, first: IntArray, second: IntArray, *, above: float
    ) -> FloatArray:
        """The same after each exchange, up to the first that is better."""
        found = np.full(first.size, -np.inf)
        for p, (a, b) in enumerate(until_spent(zip(first, second, strict=True))):
            if len(self.known) >= _MOST_BOUNDS:
                break
            other = filling.copy()
            other[[a, b]] = other[[b, a]]
            found[p] = self.values(other[None])[0]
            if found[p] > above:
                break
        return found


def fewest_rounds(rounds: Rounds, settings: Settings) -> Answer:
    """The placement of the fewest rounds that are proved to be enough.

    Every class of placements under the network's symmetries has its number of rounds enclosed. A
    placement is proved best where its upper end lies below every other's lower end; otherwise the
    one of the smallest upper end is returned, and it is said that the enclosures do not separate
    it. Where there are too many classes, those with the largest exponents and their neighbours are
    looked at.

    Raises
    ------
    ValueError
        If no placement makes the network settle on the target, or all are to be tried and there
        are too many.
    """
    start = reaching(rounds.problem, settings)
    found = network_orbits(rounds.network, rounds.problem)
    if settings.method == "exhaustive" or (
        settings.method == "auto" and found and found[1].rows.size <= _FEW_CLASSES
    ):
        return _certified(rounds, settings)
    return _searched(rounds, [rounds.problem.original, start], settings)


def _certified(rounds: Rounds, settings: Settings) -> Answer:
    """Certify every class."""
    problem = rounds.problem
    fillings, classes = network_orbits(rounds.network, problem) or (fillings_of(problem), None)
    assert classes is not None
    count = classes.rows.size
    if count > _MOST_CLASSES:
        raise fail(
            "method",
            f"at most {_MOST_CLASSES} classes of placements for the objective samples",
            f"exhaustive, with {count}",
            "use local",
        )
    sizes: list[tuple[float, float]] = []
    for row in until_spent(classes.rows, least=1):
        sizes.append(rounds.enclosed(fillings[row]))
        if settings.progress is not None:
            settings.progress(len(sizes), count)
    lowers, uppers = np.array(sizes).T
    best, worst = int(np.argmin(uppers)), int(np.argmax(uppers))
    complete, least = bool(np.isfinite(uppers[worst])), max(1.0, float(lowers.min()))
    note = "not separated: the enclosures of several classes overlap"
    proved = len(sizes) == count
    if not proved:
        note = f"{len(sizes)} of {count} classes of placements were certified in the time given"
    elif (np.maximum(np.delete(lowers, best), 1.0) > uppers[best]).all():
        note = "proved: every other class of placements needs more rounds"
    return Answer(
        filling=fillings[classes.rows[best]],
        value=float(uppers[best]),
        bound=least if proved and np.isfinite(least) else None,
        kind="certified" if proved else "local",
        method="exhaustive",
        evaluated=len(sizes),
        note=_rounds_note(sizes[best], note),
        worst=float(uppers[worst]) if complete and proved else None,
        worst_filling=fillings[classes.rows[worst]] if complete and proved else None,
        classes=count,
        equivalent=int(classes.sizes[best]),
    )


def _searched(rounds: Rounds, starts: list[IntArray], settings: Settings) -> Answer:
    """Climb by the exponent, then by Chernoff's bound, and certify the last few."""
    exponents, seed = Exponents(rounds.problem), settings.seed
    rounds = replace(rounds, progress=settings.progress)
    rare = climbed(exponents, starts, restarts=settings.restarts, seed=seed).filling
    # From the fewest rounds of these on.
    rounds.values(np.array([rare, *starts]))
    _, best = min(rounds.known.values(), key=lambda one: one[0])
    climbed(rounds, [best], restarts=0, seed=seed)
    candidates = sorted(rounds.known.values(), key=lambda one: one[0])[:_MOST_CERTIFIED]
    sizes = [rounds.enclosed(filling) for _, filling in candidates]
    top = min(range(len(sizes)), key=lambda k: sizes[k][1])
    note = "climbed by the exponent and by Chernoff's bound; not separated from the others"
    return Answer(
        filling=candidates[top][1],
        value=sizes[top][1],
        evaluated=len(rounds.known),
        note=_rounds_note(sizes[top], note),
    )


def _rounds_note(ends: tuple[float, float], note: str) -> str:
    if np.isinf(ends[1]):
        return "no number of rounds is known to be enough under any placement tried"
    if not ends[0]:
        note += "; Chernoff's bound, as the network is too large for an enclosure"
    return note
