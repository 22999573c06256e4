"""What compressed beliefs cost: levels, bytes, and the rounds and bytes that are enough.

Analyses and designs share these numbers. In doubles they are those of
:func:`theory.messages.compressed_learning`; a proof gives them as fractions and intervals.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Annotated, Any

from pydantic import Field

from peerbayes.documents import MaybeInterval, Number
from peerbayes.figures.wording import Fact, count
from peerbayes.quantities.numbers import FractionText, IntervalDocument
from peerbayes.quantities.quantity import NOTE, Quantity, Table, part
from peerbayes.quantities.showing import several, text
from peerbayes.tables import number, rounds
from theory.messages import CompressedLearning, Samples
from theory.values import Value


@dataclass(frozen=True, eq=False)
class ProvedMessages(Value):
    """What compressed beliefs cost, each number proved; None: not known.

    `deviation` is one enclosure an agent around the bound on what compression moves a log-ratio by;
    all else is as of `theory.messages.CompressedLearning`.
    """

    quantiser: str
    step: Any
    mixing: Any
    levels: int
    least_levels: int
    links: int
    message_bytes: int
    bytes_per_round: Any
    deviation: Any
    extra_rounds: int | None
    certified_rounds: tuple[int | None, int | None]
    certified_bytes: tuple[int | None, int | None]
    note: str


def _step(found: CompressedLearning) -> float | None:
    return None if isinstance(found.quantiser, Samples) else float(found.quantiser.step)


def _least_levels(found: CompressedLearning) -> int | None:
    return found.levels.least if found.quantiser.has_replica else None


# What is said of them ---------------------------------------------------------------------------


def _quantiser(value: str, document: Any) -> str:
    step = document.step
    return value if step is None else f"{value}, steps of {text(step)} nats"


def _levels(value: int | None, document: Any) -> str:
    return f"{rounds(value)} ({rounds(document.least_levels)})"


def _on_links(value: Any, document: Any) -> str:
    return f"{text(value)} on {document.links} links"


def _ends(value: Sequence[int | None], _: Any) -> str:
    """Both ends of an interval, each perhaps not known."""
    return "-" if value == [None, None] else " to ".join(rounds(end) for end in value)


def _in_the_mean(value: Any, _: Any) -> str | None:
    """What is sent in the mean, where that is not what is sent at most."""
    if value is None or value.lower == value.upper:
        return None
    return f"{number(value.lower)} to {number(value.upper)}, about {number(value.estimate)}"


def _moved_in_the_mean(value: float | None, document: Any) -> str | None:
    """How far log-ratios are moved in the mean, where that alone is bounded."""
    if document.deviation is not None or value is None:
        return None
    return f"{number(value)} nats"


def bytes_that_suffice(value: Sequence[int | None], document: Any) -> Fact:
    """What compressed beliefs take on all links together."""
    enough, most = document.certified_rounds[1], value[1]
    if enough is None or most is None:
        return Fact("Certified bytes", "-", document.note)
    return Fact("Certified bytes", count(most), f"in {count(enough)} rounds, on all links")


MEAN_BYTES = Table(
    "MeanBytesDocument",
    "Expected bytes a round on all links: bounds for the long run, and an estimate between.",
    (
        Quantity("lower", Annotated[float, Field(ge=0)], lambda mean: mean.lower, kind="lower"),
        Quantity(
            "estimate",
            Annotated[float, Field(ge=0)],
            lambda mean: mean.estimate,
            kind="estimate",
            meaning="for little mixing; no bound",
        ),
        Quantity("upper", Annotated[float, Field(ge=0)], lambda mean: mean.upper, kind="upper"),
    ),
)

MESSAGES = Table(
    "MessagesDocument",
    "What compressed beliefs cost; null: not known, see note.",
    (
        Quantity("quantiser", str, lambda m: m.quantiser.name, label="quantiser", words=_quantiser),
        Quantity("step", Number, _step, unit="nats", meaning="in nats; null for samples"),
        Quantity(
            "mixing",
            Annotated[float, Field(gt=0, le=1)],
            lambda m: float(m.quantiser.mixing),
            label="mixing",
        ),
        Quantity(
            "levels",
            int | None,
            lambda m: m.quantiser.levels,
            label="levels (least)",
            words=_levels,
            meaning="those of the quantiser, or as many as it needs",
        ),
        Quantity(
            "least_levels",
            int | None,
            _least_levels,
            kind="upper",
            meaning="with fewer no proof says that none overloads",
        ),
        Quantity(
            "message_bytes",
            int | None,
            lambda m: m.frame,
            label="bytes a message",
            words=lambda value, _: rounds(value),
            kind="computed",
        ),
        Quantity("links", Annotated[int, Field(ge=0)], lambda m: m.links, meaning="directed"),
        Quantity(
            "bytes_per_round",
            Number,
            lambda m: m.bytes_per_round,
            label="bytes a round",
            words=_on_links,
            kind="upper",
            meaning="of all links; at most, where some are silent",
        ),
        part(
            "mean_bytes_per_round",
            MEAN_BYTES,
            lambda m: m.mean_bytes_per_round,
            label="  in the mean of many",
            words=_in_the_mean,
            may_lack=True,
            default=None,
        ),
        Quantity(
            "deviation",
            Number,
            lambda m: float(m.deviation.max()),
            label="moves a log-ratio by at most",
            unit="nats",
            kind="upper",
            meaning="bound on what compression moves a log-ratio by, in nats",
        ),
        Quantity(
            "mean_deviation",
            Number,
            lambda m: float(m.mean_deviation.max()),
            label="  in the mean over runs",
            words=_moved_in_the_mean,
            unit="nats",
            kind="upper",
            meaning="bound on the mean over runs of what compression moves it by",
            default=None,
        ),
        Quantity(
            "certified_rounds",
            MaybeInterval,
            lambda m: m.certified_rounds,
            label="certified rounds",
            words=_ends,
            unit="rounds",
            kind="certified",
        ),
        Quantity(
            "extra_rounds",
            int | None,
            lambda m: m.extra_rounds,
            label="  more than without",
            words=lambda value, _: rounds(value),
            unit="rounds",
            kind="upper",
            meaning="certified rounds with compression, less without",
        ),
        Quantity(
            "certified_bytes",
            MaybeInterval,
            lambda m: m.certified_bytes,
            label="certified bytes",
            words=_ends,
            unit="bytes",
            short="certified bytes",
            fact=bytes_that_suffice,
            kind="certified",
        ),
        Quantity("note", str, lambda m: m.note, label=NOTE),
    ),
    title="Messages",
)


def _proved(key: str, kind: Any, **more: Any) -> Quantity:
    """The quantity of that key, proved: of a result that has it by the same name."""
    return replace(MESSAGES[key], type=kind, get=attrgetter(key), kind="proved", **more)


PROVED_MESSAGES = Table(
    "ProvedMessagesDocument",
    "What compressed beliefs cost, each number proved; null: not known.",
    (
        _proved("quantiser", str),
        _proved("step", FractionText, meaning="in nats"),
        _proved("mixing", FractionText),
        _proved("levels", int),
        _proved("least_levels", int),
        _proved("message_bytes", int),
        _proved("links", int),
        _proved("bytes_per_round", FractionText),
        _proved(
            "deviation",
            list[IntervalDocument],
            words=lambda value, _: several(value),
            meaning="around the bound on what compression moves a log-ratio by, agent by agent",
        ),
        _proved(
            "certified_rounds",
            MaybeInterval,
            label="rounds enough",
            words=lambda value, _: rounds(value[1]),
        ),
        _proved(
            "extra_rounds",
            int | None,
            label=None,
            meaning="rounds enough with compression, less without",
        ),
        _proved(
            "certified_bytes",
            MaybeInterval,
            label="bytes enough",
            words=lambda value, _: rounds(value[1]),
        ),
        _proved("note", str, label=None),
    ),
    title="Messages",
)
