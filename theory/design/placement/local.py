"""Trying all placements, or exchanging what two agents hold, as long as that helps."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import groupby
from typing import Protocol

import numpy as np

from theory.design.placement.bounds import RateBound
from theory.design.placement.placement_problem import PlacementProblem, every_filling, fillings_of
from theory.design.rate.rate_program import as_target
from theory.design.search import Kind, Search, until_spent
from theory.learning.rate import check_same_agents
from theory.numbers import LogSum
from theory.progress import Progress
from theory.rational.model import RationalModel, minimisers
from theory.rational.network import RationalNetwork
from theory.showing import Shown
from theory.typed import typed
from theory.validation import FloatArray, IntArray, fail

# What is asked for, and the answer ---------------------------------------------------------------


@dataclass(frozen=True)
class Settings:
    """What the caller chose; see `place`."""

    method: str
    seed: int
    restarts: int
    tolerance: float
    seconds: float
    progress: Progress | None


@dataclass(frozen=True, eq=False)
class Answer:
    """The best filling, and what is known about the others; as in `Placement`.

    `bound` is None if there is none, `kind` that of the certificate; `timed_out` is whether a
    solver's own time ended it.
    """

    filling: IntArray
    value: float
    evaluated: int
    note: str
    bound: float | None = None
    kind: Kind = "local"
    method: str = "local"
    worst: float | None = None
    worst_filling: IntArray | None = None
    classes: int | None = None
    equivalent: int | None = None
    ties: int | None = None
    proof: RateBound | None = None
    timed_out: bool = False


class Objective(Protocol):
    """What is maximised."""

    @property
    def problem(self) -> PlacementProblem:
        """The data sets, the agents, and the hypotheses to reject."""

    def values(self, fillings: IntArray) -> FloatArray:
        """Value of each filling, shape (P,) for fillings of shape (P, F)."""

    def exchanged(
        self, filling: IntArray, first: IntArray, second: IntArray, *, above: float
    ) -> FloatArray:
        """Values of the fillings with places first[p] and second[p] exchanged, shape (P,).

        Those that do not exceed `above` may be replaced by others that do not; others may be too
        large, where that is rare.
        """


class Enclosed(Objective, Protocol):
    """An objective that can be told roughly for many fillings."""

    def ends(self, fillings: IntArray) -> tuple[FloatArray, FloatArray]:
        """Numbers that each value is between, shape (P,) both."""


@dataclass(frozen=True, eq=False)
class Rates:
    """K of a problem's placements. An exchange changes every rate by a product of differences."""

    problem: PlacementProblem

    def by_hypothesis(self, filling: IntArray) -> FloatArray:
        """Rates of one filling, shape (H,)."""
        return np.asarray(self.problem.rates(filling[None])[0])

    def values(self, fillings: IntArray) -> FloatArray:
        """K of each filling."""
        return np.asarray(self.problem.rates(fillings).min(axis=1))

    def ends(self, fillings: IntArray) -> tuple[FloatArray, FloatArray]:
        """K of each filling, twice."""
        found = self.values(fillings)
        return found, found

    def exchanged(
        self, filling: IntArray, first: IntArray, second: IntArray, *, above: float
    ) -> FloatArray:
        """K after each exchange."""
        problem = self.problem
        gained = problem.weights[first] - problem.weights[second]
        held = problem.information[filling]
        changes = gained[:, None] * (held[second] - held[first])
        return np.asarray((problem.rates(filling[None]) + changes).min(axis=1))


# Every placement, one of each class --------------------------------------------------------------


_CLASSES = 20_000
# Values within this, relative, are equal but for the rounding of sums over agents and atoms.
TIE = 1e-11


def tried(objective: Enclosed, *, progress: Progress | None = None) -> Answer:
    """The best of all classes and the worst, exact up to rounding.

    Only those that could be the one or the other are looked at to the end.

    Raises
    ------
    ValueError
        If there are too many classes.
    """
    fillings = fillings_of(objective.problem)
    parts: list[tuple[FloatArray, FloatArray]] = []
    for start in until_spent(range(0, len(fillings), _CLASSES), least=1):
        parts.append(objective.ends(fillings[start : start + _CLASSES]))
        if progress is not None:
            progress(min(start + _CLASSES, len(fillings)), len(fillings))
    lower, upper = (np.concatenate(ends) for ends in zip(*parts, strict=True))
    some, most = float(objective.values(fillings[[upper.argmax()]])[0]), float(upper.min())
    near = upper >= (some - 2 * TIE * abs(some) if np.isfinite(some) else some)
    near |= lower <= (most + 2 * TIE * abs(most) if np.isfinite(most) else most)
    rows = np.flatnonzero(near)
    values = objective.values(fillings[rows])
    top, low = int(rows[values.argmax()]), int(rows[values.argmin()])
    value = float(values.max())
    slack = TIE * abs(value) if np.isfinite(value) else 0.0
    note = f"all {len(lower)} classes of placements were tried"
    proved = len(lower) == len(fillings)
    if not proved:
        note = f"{len(lower)} of {len(fillings)} classes of placements were tried in the time given"
    return Answer(
        filling=fillings[top],
        value=value,
        bound=value if proved else None,
        kind="rounded" if proved else "local",
        method="exhaustive",
        evaluated=len(lower),
        note=note,
        worst=float(values.min()) if proved else None,
        worst_filling=fillings[low] if proved else None,
        ties=int((values >= value - slack).sum()) if proved else None,
    )


# Exchanging what two agents hold, as long as that helps, from several starts ---------------------


# Pairs looked at together, for each place: the best of them is taken, if it is better.
_BLOCK = 4
# What counts as better: more than the rounding of sums over agents.
_BETTER = 1e-12


@dataclass(frozen=True, eq=False)
class LocalOptimum:
    """The best filling a search found, its value, and how many were looked at."""

    filling: IntArray
    value: float
    evaluated: int


def climbed(
    objective: Objective,
    starts: Sequence[IntArray],
    *,
    restarts: int,
    seed: int,
    enough: float = np.inf,
    progress: Progress | None = None,
) -> LocalOptimum:
    """Exchange pairs from each of `starts` and from `restarts` random fillings.

    The search ends once a value of `enough` is reached; else no single exchange improves on the
    result by more than rounding (E: than what is estimated of exchanges may be off, a millionth as
    a rule), but where the time is up. Reproducible: the same seed gives the same answer.
    """
    rng = np.random.default_rng(seed)
    everything = [*starts]
    everything += [rng.permutation(objective.problem.original) for _ in range(restarts)]
    search = Search[IntArray]("maximise", progress=progress, total=len(everything))
    search.raise_bound(enough, "enough")
    evaluated = 0
    for start in search.over(everything):
        found = _climb(objective, np.array(start), rng, enough)
        evaluated += found.evaluated
        search.offer(found.value, found.filling)
        if search.value == np.inf:
            break
    search.finish()
    assert search.best is not None
    return LocalOptimum(search.best, search.value, evaluated)


def _climb(
    objective: Objective, filling: IntArray, rng: np.random.Generator, enough: float
) -> LocalOptimum:
    value, groups = float(objective.values(filling[None])[0]), objective.problem.groups
    first, second = np.triu_indices(filling.size, 1)
    apart = groups[first] != groups[second]
    first, second = first[apart], second[apart]
    block = _BLOCK * filling.size
    evaluated, improved = 1, True
    while improved and value < enough and np.isfinite(value):
        improved = False
        differ = np.flatnonzero(filling[first] != filling[second])
        # In random order, so that no agent is preferred; the best of a block is taken.
        rng.shuffle(differ)
        for start in until_spent(range(0, differ.size, block)):
            pairs = differ[start : start + block]
            threshold = value + _BETTER * abs(value)
            found = objective.exchanged(filling, first[pairs], second[pairs], above=threshold)
            evaluated += pairs.size
            for top in np.argsort(-found, kind="stable"):
                if not found[top] > threshold:
                    break
                a, b = first[pairs[top]], second[pairs[top]]
                filling[a], filling[b] = filling[b], filling[a]
                reached = float(objective.values(filling[None])[0])
                # Where the value is zero, a change may seem to be a gain by rounding alone. Only
                # what is larger when computed afresh is taken, so that the search comes to an end.
                if reached > value:
                    value, improved = reached, True
                    break
                filling[a], filling[b] = filling[b], filling[a]
            if improved:
                break
    return LocalOptimum(filling, value, evaluated)


# Whether a placement has the largest K, decided in exact arithmetic -------------------------------


# Classes of placements that are looked at; each takes microseconds.
_MOST_CLASSES = 400_000
# Placements whose floating-point K falls short of the best by more than this, relative to the sum
# of the sizes of its terms, fall short: a sum of N terms is right to N roundings, far less.
_MARGIN = 1e-9


@dataclass(frozen=True, eq=False)
class ProvedPlacement(Shown):
    """The verdict; all of it exact.

    Attributes
    ----------
    rate
        K under the placement asked about.
    best_rate, best
        The largest K of any placement, and one that has it: the data set at each agent.
    is_optimal
        Whether the two rates are equal: decided.
    ties
        How many classes of placements have the largest K.
    classes
        How many there are, those counted once that differ by exchanges between agents of equal
        influence or of equal data sets.
    """

    rate: LogSum
    best_rate: LogSum
    best: tuple[int, ...]
    is_optimal: bool
    ties: int
    classes: int


@typed
def prove_placement(
    network: RationalNetwork,
    model: RationalModel,
    assignment: Sequence[int] | None = None,
    *,
    target: int | str | None = None,
) -> ProvedPlacement:
    """Decide whether no placement has a larger K than `assignment`, by looking at all.

    Parameters
    ----------
    assignment
        The data set at each agent, shape (N,); as it is, if None.
    target
        The hypothesis to be learnt; needed if none is best for every agent.

    Raises
    ------
    ValueError
        If the assignment is no permutation of the agents, the target is none (see `as_target`),
        network and model do not fit, or there are more than 400 000 classes.

    Examples
    --------
    >>> from theory.rational import RationalFiniteAgent
    >>> seeing, blind = (
    ...     RationalFiniteAgent.from_tables(
    ...         inputs=[1], truth=[["1/2", "1/2"]], likelihood=[[["1/2", "1/2"]], [claim]]
    ...     )
    ...     for claim in (["3/4", "1/4"], ["1/2", "1/2"])
    ... )
    >>> model = RationalModel.from_agents(["fair", "loaded"], [seeing, blind], counts=[1, 2])
    >>> path = RationalNetwork.from_topology("path", agents=3)
    >>> verdict = prove_placement(path, model)
    >>> verdict.is_optimal, verdict.best, str(verdict.best_rate)
    (False, (1, 0, 2), '3/7*log(2) - 3/14*log(3)')
    """
    check_same_agents(network, model)
    count = model.agents
    asked = list(range(count)) if assignment is None else [int(d) for d in assignment]
    if sorted(asked) != list(range(count)):
        raise fail("assignment", f"each of 0 to {count - 1} once", asked, "place every data set")
    aim = as_target(model, target)

    # Data sets of equal divergences are of one sort; agents of equal v are of one group.
    sorts: dict[tuple[LogSum, ...], int] = {}
    of_kind = [sorts.setdefault(row, len(sorts)) for row in model.kind_divergences]
    held = [of_kind[k] for k in model.assignment]
    information = [[row[m] - row[aim.target] for m in aim.wrong] for row in sorts]
    v = network.stationary_distribution
    agents = sorted(range(count), key=lambda i: -v[i])
    sizes = [len(list(group)) for _, group in groupby(agents, key=v.__getitem__)]

    def exact(filling: Iterable[int]) -> LogSum:
        """K of the sorts at `agents`."""
        weights = [Fraction(0)] * len(sorts)
        for i, sort in zip(agents, filling, strict=True):
            weights[sort] += v[i]
        rates = [
            LogSum.total(w * row[h] for w, row in zip(weights, information, strict=True))
            for h in range(aim.wrong.size)
        ]
        return rates[minimisers(rates)[0]]

    fillings = every_filling(sizes, [held.count(s) for s in range(len(sorts))])
    if fillings is None or len(fillings) > _MOST_CLASSES:
        raise fail(
            "model",
            f"at most {_MOST_CLASSES} classes of placements",
            "more",
            "use place, whose certificate is right to rounding",
        )
    worth = np.array([[float(x.enclosure().midpoint) for x in row] for row in information])
    levels = np.array([float(v[i]) for i in agents])
    heard = np.column_stack([(fillings == sort) @ levels for sort in range(len(sorts))])
    rates, slack = heard @ worth, _MARGIN * (heard @ np.abs(worth))
    # Placements that no other one beats for certain, each rate with its own rounding.
    near = np.flatnonzero((rates + slack).min(axis=1) >= (rates - slack).min(axis=1).max())
    decided = [exact(fillings[p]) for p in near]
    top = minimisers([-rate for rate in decided])
    mine = exact(held[asked[i]] for i in agents)
    left = {sort: [d for d, other in enumerate(held) if other == sort] for sort in set(held)}
    at = {i: left[s].pop(0) for i, s in zip(agents, fillings[near[top[0]]].tolist(), strict=True)}
    return ProvedPlacement(
        rate=mine,
        best_rate=decided[top[0]],
        best=tuple(at[i] for i in range(count)),
        is_optimal=mine == decided[top[0]],
        ties=len(top),
        classes=len(fillings),
    )
