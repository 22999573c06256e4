"""The law of a log-likelihood ratio z with everything rational that can be.

z is a mixture of atoms o (see `theory.learning.LogRatioLaw`): given the atom, z is normal with

    mean  offset_o + log argument_o,      variance  variance_o,

all three rational, and the probability of the atom is rational. Tables of rational likelihoods
have offset 0; log-likelihoods stored as doubles have argument 1; Gaussian likelihoods have argument
1 and a positive variance.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property

import flint

from theory.learning.batches import exact_products, exact_sums, exact_type_weights, type_counts
from theory.numbers import LogSum, as_ball
from theory.showing import Shown
from theory.validation import fail


@dataclass(frozen=True)
class RationalLogRatio(Shown):
    """The law of z(θ*, θ) of one agent: atoms, in one tuple an attribute, all of one length.

    Atoms of probability zero are dropped, atoms of equal value joined. Where z is the sum of
    several independent, identically distributed `terms`, `single` is the law of one of them.

    Raises
    ------
    ValueError
        If lengths differ, probabilities do not sum to exactly one or are negative, an argument is
        not positive, or a variance is negative.
    """

    probabilities: tuple[Fraction, ...]
    offsets: tuple[Fraction, ...]
    arguments: tuple[Fraction, ...]
    variances: tuple[Fraction, ...]
    terms: int = field(default=1, repr=False)
    single: RationalLogRatio | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        columns = (self.probabilities, self.offsets, self.arguments, self.variances)
        if len({len(column) for column in columns}) != 1 or not self.probabilities:
            raise fail(
                "probabilities",
                "one probability, offset, argument and variance an atom",
                f"{[len(column) for column in columns]}",
                "give each atom all four",
            )
        if sum(self.probabilities) != 1 or min(self.probabilities) < 0:
            raise fail(
                "probabilities",
                "probabilities that sum to exactly 1",
                f"a sum of {sum(self.probabilities)}",
                "use fractions",
            )
        if min(self.arguments) <= 0 or min(self.variances) < 0:
            raise fail(
                "arguments",
                "positive arguments and variances of at least 0",
                f"{min(self.arguments)} and {min(self.variances)}",
                "mend the likelihoods",
            )
        joined: dict[tuple[Fraction, Fraction, Fraction], Fraction] = {}
        for p, *(offset, argument, variance) in zip(*columns, strict=True):
            if p:
                atom = (offset, argument, variance)
                joined[atom] = joined.get(atom, Fraction(0)) + p
        object.__setattr__(self, "probabilities", tuple(joined.values()))
        for index, name in enumerate(("offsets", "arguments", "variances")):
            object.__setattr__(self, name, tuple(atom[index] for atom in joined))

    def repeated(self, count: int) -> RationalLogRatio:
        """The law of the sum of `count` independent ones, by types (`theory.learning.batches`).

        Raises
        ------
        ValueError
            If there are more than 65 536 types.
        """
        if count == 1:
            return self
        counts = type_counts(self.atoms, count)
        return RationalLogRatio(
            exact_type_weights(self.probabilities, counts),
            exact_sums(self.offsets, counts),
            exact_products(self.arguments, counts),
            exact_sums(self.variances, counts),
            count,
            self,
        )

    @property
    def atoms(self) -> int:
        """The number of distinct atoms."""
        return len(self.probabilities)

    @cached_property
    def is_bounded(self) -> bool:
        """Whether |z| has a finite bound: no atom is a proper normal."""
        return not any(self.variances)

    @cached_property
    def mean(self) -> LogSum:
        """I = E z in nats, exactly."""
        if self.single is not None:
            return self.terms * self.single.mean
        rational = sum(
            (p * r for p, r in zip(self.probabilities, self.offsets, strict=True)), Fraction(0)
        )
        logs = LogSum.of_logs(zip(self.arguments, self.probabilities, strict=True))
        return LogSum.constant(rational) + logs

    @cached_property
    def values(self) -> tuple[LogSum, ...]:
        """Each atom's mean, exactly."""
        return tuple(
            LogSum.constant(r) + LogSum.log(a)
            for r, a in zip(self.offsets, self.arguments, strict=True)
        )

    @property
    def minimum(self) -> LogSum:
        """The least of the atoms' means, exactly."""
        return min(self.values) if self.single is None else self.terms * self.single.minimum

    def value_balls(self) -> list[flint.arb]:
        """Balls around each atom's mean, at the present precision."""
        return [
            as_ball(r) + (as_ball(a).log() if a != 1 else 0)
            for r, a in zip(self.offsets, self.arguments, strict=True)
        ]

    def probability_balls(self) -> list[flint.arb]:
        """Balls around each atom's probability, at the present precision."""
        return [as_ball(p) for p in self.probabilities]

    def variance_balls(self) -> list[flint.arb]:
        """Balls around each atom's variance, at the present precision."""
        return [as_ball(s) for s in self.variances]


def point_masses(
    probabilities: Sequence[Fraction],
    *,
    offsets: Sequence[Fraction] | None = None,
    arguments: Sequence[Fraction] | None = None,
) -> RationalLogRatio:
    """A law without normal parts; offsets are 0 and arguments 1 where left out."""
    size = len(probabilities)
    return RationalLogRatio(
        tuple(probabilities),
        tuple(offsets) if offsets is not None else (Fraction(0),) * size,
        tuple(arguments) if arguments is not None else (Fraction(1),) * size,
        (Fraction(0),) * size,
    )
