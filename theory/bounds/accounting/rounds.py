"""n(δ): the smallest number of rounds from which on the probability of error stays at most δ.

An upper bound that cannot grow covers all rounds from some round N on; below N every round is
looked at, last first, until one is found whose probability of error is proved to exceed δ.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from theory.bounds.accounting.curves import NEGLIGIBLE, ErrorCurve
from theory.bounds.accounting.events import EventSet
from theory.bounds.accounting.laws import pair_laws
from theory.bounds.accounting.small_loops import foresee
from theory.bounds.accounting.unions import PairUnion
from theory.bounds.tails.chernoff import DIRECT_ATOMS, chernoff_bounds, hoeffding_bounds
from theory.learning.finite_agent import Agent, FiniteAgent
from theory.scientific import logsumexp
from theory.showing import Shown
from theory.validation import FloatArray

# Rounds looked at one by one, times events, times frequencies: a few seconds.
_MOST_WORK = 4e8
_MOST_GUESSES = 5
_BLOCK = 256
# How much the upper bound on a probability exceeds the lower: 5 % of a probability is a fraction
# of a round or a few; less where it takes no more than so many seconds.
_COARSE = 0.05
_FINE = 0.01
_CHEAP = 0.5
_LARGEST = 10**9
# Of δ, where a theorem evaluated in floating point covers all later rounds: the logs of its bound
# are off by less than _LARGEST rounds times a few roundings, which is 1e-6.
_MARGIN = 1e-3
# Ends that are closer than this share of the lower one are hardly brought closer by pairs in two
# dimensions; what these may look at otherwise.
_CLOSE = 0.05
PAIR_WORK = 150_000.0
# Rounds in one array of the lower bound.
_MOST_AT_ONCE = 16_384
# Pairs are looked at first from this share of an end on: it is seldom brought closer by more.
_BLOCK_FROM = 0.7
# Where between the ends pairs are sharpest.
_NEAR_UPPER, _NEAR_LOWER = 0.75, 0.4
# What reference variables cost, in units of the unions that they replace.
_REFERENCE = 8.0
# A thousand frequencies and three cumulants.
_SECONDS_AN_ATOM = 5.6e-7
# To choose the tilt of an event and to look at it in a few blocks of rounds, at the least.
_SECONDS_AN_EVENT = 1.5e-3


@dataclass(frozen=True)
class CertifiedSampleSize(Shown):
    """Certified: `lower` ≤ n(δ) ≤ `upper`, n(δ) the smallest n from which P(error) stays ≤ δ.

    Attributes
    ----------
    delta
        δ.
    lower, upper
        In rounds; None where nothing is known.
    covered_from
        From this round on one bound that cannot grow covers all rounds; those below it, down to
        `lower`, were looked at one by one.
    note
        What is behind the numbers, or why there are none.
    """

    delta: float
    lower: int | None
    upper: int | None
    covered_from: int | None
    note: str

    @property
    def is_known(self) -> bool:
        """Whether there is an upper end."""
        return self.upper is not None


def certified_rounds(
    events: EventSet,
    delta: float,
    *,
    pilot: int,
    seconds: float,
    threshold: float = 0.0,
    logs: FloatArray | None = None,
) -> CertifiedSampleSize:
    """The enclosure of n(δ); `pilot` is a guess at it, from which only the time taken depends.

    `logs` are about those of the events then, by which what takes too long is refused.
    Errors are Λ ≤ `threshold`: zero, or any number below which no positive Λ lies.
    """
    target = float(np.log(delta))
    settled = events.powers.count
    guess = max(1, pilot)
    least = _least_seconds(events, guess, logs)
    if least > seconds:
        return _too_long(delta, least)
    foresee(events.work)
    for _ in range(_MOST_GUESSES):
        attempt = ErrorCurve(events, guess, guess, threshold=threshold)
        if attempt.selection_work > seconds:
            return _too_long(delta, attempt.selection_work)
        before, guess = guess, _improved(attempt, target)
        if abs(guess - before) <= 0.3 * before:
            break
    last = max(guess, settled + 1)
    curve = ErrorCurve(events, guess, last, threshold=threshold, sharpness=_FINE)
    if curve.work > min(seconds, _CHEAP):
        curve = replace(curve, sharpness=_COARSE)
    if curve.work > seconds:
        return _too_long(delta, curve.work)
    if _REFERENCE * curve.work > seconds:
        curve = replace(curve, with_reference=False)
    closer = _closer(curve, target)
    if abs(closer - guess) > 0.05 * guess:
        guess = closer
        curve = replace(curve, pilot=guess)
    covered = _covered_from(curve, target, start=settled + 1, guess=guess)
    if covered is None:
        covered = _covered_by_theorem(events, delta)
    if covered is None:
        return CertifiedSampleSize(delta, None, None, None, "no bound that falls was found")
    found = _search(curve, delta, covered=covered)
    found = _by_pairs(curve, found)
    if found.upper is not None and found.upper > pilot:
        # Evidence without variance, for which tilts are no help.
        theorem = _covered_by_theorem(events, delta)
        if theorem is not None and theorem < found.upper:
            found = replace(found, upper=theorem)
    return found


def _atoms(agent: Agent) -> int:
    if isinstance(agent, FiniteAgent):
        return int(agent.probabilities.size)
    return int(agent.inputs.size) if agent.batch == 1 else len(agent.input_counts)


def _least_seconds(events: EventSet, pilot: int, logs: FloatArray | None) -> float:
    """About how long it takes at the least, before anything is looked at.

    The events of two agents, round by round, and every event once; with `logs`, all events that
    are not negligible, round by round. Those of one probability are alike.
    """
    model, wrong = events.model, events.base.wrong
    atoms = sum(_atoms(model.kinds[kind]) for kind in model.assignment.tolist())
    rounds = min(max(1, pilot // 2), events.powers.count + 1)
    least = 2 * atoms * rounds * _SECONDS_AN_ATOM + len(wrong) * _SECONDS_AN_EVENT
    if logs is None:
        return least
    likeliest = wrong[int(logs.argmax()) % len(wrong)]
    heard = pair_laws(model, events.base.best, likeliest).means.size / len(model.kinds)
    weights = events.powers.rows[-1].mean(axis=0).round(9)
    factors = len(set(zip(model.assignment.tolist(), weights.tolist(), strict=True)))
    alike = np.unique(logs[logs >= logs.max() + NEGLIGIBLE].round(9)).size
    return max(least, alike * (events.powers.count + 1) * factors * heard * _SECONDS_AN_ATOM)


def _too_long(delta: float, seconds: float) -> CertifiedSampleSize:
    note = f"not computed here, as it takes about {seconds:.0f} seconds: ask theory.account for it"
    return CertifiedSampleSize(delta, None, None, None, note)


def _improved(curve: ErrorCurve, target: float) -> int:
    """A better guess than Chernoff's: its bound at `pilot` less what the tilted density allows."""
    exponent, pilot = curve.events.base.exponent.exponent, curve.pilot
    if not 0 < exponent < np.inf:
        return pilot
    logs = [
        c.log_bound - np.log(max(1.0, c.tilt.value * c.tilt.deviation * np.sqrt(2 * np.pi)))
        for c in curve.candidates
    ]
    ahead = (target - float(logsumexp(logs))) / exponent
    return int(np.clip(pilot - ahead, max(1, pilot // 8), 8 * pilot))


def _closer(curve: ErrorCurve, target: float) -> int:
    """A better guess once dependence between agents is taken into account."""
    exponent = curve.events.base.exponent.exponent
    if not 0 < exponent < np.inf:
        return curve.pilot
    ahead = (target - curve.log_estimate) / exponent
    return int(np.clip(curve.pilot - ahead, max(1, curve.pilot // 4), curve.pilot))


def _covered_from(curve: ErrorCurve, target: float, *, start: int, guess: int) -> int | None:
    """The smallest n ≥ `start` at which the bound that cannot grow is at most the target."""
    if curve.falling(start) <= target:
        return start
    low, high = start, max(start + 1, guess)
    while not curve.falling(high) <= target:
        low, high = high, 2 * high
        if high > _LARGEST:
            return None
    while high - low > 1:
        middle = (low + high) // 2
        if curve.falling(middle) <= target:
            high = middle
        else:
            low = middle
    return high


def _covered_by_theorem(events: EventSet, delta: float) -> int | None:
    """A round from which on Chernoff's or Hoeffding's bound stays at most `delta`."""
    bounds = hoeffding_bounds(events.base)
    if all(law.means.size <= DIRECT_ATOMS for laws in events.base.laws for law in laws):
        # The cumulants of larger laws are interpolated there.
        bounds = [*bounds, *chernoff_bounds(events.base)]
    found = [b.smallest_rounds(delta * (1 - _MARGIN)) for b in bounds if b is not None]
    return min((n for n in found if n is not None and n <= _LARGEST), default=None)


def _search(curve: ErrorCurve, delta: float, *, covered: int) -> CertifiedSampleSize:
    target = float(np.log(delta))
    budget = _MOST_WORK / curve.work_per_round
    upper = lower = None
    last, block = covered - 1, _BLOCK // 4
    while last >= 1 and lower is None and budget > 0:
        first = max(1, last - block + 1)
        found = curve.bounds(first, last)
        if upper is None:
            # Not "upper > target": a round of which nothing is known is not safe.
            above = np.flatnonzero(~(found.upper <= target))
            upper = first + int(above[-1]) + 1 if above.size else None
        proved = np.flatnonzero(found.lower > target)
        lower = first + int(proved[-1]) + 1 if proved.size else None
        budget -= last - first + 1
        last, block = first - 1, min(2 * block, _BLOCK * 16)
    if last < 1 or lower is not None:
        note = "every round below was looked at one by one"
    else:
        note = f"rounds down to {last + 1} were looked at one by one"
        upper = upper or last + 1
        lower = _by_bisection(curve, target, below=last)
    if not curve.events.is_unique:
        note += "; several hypotheses are best: no lower end"
    return CertifiedSampleSize(delta, lower or 1, upper or 1, covered, note)


def _by_pairs(curve: ErrorCurve, found: CertifiedSampleSize) -> CertifiedSampleSize:
    """The same with ends that are closer, by pairs of events: the upper one first."""
    target = float(np.log(found.delta))
    first, last = found.lower or 1, (found.upper or 1) - 1
    work = 0.0 if last - first < max(1, _CLOSE * first) else PAIR_WORK
    if work and last - first < _MOST_AT_ONCE:
        for begin, end, pilot in _blocks(first, last, _NEAR_UPPER):
            upper = PairUnion(curve, begin, end, pilot, work).upper()
            above = np.flatnonzero(~(upper <= target))
            last = begin + int(above[-1]) if above.size else begin - 1
            if above.size:
                break
    for begin, end, pilot in _blocks(first, last, _NEAR_LOWER):
        lower = PairUnion(curve, begin, end, pilot, work).lower()
        proved = np.flatnonzero(lower > target)
        if proved.size:
            first = begin + int(proved[-1]) + 1
            break
    return replace(found, lower=first, upper=last + 1)


def _blocks(first: int, last: int, share: float) -> Iterator[tuple[int, int, int]]:
    """The ends of blocks of some rounds, the last first, and a round: at `share` of the first."""
    begin = int(_BLOCK_FROM * last)
    while last >= first:
        begin = max(first, begin, last + 1 - _MOST_AT_ONCE)
        yield begin, last, round(begin + share * (last - begin))
        last, begin, share = begin - 1, first, 1.0


def _by_bisection(curve: ErrorCurve, target: float, *, below: int) -> int | None:
    """One more than some round at which the probability of error exceeds the target."""
    low, high = 0, below + 1
    while high - low > max(1, high // 1000):
        middle = (low + high) // 2
        if curve.bounds(middle, middle).lower[0] > target:
            low = middle
        else:
            high = middle
    return low + 1 if low else None
