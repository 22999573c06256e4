"""The ``[design]`` table of a problem file: what a design of the network has to respect.

Read by ``peerbayes design`` alone; the other commands check it and pass it by. Options of the
command line take precedence over it.
"""

from __future__ import annotations

from typing import Annotated

import numpy as np
from pydantic import AfterValidator, Field, model_validator

from peerbayes.messages import problem_error
from peerbayes.problem.entries import (
    Pair,
    PositiveNumber,
    Probability,
    Rational,
    Row,
    Section,
    json_number,
    number_text,
)
from theory import Network
from theory.design import Constraints, DesignGraph
from theory.network.structure import as_dense
from theory.validation import fail


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
Agents = Annotated[tuple[Annotated[int, Field(ge=0)], ...], Field(strict=False)]


class LinkCost(Section):
    """What using one edge costs."""

    link: Pair = Field(description="The two agents; if the graph is directed, listener first.")
    cost: PositiveNumber


class LinkAvailability(Section):
    """How often one link is up."""

    link: Pair = Field(description="Listener and speaker.")
    up: Up = Field(description="Probability that the link is up in a round.")


class DesignSection(Section):
    """Limits on the weights to be found; what is left out does not limit them."""

    edges: Row[Pair] | None = Field(
        default=None,
        description="Pairs of agents that may be linked; left out: those that are. If directed, "
        "b of [a, b] hears a.",
    )
    directed: bool = Field(default=False, description="Whether `edges` lead one way.")
    minimum_influence: Share | None = Field(
        default=None, description="Smallest v_j allowed; left out: 1/(10 N)."
    )
    minimum_self_weight: Partial = Field(
        default=0.0, description="Smallest weight on oneself, below 1."
    )
    fixed_agents: Agents = Field(
        default=(), description="Agents whose weights stay as they are in [network]."
    )
    symmetric: bool = Field(default=False, description="E[W] is symmetric, so that v is uniform.")
    doubly_stochastic: bool = Field(
        default=False, description="Columns of E[W] sum to one, so that v is uniform."
    )
    edge_budget: int | None = Field(default=None, ge=0, description="Most edges in use.")
    degree_budget: int | None = Field(default=None, ge=0, description="Most neighbours an agent.")
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
        if self.edges is None:
            return DesignGraph.from_network(network)
        return DesignGraph.from_edges(
            self.edges,
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
        rows = {agent: _row(network, agent) for agent in self.fixed_agents}
        availability: float | dict[tuple[int, int], float] = float(self.availability)
        if self.link_availability:
            every = {(int(i), int(j)): float(self.availability) for i, j in graph.links}
            named = {(a.link[0], a.link[1]): float(a.up) for a in self.link_availability}
            availability = every | named
        return Constraints(
            minimum_self_weight=float(self.minimum_self_weight),
            fixed_rows=rows,
            symmetric=self.symmetric,
            doubly_stochastic=self.doubly_stochastic,
            edge_budget=self.edge_budget,
            degree_budget=self.degree_budget,
            link_costs={(c.link[0], c.link[1]): float(c.cost) for c in self.link_costs},
            cost_budget=None if self.cost_budget is None else float(self.cost_budget),
            availability=availability,
        )


def _row(network: Network, agent: int) -> np.ndarray:
    if agent >= network.agents:
        wanted = f"agents from 0 to {network.agents - 1}"
        raise fail("fixed_agents", wanted, agent, "correct the number")
    return np.asarray(as_dense(network.weights[[agent]])[0])
