"""A problem with finitely many hypotheses on a network that stays as it is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

from peerbayes.messages import check_counts
from peerbayes.problem.changes_section import SequenceNetwork
from peerbayes.problem.equality import Posed, finite_parts
from peerbayes.problem.specification import ProblemSpecification
from theory import FiniteModel, Network
from theory.rational import RationalModel, RationalNetwork

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True, eq=False)
class Problem(Posed):
    """A network of agents, and their model.

    Parameters
    ----------
    name, title
        A short name, and one line about it (possibly empty).
    network, model
        Equally many agents in both.
    specification
        The parsed file, exact numbers included; None for problems whose model was learnt from
        data and has no file.
    family, parameters
        For one variant of a built-in: the built-in's name, and what was varied.

    Raises
    ------
    ValueError
        If network and model have different numbers of agents.
    """

    faults: ClassVar[None] = None
    """Nobody is faulty."""
    without_file: ClassVar[str] = "hypotheses that were learnt from data"
    """What a problem of this kind comes from if it has no file."""

    name: str
    title: str
    network: Network
    model: FiniteModel
    specification: ProblemSpecification | None = None
    family: str = ""
    parameters: Mapping[str, float | int | str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        agents = self.network.agents
        check_counts(self.name, "model", network=agents, described=self.model.agents)
        if not self.family:
            object.__setattr__(self, "family", self.name)

    def _posed(self) -> tuple[object, ...]:
        return finite_parts(self.model)

    def _title(self) -> str:
        return f"Problem {self.name!r}"

    def _facts(self) -> Iterator[tuple[str, object]]:
        if self.title:
            yield "title", self.title
        yield from [("network", self.network), ("model", self.model)]
        yield "hypotheses", self.model.hypotheses

    def plot(self, ax: Axes | None = None) -> Axes:
        """The network: the area of an agent is proportional to its share v of the decision.

        Drawn on `ax`, or on new axes, which are returned.
        """
        from peerbayes.documents import GraphDocument
        from peerbayes.figures.graph import network_plot
        from peerbayes.figures.own_axes import on_axes

        graph = GraphDocument.of(self.network)
        return on_axes(lambda axes: network_plot(graph, axes=axes), ax)

    @property
    def is_exact(self) -> bool:
        """Whether every number of the problem is an exact rational."""
        return self.specification is not None and self.specification.is_exact

    @cached_property
    def rational_network(self) -> RationalNetwork:
        """The network with the file's own fractions; doubles are read as binary fractions.

        Raises
        ------
        ValueError
            If there are more than 1000 agents.
        """
        if self.specification is None:
            return RationalNetwork.from_network(self.network)
        section = self.specification.network
        assert not isinstance(section, SequenceNetwork)
        return section.build_rational(self.specification.name)

    @cached_property
    def rational_model(self) -> RationalModel:
        """The model with the file's own fractions; doubles are read as binary fractions."""
        if self.specification is None:
            return RationalModel.from_model(self.model)
        return self.specification.model.build_rational()
