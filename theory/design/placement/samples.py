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
from theory.design.placement.local import ExponentObjective, search
from theory.design.placement.placement_problem import PlacementProblem, shares
from theory.design.placement.placement_tilts import Exponents
from theory.network import Network
from theory.network.structure import as_dense
from theory.scientific import csgraph, sparse
from theory.validation import FloatArray, IntArray, fail, read_only

# Which placements the network itself cannot tell apart -------------------------------------------


# Weights are compared after rounding to this: sums of quotients differ in the last place.
_DECIMALS = 13


@dataclass(frozen=True, eq=False)
class Orbits:
    """Shape (P,) each: the orbit of every row, and for every orbit a row and its size."""

    labels: IntArray
    rows: IntArray
    sizes: IntArray


def automorphisms(weights: FloatArray, colours: IntArray) -> list[IntArray]:
    """Permutations, shape (N,) each, that generate all those that keep W and the colours.

    Found point by point: with agents 0 … i − 1 held, where can agent i go? At most N(N − 1)/2.
    """
    rounded = np.round(weights, _DECIMALS)
    count = len(rounded)
    found: list[IntArray] = []
    for i in reversed(range(count)):
        reached = {i}
        for j in range(i + 1, count):
            if j in reached:
                continue
            images = _extend(rounded, colours, [*range(i), j])
            if images is not None:
                found.append(np.array(images, dtype=np.int64))
                reached = _orbit(i, [p for p in found if (p[:i] == np.arange(i)).all()])
    return found


def _extend(weights: FloatArray, colours: IntArray, images: list[int]) -> list[int] | None:
    """Complete the images of agents 0, 1, … to an automorphism, by backtracking."""
    here = len(images) - 1
    image = images[here]
    known = np.array(images)
    alike = (
        colours[here] == colours[image]
        and image not in images[:here]
        and (weights[here, : here + 1] == weights[image, known]).all()
        and (weights[: here + 1, here] == weights[known, image]).all()
    )
    if not alike:
        return None
    if len(images) == len(weights):
        return images
    for following in range(len(weights)):
        complete = _extend(weights, colours, [*images, following])
        if complete is not None:
            return complete
    return None


def _orbit(start: int, permutations: list[IntArray]) -> set[int]:
    reached, waiting = {start}, [start]
    while waiting:
        here = waiting.pop()
        for permutation in permutations:
            there = int(permutation[here])
            if there not in reached:
                reached.add(there)
                waiting.append(there)
    return reached


def orbits(rows: IntArray, permutations: list[IntArray]) -> Orbits:
    """Group the rows, shape (P, N), all different and closed under the permutations of columns."""
    order = np.lexsort(rows.T[::-1])
    ordered = np.ascontiguousarray(rows[order].astype(">i2"))  # bytes that sort like the numbers
    keys = ordered.view(np.dtype((np.void, ordered.shape[1] * 2))).ravel()
    edges = [np.arange(len(rows))]
    for permutation in permutations:
        moved = np.ascontiguousarray(ordered[:, permutation])
        edges.append(np.searchsorted(keys, moved.view(keys.dtype).ravel()))
    starts = np.tile(np.arange(len(rows)), len(edges))
    graph = sparse.coo_array(
        (np.ones(starts.size), (starts, np.concatenate(edges))), shape=(len(rows), len(rows))
    )
    count, of_ordered = csgraph.connected_components(graph, directed=False)
    labels = np.empty(len(rows), dtype=np.int64)
    labels[order] = of_ordered
    first = np.unique(labels, return_index=True)[1].astype(np.int64)
    sizes = np.bincount(labels, minlength=count).astype(np.int64)
    return Orbits(read_only(labels), read_only(first), read_only(sizes))


# All classes of equivalent placements, in a table ------------------------------------------------


# Of 9! placements of nine agents there are 3.3 million; 64 MiB.
MOST_ENTRIES = 8_000_000


def every_filling(problem: PlacementProblem) -> IntArray | None:
    """One filling of each class, shape (P, F); None if there are more than `MOST_ENTRIES` entries.

    Agents of a group hold sorts that do not decrease, so that no two fillings are equivalent.
    """
    count = problem.classes
    if count is None or count * problem.free.size > MOST_ENTRIES:
        return None
    left = problem.stock[None, :].astype(np.int16)
    chosen = np.zeros((1, 0), dtype=np.int16)
    for size in problem.sizes:
        takes = np.array(shares(problem.stock.tolist(), int(size)), dtype=np.int16)
        runs = np.array(
            [np.repeat(np.arange(share.size), share) for share in takes], dtype=np.int16
        ).reshape(len(takes), int(size))
        parts_left, parts_chosen = [], []
        for share, run in zip(takes, runs, strict=True):
            fits = (left >= share).all(axis=1)
            parts_left.append(left[fits] - share)
            parts_chosen.append(
                np.hstack([chosen[fits], np.broadcast_to(run, (int(fits.sum()), run.size))])
            )
        left, chosen = np.concatenate(parts_left), np.concatenate(parts_chosen)
    return chosen.astype(np.int64)


# Every placement, one of each class --------------------------------------------------------------


_BLOCK = 20_000
# Values within this, relative, are equal but for the rounding of sums over agents and atoms.
TIE = 1e-11
# Atoms seen by all agents, times hypotheses and classes, of which every exponent is found to the
# end: some seconds. Beyond, only those that could be the best are.
_MOST_ATOMS = 3e8


@dataclass(frozen=True, eq=False)
class Extremes:
    """What looking at every class found.

    Attributes
    ----------
    best, value
        Shape (F,), and its value.
    worst, worst_value
        None if the smallest value was not looked for.
    ties
        How many classes are as good as the best, to rounding; it is one of them.
    evaluated
        The number of classes.
    """

    best: IntArray
    value: float
    worst: IntArray | None
    worst_value: float | None
    ties: int
    evaluated: int


def fillings_of(problem: PlacementProblem) -> IntArray:
    """All classes.

    Raises
    ------
    ValueError
        If there are too many.
    """
    found = every_filling(problem)
    if found is None:
        many = "too many to count" if problem.classes is None else f"{problem.classes}"
        raise fail(
            "method",
            "so few different placements that all can be tried, as with nine agents",
            f"exhaustive, with {many} for {problem.free.size} agents",
            "use local, or milp for the rate",
        )
    return found


def extreme_rates(problem: PlacementProblem) -> Extremes:
    """K of every class; exact up to rounding."""
    fillings = fillings_of(problem)
    blocks = range(0, len(fillings), _BLOCK)
    values = np.concatenate(
        [problem.rates(fillings[start : start + _BLOCK]).min(axis=1) for start in blocks]
    )
    return _extremes(fillings, values, complete=True)


def extreme_exponents(
    exponents: Exponents, *, progress: Callable[[int, int], None] | None = None
) -> Extremes:
    """E of every class; exact up to rounding."""
    problem = exponents.problem
    fillings = fillings_of(problem)
    per_class = exponents.atoms * problem.agents / problem.stock.size
    complete = per_class * len(problem.wrong) * len(fillings) <= _MOST_ATOMS
    # The present placement first: whatever is not better need not be known exactly.
    best = float(exponents.values(problem.original[None])[0])
    parts = []
    for start in range(0, len(fillings), _BLOCK):
        floor = -np.inf if complete or not np.isfinite(best) else best * (1 - 2 * TIE)
        parts.append(exponents.values(fillings[start : start + _BLOCK], above=floor))
        best = max(best, float(parts[-1].max()))
        if progress is not None:
            progress(min(start + _BLOCK, len(fillings)), len(fillings))
    return _extremes(fillings, np.concatenate(parts), complete=complete)


def _extremes(fillings: IntArray, values: FloatArray, *, complete: bool) -> Extremes:
    top = int(np.argmax(values))
    value = float(values[top])
    slack = TIE * abs(value) if np.isfinite(value) else 0.0
    low = int(np.argmin(values))
    return Extremes(
        best=fillings[top],
        value=value,
        worst=fillings[low] if complete else None,
        worst_value=float(values[low]) if complete else None,
        ties=int((values >= value - slack).sum()),
        evaluated=len(values),
    )


# The placement that needs the fewest rounds, certified -------------------------------------------


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
