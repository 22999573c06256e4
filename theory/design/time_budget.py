"""How long the searches of a design may take, in one place.

A caller opens a budget; every search below it asks, between two of its steps, whether the time is
up, and then ends with the best that it has. Searches that are called without a budget run to their
own ends. What is proved stays proved: a search that stops early has a worse value or bound, never
a wrong one.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import numpy as np

from theory.validation import as_positive

# How long the searches of a design may take, in one place ----------------------------------------


class TimeBudget:
    """A span of time that has begun.

    Parameters
    ----------
    seconds
        Positive; infinite for no limit.
    clock
        Seconds since some moment.
    """

    def __init__(self, seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self.seconds = seconds
        self._clock = clock
        self._end = clock() + seconds
        self.stopped = False
        """Whether a search has ended early."""

    @property
    def left(self) -> float:
        """Seconds until the end, at least 0."""
        return max(0.0, self._end - self._clock())

    def is_spent(self) -> bool:
        """Whether the time is up; a search that asks has more to do, and ends early."""
        self.stopped = self.stopped or not self.left > 0
        return self.stopped


_PRESENT: ContextVar[TimeBudget | None] = ContextVar("time_budget", default=None)


@contextmanager
def time_budget(
    seconds: float | None, *, clock: Callable[[], float] = time.monotonic
) -> Iterator[TimeBudget]:
    """Give all searches inside so many seconds together; None for no limit.

    Raises
    ------
    ValueError
        If `seconds` is not positive.

    Examples
    --------
    >>> with time_budget(60.0) as budget:
    ...     is_spent()
    False
    >>> budget.stopped
    False
    """
    span = np.inf if seconds is None else as_positive("seconds", seconds)
    budget = TimeBudget(span, clock)
    token = _PRESENT.set(budget)
    try:
        yield budget
    finally:
        _PRESENT.reset(token)


def is_spent() -> bool:
    """Whether the present budget's time is up; False without one."""
    budget = _PRESENT.get()
    return budget is not None and budget.is_spent()


def seconds_left() -> float:
    """Seconds left of the present budget; infinite without one."""
    budget = _PRESENT.get()
    return np.inf if budget is None else budget.left


# A solver that did not reach the accuracy it was asked for, and the best it found ----------------


class DesignFailed(RuntimeError):  # noqa: N818 - reads as what happened
    """No design of the accuracy asked for was found.

    Attributes
    ----------
    status
        What went wrong, in a word or two, such as ``"stalled"``.
    tried
        The methods that were tried, in order.
    best
        The best feasible design found, with its certificate; None if there is none.

    Examples
    --------
    >>> failure = DesignFailed("stalled", tried=("barrier",), best=None, remedy="ask for less")
    >>> str(failure)
    'stalled: tried barrier; found no feasible design; ask for less'
    """

    def __init__(self, status: str, *, tried: tuple[str, ...], best: Any, remedy: str) -> None:
        certificate = getattr(best, "certificate", None)
        if certificate is not None:
            kept = f"kept a design of {certificate.value:.9g} in `best`, at most "
            kept += f"{certificate.gap:.1e} from optimal"
        else:
            kept = "found no feasible design" if best is None else "kept a design in `best`"
        super().__init__(f"{status}: tried {', '.join(tried)}; {kept}; {remedy}")
        self.status = status
        self.tried = tried
        self.best = best
