"""Networks that change, as a problem file writes them.

Two ways. ``[network.changes]`` says what happens to the network that the rest of the table
describes: links fail, agents come and go, messages are late, agents wake up by themselves.
``sequence`` lists the phases one by one: they take turns, or follow each other at random.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
from pydantic import BeforeValidator, ConfigDict, Discriminator, Field, Tag, model_validator

from peerbayes.messages import TAG, problem_error
from peerbayes.problem.entries import (
    Agents,
    Distribution,
    PositiveNumber,
    Probability,
    Row,
    Section,
    Table,
    by_agent,
    exactly_one,
    known_table,
    tag_of,
)
from theory.validation import fail

if TYPE_CHECKING:
    from theory import Network
    from theory.changing import ChangingNetwork

# As theory.changing: what is said must be kept until it is heard.
LONGEST_DELAY = 10_000


def _by_name(schema: dict[str, Any]) -> None:
    """Change the JSON schema of rates: a table by agent will do."""
    schema["anyOf"].append(by_agent(schema["anyOf"][0]["items"]))


class LinkChanges(Section):
    """Every link is up or down in each round, by chance."""

    kind: Literal["links"]
    up: Probability = Field(description="Probability that a link is up in a round, in [0, 1].")
    on_loss: Literal["own", "renormalise", "last"] = Field(
        default="own",
        description="What stands in for a lost message: the own belief, what else arrived, or the "
        "last message that came.",
    )
    symmetric: bool = Field(
        default=False, description="Whether both directions of a link fail at once."
    )

    def apply(self, network: Network, section: Section) -> ChangingNetwork:
        """The network with failing links."""
        from theory.changing import RandomLinks

        return RandomLinks(
            network, up=float(self.up), on_loss=self.on_loss, symmetric=self.symmetric
        )


class PresenceChanges(Section):
    """Agents leave and return, by chance."""

    kind: Literal["presence"]
    present: Probability = Field(description="Share of the rounds in which an agent is there.")
    mean_absence: PositiveNumber | None = Field(
        default=None, description="Mean rounds of an absence; left out: each round by itself."
    )

    def apply(self, network: Network, section: Section) -> ChangingNetwork:
        """The network with agents that come and go."""
        from theory.changing import RandomPresence

        absence = None if self.mean_absence is None else np.asarray(float(self.mean_absence))
        present = np.asarray(float(self.present))
        return RandomPresence(network, present=present, mean_absence=absence)


class DelayChanges(Section):
    """Messages are late by a fixed number of rounds."""

    model_config = ConfigDict(json_schema_extra=exactly_one("delay", "delays"))

    kind: Literal["delays"]
    delay: Annotated[int, Field(ge=0, le=LONGEST_DELAY)] | None = Field(
        default=None, description="Age of every message, in rounds."
    )
    delays: Row[Row[Annotated[int, Field(ge=0, le=LONGEST_DELAY)]]] | None = Field(
        default=None, description="Age of what agent i uses of agent j, row by row."
    )

    @model_validator(mode="after")
    def _one_form(self) -> DelayChanges:
        if (self.delay is None) == (self.delays is None):
            got = "neither" if self.delay is None else "both"
            raise problem_error((), "exactly one of delay, delays", got, "keep one of them")
        for i, row in enumerate(self.delays or ()):
            if len(row) != len(self.delays or ()):
                wanted = f"{len(self.delays or ())} numbers, one for each of as many rows"
                raise problem_error(("delays", i), wanted, len(row), "make the matrix square")
        return self

    def apply(self, network: Network, section: Section) -> ChangingNetwork:
        """The network with late messages."""
        from theory.changing import DelayedNetwork

        if self.delay is not None:
            return DelayedNetwork(network, self.delay)
        return DelayedNetwork(network, np.array(self.delays, dtype=np.int64))


class GossipChanges(Section):
    """In each round one pair of neighbours, every pair alike, averages what it believes."""

    kind: Literal["gossip"]

    def apply(self, network: Network, section: Section) -> ChangingNetwork:
        """Pairwise gossip on the network's graph."""
        from theory.changing import MarkovNetwork

        return MarkovNetwork.gossip_pairs(network)


class ClockChanges(Section):
    """Agents wake up by clocks of their own; the one that wakes observes and pools."""

    kind: Literal["clocks"]
    rates: Row[PositiveNumber] | None = Field(
        default=None,
        description="How often each agent's clock ticks, one an agent or by name; left out: 1.",
        json_schema_extra=_by_name,
    )

    def apply(self, network: Network, section: Section) -> ChangingNetwork:
        """The network in event time: a round is a tick."""
        from theory.changing import MarkovNetwork

        rates = [1.0] * network.agents if self.rates is None else [float(r) for r in self.rates]
        if len(rates) != network.agents:
            remedy = "give every agent a rate"
            raise fail("rates", f"one for each of {network.agents} agents", len(rates), remedy)
        return MarkovNetwork.clocks(network, clock_rates=rates)


class WalkChanges(Section):
    """A token walks the graph; the agent that holds it observes and pools."""

    kind: Literal["walk"]

    def apply(self, network: Network, section: Section) -> ChangingNetwork:
        """The network whose one awake agent moves along its links."""
        from theory.changing import MarkovNetwork

        return MarkovNetwork.walk(network)


class RotationChanges(Section):
    """A star whose edges take turns, a group at a time (P2 section 1.4.3)."""

    kind: Literal["rotation"]
    group_size: int = Field(ge=1, description="How many edges are connected at a time.")

    def apply(self, network: Network, section: Section) -> ChangingNetwork:
        """The rotating star; each group forms a star of its own with the centre."""
        from theory.changing import rotating_star

        confidence = getattr(section, "edge_confidence", None)
        if getattr(section, "topology", None) != "star" or confidence is None:
            raise fail(
                "kind",
                'a star with edge_confidence for kind = "rotation"',
                f"{network.name!r}",
                'write topology = "star" and edge_confidence',
            )
        groups, rest = divmod(network.agents - 1, self.group_size)
        if rest:
            raise fail(
                "group_size",
                f"a divisor of the {network.agents - 1} edges",
                self.group_size,
                "change it, or the number of agents",
            )
        star = rotating_star(
            groups=groups, group_size=self.group_size, edge_confidence=float(confidence)
        )
        return replace(star, names=network.names)


CHANGES: dict[
    str,
    type[
        LinkChanges
        | PresenceChanges
        | DelayChanges
        | GossipChanges
        | ClockChanges
        | WalkChanges
        | RotationChanges
    ],
] = {
    "links": LinkChanges,
    "presence": PresenceChanges,
    "delays": DelayChanges,
    "gossip": GossipChanges,
    "clocks": ClockChanges,
    "walk": WalkChanges,
    "rotation": RotationChanges,
}
"""The kinds of change, and their sections."""


def _known_kind(value: object) -> object:
    """Refuse a table without a kind, or of one that there is not."""
    return known_table(
        value, key="kind", known=CHANGES, place="[network.changes]", remedy="say what changes"
    )


def _kind(value: object) -> str:
    """The tag of one kind of change."""
    return tag_of(value, key="kind")


ChangesSection = Annotated[
    Annotated[LinkChanges, Tag(TAG + "links")]
    | Annotated[PresenceChanges, Tag(TAG + "presence")]
    | Annotated[DelayChanges, Tag(TAG + "delays")]
    | Annotated[GossipChanges, Tag(TAG + "gossip")]
    | Annotated[ClockChanges, Tag(TAG + "clocks")]
    | Annotated[WalkChanges, Tag(TAG + "walk")]
    | Annotated[RotationChanges, Tag(TAG + "rotation")],
    Discriminator(_kind),
    BeforeValidator(_known_kind),
]


class PhaseSection(Section):
    """One phase: who hears whom, and who observes."""

    weights: Table = Field(description="W_ij is the weight agent i puts on j; rows sum to 1.")
    active: Agents | None = Field(
        default=None, description="Agents that observe in this phase; left out: all."
    )


class NamedAgents(Section):
    """What every form of a network has: what its agents are called."""

    names: Row[Annotated[str, Field(min_length=1)]] | None = Field(
        default=None, description="What the agents are called, each by its own name."
    )


class SequenceNetwork(NamedAgents):
    """A network given phase by phase; they take turns unless chance chooses them."""

    sequence: Row[PhaseSection] = Field(description="The phases.")
    probabilities: Distribution | None = Field(
        default=None, description="Each round's phase is drawn by itself, with these."
    )
    transition: Table | None = Field(
        default=None, description="The next round's phase, given this one's, row by row."
    )
    initial: Distribution | None = Field(
        default=None, description="With transition: the first round's phase; left out: stationary."
    )
    event_rate: PositiveNumber | None = Field(
        default=None, description="With transition: rounds per unit of time, if rounds are events."
    )

    @model_validator(mode="after")
    def _consistent(self) -> SequenceNetwork:
        agents = len(self.sequence[0].weights)
        for s, phase in enumerate(self.sequence):
            if len(phase.weights) != agents:
                raise problem_error(
                    ("sequence", s, "weights"),
                    f"{agents} rows, as in the first phase",
                    len(phase.weights),
                    "describe the same agents in every phase",
                )
            for i, row in enumerate(phase.weights):
                if len(row) != agents:
                    raise problem_error(
                        ("sequence", s, "weights", i),
                        f"{agents} numbers, one for each of the {agents} rows",
                        len(row),
                        "make the matrix square",
                    )
            for k, agent in enumerate(phase.active or ()):
                if not 0 <= agent < agents:
                    raise problem_error(
                        ("sequence", s, "active", k),
                        f"an agent from 0 to {agents - 1}",
                        agent,
                        "correct it",
                    )
        self._check_chance()
        return self

    def _check_chance(self) -> None:
        phases = len(self.sequence)
        if self.probabilities is not None and self.transition is not None:
            got = "probabilities and transition"
            raise problem_error((), "at most one law of the phases", got, "keep one of them")
        for key in ("initial", "event_rate"):
            if getattr(self, key) is not None and self.transition is None:
                raise problem_error((), f"{key} beside transition", "it alone", "leave it out")
        if self.initial is not None and len(self.initial) != phases:
            wanted = f"one for each of the {phases} phases"
            raise problem_error(("initial",), wanted, len(self.initial), "match the sequence")
        if self.probabilities is not None and len(self.probabilities) != phases:
            raise problem_error(
                ("probabilities",),
                f"one for each of the {phases} phases",
                len(self.probabilities),
                "match the sequence",
            )
        for s, row in enumerate(self.transition or ()):
            if len(row) != phases or len(self.transition or ()) != phases:
                raise problem_error(
                    ("transition", s),
                    f"{phases} rows of {phases} numbers, one for each phase",
                    len(row),
                    "match the sequence",
                )

    def build(self, name: str) -> ChangingNetwork:
        """The network described."""
        from theory.changing import MarkovNetwork, PeriodicNetwork, Phase

        phases = [
            Phase(
                np.array(phase.weights, dtype=np.float64),
                None if phase.active is None else list(phase.active),
            )
            for phase in self.sequence
        ]
        if self.probabilities is not None:
            shares = np.array(self.probabilities, dtype=np.float64)
            return MarkovNetwork.independent(phases, shares, name=name, names=self.names)
        if self.transition is not None:
            return MarkovNetwork(
                tuple(phases),
                np.array(self.transition, dtype=np.float64),
                None if self.initial is None else np.array(self.initial, dtype=np.float64),
                name=name,
                event_rate=None if self.event_rate is None else float(self.event_rate),
                names=self.names,
            )
        return PeriodicNetwork(tuple(phases), name=name, names=self.names)
