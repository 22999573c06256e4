"""A linear-Gaussian problem: a network, and the regression its agents learn together.

The file has a ``[regression]`` table in place of ``[model]`` (`peerbayes.regression_section`).
Bad input ends in a ``ValueError`` of one line: file, place, expected, got, remedy.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from pydantic import ValidationError

from peerbayes.changes_section import SequenceNetwork
from peerbayes.entries import Section
from peerbayes.messages import check_counts, input_error, translate
from peerbayes.problem import placed
from peerbayes.schema import SECTIONS, RegressionSpecification
from theory import Network
from theory.rational import RationalNetwork
from theory.regression import RegressionAgent, RegressionModel
from theory.regression.rational_model import RationalRegressionModel
from theory.validation import fail


@dataclass(frozen=True, eq=False)
class RegressionProblem:
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


def regression_from_document(
    document: Mapping[str, Any],
    *,
    source: str = "",
    family: str = "",
    parameters: Mapping[str, float | int | str] | None = None,
) -> RegressionProblem:
    """The problem that a parsed document with a ``[regression]`` table describes.

    Raises
    ------
    ValueError
        For anything wrong with the document, in one line that names the place.

    Examples
    --------
    >>> problem = regression_from_document({
    ...     "name": "line",
    ...     "network": {"weights": [["9/10", "1/10"], ["3/5", "2/5"]]},
    ...     "regression": {
    ...         "theta": ["-0.3", "0.5"], "noise_std": "0.8", "prior_variance": "1/2",
    ...         "agents": [{"count": 2, "ranges": [["1", "1"], ["-1", "1"]]}],
    ...         "test_ranges": [["1", "1"], ["-1", "1"]],
    ...     },
    ... })
    >>> problem.regression.dimension, problem.is_exact
    (2, True)
    """
    if "model" in document:
        wanted = "exactly one of the tables model, regression"
        raise input_error(source, (), wanted, "both", "keep one of them")
    try:
        specification = RegressionSpecification.model_validate(dict(document))
    except ValidationError as error:
        sections: dict[str, type[Section]] = {**SECTIONS, "": RegressionSpecification}
        raise translate(error, source=source, sections=sections) from None
    section = specification.network
    if isinstance(section, SequenceNetwork) or section.changes is not None:
        key = "sequence" if isinstance(section, SequenceNetwork) else "changes"
        wanted = "a network that stays as it is, for a regression"
        raise input_error(source, ("network", key), wanted, key, "give weights that do not change")
    with placed(source, "network", section):
        network = section.build(specification.name)
    described = specification.regression.agent_count
    if described != network.agents:
        raise input_error(
            source,
            ("regression", "agents"),
            f"{network.agents} agents, as many as the network has",
            f"{described} (the sum of the counts)",
            "change a count in [[regression.agents]], or the network",
        )
    with placed(source, "regression", specification.regression):
        regression = specification.regression.build()
    return RegressionProblem(
        name=specification.name,
        title=specification.title or "",
        network=network,
        regression=regression,
        specification=specification,
        family=family,
        parameters=dict(parameters or {}),
    )
