"""The ``[network]`` table of a problem file, in its four forms, and the network it describes.

Exactly one of: the weight matrix itself; the name of a topology; a list of edges with a rule; a
sequence of phases. The first three may say besides what changes
(`peerbayes.problem.changes_section`).
What can be judged here is checked here, with its place in the file; that the network is
irreducible and aperiodic is checked by `theory.Network`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, get_args

import numpy as np
from pydantic import BeforeValidator, Discriminator, Field, Tag, model_validator

from peerbayes.messages import TAG, describe, nearest, problem_error
from peerbayes.problem.changes_section import ChangesSection, SequenceNetwork
from peerbayes.problem.entries import Pair, PositiveNumber, Row, Section, Table
from theory import Network
from theory.rational import RationalNetwork

Rule = Literal["uniform", "metropolis", "lazy-metropolis", "max-degree"]
Topology = Literal[
    "star",
    "ring",
    "path",
    "grid",
    "torus",
    "complete",
    "tree",
    "hypercube",
    "erdos-renyi",
    "geometric",
]
TOPOLOGIES: tuple[str, ...] = get_args(Topology)


class FixedNetwork(Section):
    """What the forms of a network of its own have in common."""

    changes: ChangesSection | None = Field(
        default=None, description="What happens to the network; left out: it stays as it is."
    )


class WeightsNetwork(FixedNetwork):
    """A network given by its weight matrix."""

    weights: Table = Field(description="W_ij is the weight agent i puts on agent j; rows sum to 1.")

    @model_validator(mode="after")
    def _square(self) -> WeightsNetwork:
        agents = len(self.weights)
        for i, row in enumerate(self.weights):
            if len(row) != agents:
                raise problem_error(
                    ("weights", i),
                    f"{agents} numbers, one for each of the {agents} rows",
                    len(row),
                    "make the matrix square",
                )
        return self

    def build(self, name: str) -> Network:
        """The network described."""
        return Network(np.array(self.weights, dtype=np.float64), name=name)

    def build_rational(self, name: str) -> RationalNetwork:
        """The network described, exactly; doubles are read as the binary fractions they are."""
        return RationalNetwork.from_rows(self.weights, name=name)


class EdgesNetwork(FixedNetwork):
    """A network given by its edges and a rule for the weights."""

    edges: Row[Pair] = Field(
        description="Pairs [a, b] of agents, counted from 0; if directed, b hears a."
    )
    agents: int = Field(ge=1, description="Number of agents.")
    rule: Rule = Field(default="uniform", description="How weights are put on the edges.")
    directed: bool = False

    @model_validator(mode="after")
    def _in_range(self) -> EdgesNetwork:
        for k, edge in enumerate(self.edges):
            for end, agent in enumerate(edge):
                if not 0 <= agent < self.agents:
                    raise problem_error(
                        ("edges", k, end),
                        f"an agent from 0 to {self.agents - 1}",
                        agent,
                        "correct the edge, or raise network.agents",
                    )
        return self

    def build(self, name: str) -> Network:
        """The network described."""
        return Network.from_edges(
            self.edges, agents=self.agents, rule=self.rule, directed=self.directed, name=name
        )

    def build_rational(self, name: str) -> RationalNetwork:
        """The network described, exactly: every rule gives fractions."""
        return RationalNetwork.from_edges(
            self.edges, agents=self.agents, rule=self.rule, directed=self.directed, name=name
        )


class TopologyNetwork(FixedNetwork):
    """A network given by the name of its topology."""

    topology: Topology
    agents: int | None = Field(default=None, ge=1, description="Number of agents.")
    shape: Row[Annotated[int, Field(ge=1)]] | None = Field(
        default=None, description="Rows and columns of a grid or torus."
    )
    rule: Rule | None = Field(default=None, description="How weights are put on the edges.")
    edge_confidence: PositiveNumber | None = Field(
        default=None, description="Star: the weight that every edge agent puts on the centre."
    )
    probability: float | None = Field(
        default=None, gt=0, le=1, description="Erdős–Rényi: probability of an edge."
    )
    radius: float | None = Field(
        default=None, gt=0, description="Geometric: agents closer than this are neighbours."
    )
    branching: int | None = Field(default=None, ge=1, description="Tree: children of an agent.")
    dimension: int | None = Field(default=None, ge=1, description="Hypercube: the dimension.")
    seed: int | None = Field(
        default=None, ge=0, description="Seed of a random topology; left out: 0."
    )

    def build(self, name: str) -> Network:
        """The network described; its own name is that of the topology."""
        options = self._options()
        if self.edge_confidence is not None:
            options["edge_confidence"] = float(self.edge_confidence)
        return Network.from_topology(self.topology, **options)

    def build_rational(self, name: str) -> RationalNetwork:
        """The network described, exactly: every rule gives fractions."""
        return RationalNetwork.from_topology(self.topology, **self._options())

    def _options(self) -> dict[str, Any]:
        options = self.model_dump(exclude={"topology", "changes"}, exclude_none=True)
        if self.topology in ("erdos-renyi", "geometric"):
            options.setdefault("seed", 0)
        return options


FORMS: dict[str, type[WeightsNetwork | TopologyNetwork | EdgesNetwork | SequenceNetwork]] = {
    "weights": WeightsNetwork,
    "topology": TopologyNetwork,
    "edges": EdgesNetwork,
    "sequence": SequenceNetwork,
}
"""The key that tells each form of a network apart, and its section."""


def _one_form(value: object) -> object:
    """Refuse a table that has no form, or several."""
    if isinstance(value, Section):
        return value
    if not isinstance(value, Mapping):
        raise problem_error((), "a table", describe(value), "write it under [network]")
    wanted = f"exactly one of {', '.join(FORMS)}"
    found = [form for form in FORMS if form in value]
    if len(found) > 1:
        raise problem_error((), wanted, " and ".join(found), "keep one of them")
    if not found:
        keys = [str(key) for key in value]
        guesses = [guess for key in keys if (guess := nearest(key, FORMS))]
        remedy = f"did you mean {guesses[0]!r}?" if guesses else "add one of them"
        raise problem_error((), wanted, ", ".join(keys) or "an empty table", remedy)
    return value


def _form(value: object) -> str:
    """The tag of the one form that a network has."""
    if isinstance(value, Section):
        return TAG + next(key for key, form in FORMS.items() if isinstance(value, form))
    assert isinstance(value, Mapping)
    return TAG + next(form for form in FORMS if form in value)


NetworkSection = Annotated[
    Annotated[WeightsNetwork, Tag(TAG + "weights")]
    | Annotated[TopologyNetwork, Tag(TAG + "topology")]
    | Annotated[EdgesNetwork, Tag(TAG + "edges")]
    | Annotated[SequenceNetwork, Tag(TAG + "sequence")],
    Discriminator(_form),
    BeforeValidator(_one_form),
]
