"""The placement that needs the fewest rounds, certified.

Every class of placements under the network's symmetries has its number of rounds enclosed. A
placement is proved best where its upper end lies below every other's lower end; otherwise the one
of the smallest upper end is returned, and it is said that the enclosures do not separate it. Where
there are too many classes, those with the largest exponents and their neighbours are looked at.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from theory.bounds.accounting import account
from theory.bounds.samples import sample_sizes
from theory.design.placement.exhaustive import fillings_of
from theory.design.placement.exponents import Exponents
from theory.design.placement.fillings import every_filling
from theory.design.placement.local import ExponentObjective, search
from theory.design.placement.placement_problem import PlacementProblem
from theory.design.placement.symmetry import Orbits, automorphisms, orbits
from theory.network import Network
from theory.network.structure import as_dense
from theory.validation import IntArray, fail

# Classes that are all certified unasked, at a quarter of a second each for nine agents.
FEW_CLASSES = 48
# And if asked: minutes.
_MOST_CLASSES = 1000
_MOST_SECONDS = 3.0
# As for `sample_sizes`: larger networks have no enclosure, but Chernoff's bound.
_MOST_AGENTS = 64
# Placements whose Chernoff bound is found on the way of a search, and of those certified.
_MOST_BOUNDS = 40
_MOST_CERTIFIED = 4


@dataclass(frozen=True)
class Rounds:
    """Rounds that are enough under one placement: proved numbers at both ends, if known."""

    lower: int | None
    upper: int | None


@dataclass(frozen=True, eq=False)
class FewestRounds:
    """The best placement found for the number of rounds.

    Attributes
    ----------
    filling, rounds
        Shape (F,), and what is known of it.
    least
        No placement needs fewer rounds; None if not all were certified.
    worst, worst_filling
        The largest upper end; None if not all were certified.
    separated
        Whether it is proved that no placement outside its class needs fewer rounds.
    classes, equivalent
        Of the network's symmetries; None if not counted.
    evaluated
        Placements for which some bound was found.
    """

    filling: IntArray
    rounds: Rounds
    least: int | None
    worst: int | None
    worst_filling: IntArray | None
    separated: bool
    classes: int | None
    equivalent: int | None
    evaluated: int


def rounds_of(
    network: Network, problem: PlacementProblem, filling: IntArray, delta: float
) -> Rounds:
    """The enclosure for one placement, or Chernoff's bound alone where that takes too long."""
    if not problem.learns(filling):
        return Rounds(None, None)  # the network settles on another hypothesis
    model = problem.placed(problem.assignment(filling))
    if network.agents <= _MOST_AGENTS:
        found = account(network, model).sample_size(delta, seconds=_MOST_SECONDS)
        if found.upper is not None:
            return Rounds(found.lower, found.upper)
    return Rounds(None, sample_sizes(network, model, delta=delta, certify=False).chernoff.rounds)


def network_orbits(network: Network, problem: PlacementProblem) -> tuple[IntArray, Orbits] | None:
    """All placements and their classes under the network's symmetries; None if too many."""
    fillings = every_filling(problem)
    if fillings is None:
        return None
    colours = np.full(problem.agents, -1, dtype=np.int64)
    colours[list(problem.fixed)] = problem.sorts[list(problem.fixed)]
    symmetries = automorphisms(as_dense(network.weights), colours)
    return fillings, orbits(problem.everywhere(fillings), symmetries)


def fewest_by_trying(
    network: Network,
    problem: PlacementProblem,
    delta: float,
    *,
    progress: Callable[[int, int], None] | None = None,
) -> FewestRounds:
    """Certify every class.

    Raises
    ------
    ValueError
        If there are too many.
    """
    found = network_orbits(network, problem) or (fillings_of(problem), None)
    fillings, classes = found
    assert classes is not None
    if classes.rows.size > _MOST_CLASSES:
        raise fail(
            "method",
            f"at most {_MOST_CLASSES} classes of placements for the objective samples",
            f"exhaustive, with {classes.rows.size}",
            "use local",
        )
    sizes: list[Rounds] = []
    for row in classes.rows:
        sizes.append(rounds_of(network, problem, fillings[row], delta))
        if progress is not None:
            progress(len(sizes), classes.rows.size)
    uppers = np.array([np.inf if one.upper is None else one.upper for one in sizes])
    lowers = np.array(
        [_lower(one, problem, fillings[r]) for one, r in zip(sizes, classes.rows, strict=True)]
    )
    best, worst = int(np.argmin(uppers)), int(np.argmax(uppers))
    complete = np.isfinite(uppers[worst])
    return FewestRounds(
        filling=fillings[classes.rows[best]],
        rounds=sizes[best],
        least=int(lowers.min()) if np.isfinite(lowers.min()) else None,
        worst=int(uppers[worst]) if complete else None,
        worst_filling=fillings[classes.rows[worst]] if complete else None,
        separated=bool((np.delete(lowers, best) > uppers[best]).all()),
        classes=int(classes.rows.size),
        equivalent=int(classes.sizes[best]),
        evaluated=int(classes.rows.size),
    )


def _lower(rounds: Rounds, problem: PlacementProblem, filling: IntArray) -> float:
    if rounds.lower is not None:
        return float(rounds.lower)
    return 1.0 if problem.learns(filling) else np.inf


def fewest_by_searching(
    network: Network,
    problem: PlacementProblem,
    delta: float,
    starts: list[IntArray],
    *,
    restarts: int,
    seed: int,
    progress: Callable[[int, int], None] | None = None,
) -> FewestRounds:
    """Climb by the exponent, then by Chernoff's bound, and certify the last few."""
    objective = ExponentObjective(Exponents(problem))
    climbed = search(problem, objective, starts, restarts=restarts, seed=seed)
    known: dict[bytes, tuple[float, IntArray]] = {}

    def chernoff(filling: IntArray) -> float:
        key = filling.tobytes()
        if key not in known:
            value = np.inf
            if problem.learns(filling):
                model = problem.placed(problem.assignment(filling))
                found = sample_sizes(network, model, delta=delta, certify=False).chernoff.rounds
                value = np.inf if found is None else float(found)
            known[key] = (value, filling)
            if progress is not None:
                progress(len(known), _MOST_BOUNDS)
        return known[key][0]

    for filling in (climbed.filling, *starts):
        chernoff(np.asarray(filling))
    _, best = min(known.values(), key=lambda one: one[0])
    rng = np.random.default_rng(seed)
    first, second = np.triu_indices(best.size, 1)
    improved = True
    while improved and len(known) < _MOST_BOUNDS:
        improved = False
        differ = np.flatnonzero(best[first] != best[second])
        rng.shuffle(differ)
        for pair in differ:
            if len(known) >= _MOST_BOUNDS:
                break
            other = best.copy()
            a, b = first[pair], second[pair]
            other[a], other[b] = best[b], best[a]
            if chernoff(other) < chernoff(best):
                best, improved = other, True
                break
    candidates = sorted(known.values(), key=lambda one: one[0])[:_MOST_CERTIFIED]
    sizes = [rounds_of(network, problem, filling, delta) for _, filling in candidates]
    uppers = [np.inf if one.upper is None else one.upper for one in sizes]
    top = int(np.argmin(uppers))
    return FewestRounds(
        filling=candidates[top][1],
        rounds=sizes[top],
        least=None,
        worst=None,
        worst_filling=None,
        separated=False,
        classes=None,
        equivalent=None,
        evaluated=len(known),
    )
