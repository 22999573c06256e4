"""What `campaign` prints with ``--json``, as types."""

from __future__ import annotations

from typing import Literal, TypeAlias, get_args

from pydantic import Field

from peerbayes.documents import Document

State: TypeAlias = Literal["done", "running", "failed", "missing"]
STATES: tuple[State, ...] = get_args(State)


class TaskDocument(Document):
    """Where one part stands."""

    row: str
    part: str
    state: State
    share: float = Field(ge=0, le=1, description="of the part's rounds that are done")
    seconds: float = Field(ge=0, description="training time if done; else an estimate of the rest")
    behaviour: str = Field(
        description="mark of the code that made it, or build of an earlier version; empty if it is"
        " not done"
    )
    remark: str = Field(description="why it failed, or what else there is to say")


class CampaignDocument(Document):
    """Where every part of a campaign stands."""

    version: str = Field(description="of this program")
    behaviour: str = Field(
        pattern="^[0-9a-f]{12}$", description="digest of the behaviour marks of all recipes"
    )
    out: str = Field(description="folder of full records and unfinished work")
    records: str = Field(description="folder of short records")
    hours_left: float = Field(ge=0, description="of one core; an estimate")
    finished: list[str] = Field(description="names of the parts that this call ran to their end")
    damage: list[str] = Field(description="a sentence about every short record that is unreadable")
    parts: list[TaskDocument]
