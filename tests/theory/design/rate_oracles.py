"""The best rate by brute force, in fractions: every vertex of a small linear program."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np

from theory import FiniteAgent, FiniteModel

Matrix = Sequence[Sequence[Fraction]]


def model_of(divergences: object, *, counts: Sequence[int] | None = None) -> FiniteModel:
    """Agents with exactly these D_j(θ), shape (N, M): each has one data point."""
    table = np.asarray(divergences, dtype=np.float64)
    names = [f"h{m}" for m in range(table.shape[1])]
    agents = [FiniteAgent(np.ones(1), -row[:, None]) for row in table]
    return FiniteModel.from_agents(names, agents, counts=counts)


@dataclass(frozen=True)
class Vertex:
    """A basic feasible v and its K."""

    influence: tuple[Any, ...]
    rate: Any


def eliminate(rows: list[list[Any]], *, zero: float = 0.0) -> list[Any] | None:
    """The solution of a square system [A | b], None if a pivot is no larger than `zero`."""
    size = len(rows)
    for column in range(size):
        pivot = max(range(column, size), key=lambda r: abs(rows[r][column]))
        if abs(rows[pivot][column]) <= zero:
            return None
        rows[column], rows[pivot] = rows[pivot], rows[column]
        head = rows[column]
        for r in range(size):
            if r != column and rows[r][column]:
                factor = rows[r][column] / head[column]
                rows[r] = [a - factor * b for a, b in zip(rows[r], head, strict=True)]
    return [rows[r][-1] / rows[r][r] for r in range(size)]


def vertices(information: Matrix, floor: Any, *, zero: float = 0.0) -> Iterator[Vertex]:
    """All basic v of {v ≥ floor, Σ v = 1} beside the hypotheses' rows; I is agents by θ.

    In the numbers of `floor`: fractions, or decimal digits, of which less than `zero` is noise.
    """
    number = type(floor)
    agents, hypotheses = len(information), len(information[0])
    for size in range(1, min(agents, hypotheses) + 1):
        for free in combinations(range(agents), size):
            for tight in combinations(range(hypotheses), size):
                held = [j for j in range(agents) if j not in free]
                rows = [
                    [information[j][m] for j in free]
                    + [number(-1)]
                    + [-floor * sum((information[j][m] for j in held), number(0))]
                    for m in tight
                ]
                rows.append([number(1)] * size + [number(0), 1 - floor * len(held)])
                found = eliminate(rows, zero=zero)
                if found is None or min(found[:-1]) < floor - number(zero):
                    continue
                v = [floor] * agents
                for j, x in zip(free, found[:-1], strict=True):
                    v[j] = x
                yield Vertex(tuple(v), rate_of(information, v))


def rate_of(information: Matrix, v: Sequence[Any]) -> Any:
    """min_θ Σ_j v_j I_jθ."""
    return min(
        sum(x * row[m] for x, row in zip(v, information, strict=True))
        for m in range(len(information[0]))
    )


def best_rate(information: Matrix, floor: Fraction) -> Fraction:
    """The maximum: it is attained at a vertex."""
    return max(vertex.rate for vertex in vertices(information, floor))


def proved_by(information: Matrix, multipliers: Sequence[Fraction], floor: Fraction) -> Fraction:
    """The bound of weak duality: max over v ≥ floor of Σ_j v_j Σ_θ λ_θ I_jθ, Σ λ = 1."""
    worth = [
        sum((w * x for w, x in zip(multipliers, row, strict=True)), Fraction(0))
        for row in information
    ]
    total = sum(multipliers, Fraction(0))
    spare = 1 - floor * len(worth)
    return (floor * sum(worth, Fraction(0)) + spare * max(worth)) / total


def fractions_of(table: object) -> list[list[Fraction]]:
    """Doubles as the fractions they are."""
    return [[Fraction(x) for x in row] for row in np.asarray(table, dtype=float).tolist()]
