"""Predicted beside measured: the one type every verdict is.

A verdict allows for sampling error and for nothing else. Several hundred statements are checked in
one `verify`; each allows 4.5 standard errors, which a true statement with normal error exceeds
with probability 7e-6, so that one false alarm in a full run has a probability below 1 %.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np

Kind = Literal["exact", "bound", "asymptotic"]

STANDARD_ERRORS = 4.5
CONFIDENCE = 1 - 7e-6
# Sums of thousands of rounds lose about 1e-13, relative to the largest log-odds.
ROUNDING = 1e-11


@dataclass(frozen=True)
class Comparison:
    """One statement, what theory says, what was measured, and whether they agree.

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
        The verdict.
    is_theorem
        Whether the statement is proved. Published statements that are not are checked too, but
        their failure is news about them and not about this program.
    note
        What the verdict rests on, where that is not plain.
    """

    problem: str
    statement: str
    predicted: float | None
    measured: float | None
    standard_error: float | None
    kind: Kind
    holds: bool
    is_theorem: bool = True
    note: str = ""

    @property
    def is_broken(self) -> bool:
        """Whether a proved statement was contradicted beyond sampling error."""
        return self.is_theorem and not self.holds

    def as_json(self) -> dict[str, Any]:
        """The JSON object of one statement."""
        return asdict(self)


def allowed_errors(replicates: int, *, scores: int = 1) -> float:
    """How many standard errors chance may account for, by Student's law of R − 1 degrees.

    4.5 for many replicates, more for few; for the largest of many `scores` the probability is
    shared among them.

    Examples
    --------
    >>> round(allowed_errors(10_000), 2), round(allowed_errors(20), 2)
    (4.5, 6.13)
    """
    from scipy.stats import norm, t

    return float(t.isf(norm.sf(STANDARD_ERRORS) / max(1, scores), max(1, replicates - 1)))


def rounding(predicted: float) -> float:
    """What summing thousands of rounds may lose, with room: it shows where nothing is random."""
    return ROUNDING * max(1.0, abs(predicted))


def equal_in_mean(
    problem: str,
    statement: str,
    *,
    predicted: float,
    measured: float,
    standard_error: float,
    replicates: int,
    note: str = "",
) -> Comparison:
    """`measured` has mean `predicted`: they differ by sampling error alone."""
    slack = allowed_errors(replicates) * standard_error + rounding(predicted)
    holds = bool(abs(measured - predicted) <= slack)
    return Comparison(
        problem, statement, predicted, measured, standard_error, "exact", holds, note=note
    )


def within_transient(
    problem: str,
    statement: str,
    *,
    predicted: float,
    measured: float,
    standard_error: float,
    replicates: int,
    transient: float,
) -> Comparison:
    """`measured` is at most `transient` (and sampling error) from the limit `predicted`."""
    slack = transient + allowed_errors(replicates) * standard_error + rounding(predicted)
    holds = bool(abs(measured - predicted) <= slack) and bool(np.isfinite(slack))
    note = f"allowed transient {transient:.2g}"
    return Comparison(
        problem, statement, predicted, measured, standard_error, "asymptotic", holds, note=note
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
    from scipy.stats import binomtest

    interval = binomtest(failures, trials).proportion_ci(CONFIDENCE, method="exact")
    estimate = failures / trials
    error = float(np.sqrt(estimate * (1 - estimate) / trials))
    holds = bool(interval.low <= limit)
    return Comparison(problem, statement, limit, estimate, error, "bound", holds, is_theorem, note)
