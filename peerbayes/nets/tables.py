"""A training as tables for people; each function takes the document of the command."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.console import RenderableType
from rich.text import Text

from peerbayes.nets.documents import ScoresDocument, TrainPrinted
from peerbayes.tables import facts_table, figures_table, notes_text, number, rounds

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
    facts = {
        "agents": str(result.agents),
        "weights of a net": rounds(result.parameters),
        "likelihood": str(result.likelihood["kind"]),
        "learner": str(result.learner["learner"]),
        "rounds": f"{result.rounds_run} of {settings.local_steps} local steps{kept}",
        "examples": _range(result.data.train),
        "sent": f"{rounds(sent)} bytes",
    }
    if result.messages is not None:
        saved = f"; {rounds(result.messages.bytes_uncoded)} bytes without it"
        facts["codec"] = codec_words(result.messages.codec) + saved
    if len(result.test_looks) > 1:
        facts["test data"] = f"looked at {len(result.test_looks)} times in this folder"
    parts: list[RenderableType] = [facts_table(_heading(result), facts)]
    for title, scores in (("Test data", result.test), ("Validation data", result.validation)):
        if scores is not None:
            parts.append(_scores(f"{title}, by {_way(scores)}", scores, result))
            break
    return [*parts, notes_text(result.notes)] if result.notes else parts


def _scores(title: str, scores: ScoresDocument, result: TrainPrinted) -> RenderableType:
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


def _heading(result: TrainPrinted) -> str:
    return f"{result.name}: {result.title}" if result.title else result.name


def _extreme(scores: ScoresDocument, *, best: bool) -> int:
    values = scores.of(scores.main)
    sign = 1 if (scores.main == "accuracy") == best else -1
    known = {agent: sign * value for agent, value in enumerate(values) if value is not None}
    return max(known, key=known.__getitem__, default=0)


def _way(scores: ScoresDocument) -> str:
    return f"{scores.draws} posterior samples" if scores.draws else "mean weights"


def _range(sizes: list[int]) -> str:
    low, high = min(sizes), max(sizes)
    return f"{low} an agent" if low == high else f"{low} to {high} an agent"
