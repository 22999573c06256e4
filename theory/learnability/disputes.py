"""Where agents' own data speak for something else than what the network settles on.

If no hypothesis is best for every agent, the network settles on a compromise, and some agents are
outvoted: I_j(θ*, θ) < 0 means that agent j alone would move from θ* to θ. How strongly the network
is divided about θ is

    support(θ) = Σ_j v_j max(−I_j(θ*, θ), 0),

the part of the evidence that points to θ; Σ_j v_j I_j(θ*, θ) is what is left of the rest. All of it
is zero if and only if θ* is best for every agent (docs: mathematics/learnability).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from theory.learning import FiniteModel
from theory.showing import Shown
from theory.typed import typed
from theory.validation import FloatArray, IntArray, as_integer, as_position, read_only


@dataclass(frozen=True, eq=False)
class Disputes(Shown):
    """How the agents' evidence divides; floating point, in nats per round.

    Attributes
    ----------
    target
        θ*: what the network settles on, or shall settle on.
    information
        Shape (K, M): I(θ*, θ) of each kind, zero where doubles do not tell its sign.
    assignment
        Shape (N,): which kind each agent is.
    support, opposition
        Shape (M,): Σ_j v_j max(−I_j, 0), the evidence for θ, and Σ_j v_j max(I_j, 0), that against
        it. Their difference is the rate at which the network rejects θ.
    """

    target: int
    information: FloatArray
    assignment: IntArray
    support: FloatArray
    opposition: FloatArray

    @property
    def most_disputed(self) -> int | None:
        """The hypothesis with the largest support; None if the target is best for every agent."""
        return int(self.support.argmax()) if self.support.any() else None

    def supporters(self, theta: int) -> IntArray:
        """The agents whose own data prefer `theta` to the target, in order.

        Raises
        ------
        ValueError
            If there is no such hypothesis.
        """
        last = self.information.shape[1] - 1
        number = as_integer("theta", theta, minimum=0, maximum=last)
        return np.flatnonzero(self.information[self.assignment, number] < 0)


@typed
def disputes(model: FiniteModel, influence: ArrayLike, target: int | str) -> Disputes:
    """How the agents' evidence divides over the hypotheses, at an influence v.

    Parameters
    ----------
    influence
        v, shape (N,).
    target
        The hypothesis that the others are compared with.

    Raises
    ------
    ValueError
        If there is not one weight per agent, or no such hypothesis.

    Examples
    --------
    >>> from theory import FiniteAgent, FiniteModel
    >>> left, right = [0.75, 0.25], [0.25, 0.75]
    >>> north, south = (
    ...     FiniteAgent.from_tables(inputs=[1.0], truth=[own], likelihood=[[left], [right]])
    ...     for own in (left, right)
    ... )
    >>> model = FiniteModel.from_agents(["left", "right"], [north, south])
    >>> found = disputes(model, [0.75, 0.25], 0)
    >>> found.most_disputed, found.supporters(1).tolist(), found.support.round(4).tolist()
    (1, [1], [0.0, 0.1373])
    """
    target = as_position("target", target, model.hypotheses)
    weights = model.kind_weights(influence)
    gap = model.comparison(target).settled
    return Disputes(
        target=target,
        information=read_only(gap),
        assignment=model.assignment,
        support=read_only(weights @ np.maximum(-gap, 0.0)),
        opposition=read_only(weights @ np.maximum(gap, 0.0)),
    )
