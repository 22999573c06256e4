"""A finite set of hypotheses and what every agent of a network knows about them.

The papers' objects, by their names here (docs: concepts):

========================  =======================================================================
``divergences``           D_j(θ) = E KL(f_j ‖ ℓ_j(θ))
``locally_optimal``       Θ̄_j = argmin_θ D_j(θ)
``optimal_hypotheses``    Θ* = ∩_j Θ̄_j
``information``           I_j(θ*, θ) = D_j(θ) − D_j(θ*) = E z_j(θ*, θ)
``compromise``            argmin_θ Σ_j v_j D_j(θ): what the network settles on when Θ* is empty
``ambiguous_pairs``       pairs of hypotheses that no agent can tell apart
========================  =======================================================================

Agents with the same law share one *kind*, so that a network of 10⁶ agents stores it once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike

from theory.learning.batches import BatchedKinds, as_batches
from theory.learning.finite_agent import Agent, FiniteAgent
from theory.learning.log_ratio import LogRatioLaw
from theory.learning.tables import EPS, UNITS, Comparison, GaussianAgent
from theory.showing import Value
from theory.validation import (
    FloatArray,
    IntArray,
    as_distribution,
    as_float_array,
    as_integer,
    fail,
    read_only,
)

# Comparisons kept, one for each reference hypothesis asked for of late.
_KEPT = 4
# Values of log-ratios kept in all, so that laws of many pairs are not made again: 24 megabytes.
_MOST_ATOMS = 1_000_000
# A better hypothesis than the smallest divergence is found among those within its rounding.
_MOST_GUESSES = 64
# Pairs of hypotheses with the same claims that are listed one by one.
_MOST_ALIKE = 1_000_000


def _alike(kinds: Sequence[Agent], hypotheses: int) -> list[list[int]]:
    """Groups that hold every pair which no agent can tell apart, and few others.

    Sorted by one claim after the other: two hypotheses between which some claim has a gap wider
    than rounding are told apart.
    """
    label = np.zeros(hypotheses, dtype=np.int64)
    for kind in kinds:
        table = kind.log_likelihoods if isinstance(kind, FiniteAgent) else kind.means
        used = table if isinstance(kind, FiniteAgent) else table[:, kind.inputs > 0]
        for claim in used.reshape(hypotheses, -1).T:
            order = np.lexsort((claim, label))
            sizes = np.abs(claim[order])
            slack = 1e-14 * (1.0 + np.maximum(sizes[1:], sizes[:-1]))
            apart = (np.diff(claim[order]) > slack) | (np.diff(label[order]) > 0)
            label[order] = np.concatenate([[0], np.cumsum(apart)])
            if label.max() == hypotheses - 1:
                return []
    order = np.argsort(label, kind="stable")
    groups = np.split(order, np.flatnonzero(np.diff(label[order])) + 1)
    pairs = sum(group.size * (group.size - 1) // 2 for group in groups)
    if pairs > _MOST_ALIKE:
        raise fail(
            "hypotheses",
            f"at most {_MOST_ALIKE} pairs that no agent tells apart",
            f"about {pairs}",
            "leave out hypotheses that claim the same",
        )
    return [group.tolist() for group in groups if group.size > 1]


@dataclass(frozen=True, eq=False)
class FiniteModel(Value):
    """Hypotheses, agents' laws and priors.

    Parameters
    ----------
    hypotheses
        M distinct names.
    kinds
        The K distinct agents.
    assignment
        Shape (N,): which kind each agent is.
    log_priors
        Shape (K, M): the log prior of each kind; every prior is positive.

    Raises
    ------
    ValueError
        If there are fewer than two hypotheses, names repeat, an agent counts other hypotheses, an
        index is out of range, or a prior is zero somewhere.
    """

    hypotheses: tuple[str, ...]
    kinds: tuple[Agent, ...]
    assignment: IntArray
    log_priors: FloatArray

    def __post_init__(self) -> None:
        names = tuple(str(name) for name in self.hypotheses)
        if len(names) < 2 or len(set(names)) != len(names):
            raise fail(
                "hypotheses", "at least two distinct names", list(names), "name each one once"
            )
        kinds = tuple(self.kinds)
        if not kinds:
            raise fail("agents", "at least one agent", "none", "describe the agents")
        for index, kind in enumerate(kinds):
            if not isinstance(kind, FiniteAgent | GaussianAgent):
                raise fail(
                    f"agents[{index}]",
                    "a FiniteAgent or a GaussianAgent",
                    type(kind).__name__,
                    "build it with FiniteAgent.from_tables",
                )
            if kind.hypotheses != len(names):
                raise fail(
                    f"agents[{index}]",
                    f"likelihoods for {len(names)} hypotheses",
                    f"{kind.hypotheses}",
                    "give one likelihood per hypothesis",
                )
        assignment = np.array(self.assignment, dtype=np.int64)
        if assignment.ndim != 1 or assignment.size == 0:
            raise fail(
                "assignment", "one kind per agent", f"shape {assignment.shape}", "list the kinds"
            )
        if assignment.min() < 0 or assignment.max() >= len(kinds):
            raise fail(
                "assignment",
                f"kinds from 0 to {len(kinds) - 1}",
                f"{assignment.min()} to {assignment.max()}",
                "name an existing kind",
            )
        log_priors = as_float_array("log_priors", self.log_priors, ndim=2)
        if log_priors.shape != (len(kinds), len(names)):
            raise fail(
                "log_priors",
                f"shape {(len(kinds), len(names))}",
                f"shape {log_priors.shape}",
                "give one prior per kind of agent and hypothesis",
            )
        object.__setattr__(self, "hypotheses", names)
        object.__setattr__(self, "kinds", kinds)
        object.__setattr__(self, "assignment", read_only(assignment))
        object.__setattr__(self, "log_priors", log_priors)

    @classmethod
    def from_agents(
        cls,
        hypotheses: Sequence[str],
        agents: Sequence[Agent],
        *,
        counts: Sequence[int] | None = None,
        priors: Sequence[ArrayLike | None] | None = None,
    ) -> FiniteModel:
        """Agents in a row, each repeated `counts` times (once if left out).

        `priors` holds one distribution of shape (M,) for each entry, or None for uniform.

        Raises
        ------
        ValueError
            As for the class, or if `counts` or `priors` have another length than `agents`.
        """
        repeats = [1] * len(agents) if counts is None else list(counts)
        given = [None] * len(agents) if priors is None else list(priors)
        for argument, values in (("counts", repeats), ("priors", given)):
            if len(values) != len(agents):
                raise fail(
                    argument,
                    f"one per entry of agents, {len(agents)}",
                    len(values),
                    "match the lengths",
                )
        repeats = [as_integer(f"counts[{k}]", c, minimum=1) for k, c in enumerate(repeats)]
        logs = np.full((len(agents), len(hypotheses)), -np.log(max(1, len(hypotheses))))
        for index, prior in enumerate(given):
            if prior is None:
                continue
            row = as_distribution(f"priors[{index}]", prior)
            if row.size != len(hypotheses) or (row == 0).any():
                raise fail(
                    f"priors[{index}]",
                    f"{len(hypotheses)} positive probabilities",
                    row.tolist(),
                    "a hypothesis of prior zero is never learnt: give it some mass",
                )
            logs[index] = np.log(row)
        assignment = np.repeat(np.arange(len(agents)), repeats)
        return cls(tuple(hypotheses), tuple(agents), assignment, logs)

    def _title(self) -> str:
        return f"FiniteModel, {self.agents} agents, {len(self.hypotheses)} hypotheses"

    @property
    def agents(self) -> int:
        """The number N of agents."""
        return int(self.assignment.size)

    def batched(self, batch: int | Sequence[int]) -> FiniteModel:
        """The model whose agents draw `batch` independent observations a round in place of one.

        One number for all agents, or one for each of the N.

        Raises
        ------
        ValueError
            If a number is not whole and at least 1, there is not one for each agent, or a batch is
            too large for its agent (`FiniteAgent.batched`, `GaussianAgent`).

        Examples
        --------
        >>> coin = FiniteAgent.from_tables(
        ...     truth=[[0.5, 0.5]], likelihood=[[[0.5, 0.5]], [[0.75, 0.25]]]
        ... )
        >>> model = FiniteModel.from_agents(["fair", "loaded"], [coin], counts=[2])
        >>> model.batched([1, 4]).divergences[:, 1].round(4).tolist()
        [0.1438, 0.5754]
        """
        sizes = as_batches(batch, self.agents)
        found = BatchedKinds.of(self.assignment.tolist(), sizes, len(self.kinds))
        return FiniteModel(
            self.hypotheses,
            tuple(self.kinds[k].batched(b) for k, b in found.pairs),
            np.array(found.assignment, dtype=np.int64),
            self.log_priors[[k for k, _ in found.pairs]],
        )

    @property
    def batches(self) -> IntArray:
        """How many observations each agent draws a round, shape (N,)."""
        return np.array([kind.batch for kind in self.kinds], dtype=np.int64)[self.assignment]

    @cached_property
    def kind_divergences(self) -> FloatArray:
        """D(θ) of each kind, shape (K, M), in nats."""
        return read_only(np.array([kind.divergences for kind in self.kinds]))

    @property
    def divergences(self) -> FloatArray:
        """D_j(θ) of each agent, shape (N, M), in nats."""
        return self.kind_divergences[self.assignment]

    @cached_property
    def locally_optimal(self) -> tuple[tuple[int, ...], ...]:
        """Θ̄ of each *kind*: the hypotheses closest to that agent's truth.

        Ties included, and pairs that doubles do not tell apart (see `comparison`).
        """
        return tuple(
            _minimisers(int(row.argmin()), kind.compare)
            for row, kind in zip(self.kind_divergences, self.kinds, strict=True)
        )

    @cached_property
    def optimal_hypotheses(self) -> tuple[int, ...]:
        """Θ* = ∩_j Θ̄_j, possibly empty (P1 section 2.1)."""
        present = np.unique(self.assignment)
        common = set(range(len(self.hypotheses)))
        for kind in present:
            common &= set(self.locally_optimal[kind])
        return tuple(sorted(common))

    def weighted_divergences(self, weights: ArrayLike) -> FloatArray:
        """Σ_j w_j D_j(θ), shape (M,), for one weight per agent."""
        return self.kind_weights(weights) @ self.kind_divergences

    def kind_weights(self, weights: ArrayLike) -> FloatArray:
        """Each kind's total weight, shape (K,), for one weight per agent.

        Raises
        ------
        ValueError
            If there is not one weight per agent.
        """
        values = as_float_array("weights", weights, ndim=1)
        if values.size != self.agents:
            raise fail(
                "weights",
                f"one weight for each of {self.agents} agents",
                values.size,
                "use a network with as many agents as the model",
            )
        totals = np.bincount(self.assignment, weights=values, minlength=len(self.kinds))
        return totals.astype(np.float64)

    def compromise(self, weights: ArrayLike) -> tuple[int, ...]:
        """argmin_θ Σ_j w_j D_j(θ), ties included (docs: mathematics/rate).

        So are hypotheses that doubles do not tell apart.
        """
        totals = self.weighted_divergences(weights)
        return _minimisers(int(totals.argmin()), lambda m: self.weighted_comparison(weights, m))

    def weighted_comparison(self, weights: ArrayLike, best: int) -> Comparison:
        """Σ_j w_j I_j(best, θ), shape (M,), for weights right to about N roundings each."""
        relative = (UNITS + self.agents) * EPS
        return self.comparison(best).weighed(self.kind_weights(weights), relative=relative)

    def reference_hypotheses(self, weights: ArrayLike) -> tuple[int, ...]:
        """What the network settles on: Θ*, or the compromise under `weights` if Θ* is empty."""
        return self.optimal_hypotheses or self.compromise(weights)

    def information(self, best: int) -> FloatArray:
        """I_j(best, θ) = D_j(θ) − D_j(best), shape (N, M), in nats per observation.

        Negative where agent j's own data speak for θ.
        """
        return self.comparison(best).values[self.assignment]

    def comparison(self, best: int) -> Comparison:
        """I(best, θ) of each kind, shape (K, M), with what rounding may have done to each."""
        if best not in self._comparisons:
            while len(self._comparisons) >= _KEPT:
                del self._comparisons[next(iter(self._comparisons))]
            rows = [kind.compare(best) for kind in self.kinds]
            self._comparisons[best] = Comparison(
                read_only(np.array([row.values for row in rows])),
                read_only(np.array([row.doubt for row in rows])),
            )
        return self._comparisons[best]

    @cached_property
    def _comparisons(self) -> dict[int, Comparison]:
        return {}

    def log_ratio_laws(self, best: int, other: int) -> tuple[LogRatioLaw, ...]:
        """The law of z(best, other) for each kind, length K."""
        known = self._laws.get((best, other))
        if known is None:
            known = tuple(kind.log_ratio_law(best, other) for kind in self.kinds)
            atoms = sum(law.means.size for law in known)
            if 2 * len(self.hypotheses) * atoms <= _MOST_ATOMS:
                while len(self._laws) >= 2 * len(self.hypotheses):
                    del self._laws[next(iter(self._laws))]
                self._laws[best, other] = known
        return known

    @cached_property
    def _laws(self) -> dict[tuple[int, int], tuple[LogRatioLaw, ...]]:
        return {}

    @cached_property
    def ambiguous_pairs(self) -> tuple[tuple[int, int], ...]:
        """Pairs (θ, θ') with z_j(θ, θ') = 0 for every observation of every agent.

        No network and no amount of data separates them.
        """
        present = [self.kinds[k] for k in np.unique(self.assignment)]
        pairs = [
            pair
            for group in _alike(present, len(self.hypotheses))
            for pair in combinations(group, 2)
        ]
        return tuple(
            sorted(
                (a, b) for a, b in pairs if all(kind.indistinguishable(a, b) for kind in present)
            )
        )

    @cached_property
    def log_ratio_bound(self) -> float:
        """C = log(L/α) over all agents (P1 Theorem 1): |z| ≤ C; infinite if α = 0."""
        if any(kind.batch > 1 for kind in self.kinds):
            return self._log_bound_of_batches()
        bounds = [kind.likelihood_bounds for kind in self.kinds]
        lower, upper = min(b.lower for b in bounds), max(b.upper for b in bounds)
        return float(np.log(upper) - np.log(lower)) if lower > 0 else np.inf

    def _log_bound_of_batches(self) -> float:
        """The same without powers α^B, which would underflow."""
        tables = [kind.log_likelihoods for kind in self.kinds if isinstance(kind, FiniteAgent)]
        if len(tables) < len(self.kinds):
            return np.inf
        return float(max(t.max() for t in tables) - min(t.min() for t in tables))


def _minimisers(guess: int, compare: Callable[[int], Comparison]) -> tuple[int, ...]:
    """The hypotheses that are not decidedly worse than the best one, looked for from a guess."""
    for _ in range(_MOST_GUESSES):
        comparison = compare(guess)
        better = np.flatnonzero(comparison.signs < 0)
        if not better.size:
            break
        guess = int(better[comparison.values[better].argmin()])
    tied = comparison.signs <= 0
    tied[guess] = True
    return tuple(int(m) for m in np.flatnonzero(tied))
