"""E of many placements at once, and how large it can be under any.

For one hypothesis and one tilt t, f(t) = −Σ_i κ_σ(i)(−t v_i) is a sum over pairs of agent and data
set, and E the least over hypotheses of max_t f. So the sums at a few tilts, looked up pair by pair,
tell of every placement between which two tilts the maximum is and, f being concave, between which
numbers E is: only placements that may be the best or the worst are looked at one by one. Exchanging
what two agents hold changes four terms of each sum.

Under all placements the largest f(t) is an assignment problem. As a function of t f is concave, so
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
from theory.learning.tilted import Exponents as BestTilts
from theory.learning.tilted import TiltedTable, least_exponents, tabulate
from theory.learning.tilted import exponents as exponents_of
from theory.network.structure import EPS
from theory.validation import FloatArray, IntArray

# E of many placements at once --------------------------------------------------------------------


# Tilts at which sums over pairs are known, as logarithms from the middle, which is next to the best
# tilt of a placement in steps of 1/20: close together where exchanges lead, then farther apart.
_GRID = 0.05
_OFFSETS = np.concatenate([[-1.0, -0.6], np.arange(-0.27, 0.28, 0.06), [0.6, 1.0]])
# Between tilts no farther apart than this, as logarithms, polynomials are right to 1e-7 or so where
# laws have rare large evidence, else nearly to rounding.
_NARROW, _WELL = 0.07, 1e-6
# Numbers in a block of sums, 4 MiB, and in those kept for tilts that come up again, 256.
_BLOCK, _MOST_KEPT = 1 << 19, 1 << 25
# Hypotheses that are weighed, and by which exchanges are told: those closest to binding.
_MOST_HYPOTHESES = 6
# Newton's steps to the maximum of a polynomial of the fifth degree that is nearly a parabola.
_STEPS = 3


@dataclass(frozen=True, eq=False)
class _Brackets:
    """The last tilt at which each f_θ rises and the first at which it does not.

    Attributes
    ----------
    tilts
        Shape (P, R, 2): the two.
    ends
        Shape (P, 3, R, 2): f, f' and f'' there, the last only if it is asked for.
    falls, rises
        Shape (P, R): whether f falls from 0 on; whether it still rises at the last tilt.
    """

    tilts: FloatArray
    ends: FloatArray
    falls: np.ndarray
    rises: np.ndarray

    @classmethod
    def of(cls, tilts: FloatArray, sums: FloatArray) -> _Brackets:
        """From rising tilts, shape (R, K), and f, f' (and f'') there, shape (P, 3, R, K)."""
        last = tilts.shape[1] - 1
        # f is concave, so that its slopes fall.
        rising = (sums[:, 1] > 0).sum(axis=-1)
        ends = np.stack([np.maximum(rising - 1, 0), np.minimum(rising, last)], axis=-1)
        return cls(
            np.take_along_axis(tilts[None], ends, axis=-1),
            np.take_along_axis(sums, ends[:, None], axis=-1),
            rising == 0,
            rising > last,
        )

    def lower(self) -> FloatArray:
        """What max_t f is at least, shape (P, R): a value that is attained."""
        return np.asarray(np.maximum(self.ends[:, 0].max(axis=-1), 0.0))

    def upper(self) -> FloatArray:
        """What max_t f is at most: where the tangents meet, rounding included."""
        (f, a), (g, b) = np.moveaxis(self.ends[:, :2], (-1, 1), (0, 1))
        lower, width = self.lower(), self.tilts[..., 1] - self.tilts[..., 0]
        with np.errstate(divide="ignore", invalid="ignore"):
            meet = f + a * (g - f - b * width) / (a - b)
            # The tangent from the right may lead far back.
            meet += 8 * EPS * (np.abs(f) + np.abs(g) - b * width)
        found = np.where(self.falls, lower, np.maximum(meet, lower))
        return np.where(self.rises, np.inf, found)

    def peak(self) -> FloatArray:
        """An estimate of max_t f between tilts that are near each other; elsewhere `upper`.

        It is that of the polynomial of degree five that has these ends.
        """
        width = self.tilts[..., 1] - self.tilts[..., 0]
        units = np.stack([np.ones_like(width), width, width * width], axis=1)[..., None]
        (f, a, c), (g, b, d) = np.moveaxis(self.ends * units, (-1, 1), (0, 1))
        rise, turn, bend = g - f - a - c / 2, b - a - c, d - c
        third = 10 * rise - 4 * turn + bend / 2
        fourth, fifth = -15 * rise + 7 * turn - bend, 6 * rise - 3 * turn + bend / 2
        with np.errstate(divide="ignore", invalid="ignore"):
            x = a / (a - b)
            for _ in range(_STEPS):
                slope = a + x * (c + x * (3 * third + x * (4 * fourth + x * 5 * fifth)))
                x = x - slope / (c + x * (6 * third + x * (12 * fourth + x * 20 * fifth)))
            value = f + x * (a + x * (c / 2 + x * (third + x * (fourth + x * fifth))))
            near = np.log(self.tilts[..., 1] / self.tilts[..., 0]) < _NARROW
        upper = self.upper()
        found = np.fmin(np.maximum(value, self.lower()), upper)
        return np.where(near & (x >= 0) & (x <= 1), found, upper)


@dataclass(frozen=True, eq=False)
class _Telling:
    """Hypotheses that tell the best and the worst placements from others.

    Attributes
    ----------
    tilts
        Shape (R, K), the first of each row 0.
    pairs, constants
        Shapes (C, S, 2, R, K) and (2, R, K): what f and f' are made of, as by `Exponents.sums`.
    others
        E against every other hypothesis is at least this, whatever the placement.
    """

    tilts: FloatArray
    pairs: FloatArray
    constants: FloatArray
    others: float


class Exponents:
    """The exponents of a problem's placements, in nats per round, accurate to rounding."""

    def __init__(self, problem: PlacementProblem) -> None:
        self.problem = problem
        # The influences last looked at and their best tilts: those of the next ones are near.
        self._last: tuple[bytes, BestTilts] = b"", BestTilts(np.zeros(0), np.zeros(0))
        # Sums by hypothesis and middle tilt: those of pairs, and constants.
        self._near: dict[tuple[int, float], tuple[FloatArray, FloatArray]] = {}

    @cached_property
    def table(self) -> TiltedTable:
        """The laws of z(target, θ): a row for each wrong hypothesis, a slot for each sort."""
        return self._table(np.unique(self.problem.sorts, return_index=True)[1])

    @cached_property
    def _by_data_set(self) -> TiltedTable:
        """The same with a slot for each data set, those of a sort in a row."""
        return self._table(np.argsort(self.problem.sorts, kind="stable"))

    def _table(self, agents: IntArray) -> TiltedTable:
        problem = self.problem
        first = np.full(len(problem.wrong), problem.best)
        return tabulate(problem.model, first, np.array(problem.wrong), agents=agents)

    def _heard(self, fillings: IntArray) -> FloatArray:
        """The influence of each data set in the order of `_by_data_set`, shape (P, N)."""
        holders = np.argsort(self.problem.everywhere(fillings), axis=1, kind="stable")
        return np.asarray(self.problem.influence[holders])

    @cached_property
    def levels(self) -> FloatArray:
        """The influence of an agent of each group, shape (C,)."""
        problem = self.problem
        return np.asarray(np.bincount(problem.groups, weights=problem.weights) / problem.sizes)

    def values(self, fillings: IntArray) -> FloatArray:
        """E of every filling, shape (P,) for fillings of shape (P, F)."""
        if len(fillings) == 1:
            return np.array([self.by_hypothesis(fillings[0]).min()])
        return least_exponents(self._by_data_set, self._heard(fillings))[0]

    def by_hypothesis(self, filling: IntArray) -> FloatArray:
        """E of one filling against each wrong hypothesis, shape (H,)."""
        return self._best_tilts(self._heard(filling[None])[0]).values

    def _best_tilts(self, v: FloatArray) -> BestTilts:
        """Those against each wrong hypothesis where data sets have the influences v, shape (N,)."""
        table, (known, found) = self._by_data_set, self._last
        if v.tobytes() != known:
            rows = np.arange(table.rows)
            found = exponents_of(table, rows, v, guess=found.tilts if known else None)
            self._last = v.tobytes(), found
        return found

    def ends(self, fillings: IntArray) -> tuple[FloatArray, FloatArray]:
        """Numbers that each filling's E is between, shape (P,) both."""
        telling, groups = self._telling, self.problem.groups.tolist()
        step = max(1, _BLOCK // telling.constants.size)
        lower, upper = [], []
        for start in range(0, len(fillings), step):
            part = fillings[start : start + step]
            sums = np.tile(telling.constants, (len(part), 1, 1, 1))
            for place, group in enumerate(groups):
                sums += telling.pairs[group, part[:, place]]
            found = _Brackets.of(telling.tilts, sums)
            lower.append(np.minimum(found.lower().min(axis=1), telling.others))
            upper.append(found.upper().min(axis=1))
        return np.concatenate(lower), np.concatenate(upper)

    @cached_property
    def _telling(self) -> _Telling:
        """Those closest to binding where all influences are equal, and those of bad placements.

        Under which hypotheses some placement may be the worst: at one tilt the least f over
        placements is an assignment problem.
        """
        problem = self.problem
        tilts, each = self._near_best(np.full(problem.agents, problem.influence.mean()), None)
        least, worst = np.full(len(tilts), -np.inf), np.inf
        for row, (pairs, kept) in enumerate(each):
            for tilt, constant in enumerate(kept[0].tolist()):
                filling = matched(problem, -pairs[:, :, 0, tilt])
                value = float(pairs[problem.groups, filling, 0, tilt].sum()) + constant
                if value > least[row]:
                    least[row], lowest = value, filling
            worst = min(worst, float(self.by_hypothesis(lowest).min()))
        telling = (np.arange(least.size) < _MOST_HYPOTHESES) | (least <= worst)
        chosen = [each[row] for row in np.flatnonzero(telling)]
        return _Telling(
            tilts[telling],
            np.stack([pairs[:, :, :2] for pairs, _ in chosen], axis=3),
            np.stack([kept[:2] for _, kept in chosen], axis=1),
            float(least[~telling].min(initial=np.inf)),
        )

    def exchanged(
        self, filling: IntArray, first: IntArray, second: IntArray, *, above: float
    ) -> FloatArray:
        """E after each exchange of places first[p] and second[p], shape (P,).

        Too large where another hypothesis binds than those closest to it now, or the best tilt is
        far from that of now; else right nearly to rounding.
        """
        groups, v = self.problem.groups, self._heard(filling[None])[0]
        tilts, each = self._near_best(v, _MOST_HYPOTHESES)
        a, b, one, two = groups[first], groups[second], filling[first], filling[second]
        sums = []
        for pairs, kept in each:
            now = pairs[groups, filling].sum(axis=0) + kept
            changes = pairs[a, two] - pairs[a, one] + pairs[b, one] - pairs[b, two]
            sums.append(np.concatenate([now[None], now + changes]))
        found = _Brackets.of(tilts, np.stack(sums, axis=2)).peak()
        # What an exchange changes is known better than E itself, where that is known well.
        known = np.sort(self._best_tilts(v).values)[: len(each)]
        with np.errstate(invalid="ignore"):
            off = known - found[0]
            off[~(np.abs(off) <= _WELL * known)] = 0.0
        return np.asarray(np.maximum(found[1:] + off, 0.0).min(axis=1))

    def _near_best(
        self, v: FloatArray, most: int | None
    ) -> tuple[FloatArray, list[tuple[FloatArray, FloatArray]]]:
        """Tilts next to the best where data sets have the influences v, shape (N,); the sums there.

        Of no more than `most` hypotheses, those closest to binding first: tilts of shape (R, K),
        and for each hypothesis pairs, shape (C, S, 3, K), and constants, (3, K).
        """
        found = self._best_tilts(v)
        rows = np.argsort(found.values, kind="stable")[:most]
        # Where the best tilt is a limit, the largest of normal laws of these means and variances.
        facts, best = self._by_data_set.facts, found.tilts[rows]
        mean, spread = np.abs(facts.information[rows]), facts.spreads[rows]
        ratio = (mean / np.where(spread > 0, spread, np.inf)).max(axis=1)
        normal = np.where(ratio > 0, ratio, 1.0) / v.max()
        best = np.where((best > 0) & np.isfinite(best), best, normal)
        middles = np.exp(_GRID * np.rint(np.log(best) / _GRID))
        tilts = np.multiply.outer(middles, np.append(0.0, np.exp(_OFFSETS)))
        keys = list(zip(rows.tolist(), middles.tolist(), strict=True))
        if sum(pairs.size for pairs, _ in self._near.values()) > _MOST_KEPT:
            self._near.clear()
        new = [k for k, key in enumerate(keys) if key not in self._near]
        if new:
            pairs, kept = self.sums(rows[new], tilts[new])
            for k, place in enumerate(new):
                self._near[keys[place]] = pairs[:, :, :, k].copy(), kept[:, k]
        return tilts, [self._near[key] for key in keys]

    def sums(self, rows: IntArray, tilts: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Σ_i h_i(t v_i) of some wrong hypotheses and two derivatives in t, as sums over pairs.

        For tilts of shape (R, K): pairs of group and sort, shape (C, S, 3, R, K), and what the
        agents that keep their data add, shape (3, R, K).
        """
        problem, groups = self.problem, self.levels.size
        fixed = list(problem.fixed)
        # Groups with every sort, then the agents that keep their data, each with its own.
        v = np.concatenate([self.levels, problem.influence[fixed]])
        u = np.repeat(np.multiply.outer(v, tilts)[..., None], problem.stock.size, axis=-1)
        which = np.broadcast_to(rows[:, None], u.shape[:-1]).ravel()
        found = self.table.tilted(which, u.reshape(-1, u.shape[-1]))
        each = np.stack([found.values, found.means, -found.variances]).reshape(3, *u.shape)
        each *= v[:, None, None, None] ** np.arange(3)[:, None, None, None, None]
        each = each.transpose(1, 4, 0, 2, 3)
        kept = each[groups + np.arange(len(fixed)), problem.sorts[fixed]]
        return each[:groups], kept.sum(axis=0)


# How large E can be under any placement ----------------------------------------------------------


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
    kept: list[list[_Piece]] = []
    for h in closest:
        pieces = _pieces(exponents, int(h), value)
        if pieces is not None:
            if not pieces:
                return value
            kept.append(pieces)
    if not kept:
        return np.inf
    return max(value, _weighed(problem, kept, value))


def _pieces(exponents: Exponents, row: int, value: float) -> list[_Piece] | None:
    """Sums over pairs, one of which is at least the largest exponent, wherever that is > `value`.

    None if some placement's sum may grow with the tilt for ever.
    """
    problem, facts = exponents.problem, exponents.table.facts
    spreads = facts.spreads[row]
    used = (problem.stock > 0) & (spreads > 0)
    means = np.abs(facts.information[row][used])
    scale = float((means / spreads[used]).max(initial=-np.inf)) if used.any() else 1.0
    last = max(scale, 1e-300) / float(exponents.levels[0])
    for _ in range(_MOST_DOUBLINGS):
        pairs, constant = exponents.sums(np.array([row]), np.array([[last]]))
        if assigned(problem, pairs[:, :, 1, 0, 0]) + constant[1, 0, 0] <= 0:
            break
        last *= 2.0
    else:
        return None
    lower = value

    def cover(a: float, b: float) -> list[_Piece]:
        nonlocal lower
        middle = (a + b) / 2
        sums = exponents.sums(np.array([row]), np.array([[middle]]))
        each, kept = (one[..., 0, 0] for one in sums)
        lower = max(lower, assigned(problem, each[..., 0]) + kept[0])
        pieces = []
        for end in (a, b):
            pairs = each[..., 0] + (end - middle) * each[..., 1]
            level = float(kept[0] + (end - middle) * kept[1])
            top = assigned(problem, pairs) + level
            if top > value:
                pieces.append(_Piece(end, level, pairs, top))
        return pieces

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
