"""What all searches of designs share: start, improve, bound, certificate, within one time budget.

A caller opens a budget with `time_budget`; every loop below it asks, between two of its steps,
whether the time is up, and then ends with the best that it has. Without a budget a search runs to
its own end. What is proved stays proved: a search that stops early has a worse value or bound,
never a wrong one.

`Search` holds what is best so far and what no design can beat. Its loops are written

    for candidate in search.over(candidates):
        search.offer(value_of(candidate), candidate)

and `Search.certificate` says in the end how far the best may be from optimal, and why it stopped.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Generic, Literal, TypeVar

import numpy as np

from theory.progress import Progress
from theory.showing import Shown
from theory.validation import FloatArray, as_positive, fail

T = TypeVar("T")
C = TypeVar("C")

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


def until_spent(candidates: Iterable[C], *, least: int = 0) -> Iterator[C]:
    """The candidates until the time is up, the first `least` of them in any case.

    The next candidate is made only while there is time for it.

    Examples
    --------
    >>> with time_budget(1.0, clock=iter([0.0, 9.0]).__next__):
    ...     list(until_spent("abc", least=1))
    ['a']
    """
    done, left = 0, iter(candidates)
    while done < least or not is_spent():
        try:
            candidate = next(left)
        except StopIteration:
            return
        done += 1
        yield candidate


def seconds_left() -> float:
    """Seconds left of the present budget; infinite without one."""
    budget = _PRESENT.get()
    return np.inf if budget is None else budget.left


def within_budget(seconds: float, *, least: float = 1.0) -> float:
    """So many seconds, or those left of the present budget if they are fewer; `least` anyway."""
    return min(seconds, max(least, seconds_left()))


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


# How far from the best a design can be -----------------------------------------------------------


Sense = Literal["maximise", "minimise"]
Kind = Literal["exact", "certified", "rounded", "local"]
Stopped = Literal["", "done", "proved", "time"]
KINDS: tuple[Kind, ...] = ("exact", "certified", "rounded", "local")


def why_stopped(*, proved: bool, timed_out: bool = False) -> Stopped:
    """Why a search ended: its gap is closed, its own time or that of the budget is up, or else."""
    return "proved" if proved else "time" if timed_out or is_spent() else "done"


@dataclass(frozen=True)
class Certificate(Shown):
    """The value of a design beside a bound on the value of every design.

    Attributes
    ----------
    value
        What the design achieves.
    bound
        No design does better: an upper bound if the objective is maximised, a lower bound if it
        is minimised; infinite (with the sign of no information) if there is none.
    sense
        Whether the objective is maximised or minimised.
    kind
        ``"exact"``: proved in exact arithmetic; ``"certified"``: proved by intervals, rounding
        included; ``"rounded"``: proved but for the rounding of floating-point arithmetic;
        ``"local"``: the best that a search found, with whatever bound there is.
    note
        How the bound comes about, in a sentence.
    stopped
        Why the search ended, if it was one: ``"done"``, ``"proved"``, or ``"time"``.

    Raises
    ------
    ValueError
        If the value is not finite, or `bound` is on the wrong side of it by more than rounding.

    Examples
    --------
    >>> Certificate(0.4, 0.5, "maximise", "rounded").gap
    0.09999999999999998
    """

    value: float
    bound: float
    sense: Sense
    kind: Kind
    note: str = ""
    stopped: Stopped = ""

    # A bound and the value it bounds are computed by different sums: they may cross by rounding.
    _CROSSING = 1e-9

    def __post_init__(self) -> None:
        if self.sense not in ("maximise", "minimise"):
            raise fail("sense", "maximise or minimise", repr(self.sense), "choose one")
        if self.kind not in KINDS:
            raise fail("kind", f"one of {', '.join(KINDS)}", repr(self.kind), "choose one")
        if not math.isfinite(self.value):
            raise fail("value", "a finite number", self.value, "report the case by itself")
        if math.isnan(self.bound):
            raise fail("bound", "a number", "nan", "give an infinite bound if there is none")
        slack = self._CROSSING * max(1.0, abs(self.value))
        if self._excess < -slack:
            side = "above" if self.sense == "maximise" else "below"
            raise fail("bound", f"a number {side} {self.value!r}", self.bound, "check the proof")

    @property
    def _excess(self) -> float:
        excess = self.bound - self.value
        return excess if self.sense == "maximise" else -excess

    @property
    def gap(self) -> float:
        """How much better than `value` any design could be; at least 0, infinite if unknown."""
        return max(self._excess, 0.0) + 0.0  # -0.0 is 0.0

    @property
    def is_proved(self) -> bool:
        """Whether there is a finite bound."""
        return math.isfinite(self.bound)


# One way down -------------------------------------------------------------------------------------


def descended(
    function: Callable[[FloatArray], Any],
    start: FloatArray,
    *,
    bounds: Sequence[tuple[float, float]],
    iterations: int,
    jac: bool = True,
    **options: Any,
) -> FloatArray:
    """Where L-BFGS-B ends that goes down from a start; where it is when the time is up.

    Parameters
    ----------
    function
        The value at a point and, if `jac`, its derivative; differences are taken if not. If it
        raises StopIteration the start is returned.
    bounds
        Limits of each variable.
    iterations, options
        The most steps; further options of scipy's method.
    """
    from scipy.optimize import minimize

    def until_spent(_: FloatArray) -> None:
        if is_spent():
            raise StopIteration

    try:
        found = minimize(  # type: ignore[call-overload]
            function,
            start,
            jac=jac,
            method="L-BFGS-B",
            bounds=bounds,
            options={"maxiter": iterations, **options},
            callback=until_spent,
        )
    except StopIteration:
        return start
    return np.asarray(found.x, dtype=np.float64)


# The best so far, and what no design can beat ----------------------------------------------------


class Search(Generic[T]):
    """The best of all that was tried, beside a bound on all that could be tried.

    Parameters
    ----------
    sense
        Whether values are maximised or minimised.
    worth
        A candidate is better if its value is by more than this.
    close
        A gap between value and bound that is no use closing.
    progress, total
        Called with (done, total) as candidates are taken.

    Attributes
    ----------
    best, value
        The best candidate and its value; None, and the worst value there is, before the first.
    bound, note
        What no candidate can beat, and why.

    Examples
    --------
    >>> search = Search[str]("minimise", close=0.5)
    >>> search.raise_bound(1.0, "lengths are positive")
    >>> for word in search.over(["long", "a", "bc"]):
    ...     _ = search.offer(len(word), word)
    >>> search.best, search.certificate("exact").stopped
    ('a', 'proved')
    """

    def __init__(
        self,
        sense: Sense,
        *,
        worth: float = 0.0,
        close: float = 0.0,
        progress: Progress | None = None,
        total: int = 0,
    ) -> None:
        self._sign = 1.0 if sense == "maximise" else -1.0
        self.sense, self.worth, self.close = sense, worth, close
        self.best: T | None = None
        self.value, self.bound, self.note = -self._sign * np.inf, self._sign * np.inf, ""
        self._progress, self._total, self._done = progress, total, 0

    def offer(self, value: float, candidate: T) -> bool:
        """Whether a candidate is better than the best, which it then becomes."""
        better = self.best is None or self._sign * (value - self.value) > self.worth
        if better:
            self.best, self.value = candidate, value
        return better

    def raise_bound(self, bound: float, note: str) -> None:
        """Take a bound if it is sharper than that known."""
        if self._sign * (self.bound - bound) > 0:
            self.bound, self.note = bound, note

    @property
    def is_proved(self) -> bool:
        """Whether the gap is closed."""
        return self.best is not None and self._sign * (self.bound - self.value) <= self.close

    @property
    def is_over(self) -> bool:
        """Whether the gap is closed or, once there is a best, the time is up."""
        return self.is_proved or (self.best is not None and is_spent())

    def over(self, candidates: Iterable[C]) -> Iterator[C]:
        """The candidates, until the search is over; the next is made only if it is not."""
        left = iter(candidates)
        while not self.is_over:
            try:
                candidate = next(left)
            except StopIteration:
                return
            yield candidate
            self.step()

    def step(self) -> None:
        """Report one more candidate."""
        self._reach(min(self._done + 1, self._total))

    def finish(self) -> None:
        """Report all of them, where there were fewer than foreseen."""
        if self._done < self._total:
            self._reach(self._total)

    def certificate(self, kind: Kind) -> Certificate:
        """The best value beside the bound, which no rounding leaves on the wrong side of it."""
        outer = max if self._sign > 0 else min
        bound = outer(self.bound, self.value)
        stopped = why_stopped(proved=self.is_proved)
        return Certificate(self.value, bound, self.sense, kind, self.note, stopped)

    def _reach(self, done: int) -> None:
        self._done = done
        if self._progress is not None and self._total:
            self._progress(done, self._total)
