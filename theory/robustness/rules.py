"""How an agent pools what it hears: the average, and rules that liars sway less.

Every rule acts on log-ratios, one number at a time. Agent i holds x = its own public log-ratio,
hears the numbers m_j from its neighbours (all j ≠ i with W_ij > 0), and moves to

=====================  ==========================================================================
``Average()``          Σ_j W_ij m_j, its own number among them: the papers' geometric pooling
``TrimmedMean(f)``     the same without the f largest of the numbers above x and the f smallest of
                       those below x (all of them if there are fewer)
``Median()``           the median of x and all m_j, unweighted; the mean of the middle two
``Clip(r)``            x + Σ_j W_ij max(−r, min(r, m_j − x))
=====================  ==========================================================================

The weight of a number that is dropped goes to x (`lost="own"`), or the weights that are left are
scaled up to sum to one (`lost="renormalise"`). Of equal numbers at the edge the one of largest
weight is dropped first. All of these commute with adding a constant and with changing all signs,
and all but the average ignore how far off a far-off number is.

A rule that is not linear does not turn log-ratios of three hypotheses into consistent ones: see
docs, mathematics/faults.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from theory.showing import Shown
from theory.validation import as_integer, as_positive, fail

LOST = ("own", "renormalise")


@dataclass(frozen=True)
class Average(Shown):
    """Plain pooling: one liar anywhere decides for everybody."""

    def tolerates(self, heard: int) -> int | None:
        """None: the rule makes no promise."""
        return None


@dataclass(frozen=True)
class TrimmedMean(Shown):
    """Drops the f numbers farthest above one's own and the f farthest below (W-MSR).

    Parameters
    ----------
    tolerate
        f, at least 0: how many of an agent's neighbours may be faulty.
    lost
        "own" or "renormalise".

    Notes
    -----
    H. LeBlanc, H. Zhang, X. Koutsoukos, S. Sundaram, *Resilient asymptotic consensus in robust
    networks*, IEEE JSAC 31 (2013).
    """

    tolerate: int
    lost: str = "own"

    def __post_init__(self) -> None:
        as_integer("tolerate", self.tolerate, minimum=0)
        if self.lost not in LOST:
            raise fail("lost", f"one of {list(LOST)}", repr(self.lost), "choose one of them")

    def tolerates(self, heard: int) -> int | None:
        """f, whatever the number of neighbours heard."""
        return self.tolerate


@dataclass(frozen=True)
class Median(Shown):
    """The median of one's own number and all that is heard, unweighted."""

    def tolerates(self, heard: int) -> int | None:
        """As many as are fewer than half of the numbers, one's own included."""
        return heard // 2


@dataclass(frozen=True)
class Clip(Shown):
    """Moves towards each neighbour by at most `radius` (self-centred clipping).

    Parameters
    ----------
    radius
        In nats, positive.

    Notes
    -----
    Coordinate by coordinate; L. He, S. P. Karimireddy, M. Jaggi, *Byzantine-robust decentralized
    learning via ClippedGossip* (2022), clip vectors.
    """

    radius: float

    def __post_init__(self) -> None:
        as_positive("radius", self.radius)

    def tolerates(self, heard: int) -> int | None:
        """None: a liar's pull is bounded, whatever their number."""
        return None


Rule: TypeAlias = Average | TrimmedMean | Median | Clip

RULES: dict[str, type[Rule]] = {
    "average": Average,
    "trimmed-mean": TrimmedMean,
    "median": Median,
    "clip": Clip,
}
