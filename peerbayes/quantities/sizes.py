"""Rounds after which some agent errs with probability at most δ, by several statements.

The ladder has the same rungs in every arithmetic: a number of rounds in doubles, which may lie
between two where it is proved.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import Field

from peerbayes.documents import Interval, interval
from peerbayes.figures.wording import Fact, count, number
from peerbayes.quantities.numbers import IN_DOUBLES, PROVED, NumberTypes, RoundsBetween
from peerbayes.quantities.quantity import Kind, Quantity, Table
from peerbayes.quantities.showing import rounds_text
from peerbayes.tables import interval as interval_text
from theory import CertifiedSampleSize, SampleSizes
from theory.values import Value

Rung = int | RoundsBetween | None


@dataclass(frozen=True, eq=False)
class Sizes(Value):
    """A ladder of sample sizes for one δ; None: no number is known.

    Attributes
    ----------
    printed, printed_p2
        As published in P1, and in P2 at the margin K/2; no theorems.
    repaired, chernoff
        Proved to be enough.
    certified
        Both ends of the smallest number that is enough.
    notes
        Why a number is missing, or what is behind it.
    """

    delta: float
    printed: Rung
    printed_p2: Rung
    repaired: Rung
    chernoff: Rung
    certified: tuple[int, int] | None
    notes: tuple[str, ...] = ()


def in_doubles(samples: SampleSizes) -> Sizes:
    """The ladder that `theory.sample_sizes` gives."""
    rungs = ("printed", "repaired", "chernoff", "certified")
    return Sizes(
        delta=samples.delta,
        printed=samples.printed.rounds,
        printed_p2=samples.printed_p2.rounds,
        repaired=samples.repaired.rounds,
        chernoff=samples.chernoff.rounds,
        certified=both_ends(samples.certified),
        notes=tuple(f"{name}: {getattr(samples, name).note}" for name in rungs),
    )


def both_ends(size: CertifiedSampleSize) -> tuple[int, int] | None:
    """Both ends of an enclosure; None where one is missing."""
    ends = interval(size)
    return None if ends is None else (ends[0], ends[1])


# What is said of them ---------------------------------------------------------------------------


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


def _rung(
    key: str, types: NumberTypes, label: str, kind: Kind, meaning: str | None = None, **more: Any
) -> Quantity:
    """One rung of the ladder."""
    return Quantity(
        key,
        types.rounds,
        lambda sizes: getattr(sizes, key),
        label=label,
        words=lambda value, _: rounds_text(value),
        unit="rounds",
        kind=kind,
        meaning=meaning,
        **more,
    )


def sizes_table(name: str, meaning: str, types: NumberTypes) -> Table:
    """The ladder in numbers of some arithmetic."""
    return Table(
        name,
        meaning,
        (
            Quantity(
                "delta",
                Annotated[float, Field(gt=0, lt=1)],
                lambda sizes: sizes.delta,
                short="delta",
            ),
            _rung(
                "printed",
                types,
                "printed in the paper, not a theorem",
                "printed",
                "as published in P1; not a theorem",
                short="samples, printed",
            ),
            _rung(
                "repaired",
                types,
                "repaired (Hoeffding)",
                "upper",
                "by Hoeffding's inequality",
                short="samples, repaired",
            ),
            _rung("chernoff", types, "Chernoff", "upper", short="samples, chernoff"),
            Quantity(
                "certified",
                Interval | None,
                lambda sizes: sizes.certified,
                label="certified, both ends",
                words=lambda value, _: interval_text(value),
                unit="rounds",
                short="samples, certified",
                fact=lambda _, document: rounds_that_suffice(document),
                kind="certified",
                meaning="both ends of the smallest number",
                default=None,
            ),
            _rung(
                "printed_p2",
                types,
                "printed in P2 (ε = K/2), no theorem",
                "printed",
                "as published in P2, at the margin K/2; not a theorem",
                optional=True,
            ),
        ),
        title=lambda document: f"Rounds for an error of at most {document.delta:g}",
        columns=("statement", "rounds"),
    )


SAMPLES = sizes_table(
    "SamplesDocument",
    "Rounds after which some agent errs with probability at most delta; null: none is known.",
    IN_DOUBLES,
)
PROVED_SAMPLES = sizes_table(
    "ProvedSamplesDocument",
    "Rounds after which some agent errs with probability at most delta: each number proved.",
    PROVED,
)
