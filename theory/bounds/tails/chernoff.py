"""Chernoff's inequality for the network's log-odds, with the agents' own cumulants.

    P(Λ_i^(n) ≤ 0) ≤ min_{t ≥ 0} exp(−t p_i + Σ_k Σ_j κ_j(−t [W^k]_ij)),

p_i the prior's share. No boundedness is needed. Every t gives a valid bound, so t runs over a grid
around t*, the tilt of the error exponent: the best t tends to t* as n grows, and the exponent is
flat there, so that a grid of steps s loses at most about s²/4 of it.

Hoeffding's inequality for the network's log-odds: the repaired Theorem 1.

Λ_i^(n) is a sum of independent terms [W^k]_ij z_j of ranges [W^k]_ij r_j, so that

    P(Λ_i^(n) ≤ 0) ≤ exp(−2 m²/R),  m = (E Λ_i^(n))₊,  R = Σ_k Σ_j ([W^k]_ij r_j)².

Rigorous for bounded likelihoods, with the exact mean, priors included. R/n tends to Σ_j v_j² r_j²:
this, and not C², is where N agents beat one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np

from theory.bounds.tails.events import ErrorBound, ErrorEvents
from theory.learning.log_ratio import Atoms, LogRatioLaw
from theory.network.mixing import rows_apart
from theory.validation import FloatArray, IntArray

# Rows of W^k that agree to this change no mean by more than rounding does.
_HOEFFDING_SETTLED = 1e-13


def log_bound(mean: FloatArray, squares: FloatArray) -> FloatArray:
    """−2 m₊²/R; a mean that is positive without any randomness cannot be undercut."""
    positive = np.maximum(mean, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        values = -2.0 * positive * positive / squares
    return np.where(positive > 0, values, 0.0)


def hoeffding_bounds(events: ErrorEvents) -> list[ErrorBound | None]:
    """The union over agents and the single event."""
    return [_hoeffding_union(events), _hoeffding_single(events)]


def _hoeffding_union(events: ErrorEvents) -> ErrorBound | None:
    """One event per agent and wrong hypothesis; None for unbounded likelihoods or a huge network.

    An upper bound, rigorous up to rounding.
    """
    if not (events.is_bounded and events.can_take_powers):
        return None
    drift = squares = np.zeros_like(events.information)
    terms: list[FloatArray] = []
    for stack in events.powers(settled=_HOEFFDING_SETTLED):
        increments, added = stack @ events.information, (stack * stack) @ events.squared_ranges
        later_mean, later_square = increments[-1].min(axis=0), added[-1].max(axis=0)
        increments[0] += drift
        added[0] += squares
        drifts, sums, shares = (
            np.cumsum(increments, axis=0),
            np.cumsum(added, axis=0),
            stack @ events.priors,
        )
        terms.append(log_bound(drifts + shares, sums).reshape(len(stack), -1))
        drift, squares, priors = drifts[-1], sums[-1], shares[-1]
    logs = np.concatenate(terms)
    horizon = len(logs)
    offset = drift + priors.min(axis=0)
    tail = partial(_tail, offset, squares, later_mean, later_square, horizon)
    return ErrorBound("Hoeffding, union over agents", logs, tail)


def _hoeffding_single(events: ErrorEvents) -> ErrorBound | None:
    """One event per wrong hypothesis that covers all agents at once; None where D is unknown.

    An upper bound: Λ_i ≥ Σ_k Σ_j v_j z_j − c for every agent, c as in
    :attr:`ErrorEvents.transient`.
    """
    gap = events.transient
    if gap is None:
        return None
    v = events.fixed.stationary_distribution
    mean = v @ events.information
    square = (v * v) @ events.squared_ranges
    tail = partial(_tail, -gap, np.zeros_like(gap), mean, square, 0)
    return ErrorBound("Hoeffding, one event for all agents", np.empty((0, len(gap))), tail)


def _tail(
    offset: FloatArray, squares: FloatArray, mean: FloatArray, square: FloatArray, horizon: int,
    n: FloatArray,
) -> FloatArray:  # fmt: skip
    """The log of each event's bound at its round of `n`, shape (E,)."""
    more = n.reshape(offset.shape) - horizon
    return log_bound(offset + more * mean, squares + more * square).ravel()


Cumulant = Callable[[FloatArray], FloatArray]
# κ(u) of the hypotheses numbered `which`, shape (P,), at points of shape (P, U).
Cumulants = Callable[[IntArray, FloatArray], FloatArray]

# Multiples of t*. Steps of 1.5 % around it lose 6e-5 of the exponent. Early rounds, in which some
# agents hear much of the evidence and others little, want smaller and larger tilts.
_FINE = np.union1d(np.geomspace(0.7, 1.3, 41), np.geomspace(1 / 32, 64, 36))
# The single event pays for the slowest transient: where that is long, small tilts are best. They
# cost nothing there.
_SMALL = np.geomspace(1e-6, 1.0, 140, endpoint=False)
# For networks where the fine grid is too much work.
_COARSE = np.array([0.5, 0.7, 0.85, 0.95, 1.0, 1.05, 1.15, 1.4, 2.0])
_MOST_FINE_EVALUATIONS = 1e8
# Evidence that weighs as little as 1e-300 wants tilts whose squares would overflow.
_LARGEST = 1e140
# Laws with more atoms than this (data sets) are tabulated once and interpolated.
DIRECT_ATOMS = 64
_NODES = 256
# Entries of one block of weights times tilts: 4 million, 32 MiB.
_BLOCK = 1 << 22
# The first step between tilts that are looked at.
_STRIDE = 4
# Beyond so many rounds at once all tilts are looked at.
_MANY = 64
# Weights times tilts times hypotheses over all rounds; beyond it (about 15 seconds) the union
# bound is not computed.
_MOST_EVALUATIONS = 3e8
# κ is Lipschitz: rows of W^k that agree to this change the exponent by as much, relatively.
_SETTLED = 1e-7
# Sorted weights that agree to this, relatively, make two agents alike: no less than rounding does.
_ALIKE = 1e-11


def tabulated(law: LogRatioLaw, lowest: float) -> Cumulant:
    """κ on [`lowest`, 0]: itself for few atoms, else its cubic Hermite interpolant.

    Nodes lie geometrically, each 1.04 times the one before, and carry κ and κ'; the interpolant is
    right to about 2e-7 |u| E|z| (tested to 1e-6), far less than the grid of tilts gives away.
    """
    if law.means.size <= DIRECT_ATOMS:
        return law.cumulant
    from scipy.interpolate import CubicHermiteSpline

    nodes = np.append(-np.geomspace(-lowest, -lowest * 1e-4, _NODES), 0.0)
    spline: Cumulant = CubicHermiteSpline(nodes, law.cumulant(nodes), law.cumulant_slope(nodes))
    return spline


def tilt_grid(events: ErrorEvents) -> FloatArray:
    """Tilts to choose from, shape (wrong, T)."""
    v = events.fixed.stationary_distribution
    centres = np.empty(len(events.wrong))
    for index, (theta, laws) in enumerate(zip(events.wrong, events.laws, strict=True)):
        tilt = events.exponent.tilts[theta]
        if tilt == np.inf:
            # Evidence that never misleads: the larger the tilt the better. Far above that of a
            # normal law of this mean and variance, and above one per nat where nothing varies.
            rate = float(events.rate.rates[theta])
            variances = np.array([law.variance for law in laws])[events.model.assignment]
            variance = float((v * v) @ variances)
            tilt = 64 * max(rate / variance if variance > 0 else 0.0, 1 / rate)
        centres[index] = tilt
    centres = np.minimum(centres, _LARGEST)
    fine: FloatArray = np.multiply.outer(centres, _FINE)
    if _evaluations(events, fine) <= _MOST_FINE_EVALUATIONS:
        return fine
    coarse: FloatArray = np.multiply.outer(centres, _COARSE)
    return coarse


def _evaluations(events: ErrorEvents, tilts: FloatArray) -> float:
    """About how many cumulants the union bound takes."""
    mixing_time = -np.log(_SETTLED) / max(1e-9, -np.log(max(events.fixed.slem, 1e-300)))
    return float(np.clip(mixing_time, 1, 4000) * events.network.agents**2 * tilts.size)


def chernoff_bounds(events: ErrorEvents) -> list[ErrorBound | None]:
    """The union over agents and the single event, on one grid of tilts and one set of tables.

    They are kept with the events: tables of networks that mix slowly are long.
    """
    if not events.chernoff:
        tilts = tilt_grid(events)
        lowest = -float(tilts.max())
        kinds = [_together(laws, lowest) for laws in zip(*events.laws, strict=True)]
        small = np.multiply.outer(tilts.min(axis=1), _SMALL)
        single = _single(events, np.hstack([small, tilts]), kinds)
        events.chernoff.extend([_union(events, tilts, kinds), single])
    return events.chernoff


def _together(laws: Sequence[LogRatioLaw], lowest: float) -> Cumulants:
    """κ of one kind of agent for every wrong hypothesis: of a stack, or of tables one by one."""
    if laws[0].means.size <= DIRECT_ATOMS:
        return partial(_numbered, Atoms.of(laws))
    return partial(_one_by_one, [tabulated(law, lowest) for law in laws])


def _numbered(laws: Atoms, which: IntArray, u: FloatArray) -> FloatArray:
    return laws[which].cumulants(u, 0)[0]


def _one_by_one(tables: list[Cumulant], which: IntArray, u: FloatArray) -> FloatArray:
    return np.array([tables[k](points) for k, points in zip(which, u, strict=True)])


def _union(events: ErrorEvents, tilts: FloatArray, kinds: list[Cumulants]) -> ErrorBound | None:
    """One event per agent and wrong hypothesis; None where that is too much work.

    An upper bound for every grid of `tilts`, shape (wrong, T), rigorous up to rounding and the
    interpolation of :func:`tabulated`.
    """
    if not events.can_take_powers or _evaluations(events, tilts) > _MOST_EVALUATIONS:
        return None
    union = UnionTerms(events, tilts, tuple(kinds))
    # A bound method would be equal to none of another object.
    tail = partial(UnionTerms.tail, union)
    return ErrorBound("Chernoff, union over agents", union, tail, union.rough)


@dataclass(frozen=True, eq=False)
class UnionTerms:
    """Logs of the bounds of all events, agents by wrong hypotheses, in the rounds asked for.

    Exponents are convex in t, so that a smallest one among neighbours on the grid is the smallest
    of all: few of the tilts are looked at.

    Attributes
    ----------
    events, tilts
        The events, and tilts to choose from, shape (wrong, T).
    kinds
        The cumulants of each kind of agent.
    """

    events: ErrorEvents
    tilts: FloatArray
    kinds: tuple[Cumulants, ...]

    @cached_property
    def _powers(self) -> FloatArray:
        """Shape (m, N, N): W, W², …, until their rows agree."""
        return np.concatenate(list(self.events.powers(settled=_SETTLED)))

    @cached_property
    def _members(self) -> list[IntArray]:
        """The agents of each kind."""
        assignment = self.events.model.assignment
        return [np.flatnonzero(assignment == kind) for kind in range(len(self.kinds))]

    @cached_property
    def _alike(self) -> tuple[IntArray, IntArray]:
        """One agent of each class whose rows hold the same weights in all rounds; each one's class.

        Their sums over j are the same.
        """
        rows = np.hstack([np.sort(self._powers[0][:, some], axis=1) for some in self._members])
        _, looks = np.unique(rows.round(12), axis=0, return_inverse=True)
        first: list[int] = []
        classes = np.zeros(len(rows), dtype=np.int64)
        for look in range(int(looks.max()) + 1):
            left = np.flatnonzero(looks.ravel() == look)
            while left.size:
                same = np.ones(left.size, dtype=bool)
                if left.size > 1:
                    gaps = rows_apart(self._powers, left, self._members, enough=_ALIKE)
                    same = gaps <= _ALIKE
                classes[left[same]] = len(first)
                first.append(int(left[0]))
                left = left[~same]
        return np.array(first), classes

    @cached_property
    def _weights(self) -> list[tuple[FloatArray, IntArray]]:
        """For each kind its different weights, and which of them stand in rows of the powers.

        The rows are those of one agent of each class.
        """
        rows = self._powers[:, self._alike[0]]
        return [np.unique(rows[:, :, some], return_inverse=True) for some in self._members]

    @property
    def shape(self) -> tuple[int, int]:
        """The number m of rounds in the table, and that of events."""
        return len(self._powers), self.events.network.agents * len(self.tilts)

    def __len__(self) -> int:
        return len(self._powers)

    def __getitem__(self, rounds: slice) -> FloatArray:
        """Rows of the table, those of rounds `start` + 1 to `stop`."""
        first, last, _ = rounds.indices(len(self))
        priors = self._powers[first:last] @ self.events.priors

        def exponents(theta: IntArray, tilt: IntArray) -> FloatArray:
            shares = np.moveaxis(priors[..., theta], 2, 0)
            sums = self._sums(theta, tilt, first, last)
            return sums - shares * self.tilts[theta, tilt][:, None, None]

        best = self._search(exponents, (last - first, self.events.network.agents)).min(axis=1)
        return np.asarray(np.minimum(np.moveaxis(best, 0, 2), 0.0).reshape(last - first, -1))

    def _sums(self, theta: IntArray, tilt: IntArray, first: int, last: int) -> FloatArray:
        """Σ_{k ≤ n} Σ_j κ_j(−t [W^k]_ij) for n = `first` + 1 … `last`, shape (P, n, N)."""
        found = np.empty((theta.size, last - first, self._powers.shape[1]))
        known = tilt == self._middle
        found[known] = self._middle_sums[theta[known], first:last]
        added = self._added(theta[~known], tilt[~known], slice(0, last))
        before = added[:, : first + 1].sum(axis=1, keepdims=True)
        more = np.concatenate([before, added[:, first + 1 :]], axis=1)
        found[~known] = np.cumsum(more, axis=1)
        return found

    @cached_property
    def _middle_sums(self) -> FloatArray:
        """The sums at the tilt of the exponent, shape (wrong, m, N)."""
        theta = np.arange(len(self.tilts))
        middle = np.full_like(theta, self._middle)
        return np.cumsum(self._added(theta, middle, slice(0, len(self))), axis=1)

    def _added(self, theta: IntArray, tilt: IntArray, rounds: slice) -> FloatArray:
        """Σ_j κ_j(−t [W^k]_ij) of some pairs of hypothesis and tilt, shape (P, rounds, N)."""
        found = np.zeros((theta.size, len(self._powers[rounds]), self._alike[0].size))
        for cumulants, (values, places) in zip(self.kinds, self._weights, strict=True):
            here = places[rounds]
            used = np.zeros(values.size, dtype=bool)
            used[here] = True
            points = np.multiply.outer(-self.tilts[theta, tilt], values[used])
            here = (np.cumsum(used) - 1)[here]
            step = max(1, _BLOCK // max(1, here.size))
            for start in range(0, theta.size, step):
                part = slice(start, start + step)
                found[part] += cumulants(theta[part], points[part])[:, here].sum(axis=-1)
        return found[..., self._alike[1]]

    def _search(
        self, exponents: Callable[[IntArray, IntArray], FloatArray], shape: tuple[int, ...]
    ) -> FloatArray:
        """Exponents, shape (wrong, T, …): around the smallest ones, and infinite elsewhere."""
        wrong, grid = self.tilts.shape
        found = np.full((wrong, grid, *shape), np.inf)
        done = np.zeros((wrong, grid), dtype=bool)
        asked, step = np.zeros_like(done), _STRIDE
        # All of them, for many rounds: somewhere each is the best.
        asked[:, slice(None) if shape[0] > _MANY else self._middle] = True
        while step:
            theta, tilt = np.nonzero(asked)
            found[theta, tilt] = exponents(theta, tilt)
            done |= asked
            best = found.argmin(axis=1).reshape(wrong, -1)
            asked = np.zeros_like(done)
            while step and not asked.any():
                for beside in (best - step, best + step):
                    np.put_along_axis(asked, np.clip(beside, 0, grid - 1), True, axis=1)
                asked &= ~done
                step = step if asked.any() else step // 2
        return found

    @property
    def _middle(self) -> int:
        """Which tilt of the grid is the exponent's."""
        grid = _FINE if _FINE.size == self.tilts.shape[1] else _COARSE
        return int(np.abs(np.log(grid)).argmin())

    @cached_property
    def _settled(self) -> FloatArray:
        """No less than what a later round adds to the sums of any agent, shape (wrong, T)."""
        shape = self.tilts.shape
        return self._later(*np.indices(shape).reshape(2, -1)).reshape(shape)

    def _later(self, theta: IntArray, tilt: IntArray) -> FloatArray:
        last = slice(len(self) - 1, len(self))
        return np.asarray(self._added(theta, tilt, last).max(axis=(1, 2)))

    @cached_property
    def _offset(self) -> FloatArray:
        """Exponents of the last round kept, for later ones, shape (wrong, T, N).

        Infinite at tilts that are best for none of them: the best ones lie between that of the last
        round kept and that of the long run.
        """
        size, least = len(self), (self._powers[-1] @ self.events.priors).min(axis=0)

        def exponents(theta: IntArray, tilt: IntArray) -> FloatArray:
            shares = (least[theta] * self.tilts[theta, tilt])[:, None, None]
            return np.asarray(self._sums(theta, tilt, size - 1, size) - shares)

        found = self._search(exponents, (1, self.events.network.agents))[:, :, 0]
        best, final = found.argmin(axis=1), self._settled.argmin(axis=1)[:, None]
        ends, grid = np.hstack([best, final]), np.arange(self.tilts.shape[1])
        between = (grid >= ends.min(axis=1)[:, None]) & (grid <= ends.max(axis=1)[:, None])
        theta, tilt = np.nonzero(between & np.isinf(found).all(axis=2))
        found[theta, tilt] = exponents(theta, tilt)[:, 0]
        return np.asarray(np.moveaxis(found, 2, 0))

    def tail(self, n: FloatArray) -> FloatArray:
        """Logs of the bounds after the table, as of :class:`ErrorBound`."""
        return _union_tail(self._offset, self._settled, len(self), n)

    @property
    def rough(self) -> ErrorBound:
        """The bound with one tilt for each hypothesis."""
        theta = np.arange(len(self.tilts))
        middle = np.full_like(theta, self._middle)
        sums = np.moveaxis(self._middle_sums, 0, 2)
        tilts = self.tilts[theta, middle]
        priors = self._powers @ self.events.priors
        terms = np.minimum(sums - priors * tilts, 0.0).reshape(len(self), -1)
        offset = sums[-1] - priors[-1].min(axis=0) * tilts
        later = self._later(theta, middle)[:, None]
        tail = partial(_union_tail, offset[..., None], later, len(self))
        return ErrorBound("Chernoff, one tilt each", terms, tail)


def _union_tail(offset: FloatArray, later: FloatArray, horizon: int, n: FloatArray) -> FloatArray:
    exponents = offset + (n.reshape(*offset.shape[:2], 1) - horizon) * later
    return np.asarray(np.minimum(exponents.min(axis=-1), 0.0)).ravel()


def _single(events: ErrorEvents, tilts: FloatArray, kinds: list[Cumulants]) -> ErrorBound | None:
    """One event per wrong hypothesis that covers all agents at once; None where D is unknown.

    An upper bound: exp(n Σ_j κ_j(−t v_j) + t c), c as in :attr:`ErrorEvents.transient`.
    """
    gap = events.transient
    if gap is None:
        return None
    v = events.fixed.stationary_distribution
    slopes = np.zeros_like(tilts)
    which = np.arange(len(tilts))
    for kind, cumulants in enumerate(kinds):
        weights, counts = np.unique(v[events.model.assignment == kind], return_counts=True)
        points = np.multiply.outer(-tilts, weights).reshape(len(tilts), -1)
        slopes += cumulants(which, points).reshape(*tilts.shape, -1) @ counts
    tail = partial(_single_tail, slopes, gap[:, None] * tilts)
    return ErrorBound("Chernoff, one event for all agents", np.empty((0, len(gap))), tail)


def _single_tail(slopes: FloatArray, offset: FloatArray, n: FloatArray) -> FloatArray:
    return np.asarray(np.minimum((n[:, None] * slopes + offset).min(axis=-1), 0.0))
