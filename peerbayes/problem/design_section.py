"""The ``[design]`` table of a problem file: what a design of the network has to respect.

Read by ``peerbayes design`` alone; the other commands check it and pass it by. Its options take
precedence over it: what is an option too is declared there (`peerbayes.settings.questions.Limits`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Annotated

import numpy as np
from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from peerbayes.messages import problem_error
from peerbayes.problem.entries import (
    NameOrNumber,
    PositiveNumber,
    Probability,
    Rational,
    Row,
    Section,
    Several,
    json_number,
    key,
    key_of,
    list_only,
    number_text,
)
from peerbayes.settings.questions import Limits
from theory.network.labels import agent_numbers
from theory.network.structure import as_dense

if TYPE_CHECKING:
    from theory import Network
    from theory.design import Constraints, DesignGraph


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
    cost: PositiveNumber


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
