"""What a search for few samples looked at, and what it found."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from theory.bounds import CertifiedSampleSize
from theory.design.certificate import Certificate
from theory.design.samples.converse import EveryDesignBound
from theory.design.samples.sample_starts import (
    Start,
)
from theory.network import Network
from theory.showing import Shown

Progress = Callable[[int, int], None]


@dataclass(frozen=True, eq=False)
class SampleStart(Shown):
    """One network and what it needs.

    Attributes
    ----------
    name
        Where it comes from.
    network
        The weights to set.
    samples
        The certified enclosure of n(δ), of E[W] where links fail.
    chernoff
        Chernoff's upper bound on n(δ); None if there is none.
    rate, exponent, slem
        K and E in nats per round, and the subdominant modulus; floating-point estimates.
    """

    name: str
    network: Network
    samples: CertifiedSampleSize
    chernoff: int | None
    rate: float
    exponent: float
    slem: float

    @property
    def rounds(self) -> int | None:
        """An upper bound on n(δ): the certified one, or else Chernoff's; None if there is none."""
        return self.chernoff if self.samples.upper is None else self.samples.upper


@dataclass(frozen=True, eq=False)
class Judged:
    """A network to set, on its edges, and what it needs."""

    start: Start
    row: SampleStart


@dataclass(frozen=True, eq=False)
class FewestSamples(Shown):
    """The design with the fewest certified samples that was found.

    Attributes
    ----------
    network
        The weights to set.
    delta, target
        δ, and the hypothesis that the network settles on.
    best
        What it needs: `best.samples.upper` is certified, `best.samples.lower` too.
    certificate
        `value` is the upper end for this design, `bound` a lower bound on n(δ) for every W that the
        constraints allow. A local search found the design: that it is the best is not proved.
    bound
        The laws that the bound rests on.
    best_for_influence
        A lower bound on n(δ) of every W with the v of this design, by perfect mixing; None where
        it would take too long.
    starts
        What was looked at, best first: designs to start from, and where descents ended.
    baselines
        The rules, for comparison; they do not respect constraints.
    note
        What has to be known to read the numbers, if anything.
    """

    network: Network
    delta: float
    target: int
    best: SampleStart
    certificate: Certificate
    bound: EveryDesignBound
    best_for_influence: int | None
    starts: tuple[SampleStart, ...]
    baselines: tuple[SampleStart, ...]
    note: str
