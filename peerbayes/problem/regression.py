"""A linear-Gaussian problem: a network, and the regression its agents learn together.

Its file has a ``[regression]`` table in place of ``[model]`` (see
`peerbayes.problem.regression_section`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

from peerbayes.problem.entries import placed
from peerbayes.problem.posed import PosedFixed, regression_parts
from peerbayes.problem.specification import RegressionSpecification
from theory import Network
from theory.regression import RegressionAgent, RegressionModel
from theory.regression.rational_model import RationalRegressionModel
from theory.validation import fail


@dataclass(frozen=True, eq=False)
class RegressionProblem(PosedFixed):
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
        self._check("regression", self.regression.agents)

    def _posed(self) -> tuple[object, ...]:
        return (*regression_parts(self.regression), self.node)

    def _facts(self) -> Iterator[tuple[str, object]]:
        yield from self._heading("regression")
        yield "theta", self.regression.theta

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
            return self.specification.build_rational_regression()
