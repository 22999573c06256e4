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
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from peerbayes.kinds.finite.at_rounds import AT_ROUNDS, AtRounds
from peerbayes.kinds.shared.kind import Arithmetic
from peerbayes.problem.problems import Problem
from peerbayes.quantities.learning import LEARNING, PROVED_LEARNING, Learnt
from peerbayes.quantities.messages import MESSAGES, PROVED_MESSAGES, MessageCosts
from peerbayes.quantities.network import (
    CERTIFIED_NETWORK,
    EXACT_NETWORK,
    NETWORK,
    NetworkNumbers,
)
from peerbayes.quantities.quantity import NOTE, Quantity, Table, part
from peerbayes.quantities.result import Result
from peerbayes.quantities.sizes import PROVED_SAMPLES, SAMPLES, Sizes
from theory.showing import Value

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from theory import ErrorExponent, LearningRate, Network, SampleSizes
    from theory.messages import CompressedLearning


# What is said of them ---------------------------------------------------------------------------


_PROBLEM = Quantity("problem", str, get=lambda analysis: analysis.problem.name)
_NOTES = Quantity("notes", list[str], label=NOTE)
_AT_ROUNDS = part(
    "at_rounds",
    AT_ROUNDS,
    lambda analysis: analysis.at_rounds,
    meaning="with --rounds",
    short="at rounds",
    optional=True,
)


def _learning(table: Table) -> Quantity:
    return part("learning", table, lambda analysis: analysis.learning)


def _samples(table: Table) -> Quantity:
    return part("samples", table, lambda analysis: analysis.sizes)


def _messages(table: Table) -> Quantity:
    words = "of the table [messages]"
    return part("messages", table, lambda found: found.costs, meaning=words, optional=True)


ANALYSIS = Table(
    "AnalysisDocument",
    "What theory predicts of one problem, in doubles.",
    (
        _PROBLEM,
        part("network", NETWORK, lambda analysis: analysis.mixing),
        _learning(LEARNING),
        _samples(SAMPLES),
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
            label="numbers",
            words=lambda value, _: value if value == "exact" else f"{value}: middle ± distance",
            short="arithmetic",
        ),
        Quantity(
            "network",
            EXACT_NETWORK.type | CERTIFIED_NETWORK.type,
            get=_of_network,
            table=EXACT_NETWORK,  # all that people are told is in both
        ),
        _learning(PROVED_LEARNING),
        _samples(PROVED_SAMPLES),
        _NOTES,
        Quantity(
            "record",
            str | None,
            "where parts that took long are kept",
            label=NOTE,
            words=lambda value, _: value and f"parts that took long are kept in {value}",
        ),
        _messages(PROVED_MESSAGES),
        _AT_ROUNDS,
    ),
    kind="proved",
)


# The result -------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class InDoubles(Value):
    """What `theory` gives in double precision; `messages` None: beliefs are sent as they are."""

    rate: LearningRate
    exponent: ErrorExponent
    samples: SampleSizes
    messages: CompressedLearning | None = None


@dataclass(frozen=True, eq=False)
class Analysis(Result):
    """Predictions for one problem, in numbers of one arithmetic.

    Attributes
    ----------
    problem, arithmetic
        What was analysed, and how: "double", "exact" or "certified".
    mixing, learning, sizes
        v, eigenvalues and deviations of the network; what it settles on, K, E and all rates; rounds
        that are enough, by several statements.
    notes
        Why a number is missing or needs a word, one sentence each.
    costs
        What compressed beliefs cost; None where they are sent as they are, or nothing is known.
    record
        Where parts of proofs that took long are kept; None if there is no such file.
    doubles
        What `theory` gives in double precision; None where numbers are proved.
    at_rounds
        What a number of rounds is good for; None if that was not asked.
    """

    problem: Problem
    arithmetic: Arithmetic
    mixing: NetworkNumbers
    learning: Learnt
    sizes: Sizes
    notes: tuple[str, ...]
    costs: MessageCosts | None = None
    record: Path | None = None
    doubles: InDoubles | None = None
    at_rounds: AtRounds | None = None

    @property
    def table(self) -> Table:
        """The quantities, by the types of their numbers."""
        return ANALYSIS if self.arithmetic == "double" else PROVED_ANALYSIS

    @property
    def _theory(self) -> InDoubles:
        if self.doubles is None:
            raise AttributeError(
                f"an analysis in doubles has this, not one whose numbers are {self.arithmetic}: "
                "see mixing, learning and sizes"
            )
        return self.doubles

    @property
    def rate(self) -> LearningRate:
        """K and all rates, in doubles."""
        return self._theory.rate

    @property
    def exponent(self) -> ErrorExponent:
        """E and all exponents, in doubles."""
        return self._theory.exponent

    @property
    def samples(self) -> SampleSizes:
        """The ladder, and the bounds that it is read off, in doubles."""
        return self._theory.samples

    @property
    def messages(self) -> CompressedLearning | None:
        """What is known of compressed beliefs, in doubles; None where they are sent as they are."""
        return self._theory.messages

    @property
    def network(self) -> Network:
        """The network whose beliefs a run keeps to: W_γ where they are compressed."""
        return self.problem.network if self.messages is None else self.messages.network

    @property
    def ladder(self) -> SampleSizes | None:
        """The rounds that are enough in a run, compressed or not; None: nothing is guaranteed."""
        return self.samples if self.messages is None else self.messages.compressed

    def plot(self, ax: Axes | None = None) -> Axes:
        """How many rounds each statement asks for, and both certified ends.

        Drawn on `ax`, or on new axes, which are returned.
        """
        from peerbayes.figures.rows import draw_ladder

        return draw_ladder(self.document().samples, ax)
