"""The ``[learning]`` table of a problem file: how agents learn from what they observe."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Protocol

from pydantic import Discriminator, Field, Tag

from peerbayes.messages import TAG, input_error
from peerbayes.problem.entries import Section, by_agent

Count = Annotated[int, Field(ge=1)]
Counts = Annotated[tuple[Count, ...], Field(strict=False)]


def _form(value: Any) -> str:
    return TAG + ("list" if isinstance(value, list | tuple) else "number")


Batch = Annotated[
    Annotated[Count, Tag(TAG + "number")] | Annotated[Counts, Tag(TAG + "list")],
    Discriminator(_form),
]


def _by_name(schema: dict[str, Any]) -> None:
    """Change the JSON schema of batches: a table by agent will do."""
    schema["anyOf"].append(by_agent({"type": "integer", "minimum": 1}))


class LearningSection(Section):
    """What holds for all agents, or agent by agent."""

    batch: Batch | None = Field(
        default=None,
        description="Independent observations a round: of every agent that has no batch of its "
        "own; a list, one number an agent; or by name, 1 of those left out.",
        json_schema_extra=_by_name,
    )


class AgentEntry(Protocol):
    """An entry of ``[[model.agents]]`` or ``[[regression.agents]]``."""

    @property
    def count(self) -> int:
        """How many agents in a row share the entry."""
        ...

    @property
    def batch(self) -> int | None:
        """Observations a round, if the entry says."""
        ...


def batches_of(learning: LearningSection | None, agents: Sequence[AgentEntry]) -> tuple[int, ...]:
    """Observations a round, agent by agent: the entry's own, else the table's, else 1."""
    shared = None if learning is None else learning.batch
    if isinstance(shared, tuple):
        return shared
    each = [shared or 1 if agent.batch is None else agent.batch for agent in agents]
    return tuple(b for b, agent in zip(each, agents, strict=True) for _ in range(agent.count))


def check_batches(
    source: str, table: str, learning: LearningSection | None, agents: Sequence[AgentEntry]
) -> None:
    """Whether a list of batches fits the agents.

    Raises
    ------
    ValueError
        If it has not one number an agent, or an entry has a batch of its own besides.
    """
    shared = None if learning is None else learning.batch
    if not isinstance(shared, tuple):
        return
    count = sum(agent.count for agent in agents)
    place = ("learning", "batch")
    if len(shared) != count:
        wanted = f"a number, or a list of {count} (one for each agent)"
        raise input_error(source, place, wanted, f"{len(shared)} of them", f"make it {count} long")
    for k, agent in enumerate(agents):
        if agent.batch is not None:
            wanted = f"one number for all beside a batch of {table}.agents[{k}]"
            raise input_error(source, place, wanted, "a list", "keep one of the two")
