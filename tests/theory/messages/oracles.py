"""Compressed beliefs in plain Python and fractions: loops, no matrices, nothing shared."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from fractions import Fraction
from typing import NamedTuple

Row = list[Fraction]


class Compressed(NamedTuple):
    """Round by round: Λ, what replicas are off, and what there was to send; and the messages."""

    history: list[Row]
    errors: list[Row]
    differences: list[Row]
    sent: int


def rounded(value: Fraction, step: Fraction, levels: int | None) -> Fraction:
    """The middle of the cell that a value lies in; a half goes up."""
    if levels is None or levels % 2:
        index = math.floor(value / step + Fraction(1, 2))
        if levels is not None:
            index = max(-(levels // 2), min(levels // 2, index))
        return step * index
    index = max(-levels // 2, min(levels // 2 - 1, math.floor(value / step)))
    return step * index + step / 2


def compressed_run(
    weights: Sequence[Sequence[Fraction]],
    evidence: Sequence[Sequence[Fraction]],
    step: Fraction,
    *,
    mixing: Fraction = Fraction(1),
    levels: int | None = None,
    threshold: Fraction | None = None,
    prior: Sequence[Fraction] | None = None,
) -> Compressed:
    """One log-ratio, by loops.

    `evidence` holds what each agent sees in each round.
    """
    agents = range(len(weights))
    held = list(prior) if prior is not None else [Fraction(0) for _ in agents]
    replica = [Fraction(0) for _ in agents]
    found = Compressed([], [], [], 0)
    sent = 0
    for seen in evidence:
        public = [held[i] + seen[i] for i in agents]
        found.differences.append([public[j] - replica[j] for j in agents])
        for j, difference in enumerate(found.differences[-1]):
            if threshold is not None and abs(difference) <= threshold:
                continue
            sent += 1
            replica[j] += rounded(difference, step, levels)
        found.errors.append([public[j] - replica[j] for j in agents])
        held = [
            public[i] + mixing * sum(weights[i][j] * (replica[j] - replica[i]) for j in agents)
            for i in agents
        ]
        found.history.append(held)
    return found._replace(sent=sent)


Pick = Callable[[int, int, Row], Collection[int]]
"""Round from 0, agent and differences, to the columns that the agent sends."""


class Picked(NamedTuple):
    """Round by round Λ and errors, agent by column; and the messages of each agent."""

    history: list[list[Row]]
    errors: list[list[Row]]
    sent: list[int]


def picked_run(
    weights: Sequence[Sequence[Fraction]],
    evidence: Sequence[Sequence[Sequence[Fraction]]],
    step: Fraction,
    pick: Pick,
    *,
    levels: int | None = None,
    prior: Sequence[Sequence[Fraction]] | None = None,
) -> Picked:
    """Several log-ratios, of which agents send those that `pick` names.

    `evidence` holds what each agent sees in each round, column by column.
    """
    agents, columns = range(len(weights)), range(len(evidence[0][0]))
    held = (
        [list(row) for row in prior] if prior else [[Fraction(0) for _ in columns] for _ in agents]
    )
    replica = [[Fraction(0) for _ in columns] for _ in agents]
    found = Picked([], [], [0 for _ in agents])
    for n, seen in enumerate(evidence):
        public = [[a + b for a, b in zip(held[i], seen[i], strict=True)] for i in agents]
        for j in agents:
            differences = [a - b for a, b in zip(public[j], replica[j], strict=True)]
            chosen = pick(n, j, differences)
            found.sent[j] += bool(chosen)
            for c in chosen:
                replica[j][c] += rounded(differences[c], step, levels)
        found.errors.append([[public[j][c] - replica[j][c] for c in columns] for j in agents])
        held = [
            [
                public[i][c] + sum(weights[i][j] * (replica[j][c] - replica[i][c]) for j in agents)
                for c in columns
            ]
            for i in agents
        ]
        found.history.append(held)
    return found


def plain_run(
    weights: Sequence[Sequence[Fraction]], evidence: Sequence[Sequence[Fraction]], step: Fraction
) -> list[Row]:
    """Λ after each round where agents pool what others' rounded log-ratios say."""
    agents = range(len(weights))
    held = [Fraction(0) for _ in agents]
    history = []
    for seen in evidence:
        public = [held[i] + seen[i] for i in agents]
        said = [rounded(value, step, None) for value in public]
        held = [
            sum(weights[i][j] * (public[j] if i == j else said[j]) for j in agents) for i in agents
        ]
        history.append(held)
    return history


def uncompressed_run(
    weights: Sequence[Sequence[Fraction]],
    evidence: Sequence[Sequence[Fraction]],
    prior: Sequence[Fraction] | None = None,
) -> list[Row]:
    """Λ after each round where beliefs are sent as they are."""
    agents = range(len(weights))
    held = list(prior) if prior is not None else [Fraction(0) for _ in agents]
    history = []
    for seen in evidence:
        public = [held[i] + seen[i] for i in agents]
        held = [sum(weights[i][j] * public[j] for j in agents) for i in agents]
        history.append(held)
    return history


def lazy(weights: Sequence[Sequence[Fraction]], mixing: Fraction) -> list[Row]:
    """W_γ = (1 − γ)I + γW."""
    return [
        [mixing * entry + (1 - mixing) * (i == j) for j, entry in enumerate(row)]
        for i, row in enumerate(weights)
    ]


def travelled(weights: Sequence[Sequence[float]], rounds: int, order: int = 1) -> list[float]:
    """Σ_{k<n} Σ_j |[W^k (I − W)^order]_ij| by loops: what B_i is the limit of."""
    size = range(len(weights))
    power = [[float(i == j) for j in size] for i in size]

    def times(one: list[list[float]], other: Sequence[Sequence[float]]) -> list[list[float]]:
        return [[math.fsum(one[i][k] * other[k][j] for k in size) for j in size] for i in size]

    missing = [[float(i == j) - weights[i][j] for j in size] for i in size]
    start = missing if order == 1 else times(missing, missing)
    total = [0.0 for _ in size]
    for _ in range(rounds):
        rows = times(power, start)
        total = [total[i] + math.fsum(abs(entry) for entry in rows[i]) for i in size]
        power = times(power, weights)
    return total


class Lossy(NamedTuple):
    """Round by round Λ, and what the replica of each link is off."""

    history: list[Row]
    errors: list[Row]


def acknowledged_run(
    weights: Sequence[Sequence[Fraction]],
    stationary: Sequence[Fraction],
    evidence: Sequence[Sequence[Fraction]],
    step: Fraction,
    lost: Callable[[int, int, int], bool],
    *,
    levels: int | None = None,
    prior: Sequence[Fraction] | None = None,
) -> Lossy:
    """One log-ratio; `lost` says of a round from 0, a listener and a speaker what is lost."""
    agents = range(len(weights))
    links = [(i, j) for i in agents for j in agents if i != j and weights[i][j]]
    held = list(prior) if prior is not None else [Fraction(0) for _ in agents]
    replica = {link: Fraction(0) for link in links}
    found = Lossy([], [])
    for n, seen in enumerate(evidence):
        public = [held[i] + seen[i] for i in agents]
        for i, j in links:
            if not lost(n, i, j):
                replica[i, j] += rounded(public[j] - replica[i, j], step, levels)
        found.errors.append([public[j] - replica[i, j] for i, j in links])
        held = list(public)
        for i, j in links:
            held[i] += weights[i][j] * replica[i, j]
            held[j] -= stationary[i] * weights[i][j] / stationary[j] * replica[i, j]
        found.history.append(held)
    return found


def unacknowledged_run(
    weights: Sequence[Sequence[Fraction]],
    evidence: Sequence[Sequence[Fraction]],
    step: Fraction,
    lost: Callable[[int, int, int], bool],
) -> list[Row]:
    """Λ after each round where everybody is sent the same, and misses some of it."""
    agents = range(len(weights))
    held = [Fraction(0) for _ in agents]
    own = [Fraction(0) for _ in agents]
    heard = [[Fraction(0) for _ in agents] for _ in agents]
    history = []
    for n, seen in enumerate(evidence):
        public = [held[i] + seen[i] for i in agents]
        for j in agents:
            said = rounded(public[j] - own[j], step, None)
            own[j] += said
            for i in agents:
                heard[i][j] += 0 if lost(n, i, j) else said
        held = [
            public[i] + sum(weights[i][j] * (heard[i][j] - own[i]) for j in agents if j != i)
            for i in agents
        ]
        history.append(held)
    return history
