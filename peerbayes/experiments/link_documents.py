"""What `rate-link` leaves on disk, as types."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, TypeAlias

from pydantic import BeforeValidator, Field

from peerbayes.documents import Document, Number, Numbers
from peerbayes.experiments.experiment import RunSummary
from peerbayes.experiments.link_setting import AMBIGUOUS, SNAPSHOTS
from peerbayes.records import plain

Rows: TypeAlias = Annotated[list[list[Number]], BeforeValidator(plain)]
"""A table of numbers, given as lists or as an array."""

Tables: TypeAlias = Annotated[list[list[list[Number]]], BeforeValidator(plain)]
"""Several such tables."""


class ExactRun(Document):
    """Social learning over the snapshots beside its exact means."""

    rounds: int
    replicates: int
    best: int = 0
    expected: Rows = Field(description="mean log-odds of each agent and hypothesis")
    measured: Rows
    standard_error: Rows
    share_of_allowed: Number = Field(
        description="largest difference, as a share of what chance allows"
    )
    holds: bool | None


class Forecast(Document):
    """What theory says of one network from the snapshots."""

    influence: float = Field(description="v of the informative agent, in shares of all influence")
    rate: float = Field(description="K in nats an observation and agent")
    binding: str
    reference: str = ""
    is_compromise: bool = False
    rates: dict[str, Number] = Field(description="of each hypothesis' rejection")
    stage_rates: dict[str, Number] = Field(description="with stages of one training instead")
    exact: ExactRun | None = Field(description="none where the network changes")


class SnapshotsPart(Document):
    """Nets trained in one place as hypotheses, and what they predict of each network."""

    hypotheses: list[str]
    accuracies: Numbers
    label_losses: Rows
    forecasts: dict[str, Forecast]


class TrainedPart(Document):
    """One network trained with each seed: means over agents, a row for each seed."""

    rounds: list[int]
    losses: Rows = Field(description="test losses at those rounds, in nats")
    accuracies: Rows
    rounds_to_loss: Rows = Field(
        description="for each target and seed; null where it was never reached"
    )
    label_confidences: Tables = Field(description="by seed, agent and true label")
    local_label_confidences: Tables = Field(description="the same before consensus")


@dataclass(frozen=True)
class LinkContent:
    """All parts that are there."""

    snapshots: SnapshotsPart | None
    trained: Mapping[str, TrainedPart]

    @classmethod
    def of(cls, content: Mapping[str, Any]) -> LinkContent:
        """The parts of a record, by name."""
        snapshots = content.get(SNAPSHOTS)
        return cls(
            None if snapshots is None else SnapshotsPart.model_validate(snapshots),
            {
                name: TrainedPart.model_validate(part)
                for name, part in content.items()
                if name != SNAPSHOTS
            },
        )

    def short(self) -> dict[str, Any]:
        """The parts without what no line speaks of: exact runs round by round, most confidences."""
        found: dict[str, Any] = {}
        if self.snapshots is not None:
            found[SNAPSHOTS] = self.snapshots.as_json()
            for forecast in found[SNAPSHOTS]["forecasts"].values():
                if forecast["exact"] is not None:
                    for name in ("expected", "measured", "standard_error"):
                        forecast["exact"][name] = []
        for name, part in self.trained.items():
            found[name] = part.as_json()
            if name != AMBIGUOUS:
                found[name] |= {"label_confidences": [], "local_label_confidences": []}
        return found


class LinkSettings(Document):
    """What a record of `rate-link` says of its configuration."""

    networks: list[str]
    targets: list[float]
    hidden: list[int]
    mean_epsilon: float
    learner: str = "backprop"


class LinkRun(RunSummary):
    """A record of `rate-link`."""

    settings: LinkSettings
    content: dict[str, Any]

    @property
    def parts_found(self) -> LinkContent:
        """The parts of the record."""
        return LinkContent.of(self.content)
