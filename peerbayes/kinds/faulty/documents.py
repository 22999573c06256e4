"""What `verify` leaves of problems with faulty agents.

Rates are in nats a round; those of an honest agent are given agent by agent, in the order of
``honest``.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from peerbayes.documents import (
    Document,
    Number,
    Numbers,
    Probability,
    Rounds,
)
from peerbayes.kinds.faulty.quantities import FAULTY_ANALYSIS
from peerbayes.kinds.shared.verified import VerifiedDocument


class HonestTrajectory(Document):
    """Mean log belief ratio of the honest agents over the rounds, against one hypothesis."""

    lowest: Numbers = Field(description="of the slowest agent, in nats")
    mean: Numbers
    highest: Numbers


class HonestRate(Document):
    """The rate of rejecting one hypothesis: predicted, promised and measured."""

    hypothesis: str
    faultless: float = Field(description="nobody faulty, all averaging")
    averaging: Number = Field(description="predicted, of the slowest honest agent")
    guaranteed: Number = Field(description="by the rule")
    lowest: float = Field(description="measured, of the slowest honest agent")
    mean: float = Field(description="measured, over the honest agents")
    standard_error: Number = Field(description="the largest of an honest agent")


class FaultyRecord(VerifiedDocument):
    """A verified problem with faulty agents, as its record keeps it."""

    form: Literal["faulty"] = "faulty"
    analysis: Annotated[Any, FAULTY_ANALYSIS]
    rule: str
    rounds: list[Rounds] = Field(description="recorded rounds")
    trajectories: dict[str, HonestTrajectory] = Field(description="by hypothesis")
    rates: list[HonestRate]
    settled: Probability = Field(description="share of the honest at the truth, last round")
    replicates: int = Field(ge=1)
    discarded: int = Field(ge=0, description="messages that were no beliefs, and were not pooled")
