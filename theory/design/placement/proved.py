"""Whether a placement has the largest K, decided in exact arithmetic."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import groupby

import numpy as np

from theory.design.placement.classes import every_filling
from theory.design.rate.rate_program import as_target
from theory.learning.rate import check_same_agents
from theory.numbers import LogSum
from theory.rational.model import RationalModel, minimisers
from theory.rational.network import RationalNetwork
from theory.showing import Shown
from theory.typed import typed
from theory.validation import fail

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
