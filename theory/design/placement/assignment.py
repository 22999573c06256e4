"""A placement: which agent holds which data set, and what that is worth."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from theory.design.certificate import Certificate
from theory.design.placement.bounds import RateBound
from theory.learning.model import FiniteModel
from theory.showing import Shown
from theory.validation import IntArray

Objective = Literal["rate", "exponent", "samples"]
Method = Literal["auto", "milp", "exhaustive", "local"]
OBJECTIVES: tuple[Objective, ...] = ("rate", "exponent", "samples")
METHODS: tuple[Method, ...] = ("auto", "milp", "exhaustive", "local")


@dataclass(frozen=True, eq=False)
class Placement(Shown):
    """Who should hold which data set.

    Attributes
    ----------
    objective
        ``"rate"`` (K, maximised), ``"exponent"`` (E, maximised) or ``"samples"`` (rounds that are
        enough for δ, minimised).
    model
        The model with the data sets placed: the same kinds, assigned anew.
    assignment
        Shape (N,): the data set at each agent, named by the agent that held it before.
    target
        The hypothesis that the network shall settle on.
    value
        K or E in nats per round, in floating point, E infinite where errors become impossible;
        or a number of rounds that is proved to be enough, infinite if none is known.
    certificate
        The value beside a bound on that of every placement; None if the value is not finite.
    original
        The value of the placement as it was; not above zero if the network then settled on another
        hypothesis, for the rate.
    worst, worst_assignment
        The value of the worst placement, and it; None where finding it takes long.
    binding
        The wrong hypotheses that are rejected last (for the rate), or likeliest to win.
    method
        ``"exhaustive"``, ``"milp"``, ``"local"``, or ``"none"`` if all placements are alike.
    evaluated
        The placements whose value, or a bound on it, was found; by the solver's search excluded.
    placements
        How many placements differ in who holds what; exchanging equal data sets changes nothing.
    classes
        How many of them are left if those count once that the objective cannot tell apart: agents
        of equal influence for the rate and the exponent, symmetries of W for samples. None where
        counting takes long.
    equivalent
        How many placements are in the class of this one; None as for `classes`.
    ties
        How many classes are as good, to rounding; None if not all were looked at.
    proof
        For the rate, if not all placements were tried: multipliers that bound K by sorting, with
        which anyone can check the certificate, but for the part that is the solver's word alone.
    note
        How the answer came about, in a sentence.
    """

    objective: Objective
    model: FiniteModel
    assignment: IntArray
    target: int
    value: float
    certificate: Certificate | None
    original: float
    worst: float | None
    worst_assignment: IntArray | None
    binding: tuple[int, ...]
    method: str
    evaluated: int
    placements: int
    classes: int | None
    equivalent: int | None
    ties: int | None
    proof: RateBound | None
    note: str

    @property
    def moved(self) -> tuple[int, ...]:
        """The agents that hold another data set than before."""
        return tuple(
            int(i) for i in np.flatnonzero(self.assignment != np.arange(self.model.agents))
        )
