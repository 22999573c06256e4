"""What a watcher says: printed, shown in the terminal and on the page, and left on record."""

from __future__ import annotations

from pydantic import Field

from peerbayes.documents import Document, NamedAgents, Number, Probability

ALLOWED = 5.0
"""Standard errors of a measured rate that chance allows."""
CONTRADICTS = "the evidence contradicts the truth that the file states"


class LiveAgent(Document):
    """One agent, as it was heard last."""

    name: str
    state: str = Field(description="here, silent, gone, done, or not seen")
    round: int | None
    epoch: int | None = None
    reports: int = Field(ge=0)
    began_anew: int = Field(ge=0, description="how often its process began again")
    round_seconds: Number = Field(description="mean time between poolings, measured")
    influence: Number = Field(description="v, of the weights that were measured")
    slowness: Number = Field(
        description="share of the network's round that is spent in waiting for it"
    )
    believes: str | None = Field(description="its most probable hypothesis")
    probability: Probability | None = None
    probabilities: list[Probability] | None = None
    accuracy: Number = None
    nll: Number = None
    receipts: dict[str, int]
    refused: dict[str, int]
    evidence_taken: int = Field(ge=0)
    evidence_refused: int = Field(ge=0)
    bytes_sent: int = Field(ge=0)
    rss_mb: Number = None
    stored_round: int | None = None


class LiveLink(Document):
    """What one agent heard of another, in means over poolings."""

    hearer: int
    heard: int
    alive: bool | None = Field(description="as the hearer says; null: it has not said")
    weight: Number = Field(description="measured; null: not yet")
    weight_given: Number = Field(description="in W of the problem")
    used: Number = Field(description="share of poolings that used a message of it")
    seconds: Number = Field(description="mean age of what was used, and its gap before")
    rounds_late: Number = None


class LiveRate(Document):
    """How fast one hypothesis is rejected, in nats a second."""

    hypothesis: str
    predicted: Number
    measured: Number
    standard_error: Number = Field(description="of what is measured, by model and rhythms")
    blocks_error: Number = Field(description="the same as the beliefs themselves show it")


class LiveStretch(Document):
    """A time in which the same agents were present."""

    began: float = Field(ge=0, description="seconds after watching began")
    seconds: float = Field(ge=0, description="that reports of all its agents cover")
    present: list[str]
    round_seconds: Number = Field(description="of a round of the whole network")
    rates: list[LiveRate]
    notes: list[str]

    @property
    def binding(self) -> LiveRate | None:
        """The rate that decides."""
        known = [rate for rate in self.rates if rate.predicted is not None]
        if known:
            return min(known, key=lambda rate: rate.predicted or 0.0)
        seen = [rate for rate in self.rates if rate.measured is not None]
        return min(seen, key=lambda rate: rate.measured or 0.0, default=None)

    @property
    def contradicted(self) -> LiveRate | None:
        """The rate of the hypothesis in which beliefs rose most, beyond chance, against the file.

        None where nothing is predicted from a file, or beliefs fell.
        """
        risen = [
            rate
            for rate in self.rates
            if rate.predicted is not None
            and (rate.measured or 0.0) < -ALLOWED * (rate.standard_error or 0.0)
        ]
        return min(risen, key=lambda rate: rate.measured or 0.0, default=None)


class LiveCourse(Document):
    """Log-ratios of one hypothesis while it was watched, agent by agent."""

    hypothesis: str
    reference: str
    agents: list[str]
    seconds: list[list[float]]
    log_ratios: list[list[float]]


class WatchDocument(NamedAgents):
    """A live network as it was watched; null: not known, see notes."""

    left_out = frozenset({"names", "course"})

    network: str = Field(description="first 16 hexadecimal digits of the problem's digest")
    name: str
    title: str
    began: str = Field(description="when watching began, UTC")
    seconds: float = Field(ge=0)
    pace: str | None = Field(description="lockstep or own, as the agents say")
    hypotheses: list[str] | None
    reference: str | None = Field(description="the hypothesis that the network settles on")
    agents: list[LiveAgent]
    links: list[LiveLink]
    stretches: list[LiveStretch]
    main: int = Field(description="the stretch of which rhythms, weights and waits are told")
    positions: list[list[float]] | None
    refused: dict[str, int] = Field(description="reports that were refused, by reason")
    notes: list[str]
    course: LiveCourse | None = None

    @property
    def told(self) -> LiveStretch:
        """The stretch of which rhythms, weights and waits are told."""
        return self.stretches[self.main]
