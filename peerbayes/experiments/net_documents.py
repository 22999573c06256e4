"""What an experiment with neural nets leaves on disk, as types.

Short records (`peerbayes.experiments.short_records`) and those of earlier versions have fewer keys:
what they lack has a default.
"""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from pydantic import Field

from peerbayes.documents import Document
from peerbayes.experiments.experiment import Made, RunSummary
from peerbayes.experiments.net_rows import Part, Role

Known = list[float | None]
"""A number for each agent; null where it has no such images."""
When = Literal["before", "after"]


class Measured(Document):
    """What agents know by one way to predict, agent by agent (:mod:`empirical.nets.evaluation`)."""

    left_out: ClassVar[frozenset[str]] = frozenset(
        f"{where}_{what}"
        for where in ("in_domain", "out_of_domain")
        for what in ("accuracy", "confidence", "entropy")
    ) | {
        "images", "draws", "calibration_error", "entropy", "confidence", "confusion",
        "out_of_domain_auroc", "never_seen_auroc", "other_data_auroc",
    }  # fmt: skip

    images: int | None = None
    draws: int | None = Field(
        default=None, description="samples of the belief; 0: its mean weights"
    )
    accuracy: list[float] = Field(description="shares of images")
    nll: list[float] = Field(description="mean −log p of the true label, nats")
    calibration_error: list[float] | None = None
    entropy: list[float] | None = Field(default=None, description="nats")
    confidence: list[Known] | None = Field(
        default=None, description="mean probability of the true label, by agent and label"
    )
    in_domain_accuracy: Known | None = None
    out_of_domain_accuracy: Known | None = None
    in_domain_confidence: Known | None = None
    out_of_domain_confidence: Known | None = None
    in_domain_entropy: Known | None = None
    out_of_domain_entropy: Known | None = None
    out_of_domain_auroc: Known | None = None
    never_seen_auroc: Known | None = None
    other_data_auroc: Known | None = None
    confusion: list[list[list[int]]] | None = Field(
        default=None, description="images by agent, true and predicted label"
    )


class Beliefs(Document):
    """The measurements by sampled prediction, if there are any, and by mean weights."""

    left_out: ClassVar[frozenset[str]] = frozenset({"mean", "sampled"})

    mean: Measured | None = None
    sampled: Measured | None = None

    @property
    def way(self) -> Measured:
        """By sampled prediction, if there is any; else by the mean weights."""
        found = self.sampled or self.mean
        if found is None:
            raise LookupError("neither 'sampled' nor 'mean'")
        return found


class Point(Document):
    """One recorded round."""

    left_out: ClassVar[frozenset[str]] = frozenset({"seconds"})

    round: int
    local_steps: int = Field(description="of all agents together, so far")
    bytes: int = Field(description="sent so far")
    seconds: float | None = Field(default=None, description="of training, so far")
    loss: Known | None = Field(default=None, description="nats")
    divergence: Known | None = Field(default=None, description="nats")
    sigma: list[list[float]] | None = Field(default=None, description="quantiles of each agent's σ")
    before: Beliefs | None = Field(description="before consensus; null where there is none")
    after: Beliefs

    def at(self, when: When) -> Beliefs | None:
        """The beliefs before or after consensus; None where there are none."""
        return self.after if when == "after" else self.before


class Curve(Document):
    """What was seen of a run over its rounds, and of everyone at the end."""

    spread: list[float] = Field(description="shares of the weights of the quantiles of σ")
    agents: list[int] = Field(description="which agents the points are of")
    points: list[Point]
    last: Beliefs
    last_before: Beliefs | None = None
    seconds: float = Field(description="of training, without the looking")


class Facts(Document):
    """The agents of a part: their data, and how much each decides."""

    agents: int
    sizes: list[int] = Field(description="images of each agent")
    labels: list[list[int]] = Field(description="that each agent has")
    informative: int | None = None
    influence: list[float] | None = None


class PosteriorFile(Document):
    """The beliefs that a part leaves beside its record."""

    file: str
    sha256: str


class NetPart(Made):
    """One run of one recipe with one seed."""

    left_out: ClassVar[frozenset[str]] = Made.left_out | {"codec"}

    recipe: str
    role: Role
    variant: str
    seed: int
    settings: dict[str, Any]
    network: Facts
    classes: list[str]
    data: dict[str, Any]
    curve: Curve
    posterior: PosteriorFile | None = None
    codec: dict[str, Any] | None = Field(default=None, description="what wrote the messages")

    @property
    def name(self) -> str:
        """The part's name."""
        return Part(self.recipe, self.role, self.variant, self.seed).name

    @property
    def learners(self) -> int:
        """How many nets are trained."""
        return 1 if self.role == "central" else self.network.agents

    def last(self, when: When = "after") -> Beliefs | None:
        """The beliefs at the end; None before consensus where there is none."""
        return self.curve.last if when == "after" else self.curve.last_before


class NetSettings(Document):
    """What all parts of a record have in common."""

    dataset: str
    hidden: list[int]
    main: str
    confusion: bool
    groups: list[tuple[str, tuple[int, ...]]]
    quick: bool
    codec: dict[str, Any] | None = None


class NetRun(RunSummary):
    """A record of an experiment with neural nets."""

    settings: NetSettings
    content: dict[str, NetPart]
