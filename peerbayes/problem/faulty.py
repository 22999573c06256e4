"""A problem in which some agents are broken or lie, and the others pool by a rule."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from peerbayes.problem.finite import Problem
from peerbayes.problem.specification import ProblemSpecification
from theory import FiniteModel, Network
from theory.robustness import Behaviour, Rule, check_tolerance
from theory.robustness.faults import checked_faults


@dataclass(frozen=True, eq=False)
class FaultyProblem:
    """A problem, who is faulty, and how the honest agents pool.

    Parameters
    ----------
    problem
        The network and the model, as if nobody were faulty.
    faults
        What each faulty agent does.
    rule
        How honest agents pool.
    pool_every
        They observe each round, and talk in every so-many-th.
    beyond_tolerance
        Whether more agents may be faulty than the rule tolerates.

    Raises
    ------
    ValueError
        If a fault does not fit, or there are more than the rule tolerates.
    """

    problem: Problem
    faults: Mapping[int, Behaviour]
    rule: Rule
    pool_every: int = 1
    beyond_tolerance: bool = False

    def __post_init__(self) -> None:
        checked = checked_faults(self.problem.network, self.problem.model, self.faults)
        if not self.beyond_tolerance:
            check_tolerance(self.problem.network, checked, self.rule)
        object.__setattr__(self, "faults", checked)

    @property
    def name(self) -> str:
        """The problem's short name."""
        return self.problem.name

    @property
    def title(self) -> str:
        """One line about it, possibly empty."""
        return self.problem.title

    @property
    def family(self) -> str:
        """The built-in it is a variant of, or its own name."""
        return self.problem.family

    @property
    def parameters(self) -> Mapping[str, float | int | str]:
        """What is varied in a variant of a built-in."""
        return self.problem.parameters

    @property
    def network(self) -> Network:
        """Who hears whom."""
        return self.problem.network

    @property
    def model(self) -> FiniteModel:
        """What the agents see."""
        return self.problem.model

    @property
    def specification(self) -> ProblemSpecification | None:
        """The parsed file; None if there is none."""
        return self.problem.specification
