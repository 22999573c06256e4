"""What an experiment with neural nets leaves on disk, and the numbers that are read out of it.

Short records (`peerbayes.experiments.short_records`) and those of earlier versions have fewer keys:
what they lack has a default. A network has two beliefs a round: before its consensus, b, and after
it, q. The papers predict with b (P2 4.2 and Remark 6); what they print is compared with that.
Learners alone and servers have one belief. Accuracies are read in per cent, by sampled prediction
where there are beliefs to sample from.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal

from peerbayes.documents import Document
from peerbayes.experiments.experiment import Made, RunSummary
from peerbayes.experiments.net_rows import Part, Role

Known = list[float | None]
"""A number for each agent; null where it has no such images."""
When = Literal["before", "after"]


class Measured(Document):
    """What agents know by one way to predict, each of them (:mod:`empirical.train.evaluation`)."""

    left_out: ClassVar[frozenset[str]] = frozenset(
        f"{where}_{what}"
        for where in ("in_domain", "out_of_domain")
        for what in ("accuracy", "confidence", "entropy")
    ) | {
        "images", "draws", "calibration_error", "entropy", "confidence", "confusion",
        "out_of_domain_auroc", "never_seen_auroc", "other_data_auroc",
    }  # fmt: skip

    images: int | None = None
    draws: int | None = None  # samples of the belief; 0: its mean weights
    accuracy: list[float]  # shares of images
    nll: list[float]  # mean −log p of the true label, nats
    calibration_error: list[float] | None = None
    entropy: list[float] | None = None  # nats
    confidence: list[Known] | None = None  # mean probability of the true label, by agent and label
    in_domain_accuracy: Known | None = None
    out_of_domain_accuracy: Known | None = None
    in_domain_confidence: Known | None = None
    out_of_domain_confidence: Known | None = None
    in_domain_entropy: Known | None = None
    out_of_domain_entropy: Known | None = None
    out_of_domain_auroc: Known | None = None
    never_seen_auroc: Known | None = None
    other_data_auroc: Known | None = None
    confusion: list[list[list[int]]] | None = None  # images by agent, true and predicted label


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
    local_steps: int  # of all agents together, so far
    bytes: int  # sent so far
    seconds: float | None = None  # of training, so far
    loss: Known | None = None  # nats
    divergence: Known | None = None  # nats
    sigma: list[list[float]] | None = None  # quantiles of each agent's σ
    before: Beliefs | None  # before consensus; null where there is none
    after: Beliefs

    def at(self, when: When) -> Beliefs | None:
        """The beliefs before or after consensus; None where there are none."""
        return self.after if when == "after" else self.before


class Curve(Document):
    """What was seen of a run over its rounds, and of everyone at the end."""

    spread: list[float]  # shares of the weights of the quantiles of σ
    agents: list[int]  # which agents the points are of
    points: list[Point]
    last: Beliefs
    last_before: Beliefs | None = None
    seconds: float  # of training, without the looking


class Facts(Document):
    """The agents of a part: their data, and how much each decides."""

    agents: int
    sizes: list[int]  # images of each agent
    labels: list[list[int]]  # that each agent has
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
    codec: dict[str, Any] | None = None  # what wrote the messages

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


# Numbers read out of parts ------------------------------------------------------------------------

WHEN: tuple[When, ...] = ("before", "after")


def group_mean(values: Sequence[float | None], agents: Sequence[int]) -> float:
    """Mean over some agents, or over all if none is named, in per cent."""
    chosen = [values[agent] for agent in agents] if agents else values
    known = [value for value in chosen if value is not None]
    if len(known) < len(chosen):
        raise LookupError("no number for every agent")
    return 100 * sum(known) / len(known)


def way_of(measured: Mapping[str, Any]) -> Mapping[str, Any]:
    """What `Beliefs.way` says, of the plain values of a record."""
    found: Mapping[str, Any] = measured.get("sampled") or measured["mean"]
    return found


def last_of(run: NetPart, when: When = "after") -> Measured:
    """A run's final measurements; those after the consensus where there is none before it."""
    return (run.last(when) or run.curve.last).way


def has_before(runs: Sequence[NetPart]) -> bool:
    """Whether all these runs were measured before their last consensus."""
    return all(run.curve.last_before is not None for run in runs)


def mean_over_rounds(run: NetPart, agents: Sequence[int] = (), when: When = "after") -> float:
    """The mean accuracy over the recorded rounds, in per cent: the higher, the faster.

    Runs that are compared have the same recorded rounds.
    """
    seen = [point.at(when) for point in run.curve.points]
    values = [group_mean(one.way.accuracy, agents) for one in seen if one is not None]
    return sum(values) / len(values)


def label_confidence(run: NetPart, agents: Sequence[int], when: When = "after") -> list[float]:
    """Mean probability of the true label at the end, by true label, over some agents."""
    rows = last_of(run, when).confidence or []
    chosen = [rows[agent] for agent in agents] if agents else rows
    labels = zip(*chosen, strict=True)
    known = [[value for value in values if value is not None] for values in labels]
    return [sum(values) / len(values) if values else 0.0 for values in known]


def least_label(
    run: NetPart, agents: Sequence[int], outside: Sequence[int], when: When = "after"
) -> int:
    """The label of least confidence, summed over the recorded rounds, among some labels."""
    seen = [agent for agent in run.curve.agents if agent in agents]
    total = dict.fromkeys(outside, 0.0)
    for beliefs in (point.at(when) for point in run.curve.points):
        rows = [] if beliefs is None else beliefs.way.confidence or []
        for row in rows and (rows[run.curve.agents.index(agent)] for agent in seen):
            for label in outside:
                total[label] += row[label] or 0.0
    return min(total, key=lambda label: total[label])


def has_numbers(values: Sequence[float | None] | None, agents: Sequence[int]) -> bool:
    """Whether there is a number for each of these agents, or for all if none is named."""
    if values is None:
        return False
    return all(values[agent] is not None for agent in agents or range(len(values)))
