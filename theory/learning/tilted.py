"""One table of all laws of log-likelihood ratios, tilted: what every error exponent is made of.

One *row* is an ordered pair of hypotheses (θ*, θ), one *slot* a group of agents of one kind that
share one weight v_s. For each row and slot the table answers, at a tilt u ≥ 0,

=============  ==================  ===========================================================
``values``     h(u) = −κ(−u)       how rare it is that the evidence z misleads by so much
``means``      m = κ'(−u)          E z under the law tilted by e^{−uz}
``variances``  κ''(−u)             Var z under it
=============  ==================  ===========================================================

and ``costs`` h − u m = KL(tilted law ‖ law) (docs: mathematics/best-exponent). The exponents are
maxima over one tilt a row,

    E_θ(v) = max_{t ≥ 0} Σ_s n_s h_s(t v_s),

of as many rows and weights v as are asked for, at once: of all hypotheses, of networks that differ
in an edge, of placements of data, of networks without one of their agents.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from theory.learning.finite_agent import Agent
from theory.learning.log_ratio import Atoms
from theory.learning.model import FiniteModel
from theory.learning.tables import GaussianAgent
from theory.validation import FloatArray, IntArray, read_only

# The table ---------------------------------------------------------------------------------------


# Entries (atom, row, slot) that are kept: 16 MiB an array; beyond, made anew block by block.
_MOST_KEPT = 1 << 21
_BLOCK = 1 << 16
# Slots of one kind that are evaluated as one axis; fewer are columns like those of other kinds.
_MANY_SLOTS = 16


@dataclass(frozen=True, eq=False)
class Tilted:
    """h, κ' and κ'' at −u of each row and slot, shape (R, S)."""

    values: FloatArray
    means: FloatArray
    variances: FloatArray

    def costs(self, u: FloatArray) -> FloatArray:
        """KL(tilted law ‖ law) of each row and slot, in nats."""
        return self.values - u * self.means


@dataclass(frozen=True, eq=False)
class _Facts:
    """Mean, variance and least value of z and −log of the latter's chance, shape (R, S) each.

    −inf and inf where a normal has no least value.
    """

    information: FloatArray
    spreads: FloatArray
    minima: FloatArray
    silence: FloatArray


@dataclass(frozen=True, eq=False)
class _Group:
    """Slots of kinds with equally many atoms: `slots` has shape (K, W), `kinds` (K,)."""

    slots: IntArray
    kinds: tuple[Agent, ...]
    size: int
    hypothetical: bool

    def atoms(self, first: IntArray, second: IntArray) -> Atoms:
        """The laws of some pairs of hypotheses, shape (O, pairs, K, 1)."""
        alike = {
            id(kind): kind.atoms(first, second, hypothetical=self.hypothetical)
            for kind in self.kinds
        }
        return Atoms.together([alike[id(kind)] for kind in self.kinds])


@dataclass(frozen=True, eq=False)
class TiltedTable:
    """All laws of z(θ*, θ) that matter, by row and slot.

    Attributes
    ----------
    first, second
        Shape (R,): the hypotheses θ* and θ of each row.
    slots
        Shape (N,): the slot of each agent.
    counts
        Shape (S,): how many agents a slot stands for.
    """

    first: IntArray
    second: IntArray
    slots: IntArray
    counts: FloatArray
    _groups: tuple[_Group, ...]

    @property
    def rows(self) -> int:
        """R, the number of pairs of hypotheses."""
        return int(self.first.size)

    def part(self, rows: IntArray) -> TiltedTable:
        """The table of some of its rows."""
        return replace(self, first=self.first[rows], second=self.second[rows])

    def by_slot(self, v: FloatArray) -> FloatArray:
        """The weight of each slot, shape (..., S), for weights of agents, shape (..., N)."""
        found = np.zeros((*v.shape[:-1], self.counts.size))
        found[..., self.slots] = v
        return found

    def tilted(self, rows: IntArray, u: FloatArray) -> Tilted:
        """h, κ' and κ'' of some rows at tilts u, shape (rows, S).

        Accurate to rounding, h also where it is far below one.
        """
        result = Tilted(np.empty_like(u), np.empty_like(u), np.empty_like(u))
        for chosen, group, atoms in self._blocks(rows):
            at = chosen, group.slots
            values, result.means[at], result.variances[at] = atoms.cumulants(-u[at])
            result.values[at] = -values
        return result

    @cached_property
    def facts(self) -> _Facts:
        """What is to be known of each law that is not tilted."""
        found = _Facts(*(np.empty((self.rows, self.counts.size)) for _ in range(4)))
        for chosen, group, atoms in self._blocks(np.arange(self.rows)):
            at, least = (chosen, group.slots), atoms.means.min(axis=0)
            chance = np.where(atoms.means == least, atoms.probabilities, 0.0).sum(axis=0)
            variances = (atoms.probabilities * (atoms.means - atoms.mean) ** 2).sum(axis=0)
            if atoms.variances is not None:
                proper = (atoms.variances > 0).any(axis=0)
                least, chance = np.where(proper, -np.inf, least), np.where(proper, 0.0, chance)
                variances += (atoms.probabilities * atoms.variances).sum(axis=0)
            found.information[at], found.spreads[at], found.minima[at] = (
                atoms.mean,
                variances,
                least,
            )
            with np.errstate(divide="ignore"):
                found.silence[at] = -np.log(chance)
        return found

    def _blocks(self, rows: IntArray) -> Iterator[tuple[slice, _Group, Atoms]]:
        """Which of `rows`, a group of slots, and the laws of these, shape (O, rows, K, 1)."""
        for group, kept in zip(self._groups, self._kept, strict=True):
            if kept is not None:
                yield slice(0, rows.size), group, kept[rows]
                continue
            step = max(1, _BLOCK // (group.slots.size * group.size))
            for start in range(0, rows.size, step):
                part = slice(start, start + step)
                yield part, group, group.atoms(self.first[rows[part]], self.second[rows[part]])

    @cached_property
    def _kept(self) -> tuple[Atoms | None, ...]:
        return tuple(
            group.atoms(self.first, self.second)
            if self.rows * len(group.kinds) * group.size <= _MOST_KEPT
            else None
            for group in self._groups
        )


def tabulate(
    model: FiniteModel,
    first: IntArray,
    second: IntArray,
    *,
    slots: IntArray | None = None,
    agents: IntArray | None = None,
    hypothetical: bool = False,
) -> TiltedTable:
    """The table of the pairs (first[r], second[r]).

    Parameters
    ----------
    slots
        Shape (N,): numbers from 0 on, equal for agents of one kind that share a slot; by default
        each agent is a slot of its own.
    agents
        Which agents of the model the table has, repeats included; by default all.
    hypothetical
        Whether the data of row r follow ℓ(·|first[r], x) instead of the truth.

    Raises
    ------
    ValueError
        If `hypothetical` and the law of an agent's data under a hypothesis is not known.
    """
    assignment = model.assignment if agents is None else model.assignment[agents]
    slots = np.arange(assignment.size) if slots is None else slots
    counts = np.bincount(slots)
    kind_of_slot = np.empty(counts.size, dtype=np.int64)
    kind_of_slot[slots] = assignment
    width = np.bincount(kind_of_slot, minlength=len(model.kinds))
    like: dict[tuple[int, bool, int], list[int]] = {}
    for kind in np.flatnonzero(width).tolist():
        agent = model.kinds[kind]
        wide = int(width[kind]) if width[kind] >= _MANY_SLOTS else 0
        like.setdefault((agent.atom_count, isinstance(agent, GaussianAgent), wide), []).append(kind)
    groups = []
    for (size, _, wide), kinds in like.items():
        if wide:
            where = np.array([np.flatnonzero(kind_of_slot == kind) for kind in kinds])
        else:
            where = np.flatnonzero(np.isin(kind_of_slot, kinds))[:, None]
        agents_of = tuple(model.kinds[kind] for kind in kind_of_slot[where[:, 0]])
        groups.append(_Group(where, agents_of, size, hypothetical))
    return TiltedTable(
        first=read_only(np.asarray(first, dtype=np.int64)),
        second=read_only(np.asarray(second, dtype=np.int64)),
        slots=read_only(np.asarray(slots, dtype=np.int64)),
        counts=read_only(counts.astype(np.float64)),
        _groups=tuple(groups),
    )


def shared_slots(kinds: IntArray, weights: FloatArray | None = None) -> IntArray:
    """Slots for agents of one kind, and of one weight if these are given; shape (N,)."""
    keys = kinds if weights is None else kinds + 1j * weights
    return np.unique(keys, return_inverse=True)[1].ravel().astype(np.int64)


# Exponents: the best tilt along a ray, of many rows at once ---------------------------------------


# Newton's method on these smooth monotone functions takes three to six steps; halving and
# doubling a few hundred, between numbers 1e100 apart.
MOST_TILT_STEPS = 400
_GROWTH = 8.0
# A step that gains so little, relatively, is the last: of what it gains a millionth is left out.
# A sum of least values is zero if it is so small beside its terms.
_ENDED, _ROUNDING = 1e-12, 1e-14


@dataclass(frozen=True, eq=False)
class Exponents:
    """E_θ(v) of some rows and the maximising t: infinite where the maximum is a limit."""

    values: FloatArray
    tilts: FloatArray


def exponents(
    table: TiltedTable,
    rows: IntArray,
    v: FloatArray,
    *,
    counts: FloatArray | None = None,
    guess: FloatArray | None = None,
    enough: FloatArray | float = np.inf,
    steps: int = MOST_TILT_STEPS,
) -> Exponents:
    """max_{t ≥ 0} Σ_s n_s h_s(t v_s) of each row: 0 where Σ v E z ≤ 0, else E_θ(v).

    Parameters
    ----------
    rows
        Shape (P,): rows of the table, repeats included.
    v, counts
        Shape (S,), or (P, S) where each has its own: weights, at least 0, and n_s, by default the
        table's. A slot of weight 0 is not heard.
    guess
        Shape (P,): tilts to start from, where they are positive and finite.
    enough, steps
        A row is not pursued once its value is above `enough`, nor any after so many `steps`: what
        is returned then is a lower bound, attained at the tilt returned.
    """
    facts, n = table.facts, table.counts if counts is None else counts
    heard = np.where(v > 0, n, 0.0)
    information, spreads = facts.information[rows], facts.spreads[rows]
    minima = facts.minima[rows]
    weights = heard * v
    # Scaling all weights scales the best tilt and leaves the maximum: in units of the largest
    # weight that bears on the matter nothing under- or overflows, however small it is.
    bears = (spreads > 0) & (heard > 0)
    unit = np.where(bears, v, 0.0).max(axis=1, initial=0.0)
    unit = np.where(unit > 0, unit, 1.0)
    with np.errstate(invalid="ignore"):
        floor = np.where(weights > 0, weights * minima, 0.0)
    least = floor.sum(axis=1)
    values, tilts = np.zeros(rows.size), np.zeros(rows.size)
    # Evidence that never misleads, to rounding of the sum: the maximum is the limit t → ∞.
    size = np.abs(floor).sum(axis=1)
    limit = np.isfinite(least) & (least >= -_ROUNDING * size)
    if limit.any():
        with np.errstate(invalid="ignore"):
            silence = np.where(heard > 0, heard * facts.silence[rows], 0.0).sum(axis=1)
        values[limit] = np.where(least > _ROUNDING * size, np.inf, silence)[limit]
        tilts[limit] = np.inf
    ray = np.where((spreads > 0) | (information != 0), v, 0.0) / unit[:, None]
    mean = (heard * ray * information).sum(axis=1)
    open_rows = np.flatnonzero(~limit & (mean > 0))
    if open_rows.size:
        n = heard if heard.ndim == 2 else np.broadcast_to(heard, ray.shape)
        with np.errstate(divide="ignore", invalid="ignore"):  # exact for normal z
            t = mean / np.where(bears, n * ray * ray * spreads, 0.0).sum(axis=1)
        if guess is not None:
            usable = (guess > 0) & np.isfinite(guess)
            t[usable] = (guess * unit)[usable]
        above = np.broadcast_to(enough, rows.shape)
        values[open_rows], tilts[open_rows] = _climb(
            table,
            rows[open_rows],
            ray[open_rows],
            n[open_rows],
            t[open_rows],
            above[open_rows],
            steps,
        )
        tilts[open_rows] = np.minimum(tilts[open_rows] / unit[open_rows], np.finfo(float).max)
    return Exponents(values, tilts)


def _climb(
    table: TiltedTable,
    rows: IntArray,
    ray: FloatArray,
    n: FloatArray,
    t: FloatArray,
    enough: FloatArray,
    steps: int,
) -> tuple[FloatArray, FloatArray]:
    """Newton's method inside brackets, from tilts t > 0; of every row its value and its tilt."""
    values, tilts = np.zeros(rows.size), np.zeros(rows.size)
    low, high = np.zeros_like(t), np.full_like(t, np.inf)
    left = np.arange(rows.size)
    weights = n * ray
    squares = weights * ray
    for _ in range(steps):
        here = t[left]
        found = table.tilted(rows[left], here[:, None] * ray[left])
        value = np.einsum("rs,rs->r", found.values, n[left])
        slope = here * np.einsum("rs,rs->r", found.means, weights[left])
        bend = here * here * np.einsum("rs,rs->r", found.variances, squares[left])
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            # The maximum is gain/2 above, but for a part of it as small as the step is beside t.
            gain = np.where(bend > 0, slope * slope / bend, np.inf)
            step = here * (1 + slope / bend)
        rising = slope > 0
        low[left[rising]], high[left[~rising]] = here[rising], here[~rising]
        ended = gain <= _ENDED * value
        value = np.where(ended, value + gain / 2, value)
        better = (value > values[left]) | ended
        values[left[better]] = np.maximum(value, values[left])[better]
        tilts[left[better]] = np.where(ended, step, here)[better]
        done = ended | (value > enough[left]) | (high[left] <= low[left] * (1 + 1e-15))
        t[left] = between(step, here, low[left], high[left])
        left = left[~done]
        if not left.size:
            break
    return values, tilts


def least_exponents(table: TiltedTable, v: FloatArray) -> tuple[FloatArray, IntArray]:
    """E(v) = min over all rows for each row v of shape (C, S), and the row that attains it."""
    count = len(v)
    least, binding = np.full(count, np.inf), np.zeros(count, dtype=np.int64)
    if not count:
        return least, binding
    rough = exponents(table, np.arange(table.rows), v[0], steps=2)
    first = int(rough.values.argmin())
    rows, tilts = np.full(count, first), np.full(count, rough.tilts[first])
    least, binding = exponents(table, rows, v, guess=tilts).values, rows
    # The others need not be known where they exceed it.
    rest = np.delete(np.arange(table.rows), first)
    step = max(1, _MOST_KEPT // max(1, rest.size * table.counts.size))
    for start in range(0, count if rest.size else 0, step):
        some = np.arange(start, min(start + step, count))
        rows, who = np.tile(rest, some.size), np.repeat(some, rest.size)
        tilts = np.tile(rough.tilts[rest], some.size)
        found = exponents(table, rows, v[who], guess=tilts, enough=least[who]).values
        found = found.reshape(some.size, rest.size)
        best = found.argmin(axis=1)
        lower = found.min(axis=1)
        better = lower < least[some]
        least[some[better]], binding[some[better]] = lower[better], rest[best[better]]
    return least, binding


def between(step: FloatArray, here: FloatArray, low: FloatArray, high: FloatArray) -> FloatArray:
    """Newton's step, kept inside (low, high) and a factor of 8 from where it starts."""
    bottom, top = np.maximum(low, here / _GROWTH), np.minimum(high, here * _GROWTH)
    inside = (step > bottom) & (step < top)
    halfway = np.where(
        step >= top,
        np.where(np.isfinite(high) & (high <= here * _GROWTH), np.sqrt(here * top), top),
        np.where(low >= here / _GROWTH, np.sqrt(here * bottom), bottom),
    )
    fallback = np.where(np.isnan(step), np.where(np.isfinite(high), halfway, top), halfway)
    return np.where(inside, step, fallback)
