"""The rate of agents that tick on clocks of their own (docs: mathematics/own-clocks).

At each of its ticks agent i observes, says what it believes, and pools the messages it holds. Stamp
what it does in a tick with the time of that tick. If it uses in a tick at time s a message that
agent j made at time s′, and j's tick before that was at time s″, it has *waited*

    s − s″ = age + gap,   age = s − s′,   gap = s′ − s″

for agent j; for itself age is 0. (Or take the times of pooling throughout: age from the message's
making to the pooling that uses it, gap from j's pooling before to the message.) Log-beliefs grow by

    g = Σ_j v_j I_j / d,     d = Σ_ij v_i W_ij E[wait_ij]

per unit of time, v the stationary vector of W: every d seconds the network gains what a synchronous
round brings. Whose evidence counts does not depend on the rhythm; how soon, does.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from theory.changing.mixing import closed_classes
from theory.changing.stationary import stationary_vector
from theory.showing import Shown
from theory.validation import (
    FloatArray,
    as_distribution,
    as_float_array,
    as_integer,
    fail,
    read_only,
)

TICKING = ("regular", "random")


@dataclass(frozen=True, eq=False)
class Rhythm(Shown):
    """How fast a network of agents on clocks of their own learns; floating point.

    Its rate for a model, per second, is that of :func:`theory.learning_rate`.

    Exact or an estimate as the waits are: :func:`rhythm_rate` says when.

    Attributes
    ----------
    stationary
        v, shape (N,): the stationary vector of the mean weights.
    seconds
        d > 0: in so much time the network gains what a synchronous round brings.
    influence
        Shape (N,): v_j / d, how much of an observation of agent j ends in everybody's log-belief
        per second.
    slowness
        Shape (N,): the share of d that is spent in waiting for agent j, itself included; they sum
        to one. If all waits for agent j grow by one per cent, the rate falls by `slowness[j]` per
        cent.
    """

    stationary: FloatArray
    seconds: float
    influence: FloatArray
    slowness: FloatArray

    @property
    def agents(self) -> int:
        """N."""
        return self.stationary.size

    @property
    def rounds_per_second(self) -> float:
        """1 / d: synchronous rounds that would bring as much, per second."""
        return 1.0 / self.seconds


def rhythm_rate(weights: ArrayLike, waits: ArrayLike) -> Rhythm:
    """The rate of agents on clocks of their own, from what they weigh and how long they wait.

    Exact, as a limit over time, where weights are always the same and the waits at a tick do not
    depend on which later ticks use its message: in lock-step, with fixed delays, with clocks of one
    period, with random clocks. With weights that vary it is exact if weights and waits are drawn
    afresh. Else an estimate (docs: mathematics/own-clocks, which says how far off it can be).

    Parameters
    ----------
    weights
        Shape (N, N): what agent i gives agent j in its pooling, on average over its ticks; rows
        sum to one.
    waits
        Shape (N, N): E[age + gap] of the messages of j that agent i uses, averaged with the
        weights given to them, in seconds; entries without weight do not matter. Clocks that are
        off by a constant do not either.

    Raises
    ------
    ValueError
        If shapes disagree, the weights are no distributions or the network falls into groups that
        do not hear each other, or the mean wait is not positive.

    Examples
    --------
    Two agents listen to each other alike. One ticks every second, the other every 3 seconds.

    >>> half = np.full((2, 2), 0.5)
    >>> rhythm = rhythm_rate(half, clock_waits([1.0, 3.0]))
    >>> rhythm.stationary.tolist(), round(rhythm.seconds, 9)
    ([0.5, 0.5], 2.5)
    >>> rhythm.slowness.round(9).tolist()
    [0.25, 0.75]
    """
    matrix = as_distribution("weights", weights, ndim=2)
    agents = len(matrix)
    if matrix.shape != (agents, agents):
        raise fail("weights", "shape (N, N)", f"shape {matrix.shape}", "give each agent a row")
    heard = matrix > 0
    given = np.asarray(waits, dtype=np.float64)
    if given.shape != matrix.shape:
        raise fail(
            "waits", f"shape {matrix.shape}", f"shape {given.shape}", "give one for each weight"
        )
    table = as_float_array("waits", np.where(heard, given, 0.0), ndim=2)
    groups = closed_classes(matrix)
    if len(groups) > 1:
        named = ", ".join(str(group.tolist()) for group in groups[:4])
        raise fail(
            "weights",
            "agents that all hear, at length, one group of them",
            f"{len(groups)} groups that hear nobody else: {named}",
            "take each group by itself",
        )
    v = stationary_vector(matrix)
    for_agent = v @ (matrix * table)
    seconds = float(for_agent.sum())
    if not seconds > 0:
        raise fail("waits", "a positive mean", f"{seconds:g}", "measure between different ticks")
    return Rhythm(
        read_only(v), seconds, read_only(v / seconds), read_only(np.asarray(for_agent / seconds))
    )


def measured_rhythm(
    weights: ArrayLike, waits: ArrayLike, *, at_least: int = 1, poolings: ArrayLike | None = None
) -> Rhythm:
    """The same from sums that agents kept over an interval of time: an estimate.

    Parameters
    ----------
    weights
        Shape (N, N): sums, over the poolings of agent i, of the weights it gave to agent j.
    waits
        Shape (N, N): sums of weight times wait, in seconds.
    poolings, at_least
        Shape (N,): how often each agent pooled, if it is to be checked that each did so often
        enough. Agents that did not pool at all, and whom nobody weighed, are left out: v is 0.

    Raises
    ------
    ValueError
        If an agent that others weighed has not pooled, or as for :func:`rhythm_rate`.

    Examples
    --------
    Ten rounds in lock-step, each of .2 seconds.

    >>> measured_rhythm([[5.0, 5.0], [2.5, 7.5]], [[1.0, 1.0], [0.5, 1.5]]).seconds
    0.2
    """
    sums = as_float_array("weights", weights, ndim=2)
    waited = as_float_array("waits", waits, ndim=2)
    agents = len(sums)
    if not sums.shape == waited.shape == (agents, agents):
        raise fail(
            "waits",
            f"shape {(agents, agents)}, as the weights",
            f"shapes {waited.shape} and {sums.shape}",
            "give one sum for each pair of agents",
        )
    if (sums < 0).any():
        raise fail("weights", "sums of at least 0", f"{sums.min():g}", "sum the weights given")
    total = sums.sum(axis=1)
    rare = total <= 0
    if poolings is not None:
        rare |= np.asarray(poolings) < as_integer("at_least", at_least, minimum=1)
    away = rare & ~(sums[~rare] > 0).any(axis=0)
    if (rare & ~away).any():
        raise fail(
            "poolings",
            "every agent that is heard to pool",
            f"too few of agent {int(np.flatnonzero(rare & ~away)[0])}",
            "take a longer interval",
        )
    if away.all():
        raise fail("weights", "agents that pool", "none", "take a longer interval")
    here = np.flatnonzero(~away)
    inside = np.ix_(here, here)
    mean = sums[inside] / sums[inside].sum(axis=1, keepdims=True)
    wait = np.divide(waited[inside], sums[inside], out=np.zeros_like(mean), where=mean > 0)
    part = rhythm_rate(mean, wait)
    whole = np.zeros((3, agents))
    whole[:, here] = part.stationary, part.influence, part.slowness
    v, influence, slowness = (read_only(row) for row in whole)
    return Rhythm(v, part.seconds, influence, slowness)


def clock_waits(
    periods: ArrayLike, *, delays: ArrayLike = 0.0, ticking: str = "regular"
) -> FloatArray:
    """How long agents wait that use, at each tick, the newest message of the others.

    Parameters
    ----------
    periods
        Shape (N,): mean seconds between two ticks of each agent, positive.
    delays
        Seconds that a message takes, at least 0: a number, or shape (N, N) for i ← j.
    ticking
        "regular" for equal distances, where a message is half a period old on average: an estimate
        if periods differ. "random" for Poisson clocks, where it is a period old: exact.

    Returns
    -------
    FloatArray
        Shape (N, N), for :func:`rhythm_rate`.

    Raises
    ------
    ValueError
        If a period is not positive, a delay negative, or the ticking unknown.

    Examples
    --------
    >>> clock_waits([1.0, 2.0], ticking="random").tolist()
    [[1.0, 4.0], [2.0, 2.0]]
    """
    gap = as_float_array("periods", periods, ndim=1)
    if gap.size == 0 or not (gap > 0).all():
        raise fail("periods", "positive numbers", gap.tolist()[:4], "give seconds between ticks")
    if ticking not in TICKING:
        raise fail("ticking", f"one of {', '.join(TICKING)}", repr(ticking), "choose one of them")
    late = np.asarray(delays, dtype=np.float64)
    if late.shape not in ((), (gap.size, gap.size)) or not (late >= 0).all():
        raise fail(
            "delays",
            f"a number of at least 0, or such of shape {(gap.size, gap.size)}",
            f"shape {late.shape}, least {late.min(initial=np.inf):g}",
            "give seconds",
        )
    age = late + gap / (2.0 if ticking == "regular" else 1.0)
    return read_only(gap + np.where(np.eye(gap.size, dtype=np.bool_), 0.0, age))
