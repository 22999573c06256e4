"""A problem: a network and what its agents see, as value objects.

A problem comes from a file (`read_problem`), from a parsed document (`problem_from_document`) or
from a built-in (`peerbayes.builtin`). Bad input ends in a ``ValueError`` of one line: file, place,
expected, got, remedy. The keys of a file are described in docs: reference/problem-files, and by
the JSON schema that ``peerbayes schema problem`` prints.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from peerbayes.changes_section import SequenceNetwork
from peerbayes.changing_problem import (
    ChangingProblem,
    build_changing_network,
    is_changing,
)
from peerbayes.documents import read_document
from peerbayes.entries import Section
from peerbayes.messages import check_counts, input_error, translate
from peerbayes.schema import SECTIONS, ProblemSpecification
from theory import FiniteModel, Network
from theory.rational import RationalModel, RationalNetwork

if TYPE_CHECKING:
    from peerbayes.problems import AnyProblem


@dataclass(frozen=True, eq=False)
class Problem:
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


def read_problem(path: str | Path) -> AnyProblem:
    """The problem that a TOML or JSON file describes.

    Raises
    ------
    ValueError
        For anything wrong with the file, in one line that names the file and the place.
    """
    path = Path(path)
    document = read_document(path)
    return problem_from_document({"name": path.stem, **document}, source=str(path))


def problem_from_document(
    document: Mapping[str, Any],
    *,
    source: str = "",
    family: str = "",
    parameters: Mapping[str, float | int | str] | None = None,
) -> AnyProblem:
    """The problem that a parsed document describes; `source` names it in error messages.

    Raises
    ------
    ValueError
        For anything wrong with the document, in one line that names the place.

    Examples
    --------
    >>> problem = problem_from_document({
    ...     "name": "coins",
    ...     "network": {"weights": [["9/10", "1/10"], ["3/5", "2/5"]]},
    ...     "model": {
    ...         "hypotheses": ["fair", "loaded"],
    ...         "agents": [{
    ...             "count": 2,
    ...             "truth": "fair",
    ...             "likelihood": [[["1/2", "1/2"]], [["3/4", "1/4"]]],
    ...         }],
    ...     },
    ... })
    >>> problem.network.agents, problem.is_exact
    (2, True)
    """
    if "regression" in document:
        from peerbayes.regression_problem import regression_from_document

        return regression_from_document(
            document, source=source, family=family, parameters=parameters
        )
    if set(document) <= {"name", "title", "network"} and "network" in document:
        wanted = "the key 'model', or 'regression'"
        raise input_error(source, ("model",), wanted, "none", "add it")
    try:
        specification = ProblemSpecification.model_validate(dict(document))
    except ValidationError as error:
        raise translate(error, source=source, sections=SECTIONS) from None
    if is_changing(specification):
        return _changing(specification, source=source, family=family, parameters=parameters)
    with placed(source, "network", specification.network):
        network = specification.network.build(specification.name)
    assert isinstance(network, Network)
    _check_agents(source, specification, network.agents)
    with placed(source, "model", specification.model):
        model = specification.model.build()
    problem = Problem(
        name=specification.name,
        title=specification.title or "",
        network=network,
        model=model,
        specification=specification,
        family=family,
        parameters=dict(parameters or {}),
    )
    if specification.faults is None:
        return problem
    from peerbayes.faulty_problem import FaultyProblem

    with placed(source, "faults", specification.faults):
        return FaultyProblem.from_section(problem, specification.faults)


def _changing(
    specification: ProblemSpecification,
    *,
    source: str,
    family: str,
    parameters: Mapping[str, float | int | str] | None,
) -> ChangingProblem:
    """The problem of a file whose network changes."""
    if specification.faults is not None:
        wanted = "a network that stays the same"
        remedy = "leave out [faults], or what changes"
        raise input_error(source, ("faults",), wanted, "one that changes", remedy)
    network = build_changing_network(specification, partial(placed, source))
    _check_agents(source, specification, network.agents)
    with placed(source, "model", specification.model):
        model = specification.model.build()
    return ChangingProblem(
        name=specification.name,
        title=specification.title or "",
        network=network,
        model=model,
        specification=specification,
        family=family,
        parameters=dict(parameters or {}),
    )


def _check_agents(source: str, specification: ProblemSpecification, agents: int) -> None:
    described = specification.model.agent_count
    if described != agents:
        raise input_error(
            source,
            ("model", "agents"),
            f"{agents} agents, as many as the network has",
            f"{described} (the sum of the counts)",
            "change a count in [[model.agents]], or the network",
        )


@contextmanager
def placed(source: str, place: str, section: Section) -> Iterator[None]:
    """Put file and table in front of the messages of the floors below."""
    try:
        yield
    except ValueError as error:
        text = str(error)
        key = text.partition(":")[0].partition("[")[0]
        joint = "." if key in type(section).model_fields else ": "
        prefix = f"{source}: " if source else ""
        raise ValueError(f"{prefix}{place}{joint}{text}") from None
