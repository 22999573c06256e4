"""Networks that change, as a problem file writes them.

Two ways. ``[network.changes]`` says what happens to the network that the rest of the table
describes: links fail, agents come and go, messages are late, agents wake up by themselves.
``sequence`` lists the phases one by one: they take turns, or follow each other at random.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
from pydantic import ConfigDict, Field, model_validator

from peerbayes.messages import problem_error
from peerbayes.problem.entries import (
    Agents,
    Distribution,
    Name,
    OneOf,
    PositiveNumber,
    Probability,
    Row,
    Section,
    Table,
    by_agent,
    by_word,
    check_agent,
    check_one,
    check_square,
    exactly_one,
    key,
)
from theory.validation import fail

if TYPE_CHECKING:
    from theory import Network
    from theory.changing import ChangingNetwork

# As theory.changing: what is said must be kept until it is heard.
LONGEST_DELAY = 10_000
Delay = Annotated[int, Field(ge=0, le=LONGEST_DELAY)]


class Change(Section):
    """What happens to a network, in one of the ways below."""


class LinkChanges(Change):
    """Every link is up or down in each round, by chance."""

    kind: Literal["links"]
    up: Probability = key("Probability that a link is up in a round, in [0, 1].")
    on_loss: Literal["own", "renormalise", "last"] = key(
        "What stands in for a lost message: the own belief, what else arrived, or the last "
        "message that came.",
        "own",
    )
    symmetric: bool = key("Whether both directions of a link fail at once.", False)


class PresenceChanges(Change):
    """Agents leave and return, by chance."""

    kind: Literal["presence"]
    present: Probability = key("Share of the rounds in which an agent is there.")
    mean_absence: PositiveNumber | None = key(
        "Mean rounds of an absence; left out: each round by itself.", None
    )


class DelayChanges(Change):
    """Messages are late by a fixed number of rounds."""

    model_config = ConfigDict(json_schema_extra=exactly_one("delay", "delays"))

    kind: Literal["delays"]
    delay: Delay | None = key("Age of every message, in rounds.", None)
    delays: Row[Row[Delay]] | None = key("Age of what agent i uses of agent j, row by row.", None)

    @model_validator(mode="after")
    def _one_form(self) -> DelayChanges:
        wanted = "exactly one of delay, delays"
        check_one(wanted, self.delay, self.delays, neither="keep one of them")
        for i, row in enumerate(self.delays or ()):
            if len(row) != len(self.delays or ()):
                wanted = f"{len(self.delays or ())} numbers, one for each of as many rows"
                raise problem_error(("delays", i), wanted, len(row), "make the matrix square")
        return self


class GossipChanges(Change):
    """In each round one pair of neighbours, every pair alike, averages what it believes."""

    kind: Literal["gossip"]


class ClockChanges(Change):
    """Agents wake up by clocks of their own; the one that wakes observes and pools."""

    kind: Literal["clocks"]
    rates: Row[PositiveNumber] | None = key(
        "How often each agent's clock ticks, one an agent or by name; left out: 1.",
        None,
        json_schema_extra=by_agent,
    )


class WalkChanges(Change):
    """A token walks the graph; the agent that holds it observes and pools."""

    kind: Literal["walk"]


class RotationChanges(Change):
    """A star whose edges take turns, a group at a time (P2 section 1.4.3)."""

    kind: Literal["rotation"]
    group_size: int = key("How many edges are connected at a time.", ge=1)


CHANGES = by_word(
    "kind",
    *(LinkChanges, PresenceChanges, DelayChanges, GossipChanges, ClockChanges, WalkChanges),
    RotationChanges,
)
"""The kinds of change, and their sections."""
ChangesSection = Annotated[
    Change, OneOf("kind", CHANGES, place="[network.changes]", remedy="say what changes")
]


def changing(network: Network, change: Change, section: Section) -> ChangingNetwork:
    """The network with what happens to it.

    Parameters
    ----------
    section
        The table ``[network]`` around the change.

    Raises
    ------
    ValueError
        If this cannot happen to the network.
    """
    from theory.changing import DelayedNetwork, MarkovNetwork, RandomLinks, RandomPresence

    match change:
        case LinkChanges(up=up, on_loss=on_loss, symmetric=symmetric):
            return RandomLinks(network, up=float(up), on_loss=on_loss, symmetric=symmetric)
        case PresenceChanges(present=present, mean_absence=rounds):
            absence = None if rounds is None else np.asarray(float(rounds))
            return RandomPresence(network, present=np.asarray(float(present)), mean_absence=absence)
        case DelayChanges(delay=delay, delays=delays):
            ages = delay if delays is None else np.array(delays, dtype=np.int64)
            assert ages is not None
            return DelayedNetwork(network, ages)
        case GossipChanges():
            return MarkovNetwork.gossip_pairs(network)
        case ClockChanges(rates=rates):
            ticks = [1.0] * network.agents if rates is None else [float(rate) for rate in rates]
            if len(ticks) != network.agents:
                wanted = f"one for each of {network.agents} agents"
                raise fail("rates", wanted, len(ticks), "give every agent a rate")
            return MarkovNetwork.clocks(network, clock_rates=ticks)
        case RotationChanges(group_size=size):
            return _rotating(network, size, section)
    return MarkovNetwork.walk(network)


def _rotating(network: Network, size: int, section: Section) -> ChangingNetwork:
    """The rotating star; each group of this size forms a star of its own with the centre."""
    from theory.changing import rotating_star

    confidence = getattr(section, "edge_confidence", None)
    if getattr(section, "topology", None) != "star" or confidence is None:
        wanted = 'a star with edge_confidence for kind = "rotation"'
        remedy = 'write topology = "star" and edge_confidence'
        raise fail("kind", wanted, f"{network.name!r}", remedy)
    groups, rest = divmod(network.agents - 1, size)
    if rest:
        wanted = f"a divisor of the {network.agents - 1} edges"
        raise fail("group_size", wanted, size, "change it, or the number of agents")
    star = rotating_star(groups=groups, group_size=size, edge_confidence=float(confidence))
    return replace(star, names=network.names)


# Phase by phase ---------------------------------------------------------------------------------


class PhaseSection(Section):
    """One phase: who hears whom, and who observes."""

    weights: Table = key("W_ij is the weight agent i puts on j; rows sum to 1.")
    active: Agents | None = key("Agents that observe in this phase; left out: all.", None)


class NamedAgents(Section):
    """What every form of a network has: what its agents are called."""

    names: Row[Name] | None = key("What the agents are called, each by its own name.", None)


class SequenceNetwork(NamedAgents):
    """A network given phase by phase; they take turns unless chance chooses them."""

    sequence: Row[PhaseSection] = key("The phases.")
    probabilities: Distribution | None = key(
        "Each round's phase is drawn by itself, with these.", None
    )
    transition: Table | None = key("The next round's phase, given this one's, row by row.", None)
    initial: Distribution | None = key(
        "With transition: the first round's phase; left out: stationary.", None
    )
    event_rate: PositiveNumber | None = key(
        "With transition: rounds per unit of time, if rounds are events.", None
    )

    @model_validator(mode="after")
    def _consistent(self) -> SequenceNetwork:
        agents = len(self.sequence[0].weights)
        for s, phase in enumerate(self.sequence):
            place = ("sequence", s, "weights")
            if len(phase.weights) != agents:
                wanted = f"{agents} rows, as in the first phase"
                remedy = "describe the same agents in every phase"
                raise problem_error(place, wanted, len(phase.weights), remedy)
            check_square(place, phase.weights)
            for k, agent in enumerate(phase.active or ()):
                check_agent(("sequence", s, "active", k), agent, agents)
        self._check_chance()
        return self

    def _check_chance(self) -> None:
        phases = len(self.sequence)
        if self.probabilities is not None and self.transition is not None:
            got = "probabilities and transition"
            raise problem_error((), "at most one law of the phases", got, "keep one of them")
        for name in ("initial", "event_rate"):
            if getattr(self, name) is not None and self.transition is None:
                raise problem_error((), f"{name} beside transition", "it alone", "leave it out")
        for name in ("initial", "probabilities"):
            law = getattr(self, name)
            if law is not None and len(law) != phases:
                wanted = f"one for each of the {phases} phases"
                raise problem_error((name,), wanted, len(law), "match the sequence")
        for s, row in enumerate(self.transition or ()):
            if len(row) != phases or len(self.transition or ()) != phases:
                wanted = f"{phases} rows of {phases} numbers, one for each phase"
                raise problem_error(("transition", s), wanted, len(row), "match the sequence")

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
        labels: dict[str, Any] = {"name": name, "names": self.names}
        if self.probabilities is not None:
            shares = np.array(self.probabilities, dtype=np.float64)
            return MarkovNetwork.independent(phases, shares, **labels)
        if self.transition is not None:
            return MarkovNetwork(
                tuple(phases),
                np.array(self.transition, dtype=np.float64),
                None if self.initial is None else np.array(self.initial, dtype=np.float64),
                event_rate=None if self.event_rate is None else float(self.event_rate),
                **labels,
            )
        return PeriodicNetwork(tuple(phases), **labels)
