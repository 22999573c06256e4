"""Agents that may be exchanged, and what a design sees of them: their rows of I.

Where v is from a simplex, agents with equal rows of I(target, θ) share one variable, their total
influence; it is spread evenly among them (docs: mathematics/optimal-rate). So a network of a
million agents of three kinds is a program in three variables.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from theory.design.influences.flow_rows import LinearRows, simplex_rows
from theory.design.influences.influence_set import InfluenceSet
from theory.design.rate.rate_target import Model, RateTarget
from theory.learning.model import FiniteModel
from theory.validation import FloatArray, IntArray, fail


@dataclass(frozen=True, eq=False)
class Groups:
    """Agents that may be exchanged: those with equal rows of I, if v is from a simplex.

    Attributes
    ----------
    membership
        Shape (N,): the group of each agent.
    kinds
        Shape (G,): a kind of agent in each group.
    counts
        Shape (G,).
    payoffs
        Shape (G, M'): I against every wrong hypothesis.
    rows
        The polytope of the groups' shares (and of flows), shares first.
    centre
        Shares far from its boundary, shape (G,).
    """

    membership: IntArray
    kinds: IntArray
    counts: FloatArray
    payoffs: FloatArray
    rows: LinearRows
    centre: FloatArray


def influences_for(model: Model, influences: InfluenceSet | None) -> InfluenceSet:
    """The influences given, or all above 1/(10N).

    Raises
    ------
    ValueError
        If model and influences have different numbers of agents.
    """
    allowed = InfluenceSet(model.agents) if influences is None else influences
    if allowed.agents != model.agents:
        raise fail(
            "influences",
            f"as many agents as the model, {model.agents}",
            allowed.agents,
            "build them for the model's agents",
        )
    return allowed


def group_agents(allowed: InfluenceSet, model: FiniteModel, aim: RateTarget) -> Groups:
    """Agents with equal rows of I in one group; each by itself if rows of W are fixed."""
    information = model.comparison(aim.target).values[:, aim.wrong]
    keys = [row.tobytes() for row in information]
    return group_rows(allowed, model.assignment, information, keys)


def group_rows(
    allowed: InfluenceSet, assignment: IntArray, information: FloatArray, keys: Sequence[Hashable]
) -> Groups:
    """The same from the rows of I of each kind, shape (K, M'); equal keys tell equal rows."""
    agents = assignment.size
    if not allowed.is_simple:
        return Groups(
            membership=np.arange(agents),
            kinds=assignment,
            counts=np.ones(agents),
            payoffs=information[assignment],
            rows=allowed.rows,
            centre=allowed.centre,
        )
    known: dict[Hashable, int] = {}
    group = np.full(len(keys), -1, dtype=np.int64)
    kinds: list[int] = []
    for kind in np.unique(assignment).tolist():
        group[kind] = known.setdefault(keys[kind], len(known))
        if group[kind] == len(kinds):
            kinds.append(kind)
    membership = group[assignment]
    counts = np.bincount(membership).astype(np.float64)
    rows = simplex_rows(counts.size, Fraction(0)).as_floats()
    return Groups(
        membership=membership,
        kinds=np.array(kinds, dtype=np.int64),
        counts=counts,
        payoffs=information[kinds],
        rows=replace(rows, lower=counts * allowed.lowest),
        centre=counts / agents,
    )
