"""A training of one's own: what it reached, round by round and agent by agent."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from peerbayes.figures.chart import Plot, floats
from peerbayes.figures.graph import network_plot, not_drawn
from peerbayes.figures.training import agents_plot, rank_plot, reliability_plot
from peerbayes.figures.views import Fact, Row, Section, Table, pictures
from peerbayes.figures.wording import count, number, percentage
from peerbayes.nets.documents import TrainRecord, codec_words, measure_words

# More agents than this are not listed one by one.
_MOST_ROWS = 50
# Measures drawn against bytes: score, log-likelihood, calibration.
_AGAINST_BYTES = 3


def train_view(body: Any, *, key: str) -> Section:
    """Everything the page says of one training: `body` is that of its record."""
    record = TrainRecord.model_validate(body)
    return Section(
        key=key,
        name=record.name,
        heading=f"{record.name}, trained: {count(record.agents)} agents, "
        f"{count(record.rounds_run)} rounds",
        title=record.title,
        finding=_finding(record),
        facts=_facts(record),
        pictures=pictures(list(_plots(record)), key),
        tables=(_table(record),),
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
    """Scores first, then the training loss, bytes, calibration, the network."""
    history = record.history
    scores = {measure_words(name): values for name, values in history.validation.items()}
    kept = record.round_kept if record.round_kept != record.rounds_run else None
    names = [record.called(agent) for agent in range(record.agents)]
    if history.rounds:
        rounds = floats(history.rounds)
        for measure, what in list(zip(history.validation, scores, strict=True))[:2]:
            last = None if record.validation is None else record.validation.mean(measure)
            yield agents_plot(
                rounds, floats(scores[what]), names, title=f"Validation: {what}", quantity=what,
                finding="Each agent on its own validation data. Of the beliefs kept, the mean is "
                f"{_value(measure, last)}.",
                kept=kept,
            )  # fmt: skip
        yield agents_plot(
            rounds, floats(history.loss), names,
            title="Training loss", quantity="−log p [nats]",
            finding="Mean over each agent’s own batches since the look before.", kept=kept,
        )  # fmt: skip
    sent = floats(history.bytes_sent) / 1e6
    if sent.size and sent[0] != sent[-1]:
        drawn = dict(list(scores.items())[:_AGAINST_BYTES])
        for what, values in (drawn or {"training loss [nats]": history.loss}).items():
            yield agents_plot(
                sent, floats(values), names,
                title=f"Against bytes: {what}", quantity=what, x="MB sent",
                finding="Against what all agents together have sent so far, over all links.",
            )  # fmt: skip
    tested = record.test or record.validation
    if tested is not None and tested.bins is not None:
        draw = reliability_plot if tested.main == "accuracy" else rank_plot
        yield draw(floats(tested.bins))
    if record.graph is not None:
        yield network_plot(record.graph)


def _table(record: TrainRecord) -> Table:
    """One row an agent: examples, and what was measured on validation and test data."""
    measured = [
        (f"{where}: {measure_words(name)}", name, scores.of(name))
        for where, scores in (("validation", record.validation), ("test", record.test))
        if scores is not None
        for name in scores.measures
    ]
    rows = []
    for agent in range(min(record.agents, _MOST_ROWS)):
        cells = (_value(name, values[agent]) for _, name, values in measured)
        rows.append(Row(record.called(agent), (count(record.data.train[agent]), *cells)))
    columns = ("examples", *(title for title, *_ in measured))
    return Table(f"Agents: {record.name}", "agent", columns, tuple(rows))


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
