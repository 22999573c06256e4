"""Λ_i^(n) as a sum of independent terms, round by round.

An event of the union is {Λ_i^(n)(θ*, θ) ≤ 0} for one agent i, with terms [W^k]_ij z_j. One event
that covers all agents rests on: the rows of W^k sum to one, so that for any constants c_k

    Λ_i^(n) ≥ Σ_k (c_k + Σ_j min_i' [W^k]_i'j (z_j − c_k)) + the smallest prior share,

for every i at once. Its terms are z_j − c_k times the smallest weight of column j where positive,
times the largest where negative. (docs: mathematics/certified-samples)

The rows of W, W², …, kept until they agree, and what is known of all later ones.

Rows of W^{k+l} = W^l W^k are averages of the rows of W^k. So once the rows of W^m agree to within
σ_j in column j, all later powers lie in the same interval: one more *settled* round with an error
σ_j stands for all of them. Entries are sums of products of non-negative numbers, so that rounding
and typing change them relatively, by at most `error` per factor.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from theory.bounds.accounting.laws import EPS, Laws
from theory.network import Network
from theory.validation import FloatArray, IntArray, read_only

# Rows that agree to this (the sum over columns of the differences) are settled: over a million
# rounds it moves a sum of log-ratios by 1e-6 of the largest.
_SETTLED = 1e-12
_MOST_ROUNDS = 20_000
# Numbers kept: 160 MB.
_MOST_NUMBERS = 2e7


@dataclass(frozen=True, eq=False)
class Powers:
    """W^1 … W^m, as many as are needed for the rows to agree or the memory allows."""

    network: Network

    @cached_property
    def rows(self) -> FloatArray:
        """Shape (m, N, N), in floating point; an entry of W^k is right to k·`error`, relatively."""
        kept: list[FloatArray] = []
        most = int(min(_MOST_ROUNDS, max(1.0, _MOST_NUMBERS / self.network.agents**2)))
        for stack in self.network.power_stacks():
            some = stack[:most]
            near = np.flatnonzero(np.ptp(some, axis=1).sum(axis=1) <= _SETTLED)
            kept.append(some[: int(near[0]) + 1] if near.size else some)
            most -= len(some)
            if near.size or not most:
                break
        return read_only(np.concatenate(kept))

    @property
    def count(self) -> int:
        """The number m of powers kept."""
        return len(self.rows)

    @cached_property
    def is_settled(self) -> bool:
        """Whether the rows of the last power agree to working accuracy."""
        return float(np.ptp(self.rows[-1], axis=0).sum()) <= _SETTLED

    @cached_property
    def error(self) -> float:
        """The relative error of an entry of W^k is at most this times k (while that is small).

        W with what its rows lack to one added to their largest entries: that is the matrix meant.
        """
        weights = self.network.weights
        lacking = 0.0
        for i in range(self.network.agents):
            row = np.asarray(weights[[i]].sum(axis=0)).ravel()
            lacking = max(lacking, abs(1.0 - math.fsum(row.tolist())) / float(row.max()))
        return 1.01 * (lacking + (self.network.agents + 3) * EPS)

    @cached_property
    def later(self) -> FloatArray:
        """Shape (N,): how far an entry of column j in any later power is from the last one kept."""
        last = self.rows[-1]
        allowed: FloatArray = np.ptp(last, axis=0) + 2.1 * self.count * self.error * last.max(
            axis=0
        )
        return allowed


# Weights of one kind that agree to this, relatively, are taken as equal; the difference is
# accounted for.
_EQUAL = 1e-11
_CENTRES = 17


@dataclass(frozen=True, eq=False)
class EventTerms:
    """The terms of one event for rounds 1 to m, and a last round that stands for all later ones.

    Attributes
    ----------
    laws
        The laws of z.
    first
        Shape (m + 2,): the factors of round k are first[k − 1] to first[k].
    kinds, low, high, slack, count
        For each factor: the kind of agent, the weight above and below the centre, how far the
        weight may be off, and how many equal agents it stands for.
    centre
        Shape (m + 1,): c_k; zero where `low` and `high` are equal.
    shift, shift_error
        Shape (m + 1,): the constant of the sum after k rounds (prior share, c_1 + … + c_k), and a
        bound on its error. After round m each further round adds `drift`, and `doubt` to the
        error.
    """

    laws: Laws
    first: IntArray
    kinds: IntArray
    low: FloatArray
    high: FloatArray
    slack: FloatArray
    count: IntArray
    centre: FloatArray
    shift: FloatArray
    shift_error: FloatArray
    drift: float = 0.0
    doubt: float = 0.0

    @property
    def rounds(self) -> int:
        """The number m of rounds that are kept apart."""
        return len(self.centre) - 1

    @property
    def laws_a_round(self) -> int:
        """The number of agents heard in a settled round."""
        return int(self.count[self.first[-2] :].sum())

    def less(self, threshold: float) -> EventTerms:
        """The terms of Λ − threshold."""
        if not threshold:
            return self
        doubt = self.shift_error + 2 * EPS * (np.abs(self.shift) + abs(threshold))
        return replace(self, shift=self.shift - threshold, shift_error=doubt)

    def shift_at(self, rounds: int) -> float:
        """The constant of the sum after `rounds` rounds."""
        return float(self.shifts_at(np.array([rounds]))[0])

    def shifts_at(self, rounds: IntArray) -> FloatArray:
        """`shift_at` of several numbers of rounds, shape (n,)."""
        later = rounds - self.rounds - 1
        kept = self.shift[np.minimum(rounds, self.rounds) - 1]
        return np.asarray(np.where(later < 0, kept, self.shift[-1] + later * self.drift))

    def shift_errors_at(self, rounds: IntArray) -> FloatArray:
        """Bounds on the errors of `shifts_at`, shape (n,)."""
        later = rounds - self.rounds - 1
        kept = self.shift_error[np.minimum(rounds, self.rounds) - 1]
        rounding = 4 * EPS * (np.abs(self.shift[-1]) + later * abs(self.drift))
        grown = (self.shift_error[-1] + later * self.doubt) * (1 + 4 * EPS) + rounding
        return np.asarray(np.where(later < 0, kept, grown))


def weighted_terms(
    powers: Powers, kinds: IntArray, informed: IntArray, laws: Laws, rows: FloatArray
) -> EventTerms:
    """The terms of Σ_k Σ_j w_kj z_jk without constants, for averages w_k of rows of W^k.

    `rows` are the weights of the informed agents, shape (m + 1, len(informed)); `kinds` are the
    informed agents' own.
    """
    nowhere = np.zeros(len(rows))
    slack = weight_slack(powers, rows, informed)
    return _assemble(kinds, laws, rows, rows, slack, nowhere, nowhere, nowhere, 0.0)


def constant_terms(kinds: IntArray, laws: Laws, weights: FloatArray) -> EventTerms:
    """The terms of Σ_k Σ_j u_j z_jk, with weights u that are what they are and do not change."""
    rows = np.tile(weights, (2, 1))
    nowhere = np.zeros(2)
    return _assemble(kinds, laws, rows, rows, np.zeros_like(rows), nowhere, nowhere, nowhere, 0.0)


def prior_shares(powers: Powers, priors: FloatArray, agent: int) -> tuple[FloatArray, FloatArray]:
    """Σ_j [W^k]_ij π_j for k = 1 … m and for all later k, and bounds on the errors."""
    rows = with_later(powers.rows[:, agent, :])
    sizes = np.abs(priors)
    error = weight_slack(powers, rows) @ sizes
    # Logs of priors, and a sum of N products.
    error += 8 * EPS * (1 + (rows @ sizes) * len(priors) + sizes.max())
    return rows @ priors, error


def with_later(rows: FloatArray) -> FloatArray:
    """The rows of m rounds, and the last one again: it stands for all later ones."""
    return np.concatenate([rows, rows[-1:]])


def weight_slack(powers: Powers, rows: FloatArray, agents: IntArray | None = None) -> FloatArray:
    """How far each weight may be off, shape (m + 1, N) or one column for each of `agents`."""
    slack = np.append(np.arange(1.0, powers.count + 1), powers.count)[:, None]
    slack = slack * powers.error * rows
    slack[-1] = powers.later if agents is None else powers.later[agents]
    return slack


def shared_terms(
    powers: Powers, assignment: IntArray, laws: Laws, priors: FloatArray, tilt: float
) -> EventTerms:
    """The terms of the event that covers all agents, with centres good for `tilt`.

    Only for bounded laws: a normal has no least value over the agents' weights.
    """
    low, high = powers.rows.min(axis=1), powers.rows.max(axis=1)
    low, high = with_later(low), with_later(high)
    slack = weight_slack(powers, high)
    shares = powers.rows @ priors
    prior = np.append(shares.min(axis=1), shares[-1].min())
    centre = _centres(assignment, laws, low, high, tilt)
    running = np.append(np.cumsum(centre[:-1]), 0.0)
    running[-1] = running[-2] + centre[-1]
    sizes = np.abs(priors)
    error = (
        slack @ sizes
        + 8 * EPS * (1 + len(priors) * sizes.max())
        + 2 * EPS * len(centre) * np.abs(centre).max() * np.arange(1, len(centre) + 1)
    )
    return _assemble(
        assignment, laws, low, high, slack, centre, prior + running, error, float(centre[-1])
    )


def _centres(
    assignment: IntArray, laws: Laws, low: FloatArray, high: FloatArray, tilt: float
) -> FloatArray:
    """For each round the centre, of a few, that gives the smallest Chernoff bound at `tilt`."""
    candidates = np.linspace(laws.lowest, laws.highest, _CENTRES)
    values = np.zeros((len(low), _CENTRES))
    for kind in np.unique(assignment):
        atoms = slice(int(laws.start[kind]), int(laws.start[kind + 1]))
        means, logs = laws.means[atoms], np.log(laws.probabilities[atoms])
        if means.size > 256:
            # Any centre is valid: a sample of the atoms is enough to choose one.
            chosen = np.linspace(0, means.size - 1, 256).astype(np.int64)
            means, logs = means[chosen], logs[chosen]
        # Agents of the same weights, but for rounding, are looked at once: any centre is valid.
        members = np.flatnonzero(assignment == kind)
        weights = np.vstack([low[:, members], high[:, members]]).T.astype(np.float32)
        _, some, counts = np.unique(weights, axis=0, return_index=True, return_counts=True)
        for j, count in zip(members[some], counts, strict=True):
            for c, centre in enumerate(candidates):
                z = means - centre
                weights = np.where(z > 0, low[:, [j]], high[:, [j]])
                exponents = logs - tilt * weights * z
                top = exponents.max(axis=1)
                sums = np.log(np.exp(exponents - top[:, None]).sum(axis=1))
                values[:, c] += count * (top + sums)
    values -= tilt * candidates
    best: FloatArray = candidates[values.argmin(axis=1)]
    return best


def _assemble(
    assignment: IntArray,
    laws: Laws,
    low: FloatArray,
    high: FloatArray,
    slack: FloatArray,
    centre: FloatArray,
    shift: FloatArray,
    shift_error: FloatArray,
    drift: float,
) -> EventTerms:
    """Equal weights of one kind become one factor, taken several times."""
    rounds = len(low)
    columns: list[tuple[IntArray, IntArray, IntArray]] = []
    found: list[list[FloatArray]] = []
    for kind in np.unique(assignment):
        members = np.flatnonzero(assignment == kind)
        order = np.lexsort((low[:, members], high[:, members]), axis=1)
        take = [np.take_along_axis(x[:, members], order, axis=1) for x in (low, high, slack)]
        new = np.ones(take[0].shape, dtype=bool)
        new[:, 1:] = ~(_agree(take[0]) & _agree(take[1]))
        begins = np.flatnonzero(new.ravel())
        sizes = np.diff(np.append(begins, new.size))
        pieces = []
        doubt = np.zeros(begins.size)
        for x in take[:2]:
            least = np.minimum.reduceat(x.ravel(), begins)
            most = np.maximum.reduceat(x.ravel(), begins)
            pieces.append(most)
            doubt = np.maximum(doubt, most - least)
        pieces.append(np.maximum.reduceat(take[2].ravel(), begins) + doubt)
        columns.append((begins // members.size, np.full(begins.size, kind), sizes))
        found.append(pieces)
    which = np.concatenate([c[0] for c in columns])
    kinds = np.concatenate([c[1] for c in columns])
    count = np.concatenate([c[2] for c in columns])
    values = [np.concatenate([f[k] for f in found]) for k in range(3)]
    # A weight that is zero stays zero: nobody on the way listens.
    keep = (values[1] > 0) | (values[2] > 0)
    order = np.flatnonzero(keep)[np.argsort(which[keep], kind="stable")]
    first = np.searchsorted(which[order], np.arange(rounds + 1))
    return EventTerms(
        laws,
        first.astype(np.int64),
        kinds[order].astype(np.int64),
        np.ascontiguousarray(values[0][order]),
        np.ascontiguousarray(values[1][order]),
        np.ascontiguousarray(values[2][order]),
        count[order].astype(np.int64),
        centre,
        shift,
        shift_error,
        drift,
    )


def _agree(rows: FloatArray) -> np.ndarray:
    """Whether each entry but the first of a row equals the one before."""
    gap = np.abs(np.diff(rows, axis=1))
    return np.asarray(gap <= _EQUAL * rows[:, 1:])
