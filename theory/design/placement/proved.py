"""Whether a placement has the largest K, decided in exact arithmetic."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from theory.design.placement.placement_problem import as_target, shares, twins
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
        If the assignment is no permutation of the agents, the target is missing, nothing is to be
        rejected, network and model do not fit, or there are more than 400 000 classes.

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
    best = as_target(model, target)
    kept = {best, *model.optimal_hypotheses, *twins(model, best)}
    wrong = [m for m in range(len(model.hypotheses)) if m not in kept]
    if not wrong:
        raise fail("model", "a wrong hypothesis", "none", "give hypotheses that can be told apart")

    # Data sets of equal divergences are of one sort; agents of equal v are of one group.
    sorts: dict[tuple[LogSum, ...], int] = {}
    of_kind = [sorts.setdefault(row, len(sorts)) for row in model.kind_divergences]
    held = [of_kind[k] for k in model.assignment]
    information = [[row[m] - row[best] for m in wrong] for row in sorts]
    v = network.stationary_distribution
    levels = sorted(set(v), reverse=True)
    groups = [[i for i in range(count) if v[i] == level] for level in levels]

    def exact(table: Sequence[Sequence[int]]) -> LogSum:
        """K of a table of counts, by group and sort."""
        weights = [
            sum((level * row[s] for level, row in zip(levels, table, strict=True)), Fraction(0))
            for s in range(len(sorts))
        ]
        rates = [
            LogSum.total(w * row[h] for w, row in zip(weights, information, strict=True))
            for h in range(len(wrong))
        ]
        return rates[minimisers(rates)[0]]

    tables = []
    stock = tuple(held.count(s) for s in range(len(sorts)))
    for table in _tables([len(group) for group in groups], stock):
        tables.append(table)
        if len(tables) > _MOST_CLASSES:
            raise fail(
                "model",
                f"at most {_MOST_CLASSES} classes of placements",
                "more",
                "use place, whose certificate is right to rounding",
            )
    worth = np.array([[float(x.enclosure().midpoint) for x in row] for row in information])
    heard = np.einsum("pcs,c->ps", np.array(tables), np.array([float(x) for x in levels]))
    rates, slack = heard @ worth, _MARGIN * (heard @ np.abs(worth))
    # Placements that no other one beats for certain, each rate with its own rounding.
    near = np.flatnonzero((rates + slack).min(axis=1) >= (rates - slack).min(axis=1).max())
    decided = [exact(tables[p]) for p in near]
    top = minimisers([-rate for rate in decided])
    mine = exact(
        [[[held[asked[i]] for i in g].count(s) for s in range(len(sorts))] for g in groups]
    )
    return ProvedPlacement(
        rate=mine,
        best_rate=decided[top[0]],
        best=_assignment(tables[near[top[0]]], groups, held),
        is_optimal=mine == decided[top[0]],
        ties=len(top),
        classes=len(tables),
    )


def _tables(sizes: Sequence[int], stock: tuple[int, ...]) -> Iterator[tuple[tuple[int, ...], ...]]:
    """All tables of counts with these sums, by group and by sort."""
    if not sizes:
        yield ()
        return
    for row in shares(stock, sizes[0]):
        left = tuple(a - b for a, b in zip(stock, row, strict=True))
        for rest in _tables(sizes[1:], left):
            yield (row, *rest)


def _assignment(
    table: Sequence[Sequence[int]], groups: Sequence[Sequence[int]], held: Sequence[int]
) -> tuple[int, ...]:
    """Data sets by agent, as the table says."""
    left = {s: [d for d, sort in enumerate(held) if sort == s] for s in set(held)}
    result = [0] * len(held)
    for row, group in zip(table, groups, strict=True):
        wanted = [s for s, count in enumerate(row) for _ in range(count)]
        for agent, sort in zip(group, wanted, strict=True):
            result[agent] = left[sort].pop(0)
    return tuple(result)
