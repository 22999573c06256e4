"""Running statistics over replicates, chunk by chunk, in memory that does not grow with them.

Means and sums of squares are merged by the formulas of Chan, Golub and LeVeque, which lose nothing
when a log-ratio of 10⁴ has a standard deviation of 10. Who is wrong is counted per agent: the
agent's arg max lies outside the reference set, or ties with a hypothesis outside.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from theory.showing import Shown
from theory.validation import FloatArray, IntArray, as_integer, as_probability, fail

Arrays = dict[str, NDArray[Any]]

# Numbers merged at once, so that intermediate results stay in cache, however large the sums.
SLAB = 1 << 16


@dataclass(frozen=True)
class Proportion(Shown):
    """A measured frequency and its Clopper–Pearson interval.

    The interval covers the true probability with probability at least `confidence`, whatever it
    is (exact, conservative).

    Attributes
    ----------
    estimate, lower, upper
        successes / trials, and the ends of the interval.
    successes, trials, confidence
        What it was computed from.
    """

    estimate: float
    lower: float
    upper: float
    successes: int
    trials: int
    confidence: float


def proportion(successes: int, trials: int, *, confidence: float = 0.95) -> Proportion:
    """The Clopper–Pearson interval of `successes` in `trials`.

    Raises
    ------
    ValueError
        If `successes` is not between 0 and `trials`, or `confidence` not in (0, 1).

    Examples
    --------
    >>> none = proportion(0, 100)
    >>> none.lower, round(none.upper, 4)
    (0.0, 0.0362)
    """
    trials = as_integer("trials", trials, minimum=1)
    successes = as_integer("successes", successes, minimum=0)
    confidence = as_probability("confidence", confidence)
    if successes > trials:
        raise fail("successes", f"at most {trials}", successes, "count each trial once")
    from scipy.special import betaincinv

    tail = (1 - confidence) / 2
    lower = betaincinv(successes, trials - successes + 1, tail) if successes > 0 else 0.0
    upper = betaincinv(successes + 1, trials - successes, 1 - tail) if successes < trials else 1.0
    return Proportion(successes / trials, float(lower), float(upper), successes, trials, confidence)


class RunningMoments:
    """Mean and sum of squared deviations, at several places, of arrays that arrive in batches.

    The first axis of `shape` counts the places.

    Examples
    --------
    >>> moments = RunningMoments((1, 1))
    >>> moments.add(0, np.array([[1.0], [2.0]]), axis=0)
    >>> moments.add(0, np.array([[6.0]]), axis=0)
    >>> moments.mean, moments.standard_error(3).round(4)
    (array([[3.]]), array([[1.5275]]))
    """

    def __init__(self, shape: tuple[int, ...]) -> None:
        self.mean = np.zeros(shape)
        self.squares = np.zeros(shape)
        self.counts = np.zeros(shape[:1], dtype=np.int64)

    def add(self, index: int, batch: FloatArray, *, axis: int) -> None:
        """Take in `batch`, whose `axis` counts replicates, at place `index`."""
        new = batch.shape[axis]
        mean = batch.mean(axis=axis)
        total = self.counts[index] + new
        shift = mean - self.mean[index]
        if new > 1:
            deviation = batch - np.expand_dims(mean, axis)
            np.square(deviation, out=deviation)
            self.squares[index] += deviation.sum(axis=axis)
        self.squares[index] += shift**2 * (self.counts[index] * new / total)
        self.mean[index] += shift * (new / total)
        self.counts[index] = total

    def arrays(self, name: str) -> Arrays:
        """The three arrays themselves, their names prefixed."""
        return {
            f"{name}_mean": self.mean,
            f"{name}_squares": self.squares,
            f"{name}_counts": self.counts,
        }

    def standard_error(self, replicates: int) -> FloatArray:
        """Standard error of the mean; NaN for a single replicate, which cannot show a spread."""
        return standard_error(self.squares, replicates)


def standard_error(squares: FloatArray, replicates: int) -> FloatArray:
    """Standard error of a mean, from the sum of squared deviations; NaN for a single replicate."""
    if replicates < 2:
        return np.full_like(squares, np.nan)
    result = squares / (replicates - 1)
    result /= replicates
    return np.sqrt(result, out=result)


def merge_moments(total: Arrays, part: Arrays, name: str) -> None:
    """Take the moments `name` of later replicates into those of all before them, in place.

    Merging what one batch gave is the same, to the last bit, as adding the batch.

    Examples
    --------
    >>> first, second = RunningMoments((1, 1)), RunningMoments((1, 1))
    >>> first.add(0, np.array([[1.0], [2.0]]), axis=0)
    >>> second.add(0, np.array([[6.0]]), axis=0)
    >>> merge_moments(first.arrays("z"), second.arrays("z"), "z")
    >>> first.mean, first.standard_error(3).round(4)
    (array([[3.]]), array([[1.5275]]))
    """
    mean, squares, counts = (total[f"{name}_{of}"] for of in ("mean", "squares", "counts"))
    step = max(1, SLAB // max(1, mean[0].size))
    for begin in range(0, len(mean), step):
        place = slice(begin, begin + step)
        axes = (-1,) + (1,) * (mean.ndim - 1)
        old = counts[place].astype(np.float64).reshape(axes)
        new = part[f"{name}_counts"][place].astype(np.float64).reshape(axes)
        both = np.maximum(old + new, 1.0)
        shift = part[f"{name}_mean"][place] - mean[place]
        squares[place] += part[f"{name}_squares"][place]
        squares[place] += shift**2 * (old * new / both)
        mean[place] += shift * (new / both)
    counts += part[f"{name}_counts"]


class Tally:
    """Everything a simulation reports about Λ at its recorded rounds.

    Parameters
    ----------
    rounds
        The recorded rounds, shape (T,).
    agents, hypotheses
        N and M.
    reference
        The hypotheses an agent may hold without being wrong.
    scale
        The largest log-ratio that a single round can add, shape (M,), which sets what counts as a
        tie with each hypothesis.
    """

    def __init__(
        self,
        rounds: IntArray,
        *,
        agents: int,
        hypotheses: int,
        reference: tuple[int, ...],
        scale: FloatArray,
    ) -> None:
        times = rounds.size
        self.each = RunningMoments((times, agents, hypotheses))
        self.network = RunningMoments((times, hypotheses))
        self.errors = np.zeros(times, dtype=np.int64)
        self.agent_errors = np.zeros((times, agents), dtype=np.int64)
        self.settled = np.zeros((times, hypotheses), dtype=np.int64)
        self._ties = Ties(rounds, scale, reference)

    def arrays(self) -> Arrays:
        """All counts and sums, by name: the arrays themselves."""
        return {
            **self.each.arrays("each"),
            **self.network.arrays("network"),
            "errors": self.errors,
            "agent_errors": self.agent_errors,
            "settled": self.settled,
        }

    def add(self, index: int, log_ratios: FloatArray) -> None:
        """Take in Λ(best, ·) of a chunk, shape (N, R, M), at recorded round `index`."""
        self.each.add(index, log_ratios, axis=1)
        self.network.add(index, log_ratios.mean(axis=0), axis=0)

        wrong = self._ties.wrong(index, log_ratios)
        self.errors[index] += int(wrong.any(axis=0).sum())
        self.agent_errors[index] += wrong.sum(axis=1)
        np.add.at(self.settled[index], self._first(log_ratios[~wrong], self._ties.reference), 1)
        if wrong.any():
            np.add.at(self.settled[index], self._first(log_ratios[wrong], self._ties.rivals), 1)

    @staticmethod
    def _first(log_ratios: FloatArray, among: IntArray) -> IntArray:
        # Taken, not indexed: rows stay together in memory, of which argmin needs no copy then.
        return np.asarray(among[np.take(log_ratios, among, axis=-1).argmin(axis=-1)])


class Ties:
    """Who is wrong by Λ(best, ·): the arg max is outside `reference`, or ties with one outside.

    In exact arithmetic coins tie often; in floating point n additions to numbers of up to n·scale
    may part them by up to n²·scale roundings. So much each hypothesis is given, by its own scale:
    one whose log-ratios are huge makes no ties of the small ones of others.

    Parameters
    ----------
    rounds, scale, reference
        As for :class:`Tally`.
    """

    def __init__(self, rounds: IntArray, scale: FloatArray, reference: tuple[int, ...]) -> None:
        self.reference = np.array(reference, dtype=np.int64)
        self.rivals = np.setdiff1d(np.arange(scale.size), self.reference)
        width = np.multiply.outer(rounds.astype(np.float64) ** 2, scale) * np.finfo(np.float64).eps
        self._own, self._others = width[:, self.reference], width[:, self.rivals]

    def wrong(self, index: int, log_ratios: FloatArray) -> NDArray[np.bool_]:
        """For Λ of shape (..., M) at recorded round `index`: shape (...)."""
        # Belief is largest where Λ(best, ·) is smallest.
        own = (log_ratios[..., self.reference] + self._own[index]).min(axis=-1)
        others = log_ratios[..., self.rivals]
        others -= self._others[index]
        return np.asarray(others.min(axis=-1, initial=np.inf) <= own)


def merge_tallies(total: Arrays, part: Arrays) -> None:
    """Take what :meth:`Tally.arrays` gave for later replicates into the earlier ones', in place."""
    for name in ("each", "network"):
        merge_moments(total, part, name)
    for name in ("errors", "agent_errors", "settled"):
        total[name] += part[name]
