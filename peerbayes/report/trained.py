"""What the page says of a training of one's own."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from peerbayes.figures.canvas import Plot
from peerbayes.figures.graph import network_plot, not_drawn
from peerbayes.figures.panels import floats
from peerbayes.figures.training import course_plot, rank_plot, reliability_plot
from peerbayes.figures.views import Fact, Picture, pictures
from peerbayes.figures.wording import count, number, percentage
from peerbayes.nets.documents import ScoresDocument, TrainRecord
from peerbayes.nets.tables import codec_words, measure_words

# More agents than this are not listed one by one.
_MOST_ROWS = 50
# Measures drawn against bytes: score, log-likelihood, calibration.
_AGAINST_BYTES = 3


@dataclass(frozen=True)
class TrainView:
    """One ``train`` record."""

    key: str
    name: str
    title: str
    finding: str
    facts: tuple[Fact, ...]
    pictures: tuple[Picture, ...]
    columns: tuple[str, ...]
    rows: tuple[tuple[str, tuple[str, ...]], ...]
    notes: tuple[str, ...]


def train_view(body: Any, *, key: str) -> TrainView:
    """Everything the page says of one training: `body` is that of its record."""
    record = TrainRecord.model_validate(body)
    columns, rows = _table(record)
    return TrainView(
        key=key,
        name=record.name,
        title=record.title,
        finding=_finding(record),
        facts=_facts(record),
        pictures=pictures(list(_plots(record)), key),
        columns=columns,
        rows=rows,
        notes=tuple(_notes(record)),
    )


def _finding(record: TrainRecord) -> str:
    scores, where = (
        (record.test, "test") if record.test is not None else (record.validation, "validation")
    )
    if scores is None:
        return "Nothing was measured: there were no validation and no test data."
    said = "; ".join(
        f"{measure_words(name)} {_value(name, scores.mean(name))}" for name in scores.measures
    )
    looks = len(record.test_looks)
    again = f" These test data were looked at {looks} times in that folder." if looks > 1 else ""
    return f"On {where} data, averaged over agents: {said}.{again}"


def _facts(record: TrainRecord) -> tuple[Fact, ...]:
    stopped = "stopped early; " * record.stopped_early
    if record.round_kept != record.rounds_run:
        stopped += f"round {record.round_kept} kept"
    settings = record.settings
    sent, messages = record.history.bytes_sent, record.messages
    coded: tuple[Fact, ...] = ()
    if messages is not None:
        whole = f"{number(messages.bytes_uncoded / 1e6, 3)} MB without it"
        coded = (Fact("Codec", codec_words(messages.codec), whole),)
    return (
        Fact("Agents", count(record.agents)),
        Fact("Learner", str(record.learner["learner"]), f"seed {settings.seed}"),
        Fact("Rounds", count(record.rounds_run), stopped),
        Fact("Local steps", count(settings.local_steps), f"batches of {settings.batch}"),
        Fact("Weights", count(record.parameters), "of one net"),
        Fact("Likelihood", str(record.likelihood["kind"])),
        Fact("Examples", count(sum(record.data.train)), "to train on, all agents together"),
        Fact("Sent", f"{number(sent[-1] / 1e6, 3)} MB" if sent else "–", "by all agents"),
        *coded,
    )


def _plots(record: TrainRecord) -> Iterator[Plot | None]:
    if record.graph is not None:
        yield network_plot(record.graph)
    history = record.history
    names = [record.called(agent) for agent in range(record.agents)]
    kept = record.round_kept if record.round_kept != record.rounds_run else None
    if history.rounds:
        rounds = floats(history.rounds)
        yield course_plot(
            rounds, floats(history.loss), names,
            title="Training loss", quantity="−log p [nats]",
            finding="Mean over each agent’s own batches since the look before.", kept=kept,
        )  # fmt: skip
        for measure in list(history.validation)[:2]:
            last = None if record.validation is None else record.validation.mean(measure)
            yield course_plot(
                rounds, floats(history.validation[measure]), names,
                title=f"Validation: {measure_words(measure)}", quantity=measure_words(measure),
                finding="Each agent on its own validation data. Of the beliefs kept, the mean is "
                f"{_value(measure, last)}.",
                kept=kept,
            )  # fmt: skip
    yield from _bytes_plots(record, names)
    scores = record.test or record.validation
    if scores is not None and scores.bins is not None:
        draw = reliability_plot if scores.main == "accuracy" else rank_plot
        yield draw(floats(scores.bins))


def _bytes_plots(record: TrainRecord, names: list[str]) -> Iterator[Plot]:
    """Validation scores, or the training loss without such data, against what was sent so far."""
    history = record.history
    sent = floats(history.bytes_sent) / 1e6
    if not sent.size or sent[0] == sent[-1]:
        return
    drawn = dict(list(history.validation.items())[:_AGAINST_BYTES])
    for measure, values in (drawn or {"": history.loss}).items():
        what = measure_words(measure) if measure else "training loss [nats]"
        yield course_plot(
            sent, floats(values), names,
            title=f"Against bytes: {what}", quantity=what, along="MB sent",
            finding="Against what all agents together have sent so far, over all links.",
        )  # fmt: skip


def _table(
    record: TrainRecord,
) -> tuple[tuple[str, ...], tuple[tuple[str, tuple[str, ...]], ...]]:
    """One row an agent: examples, and what was measured on validation and test data."""
    kinds: list[tuple[str, ScoresDocument]] = [
        (where, scores)
        for where, scores in (("validation", record.validation), ("test", record.test))
        if scores is not None
    ]
    columns = [
        "examples", *(f"{where}: {measure_words(name)}" for where, scores in kinds
                      for name in scores.measures),
    ]  # fmt: skip
    rows = [
        (
            record.called(agent),
            (
                count(record.data.train[agent]),
                *(
                    _value(name, scores.of(name)[agent])
                    for _, scores in kinds
                    for name in scores.measures
                ),
            ),
        )
        for agent in range(min(record.agents, _MOST_ROWS))
    ]
    return tuple(columns), tuple(rows)


def _notes(record: TrainRecord) -> Iterator[str]:
    yield from record.notes
    if record.graph is not None:
        yield from not_drawn(record.graph)
    if record.agents > _MOST_ROWS:
        yield f"the first {_MOST_ROWS} of {record.agents} agents are listed"
    for number_of, look in enumerate(record.test_looks, 1):
        yield f"look {number_of} at the test data: round {look.round}, training {look.run[:12]}"


def _value(measure: str, value: float | None) -> str:
    return percentage(value) if measure == "accuracy" else number(value, 4)
