"""Errors of a regression over the rounds, as documents: records hold them, figures draw them."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from peerbayes.documents import Document, Number, Numbers


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
