"""What `verify` leaves of problems on networks that change."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from peerbayes.documents import Probability
from peerbayes.kinds.changing.analyse import CHANGING_ANALYSIS
from peerbayes.kinds.shared.verified import VerifiedDocument
from peerbayes.learning_documents import (
    FailuresDocument,
    RateDocument,
    TrajectoryDocument,
)


class ChangingRecord(VerifiedDocument):
    """A verified problem on a network that changes, as its record keeps it."""

    form: Literal["changing"] = "changing"
    analysis: Annotated[Any, CHANGING_ANALYSIS]
    trajectory: TrajectoryDocument | None = Field(description="null: nothing to reject")
    rates: list[RateDocument] = Field(description="slowest first")
    replicates: int = Field(ge=1)
    settled: dict[str, Probability] = Field(
        description="share of agents and replicates at the last round"
    )
    failures: FailuresDocument | None = Field(description="null: no sample size is within reach")
