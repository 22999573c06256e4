"""What `codecs` leaves on disk, as types."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from peerbayes.documents import Document, Number
from peerbayes.experiments.experiment import Made, RunSummary


class CodecTrial(Document):
    """The measured message of one codec."""

    family: str
    setting: str = Field(description="what it differs in from others of its family")
    codec: dict[str, Any] = Field(description="name and settings")
    bits: float = Field(description="a weight: the whole frame over their number")
    nats: float = Field(description="a weight: mean divergence of what is heard from what was said")
    limit: Number = Field(
        description="bits on the curve since the codec's own replica at that divergence;"
        " null where nothing is lost"
    )
    common: Number = Field(description="the same on the curve since the message before")

    @property
    def name(self) -> str:
        """Such as ``posterior, step 0.25``."""
        return f"{self.family}, {self.setting}" if self.setting else self.family

    @property
    def above(self) -> float | None:
        """Bits a weight beyond the curve of its own replica; None where nothing is lost."""
        return None if self.limit is None else self.bits - self.limit


class LimitCurve(Document):
    """The least bits a weight at some divergences, given the message before."""

    nats: list[float]
    normal: list[float] = Field(description="normal moves, one size a class of rows and columns")
    shannon: list[float] = Field(description="Shannon's lower bound from histograms, an estimate")


class CodecsPart(Made):
    """All codecs on the messages of one training."""

    seed: int
    weights: int
    silence: float = Field(description="nats a weight if nothing were said")
    curve: LimitCurve
    trials: list[CodecTrial]


class CodecsSettings(Document):
    """What all parts of a record have in common."""

    quick: bool
    dataset: str
    hidden: list[int]
    rounds: int
    local_steps: int
    learner: str


class CodecsRun(RunSummary):
    """A record of `codecs`."""

    settings: CodecsSettings
    content: dict[str, CodecsPart]

    @property
    def runs(self) -> list[CodecsPart]:
        """The parts in order."""
        return [self.content[name] for name in self.parts]
