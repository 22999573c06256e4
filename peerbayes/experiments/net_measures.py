"""Numbers read out of the parts of an experiment with neural nets.

A network has two beliefs a round: before its consensus, b, and after it, q. The papers predict
with b (P2 4.2 and Remark 6); what they print is compared with that. Learners alone and servers
have one belief. Accuracies are in per cent, by sampled prediction where there are beliefs to
sample from.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import sqrt
from typing import Any, Literal

Content = Mapping[str, Any]
When = Literal["before", "after"]
WHEN: tuple[When, ...] = ("before", "after")


def mean_and_error(values: Sequence[float]) -> tuple[float, float | None]:
    """Mean over seeds and its standard error; None for a single one.

    Examples
    --------
    >>> mean_and_error([1.0, 3.0])
    (2.0, 1.0)
    """
    n = len(values)
    mean = sum(values) / n
    if n < 2:
        return mean, None
    variance = sum((value - mean) ** 2 for value in values) / (n - 1)
    return mean, sqrt(variance / n)


def group_mean(values: Sequence[float], agents: Sequence[int]) -> float:
    """Mean over some agents, or over all if none is named, in per cent."""
    chosen = [values[agent] for agent in agents] if agents else list(values)
    return 100 * sum(chosen) / len(chosen)


def way_of(measured: Content) -> Content:
    """The measurements by sampled prediction, if there are any; else by the mean weights."""
    found: Content = measured.get("sampled") or measured["mean"]
    return found


def both_of(run: Content, when: When) -> Content | None:
    """A run's final measurements, by both ways to predict; None where there is no consensus."""
    curve = run["curve"]
    found: Content | None = curve["last"] if when == "after" else curve.get("last_before")
    return found


def last_of(run: Content, when: When = "after") -> Content:
    """A run's final measurements; those after the consensus where there is none before it."""
    return way_of(both_of(run, when) or run["curve"]["last"])


def has_before(runs: Sequence[Content]) -> bool:
    """Whether all these runs were measured before their last consensus."""
    return all(both_of(run, "before") is not None for run in runs)


def mean_over_rounds(run: Content, agents: Sequence[int] = (), when: When = "after") -> float:
    """The mean accuracy over the recorded rounds, in per cent: the higher, the faster.

    Runs that are compared have the same recorded rounds.
    """
    points = run["curve"]["points"]
    values = [group_mean(way_of(point[when])["accuracy"], agents) for point in points]
    return sum(values) / len(values)


def label_confidence(run: Content, agents: Sequence[int], when: When = "after") -> list[float]:
    """Mean probability of the true label at the end, by true label, over some agents."""
    rows = last_of(run, when)["confidence"]
    chosen = [rows[agent] for agent in agents] if agents else rows
    return [
        sum(known) / len(known) if (known := [r[k] for r in chosen if r[k] is not None]) else 0.0
        for k in range(len(chosen[0]))
    ]


def least_label(
    run: Content, agents: Sequence[int], outside: Sequence[int], when: When = "after"
) -> int:
    """The label of least confidence, summed over the recorded rounds, among some labels."""
    seen = [agent for agent in run["curve"]["agents"] if agent in agents]
    total = dict.fromkeys(outside, 0.0)
    for point in run["curve"]["points"]:
        for agent in seen:
            row = way_of(point[when])["confidence"][run["curve"]["agents"].index(agent)]
            for label in outside:
                total[label] += row[label] or 0.0
    return min(total, key=lambda label: total[label])


def over_seeds(runs: Sequence[Content], measure: Callable[[Content], float]) -> float:
    """The mean of a measurement over runs."""
    return mean_and_error([measure(run) for run in runs])[0]


def has_numbers(values: Sequence[float | None] | None, agents: Sequence[int]) -> bool:
    """Whether there is a number for each of these agents, or for all if none is named."""
    if values is None:
        return False
    return all(values[agent] is not None for agent in agents or range(len(values)))
