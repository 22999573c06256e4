"""A problem whose network changes: phases in turn, failing links, agents that come and go."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field

from peerbayes.changes_section import SequenceNetwork
from peerbayes.entries import Section
from peerbayes.messages import check_counts
from peerbayes.schema import ProblemSpecification
from theory import FiniteModel, Network
from theory.changing import ChangingNetwork


@dataclass(frozen=True, eq=False)
class ChangingProblem:
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


def is_changing(specification: ProblemSpecification) -> bool:
    """Whether the network of a file changes."""
    section = specification.network
    return isinstance(section, SequenceNetwork) or section.changes is not None


def build_changing_network(
    specification: ProblemSpecification,
    placed: Callable[[str, Section], AbstractContextManager[None]],
) -> ChangingNetwork:
    """The network of a file that changes; `placed` puts the table in front of messages.

    Raises
    ------
    ValueError
        As the network that it describes.
    """
    section = specification.network
    with placed("network", section):
        built = section.build(specification.name)
    if isinstance(section, SequenceNetwork):
        assert not isinstance(built, Network)
        return built
    assert section.changes is not None
    assert isinstance(built, Network)
    with placed("network.changes", section.changes):
        return section.changes.apply(built, section)
