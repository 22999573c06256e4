"""The laws of all log-ratios, round after round, by convolution."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod

from exact.law.decoding import Decoder, add, nothing
from exact.law.law_problem import Problem
from exact.law.masses import Masses, check_size
from exact.law.terms import Flat, Terms, terms
from theory.validation import as_integer, as_positive, fail


@dataclass(frozen=True, eq=False)
class State:
    """The law after some number of rounds, in keys.

    Attributes
    ----------
    rounds
        n.
    masses
        Keys and weights.
    zero
        The vector that key 0 stands for.
    """

    rounds: int
    masses: Masses
    zero: Flat


@dataclass(frozen=True, eq=False)
class Enumeration:
    """All that is needed to enumerate up to a last round."""

    terms: Terms
    decoder: Decoder
    exact: bool
    limit: int

    @classmethod
    def of(
        cls, problem: Problem, rounds: int, *, exact: bool, merge_within: float, limit: int
    ) -> Enumeration:
        """Prepare `rounds` rounds."""
        prepared = terms(problem, rounds, exact=exact, merge_within=merge_within)
        return cls(prepared, Decoder(problem, prepared), exact, limit)

    @property
    def foreseen(self) -> int:
        """No more states than this: outcomes of all observations, and values of all keys."""
        outcomes = prod(len(step.keys) for lag in self.terms.lags for step in lag)
        return min(outcomes, self.terms.space.size)

    def rounding(self, rounds: int) -> float:
        """A bound on the relative rounding of a probability after `rounds` rounds.

        All numbers are positive. Each observation rounds its probabilities once, multiplies once
        and adds no more numbers than it has outcomes.
        """
        if self.exact:
            return 2.0**-52
        steps = (step for lag in self.terms.lags[:rounds] for step in lag)
        return 1.01 * sum(len(step.keys) + 2 for step in steps) * 2.0**-53

    def states(self) -> Iterator[State]:
        """The law after 1, 2, … rounds.

        For weights that were given for each round only the last one is a law of beliefs.

        Raises
        ------
        ValueError
            Where there are more states than the limit.
        """
        masses = Masses.start(self.terms.space, exact=self.exact)
        agents, columns, width = self.terms.shape
        zero = nothing(agents * columns * width)
        total = sum(len(lag) for lag in self.terms.lags)
        done = 0
        for index, lag in enumerate(self.terms.lags):
            for step in lag:
                check_size(
                    masses,
                    step,
                    limit=self.limit,
                    done=done,
                    terms=total,
                    foreseen=self.foreseen,
                )
                masses = masses.add(step)
                zero = add(zero, step.zero)
                done += 1
            yield State(index + 1, masses, add(zero, self.terms.priors[index]))


def prepare(
    found: Problem, rounds: int, *, exact: bool, merge_within: float, limit: int
) -> Enumeration:
    """Check the options and prepare `rounds` rounds.

    Raises
    ------
    ValueError
        If fractions are asked of a model of doubles, or an option is out of range.
    """
    if exact and not found.is_rational:
        raise fail(
            "exact",
            "a RationalModel, to have probabilities as fractions",
            "a FiniteModel",
            "build the model of fractions, or leave it out",
        )
    return Enumeration.of(
        found,
        rounds,
        exact=exact,
        merge_within=as_positive("merge_within", merge_within),
        limit=as_integer("limit", limit, minimum=1),
    )
