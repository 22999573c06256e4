"""What the commands print of networks that change, and what they leave in records.

The keys are those of a fixed network where they make sense; ``influence`` takes the place of the
stationary distribution (docs: mathematics/changing).
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from peerbayes.documents import Document, NamedAgents, Number, PerAgent, Probability
from peerbayes.kinds.shared.verified import VerifiedDocument
from peerbayes.learning_documents import (
    FailuresDocument,
    LearningDocument,
    RateDocument,
    SamplesDocument,
    TrajectoryDocument,
)


class ChangingNetworkDocument(NamedAgents):
    """A network that changes: whose data count how much."""

    agents: int = Field(ge=1)
    changes: str = Field(description="what changes, in words")
    influence: list[Probability] = Field(
        min_length=1,
        description="how much of one observation of each agent ends in every log-belief, per round",
    )
    total_influence: float = Field(ge=0)
    influence_per_time: PerAgent | None = Field(
        default=None, description="per unit of time, where rounds are ticks of clocks"
    )


class ChangingLearningDocument(LearningDocument):
    """What is learnt, and how fast; the exponent may be an estimate."""

    error_exponent_standard_error: Number = Field(
        default=None, description="0 where the exponent is exact, null where it is not known"
    )


class ChangingAnalysisDocument(Document):
    """What `analyse` prints of a network that changes."""

    problem: str
    network: ChangingNetworkDocument
    learning: ChangingLearningDocument
    samples: SamplesDocument
    notes: list[str]


class ChangingRecord(VerifiedDocument):
    """A verified problem on a network that changes, as its record keeps it."""

    form: Literal["changing"] = "changing"
    analysis: ChangingAnalysisDocument
    trajectory: TrajectoryDocument | None = Field(description="null: nothing to reject")
    rates: list[RateDocument] = Field(description="slowest first")
    replicates: int = Field(ge=1)
    settled: dict[str, Probability] = Field(
        description="share of agents and replicates at the last round"
    )
    failures: FailuresDocument | None = Field(description="null: no sample size is within reach")
