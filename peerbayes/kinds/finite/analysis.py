"""An analysis of finitely many hypotheses on a network that stays as it is: its numbers, declared.

The numbers are the same in each of three arithmetics, which one result holds:

- in doubles they are those of `theory`, which runs are measured against;
- certified, each is an interval that contains the truth. Numbers that a file writes as strings are
  the rationals they say; doubles are the binary fractions they are;
- exact, for problems without doubles, what is rational is a fraction; what is a sum of logarithms
  or an algebraic number is an expression beside its interval; only what has no closed form
  (deviations, exponents) is an interval alone.

The JSON keys are those of the stable contract (docs: reference/json).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from peerbayes.kinds.finite.at_rounds import AT_ROUNDS, AtRounds
from peerbayes.kinds.shared.kind import Arithmetic
from peerbayes.kinds.shared.learning_notes import reference_notes
from peerbayes.problem.finite import Problem
from peerbayes.quantities import learning, network, sizes
from peerbayes.quantities.learning import LEARNING, PROVED_LEARNING, Learnt
from peerbayes.quantities.messages import MESSAGES, PROVED_MESSAGES, ProvedMessages
from peerbayes.quantities.network import (
    CERTIFIED_NETWORK,
    EXACT_NETWORK,
    NETWORK,
    NetworkNumbers,
)
from peerbayes.quantities.quantity import NOTE, Quantity, Table, part
from peerbayes.quantities.result import Result
from peerbayes.quantities.sizes import PROVED_SAMPLES, SAMPLES, Sizes
from theory import (
    ErrorExponent,
    LearningRate,
    Network,
    SampleSizes,
)
from theory.messages import CompressedLearning
from theory.values import Value

if TYPE_CHECKING:
    from matplotlib.axes import Axes


# What is said of them ---------------------------------------------------------------------------


_PROBLEM = Quantity("problem", str, lambda analysis: analysis.problem.name)
_NOTES = Quantity("notes", list[str], lambda analysis: analysis.notes, label=NOTE)
_AT_ROUNDS = part(
    "at_rounds",
    AT_ROUNDS,
    lambda analysis: analysis.at_rounds,
    short="at rounds",
    meaning="with --rounds",
    optional=True,
)


def _messages(table: Table) -> Quantity:
    return part(
        "messages",
        table,
        lambda analysis: analysis.messages,
        meaning="of the table [messages]",
        optional=True,
    )


ANALYSIS = Table(
    "AnalysisDocument",
    "What theory predicts of one problem, in doubles.",
    (
        _PROBLEM,
        part("network", NETWORK, lambda analysis: analysis.mixing),
        part("learning", LEARNING, lambda analysis: analysis.learning),
        part("samples", SAMPLES, lambda analysis: analysis.sizes),
        _NOTES,
        _messages(MESSAGES),
        _AT_ROUNDS,
    ),
)


def _of_network(analysis: Analysis) -> Any:
    table = EXACT_NETWORK if analysis.arithmetic == "exact" else CERTIFIED_NETWORK
    return table(analysis.mixing)


PROVED_ANALYSIS = Table(
    "ProvedAnalysisDocument",
    "What theory predicts of one problem, each number proved.",
    (
        _PROBLEM,
        Quantity(
            "arithmetic",
            Literal["exact", "certified"],
            lambda analysis: analysis.arithmetic,
            label="numbers",
            words=lambda value, _: value if value == "exact" else f"{value}: middle ± distance",
            short="arithmetic",
        ),
        Quantity(
            "network",
            EXACT_NETWORK.type | CERTIFIED_NETWORK.type,
            _of_network,
            table=EXACT_NETWORK,  # all that people are told is in both
        ),
        part("learning", PROVED_LEARNING, lambda analysis: analysis.learning),
        part("samples", PROVED_SAMPLES, lambda analysis: analysis.sizes),
        _NOTES,
        Quantity(
            "record",
            str | None,
            lambda analysis: analysis.record,
            label=NOTE,
            words=lambda value, _: value and f"parts that took long are kept in {value}",
            meaning="where parts that took long are kept",
        ),
        _messages(PROVED_MESSAGES),
        _AT_ROUNDS,
    ),
)


# The result, and what each arithmetic gives -----------------------------------------------------


@dataclass(frozen=True, eq=False)
class InDoubles(Value):
    """What `theory` gives in double precision; `messages` None: beliefs are sent as they are."""

    problem: Problem
    rate: LearningRate
    exponent: ErrorExponent
    samples: SampleSizes
    messages: CompressedLearning | None = None
    record: None = None

    @cached_property
    def mixing(self) -> NetworkNumbers:
        """The numbers of the network."""
        return network.in_doubles(self.problem.network)

    @cached_property
    def learning(self) -> Learnt:
        """Rates and exponents."""
        return learning.in_doubles(self.problem.model, self.rate, self.exponent)

    @cached_property
    def sizes(self) -> Sizes:
        """The ladder of sample sizes."""
        return sizes.in_doubles(self.samples)

    @property
    def notes(self) -> list[str]:
        """Why a number is missing or needs a word, one sentence each."""
        rate, names = self.rate, self.problem.model.hypotheses
        notes = reference_notes(
            names, rate.reference, is_compromise=rate.is_compromise, undecided=rate.undecided
        )
        notes += self.mixing.notes
        if not np.isfinite(self.problem.network.deviation.upper).all():
            notes.append("no finite upper bound on the deviation of every agent")
        return [*notes, *self.sizes.notes]


@dataclass(frozen=True, eq=False)
class Proved(Value):
    """What proofs give, in intervals or in fractions.

    `record` is where parts that took long are kept. `messages` None: beliefs are sent as they are,
    or nothing is proved of them, and `unproved` says why.
    """

    mixing: NetworkNumbers
    learning: Learnt
    sizes: Sizes
    messages: ProvedMessages | None = None
    unproved: str = ""
    record: Path | None = None

    @property
    def notes(self) -> list[str]:
        """Why a number is missing, or how it was found."""
        notes = [*self.mixing.notes, *self.learning.notes, *self.sizes.notes]
        return [*notes, *([f"messages: {self.unproved}"] if self.unproved else [])]


@dataclass(frozen=True, eq=False)
class Analysis(Result):
    """Predictions for one problem, in numbers of one arithmetic.

    Attributes
    ----------
    problem
        What was analysed.
    found
        What its arithmetic gives.
    arithmetic
        "double", "exact" or "certified".
    at_rounds
        What a number of rounds is good for; None if that was not asked.
    """

    problem: Problem
    found: InDoubles | Proved
    arithmetic: Arithmetic = "double"
    at_rounds: AtRounds | None = None

    @property
    def table(self) -> Table:
        """The quantities, by the types of their numbers."""
        return ANALYSIS if self.arithmetic == "double" else PROVED_ANALYSIS

    @property
    def mixing(self) -> NetworkNumbers:
        """v, eigenvalues and deviations of the network."""
        return self.found.mixing

    @property
    def learning(self) -> Learnt:
        """What the network settles on; K, E, and the rates of all wrong hypotheses."""
        return self.found.learning

    @property
    def sizes(self) -> Sizes:
        """Rounds that are enough, by several statements."""
        return self.found.sizes

    @property
    def messages(self) -> CompressedLearning | ProvedMessages | None:
        """What compressed beliefs cost; None where they are sent as they are."""
        return self.found.messages

    @property
    def record(self) -> Path | None:
        """Where parts of proofs that took long are kept; None if there is no such file."""
        return self.found.record

    @property
    def notes(self) -> list[str]:
        """Why a number is missing or needs a word, one sentence each."""
        return self.found.notes

    @property
    def doubles(self) -> InDoubles:
        """What `theory` gives in double precision.

        Raises
        ------
        AttributeError
            If the numbers of this analysis are proved.
        """
        if isinstance(self.found, InDoubles):
            return self.found
        raise AttributeError(
            f"an analysis in doubles has this, not one whose numbers are {self.arithmetic}: "
            "see mixing, learning and sizes"
        )

    @property
    def rate(self) -> LearningRate:
        """K and all rates, in doubles."""
        return self.doubles.rate

    @property
    def exponent(self) -> ErrorExponent:
        """E and all exponents, in doubles."""
        return self.doubles.exponent

    @property
    def samples(self) -> SampleSizes:
        """The ladder, and the bounds that it is read off, in doubles."""
        return self.doubles.samples

    @property
    def network(self) -> Network:
        """The network whose beliefs a run keeps to: W_γ where they are compressed."""
        messages = self.doubles.messages
        return self.problem.network if messages is None else messages.network

    @property
    def ladder(self) -> SampleSizes | None:
        """The rounds that are enough in a run, compressed or not; None: nothing is guaranteed."""
        messages = self.doubles.messages
        return self.samples if messages is None else messages.compressed

    def plot(self, ax: Axes | None = None) -> Axes:
        """How many rounds each statement asks for, and both certified ends.

        Drawn on `ax`, or on new axes, which are returned.
        """
        from peerbayes.figures.rows import draw_ladder

        return draw_ladder(self.document().samples, ax)
