"""The networks that the papers themselves use, exactly."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from flint import fmpq_mat

from theory.claims.chains import network

STAR_CONFIDENCES = tuple(Fraction(a, 10) for a in (1, 2, 3, 5, 7))
"""The values of a that P2 1.4.1 lists."""


def star(confidence: Fraction, agents: int = 9) -> fmpq_mat:
    """P2 4.2.1: the centre weighs all alike, an edge puts `confidence` on the centre."""
    share = Fraction(1, agents)
    rows = [[share] * agents]
    for i in range(1, agents):
        row = [confidence] + [Fraction(0)] * (agents - 1)
        row[i] = 1 - confidence
        rows.append(row)
    return network(rows)


def neighbours(agent: int) -> list[int]:
    """Agent's neighbours on the 3 by 3 grid, itself among them (P2 assumes i ∈ N(i))."""
    row, column = divmod(agent, 3)
    return [3 * r + c for r in range(3) for c in range(3) if abs(r - row) + abs(c - column) <= 1]


def grid() -> fmpq_mat:
    """P2 4.2.2: W_ij = 1/|N(i)| on the 3 by 3 grid."""
    return network(
        [
            [Fraction(int(j in neighbours(i)), len(neighbours(i))) for j in range(9)]
            for i in range(9)
        ]
    )


def phases_of_stars(agents: int, group: int) -> list[fmpq_mat]:
    """P2 1.4.3: the weights of each phase; a = 1/2, `agents` edges, agent 0 the centre.

    In phase k the centre weighs itself and its group alike, the group's edges put ½ on the
    centre; everybody else keeps what it has.
    """
    size = agents + 1
    phases = []
    for first in range(1, size, group):
        members = range(first, first + group)
        rows = [[Fraction(int(i == j)) for j in range(size)] for i in range(size)]
        rows[0] = [Fraction(int(j == 0 or j in members), group + 1) for j in range(size)]
        for i in members:
            rows[i][0] = rows[i][i] = Fraction(1, 2)
        phases.append(network(rows))
    return phases


def round_of_stars(agents: int, group: int) -> fmpq_mat:
    """P2 1.4.3: the product of one period, phase 1 first.

    A round applies the newest matrix last, so that a period takes a belief to (W_T … W_1) times it.
    """
    first, *rest = phases_of_stars(agents, group)
    for weights in rest:
        first = weights * first
    return first


def paper_networks() -> Mapping[str, fmpq_mat]:
    """Every fixed network with printed weights (P2's four agents with its first row mended)."""
    networks = {
        "P1 regression": network([[9, 1], [6, 4]], 10),
        "P1 Fashion-MNIST, balanced": network([[1, 3], [3, 1]], 4),
        "P1 Fashion-MNIST, unbalanced": network([[9, 11], [14, 6]], 20),
        "P2 regression": network([[5, 5, 0, 0], [3, 1, 3, 3], [0, 5, 5, 0], [0, 5, 0, 5]], 10),
        "P2 grid": grid(),
    }
    return networks | {f"P2 star, a = {a}": star(a) for a in STAR_CONFIDENCES}
