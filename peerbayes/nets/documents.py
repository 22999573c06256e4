"""What `train` prints and leaves on disk: its types, a training as such values, and its tables.

Values are plain, with agents and targets by their names.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from pydantic import Field
from rich.console import RenderableType
from rich.text import Text

from peerbayes.documents import Document, GraphDocument, NamedAgents, Number, names_of, numbers
from peerbayes.experiments.setting import KeptFile, versions
from peerbayes.problem.problems import graph_of
from peerbayes.tables import facts_table, figures_table, notes_text, number, rounds
from theory import Network
from theory.changing import AnyNetwork, influence

if TYPE_CHECKING:
    from empirical.train.data.agents_data import AgentsData
    from empirical.train.plan import TrainingPlan
    from empirical.train.scores import Scores
    from empirical.train.trained import TrainedNetwork


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

    left_out = frozenset({"clients"})

    rounds: int = Field(ge=1, description="at most")
    local_steps: int = Field(ge=1)
    batch: int = Field(ge=1)
    seed: int
    patience: int | None = Field(description="looks without improvement; null: none asked for")
    every: int = Field(ge=1, description="rounds between two looks at validation data")
    draws: int = Field(ge=0, description="posterior samples of a prediction")
    clients: int | None = Field(default=None, description="drawn by a server to learn in a round")
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


class KeptBeliefs(KeptFile):
    """The file that holds the trained beliefs."""


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


# From a training to its record -------------------------------------------------------------------


def record_of(
    trained: TrainedNetwork,
    plan: TrainingPlan,
    *,
    looks: Sequence[TestLook],
    kept: KeptBeliefs | None,
) -> TrainRecord:
    """What `train` leaves on disk of a training.

    Parameters
    ----------
    looks
        At the test data in this folder, this one last.
    kept
        The file of the beliefs; None where none was written.
    """
    data, history = plan.data, trained.history
    kept_round = int(trained.settings["round_kept"])
    rounds_run = int(history.rounds[-1]) if len(history.rounds) else 0
    return TrainRecord(
        names=_names(data),
        name=plan.name,
        title=plan.title,
        agents=data.agents,
        net=dict(plan.net.words),
        parameters=plan.net.parameters,
        likelihood=dict(plan.likelihood.words),
        learner=dict(trained.learner),
        settings=SettingsDocument(**{**plan.settings, "products": trained.settings["products"]}),
        messages=_messages(trained),
        rounds_run=rounds_run,
        round_kept=kept_round,
        stopped_early=rounds_run < plan.rounds,
        data=_data(plan),
        inputs=_standardisation(data.scaling),
        targets=_standardisation(data.target_scaling),
        validation=_scores(trained.metrics.validation, plan),
        test=_scores(trained.metrics.test, plan),
        test_looks=list(looks),
        fingerprint=plan.fingerprint,
        kept=kept,
        versions=versions(),
        notes=list(trained.notes),
        graph=_graph(plan.network, data),
        history=HistoryDocument(
            rounds=history.rounds.tolist(),
            loss=[numbers(row) for row in history.loss],
            validation={
                _called(measure, plan): [numbers(row) for row in history.validation[:, :, k]]
                for k, measure in enumerate(history.measures)
                if plan.has_validation
            },
            bytes_sent=history.bytes_sent.tolist(),
            seconds=history.seconds.tolist(),
        ),
    )


def _messages(trained: TrainedNetwork) -> MessagesDocument | None:
    words = dict(trained.settings.get("messages", {}))
    if not words:
        return None
    sent = trained.history.bytes_sent
    return MessagesDocument(
        missing=words.pop("missing"),
        bytes_uncoded=words.pop("bytes_uncoded"),
        bytes_sent=int(sent[-1]) if len(sent) else 0,
        codec=words,
    )


def _names(data: AgentsData) -> list[str] | None:
    """What agents are called; None if by their numbers."""
    numbered = all(name == str(agent) for agent, name in enumerate(data.names))
    return None if numbered else names_of(data.names)


def _called(measure: str, plan: TrainingPlan) -> str:
    """A measure of one of several heads, by its target's name in place of its number."""
    what, of, head = measure.rpartition(" of ")
    targets = plan.data.targets
    named = of and len(targets) == len(plan.likelihood.words["parts"])
    return f"{what} of {targets[int(head)].name}" if named else measure


def _data(plan: TrainingPlan) -> DataDocument:
    data = plan.data
    return DataDocument(
        train=[len(examples) for examples in data.train],
        validation=[len(examples) for examples in data.validation],
        test=0 if data.test is None else len(data.test),
        other=0 if data.other is None else len(data.other),
        inputs=list(data.input_shape),
        features=None if data.features is None else list(data.features),
        classes=None if data.classes is None else list(data.classes),
        sources=dict(data.sources),
        test_sha256=plan.test_sha256,
    )


def _standardisation(scaling: Any) -> StandardisationDocument | None:
    if scaling is None:
        return None
    mean, std = (np.atleast_1d(part).ravel().tolist() for part in (scaling.mean, scaling.std))
    return StandardisationDocument(mean=mean, std=std)


def _scores(scores: Scores | None, plan: TrainingPlan) -> ScoresDocument | None:
    if scores is None:
        return None
    bins = scores.bins.sum(axis=0)
    each = {_called(name, plan): numbers(scores[name]) for name in scores.measures}
    return ScoresDocument(
        examples=scores.examples.astype(int).tolist(),
        draws=scores.draws,
        bins=bins.tolist() if bins.any() else None,
        **{name: values for name, values in each.items() if " of " not in name},
        heads={name: values for name, values in each.items() if " of " in name} or None,
    )


def _graph(network: AnyNetwork, data: AgentsData) -> GraphDocument | None:
    """How the network is drawn; None for one whose agents' influence is not known."""
    try:
        graph = (
            GraphDocument.of(network)
            if isinstance(network, Network)
            else graph_of(network, influence(network).values)
        )
    except ValueError:
        return None
    return graph.model_copy(update={"names": _names(data)})


# Terminal tables ---------------------------------------------------------------------------------

# More agents than this are not listed, but for the best and the worst.
_MOST_LISTED = 20
_WORDS = {
    "accuracy": "accuracy", "rmse": "RMSE", "mean_error": "mean error", "nll": "NLL [nats]",
    "calibration_error": "calibration error", "other_data_auroc": "other data AUROC",
}  # fmt: skip


def codec_words(words: Mapping[str, Any]) -> str:
    """A codec and its settings on one line.

    >>> codec_words({"codec": "difference", "inner": {"codec": "sign"}, "mixing": 0.5})
    'difference (inner sign, mixing 0.5)'
    """
    settings = ", ".join(
        f"{name} {codec_words(value) if isinstance(value, Mapping) else value}"
        for name, value in words.items()
        if name != "codec"
    )
    return f"{words['codec']} ({settings})" if settings else str(words["codec"])


def measure_words(measure: str) -> str:
    """What a measure is called in tables and figures."""
    what, of, head = measure.partition(" of ")
    return _WORDS.get(what, what.replace("_", " ")) + of + head


def train_parts(result: TrainPrinted) -> list[RenderableType]:
    """The tables of `train`: what was trained, and how well each agent predicts."""
    settings, kept = result.settings, "; stopped early" * result.stopped_early
    if result.round_kept != result.rounds_run:
        kept += f"; beliefs of round {result.round_kept} are kept"
    sent = result.history.bytes_sent[-1] if result.history.bytes_sent else 0
    least, most = min(result.data.train), max(result.data.train)
    facts = {
        "agents": str(result.agents),
        "weights of a net": rounds(result.parameters),
        "likelihood": str(result.likelihood["kind"]),
        "learner": str(result.learner["learner"]),
        "rounds": f"{result.rounds_run} of {settings.local_steps} local steps{kept}",
        **({} if settings.clients is None else {"clients a round": str(settings.clients)}),
        "examples": f"{least} an agent" if least == most else f"{least} to {most} an agent",
        "sent": f"{rounds(sent)} bytes",
    }
    if result.messages is not None:
        saved = f"; {rounds(result.messages.bytes_uncoded)} bytes without it"
        facts["codec"] = codec_words(result.messages.codec) + saved
    if len(result.test_looks) > 1:
        facts["test data"] = f"looked at {len(result.test_looks)} times in this folder"
    heading = f"{result.name}: {result.title}" if result.title else result.name
    parts: list[RenderableType] = [facts_table(heading, facts)]
    for title, scores in (("Test data", result.test), ("Validation data", result.validation)):
        if scores is not None:
            way = f"{scores.draws} posterior samples" if scores.draws else "mean weights"
            parts.append(_scores_table(f"{title}, by {way}", scores, result))
            break
    return [*parts, notes_text(result.notes)] if result.notes else parts


def _scores_table(title: str, scores: ScoresDocument, result: TrainPrinted) -> RenderableType:
    names = scores.measures
    table = figures_table(title, "agent", "examples", *map(measure_words, names))
    agents = list(range(result.agents))
    if len(agents) > _MOST_LISTED:
        agents = [_extreme(scores, best=False), _extreme(scores, best=True)]
    for agent in agents:
        cells = (number(scores.of(name)[agent]) for name in names)
        table.add_row(Text(result.called(agent)), str(scores.examples[agent]), *cells)
    table.add_row("mean", "", *(number(scores.mean(name)) for name in names))
    return table


def _extreme(scores: ScoresDocument, *, best: bool) -> int:
    values = scores.of(scores.main)
    sign = 1 if (scores.main == "accuracy") == best else -1
    known = {agent: sign * value for agent, value in enumerate(values) if value is not None}
    return max(known, key=known.__getitem__, default=0)
