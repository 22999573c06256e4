"""What `design` prints and leaves in records, as types, whatever the kind of problem.

A design is a `FiniteDesignDocument`, a `ChangingDesignDocument` or a `RegressionDesignDocument`,
by the kind of its problem; the objective ``next-edge`` has quantities of its own (`edges`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

from pydantic import (
    Discriminator,
    Field,
    Tag,
)

from peerbayes.designs.details import ObjectiveDetails
from peerbayes.designs.edges import NEXT_EDGE
from peerbayes.designs.shared import CERTIFICATE, ROUNDS, Agents, ProblemRecord, form_of
from peerbayes.documents import (
    MOST_DENSE,
    Document,
    GraphDocument,
    NamedAgents,
    Number,
    Numbers,
    Rounds,
    numbers,
)
from theory.network.structure import Weights, as_dense
from theory.scientific import sparse


class LinksDocument(Document):
    """W by its positive entries, those on oneself among them."""

    listener: Agents
    speaker: Agents
    weight: Numbers

    @classmethod
    def of(cls, weights: Weights) -> LinksDocument:
        """The positive entries of a matrix, row by row."""
        table = sparse.coo_array(sparse.csr_array(weights))
        row, column = table.coords
        return cls(listener=row.tolist(), speaker=column.tolist(), weight=numbers(table.data))

    def rows(self) -> list[dict[int, float]]:
        """For each agent whom it hears, and with which weight."""
        rows: list[dict[int, float]] = [{} for _ in range(max(self.listener, default=-1) + 1)]
        for listener, speaker, weight in zip(self.listener, self.speaker, self.weight, strict=True):
            rows[listener][speaker] = float(weight or 0.0)
        return rows


WeightsDocument: TypeAlias = list[list[float]] | LinksDocument
"""W row by row; of more than 100 agents by its positive entries."""


def weights_document(weights: Weights) -> WeightsDocument:
    """W row by row; of more than 100 agents by its positive entries."""
    if weights.shape[0] > MOST_DENSE:
        return LinksDocument.of(weights)
    table: list[list[float]] = as_dense(weights).tolist()
    return table


class SimulatedRoundsDocument(Document):
    """The number of rounds that simulated runs needed, with its confidence limits."""

    rounds: int | None
    lower: int | None
    upper: int | None
    replicates: Rounds


class FiniteRow(Document):
    """One network of a comparison, for finitely many hypotheses; null where it settles wrongly."""

    rate: Number = Field(default=None, description="K in nats a round, of the target")
    error_exponent: Number = Field(default=None, description="E in nats a round")
    slem: Number = Field(default=None, description="subdominant modulus")
    samples: Annotated[Any, ROUNDS] | None = None
    simulated: SimulatedRoundsDocument | None = None


class BaselineRow(FiniteRow):
    """A network that the design is compared with."""

    settles_on: str = ""


class ChangingRow(Document):
    """One network that changes, of a comparison."""

    rate: Number
    settles_on: str = ""
    total_influence: Number
    error_exponent: Number
    mean_slem: Number = Field(
        default=None, description="subdominant modulus of what a round does on average"
    )
    samples: Annotated[Any, ROUNDS]


class RegressionRow(Document):
    """One network of a comparison, for a regression."""

    limit: Number = Field(description="of the excess error")
    excess_error_constant: Number = Field(description="c of the excess error c/n")
    slem: Number = Field(description="subdominant modulus")


class Recommendation(Document):
    """Which of the networks compared is best for what the problem is about."""

    network: str = Field(description="its name: 'designed', or one of the baselines")
    by: Literal["certified rounds", "rounds by Chernoff's bound", "limit and c of the error"]
    value: Number = Field(description="of the network recommended: its rounds, or the limit")
    designed: Number = Field(description="the same of the design; null if nothing is known")
    sentence: str


class DesignDocument(NamedAgents):
    """The weights that were found for one objective, beside those of the usual rules."""

    problem: str
    objective: Literal["rate", "exponent", "samples", "mixing", "trade-off", "bytes"]
    method: str = Field(description="how the weights were found")
    certificate: Annotated[Any, CERTIFICATE] | None
    recommended: Recommendation | None = Field(
        default=None, description="null if no network is proved of"
    )
    failed: bool = Field(description="whether a solver gave up")
    stopped_by_time_budget: bool = False
    record: str | None = Field(default=None, description="file of the record")
    written: str | None = Field(default=None, description="problem file with the designed weights")
    notes: list[str]


class FewestDocument(Document):
    """As few agents as possible that together tell the hypotheses apart."""

    agents: Agents
    size: int
    lower: int
    proved: bool


class ChangesOfRates(Document):
    """Rates and exponents when one agent at a time is silent, or gone."""

    rates: Numbers
    error_exponents: Numbers


class DeparturesDocument(Document):
    """What the network loses with each agent."""

    silent: ChangesOfRates
    removed: ChangesOfRates
    critical: Agents = Field(description="nothing is learnt without them")
    cuts: Agents = Field(description="the graph falls apart without them")


class LearnabilityDocument(Document):
    """Which hypotheses no weights can tell apart, and which agents matter."""

    unseparable_pairs: list[tuple[str, str]]
    redundant_agents: Agents
    sufficient_agents: FewestDocument
    sufficient_for_target: FewestDocument | None
    departures: DeparturesDocument | None


class FiniteDesignDocument(ObjectiveDetails, DesignDocument, FiniteRow):
    """A design for finitely many hypotheses."""

    target: str = Field(description="hypothesis to settle on")
    stationary_distribution: Numbers
    weights: WeightsDocument
    mixing: Annotated[Any, CERTIFICATE] | None
    binding: list[str]
    multipliers: dict[str, float] | None
    baselines: dict[str, BaselineRow]
    learnability: LearnabilityDocument | None = None


class ChangingDesignDocument(DesignDocument, ChangingRow):
    """A design for a network that changes."""

    target: str = Field(description="hypothesis to settle on")
    influence: Numbers
    weights: list[LinksDocument] = Field(description="of each phase; one if only links change")
    baselines: dict[str, ChangingRow]


class RegressionDesignDocument(DesignDocument, RegressionRow):
    """A design for a regression."""

    stationary_distribution: Numbers
    weights: WeightsDocument
    mixing: Annotated[Any, CERTIFICATE] | None
    baselines: dict[str, RegressionRow]


_FORMS = {"added": "next-edge", "influence": "changing", "excess_error_constant": "regression"}
NetworkDesign: TypeAlias = FiniteDesignDocument | ChangingDesignDocument | RegressionDesignDocument
if TYPE_CHECKING:
    SomeDesign: TypeAlias = Any
else:
    SomeDesign = Annotated[
        Annotated[FiniteDesignDocument, Tag("finite")]
        | Annotated[ChangingDesignDocument, Tag("changing")]
        | Annotated[RegressionDesignDocument, Tag("regression")]
        | Annotated[NEXT_EDGE.type, Tag("next-edge")],
        Discriminator(lambda value: form_of(value, _FORMS)),
    ]


class CurveDocument(Document):
    """How belief grew in simulated runs on one network."""

    name: str
    hypothesis: str = Field(description="rejected last")
    rate: float = Field(description="predicted slope, nats a round")
    rounds: list[int]
    mean: list[float]
    standard_error: Numbers
    failures: list[float] = Field(description="share of runs in which some agent was wrong")


class NextEdgeRecord(ProblemRecord):
    """What `design --objective next-edge` leaves on disk."""

    result: NEXT_EDGE.type  # type: ignore[name-defined]


class DesignRecord(ProblemRecord):
    """What `design` leaves on disk."""

    result: SomeDesign
    before: GraphDocument | None = None
    after: GraphDocument | None = None
    curves: list[CurveDocument] = Field(default_factory=list)
