"""What `launch` prints and records, as types, and its tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from pydantic import Field

from peerbayes.documents import Document, Documented, Number
from peerbayes.live.share import own_file, state_folder

if TYPE_CHECKING:
    from rich.console import RenderableType


class LiveAgentDocument(Document):
    """One agent's process, in numbers; null: it never reported."""

    agent: str
    done: bool = Field(description="whether it came to the end of its rounds")
    rounds: int | None
    rounds_per_second: Number
    probabilities: list[Number] | None = Field(description="of the hypotheses; null for nets")
    belief: dict[str, Any] | None = Field(description="as the agent reports it")
    refused: int = Field(ge=0, description="frames")
    rss_mb: Number = Field(description="memory held, 10^6 bytes")
    deaths: int = Field(ge=0, description="how often its process died")
    code: int | None = Field(description="exit code; negative: the signal that killed it")

    @classmethod
    def of(
        cls, name: str, report: Mapping[str, Any] | None, *, deaths: int, code: int | None
    ) -> Self:
        """The document of an agent's last report."""
        if report is None:
            return cls(
                agent=name, done=False, rounds=None, rounds_per_second=None, probabilities=None,
                belief=None, refused=0, rss_mb=None, deaths=deaths, code=code,
            )  # fmt: skip
        gap = report["gap"]
        return cls(
            agent=name,
            done=report["done"],
            rounds=report["round"],
            rounds_per_second=1 / gap if gap else None,
            probabilities=report["belief"].get("probabilities"),
            belief=dict(report["belief"]),
            refused=sum(report["refused"].values()),
            rss_mb=report["rss_mb"],
            deaths=deaths,
            code=code,
        )


class LaunchDocument(Document):
    """A live network on one machine."""

    problem: str
    network: str = Field(description="first 16 hexadecimal digits of the problem's digest")
    pace: str
    rounds: int | None = Field(description="asked for; null: until interrupted")
    seed: int
    secured: bool = Field(description="whether agents had keys")
    seconds: Number
    seconds_to_start: Number = Field(description="until every agent had reported")
    hypotheses: list[str]
    agents: list[LiveAgentDocument] = Field(min_length=1)
    reports: list[dict[str, Any]] = Field(description="the agents' last reports, as they came")


@dataclass(frozen=True, eq=False)
class LaunchOutcome(Documented):
    """What became of a live network on one machine.

    Attributes
    ----------
    found
        In numbers.
    record_path
        The record.
    """

    found: LaunchDocument
    record_path: Path

    @property
    def complete(self) -> bool:
        """Whether every agent came to the end of its rounds, or was stopped in order."""
        endless = self.found.rounds is None
        return all((agent.done or endless) and agent.code == 0 for agent in self.found.agents)

    @property
    def failed(self) -> bool:
        """Whether some agent was not done."""
        return not self.complete

    def state_file(self, agent: str) -> Path:
        """Where an agent left its state, beside its journal and notices."""
        folder = state_folder(self.record_path.parent, self.found.network)
        return own_file(folder, agent, "state")

    def document(self) -> LaunchDocument:
        """What the command prints."""
        return self.found

    def tables(self) -> list[RenderableType]:
        """The same for people."""
        return launch_parts(self.found)


def launch_parts(found: LaunchDocument) -> list[RenderableType]:
    """The tables of `launch`."""
    from rich.text import Text

    from peerbayes.tables import facts_table, figures_table, number, rounds

    together = "in lock-step" if found.pace == "lockstep" else "each on its own rhythm"
    facts = {
        "agents": f"{len(found.agents)} processes, {together}",
        "rounds, seed": f"{rounds(found.rounds)}, {found.seed}",
        "seconds": f"{number(found.seconds)}, of which {number(found.seconds_to_start)} to start",
        "links": "TLS, frames signed" if found.secured else "not encrypted",
    }
    table = figures_table(
        "agents", "agent", "rounds", "a second", "believes", "", "refused", "memory MB"
    )
    for agent in found.agents:
        best, share = "-", "-"
        if agent.probabilities:
            known = [value or 0.0 for value in agent.probabilities]
            top = max(range(len(known)), key=known.__getitem__)
            best, share = found.hypotheses[top], number(known[top])
        state = "" if agent.done else " (ended early)"
        table.add_row(
            Text(agent.agent + state),
            rounds(agent.rounds),
            number(agent.rounds_per_second),
            Text(best),
            share,
            rounds(agent.refused),
            number(agent.rss_mb),
        )
    return [facts_table(found.problem, facts), table]
