"""What the commands print of a regression, and what they leave in records.

All errors are excess errors: the mean squared error of predictions on the test's inputs, less the
test's noise. Constants stand for an error of constant/n after n rounds, in the limit.
"""

from __future__ import annotations

from typing import Annotated, Any, Generic, Literal, TypeAlias, TypeVar

from pydantic import BeforeValidator, Field

from peerbayes.documents import Document, Number, Numbers, PerAgent
from peerbayes.error_curves import CoordinateCurve, ErrorCurve, MeasuredErrors
from peerbayes.kinds.shared.verified import VerifiedDocument
from peerbayes.quantities.network import EXACT_NETWORK, NETWORK
from peerbayes.quantities.numbers import FractionText
from peerbayes.records import plain

Fraction: TypeAlias = Annotated[FractionText | None, BeforeValidator(plain)]
Fractions: TypeAlias = Annotated[
    list[FractionText | None], BeforeValidator(plain), Field(min_length=1)
]
N = TypeVar("N")
L = TypeVar("L")


class RegressionConstants(Document, Generic[N, L]):
    """Limits and constants of excess errors: N is a number of some arithmetic, L a list of them."""

    dimension: int = Field(ge=1, description="coefficients")
    identified: bool = Field(description="whether the agents together see every direction")
    limit: N = Field(description="of the excess error of the network")
    excess_error_constant: N = Field(description="tr(S_test A⁻¹BA⁻¹)")
    reported_error_constant: N = Field(description="tr(S_test A⁻¹)")
    central_constant: N = Field(description="all data in one place")
    central_node_constant: N = Field(description="one full sample a round")
    alone: L = Field(description="limits without the network, agent by agent")
    alone_constants: L
    estimator_covariance: list[L] = Field(description="times 1/n")
    reported_covariance: list[L] = Field(description="times 1/n")


class CalibrationDocument(Document):
    """True over reported variance, in the limit; 1 is honest."""

    test: Number = Field(description="of predictions on the test's inputs")
    coordinates: PerAgent = Field(description="of each coefficient; null where nobody sees it")
    ratios: Numbers = Field(description="of the functionals, from least to most")
    functionals: list[PerAgent]


class RegressionNumbers(RegressionConstants[Number, PerAgent]):
    """What theory says of a regression, in doubles."""

    over_n: Number = Field(description="coefficient of 1/n beside the limit")
    alone_over_n: PerAgent = Field(description="the same without the network, agent by agent")
    calibration: CalibrationDocument
    calibrating_tempering: PerAgent = Field(
        description="powers of the agents' likelihoods that make the calibration 1"
    )
    best_stationary_distribution: PerAgent | None = None
    best_constant: Number = Field(default=None, description="with that distribution")


class RegressionAnalysisDocument(Document):
    """What `analyse` prints of a regression: excess errors are limit + over_n/n."""

    problem: str
    network: Annotated[Any, NETWORK]
    regression: RegressionNumbers
    notes: list[str]


class ExactCalibration(Document):
    """True over reported variance, in the limit; 1 is honest."""

    coordinates: Fractions = Field(description="of each coefficient; null where nobody sees it")


class RegressionFractions(RegressionConstants[Fraction, Fractions]):
    """What theory says of a regression, in fractions: labels follow theta."""

    calibration: ExactCalibration

    @property
    def over_n(self) -> str | None:
        """The coefficient of 1/n beside the limit: where labels follow theta, the constant."""
        return self.excess_error_constant

    @property
    def alone_over_n(self) -> list[str | None]:
        """The same of each agent without the network."""
        return self.alone_constants


class ExactRegressionDocument(Document):
    """What `analyse --exact` prints of a regression."""

    problem: str
    arithmetic: Literal["exact"] = "exact"
    network: Annotated[Any, EXACT_NETWORK]
    regression: RegressionFractions
    notes: list[str]


class MeasuredMeans(Document):
    """Means over replicates, agent by agent, with their standard errors."""

    mean: PerAgent
    standard_error: PerAgent = Field(description="null of one replicate")


class MeasuredMean(Document):
    """A mean over replicates and agents, with its standard error."""

    mean: Number
    standard_error: Number = Field(description="null of one replicate")


class MeasuredCalibration(Document):
    """True over reported variance of each coefficient, agent by agent."""

    ratio: list[PerAgent]
    standard_error: list[PerAgent]


class RegressionMeasurement(Document):
    """What a simulation measured at its last round."""

    excess_error: MeasuredMeans
    reported_error: MeasuredMeans
    network_error: MeasuredMean
    calibration: MeasuredCalibration


class RegressionResult(Document):
    """What a record keeps of a simulated regression's end."""

    problem: str
    rounds: int = Field(ge=1)
    replicates: int = Field(ge=1)
    seed: int = Field(ge=0)
    regression: RegressionMeasurement
    notes: list[str]


class RegressionRunDocument(RegressionResult):
    """What `simulate` prints of a regression."""

    record: str | None = Field(description="where it is on disk; null if it left none")


class RegressionRunRecord(Document):
    """What `simulate` leaves of a regression on disk."""

    form: Literal["regression"] = "regression"
    title: str
    specification: dict[str, Any] | None = Field(description="the problem's file")
    result: RegressionResult
    curves: MeasuredErrors


class RegressionRecord(VerifiedDocument):
    """A verified regression, as its record keeps it."""

    form: Literal["regression"] = "regression"
    analysis: RegressionAnalysisDocument
    curves: list[ErrorCurve] = Field(min_length=1, description="the cooperating network first")
    coordinates: list[CoordinateCurve] = Field(description="coefficients that somebody sees")
    replicates: int = Field(ge=1, description="of the cooperating network")
