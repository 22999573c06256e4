"""Which hypotheses which agents can tell apart, whatever the network is.

Agent j *separates* θ and θ' if some observation of positive probability moves its odds between
them: z_j(θ, θ') is not zero for sure. Not to be separated by j is an equivalence, so that each
agent cuts the hypotheses into classes, and the network can at best tell apart the classes of the
common refinement (docs: mathematics/learnability). No W changes them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from theory.learning import FiniteAgent, FiniteModel, GaussianAgent
from theory.learning.finite_agent import Agent
from theory.rational import RationalModel
from theory.rational.agents import RationalAgent
from theory.showing import Shown
from theory.typed import typed
from theory.validation import FloatArray, IntArray, as_integer, as_position, fail, read_only

# Which hypotheses which agents can tell apart, whatever the network is ---------------------------


# Hypotheses an agent does not tell apart have log-likelihoods that agree to a few roundings; those
# that differ by more need not be compared further. The decision itself is the agent's.
_SIEVE = 1e-12


@dataclass(frozen=True, eq=False)
class Separation(Shown):
    """Who tells apart what.

    Parameters
    ----------
    assignment
        Shape (N,): which kind each agent is.
    classes
        Shape (K, M): for each kind, the class of every hypothesis; two hypotheses of one class are
        the same to agents of that kind.

    Raises
    ------
    ValueError
        If an agent is of a kind that has no classes.
    """

    assignment: IntArray
    classes: IntArray

    def __post_init__(self) -> None:
        assignment = np.array(self.assignment, dtype=np.int64)
        classes = np.array(self.classes, dtype=np.int64)
        if assignment.size and assignment.max() >= len(classes):
            raise fail(
                "assignment",
                f"kinds from 0 to {len(classes) - 1}",
                int(assignment.max()),
                "give the classes of every kind",
            )
        object.__setattr__(self, "assignment", read_only(assignment))
        object.__setattr__(self, "classes", read_only(classes))

    @property
    def agents(self) -> int:
        """The number N of agents."""
        return int(self.assignment.size)

    @property
    def hypotheses(self) -> int:
        """The number M of hypotheses."""
        return int(self.classes.shape[1])

    @cached_property
    def kind_counts(self) -> IntArray:
        """How many agents are of each kind, shape (K,)."""
        return read_only(np.bincount(self.assignment, minlength=len(self.classes)).astype(np.int64))

    @cached_property
    def groups(self) -> tuple[tuple[int, ...], ...]:
        """The sets of hypotheses that nobody tells apart, each sorted; most have one member."""
        present = self.classes[self.kind_counts > 0]
        _, group = np.unique(present.T, axis=0, return_inverse=True)
        flat = group.ravel()
        found: dict[int, list[int]] = {}
        for theta, label in enumerate(flat.tolist()):
            found.setdefault(label, []).append(theta)
        return tuple(tuple(members) for members in found.values())

    @property
    def unseparable_pairs(self) -> tuple[tuple[int, int], ...]:
        """Pairs that no agent tells apart: no network and no amount of data does either."""
        return tuple(
            sorted(
                (a, b)
                for members in self.groups
                for k, a in enumerate(members)
                for b in members[k + 1 :]
            )
        )

    def separators(self, first: int, second: int) -> IntArray:
        """The agents that tell two hypotheses apart, in order.

        Raises
        ------
        ValueError
            If there is no such hypothesis.
        """
        a, b = (
            as_integer(name, value, minimum=0, maximum=self.hypotheses - 1)
            for name, value in (("first", first), ("second", second))
        )
        apart = self.classes[:, a] != self.classes[:, b]
        return np.flatnonzero(apart[self.assignment])

    @cached_property
    def counts(self) -> IntArray:
        """How many agents tell each pair apart, shape (M, M)."""
        counts = np.zeros((self.hypotheses, self.hypotheses), dtype=np.int64)
        for a, apart in self._rows():
            counts[a, a + 1 :] = self.kind_counts @ apart
        counts += counts.T
        return read_only(counts)

    @cached_property
    def guards(self) -> IntArray:
        """How many pairs each agent alone tells apart, shape (N,): single points of failure."""
        per_kind = np.zeros(len(self.classes), dtype=np.int64)
        for _, apart in self._rows():
            alone = self.kind_counts @ apart == 1
            per_kind += apart[:, alone].sum(axis=1)
        return read_only(per_kind[self.assignment])

    def pairs_guarded_by(self, agent: int) -> IntArray:
        """The pairs that this agent alone tells apart, shape (G, 2), in order.

        Raises
        ------
        ValueError
            If there is no such agent.
        """
        number = as_integer("agent", agent, minimum=0, maximum=self.agents - 1)
        kind = int(self.assignment[number])
        found = [
            (a, a + 1 + int(b))
            for a, apart in self._rows()
            for b in np.flatnonzero((self.kind_counts @ apart == 1) & apart[kind])
        ]
        return np.array(found, dtype=np.int64).reshape(-1, 2)

    @property
    def redundant(self) -> tuple[int, ...]:
        """The agents each of which may fall silent without a pair being lost.

        Agent j is redundant if every pair that it separates is separated by another agent too.
        That is said of each agent by itself: two redundant agents may be each other's substitute.
        """
        return tuple(int(j) for j in np.flatnonzero(self.guards == 0))

    @cached_property
    def signatures(self) -> SeparationSignatures:
        """The distinct sets of kinds that separate a pair, the empty set left out."""
        found: dict[bytes, tuple[int, int]] = {}
        for a, apart in self._rows():
            present = apart & (self.kind_counts > 0)[:, None]
            packed = np.packbits(present, axis=0).T
            for b in np.unique(packed, axis=0, return_index=True)[1].tolist():
                if present[:, b].any():
                    found.setdefault(packed[b].tobytes(), (a, a + 1 + b))
        pairs = np.array(sorted(found.values()), dtype=np.int64).reshape(-1, 2)
        table = self.classes[:, pairs[:, 0]] != self.classes[:, pairs[:, 1]]
        return SeparationSignatures(
            read_only(table.T & (self.kind_counts > 0)[None, :]), read_only(pairs)
        )

    def _rows(self) -> Iterator[tuple[int, np.ndarray]]:
        """For each θ = a, which kinds separate it from a + 1, a + 2, …; shape (K, M − a − 1)."""
        for a in range(self.hypotheses - 1):
            yield a, self.classes[:, a : a + 1] != self.classes[:, a + 1 :]


@dataclass(frozen=True, eq=False)
class SeparationSignatures(Shown):
    """Distinct rows `table` of shape (S, K), and a pair of hypotheses for each, shape (S, 2)."""

    table: np.ndarray
    pairs: IntArray


@typed
def separation(model: FiniteModel | RationalModel) -> Separation:
    """Who tells apart what, in a model of doubles or of rationals.

    With doubles, log-likelihoods that agree to a few roundings are the same (see
    `FiniteAgent.indistinguishable`); with rationals every answer is decided.

    Examples
    --------
    >>> from theory import FiniteAgent, FiniteModel
    >>> blind = FiniteAgent.from_tables(
    ...     inputs=[1.0], truth=[[0.5, 0.5]], likelihood=[[[0.5, 0.5]], [[0.5, 0.5]]]
    ... )
    >>> coin = FiniteAgent.from_tables(
    ...     inputs=[1.0], truth=[[0.5, 0.5]], likelihood=[[[0.5, 0.5]], [[0.75, 0.25]]]
    ... )
    >>> who = separation(FiniteModel.from_agents(["fair", "loaded"], [blind, coin]))
    >>> who.separators(0, 1).tolist(), who.guards.tolist(), who.redundant
    ([1], [0, 1], (0,))
    """
    return Separation(
        np.array(model.assignment, dtype=np.int64),
        np.array([_classes(kind, len(model.hypotheses)) for kind in model.kinds]),
    )


def _classes(kind: Agent | RationalAgent, hypotheses: int) -> IntArray:
    """The class of each hypothesis to one kind of agent, shape (M,)."""
    labels = np.full(hypotheses, -1, dtype=np.int64)
    claims = _claims(kind)
    count = 0
    for theta in range(hypotheses):
        if labels[theta] >= 0:
            continue
        rest = theta + np.flatnonzero(labels[theta:] < 0)
        if claims is not None:
            for column in (int(claims.std(axis=0).argmax()), slice(None)):
                near = np.isclose(
                    claims[rest, column], claims[theta, column], rtol=_SIEVE, atol=_SIEVE
                )
                rest = rest[near if near.ndim == 1 else near.all(axis=1)]
        for other in rest.tolist():
            if other == theta or kind.indistinguishable(theta, other):
                labels[other] = count
        count += 1
    return labels


def _claims(kind: Agent | RationalAgent) -> FloatArray | None:
    """Numbers that agree wherever the agent does not tell hypotheses apart, shape (M, O)."""
    if isinstance(kind, FiniteAgent):
        return kind.log_likelihoods
    if isinstance(kind, GaussianAgent):
        return kind.means[:, kind.inputs > 0]
    return None


# Which wrong hypotheses which agents reject, for one target --------------------------------------


@dataclass(frozen=True, eq=False)
class Rejection(Shown):
    """Who rejects what, for one target.

    Attributes
    ----------
    target
        θ*: what the network shall settle on.
    reference
        The target and the hypotheses that are no worse: Θ* if the target belongs to it, else those
        that nobody tells apart from the target.
    wrong
        The others, in order.
    assignment
        Shape (N,): which kind each agent is.
    signs
        Shape (K, M): +1, 0 or −1, the sign of I(θ*, θ) to each kind.
    is_optimal
        Whether the target belongs to Θ*, so that no sign is negative.
    """

    target: int
    reference: tuple[int, ...]
    wrong: tuple[int, ...]
    assignment: IntArray
    signs: NDArray[np.int8]
    is_optimal: bool

    @property
    def agents(self) -> int:
        """The number N of agents."""
        return int(self.assignment.size)

    @cached_property
    def kind_counts(self) -> IntArray:
        """How many agents are of each kind, shape (K,)."""
        return read_only(np.bincount(self.assignment, minlength=len(self.signs)).astype(np.int64))

    def rejecters(self, theta: int) -> IntArray:
        """The agents whose own data speak against `theta`, in order.

        Raises
        ------
        ValueError
            If there is no such hypothesis.
        """
        number = as_integer("theta", theta, minimum=0, maximum=self.signs.shape[1] - 1)
        return np.flatnonzero(self.signs[self.assignment, number] > 0)

    @cached_property
    def counts(self) -> IntArray:
        """How many agents reject each hypothesis, shape (M,)."""
        return read_only(np.asarray(self.kind_counts @ (self.signs > 0), dtype=np.int64))

    @property
    def unrejected(self) -> tuple[int, ...]:
        """Wrong hypotheses that nobody rejects: K ≤ 0 on every network."""
        return tuple(theta for theta in self.wrong if self.counts[theta] == 0)

    def guarded_by(self, agent: int) -> tuple[int, ...]:
        """The wrong hypotheses that this agent alone rejects.

        Raises
        ------
        ValueError
            If there is no such agent.
        """
        number = as_integer("agent", agent, minimum=0, maximum=self.agents - 1)
        own = self.signs[self.assignment[number]] > 0
        return tuple(theta for theta in self.wrong if own[theta] and self.counts[theta] == 1)

    @cached_property
    def guards(self) -> IntArray:
        """How many wrong hypotheses each agent alone rejects, shape (N,)."""
        wrong = list(self.wrong)
        alone = (self.signs[:, wrong] > 0) & (self.counts[wrong] == 1)
        return read_only(alone.sum(axis=1).astype(np.int64)[self.assignment])

    @property
    def redundant(self) -> tuple[int, ...]:
        """The agents each of which may fall silent with every rejected hypothesis still rejected.

        Said of each agent by itself, as for `Separation.redundant`.
        """
        return tuple(int(j) for j in np.flatnonzero(self.guards == 0))


@typed
def rejection(
    model: FiniteModel | RationalModel, target: int | str, *, who: Separation | None = None
) -> Rejection:
    """Who rejects what, in a model of doubles or of rationals.

    With doubles, differences within their own rounding error are no rejection; with rationals every
    sign is decided.

    Parameters
    ----------
    who
        The model's `separation`, if it is there already.

    Raises
    ------
    ValueError
        If the target is not one of the hypotheses.

    Examples
    --------
    >>> from theory import FiniteAgent, FiniteModel
    >>> coin = FiniteAgent.from_tables(
    ...     inputs=[1.0], truth=[[0.5, 0.5]], likelihood=[[[0.5, 0.5]], [[0.75, 0.25]]]
    ... )
    >>> found = rejection(FiniteModel.from_agents(["fair", "loaded"], [coin], counts=[2]), 0)
    >>> found.wrong, found.counts.tolist(), found.redundant
    ((1,), [0, 2], (0, 1))
    """
    size = len(model.hypotheses)
    target = as_position("target", target, model.hypotheses)
    signs = _signs(model, target)
    is_optimal = target in model.optimal_hypotheses
    if is_optimal:
        reference = model.optimal_hypotheses
        # θ ∈ Θ* ties with the target at every agent, a sign that is not zero is rounding; and
        # nothing is better than the target.
        signs[:, list(reference)] = 0
        signs = np.maximum(signs, 0).astype(np.int8)
    else:
        groups = (who or separation(model)).groups
        reference = next(members for members in groups if target in members)
    return Rejection(
        target=target,
        reference=reference,
        wrong=tuple(theta for theta in range(size) if theta not in reference),
        assignment=read_only(np.array(model.assignment, dtype=np.int64)),
        signs=read_only(signs),
        is_optimal=is_optimal,
    )


def _signs(model: FiniteModel | RationalModel, target: int) -> NDArray[np.int8]:
    if isinstance(model, FiniteModel):
        return model.comparison(target).signs
    rows = [
        [(row[target] < value) - (value < row[target]) for value in row]
        for row in model.kind_divergences
    ]
    return np.array(rows, dtype=np.int8)
