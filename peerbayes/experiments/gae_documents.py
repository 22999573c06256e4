"""What `gae` leaves on disk, as types."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import Field

from peerbayes.documents import Document
from peerbayes.experiments.experiment import Made, RunSummary
from peerbayes.experiments.gae_rows import AUTOENCODERS, TRIALS


class GaeTraffic(Document):
    """What went over the ring."""

    message_bits: float = Field(
        description="of one message's body, counted from its bytes; a mean over the run"
    )
    printed_bits: int = Field(
        description="the same by the paper's eqs 4 to 6; eq. 5 beside other codecs"
    )
    beside_bits: int = Field(description="that a message carries besides: its sender's loss")
    messages: int = Field(description="in the whole run")
    sent_bits: list[int] | None = Field(
        default=None,
        description="of all bodies until each look at the test images; null where all are of one"
        " size",
    )


class GaeClosing(Document):
    """A look between two exchanges after the last round."""

    exchanges: int = Field(description="after the last round, so far")
    accuracies: list[float] = Field(description="of each node")
    sent_bits: int = Field(description="of all bodies, since the run began")

    @property
    def accuracy(self) -> float:
        """The mean over nodes."""
        return sum(self.accuracies) / len(self.accuracies)


class GaeRunPart(Made):
    """One run with one seed."""

    run: str
    seed: int
    printed: str = Field(description="accuracy in Table 1; empty for controls")
    recipe: dict[str, Any]
    images: int = Field(description="of training, that nodes hold")
    test_images: int
    digits: list[list[int]] = Field(description="that each node holds")
    missing_digits: list[int] = Field(description="that nobody holds")
    rounds: list[int] = Field(description="after which test images were looked at")
    accuracies: list[list[float]] = Field(description="by such round and node, after the exchange")
    closing: list[GaeClosing] = Field(
        default_factory=list, description="looks after the last round, but for the very last"
    )
    mean_losses: list[float] = Field(description="u of eq. 8 after each round, nats")
    traffic: GaeTraffic | None = Field(description="null where nothing is sent")
    autoencoder: str | None = Field(description="SHA-256 of its file, where one is used")
    data: dict[str, str]
    seconds: float = Field(description="of training and exchange, without the looking")

    @property
    def nodes(self) -> int:
        """How many there are."""
        return len(self.accuracies[-1])

    @property
    def bits_a_round(self) -> float:
        """That a node sends, rounds without an exchange counted."""
        if self.traffic is None:
            return 0.0
        sent = self.traffic.message_bits * self.traffic.messages
        return sent / (self.nodes * int(self.recipe["rounds"]))

    @property
    def accuracy(self) -> float:
        """At the end, the mean over nodes."""
        return sum(self.accuracies[-1]) / self.nodes


class GaeFit(Document):
    """A training of the autoencoder, by one split of the snapshots."""

    split: str
    training: list[float] = Field(description="mean squared error of each epoch")
    validation: list[float]
    constant: float = Field(description="mean squared error of the mean training curve")
    spline: float = Field(description="that of as many knots on straight lines, validation curves")


class GaeCurve(Document):
    """A validation curve, at some of its ranks."""

    ranks: list[int]
    sorted: list[float]
    autoencoder: list[float]
    spline: list[float]


class GaeAutoencoderPart(Made):
    """The autoencoder and what it learnt from."""

    snapshots: dict[str, Any]
    plan: dict[str, Any]
    curves: int
    images: int
    weights: int
    fits: list[GaeFit] = Field(description="first the paper's split, whose autoencoder is used")
    curve: GaeCurve
    file: str
    sha256: str
    seconds: float


@dataclass(frozen=True)
class GaeContent:
    """All parts that are there: autoencoders by the name of their part, the paper's first.

    Trials are judged by other images than runs.
    """

    autoencoders: dict[str, GaeAutoencoderPart]
    runs: tuple[GaeRunPart, ...]
    trials: tuple[GaeRunPart, ...] = ()

    @classmethod
    def of(cls, content: Mapping[str, Any]) -> GaeContent:
        """The parts of a record."""
        trained = [part.name for part in AUTOENCODERS]
        runs = [
            GaeRunPart.model_validate(part) for name, part in content.items() if name not in trained
        ]
        tried = {run.name for run in TRIALS}
        return cls(
            {
                name: GaeAutoencoderPart.model_validate(content[name])
                for name in trained
                if name in content
            },
            tuple(one for one in runs if one.run not in tried),
            tuple(one for one in runs if one.run in tried),
        )

    def named(self, run: str) -> tuple[GaeRunPart, ...]:
        """All seeds of a run, or of a trial."""
        return tuple(one for one in (*self.runs, *self.trials) if one.run == run)


class GaeSettings(Document):
    """What all parts of a record have in common."""

    quick: bool


class GaeRun(RunSummary):
    """A record of `gae`."""

    settings: GaeSettings
    content: dict[str, Any]

    @property
    def found(self) -> GaeContent:
        """The parts of the record."""
        return GaeContent.of(self.content)
