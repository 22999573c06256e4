"""E of many placements at once."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from theory.design.placement.placement_problem import PlacementProblem
from theory.learning.log_ratio import LogRatioLaw
from theory.validation import FloatArray, IntArray

# Rows that one call of the compiled loop takes.
_BLOCK = 20_000


@dataclass(frozen=True, eq=False)
class Exponents:
    """The exponents of a problem's placements, in nats per round, accurate to rounding."""

    problem: PlacementProblem

    @cached_property
    def laws(self) -> tuple[tuple[LogRatioLaw, ...], ...]:
        """z(target, θ) of each sort, atoms of equal value joined: H tuples of length S."""
        kinds = [self.problem.model.kinds[k] for k in self.problem.representatives]
        return tuple(
            tuple(_joined(kind.log_ratio_law(self.problem.best, theta)) for kind in kinds)
            for theta in self.problem.wrong
        )

    @cached_property
    def atoms(self) -> int:
        """How many atoms the laws of one hypothesis have together, at most."""
        return max(sum(law.means.size for law in laws) for laws in self.laws)

    @cached_property
    def _tables(self) -> tuple[IntArray, FloatArray, FloatArray]:
        sizes = np.array([[law.means.size for law in laws] for laws in self.laws])
        ends = np.cumsum(sizes.ravel()).reshape(sizes.shape)
        first = np.hstack([ends[:, :1] - sizes[:, :1], ends]).astype(np.int64)
        flat = [law for laws in self.laws for law in laws]
        atoms = np.array(
            [
                np.concatenate([law.probabilities for law in flat]),
                np.concatenate([law.means for law in flat]),
                np.concatenate([law.variances for law in flat]),
            ]
        )
        facts = np.array([[_facts(law) for law in laws] for laws in self.laws])
        return first, atoms, np.ascontiguousarray(facts.transpose(0, 2, 1))

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
                *self._tables,
                above,
            )
            for start in range(0, len(fillings), _BLOCK)
        ]
        return np.concatenate(parts)

    def by_hypothesis(self, filling: IntArray) -> FloatArray:
        """E of one filling against each wrong hypothesis, shape (H,)."""
        from theory.design.placement.decay_kernels import largest_decay

        sorts = self.problem.everywhere(filling[None])[0]
        first, atoms, facts = self._tables
        return np.array(
            [
                largest_decay(sorts, self.problem.influence, first[h], atoms, facts[h])
                for h in range(len(first))
            ]
        )


def _facts(law: LogRatioLaw) -> tuple[float, ...]:
    chance = law.probability_of_minimum
    log = float(np.log(chance)) if chance else 0.0
    return law.mean, law.variance, law.minimum, log, float(law.mean_cancels)


def _joined(law: LogRatioLaw) -> LogRatioLaw:
    """The same law, atoms of equal mean and variance made one."""
    pairs = np.column_stack([law.means, law.variances])
    values, where = np.unique(pairs, axis=0, return_inverse=True)
    probabilities = np.bincount(where.ravel(), weights=law.probabilities)
    shares = probabilities / probabilities.sum()
    return LogRatioLaw(shares, values[:, 0], values[:, 1], law.terms, law.known_mean)
