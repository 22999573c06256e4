"""A problem in which some agents are broken or lie, and the others pool by a rule."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from peerbayes.faults_section import FaultsSection
from peerbayes.problem import Problem
from peerbayes.schema import ProblemSpecification
from theory import FiniteModel, Network
from theory.robustness import Behaviour, Faults
from theory.robustness.faults import checked_faults
from theory.validation import fail


@contextmanager
def _entry(index: int) -> Iterator[None]:
    """Put the entry of [[faults.agents]] in front of a message about one agent's fault."""
    try:
        yield
    except ValueError as error:
        text = re.sub(r"^faults\[\d+\]\.", "", str(error))
        raise ValueError(f"agents[{index}].{text}") from None


@dataclass(frozen=True, eq=False)
class FaultyProblem:
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

    problem: Problem
    faults: Faults

    def __post_init__(self) -> None:
        fitted = self.faults.fitted(self.problem.network, self.problem.model)
        object.__setattr__(self, "faults", fitted)

    @classmethod
    def from_section(cls, problem: Problem, section: FaultsSection) -> FaultyProblem:
        """The problem of a file with a table of faults.

        Raises
        ------
        ValueError
            As the class.
        """
        faults: dict[int, Behaviour] = {}
        for k, fault in enumerate(section.agents):
            behaviour = fault.build()
            for index, agent in enumerate(fault.agents):
                if agent >= problem.network.agents:
                    wanted = f"an agent from 0 to {problem.network.agents - 1}"
                    raise fail(f"agents[{k}].agents[{index}]", wanted, agent, "correct it")
                faults[agent] = behaviour
                if len(faults) < problem.network.agents:
                    with _entry(k):
                        checked_faults(problem.network, problem.model, {agent: behaviour})
        among = Faults(
            faults,
            section.build_rule(),
            pool_every=section.pool_every,
            beyond_tolerance=section.beyond_tolerance,
        )
        return cls(problem, among)

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
