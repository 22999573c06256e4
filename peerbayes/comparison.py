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

from collections.abc import Callable
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from pydantic import BeforeValidator, Field

from peerbayes.documents import Document, Number
from peerbayes.records import plain
from theory.validation import FloatArray

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
    holds
        The verdict; None where nothing was run, so that nothing was checked.
    is_theorem
        Whether the statement is proved. Published statements that are not are checked too, but
        their failure is news about them and not about this program.
    note
        What the verdict rests on, where that is not plain.
    side
        For a bound: whether what is predicted is an upper or a lower limit.
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


def equal_in_mean(
    problem: str,
    statement: str,
    *,
    predicted: float,
    measured: float,
    standard_error: float,
    allowed: float,
    note: str = "",
    unit: float = 1.0,
) -> Comparison:
    """`measured` has mean `predicted`: they differ by at most the `allowed` sampling error.

    `unit` as for `rounding`: 0 for sums of squares, of which no more is lost than of their sum.
    """
    slack = allowed + rounding(predicted, unit)
    holds = bool(abs(measured - predicted) <= slack)
    return Comparison(
        problem=problem,
        statement=statement,
        predicted=predicted,
        measured=measured,
        standard_error=standard_error,
        kind="exact",
        holds=holds,
        note=note,
    )


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
    allowed = chance + ROUNDING * np.maximum(1.0, np.abs(expected))
    largest = float((difference / allowed).max(initial=0.0))
    return Comparison(
        problem=problem,
        statement=f"mean log-odds of {whose} at every recorded round, as a share of what chance "
        "allows",
        predicted=1.0,
        measured=largest,
        standard_error=None,
        kind="bound",
        holds=largest <= 1.0,
        note=note or f"largest of {difference.size} differences from the exact means",
    )


def within_transient(
    problem: str,
    statement: str,
    *,
    predicted: float,
    measured: float,
    standard_error: float | None,
    allowed: float,
    transient: float,
    is_theorem: bool = True,
    note: str = "",
    unit: float = 1.0,
) -> Comparison:
    """`measured` is within `transient` and the `allowed` sampling error of `predicted`.

    No theorem where the transient is an allowance and not a bound; `unit` as for `rounding`.
    """
    slack = transient + allowed + rounding(predicted, unit)
    holds = bool(abs(measured - predicted) <= slack) and bool(np.isfinite(slack))
    words = f"allowed transient {transient:.2g}" + (f"; {note}" if note else "")
    return Comparison(
        problem=problem,
        statement=statement,
        predicted=predicted,
        measured=measured,
        standard_error=standard_error,
        kind="asymptotic",
        holds=holds,
        is_theorem=is_theorem,
        note=words,
    )


def frequency_at_most(
    problem: str,
    statement: str,
    *,
    limit: float,
    failures: int,
    trials: int,
    is_theorem: bool = True,
    note: str = "",
) -> Comparison:
    """An event of probability at most `limit` was seen in `failures` of `trials`.

    Holds unless the Clopper-Pearson interval lies above the limit.
    """
    return _frequency(
        problem, statement, limit, failures, trials, lambda low, _: low <= limit,
        kind="bound", is_theorem=is_theorem, note=note,
    )  # fmt: skip


def frequency_at_least(
    problem: str, statement: str, *, limit: float, failures: int, trials: int, note: str = ""
) -> Comparison:
    """An event of probability at least `limit` was seen in `failures` of `trials`.

    Holds unless the Clopper-Pearson interval lies below the limit.
    """
    return _frequency(
        problem, statement, limit, failures, trials, lambda _, high: high >= limit,
        kind="bound", side="lower", note=note,
    )  # fmt: skip


def frequency_is(
    problem: str,
    statement: str,
    *,
    probability: float,
    failures: int,
    trials: int,
    slack: float = 0.0,
    note: str = "",
) -> Comparison:
    """An event whose `probability` is known to within `slack` was seen in `failures` of `trials`.

    Holds if the Clopper-Pearson interval reaches it.
    """
    return _frequency(
        problem, statement, probability, failures, trials,
        lambda low, high: low <= probability + slack and probability - slack <= high,
        kind="exact", note=note,
    )  # fmt: skip


def _frequency(
    problem: str,
    statement: str,
    predicted: float,
    failures: int,
    trials: int,
    holds: Callable[[float, float], bool],
    **more: Any,
) -> Comparison:
    """The verdict that `holds` gives of the ends of a frequency's Clopper-Pearson interval."""
    from scipy.stats import binomtest

    interval = binomtest(failures, trials).proportion_ci(CONFIDENCE, method="exact")
    estimate = failures / trials
    return Comparison(
        problem=problem,
        statement=statement,
        predicted=predicted,
        measured=estimate,
        standard_error=float(np.sqrt(estimate * (1 - estimate) / trials)),
        holds=holds(float(interval.low), float(interval.high)),
        **more,
    )
