"""`analyse --rounds n`: the ladder read the other way round.

Given n, certified bounds on the probability that some agent errs, and the margin ε that n rounds
buy at confidence 1 − δ: off an event of probability δ, every wrong belief is below e^{−n(K−ε)}.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from peerbayes.documents import Number, Rounds
from peerbayes.problem.problems import Problem
from peerbayes.quantities.numbers import IntervalDocument
from peerbayes.quantities.quantity import NOTE, Quantity, Table, part
from peerbayes.quantities.result import Result
from peerbayes.tables import number
from theory import CertifiedMargin, ErrorExponent, ErrorProbability, LearningRate

if TYPE_CHECKING:
    from theory.numbers import Enclosure


def _between(lower: float, upper: float) -> Enclosure:
    """An interval; imported when one is asked for."""
    from theory.numbers import Enclosure

    return Enclosure(float(lower), float(upper))


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
    (
        Quantity("delta", float, kind="given"),
        Quantity("lower", Number, kind="lower", unit="nats a round"),
        Quantity("upper", Number, kind="upper", unit="nats a round"),
    ),
)
AT_ROUNDS = Table(
    "AtRoundsDocument",
    "What a number of rounds is good for: certified intervals.",
    (
        Quantity("rounds", Rounds, short="rounds", kind="given"),
        Quantity(
            "error_probability",
            IntervalDocument,
            "some agent errs",
            label="some agent errs",
            words=_probability,
            short="error probability",
        ),
        Quantity(
            "log_error_probability", IntervalDocument, label="  its logarithm", words=_logarithm
        ),
        part(
            "margin",
            MARGIN,
            lambda at: at.margin,
            label=lambda document: f"margin at {document.margin.delta:g}",
            words=_margin,
            short="margin",
        ),
        Quantity("notes", list[str], label=NOTE),
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
    def rounds(self) -> int:
        """The number of rounds n."""
        return int(self.probability.rounds[0])

    @property
    def error_probability(self) -> Enclosure:
        """P(some agent errs after n rounds)."""
        return _between(self.probability.lower[0], self.probability.upper[0])

    @property
    def log_error_probability(self) -> Enclosure:
        """Its logarithm, which reaches where probabilities underflow."""
        return _between(self.probability.log_lower[0], self.probability.log_upper[0])

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
    return AtRounds(accountant.probability(rounds), accountant.smallest_margin(rounds, delta))
