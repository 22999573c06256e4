"""Sweeps as documents: verifications of one star that differ in the edge confidence alone."""

from __future__ import annotations

from pydantic import Field

from peerbayes.comparison import Comparison
from peerbayes.documents import Document, Number, Numbers, Probability
from peerbayes.learning_documents import Names


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
