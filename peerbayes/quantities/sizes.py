"""Rounds after which some agent errs with probability at most δ, by several statements.

The ladder has the same rungs in every arithmetic: a number of rounds in doubles, which may lie
between two where it is proved.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field

from peerbayes.documents import Interval, interval
from peerbayes.figures.wording import Fact, count, number
from peerbayes.quantities.numbers import PROVED, ROUNDS, RoundsBetween
from peerbayes.quantities.quantity import quantity, table_of
from peerbayes.quantities.showing import rounds_text
from peerbayes.tables import interval as interval_text
from theory.showing import Value

if TYPE_CHECKING:
    from theory import CertifiedSampleSize, SampleSizes

Rung = int | RoundsBetween | None
_Delta = Annotated[float, Field(gt=0, lt=1)]


def sufficient(document: Any) -> tuple[str, int | None]:
    """What proves the smallest number that is known to be enough, and the number."""
    proofs = {
        "certified": None if document.certified is None else document.certified[1],
        "Chernoff": document.chernoff,
        "Hoeffding": document.repaired,
    }
    known = {proof: rounds for proof, rounds in proofs.items() if rounds is not None}
    proof = min(known, key=known.__getitem__, default="Chernoff")
    return proof, known.get(proof)


def rounds_that_suffice(document: Any) -> Fact:
    """The smallest number of rounds that is proved to be enough, and what proves it."""
    proof, rounds = sufficient(document)
    return Fact("Rounds that suffice", count(rounds), f"{proof}, δ = {number(document.delta)}")


def _rung(meaning: str | None, label: str, kind: str, **more: Any) -> Any:
    words = {"words": lambda value, _: rounds_text(value), "unit": "rounds"}
    return quantity(ROUNDS, meaning, label=label, kind=kind, **words, **more)


@dataclass(frozen=True, eq=False, kw_only=True)
class Sizes(Value):
    """A ladder of sample sizes; None: no number is known, and `notes` say why."""

    delta: float = quantity(_Delta, short="delta", kind="given")
    printed: Rung = _rung(
        "as published in P1; not a theorem",
        "printed in the paper, not a theorem",
        "printed",
        short="samples, printed",
    )
    repaired: Rung = _rung(
        "by Hoeffding's inequality", "repaired (Hoeffding)", "upper", short="samples, repaired"
    )
    chernoff: Rung = _rung(None, "Chernoff", "upper", short="samples, chernoff")
    certified: tuple[int, int] | None = quantity(
        Interval | None,
        "both ends of the smallest number; null where that takes long",
        label="certified, both ends",
        words=lambda value, _: interval_text(value),
        unit="rounds",
        short="samples, certified",
        fact=lambda _, document: rounds_that_suffice(document),
        kind="certified",
        older=None,
    )
    printed_p2: Rung = _rung(
        "as published in P2, at the margin K/2; not a theorem",
        "printed in P2 (ε = K/2), no theorem",
        "printed",
        optional=True,
    )
    notes: tuple[str, ...] = ()


_MEANING = "Rounds after which some agent errs with probability at most delta"
_LADDER: dict[str, Any] = {
    "title": lambda document: f"Rounds for an error of at most {document.delta:g}",
    "columns": ("statement", "rounds"),
}
SAMPLES = table_of(Sizes, "SamplesDocument", f"{_MEANING}; null: none is known.", **_LADDER)
PROVED_SAMPLES = table_of(
    Sizes, "ProvedSamplesDocument", f"{_MEANING}: each number proved.", numbers=PROVED, **_LADDER
)


def in_doubles(samples: SampleSizes) -> Sizes:
    """The ladder that `theory.sample_sizes` gives."""
    rungs = ("printed", "repaired", "chernoff", "certified")
    return Sizes(
        delta=samples.delta,
        printed=samples.printed.rounds,
        repaired=samples.repaired.rounds,
        chernoff=samples.chernoff.rounds,
        certified=both_ends(samples.certified),
        printed_p2=samples.printed_p2.rounds,
        notes=tuple(f"{name}: {getattr(samples, name).note}" for name in rungs),
    )


def both_ends(size: CertifiedSampleSize) -> tuple[int, int] | None:
    """Both ends of an enclosure; None where one is missing."""
    ends = interval(size)
    return None if ends is None else (ends[0], ends[1])
