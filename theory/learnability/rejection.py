"""Which wrong hypotheses which agents reject, for one target.

Agent j *rejects* θ if its own data speak against it: I_j(θ*, θ) = D_j(θ) − D_j(θ*) > 0. That asks
for more than telling θ and θ* apart (two explanations may be equally far from the truth), and it
decides about K: if θ* is best for every agent, K > 0 on every network as soon as each wrong θ is
rejected by somebody (docs: mathematics/learnability).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from theory.learnability.separation import Separation, separation
from theory.learning import FiniteModel
from theory.rational import RationalModel
from theory.showing import Shown
from theory.typed import typed
from theory.validation import IntArray, as_integer, as_position, read_only


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
