"""What `place` prints and leaves in records, as types."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

from pydantic import (
    Discriminator,
    Field,
    SerializerFunctionWrapHandler,
    Tag,
    field_serializer,
)

from peerbayes.designs.documents import Agents, ProblemRecord, RoundsDocument, has_key, unplaced
from peerbayes.documents import CertificateDocument, Document, GraphDocument, NamedAgents, Number


class PlacementDocument(NamedAgents):
    """Which agent should hold which data."""

    problem: str
    objective: Literal["rate", "exponent", "samples"]
    assignment: Agents = Field(
        description="for each agent the number of the agent whose data it gets"
    )
    moved: Agents = Field(description="agents that get the data of others")
    method: str
    evaluated: int = Field(ge=0, description="placements looked at")
    record: str | None = None
    notes: list[str]


class SimulatedRateDocument(Document):
    """The rate of rejecting the binding hypothesis over some rounds: exact mean and measured."""

    rounds: int
    predicted: float
    mean: float
    standard_error: float


class PlacementClassDocument(Document):
    """Placements that predict the same: one of them, their number, predicted and measured."""

    assignment: Agents
    count: int = Field(ge=1)
    rate: Number
    error_exponent: Number
    samples: RoundsDocument
    simulated_rate: SimulatedRateDocument | None


class FinitePlacementDocument(PlacementDocument):
    """A placement of data about finitely many hypotheses."""

    target: str
    value: Number = Field(description="of the objective")
    original: Number = Field(description="of the data as they are placed now")
    worst: Number
    certificate: CertificateDocument | None
    binding: list[str]
    placements: int
    classes: list[PlacementClassDocument] | None = None


class ErrorOfOrder(Document):
    """The excess error of a regression with the data in one order."""

    limit: Number
    excess_error_constant: Number = Field(description="c of the excess error c/n")


class RegressionPlacementDocument(PlacementDocument, ErrorOfOrder):
    """A placement of the data of a regression."""

    original: ErrorOfOrder
    worst: ErrorOfOrder | None


SomePlacement: TypeAlias = Annotated[
    Annotated[FinitePlacementDocument, Tag("finite")]
    | Annotated[RegressionPlacementDocument, Tag("regression")],
    Discriminator(
        lambda value: "regression" if has_key(value, "excess_error_constant") else "finite"
    ),
]


class PlacementRecord(ProblemRecord):
    """What `place` leaves on disk."""

    result: SomePlacement
    network: GraphDocument | None = None

    @field_serializer("result", mode="wrap")
    def _kept(self, result: Any, write: SerializerFunctionWrapHandler) -> dict[str, Any]:
        return unplaced(write(result))
