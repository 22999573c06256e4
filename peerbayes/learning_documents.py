"""Pieces of the documents of social learning: what theory predicts, and what figures draw.

They are shared by every kind of problem with finitely many hypotheses. Rates and exponents are in
nats a round.
"""

from __future__ import annotations

from typing import Annotated, Generic, TypeVar

from pydantic import Field

from peerbayes.comparison import Comparison
from peerbayes.documents import Document, Number, Numbers, Probability, Rounds

N = TypeVar("N")
L = TypeVar("L")

Names = list[str]
Pair = Annotated[list[str], Field(min_length=2, max_length=2)]
Interval = Annotated[list[Rounds], Field(min_length=2, max_length=2)]


class Learning(Document, Generic[N, L]):
    """What is learnt, and how fast: N is a number of some arithmetic, L a list of them."""

    optimal_hypotheses: Names
    compromise: Names | None = Field(
        None, description="where no hypothesis is best for every agent: what the network settles on"
    )
    globally_learnable: bool | None = Field(description="null: not decided")
    rate: N = Field(description="K; null where there is nothing to reject")
    binding_hypothesis: str | None
    rates: dict[str, N]
    error_exponent: N
    binding_for_exponent: str | None
    exponents: dict[str, N] = Field(default_factory=dict)
    divergences: dict[str, L] = Field(description="I_j of each hypothesis, agent by agent")
    ambiguous_pairs: list[Pair] = Field(description="hypotheses that no agent tells apart")

    @property
    def reference(self) -> list[str]:
        """What the network settles on: the optimal hypotheses, or the compromise."""
        return self.optimal_hypotheses or self.compromise or []


class LearningDocument(Learning[Number, Numbers]):
    """What is learnt, and how fast, in doubles."""


class SamplesDocument(Document):
    """Rounds after which some agent errs with probability at most delta, by several statements."""

    delta: float = Field(gt=0, lt=1)
    printed: Rounds | None = Field(description="as published; not a theorem")
    repaired: Rounds | None = Field(description="by Hoeffding's inequality")
    chernoff: Rounds | None
    certified: Interval | None = Field(None, description="both ends of the smallest number")

    @property
    def sufficient(self) -> tuple[str, int | None]:
        """The smallest number that is proved to be enough, and what proves it."""
        proofs = {
            "certified": None if self.certified is None else self.certified[1],
            "Chernoff": self.chernoff,
            "Hoeffding": self.repaired,
        }
        known = {proof: rounds for proof, rounds in proofs.items() if rounds is not None}
        proof = min(known, key=known.__getitem__, default="Chernoff")
        return proof, known.get(proof)


class RateDocument(Document):
    """The rate of rejecting one hypothesis: its limit, its exact mean, and its measured mean."""

    hypothesis: str
    limit: float = Field(description="as rounds grow")
    predicted: float = Field(description="exact mean at the last round")
    measured: float
    standard_error: Number


class TrajectoryDocument(Document):
    """Log belief ratio of one hypothesis over the rounds: predicted and measured, in nats."""

    hypothesis: str
    reference: str = Field(description="the hypothesis that it is compared with")
    rounds: list[Rounds]
    rate: float = Field(description="limit of the ratio by rounds")
    expected: Numbers = Field(description="exact mean at each recorded round")
    mean: Numbers
    standard_error: Numbers
    paths: list[Numbers] = Field(description="single runs of single agents")


class FailuresDocument(Document):
    """How often some agent was wrong, round by round."""

    left_out = frozenset({"bound"})

    rounds: list[Rounds]
    frequency: list[Probability] = Field(description="share of the replicates")
    bound: Numbers | None = Field(None, description="smallest rigorous bound on the probability")
    replicates: int = Field(ge=1)
    measured_rounds: Rounds | None = Field(
        description="from here on at most a share delta failed; null: the run was too short"
    )


class MeasuredDocument(Document):
    """Mean trajectory of a simulation: log belief ratios of all hypotheses, by round."""

    rounds: list[Rounds]
    hypotheses: Names
    network_mean: list[Numbers] = Field(description="round by hypothesis, in nats")
    network_standard_error: list[Numbers]
    errors: list[int] = Field(description="replicates in which some agent is wrong, by round")


class SweepPoint(Document):
    """One rate at one edge confidence."""

    edge_confidence: float
    centre_weight: Probability
    limit: float
    predicted: float
    measured: float
    standard_error: Number


class SweepSeries(Document):
    """The rates of rejecting one hypothesis along a sweep."""

    hypothesis: str
    points: list[SweepPoint]


class SlowestDocument(Document):
    """The hypothesis that is rejected last, and its rate as predicted and measured."""

    hypothesis: str
    predicted: float
    measured: float
    standard_error: Number


class SweepDocument(Document):
    """Verifications of one star that differ in the edge confidence alone."""

    name: str
    edge_confidence: list[float] = Field(description="a of each member, increasing")
    centre_weight: list[Probability] = Field(description="v of the centre, member by member")
    settled: list[Names] = Field(description="what the network settles on, member by member")
    exponent: Numbers
    slowest: list[SlowestDocument | None] = Field(default_factory=list)
    rates: list[SweepSeries]
    comparisons: list[Comparison]
