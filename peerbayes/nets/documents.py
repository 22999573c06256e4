"""What `train` prints and leaves on disk, as types."""

from __future__ import annotations

from typing import Any, ClassVar

from pydantic import Field

from peerbayes.documents import Document, GraphDocument, NamedAgents, Number

Known = list[Number]
"""A number for each agent; null where there is none."""


class ScoresDocument(Document):
    """How good the agents' predictions are, by posterior samples; one number an agent."""

    left_out: ClassVar[frozenset[str]] = frozenset(
        {"accuracy", "rmse", "mean_error", "calibration_error", "other_data_auroc", "heads", "bins"}
    )

    examples: list[int] = Field(description="that each agent was scored on")
    draws: int = Field(description="posterior samples averaged; 0: mean weights")
    nll: Known = Field(description="mean −log p of the labels, nats; per unit of a number")
    accuracy: Known | None = Field(default=None, description="share of right classes")
    rmse: Known | None = Field(default=None, description="of numbers, in their units")
    mean_error: Known | None = Field(default=None, description="of counts: mean absolute error")
    calibration_error: Known | None = Field(
        default=None, description="of classes: expected; of numbers: of central intervals"
    )
    other_data_auroc: Known | None = Field(
        default=None, description="how well uncertainty tells another data set from these"
    )
    heads: dict[str, Known] | None = Field(
        default=None, description="of several heads, each measure: 'accuracy of TARGET' and so on"
    )
    bins: list[list[float]] | None = Field(
        default=None,
        description="of all agents together: for classes, 15 bins of the top probability with"
        " examples, sum of top probabilities, and how many were right; for numbers, 15 bins of"
        " the probability integral transform with examples first",
    )

    @property
    def measures(self) -> list[str]:
        """What was measured, the main score first."""
        named = ("accuracy", "rmse", "mean_error", "nll", "calibration_error", "other_data_auroc")
        return [*(m for m in named if getattr(self, m) is not None), *(self.heads or ())]

    @property
    def main(self) -> str:
        """The measure that comes first."""
        return self.measures[0]

    def of(self, measure: str) -> Known:
        """One measure, agent by agent."""
        heads = self.heads or {}
        values: Known = heads[measure] if measure in heads else getattr(self, measure)
        return values

    def mean(self, measure: str) -> float | None:
        """The mean over agents, weighted by their examples; None without any."""
        pairs = zip(self.of(measure), self.examples, strict=True)
        known = [(value, size) for value, size in pairs if value is not None and size]
        total = sum(size for _, size in known)
        return sum(value * size for value, size in known) / total if total else None


class HistoryDocument(Document):
    """A training at some of its rounds: a row a round; a column an agent where there are two."""

    rounds: list[int]
    loss: list[Known] = Field(description="mean −log p of the batches since the row before, nats")
    validation: dict[str, list[Known]] = Field(description="by measure; empty without such data")
    bytes_sent: list[int] = Field(description="by all agents since the beginning")
    seconds: list[float] = Field(description="since the beginning")


class DataDocument(Document):
    """What was learned from."""

    train: list[int] = Field(description="examples of each agent")
    validation: list[int] = Field(description="examples of each agent")
    test: int
    other: int = Field(description="inputs of another data set")
    inputs: list[int] = Field(description="shape of one input")
    features: list[str] | None = None
    classes: list[str] | None = None
    sources: dict[str, str] = Field(description="files by name, with their SHA-256")
    test_sha256: str | None = Field(
        default=None, description="of the test labels in their units, and the inputs' shape"
    )


class StandardisationDocument(Document):
    """Pooled moments, from each agent's sums alone: stored = (given − mean)/std."""

    mean: list[float]
    std: list[float]


class TestLook(Document):
    """One time that somebody looked at the test data in this folder."""

    __test__: ClassVar[bool] = False  # no test of pytest's

    run: str = Field(description="fingerprint of the training")
    round: int = Field(description="whose beliefs were tested")


class SettingsDocument(Document):
    """Numbers that say how long and in which steps."""

    rounds: int = Field(ge=1, description="at most")
    local_steps: int = Field(ge=1)
    batch: int = Field(ge=1)
    seed: int
    patience: int | None = Field(description="looks without improvement; null: none asked for")
    every: int = Field(ge=1, description="rounds between two looks at validation data")
    draws: int = Field(ge=0, description="posterior samples of a prediction")
    schedule: str = Field(default="cosine", description="how learning rates fall")
    decay: float = Field(default=1.0, description="what a geometric schedule multiplies by a round")
    warm_up: float = Field(default=0.0, description="share of the rounds in which rates rise")
    products: str = Field(default="highest", description="products of float32 that were taken")


class MessagesDocument(Document):
    """How messages were written, and what that saved."""

    codec: dict[str, Any] = Field(description="name and settings")
    missing: str = Field(description="what stands in for weights that a message does not name")
    bytes_sent: int = Field(description="by all agents, whole frames over all links")
    bytes_uncoded: int = Field(description="of the same messages in float32, without frames")


class KeptBeliefs(Document):
    """The file that holds the trained beliefs."""

    file: str
    sha256: str


class TrainSummary(NamedAgents):
    """A training: what, on which data, how, and how well."""

    left_out = NamedAgents.left_out | {"messages"}

    name: str
    title: str = Field(default="", description="one line, or nothing")
    agents: int = Field(ge=1)
    net: dict[str, Any] = Field(description="words that name the net")
    parameters: int = Field(ge=1, description="weights of one net")
    likelihood: dict[str, Any]
    learner: dict[str, Any]
    settings: SettingsDocument
    messages: MessagesDocument | None = Field(
        default=None, description="where a codec wrote what agents say"
    )
    rounds_run: int = Field(ge=0)
    round_kept: int = Field(ge=0, description="whose beliefs are kept")
    stopped_early: bool
    data: DataDocument
    inputs: StandardisationDocument | None = Field(description="how inputs were standardised")
    targets: StandardisationDocument | None = Field(description="how numbers were standardised")
    validation: ScoresDocument | None = Field(description="each agent on its own; null without")
    test: ScoresDocument | None = Field(description="every agent on the test data, at the end")
    test_looks: list[TestLook] = Field(
        description="every look at these test data in this folder, this one last"
    )
    fingerprint: str = Field(description="SHA-256 of all that the beliefs follow from")
    kept: KeptBeliefs | None = None
    versions: dict[str, str] = Field(default_factory=dict)
    notes: list[str] = Field(default_factory=list)


class TrainRecord(TrainSummary):
    """What `train` leaves on disk."""

    graph: GraphDocument | None = None
    history: HistoryDocument


class TrainPrinted(TrainSummary):
    """What `train` prints."""

    history: HistoryDocument
    record: str | None = Field(description="the record's file; null where none was written")
