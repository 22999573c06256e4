"""Every kind of problem that a file or a built-in may describe, as value objects."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias, TypeVar

import numpy as np

from peerbayes.messages import input_error
from peerbayes.problem.posed import Posed, PosedFixed
from theory.scientific import sparse
from theory.validation import FloatArray, fail

if TYPE_CHECKING:
    from peerbayes.documents import GraphDocument
    from peerbayes.problem.specification import ProblemSpecification, RegressionSpecification
    from theory import FiniteModel, Network
    from theory.changing import ChangingNetwork
    from theory.messages import Quantiser
    from theory.rational import RationalModel
    from theory.regression import RegressionAgent, RegressionModel
    from theory.regression.rational_model import RationalRegressionModel
    from theory.robustness import Faults

Parameters: TypeAlias = Mapping[str, float | int | str]
"""What tells one variant of a built-in from the others."""


@dataclass(frozen=True, eq=False)
class PosedFinite(Posed):
    """Base of problems with finitely many hypotheses.

    Parameters
    ----------
    name, title
        A short name, and one line about it (possibly empty).
    network, model
        Equally many agents in both.
    specification
        The parsed file, exact numbers included; None for problems that have none, such as those
        whose model was learnt from data.
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
    network: Any
    model: FiniteModel
    specification: ProblemSpecification | None = None
    family: str = ""
    parameters: Parameters = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._check("model", self.model.agents)

    def _posed(self) -> tuple[object, ...]:
        """The model, agent by agent."""
        kinds = [self.model.kinds[kind] for kind in self.model.assignment]
        return self.model.hypotheses, kinds, self.model.log_priors[self.model.assignment]

    def _facts(self) -> Iterator[tuple[str, object]]:
        yield from self._heading("model")
        yield "hypotheses", self.model.hypotheses


@dataclass(frozen=True, eq=False)
class Problem(PosedFinite, PosedFixed):
    """A network that stays as it is, and the model of its agents.

    Parameters
    ----------
    name, title, network, model, specification, family, parameters
        As of `PosedFinite`.
    messages
        What agents send; None if they send their beliefs as they are.

    Raises
    ------
    ValueError
        If network and model have different numbers of agents, or messages have fewer levels than
        never overload.
    """

    without_file: ClassVar[str] = "hypotheses that were learnt from data"
    """What a problem of this kind comes from if it has no file."""

    network: Network
    messages: Quantiser | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.messages is not None and self.messages.levels is not None:
            from theory.messages import message_levels
            from theory.messages.compressed import with_levels

            needed = message_levels(self.network, self.model, self.messages)
            with_levels(self.messages, needed)

    def _posed(self) -> tuple[object, ...]:
        return (*super()._posed(), self.messages)

    def _facts(self) -> Iterator[tuple[str, object]]:
        yield from super()._facts()
        if self.messages is not None:
            yield "messages", self.messages

    @cached_property
    def rational_model(self) -> RationalModel:
        """The model with the file's own fractions; doubles are read as binary fractions."""
        from theory.rational import RationalModel

        if self.specification is None:
            return RationalModel.from_model(self.model)
        model: RationalModel = self.specification.build(exact=True)
        return model


@dataclass(frozen=True, eq=False)
class ChangingProblem(PosedFinite):
    """A network that changes, and the model of its agents: phases in turn, failing links, ….

    Parameters and errors as of `PosedFinite`.
    """

    messages: ClassVar[None] = None
    """Beliefs are sent as they are."""

    network: ChangingNetwork

    def _graph(self) -> GraphDocument:
        """Who ever hears whom, with each agent's share of all influence."""
        from theory.changing import influence

        return graph_of(self.network, influence(self.network).values)


@dataclass(frozen=True, eq=False)
class FaultyProblem(Posed):
    """A problem in which some agents are broken or lie, and the others pool by a rule.

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
    def parameters(self) -> Parameters:
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


@dataclass(frozen=True, eq=False)
class RegressionProblem(PosedFixed):
    """A network of agents, and the linear-Gaussian regression they learn together.

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
    parameters: Parameters = field(default_factory=dict)
    node: RegressionAgent | None = None

    def __post_init__(self) -> None:
        self._check("regression", self.regression.agents)

    def _posed(self) -> tuple[object, ...]:
        """The regression, agent by agent, and the central node."""
        model = self.regression
        kinds = [model.kinds[kind] for kind in model.assignment]
        rest = (model.prior_covariance, model.prior_mean, model.test_second_moment)
        return (model.theta, kinds, *rest, self.node)

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
        from peerbayes.problem.entries import placed

        if self.specification is None:
            got = "one made from a data set"
            raise fail(self.name, "a problem with a file", got, "use doubles")
        with placed(self.name, "regression", self.specification.regression):
            model: RationalRegressionModel = self.specification.build(exact=True)
            return model


@dataclass(frozen=True, eq=False)
class NetworkAlone(Posed):
    """A network of agents that observe nothing: of a graph file, whose network can be analysed.

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


def graph_of(network: ChangingNetwork, shares: FloatArray) -> GraphDocument:
    """The drawing of who ever hears whom, with the mean weight; `shares` are influences, (N,)."""
    from peerbayes.documents import GraphDocument, names_of
    from theory.changing import MarkovNetwork, PeriodicNetwork
    from theory.changing.phase import weighted_sum

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


# Which kind a problem is of ---------------------------------------------------------------------

FiniteProblem: TypeAlias = Problem | ChangingProblem | FaultyProblem
"""Every kind of problem with finitely many hypotheses."""
ModelledProblem: TypeAlias = FiniteProblem | RegressionProblem
"""Every kind of problem in which agents observe something."""
AnyProblem: TypeAlias = ModelledProblem | NetworkAlone
_Wanted = TypeVar("_Wanted", bound=AnyProblem)

WORDS: Mapping[type[Posed], str] = {
    Problem: "finitely many hypotheses on a fixed network",
    ChangingProblem: "a network that changes",
    FaultyProblem: "faulty agents",
    RegressionProblem: "a regression",
    NetworkAlone: "a network alone",
}
"""What each kind of problem is called."""


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
    wanted = f"{WORDS[kind]} for '{command}'"
    remedy = "leave the option out, or use another command ('peerbayes --help')"
    raise input_error(problem.name, (), wanted, WORDS[type(problem)], remedy)
