"""What the commands print of problems with faulty agents, and what they leave in records.

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
    PerAgent,
    Probability,
    Rounds,
)
from peerbayes.kinds.shared.verified import VerifiedDocument
from peerbayes.quantities.network import NETWORK


class RobustnessDocument(Document):
    """Whether the graph is r-robust."""

    r: int = Field(ge=0)
    status: Literal["holds", "fails", "undecided"]


class AveragingDocument(Document):
    """What becomes of each honest agent by plain averaging; by hypothesis."""

    learns: bool = Field(description="whether every honest agent ends at the truth")
    rates: dict[str, PerAgent]
    mean: dict[str, PerAgent] = Field(
        description="limit of the mean log belief ratio, less rounds times the rate"
    )
    standard_deviation: dict[str, PerAgent]
    error_estimates: dict[str, PerAgent] = Field(description="chance to be wrong in the limit")


class FaultsDocument(Document):
    """What theory says of the honest agents."""

    left_out = frozenset({"batch"})

    batch: list[int] | None = Field(
        default=None, description="observations a round, agent by agent; only where not all are 1"
    )
    rule: str = Field(description="how the honest pool, with the rule's parameter")
    pool_every: int = Field(ge=1, description="rounds from one pooling to the next")
    faulty: dict[str, str] = Field(description="agent: what it does")
    honest: list[Annotated[int, Field(ge=0)]] = Field(
        min_length=1, description="agents that are not faulty"
    )
    robustness: RobustnessDocument | None = Field(description="of a trimmed mean alone")
    optimal_hypotheses: list[str] = Field(description="what the honest ought to find")
    faultless_rates: dict[str, Number] = Field(description="nobody faulty, all averaging")
    averaging: AveragingDocument | None
    guaranteed_rates: dict[str, Number] | None = Field(description="lower bounds by the rule")


class FaultyAnalysisDocument(Document):
    """What `analyse` prints where agents are faulty."""

    problem: str
    network: Annotated[Any, NETWORK]
    faults: FaultsDocument
    notes: list[str]


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
    analysis: FaultyAnalysisDocument
    rule: str
    rounds: list[Rounds] = Field(description="recorded rounds")
    trajectories: dict[str, HonestTrajectory] = Field(description="by hypothesis")
    rates: list[HonestRate]
    settled: Probability = Field(description="share of the honest at the truth, last round")
    replicates: int = Field(ge=1)
    discarded: int = Field(ge=0, description="messages that were no beliefs, and were not pooled")
