"""A problem file as a whole: its parsed form, the way back to a file, and its JSON schema."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import numpy as np
from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    TypeAdapter,
    ValidationError,
    model_validator,
)

from peerbayes.messages import problem_error, translate
from peerbayes.problem.changes_section import CHANGES, PhaseSection
from peerbayes.problem.entries import (
    Name,
    NameOrNumber,
    PositiveNumber,
    Probability,
    Rational,
    Row,
    Section,
    Several,
    given,
    json_number,
    key,
    key_of,
    list_only,
    number_text,
)
from peerbayes.problem.exchange_sections import FAULTS, FaultsSection, MessagesSection
from peerbayes.problem.model_section import AGENTS, LearningSection, ModelSection, batches_of
from peerbayes.problem.network_section import FORMS, NetworkSection, with_graph_files
from peerbayes.problem.regression_section import RegressionAgentSection, RegressionSection
from peerbayes.settings.questions import Limits
from theory.network.labels import agent_numbers
from theory.network.structure import as_dense

if TYPE_CHECKING:
    from theory import Network
    from theory.design import Constraints, DesignGraph


# The ``[design]`` table of a problem file --------------------------------------------------------


def _within(
    ends: str, holds: Callable[[Rational], bool], remedy: str = "make it smaller"
) -> AfterValidator:
    """See that a number of at least 0 lies within other ends too."""

    def check(value: Rational) -> Rational:
        if not holds(value):
            raise problem_error((), f"a number in {ends}", number_text(value), remedy)
        return value

    return AfterValidator(check)


_AT_MOST_ONE = _within("[0, 1]", lambda value: value <= 1)
Share = Annotated[Probability, _AT_MOST_ONE]
Partial = Annotated[
    Probability,
    _within("[0, 1)", lambda value: value < 1),
    json_number(signed=False, minimum=0, exclusiveMaximum=1),
]
Up = Annotated[
    Probability,
    _AT_MOST_ONE,
    _within("(0, 1]", lambda value: value > 0, "leave out links that are never up"),
    json_number(signed=False, exclusiveMinimum=0, maximum=1),
]
Ends = Annotated[
    tuple[NameOrNumber, ...],
    Field(strict=False, min_length=2, max_length=2),
    BeforeValidator(list_only),
]


class LinkCost(Section):
    """What using one edge costs."""

    link: Ends = key("The two agents; if the graph is directed, listener first.")
    cost: PositiveNumber = key("What using the edge costs.")


class LinkAvailability(Section):
    """How often one link is up."""

    link: Ends = key("Listener and speaker.")
    up: Up = key("Probability that the link is up in a round.")


class DesignSection(Section):
    """Limits on the weights to be found; what is left out does not limit them."""

    edges: Row[Ends] | None = key(
        "Pairs of agents that may be linked; left out: those that are. If directed, b of [a, b] "
        "hears a.",
        None,
    )
    directed: bool = key("Whether `edges` lead one way.", False)
    # Exact numbers have ends of their own, at which they are read.
    minimum_influence: Share | None = key_of(Limits, "minimum_influence", ge=None, lt=None)
    minimum_self_weight: Partial = key_of(
        Limits, "minimum_self_weight", default=0.0, ge=None, lt=None
    )
    fixed_agents: Several[NameOrNumber] = key(
        "Agents whose weights stay as they are in [network].", ()
    )
    symmetric: bool = key_of(Limits, "symmetric", default=False)
    doubly_stochastic: bool = key_of(Limits, "doubly_stochastic", default=False)
    edge_budget: int | None = key_of(Limits, "edge_budget")
    degree_budget: int | None = key_of(Limits, "degree_budget")
    link_costs: Several[LinkCost] = key("What edges cost; those left out cost 1.", ())
    cost_budget: PositiveNumber | None = key("Most that is spent.", None)
    availability: Up = key(
        "Probability that a link is up in a round; what is lost counts as said by oneself.", 1.0
    )
    link_availability: Several[LinkAvailability] = key("The same for single links.", ())

    @model_validator(mode="after")
    def _has_edges(self) -> DesignSection:
        if self.directed and self.edges is None:
            raise problem_error(("edges",), "the edges that lead one way", "none", "list them")
        return self

    def graph(self, network: Network) -> DesignGraph:
        """Who may listen to whom.

        Raises
        ------
        ValueError
            If the edges name unknown agents or do not connect all.
        """
        from theory.design import DesignGraph

        if self.edges is None:
            return DesignGraph.from_network(network)
        return DesignGraph.from_edges(
            [_pair("edges", edge, network) for edge in self.edges],
            agents=network.agents,
            directed=self.directed,
            layout=network.layout,
            names=network.names,
        )

    def constraints(self, network: Network, graph: DesignGraph) -> Constraints:
        """The limits, with the rows of fixed agents taken from the network.

        Raises
        ------
        ValueError
            If an agent or a link is unknown, or two limits exclude each other at a glance.
        """
        from theory.design import Constraints

        fixed = agent_numbers("fixed_agents", self.fixed_agents, network)
        rows = {agent: _row(network, agent) for agent in fixed}
        availability: float | dict[tuple[int, int], float] = float(self.availability)
        if self.link_availability:
            every = {(int(i), int(j)): float(self.availability) for i, j in graph.links}
            named = {
                _pair("link_availability", a.link, network): float(a.up)
                for a in self.link_availability
            }
            availability = every | named
        return Constraints(
            minimum_self_weight=float(self.minimum_self_weight),
            fixed_rows=rows,
            symmetric=self.symmetric,
            doubly_stochastic=self.doubly_stochastic,
            edge_budget=self.edge_budget,
            degree_budget=self.degree_budget,
            link_costs={
                _pair("link_costs", c.link, network): float(c.cost) for c in self.link_costs
            },
            cost_budget=None if self.cost_budget is None else float(self.cost_budget),
            availability=availability,
        )


def _pair(argument: str, ends: Sequence[int | str], network: Network) -> tuple[int, int]:
    """The two agents by number; numbers out of range are left to the graph."""
    first, second = (
        agent_numbers(argument, [end], network)[0] if isinstance(end, str) else end for end in ends
    )
    return first, second


def _row(network: Network, agent: int) -> np.ndarray:
    return np.asarray(as_dense(network.weights[[agent]])[0])


# A problem file as a whole -----------------------------------------------------------------------


# They draw a random graph, whose weights then come from degrees: no formula sees them.
_GRAPH_ONLY = frozenset({"probability", "radius"})


class FileSpecification(Section):
    """What every problem file has: a name and a network; numbers that were strings are exact."""

    table_name: ClassVar[str] = "model"

    name: Name = key("Short name; left out: the file's name.")
    title: str | None = key("One line that says what it is about.", None)
    network: NetworkSection = key("Who hears whom, and by which weights.")
    learning: LearningSection | None = key(
        "How agents learn; left out: from one observation a round.", None
    )
    design: DesignSection | None = key(
        "What a design has to respect; left out: the graph alone.", None
    )

    @property
    def is_exact(self) -> bool:
        """Whether every number that enters a formula was written as a string."""
        formulas = self.model_dump(exclude={"design"})
        return not any(isinstance(number, float) for number in leaves(formulas))

    def document(self) -> dict[str, Any]:
        """The file's content again, as plain tables, lists, strings and numbers."""
        return self.model_dump(mode="json", exclude_defaults=True)

    def to_json(self) -> str:
        """The problem as a JSON file; reading it gives an equal specification."""
        return json.dumps(self.document(), indent=2, ensure_ascii=False) + "\n"

    @property
    def table(self) -> Any:
        """The table of what agents see."""
        return getattr(self, self.table_name)

    def build(self, *, exact: bool = False) -> Any:
        """The model or regression described, its agents drawing what they draw in a round.

        With fractions if `exact`, as which doubles are read too.
        """
        model, batches = self.table.build(exact=exact), batches_of(self.learning, self.table.agents)
        is_made = self.learning is None and self.table_name == "regression"
        return model if is_made or set(batches) == {1} else model.batched(batches)


class ProblemSpecification(FileSpecification):
    """A problem with finitely many hypotheses, as parsed."""

    model: ModelSection = key("Finitely many hypotheses, and what the agents see.")
    faults: FaultsSection | None = key(
        "Faulty agents, and how the others pool; left out: none.", None
    )
    messages: MessagesSection | None = key(
        "What agents send; left out: their beliefs, as they are.", None
    )


class RegressionSpecification(FileSpecification):
    """A linear-Gaussian problem, as parsed."""

    table_name: ClassVar[str] = "regression"

    regression: RegressionSection = key("A linear regression, in place of a model.")


SECTIONS: Mapping[str, type[Section]] = {
    "": ProblemSpecification,
    "model": ModelSection,
    "regression": RegressionSection,
    "agents": RegressionAgentSection,
    "sequence": PhaseSection,
    "design": DesignSection,
    "link_costs": LinkCost,
    "link_availability": LinkAvailability,
    "faults": FaultsSection,
    "learning": LearningSection,
    "messages": MessagesSection,
    **{
        f"form:{word}": section
        for several in (FORMS, CHANGES, FAULTS, AGENTS)
        for word, section in several.items()
    },
}
"""The section that the keys at a place belong to, by the last name or tag of the place."""


def section_of(network: Mapping[str, Any], *, source: str = "network") -> Any:
    """A table [network] by itself, read and checked.

    Raises
    ------
    ValueError
        If it is none, in the words of the problem file.
    """
    try:
        return TypeAdapter[Any](NetworkSection).validate_python(network)
    except ValidationError as error:
        raise translate(error, source=source, sections=SECTIONS) from None


def leaves(value: object) -> Iterator[object]:
    """All that stands in tables and lists, however deep, but for what draws random graphs."""
    if isinstance(value, Mapping):
        value = [one for name, one in value.items() if name not in _GRAPH_ONLY]
    if isinstance(value, list | tuple):
        for one in value:
            yield from leaves(one)
    else:
        yield value


_CHANGES = {
    "required": ["network"],
    "properties": {"network": {"anyOf": [given("sequence"), given("changes")]}},
}


def problem_schema() -> dict[str, Any]:
    """The JSON schema of a problem file, generated from the section classes."""
    schema = ProblemSpecification.model_json_schema()
    with_graph_files(schema)
    other = RegressionSpecification.model_json_schema()
    properties = schema["properties"] | {"regression": other["properties"]["regression"]}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **schema,
        "$defs": dict(sorted((schema["$defs"] | other["$defs"]).items())),
        "properties": properties,
        "required": ["network"],
        "oneOf": [{"required": ["model"]}, {"required": ["regression"]}],
        # No two of these go together.
        "allOf": [
            {"not": {"allOf": [one, another]}}
            for one, another in combinations(
                (given("regression"), given("faults"), given("messages"), _CHANGES), 2
            )
        ],
        "title": "peerbayes problem file",
        "description": "A network and what its agents see; one TOML or JSON file.",
    }
