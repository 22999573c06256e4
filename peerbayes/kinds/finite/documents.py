"""What `verify` leaves of finitely many hypotheses on a network that stays as it is."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from peerbayes.documents import Probability
from peerbayes.kinds.finite.analysis import ANALYSIS
from peerbayes.kinds.shared.verified import VerifiedDocument
from peerbayes.learning_documents import FailuresDocument, RateDocument, TrajectoryDocument


class FiniteRecord(VerifiedDocument):
    """One verified problem: what theory predicts, and what was measured."""

    analysis: Annotated[Any, ANALYSIS]
    trajectory: TrajectoryDocument | None = Field(description="null: nothing to reject")
    rates: list[RateDocument] = Field(description="slowest first")
    replicates: int = Field(ge=1)
    settled: dict[str, Probability] = Field(
        description="share of agents and replicates at the last round"
    )
    failures: FailuresDocument
