"""`peerbayes analyse` of finitely many hypotheses on a network that stays as it is.

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

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from peerbayes.documents import Number, Rounds
from peerbayes.kinds.shared.analyse import NOTES, PROBLEM, WithSizes
from peerbayes.problem.problems import Problem
from peerbayes.quantities import learning, messages, sizes
from peerbayes.quantities.learning import LEARNING, PROVED_LEARNING, Learnt
from peerbayes.quantities.messages import MESSAGES, PROVED_MESSAGES, MessageCosts
from peerbayes.quantities.network import CERTIFIED_NETWORK, EXACT_NETWORK, NETWORK, NetworkNumbers
from peerbayes.quantities.network import in_doubles as numbers_of
from peerbayes.quantities.numbers import IntervalDocument
from peerbayes.quantities.quantity import NOTE, Quantity, Table, entries, entry, part
from peerbayes.quantities.showing import Result
from peerbayes.quantities.sizes import PROVED_SAMPLES, SAMPLES, Sizes
from peerbayes.settings.questions import USUAL, Analyse, Arithmetic
from peerbayes.tables import number
from theory import (
    CertifiedMargin,
    ErrorExponent,
    ErrorProbability,
    LearningRate,
    error_exponent,
    learning_rate,
    sample_sizes,
)
from theory.progress import Progress
from theory.showing import Value
from theory.validation import as_probability

if TYPE_CHECKING:
    from theory import Network, SampleSizes
    from theory.messages import CompressedLearning
    from theory.numbers import Enclosure


# `analyse --rounds n` ----------------------------------------------------------------------------


def _between(lower: str, upper: str) -> Callable[[AtRounds], Enclosure]:
    """An interval of the probability, by the names of its ends there."""

    def interval(at: AtRounds) -> Enclosure:
        from theory.numbers import Enclosure

        ends = (getattr(at.probability, end)[0] for end in (lower, upper))
        return Enclosure(*map(float, ends))

    return interval


def _probability(value: Any, _: Any) -> str:
    return f"{number(value.lower)} to {number(value.upper)}"


def _logarithm(value: Any, document: Any) -> str | None:
    """It reaches where probabilities underflow, and is shown there alone."""
    chance = document.error_probability.upper
    if value.upper is None or chance is None or chance >= 1e-300:
        return None
    return f"at most {value.upper:.6g}"


def _margin(value: Any, _: Any) -> str:
    ends = ["not known" if end is None else number(end) for end in (value.lower, value.upper)]
    return f"{' to '.join(ends)} nats a round"


MARGIN = Table(
    "MarginDocument",
    "How far below the rate wrong beliefs may fall: off an event of probability delta, each is\n"
    "below exp(−n (K − margin)).",
    entries(
        delta=entry(float, kind="given"),
        lower=entry(Number, kind="lower", unit="nats a round"),
        upper=entry(Number, kind="upper", unit="nats a round"),
    ),
)
AT_ROUNDS = Table(
    "AtRoundsDocument",
    "What a number of rounds is good for: certified intervals.",
    entries(
        rounds=entry(
            Rounds, get=lambda at: int(at.probability.rounds[0]), short="rounds", kind="given"
        ),
        error_probability=entry(
            IntervalDocument,
            "some agent errs",
            get=_between("lower", "upper"),
            label="some agent errs",
            words=_probability,
            short="error probability",
        ),
        log_error_probability=entry(
            IntervalDocument,
            get=_between("log_lower", "log_upper"),
            label="  its logarithm",
            words=_logarithm,
        ),
        margin=entry(
            MARGIN,
            label=lambda document: f"margin at {document.margin.delta:g}",
            words=_margin,
            short="margin",
        ),
        notes=NOTES,
    ),
    kind="certified",
    title=lambda document: f"After {document.rounds} rounds",
)


@dataclass(frozen=True, eq=False)
class AtRounds(Result):
    """Certified intervals for one number of rounds; doubles count as numbers nearby."""

    probability: ErrorProbability
    margin: CertifiedMargin

    quantities = AT_ROUNDS

    @property
    def notes(self) -> list[str]:
        """What a number does not cover, or why it is missing."""
        return [note for note in (self.probability.note, self.margin.note) if note]


def at_rounds(
    problem: Problem,
    rounds: int,
    *,
    delta: float,
    rate: LearningRate | None = None,
    exponent: ErrorExponent | None = None,
) -> AtRounds:
    """What so many rounds are good for; `rate` and `exponent` where they have been computed.

    Raises
    ------
    ValueError
        If `rounds` is not a whole number of at least 1 or beyond the powers of W that are kept, or
        `delta` is not in (0, 1).
    """
    from theory import account

    accountant = account(problem.network, problem.model, rate=rate, exponent=exponent)
    probability = accountant.probability(rounds, pairs=True)
    return AtRounds(probability, accountant.smallest_margin(rounds, delta))


def rounds_asked(problem: Problem, request: Analyse, **known: Any) -> AtRounds | None:
    """What the rounds that a request names are good for; None if it names none."""
    if request.rounds is None:
        return None
    return at_rounds(problem, request.rounds, delta=request.error, **known)


# What is said of them ---------------------------------------------------------------------------

_MESSAGES = "of the table [messages]"
_AT_ROUNDS = part(
    "at_rounds",
    AT_ROUNDS,
    "at_rounds",
    meaning="with --rounds",
    short="at rounds",
    optional=True,
)
ANALYSIS = Table(
    "AnalysisDocument",
    "What theory predicts of one problem, in doubles.",
    (
        *entries(
            problem=PROBLEM,
            network=entry(NETWORK, get="mixing"),
            learning=entry(LEARNING),
            samples=entry(SAMPLES, get="sizes"),
            notes=NOTES,
            messages=entry(MESSAGES, get="costs", meaning=_MESSAGES, optional=True),
        ),
        _AT_ROUNDS,
    ),
)
PROVED_ANALYSIS = Table(
    "ProvedAnalysisDocument",
    "What theory predicts of one problem, each number proved.",
    (
        *entries(
            problem=PROBLEM,
            arithmetic=entry(
                Literal["exact", "certified"],
                label="numbers",
                words=lambda value, _: value if value == "exact" else f"{value}: middle ± distance",
                short="arithmetic",
            ),
        ),
        Quantity(
            "network",
            EXACT_NETWORK.type | CERTIFIED_NETWORK.type,
            get=lambda found: (EXACT_NETWORK if found.arithmetic == "exact" else CERTIFIED_NETWORK)(
                found.mixing
            ),
            table=EXACT_NETWORK,  # all that people are told is in both
        ),
        *entries(
            learning=entry(PROVED_LEARNING),
            samples=entry(PROVED_SAMPLES, get="sizes"),
            notes=NOTES,
            record=entry(
                str | None,
                "where parts that took long are kept",
                label=NOTE,
                words=lambda value, _: value and f"parts that took long are kept in {value}",
            ),
            messages=entry(PROVED_MESSAGES, get="costs", meaning=_MESSAGES, optional=True),
        ),
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
class Analysis(WithSizes):
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


# `peerbayes analyse` -----------------------------------------------------------------------------


def analyse(
    problem: Problem, request: Analyse = USUAL, progress: Progress | None = None
) -> Analysis:
    """Predict mixing, best hypotheses, rate, exponent and sample sizes, in doubles.

    Raises
    ------
    ValueError
        If a number is out of range.
    """
    delta, network, model = as_probability("delta", request.error), problem.network, problem.model
    rate = learning_rate(network, model)
    exponent = error_exponent(network, model, rate=rate)
    ladder = sample_sizes(network, model, delta=delta, rate=rate, exponent=exponent)
    found = None
    if problem.messages is not None:
        from theory.messages import compressed_learning

        found = compressed_learning(
            network, model, problem.messages, delta=delta, uncompressed=ladder
        )
    mixing, enough = numbers_of(network), sizes.in_doubles(ladder)
    learnt = learning.in_doubles(model, rate, exponent)
    notes = [*learnt.notes, *mixing.notes]
    if not np.isfinite(network.deviation.upper).all():
        notes.append("no finite upper bound on the deviation of every agent")
    return Analysis(
        problem=problem,
        arithmetic="double",
        mixing=mixing,
        learning=learnt,
        sizes=enough,
        notes=(*notes, *enough.notes),
        costs=None if found is None else messages.in_doubles(found),
        doubles=InDoubles(rate, exponent, ladder, found),
        at_rounds=rounds_asked(problem, request, rate=rate, exponent=exponent),
    )
