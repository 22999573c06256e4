"""Every kind of problem that a file or a built-in may describe."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, TypeAlias, TypeVar

import numpy as np

from peerbayes.documents import GraphDocument, names_of
from peerbayes.messages import input_error
from peerbayes.problem.entries import placed
from peerbayes.problem.posed import Posed, PosedFixed, finite_parts, regression_parts
from peerbayes.problem.specification import ProblemSpecification, RegressionSpecification
from theory import FiniteModel, Network
from theory.changing import ChangingNetwork, MarkovNetwork, PeriodicNetwork, influence
from theory.changing.phase import weighted_sum
from theory.regression import RegressionAgent, RegressionModel
from theory.regression.rational_model import RationalRegressionModel
from theory.robustness import Faults
from theory.scientific import sparse
from theory.validation import FloatArray, fail

if TYPE_CHECKING:
    from peerbayes.documents import GraphDocument
    from theory.messages import Quantiser
    from theory.rational import RationalModel


# A problem with finitely many hypotheses on a network that stays as it is ------------------------


@dataclass(frozen=True, eq=False)
class Problem(PosedFixed):
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
    messages
        What agents send; None if they send their beliefs as they are.

    Raises
    ------
    ValueError
        If network and model have different numbers of agents, or messages have fewer levels than
        never overload.
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
    messages: Quantiser | None = None

    def __post_init__(self) -> None:
        self._check("model", self.model.agents)
        if self.messages is not None and self.messages.levels is not None:
            from theory.messages import message_levels
            from theory.messages.compressed import with_levels

            needed = message_levels(self.network, self.model, self.messages)
            with_levels(self.messages, needed)

    def _posed(self) -> tuple[object, ...]:
        return (*finite_parts(self.model), self.messages)

    def _facts(self) -> Iterator[tuple[str, object]]:
        yield from self._heading("model")
        yield "hypotheses", self.model.hypotheses
        if self.messages is not None:
            yield "messages", self.messages

    @cached_property
    def rational_model(self) -> RationalModel:
        """The model with the file's own fractions; doubles are read as binary fractions."""
        from theory.rational import RationalModel

        if self.specification is None:
            return RationalModel.from_model(self.model)
        return self.specification.build_rational_model()


# A problem whose network changes -----------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class ChangingProblem(Posed):
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
    messages: ClassVar[None] = None
    """Beliefs are sent as they are."""

    name: str
    title: str
    network: ChangingNetwork
    model: FiniteModel
    specification: ProblemSpecification | None = None
    family: str = ""
    parameters: Mapping[str, float | int | str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._check("model", self.model.agents)

    def _posed(self) -> tuple[object, ...]:
        return finite_parts(self.model)

    def _facts(self) -> Iterator[tuple[str, object]]:
        yield from self._heading("model")
        yield "hypotheses", self.model.hypotheses

    def _graph(self) -> GraphDocument:
        """Who ever hears whom, with each agent's share of all influence."""
        return graph_of(self.network, influence(self.network).values)


def graph_of(network: ChangingNetwork, shares: FloatArray) -> GraphDocument:
    """The drawing of who ever hears whom, with the mean weight; `shares` are influences, (N,)."""
    if isinstance(network, PeriodicNetwork | MarkovNetwork):
        mean = weighted_sum(network.phases, np.full(len(network.phases), 1 / len(network.phases)))
    else:
        mean = sparse.csr_array(network.network.weights)
    links = sparse.coo_array(mean)
    row, column = links.coords
    off = row != column
    total = float(shares.sum())
    return GraphDocument(
        edges=np.column_stack([row[off], column[off]]).tolist(),
        weights=links.data[off].tolist(),
        positions=None if network.layout is None else network.layout.tolist(),
        stationary_distribution=(shares / total).tolist(),
        quantity="each agent's share of all influence",
        names=names_of(network.names),
    )


# A problem in which some agents are broken or lie, and the others pool by a rule -----------------


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


# A linear-Gaussian problem -----------------------------------------------------------------------


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


# A network without a model -----------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class NetworkAlone(Posed):
    """A network of agents that observe nothing.

    Parameters
    ----------
    name
        A short name.
    network
        Who hears whom.
    """

    title: ClassVar[str] = ""
    specification: ClassVar[None] = None

    name: str
    network: Network

    @property
    def family(self) -> str:
        """Its own name: it is no variant of a built-in."""
        return self.name

    def _posed(self) -> tuple[object, ...]:
        return ()

    def _facts(self) -> Iterator[tuple[str, object]]:
        yield "network", self.network


def read_network(path: Path) -> NetworkAlone:
    """The network of a graph file.

    Raises
    ------
    ValueError
        If it is none, in one line that names the file.
    """
    from peerbayes.problem.graph_files import network_table
    from peerbayes.problem.network_section import build_network
    from peerbayes.problem.specification import section_of
    from theory import Network

    section = section_of(network_table(path), source=str(path))
    network = build_network(section, path.stem, source=str(path))
    assert isinstance(network, Network)
    return NetworkAlone(path.stem, network)


# Every kind of problem that a file or a built-in may describe ------------------------------------


FiniteProblem: TypeAlias = "Problem | ChangingProblem | FaultyProblem"
"""Every kind of problem with finitely many hypotheses."""
ModelledProblem: TypeAlias = "FiniteProblem | RegressionProblem"
"""Every kind of problem in which agents observe something."""
AnyProblem: TypeAlias = "ModelledProblem | NetworkAlone"
_Wanted = TypeVar("_Wanted", bound="AnyProblem")

_WORDS = {
    "Problem": "finitely many hypotheses on a fixed network",
    "ChangingProblem": "a network that changes",
    "FaultyProblem": "faulty agents",
    "RegressionProblem": "a regression",
    "NetworkAlone": "a network alone",
}


def with_model(problem: AnyProblem) -> ModelledProblem:
    """The problem, if its agents observe something.

    Raises
    ------
    ValueError
        If it is a network alone.
    """
    if not isinstance(problem, NetworkAlone):
        return problem
    remedy = "write a problem file with [model] or [regression], and the graph as network.file"
    raise input_error(problem.name, (), "a problem with a model", "a network alone", remedy)


def of_kind(problem: AnyProblem, kind: type[_Wanted], command: str) -> _Wanted:
    """The problem, if it is of the kind that a command takes.

    Raises
    ------
    ValueError
        If it is of another kind.
    """
    if isinstance(problem, kind):
        return problem
    raise input_error(
        problem.name,
        (),
        f"{_WORDS[kind.__name__]} for '{command}'",
        _WORDS[type(problem).__name__],
        "leave the option out, or use another command ('peerbayes --help')",
    )
