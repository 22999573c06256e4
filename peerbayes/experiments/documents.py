"""What `run` prints, and what it leaves on disk, as types: what all experiments have in common."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from peerbayes.documents import Document
from peerbayes.experiments.experiment import Line


class RunSummary(Document):
    """An experiment's lines, and which parts they are of."""

    experiment: str
    title: str
    source: str
    seed: int = Field(ge=0)
    replicates: int = Field(ge=1, description="independent runs of each part")
    parts: list[str]
    lines: list[Line] = Field(description="printed, measured and predicted, side by side")


class RunPrinted(RunSummary):
    """What `run` prints."""

    reused: list[str] = Field(description="parts that were on record already")
    record: str
    report: str


class RunRecord(RunSummary):
    """What `run` leaves on disk: the parts as they were found, under their names."""

    settings: dict[str, Any]
    version: str = ""
    content: dict[str, Any]


class PartRecord(Document):
    """What is kept of one part: the checksum of what it depends on, and what it found."""

    fingerprint: str
    content: Any
