"""What compressed beliefs cost, as a document and a table."""

from __future__ import annotations

from rich.console import RenderableType
from rich.text import Text

from peerbayes.documents import number as json_number
from peerbayes.kinds.finite.documents import MessagesDocument
from peerbayes.tables import facts_table, number, rounds
from theory.messages import CompressedLearning


def messages_document(found: CompressedLearning) -> MessagesDocument:
    """The JSON key "messages"."""
    quantiser = found.quantiser
    return MessagesDocument(
        quantiser=quantiser.name,
        step=float(quantiser.step),
        mixing=float(quantiser.mixing),
        levels=quantiser.levels,
        least_levels=found.levels.least if quantiser.has_replica else None,
        links=found.links,
        message_bytes=found.frame,
        bytes_per_round=found.bytes_per_round,
        deviation=json_number(float(found.deviation.max())),
        extra_rounds=found.extra_rounds,
        certified_rounds=list(found.rounds),
        certified_bytes=list(found.certified_bytes),
        note=found.note,
    )


def messages_parts(result: MessagesDocument | None) -> list[RenderableType]:
    """The table of what messages cost; nothing without one."""
    if result is None:
        return []
    facts = {
        "quantiser": f"{result.quantiser}, steps of {number(result.step)} nats",
        "mixing": number(result.mixing),
        "levels (least)": f"{rounds(result.levels)} ({rounds(result.least_levels)})",
        "bytes a message": rounds(result.message_bytes),
        "bytes a round": f"{number(result.bytes_per_round)} on {result.links} links",
        "moves a log-ratio by at most": f"{number(result.deviation)} nats",
        "certified rounds": _ends(result.certified_rounds),
        "  more than without": rounds(result.extra_rounds),
        "certified bytes": _ends(result.certified_bytes),
    }
    notes = [Text(f"note: {result.note}")] if result.note else []
    return [Text(), facts_table("Messages", facts), *notes]


def _ends(ends: list[int | None]) -> str:
    """Both ends of an interval, each perhaps not known."""
    return "-" if ends == [None, None] else " to ".join(rounds(end) for end in ends)
