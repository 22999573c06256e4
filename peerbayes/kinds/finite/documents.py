"""What the commands print of finitely many hypotheses on a network that stays as it is.

`analyse` has three arithmetics: doubles, and ``--exact`` and ``--certify``, whose numbers are
proved. `verify` keeps the doubles.
"""

from __future__ import annotations

from typing import Literal

from pydantic import ConfigDict, Field

from peerbayes.documents import Document, NetworkDocument, Number, Probability, Rounds
from peerbayes.kinds.shared.proved_documents import (
    FractionText,
    IntervalDocument,
    Proved,
    ProvedNetworkDocument,
)
from peerbayes.kinds.shared.verified import VerifiedDocument
from peerbayes.learning_documents import (
    FailuresDocument,
    Ladder,
    Learning,
    LearningDocument,
    RateDocument,
    SamplesDocument,
    TrajectoryDocument,
)
from peerbayes.message_documents import MaybeInterval, MessagesDocument


class MarginDocument(Document):
    """How far below the rate wrong beliefs may fall: off an event of probability delta, each is
    below exp(−n (K − margin)).
    """

    delta: float
    lower: Number
    upper: Number


class AtRoundsDocument(Document):
    """What a number of rounds is good for: certified intervals."""

    rounds: Rounds
    error_probability: IntervalDocument = Field(description="some agent errs")
    log_error_probability: IntervalDocument
    margin: MarginDocument
    notes: list[str]


class AnalysisDocument(Document):
    """What theory predicts of one problem, in doubles."""

    left_out = frozenset({"at_rounds", "messages"})

    problem: str
    network: NetworkDocument
    learning: LearningDocument
    samples: SamplesDocument
    notes: list[str]
    messages: MessagesDocument | None = Field(default=None, description="of the table [messages]")
    at_rounds: AtRoundsDocument | None = Field(default=None, description="with --rounds")


class ProvedLearningDocument(Learning[Proved | None, list[Proved]]):
    """What is learnt, and how fast: each number proved."""

    left_out = frozenset({"notes", "batch"})

    log_ratio_bound: Proved | None = Field(
        description="C = log(L/alpha); null if likelihoods have no bound"
    )
    notes: list[str] | None = Field(default=None, description="in kept parts of long proofs alone")


class RoundsInterval(Document):
    """A number of rounds between two; null: not known to be finite."""

    model_config = ConfigDict(extra="forbid")

    lower: Rounds
    upper: Rounds | None


class ProvedSamplesDocument(Ladder[Rounds | RoundsInterval | None]):
    """Rounds after which some agent errs with probability at most delta: each number proved."""

    left_out = frozenset({"notes", "printed_p2"})

    notes: list[str] | None = Field(default=None, description="in kept parts of long proofs alone")


class ProvedMessagesDocument(Document):
    """What compressed beliefs cost, each number proved; null: not known."""

    quantiser: str
    step: FractionText
    mixing: FractionText
    levels: int
    least_levels: int
    links: int
    message_bytes: int
    bytes_per_round: FractionText = Field(description="of all links; at most, where some rest")
    deviation: list[IntervalDocument] = Field(
        description="around the bound on what compression moves a log-ratio by, agent by agent"
    )
    extra_rounds: int | None = Field(description="rounds enough with compression, less without")
    certified_rounds: MaybeInterval
    certified_bytes: MaybeInterval
    note: str


class ProvedAnalysisDocument(Document):
    """What theory predicts of one problem, each number proved."""

    left_out = frozenset({"at_rounds", "messages"})

    problem: str
    arithmetic: Literal["exact", "certified"]
    network: ProvedNetworkDocument
    learning: ProvedLearningDocument
    samples: ProvedSamplesDocument
    notes: list[str]
    record: str | None = Field(description="where parts that took long are kept")
    messages: ProvedMessagesDocument | None = Field(
        default=None, description="of the table [messages]"
    )
    at_rounds: AtRoundsDocument | None = Field(default=None, description="with --rounds")


class FiniteRecord(VerifiedDocument):
    """One verified problem: what theory predicts, and what was measured."""

    analysis: AnalysisDocument
    trajectory: TrajectoryDocument | None = Field(description="null: nothing to reject")
    rates: list[RateDocument] = Field(description="slowest first")
    replicates: int = Field(ge=1)
    settled: dict[str, Probability] = Field(
        description="share of agents and replicates at the last round"
    )
    failures: FailuresDocument
