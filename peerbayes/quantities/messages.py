"""What compressed beliefs cost: levels, bytes, and the rounds and bytes that are enough.

Analyses and designs share these numbers. In doubles they are those of
:func:`theory.messages.compressed_learning`; a proof gives them as fractions and intervals.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field

from peerbayes.documents import MaybeInterval, Number
from peerbayes.figures.wording import Fact, count
from peerbayes.quantities.numbers import NUMBER, PROVED, FractionText, IntervalDocument
from peerbayes.quantities.quantity import NOTE, Part, Quantity, Table, quantity, table_of
from peerbayes.quantities.showing import several, text
from peerbayes.tables import number, rounds
from theory.showing import Value

if TYPE_CHECKING:
    from theory.messages import CompressedLearning

_Bytes = Annotated[float, Field(ge=0)]
MEAN_BYTES = Table(
    "MeanBytesDocument",
    "Expected bytes a round on all links: bounds for the long run, and an estimate between.",
    (
        Quantity("lower", _Bytes, kind="lower"),
        Quantity("estimate", _Bytes, "for little mixing; no bound", kind="estimate"),
        Quantity("upper", _Bytes, kind="upper"),
    ),
)


# Words of some quantities -----------------------------------------------------------------------


def _quantiser(value: str, document: Any) -> str:
    step = document.step
    return value if step is None else f"{value}, steps of {text(step)} nats"


def _levels(value: int | None, document: Any) -> str:
    return f"{rounds(value)} ({rounds(document.least_levels)})"


def _on_links(value: Any, document: Any) -> str:
    return f"{text(value)} on {document.links} links"


def _whole(value: int | None, _: Any) -> str:
    return rounds(value)


def _ends(value: Sequence[int | None], _: Any) -> str:
    """Both ends of an interval, each perhaps not known."""
    return "-" if value == [None, None] else " to ".join(rounds(end) for end in value)


def _enough(value: Sequence[int | None], _: Any) -> str:
    return rounds(value[1])


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


def _moved(value: Any, _: Any) -> str:
    return f"{text(value)} nats"


def _bytes_that_suffice(value: Sequence[int | None], document: Any) -> Fact:
    """What compressed beliefs take on all links together."""
    enough, most = document.certified_rounds[1], value[1]
    if enough is None or most is None:
        return Fact("Certified bytes", "-", document.note)
    return Fact("Certified bytes", count(most), f"in {count(enough)} rounds, on all links")


# The quantities ---------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False, kw_only=True)
class MessageCosts(Value):
    """What compressed beliefs cost, in numbers of some arithmetic; None: not known, see `note`."""

    quantiser: str = quantity(str, label="quantiser", words=_quantiser)
    step: Any = quantity(NUMBER, "in nats; null for samples", unit="nats", kind="given")
    mixing: Any = quantity(Annotated[float, Field(gt=0, le=1)], label="mixing", kind="given")
    levels: int | None = quantity(
        int | None,
        "those of the quantiser, or as many as it needs",
        label="levels (least)",
        words=_levels,
    )
    least_levels: int | None = quantity(
        int | None, "with fewer no proof says that none overloads", kind="upper"
    )
    links: int = quantity(Annotated[int, Field(ge=0)], "directed", kind="given")
    message_bytes: int | None = quantity(int | None, label="bytes a message", words=_whole)
    bytes_per_round: Any = quantity(
        NUMBER,
        "of all links; at most, where some are silent",
        label="bytes a round",
        words=_on_links,
        kind="upper",
    )
    mean_bytes_per_round: Part | None = quantity(
        MEAN_BYTES.type | None,
        label="  in the mean of many",
        words=_in_the_mean,
        start=None,
        older=None,
    )
    deviation: Any = quantity(
        NUMBER,
        "bound on what compression moves a log-ratio by, in nats",
        label="moves a log-ratio by at most",
        words=_moved,
        unit="nats",
        kind="upper",
    )
    mean_deviation: float | None = quantity(
        Number,
        "bound on the mean over runs of what compression moves it by",
        label="  in the mean over runs",
        words=_moved_in_the_mean,
        unit="nats",
        kind="upper",
        start=None,
        older=None,
    )
    certified_rounds: tuple[int | None, int | None] = quantity(
        MaybeInterval, label="certified rounds", words=_ends, unit="rounds", kind="certified"
    )
    extra_rounds: int | None = quantity(
        int | None,
        "certified rounds with compression, less without",
        label="  more than without",
        words=_whole,
        kind="upper",
    )
    certified_bytes: tuple[int | None, int | None] = quantity(
        MaybeInterval,
        label="certified bytes",
        words=_ends,
        unit="bytes",
        short="certified bytes",
        fact=_bytes_that_suffice,
        kind="certified",
    )
    note: str = quantity(str, label=NOTE)


MESSAGES = table_of(
    MessageCosts,
    "MessagesDocument",
    "What compressed beliefs cost; null: not known, see note.",
    title="Messages",
)
PROVED_MESSAGES = table_of(
    MessageCosts,
    "ProvedMessagesDocument",
    "What compressed beliefs cost, each number proved; null: not known.",
    without="mean_bytes_per_round mean_deviation",
    changed={
        "step": {"type": FractionText, "meaning": "in nats"},
        "mixing": {"type": FractionText},
        "levels": {"type": int},
        "least_levels": {"type": int},
        "message_bytes": {"type": int},
        "bytes_per_round": {"type": FractionText},
        "deviation": {
            "type": list[IntervalDocument],
            "meaning": "around the bound on what compression moves a log-ratio by, agent by agent",
            "words": lambda value, _: several(value),
        },
        "certified_rounds": {"label": "rounds enough", "words": _enough},
        "extra_rounds": {
            "label": None,
            "meaning": "rounds enough with compression, less without",
        },
        "certified_bytes": {"label": "bytes enough", "words": _enough},
        "note": {"label": None},
    },
    title="Messages",
    numbers=PROVED,
    kind="proved",
)


def in_doubles(found: CompressedLearning) -> MessageCosts:
    """The costs that `theory.messages.compressed_learning` gives."""
    from theory.messages import Samples

    quantiser = found.quantiser
    return MessageCosts(
        quantiser=quantiser.name,
        step=None if isinstance(quantiser, Samples) else float(quantiser.step),
        mixing=float(quantiser.mixing),
        levels=quantiser.levels,
        least_levels=found.levels.least if quantiser.has_replica else None,
        links=found.links,
        message_bytes=found.frame,
        bytes_per_round=found.bytes_per_round,
        mean_bytes_per_round=MEAN_BYTES(found.mean_bytes_per_round),
        deviation=float(found.deviation.max()),
        mean_deviation=float(found.mean_deviation.max()),
        extra_rounds=found.extra_rounds,
        certified_rounds=found.certified_rounds,
        certified_bytes=found.certified_bytes,
        note=found.note,
    )
