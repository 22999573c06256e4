"""The fastest mixing for a v, and a v near it whose fastest mixing is faster.

For given v the fastest reversible W comes with a proof: places h, k and prices λ with

    slem ≥ 1 − (2 V(k) + Σ_i λ_i u_i) / (V(h) + V(k)),

V(h) = Σ_i v_i |h_i − Σ_j v_j h_j|² and u_i = (1 − s) v_i. What the places and prices have to meet
does not depend on v, so that the right side, as a function of v, touches the least slem from
below: its derivative is the least slem's, wherever that has one. The search goes down along it by
linear programs. The least slem is not convex in v: where the search ends need not be the best.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any, Literal

import numpy as np

from theory.design.constraints import Constraints
from theory.design.directed.directed_mixing import local_mixing
from theory.design.edges.edge_variants import choose_edges
from theory.design.exponent.best_exponent import best_exponent
from theory.design.graph import DesignGraph
from theory.design.influences.influence_set import InfluenceSet
from theory.design.mixing.fastest import FastestMixing, fastest_mixing
from theory.design.rate.optimal_rate import optimal_rate
from theory.design.realisation.weights import realise
from theory.design.samples.cover import tilts_spending
from theory.design.search import DesignFailed, is_spent
from theory.learning.model import FiniteModel
from theory.learning.tilted import TiltedTable, least_exponents
from theory.network import Network
from theory.validation import FloatArray

# Influences that keep a share of the best rate, or of the best exponent --------------------------


# A cut that v misses by this part of its largest coefficient is met.
_MET = 1e-9
_MOST_CUTS = 200


@dataclass(frozen=True, eq=False)
class Kept:
    """K or E against the rows of `table` (a slot an agent), as something to keep a share of."""

    table: TiltedTable
    by: Literal["rate", "exponent"]

    def value(self, v: FloatArray) -> float:
        """K or E at v."""
        if self.by == "rate":
            return float((self.table.facts.information @ v).min())
        return float(least_exponents(self.table, v[None])[0][0])

    def cuts(self, v: FloatArray | None, least: float) -> FloatArray:
        """Shape (C, N): row · v ≥ 0 wherever the objective is `least`; those that `v` violates.

        Without v those known beforehand: all there are for K, and for E where it is positive at
        all. Else one for each hypothesis whose exponent at v is too small, to 1e-9 or so.
        """
        if v is None:
            return self.table.facts.information - (least if self.by == "rate" else 0.0)
        if self.by == "rate":
            return np.zeros((0, v.size))
        _, _, means = tilts_spending(self.table, v, least)
        cuts: FloatArray = means[means @ v < -_MET * np.abs(means).max(axis=1)]
        return cuts


class FlooredInfluences:
    """The influences of a set that keep `least` of an objective; cuts needed once are kept."""

    def __init__(self, influences: InfluenceSet, kept: Kept, least: float) -> None:
        self.influences, self.kept, self.bar = influences, kept, least
        self._rows = kept.cuts(None, least)

    def evenest(self) -> FloatArray | None:
        """The v nearest the set's centre, by max_j |v_j / centre_j − 1|; None if there is none."""
        centre = self.influences.centre
        both = np.eye(centre.size)
        rows = np.block([[both, -centre[:, None]], [-both, -centre[:, None]]])
        return self._solve(np.append(np.zeros(centre.size), 1.0), rows, np.append(centre, -centre))

    def least(self, cost: FloatArray, around: FloatArray, reach: float) -> FloatArray | None:
        """A v of least cost · v with |v_j / around_j − 1| ≤ `reach`; None if there is none."""
        rows = np.vstack([np.eye(around.size), -np.eye(around.size)])
        right = np.append((1 + reach) * around, (reach - 1) * around)
        return self._solve(cost, rows, right)

    def _solve(self, cost: FloatArray, rows: FloatArray, right: FloatArray) -> FloatArray | None:
        """Minimise `cost`, of v and perhaps of one variable more, the last one, within `rows`."""
        known = self.influences.rows
        agents = known.agents
        # A variable more comes behind those of the set.
        width = known.variables + len(cost) - agents
        places = np.append(np.arange(agents), np.arange(known.variables, width))
        objective = np.zeros(width)
        objective[places] = -cost / max(float(np.abs(cost).max()), 1e-300)
        program = known.program(objective)
        wide = np.zeros((len(rows), width))
        wide[:, places] = rows
        program.add(wide, -np.inf, right)
        program.add(_scaled(self._rows, width), 0.0, np.inf)
        for _ in range(_MOST_CUTS):
            solved = program.solve()
            if solved is None:
                return None
            v = np.maximum(solved.x[:agents], self.influences.lowest)
            v = v / v.sum()
            new = self.kept.cuts(v, self.bar)
            if not len(new):
                break
            self._rows = np.vstack([self._rows, new])
            program.add(_scaled(new, width), 0.0, np.inf)
        return np.asarray(v)


def _scaled(rows: FloatArray, width: int) -> FloatArray:
    """Rows of a program of `width` variables, scaled to one: HiGHS's tolerances are absolute."""
    wide = np.zeros((len(rows), width))
    scale = np.maximum(np.abs(rows).max(axis=1, keepdims=True), 1e-300)
    wide[:, : rows.shape[1]] = rows / scale
    return wide


# The fastest mixing for a v, and a v near it whose fastest mixing is faster ----------------------


_REACH, _SMALLEST_REACH = 0.3, 0.02
# An improvement of the slem by less than this part of 1 − slem ends the search.
_WORTH = 1e-4


@dataclass(frozen=True, eq=False)
class Mixed:
    """The fastest W for one v.

    Attributes
    ----------
    v
        Shape (N,).
    graph
        The edges in use.
    network, expected
        The W to set, and E[W].
    slem, bound
        Of E[W], and what no reversible W with this v can beat (for directed graphs: no W).
    slope
        Shape (N,): the derivative of the bound by v; None where there is none to be had.
    """

    v: FloatArray
    graph: DesignGraph
    network: Network
    expected: Network
    slem: float
    bound: float
    slope: FloatArray | None


def fastest_for(
    graph: DesignGraph, v: FloatArray, limits: Constraints, *, seed: int
) -> Mixed | None:
    """The fastest mixing for v, on edges within the budgets; None where a solver gives up."""
    bound: float | None = None
    try:
        if not graph.is_undirected:
            local = local_mixing(graph, v, restarts=1, seed=seed, constraints=limits)
            modulus = local.expected.slem
            least = min(local.certificate.bound, modulus)
            return Mixed(v, graph, local.network, local.expected, modulus, least, None)
        if not limits.fits(graph):
            chosen = choose_edges(graph, v, constraints=limits, seed=seed)
            graph, found, bound = chosen.graph, chosen.mixing, chosen.certificate.bound
        else:
            found = fastest_mixing(graph, v, constraints=limits)
    except DesignFailed as failure:
        if not isinstance(failure.best, FastestMixing):
            return None
        found = failure.best
    least = found.certificate.bound if bound is None else bound
    return Mixed(
        v, graph, found.network, found.expected, found.slem, least, _slope(found, v, limits)
    )


def faster(
    start: Mixed, graph: DesignGraph, allowed: FlooredInfluences, limits: Constraints, *, steps: int
) -> Mixed:
    """Go down from `start` over v within `allowed`, by at most `steps` linear programs."""
    reach = _REACH
    best = start
    for _ in range(steps):
        if best.slope is None or reach < _SMALLEST_REACH or is_spent():
            break
        v = allowed.least(best.slope, best.v, reach)
        if v is None:
            break
        found = fastest_for(graph, v, limits, seed=0)
        if found is None or found.slem > best.slem - _WORTH * (1 - best.slem):
            reach /= 2
        else:
            best = found
    return best


def _slope(found: FastestMixing, v: FloatArray, limits: Constraints) -> FloatArray | None:
    """The derivative by v of what the bound's places and prices prove."""
    if limits.fixed_rows or limits.forces_uniform:
        return None
    h, k, prices = found.bound.slow, found.bound.alternating, found.bound.prices
    high, low = _spread(v, h), _spread(v, k)
    size = float(v @ (high + low))
    if size <= 0:
        return None
    spent = 2 * low + prices * (1 - limits.minimum_self_weight)
    slope: FloatArray = float(v @ spent) / size**2 * (high + low) - spent / size
    return slope


def _spread(v: FloatArray, places: FloatArray) -> FloatArray:
    """|h_i − mean|², shape (N,): the derivative of the variance, up to a constant."""
    if not places.shape[1]:
        return np.zeros(v.size)
    centred = places - v @ places
    return np.asarray((centred**2).sum(axis=1))


# Where a search for few samples starts -----------------------------------------------------------


# Influences that agree to this, relative to 1/N, are one start.
_SAME = 1e-6
# Of the shares between two influences.
_MIXTURES = (0.25, 0.5, 0.75)
# Of the best exponent, and linear programs for each of these shares.
_SHARES, _FASTER_STEPS = (0.999, 0.9), 8


@dataclass(frozen=True, eq=False)
class Start:
    """A network to set, on the edges it was given."""

    name: str
    network: Network
    graph: DesignGraph


def influences_to_try(
    model: FiniteModel,
    allowed: InfluenceSet,
    *,
    target: int | str | None,
    given: FloatArray | None = None,
) -> dict[str, FloatArray]:
    """V by name, shape (N,): even, of best rate and exponent, given, and mixtures; each once."""
    found = {"even": allowed.centre}
    if given is not None and allowed.contains(given, tolerance=1e-9):
        found = {"given": given, **found}
    if not allowed.is_point:
        of: dict[str, Any] = {"target": target, "influences": allowed}
        found["best exponent"] = best_exponent(model, **of).stationary_distribution
        found["best rate"] = optimal_rate(model, **of).stationary_distribution
        ends = ("even", "best exponent"), ("best exponent", "best rate"), ("even", "best rate")
        for (first, second), share in product(ends, _MIXTURES):
            name = f"{1 - share:g} {first} + {share:g} {second}"
            found[name] = (1 - share) * found[first] + share * found[second]
    kept: dict[str, FloatArray] = {}
    for name, v in found.items():
        if all(np.abs(v - other).max() * allowed.agents > _SAME for other in kept.values()):
            kept[name] = v
    return kept


def starts_for(
    graph: DesignGraph, v: FloatArray, limits: Constraints, *, name: str, seed: int
) -> Iterator[Start]:
    """Networks with one influence: Metropolis and Hastings, and the fastest."""
    if not limits.fits(graph):
        graph = choose_edges(graph, v, constraints=limits, seed=seed).graph
        limits = limits.on(graph)
    plain = realise(graph, v, constraints=limits, name=f"{name}, as realised")
    yield Start(plain.name, plain, graph)
    found = fastest_for(graph, v, limits, seed=seed)
    if found is not None:
        yield Start(f"{name}, fastest", found.network, graph)


def faster_starts(
    graph: DesignGraph,
    v: FloatArray,
    kept: Kept,
    allowed: InfluenceSet,
    limits: Constraints,
    *,
    seed: int,
) -> Iterator[Start]:
    """Networks that give up some of the exponent, which is `kept`, at v to mix faster."""
    best = kept.value(v)
    if allowed.is_point or not 0 < best < np.inf:
        return
    start = fastest_for(graph, v, limits, seed=seed)
    for share in _SHARES:
        if start is None or start.slope is None:
            return
        floored = FlooredInfluences(allowed, kept, share * best)
        start = faster(start, graph, floored, limits, steps=_FASTER_STEPS)
        yield Start(f"fastest with {share:g} of the exponent", start.network, start.graph)
