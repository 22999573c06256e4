"""`analyse --rounds n`: the ladder read the other way round.

Given n, certified bounds on the probability that some agent errs, and the margin ε that n rounds
buy at confidence 1 − δ: off an event of probability δ, every wrong belief is below e^{−n(K−ε)}.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from peerbayes.documents import Documented, number
from peerbayes.kinds.finite.documents import AtRoundsDocument, MarginDocument
from peerbayes.kinds.shared.proved_documents import IntervalDocument
from peerbayes.problem.finite import Problem
from theory import CertifiedMargin, ErrorProbability, account


@dataclass(frozen=True, eq=False)
class AtRounds(Documented):
    """Certified intervals for one number of rounds; doubles count as numbers nearby."""

    probability: ErrorProbability
    margin: CertifiedMargin

    def _facts(self) -> Iterator[tuple[str, object]]:
        yield "rounds", int(self.probability.rounds[0])
        yield "error probability", (self.probability.lower[0], self.probability.upper[0])
        yield "margin", (self.margin.lower, self.margin.upper)

    def document(self) -> AtRoundsDocument:
        """The JSON key "at_rounds"; logs reach where probabilities underflow."""
        found, margin = self.probability, self.margin
        return AtRoundsDocument(
            rounds=int(found.rounds[0]),
            error_probability=IntervalDocument(
                lower=float(found.lower[0]), upper=float(found.upper[0])
            ),
            log_error_probability=IntervalDocument(
                lower=number(found.log_lower[0]), upper=number(found.log_upper[0])
            ),
            margin=MarginDocument(delta=margin.delta, lower=margin.lower, upper=margin.upper),
            notes=[note for note in (found.note, margin.note) if note],
        )


def at_rounds(problem: Problem, rounds: int, *, delta: float) -> AtRounds:
    """What so many rounds are good for.

    Raises
    ------
    ValueError
        If `rounds` is not a whole number of at least 1 or beyond the powers of W that are kept, or
        `delta` is not in (0, 1).
    """
    accountant = account(problem.network, problem.model)
    return AtRounds(accountant.probability(rounds), accountant.smallest_margin(rounds, delta))
