"""What `keys` and `router` print, as types, and their tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pydantic import Field

from peerbayes.documents import Document

if TYPE_CHECKING:
    from rich.console import RenderableType


class KeysEntry(Document):
    """The keys of one process."""

    folder: str
    name: str
    role: str
    expires: str | None = Field(description="day on which the certificate ends, year-month-day")
    fault: str = Field(description='what is wrong, in words; "" if nothing is')


class KeysDocument(Document):
    """The keys of a network, or of some of its processes."""

    network: str = Field(description="first 16 hexadecimal digits of the problem's digest")
    epoch: int | None = Field(description="of the newest signed list of members")
    agents: int | None = Field(description="agents in that list")
    keys: list[KeysEntry] = Field(min_length=1)
    notes: list[str]

    @property
    def failed(self) -> bool:
        """Whether something is wrong."""
        return any(entry.fault for entry in self.keys)

    def tables(self) -> Sequence[RenderableType]:
        """The same for people."""
        from peerbayes.tables import facts_table, names_table, notes_text

        listed = "none" if self.epoch is None else f"epoch {self.epoch}, {self.agents} agents"
        facts = facts_table("Keys", {"network": self.network, "list of members": listed})
        table = names_table("", "folder", "role", "valid until", "fault")
        for entry in self.keys:
            table.add_row(entry.folder, entry.role, entry.expires or "-", entry.fault or "none")
        return [facts, table, *([notes_text(self.notes)] if self.notes else [])]


class RouterDocument(Document):
    """What a router did."""

    seconds: float = Field(description="how long it ran")
    epoch: int | None = Field(description="of the last list of members; null without keys")
    refused: dict[str, int] = Field(description="how often, by reason")

    def tables(self) -> Sequence[RenderableType]:
        """The same for people."""
        from peerbayes.tables import facts_table

        refused = ", ".join(f"{count} {reason}" for reason, count in self.refused.items())
        facts = {"seconds": f"{self.seconds:.0f}", "refused": refused or "none"}
        return [facts_table("Router", facts)]
