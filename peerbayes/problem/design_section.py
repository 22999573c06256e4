"""The ``[design]`` table of a problem file: what a design of the network has to respect.

Read by ``peerbayes design`` alone; the other commands check it and pass it by. Its options take
precedence over it: what is an option too is declared there (`peerbayes.settings.questions.Limits`).
"""

from __future__ import annotations

from collections.abc import Sequence
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
    json_number,
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


def _at_most_one(value: Rational) -> Rational:
    if value > 1:
        raise problem_error((), "a number in [0, 1]", number_text(value), "make it smaller")
    return value


def _below_one(value: Rational) -> Rational:
    if value >= 1:
        raise problem_error((), "a number in [0, 1)", number_text(value), "make it smaller")
    return value


def _above_zero(value: Rational) -> Rational:
    if value <= 0:
        wanted = "a number in (0, 1]"
        raise problem_error((), wanted, number_text(value), "leave out links that are never up")
    return value


Share = Annotated[Probability, AfterValidator(_at_most_one)]
Partial = Annotated[
    Probability,
    AfterValidator(_below_one),
    json_number(signed=False, minimum=0, exclusiveMaximum=1),
]
Up = Annotated[
    Probability,
    AfterValidator(_at_most_one),
    AfterValidator(_above_zero),
    json_number(signed=False, exclusiveMinimum=0, maximum=1),
]
Ends = Annotated[
    tuple[NameOrNumber, ...],
    Field(strict=False, min_length=2, max_length=2),
    BeforeValidator(list_only),
]


class LinkCost(Section):
    """What using one edge costs."""

    link: Ends = Field(description="The two agents; if the graph is directed, listener first.")
    cost: PositiveNumber


class LinkAvailability(Section):
    """How often one link is up."""

    link: Ends = Field(description="Listener and speaker.")
    up: Up = Field(description="Probability that the link is up in a round.")


class DesignSection(Section):
    """Limits on the weights to be found; what is left out does not limit them."""

    edges: Row[Ends] | None = Field(
        default=None,
        description="Pairs of agents that may be linked; left out: those that are. If directed, "
        "b of [a, b] hears a.",
    )
    directed: bool = Field(default=False, description="Whether `edges` lead one way.")
    # Exact numbers have ends of their own, at which they are read.
    minimum_influence: Share | None = key_of(Limits, "minimum_influence", ge=None, lt=None)
    minimum_self_weight: Partial = key_of(
        Limits, "minimum_self_weight", default=0.0, ge=None, lt=None
    )
    fixed_agents: Annotated[tuple[NameOrNumber, ...], Field(strict=False)] = Field(
        default=(), description="Agents whose weights stay as they are in [network]."
    )
    symmetric: bool = key_of(Limits, "symmetric", default=False)
    doubly_stochastic: bool = key_of(Limits, "doubly_stochastic", default=False)
    edge_budget: int | None = key_of(Limits, "edge_budget")
    degree_budget: int | None = key_of(Limits, "degree_budget")
    link_costs: Annotated[tuple[LinkCost, ...], Field(strict=False)] = Field(
        default=(), description="What edges cost; those left out cost 1."
    )
    cost_budget: PositiveNumber | None = Field(default=None, description="Most that is spent.")
    availability: Up = Field(
        default=1.0,
        description="Probability that a link is up in a round; what is lost counts "
        "as said by oneself.",
    )
    link_availability: Annotated[tuple[LinkAvailability, ...], Field(strict=False)] = Field(
        default=(), description="The same for single links."
    )

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
