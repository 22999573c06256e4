"""A problem whose network changes: phases in turn, failing links, agents that come and go."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from peerbayes.messages import check_counts
from peerbayes.problem.specification import ProblemSpecification
from theory import FiniteModel
from theory.changing import ChangingNetwork
from theory.showing import Shown


@dataclass(frozen=True, eq=False)
class ChangingProblem(Shown):
    """A network that changes, and the model of its agents.

    Parameters
    ----------
    name, title
        A short name, and one line about it (possibly empty).
    network, model
        Equally many agents in both.
    specification
        The parsed file; None for problems that have none.
    family, parameters
        For one variant of a built-in: the built-in's name, and what was varied.

    Raises
    ------
    ValueError
        If network and model have different numbers of agents.
    """

    faults: ClassVar[None] = None
    """Nobody is faulty."""

    name: str
    title: str
    network: ChangingNetwork
    model: FiniteModel
    specification: ProblemSpecification | None = None
    family: str = ""
    parameters: Mapping[str, float | int | str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        agents = self.network.agents
        check_counts(self.name, "model", network=agents, described=self.model.agents)
        if not self.family:
            object.__setattr__(self, "family", self.name)

    def _title(self) -> str:
        return f"ChangingProblem {self.name!r}"

    def _facts(self) -> Iterator[tuple[str, object]]:
        if self.title:
            yield "title", self.title
        yield from [("network", self.network), ("model", self.model)]
        yield "hypotheses", self.model.hypotheses
