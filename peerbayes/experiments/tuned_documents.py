"""What `tuned` leaves on disk, as types."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from pydantic import Field

from peerbayes.documents import Document
from peerbayes.experiments.experiment import Made, RunSummary
from peerbayes.experiments.tuned_plan import Purpose
from peerbayes.experiments.tuned_search import Trial


class TunedCourse(Document):
    """How long agents trained."""

    local_steps: int = Field(description="of an agent in a round")
    batch: int
    rounds: int = Field(description="that were run")


class TunedTraining(Made):
    """A trial on validation data, or a test of the setting that the trials chose."""

    method: str
    purpose: Purpose
    number: int = Field(description="of the trial, from 1; or the seed, from 0")
    course: TunedCourse
    settings: dict[str, float | str]
    edges: list[str] = Field(
        default_factory=list, description="of a test: settings with no trial beyond the chosen one"
    )
    validation_loss: float | None = Field(
        default=None, description="of a test: the chosen trial's mean −log p, nats"
    )
    agents: int
    sizes: list[int] = Field(description="images that each agent learns from")
    labels: list[list[int]] = Field(description="that each agent has")
    measures: dict[str, list[float]] = Field(
        description="of each agent, or of the one net or mixture; empty if it broke down"
    )
    failed: str = Field(default="", description="why it broke down; empty if it ended")
    bytes_sent: int = Field(default=0, description="by all agents and a server, over all rounds")
    local_steps: int = Field(default=0, description="of all agents together")
    seconds: float = Field(description="of training, without the judging")
    seed: int = Field(description="that training began with")
    mark: str = Field(description="checksum of all settings that its numbers depend on")
    data: dict[str, str]

    @property
    def trial(self) -> Trial:
        """What the search sees of it."""
        return Trial(self.settings, math.inf if self.failed else self.mean("nll"))

    def mean(self, measure: str) -> float:
        """The mean over agents of a measure."""
        values = self.measures[measure]
        return sum(values) / len(values)


class TunedSettings(Document):
    """What all parts of a record have in common."""

    dataset: str
    hidden: list[int]
    quick: bool


class TunedRun(RunSummary):
    """A record of `tuned`."""

    settings: TunedSettings
    content: dict[str, TunedTraining]


def trainings_of(parts: Mapping[str, Any]) -> list[TunedTraining]:
    """The parts that are there: documents, or their plain values."""
    return [TunedTraining.model_validate(part) for part in parts.values()]
