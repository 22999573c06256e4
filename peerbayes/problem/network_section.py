"""The ``[network]`` table of a problem file, in its six forms, and the network it describes.

Exactly one of: the weight matrix itself; its positive entries, link by link; the name of a
topology; a list of edges with a rule; a graph file; a sequence of phases. All but the last may say
besides what changes (`peerbayes.problem.changes_section`). A graph file is read before the table is
checked (`peerbayes.problem.agents_by_name`), and stands here for its keys.
What can be judged here is checked here, with its place in the file; that the network is
irreducible and aperiodic is checked by `theory.Network`.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args

import numpy as np
from pydantic import BeforeValidator, ConfigDict, Discriminator, Field, model_validator

from peerbayes.messages import TAG, describe, nearest, problem_error
from peerbayes.problem.changes_section import ChangesSection, NamedAgents, SequenceNetwork, changing
from peerbayes.problem.entries import (
    Agent,
    Number,
    Pair,
    PositiveNumber,
    Rational,
    Row,
    Section,
    Table,
    check_agent,
    check_square,
    json_number,
    key,
    list_only,
    placed,
    sums_to_one,
    tagged,
    without_agents,
)
from theory import Network
from theory.network.labels import called
from theory.network.stationary import DENSE_AGENTS
from theory.scientific import sparse

if TYPE_CHECKING:
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
_RULE = "How weights are put on the edges."
_NO_CHANGES = "What happens to the network; left out: it stays as it is."
_AGENTS = "Number of agents; left out: of the names."


def _any_rows(schema: dict[str, Any]) -> None:
    """Change the JSON schema of weights: with `normalise` their rows need not sum to 1."""
    sums = {"items": schema["properties"]["weights"].pop("items")}
    schema["properties"]["weights"]["items"] = {"type": "array", "items": _NOT_NEGATIVE}
    schema["if"] = {"required": ["normalise"], "properties": {"normalise": {"const": True}}}
    schema["else"] = {"properties": {"weights": sums}}


class FixedNetwork(NamedAgents):
    """What the forms of a network of its own have in common."""

    positions: Row[Annotated[Row[Number], Field(min_length=2, max_length=2)]] | None = key(
        "Where the agents are drawn: x and y of each.", None
    )
    changes: ChangesSection | None = key(_NO_CHANGES, None)

    def build(self, name: str) -> Network:
        """The network described, with the names and the positions that the file gives."""
        network = self._build(name)
        if self.names is None and self.positions is None:
            return network
        layout = network.layout
        if self.positions is not None:
            layout = np.array(self.positions, dtype=np.float64)
        return replace(network, names=self.names, layout=layout)

    @abstractmethod
    def _build(self, name: str) -> Network:
        """The network of this form."""

    @abstractmethod
    def build_rational(self, name: str) -> RationalNetwork:
        """The network described, exactly; doubles are read as the binary fractions they are."""


class WeightsNetwork(FixedNetwork):
    """A network given by its weight matrix."""

    model_config = ConfigDict(json_schema_extra=_any_rows)

    weights: Table = key("W_ij is the weight agent i puts on agent j; rows sum to 1.")
    normalise: bool = key("Whether each row is divided by its sum first.", False)

    @model_validator(mode="after")
    def _square(self) -> WeightsNetwork:
        check_square(("weights",), self.weights)
        return self

    def _build(self, name: str) -> Network:
        weights = np.array(self.weights, dtype=np.float64)
        return Network(weights, name=name, names=self.names)

    def build_rational(self, name: str) -> RationalNetwork:
        from theory.rational import RationalNetwork

        return RationalNetwork.from_rows(self.weights, name=name)


Link = Annotated[
    tuple[Agent, Agent, PositiveNumber], Field(strict=False), BeforeValidator(list_only)
]
"""Listener, speaker, weight."""


class LinksNetwork(FixedNetwork):
    """A network given by its positive weights: W of many agents, link by link."""

    model_config = ConfigDict(json_schema_extra=without_agents)

    links: Row[Link] = key(
        "[i, j, W_ij] for every positive weight, also those on oneself; the weights of an agent i "
        "sum to 1."
    )
    agents: int = key(_AGENTS, ge=1)

    @model_validator(mode="after")
    def _stochastic(self) -> LinksNetwork:
        # Names that are not one for each agent are refused later.
        names = self.names if len(self.names or ()) == self.agents else None
        rows: list[dict[int, Rational]] = [{} for _ in range(self.agents)]
        for k, (listener, speaker, weight) in enumerate(self.links):
            for end, agent in enumerate((listener, speaker)):
                check_agent(("links", k, end), agent, self.agents, remedy="correct the link")
            if speaker in rows[listener]:
                got = f"{called(listener, names)} hears {called(speaker, names)} twice"
                raise problem_error(("links", k), "each link once", got, "keep one of them")
            rows[listener][speaker] = weight
        for agent, row in enumerate(rows):
            if not row:
                wanted, got = "weights of every agent", f"none of {called(agent, names)}"
                raise problem_error(("links",), wanted, got, "list what it puts on whom")
            sums_to_one(tuple(row.values()), ("links",), of=f" for {called(agent, names)}")
        return self

    def _build(self, name: str) -> Network:
        """Stored as a sparse array above 2000 agents."""
        listener, speaker, weight = zip(*self.links, strict=True)
        values = np.array(weight, dtype=np.float64)
        table = sparse.csr_array((values, (listener, speaker)), shape=(self.agents, self.agents))
        stored = table if self.agents > DENSE_AGENTS else table.toarray()
        return Network(stored, name=name, names=self.names)

    def build_rational(self, name: str) -> RationalNetwork:
        from theory.rational import RationalNetwork

        rows: list[list[Rational]] = [[Fraction(0)] * self.agents for _ in range(self.agents)]
        for listener, speaker, weight in self.links:
            rows[listener][speaker] = weight
        return RationalNetwork.from_rows(rows, name=name)


class EdgesNetwork(FixedNetwork):
    """A network given by its edges and a rule for the weights."""

    model_config = ConfigDict(json_schema_extra=without_agents)

    edges: Row[Pair] = key(
        "Pairs [a, b] of agents, by name or counted from 0; if directed, b hears a."
    )
    agents: int = key(_AGENTS, ge=1)
    rule: Rule = key(_RULE, "uniform")
    directed: bool = key("Whether edges lead one way.", False)

    @model_validator(mode="after")
    def _in_range(self) -> EdgesNetwork:
        remedy = "correct the edge, or raise network.agents"
        for k, edge in enumerate(self.edges):
            for end, agent in enumerate(edge):
                check_agent(("edges", k, end), agent, self.agents, remedy=remedy)
        return self

    @property
    def _options(self) -> dict[str, Any]:
        return {"agents": self.agents, "rule": self.rule, "directed": self.directed}

    def _build(self, name: str) -> Network:
        return Network.from_edges(self.edges, name=name, names=self.names, **self._options)

    def build_rational(self, name: str) -> RationalNetwork:
        from theory.rational import RationalNetwork

        return RationalNetwork.from_edges(self.edges, name=name, **self._options)


class TopologyNetwork(FixedNetwork):
    """A network given by the name of its topology."""

    topology: Topology = key("Who is linked with whom.")
    agents: int | None = key(_AGENTS, None, ge=1)
    shape: Row[Annotated[int, Field(ge=1)]] | None = key(
        "Rows and columns of a grid or torus.", None
    )
    rule: Rule | None = key(_RULE, None)
    edge_confidence: PositiveNumber | None = key(
        "Star: the weight that every edge agent puts on the centre.", None
    )
    probability: float | None = key("Erdős–Rényi: probability of an edge.", None, gt=0, le=1)
    radius: float | None = key("Geometric: agents closer than this are neighbours.", None, gt=0)
    branching: int | None = key("Tree: children of an agent.", None, ge=1)
    dimension: int | None = key("Hypercube: the dimension.", None, ge=1)
    seed: int | None = key("Seed of a random topology; left out: 0.", None, ge=0)

    def _build(self, name: str) -> Network:
        """Its own name is that of the topology."""
        options = self._options
        if self.edge_confidence is not None:
            options["edge_confidence"] = float(self.edge_confidence)
        return Network.from_topology(self.topology, **options)

    def build_rational(self, name: str) -> RationalNetwork:
        from theory.rational import RationalNetwork

        return RationalNetwork.from_topology(self.topology, **self._options)

    @property
    def _options(self) -> dict[str, Any]:
        own = {"topology", "changes", "names", "positions"}
        options = self.model_dump(exclude=own, exclude_none=True)
        if self.topology in ("erdos-renyi", "geometric"):
            options.setdefault("seed", 0)
        return options


class FileNetwork(Section):
    """A network given by a graph file, whose nodes are the agents, by name."""

    file: str = key(
        "GraphML, GML, Pajek, edge list or CSV, by its ending; a path from the folder of this "
        "file.",
        min_length=1,
    )
    rule: Rule | None = key(f"{_RULE[:-1]}; left out: as the edges carry them, or uniform.", None)
    directed: bool = key("Edge lists: whether edges lead one way; b hears a of a b.", False)
    normalise: bool = key("Whether what an agent hears is divided by its sum.", False)
    changes: ChangesSection | None = key(_NO_CHANGES, None)

    @model_validator(mode="after")
    def _one_way(self) -> FileNetwork:
        if self.rule is not None and self.normalise:
            wanted = "at most one of rule, normalise"
            raise problem_error((), wanted, "both", "keep one of them")
        return self


_BUILT: dict[str, type[FixedNetwork | SequenceNetwork]] = {
    "weights": WeightsNetwork,
    "links": LinksNetwork,
    "topology": TopologyNetwork,
    "edges": EdgesNetwork,
    "sequence": SequenceNetwork,
}
FORMS: dict[str, type[FixedNetwork | FileNetwork | SequenceNetwork]] = {
    key: _BUILT.get(key, FileNetwork)
    for key in ("weights", "links", "topology", "edges", "file", "sequence")
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


if TYPE_CHECKING:
    NetworkSection = (
        WeightsNetwork | LinksNetwork | TopologyNetwork | EdgesNetwork | SequenceNetwork
    )
else:
    NetworkSection = Annotated[tagged(_BUILT), Discriminator(_form), BeforeValidator(_one_form)]


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
    with placed(source, "network", section):
        built = section.build(name)
    if isinstance(section, SequenceNetwork) or section.changes is None:
        return built
    assert isinstance(built, Network)
    with placed(source, "network.changes", section.changes):
        return changing(built, section.changes, section)
