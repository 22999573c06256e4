"""A problem in which some agents are broken or lie, and the others pool by a rule."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from peerbayes.problem.finite import Problem
from peerbayes.problem.posed import Posed
from peerbayes.problem.specification import ProblemSpecification
from theory import FiniteModel, Network
from theory.robustness import Faults
from theory.validation import fail

if TYPE_CHECKING:
    from peerbayes.documents import GraphDocument


@dataclass(frozen=True, eq=False)
class FaultyProblem(Posed):
    """A problem, who is faulty, and how the honest agents pool.

    Parameters
    ----------
    problem
        The network and the model, as if nobody were faulty.
    faults
        What each faulty agent does, and how honest agents pool.

    Raises
    ------
    ValueError
        If a fault does not fit, or there are more than the rule tolerates.
    """

    messages: ClassVar[None] = None
    """Beliefs are sent as they are."""

    problem: Problem
    faults: Faults

    def __post_init__(self) -> None:
        if self.problem.messages is not None:
            got = self.problem.messages.name
            raise fail("messages", "none where agents are faulty", got, "leave out one of the two")
        if self.faults.against is not None:
            wanted = "faults that act on every pair of hypotheses"
            raise fail("faults.against", wanted, self.faults.against, "leave it out of a problem")
        fitted = self.faults.fitted(self.problem.network, self.problem.model)
        object.__setattr__(self, "faults", fitted)

    def _posed(self) -> tuple[object, ...]:
        return (*self.problem._posed(), self.faults)

    def _facts(self) -> Iterator[tuple[str, object]]:
        yield from self.problem._facts()
        yield "faulty", {i: type(fault).__name__ for i, fault in self.faults.behaviours.items()}
        yield "rule", self.faults.rule

    def _graph(self) -> GraphDocument:
        from peerbayes.documents import GraphDocument

        return GraphDocument.of(self.network, marked=tuple(self.faults.behaviours))

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
