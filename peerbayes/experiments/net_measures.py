"""Numbers read out of the parts of an experiment with neural nets.

A network has two beliefs a round: before its consensus, b, and after it, q. The papers predict
with b (P2 4.2 and Remark 6); what they print is compared with that. Learners alone and servers
have one belief. Accuracies are in per cent, by sampled prediction where there are beliefs to
sample from.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import sqrt
from typing import Any

from peerbayes.experiments.net_documents import Measured, NetPart, When

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


def group_mean(values: Sequence[float | None], agents: Sequence[int]) -> float:
    """Mean over some agents, or over all if none is named, in per cent."""
    chosen = [values[agent] for agent in agents] if agents else values
    known = [value for value in chosen if value is not None]
    if len(known) < len(chosen):
        raise LookupError("no number for every agent")
    return 100 * sum(known) / len(known)


def way_of(measured: Mapping[str, Any]) -> Mapping[str, Any]:
    """What `Beliefs.way` says, of the plain values of a record."""
    found: Mapping[str, Any] = measured.get("sampled") or measured["mean"]
    return found


def last_of(run: NetPart, when: When = "after") -> Measured:
    """A run's final measurements; those after the consensus where there is none before it."""
    return (run.last(when) or run.curve.last).way


def has_before(runs: Sequence[NetPart]) -> bool:
    """Whether all these runs were measured before their last consensus."""
    return all(run.curve.last_before is not None for run in runs)


def mean_over_rounds(run: NetPart, agents: Sequence[int] = (), when: When = "after") -> float:
    """The mean accuracy over the recorded rounds, in per cent: the higher, the faster.

    Runs that are compared have the same recorded rounds.
    """
    seen = [point.at(when) for point in run.curve.points]
    values = [group_mean(one.way.accuracy, agents) for one in seen if one is not None]
    return sum(values) / len(values)


def label_confidence(run: NetPart, agents: Sequence[int], when: When = "after") -> list[float]:
    """Mean probability of the true label at the end, by true label, over some agents."""
    rows = last_of(run, when).confidence or []
    chosen = [rows[agent] for agent in agents] if agents else rows
    labels = zip(*chosen, strict=True)
    known = [[value for value in values if value is not None] for values in labels]
    return [sum(values) / len(values) if values else 0.0 for values in known]


def least_label(
    run: NetPart, agents: Sequence[int], outside: Sequence[int], when: When = "after"
) -> int:
    """The label of least confidence, summed over the recorded rounds, among some labels."""
    seen = [agent for agent in run.curve.agents if agent in agents]
    total = dict.fromkeys(outside, 0.0)
    for beliefs in (point.at(when) for point in run.curve.points):
        rows = [] if beliefs is None else beliefs.way.confidence or []
        for row in rows and (rows[run.curve.agents.index(agent)] for agent in seen):
            for label in outside:
                total[label] += row[label] or 0.0
    return min(total, key=lambda label: total[label])


def has_numbers(values: Sequence[float | None] | None, agents: Sequence[int]) -> bool:
    """Whether there is a number for each of these agents, or for all if none is named."""
    if values is None:
        return False
    return all(values[agent] is not None for agent in agents or range(len(values)))
