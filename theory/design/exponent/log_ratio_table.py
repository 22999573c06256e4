"""The laws of all log-likelihood ratios that an error exponent depends on, in arrays.

One *row* is an ordered pair of hypotheses (θ*, θ), one *slot* a group of agents of one kind that
share one influence v_s. For each row and slot the table answers, at a tilt u ≥ 0,

=============  ==================  ===========================================================
``values``     h(u) = −κ(−u)       how rare it is that the evidence z misleads by so much
``means``      m = κ'(−u)          E z under the law tilted by e^{−uz}
``variances``  κ''(−u)             Var z under it
=============  ==================  ===========================================================

and ``costs`` h − u m = KL(tilted law ‖ law) (docs: mathematics/best-exponent). What
`theory.LogRatioLaw` says of one pair and kind, the table says of thousands at once.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from theory.learning.batches import alike, totals, type_counts, type_law, type_weights
from theory.learning.finite_agent import FiniteAgent
from theory.learning.log_ratio import HALF, SMALL, beyond_mean, second_order
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


# The laws of all log-likelihood ratios that an error exponent depends on, in arrays --------------


# Entries (atom, row, slot) evaluated at a time: half a MiB an array, which stays in the cache.
_BLOCK = 1 << 16


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
class _Atoms:
    """Mixtures of normals, by (atom, row, slot): means, probabilities, variances if positive.

    `information` is E z, and `cancels` says where its terms may be far above it, shape (R, S).
    """

    probabilities: FloatArray
    means: FloatArray
    variances: FloatArray | None
    information: FloatArray
    cancels: np.ndarray


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

    def atoms(self, first: IntArray, second: IntArray, kinds: IntArray) -> _Atoms:
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
        return _Atoms(p, means, None, information, cancels)

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

    @property
    def size(self) -> int:
        return int(self.log_likelihoods.shape[0])


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

    def atoms(self, first: IntArray, second: IntArray, kinds: IntArray) -> _Atoms:
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
        return _Atoms(p, means, variances, information, np.zeros(information.shape, dtype=bool))

    @property
    def size(self) -> int:
        return int(self.probabilities.shape[0])


@dataclass(frozen=True, eq=False)
class LogRatioTable:
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
    _groups: tuple[tuple[IntArray, IntArray, _FiniteKinds | _GaussianKinds], ...]

    @property
    def rows(self) -> int:
        """R, the number of pairs of hypotheses."""
        return int(self.first.size)

    def tilted(self, rows: IntArray, u: FloatArray) -> Tilted:
        """h, κ' and κ'' of some rows at tilts u, shape (rows, S).

        Accurate to rounding, h also where it is far below one.
        """
        result = Tilted(np.empty_like(u), np.empty_like(u), np.empty_like(u))
        for chosen, slots, atoms in self._blocks(rows):
            at = np.ix_(chosen, slots)
            found = _tilt(atoms, u[at])
            result.values[at], result.means[at], result.variances[at] = found
        return result

    def information(self, rows: IntArray) -> FloatArray:
        """E z, shape (rows, S), in nats."""
        result = np.empty((rows.size, self.counts.size))
        for chosen, slots, atoms in self._blocks(rows):
            result[np.ix_(chosen, slots)] = atoms.information
        return result

    def spreads(self, rows: IntArray) -> FloatArray:
        """Var z, shape (rows, S), in nats²."""
        return self.tilted(rows, np.zeros((rows.size, self.counts.size))).variances

    def minima(self, rows: IntArray) -> FloatArray:
        """The least value of z, shape (rows, S): −inf where a normal has none."""
        result = np.empty((rows.size, self.counts.size))
        for chosen, slots, atoms in self._blocks(rows):
            least = atoms.means.min(axis=0)
            if atoms.variances is not None:
                proper = (atoms.variances > 0).any(axis=0)
                least = np.where(proper, -np.inf, least)
            result[np.ix_(chosen, slots)] = least
        return result

    def silence(self, rows: IntArray) -> FloatArray:
        """−log P(z = its least value), shape (rows, S): inf where there is none."""
        result = np.empty((rows.size, self.counts.size))
        least = self.minima(rows)
        for chosen, slots, atoms in self._blocks(rows):
            at = np.ix_(chosen, slots)
            mass = np.where(atoms.means == least[at], atoms.probabilities, 0.0)
            with np.errstate(divide="ignore"):
                result[at] = -np.log(mass.sum(axis=0))
        return result

    def _blocks(self, rows: IntArray) -> Iterator[tuple[IntArray, IntArray, _Atoms]]:
        """Blocks that fit the cache: positions in `rows`, slots, and their atoms."""
        for slots, kinds, group in self._groups:
            step = max(1, _BLOCK // (slots.size * group.size))
            for start in range(0, rows.size, step):
                chosen = np.arange(start, min(start + step, rows.size))
                picked = rows[chosen]
                yield chosen, slots, group.atoms(self.first[picked], self.second[picked], kinds)


def _tilt(atoms: _Atoms, u: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    p, z = atoms.probabilities, atoms.means
    x = z * -u
    if atoms.variances is not None:
        x += (0.5 * u * u) * atoms.variances
        z = z - u * atoms.variances
    top = x.max(axis=0)
    x -= top
    weights = np.exp(x)
    weights *= p
    total = weights.sum(axis=0)
    logs = top + np.log(total)
    means = (weights * z).sum(axis=0)
    means /= total
    centred = z - means
    centred *= centred
    if atoms.variances is not None:
        centred += atoms.variances
    centred *= weights
    near = atoms.cancels & (np.abs(logs) < HALF)
    if near.any():
        grown = np.broadcast_to(p, x.shape)[:, near] * np.expm1(x[:, near] + top[near])
        moved = atoms.information[near] + (grown * z[:, near]).sum(axis=0)
        means[near] = moved / (1.0 + grown.sum(axis=0))
    small = np.abs(logs) < SMALL
    if small.any():
        at, variances = -u[small], atoms.variances
        spread = variances if variances is None else variances[:, small]
        rest = np.broadcast_to(p, x.shape)[:, small] * beyond_mean(
            atoms.means[:, small], spread, at
        )
        logs[small] = np.log1p(at * atoms.information[small] + rest.sum(axis=0))
    return -logs, means, centred.sum(axis=0) / total


def tabulate(
    model: FiniteModel,
    first: IntArray,
    second: IntArray,
    *,
    share_slots: bool,
    hypothetical: bool = False,
) -> LogRatioTable:
    """The table of the pairs (first[r], second[r]).

    Parameters
    ----------
    share_slots
        Whether agents of one kind share one slot, as they may where the set of influences is
        symmetric; else each agent is a slot of its own.
    hypothetical
        Whether the data of row r follow ℓ(·|first[r], x) instead of the truth.

    Raises
    ------
    ValueError
        If `hypothetical` and the law of an agent's data under a hypothesis is not known.
    """
    present, of_agent = np.unique(model.assignment, return_inverse=True)
    if share_slots:
        kind_of_slot, slots = present, of_agent.ravel()
    else:
        kind_of_slot, slots = model.assignment, np.arange(model.agents)
    groups = []
    for members in _alike(model, present):
        group = _group(model, members, hypothetical=hypothetical)
        where = np.flatnonzero(np.isin(kind_of_slot, members))
        local = np.searchsorted(members, kind_of_slot[where])
        groups.append((where, local, group))
    return LogRatioTable(
        first=read_only(np.asarray(first, dtype=np.int64)),
        second=read_only(np.asarray(second, dtype=np.int64)),
        slots=read_only(np.asarray(slots, dtype=np.int64)),
        counts=read_only(np.bincount(slots, minlength=kind_of_slot.size).astype(np.float64)),
        _groups=tuple(groups),
    )


def _alike(model: FiniteModel, present: IntArray) -> list[IntArray]:
    """The kinds present, sorted into groups of one type, size and batch."""
    found: dict[tuple[str, int, int], list[int]] = {}
    for kind in present:
        agent = model.kinds[kind]
        size = agent.inputs.size if isinstance(agent, GaussianAgent) else agent.probabilities.size
        alike = (type(agent).__name__, int(size), agent.batch)
        found.setdefault(alike, []).append(int(kind))
    return [np.array(kinds, dtype=np.int64) for kinds in found.values()]


def _group(
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
