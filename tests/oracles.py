"""Independent answers that the tests compare with: exact rationals and ball arithmetic."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import flint
import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from theory.numbers import precision as precision


def exact_weights(weights: object) -> flint.fmpq_mat:
    """W as rationals: its off-diagonal floats as they are, W_ii = 1 − the rest of the row."""
    dense = weights.toarray() if sparse.issparse(weights) else np.asarray(weights)
    agents = len(dense)
    rows = [[flint.fmpq(*float(w).as_integer_ratio()) for w in row] for row in dense]
    for i in range(agents):
        rows[i][i] = 1 - sum((rows[i][j] for j in range(agents) if j != i), flint.fmpq(0))
    return flint.fmpq_mat(rows)


def exact_stationary(weights: object) -> list[Fraction]:
    """The rational v with v = vW and Σ v = 1."""
    W = exact_weights(weights)
    agents = W.nrows()
    system = [
        [W[j, i] - (1 if i == j else 0) if i else flint.fmpq(1) for j in range(agents)]
        for i in range(agents)
    ]
    right = flint.fmpq_mat([[1 if i == 0 else 0] for i in range(agents)])
    v = flint.fmpq_mat(system).solve(right)
    return [Fraction(int(v[i, 0].p), int(v[i, 0].q)) for i in range(agents)]


def relative_error(values: NDArray[np.float64], exact: list[Fraction]) -> float:
    """The largest |value − exact| / exact, computed in rationals."""
    pairs = zip(values.tolist(), exact, strict=True)
    return float(max(abs(Fraction(value) - truth) / truth for value, truth in pairs))


def exact_eigenvalues(weights: object) -> NDArray[np.complex128]:
    """All eigenvalues of W but one 1, repeated as often as they occur, to float accuracy."""
    rest, remainder = divmod(exact_weights(weights).charpoly(), flint.fmpq_poly([-1, 1]))
    assert remainder == 0
    found = []
    for factor, times in rest.numer().factor()[1]:
        found += [complex(root) for root, _ in factor.complex_roots()] * times
    return np.array(found)


@dataclass(frozen=True)
class Enclosure:
    """An interval that holds the true value."""

    lower: float
    upper: float


def deviation_enclosures(weights: object, *, rounds: int) -> list[Enclosure]:
    """D_i from `rounds` powers of W in ball arithmetic, with the Dobrushin bound on the tail."""
    with precision(200):
        exact = exact_weights(weights)
        agents = exact.nrows()
        W = flint.arb_mat(exact)
        v = [flint.arb(flint.fmpq(p.numerator, p.denominator)) for p in exact_stationary(weights)]
        sums = [flint.arb(0)] * agents
        power = W
        for round_ in range(rounds):
            power = power * W if round_ else W
            for i in range(agents):
                sums[i] += sum((abs(power[i, j] - v[j]) for j in range(agents)), flint.arb(0))
        contraction = max(
            float(
                sum((abs(power[a, j] - power[b, j]) for j in range(agents)), flint.arb(0)).upper()
            )
            / 2
            for a in range(agents)
            for b in range(agents)
        )
        tail = 1 / (1 - contraction) if contraction < 1 else float("inf")
        return [Enclosure(float(s.lower()), float(s.upper()) * tail) for s in sums]
