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

from theory.learning.batches import alike, totals, type_counts, type_law, type_weights
from theory.learning.finite_agent import FiniteAgent
from theory.learning.log_ratio import SMALL, Atoms, second_order
from theory.learning.model import FiniteModel
from theory.learning.tables import GaussianAgent
from theory.validation import FloatArray, IntArray, fail, read_only

# What a finite agent would observe if a given hypothesis were the truth --------------------------


# Sums of likelihoods given as decimals: the tolerance of `theory.validation`, and logarithms and
# exponentials in between, a few units in the last place for each label.
_TOLERANCE = 1e-11


def input_probabilities(agent: FiniteAgent, *, name: str = "agent") -> FloatArray:
    """P(x) for each stored outcome (x, y), shape (O,).

    Of an agent of batches: what to multiply its likelihoods by, the number of sequences of a type
    times the probability of their inputs.

    Raises
    ------
    ValueError
        If the likelihoods of successive outcomes do not sum to one under every hypothesis: the
        agent holds a data set, or labels of probability zero were dropped.

    Examples
    --------
    >>> coin = FiniteAgent.from_tables(
    ...     inputs=[0.25, 0.75],
    ...     truth=[[0.5, 0.5], [0.5, 0.5]],
    ...     likelihood=[[[0.5, 0.5], [0.5, 0.5]], [[0.2, 0.8], [0.9, 0.1]]],
    ... )
    >>> input_probabilities(coin).tolist()
    [0.25, 0.25, 0.75, 0.75]
    """
    if agent.single is not None:
        shares = input_probabilities(agent.single, name=name)
        claims, group = alike(agent.single.log_likelihoods)
        counts = type_counts(claims.shape[1], agent.batch, rows=len(claims))
        return type_weights(totals(group, shares), counts)
    likelihoods = np.exp(agent.log_likelihoods)
    found = np.empty(agent.probabilities.size)
    start, total = 0, np.zeros(agent.hypotheses)
    for outcome in range(found.size):
        total = total + likelihoods[:, outcome]
        if (total > 1 + _TOLERANCE).any():
            break
        if (total >= 1 - _TOLERANCE).all():
            labels = slice(start, outcome + 1)
            found[labels] = agent.probabilities[labels].sum()
            start, total = outcome + 1, np.zeros(agent.hypotheses)
    if start < found.size:
        raise fail(
            name,
            "likelihoods that sum to one over the labels of each input, under every hypothesis",
            f"outcomes from number {start} on that do not",
            "a data set does not say what it would look like under another truth: give tables "
            "with a positive truth for every label, or name a target",
        )
    return found


# The laws of kinds of agents that have equally many atoms ----------------------------------------


def _pick(table: FloatArray, rows: IntArray, kinds: IntArray) -> FloatArray:
    """A copy of table[:, rows, kinds] for a table of shape (O, M, K)."""
    if kinds.size == table.shape[2] and (kinds == np.arange(kinds.size)).all():
        return table.take(rows, axis=1)
    return np.asarray(table[:, rows[:, None], kinds[None, :]])


@dataclass(frozen=True, eq=False)
class _FiniteKinds:
    """Finite agents with equally many outcomes; `log_likelihoods` has shape (O, M, K).

    `probabilities` has shape (O, 1, K) if the truth is known, and else (O, M, K): the law of the
    outcomes where hypothesis θ* is the truth.
    """

    agents: tuple[FiniteAgent, ...]
    probabilities: FloatArray
    log_likelihoods: FloatArray

    def atoms(self, first: IntArray, second: IntArray, kinds: IntArray) -> Atoms:
        """The laws of some pairs of hypotheses and kinds, shape (O, pairs, kinds)."""
        means = _pick(self.log_likelihoods, first, kinds)
        means -= _pick(self.log_likelihoods, second, kinds)
        if self.probabilities.shape[1] == 1:
            p = self.probabilities[:, :, kinds]
        else:
            p = _pick(self.probabilities, first, kinds)
        information = (p * means).sum(axis=0)
        cancels = np.abs(information) < SMALL
        for r, s in zip(*np.nonzero(cancels), strict=True):
            pair = int(first[r]), int(second[r]), int(kinds[s])
            if pair not in self._close:
                self._close[pair] = self._law(*pair)
            means[:, r, s], information[r, s] = self._close[pair]
        return Atoms(p, means, None, information, cancels)

    def _law(self, first: int, second: int, kind: int) -> tuple[FloatArray, float]:
        """Values and mean of z of hypotheses that claim nearly the same, to all their digits."""
        law = self.agents[kind].log_ratio_law(first, second)
        if self.probabilities.shape[1] == 1:
            return law.means, law.mean
        # The data follow θ*: E[e^{−z} − 1] is zero.
        return law.means, float(self.probabilities[:, first, kind] @ second_order(-law.means))

    @cached_property
    def _close(self) -> dict[tuple[int, int, int], tuple[FloatArray, float]]:
        return {}


@dataclass(frozen=True, eq=False)
class _GaussianKinds:
    """Gaussian agents with equally many inputs: as `theory.GaussianAgent.log_ratio_law`.

    `truth_means` has shape (X, 1, K), `means` (X, M, K), standard deviations (K,); `probabilities`
    (T, 1, K) for T types of a batch's inputs, `counts` (T, X), or None where a batch is one.
    """

    probabilities: FloatArray
    counts: IntArray | None
    truth_means: FloatArray | None
    truth_stds: FloatArray
    means: FloatArray
    stds: FloatArray

    def atoms(self, first: IntArray, second: IntArray, kinds: IntArray) -> Atoms:
        """The laws of some pairs of hypotheses and kinds, shape (X or T, pairs, kinds)."""
        std = self.stds[kinds]
        claimed, other = _pick(self.means, first, kinds), _pick(self.means, second, kinds)
        truth = claimed if self.truth_means is None else self.truth_means[:, :, kinds]
        gap = (claimed - other) / std
        means = gap * ((truth - claimed) + (truth - other)) / (2.0 * std)
        variances = (gap * self.truth_stds[kinds] / std) ** 2
        if self.counts is not None:
            means = np.tensordot(self.counts, means, axes=1)
            variances = np.tensordot(self.counts, variances, axes=1)
        p = self.probabilities[:, :, kinds]
        information = (p * means).sum(axis=0)
        return Atoms(p, means, variances, information, np.zeros(information.shape, dtype=bool))


def _laws_of(
    model: FiniteModel, members: IntArray, *, hypothetical: bool
) -> _FiniteKinds | _GaussianKinds:
    agents = [model.kinds[k] for k in members]
    finite = [agent for agent in agents if isinstance(agent, FiniteAgent)]
    if finite:
        tables = np.array([agent.log_likelihoods for agent in finite]).T
        tables = np.ascontiguousarray(tables)
        if not hypothetical:
            truth = np.array([agent.probabilities for agent in finite]).T
            return _FiniteKinds(tuple(finite), truth[:, None, :], tables)
        inputs = [
            input_probabilities(agent, name=f"agents of kind {kind}")
            for kind, agent in zip(members, finite, strict=True)
        ]
        law = np.exp(tables) * np.array(inputs).T[:, None, :]
        return _FiniteKinds(tuple(finite), law, tables)
    normal = [agent for agent in agents if isinstance(agent, GaussianAgent)]
    batch, laws, counts = normal[0].batch, [agent.inputs for agent in normal], None
    if batch > 1:
        counts = type_counts(laws[0].size, batch)
        laws = [type_law(law, counts) for law in laws]
    # An input of probability zero copies a possible one, so that it never counts for a maximum.
    columns = [np.where(a.inputs > 0, np.arange(a.inputs.size), a.inputs.argmax()) for a in normal]
    pairs = list(zip(normal, columns, strict=True))
    stds = np.array([agent.std for agent in normal])
    truth = np.array([agent.truth_means[at] for agent, at in pairs]).T[:, None, :]
    return _GaussianKinds(
        probabilities=np.array(laws).T[:, None, :],
        counts=counts,
        truth_means=None if hypothetical else truth,
        truth_stds=stds if hypothetical else np.array([agent.truth_std for agent in normal]),
        means=np.ascontiguousarray(np.array([agent.means[:, at] for agent, at in pairs]).T),
        stds=stds,
    )


def check_pairs(count: int, model: FiniteModel) -> None:
    """Refuse tables beyond what a machine holds.

    Raises
    ------
    ValueError
        If rows times kinds exceed 50 million.
    """
    most = 50_000_000
    if count * len(model.kinds) > most:
        raise fail(
            "model",
            f"at most {most} pairs of hypotheses times kinds of agents",
            f"{count} times {len(model.kinds)}",
            "name a target, which leaves one pair a hypothesis",
        )


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
    kinds: IntArray
    laws: _FiniteKinds | _GaussianKinds
    size: int


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
                yield part, group, self._atoms(group, rows[part])

    @cached_property
    def _kept(self) -> tuple[Atoms | None, ...]:
        entries = [self.rows * group.kinds.size * group.size for group in self._groups]
        every = np.arange(self.rows)
        return tuple(
            self._atoms(group, every) if size <= _MOST_KEPT else None
            for size, group in zip(entries, self._groups, strict=True)
        )

    def _atoms(self, group: _Group, rows: IntArray) -> Atoms:
        found = group.laws.atoms(self.first[rows], self.second[rows], group.kinds)
        return Atoms(
            found.probabilities[..., None],
            found.means[..., None],
            None if found.variances is None else found.variances[..., None],
            found.mean[..., None],
            found.cancels[..., None],
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
    like: dict[tuple[str, int, int, int], list[int]] = {}
    for kind in np.flatnonzero(width).tolist():
        agent = model.kinds[kind]
        size = agent.inputs.size if isinstance(agent, GaussianAgent) else agent.probabilities.size
        wide = int(width[kind]) if width[kind] >= _MANY_SLOTS else 0
        like.setdefault((type(agent).__name__, int(size), agent.batch, wide), []).append(kind)
    groups = []
    for (_, size, _, wide), kinds in like.items():
        laws = _laws_of(model, np.array(kinds), hypothetical=hypothetical)
        if wide:
            where = np.array([np.flatnonzero(kind_of_slot == kind) for kind in kinds])
            local = np.arange(len(kinds))
        else:
            where = np.flatnonzero(np.isin(kind_of_slot, kinds))[:, None]
            local = np.searchsorted(kinds, kind_of_slot[where[:, 0]])
        groups.append(_Group(where, local, laws, size))
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
# A sum of least values is zero if it is this small beside its terms.
_ROUNDING = 1e-14


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
            # To second order the maximum is slope²/2 bend above.
            gain = np.where(bend > 0, slope * slope / bend, np.inf)
            step = here * (1 + slope / bend)
        rising = slope > 0
        low[left[rising]], high[left[~rising]] = here[rising], here[~rising]
        ended = gain <= 1e-16 * value
        value = np.where(ended, value + gain / 2, value)
        better = value > values[left]
        values[left[better]] = value[better]
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
