"""The ``[network]`` table of a problem file, in its six forms, and the network it describes.

Exactly one of: the weight matrix itself; its positive entries, link by link; the name of a
topology; a list of edges with a rule; a graph file; a sequence of phases. All but the last may say
besides what changes (`peerbayes.problem.changes_section`). A graph file is read before the table is
checked (`peerbayes.problem.agents_by_name`), and stands here for its keys.
What can be judged here is checked here, with its place in the file; that the network is
irreducible and aperiodic is checked by `theory.Network`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args

import numpy as np
from pydantic import BeforeValidator, ConfigDict, Discriminator, Field, Tag, model_validator

from peerbayes.messages import TAG, describe, nearest, problem_error
from peerbayes.problem.changes_section import ChangesSection, NamedAgents, SequenceNetwork
from peerbayes.problem.entries import (
    Agent,
    Number,
    Pair,
    PositiveNumber,
    Rational,
    Row,
    Section,
    Table,
    json_number,
    list_only,
    placed,
    sums_to_one,
    without_agents,
)
from theory.network.labels import called
from theory.network.stationary import DENSE_AGENTS
from theory.scientific import sparse

if TYPE_CHECKING:
    from theory import Network
    from theory.changing import AnyNetwork
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
_NOT_NEGATIVE = json_number(signed=False, minimum=0).json_schema


def _any_rows(schema: dict[str, Any]) -> None:
    """Change the JSON schema of weights: with `normalise` their rows need not sum to 1."""
    sums = {"items": schema["properties"]["weights"].pop("items")}
    schema["properties"]["weights"]["items"] = {"type": "array", "items": _NOT_NEGATIVE}
    schema["if"] = {"required": ["normalise"], "properties": {"normalise": {"const": True}}}
    schema["else"] = {"properties": {"weights": sums}}


class FixedNetwork(NamedAgents):
    """What the forms of a network of its own have in common."""

    positions: Row[Annotated[Row[Number], Field(min_length=2, max_length=2)]] | None = Field(
        default=None, description="Where the agents are drawn: x and y of each."
    )
    changes: ChangesSection | None = Field(
        default=None, description="What happens to the network; left out: it stays as it is."
    )

    def labelled(self, network: Network) -> Network:
        """The network with the names and the positions that the file gives to its agents."""
        if self.names is None and self.positions is None:
            return network
        layout = network.layout
        if self.positions is not None:
            layout = np.array(self.positions, dtype=np.float64)
        return replace(network, names=self.names, layout=layout)


class WeightsNetwork(FixedNetwork):
    """A network given by its weight matrix."""

    model_config = ConfigDict(json_schema_extra=_any_rows)

    weights: Table = Field(description="W_ij is the weight agent i puts on agent j; rows sum to 1.")
    normalise: bool = Field(
        default=False, description="Whether each row is divided by its sum first."
    )

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
        from theory import Network

        weights = np.array(self.weights, dtype=np.float64)
        return self.labelled(Network(weights, name=name, names=self.names))

    def build_rational(self, name: str) -> RationalNetwork:
        """The network described, exactly; doubles are read as the binary fractions they are."""
        from theory.rational import RationalNetwork

        return RationalNetwork.from_rows(self.weights, name=name)


Link = Annotated[
    tuple[Agent, Agent, PositiveNumber],
    Field(strict=False),
    BeforeValidator(list_only),
]
"""Listener, speaker, weight."""


class LinksNetwork(FixedNetwork):
    """A network given by its positive weights: W of many agents, link by link."""

    model_config = ConfigDict(json_schema_extra=without_agents)

    links: Row[Link] = Field(
        description="[i, j, W_ij] for every positive weight, also those on oneself; the weights of "
        "an agent i sum to 1."
    )
    agents: int = Field(ge=1, description="Number of agents; left out: of the names.")

    @model_validator(mode="after")
    def _stochastic(self) -> LinksNetwork:
        rows: list[dict[int, Rational]] = [{} for _ in range(self.agents)]
        for k, (listener, speaker, weight) in enumerate(self.links):
            for end, agent in enumerate((listener, speaker)):
                if agent >= self.agents:
                    wanted, remedy = f"an agent from 0 to {self.agents - 1}", "correct the link"
                    raise problem_error(("links", k, end), wanted, agent, remedy)
            if speaker in rows[listener]:
                ends = called(listener, self._known), called(speaker, self._known)
                got = f"{ends[0]} hears {ends[1]} twice"
                raise problem_error(("links", k), "each link once", got, "keep one of them")
            rows[listener][speaker] = weight
        for agent, row in enumerate(rows):
            if not row:
                wanted, got = "weights of every agent", f"none of {called(agent, self._known)}"
                raise problem_error(("links",), wanted, got, "list what it puts on whom")
            sums_to_one(tuple(row.values()), ("links",), of=f" for {called(agent, self._known)}")
        return self

    @property
    def _known(self) -> tuple[str, ...] | None:
        """The names, if there is one for each agent."""
        return self.names if len(self.names or ()) == self.agents else None

    def build(self, name: str) -> Network:
        """The network described; stored as a sparse array above 2000 agents."""
        from theory import Network

        listener, speaker, weight = zip(*self.links, strict=True)
        values = np.array(weight, dtype=np.float64)
        table = sparse.csr_array((values, (listener, speaker)), shape=(self.agents, self.agents))
        stored = table if self.agents > DENSE_AGENTS else table.toarray()
        return self.labelled(Network(stored, name=name, names=self.names))

    def build_rational(self, name: str) -> RationalNetwork:
        """The network described, exactly; doubles are read as the binary fractions they are."""
        from theory.rational import RationalNetwork

        rows: list[list[Rational]] = [[Fraction(0)] * self.agents for _ in range(self.agents)]
        for listener, speaker, weight in self.links:
            rows[listener][speaker] = weight
        return RationalNetwork.from_rows(rows, name=name)


class EdgesNetwork(FixedNetwork):
    """A network given by its edges and a rule for the weights."""

    model_config = ConfigDict(json_schema_extra=without_agents)

    edges: Row[Pair] = Field(
        description="Pairs [a, b] of agents, by name or counted from 0; if directed, b hears a."
    )
    agents: int = Field(ge=1, description="Number of agents; left out: of the names.")
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
        from theory import Network

        network = Network.from_edges(
            self.edges,
            agents=self.agents,
            rule=self.rule,
            directed=self.directed,
            name=name,
            names=self.names,
        )
        return self.labelled(network)

    def build_rational(self, name: str) -> RationalNetwork:
        """The network described, exactly: every rule gives fractions."""
        from theory.rational import RationalNetwork

        return RationalNetwork.from_edges(
            self.edges, agents=self.agents, rule=self.rule, directed=self.directed, name=name
        )


class TopologyNetwork(FixedNetwork):
    """A network given by the name of its topology."""

    topology: Topology
    agents: int | None = Field(
        default=None, ge=1, description="Number of agents; left out: of the names."
    )
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
        from theory import Network

        options = self._options()
        if self.edge_confidence is not None:
            options["edge_confidence"] = float(self.edge_confidence)
        return self.labelled(Network.from_topology(self.topology, **options))

    def build_rational(self, name: str) -> RationalNetwork:
        """The network described, exactly: every rule gives fractions."""
        from theory.rational import RationalNetwork

        return RationalNetwork.from_topology(self.topology, **self._options())

    def _options(self) -> dict[str, Any]:
        own = {"topology", "changes", "names", "positions"}
        options = self.model_dump(exclude=own, exclude_none=True)
        if self.topology in ("erdos-renyi", "geometric"):
            options.setdefault("seed", 0)
        return options


class FileNetwork(Section):
    """A network given by a graph file, whose nodes are the agents, by name."""

    file: str = Field(
        min_length=1,
        description="GraphML, GML, Pajek, edge list or CSV, by its ending; a path from the "
        "folder of this file.",
    )
    rule: Rule | None = Field(
        default=None,
        description="How weights are put on the edges; left out: as the edges carry them, or "
        "uniform.",
    )
    directed: bool = Field(
        default=False, description="Edge lists: whether edges lead one way; b hears a of a b."
    )
    normalise: bool = Field(
        default=False, description="Whether what an agent hears is divided by its sum."
    )
    changes: ChangesSection | None = Field(
        default=None, description="What happens to the network; left out: it stays as it is."
    )

    @model_validator(mode="after")
    def _one_way(self) -> FileNetwork:
        if self.rule is not None and self.normalise:
            wanted, remedy = "at most one of rule, normalise", "keep one of them"
            raise problem_error((), wanted, "both", remedy)
        return self


FORMS: dict[
    str,
    type[
        WeightsNetwork
        | LinksNetwork
        | TopologyNetwork
        | EdgesNetwork
        | FileNetwork
        | SequenceNetwork
    ],
] = {
    "weights": WeightsNetwork,
    "links": LinksNetwork,
    "topology": TopologyNetwork,
    "edges": EdgesNetwork,
    "file": FileNetwork,
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
    | Annotated[LinksNetwork, Tag(TAG + "links")]
    | Annotated[TopologyNetwork, Tag(TAG + "topology")]
    | Annotated[EdgesNetwork, Tag(TAG + "edges")]
    | Annotated[SequenceNetwork, Tag(TAG + "sequence")],
    Discriminator(_form),
    BeforeValidator(_one_form),
]


def with_graph_files(schema: dict[str, Any]) -> None:
    """Add to the JSON schema of a file that its network may be a graph file."""
    made = FileNetwork.model_json_schema()
    schema["$defs"] |= {**made.pop("$defs"), "FileNetwork": made}
    schema["properties"]["network"]["oneOf"].append({"$ref": "#/$defs/FileNetwork"})


def changes_of(section: NetworkSection) -> str | None:
    """The key of the table [network] that makes the network change; None if it stays."""
    if isinstance(section, SequenceNetwork):
        return "sequence"
    return None if section.changes is None else "changes"


def build_network(section: NetworkSection, name: str, *, source: str) -> AnyNetwork:
    """The network that the table [network] describes, with what happens to it.

    Raises
    ------
    ValueError
        If it is none, in one line that names the file, `source`, and the table.
    """
    from theory import Network

    with placed(source, "network", section):
        built = section.build(name)
    if isinstance(section, SequenceNetwork) or section.changes is None:
        return built
    assert isinstance(built, Network)
    with placed(source, "network.changes", section.changes):
        return section.changes.apply(built, section)
