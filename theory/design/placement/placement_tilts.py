"""How large E can be under any placement.

For one hypothesis and one tilt t, −Σ_i κ_σ(i)(−t v_i) is a sum over pairs of agent and data set:
its largest value over placements is an assignment problem. As a function of t it is concave, so
that on an interval it stays below its tangent at the middle, and the tangent, again a sum over
pairs, is largest at an end. Intervals are halved until these bounds are tight. Those in which no
placement can beat the best one known are dropped; over the rest a linear program weighs the
hypotheses against each other (docs: mathematics/placement).
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from theory.design.placement.bounds import by_matching, matched
from theory.design.placement.placement_problem import PlacementProblem
from theory.learning.tilted import TiltedTable, tabulate
from theory.validation import FloatArray, IntArray

# E of many placements at once --------------------------------------------------------------------


# Rows that one call of the compiled loop takes.
_BLOCK = 20_000


@dataclass(frozen=True, eq=False)
class Exponents:
    """The exponents of a problem's placements, in nats per round, accurate to rounding."""

    problem: PlacementProblem

    @cached_property
    def table(self) -> TiltedTable:
        """The laws of z(target, θ): a row for each wrong hypothesis, a slot for each sort."""
        problem = self.problem
        held = np.unique(problem.sorts, return_index=True)[1]
        first = np.full(len(problem.wrong), problem.best)
        return tabulate(problem.model, first, np.array(problem.wrong), agents=held)

    @cached_property
    def _flat(self) -> tuple[IntArray, FloatArray, FloatArray]:
        """The table as the compiled loops take it: see `decay_kernels.largest_decay`."""
        problem, table, facts = self.problem, self.table, self.table.facts
        kinds = [problem.model.kinds[k] for k in problem.representatives]
        laws = [kind.atoms(table.first, table.second) for kind in kinds]
        ends = np.cumsum([0, *(len(law.means) for law in laws)])
        parts = []
        for law in laws:
            # In rising order the largest exponent of a sum is found sooner.
            p, z, spread = np.broadcast_arrays(
                law.probabilities, law.means, 0.0 if law.variances is None else law.variances
            )
            rising = np.argsort(z, axis=0)
            parts.append([np.take_along_axis(one, rising, axis=0) for one in (p, z, spread)])
        atoms = np.concatenate(parts, axis=1).transpose(0, 2, 1)
        chance = np.where(np.isinf(facts.minima), 0.0, -facts.silence)
        cancels = np.stack([law.cancels for law in laws], axis=1) & (facts.spreads > 0)
        columns = (facts.information, facts.spreads, facts.minima, chance, cancels)
        first = ends + ends[-1] * np.arange(table.rows)[:, None]
        return first, atoms.reshape(3, -1), np.stack(columns, axis=1).astype(np.float64)

    @property
    def atoms(self) -> int:
        """How many atoms the laws of one hypothesis have together."""
        return int(self._flat[0][0, -1])

    def values(self, fillings: IntArray, *, above: float = -np.inf) -> FloatArray:
        """E of every filling, shape (P,) for fillings of shape (P, F).

        Where E does not exceed `above`, some number between E and `above` takes its place.
        """
        from theory.design.placement.decay_kernels import smallest_decays

        weights = self.problem.influence
        parts = [
            smallest_decays(
                self.problem.everywhere(fillings[start : start + _BLOCK]),
                weights,
                *self._flat,
                above,
            )
            for start in range(0, len(fillings), _BLOCK)
        ]
        return np.concatenate(parts)

    def exchanged(
        self, filling: IntArray, first: IntArray, second: IntArray, *, above: float
    ) -> FloatArray:
        """E after each exchange of places first[p] and second[p], shape (P,)."""
        candidates = np.tile(filling, (first.size, 1))
        rows = np.arange(first.size)
        candidates[rows, first] = filling[second]
        candidates[rows, second] = filling[first]
        return self.values(candidates, above=above)

    def by_hypothesis(self, filling: IntArray) -> FloatArray:
        """E of one filling against each wrong hypothesis, shape (H,)."""
        from theory.design.placement.decay_kernels import largest_decay

        sorts = self.problem.everywhere(filling[None])[0]
        first, atoms, facts = self._flat
        return np.array(
            [
                largest_decay(sorts, self.problem.influence, first[h], atoms, facts[h])
                for h in range(len(first))
            ]
        )


# How large E can be under any placement ----------------------------------------------------------


# Hypotheses that are weighed: those closest to binding.
_MOST_HYPOTHESES = 6
_MOST_INTERVALS = 48
_MOST_NODES = 40
# Relative width at which an interval's bound is tight enough.
_TIGHT = 1e-3
# Doublings of the largest tilt; beyond, errors are impossible under some placement.
_MOST_DOUBLINGS = 60


@dataclass(frozen=True, eq=False)
class _Piece:
    """A sum over pairs, `constant` + Σ `pairs`[group, sort], for tilts near `tilt`."""

    tilt: float
    constant: float
    pairs: FloatArray
    value: float


@dataclass(frozen=True, eq=False)
class _Tilted:
    """−κ(−t v) of one wrong hypothesis and its slope in t, as sums over pairs.

    `levels` holds the influence of each group, shape (C,).
    """

    exponents: Exponents
    row: int
    levels: FloatArray

    def sums(self, tilt: float) -> tuple[FloatArray, float, FloatArray, float]:
        """Pairs and constant of the value, pairs and constant of the slope."""
        problem, groups = self.exponents.problem, self.levels.size
        fixed = list(problem.fixed)
        # Groups with every sort, then the agents that keep their data, each with its own.
        v = np.concatenate([self.levels, problem.influence[fixed]])[:, None]
        u = tilt * np.broadcast_to(v, (v.size, problem.stock.size))
        found = self.exponents.table.tilted(np.full(v.size, self.row), u)
        values, slopes = found.values, v * found.means
        own = groups + np.arange(len(fixed)), problem.sorts[fixed]
        constants = float(values[own].sum()), float(slopes[own].sum())
        return values[:groups], constants[0], slopes[:groups], constants[1]


def assigned(problem: PlacementProblem, pairs: FloatArray) -> float:
    """The largest Σ_i pairs[group of i, sort at i] over all placements."""
    return float(pairs[problem.groups, matched(problem, pairs)].sum())


def exponent_bound(exponents: Exponents, filling: IntArray) -> float:
    """No placement has a larger E, up to rounding; infinite if errors may be impossible.

    `filling` is the best placement known: the bound is never below its E.
    """
    problem = exponents.problem
    present = exponents.by_hypothesis(filling)
    value = float(present.min())
    closest = np.argsort(present)[:_MOST_HYPOTHESES]
    levels = np.bincount(problem.groups, weights=problem.weights) / problem.sizes
    kept: list[list[_Piece]] = []
    for h in closest:
        pieces = _pieces(_Tilted(exponents, int(h), levels), value)
        if pieces is not None:
            if not pieces:
                return value
            kept.append(pieces)
    if not kept:
        return np.inf
    return max(value, _weighed(problem, kept, value))


def _pieces(tilted: _Tilted, value: float) -> list[_Piece] | None:
    """Sums over pairs, one of which is at least the largest exponent, wherever that is > `value`.

    None if some placement's sum may grow with the tilt for ever.
    """
    problem, facts = tilted.exponents.problem, tilted.exponents.table.facts
    spreads = facts.spreads[tilted.row]
    used = (problem.stock > 0) & (spreads > 0)
    means = np.abs(facts.information[tilted.row][used])
    scale = float((means / spreads[used]).max(initial=-np.inf)) if used.any() else 1.0
    last = max(scale, 1e-300) / float(tilted.levels[0])
    for _ in range(_MOST_DOUBLINGS):
        _, _, slopes, constant = tilted.sums(last)
        if assigned(problem, slopes) + constant <= 0:
            break
        last *= 2.0
    else:
        return None
    lower = value

    def cover(a: float, b: float) -> list[_Piece]:
        nonlocal lower
        middle = (a + b) / 2
        values, constant, slopes, slope = tilted.sums(middle)
        lower = max(lower, assigned(problem, values) + constant)
        found = []
        for end in (a, b):
            pairs = values + (end - middle) * slopes
            level = constant + (end - middle) * slope
            top = assigned(problem, pairs) + level
            if top > value:
                found.append(_Piece(end, level, pairs, top))
        return found

    heap: list[tuple[float, int, float, float, list[_Piece]]] = []
    count = 0

    def push(a: float, b: float) -> None:
        nonlocal count
        pieces = cover(a, b)
        count += 1
        if pieces:
            heapq.heappush(heap, (-max(p.value for p in pieces), count, a, b, pieces))

    push(0.0, last)
    while heap and count < _MOST_INTERVALS and -heap[0][0] > lower * (1 + _TIGHT):
        _, _, a, b, _ = heapq.heappop(heap)
        push(a, (a + b) / 2)
        push((a + b) / 2, b)
    return sorted((p for entry in heap for p in entry[4]), key=lambda p: p.tilt)


def _weighed(problem: PlacementProblem, kept: list[list[_Piece]], value: float) -> float:
    """The bound of hypotheses against each other: which of its pieces counts for which is branched.

    Each node is a linear program. Split is the hypothesis that loses most by having several.
    """
    bound, losses = _relaxed(problem, kept)
    nodes, count, settled = [(-bound, 0, losses, kept)], 0, value
    while nodes and count < _MOST_NODES:
        top, _, losses, pieces = heapq.heappop(nodes)
        if -top <= settled:
            break
        split = int(np.argmax(losses))
        if losses[split] <= _TIGHT * abs(top) or len(pieces[split]) < 2:
            settled = max(settled, -top)
            continue
        half = len(pieces[split]) // 2
        for part in (pieces[split][:half], pieces[split][half:]):
            child = [part if h == split else old for h, old in enumerate(pieces)]
            bound, losses = _relaxed(problem, child)
            count += 1
            heapq.heappush(nodes, (-min(bound, -top), count, losses, child))
    return max([settled, *(-node[0] for node in nodes[:1])])


def _relaxed(problem: PlacementProblem, pieces: list[list[_Piece]]) -> tuple[float, FloatArray]:
    """The bound by the largest pieces pair by pair, and what each hypothesis loses by them.

    That is by how much its largest pieces exceed any one of them, under the best placement that
    came up; nothing where its multiplier is 0.
    """
    upper = np.array([np.maximum.reduce([p.pairs for p in parts]) for parts in pieces])
    levels = np.array([max(p.constant for p in parts) for parts in pieces])
    together = by_matching(problem, upper, levels)

    def at(pairs: FloatArray) -> float:
        return float(pairs[problem.groups, together.fillings[0]].sum())

    losses = [
        level + at(own) - max(p.constant + at(p.pairs) for p in parts) if weight else 0.0
        for level, own, parts, weight in zip(
            levels, upper, pieces, together.multipliers, strict=True
        )
    ]
    alone = min(max(p.value for p in parts) for parts in pieces)
    return min(together.value, alone), np.array(losses)
