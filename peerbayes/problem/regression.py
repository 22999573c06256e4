"""A linear-Gaussian problem: a network, and the regression its agents learn together.

Its file has a ``[regression]`` table in place of ``[model]`` (see
`peerbayes.problem.regression_section`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

from peerbayes.messages import check_counts
from peerbayes.problem.changes_section import SequenceNetwork
from peerbayes.problem.entries import placed
from peerbayes.problem.equality import Posed, regression_parts
from peerbayes.problem.specification import RegressionSpecification
from theory import Network
from theory.rational import RationalNetwork
from theory.regression import RegressionAgent, RegressionModel
from theory.regression.rational_model import RationalRegressionModel
from theory.validation import fail

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True, eq=False)
class RegressionProblem(Posed):
    """A network of agents, and the regression they learn.

    Parameters
    ----------
    name, title
        A short name, and one line about it (possibly empty).
    network, regression
        Equally many agents in both.
    specification
        The parsed file, exact numbers included; None for problems made from a data set.
    family, parameters
        For one variant of a built-in: the built-in's name, and what was varied.
    node
        What a central node sees; left out: one sample a round, its input from the test's law.

    Raises
    ------
    ValueError
        If network and regression have different numbers of agents.
    """

    without_file: ClassVar[str] = "a data set"
    """What a problem of this kind comes from if it has no file."""

    name: str
    title: str
    network: Network
    regression: RegressionModel
    specification: RegressionSpecification | None = None
    family: str = ""
    parameters: Mapping[str, float | int | str] = field(default_factory=dict)
    node: RegressionAgent | None = None

    def __post_init__(self) -> None:
        agents = self.network.agents
        check_counts(self.name, "regression", network=agents, described=self.regression.agents)
        if not self.family:
            object.__setattr__(self, "family", self.name)

    def _posed(self) -> tuple[object, ...]:
        return (*regression_parts(self.regression), self.node)

    def _title(self) -> str:
        return f"RegressionProblem {self.name!r}"

    def _facts(self) -> Iterator[tuple[str, object]]:
        if self.title:
            yield "title", self.title
        yield from [("network", self.network), ("regression", self.regression)]
        yield "theta", self.regression.theta

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
    def rational_regression(self) -> RationalRegressionModel:
        """The model with the file's own fractions.

        Raises
        ------
        ValueError
            If there is no file, or its agents have different priors.
        """
        if self.specification is None:
            raise fail(
                self.name, "a problem with a file", "one made from a data set", "use doubles"
            )
        with placed(self.name, "regression", self.specification.regression):
            return self.specification.regression.build_rational()
