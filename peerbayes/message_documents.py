"""What compressed beliefs cost: documents and tables that analyses and designs share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Self

from pydantic import Field
from rich.console import RenderableType
from rich.text import Text

from peerbayes.documents import Document, Number
from peerbayes.documents import number as json_number
from peerbayes.tables import facts_table, figures_table, number, rounds
from theory.messages import CompressedLearning, MeanBytes, Samples

MaybeInterval = Annotated[list[int | None], Field(min_length=2, max_length=2)]
"""Both ends of an interval; null: not known."""


class MeanBytesDocument(Document):
    """Expected bytes a round on all links: bounds for the long run, and an estimate between."""

    lower: float = Field(ge=0)
    estimate: float = Field(ge=0, description="for little mixing; no bound")
    upper: float = Field(ge=0)

    @classmethod
    def of(cls, found: MeanBytes | None) -> Self | None:
        """The document; None where nothing is known."""
        if found is None:
            return None
        return cls(lower=found.lower, estimate=found.estimate, upper=found.upper)


class MessagesDocument(Document):
    """What compressed beliefs cost; null: not known, see note."""

    quantiser: str
    step: Number = Field(description="in nats; null for samples")
    mixing: float = Field(gt=0, le=1)
    levels: int | None = Field(description="those of the quantiser, or as many as it needs")
    least_levels: int | None = Field(description="with fewer no proof says that none overloads")
    links: int = Field(ge=0, description="directed")
    message_bytes: int | None
    bytes_per_round: Number = Field(description="of all links; at most, where some are silent")
    mean_bytes_per_round: MeanBytesDocument | None = None
    deviation: Number = Field(description="bound on what compression moves a log-ratio by, in nats")
    mean_deviation: Number = Field(
        default=None, description="bound on the mean over runs of what compression moves it by"
    )
    extra_rounds: int | None = Field(description="certified rounds with compression, less without")
    certified_rounds: MaybeInterval
    certified_bytes: MaybeInterval
    note: str

    @classmethod
    def of(cls, found: CompressedLearning) -> Self:
        """The document of what is known of compressed beliefs."""
        quantiser = found.quantiser
        return cls(
            quantiser=quantiser.name,
            step=None if isinstance(quantiser, Samples) else float(quantiser.step),
            mixing=float(quantiser.mixing),
            levels=quantiser.levels,
            least_levels=found.levels.least if quantiser.has_replica else None,
            links=found.links,
            message_bytes=found.frame,
            bytes_per_round=found.bytes_per_round,
            mean_bytes_per_round=MeanBytesDocument.of(found.mean_bytes_per_round),
            deviation=json_number(float(found.deviation.max())),
            mean_deviation=json_number(float(found.mean_deviation.max())),
            extra_rounds=found.extra_rounds,
            certified_rounds=list(found.certified_rounds),
            certified_bytes=list(found.certified_bytes),
            note=found.note,
        )


class PriceDocument(Document):
    """The cheapest messages that were found on one network; null where none are certified."""

    network: str
    step: Number = None
    mixing: Number = None
    levels: int | None = None
    certified_rounds: MaybeInterval | None = None
    certified_bytes: MaybeInterval | None = None

    @classmethod
    def of(cls, name: str, found: CompressedLearning | None) -> Self:
        """One line of a comparison."""
        if found is None:
            return cls(network=name)
        return cls(
            network=name,
            step=float(found.quantiser.step),
            mixing=float(found.quantiser.mixing),
            levels=found.quantiser.levels,
            certified_rounds=list(found.certified_rounds),
            certified_bytes=list(found.certified_bytes),
        )


def messages_parts(result: MessagesDocument | None) -> list[RenderableType]:
    """The table of what messages cost; nothing without one."""
    if result is None:
        return []
    facts = {
        "quantiser": result.quantiser
        + ("" if result.step is None else f", steps of {number(result.step)} nats"),
        "mixing": number(result.mixing),
        "levels (least)": f"{rounds(result.levels)} ({rounds(result.least_levels)})",
        "bytes a message": rounds(result.message_bytes),
        "bytes a round": f"{number(result.bytes_per_round)} on {result.links} links",
        **_mean_bytes(result),
        "moves a log-ratio by at most": f"{number(result.deviation)} nats",
        **_mean_deviation(result),
        "certified rounds": _ends(result.certified_rounds),
        "  more than without": rounds(result.extra_rounds),
        "certified bytes": _ends(result.certified_bytes),
    }
    notes = [Text(f"note: {result.note}")] if result.note else []
    return [Text(), facts_table("Messages", facts), *notes]


def _mean_bytes(result: MessagesDocument) -> dict[str, str]:
    """What is sent in the mean, where that is not what is sent at most."""
    mean = result.mean_bytes_per_round
    if mean is None or mean.lower == mean.upper:
        return {}
    ends = f"{number(mean.lower)} to {number(mean.upper)}"
    return {"  in the mean of many": f"{ends}, about {number(mean.estimate)}"}


def _mean_deviation(result: MessagesDocument) -> dict[str, str]:
    """How far log-ratios are moved in the mean, where that alone is bounded."""
    if result.deviation is not None or result.mean_deviation is None:
        return {}
    return {"  in the mean over runs": f"{number(result.mean_deviation)} nats"}


def price_parts(prices: Sequence[PriceDocument]) -> list[RenderableType]:
    """The table of the cheapest messages on each network; nothing without any."""
    if not prices:
        return []
    table = figures_table(
        "Fewest certified bytes", "network", "step, nats", "mixing", "levels", "rounds", "bytes"
    )
    for price in prices:
        ends = (price.certified_rounds, price.certified_bytes)
        table.add_row(
            Text(price.network),
            number(price.step),
            number(price.mixing),
            rounds(price.levels),
            *("-" if one is None else rounds(one[1]) for one in ends),
        )
    return [table]


def _ends(ends: list[int | None]) -> str:
    """Both ends of an interval, each perhaps not known."""
    return "-" if ends == [None, None] else " to ".join(rounds(end) for end in ends)
