"""Predicted beside measured: the one type every verdict is.

A verdict allows for sampling error and for nothing else. How far the mean of R replicates may lie
from its expectation is Bernstein's inequality, with the exact variance V of one replicate and the
reach b of a single observation: beyond

    √(2 V L/R) + b L/(3R)      with probability at most 2 e^−L.

L = 12.5 makes the first term five standard errors and the probability 7.5e-6, so that one false
alarm among the several hundred statements of a full run has a probability below 1 %. The second
term speaks where outcomes are so rare that errors are not normal. (For normal labels, which have
no bound, b counts six standard deviations.)
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from peerbayes.documents import Document, Number
from peerbayes.records import plain
from theory.lazy import later

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike

    from theory.validation import FloatArray
else:
    np = later("numpy")

Kind = Literal["exact", "bound", "asymptotic"]
Side = Literal["upper", "lower"]

STANDARD_ERRORS = 5.0
CONFIDENCE = 1 - 7.5e-6
# Sums of thousands of rounds lose about 1e-13, relative to the largest log-odds.
ROUNDING = 1e-11


class Comparison(Document):
    """One statement, what theory says, what was measured, and whether they agree.

    It is what `verify` prints of each statement, and what records keep.

    Attributes
    ----------
    problem, statement
        Which problem, and the statement in words.
    predicted, measured, standard_error
        Numbers in the statement's unit; None where there is none (a bound that was not simulated).
    kind
        ``exact``: the prediction is the mean of what is measured. ``bound``: it is a limit to it.
        ``asymptotic``: it is approached as rounds grow, within the stated transient.
    is_theorem
        Whether the statement is proved. Published statements that are not are checked too, but
        their failure is news about them and not about this program.
    note
        What the verdict rests on, where that is not plain.
    """

    problem: str
    statement: str
    predicted: Number
    measured: Number
    standard_error: Annotated[Annotated[float, Field(ge=0)] | None, BeforeValidator(plain)]
    kind: Kind
    holds: Annotated[bool | None, BeforeValidator(plain)] = Field(
        description="the verdict; null where nothing was run, see note"
    )
    is_theorem: bool = True
    note: str = ""
    side: Side = Field(
        default="upper",
        description="of a bound: whether the prediction is an upper or a lower limit",
    )

    @property
    def is_broken(self) -> bool:
        """Whether a proved statement was contradicted beyond sampling error."""
        return self.is_theorem and self.holds is False

    @property
    def sign(self) -> str:
        """What stands before a prediction that is a limit; nothing before any other."""
        if self.kind != "bound":
            return ""
        return "≥ " if self.side == "lower" else "≤ "


def allowed_deviation(
    variance: ArrayLike, reach: ArrayLike, replicates: int, *, scores: int = 1
) -> FloatArray:
    """How far chance may take the mean of `replicates` from its expectation.

    For the largest of many `scores` the probability of a false alarm is shared among them.

    Examples
    --------
    >>> float(allowed_deviation(4.0, 0.0, 100))
    1.0
    """
    exponent = STANDARD_ERRORS**2 / 2 + np.log(max(1, scores))
    spread = np.sqrt(2 * np.asarray(variance) * exponent / replicates)
    return np.asarray(spread + np.asarray(reach) * exponent / (3 * replicates))


def rounding(predicted: float, unit: float = 1.0) -> float:
    """What summing thousands of rounds may lose, with room: it shows where nothing is random.

    `unit` is the size of the terms that are summed: 1 for log-odds.
    """
    return ROUNDING * max(unit, abs(predicted))


@dataclass(frozen=True)
class Mean:
    """A mean of replicates beside what it is expected to be.

    Attributes
    ----------
    standard_error
        Of `measured`; None where nothing is random.
    allowed
        How far chance may take `measured` from `predicted`.
    predicted_error
        Standard error of `predicted`, where that is itself an average over drawn inputs.
    """

    predicted: float
    measured: float
    standard_error: float | None
    allowed: float = 0.0
    predicted_error: float = 0.0

    @property
    def both_sides(self) -> Mean:
        """The same with the standard error of the difference of measured and predicted."""
        return replace(self, standard_error=float(np.hypot(self._error, self.predicted_error)))

    @property
    def _error(self) -> float:
        return self.standard_error or 0.0

    def times(self, factor: float) -> Mean:
        """The same of a mean that is so many times as large."""
        values = (self.predicted, self.measured, self._error, self.allowed, self.predicted_error)
        return Mean(*(factor * value for value in values))

    def over(self, other: Mean) -> Mean:
        """The quotient of two means; both ends at once: (p ± a)/(q ∓ b)."""
        predicted, measured = self.predicted / other.predicted, self.measured / other.measured
        shares = self._error / self.measured, other._error / other.measured
        highest = (self.predicted + self.allowed) / max(other.predicted - other.allowed, 1e-300)
        return Mean(predicted, measured, measured * float(np.hypot(*shares)), highest - predicted)


def equal_in_mean(
    problem: str, statement: str, mean: Mean, *, note: str = "", unit: float = 1.0
) -> Comparison:
    """`mean` is what it is expected to be, but for sampling error.

    `unit` as for `rounding`: 0 for sums of squares, of which no more is lost than of their sum.
    """
    return _within(problem, statement, mean, 0.0, unit, kind="exact", note=note)


def within_transient(
    problem: str,
    statement: str,
    mean: Mean,
    transient: float,
    *,
    is_theorem: bool = True,
    note: str = "",
    unit: float = 1.0,
) -> Comparison:
    """`mean` is within `transient` of what it tends to, but for sampling error.

    No theorem where the transient is an allowance and not a bound; `unit` as for `rounding`.
    """
    words = f"allowed transient {transient:.2g}" + (f"; {note}" if note else "")
    more: dict[str, Any] = {"kind": "asymptotic", "is_theorem": is_theorem, "note": words}
    return _within(problem, statement, mean, transient, unit, **more)


def _within(
    problem: str, statement: str, mean: Mean, slack: float, unit: float, **more: Any
) -> Comparison:
    slack += mean.allowed + rounding(mean.predicted, unit)
    holds = bool(abs(mean.measured - mean.predicted) <= slack) and bool(np.isfinite(slack))
    return _judged(problem, statement, mean, holds, **more)


def within_bound(
    problem: str, statement: str, mean: Mean, *, side: Side = "upper", note: str = ""
) -> Comparison:
    """`mean` is at most, or at least, what is predicted, but for what is allowed."""
    beyond = mean.measured - mean.predicted if side == "upper" else mean.predicted - mean.measured
    holds = bool(beyond <= mean.allowed)
    return _judged(problem, statement, mean, holds, kind="bound", side=side, note=note)


def share_of_chance(
    problem: str, statement: str, difference: FloatArray, allowed: FloatArray, *, note: str
) -> Comparison:
    """Many differences at once: the largest as a share of what is allowed for each."""
    largest = float((difference / allowed).max(initial=0.0))
    mean = Mean(1.0, largest, None)
    return within_bound(problem, statement, mean, note=note)


def means_agree(
    problem: str,
    *,
    measured: FloatArray,
    expected: FloatArray,
    chance: FloatArray,
    whose: str = "every agent",
    note: str = "",
) -> Comparison:
    """All means of log-odds at once: the largest difference as a share of what `chance` allows."""
    difference = np.abs(measured - expected)
    return share_of_chance(
        problem,
        f"mean log-odds of {whose} at every recorded round, as a share of what chance allows",
        difference,
        chance + ROUNDING * np.maximum(1.0, np.abs(expected)),
        note=note or f"largest of {difference.size} differences from the exact means",
    )


def frequency(
    problem: str,
    statement: str,
    relation: Literal["at most", "at least", "is"],
    probability: float,
    *,
    failures: int,
    trials: int,
    slack: float = 0.0,
    is_theorem: bool = True,
    note: str = "",
) -> Comparison:
    """An event was seen in `failures` of `trials`, and its probability stands in a relation.

    It is at most or at least `probability`, or is known to within `slack`. The statement holds
    unless the Clopper-Pearson interval lies beyond.
    """
    from scipy.stats import binomtest

    interval = binomtest(failures, trials).proportion_ci(CONFIDENCE, method="exact")
    low, high, estimate = float(interval.low), float(interval.high), failures / trials
    holds = (relation == "at least" or low <= probability + slack) and (
        relation == "at most" or probability - slack <= high
    )
    error = float(np.sqrt(estimate * (1 - estimate) / trials))
    return _judged(
        problem,
        statement,
        Mean(probability, estimate, error),
        holds,
        kind="exact" if relation == "is" else "bound",
        side="lower" if relation == "at least" else "upper",
        is_theorem=is_theorem,
        note=note,
    )


def _judged(problem: str, statement: str, mean: Mean, holds: bool, **more: Any) -> Comparison:
    return Comparison(
        problem=problem,
        statement=statement,
        predicted=mean.predicted,
        measured=mean.measured,
        standard_error=mean.standard_error,
        holds=holds,
        **more,
    )
