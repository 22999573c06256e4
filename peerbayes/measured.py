"""What figures of runs draw, as documents: records hold them.

Rates and log belief ratios are in nats, errors are excess errors.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from pydantic import Field

from peerbayes.comparison import Comparison
from peerbayes.documents import Document, Number, Numbers, Probability, Rounds

if TYPE_CHECKING:
    from exact import Simulation


# Of social learning -----------------------------------------------------------------------------


def settled_shares(run: Simulation) -> dict[str, float]:
    """The share of agents and replicates that settle on each hypothesis at the last round."""
    pairs = run.replicates * run.mean.shape[1]
    shares = (run.settled[-1] / pairs).tolist()
    return dict(zip(run.hypotheses, shares, strict=True))


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
    bound: Numbers | None = Field(
        default=None, description="smallest rigorous bound on the probability"
    )
    replicates: int = Field(ge=1)
    measured_rounds: Rounds | None = Field(
        description="from here on at most a share delta failed; null: the run was too short"
    )


class MeasuredDocument(Document):
    """Mean trajectory of a simulation: log belief ratios of all hypotheses, by round."""

    rounds: list[Rounds]
    hypotheses: list[str]
    network_mean: list[Numbers] = Field(description="round by hypothesis, in nats")
    network_standard_error: list[Numbers]
    errors: list[int] = Field(description="replicates in which some agent is wrong, by round")


# Of regressions ---------------------------------------------------------------------------------


class Measured(Document):
    """Something measured at some rounds, with its standard errors; null where none is defined."""

    rounds: list[int] = Field(min_length=1, description="recorded rounds")
    measured: Numbers
    standard_error: Numbers


class Predicted(Measured):
    """The same beside what is expected of it, which tends to constant/n."""

    predicted: Numbers
    constant: Number


class ErrorCurve(Predicted):
    """Excess error of one learner, averaged over its agents: it tends to limit + constant/n."""

    left_out: ClassVar[frozenset[str]] = frozenset({"error_at_end", "report_at_end", "coordinates"})

    name: str
    role: str = Field(description="cooperating, alone, pooled or central node")
    replicates: int = Field(ge=1)
    predicted_standard_error: Numbers
    limit: Number
    reported: Predicted = Field(description="what the beliefs report, averaged over agents")
    error_at_end: list[float] | None = Field(
        default=None, description="at the last round: predicted, measured, standard error, allowed"
    )
    report_at_end: list[float] | None = Field(
        default=None, description="the same of what is reported"
    )
    coordinates: list[CoordinateCurve] | None = None


class CoordinateCurve(Measured):
    """True over reported variance of one coefficient, first agent; 1 is honest."""

    name: str
    limit: Number


class MeasuredErrors(Document):
    """Errors of a simulated regression: a list has a row for each recorded round."""

    mode: str = Field(description="who learns: cooperate, alone, central or central-node")
    rounds: list[int] = Field(min_length=1, description="recorded rounds")
    replicates: int = Field(ge=1)
    excess_error: list[Numbers] = Field(description="by agent")
    excess_standard_error: list[Numbers]
    reported_error: list[Numbers] = Field(description="by agent")
    reported_standard_error: list[Numbers]
    network_error: Numbers = Field(description="averaged over agents")
    network_standard_error: Numbers


# Of sweeps -------------------------------------------------------------------------------------


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
    settled: list[list[str]] = Field(description="what the network settles on, member by member")
    exponent: Numbers
    slowest: list[SlowestDocument | None] = Field(default_factory=list)
    rates: list[SweepSeries]
    comparisons: list[Comparison]
